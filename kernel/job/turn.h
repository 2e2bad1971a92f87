/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns of runs with a shared arena (memory/shared.h). */
#ifndef NPUMEM_TURN_H
#define NPUMEM_TURN_H

#include "run.h"

int npumem_ioctl_run_turn(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* NPUMEM_TURN_H */
