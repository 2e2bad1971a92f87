// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: RUN_BIND
 *
 * An external tensor's bytes are not in the arena but in a BO that the client
 * names: one in the carveout, one in system memory, or an imported dma-buf. The
 * verifier knows such a tensor's tiles and their states; the run alone knows where the
 * bytes are.
 *
 * Isolation. The handle is looked up in the caller's own file, so a client binds
 * only what it can map anyway. The range is checked against the BO's size here
 * and once more whenever an engine asks for an address. Arenas are not bound:
 * their bytes have owners, and those owners' states know nothing of a tensor
 * that comes in from outside. Two tensors share bytes of a BO only if no step
 * writes either of them, for the same reason. The driver does not see that two dma-bufs
 * are the same memory (two udmabufs of one memfd): their owner can spoil his own bytes by
 * that, and no one else's.
 *
 * Life. A binding holds its BO, whatever becomes of the handle, and changes only
 * while none of the run's jobs is in flight; jobs hold the run. It does not change in the
 * middle of an inference either, if steps have yet to read bytes that others wrote there,
 * or the rest of bytes that they have begun to read: the states say LIVE of these bytes, and
 * after the change there would be others in their place. All that may sleep or fail, such
 * as mapping the memory, is done here, so that an engine never has to.
 *
 * Implicit synchronisation. While a BO is bound, each SUBMIT of the run waits for
 * the BO's fences (for all of them if a step writes the tensor, else for those of
 * writers), and leaves its own there, for this driver's other clients and for
 * others that share the dma-buf.
 *
 * Caches. An engine that is a CPU sees through kernel mappings what other
 * CPUs and coherent devices wrote. For devices that are not coherent the exporters of
 * imported buffers are told of each SUBMIT's access (access.c). For engines that do DMA see
 * memory/dma.c.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "access.h"
#include "bind.h"
#include "base/client.h"
#include "base/compat.h"
#include "base/engine.h"
#include "memory/dma.h"
#include "run.h"

/* ---------------------------------------------------------------- the list */

static u32 count_externals(const struct npuv_graph *graph)
{
	u32 i, count = 0;

	if (!(graph->features & NPUMEM_FEATURE_EXTERNAL))
		return 0;
	for (i = 0; i < graph->tensors.count; i++)
		count += !!(npuv_tensor(graph, i)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL);
	return count;
}

static void list_externals(struct npu_externals *externals, const struct npuv_graph *graph)
{
	const struct npumem_tensor *tensor;
	u32 i, n = 0;

	for (i = 0; n < externals->count; i++) {
		tensor = npuv_tensor(graph, i);
		if (!(tensor->flags & NPUMEM_TENSOR_FLAG_EXTERNAL))
			continue;
		externals->list[n].tensor = i;
		externals->list[n].size = tensor->size;
		n++;
	}
}

/* Mark the external tensors that steps access, under their own name or that of an alias. */
static void mark_accesses(struct npu_externals *externals, const struct npuv_graph *graph)
{
	struct npu_external *external;
	const struct npumem_access *access;
	u32 i;

	for (i = 0; i < graph->accesses.count; i++) {
		access = npuv_access(graph, i);
		external = npumem_external_of(externals, graph,
					      npuv_tile(graph, access->tile)->tensor);
		if (external) {
			externals->missing += !external->accessed;
			external->accessed = true;
			external->written |= access->mode != NPUMEM_ACCESS_READ;
		}
		if (i % 4096 == 4095)
			cond_resched();
	}
}

/*
 * Note which steps access which external tensors, or only count that if there is no room
 * for it yet. @last has for each external tensor the number of the last step that was found
 * to access it, plus 1.
 */
static u32 find_uses(struct npu_externals *externals, const struct npuv_graph *graph, u32 *last)
{
	struct npu_external *external;
	const struct npumem_step *step;
	u32 i, a, tile, n = 0;

	memset(last, 0, externals->count * sizeof(*last));
	for (i = 0; i < graph->steps.count; i++) {
		step = npuv_step(graph, i);
		externals->use_start[i] = n;
		for (a = step->first_access; a < step->first_access + step->access_count; a++) {
			if (a % NPUV_TICKS == 0)
				cond_resched();
			tile = npuv_access(graph, a)->tile;
			external = npumem_external_of(externals, graph,
						      npuv_tile(graph, tile)->tensor);
			if (!external || last[external - externals->list] == i + 1)
				continue;
			last[external - externals->list] = i + 1;
			if (externals->uses)
				externals->uses[n] = (struct npu_external_use){
					.external = external - externals->list,
					.tile = tile,
				};
			n++;
		}
	}
	externals->use_start[i] = n;
	return n;
}

