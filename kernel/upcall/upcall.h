/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The upcall takes plan requests to the daemon and plans back (uapi/npumem.yaml).
 */
#ifndef NPUMEM_UPCALL_H
#define NPUMEM_UPCALL_H

#include "object/plan.h"

struct dma_fence_chain;
struct drm_syncobj;
struct npu_requester;

/* Called before the first device is probed, and after the last one is gone. */
int npumem_upcall_init(void);
void npumem_upcall_exit(void);

bool npumem_upcall_has_daemon(void);

/* Make the requester that stands for a file being opened. ERR_PTR: -ENOMEM. */
struct npu_requester *npumem_upcall_open(void);
/* Free a requester, once all plans of its file have been dropped. */
void npumem_upcall_close(struct npu_requester *requester);

/**
 * struct npu_out_sync - syncobj that is signalled when a request is settled
 * @syncobj: referenced, or NULL for none
 * @chain: link to be added to a timeline syncobj, else NULL
 * @point: point of the timeline
 */
struct npu_out_sync {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

/*
 * Queue a request for a PENDING plan. @out gets a fence when the plan is settled,
 * signalled already, with its error if it failed; until then a binary syncobj has
 * none. Takes over what @out holds if it returns 0. -ENOTCONN without a daemon,
 * -EBUSY when the requester has had its share, -ETIMEDOUT if the deadline has
 * passed, -EINVAL if it is too far away, -ENODEV if the device is unplugged; -EINVAL,
 * -E2BIG, -EDQUOT, -EFAULT and -ENOMEM of the options. Holds a reference on the plan and on drm_dev
 * until settled.
 */
int npumem_upcall_request(struct npu_device *dev, struct npu_requester *requester,
			  struct npu_plan *plan, const struct drm_npumem_plan_request *args,
			  const struct npu_out_sync *out);

/* The plan's handle is gone: settle its request, if it has one, with ECANCELED. */
void npumem_upcall_cancel(struct npu_plan *plan);
/* The device is going: settle its requests with ENODEV. After drm_dev_unplug(). */
void npumem_upcall_unplug(struct npu_device *dev);

/*
 * Multicast to group "events" that a plan of a process was refused, or a job of a run. @message, or
 * the graph @g that the verdict is of, say it for people; each may be NULL. Both may sleep. An
 * event that cannot be sent is lost.
 */
void npumem_upcall_event_verdict(struct npu_device *dev, pid_t pid, const char *message,
				 const struct npuv_graph *g, const struct npumem_verdict *verdict);
void npumem_upcall_event_fault(struct npu_device *dev, u64 run, pid_t pid, const char *message,
			       const struct npuv_graph *g, const struct npumem_verdict *verdict);

#endif /* NPUMEM_UPCALL_H */
