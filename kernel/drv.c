// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: the device
 *
 * Probe makes the banks, then the engines, then lets user space in; remove goes
 * the other way round: drm_dev_unplug() turns user space away, waits for ioctls
 * that touch the carveout and zaps all mappings; plan requests are settled;
 * engines are stopped, so that jobs still queued end with -ENODEV, and their
 * drivers' callbacks are not called any more; jobs that wait for other drivers' fences do
 * so no longer. Objects that open files hold, and the modules of the engines' drivers, live
 * on until the files are closed, see base/drv.h.
 */
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/wait.h>
#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "memory/bo.h"
#include "memory/carveout.h"
#include "memory/dma.h"
#include "base/client.h"
#include "base/compat.h"
#include "debugfs.h"
#include "device.h"
#include "base/drv.h"
#include "job/engine.h"
#include "job/bind.h"
#include "job/fault.h"
#include "job/job.h"
#include "object/plan.h"
#include "job/run.h"
#include "job/turn.h"
#include "process/process.h"
#include "upcall/upcall.h"

static atomic_t devices = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(devices_gone);

/* ------------------------------------------------------------------- files */

static int npumem_open(struct drm_device *drm, struct drm_file *drm_file)
{
	struct npu_file *file;
	int err;

	/*
	 * Without accel nodes the core makes a card node beside the render node. It has
	 * nothing but global names of BOs (FLINK) that this one lacks, and those are not
	 * wanted: PRIME is the way to share.
	 */
	if (drm_is_primary_client(drm_file))
		return -EOPNOTSUPP;
	/* On an accel node root would count as authenticated, and could use FLINK there. */
	drm_file->authenticated = false;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	file->dev = to_npumem(drm);
	err = npumem_engines_hold(file->dev);
	if (err)
		goto free_file;
	file->client = npumem_client_create(file->dev);
	if (IS_ERR(file->client)) {
		err = PTR_ERR(file->client);
		goto release_engines;
	}
	file->requester = npumem_upcall_open();
	if (IS_ERR(file->requester)) {
		err = PTR_ERR(file->requester);
		goto put_client;
	}
	xa_init_flags(&file->graphs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&file->plans, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&file->runs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	drm_file->driver_priv = file;
	return 0;

put_client:
	npumem_client_put(file->client);
release_engines:
	npumem_engines_release(file->dev);
free_file:
	kfree(file);
	return err;
}

/* GEM handles and syncobjs are gone already. */
static void npumem_postclose(struct drm_device *drm, struct drm_file *drm_file)
{
	struct npu_file *file = drm_file->driver_priv;

	npumem_process_release_file(file);
	npumem_run_release_file(file);
	npumem_plan_release_file(file);
	npumem_graph_release_file(file);
	npumem_upcall_close(file->requester);
	xa_destroy(&file->runs);
	xa_destroy(&file->plans);
	xa_destroy(&file->graphs);
	npumem_client_put(file->client);
	npumem_engines_release(file->dev);
	/* Mappings, which hold the file, are gone, too. */
	if (file->gone)
		__free_page(file->gone);
	kfree(file);
}

static void memory_add(struct drm_memory_stats *stats, struct drm_gem_object *obj)
{
	if (drm_gem_object_is_shared_for_memory_stats(obj))
		stats->shared += obj->size;
	else
		stats->private += obj->size;
	/* A system BO has no pages before it is touched. */
	if (to_npumem_bo(obj)->bank || to_npumem_bo(obj)->shmem.pages)
		stats->resident += obj->size;
}

static void memory_print(struct drm_printer *p, const struct drm_memory_stats *stats,
			 const char *region)
{
	/* drm-memory- is the older name of drm-resident-. */
	drm_printf(p, "drm-memory-%s:\t%llu KiB\n", region, stats->resident >> 10);
	drm_print_memory_stats(p, stats, DRM_GEM_OBJECT_RESIDENT, region);
}

/* Engines of one name, as the slots of engines in a process are, count together. */
static void engine_print(struct drm_printer *p, struct npu_device *dev,
			 const struct npu_client *client, u32 first)
{
	const char *name = dev->engines[first]->name;
	struct npu_use use, all = {};
	u32 i, capacity = 0;

	for (i = 0; i < dev->engine_count; i++) {
		if (strcmp(dev->engines[i]->name, name))
			continue;
		/* That line was printed for the first of them. */
		if (i < first)
			return;
		use = npumem_client_use(dev, client, i);
		all.ns += use.ns;
		all.jobs += use.jobs;
		capacity++;
	}
	drm_printf(p, "drm-engine-%s:\t%llu ns\n", name, all.ns);
	if (capacity > 1)
		drm_printf(p, "drm-engine-capacity-%s:\t%u\n", name, capacity);
	drm_printf(p, "npumem-jobs-%s:\t%llu\n", name, all.jobs);
}

/*
 * Documentation/gpu/drm-usage-stats.rst has the keys that begin with "drm-". NPUMEM_QUERY_HOLDERS
 * gives the client the same number.
 */
static void npumem_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct drm_memory_stats carveout = {}, system = {};
	const struct npu_file *priv = file->driver_priv;
	struct npu_client *client = priv->client;
	struct drm_gem_object *obj;
	int id;
	u32 i;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id)
		memory_add(to_npumem_bo(obj)->bank ? &carveout : &system, obj);
	spin_unlock(&file->table_lock);
	memory_print(p, &carveout, "carveout");
	memory_print(p, &system, "system");
	drm_printf(p, "npumem-kernel-memory:\t%lld KiB\n",
		   atomic64_read(&client->used[NPUMEM_RESOURCE_MEMORY]) >> 10);
	drm_printf(p, "npumem-client:\t%u\n", client->number);
	/* Runs have arenas that no handle is of. */
	for (i = 0; i < priv->dev->bank_count; i++)
		drm_printf(p, "npumem-carveout-%u:\t%lld bytes\n", i,
			   atomic64_read(&client->used[NPUMEM_RESOURCE_CARVEOUT + i]));
	for (i = 0; i < priv->dev->engine_count; i++)
		engine_print(p, priv->dev, client, i);
	drm_printf(p, "npumem-moved:\t%lld bytes\n", atomic64_read(&client->moved));
}

