// SPDX-License-Identifier: MIT
#include "int8_run.h"
#include "int8_parts.h"
#include "place_byte.h"
#include "random.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../userspace/chunks/chunks.h"

/* Of a tensor that is none. */
static int8_t nothing;

/* Keeps the first reason; false. */
#define wrong(net, ...) text_reason((net)->text, sizeof((net)->text), __VA_ARGS__)

/* ------------------------------------------------------- tensors that a tiling added */

static void unravel(const struct npuplan_tensor *tensor, int64_t element, int64_t *at)
{
	for (uint32_t d = tensor->dim_count; d-- > 0; element /= tensor->shape[d])
		at[d] = element % tensor->shape[d];
}

/* Of a patch's byte the tensor and byte that it is; false: it only fills up a block. */
static bool out_of_patch(const struct int8_net *net, uint32_t *tensor, uint64_t *byte)
{
	const struct npuplan_graph *graph = net->graph;
	const struct npuplan_added *added = int8_added(graph, *tensor, NPUPLAN_ADDED_PATCH);
	int64_t own[NPUPLAN_MAX_DIMS], at[NPUPLAN_MAX_DIMS];

	if (!added)
		return true;
	if (net->element[*tensor][*byte] < 0)
		return false;
	unravel(&graph->tensors[*tensor], net->element[*tensor][*byte], own);
	int8_of_part(graph, added, own, at);
	*tensor = added->of;
	*byte = int8_byte(graph, added->of, at);
	return true;
}

/* The other way round: the byte of @patch that a byte of its tensor is; false: it is none. */
static bool into_patch(const struct int8_net *net, uint32_t patch, uint64_t *byte)
{
	const struct npuplan_graph *graph = net->graph;
	uint32_t of = int8_added(graph, patch, NPUPLAN_ADDED_PATCH)->of;
	int64_t own[NPUPLAN_MAX_DIMS], at[NPUPLAN_MAX_DIMS];

	if (net->element[of][*byte] < 0)
		return false;
	unravel(&graph->tensors[of], net->element[of][*byte], at);
	if (!int8_in_part(graph, patch, at, own))
		return false;
	*byte = int8_byte(graph, patch, own);
	return true;
}

/* The values of the tensor that a patch has a part of. */
static void fill_patch(struct int8_net *net, uint32_t patch)
{
	for (uint64_t b = 0; b < net->graph->tensors[patch].size; b++) {
		uint32_t whole = patch;
		uint64_t byte = b;

		net->bytes[patch][b] = out_of_patch(net, &whole, &byte) ? net->bytes[whole][byte] :
									  0;
	}
}

/* ----------------------------------------------------------------------- all at once */

static bool map_elements(struct int8_net *net, uint32_t tensor)
{
	const struct npuplan_tensor *t = &net->graph->tensors[tensor];
	int64_t at[NPUPLAN_MAX_DIMS] = { 0 }, element = 0;

	for (uint64_t b = 0; b < int8_size(net->graph, tensor); b++)
		net->element[tensor][b] = -1;
	/* Its elements are sums, of which there are none as long as nothing has run. */
	if (int8_added(net->graph, tensor, NPUPLAN_ADDED_SUMS))
		return true;
	do {
		uint64_t byte = int8_byte(net->graph, tensor, at);

		if (byte >= int8_size(net->graph, tensor) || net->element[tensor][byte] >= 0)
			return wrong(net, "tensor %s: its shape is not that of its bytes", t->name);
		net->element[tensor][byte] = element++;
	} while (int8_next(t, at));
	return true;
}

/* struct values - of the tensors of an operator that is computed whole */
struct values {
	const struct int8_net *net;
	const struct npuplan_op *op;
};

static int8_t load_value(void *context, uint32_t input, uint64_t byte)
{
	const struct values *from = context;

	return from->net->bytes[from->op->inputs[input]][byte];
}

static void compute(struct int8_net *net, const struct npuplan_op *op, uint32_t output)
{
	struct values from = { net, op };
	struct int8_op k = { net->graph, op, net->resize, load_value, &from, output };
	uint32_t tensor = op->outputs[output];
	int64_t at[NPUPLAN_MAX_DIMS] = { 0 };

	memset(net->bytes[tensor], 0, int8_size(net->graph, tensor));
	do
		net->bytes[tensor][int8_byte(net->graph, tensor, at)] = int8_element(&k, at);
	while (int8_next(&net->graph->tensors[tensor], at));
}

