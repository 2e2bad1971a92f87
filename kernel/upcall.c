// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: life of a plan request
 *
 * PLAN_REQUEST queues a request for a PENDING plan. The registered daemon is
 * told READY, accepts the oldest one, gets an fd for it, and settles it by DONE.
 * It ends once, whatever happens, by the first of:
 *
 * =============  ==========================================================
 * 0              DONE, and the verifier found the plan sound
 * verifier's     DONE, and it did not; ENOSPC: sound but above arena_budget
 * daemon's       DONE with a status
 * ECONNRESET     accepted, then the fd or the daemon's socket was closed
 * ENOTCONN       not accepted when the daemon's socket was closed
 * ETIMEDOUT      the deadline passed
 * ECANCELED      the plan's handle was destroyed or its file closed
 * ENODEV         the device was unplugged
 * =============  ==========================================================
 *
 * Waiting requests end with the daemon, they do not wait for the next one: a
 * runtime learns at once that nobody plans, and may fall back or ask again.
 *
 * Whoever ends a request first *claims* it, under upcall.lock, which takes it
 * from the list; everybody else finds it gone. The claimer alone settles the
 * plan, signals the fence and drops the references, and does so with no lock
 * held. A deadline that passes during verification therefore changes nothing:
 * the answer was in time.
 *
 * Locking. upcall.lock guards the list, the registered socket, and state and file
 * of each request; a mutex, as all callers may sleep: ioctls, netlink, the
 * netlink notifier, fput(), the deadline's work. answer_lock (upcall_fd.c) guards
 * the answer, and is held while user memory is read. Neither is taken under the
 * other, and plan->lock is taken under none of them.
 *
 * Unload. A request not settled belongs to an open DRM file and one settled may
 * belong to an open request fd: both pin the module by their file_operations.
 * Signalled fences need no module (fence.c). What is left is expiry works that
 * lost the race to claim: npumem_upcall_exit() waits for them by destroying
 * their workqueue.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_drv.h>

#include "fence.h"
#include "trace.h"
#include "upcall_request.h"

static struct {
	struct mutex lock;
	struct list_head requests; /* not claimed, oldest first */
	u32 count;		   /* of them */
	u32 portid;		   /* of the daemon's socket, or zero */
	u64 next_id;
	struct workqueue_struct *wq; /* deadlines */
} upcall = {
	.lock = __MUTEX_INITIALIZER(upcall.lock),
	.requests = LIST_HEAD_INIT(upcall.requests),
	.next_id = 1,
};

/* --------------------------------------------------------------- requests */

static void npumem_request_free(struct kref *ref)
{
	struct npumem_request *req = container_of(ref, struct npumem_request, ref);

	dma_fence_put(req->fence);
	npumem_graph_put(req->graph);
	kvfree(req->answer);
	mutex_destroy(&req->answer_lock);
	kfree(req);
}

void npumem_request_get(struct npumem_request *req)
{
	kref_get(&req->ref);
}

void npumem_request_put(struct npumem_request *req)
{
	kref_put(&req->ref, npumem_request_free);
}

static void npumem_request_claim(struct npumem_request *req, u32 error)
{
	lockdep_assert_held(&upcall.lock);
	req->state = NPUMEM_REQUEST_CLAIMED;
	req->error = error;
	list_del_init(&req->link);
	upcall.count--;
}

/* The plan has been settled: tell the requester, let go. By the claimer. */
static void npumem_request_finish(struct npumem_request *req)
{
	trace_npumem_settle(req->id, -(int)req->error);
	npumem_fence_signal(req->fence, -(int)req->error);
	if (cancel_delayed_work(&req->expiry))
		npumem_request_put(req);
	npumem_plan_put(req->plan);
	req->plan = NULL;
	drm_dev_put(&req->dev->drm);
	req->dev = NULL;
	npumem_request_put(req);
}

