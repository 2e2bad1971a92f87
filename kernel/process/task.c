// SPDX-License-Identifier: GPL-2.0-only
/*
 * A task's bytes: what is where in the window (npumem_engine.h), and how it gets there and
 * back. The process may write to the window at any time, so nothing that the driver relies on is
 * read from there but the bytes of tiles, once, after the commit.
 */
#include <linux/align.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <drm/drm_drv.h>

#include "job/fault.h"
#include "job/range.h"
#include "process.h"

#define TASK_CHUNK SZ_64K

static u64 place(u64 *end, u64 size)
{
	u64 offset = *end;

	*end = ALIGN(*end + size + NPUMEM_ENGINE_GUARD, NPUMEM_ENGINE_ALIGN);
	return offset;
}

/* ----------------------------------------------------------------------- guards */

/*
 * Behind each part of the window. Any value would do that kernels seldom write: an engine that
 * writes just this is not noticed, and what it has written there goes nowhere.
 */
#define GUARD_BYTE 0xa5

/* The guard of a part that has so many bytes at so many, up to where the next one begins. */
static void guard_set(u8 *window, u64 offset, u64 size, u64 end)
{
	memset(window + offset + size, GUARD_BYTE, end - offset - size);
}

/* Its first and last byte that have been changed, counted from the part's first; none: false. */
static bool guard_changed(const u8 *window, u64 offset, u64 size, u64 end, u64 *first, u64 *last)
{
	const u8 *part = window + offset;
	bool changed = false;
	u64 at;

	for (at = size; at < end - offset; at++) {
		if (READ_ONCE(part[at]) == GUARD_BYTE)
			continue;
		if (!changed)
			*first = at;
		*last = at;
		changed = true;
	}
	return changed;
}

int npumem_task_size(const struct npu_job *job, u32 position, u64 max, u32 *ticks, u64 *size)
{
	u32 i, count = npumem_job_access_count(job, position);
	u64 bytes;

	*size = 0;
	place(size, array_size(count, sizeof(struct npumem_engine_access)));
	place(size, job->commands_size);
	for (i = 0; i < count && *size <= max; i++) {
		if (npuv_tick(ticks, 1))
			return -EINTR;
		bytes = npumem_job_access_bytes(job, position, i);
		if (bytes > max) {
			*size = bytes;
			return 0;
		}
		place(size, bytes);
	}
	return 0;
}

/* ---------------------------------------------------------------------- copies */

/* The next bytes of an access to a buffer, or back: how many, 0 at its end, or a negative errno. */
static ssize_t copy_chunk(struct npu_access_ranges *ranges, u8 *buffer, u64 size, bool out)
{
	const struct npu_run *run = ranges->job->run;
	struct npu_access_range range;
	int idx, found;
	u8 *bytes;

	/* Its client is gone: nobody waits for what would be computed. */
	if (npumem_run_error(run))
		return -ECANCELED;
	/* What is moved takes the engine's time, too, and nobody else looks at the clock. */
	if (time_after(jiffies, npumem_slot_of(ranges->job->engine)->deadline))
		return -ETIMEDOUT;
	if (!drm_dev_enter(&run->dev->drm, &idx))
		return -ENODEV;
	found = npumem_ranges_next(ranges, TASK_CHUNK, &range);
	if (found == 1 && WARN_ON_ONCE(range.linear > size || range.length > size - range.linear))
		found = -EFAULT;
	if (found == 1) {
		bytes = buffer + range.linear;
		memcpy(out ? bytes : range.vaddr, out ? range.vaddr : bytes, range.length);
	}
	drm_dev_exit(idx);
	cond_resched();
	return found == 1 ? range.length : found;
}

/* An access's bytes, by linear index, to a buffer or back. */
static int copy_access(const struct npu_job *job, u32 position, u32 access, u8 *buffer, u64 size,
		       bool out)
{
	struct npu_access_ranges ranges;
	ssize_t copied;

	npumem_ranges_begin(&ranges, job, position, access);
	do
		copied = copy_chunk(&ranges, buffer, size, out);
	while (copied > 0);
	return copied;
}