/* ------------------------------------------------------------------ driver */

static const struct drm_ioctl_desc npumem_ioctls[] = {
#define NPUMEM_IOCTL(name, fn) DRM_IOCTL_DEF_DRV(NPUMEM_##name, npumem_ioctl_##fn, DRM_RENDER_ALLOW)
	NPUMEM_IOCTL(DEV_QUERY, dev_query),
	NPUMEM_IOCTL(BO_CREATE, bo_create),
	NPUMEM_IOCTL(BO_MMAP_OFFSET, bo_mmap_offset),
	NPUMEM_IOCTL(BO_WAIT, bo_wait),
	NPUMEM_IOCTL(GRAPH_CREATE, graph_create),
	NPUMEM_IOCTL(GRAPH_DESTROY, graph_destroy),
	NPUMEM_IOCTL(PLAN_REQUEST, plan_request),
	NPUMEM_IOCTL(PLAN_LOAD, plan_load),
	NPUMEM_IOCTL(PLAN_READ, plan_read),
	NPUMEM_IOCTL(PLAN_DESTROY, plan_destroy),
	NPUMEM_IOCTL(RUN_CREATE, run_create),
	NPUMEM_IOCTL(RUN_BIND, run_bind),
	NPUMEM_IOCTL(RUN_RESET, run_reset),
	NPUMEM_IOCTL(RUN_DESTROY, run_destroy),
	NPUMEM_IOCTL(SUBMIT, submit),
	NPUMEM_IOCTL(RUN_QUERY, run_query),
	NPUMEM_IOCTL(ENGINE_ATTACH, engine_attach),
	NPUMEM_IOCTL(RUN_TURN, run_turn),
#undef NPUMEM_IOCTL
};

static const struct file_operations npumem_fops = {
	.owner = THIS_MODULE,
#if IS_ENABLED(CONFIG_DRM_ACCEL)
	DRM_ACCEL_FOPS,
#else
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
#endif
	.show_fdinfo = drm_show_fdinfo,
};

static const struct drm_driver npumem_driver = {
	.driver_features = (IS_ENABLED(CONFIG_DRM_ACCEL) ? DRIVER_COMPUTE_ACCEL : DRIVER_RENDER) |
			   DRIVER_GEM | DRIVER_SYNCOBJ | DRIVER_SYNCOBJ_TIMELINE,
	.open = npumem_open,
	.postclose = npumem_postclose,
	.gem_create_object = npumem_gem_create_object,
	.gem_prime_import = npumem_gem_prime_import,
	.gem_prime_import_sg_table = drm_gem_shmem_prime_import_sg_table,
	.show_fdinfo = npumem_show_fdinfo,
	.ioctls = npumem_ioctls,
	.num_ioctls = ARRAY_SIZE(npumem_ioctls),
	.fops = &npumem_fops,
	.name = NPUMEM_DRIVER_NAME,
	.desc = "Memory management for neural accelerators",
	.major = NPUMEM_UAPI_MAJOR,
	.minor = NPUMEM_UAPI_MINOR,
};

