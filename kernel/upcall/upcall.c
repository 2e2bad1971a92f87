// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: life of a plan request
 *
 * PLAN_REQUEST queues a request for a PENDING plan. The registered daemon is
 * told READY, accepts the one whose turn it is (upcall/queue.c), gets an fd for it,
 * and settles it by DONE. It ends once, whatever happens, by the first of:
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
 * plan, tells the requester and the daemon, and drops the references, and does so
 * with no lock held and, unless a plan is to be verified, without getting memory. A
 * deadline that passes during verification therefore changes nothing: the answer
 * was in time. Verification is a work of its own: it takes as long as plans are
 * large, and DONE comes with a lock of netlink's held.
 *
 * No fence. A request waits for a program, for as long as that likes, so nothing
 * that others would wait for may stand for it: its syncobj has no fence until the
 * plan is settled and then gets one that is signalled already. (Who wants to wait
 * uses WAIT_FOR_SUBMIT; "Indefinite DMA Fences" in the kernel's dma-buf.rst says why.)
 *
 * Memory. What a request makes the driver keep, options, answer and plan, is charged
 * to the memory cgroup of who asked, in whoever's context it is made.
 *
 * Locking. upcall.lock guards the list, the queue, the registered socket, and state
 * and file of each request; a mutex, as all callers may sleep: ioctls, netlink, the
 * netlink notifier, fput(), the works. answer_lock (upcall/fd.c) guards the answer.
 * Neither is taken under the other, plan->lock is taken under none of them, and
 * under neither may anybody wait for memory or for user space.
 *
 * Unload. A request not settled belongs to an open DRM file and one settled may
 * belong to an open request fd: both pin the module by their file_operations.
 * Signalled fences need no module (fence.c). What is left is works, of requests
 * that expire or are being verified: npumem_upcall_exit() waits for them by
 * destroying their workqueues.
 */
#include <linux/cred.h>
#include <linux/dma-fence-chain.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/sock.h>

#include <drm/drm_drv.h>
#include <drm/drm_syncobj.h>

#include "base/client.h"
#include "base/fence.h"
#include "base/trace.h"
#include "request.h"

static struct {
	struct mutex lock;
	struct list_head requests; /* those that are not claimed, oldest first */
	struct sock *daemon;	   /* its socket, a reference; or NULL */
	u32 portid;		   /* that socket's */
	u64 next_id;
	struct workqueue_struct *wq; /* for requests whose deadline has passed */
	struct workqueue_struct *verify_wq;
} upcall = {
	.lock = __MUTEX_INITIALIZER(upcall.lock),
	.requests = LIST_HEAD_INIT(upcall.requests),
	.next_id = 1,
};

/*
 * Tell lockdep that nobody may wait for memory while he holds the lock, nor for a page of
 * user space, which needs memory.
 */
static void taint_lock(struct mutex *lock)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(lock);
	fs_reclaim_release(GFP_KERNEL);
}

/* --------------------------------------------------------------- requests */

static void request_free(struct kref *ref)
{
	struct npu_request *req = container_of(ref, struct npu_request, ref);

	dma_fence_put(req->fence);
	npumem_graph_put(req->graph);
	vfree(req->options);
	if (req->options_size)
		npumem_client_uncharge(req->client, NPUMEM_RESOURCE_MEMORY,
				       PAGE_ALIGN(req->options_size));
	npumem_client_put(req->client);
	kvfree(req->answer);
	kfree(req->text);
	mem_cgroup_put(req->memcg);
	mutex_destroy(&req->answer_lock);
	kfree(req);
}

void npumem_request_get(struct npu_request *req)
{
	kref_get(&req->ref);
}

void npumem_request_put(struct npu_request *req)
{
	kref_put(&req->ref, request_free);
}

static void request_claim(struct npu_request *req, u32 error)
{
	lockdep_assert_held(&upcall.lock);
	req->state = NPUMEM_REQUEST_CLAIMED;
	req->error = error;
	list_del_init(&req->link);
	npumem_queue_remove(req);
}

/* Put the fence, signalled before anybody sees it, into the syncobj. */
static void request_signal(struct npu_request *req)
{
	struct npu_out_sync *out = &req->out;

	npumem_fence_signal(req->fence, -(int)req->error);
	if (!out->syncobj)
		return;
	if (out->chain)
		drm_syncobj_add_point(out->syncobj, out->chain, req->fence, out->point);
	else
		drm_syncobj_replace_fence(out->syncobj, req->fence);
	drm_syncobj_put(out->syncobj);
	out->syncobj = NULL;
}

