/* SPDX-License-Identifier: MIT */
/*
 * Tasks computed: the commands of a job executed on the window's bytes, within a time.
 */
#pragma once

#include <stdint.h>

#include "npumem_serve.h"

/*
 * struct compute - what the program computes with; nothing is allocated afterwards
 * @scratch: @scratch_size bytes of its own
 * @limit_ms: longest time for one task
 * @accesses: room for what engine_execute() wants to know
 */
struct compute {
	void *scratch;
	uint64_t scratch_size;
	uint32_t limit_ms;
	struct engine_access *accesses;
};

/* Accesses that a step may have here. */
#define COMPUTE_MAX_ACCESSES 65536u

/* compute_init() - 0 or a negative errno; compute_fini() it then
 *
 * Scratch memory takes room as it is first used. SIGALRM is this program's.
 */
int compute_init(struct compute *compute, uint64_t scratch_size, uint32_t limit_ms);
void compute_fini(struct compute *compute);

/* compute_task() - 0, or a negative errno and why
 *
 * -ETIME: it takes longer than the limit. What engine_execute() says.
 */
int compute_task(struct compute *compute, const struct npumem_engine_task *task, const char **why);
