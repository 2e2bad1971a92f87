/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Engines: what executes jobs, and how a real NPU's driver brings one.
 *
 * A driver calls npumem_device_probe() (device.h) from its own probe, with a description
 * of each of its engines, and npumem_device_remove() from its remove. From that on none of
 * its callbacks is called: open files keep the DRM device, but nothing that the driver
 * described. The parent's drvdata are the driver's to use. npumem's own platform driver
 * does just that for engine "sim".
 *
 * Each open file holds a reference on the modules of the device's engines, so a module
 * in use is not unloaded by mistake. To take a device from its clients all the same,
 * unbind it: that ends their jobs, and once they have closed it the module can go.
 */
#ifndef NPUMEM_ENGINE_H
#define NPUMEM_ENGINE_H

#include <drm/gpu_scheduler.h>

#include "drv.h"
#include "fair.h"

struct dentry;
struct npu_engine;
struct npu_job;

/**
 * struct npu_engine_ops - what an engine can do
 * @init: optional; at probe. May set &npu_engine.priv
 * @fini: optional; undoes @init. In npumem_device_remove(), after @stop, when nothing
 *	of the engine is in use any more
 * @check: optional, and without it jobs have no commands; look at a job's
 *	commands (&npu_job.commands, from a client that may be hostile) and ask for what they
 *	need (npumem_job_bounce()). In SUBMIT, for many jobs at once. 0; -EINVAL; -EOPNOTSUPP;
 *	-EINTR: npuv_tick(), which is to be called for all that takes time, said so
 * @start: start a job and return without waiting for it. The engine calls
 *	npumem_job_done() exactly once for each job started, and before that
 *	npumem_job_transferred() for each transfer among its positions. There is
 *	never more than one job. In process context; must not allocate with GFP_KERNEL, for it
 *	is what memory reclaim may wait for
 * @late: optional; whether the job in flight takes too long, or makes no progress.
 *	Asked every now and then; without, @drain is called instead
 * @drain: a job is late. Return when none is running any more,
 *	having aborted one that makes no progress. From then on an aborted job
 *	touches no memory. May sleep; @start is not called meanwhile
 * @stop: the device is going: abort the running job, if any, and return when it
 *	is done; @start is not called again, @drain may be under way. May sleep
 * @debugfs: optional; files of this engine
 */
struct npu_engine_ops {
	int (*init)(struct npu_engine *engine);
	void (*fini)(struct npu_engine *engine);
	int (*check)(struct npu_engine *engine, struct npu_job *job, u32 *ticks);
	void (*start)(struct npu_engine *engine, struct npu_job *job);
	bool (*late)(struct npu_engine *engine);
	void (*drain)(struct npu_engine *engine);
	void (*stop)(struct npu_engine *engine);
	void (*debugfs)(struct npu_engine *engine, struct dentry *dir);
};

/**
 * struct npu_engine_desc - engine to be made
 * @name: as users see it; copied
 * @owner: module of @ops, THIS_MODULE: held by each open file of the device
 * @ops: what it can do; until npumem_device_remove() returns
 * @flags: NPUMEM_ENGINE_*
 * @version: of the format of its commands
 */
struct npu_engine_desc {
	const char *name;
	struct module *owner;
	const struct npu_engine_ops *ops;
	u32 flags;
	u32 version;
};

/**
 * struct npu_engine - one engine
 * @dev: whose it is
 * @name: as described, cut short if need be
 * @owner: as described; once the device has been removed only who holds it may use it
 * @ops: as described; NULL once the device has been removed
 * @flags: as described
 * @version: as described
 * @index: of it in &npu_device.engines
 * @sched: keeps each run's jobs in order and waits for what they depend on
 * @queue: whose turn it is: one job at a time
 * @timeout_wq: where @sched looks after late jobs; not shared, as it may wait
 * @lock: taken to start a job, guards @stopped
 * @stopped: the device is gone, jobs end with -ENODEV
 * @priv: the engine's own
 */
struct npu_engine {
	struct npu_device *dev;
	char name[32];
	struct module *owner;
	const struct npu_engine_ops *ops;
	u32 flags;
	u32 version;
	u32 index;
	struct drm_gpu_scheduler sched;
	struct npu_fairq queue;
	struct workqueue_struct *timeout_wq;
	struct mutex lock;
	bool stopped;
	void *priv;
};

#endif /* NPUMEM_ENGINE_H */