/*
 * The plan of a request has been settled: tell requester and daemon, and drop the
 * references. The claimer calls it.
 */
static void request_finish(struct npu_request *req)
{
	trace_npumem_settle(req->id, -(int)req->error);
	request_signal(req);
	smp_store_release(&req->settled, true);
	wake_up_all(&req->wait);
	if (cancel_delayed_work(&req->expiry))
		npumem_request_put(req);
	npumem_plan_put(req->plan);
	req->plan = NULL;
	drm_dev_put(&req->dev->drm);
	req->dev = NULL;
	npumem_request_put(req);
}

static const char *request_reason(u32 error)
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

/* Settle a claimed request with its error, which is one that request_reason() knows. */
static void request_fail(struct npu_request *req)
{
	u64 size;

	kvfree(npumem_request_take_answer(req, &size));
	req->reason = request_reason(req->error);
	npumem_plan_fail(req->plan, req->error, req->reason);
	request_finish(req);
}

/*
 * struct request_filter - which requests are to be settled, and with which errno
 * @req: this one alone, or NULL
 * @plan: those for this plan alone, or NULL
 * @dev: those of this device alone, or NULL
 * @file: those whose descriptor is this file alone, or NULL
 * @error: errno, of those that request_reason() knows
 * @error_waiting: errno of requests that the daemon has not accepted, or 0 if it is @error
 *
 * One without a pointer is met by every request.
 */
struct request_filter {
	const struct npu_request *req;
	const struct npu_plan *plan;
	const struct npu_device *dev;
	const struct file *file;
	u32 error;
	u32 error_waiting;
};

static bool request_meets(const struct npu_request *req, const struct request_filter *filter)
{
	return (!filter->req || req == filter->req) &&
	       (!filter->plan || req->plan == filter->plan) &&
	       (!filter->dev || req->dev == filter->dev) &&
	       (!filter->file || req->file == filter->file);
}

/* Claim all requests that meet a filter, each with the filter's errno. */
static void requests_claim(const struct request_filter *filter, struct list_head *claimed)
{
	struct npu_request *req, *next;
	bool waiting;

	lockdep_assert_held(&upcall.lock);
	list_for_each_entry_safe(req, next, &upcall.requests, link) {
		if (!request_meets(req, filter))
			continue;
		waiting = req->state == NPUMEM_REQUEST_WAITING;
		request_claim(req, waiting && filter->error_waiting ? filter->error_waiting :
								      filter->error);
		list_add_tail(&req->link, claimed);
	}
}

static void requests_settle(struct list_head *claimed)
{
	struct npu_request *req, *next;

	list_for_each_entry_safe(req, next, claimed, link) {
		list_del_init(&req->link);
		request_fail(req);
	}
}

/* Settle all requests that meet a filter, each with the filter's errno. */
static void requests_fail(const struct request_filter *filter)
{
	LIST_HEAD(claimed);

	mutex_lock(&upcall.lock);
	requests_claim(filter, &claimed);
	mutex_unlock(&upcall.lock);
	requests_settle(&claimed);
}

/* ------------------------------------------------------- the requester's side */

struct npu_requester *npumem_upcall_open(void)
{
	struct npu_requester *requester = npumem_requester_alloc(current_euid());
	struct npu_queue_user *surplus;

	if (!requester)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&upcall.lock);
	surplus = npumem_queue_join(requester);
	mutex_unlock(&upcall.lock);
	kfree(surplus);
	return requester;
}

void npumem_upcall_close(struct npu_requester *requester)
{
	struct npu_queue_user *last;

	mutex_lock(&upcall.lock);
	last = npumem_queue_leave(requester);
	mutex_unlock(&upcall.lock);
	kfree(last);
	kfree(requester);
}

static void request_arm(struct npu_request *req)
{
	s64 left = req->deadline_ns - ktime_get_ns();
	u64 delay = left > 0 ? nsecs_to_jiffies64(left) + 1 : 0;

	/* The work looks at the clock, and arms itself again if the delay had to be cut short. */
	queue_delayed_work(upcall.wq, &req->expiry, min_t(u64, delay, MAX_JIFFY_OFFSET));
}

static void request_expire(struct work_struct *work)
{
	struct npu_request *req = container_of(to_delayed_work(work), struct npu_request, expiry);
	bool claimed;

	if (ktime_get_ns() < req->deadline_ns) {
		/*
		 * Under the lock: a claimer's cancel_delayed_work() comes either
		 * before this, then there is nothing to arm, or finds it armed.
		 */
		mutex_lock(&upcall.lock);
		claimed = req->state == NPUMEM_REQUEST_CLAIMED;
		if (!claimed)
			request_arm(req);
		mutex_unlock(&upcall.lock);
		if (!claimed)
			return;
	} else {
		requests_fail(&(struct request_filter){ .req = req, .error = ETIMEDOUT });
	}
	npumem_request_put(req);
}

