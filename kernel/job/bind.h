/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * External tensors of a run, and the BOs that they are bound to.
 */
#ifndef NPUMEM_BIND_H
#define NPUMEM_BIND_H

#include <linux/iosys-map.h>

#include "memory/bo.h"

/* The most BOs with a dma_resv of their own that a run may have bound: SUBMIT locks them all. */
#define NPUMEM_MAX_BOUND 1024

/**
 * struct npu_external - external tensor of a run's graph
 * @bo: BO that it is bound to, referenced, or NULL
 * @map: kernel mapping of all of @bo, if that is not in the carveout and an engine of the
 *	device uses CPU addresses
 * @dma: mapping of all of @bo for the device, likewise for an engine that does DMA
 * @offset: offset of the tensor's first byte in @bo
 * @size: bytes of the tensor
 * @tensor: its index in the graph
 * @accessed: some step accesses it
 * @written: some step writes it
 */
struct npu_external {
	struct npu_bo *bo;
	struct iosys_map map;
	struct npu_dma *dma;
	u64 offset;
	u64 size;
	u32 tensor;
	bool accessed;
	bool written;
};

/**
 * struct npu_external_use - external tensor that a step accesses
 * @external: its index in &npu_externals.list
 * @tile: tile of the step's first access to it
 */
struct npu_external_use {
	u32 external;
	u32 tile;
};

/**
 * struct npu_resv - reservation object that jobs of a run take part in
 * @bindings: number of external tensors that are bound to BOs that have it; arena and host
 *	BO count as one each
 * @writers: number of those that steps or transfers write
 */
struct npu_resv {
	u32 bindings;
	u32 writers;
};

/**
 * struct npu_externals - external tensors of a run
 * @missing: number of those that steps access and that are bound to nothing
 * @bytes: bytes of all that are bound. This and @missing are also read without the lock, by
 *	callers that look again under it or need only a bound
 * @imported: number of those that are bound to dma-bufs of other devices
 * @generation: grows with every change of a binding
 * @client: is charged for the bindings; referenced
 * @resv_count: reservation objects that every SUBMIT locks
 * @own_count: those of them that are the run's own
 * @objs: a BO of each of them, no two with the same one, as
 *	drm_gem_lock_reservations() has it. The first is the arena, the second the
 *	host BO if there is one, which the run holds; the others are referenced
 * @resvs: how many tensors are bound to each of them
 * @use_start: external tensors that step i accesses, each once, are
 *	uses[use_start[i] .. use_start[i + 1]); NULL if there is no external tensor
 * @uses: see @use_start
 * @uses_bytes: bytes of memory that @use_start and @uses have
 * @count: number of external tensors
 * @list: all of them, in the order of their tensors
 *
 * Under run->lock. A binding changes only while none of the run's jobs is in
 * flight, so an engine reads it without.
 */
struct npu_externals {
	u32 missing;
	u64 bytes;
	u32 imported;
	u64 generation;
	struct npu_client *client;
	u32 resv_count;
	u32 own_count;
	struct drm_gem_object **objs;
	struct npu_resv *resvs;
	u32 *use_start;
	struct npu_external_use *uses;
	u64 uses_bytes;
	u32 count;
	struct npu_external list[] __counted_by(count);
};

/*
 * Make a run's list of external tensors, none of them bound. The caller keeps the arena, and
 * the host BO or NULL, for as long as the list lives. ERR_PTR: -ENOMEM.
 */
struct npu_externals *npumem_externals_create(const struct npuv_graph *graph,
					      struct npu_client *client, struct npu_bo *arena,
					      struct npu_bo *host);
void npumem_externals_destroy(struct npu_externals *externals);
/* Bytes of memory that the list keeps, which the run is charged for. */
u64 npumem_externals_bytes(const struct npu_externals *externals);

/* The record of a tensor, or NULL if the tensor is not external. */
struct npu_external *npumem_external_find(struct npu_externals *externals, u32 tensor);

/* The record of the external tensor that a tensor is, or is an alias of; or NULL. */
struct npu_external *npumem_external_of(struct npu_externals *externals,
					const struct npuv_graph *graph, u32 tensor);

/* Whether it is in a dma-buf of another device. */
bool npumem_external_imported(const struct npu_external *external);

/*
 * Kernel address of bytes [first, first + length) of a tensor that is bound;
 * NULL if they are not all there. The caller is between drm_dev_enter() and
 * drm_dev_exit().
 */
void *npumem_external_vaddr(const struct npu_external *external, u64 first, u64 length);

int npumem_ioctl_run_bind(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* NPUMEM_BIND_H */
