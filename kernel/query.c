// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: DEV_QUERY
 *
 * One ioctl for all that a client may want to know. Every answer is an array whose
 * records may grow: new types and longer records need no new ioctl.
 *
 * Plans, runs and holders come and go while they are asked for, and there may be very
 * many. So a call looks at LOOKS of them at most and says where to go on. It holds a
 * reference on one of them at a time, and while it writes to user memory, which may
 * take as long as user space likes, no lock. Who asks again and again keeps nobody else
 * from anything.
 *
 * Who sees what. Plans and runs are those of the file, by the handles that are its own.
 * Of other files an administrator is told who holds how much of the carveout: a
 * number, a process, a name; no handle and no address. That is CAP_SYS_ADMIN's, like what
 * DRM has for root alone (DRM_ROOT_ONLY, debugfs): DRM has no capability of its own, and
 * fdinfo, which says the same of one file, asks for the right to trace its process.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <drm/drm_drv.h>

#include "memory/carveout.h"
#include "device.h"
#include "base/client.h"
#include "base/drv.h"
#include "base/engine.h"
#include "job/run.h"
#include "upcall/upcall.h"

/* Objects that one call looks at, at most. */
#define LOOKS 256

/**
 * struct answer - records on their way to user memory
 * @args: of the ioctl
 * @room: records that there is room for; any number if only the size is asked for
 * @count: records found
 * @looks: objects looked at
 * @more: there are records that had no room, or objects not looked at
 */
struct answer {
	struct drm_npumem_dev_query *args;
	u64 room;
	u64 count;
	u32 looks;
	bool more;
};

/* There is more, from this index on, unless an earlier one has been said already. */
static void answer_more(struct answer *answer, u64 index)
{
	if (!answer->more)
		answer->args->next = index;
	answer->more = true;
}

/* May this object be looked at, too? */
static bool answer_looks(struct answer *answer, u64 index)
{
	if (answer->looks++ < LOOKS)
		return true;
	answer_more(answer, index);
	return false;
}

/* One record more, which is found at this index. */
static int answer_put(struct answer *answer, u64 index, const void *record, size_t size)
{
	const struct drm_npumem_dev_query *args = answer->args;
	void __user *at;

	if (answer->count++ >= answer->room) {
		answer_more(answer, index);
		return 0;
	}
	if (!args->answer.ptr)
		return 0;
	at = u64_to_user_ptr(args->answer.ptr + (answer->count - 1) * args->stride);
	size = min_t(size_t, size, args->stride);
	if (copy_to_user(at, record, size) || clear_user(at + size, args->stride - size))
		return -EFAULT;
	return 0;
}

static int query_info(struct npu_device *dev, struct answer *answer)
{
	struct drm_npumem_info info = {
		.uapi_major = NPUMEM_UAPI_MAJOR,
		.uapi_minor = NPUMEM_UAPI_MINOR,
		.features = NPUV_FEATURES,
		.max_blob_bytes = npuv_default_limits.max_blob,
		.max_log_bytes = NPUMEM_MAX_LOG,
		.max_accesses = npuv_default_limits.max_accesses,
		.max_chunks = npuv_default_limits.max_chunks,
		.max_jobs = NPUMEM_MAX_JOBS,
		.max_syncs = NPUMEM_MAX_SYNCS,
		.max_submit_work = NPUMEM_MAX_SUBMIT_WORK,
		.max_queued_jobs = NPUMEM_MAX_CLIENT_JOBS,
		.max_commands = NPUMEM_MAX_COMMANDS,
		.max_submit_commands = NPUMEM_MAX_SUBMIT_COMMANDS,
		.max_requests = NPUMEM_MAX_REQUESTS,
		.bank_count = dev->bank_count,
		.engine_count = dev->engine_count,
		.daemon = npumem_upcall_has_daemon(),
	};

	return answer->args->first ? 0 : answer_put(answer, 0, &info, sizeof(info));
}

static int query_banks(struct npu_device *dev, struct answer *answer)
{
	struct drm_npumem_bank bank;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < dev->bank_count; i++) {
		if (i < answer->args->first)
			continue;
		npumem_bank_info(dev->banks[i], &bank);
		err = answer_put(answer, i, &bank, sizeof(bank));
	}
	return err;
}

/* An engine as a file sees it; its driver is there until drm_dev_exit(). */
static int engine_describe(struct npu_engine *engine, const struct npu_file *file,
			   struct drm_npumem_engine *description)
{
	int idx;

