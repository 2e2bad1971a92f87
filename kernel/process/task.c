// SPDX-License-Identifier: GPL-2.0-only
/*
 * A task's bytes: what is where in the window (npumem_engine.h), and how it gets there and
 * back. The process may write to the window at any time, so nothing is read from there but the
 * bytes of tiles, once, after the commit.
 */
#include <linux/align.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <drm/drm_drv.h>

#include "job/job.h"
#include "process.h"

#define TASK_CHUNK SZ_64K

static u64 place(u64 *end, u64 size)
{
	u64 offset = *end;

	*end = ALIGN(*end + size, NPUMEM_ENGINE_ALIGN);
	return offset;
}

static const struct npumem_step *job_step(const struct npu_job *job, u32 position)
{
	const struct npuv_plan *plan = job->run->plan->v;

	return npuv_step(plan->graph, npuv_position(plan, position)->index);
}

int npumem_task_size(const struct npu_job *job, u32 position, u64 max, u32 *ticks, u64 *size)
{
	const struct npumem_step *step = job_step(job, position);
	u64 bytes;
	u32 i;

	*size = 0;
	place(size, array_size(step->access_count, sizeof(struct npumem_engine_access)));
	place(size, job->commands_size);
	for (i = 0; i < step->access_count && *size <= max; i++) {
		if (npuv_tick(ticks, 1))
			return -EINTR;
		bytes = npuv_access_bytes(job->run->plan->v, step->first_access + i);
		if (bytes > max) {
			*size = bytes;
			return 0;
		}
		place(size, bytes);
	}
	return 0;
}

/* ---------------------------------------------------------------------- copies */

/*
 * Where bytes of a range are. The verifier, and RUN_BIND, have seen to it that they are
 * somewhere.
 */
static void *range_vaddr(const struct npu_run *run, const struct npuv_range *range, u64 done,
			 size_t length)
{
	const struct npu_external *external;
	u64 first = range->arena + done;

	if (range->external == NPUMEM_NONE) {
		if (first + length > run->arena->shmem.base.size)
			return NULL;
		return npumem_bo_vaddr(run->arena, first);
	}
	external = npumem_external_find(run->externals, range->external);
	return external ? npumem_external_vaddr(external, first, length) : NULL;
}

static int copy_chunk(const struct npu_run *run, const struct npuv_range *range, u64 done,
		      size_t length, u8 *buffer, bool out)
{
	void *bytes;
	int idx;

	/* Its client is gone: nobody waits for what would be computed. */
	if (npumem_run_error(run))
		return -ECANCELED;
	if (!drm_dev_enter(&run->dev->drm, &idx))
		return -ENODEV;
	bytes = range_vaddr(run, range, done, length);
	if (bytes)
		memcpy(out ? buffer : bytes, out ? bytes : buffer, length);
	drm_dev_exit(idx);
	cond_resched();
	return WARN_ON_ONCE(!bytes) ? -EFAULT : 0;
}

/* An access's bytes, by linear index, out of arena and bindings to a buffer or back. */
static int copy_access(const struct npu_run *run, u32 position, u32 access, u8 *buffer, u64 size,
		       bool out)
{
	struct npuv_range range;
	struct npuv_walk walk;
	size_t length;
	u64 done;
	int err;

	npuv_walk_begin(&walk, run->plan->v, position, access);
	while (npuv_walk_next(&walk, &range)) {
		if (WARN_ON_ONCE(range.linear > size || range.length > size - range.linear))
			return -EFAULT;
		for (done = 0; done < range.length; done += length) {
			length = min_t(u64, range.length - done, TASK_CHUNK);
			err = copy_chunk(run, &range, done, length, buffer + range.linear + done,
					 out);
			if (err)
				return err;
		}
	}
	return 0;
}