/* List the external tensors of each step, once, since SUBMIT asks for them at every step. */
static int list_uses(struct npu_externals *externals, const struct npuv_graph *graph)
{
	u32 *last __free(kvfree) =
		kvmalloc_array(externals->count, sizeof(*last), GFP_KERNEL_ACCOUNT);
	u32 count;

	externals->use_start = kvmalloc_array(graph->steps.count + 1, sizeof(*externals->use_start),
					      GFP_KERNEL_ACCOUNT);
	if (!last || !externals->use_start)
		return -ENOMEM;
	count = find_uses(externals, graph, last);
	externals->uses = kvmalloc_array(count ?: 1, sizeof(*externals->uses), GFP_KERNEL_ACCOUNT);
	if (!externals->uses)
		return -ENOMEM;
	find_uses(externals, graph, last);
	externals->uses_bytes = ((u64)graph->steps.count + 1) * sizeof(*externals->use_start) +
				(u64)count * sizeof(*externals->uses);
	return 0;
}

/* Add a BO of the run's own, which takes part in each SUBMIT and always counts as written. */
static void resv_own(struct npu_externals *externals, struct npu_bo *bo)
{
	externals->objs[externals->resv_count] = &bo->shmem.base;
	externals->resvs[externals->resv_count] = (struct npu_resv){ .bindings = 1, .writers = 1 };
	externals->resv_count++;
}

struct npu_externals *npumem_externals_create(const struct npuv_graph *graph,
					      struct npu_client *client, struct npu_bo *arena,
					      struct npu_bo *host)
{
	struct npu_externals *externals;
	u32 count = count_externals(graph);

	externals = kvzalloc(struct_size(externals, list, count), GFP_KERNEL_ACCOUNT);
	if (!externals)
		return ERR_PTR(-ENOMEM);
	externals->count = count;
	externals->client = npumem_client_get(client);
	/* Each tensor may be bound to a BO with a reservation object of its own. */
	externals->objs = kvcalloc(count + 2, sizeof(*externals->objs), GFP_KERNEL_ACCOUNT);
	externals->resvs = kvcalloc(count + 2, sizeof(*externals->resvs), GFP_KERNEL_ACCOUNT);
	if (!externals->objs || !externals->resvs) {
		npumem_externals_destroy(externals);
		return ERR_PTR(-ENOMEM);
	}
	resv_own(externals, arena);
	if (host)
		resv_own(externals, host);
	externals->own_count = externals->resv_count;
	if (!count)
		return externals;
	list_externals(externals, graph);
	mark_accesses(externals, graph);
	if (list_uses(externals, graph)) {
		npumem_externals_destroy(externals);
		return ERR_PTR(-ENOMEM);
	}
	return externals;
}

u64 npumem_externals_bytes(const struct npu_externals *externals)
{
	return struct_size(externals, list, externals->count) +
	       ((u64)externals->count + 2) *
		       (sizeof(*externals->objs) + sizeof(*externals->resvs)) +
	       externals->uses_bytes;
}

static struct dma_buf *imported(const struct npu_bo *bo)
{
	return bo->shmem.base.import_attach ? bo->shmem.base.import_attach->dmabuf : NULL;
}

static void binding_unmap(struct npu_external *binding)
{
	npumem_dma_unmap(binding->dma);
	binding->dma = NULL;
	if (iosys_map_is_null(&binding->map))
		return;
	if (imported(binding->bo))
		dma_buf_vunmap_unlocked(imported(binding->bo), &binding->map);
	else
		drm_gem_vunmap(&binding->bo->shmem.base, &binding->map);
	iosys_map_clear(&binding->map);
}

/* Drop the mapping and the references that binding_prepare() took. */
static void binding_release(struct npu_externals *externals, struct npu_external *binding)
{
	if (!binding->bo)
		return;
	binding_unmap(binding);
	npumem_bo_put(binding->bo);
	npumem_client_uncharge(externals->client, NPUMEM_RESOURCE_BINDINGS, 1);
}

void npumem_externals_destroy(struct npu_externals *externals)
{
	u32 i;

	for (i = 0; i < externals->count; i++)
		binding_release(externals, &externals->list[i]);
	for (i = externals->own_count; i < externals->resv_count; i++)
		drm_gem_object_put(externals->objs[i]);
	kvfree(externals->uses);
	kvfree(externals->use_start);
	kvfree(externals->objs);
	kvfree(externals->resvs);
	npumem_client_put(externals->client);
	kvfree(externals);
}

