// SPDX-License-Identifier: MIT
/* Graphs and plans: blobs given to the driver, requests to the daemon. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "plan_options.h"
#include "sized.h"

/* Text of one sentence or two; the driver keeps 4096 bytes at most. */
#define MESSAGE_SIZE 4096

/* struct npumem_graph - @refs: the caller's, and those of who asks for plans again */
struct npumem_graph {
	struct npumem_device *device;
	uint32_t handle;
	atomic_uint refs;
};

struct npumem_plan {
	struct npumem_device *device;
	uint32_t handle;
	uint32_t sync;
};

int npumem_graph_new(struct npumem_device *device, const void *blob, size_t size,
		     struct npumem_log *log, struct npumem_graph **out, struct npumem_error *error)
{
	struct drm_npumem_graph_create args = { .blob = buffer_of(blob, size) };
	struct npumem_verdict verdict = { 0 };
	struct npumem_log_use use;
	struct npumem_graph *graph;
	const char *text;
	int err;

	if (!device || !blob || !out)
		return npumem_fail(error, -EINVAL, "npumem_graph_new: NULL argument");
	graph = calloc(1, sizeof(*graph));
	if (!graph)
		return npumem_fail_errno(error, -ENOMEM, "create a graph");
	args.verdict = buffer_of(&verdict, sizeof(verdict));
	npumem_log_begin(&use, log, &args.log);
	err = npumem_ioctl(device, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args);
	text = npumem_log_end(&use, &args.log);
	if (err) {
		free(graph);
		return npumem_fail_verdict(error, err, "the graph", &verdict, text);
	}
	graph->device = npumem_device_get(device);
	graph->handle = args.handle;
	atomic_init(&graph->refs, 1);
	*out = graph;
	return 0;
}

struct npumem_graph *npumem_graph_get(struct npumem_graph *graph)
{
	atomic_fetch_add(&graph->refs, 1);
	return graph;
}

void npumem_graph_free(struct npumem_graph *graph)
{
	if (!graph || atomic_fetch_sub(&graph->refs, 1) > 1)
		return;
	npumem_handle_destroy(graph->device, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, graph->handle);
	npumem_device_put(graph->device);
	free(graph);
}

static struct npumem_plan *plan_new(struct npumem_device *device)
{
	struct npumem_plan *plan = calloc(1, sizeof(*plan));

	if (plan)
		plan->device = npumem_device_get(device);
	return plan;
}

static void plan_free(struct npumem_plan *plan)
{
	if (plan->sync)
		npumem_sync_free(plan->device, plan->sync);
	npumem_device_put(plan->device);
	free(plan);
}

int npumem_plan_load(struct npumem_graph *graph, const void *blob, size_t size,
		     struct npumem_log *log, struct npumem_plan **out, struct npumem_error *error)
{
	struct drm_npumem_plan_load args = { .blob = buffer_of(blob, size) };
	struct npumem_verdict verdict = { 0 };
	struct npumem_log_use use;
	struct npumem_plan *plan;
	const char *text;
	int err;

	if (!graph || !blob || !out)
		return npumem_fail(error, -EINVAL, "npumem_plan_load: NULL argument");
	plan = plan_new(graph->device);
	if (!plan)
		return npumem_fail_errno(error, -ENOMEM, "load a plan");
	args.graph = graph->handle;
	args.verdict = buffer_of(&verdict, sizeof(verdict));
	npumem_log_begin(&use, log, &args.log);
	err = npumem_ioctl(graph->device, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args);
	text = npumem_log_end(&use, &args.log);
	if (err) {
		plan_free(plan);
		return npumem_fail_verdict(error, err, "the plan", &verdict, text);
	}
	plan->handle = args.handle;
	*out = plan;
	return 0;
}