static bool compute_all(struct int8_net *net, const struct npuplan_op *op)
{
	if (!int8_knows(op->type))
		return wrong(net, "operator %s: no arithmetic for type %s", op->name, op->type);
	for (uint32_t i = 0; i < op->output_count; i++)
		compute(net, op, i);
	return true;
}

/*
 * Each byte of a part is the byte of the whole where it is said to lie. What fills up blocks of an
 * input's channels is noise.
 */
static bool parts_agree(struct int8_net *net)
{
	const struct npuplan_graph *graph = net->graph;

	for (uint32_t i = 0; i < graph->joined_count; i++) {
		uint32_t part = graph->joined[i].tensor;

		for (uint64_t b = 0; b < graph->joined[i].size; b++) {
			uint32_t base = part;
			uint64_t byte = b;

			int8_locate(graph, &base, &byte);
			if (net->element[part][b] < 0 &&
			    graph->tensors[base].kind == NPUMEM_TENSOR_INPUT)
				continue;
			if (byte >= graph->tensors[base].size ||
			    net->bytes[part][b] != net->bytes[base][byte])
				return wrong(net,
					     "byte %" PRIu64 " of tensor %s is not byte %" PRIu64
					     " of %s",
					     b, graph->tensors[part].name, byte,
					     graph->tensors[base].name);
		}
	}
	return true;
}

bool int8_net_init(struct int8_net *net, const struct npuplan_graph *graph, enum int8_resize resize,
		   uint64_t seed)
{
	bool good;

	*net = (struct int8_net){
		.graph = graph,
		.resize = resize,
		.bytes = calloc((size_t)graph->tensor_count + 1, sizeof(*net->bytes)),
		.element = calloc((size_t)graph->tensor_count + 1, sizeof(*net->element)),
	};
	good = net->bytes && net->element;
	for (uint32_t t = 0; t < graph->tensor_count && good; t++) {
		uint64_t size = int8_size(graph, t);

		net->bytes[t] = malloc(size + 1);
		net->element[t] = malloc((size + 1) * sizeof(**net->element));
		if (graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_ALIAS && !int8_joined(graph, t))
			return wrong(net, "tensor %s is an alias", graph->tensors[t].name);
		good = net->bytes[t] && net->element[t] && map_elements(net, t);
		for (uint64_t b = 0; b < size && good; b++)
			net->bytes[t][b] = (int8_t)random_next(&seed);
	}
	for (uint32_t i = 0; i < graph->op_count && good; i++)
		good = compute_all(net, &graph->ops[i]);
	for (uint32_t t = 0; t < graph->tensor_count && good; t++)
		if (int8_added(graph, t, NPUPLAN_ADDED_PATCH))
			fill_patch(net, t);
	return (good || wrong(net, "out of memory")) && parts_agree(net);
}

void int8_net_fini(struct int8_net *net)
{
	for (uint32_t t = 0; t < net->graph->tensor_count; t++) {
		if (net->bytes)
			free(net->bytes[t]);
		if (net->element)
			free(net->element[t]);
	}
	free(net->bytes);
	free(net->element);
}

/* --------------------------------------------------------------------- step by step */

/*
 * struct run - of steps, in an order
 * @plan: in whose arena, or NULL: the inputs' values are those of the net
 * @seen: per tensor and byte the last step that reads it, counted from 1
 * @used: likewise, the last step that did
 * @written: per tensor and byte how often it has been written
 * @taken: of a staged step: per tensor what it has read
 * @memory: @arena_size bytes of arena, then @host_size
 * @places: of tensor t are places[first_place[t] ..)
 * @step, @op, @tile, @position: at work
 */
struct run {
	struct int8_net *net;
	const struct npuplan_plan *plan;
	uint32_t **seen;
	uint32_t **used;
	uint8_t **written;
	int8_t **taken;
	int8_t *memory;
	uint32_t *places;
	uint32_t *first_place;
	const struct npuplan_op *op;
	uint64_t loaded;
	uint64_t read;
	uint32_t step;
	uint32_t tile;
	uint32_t position;
	bool staged;
	bool with_parameters;
};

