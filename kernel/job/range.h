/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a job accesses, as its engine reaches it: for drivers of engines.
 *
 * A job has &npu_job.count positions, numbered from 0 here. A position that is a step has
 * the accesses of that step; a transfer has two, 0 of which it reads and 1 of which it
 * writes; a drop has none.
 */
#ifndef NPUMEM_JOB_RANGE_H
#define NPUMEM_JOB_RANGE_H

#include "job.h"

/**
 * struct npu_access_range - contiguous bytes of an access
 * @vaddr: kernel address, if the engine's &npu_engine_desc.addresses is NPU_ADDRESS_CPU.
 *	To be used between drm_dev_enter() and drm_dev_exit() only, beginning before it
 *	was asked for
 * @dma: address for the device, if it is NPU_ADDRESS_DMA. Until &npu_engine_ops.stop
 *	has returned, and the job has ended
 * @length: bytes
 * @linear: bytes of the access before them (see struct npumem_region)
 */
struct npu_access_range {
	union {
		void *vaddr;
		dma_addr_t dma;
	};
	u64 length;
	u64 linear;
};

/**
 * struct npu_access_ranges - iterator over the ranges of an access; private
 * @job: whose it is
 * @walk: ranges that are left
 * @range: current one
 * @done: bytes of it that were given out
 */
struct npu_access_ranges {
	const struct npu_job *job;
	struct npuv_walk walk;
	struct npuv_range range;
	u64 done;
};

/* What a position of the job is. */
static inline const struct npumem_position *npumem_job_position(const struct npu_job *job, u32 i)
{
	return npuv_position(job->run->plan->v, job->first + i);
}

/* Number of accesses of a position of the job. */
u32 npumem_job_access_count(const struct npu_job *job, u32 position);
/* enum npumem_access_mode of one of them. */
u32 npumem_job_access_mode(const struct npu_job *job, u32 position, u32 access);
/* Its bytes; of a parameter that the plan has no place for none. */
u64 npumem_job_access_bytes(const struct npu_job *job, u32 position, u32 access);

/**
 * npumem_ranges_begin() - go through the bytes of an access, in linear order
 * @ranges: iterator
 * @job: of the engine
 * @position: number within the job
 * @access: number within the position
 */
void npumem_ranges_begin(struct npu_access_ranges *ranges, const struct npu_job *job, u32 position,
			 u32 access);

/**
 * npumem_ranges_next() - the next bytes that are contiguous for the engine
 * @ranges: iterator
 * @max: bytes at most, more than 0
 * @range: filled
 *
 * Nothing is allocated, and nobody is waited for: any context.
 *
 * Return: 1; 0 at the end; -EFAULT, which verifier and RUN_BIND do not let happen: the
 * bytes are not there. The job is to end with that.
 */
int npumem_ranges_next(struct npu_access_ranges *ranges, u64 max, struct npu_access_range *range);

/**
 * npumem_relocation_range() - where the bytes begin that a relocation names
 * @job: of the engine
 * @relocation: one of &npu_job.relocations
 * @range: filled: from that byte on, as many as are contiguous for the engine
 *
 * Return: as npumem_ranges_next(); 0 if the plan has no place for the tensor.
 */
int npumem_relocation_range(const struct npu_job *job,
			    const struct drm_npumem_relocation *relocation,
			    struct npu_access_range *range);

/*
 * By the engine core, around each job of an engine that does DMA: what it accesses in system
 * memory is the device's, and the CPU's again. Any context.
 */
void npumem_job_dma_begin(const struct npu_job *job);
void npumem_job_dma_end(const struct npu_job *job);

#endif /* NPUMEM_JOB_RANGE_H */