int npumem_asked_init(struct npumem_asked *asked, const struct npumem_request *request,
		      size_t request_size, struct npumem_error *error)
{
	struct npumem_request known;
	struct drm_npumem_plan_request *args = &asked->args;
	size_t options_size;
	int err;

	memset(asked, 0, sizeof(*asked));
	if (!sized_take(&known, sizeof(known), request, request_size))
		return npumem_fail_later(error, "plan request");
	if (known.deadline <= 0)
		return npumem_fail(error, -EINVAL, "a plan request needs a deadline");
	if (known.deadline > npumem_deadline(NPUMEM_MAX_REQUEST_NS))
		return npumem_fail(error, -EINVAL,
				   "the deadline of a plan request is more than %lld s away",
				   NPUMEM_MAX_REQUEST_NS / 1000000000);
	if (known.planner && strlen(known.planner) >= sizeof(args->planner))
		return npumem_fail(error, -EINVAL,
				   "planner name \"%.64s\" is longer than %zu bytes", known.planner,
				   sizeof(args->planner) - 1);
	err = npumem_options_write(&known, &asked->options, &options_size, error);
	if (err)
		return err;
	args->objective = known.objective;
	args->arena_budget = known.arena_budget;
	args->deadline_ns = known.deadline;
	if (known.planner)
		memcpy(args->planner, known.planner, strlen(known.planner) + 1);
	args->options = buffer_of(asked->options, options_size);
	args->flags = npumem_options_cut(&known) ? NPUMEM_PLAN_REQUEST_CUT : 0;
	return 0;
}

void npumem_asked_fini(struct npumem_asked *asked)
{
	free(asked->options);
	asked->options = NULL;
}

int npumem_asked_send(const struct npumem_asked *asked, struct npumem_graph *graph,
		      int64_t deadline, struct npumem_plan **out, struct npumem_error *error)
{
	struct drm_npumem_plan_request args = asked->args;
	struct npumem_plan *plan = plan_new(graph->device);
	int err;

	if (!plan)
		return npumem_fail_errno(error, -ENOMEM, "request a plan");
	args.graph = graph->handle;
	args.deadline_ns = deadline;
	err = npumem_sync_new(graph->device, &plan->sync, error);
	args.out_sync = plan->sync;
	if (!err)
		err = npumem_call(graph->device, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &args, error,
				  "request a plan");
	if (err) {
		plan_free(plan);
		return err;
	}
	plan->handle = args.handle;
	*out = plan;
	return 0;
}

int npumem_plan_request_sized(struct npumem_graph *graph, const struct npumem_request *request,
			      size_t request_size, struct npumem_plan **out,
			      struct npumem_error *error)
{
	struct npumem_asked asked;
	int err;

	if (!graph || !request || !out)
		return npumem_fail(error, -EINVAL, "npumem_plan_request: NULL argument");
	err = npumem_asked_init(&asked, request, request_size, error);
	if (!err)
		err = npumem_asked_send(&asked, graph, asked.args.deadline_ns, out, error);
	npumem_asked_fini(&asked);
	return err;
}

/* PLAN_READ, with what the caller has put into args beside the handle. */
static int read_state(struct npumem_plan *plan, struct drm_npumem_plan_read *args,
		      struct npumem_error *error)
{
	args->handle = plan->handle;
	return npumem_call(plan->device, DRM_IOCTL_NPUMEM_PLAN_READ, args, error,
			   "read the state of a plan");
}

int npumem_plan_wait(struct npumem_plan *plan, int64_t deadline, struct npumem_error *error)
{
	struct drm_npumem_plan_read args = { 0 };
	struct npumem_verdict verdict = { 0 };
	char message[MESSAGE_SIZE] = "";
	int err;

	if (!plan)
		return npumem_fail(error, -EINVAL, "npumem_plan_wait: NULL argument");
	if (plan->sync) {
		err = npumem_sync_wait_one(plan->device, plan->sync, deadline);
		if (err == -ETIMEDOUT)
			return npumem_fail(error, -EINPROGRESS, "the plan is still being made");
		if (err)
			return npumem_fail_errno(error, err, "wait for a plan");
	}
	args.message = buffer_of(message, sizeof(message));
	args.verdict = buffer_of(&verdict, sizeof(verdict));
	err = read_state(plan, &args, error);
	if (err)
		return err;
	message[sizeof(message) - 1] = '\0';
	switch (args.state) {
	case NPUMEM_PLAN_STATE_READY:
		return 0;
	case NPUMEM_PLAN_STATE_FAILED:
		err = args.error ? -(int)args.error : -EPROTO;
		if (verdict.rule != NPUMEM_RULE_NONE)
			return npumem_fail_verdict(error, err, "the daemon's plan", &verdict,
						   message);
		if (message[0])
			return npumem_fail(error, err, "no plan was made: %s", message);
		/* The driver keeps the errno where it has no memory for the message. */
		return npumem_fail(error, err, "no plan was made, and nothing says why: %s",
				   strerror(-err));
	default:
		return npumem_fail(error, -EPROTO,
				   "the driver signalled a plan that it calls pending");
	}
}

