/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver's workqueue. Work that drops the last reference on something is queued here by
 * callers that may not wait.
 */
#ifndef NPUMEM_WORK_H
#define NPUMEM_WORK_H

#include <linux/workqueue.h>

extern struct workqueue_struct *npumem_wq;

/* At module init: 0 or -ENOMEM. */
int npumem_work_init(void);
/* At module exit: waits for all work that is queued. */
void npumem_work_exit(void);

#endif /* NPUMEM_WORK_H */