static void request_verify(struct work_struct *work);

/*
 * Copy the options into whole pages, which the daemon maps as it does the graph's blob. That may
 * be stuck in a page fault for as long as user space likes, so no lock is held.
 */
static int request_options(struct npu_request *req, const struct drm_npumem_buffer *user)
{
	int err = npumem_buffer_check(user, NPUMEM_OPTIONS_MAX_BYTES);

	if (err || !user->size)
		return err;
	err = npumem_client_charge(req->client, NPUMEM_RESOURCE_MEMORY, PAGE_ALIGN(user->size));
	if (err)
		return err;
	req->options_size = user->size;
	req->options =
		__vmalloc(PAGE_ALIGN(user->size),
			  GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!req->options)
		return -ENOMEM;
	return copy_from_user(req->options, u64_to_user_ptr(user->ptr), user->size) ? -EFAULT : 0;
}

/* A request that nobody knows of yet. ERR_PTR: what request_options() says, -ENOMEM. */
static struct npu_request *request_new(struct npu_plan *plan,
				       const struct drm_npumem_plan_request *args)
{
	struct npu_request *req = kzalloc(sizeof(*req), GFP_KERNEL_ACCOUNT);
	int err;

	if (!req)
		return ERR_PTR(-ENOMEM);
	kref_init(&req->ref);
	INIT_LIST_HEAD(&req->link);
	INIT_LIST_HEAD(&req->waiting);
	INIT_DELAYED_WORK(&req->expiry, request_expire);
	INIT_WORK(&req->verify, request_verify);
	init_waitqueue_head(&req->wait);
	mutex_init(&req->answer_lock);
	taint_lock(&req->answer_lock);
	req->memcg = get_mem_cgroup_from_mm(current->mm);
	req->graph = plan->graph;
	npumem_graph_get(req->graph);
	req->client = npumem_client_get(plan->client);
	req->cut = args->flags & NPUMEM_PLAN_REQUEST_CUT;
	req->deadline_ns = args->deadline_ns;
	req->objective = args->objective;
	req->arena_budget = args->arena_budget;
	strscpy(req->planner, args->planner, sizeof(req->planner));
	err = request_options(req, &args->options);
	if (!err) {
		/* Requests are independent of each other, so each has a timeline of its own. */
		req->fence = npumem_fence_create(dma_fence_context_alloc(1), 1);
		err = req->fence ? 0 : -ENOMEM;
	}
	if (!err)
		return req;
	npumem_request_put(req);
	return ERR_PTR(err);
}

static int request_queue(struct npu_request *req, struct npu_device *dev,
			 struct npu_requester *requester, struct npu_plan *plan,
			 const struct npu_out_sync *out)
{
	int err;

	lockdep_assert_held(&upcall.lock);
	if (!upcall.daemon)
		return -ENOTCONN;
	err = npumem_queue_admit(requester);
	if (err)
		return err;
	req->out = *out;
	/* A fence that was in the syncobj before would be taken for this request's. */
	if (out->syncobj && !out->chain)
		drm_syncobj_replace_fence(out->syncobj, NULL);
	npumem_plan_get(plan);
	req->plan = plan;
	drm_dev_get(&dev->drm);
	req->dev = dev;
	req->id = upcall.next_id++;
	req->state = NPUMEM_REQUEST_WAITING;
	list_add_tail(&req->link, &upcall.requests);
	npumem_queue_add(req, requester);
	npumem_request_get(req);
	request_arm(req);
	trace_npumem_request(req->id, req->graph->size, req->planner, req->deadline_ns);
	return 0;
}

static int deadline_check(s64 deadline_ns)
{
	s64 now = ktime_get_ns();

	if (deadline_ns <= now)
		return -ETIMEDOUT;
	return deadline_ns - now > NPUMEM_MAX_REQUEST_NS ? -EINVAL : 0;
}

