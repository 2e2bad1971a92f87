/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Commands of engine "sim": what the reference engine, which tests and `npumemctl run` use,
 * makes of the steps of a job.
 */
#ifndef NPUMEM_SIM_COMMAND_H
#define NPUMEM_SIM_COMMAND_H

#include <linux/types.h>

/* Name and version of the engine's commands, as struct drm_npumem_engine has them. */
#define NPUMEM_SIM_NAME	     "sim"
#define NPUMEM_SIM_VERSION   1
/* Its companion takes the same commands, but no others than NPUMEM_SIM_NOP and NPUMEM_SIM_COPY. */
#define NPUMEM_SIM_COPY_NAME "sim-copy"

/**
 * enum npumem_sim_op - what is done with each step of a job
 * @NPUMEM_SIM_NOP: no memory is touched; tile states advance all the same. A job without
 *	commands does that, too
 * @NPUMEM_SIM_COPY: the write tiles take the bytes of the read tiles
 * @NPUMEM_SIM_FILL: every byte of the write tiles becomes the command's value
 * @NPUMEM_SIM_MIX: npumem_mix.h: a function, keyed with the value, of all bytes read
 */
enum npumem_sim_op {
	NPUMEM_SIM_NOP = 0,
	NPUMEM_SIM_COPY = 1,
	NPUMEM_SIM_FILL = 2,
	NPUMEM_SIM_MIX = 3,
};

/**
 * struct npumem_sim_command - all that a job of engine "sim" has as its commands
 * @op: enum npumem_sim_op
 * @pad: zero
 * @value: NPUMEM_SIM_FILL: the byte; NPUMEM_SIM_MIX: the key; else zero
 */
struct npumem_sim_command {
	__u32 op;
	__u32 pad;
	__u64 value;
};

#endif /* NPUMEM_SIM_COMMAND_H */