	if (!drm_dev_enter(&engine->dev->drm, &idx))
		return -ENODEV;
	*description = (struct drm_npumem_engine){
		.index = engine->index,
		.flags = engine->flags,
		.version = engine->version,
	};
	strscpy(description->name, engine->name, sizeof(description->name));
	if (engine->ops->describe)
		engine->ops->describe(engine, file, description);
	drm_dev_exit(idx);
	return 0;
}

static int query_engines(struct npu_file *file, struct answer *answer)
{
	struct npu_device *dev = file->dev;
	struct drm_npumem_engine engine;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < dev->engine_count; i++) {
		if (i < answer->args->first)
			continue;
		err = engine_describe(dev->engines[i], file, &engine);
		if (!err)
			err = answer_put(answer, i, &engine, sizeof(engine));
	}
	return err;
}

/* ------------------------------------------------------------- plans and runs */

/* The object of a handle, or else the one of the next, referenced; NULL at the end. */
static void *handle_next(struct xarray *handles, unsigned long *handle)
{
	struct kref *object;

	xa_lock(handles);
	object = xa_find(handles, handle, ULONG_MAX, XA_PRESENT);
	if (object)
		kref_get(object);
	xa_unlock(handles);
	return object;
}

/* The handle that an object was made with, if it is that object's still. */
static u32 handle_of(struct xarray *handles, const void *object, u32 handle)
{
	return xa_load(handles, handle) == object ? handle : 0;
}

static int answer_plan(struct answer *answer, struct npu_file *file, struct npu_plan *plan,
		       u64 index)
{
	struct drm_npumem_plan_record record = {
		.handle = plan->handle,
		.graph = handle_of(&file->graphs, plan->graph, plan->graph->handle),
		.created_ns = plan->created_ns,
	};

	mutex_lock(&plan->lock);
	record.state = plan->state;
	record.error = plan->error;
	record.memory_bytes = plan->charged;
	mutex_unlock(&plan->lock);
	if (record.state == NPUMEM_PLAN_STATE_READY) {
		record.arena_size = plan->v->info->arena_size;
		record.host_size = plan->v->info->host_size;
	}
	return answer_put(answer, index, &record, sizeof(record));
}

static int query_plans(struct npu_file *file, struct answer *answer)
{
	unsigned long handle = answer->args->first;
	struct npu_plan *plan;
	int err = 0;

	for (; !err && (plan = handle_next(&file->plans, &handle)); handle++) {
		if (answer_looks(answer, handle))
			err = answer_plan(answer, file, plan, handle);
		npumem_plan_put(plan);
		if (answer->looks > LOOKS)
			break;
	}
	return err;
}

/* A call that has the lock is at work on the run, for as long as it likes. */
static bool run_busy(struct npu_run *run)
{
	bool busy = true;

	if (mutex_trylock(&run->lock)) {
		busy = npumem_run_busy(run);
		mutex_unlock(&run->lock);
	}
	return busy;
}

static u32 run_flags(struct npu_run *run)
{
	u32 flags = run_busy(run) ? NPUMEM_RUN_BUSY : 0;

	if (run->arena->shared)
		flags |= NPUMEM_RUN_SHARED;
	if (READ_ONCE(run->in_turn))
		flags |= NPUMEM_RUN_IN_TURN;
	return flags;
}

/* Nothing is waited for: the numbers are of this moment, each by itself. */
static int answer_run(struct answer *answer, struct npu_file *file, struct npu_run *run, u64 index)
{
	const struct npu_transfers *t = &run->transfers;
	const struct npu_plan *plan = run->plan;
	struct drm_npumem_run_record record = {
		.handle = run->handle,
		.plan = handle_of(&file->plans, plan, plan->handle),
		.graph = handle_of(&file->graphs, plan->graph, plan->graph->handle),
		.bank = run->arena->bank->index,
		.flags = run_flags(run),
		.error = -npumem_run_error(run),
		.created_ns = run->created_ns,
		.arena_size = run->arena->shared ? 0 : run->arena->shmem.base.size,
		.submitted = READ_ONCE(run->submitted),
		.load_bytes = npumem_transfers_bytes(t, NPUMEM_POSITION_LOAD),
		.spill_bytes = npumem_transfers_bytes(t, NPUMEM_POSITION_SPILL),
		.store_bytes = npumem_transfers_bytes(t, NPUMEM_POSITION_STORE),
		.fill_bytes = npumem_transfers_bytes(t, NPUMEM_POSITION_FILL),
	};

	return answer_put(answer, index, &record, sizeof(record));
}