int npumem_upcall_request(struct npu_device *dev, struct npu_requester *requester,
			  struct npu_plan *plan, const struct drm_npumem_plan_request *args,
			  const struct npu_out_sync *out)
{
	struct npu_request *req;
	int err, cookie;

	err = deadline_check(args->deadline_ns);
	if (err)
		return err;
	req = request_new(plan, args);
	if (IS_ERR(req))
		return PTR_ERR(req);

	/* Queued before drm_dev_unplug() returns, so npumem_upcall_unplug() sees it. */
	err = -ENODEV;
	if (drm_dev_enter(&dev->drm, &cookie)) {
		mutex_lock(&upcall.lock);
		err = request_queue(req, dev, requester, plan, out);
		mutex_unlock(&upcall.lock);
		drm_dev_exit(cookie);
	}
	if (err) {
		/* Nobody saw the fence, but the core warns if one is freed unsignalled. */
		npumem_fence_signal(req->fence, err);
		npumem_request_put(req);
		return err;
	}
	npumem_upcall_nl_ready();
	return 0;
}

void npumem_upcall_cancel(struct npu_plan *plan)
{
	bool pending;

	mutex_lock(&plan->lock);
	pending = plan->state == NPUMEM_PLAN_STATE_PENDING;
	mutex_unlock(&plan->lock);
	if (pending)
		requests_fail(&(struct request_filter){ .plan = plan, .error = ECANCELED });
}

void npumem_upcall_unplug(struct npu_device *dev)
{
	requests_fail(&(struct request_filter){ .dev = dev, .error = ENODEV });
}

/* --------------------------------------------------------- the daemon's side */

bool npumem_upcall_has_daemon(void)
{
	return READ_ONCE(upcall.daemon);
}

bool npumem_upcall_is_daemon(const struct sock *sk)
{
	return READ_ONCE(upcall.daemon) == sk;
}

/* Forget the daemon's socket and claim all requests. The caller has to sock_put() it. */
static struct sock *daemon_retire(struct list_head *claimed)
{
	const struct request_filter all = { .error = ECONNRESET, .error_waiting = ENOTCONN };
	struct sock *sk = upcall.daemon;

	lockdep_assert_held(&upcall.lock);
	WRITE_ONCE(upcall.daemon, NULL);
	requests_claim(&all, claimed);
	return sk;
}

/*
 * Whether the daemon's socket has been closed, as far as socket @sk with @portid can tell. A
 * socket that is closed loses its portid first, is then marked dead, and only then netlink
 * tells of it. So another socket with its portid proves it as much as the mark does.
 */
static bool daemon_has_gone(const struct sock *sk, u32 portid)
{
	if (!upcall.daemon || upcall.daemon == sk)
		return false;
	return upcall.portid == portid || sock_flag(upcall.daemon, SOCK_DEAD);
}

int npumem_upcall_register(struct sock *sk, u32 portid)
{
	struct sock *gone = NULL;
	LIST_HEAD(claimed);
	int err = 0;

	mutex_lock(&upcall.lock);
	if (daemon_has_gone(sk, portid))
		gone = daemon_retire(&claimed);
	if (!upcall.daemon) {
		sock_hold(sk);
		WRITE_ONCE(upcall.daemon, sk);
		upcall.portid = portid;
	} else if (upcall.daemon != sk) {
		err = -EBUSY;
	}
	mutex_unlock(&upcall.lock);
	requests_settle(&claimed);
	if (gone)
		sock_put(gone);
	return err;
}

/*
 * Netlink frees a portid before it tells that the socket was closed, so the portid may
 * already belong to a new daemon. Therefore only a daemon whose socket is dead is retired.
 */
void npumem_upcall_unregister(u32 portid)
{
	struct sock *gone = NULL;
	LIST_HEAD(claimed);

	mutex_lock(&upcall.lock);
	if (upcall.daemon && upcall.portid == portid && sock_flag(upcall.daemon, SOCK_DEAD))
		gone = daemon_retire(&claimed);
	mutex_unlock(&upcall.lock);
	requests_settle(&claimed);
	if (gone)
		sock_put(gone);
}

struct npu_request *npumem_request_accept(void)
{
	struct npu_request *req;

	guard(mutex)(&upcall.lock);
	req = npumem_queue_next();
	if (req) {
		req->state = NPUMEM_REQUEST_ACCEPTED;
		npumem_request_get(req);
	}
	return req;
}

void npumem_request_unaccept(struct npu_request *req)
{
	guard(mutex)(&upcall.lock);
	if (req->state == NPUMEM_REQUEST_ACCEPTED) {
		req->state = NPUMEM_REQUEST_WAITING;
		npumem_queue_return(req);
	}
}

void npumem_request_opened(struct npu_request *req, struct file *file)
{
	guard(mutex)(&upcall.lock);
	req->file = file;
}

void npumem_request_closed(struct npu_request *req, struct file *file)
{
	/*
	 * A file that was released may be one that the daemon never got:
	 * npumem_request_unaccept().
	 */
	requests_fail(&(struct request_filter){ .req = req, .file = file, .error = ECONNRESET });
}