static int8_t *lost(struct run *run, uint32_t tensor, uint64_t byte, const char *why)
{
	wrong(run->net, "position %u: byte %" PRIu64 " of tensor %s %s", run->position, byte,
	      run->net->graph->tensors[tensor].name, why);
	return &nothing;
}

/* How many places a byte has at the current position. @found: out: the last of them */
static uint32_t count_places(const struct run *run, uint32_t tensor, uint64_t byte, uint64_t *found)
{
	uint32_t places = 0;
	uint64_t address;

	for (uint32_t i = run->first_place[tensor]; i < run->first_place[tensor + 1]; i++) {
		const struct npumem_placement *at = &run->plan->placements[run->places[i]];

		if (at->from > run->position || at->to < run->position ||
		    !place_run(at, byte, &address))
			continue;
		*found = address;
		places++;
	}
	return places;
}

/* The byte's place in the arena at the current position. */
static int8_t *place_of(struct run *run, uint32_t tensor, uint64_t byte)
{
	uint64_t found = 0;
	uint32_t places = count_places(run, tensor, byte, &found);

	if (places != 1)
		return lost(run, tensor, byte, places ? "has two places" : "has no place");
	if (found >= run->plan->info.arena_size)
		return lost(run, tensor, byte, "lies beyond the arena");
	return &run->memory[found];
}

/* Whether the tiling accesses parameters: all of them, or none. */
static bool with_parameters(const struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < graph->tile_count; i++)
		if (graph->tensors[graph->tiles[i].tensor].kind == NPUMEM_TENSOR_PARAMETER)
			return true;
	return false;
}

/* What is not planned is read where the net has it. */
static bool outside(const struct run *run, uint32_t tensor)
{
	const struct npuplan_tensor *t = &run->net->graph->tensors[tensor];

	return (t->kind == NPUMEM_TENSOR_PARAMETER && !run->with_parameters) ||
	       t->flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
}

/*
 * Where the value of a byte is that the step reads: among what a staged step has taken, in the
 * arena, or, without a plan, where the net has it.
 */
static int8_t *read_place(struct run *run, uint32_t tensor, uint64_t byte)
{
	if (!run->plan || outside(run, tensor))
		return &run->net->bytes[tensor][byte];
	return run->staged ? &run->taken[tensor][byte] : place_of(run, tensor, byte);
}

/* If the step reads a patch of a tensor: the patch, and where in it the byte lies. */
static bool find_patch(const struct run *run, uint32_t *tensor, uint64_t *byte)
{
	const struct npuplan_graph *graph = run->net->graph;
	const struct npuplan_step *s = &graph->steps[run->step];

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		uint32_t read = graph->tiles[graph->accesses[a].tile].tensor;
		const struct npuplan_added *added = int8_added(graph, read, NPUPLAN_ADDED_PATCH);

		if (!added || added->of != *tensor ||
		    graph->accesses[a].mode == NPUMEM_ACCESS_WRITE)
			continue;
		*tensor = read;
		return into_patch(run->net, read, byte);
	}
	return true;
}

static int8_t load_read(void *context, uint32_t input, uint64_t byte)
{
	struct run *run = context;
	const struct npuplan_graph *graph = run->net->graph;
	uint32_t tensor = run->op->inputs[input];

	if (graph->tensors[tensor].kind == NPUMEM_TENSOR_PARAMETER && !run->with_parameters)
		return run->net->bytes[tensor][byte];
	int8_locate(graph, &tensor, &byte);
	if (!find_patch(run, &tensor, &byte) || run->seen[tensor][byte] != run->step + 1) {
		wrong(run->net,
		      "operator %s, step %u %s, tile %u: needs byte %" PRIu64 " (element %" PRId64
		      ") of tensor %s, which the step does not read",
		      run->op->name, run->step, graph->steps[run->step].name, run->tile, byte,
		      run->net->element[tensor][byte], graph->tensors[tensor].name);
		return 0;
	}
	run->loaded += run->used[tensor][byte] != run->step + 1;
	run->used[tensor][byte] = run->step + 1;
	return *read_place(run, tensor, byte);
}

/* What the step reads, from its tiles. */
static void take(struct run *run, const struct npumem_tile *tile)
{
	struct chunks walk = chunks_of_region(&tile->region);

	while (chunks_next(&walk))
		for (uint64_t b = walk.byte; b < walk.byte + tile->region.length; b++) {
			run->read += run->seen[tile->tensor][b] != run->step + 1;
			run->seen[tile->tensor][b] = run->step + 1;
			if (run->plan && run->staged && !outside(run, tile->tensor))
				run->taken[tile->tensor][b] = *place_of(run, tile->tensor, b);
		}
}