struct npu_external *npumem_external_find(struct npu_externals *externals, u32 tensor)
{
	u32 low = 0;

	npuv_bisect(low, externals->count, i, externals->list[i].tensor < tensor);
	if (low == externals->count || externals->list[low].tensor != tensor)
		return NULL;
	return &externals->list[low];
}

bool npumem_external_imported(const struct npu_external *external)
{
	return external->bo && imported(external->bo);
}

struct npu_external *npumem_external_of(struct npu_externals *externals,
					const struct npuv_graph *graph, u32 tensor)
{
	return npumem_external_find(externals, npuv_alias_base(graph, tensor));
}

void *npumem_external_vaddr(const struct npu_external *external, u64 first, u64 length)
{
	if (!external->bo || first > external->size || length > external->size - first)
		return NULL;
	if (external->bo->bank)
		return npumem_bo_vaddr(external->bo, external->offset + first);
	return external->map.vaddr + external->offset + first;
}

/* ------------------------------------------------------------------ binding */

/* Whether two BOs have the same bytes: they are one BO, or two imports of one dma-buf. */
static bool same_memory(const struct npu_bo *a, const struct npu_bo *b)
{
	return a == b || (imported(a) && imported(a) == imported(b));
}

static int binding_check(struct drm_device *drm, const struct npu_file *file,
			 const struct npu_run *run, const struct npu_external *binding)
{
	const struct npuv_graph *graph = npumem_plan_graph(run->plan)->v;
	const struct npumem_tensor *tensor = npuv_tensor(graph, binding->tensor);
	struct npu_bo *bo = binding->bo;
	u64 size = bo->shmem.base.size;

	if (bo->arena || bo == run->transfers.bo)
		return npumem_refuse(drm, -EINVAL, "RUN_BIND: tensor %u: the BO is %s",
				     binding->tensor, bo->arena ? "an arena" : "the run's host BO");
	if (binding->offset > size || binding->size > size - binding->offset)
		return npumem_refuse(drm, -EINVAL,
				     "RUN_BIND: tensor %u: %llu bytes at %llu of a BO of %llu",
				     binding->tensor, binding->size, binding->offset, size);
	if (binding->offset & (tensor->align - 1))
		return npumem_refuse(drm, -EINVAL, "RUN_BIND: tensor %u: offset %llu, alignment %u",
				     binding->tensor, binding->offset, tensor->align);
	if (binding->written && npumem_bo_read_only(bo, file))
		return npumem_refuse(drm, -EACCES,
				     "RUN_BIND: tensor %u is written, the BO is shared read-only",
				     binding->tensor);
	return 0;
}

/*
 * Map an imported dma-buf. drm_gem_vmap() will not do: for an I/O mapping the shmem helper
 * may return an error when it has unmapped it already.
 */
static int map_imported(struct drm_device *drm, struct npu_external *binding)
{
	struct dma_buf *buf = imported(binding->bo);
	int err;

	if (!buf->ops->vmap)
		return npumem_refuse(drm, -EOPNOTSUPP, "RUN_BIND: tensor %u: no kernel mapping",
				     binding->tensor);
	err = dma_buf_vmap_unlocked(buf, &binding->map);
	if (err) {
		iosys_map_clear(&binding->map);
		return err;
	}
	/* Engine "sim" uses plain loads and stores, which I/O memory does not allow. */
	if (binding->map.is_iomem)
		return npumem_refuse(drm, -EOPNOTSUPP, "RUN_BIND: tensor %u: I/O memory",
				     binding->tensor);
	return 0;
}

static int map_vaddr(struct drm_device *drm, struct npu_external *binding)
{
	int err;

	if (imported(binding->bo))
		return map_imported(drm, binding);
	err = drm_gem_vmap(&binding->bo->shmem.base, &binding->map);
	/* On error the exporter may leave something in the map that we may not unmap. */
	if (err)
		iosys_map_clear(&binding->map);
	return err;
}

static int map_dma(struct drm_device *drm, struct npu_client *client, struct npu_external *binding)
{
	struct npu_dma *dma = npumem_dma_map(binding->bo, client);

	if (IS_ERR(dma))
		return npumem_refuse(drm, npumem_exporter_error(PTR_ERR(dma)),
				     "RUN_BIND: tensor %u: the device does not reach the BO",
				     binding->tensor);
	binding->dma = dma;
	return 0;
}