/* Claim the accepted request that DONE is of. ERR_PTR: as npumem_request_done() says. */
static struct npu_request *request_claim_accepted(const struct npu_request_done *done)
{
	struct npu_request *req;

	guard(mutex)(&upcall.lock);
	list_for_each_entry(req, &upcall.requests, link) {
		if (req->id != done->id || req->state != NPUMEM_REQUEST_ACCEPTED)
			continue;
		if (done->graph_size && !req->cut)
			return ERR_PTR(-EINVAL);
		request_claim(req, done->status);
		return req;
	}
	return ERR_PTR(-ENOENT);
}

/* Settle a claimed request with an error, because the daemon refused it or gave no plan. */
static void request_refuse(struct npu_request *req)
{
	u64 size;

	kvfree(npumem_request_take_answer(req, &size));
	npumem_plan_fail_copy(req->plan, req->error, req->text);
	request_finish(req);
}

/* Verify the answer of a claimed request and settle it with that. */
static void request_settle(struct npu_request *req)
{
	struct npu_plan *plan = req->plan;
	struct npuv_log log;
	void *blob;
	u64 size;

	blob = npumem_request_take_answer(req, &size);
	/* Behind a graph there is a plan. */
	if (!blob || req->graph_size >= size) {
		kvfree(blob);
		req->error = EBADMSG;
		strscpy(req->text, "the daemon gave no plan", NPUMEM_MAX_MESSAGE + 1);
		request_refuse(req);
		return;
	}
	npuv_log_init(&log, 1, req->text, NPUMEM_MAX_MESSAGE + 1);
	if (req->graph_size)
		req->error = -npumem_plan_settle_cut(plan, blob, req->graph_size, size, &log);
	else
		req->error = -npumem_plan_settle(plan, blob, size, &log);
	/* A settled plan is constant, so that its outcome may be read without a lock. */
	strscpy(req->text, plan->message ?: "", NPUMEM_MAX_MESSAGE + 1);
	req->verdict = plan->verdict;
	if (plan->verdict.rule && npumem_client_may_tell(plan->client))
		npumem_upcall_event_verdict(req->dev, req->daemon_pid, req->text, NULL,
					    &plan->verdict);
	request_finish(req);
}

static void request_verify(struct work_struct *work)
{
	struct npu_request *req = container_of(work, struct npu_request, verify);
	struct mem_cgroup *memcg = set_active_memcg(req->memcg);

	request_settle(req);
	set_active_memcg(memcg);
	npumem_request_put(req);
}

int npumem_request_done(const struct npu_request_done *done)
{
	struct npu_request *req = request_claim_accepted(done);
	struct mem_cgroup *memcg;

	if (IS_ERR(req))
		return PTR_ERR(req);
	req->answered = true;
	req->daemon_pid = task_tgid_nr(current);
	req->graph_size = done->graph_size;
	req->text = done->text;
	req->reason = done->text;
	if (!done->status) {
		npumem_request_get(req);
		queue_work(upcall.verify_wq, &req->verify);
		return 0;
	}
	if (!req->text[0])
		strscpy(req->text, "the daemon refused without a reason", NPUMEM_MAX_MESSAGE + 1);
	memcg = set_active_memcg(req->memcg);
	request_refuse(req);
	set_active_memcg(memcg);
	return 0;
}

/* ------------------------------------------------------------------- module */

int npumem_upcall_init(void)
{
	int err = -ENOMEM;

	taint_lock(&upcall.lock);
	upcall.wq = alloc_workqueue("npumem-upcall", WQ_UNBOUND, 0);
	if (!upcall.wq)
		return err;
	upcall.verify_wq = alloc_workqueue("npumem-verify", WQ_UNBOUND, 0);
	if (!upcall.verify_wq)
		goto free_wq;
	err = npumem_upcall_nl_init();
	if (err)
		goto free_verify_wq;
	return 0;

free_verify_wq:
	destroy_workqueue(upcall.verify_wq);
free_wq:
	destroy_workqueue(upcall.wq);
	return err;
}

void npumem_upcall_exit(void)
{
	struct sock *gone;

	npumem_upcall_nl_exit();
	/* The daemon may still have its socket; the notifier that would tell of its end is gone. */
	mutex_lock(&upcall.lock);
	gone = upcall.daemon;
	upcall.daemon = NULL;
	mutex_unlock(&upcall.lock);
	if (gone)
		sock_put(gone);
	WARN_ON(!list_empty(&upcall.requests));
	destroy_workqueue(upcall.verify_wq);
	destroy_workqueue(upcall.wq);
}
