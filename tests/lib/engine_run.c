// SPDX-License-Identifier: MIT
#include "engine_run.h"
#include "command.h"
#include "place_byte.h"
#include "random.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inttypes.h>

/* Keeps the first reason; false. */
#define wrong(net, ...) text_reason((net)->text, sizeof((net)->text), __VA_ARGS__)

bool engine_net_init(struct engine_net *net, const void *model, size_t size,
		     const struct npuplan_graph *graph)
{
	struct npuplan_error error = { .text = "" };

	*net = (struct engine_net){
		.graph = graph,
		.values = calloc((size_t)graph->tensor_count + 1, sizeof(*net->values)),
	};
	if (tflite_commands_new(model, size, graph, &net->commands, &error))
		return wrong(net, "%s", error.text);
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
			continue;
		net->values[t] = malloc(tensor->size);
		memset(net->values[t], 0x5a, tensor->size);
		if ((tensor->kind == NPUMEM_TENSOR_PARAMETER ||
		     tensor->kind == NPUMEM_TENSOR_STATE) &&
		    tflite_initial_value(net->commands, t, net->values[t], &error))
			return wrong(net, "%s", error.text);
	}
	return true;
}

void engine_net_fini(struct engine_net *net)
{
	for (uint32_t t = 0; net->values && t < net->graph->tensor_count; t++)
		free(net->values[t]);
	free(net->values);
	tflite_commands_free(net->commands);
}

void engine_draw_inputs(struct engine_net *net, uint64_t *seed)
{
	for (uint32_t t = 0; t < net->graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &net->graph->tensors[t];

		if (tensor->kind != NPUMEM_TENSOR_INPUT)
			continue;
		for (uint64_t i = 0; i < tensor->size; i++) {
			float value;

			if (tensor->elem_size != 4) {
				net->values[t][i] = (uint8_t)random_next(seed);
				continue;
			}
			value = (float)(int8_t)random_next(seed) / 128.0f;
			memcpy(&net->values[t][i], &value, sizeof(value));
			i += 3;
		}
	}
}

/*
 * struct memory - where bytes of tensors are
 * @plan: in its arena at @position; NULL: in the values
 * @bytes: the arena, then host memory
 */
struct memory {
	struct engine_net *net;
	const struct npuplan_plan *plan;
	uint8_t *bytes;
	uint32_t position;
};

/* A byte of a tensor, and how many follow it there; NULL: it is nowhere. */
static uint8_t *find(struct memory *m, uint32_t tensor, uint64_t byte, uint64_t *count)
{
	const struct npuplan_tensor *t = &m->net->graph->tensors[tensor];

	if (t->flags & NPUMEM_TENSOR_FLAG_ALIAS) {
		byte += t->alias_offset;
		tensor = t->alias_of;
	}
	if (!m->plan) {
		*count = m->net->graph->tensors[tensor].size - byte;
		return &m->net->values[tensor][byte];
	}
	for (uint32_t i = 0; i < m->plan->placement_count; i++) {
		const struct npumem_placement *at = &m->plan->placements[i];
		uint64_t address;

		if (at->tensor != tensor || at->from > m->position || at->to < m->position)
			continue;
		*count = place_run(at, byte, &address);
		if (*count)
			return &m->bytes[address];
	}
	wrong(m->net, "position %u: byte %" PRIu64 " of tensor %s has no place", m->position, byte,
	      t->name);
	return NULL;
}

/* A run of a tensor's bytes, to @buffer or from it. */
static bool move(struct memory *m, uint32_t tensor, uint64_t first, uint64_t length,
		 uint8_t *buffer, bool out)
{
	while (length) {
		uint64_t count;
		uint8_t *at = find(m, tensor, first, &count);

		if (!at)
			return false;
		if (count > length)
			count = length;
		memcpy(out ? buffer : at, out ? at : buffer, count);
		first += count;
		buffer += count;
		length -= count;
	}
	return true;
}

static uint64_t region_chunks(const struct npumem_region *r)
{
	return (uint64_t)r->count[0] * r->count[1] * r->count[2];
}

static bool move_tile(struct memory *m, const struct npumem_tile *tile, uint8_t *buffer, bool out)
{
	const struct npumem_region *r = &tile->region;

	for (uint64_t i = 0; i < region_chunks(r); i++, buffer += r->length) {
		uint64_t at = r->offset, rest = i;

		for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
			at += rest % r->count[d] * r->stride[d];
			rest /= r->count[d];
		}
		if (!move(m, tile->tensor, at, r->length, buffer, out))
			return false;
	}
	return true;
}

/* What lies behind the last byte of a tile, in the arena, is lost. */
static bool run_over(struct memory *m, const struct npumem_tile *tile)
{
	const struct npumem_region *r = &tile->region;
	uint64_t last = r->offset + r->length - 1, count, left;
	uint8_t *at, *arena_end;

	if (!m->net->overrun || !m->plan)
		return true;
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++)
		last += (r->count[d] - 1) * r->stride[d];
	at = find(m, tile->tensor, last, &count);
	arena_end = m->bytes + m->plan->info.arena_size;
	if (!at || at >= arena_end)
		return at != NULL;
	left = (uint64_t)(arena_end - at - 1);
	memset(at + 1, 0x3c, left < m->net->overrun ? left : m->net->overrun);
	return true;
}

static bool execute(struct memory *m, uint32_t step, const struct engine_access *accesses)
{
	const struct npuplan_step *s = &m->net->graph->steps[step];
	struct npuplan_error error = { .text = "" };
	const char *why = "";
	void *command, *scratch = NULL;
	uint64_t needed;
	size_t size;
	int err;

	if (tflite_command(m->net->commands, step, &command, &size, &error))
		return wrong(m->net, "%s", error.text);
	err = engine_check(command, size, &needed, &why);
	if (!err) {
		scratch = malloc(needed);
		err = engine_execute(command, size, accesses, s->access_count, scratch, needed,
				     &why);
	}
	free(scratch);
	free(command);
	return !err || wrong(m->net, "step %s: %s", s->name, why);
}