static int query_runs(struct npu_file *file, struct answer *answer)
{
	unsigned long handle = answer->args->first;
	struct npu_run *run;
	int err = 0;

	for (; !err && (run = handle_next(&file->runs, &handle)); handle++) {
		if (answer_looks(answer, handle))
			err = answer_run(answer, file, run, handle);
		npumem_run_put(run);
		if (answer->looks > LOOKS)
			break;
	}
	return err;
}

/* -------------------------------------------------------------------- holders */

/* Where to go on: a client's number, and one of its banks. */
#define INDEX(number, bank) ((u64)(number) << 8 | (bank))

static int answer_client(struct answer *answer, const struct npu_client *client, u32 bank)
{
	struct drm_npumem_holder record = {
		.client = client->number,
		.memory_bytes = atomic64_read(&client->used[NPUMEM_RESOURCE_MEMORY]),
		.uid = from_kuid_munged(current_user_ns(), npumem_client_uid(client)),
		.pid = pid_has_task(client->pid, PIDTYPE_TGID) ? pid_vnr(client->pid) : 0,
	};
	int err = 0;

	strscpy(record.comm, client->comm, sizeof(record.comm));
	for (; !err && bank < NPUMEM_MAX_BANKS; bank++) {
		record.bank = bank;
		record.bytes = atomic64_read(&client->used[NPUMEM_RESOURCE_CARVEOUT + bank]);
		record.since_ns = READ_ONCE(client->since_ns[bank]);
		if (record.bytes)
			err = answer_put(answer, INDEX(client->number, bank), &record,
					 sizeof(record));
	}
	return err;
}

static int query_holders(struct npu_device *dev, struct answer *answer)
{
	u32 bank = answer->args->first & 0xff;
	unsigned long number = answer->args->first >> 8;
	struct npu_client *client;
	int err = 0;

	if (!capable(CAP_SYS_ADMIN))
		return npumem_refuse(&dev->drm, -EACCES, "DEV_QUERY: holders, not CAP_SYS_ADMIN");
	for (; !err && (client = npumem_client_next(dev, &number)); number++) {
		if (INDEX(number, 0) > answer->args->first)
			bank = 0;
		if (answer_looks(answer, INDEX(number, bank)))
			err = answer_client(answer, client, bank);
		npumem_client_put(client);
		if (answer->looks > LOOKS)
			break;
	}
	return err;
}

/* ---------------------------------------------------------------------- ioctl */

static int query(struct npu_file *file, struct answer *answer)
{
	struct npu_device *dev = file->dev;

	switch (answer->args->type) {
	case NPUMEM_QUERY_INFO:
		return query_info(dev, answer);
	case NPUMEM_QUERY_BANKS:
		return query_banks(dev, answer);
	case NPUMEM_QUERY_ENGINES:
		return query_engines(file, answer);
	case NPUMEM_QUERY_PLANS:
		return query_plans(file, answer);
	case NPUMEM_QUERY_RUNS:
		return query_runs(file, answer);
	case NPUMEM_QUERY_HOLDERS:
		return query_holders(dev, answer);
	default:
		return npumem_refuse(&dev->drm, -EINVAL, "DEV_QUERY: no type %u",
				     answer->args->type);
	}
}

int npumem_ioctl_dev_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npumem_dev_query *args = data;
	struct answer answer = { .args = args, .room = U64_MAX };
	u64 room, given;
	int err;

	args->next = 0;
	if (!args->stride || args->stride % 8)
		return npumem_refuse(drm, -EINVAL, "DEV_QUERY: records of %u bytes", args->stride);
	if (args->stride > NPUMEM_MAX_RECORD)
		return npumem_refuse(drm, -E2BIG, "DEV_QUERY: records of %u bytes", args->stride);
	err = npumem_room_check(&args->answer, npuv_default_limits.max_blob);
	if (err)
		return npumem_refuse(drm, err, "DEV_QUERY: answer of %llu bytes",
				     args->answer.size);
	if (args->answer.ptr)
		answer.room = args->answer.size / args->stride;
	room = args->answer.size;
	err = query(file->driver_priv, &answer);
	args->answer.size = answer.count * args->stride;
	given = min(answer.room, answer.count) * args->stride;
	if (!err && args->answer.ptr &&
	    clear_user(u64_to_user_ptr(args->answer.ptr + given), room - given))
		err = -EFAULT;
	return err;
}
