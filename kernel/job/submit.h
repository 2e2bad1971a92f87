/* SPDX-License-Identifier: GPL-2.0-only */
/* A call of SUBMIT in the making (submit.c), and what its jobs wait for (depend.c). */
#ifndef NPUMEM_SUBMIT_H
#define NPUMEM_SUBMIT_H

#include "fault.h"
#include "order.h"

struct npu_cpu_access;
struct npu_gate;
struct npu_job;

/**
 * struct submit - one call of the ioctl
 * @drm: device
 * @file: file of the caller
 * @args: the ioctl's arguments
 * @run: run of all its jobs; referenced
 * @specs: entries that the caller asked for, @args->jobs.count of them
 * @jobs: jobs made of those that are positions, or one empty job if none is;
 *	those that are NULL are the scheduler's already
 * @job_count: number of @jobs
 * @in: syncs to wait for
 * @out: syncs to signal
 * @syncobjs: syncobjs of @out, referenced
 * @chains: links for those in @out that are timelines
 * @awaited: fences of @in, referenced
 * @awaited_count: number of @awaited
 * @gate: for @awaited and for the fences of others in the dma_resvs; or NULL
 * @mark: order of the run before the first job
 * @end: fence that stands for all jobs of the run, referenced, or NULL
 * @access: CPU access to imported buffers, or NULL; once the jobs are pushed they end it
 * @generation: generation of the bindings that @access is for
 * @ticks: counts the work of all loops, see npuv_tick()
 * @refusal: verdict of a refusal, on its way to the caller
 */
struct submit {
	struct drm_device *drm;
	struct drm_file *file;
	struct drm_npumem_submit *args;
	struct npu_run *run;
	struct drm_npumem_job *specs;
	struct npu_job **jobs;
	u32 job_count;
	struct drm_npumem_sync *in;
	struct drm_npumem_sync *out;
	struct drm_syncobj **syncobjs;
	struct dma_fence_chain **chains;
	struct dma_fence **awaited;
	u32 awaited_count;
	struct npu_gate *gate;
	struct npu_order_mark mark;
	struct dma_fence *end;
	struct npu_cpu_access *access;
	u64 generation;
	u32 ticks;
	struct npu_verdict_user refusal;
};

/*
 * What the jobs wait for, and a fence that stands for them all. Under all dma_resvs, in which there
 * is room for as many fences as there are engines afterwards. -ENOMEM, -EINTR.
 */
int npumem_submit_depend(struct submit *submit);

/* The buffers have the last of the jobs on each engine: who waits for it waits for all. */
void npumem_submit_to_resvs(const struct submit *submit);

#endif /* NPUMEM_SUBMIT_H */
