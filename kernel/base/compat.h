/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Older kernels. The driver is written against Linux 7.3; this is the only
 * file that names a kernel version, and all that it does is to make an older
 * kernel (6.12 is the oldest one supported) look like the newest.
 */
#ifndef NPUMEM_COMPAT_H
#define NPUMEM_COMPAT_H

#include <linux/dma-fence-array.h>
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/of.h>
#include <linux/of_reserved_mem.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/gpu_scheduler.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
/* This kernel has no dmem controller: every charge is granted, as if it were not configured. */
struct dmem_cgroup_region;
struct dmem_cgroup_pool_state;
struct dmem_cgroup_init {
	u64 size;
};

static inline struct dmem_cgroup_region *
drmm_cgroup_register_region(struct drm_device *drm, const char *name,
			    const struct dmem_cgroup_init *init)
{
	return NULL;
}

static inline int dmem_cgroup_try_charge(struct dmem_cgroup_region *region, u64 size,
					 struct dmem_cgroup_pool_state **pool,
					 struct dmem_cgroup_pool_state **limit)
{
	*pool = NULL;
	return 0;
}

static inline void dmem_cgroup_uncharge(struct dmem_cgroup_pool_state *pool, u64 size)
{
}
#else
#include <linux/cgroup_dmem.h>
#include <drm/drm_drv.h>
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0) && LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)
struct dmem_cgroup_init {
	u64 size;
};

static inline struct dmem_cgroup_region *
npumem_compat_register_region(struct drm_device *drm, const char *name,
			      const struct dmem_cgroup_init *init)
{
	return drmm_cgroup_register_region(drm, name, init->size);
}
#define drmm_cgroup_register_region npumem_compat_register_region
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)
static inline bool vma_is_cow_mapping(const struct vm_area_struct *vma)
{
	return is_cow_mapping(vma->vm_flags);
}

#define dma_fence_enable_signaling dma_fence_enable_sw_signaling
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void npumem_compat_sched_start(struct drm_gpu_scheduler *sched, int error)
{
	drm_sched_start(sched);
}
#define drm_sched_start npumem_compat_sched_start
#endif

/*
 * For this change and that below no version number will do: stable kernels took them along
 * with fixes. Kbuild looks for them in the kernel's headers.
 */
#ifndef NPUMEM_HAVE_DRM_SCHED_INIT_ARGS
struct drm_sched_init_args {
	const struct drm_sched_backend_ops *ops;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *timeout_wq;
	u32 num_rqs;
	u32 credit_limit;
	unsigned int hang_limit;
	long timeout;
	atomic_t *score;
	const char *name;
	struct device *dev;
};

static inline int npumem_compat_sched_init(struct drm_gpu_scheduler *sched,
					   const struct drm_sched_init_args *args)
{
	return drm_sched_init(sched, args->ops, args->submit_wq, args->num_rqs, args->credit_limit,
			      args->hang_limit, args->timeout, args->timeout_wq, args->score,
			      args->name, args->dev);
}
#define drm_sched_init npumem_compat_sched_init
#endif

#ifndef NPUMEM_HAVE_DRM_CLIENT_ID
static inline int npumem_compat_sched_job_init(struct drm_sched_job *job,
					       struct drm_sched_entity *entity, u32 credits,
					       void *owner, u64 client_id)
{
	return drm_sched_job_init(job, entity, credits, owner);
}
#define drm_sched_job_init npumem_compat_sched_job_init
#endif

#ifdef NPUMEM_HAVE_SIGNAL_ON_ANY
static inline struct dma_fence_array *npumem_compat_fence_array_create(int count,
								       struct dma_fence **fences,
								       u64 context,
								       unsigned int seqno)
{
	return dma_fence_array_create(count, fences, context, seqno, false);
}
#define dma_fence_array_create npumem_compat_fence_array_create
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
/* In older kernels the names without a suffix are functions that want the lock held. */
#define drm_gem_vmap   drm_gem_vmap_unlocked
#define drm_gem_vunmap drm_gem_vunmap_unlocked
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define DRM_GPU_SCHED_STAT_RESET DRM_GPU_SCHED_STAT_NOMINAL

static inline int of_reserved_mem_region_to_resource(const struct device_node *np, unsigned int idx,
						     struct resource *res)
{
	struct device_node *node = of_parse_phandle(np, "memory-region", idx);
	struct reserved_mem *rmem;

	if (!node)
		return -ENODEV;
	rmem = of_device_is_available(node) ? of_reserved_mem_lookup(node) : NULL;
	of_node_put(node);
	if (!rmem)
		return -ENODEV;
	*res = DEFINE_RES_MEM_NAMED(rmem->base, rmem->size, rmem->name);
	return 0;
}

static inline int of_reserved_mem_region_count(const struct device_node *np)
{
	return of_count_phandle_with_args(np, "memory-region", NULL);
}
#endif

/*
 * A fence outlives the module that made it: a sync_file in somebody's hands
 * keeps it after the module is gone. From 7.0 on the core drops a signalled
 * fence's pointer to the ops, if they have neither release nor wait. Before
 * that the core reads the ops once more when the fence is freed, so there our fences
 * borrow the ops of the core's own stub, and traces call them "stub".
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
struct npu_compat_fence {
	struct dma_fence base;
	spinlock_t lock;
};

static inline struct dma_fence *npumem_compat_fence_alloc(const struct dma_fence_ops *ops)
{
	struct npu_compat_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->lock);
	BUILD_BUG_ON(offsetof(struct npu_compat_fence, base));
	return &fence->base;
}

static inline void npumem_compat_fence_init(struct dma_fence *fence,
					    const struct dma_fence_ops *ops, u64 context, u64 seqno)
{
	struct npu_compat_fence *own = container_of(fence, struct npu_compat_fence, base);
	struct dma_fence *stub = dma_fence_get_stub();

	dma_fence_init(fence, stub->ops, &own->lock, context, seqno);
	dma_fence_put(stub);
}
#else
static inline struct dma_fence *npumem_compat_fence_alloc(const struct dma_fence_ops *ops)
{
	return kzalloc(sizeof(struct dma_fence), GFP_KERNEL_ACCOUNT);
}

static inline void npumem_compat_fence_init(struct dma_fence *fence,
					    const struct dma_fence_ops *ops, u64 context, u64 seqno)
{
	dma_fence_init(fence, ops, NULL, context, seqno);
}
#endif

#endif /* NPUMEM_COMPAT_H */
