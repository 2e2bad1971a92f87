/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Upcall: plan requests on their way to the daemon and back (uapi/npumem.yaml).
 */
#ifndef NPUMEM_UPCALL_H
#define NPUMEM_UPCALL_H

#include <linux/dma-fence.h>

#include "plan.h"

/* Before the first device is probed, and after the last one is gone. */
int npumem_upcall_init(void);
void npumem_upcall_exit(void);

bool npumem_upcall_has_daemon(void);

/*
 * Queue a request for a PENDING plan. Returns a fence that signals when the
 * plan is settled (with its error if it failed), as ERR_PTR -ENOTCONN without
 * a daemon, -EBUSY when NPUMEM_MAX_REQUESTS are not settled, -ETIMEDOUT if the
 * deadline has passed, -ENODEV if the device is unplugged. Holds a reference on
 * the plan and on drm_dev until settled.
 */
struct dma_fence *npumem_upcall_request(struct npumem_device *dev, struct npumem_plan *plan,
					const struct drm_npumem_plan_request *args);

/* The plan's handle is gone: settle its request, if it has one, with ECANCELED. */
void npumem_upcall_cancel(struct npumem_plan *plan);
/* The device is going: settle its requests with ENODEV. After drm_dev_unplug(). */
void npumem_upcall_unplug(struct npumem_device *dev);

/*
 * Group "events": the caller's process had a plan refused, or a job of a run.
 * They may sleep. An event that nobody can be told of is lost.
 */
void npumem_upcall_event_verdict(struct npumem_device *dev, const struct npumem_verdict *verdict);
void npumem_upcall_event_fault(struct npumem_device *dev, u64 run, pid_t pid,
			       const struct npumem_verdict *verdict);

#endif /* NPUMEM_UPCALL_H */
