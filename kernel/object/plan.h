/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Graphs and plans: the checked blobs that runs are made from.
 */
#ifndef NPUMEM_PLAN_OBJECT_H
#define NPUMEM_PLAN_OBJECT_H

#include <linux/kref.h>
#include <linux/mutex.h>

#include "base/drv.h"

/**
 * struct npu_graph - immutable, checked graph
 * @ref: handles, plans and requests hold one each
 * @handle: handle that it was made with, which may be gone or another graph's
 * @client: is charged for it; referenced
 * @charged: bytes of memory that it is charged for
 * @blob: __vmalloc()'ed copy in whole pages, zero past @size: the daemon maps it
 * @size: bytes of the blob
 * @v: its checked form
 */
struct npu_graph {
	struct kref ref;
	u32 handle;
	struct npu_client *client;
	u64 charged;
	void *blob;
	u64 size;
	struct npuv_graph *v;
};

static inline struct npu_graph *npumem_graph_lookup(struct npu_file *file, u32 handle)
{
	static_assert(!offsetof(struct npu_graph, ref));
	return npumem_handle_get(&file->graphs, handle);
}

void npumem_graph_get(struct npu_graph *graph);
void npumem_graph_put(struct npu_graph *graph);
DEFINE_FREE(npumem_graph_put, struct npu_graph *, if (_T) npumem_graph_put(_T))
/*
 * Make a graph of a copy of a blob that is in kernel memory already. ERR_PTR: -ENOMEM, -EDQUOT,
 * or what the verifier says, with verdict and log.
 */
struct npu_graph *npumem_graph_of(struct npu_client *client, const void *blob, u64 size,
				  struct npumem_verdict *verdict, struct npuv_log *log);
/* The file is being closed: drop all graphs of it. */
void npumem_graph_release_file(struct npu_file *file);

int npumem_ioctl_graph_create(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_graph_destroy(struct drm_device *drm, void *data, struct drm_file *file);

/**
 * struct npu_plan - plan, pending or settled
 * @ref: handles, runs and the pending request hold one each
 * @handle: handle that it was made with, which may be gone or another plan's
 * @created_ns: CLOCK_MONOTONIC nanoseconds when it was made
 * @graph: graph that it was asked or loaded for; referenced
 * @client: is charged for it, whoever makes it; referenced
 * @charged: bytes of memory that it is charged for; constant once settled
 * @arena_budget: bytes that the requester lets it need, or 0 for any; constant
 * @lock: guards what follows until @state is not PENDING; then all is constant
 * @state: enum drm_npumem_plan_state
 * @error: positive errno of a FAILED plan
 * @cut: graph that it is a plan of, if the daemon has cut @graph anew, else NULL; of a
 *	READY plan, which has a reference
 * @blob: kvmalloc'ed copy, of a READY plan
 * @size: bytes of the blob
 * @v: its verified form, of a READY plan
 * @verdict: of a plan refused
 * @message: reason of a FAILED plan, NUL-terminated, or NULL
 * @owned_message: it, if it is to be freed
 * @verify_ns: time that verification took
 */
struct npu_plan {
	struct kref ref;
	u32 handle;
	s64 created_ns;
	struct npu_graph *graph;
	struct npu_client *client;
	u64 charged;
	u64 arena_budget;
	struct mutex lock;
	u32 state;
	u32 error;
	struct npu_graph *cut;
	void *blob;
	u64 size;
	struct npuv_plan *v;
	struct npumem_verdict verdict;
	const char *message;
	char *owned_message;
	u64 verify_ns;
};

static inline struct npu_plan *npumem_plan_lookup(struct npu_file *file, u32 handle)
{
	static_assert(!offsetof(struct npu_plan, ref));
	return npumem_handle_get(&file->plans, handle);
}

/* A PENDING plan with one reference, in no table. ERR_PTR: -ENOMEM, -EDQUOT. */
struct npu_plan *npumem_plan_new(struct npu_graph *graph, struct npu_client *client);
void npumem_plan_get(struct npu_plan *plan);
void npumem_plan_put(struct npu_plan *plan);
/* The graph that a READY plan is of. */
static inline const struct npu_graph *npumem_plan_graph(const struct npu_plan *plan)
{
	return plan->cut ?: plan->graph;
}

DEFINE_FREE(npumem_plan_put, struct npu_plan *, if (_T) npumem_plan_put(_T))

/*
 * Verify a blob and settle the plan with it: READY, or FAILED with the
 * verifier's errno, verdict and log (ENOSPC if it is sound but above
 * arena_budget, EDQUOT if it is more than the client's share of memory has
 * left). Takes over the kvmalloc'ed blob in any case. Returns 0 or the errno
 * that the plan failed with. Settles at most once: -EALREADY (internal) if it
 * had been settled before. Sleeps for as long as verification takes.
 */
int npumem_plan_settle(struct npu_plan *plan, void *blob, u64 size, struct npuv_log *log);
/*
 * The same with an answer that is a graph's blob of @graph_size bytes, less than @size, and
 * behind it that of a plan of this graph: if that is refused, the plan has failed.
 */
int npumem_plan_settle_cut(struct npu_plan *plan, void *answer, u64 graph_size, u64 size,
			   struct npuv_log *log);
/*
 * Settle as FAILED, with a positive errno. The first keeps @reason, a constant or NULL, and
 * needs no memory; the second copies @message.
 */
int npumem_plan_fail(struct npu_plan *plan, u32 error, const char *reason);
int npumem_plan_fail_copy(struct npu_plan *plan, u32 error, const char *message);

#endif /* NPUMEM_PLAN_OBJECT_H */
