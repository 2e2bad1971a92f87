// SPDX-License-Identifier: GPL-2.0-only
/*
 * PLAN_REQUEST, PLAN_LOAD, PLAN_READ and PLAN_DESTROY.
 *
 * PLAN_LOAD verifies in the caller's context and publishes the handle of a plan only
 * if it is READY. PLAN_REQUEST publishes a PENDING one, and a request (upcall/upcall.c)
 * settles it. A handle is reserved (a NULL entry of the xarray, which lookups do not
 * see) before its plan exists, so that publishing it cannot fail.
 */
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>

#include "base/client.h"
#include "device.h"
#include "upcall/upcall.h"

/* Drop the handle's reference, and end the request that would settle the plan, if there is one. */
static void plan_drop(struct npu_plan *plan)
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
		plan_drop(plan);
	}
}

/*
 * Copy the blob of a PLAN_LOAD. That may be stuck in a page fault for as long as user space
 * likes, so no lock is held; and many callers may copy at once, so the memory is charged
 * before.
 */
static void *plan_blob(struct npu_plan *plan, const struct drm_npumem_buffer *user)
{
	int err;

	err = npumem_buffer_check(user, npuv_default_limits.max_blob);
	if (!err)
		err = npumem_client_charge(plan->client, NPUMEM_RESOURCE_MEMORY, user->size);
	if (err)
		return ERR_PTR(err);
	plan->charged += user->size;
	return npumem_blob_copy(user);
}

/* Verify the blob of a PLAN_LOAD and take it over. If 0 is returned the plan is READY. */
static int plan_verify(struct npu_file *file, struct npu_plan *plan, void *blob, u64 size,
		       struct npumem_verdict *verdict, struct npuv_log *log)
{
	int err = npumem_client_begin_verify(file->client);

	if (err) {
		kvfree(blob);
		return err;
	}
	err = npumem_plan_settle(plan, blob, size, log);
	npumem_client_end_verify(file->client);
	if (!err)
		return 0;
	*verdict = plan->verdict;
	if (verdict->rule && npumem_client_may_tell(file->client))
		npumem_upcall_event_verdict(file->dev, task_tgid_nr(current), plan->message,
					    plan->graph->v, verdict);
	return err;
}

static struct npu_plan *plan_load(struct npu_file *file, struct npu_graph *graph,
				  const struct drm_npumem_buffer *user,
				  struct npumem_verdict *verdict, struct npuv_log *log)
{
	struct npu_plan *plan = npumem_plan_new(graph, file->client);
	void *blob;
	int err;

	if (IS_ERR(plan))
		return plan;
	blob = plan_blob(plan, user);
	err = IS_ERR(blob) ? PTR_ERR(blob) :
			     plan_verify(file, plan, blob, user->size, verdict, log);
	if (!err)
		return plan;
	npumem_plan_put(plan);
	return ERR_PTR(err);
}

int npumem_ioctl_plan_load(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *priv = file->driver_priv;
	struct npu_graph *graph __free(npumem_graph_put) = NULL;
	struct drm_npumem_plan_load *args = data;
	struct npu_verdict_user verdict;
	struct npu_log_user log;
	struct npu_plan *plan;
	int err;

	args->handle = 0;
	if (args->flags || args->pad)
		return npumem_refuse(drm, -EINVAL, "PLAN_LOAD: flags or pad not zero");
	graph = npumem_graph_lookup(priv, args->graph);
	if (!graph)
		return npumem_refuse(drm, -ENOENT, "PLAN_LOAD: no graph %u", args->graph);
	err = npumem_verdict_begin(&verdict, &args->verdict);
	if (!err)
		err = npumem_log_begin(&log, &args->log);
	if (err)
		return npumem_refuse(drm, err, "PLAN_LOAD: verdict or log");
	plan = plan_load(priv, graph, &args->blob, &verdict.verdict, &log.log);
	err = npumem_log_end(&log, PTR_ERR_OR_ZERO(plan));
	err = npumem_verdict_end(&verdict, err);
	if (IS_ERR(plan))
		return npumem_refuse(drm, err, "PLAN_LOAD: %llu bytes refused, rule %u",
				     args->blob.size, verdict.verdict.rule);
	if (!err)
		err = npumem_handle_publish(&priv->plans, plan, &plan->handle, &args->handle);
	if (err)
		npumem_plan_put(plan);
	return err;
}

static int plan_request_check(struct drm_device *drm, const struct drm_npumem_plan_request *args)
{
	size_t length = strnlen(args->planner, sizeof(args->planner));

	if (args->flags & ~NPUMEM_PLAN_REQUEST_CUT || args->pad)
		return npumem_refuse(drm, -EINVAL, "PLAN_REQUEST: unknown flags %#x, or a pad",
				     args->flags);
	if (args->objective > NPUMEM_OBJECTIVE_PEAK)
		return npumem_refuse(drm, -EINVAL, "PLAN_REQUEST: unknown objective %u",
				     args->objective);
	if (args->out_point && !args->out_sync)
		return npumem_refuse(drm, -EINVAL, "PLAN_REQUEST: a point without a syncobj");
	if (length == sizeof(args->planner) ||
	    memchr_inv(args->planner + length, 0, sizeof(args->planner) - length))
		return npumem_refuse(
			drm, -EINVAL,
			"PLAN_REQUEST: planner's name not NUL-terminated and NUL-padded");
	return 0;
}