static const char *npumem_request_reason(u32 error)
{
	switch (error) {
	case ECONNRESET:
		return "the daemon went away or closed the request without an answer";
	case ENOTCONN:
		return "the daemon went away before it accepted the request";
	case ETIMEDOUT:
		return "the deadline passed before the daemon answered";
	case ECANCELED:
		return "the requester gave the request up";
	case ENODEV:
		return "the device is gone";
	default:
		return NULL;
	}
}

/* Settle a claimed request with its error. */
static void npumem_request_fail(struct npumem_request *req, const char *message)
{
	u64 size;

	kvfree(npumem_request_take_answer(req, &size));
	npumem_plan_fail(req->plan, req->error, message ?: npumem_request_reason(req->error));
	npumem_request_finish(req);
}

/*
 * Settle all requests for which error_of() is not zero with that error. The
 * errors it may return are those of npumem_request_reason().
 */
static void npumem_requests_fail(u32 (*error_of)(const struct npumem_request *req, const void *arg),
				 const void *arg)
{
	struct npumem_request *req, *next;
	LIST_HEAD(claimed);
	u32 error;

	mutex_lock(&upcall.lock);
	list_for_each_entry_safe(req, next, &upcall.requests, link) {
		error = error_of(req, arg);
		if (!error)
			continue;
		npumem_request_claim(req, error);
		list_add_tail(&req->link, &claimed);
	}
	mutex_unlock(&upcall.lock);

	list_for_each_entry_safe(req, next, &claimed, link) {
		list_del_init(&req->link);
		npumem_request_fail(req, NULL);
	}
}

/* ------------------------------------------------------- the requester's side */

static void npumem_request_arm(struct npumem_request *req)
{
	s64 left = req->deadline_ns - ktime_get_ns();
	u64 delay = left > 0 ? nsecs_to_jiffies64(left) + 1 : 0;

	/* The work looks at the clock: a delay cut short is armed again. */
	queue_delayed_work(upcall.wq, &req->expiry, min_t(u64, delay, MAX_JIFFY_OFFSET));
}

static u32 npumem_is_request(const struct npumem_request *req, const void *arg)
{
	return req == arg ? ETIMEDOUT : 0;
}

static void npumem_request_expire(struct work_struct *work)
{
	struct npumem_request *req =
		container_of(to_delayed_work(work), struct npumem_request, expiry);
	bool claimed;

	if (ktime_get_ns() < req->deadline_ns) {
		/*
		 * Under the lock: a claimer's cancel_delayed_work() comes either
		 * before this, then there is nothing to arm, or finds it armed.
		 */
		mutex_lock(&upcall.lock);
		claimed = req->state == NPUMEM_REQUEST_CLAIMED;
		if (!claimed)
			npumem_request_arm(req);
		mutex_unlock(&upcall.lock);
		if (!claimed)
			return;
	} else {
		npumem_requests_fail(npumem_is_request, req);
	}
	npumem_request_put(req);
}

static struct npumem_request *npumem_request_new(struct npumem_plan *plan,
						 const struct drm_npumem_plan_request *args)
{
	struct npumem_request *req = kzalloc(sizeof(*req), GFP_KERNEL_ACCOUNT);

	if (!req)
		return NULL;
	/* Requests are independent of each other: each is a timeline of its own. */
	req->fence = npumem_fence_create(dma_fence_context_alloc(1), 1);
	if (!req->fence) {
		kfree(req);
		return NULL;
	}
	kref_init(&req->ref);
	INIT_LIST_HEAD(&req->link);
	INIT_DELAYED_WORK(&req->expiry, npumem_request_expire);
	mutex_init(&req->answer_lock);
	req->graph = plan->graph;
	npumem_graph_get(req->graph);
	req->deadline_ns = args->deadline_ns;
	req->objective = args->objective;
	req->arena_budget = args->arena_budget;
	strscpy(req->planner, args->planner, sizeof(req->planner));
	return req;
}