/*
 * For all engines that there are: which one a job will be for is not known yet. Engines in a
 * process get nothing of an imported dma-buf. Others either do DMA or are the CPU: while it is
 * announced to an exporter that the CPU writes, or until that is over, it may take what a device
 * has written for old and overwrite it.
 */
static int binding_map(struct drm_device *drm, struct npu_client *client,
		       struct npu_external *binding)
{
	u32 addresses = to_npumem(drm)->addresses;
	int err = 0;

	/* Banks are mapped. */
	if (binding->bo->bank)
		return 0;
	if (imported(binding->bo)) {
		addresses = to_npumem(drm)->kernel_addresses;
		if (hweight32(addresses) > 1)
			return npumem_refuse(
				drm, -EOPNOTSUPP,
				"RUN_BIND: tensor %u: some engines do DMA, some do not",
				binding->tensor);
	}
	if (addresses & BIT(NPU_ADDRESS_CPU))
		err = map_vaddr(drm, binding);
	if (!err && addresses & BIT(NPU_ADDRESS_DMA))
		err = map_dma(drm, client, binding);
	return err;
}

/* Make a binding that holds its BO and mapping, for the run to take over. May sleep. */
static int binding_prepare(struct drm_device *drm, struct drm_file *file, u32 handle,
			   const struct npu_run *run, struct npu_external *binding)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);
	int err;

	if (!obj)
		return npumem_refuse(drm, -ENOENT, "RUN_BIND: no BO %u", handle);
	err = npumem_client_charge(run->externals->client, NPUMEM_RESOURCE_BINDINGS, 1);
	if (err) {
		drm_gem_object_put(obj);
		return npumem_refuse(drm, err, "RUN_BIND: too much is bound");
	}
	binding->bo = to_npumem_bo(obj);
	err = binding_check(drm, file->driver_priv, run, binding);
	if (!err)
		err = binding_map(drm, run->externals->client, binding);
	if (err)
		binding_release(run->externals, binding);
	return err;
}

/* How many reads of a cell are still to come. */
static u32 reads_left(const struct npu_run *run, u32 cell)
{
	u32 state = run->states->cells[cell];

	if (state == NPUV_EMPTY || state == NPUV_RETIRED)
		return 0;
	return state - !!run->plan->v->graph->cells[cell].survives;
}

/*
 * Whether the inference under way relies on the bytes of a tensor: steps wrote bytes that
 * are still to be read, or have read a part of the bytes that the client put there. Outputs
 * that no step reads belong to the client once they are written. With its turn a run's inference
 * has ended, too.
 */
static bool is_live(const struct npu_run *run, const struct npu_external *external)
{
	const struct npuv_states *states = run->states;
	const struct npuv_plan *plan = run->plan->v;
	const struct npuv_graph *graph = plan->graph;
	u32 block, c;

	if (!run->submitted || states->block == NPUMEM_NONE || !npumem_run_has_arena(run))
		return false;
	/*
	 * Other blocks may have written bytes that pass through this one, which counts
	 * none of it.
	 */
	if (external->written && graph->features & NPUMEM_FEATURE_BLOCKS)
		return true;
	block = npuv_block_of(plan, states->block);
	for (c = graph->cell_start[block]; c < graph->cell_start[block + 1]; c++) {
		if (c % 4096 == 4095)
			cond_resched();
		if (graph->cells[c].tensor != external->tensor || !reads_left(run, c))
			continue;
		if (graph->cells[c].writer != NPUMEM_NONE || external->written ||
		    states->cells[c] != plan->uses[npuv_plan_cell(plan, states->block, c)])
			return true;
	}
	return false;
}

/* Whether bytes of a new binding would belong to another external tensor, too. */
static bool overlaps(const struct npu_externals *externals, const struct npu_external *binding)
{
	const struct npu_external *other;
	u32 i;

	for (i = 0; i < externals->count; i++) {
		other = &externals->list[i];
		if (!other->bo || other->tensor == binding->tensor ||
		    (!other->written && !binding->written) || !same_memory(other->bo, binding->bo))
			continue;
		if (other->offset < binding->offset + binding->size &&
		    binding->offset < other->offset + other->size)
			return true;
	}
	return false;
}

static u32 resv_find(const struct npu_externals *externals, const struct npu_bo *bo)
{
	u32 i;

	for (i = 0; i < externals->resv_count; i++)
		if (externals->objs[i]->resv == bo->shmem.base.resv)
			break;
	return i;
}