int npumem_plan_get_stats_sized(struct npumem_plan *plan, struct npumem_plan_stats *stats,
				size_t stats_size, struct npumem_error *error)
{
	struct npumem_plan_stats found;
	struct drm_npumem_plan_read args = { 0 };
	int err;

	if (!plan || !stats)
		return npumem_fail(error, -EINVAL, "npumem_plan_stats: NULL argument");
	err = read_state(plan, &args, error);
	if (err)
		return err;
	found = (struct npumem_plan_stats){
		.state = args.state,
		.error = args.error,
		.arena_size = args.arena_size,
		.host_size = args.host_size,
		.lower_bound = args.lower_bound,
		.tile_states = args.tile_states,
		.verify_ns = args.verify_ns,
		.blob_size = args.blob.size,
	};
	sized_give(stats, stats_size, &found, sizeof(found));
	return 0;
}

/* Whether the plan has blobs, and of how many bytes. */
static int read_sizes(struct npumem_plan *plan, struct drm_npumem_plan_read *args,
		      struct npumem_error *error)
{
	int err = read_state(plan, args, error);

	if (err)
		return err;
	if (args->state == NPUMEM_PLAN_STATE_PENDING)
		return npumem_fail(error, -EBUSY, "the plan is still being made");
	if (args->state != NPUMEM_PLAN_STATE_READY)
		return npumem_fail(error, -ENOEXEC, "the plan's request failed; it has no blob");
	return 0;
}

/* Read the blob that @which of @args is to be filled with, which is the only one. */
static int read_blob(struct npumem_plan *plan, struct drm_npumem_plan_read *args,
		     struct drm_npumem_buffer *which, void **blob, size_t *size,
		     struct npumem_error *error)
{
	uint64_t bytes;
	void *buffer;
	int err;

	err = read_sizes(plan, args, error);
	if (err)
		return err;
	bytes = which->size;
	buffer = malloc(bytes);
	if (!buffer)
		return npumem_fail_errno(error, -ENOMEM, "read a plan");
	*args = (struct drm_npumem_plan_read){ .handle = plan->handle };
	*which = buffer_of(buffer, bytes);
	err = npumem_call(plan->device, DRM_IOCTL_NPUMEM_PLAN_READ, args, error, "read a plan");
	if (!err && which->size != bytes)
		err = npumem_fail(error, -EPROTO, "a ready plan changed its size");
	if (err) {
		free(buffer);
		return err;
	}
	*blob = buffer;
	*size = bytes;
	return 0;
}

int npumem_plan_read(struct npumem_plan *plan, void **blob, size_t *size,
		     struct npumem_error *error)
{
	struct drm_npumem_plan_read args = { 0 };

	if (!plan || !blob || !size)
		return npumem_fail(error, -EINVAL, "npumem_plan_read: NULL argument");
	return read_blob(plan, &args, &args.blob, blob, size, error);
}

int npumem_plan_graph(struct npumem_plan *plan, void **blob, size_t *size,
		      struct npumem_error *error)
{
	struct drm_npumem_plan_read args = { 0 };

	if (!plan || !blob || !size)
		return npumem_fail(error, -EINVAL, "npumem_plan_graph: NULL argument");
	return read_blob(plan, &args, &args.graph, blob, size, error);
}

void npumem_plan_free(struct npumem_plan *plan)
{
	if (!plan)
		return;
	npumem_handle_destroy(plan->device, DRM_IOCTL_NPUMEM_PLAN_DESTROY, plan->handle);
	plan_free(plan);
}

uint32_t npumem_plan_handle(const struct npumem_plan *plan)
{
	return plan->handle;
}

struct npumem_device *npumem_plan_device(const struct npumem_plan *plan)
{
	return plan->device;
}