static int npumem_request_queue(struct npumem_request *req, struct npumem_device *dev,
				struct npumem_plan *plan)
{
	lockdep_assert_held(&upcall.lock);
	if (!upcall.portid)
		return -ENOTCONN;
	if (upcall.count >= NPUMEM_MAX_REQUESTS)
		return -EBUSY;
	npumem_plan_get(plan);
	req->plan = plan;
	drm_dev_get(&dev->drm);
	req->dev = dev;
	req->id = upcall.next_id++;
	req->state = NPUMEM_REQUEST_WAITING;
	list_add_tail(&req->link, &upcall.requests);
	upcall.count++;
	npumem_request_get(req);
	npumem_request_arm(req);
	trace_npumem_request(req->id, req->graph->size, req->planner, req->deadline_ns);
	return 0;
}

struct dma_fence *npumem_upcall_request(struct npumem_device *dev, struct npumem_plan *plan,
					const struct drm_npumem_plan_request *args)
{
	struct npumem_request *req;
	struct dma_fence *fence;
	int err, cookie;

	if (args->deadline_ns <= 0 || ktime_get_ns() >= args->deadline_ns)
		return ERR_PTR(-ETIMEDOUT);
	req = npumem_request_new(plan, args);
	if (!req)
		return ERR_PTR(-ENOMEM);
	fence = dma_fence_get(req->fence);

	/* Queued before drm_dev_unplug() returns, so npumem_upcall_unplug() sees it. */
	err = -ENODEV;
	if (drm_dev_enter(&dev->drm, &cookie)) {
		mutex_lock(&upcall.lock);
		err = npumem_request_queue(req, dev, plan);
		mutex_unlock(&upcall.lock);
		drm_dev_exit(cookie);
	}
	if (err) {
		/* A fence that nobody saw; but released unsignalled it would warn. */
		npumem_fence_signal(fence, err);
		dma_fence_put(fence);
		npumem_request_put(req);
		return ERR_PTR(err);
	}
	npumem_upcall_nl_ready();
	return fence;
}

static u32 npumem_is_of_plan(const struct npumem_request *req, const void *plan)
{
	return req->plan == plan ? ECANCELED : 0;
}

void npumem_upcall_cancel(struct npumem_plan *plan)
{
	bool pending;

	mutex_lock(&plan->lock);
	pending = plan->state == NPUMEM_PLAN_PENDING;
	mutex_unlock(&plan->lock);
	if (pending)
		npumem_requests_fail(npumem_is_of_plan, plan);
}

static u32 npumem_is_of_device(const struct npumem_request *req, const void *dev)
{
	return req->dev == dev ? ENODEV : 0;
}

void npumem_upcall_unplug(struct npumem_device *dev)
{
	npumem_requests_fail(npumem_is_of_device, dev);
}

/* --------------------------------------------------------- the daemon's side */

bool npumem_upcall_has_daemon(void)
{
	return READ_ONCE(upcall.portid);
}

bool npumem_upcall_is_daemon(u32 portid)
{
	return READ_ONCE(upcall.portid) == portid;
}

int npumem_upcall_register(u32 portid)
{
	int err = 0;

	mutex_lock(&upcall.lock);
	if (upcall.portid && upcall.portid != portid)
		err = -EBUSY;
	else
		WRITE_ONCE(upcall.portid, portid);
	mutex_unlock(&upcall.lock);
	return err;
}

static u32 npumem_is_of_daemon(const struct npumem_request *req, const void *arg)
{
	return req->state == NPUMEM_REQUEST_ACCEPTED ? ECONNRESET : ENOTCONN;
}

void npumem_upcall_unregister(u32 portid)
{
	bool registered;

	mutex_lock(&upcall.lock);
	registered = upcall.portid == portid;
	if (registered)
		WRITE_ONCE(upcall.portid, 0);
	mutex_unlock(&upcall.lock);
	if (registered)
		npumem_requests_fail(npumem_is_of_daemon, NULL);
}

struct npumem_request *npumem_request_accept(void)
{
	struct npumem_request *req, *found = NULL;

