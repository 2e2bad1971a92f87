// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plans: PLAN_REQUEST, PLAN_LOAD, PLAN_READ and PLAN_DESTROY.
 *
 * A plan is PENDING until it is settled, once, as READY or FAILED; from then on
 * nothing of it changes but its reference count. PLAN_LOAD verifies in the
 * caller's context and publishes the handle of a plan only if it is READY.
 * PLAN_REQUEST publishes a PENDING one, and a request (upcall.c) settles it.
 *
 * Locking. plan->lock guards the change from PENDING; nobody sleeps for long or
 * takes another lock under it: verification runs before it is taken, and user
 * memory is written after it is released, when the plan is constant. A handle is
 * reserved (a NULL entry of the xarray, which lookups do not see) before its
 * plan exists, so that publishing it cannot fail.
 */
#include <linux/dma-fence-chain.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>

#include "base/client.h"
#include "npumem_netlink.h"
#include "base/trace.h"
#include "upcall/upcall.h"

static void npumem_plan_release(struct kref *ref)
{
	struct npu_plan *plan = container_of(ref, struct npu_plan, ref);

	if (plan->v)
		npuv_plan_destroy(plan->v);
	kvfree(plan->blob);
	kfree(plan->owned_message);
	mutex_destroy(&plan->lock);
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
	plan->state = NPUMEM_PLAN_PENDING;
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
	kref_put(&plan->ref, npumem_plan_release);
}

struct npu_plan *npumem_plan_lookup(struct npu_file *file, u32 handle)
{
	struct npu_plan *plan;

	xa_lock(&file->plans);
	plan = xa_load(&file->plans, handle);
	if (plan)
		npumem_plan_get(plan);
	xa_unlock(&file->plans);
	return plan;
}

/* The handle's reference goes, and with it whoever waits for the plan. */
static void npumem_plan_drop(struct npu_plan *plan)
{
	npumem_upcall_cancel(plan);
	npumem_plan_put(plan);
}

void npumem_plan_release_file(struct npu_file *file)
{
	struct npu_plan *plan;
	unsigned long handle;

	xa_for_each(&file->plans, handle, plan) {
		xa_erase(&file->plans, handle);
		npumem_plan_drop(plan);
	}
}

/* What a plan that is settled as FAILED will hold; owned is the message or NULL. */
static int npumem_plan_set_failed(struct npu_plan *plan, u32 error, const char *message,
				  char *owned, const struct npumem_verdict *verdict, u64 verify_ns)
{
	mutex_lock(&plan->lock);
	if (plan->state != NPUMEM_PLAN_PENDING) {
		mutex_unlock(&plan->lock);
		kfree(owned);
		return -EALREADY;
	}
	if (verdict)
		plan->verdict = *verdict;
	plan->verify_ns = verify_ns;
	plan->message = message;
	plan->owned_message = owned;
	plan->error = error;
	plan->state = NPUMEM_PLAN_FAILED;
	mutex_unlock(&plan->lock);
	return 0;
}

int npumem_plan_fail(struct npu_plan *plan, u32 error, const char *reason)
{
	return npumem_plan_set_failed(plan, error, reason, NULL, NULL, 0);
}

int npumem_plan_fail_copy(struct npu_plan *plan, u32 error, const char *message)
{
	/* Without memory the errno has to do. */
	char *copy = kstrndup(message, NPUMEM_MAX_MESSAGE, GFP_KERNEL_ACCOUNT);

	return npumem_plan_set_failed(plan, error, copy, copy, NULL, 0);
}

/* By who settles it. The message is of a refusal, and the caller's. */
static int npumem_plan_charge(struct npu_plan *plan, u64 bytes, char **message)
{
	int err = npumem_client_charge(plan->client, NPUMEM_RESOURCE_MEMORY, bytes);

	if (err)
		*message = kasprintf(
			GFP_KERNEL_ACCOUNT,
			"the plan needs %llu bytes of kernel memory, more than the share of %llu has left",
			bytes, npumem_client_limit(plan->client, NPUMEM_RESOURCE_MEMORY));
	return err;
}