int npumem_task_transfer(struct npu_job *job, u32 position)
{
	const struct npumem_position *p = npumem_job_position(job, position);
	bool out = p->kind == NPUMEM_POSITION_SPILL || p->kind == NPUMEM_POSITION_STORE;
	u8 *host;
	int err;

	host = npumem_transfers_vaddr(&job->run->transfers, p->host_offset, p->length);
	if (WARN_ON_ONCE(!host))
		return -EFAULT;
	/* Of a transfer's two accesses that which is of the arena. */
	err = copy_access(job, position, out ? 0 : 1, host, p->length, out);
	if (!err)
		npumem_job_transferred(job, job->first + position);
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

/*
 * The job's commands, with the places of accesses where relocations want them. These are read from
 * the window's table: a process that spoils it meanwhile deceives itself.
 */
static void put_commands(const struct npu_job *job, u32 position,
			 const struct npumem_engine_access *table, u8 *to)
{
	const struct drm_npumem_relocation *r;
	u64 at;

	if (job->commands_size)
		memcpy(to, job->commands, job->commands_size);
	for (r = job->relocations; r < job->relocations + job->relocation_count; r++) {
		/* Nothing of another position is in the window. */
		at = NPUMEM_ENGINE_NOWHERE;
		if (r->position == position)
			at = READ_ONCE(table[r->access].offset) + r->delta;
		memcpy(to + r->offset, &at, sizeof(at));
	}
}

/* Copy what an access reads to its place. */
static int put_access(const struct npu_job *job, u32 position, u32 access, u64 *end, u8 *window,
		      struct npumem_engine_access *to)
{
	const struct npuv_plan *plan = job->run->plan->v;
	const struct npumem_step *step =
		npuv_step(plan->graph, npumem_job_position(job, position)->index);
	u32 mode = npumem_job_access_mode(job, position, access);
	struct npumem_engine_access entry = {
		.size = npumem_job_access_bytes(job, position, access),
		.tile = npuv_access(plan->graph, step->first_access + access)->tile,
	};

	if (mode != NPUMEM_ACCESS_WRITE)
		entry.flags |= NPUMEM_ENGINE_ACCESS_READ;
	if (mode != NPUMEM_ACCESS_READ)
		entry.flags |= NPUMEM_ENGINE_ACCESS_WRITE;
	entry.offset = place(end, entry.size);
	guard_set(window, entry.offset, entry.size, *end);
	*to = entry;
	if (entry.flags & NPUMEM_ENGINE_ACCESS_READ)
		return copy_access(job, position, access, window + entry.offset, entry.size, true);
	memset(window + entry.offset, 0, entry.size);
	return 0;
}

int npumem_task_begin(struct npu_attachment *att, struct npu_job *job, u32 position)
{
	u32 count = npumem_job_access_count(job, position);
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
	place(&end, array_size(count, sizeof(*table)));
	guard_set(window, 0, array_size(count, sizeof(*table)), end);
	commands = place(&end, job->commands_size);
	guard_set(window, commands, job->commands_size, end);
	for (i = 0; !err && i < count; i++)
		err = put_access(job, position, i, &end, window, &table[i]);
	if (err)
		return err;
	put_commands(job, position, table, window + commands);
	att->next = (struct npumem_engine_next){
		.commands_offset = commands,
		.commands_size = job->commands_size,
		.access_count = count,
		.step = npumem_job_position(job, position)->index,
		.position = job->first + position,
		.first_position = job->first,
		.position_count = job->count,
	};
	return 0;
}

/* An access of the job's position, as a verdict names it; NPUMEM_NONE: the table or commands. */
static void cite(const struct npu_job *job, u32 position, u32 access, u32 *tile, u32 *tensor)
{
	const struct npuv_graph *g = job->run->plan->v->graph;
	u32 step = npumem_job_position(job, position)->index;

	if (access == NPUMEM_NONE)
		return;
	*tile = npuv_access(g, npuv_step(g, step)->first_access + access)->tile;
	*tensor = npuv_tile(g, *tile)->tensor;
}

/*
 * One part of the window, an access or none, and that which follows it: -EPROTO if the bytes
 * between them are not what they were.
 */
static int check_guard(const struct npu_attachment *att, const struct npu_job *job, u32 position,
		       u32 access, u32 next, u64 size, u64 *end, struct npumem_verdict *verdict)
{
	u64 first, last, offset = place(end, size);

	if (!guard_changed(att->map.vaddr, offset, size, *end, &first, &last))
		return 0;
	npumem_verdict_init(verdict, NPUMEM_RULE_ENFORCE_BESIDE);
	verdict->position = job->first + position;
	verdict->step = npumem_job_position(job, position)->index;
	cite(job, position, access, &verdict->tile, &verdict->tensor);
	cite(job, position, next, &verdict->other_tile, &verdict->other_tensor);
	verdict->first = access == NPUMEM_NONE ? offset + first : first;
	verdict->length = last - first + 1;
	return -EPROTO;
}

/* The table, the commands, then access after access. */
static int check_guards(const struct npu_attachment *att, const struct npu_job *job, u32 position,
			struct npumem_verdict *verdict)
{
	u32 i, count = npumem_job_access_count(job, position);
	u64 end = 0;
	int err;

	err = check_guard(att, job, position, NPUMEM_NONE, NPUMEM_NONE,
			  array_size(count, sizeof(struct npumem_engine_access)), &end, verdict);
	if (!err)
		err = check_guard(att, job, position, NPUMEM_NONE, count ? 0 : NPUMEM_NONE,
				  job->commands_size, &end, verdict);
	for (i = 0; !err && i < count; i++) {
		err = check_guard(att, job, position, i, i + 1 < count ? i + 1 : NPUMEM_NONE,
				  npumem_job_access_bytes(job, position, i), &end, verdict);
		cond_resched();
	}
	return err;
}

int npumem_task_end(struct npu_attachment *att, struct npu_job *job, u32 position,
		    struct npumem_verdict *verdict)
{
	u32 i, count = npumem_job_access_count(job, position);
	u8 *window = att->map.vaddr;
	u64 end = 0, size, offset;
	int err;

	err = check_guards(att, job, position, verdict);
	if (err)
		return err;
	place(&end, array_size(count, sizeof(struct npumem_engine_access)));
	place(&end, job->commands_size);
	for (i = 0; i < count; i++) {
		size = npumem_job_access_bytes(job, position, i);
		offset = place(&end, size);
		if (npumem_job_access_mode(job, position, i) == NPUMEM_ACCESS_READ)
			continue;
		err = copy_access(job, position, i, window + offset, size, false);
		if (err)
			return err;
	}
	return 0;
}