	mutex_lock(&upcall.lock);
	list_for_each_entry(req, &upcall.requests, link) {
		if (req->state != NPUMEM_REQUEST_WAITING)
			continue;
		req->state = NPUMEM_REQUEST_ACCEPTED;
		npumem_request_get(req);
		found = req;
		break;
	}
	mutex_unlock(&upcall.lock);
	return found;
}

void npumem_request_unaccept(struct npumem_request *req)
{
	mutex_lock(&upcall.lock);
	if (req->state == NPUMEM_REQUEST_ACCEPTED)
		req->state = NPUMEM_REQUEST_WAITING;
	mutex_unlock(&upcall.lock);
}

void npumem_request_opened(struct npumem_request *req, struct file *file)
{
	mutex_lock(&upcall.lock);
	req->file = file;
	mutex_unlock(&upcall.lock);
}

/* Not every file that is released is the daemon's: see npumem_request_unaccept(). */
static u32 npumem_is_of_file(const struct npumem_request *req, const void *file)
{
	return req->file == file ? ECONNRESET : 0;
}

void npumem_request_closed(struct npumem_request *req, struct file *file)
{
	npumem_requests_fail(npumem_is_of_file, file);
}

static struct npumem_request *npumem_request_claim_accepted(u64 id, u32 error)
{
	struct npumem_request *req, *found = NULL;

	mutex_lock(&upcall.lock);
	list_for_each_entry(req, &upcall.requests, link) {
		if (req->id == id && req->state == NPUMEM_REQUEST_ACCEPTED) {
			npumem_request_claim(req, error);
			found = req;
			break;
		}
	}
	mutex_unlock(&upcall.lock);
	return found;
}

/* Verify the answer of a claimed request and settle it with that. */
static void npumem_request_verify(struct npumem_request *req, struct npumem_outcome *outcome)
{
	struct npuv_log log;
	void *blob;
	u64 size;
	int err;

	npuv_log_init(&log, 1, outcome->message, sizeof(outcome->message));
	blob = npumem_request_take_answer(req, &size);
	if (!blob) {
		req->error = EBADMSG;
		npumem_request_fail(req, "the daemon gave no plan");
		return;
	}
	err = npumem_plan_settle(req->plan, blob, size, &log);
	if (err == -EINTR) {
		/* Only death interrupts verification: it is the daemon's. */
		req->error = ECONNRESET;
		npumem_request_fail(req, NULL);
		return;
	}
	req->error = -err;
	if (req->plan->verdict.rule)
		npumem_upcall_event_verdict(req->dev, &req->plan->verdict);
	npumem_request_finish(req);
}

int npumem_request_done(u64 id, u32 status, const char *message, struct npumem_outcome *outcome)
{
	struct npumem_request *req = npumem_request_claim_accepted(id, status);
	struct npumem_plan *plan;

	if (!req)
		return -ENOENT;
	/* To read what became of it: settled, it is constant. */
	plan = req->plan;
	npumem_plan_get(plan);
	if (status)
		npumem_request_fail(req, message ?: "the daemon refused without a reason");
	else
		npumem_request_verify(req, outcome);
	outcome->error = plan->error;
	outcome->verdict = plan->verdict;
	strscpy(outcome->message, plan->message ?: "", sizeof(outcome->message));
	npumem_plan_put(plan);
	return 0;
}

/* ------------------------------------------------------------------- module */

int npumem_upcall_init(void)
{
	int err;

	upcall.wq = alloc_workqueue("npumem-upcall", WQ_UNBOUND, 0);
	if (!upcall.wq)
		return -ENOMEM;
	err = npumem_upcall_nl_init();
	if (err)
		destroy_workqueue(upcall.wq);
	return err;
}

void npumem_upcall_exit(void)
{
	npumem_upcall_nl_exit();
	WARN_ON(!list_empty(&upcall.requests));
	destroy_workqueue(upcall.wq);
}
