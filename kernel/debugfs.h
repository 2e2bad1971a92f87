/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files for people, in the device's folder of debugfs.
 */
#ifndef NPUMEM_DEBUGFS_H
#define NPUMEM_DEBUGFS_H

#include "base/drv.h"

#ifdef CONFIG_DEBUG_FS
void npumem_debugfs_init(struct npu_device *dev); /* at probe */
#else
static inline void npumem_debugfs_init(struct npu_device *dev)
{
}
#endif

#endif /* NPUMEM_DEBUGFS_H */
