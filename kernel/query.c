// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: DEV_QUERY
 *
 * One ioctl for all that a client may want to know. Every answer is an array whose
 * records may grow: new types and longer records need no new ioctl.
 */
#include <linux/uaccess.h>
#include <drm/drm_drv.h>

#include "memory/carveout.h"
#include "device.h"
#include "base/drv.h"
#include "base/engine.h"
#include "upcall/upcall.h"

/**
 * struct answer - records on their way to user memory
 * @args: of the ioctl
 * @room: records that there is room for; any number if only the size is asked for
 * @count: records found
 */
struct answer {
	struct drm_npumem_dev_query *args;
	u64 room;
	u64 count;
};

/* There is more, from this index on, unless an earlier one has been said already. */
static void answer_more(struct answer *answer, u64 index)
{
	if (!answer->args->next)
		answer->args->next = index;
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