/* --------------------------------------------------------- probe and remove */

static void device_gone(struct drm_device *drm, void *unused)
{
	if (atomic_dec_and_test(&devices))
		wake_up_all(&devices_gone);
}

void npumem_devices_wait(void)
{
	wait_event(devices_gone, !atomic_read(&devices));
}

static int device_init(struct npu_device *dev)
{
	int err;

	atomic_inc(&devices);
	err = drmm_add_action_or_reset(&dev->drm, device_gone, NULL);
	if (err)
		return err;
	err = drmm_mutex_init(&dev->drm, &dev->runs_lock);
	if (err)
		return err;
	INIT_LIST_HEAD(&dev->runs);
	err = drmm_mutex_init(&dev->drm, &dev->dmas_lock);
	if (err)
		return err;
	INIT_LIST_HEAD(&dev->dmas);
	init_rwsem(&dev->dmas_unplug);
	err = drmm_mutex_init(&dev->drm, &dev->users_lock);
	if (err)
		return err;
	err = npumem_clients_init(dev);
	if (err)
		return err;
	return npumem_faults_init(dev);
}

static int device_add_banks(struct npu_device *dev, const unsigned int *mib, unsigned int count)
{
	unsigned int i;
	int err;

	err = npumem_banks_add_regions(dev);
	for (i = 0; !err && i < count; i++)
		err = npumem_bank_add_software(dev, (u64)mib[i] * SZ_1M);
	if (err)
		return err;
	if (!dev->bank_count)
		return dev_err_probe(dev->drm.dev, -EINVAL, "no memory-region\n");
	return 0;
}

/* The device is found by this record, since the parent's drvdata belong to its own driver. */
struct npu_devres {
	struct npu_device *dev;
};

static void device_devres_release(struct device *parent, void *res)
{
}

static int device_remember(struct device *parent, struct npu_device *dev)
{
	struct npu_devres *res = devres_alloc(device_devres_release, sizeof(*res), GFP_KERNEL);

	if (!res)
		return -ENOMEM;
	res->dev = dev;
	devres_add(parent, res);
	return 0;
}

int npumem_device_probe_software(struct device *parent, const struct npu_engine_desc *engines,
				 unsigned int count, const unsigned int *mib,
				 unsigned int mib_count)
{
	struct npu_device *dev;
	unsigned int i;
	int err;

	if (!count)
		return dev_err_probe(parent, -EINVAL, "no engine\n");
	dev = devm_drm_dev_alloc(parent, &npumem_driver, struct npu_device, drm);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = device_remember(parent, dev);
	if (err)
		return err;
	err = device_init(dev);
	if (err)
		return err;
	err = device_add_banks(dev, mib, mib_count);
	if (err)
		return err;
	for (i = 0; i < count; i++) {
		err = npumem_engine_add(dev, &engines[i]);
		if (err)
			return dev_err_probe(parent, err, "engine %s\n", engines[i].name);
	}
	err = npumem_slots_add(dev);
	if (err)
		return dev_err_probe(parent, err, "slots for engines in a process\n");
	if (dev->addresses & BIT(NPU_ADDRESS_DMA)) {
		err = npumem_banks_map_dma(dev);
		if (err)
			return err;
	}
	npumem_debugfs_init(dev);
	return drm_dev_register(&dev->drm, 0);
}

int npumem_device_probe(struct device *parent, const struct npu_engine_desc *engines,
			unsigned int count)
{
	return npumem_device_probe_software(parent, engines, count, NULL, 0);
}
EXPORT_SYMBOL_GPL(npumem_device_probe);

void npumem_device_remove(struct device *parent)
{
	struct npu_devres *res = devres_find(parent, device_devres_release, NULL, NULL);
	struct npu_device *dev = res->dev;
	u32 i;

	drm_dev_unplug(&dev->drm);
	npumem_upcall_unplug(dev);
	for (i = 0; i < dev->engine_count; i++)
		npumem_engine_stop(dev->engines[i]);
	npumem_runs_unplug(dev);
	npumem_dma_unplug(dev);
	npumem_faults_unplug(dev);
}
EXPORT_SYMBOL_GPL(npumem_device_remove);