/* Find and allocate all that signalling will need: nothing may fail once the request exists. */
static int out_sync_find(struct npu_out_sync *out, struct drm_file *file,
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

static void out_sync_free(struct npu_out_sync *out)
{
	if (!out->syncobj)
		return;
	dma_fence_chain_free(out->chain);
	drm_syncobj_put(out->syncobj);
}

/* Queue a request for a plan. On error nobody but the caller has a reference on the plan. */
static int plan_ask(struct drm_device *drm, struct drm_file *file, struct npu_plan *plan,
		    struct drm_npumem_plan_request *args)
{
	struct npu_file *priv = file->driver_priv;
	struct npu_out_sync out;
	u32 handle;
	int err;

	err = out_sync_find(&out, file, args);
	if (err)
		return npumem_refuse(drm, err, "PLAN_REQUEST: syncobj %u", args->out_sync);
	err = npumem_handle_alloc(&priv->plans, NULL, &handle);
	if (err)
		goto free_sync;
	err = npumem_upcall_request(to_npumem(drm), priv->requester, plan, args, &out);
	if (err) {
		xa_release(&priv->plans, handle);
		err = npumem_refuse(drm, err, "PLAN_REQUEST: not queued");
		goto free_sync;
	}
	/* The handle has the reference now; nothing fails from here on. */
	args->handle = handle;
	plan->handle = handle;
	xa_store(&priv->plans, handle, plan, GFP_KERNEL_ACCOUNT);
	return 0;

free_sync:
	out_sync_free(&out);
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
	err = plan_request_check(drm, args);
	if (err)
		return err;
	graph = npumem_graph_lookup(priv, args->graph);
	if (!graph)
		return npumem_refuse(drm, -ENOENT, "PLAN_REQUEST: no graph %u", args->graph);
	plan = npumem_plan_new(graph, priv->client);
	npumem_graph_put(graph);
	if (IS_ERR(plan))
		return PTR_ERR(plan);
	plan->arena_budget = args->arena_budget;
	err = plan_ask(drm, file, plan, args);
	if (err)
		npumem_plan_put(plan);
	return err;
}

static int plan_read_check(struct drm_device *drm, struct drm_npumem_plan_read *args)
{
	int err;

	if (args->pad)
		return npumem_refuse(drm, -EINVAL, "PLAN_READ: pad is not zero");
	err = npumem_room_check(&args->blob, npuv_default_limits.max_blob);
	if (!err)
		err = npumem_room_check(&args->graph, npuv_default_limits.max_blob);
	if (!err)
		err = npumem_room_check(&args->message, NPUMEM_MAX_LOG);
	if (!err)
		err = npumem_room_check(&args->verdict, NPUMEM_MAX_RECORD);
	return err ? npumem_refuse(drm, err, "PLAN_READ: a buffer") : 0;
}

/* What of a plan is constant once it is settled; of a PENDING one there is nothing. */
static int plan_read_settled(const struct npu_plan *plan, struct drm_npumem_plan_read *args)
{
	static const struct npumem_verdict none;
	bool settled = args->state != NPUMEM_PLAN_STATE_PENDING;
	const struct npu_graph *graph =
		args->state == NPUMEM_PLAN_STATE_READY ? npumem_plan_graph(plan) : NULL;
	int err;

	err = npumem_buffer_give(&args->blob, settled ? plan->blob : NULL,
				 settled ? plan->size : 0);
	if (!err)
		err = npumem_buffer_give(&args->graph, graph ? graph->blob : NULL,
					 graph ? graph->size : 0);
	if (!err)
		err = npumem_text_give(&args->message, settled ? plan->message : NULL);
	if (!err)
		err = npumem_buffer_give(&args->verdict, settled ? &plan->verdict : &none,
					 sizeof(none));
	return err;
}

int npumem_ioctl_plan_read(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_plan *plan __free(npumem_plan_put) = NULL;
	struct drm_npumem_plan_read *args = data;
	const struct npumem_plan_info *info;
	int err;

	err = plan_read_check(drm, args);
	if (err)
		return err;
	plan = npumem_plan_lookup(file->driver_priv, args->handle);
	if (!plan)
		return npumem_refuse(drm, -ENOENT, "PLAN_READ: no plan %u", args->handle);

	/*
	 * Once the state is seen, under the lock, to be other than PENDING, the plan is
	 * constant.
	 */
	mutex_lock(&plan->lock);
	args->state = plan->state;
	mutex_unlock(&plan->lock);

	args->error = 0;
	args->arena_size = 0;
	args->host_size = 0;
	args->lower_bound = 0;
	args->tile_states = 0;
	args->verify_ns = 0;
	if (args->state != NPUMEM_PLAN_STATE_PENDING) {
		args->error = plan->error;
		args->verify_ns = plan->verify_ns;
	}
	if (args->state == NPUMEM_PLAN_STATE_READY) {
		info = plan->v->info;
		args->arena_size = info->arena_size;
		args->host_size = info->host_size;
		args->lower_bound = info->lower_bound;
		args->tile_states = plan->v->graph->cell_count;
	}
	return plan_read_settled(plan, args);
}

int npumem_ioctl_plan_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *priv = file->driver_priv;
	struct npu_plan *plan = npumem_handle_remove(drm, &priv->plans, data, "PLAN", "plan");

	if (IS_ERR(plan))
		return PTR_ERR(plan);
	plan_drop(plan);
	return 0;
}
