// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plans are made, settled and freed here. plan_ioctl.c has the ioctls.
 *
 * A plan is PENDING until it is settled, once, as READY or FAILED; from then on
 * nothing of it changes but its reference count.
 *
 * Locking. plan->lock guards the change from PENDING; nobody sleeps for long or
 * takes another lock under it: verification runs before it is taken, and user
 * memory is written after it is released, when the plan is constant.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/client.h"
#include "npumem_netlink.h"
#include "base/trace.h"
#include "plan.h"

static void plan_release(struct kref *ref)
{
	struct npu_plan *plan = container_of(ref, struct npu_plan, ref);

	if (plan->v)
		npuv_plan_destroy(plan->v);
	kvfree(plan->blob);
	kfree(plan->owned_message);
	mutex_destroy(&plan->lock);
	if (plan->cut)
		npumem_graph_put(plan->cut);
	npumem_graph_put(plan->graph);
	npumem_client_uncharge(plan->client, NPUMEM_RESOURCE_MEMORY, plan->charged);
	npumem_client_put(plan->client);
	kfree(plan);
}

struct npu_plan *npumem_plan_new(struct npu_graph *graph, struct npu_client *client)
{
	struct npu_plan *plan = kzalloc(sizeof(*plan), GFP_KERNEL_ACCOUNT);
	int err;

	if (!plan)
		return ERR_PTR(-ENOMEM);
	err = npumem_client_charge(client, NPUMEM_RESOURCE_MEMORY, sizeof(*plan));
	if (err) {
		kfree(plan);
		return ERR_PTR(err);
	}
	plan->client = npumem_client_get(client);
	plan->charged = sizeof(*plan);
	kref_init(&plan->ref);
	mutex_init(&plan->lock);
	plan->created_ns = ktime_get_ns();
	plan->state = NPUMEM_PLAN_STATE_PENDING;
	plan->graph = graph;
	npumem_graph_get(graph);
	return plan;
}

void npumem_plan_get(struct npu_plan *plan)
{
	kref_get(&plan->ref);
}

void npumem_plan_put(struct npu_plan *plan)
{
	kref_put(&plan->ref, plan_release);
}

/*
 * Settle a plan as FAILED. It takes over @owned, which is @message if that was allocated,
 * else NULL.
 */
static int plan_set_failed(struct npu_plan *plan, u32 error, const char *message, char *owned,
			   const struct npumem_verdict *verdict, u64 verify_ns)
{
	guard(mutex)(&plan->lock);
	if (plan->state != NPUMEM_PLAN_STATE_PENDING) {
		kfree(owned);
		return -EALREADY;
	}
	if (verdict)
		plan->verdict = *verdict;
	plan->verify_ns = verify_ns;
	plan->message = message;
	plan->owned_message = owned;
	plan->error = error;
	plan->state = NPUMEM_PLAN_STATE_FAILED;
	return 0;
}

int npumem_plan_fail(struct npu_plan *plan, u32 error, const char *reason)
{
	return plan_set_failed(plan, error, reason, NULL, NULL, 0);
}

int npumem_plan_fail_copy(struct npu_plan *plan, u32 error, const char *message)
{
	/* Without memory for the message, the errno has to do. */
	char *copy = kstrndup(message, NPUMEM_MAX_MESSAGE, GFP_KERNEL_ACCOUNT);

	return plan_set_failed(plan, error, copy, copy, NULL, 0);
}

/* Charge the plan's client for it; on refusal @message is the reason, which the caller frees. */
static int plan_charge(struct npu_plan *plan, u64 bytes, char **message)
{
	int err = npumem_client_charge(plan->client, NPUMEM_RESOURCE_MEMORY, bytes);

	if (err)
		*message = kasprintf(
			GFP_KERNEL_ACCOUNT,
			"the plan needs %llu bytes of kernel memory, more than the share of %llu has left",
			bytes, npumem_client_limit(plan->client, NPUMEM_RESOURCE_MEMORY));
	return err;
}