/*
 * The number of the operator's output that a byte of a tensor is of; NPUMEM_NONE: of none. @byte:
 * becomes the output's.
 */
static uint32_t output_at(const struct run *run, uint32_t tensor, uint64_t *byte)
{
	const struct npuplan_graph *graph = run->net->graph;

	for (uint32_t i = 0; i < run->op->output_count; i++) {
		uint32_t base = run->op->outputs[i];
		uint64_t first = 0, own = *byte;

		int8_locate(graph, &base, &first);
		if (base != tensor || !int8_locate_back(graph, run->op->outputs[i], &own))
			continue;
		*byte = own;
		return i;
	}
	return NPUMEM_NONE;
}

/* -------------------------------------------------------------- sums in the making */

/* A sum that the step reads. */
static int32_t load_sum(struct run *run, uint32_t tensor, const int64_t *sum)
{
	uint64_t byte = int8_byte(run->net->graph, tensor, sum) * sizeof(int32_t);
	uint32_t value = 0;

	for (uint64_t b = 0; b < sizeof(int32_t); b++) {
		if (run->seen[tensor][byte + b] != run->step + 1)
			wrong(run->net, "step %u %s: reads no byte %" PRIu64 " of %s", run->step,
			      run->net->graph->steps[run->step].name, byte + b,
			      run->net->graph->tensors[tensor].name);
		value |= (uint32_t)(uint8_t)*read_place(run, tensor, byte + b) << 8 * b;
	}
	return (int32_t)value;
}

/* Begin the sums of a tensor, or add to them. */
static bool store_sums(struct run *run, uint32_t tensor, bool update)
{
	const struct npuplan_graph *graph = run->net->graph;
	const struct npuplan_added *added = int8_added(graph, tensor, NPUPLAN_ADDED_SUMS);
	struct int8_op k = { graph, run->op, run->net->resize, load_read, run, 0 };
	struct int8_depth depth;
	int64_t sum[NPUPLAN_MAX_DIMS] = { 0 }, at[NPUPLAN_MAX_DIMS];

	if (!int8_depth_of(graph, run->step, &depth) || depth.last ||
	    added->of != run->op->outputs[0])
		return wrong(run->net, "operator %s, step %u: writes tensor %s", run->op->name,
			     run->step, graph->tensors[tensor].name);
	do {
		uint64_t byte = int8_byte(graph, tensor, sum) * sizeof(int32_t);
		int64_t value = update ? load_sum(run, tensor, sum) : 0;

		int8_of_part(graph, added, sum, at);
		value += int8_products(&k, at, depth.first, depth.count);
		for (uint64_t b = 0; b < sizeof(int32_t); b++) {
			int8_t *place = run->plan ? place_of(run, tensor, byte + b) :
						    &run->net->bytes[tensor][byte + b];

			*place = (int8_t)(uint8_t)((uint64_t)value >> 8 * b);
		}
	} while (int8_next(&graph->tensors[tensor], sum) && !run->net->text[0]);
	return !run->net->text[0];
}

/* The sum that the last step of a tile finds for an element of the output. */
static int64_t sum_so_far(struct run *run, const int64_t *at)
{
	const struct npuplan_graph *graph = run->net->graph;
	const struct npuplan_step *s = &graph->steps[run->step];
	int64_t sum[NPUPLAN_MAX_DIMS];

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		uint32_t tensor = graph->tiles[graph->accesses[a].tile].tensor;

		if (int8_added(graph, tensor, NPUPLAN_ADDED_SUMS) &&
		    int8_in_part(graph, tensor, at, sum))
			return load_sum(run, tensor, sum);
	}
	wrong(run->net, "operator %s, step %u %s: there is no sum of an element", run->op->name,
	      run->step, graph->steps[run->step].name);
	return 0;
}

