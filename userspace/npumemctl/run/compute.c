/* SPDX-License-Identifier: MIT */
#include "compute.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../chunks/chunks.h"
#include "command.h"
#include "npumem_mix.h"
#include "tflite/commands.h"

static __attribute__((format(printf, 3, 4))) int fail(struct npuplan_error *error, int code,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return code;
}

int compute_init(struct compute *compute, const void *model, size_t size,
		 const struct npuplan_graph *graph, uint64_t seed, struct npuplan_error *error)
{
	int err;

	*compute = (struct compute){
		.graph = graph,
		.steps = calloc(graph->step_count + (size_t)1, sizeof(*compute->steps)),
		.sizes = calloc(graph->step_count + (size_t)1, sizeof(*compute->sizes)),
		.draw = seed,
	};
	if (!compute->steps || !compute->sizes)
		return fail(error, -ENOMEM, "out of memory");
	err = tflite_commands_new(model, size, graph, &compute->source, error);
	for (uint32_t i = 0; !err && i < graph->step_count; i++)
		err = tflite_command(compute->source, i, &compute->steps[i], &compute->sizes[i],
				     error);
	return err;
}

void compute_fini(struct compute *compute)
{
	for (uint32_t i = 0; compute->steps && i < compute->graph->step_count; i++)
		free(compute->steps[i]);
	free(compute->steps);
	free(compute->sizes);
	tflite_commands_free(compute->source);
	*compute = (struct compute){ 0 };
}

/* ---------------------------------------------------------------------- values */

static uint64_t draw(uint64_t *state)
{
	return npumem_mix_scramble(*state += NPUMEM_MIX_PRIME);
}

static void draw_input(uint8_t *bytes, const struct npuplan_tensor *tensor, uint64_t *state)
{
	for (uint64_t i = 0; i < tensor->size; i++) {
		float value;

		if (tensor->elem_size != sizeof(value)) {
			bytes[i] = (uint8_t)draw(state);
			continue;
		}
		value = (float)(int8_t)draw(state) / 128.0f;
		memcpy(&bytes[i], &value, sizeof(value));
		i += sizeof(value) - 1;
	}
}

static bool has_initial_value(const struct npuplan_tensor *tensor)
{
	return tensor->kind == NPUMEM_TENSOR_PARAMETER || tensor->kind == NPUMEM_TENSOR_STATE;
}

int compute_begin(struct compute *compute, struct reference *ref, bool first,
		  struct npuplan_error *error)
{
	const struct npuplan_graph *graph = compute->graph;
	int err = 0;

	for (uint32_t t = 0; !err && t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
			continue;
		if (first && ref->bytes[t] && has_initial_value(tensor))
			err = tflite_initial_value(compute->source, t, ref->bytes[t], error);
		if (tensor->kind != NPUMEM_TENSOR_INPUT)
			continue;
		/* One that no step needs is drawn all the same: others' numbers stay the same. */
		if (ref->bytes[t])
			draw_input(ref->bytes[t], tensor, &compute->draw);
		else
			for (uint64_t i = 0; i < tensor->size; i += tensor->elem_size == 4 ? 4 : 1)
				draw(&compute->draw);
	}
	return err;
}

/* ----------------------------------------------------------------------- steps */

/* A tile's bytes, between its tensor's and memory where they lie one behind the other. */
static void move(uint8_t *tensor, const struct npumem_region *region, uint8_t *bytes, bool out)
{
	struct chunks walk = chunks_of_region(region);

	while (chunks_next(&walk)) {
		memcpy(out ? bytes : tensor + walk.byte, out ? tensor + walk.byte : bytes,
		       region->length);
		bytes += region->length;
	}
}

/*
 * struct call - one command on its way
 * @bytes: the accesses', one behind the other
 */
struct call {
	struct engine_access *accesses;
	uint8_t *bytes;
	void *scratch;
	uint64_t scratch_size;
};

static int call_init(struct call *call, const struct compute *compute, uint32_t index)
{
	const struct npuplan_graph *graph = compute->graph;
	const struct npuplan_step *step = &graph->steps[index];
	uint64_t size = 0;

	call->accesses = calloc(step->access_count + (size_t)1, sizeof(*call->accesses));
	if (!call->accesses)
		return -ENOMEM;
	for (uint32_t i = 0; i < step->access_count; i++) {
		const struct npumem_access *access = &graph->accesses[step->first_access + i];

		call->accesses[i].size = chunks_bytes(&graph->tiles[access->tile].region);
		call->accesses[i].writable = access->mode != NPUMEM_ACCESS_READ;
		/* Elements are aligned. */
		size += (call->accesses[i].size + 15) / 16 * 16;
	}
	call->bytes = calloc(1, size + 1);
	if (!call->bytes)
		return -ENOMEM;
	size = 0;
	for (uint32_t i = 0; i < step->access_count; i++) {
		call->accesses[i].data = call->bytes + size;
		size += (call->accesses[i].size + 15) / 16 * 16;
	}
	if (engine_check(compute->steps[index], compute->sizes[index], &call->scratch_size, NULL))
		return 0; /* Executing it will say the same. */
	call->scratch = malloc(call->scratch_size);
	return call->scratch ? 0 : -ENOMEM;
}

static void call_fini(struct call *call)
{
	free(call->accesses);
	free(call->bytes);
	free(call->scratch);
}

/* All that is read, or all that is written. */
static void move_all(struct call *call, const struct npuplan_graph *graph, struct reference *ref,
		     const struct npuplan_step *step, bool out)
{
	for (uint32_t i = 0; i < step->access_count; i++) {
		const struct npumem_access *access = &graph->accesses[step->first_access + i];
		const struct npumem_tile *tile = &graph->tiles[access->tile];

		if (access->mode == (out ? NPUMEM_ACCESS_WRITE : NPUMEM_ACCESS_READ) ||
		    !ref->bytes[tile->tensor])
			continue;
		move(ref->bytes[tile->tensor], &tile->region, call->accesses[i].data, out);
	}
}

static int run_step(struct compute *compute, struct reference *ref, uint32_t index,
		    struct npuplan_error *error)
{
	const struct npuplan_step *step = &compute->graph->steps[index];
	struct call call = { 0 };
	const char *why = "";
	int err = call_init(&call, compute, index);

	if (err) {
		call_fini(&call);
		return fail(error, err, "out of memory");
	}
	move_all(&call, compute->graph, ref, step, true);
	err = engine_execute(compute->steps[index], compute->sizes[index], call.accesses,
			     step->access_count, call.scratch, call.scratch_size, &why);
	if (err)
		fail(error, err, "step '%s': %s", step->name, why);
	else
		move_all(&call, compute->graph, ref, step, false);
	call_fini(&call);
	return err;
}

int compute_block(struct compute *compute, struct reference *ref, uint32_t block,
		  struct npuplan_error *error)
{
	const struct npumem_block *b = &compute->graph->blocks[block];
	int err = 0;

	for (uint32_t i = 0; !err && i < b->step_count; i++)
		err = run_step(compute, ref, b->first_step + i, error);
	return err;
}
