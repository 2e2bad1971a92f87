/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices: the calls by which an NPU's driver makes and removes one, those that the module
 * and engine "sim" need beside them, and the ioctls that belong to no single part.
 */
#ifndef NPUMEM_DEVICE_H
#define NPUMEM_DEVICE_H

struct device;
struct drm_device;
struct drm_file;
struct npu_engine_desc;
struct npu_file;

/**
 * npumem_device_probe() - register the device of a real NPU, see base/engine.h
 * @parent: the NPU; the banks are those of its memory-region
 * @engines: a description of each engine, used only until this returns
 * @count: number of @engines, at least 1; with the slots for engines in a process
 *	(process/process.h), which every device has, at most NPUMEM_MAX_ENGINES
 *
 * Return: 0; -EINVAL: no engine, or no bank; -E2BIG: too many engines; or the errno of
 * another step, such as &npu_engine_ops.init. On error there is nothing to remove.
 */
int npumem_device_probe(struct device *parent, const struct npu_engine_desc *engines,
			unsigned int count);
void npumem_device_remove(struct device *parent);

/*
 * The same for a device that has banks of ordinary memory, too: @mib has the size of each
 * in MiB.
 */
int npumem_device_probe_software(struct device *parent, const struct npu_engine_desc *engines,
				 unsigned int count, const unsigned int *mib,
				 unsigned int mib_count);

/* The module is going, and no device will be probed any more: wait for the last one. */
void npumem_devices_wait(void);

/* The file is being closed: drop all plans of it, give up their requests. */
void npumem_plan_release_file(struct npu_file *file);

int npumem_ioctl_dev_query(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_plan_request(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_plan_load(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_plan_read(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_plan_destroy(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* NPUMEM_DEVICE_H */
