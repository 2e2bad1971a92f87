/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Commands of engine "edu": copies by the DMA engine of QEMU's educational PCI device.
 */
#ifndef NPUMEM_EDU_COMMAND_H
#define NPUMEM_EDU_COMMAND_H

#include <linux/types.h>

/* Name and version of the engine's commands, as struct drm_npumem_engine has them. */
#define NPUMEM_EDU_NAME	   "edu"
#define NPUMEM_EDU_VERSION 1

/**
 * enum npumem_edu_op - what is done with the steps of a job
 * @NPUMEM_EDU_STEPS: what each step writes takes the bytes of what it reads, access after
 *	access; there are no copies in the commands
 * @NPUMEM_EDU_COPIES: the copies that follow, one after the other
 *
 * A job without commands does nothing with steps.
 */
enum npumem_edu_op {
	NPUMEM_EDU_STEPS = 1,
	NPUMEM_EDU_COPIES = 2,
};

/**
 * struct npumem_edu_command - how a job's commands begin
 * @op: enum npumem_edu_op
 * @copies: number of struct npumem_edu_copy that follow
 */
struct npumem_edu_command {
	__u32 op;
	__u32 copies;
};

/**
 * struct npumem_edu_copy - bytes from one access to another one
 * @source: zero; the place of a relocation, which names an access that is read
 * @target: zero; likewise one that is written
 * @bytes: more than 0, no more than either access has from there on
 *
 * Relocation 2 * i of the job is that of @source of copy i, and the one after it is that
 * of @target.
 */
struct npumem_edu_copy {
	__u64 source;
	__u64 target;
	__u64 bytes;
};

#endif /* NPUMEM_EDU_COMMAND_H */
