// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: DEV_QUERY
 *
 * One ioctl answers all that a client may ask about the device, as {type, size, pointer}, so
 * that new types and longer answers need no new ioctl. A null pointer asks for the size, and
 * a short buffer gets as much as fits, so that old and new programs and drivers get along.
 */
#include <linux/uaccess.h>
#include <drm/drm_drv.h>

#include "memory/carveout.h"
#include "device.h"
#include "base/drv.h"
#include "base/engine.h"
#include "upcall/upcall.h"

static int answer(struct drm_npumem_dev_query *args, const void *data, size_t size)
{
	size_t room = args->size;

	args->size = size;
	if (!args->ptr)
		return 0;
	if (copy_to_user(u64_to_user_ptr(args->ptr), data, min(room, size)))
		return -EFAULT;
	return 0;
}

static int query_info(struct npu_device *dev, struct drm_npumem_dev_query *args)
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
		.max_requests = NPUMEM_MAX_REQUESTS,
		.bank_count = dev->bank_count,
		.engine_count = dev->engine_count,
		.daemon = npumem_upcall_has_daemon(),
	};

	return answer(args, &info, sizeof(info));
}

static int query_banks(struct npu_device *dev, struct drm_npumem_dev_query *args)
{
	struct drm_npumem_bank banks[NPUMEM_MAX_BANKS];
	u32 i;

	for (i = 0; i < dev->bank_count; i++)
		npumem_bank_info(dev->banks[i], &banks[i]);
	return answer(args, banks, dev->bank_count * sizeof(*banks));
}

static int query_engines(struct npu_device *dev, const struct npu_file *file,
			 struct drm_npumem_dev_query *args)
{
	struct drm_npumem_engine engines[NPUMEM_MAX_ENGINES];
	u32 i;
	int idx;

	/* Until then the engines' drivers are there. */
	if (!drm_dev_enter(&dev->drm, &idx))
		return -ENODEV;

	memset(engines, 0, sizeof(engines));
	for (i = 0; i < dev->engine_count; i++) {
		engines[i].index = i;
		engines[i].flags = dev->engines[i]->flags;
		engines[i].version = dev->engines[i]->version;
		strscpy(engines[i].name, dev->engines[i]->name, sizeof(engines[i].name));
		if (dev->engines[i]->ops->describe)
			dev->engines[i]->ops->describe(dev->engines[i], file, &engines[i]);
	}
	drm_dev_exit(idx);
	return answer(args, engines, dev->engine_count * sizeof(*engines));
}

int npumem_ioctl_dev_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_device *dev = to_npumem(drm);
	struct drm_npumem_dev_query *args = data;

	switch (args->type) {
	case NPUMEM_QUERY_INFO:
		return query_info(dev, args);
	case NPUMEM_QUERY_BANKS:
		return query_banks(dev, args);
	case NPUMEM_QUERY_ENGINES:
		return query_engines(dev, file->driver_priv, args);
	default:
		return npumem_refuse(drm, -EINVAL, "DEV_QUERY: no type %u", args->type);
	}
}
