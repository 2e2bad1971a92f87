/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Engines execute jobs. This is the contract between npumem and the driver of a real NPU,
 * which brings its engines. Those that are a process are in kernel/process/.
 *
 * A driver calls npumem_device_probe() (device.h) from its own probe, with a description
 * of each of its engines, and npumem_device_remove() from its remove. Once the latter has
 * returned, none of the driver's callbacks is called any more: open files keep the DRM
 * device, but nothing that the driver described. The parent's drvdata belong to the
 * driver. npumem's own platform driver does just that for engine "sim".
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
 * enum npu_address - how an engine reaches the bytes of its jobs (job/range.h)
 * @NPU_ADDRESS_CPU: by kernel addresses
 * @NPU_ADDRESS_DMA: by DMA of the parent device, whose mask its driver has set before
 *	npumem_device_probe()
 *
 * A run's memory is mapped for all that the device's engines use. What cannot be is refused
 * with -EOPNOTSUPP: banks by npumem_device_probe(), host BOs by RUN_CREATE, others by RUN_BIND.
 */
enum npu_address {
	NPU_ADDRESS_CPU,
	NPU_ADDRESS_DMA,
};

/**
 * struct npu_engine_ops - what an engine can do
 * @init: optional; called at probe. May set &npu_engine.priv
 * @fini: optional; undoes @init. Called by npumem_device_remove(), after @stop, when
 *	nothing of the engine is in use any more
 * @check: optional; without it no job of this engine has commands. Looks at a job's
 *	commands (&npu_job.commands, from a client that may be hostile) and asks for the memory
 *	that they need (npumem_job_bounce()). Relocations have been checked as far as they
 *	concern accesses; this says which of the commands they may replace. SUBMIT calls it
 *	for all its jobs before any of them starts; for jobs without commands only if the
 *	engine has NPUMEM_ENGINE_PROCESS. 0; -EINVAL; -EOPNOTSUPP; -EUNATCH and -EMSGSIZE as
 *	SUBMIT has them; -EINTR: npuv_tick(), which has to be called in every loop that takes
 *	time, says that the caller is being killed
 * @describe: optional; adds to what DEV_QUERY tells an open file of the engine
 * @start: start a job and return without waiting for it. The engine calls
 *	npumem_job_done() exactly once for each job started, and before that
 *	npumem_job_transferred() for each transfer among its positions. No more than
 *	&npu_engine_desc.depth jobs are started and have not ended; they execute, and end, in
 *	the order in which they were started; one whose run has failed by the time that it
 *	would be executed (npumem_run_error()) ends with -ECANCELED instead. Called in process
 *	context; must not allocate with GFP_KERNEL, since memory reclaim may wait for the job
 * @late: optional; tells whether the job that the engine executes takes too long, or makes no
 *	progress. Called every now and then while a job is in flight. Without it a job is late
 *	that has been the first of those started for &npu_engine_desc.timeout_ms, or, if that
 *	is 0, whenever the core looks
 * @drain: called when a job is late. Aborts a job that makes no progress, and returns when
 *	none is running any more. From then on an aborted job touches no memory. May sleep;
 *	@start is not called meanwhile
 * @reset: takes the place of @drain; called when a job is late. Stops the hardware, forgets all
 *	jobs that were started, and is ready for others: from its return on none of them touches
 *	memory, and npumem_job_done() is called for none. The core ends the first of them with
 *	-ETIMEDOUT and starts the others again. May sleep
 * @stop: called when the device is going. Aborts the running jobs, if any, and returns when
 *	they are done; @start is not called again, @drain may be under way. May sleep
 * @debugfs: optional; adds files of this engine to the folder
 */
struct npu_engine_ops {
	int (*init)(struct npu_engine *engine);
	void (*fini)(struct npu_engine *engine);
	int (*check)(struct npu_engine *engine, struct npu_job *job, u32 *ticks);
	void (*describe)(struct npu_engine *engine, const struct npu_file *file,
			 struct drm_npumem_engine *description);
	void (*start)(struct npu_engine *engine, struct npu_job *job);
	bool (*late)(struct npu_engine *engine);
	void (*drain)(struct npu_engine *engine);
	void (*reset)(struct npu_engine *engine);
	void (*stop)(struct npu_engine *engine);
	void (*debugfs)(struct npu_engine *engine, struct dentry *dir);
};

/**
 * struct npu_engine_desc - description of an engine that npumem_device_probe() makes
 * @name: as users see it; copied
 * @owner: module of @ops, THIS_MODULE: held by each open file of the device
 * @ops: what it can do; until npumem_device_remove() returns
 * @flags: NPUMEM_ENGINE_*
 * @version: of the format of its commands
 * @addresses: how it reaches memory
 * @depth: jobs that it takes at a time, up to NPUMEM_MAX_DEPTH; 0 is 1
 * @timeout_ms: see &npu_engine_ops.late
 * @runtime_pm: each job holds the parent's power (pm_runtime_get_sync(),
 *	pm_runtime_put_autosuspend()), from before @start until it has ended: resuming must not
 *	allocate with GFP_KERNEL either
 */
struct npu_engine_desc {
	const char *name;
	struct module *owner;
	const struct npu_engine_ops *ops;
	u32 flags;
	u32 version;
	enum npu_address addresses;
	u32 depth;
	u32 timeout_ms;
	bool runtime_pm;
};

/**
 * struct npu_engine - one engine
 * @dev: the device that it belongs to
 * @name: as described, cut short if need be
 * @owner: as described; once the device has been removed only an open file, which holds
 *	the module, may use it
 * @ops: as described; NULL once the device has been removed
 * @flags: as described
 * @version: as described
 * @addresses: as described
 * @index: of it in &npu_device.engines
 * @sched: keeps each run's jobs in order and waits for what they depend on
 * @timeout_ms: as described
 * @runtime_pm: as described
 * @queue: decides whose turn it is; &npu_engine_desc.depth jobs have it at a time
 * @timeout_wq: where @sched looks after late jobs; not shared, as it may wait
 * @lock: taken to start a job, guards @stopped
 * @stopped: the device is gone, and jobs end with -ENODEV
 * @started_lock: guards @started and @first_since; taken in any context
 * @started: list of struct npu_job that were started, or skipped while others of their run were
 *	there, and have not ended, in their order
 * @first_since: jiffies when the first of them became that
 * @priv: for the engine's driver
 */
struct npu_engine {
	struct npu_device *dev;
	char name[32];
	struct module *owner;
	const struct npu_engine_ops *ops;
	u32 flags;
	u32 version;
	enum npu_address addresses;
	u32 index;
	struct drm_gpu_scheduler sched;
	u32 timeout_ms;
	bool runtime_pm;
	struct npu_fairq queue;
	struct workqueue_struct *timeout_wq;
	struct mutex lock;
	bool stopped;
	spinlock_t started_lock;
	struct list_head started;
	unsigned long first_since;
	void *priv;
};

#endif /* NPUMEM_ENGINE_H */
