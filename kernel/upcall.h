/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Upcall: plan requests on their way to the daemon and back (uapi/npumem.yaml).
 */
#ifndef NPUMEM_UPCALL_H
#define NPUMEM_UPCALL_H

#include <linux/dma-fence.h>

#include "plan.h"

int npumem_upcall_init(void);	/* registers the netlink family */
void npumem_upcall_exit(void);

bool npumem_upcall_has_daemon(void);

/*
 * Queue a request for a PENDING plan. Returns a fence that signals when the
 * plan is settled (with its error if it failed), as ERR_PTR -ENOTCONN without
 * a daemon, -EBUSY when NPUMEM_MAX_REQUESTS wait, -ETIMEDOUT if the deadline has
 * passed. Holds a plan reference until settled, and a reference on drm_dev.
 */
struct dma_fence *npumem_upcall_request(struct npumem_device *dev, struct npumem_plan *plan,
					const struct drm_npumem_plan_request *args);

/* The plan's last handle is gone: settle its request with ECANCELED. */
void npumem_upcall_cancel(struct npumem_plan *plan);
/* The device is going: settle all its requests with ENODEV. */
void npumem_upcall_unplug(struct npumem_device *dev);

/* Group "events". run is 0 for verdicts of plans. */
void npumem_upcall_event_verdict(struct npumem_device *dev, const struct npumem_verdict *verdict);
void npumem_upcall_event_fault(struct npumem_device *dev, u64 run,
			       const struct npumem_verdict *verdict);

#endif /* NPUMEM_UPCALL_H */