static void resv_add(struct npu_externals *externals, const struct npu_external *binding)
{
	u32 i = resv_find(externals, binding->bo);

	if (i == externals->resv_count) {
		drm_gem_object_get(&binding->bo->shmem.base);
		externals->objs[i] = &binding->bo->shmem.base;
		externals->resvs[i] = (struct npu_resv){};
		externals->resv_count++;
	}
	externals->resvs[i].bindings++;
	externals->resvs[i].writers += binding->written;
}

static void resv_remove(struct npu_externals *externals, const struct npu_external *binding)
{
	u32 last, i = resv_find(externals, binding->bo);

	externals->resvs[i].writers -= binding->written;
	if (--externals->resvs[i].bindings)
		return;
	drm_gem_object_put(externals->objs[i]);
	last = --externals->resv_count;
	externals->objs[i] = externals->objs[last];
	externals->resvs[i] = externals->resvs[last];
}

/* Exchange a tensor's binding for another one, or for none. */
static void bind_swap(struct npu_externals *externals, struct npu_external *external,
		      struct npu_external *binding)
{
	u32 missing = externals->missing;
	u64 bytes = externals->bytes;

	if (external->bo) {
		resv_remove(externals, external);
		missing += external->accessed;
		bytes -= external->size;
	}
	externals->imported -= npumem_external_imported(external);
	if (binding->bo) {
		resv_add(externals, binding);
		missing -= external->accessed;
		bytes += external->size;
		externals->imported += npumem_external_imported(binding);
	}
	externals->generation++;
	WRITE_ONCE(externals->missing, missing);
	WRITE_ONCE(externals->bytes, bytes);
	swap(external->bo, binding->bo);
	swap(external->map, binding->map);
	swap(external->dma, binding->dma);
	swap(external->offset, binding->offset);
}

static int bind_locked(struct drm_device *drm, struct npu_run *run, struct npu_external *external,
		       struct npu_external *binding)
{
	if (npumem_run_busy(run))
		return npumem_refuse(drm, -EBUSY, "RUN_BIND: jobs of the run are in flight");
	if (is_live(run, external))
		return npumem_refuse(drm, -EBUSY, "RUN_BIND: tensor %u is live", external->tensor);
	if (binding->bo &&
	    run->externals->resv_count - run->externals->own_count >= NPUMEM_MAX_BOUND &&
	    resv_find(run->externals, binding->bo) == run->externals->resv_count)
		return npumem_refuse(drm, -EMFILE, "RUN_BIND: %u BOs are bound", NPUMEM_MAX_BOUND);
	if (binding->bo && overlaps(run->externals, binding))
		return npumem_refuse(drm, -EINVAL,
				     "RUN_BIND: tensor %u: its bytes of the BO are bound already",
				     binding->tensor);
	bind_swap(run->externals, external, binding);
	return 0;
}

static int run_bind(struct drm_device *drm, struct drm_file *file, struct npu_run *run,
		    const struct drm_npumem_run_bind *args)
{
	struct npu_external *external = npumem_external_find(run->externals, args->tensor);
	struct npu_external binding;
	int err;

	if (!external)
		return npumem_refuse(drm, -EINVAL, "RUN_BIND: tensor %u is not external",
				     args->tensor);
	binding = (struct npu_external){
		.offset = args->offset,
		.size = external->size,
		.tensor = external->tensor,
		.accessed = external->accessed,
		.written = external->written,
	};
	if (args->bo) {
		err = binding_prepare(drm, file, args->bo, run, &binding);
		if (err)
			return err;
	} else if (args->offset) {
		return npumem_refuse(drm, -EINVAL, "RUN_BIND: an offset without a BO");
	}
	if (mutex_lock_interruptible(&run->lock)) {
		err = -ERESTARTSYS;
	} else {
		err = bind_locked(drm, run, external, &binding);
		mutex_unlock(&run->lock);
	}
	/* This is the old binding by now, or the new one if it was refused. */
	binding_release(run->externals, &binding);
	return err;
}

int npumem_ioctl_run_bind(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_run *run __free(npumem_run_put) = NULL;
	struct drm_npumem_run_bind *args = data;

	if (args->flags)
		return npumem_refuse(drm, -EINVAL, "RUN_BIND: flags %#x", args->flags);
	run = npumem_run_lookup(file->driver_priv, args->run);
	if (!run)
		return npumem_refuse(drm, -ENOENT, "RUN_BIND: no run %u", args->run);
	return run_bind(drm, file, run, args);
}