int npumem_plan_settle(struct npu_plan *plan, void *blob, u64 size, struct npuv_log *log)
{
	struct npumem_verdict verdict = {};
	struct npuv_plan *v = NULL;
	char *message = NULL;
	u64 start, ns, bytes;
	int err;

	start = ktime_get_ns();
	err = npuv_plan_create(plan->graph->v, blob, size, &npuv_default_limits, log, &verdict, &v);
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
		err = npumem_plan_charge(plan, bytes, &message);
		if (err)
			npuv_plan_destroy(v);
	}
	if (err) {
		kvfree(blob);
		if (npumem_plan_set_failed(plan, -err, message, message, &verdict, ns))
			return -EALREADY;
		return err;
	}

	mutex_lock(&plan->lock);
	if (plan->state == NPUMEM_PLAN_PENDING) {
		plan->charged += bytes;
		plan->blob = blob;
		plan->size = size;
		plan->v = v;
		plan->verify_ns = ns;
		plan->state = NPUMEM_PLAN_READY;
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

/*
 * Who copies may be stuck in a page fault for as long as user space likes, so others do
 * not wait for it; and there may be many who do, so it is charged before.
 */
static void *npumem_plan_blob(struct npu_plan *plan, const struct drm_npumem_plan_load *args)
{
	int err;

	if (args->size > npuv_default_limits.max_blob)
		return ERR_PTR(-E2BIG);
	err = npumem_client_charge(plan->client, NPUMEM_RESOURCE_MEMORY, args->size);
	if (err)
		return ERR_PTR(err);
	plan->charged += args->size;
	return npumem_blob_copy(args->blob, args->size);
}

/* Verify the blob of a PLAN_LOAD, which is taken over: the plan is READY if that is 0. */
static int npumem_plan_verify(struct npu_file *file, struct npu_plan *plan, void *blob,
			      struct drm_npumem_plan_load *args, struct npuv_log *log)
{
	int err = npumem_client_begin_verify(file->client);

	if (err) {
		kvfree(blob);
		return err;
	}
	err = npumem_plan_settle(plan, blob, args->size, log);
	npumem_client_end_verify(file->client);
	if (!err)
		return 0;
	args->verdict = plan->verdict;
	if (args->verdict.rule && npumem_client_may_tell(file->client))
		npumem_upcall_event_verdict(file->dev, task_tgid_nr(current), &args->verdict);
	return err;
}

static struct npu_plan *npumem_plan_load(struct npu_file *file, struct npu_graph *graph,
					 struct drm_npumem_plan_load *args, struct npuv_log *log)
{
	struct npu_plan *plan = npumem_plan_new(graph, file->client);
	void *blob;
	int err;

	if (IS_ERR(plan))
		return plan;
	blob = npumem_plan_blob(plan, args);
	err = IS_ERR(blob) ? PTR_ERR(blob) : npumem_plan_verify(file, plan, blob, args, log);
	if (!err)
		return plan;
	npumem_plan_put(plan);
	return ERR_PTR(err);
}

int npumem_ioctl_plan_load(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *priv = file->driver_priv;
	struct drm_npumem_plan_load *args = data;
	struct npu_log_user log;
	struct npu_graph *graph;
	struct npu_plan *plan;
	int err;

	args->handle = 0;
	memset(&args->verdict, 0, sizeof(args->verdict));
	if (args->flags || args->pad) {
		drm_dbg(drm, "PLAN_LOAD: flags or pad not zero\n");
		return -EINVAL;
	}
	graph = npumem_graph_lookup(priv, args->graph);
	if (!graph) {
		drm_dbg(drm, "PLAN_LOAD: no graph %u\n", args->graph);
		return -ENOENT;
	}
	err = npumem_log_begin(&log, &args->log);
	if (err)
		goto put_graph;
	plan = npumem_plan_load(priv, graph, args, &log.log);
	err = npumem_log_end(&log, PTR_ERR_OR_ZERO(plan));
	if (IS_ERR(plan)) {
		drm_dbg(drm, "PLAN_LOAD: %llu bytes refused: %d, rule %u\n", args->size, err,
			args->verdict.rule);
		goto put_graph;
	}
	if (!err)
		err = npumem_handle_alloc(&priv->plans, plan, &args->handle);
	if (err) {
		args->handle = 0;
		npumem_plan_put(plan);
	}
put_graph:
	npumem_graph_put(graph);
	return err;
}

static int npumem_plan_request_check(struct drm_device *drm,
				     const struct drm_npumem_plan_request *args)
{
	size_t length = strnlen(args->planner, sizeof(args->planner));

	if (args->flags || args->pad) {
		drm_dbg(drm, "PLAN_REQUEST: flags or pad not zero\n");
		return -EINVAL;
	}
	if (args->objective > NPUMEM_OBJECTIVE_TRAFFIC) {
		drm_dbg(drm, "PLAN_REQUEST: unknown objective %u\n", args->objective);
		return -EINVAL;
	}
	if (args->out_point && !args->out_sync) {
		drm_dbg(drm, "PLAN_REQUEST: a point without a syncobj\n");
		return -EINVAL;
	}
	if (length == sizeof(args->planner) ||
	    memchr_inv(args->planner + length, 0, sizeof(args->planner) - length)) {
		drm_dbg(drm, "PLAN_REQUEST: planner's name not NUL-terminated and NUL-padded\n");
		return -EINVAL;
	}
	return 0;
}

/* All that can fail is done before the request exists. */
static int npumem_out_sync_find(struct npu_out_sync *out, struct drm_file *file,
				const struct drm_npumem_plan_request *args)
{
	*out = (struct npu_out_sync){ .point = args->out_point };
	if (!args->out_sync)
		return 0;
	out->syncobj = drm_syncobj_find(file, args->out_sync);
	if (!out->syncobj)
		return -ENOENT;
	if (!args->out_point)
		return 0;
	out->chain = dma_fence_chain_alloc();
	if (!out->chain) {
		drm_syncobj_put(out->syncobj);
		return -ENOMEM;
	}
	return 0;
}

static void npumem_out_sync_free(struct npu_out_sync *out)
{
	if (!out->syncobj)
		return;
	dma_fence_chain_free(out->chain);
	drm_syncobj_put(out->syncobj);
}

/* On error, nobody has a reference on the plan but the caller. */
static int npumem_plan_ask(struct drm_device *drm, struct drm_file *file, struct npu_plan *plan,
			   struct drm_npumem_plan_request *args)
{
	struct npu_file *priv = file->driver_priv;
	struct npu_out_sync out;
	u32 handle;
	int err;

	err = npumem_out_sync_find(&out, file, args);
	if (err) {
		drm_dbg(drm, "PLAN_REQUEST: syncobj %u: %d\n", args->out_sync, err);
		return err;
	}
	err = npumem_handle_alloc(&priv->plans, NULL, &handle);
	if (err)
		goto free_sync;
	err = npumem_upcall_request(to_npumem(drm), priv->requester, plan, args, &out);
	if (err) {
		xa_release(&priv->plans, handle);
		drm_dbg(drm, "PLAN_REQUEST: not queued: %d\n", err);
		goto free_sync;
	}
	/* The handle has the reference now; nothing fails from here on. */
	args->handle = handle;
	xa_store(&priv->plans, handle, plan, GFP_KERNEL_ACCOUNT);
	return 0;

free_sync:
	npumem_out_sync_free(&out);
	return err;
}

int npumem_ioctl_plan_request(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *priv = file->driver_priv;
	struct drm_npumem_plan_request *args = data;
	struct npu_graph *graph;
	struct npu_plan *plan;
	int err;

	args->handle = 0;
	err = npumem_plan_request_check(drm, args);
	if (err)
		return err;
	graph = npumem_graph_lookup(priv, args->graph);
	if (!graph) {
		drm_dbg(drm, "PLAN_REQUEST: no graph %u\n", args->graph);
		return -ENOENT;
	}
	plan = npumem_plan_new(graph, priv->client);
	npumem_graph_put(graph);
	if (IS_ERR(plan))
		return PTR_ERR(plan);
	plan->arena_budget = args->arena_budget;
	err = npumem_plan_ask(drm, file, plan, args);
	if (err)
		npumem_plan_put(plan);
	return err;
}

static int npumem_plan_read_blob(const struct npu_plan *plan, struct drm_npumem_plan_read *args)
{
	u64 room = args->size;

	args->size = plan->size;
	if (!args->blob || !plan->size)
		return 0;
	if (copy_to_user(u64_to_user_ptr(args->blob), plan->blob, min(room, plan->size)))
		return -EFAULT;
	return 0;
}

/* The text cut short is NUL-terminated too. */
static int npumem_plan_read_message(const char *message, struct drm_npumem_plan_read *args)
{
	void __user *user = u64_to_user_ptr(args->message);
	const char *text = message ? message : "";
	u32 room = args->message_size;
	u32 length;

	args->message_size = strlen(text) + 1;
	if (!args->message || !room)
		return 0;
	length = min(room, args->message_size) - 1;
	if (copy_to_user(user, text, length) || clear_user(user + length, 1))
		return -EFAULT;
	return 0;
}

int npumem_ioctl_plan_read(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npumem_plan_read *args = data;
	const struct npumem_plan_info *info;
	struct npu_plan *plan;
	int err;

	if (args->pad || args->pad2) {
		drm_dbg(drm, "PLAN_READ: pad is not zero\n");
		return -EINVAL;
	}
	plan = npumem_plan_lookup(file->driver_priv, args->handle);
	if (!plan) {
		drm_dbg(drm, "PLAN_READ: no plan %u\n", args->handle);
		return -ENOENT;
	}

	/* Whatever it is, unless PENDING, is constant once seen under the lock. */
	mutex_lock(&plan->lock);
	args->state = plan->state;
	mutex_unlock(&plan->lock);

	args->error = 0;
	args->arena_size = 0;
	args->host_size = 0;
	args->lower_bound = 0;
	args->tile_states = 0;
	args->verify_ns = 0;
	memset(&args->verdict, 0, sizeof(args->verdict));
	if (args->state == NPUMEM_PLAN_PENDING) {
		args->size = 0;
		err = npumem_plan_read_message(NULL, args);
		goto put;
	}
	args->error = plan->error;
	args->verify_ns = plan->verify_ns;
	args->verdict = plan->verdict;
	if (args->state == NPUMEM_PLAN_READY) {
		info = plan->v->info;
		args->arena_size = info->arena_size;
		args->host_size = info->host_size;
		args->lower_bound = info->lower_bound;
		args->tile_states = plan->v->graph->cell_count;
	}
	err = npumem_plan_read_blob(plan, args);
	if (!err)
		err = npumem_plan_read_message(plan->message, args);
put:
	npumem_plan_put(plan);
	return err;
}

int npumem_ioctl_plan_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *priv = file->driver_priv;
	struct drm_npumem_handle *args = data;
	struct npu_plan *plan;

	if (args->pad) {
		drm_dbg(drm, "PLAN_DESTROY: pad is not zero\n");
		return -EINVAL;
	}
	/* Not xa_erase() at once: that would take a reservation away. */
	xa_lock(&priv->plans);
	plan = xa_load(&priv->plans, args->handle);
	if (plan)
		__xa_erase(&priv->plans, args->handle);
	xa_unlock(&priv->plans);
	if (!plan) {
		drm_dbg(drm, "PLAN_DESTROY: no plan %u\n", args->handle);
		return -ENOENT;
	}
	npumem_plan_drop(plan);
	return 0;
}
