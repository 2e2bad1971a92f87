/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices, as the module and engine "sim" need them beyond base/engine.h.
 */
#ifndef NPUMEM_DEVICE_H
#define NPUMEM_DEVICE_H

struct device;
struct npu_engine_desc;
struct npu_file;

/*
 * npumem_device_probe() of a device that has banks of ordinary memory, too: mib has the
 * size of each in MiB.
 */
int npumem_device_probe_software(struct device *parent, const struct npu_engine_desc *engines,
				 unsigned int count, const unsigned int *mib,
				 unsigned int mib_count);

/* The module is going, and no device will be probed any more: wait for the last one. */
void npumem_devices_wait(void);

/* The file is being closed: drop all plans of it, give up their requests. */
void npumem_plan_release_file(struct npu_file *file);

#endif /* NPUMEM_DEVICE_H */