static bool run_step(struct memory *m, uint32_t step)
{
	const struct npuplan_graph *graph = m->net->graph;
	const struct npuplan_step *s = &graph->steps[step];
	struct engine_access *accesses = calloc(s->access_count, sizeof(*accesses));
	bool good = true;

	for (uint32_t i = 0; i < s->access_count && good; i++) {
		const struct npumem_access *access = &graph->accesses[s->first_access + i];
		const struct npumem_tile *tile = &graph->tiles[access->tile];

		accesses[i].size = region_chunks(&tile->region) * tile->region.length;
		accesses[i].data = malloc(accesses[i].size);
		accesses[i].writable = access->mode != NPUMEM_ACCESS_READ;
		memset(accesses[i].data, 0xa5, accesses[i].size);
		if (access->mode != NPUMEM_ACCESS_WRITE)
			good = move_tile(m, tile, accesses[i].data, true);
	}
	if (good)
		good = execute(m, step, accesses);
	for (uint32_t i = 0; i < s->access_count; i++) {
		const struct npumem_tile *tile =
			&graph->tiles[graph->accesses[s->first_access + i].tile];

		if (good && accesses[i].writable)
			good = move_tile(m, tile, accesses[i].data, false) && run_over(m, tile);
		free(accesses[i].data);
	}
	free(accesses);
	return good;
}

bool engine_run_tensors(struct engine_net *net)
{
	struct memory m = { .net = net };
	bool good = true;

	for (uint32_t s = 0; s < net->graph->step_count && good; s++)
		good = run_step(&m, s);
	return good;
}

/* What an inference finds: at its first position, or in host memory. @state: state, too */
static bool begin(struct memory *m, bool state)
{
	const struct npuplan_graph *graph = m->net->graph;
	bool good = true;

	for (uint32_t t = 0; t < graph->tensor_count && good; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];
		bool placed = false;

		if (tensor->kind == NPUMEM_TENSOR_INTERMEDIATE ||
		    tensor->kind == NPUMEM_TENSOR_OUTPUT ||
		    (tensor->kind == NPUMEM_TENSOR_STATE && !state) ||
		    tensor->flags & (NPUMEM_TENSOR_FLAG_HOST | NPUMEM_TENSOR_FLAG_ALIAS))
			continue;
		/* One that no step accesses may have no place. */
		for (uint32_t i = 0; i < m->plan->placement_count; i++)
			placed = placed || (m->plan->placements[i].tensor == t &&
					    m->plan->placements[i].from == 0);
		if (placed)
			good = move(m, t, 0, tensor->size, m->net->values[t], false);
	}
	for (uint32_t p = 0; p < m->plan->position_count; p++) {
		const struct npumem_position *at = &m->plan->positions[p];

		if (at->kind == NPUMEM_POSITION_LOAD)
			memcpy(&m->bytes[m->plan->info.arena_size + at->host_offset],
			       &m->net->values[at->index][at->first], at->length);
	}
	return good;
}

static bool transfer(struct memory *m, const struct npumem_position *at)
{
	bool in = at->kind == NPUMEM_POSITION_LOAD || at->kind == NPUMEM_POSITION_FILL;

	return at->kind == NPUMEM_POSITION_DROP ||
	       move(m, at->index, at->first, at->length,
		    &m->bytes[m->plan->info.arena_size + at->host_offset], !in);
}

/* Outputs out of the arena; the part that was moved to host memory last is there. */
static bool fetch_outputs(struct memory *m)
{
	const struct npuplan_graph *graph = m->net->graph;
	const struct npuplan_plan *plan = m->plan;

	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		uint64_t size = graph->tensors[t].size;

		if (graph->tensors[t].kind != NPUMEM_TENSOR_OUTPUT ||
		    graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			continue;
		for (uint64_t byte = 0, count; byte < size; byte += count) {
			const uint8_t *from = NULL;

			for (uint32_t p = plan->position_count; p-- > 0 && !from;) {
				const struct npumem_position *at = &plan->positions[p];

				if (at->kind == NPUMEM_POSITION_STEP || at->index != t ||
				    at->kind == NPUMEM_POSITION_DROP || byte < at->first ||
				    byte - at->first >= at->length)
					continue;
				from = &m->bytes[plan->info.arena_size + at->host_offset + byte -
						 at->first];
				count = 1;
			}
			if (!from)
				from = find(m, t, byte, &count);
			if (!from)
				return false;
			if (count > size - byte)
				count = size - byte;
			memcpy(&m->net->values[t][byte], from, count);
		}
	}
	return true;
}

bool engine_run_arena(struct engine_net *net, const struct npuplan_plan *plan, uint8_t *arena,
		      bool first)
{
	struct memory m = { .net = net, .plan = plan, .bytes = arena };
	bool good = begin(&m, first);

	for (; m.position < plan->position_count && good; m.position++) {
		const struct npumem_position *at = &plan->positions[m.position];

		good = at->kind == NPUMEM_POSITION_STEP ? run_step(&m, at->index) :
							  transfer(&m, at);
	}
	m.position = plan->position_count - 1;
	return good && fetch_outputs(&m);
}

bool engine_run_plan(struct engine_net *net, const struct npuplan_plan *plan)
{
	uint64_t size = plan->info.arena_size + plan->info.host_size;
	uint8_t *arena = malloc(size + 1);
	bool good;

	memset(arena, 0xc3, size);
	good = engine_run_arena(net, plan, arena, true);
	free(arena);
	return good;
}
