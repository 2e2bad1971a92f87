/* SPDX-License-Identifier: MIT */
/*
 * A TFLite model's steps executed by the process engine's library as an engine does that gets
 * copies of tiles: what a step reads is copied out, its command is executed, and what it writes
 * is copied back.
 */
#pragma once

#include <stdbool.h>

#include "npuplan.h"
#include "tflite/commands.h"

/*
 * struct engine_net - a model's graph, its commands, and values of its tensors
 * @values: per tensor its bytes; an alias has none of its own
 * @text: what is wrong
 * @overrun: a fault of the engine's, planted: so many bytes behind each tile that it writes in an
 *	arena it writes, too, as one can to which the arena is mapped
 */
struct engine_net {
	const struct npuplan_graph *graph;
	struct tflite_commands *commands;
	uint8_t **values;
	char text[600];
	uint64_t overrun;
};

/* engine_net_init() - parameters and state as the model has them, all else noise
 * @model: the file, which @graph was read from; both stay
 */
bool engine_net_init(struct engine_net *net, const void *model, size_t size,
		     const struct npuplan_graph *graph);
void engine_net_fini(struct engine_net *net);

/* engine_draw_inputs() - bytes of the inputs by splitmix64, floats from -1 to 1 in 128ths */
void engine_draw_inputs(struct engine_net *net, uint64_t *seed);

/* engine_run_tensors() - the steps in the graph's order, each tensor in memory of its own */
bool engine_run_tensors(struct engine_net *net);

/* engine_run_plan() - the steps in the plan's order, in the plan's arena
 *
 * The arena begins full of noise. Loads, stores, spills and fills copy. Afterwards the
 * values of outputs are what the arena, or host memory, has of them.
 */
bool engine_run_plan(struct engine_net *net, const struct npuplan_plan *plan);

/* engine_run_arena() - the same in an arena that lasts from one inference to the next
 * @arena: the plan's arena, then its host memory; the caller's
 * @first: it is the first inference there: state is put where it begins. Later ones find it
 */
bool engine_run_arena(struct engine_net *net, const struct npuplan_plan *plan, uint8_t *arena,
		      bool first);
