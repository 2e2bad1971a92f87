// SPDX-License-Identifier: GPL-2.0-only
/*
 * Graphs: GRAPH_CREATE and GRAPH_DESTROY.
 *
 * A graph's blob is read from user memory once, into memory that the daemon can
 * map, and checked there. Nothing of it changes afterwards, so a graph needs no
 * lock: its handle, its plans and their requests hold a reference each.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <drm/drm_print.h>

#include "base/client.h"
#include "plan.h"

static void graph_release(struct kref *ref)
{
	struct npu_graph *graph = container_of(ref, struct npu_graph, ref);

	npuv_graph_destroy(graph->v);
	vfree(graph->blob);
	npumem_client_uncharge(graph->client, NPUMEM_RESOURCE_MEMORY, graph->charged);
	npumem_client_put(graph->client);
	kfree(graph);
}

void npumem_graph_get(struct npu_graph *graph)
{
	kref_get(&graph->ref);
}

void npumem_graph_put(struct npu_graph *graph)
{
	kref_put(&graph->ref, graph_release);
}

void npumem_graph_release_file(struct npu_file *file)
{
	struct npu_graph *graph;
	unsigned long handle;

	xa_for_each(&file->graphs, handle, graph) {
		xa_erase(&file->graphs, handle);
		npumem_graph_put(graph);
	}
}

/*
 * Room for a graph's blob in whole pages, so that a mapping of them shows nothing else.
 * vmalloc_user() cannot charge the caller's memory cgroup, and blobs are as large as users
 * like, so request_mmap() of upcall/fd.c does without remap_vmalloc_range(). No process is
 * killed to make room for a blob.
 */
static int graph_blob(struct npu_graph *graph)
{
	graph->blob =
		__vmalloc(PAGE_ALIGN(max_t(u64, graph->size, 1)),
			  GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	return graph->blob ? 0 : -ENOMEM;
}

static int graph_charge(struct npu_graph *graph, u64 bytes)
{
	int err = npumem_client_charge(graph->client, NPUMEM_RESOURCE_MEMORY, bytes);

	if (!err)
		graph->charged += bytes;
	return err;
}

/* A graph that has nothing yet but room for its blob, which its client is charged for. */
static struct npu_graph *graph_alloc(struct npu_client *client, u64 size)
{
	struct npu_graph *graph = kzalloc(sizeof(*graph), GFP_KERNEL_ACCOUNT);
	int err;

	if (!graph)
		return ERR_PTR(-ENOMEM);
	kref_init(&graph->ref);
	graph->size = size;
	graph->client = npumem_client_get(client);
	err = graph_charge(graph, sizeof(*graph) + PAGE_ALIGN(size));
	if (!err)
		err = graph_blob(graph);
	if (!err)
		return graph;
	npumem_graph_put(graph);
	return ERR_PTR(err);
}

/*
 * A graph that has nothing yet but its blob. Copying the blob may be stuck in a page fault
 * for as long as user space likes, so no lock is held; and many callers may copy at once, so
 * the memory is charged before.
 */
static struct npu_graph *graph_read(struct npu_client *client, const struct drm_npumem_buffer *blob)
{
	struct npu_graph *graph;
	int err;

	err = npumem_buffer_check(blob, npuv_default_limits.max_blob);
	if (err)
		return ERR_PTR(err);
	graph = graph_alloc(client, blob->size);
	if (IS_ERR(graph))
		return graph;
	if (!copy_from_user(graph->blob, u64_to_user_ptr(blob->ptr), blob->size))
		return graph;
	npumem_graph_put(graph);
	return ERR_PTR(-EFAULT);
}

static int graph_verify(struct npu_graph *graph, struct npumem_verdict *verdict,
			struct npuv_log *log)
{
	int err = npuv_graph_create(graph->blob, graph->size, &npuv_default_limits, log, verdict,
				    &graph->v);

	return err ?: graph_charge(graph, npuv_graph_bytes(graph->v));
}

static int graph_check(struct npu_graph *graph, struct npumem_verdict *verdict,
		       struct npuv_log *log)
{
	int err = npumem_client_begin_verify(graph->client);

	if (err)
		return err;
	err = graph_verify(graph, verdict, log);
	npumem_client_end_verify(graph->client);
	return err;
}

struct npu_graph *npumem_graph_of(struct npu_client *client, const void *blob, u64 size,
				  struct npumem_verdict *verdict, struct npuv_log *log)
{
	struct npu_graph *graph = graph_alloc(client, size);
	int err;

	if (IS_ERR(graph))
		return graph;
	memcpy(graph->blob, blob, size);
	err = graph_verify(graph, verdict, log);
	if (!err)
		return graph;
	npumem_graph_put(graph);
	return ERR_PTR(err);
}

static struct npu_graph *graph_new(struct npu_client *client, const struct drm_npumem_buffer *blob,
				   struct npumem_verdict *verdict, struct npuv_log *log)
{
	struct npu_graph *graph = graph_read(client, blob);
	int err;

	if (IS_ERR(graph))
		return graph;
	err = graph_check(graph, verdict, log);
	if (!err)
		return graph;
	npumem_graph_put(graph);
	return ERR_PTR(err);
}

int npumem_ioctl_graph_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *priv = file->driver_priv;
	struct drm_npumem_graph_create *args = data;
	struct npu_graph *graph;
	struct npu_verdict_user verdict;
	struct npu_log_user log;
	int err;

	args->handle = 0;
	if (args->flags)
		return npumem_refuse(drm, -EINVAL, "GRAPH_CREATE: unknown flags %#x", args->flags);
	err = npumem_verdict_begin(&verdict, &args->verdict);
	if (!err)
		err = npumem_log_begin(&log, &args->log);
	if (err)
		return npumem_refuse(drm, err, "GRAPH_CREATE: verdict or log");
	graph = graph_new(priv->client, &args->blob, &verdict.verdict, &log.log);
	err = npumem_log_end(&log, PTR_ERR_OR_ZERO(graph));
	err = npumem_verdict_end(&verdict, err);
	if (IS_ERR(graph))
		return npumem_refuse(drm, err, "GRAPH_CREATE: %llu bytes refused", args->blob.size);
	if (!err)
		err = npumem_handle_publish(&priv->graphs, graph, &graph->handle, &args->handle);
	if (err)
		npumem_graph_put(graph);
	return err;
}

int npumem_ioctl_graph_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *priv = file->driver_priv;
	struct npu_graph *graph = npumem_handle_remove(drm, &priv->graphs, data, "GRAPH", "graph");

	if (IS_ERR(graph))
		return PTR_ERR(graph);
	npumem_graph_put(graph);
	return 0;
}