int npumem_task_transfer(struct npu_job *job, u32 position)
{
	const struct npumem_position *p = npuv_position(job->run->plan->v, position);
	bool out = p->kind == NPUMEM_POSITION_SPILL || p->kind == NPUMEM_POSITION_STORE;
	u8 *host;
	int err;

	host = npumem_transfers_vaddr(&job->run->transfers, p->host_offset, p->length);
	if (WARN_ON_ONCE(!host))
		return -EFAULT;
	/* Of a transfer's two accesses that which is of the arena. */
	err = copy_access(job->run, position, out ? 0 : 1, host, p->length, out);
	if (!err)
		npumem_job_transferred(job, position);
	return err;
}

/* ------------------------------------------------------------------- the window */

/* Bytes that another run has left: it may be another client's. */
static void scrub(struct npu_attachment *att, const struct npu_run *run)
{
	if (att->last_run != run->id) {
		memset(att->map.vaddr, 0, att->dirty);
		att->dirty = 0;
	}
	att->last_run = run->id;
}

int npumem_task_begin(struct npu_attachment *att, struct npu_job *job, u32 position)
{
	const struct npumem_step *step = job_step(job, position);
	const struct npuv_plan *plan = job->run->plan->v;
	struct npumem_engine_access *table = att->map.vaddr;
	u64 end = 0, size, commands;
	u8 *window = att->map.vaddr;
	u32 i, ticks = 0;
	int err;

	err = npumem_task_size(job, position, att->size, &ticks, &size);
	if (err)
		return err;
	/* SUBMIT has looked: the attachment, and so its window, are the same. */
	if (WARN_ON_ONCE(size > att->size))
		return -EFAULT;
	scrub(att, job->run);
	att->dirty = max(att->dirty, size);
	place(&end, array_size(step->access_count, sizeof(*table)));
	commands = place(&end, job->commands_size);
	if (job->commands_size)
		memcpy(window + commands, job->commands, job->commands_size);
	for (i = 0; i < step->access_count; i++) {
		const struct npumem_access *access =
			npuv_access(plan->graph, step->first_access + i);
		struct npumem_engine_access entry = {
			.size = npuv_access_bytes(plan, step->first_access + i),
			.tile = access->tile,
		};

		if (access->mode != NPUMEM_ACCESS_WRITE)
			entry.flags |= NPUMEM_ENGINE_ACCESS_READ;
		if (access->mode != NPUMEM_ACCESS_READ)
			entry.flags |= NPUMEM_ENGINE_ACCESS_WRITE;
		entry.offset = place(&end, entry.size);
		table[i] = entry;
		if (entry.flags & NPUMEM_ENGINE_ACCESS_READ)
			err = copy_access(job->run, position, step->first_access + i,
					  window + entry.offset, entry.size, true);
		else
			memset(window + entry.offset, 0, entry.size);
		if (err)
			return err;
	}
	att->next = (struct npumem_engine_next){
		.commands_offset = commands,
		.commands_size = job->commands_size,
		.access_count = step->access_count,
		.step = npuv_position(plan, position)->index,
		.position = position,
		.first_position = job->first,
		.position_count = job->count,
	};
	return 0;
}

int npumem_task_end(struct npu_attachment *att, struct npu_job *job, u32 position)
{
	const struct npumem_step *step = job_step(job, position);
	const struct npuv_plan *plan = job->run->plan->v;
	u8 *window = att->map.vaddr;
	u64 end = 0, size, offset;
	u32 i;
	int err;

	place(&end, array_size(step->access_count, sizeof(struct npumem_engine_access)));
	place(&end, job->commands_size);
	for (i = 0; i < step->access_count; i++) {
		size = npuv_access_bytes(plan, step->first_access + i);
		offset = place(&end, size);
		if (npuv_access(plan->graph, step->first_access + i)->mode == NPUMEM_ACCESS_READ)
			continue;
		err = copy_access(job->run, position, step->first_access + i, window + offset, size,
				  false);
		if (err)
			return err;
	}
	return 0;
}