/* An element of the output, from what the step reads. */
static int8_t element_of(struct run *run, const struct int8_op *k, const int64_t *at)
{
	struct int8_depth depth;
	int64_t rest;

	if (!int8_depth_of(run->net->graph, run->step, &depth))
		return int8_element(k, at);
	if (!depth.last)
		wrong(run->net, "operator %s, step %u %s: writes elements whose sums are not there",
		      run->op->name, run->step, run->net->graph->steps[run->step].name);
	rest = int8_products(k, at, depth.first, depth.count);
	return int8_of_sum(k, at, sum_so_far(run, at) + rest);
}

static bool store(struct run *run, uint32_t tensor, uint64_t byte)
{
	struct int8_op k = { run->net->graph, run->op, run->net->resize, load_read, run, 0 };
	const struct npuplan_tensor *t;
	int64_t at[NPUPLAN_MAX_DIMS], element;
	uint64_t own = byte;
	uint32_t output, whole = tensor;
	bool fills = !out_of_patch(run->net, &whole, &own);
	int8_t value = 0;

	if (fills)
		whole = int8_added(run->net->graph, tensor, NPUPLAN_ADDED_PATCH)->of;
	k.output = output_at(run, whole, &own);
	if (k.output == NPUMEM_NONE)
		return wrong(run->net,
			     "operator %s, step %u: writes byte %" PRIu64
			     " of tensor %s, which is not its own",
			     run->op->name, run->step, byte, run->net->graph->tensors[tensor].name);
	output = run->op->outputs[k.output];
	t = &run->net->graph->tensors[output];
	element = fills ? -1 : run->net->element[output][own];

	/* Channels that only fill up a block. */
	if (element >= 0) {
		unravel(t, element, at);
		value = element_of(run, &k, at);
	}
	if (run->plan && !outside(run, tensor))
		*place_of(run, tensor, byte) = value;
	if (run->net->text[0])
		return false;
	if (!fills && value != run->net->bytes[output][own])
		return wrong(run->net,
			     "operator %s, step %u %s, tile %u: byte %" PRIu64 " (element %" PRId64
			     ") of tensor %s is %d, must be %d",
			     run->op->name, run->step, run->net->graph->steps[run->step].name,
			     run->tile, own, element, t->name, value, run->net->bytes[output][own]);
	if (run->written[tensor][byte]++)
		return wrong(run->net,
			     "operator %s, step %u %s, tile %u: byte %" PRIu64
			     " of tensor %s is written again",
			     run->op->name, run->step, run->net->graph->steps[run->step].name,
			     run->tile, byte, t->name);
	return true;
}

static bool run_step(struct run *run, uint32_t step)
{
	const struct npuplan_graph *graph = run->net->graph;
	const struct npuplan_step *s = &graph->steps[step];
	bool good = true;

	run->step = step;
	run->staged = s->flags & NPUMEM_STEP_STAGED;
	run->op = &graph->ops[s->op];
	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++)
		if (graph->accesses[a].mode != NPUMEM_ACCESS_WRITE)
			take(run, &graph->tiles[graph->accesses[a].tile]);
	for (uint32_t a = s->first_access; a < s->first_access + s->access_count && good; a++) {
		const struct npumem_tile *tile = &graph->tiles[graph->accesses[a].tile];
		struct chunks walk = chunks_of_region(&tile->region);

		run->tile = graph->accesses[a].tile;
		if (graph->accesses[a].mode == NPUMEM_ACCESS_READ)
			continue;
		if (int8_added(graph, tile->tensor, NPUPLAN_ADDED_SUMS)) {
			good = store_sums(run, tile->tensor,
					  graph->accesses[a].mode == NPUMEM_ACCESS_UPDATE);
			continue;
		}
		while (good && chunks_next(&walk))
			for (uint64_t b = walk.byte; b < walk.byte + tile->region.length && good;
			     b++)
				good = store(run, tile->tensor, b);
	}
	return good && !run->net->text[0];
}

/* Whether an output of a split or a slice is part of the input, so that nobody has to write it. */
static bool lies_in_input(const struct npuplan_graph *graph, uint32_t op, uint32_t output)
{
	for (uint32_t i = 0; i < graph->concat_input_count; i++) {
		const struct npuplan_concat_input *said = &graph->concat_inputs[i];

		if (said->op == op && said->input == output && said->join == NPUPLAN_JOINED)
			return graph->ops[op].type[0] == 's';
	}
	return false;
}

