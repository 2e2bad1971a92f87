/* SPDX-License-Identifier: MIT */
/* Inferences, by one interpreter or by two, whose outputs are then compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "input.h"
#include "refusal.h"
#include "runner.h"

/*
 * struct output - one output of the model after the last inference
 * @data: its values, @shape.bytes of them
 */
struct output {
	struct shape shape;
	void *data;
};

/*
 * struct work - inferences to do, and what came of them; work_fini() frees what it has
 * @ours: whose outputs are kept
 * @plain: whose outputs they have to equal; NULL: nobody's
 * @inputs: what both are given, @input_count; random ones are drawn from @seed, and from the next
 *	number for each inference
 * @all: gets the outputs of every inference, one behind the other; NULL: nobody does
 * @outputs: of the last inference
 * @difference: where outputs differed first; empty: they did not
 */
struct work {
	struct runner *ours;
	struct runner *plain;
	struct input *inputs;
	size_t input_count;
	uint64_t seed;
	uint32_t runs;
	FILE *all;
	struct output *outputs;
	size_t output_count;
	char difference[256];
};

/* Ask what the model takes, and read @paths, of which the i-th is for the i-th input. */
int work_init(struct work *work, const char *const *paths, size_t path_count, enum pixels pixels,
	      const char **where, struct refusal *why);
void work_fini(struct work *work);

/*
 * work_do() - run inferences until all are done, or outputs differ
 *
 * Which interpreter is first changes from one inference to the next, so that caches favour none.
 * -EIO: one fails; -ENOMEM.
 */
int work_do(struct work *work, struct refusal *why);

/*
 * Write the outputs of the last inference to a file, one behind the other
 *
 * The errno of what failed; there may be a part of them then.
 */
int work_write(const struct work *work, const char *path, struct refusal *why);
