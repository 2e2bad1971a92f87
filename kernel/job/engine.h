/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engines of a device, from when it is probed to when it is removed.
 */
#ifndef NPUMEM_JOB_ENGINE_H
#define NPUMEM_JOB_ENGINE_H

#include "base/engine.h"

/*
 * Make an engine as @desc says, the next one of the device. -E2BIG: it has NPUMEM_MAX_ENGINES;
 * -ENOMEM, or the errno of the engine's init().
 */
int npumem_engine_add(struct npu_device *dev, const struct npu_engine_desc *desc);
/*
 * The device is being removed. Once this has returned, no callback of the engine's driver is
 * called any more.
 */
void npumem_engine_stop(struct npu_engine *engine);

/*
 * For an open file: hold the modules of all engines, or none of them and return -ENODEV, if
 * the device or one of the modules is going. They are released when the file is closed,
 * even long after the device was removed.
 */
int npumem_engines_hold(struct npu_device *dev);
void npumem_engines_release(struct npu_device *dev);

/* The engine of an index that user space named, or NULL. */
struct npu_engine *npumem_engine_lookup(struct npu_device *dev, u32 index);

#endif /* NPUMEM_JOB_ENGINE_H */