/* As npumem_plan_settle(), of @cut if that is not NULL; a READY plan has a reference on it. */
static int plan_settle(struct npu_plan *plan, struct npu_graph *cut, void *blob, u64 size,
		       struct npuv_log *log)
{
	const struct npu_graph *graph = cut ?: plan->graph;
	struct npumem_verdict verdict = {};
	struct npuv_plan *v = NULL;
	char *message = NULL;
	u64 start, ns, bytes;
	int err;

	start = ktime_get_ns();
	err = npuv_plan_create(graph->v, blob, size, &npuv_default_limits, log, &verdict, &v);
	ns = ktime_get_ns() - start;
	trace_npumem_verify(size, ns, err, verdict.rule);
	if (err == -EINTR) {
		kvfree(blob);
		return err;
	}
	if (err) {
		if (log && log->buf && log->used)
			message = kstrndup(log->buf, NPUMEM_MAX_MESSAGE, GFP_KERNEL_ACCOUNT);
	} else if (plan->arena_budget && v->info->arena_size > plan->arena_budget) {
		message = kasprintf(GFP_KERNEL_ACCOUNT,
				    "the plan needs %llu bytes of arena, the budget is %llu",
				    v->info->arena_size, plan->arena_budget);
		npuv_plan_destroy(v);
		err = -ENOSPC;
	} else {
		/* The blob of a PLAN_LOAD has been charged already. */
		bytes = sizeof(*plan) + size + npuv_plan_bytes(v) - plan->charged;
		err = plan_charge(plan, bytes, &message);
		if (err)
			npuv_plan_destroy(v);
	}
	if (err) {
		kvfree(blob);
		if (plan_set_failed(plan, -err, message, message, &verdict, ns))
			return -EALREADY;
		return err;
	}

	mutex_lock(&plan->lock);
	if (plan->state == NPUMEM_PLAN_STATE_PENDING) {
		plan->charged += bytes;
		if (cut)
			npumem_graph_get(cut);
		plan->cut = cut;
		plan->blob = blob;
		plan->size = size;
		plan->v = v;
		plan->verify_ns = ns;
		plan->state = NPUMEM_PLAN_STATE_READY;
	} else {
		err = -EALREADY;
	}
	mutex_unlock(&plan->lock);
	if (err) {
		npumem_client_uncharge(plan->client, NPUMEM_RESOURCE_MEMORY, bytes);
		npuv_plan_destroy(v);
		kvfree(blob);
	}
	return err;
}

int npumem_plan_settle(struct npu_plan *plan, void *blob, u64 size, struct npuv_log *log)
{
	return plan_settle(plan, NULL, blob, size, log);
}

/* The daemon's graph was refused, and with it the plan. */
static int plan_refuse_graph(struct npu_plan *plan, int err, const struct npumem_verdict *verdict,
			     const struct npuv_log *log)
{
	const char *why = "more memory than there is, or than the share has left";
	char *message;

	if (log && log->buf && log->used)
		why = log->buf;
	message = kasprintf(GFP_KERNEL_ACCOUNT, "the daemon's graph: %s", why);
	return plan_set_failed(plan, -err, message, message, verdict, 0) ?: err;
}

int npumem_plan_settle_cut(struct npu_plan *plan, void *answer, u64 graph_size, u64 size,
			   struct npuv_log *log)
{
	struct npumem_verdict verdict = {};
	struct npu_graph *graph;
	void *blob;
	int err;

	graph = npumem_graph_of(plan->client, answer, graph_size, &verdict, log);
	if (IS_ERR(graph)) {
		kvfree(answer);
		return plan_refuse_graph(plan, PTR_ERR(graph), &verdict, log);
	}
	size -= graph_size;
	blob = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (blob)
		memcpy(blob, answer + graph_size, size);
	kvfree(answer);
	err = blob ? plan_settle(plan, graph, blob, size, log) :
		     plan_refuse_graph(plan, -ENOMEM, NULL, NULL);
	npumem_graph_put(graph);
	return err;
}