/* All of an output, once. */
static bool is_written(struct run *run, const struct npuplan_op *op, uint32_t output)
{
	const struct npuplan_graph *graph = run->net->graph;

	for (uint64_t b = 0; b < int8_size(graph, output); b++) {
		uint32_t tensor = output;
		uint64_t byte = b;

		int8_locate(graph, &tensor, &byte);
		if (!run->written[tensor][byte] && run->net->element[output][b] >= 0)
			return wrong(run->net,
				     "operator %s: byte %" PRIu64 " of tensor %s is never written",
				     op->name, b, graph->tensors[output].name);
	}
	return true;
}

/* All that patches have of an output, once. */
static bool patches_are_written(struct run *run, const struct npuplan_op *op, uint32_t output)
{
	const struct npuplan_graph *graph = run->net->graph;

	for (uint32_t t = graph->tensor_count - graph->added_count; t < graph->tensor_count; t++) {
		const struct npuplan_added *added = int8_added(graph, t, NPUPLAN_ADDED_PATCH);

		if (added && added->of == output && !is_written(run, op, t))
			return false;
	}
	return true;
}

/* Whether an operator's output is there in patches alone. */
static bool in_patches(const struct npuplan_graph *graph, uint32_t op)
{
	for (uint32_t i = 0; i < graph->tiling.patch_count; i++)
		if (op >= graph->tiling.patches[i].first && op < graph->tiling.patches[i].last)
			return true;
	return false;
}

static bool all_written(struct run *run)
{
	const struct npuplan_graph *graph = run->net->graph;

	for (uint32_t i = 0; i < graph->op_count; i++)
		for (uint32_t k = 0; k < graph->ops[i].output_count; k++) {
			const struct npuplan_op *op = &graph->ops[i];

			if (lies_in_input(graph, i, k))
				continue;
			if (in_patches(graph, i) ? !patches_are_written(run, op, op->outputs[k]) :
						   !is_written(run, op, op->outputs[k]))
				return false;
		}
	return true;
}

static void run_fini(struct run *run)
{
	void **each[] = { (void **)run->seen, (void **)run->used, (void **)run->written,
			  (void **)run->taken };

	for (int i = 0; i < 4; i++) {
		for (uint32_t t = 0; each[i] && t < run->net->graph->tensor_count; t++)
			free(each[i][t]);
		free(each[i]);
	}
	free(run->memory);
	free(run->places);
	free(run->first_place);
}

static bool run_init(struct run *run)
{
	const struct npuplan_graph *graph = run->net->graph;
	size_t tensors = (size_t)graph->tensor_count + 1;

	run->with_parameters = with_parameters(graph);
	run->seen = calloc(tensors, sizeof(*run->seen));
	run->used = calloc(tensors, sizeof(*run->used));
	run->written = calloc(tensors, sizeof(*run->written));
	run->taken = calloc(tensors, sizeof(*run->taken));
	if (!run->seen || !run->used || !run->written || !run->taken)
		return wrong(run->net, "out of memory");
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		uint64_t size = graph->tensors[t].size;

		run->seen[t] = calloc(size, sizeof(**run->seen));
		run->used[t] = calloc(size, sizeof(**run->used));
		run->written[t] = calloc(size, sizeof(**run->written));
		run->taken[t] = calloc(size, sizeof(**run->taken));
		if (!run->seen[t] || !run->used[t] || !run->written[t] || !run->taken[t])
			return wrong(run->net, "out of memory");
	}
	return true;
}

bool int8_check_tiles(struct int8_net *net, uint64_t *loaded, uint64_t *read)
{
	struct run run = { .net = net };
	bool good = run_init(&run);

	for (uint32_t s = 0; s < net->graph->step_count && good; s++)
		good = run_step(&run, s);
	if (good)
		good = all_written(&run);
	if (loaded)
		*loaded += run.loaded;
	if (read)
		*read += run.read;
	run_fini(&run);
	return good;
}

/* -------------------------------------------------------------------- through a plan */

static bool index_places(struct run *run)
{
	const struct npuplan_plan *plan = run->plan;
	uint32_t count = 0;

	run->places = calloc((size_t)plan->placement_count + 1, sizeof(*run->places));
	run->first_place =
		calloc((size_t)run->net->graph->tensor_count + 1, sizeof(*run->first_place));
	if (!run->places || !run->first_place)
		return wrong(run->net, "out of memory");
	for (uint32_t t = 0; t < run->net->graph->tensor_count; t++) {
		run->first_place[t] = count;
		for (uint32_t i = 0; i < plan->placement_count; i++)
			if (plan->placements[i].tensor == t)
				run->places[count++] = i;
	}
	run->first_place[run->net->graph->tensor_count] = count;
	return true;
}

/* What an inference finds: at its first position, or in the host buffer. */
static void begin(struct run *run)
{
	const struct npuplan_graph *graph = run->net->graph;
	uint64_t found;

	run->position = 0;
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (tensor->kind == NPUMEM_TENSOR_INTERMEDIATE ||
		    tensor->kind == NPUMEM_TENSOR_OUTPUT || outside(run, t) ||
		    tensor->flags & NPUMEM_TENSOR_FLAG_HOST)
			continue;
		/* What no step accesses of a parameter or input may have no place. */
		for (uint64_t b = 0; b < tensor->size; b++)
			if (count_places(run, t, b, &found))
				*place_of(run, t, b) = run->net->bytes[t][b];
	}
	for (uint32_t p = 0; p < run->plan->position_count; p++) {
		const struct npumem_position *at = &run->plan->positions[p];

		if (at->kind == NPUMEM_POSITION_LOAD)
			memcpy(&run->memory[run->plan->info.arena_size + at->host_offset],
			       &run->net->bytes[at->index][at->first], at->length);
	}
}

static void transfer(struct run *run, const struct npumem_position *at)
{
	int8_t *host = &run->memory[run->plan->info.arena_size + at->host_offset];
	bool in = at->kind == NPUMEM_POSITION_LOAD || at->kind == NPUMEM_POSITION_FILL;

	if (at->kind == NPUMEM_POSITION_DROP)
		return;
	for (uint64_t b = 0; b < at->length; b++) {
		int8_t *place = place_of(run, at->index, at->first + b);

		*(in ? place : &host[b]) = *(in ? &host[b] : place);
	}
}

/* Where the bytes of an output are in the end: in the arena, or where they were stored. */
static int8_t *final_place(struct run *run, uint32_t tensor, uint64_t byte)
{
	for (uint32_t p = run->plan->position_count; p-- > 0;) {
		const struct npumem_position *at = &run->plan->positions[p];

		if (at->kind != NPUMEM_POSITION_STEP && at->index == tensor &&
		    at->kind != NPUMEM_POSITION_DROP && byte - at->first < at->length)
			return &run->memory[run->plan->info.arena_size + at->host_offset + byte -
					    at->first];
	}
	return place_of(run, tensor, byte);
}

static bool compare_outputs(struct run *run)
{
	const struct npuplan_graph *graph = run->net->graph;

	run->position = run->plan->position_count - 1;
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		if (graph->tensors[t].kind != NPUMEM_TENSOR_OUTPUT || outside(run, t))
			continue;
		for (uint64_t b = 0; b < graph->tensors[t].size; b++) {
			int8_t value;

			if (run->net->element[t][b] < 0)
				continue;
			value = *final_place(run, t, b);
			if (run->net->text[0])
				return false;
			if (value != run->net->bytes[t][b])
				return wrong(run->net,
					     "output %s: byte %" PRIu64 " is %d, must be %d",
					     graph->tensors[t].name, b, value,
					     run->net->bytes[t][b]);
		}
	}
	return true;
}

bool int8_run_plan(struct int8_net *net, const struct npuplan_plan *plan)
{
	struct run run = { .net = net, .plan = plan };
	uint64_t size = plan->info.arena_size + plan->info.host_size, seed = 1;
	bool good = run_init(&run) && index_places(&run);

	run.memory = malloc(size + 1);
	if (!run.memory)
		good = wrong(net, "out of memory");
	for (uint64_t b = 0; b < size && good; b++)
		run.memory[b] = (int8_t)random_next(&seed);
	if (good) {
		begin(&run);
		good = !net->text[0];
	}
	for (uint32_t p = 0; p < plan->position_count && good; p++) {
		run.position = p;
		if (plan->positions[p].kind == NPUMEM_POSITION_STEP)
			good = run_step(&run, plan->positions[p].index);
		else
			transfer(&run, &plan->positions[p]);
		good = good && !net->text[0];
	}
	if (good)
		good = all_written(&run) && compare_outputs(&run);
	run_fini(&run);
	return good;
}
