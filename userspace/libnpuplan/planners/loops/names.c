// SPDX-License-Identifier: MIT
/* Live ranges of tensors, block by block: data flow over the edges, backwards. */
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/region.h"
#include "base/sorted.h"
#include "flow.h"

/* Bits of one of the sets below; more are refused. */
#define MAX_BITS ((uint64_t)1 << 28)

/*
 * struct sets - of tensors, one set a block, 64 tensors a word
 * @use: needed before the block writes them
 * @whole: the same, all of their bytes
 * @def: written by the block, so that no earlier value is needed
 * @live, @whole_live: needed on entry
 * @always: one set: in the arena for good (parameters)
 * @out, @scratch: one set each, for a block at hand
 * @words: of a set
 */
struct sets {
	uint64_t *use;
	uint64_t *whole;
	uint64_t *def;
	uint64_t *live;
	uint64_t *whole_live;
	uint64_t *out;
	uint64_t *always;
	uint64_t *scratch;
	uint32_t words;
	uint32_t blocks;
};

/*
 * struct touched - what one block does with one tensor
 * @block: that the rest is about
 * @written: bytes
 * @read: before any byte was written
 */
struct touched {
	uint32_t block;
	uint32_t name;
	uint64_t written;
	bool read;
};

struct builder {
	struct npuplan_flow *flow;
	const struct npuplan_graph *graph;
	struct npuplan_error *error;
	struct sets sets;
	struct touched *touched;
	bool *in_arena;
};

const char *npuplan_block_label(const struct npuplan_graph *graph, uint32_t block, char text[128])
{
	char step[96];

	if (block < graph->block_count && graph->blocks[block].step_count)
		snprintf(text, 128, "block %u (from %s)", block,
			 npuplan_step_label(graph, graph->blocks[block].first_step, step));
	else
		snprintf(text, 128, "block %u", block);
	return text;
}

uint32_t npuplan_carried(const struct npuplan_flow *flow, uint32_t edge, uint32_t tensor)
{
	const struct npumem_edge *e = &flow->graph->edges[edge];
	const struct npumem_carry *carries = flow->carries + e->first_carry;
	size_t at = 0;

	if (e->carry_count)
		at = npuplan_sorted_at(&carries->to, e->carry_count, sizeof(*carries), tensor);
	return at < e->carry_count && carries[at].to == tensor ? carries[at].from : tensor;
}

uint32_t npuplan_name_of(const struct npuplan_flow *flow, uint32_t block, uint32_t tensor)
{
	uint32_t first = flow->first_name[block], count = flow->first_name[block + 1] - first;
	const struct npuplan_name *names = flow->names + first;
	size_t at = count ? npuplan_sorted_at(&names->tensor, count, sizeof(*names), tensor) : 0;

	return at < count && names[at].tensor == tensor ? first + (uint32_t)at : NPUMEM_NONE;
}

/* ------------------------------------------------------------------ tables */

static int by_to(const void *left, const void *right)
{
	const struct npumem_carry *a = left, *b = right;

	return a->to < b->to ? -1 : a->to > b->to;
}

static uint32_t find(uint32_t *groups, uint32_t i)
{
	while (groups[i] != i)
		i = groups[i] = groups[groups[i]];
	return i;
}

/* Names joined by carries hold each other's values; the lowest stands for all. */
static int group_carries(struct builder *b)
{
	const struct npuplan_graph *graph = b->graph;
	struct npuplan_flow *flow = b->flow;
	char from[96], to[96];

	for (uint32_t i = 0; i < graph->tensor_count; i++)
		flow->groups[i] = i;
	for (uint32_t i = 0; i < graph->carry_count; i++) {
		const struct npumem_carry *carry = &graph->carries[i];
		uint32_t x = find(flow->groups, carry->from), y = find(flow->groups, carry->to);

		flow->carries[i] = *carry;
		if ((graph->tensors[carry->from].flags | graph->tensors[carry->to].flags) &
		    NPUMEM_TENSOR_EXTERNAL)
			return npuplan_fail(
				b->error, -EOPNOTSUPP,
				"%s is carried to %s, but one of them is external: without a copy both need the same bytes",
				npuplan_tensor_label(graph, carry->from, from),
				npuplan_tensor_label(graph, carry->to, to));
		flow->groups[x > y ? x : y] = x < y ? x : y;
	}
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		flow->groups[i] = find(flow->groups, i);
	for (uint32_t e = 0; e < graph->edge_count; e++)
		if (graph->edges[e].carry_count > 1)
			qsort(&flow->carries[graph->edges[e].first_carry],
			      graph->edges[e].carry_count, sizeof(*flow->carries), by_to);
	return 0;
}

static int list_out_edges(struct builder *b)
{
	const struct npuplan_graph *graph = b->graph;
	struct npuplan_flow *flow = b->flow;
	AUTO_HEAP uint32_t *next = npuplan_calloc((size_t)graph->block_count + 1, sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->edge_count; e++)
		flow->first_out[graph->edges[e].from + 1]++;
	for (uint32_t i = 0; i < graph->block_count; i++) {
		flow->first_out[i + 1] += flow->first_out[i];
		next[i] = flow->first_out[i];
	}
	for (uint32_t e = 0; e < graph->edge_count; e++)
		flow->out_edges[next[graph->edges[e].from]++] = e;
	return 0;
}

static void find_bases(struct builder *b)
{
	const struct npuplan_graph *graph = b->graph;

	for (uint32_t i = 0; i < graph->tensor_count; i++)
		b->flow->bases[i] = npuplan_base_of(graph, i);
	for (uint32_t i = 0; i < graph->access_count; i++)
		b->in_arena[b->flow->bases[graph->tiles[graph->accesses[i].tile].tensor]] = true;
	for (uint32_t i = 0; i < graph->carry_count; i++)
		b->in_arena[graph->carries[i].from] = true;
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		/* As for straight graphs: liveness.c. */
		if (tensor->flags & (NPUMEM_TENSOR_EXTERNAL | NPUMEM_TENSOR_ALIAS))
			b->in_arena[i] = false;
		else if (tensor->kind != NPUMEM_TENSOR_PARAMETER)
			b->in_arena[i] = true;
	}
}

/* --------------------------------------------------------------- data flow */

static uint64_t *set_of(uint64_t *sets, const struct builder *b, uint32_t block)
{
	return sets + (size_t)block * b->sets.words;
}

/* Base of an access's tensor; @whole: whether it is about all of its bytes. */
static uint32_t base_of(const struct builder *b, uint32_t access, bool *whole)
{
	const struct npumem_tile *tile = &b->graph->tiles[b->graph->accesses[access].tile];
	uint32_t base = b->flow->bases[tile->tensor];

	*whole = npuplan_region_bytes(&tile->region) == b->graph->tensors[base].size;
	return base;
}

static int note_access(struct builder *b, uint32_t block, uint32_t access)
{
	uint32_t mode = b->graph->accesses[access].mode, tensor;
	struct touched *touched;
	char label[96], where[128];
	bool whole;

	tensor = base_of(b, access, &whole);
	if (!b->in_arena[tensor])
		return 0;
	touched = &b->touched[tensor];
	if (touched->block != block)
		*touched = (struct touched){ .block = block };
	/* State stays where it is, so what is written is like an update. */
	if (mode == NPUMEM_ACCESS_WRITE && b->graph->tensors[tensor].kind != NPUMEM_TENSOR_STATE) {
		if (touched->read)
			return npuplan_fail(
				b->error, -EOPNOTSUPP,
				"%s: %s reads the value it has on entry and then writes another one; carry the new value instead",
				npuplan_tensor_label(b->graph, tensor, label),
				npuplan_block_label(b->graph, block, where));
		touched->written += npuplan_region_bytes(
			&b->graph->tiles[b->graph->accesses[access].tile].region);
		npuplan_set_add(set_of(b->sets.def, b, block), tensor);
		return 0;
	}
	if (touched->written)
		return 0;
	touched->read = true;
	npuplan_set_add(set_of(b->sets.use, b, block), tensor);
	if (whole)
		npuplan_set_add(set_of(b->sets.whole, b, block), tensor);
	return 0;
}

/* A write counts after the reads of its step. */
static int note_step(struct builder *b, uint32_t block, uint32_t step)
{
	const struct npuplan_step *s = &b->graph->steps[step];
	int err = 0;

	for (int writes = 0; writes < 2; writes++)
		for (uint32_t a = s->first_access; a < s->first_access + s->access_count && !err;
		     a++)
			if ((b->graph->accesses[a].mode == NPUMEM_ACCESS_WRITE) == writes)
				err = note_access(b, block, a);
	return err;
}

static int note_uses(struct builder *b)
{
	int err = 0;

	for (uint32_t i = 0; i < b->graph->block_count && !err; i++) {
		const struct npumem_block *block = &b->graph->blocks[i];

		for (uint32_t s = 0; s < block->step_count && !err; s++)
			err = note_step(b, i, block->first_step + s);
	}
	for (uint32_t i = 0; i < b->graph->tensor_count; i++) {
		uint32_t kind = b->graph->tensors[i].kind;

		if (!b->in_arena[i])
			continue;
		if (kind == NPUMEM_TENSOR_PARAMETER)
			npuplan_set_add(b->sets.always, i);
		/* The runtime puts them there, whoever reads them. */
		if (kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_STATE)
			npuplan_set_add(b->sets.use, i);
	}
	return err;
}

/* Outputs and state; an output alias keeps the bytes of its base. */
static void exit_needs(const struct builder *b, bool whole, uint64_t *out)
{
	memset(out, 0, b->sets.words * sizeof(*out));
	for (uint32_t i = 0; i < b->graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &b->graph->tensors[i];
		uint32_t base = b->flow->bases[i];

		if (tensor->kind != NPUMEM_TENSOR_OUTPUT && tensor->kind != NPUMEM_TENSOR_STATE)
			continue;
		if (b->in_arena[base] && (!whole || tensor->size == b->graph->tensors[base].size))
			npuplan_set_add(out, base);
	}
}

/* What an edge needs of the block that it leaves; @out: room for a set. */
static void edge_needs(const struct builder *b, const uint64_t *live, uint32_t edge, uint64_t *out)
{
	const struct npumem_edge *e = &b->graph->edges[edge];
	const struct npumem_carry *carries = &b->flow->carries[e->first_carry];
	const uint64_t *in;

	if (e->to == NPUMEM_NONE) {
		exit_needs(b, live == b->sets.whole_live, out);
		return;
	}
	in = live + (size_t)e->to * b->sets.words;
	memcpy(out, in, b->sets.words * sizeof(*out));
	for (uint32_t i = 0; i < e->carry_count; i++)
		npuplan_set_drop(out, carries[i].to);
	for (uint32_t i = 0; i < e->carry_count; i++)
		if (npuplan_set_has(in, carries[i].to))
			npuplan_set_add(out, carries[i].from);
}

/* All that some edge needs of a block. */
static void block_needs(const struct builder *b, const uint64_t *live, uint32_t block,
			uint64_t *out, uint64_t *scratch)
{
	memset(out, 0, b->sets.words * sizeof(*out));
	for (uint32_t k = b->flow->first_out[block]; k < b->flow->first_out[block + 1]; k++) {
		edge_needs(b, live, b->flow->out_edges[k], scratch);
		for (uint32_t w = 0; w < b->sets.words; w++)
			out[w] |= scratch[w];
	}
}

/* Smallest solution of live = use + (needed behind - def). */
static void solve(struct builder *b, const uint64_t *use, uint64_t *live, uint64_t *out,
		  uint64_t *scratch)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = b->graph->block_count; i-- > 0;) {
			uint64_t *in = set_of(live, b, i);
			const uint64_t *def = set_of(b->sets.def, b, i);

			block_needs(b, live, i, out, scratch);
			for (uint32_t w = 0; w < b->sets.words; w++) {
				uint64_t word = use[(size_t)i * b->sets.words + w] |
						(out[w] & ~def[w]);

				changed |= word != in[w];
				in[w] = word;
			}
		}
	}
}

/* ------------------------------------------------------------------ checks */

/* Block 0 needs a tensor that nothing has written: say who wants it. */
static int fail_undefined(struct builder *b, uint32_t tensor)
{
	const struct npuplan_graph *graph = b->graph;
	char label[96], other[128];

	npuplan_tensor_label(graph, tensor, label);
	for (uint32_t i = 0; i < graph->block_count; i++)
		if (npuplan_set_has(set_of(b->sets.use, b, i), tensor))
			return npuplan_fail(b->error, -EINVAL,
					    "%s is read in %s, but not defined on every path there",
					    label, npuplan_block_label(graph, i, other));
	if (graph->tensors[tensor].kind == NPUMEM_TENSOR_OUTPUT)
		return npuplan_fail(b->error, -EINVAL,
				    "output %s is not defined on every path to the exit", label);
	for (uint32_t i = 0; i < graph->carry_count; i++)
		if (graph->carries[i].from == tensor)
			return npuplan_fail(
				b->error, -EINVAL,
				"%s is carried to %s, but not defined on every path there", label,
				npuplan_tensor_label(graph, graph->carries[i].to, other));
	return npuplan_fail(b->error, -EINVAL, "%s is not defined on every path", label);
}

static int check_entry(struct builder *b)
{
	for (uint32_t i = 0; i < b->graph->tensor_count; i++) {
		uint32_t kind = b->graph->tensors[i].kind;

		if (npuplan_set_has(b->sets.live, i) && kind != NPUMEM_TENSOR_INPUT &&
		    kind != NPUMEM_TENSOR_STATE && kind != NPUMEM_TENSOR_PARAMETER)
			return fail_undefined(b, i);
	}
	return 0;
}

/* ------------------------------------------------------------------- names */

static int add_name(struct builder *b, uint32_t block, uint32_t tensor)
{
	struct npuplan_flow *flow = b->flow;
	bool always = npuplan_set_has(b->sets.always, tensor);
	bool in = always || npuplan_set_has(set_of(b->sets.live, b, block), tensor);
	bool out = always || npuplan_set_has(b->sets.out, tensor);
	uint32_t exit = 2 * b->graph->blocks[block].step_count + 1;
	uint32_t count = flow->first_name[block + 1];
	int err;

	if (count >= NPUPLAN_MAX_NODES)
		return npuplan_fail(b->error, -E2BIG, "more than %u live tensors of all blocks",
				    NPUPLAN_MAX_NODES);
	err = npuplan_grow(&flow->names, count, sizeof(*flow->names));
	if (err)
		return err;
	flow->names[count] = (struct npuplan_name){
		.tensor = tensor,
		.start = in ? 0 : UINT32_MAX,
		.end = out ? exit : 0,
		.update = UINT32_MAX,
		.live_in = in,
		.live_out = out,
		.sure_start = in ? 0 : UINT32_MAX,
		.sure_end = 0,
	};
	b->touched[tensor] = (struct touched){ .block = block, .name = count };
	flow->first_name[block + 1]++;
	return 0;
}

/* Ranges of the names that a step accesses. */
static void extend_names(struct builder *b, uint32_t step, uint32_t position)
{
	const struct npuplan_step *s = &b->graph->steps[step];
	bool staged = s->flags & NPUMEM_STEP_STAGED;
	uint32_t load = 2 * position + 1, store = load + 1, last = staged ? load : store;

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		uint32_t mode = b->graph->accesses[a].mode;
		struct npuplan_name *name;
		bool whole;
		uint32_t tensor = base_of(b, a, &whole);

		if (!b->in_arena[tensor])
			continue;
		name = &b->flow->names[b->touched[tensor].name];
		name->accessed = true;
		if (mode != NPUMEM_ACCESS_WRITE) {
			if (name->end < last)
				name->end = last;
			if (whole && name->sure_end < last)
				name->sure_end = last;
		}
		if (mode != NPUMEM_ACCESS_READ) {
			b->touched[tensor].written += npuplan_region_bytes(
				&b->graph->tiles[b->graph->accesses[a].tile].region);
			if (name->start == UINT32_MAX)
				name->start = store;
			if (name->end < store)
				name->end = store;
			if (!name->live_in && mode == NPUMEM_ACCESS_WRITE)
				name->sure_start = store;
			if (whole)
				name->sure_end = name->sure_end < store ? store : name->sure_end;
			if ((mode == NPUMEM_ACCESS_UPDATE || name->live_in) &&
			    name->update == UINT32_MAX)
				name->update = load;
		}
	}
}

/* Whether a step reads a tensor but by the access given, or by others of its tile. */
static bool reads_elsewhere(const struct builder *b, const struct npuplan_step *s, uint32_t access,
			    uint32_t tensor)
{
	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		bool whole;

		if (a != access && b->graph->accesses[a].mode != NPUMEM_ACCESS_WRITE &&
		    (b->graph->accesses[a].mode != NPUMEM_ACCESS_READ ||
		     b->graph->accesses[a].tile != b->graph->accesses[access].tile) &&
		    base_of(b, a, &whole) == tensor)
			return true;
	}
	return false;
}

/* In-place operators: whole tensors of one size, the first one's last use. */
static int list_reuses(struct builder *b, uint32_t step, uint32_t position, uint32_t *count)
{
	const struct npuplan_step *s = &b->graph->steps[step];
	uint32_t store = 2 * position + 2;

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		uint32_t inplace = b->graph->accesses[a].inplace, from, to;
		const struct npuplan_name *read, *write;
		bool whole_read, whole_write;
		int err;

		if (b->graph->accesses[a].mode != NPUMEM_ACCESS_WRITE || inplace >= s->access_count)
			continue;
		from = base_of(b, s->first_access + inplace, &whole_read);
		to = base_of(b, a, &whole_write);
		if (!whole_read || !whole_write || from == to || !b->in_arena[from] ||
		    !b->in_arena[to] || reads_elsewhere(b, s, s->first_access + inplace, from))
			continue;
		read = &b->flow->names[b->touched[from].name];
		write = &b->flow->names[b->touched[to].name];
		if (read->end != store || write->start != store ||
		    b->graph->tensors[from].size != b->graph->tensors[to].size)
			continue;
		err = npuplan_grow(&b->flow->reuses, *count, sizeof(*b->flow->reuses));
		if (err)
			return err;
		b->flow->reuses[(*count)++] = (struct npuplan_reuse){
			.read = b->touched[from].name,
			.write = b->touched[to].name,
		};
	}
	return 0;
}

static int check_whole(struct builder *b, uint32_t block)
{
	char label[96], where[128];

	for (uint32_t i = b->flow->first_name[block]; i < b->flow->first_name[block + 1]; i++) {
		const struct npuplan_name *name = &b->flow->names[i];

		if (name->live_out && !name->live_in &&
		    b->touched[name->tensor].written < b->graph->tensors[name->tensor].size)
			return npuplan_fail(
				b->error, -EOPNOTSUPP,
				"%s is written in part in %s and needed after it: tensors that leave a block must be written whole there",
				npuplan_tensor_label(b->graph, name->tensor, label),
				npuplan_block_label(b->graph, block, where));
	}
	return 0;
}

static int name_block(struct builder *b, uint32_t block, uint64_t *scratch)
{
	const struct npumem_block *record = &b->graph->blocks[block];
	uint32_t exit = 2 * record->step_count + 1;
	struct npuplan_flow *flow = b->flow;
	int err = 0;

	flow->first_name[block + 1] = flow->first_name[block];
	flow->first_reuse[block + 1] = flow->first_reuse[block];
	block_needs(b, b->sets.live, block, b->sets.out, scratch);
	for (uint32_t w = 0; w < b->sets.words; w++) {
		size_t at = (size_t)block * b->sets.words + w;
		uint64_t word = b->sets.live[at] | b->sets.out[w] | b->sets.def[at] |
				b->sets.always[w];

		for (; word && !err; word &= word - 1)
			err = add_name(b, block, 64 * w + (uint32_t)__builtin_ctzll(word));
	}
	/* The exit of a block that needs all bytes of a tensor. */
	block_needs(b, b->sets.whole_live, block, b->sets.out, scratch);
	for (uint32_t s = 0; s < record->step_count && !err; s++)
		extend_names(b, record->first_step + s, s);
	for (uint32_t s = 0; s < record->step_count && !err; s++)
		err = list_reuses(b, record->first_step + s, s, &flow->first_reuse[block + 1]);
	for (uint32_t i = flow->first_name[block]; i < flow->first_name[block + 1] && !err; i++)
		if (npuplan_set_has(b->sets.out, flow->names[i].tensor) ||
		    npuplan_set_has(b->sets.always, flow->names[i].tensor))
			flow->names[i].sure_end = exit;
	return err ? err : check_whole(b, block);
}

/* ------------------------------------------------------------------- whole */

static int allocate(struct builder *b)
{
	size_t tensors = b->graph->tensor_count, blocks = b->graph->block_count;
	struct npuplan_flow *flow = b->flow;

	flow->carries = calloc((size_t)b->graph->carry_count + 1, sizeof(*flow->carries));
	flow->bases = calloc(tensors + 1, sizeof(*flow->bases));
	flow->groups = calloc(tensors + 1, sizeof(*flow->groups));
	flow->first_name = calloc(blocks + 1, sizeof(*flow->first_name));
	flow->first_reuse = calloc(blocks + 1, sizeof(*flow->first_reuse));
	flow->first_out = calloc(blocks + 1, sizeof(*flow->first_out));
	flow->out_edges = calloc((size_t)b->graph->edge_count + 1, sizeof(*flow->out_edges));
	b->touched = malloc((tensors + 1) * sizeof(*b->touched));
	b->in_arena = calloc(tensors + 1, sizeof(*b->in_arena));
	if (!flow->carries || !flow->bases || !flow->groups || !flow->first_name ||
	    !flow->first_reuse || !flow->first_out || !flow->out_edges || !b->touched ||
	    !b->in_arena)
		return -ENOMEM;
	for (size_t i = 0; i < tensors; i++)
		b->touched[i] = (struct touched){ .block = NPUMEM_NONE };
	return 0;
}

/* All sets in one piece: five of them a block, three alone; NULL if out of memory. */
static uint64_t *allocate_sets(struct sets *sets)
{
	size_t words = (size_t)sets->words * sets->blocks;
	uint64_t *memory = calloc(5 * words + 3 * (size_t)sets->words + 1, sizeof(*memory));

	if (!memory)
		return NULL;
	sets->use = memory;
	sets->whole = sets->use + words;
	sets->def = sets->whole + words;
	sets->live = sets->def + words;
	sets->whole_live = sets->live + words;
	sets->out = sets->whole_live + words;
	sets->always = sets->out + sets->words;
	sets->scratch = sets->always + sets->words;
	return memory;
}

static int build(struct builder *b)
{
	uint64_t *scratch = b->sets.scratch;
	int err;

	find_bases(b);
	err = group_carries(b);
	if (!err)
		err = list_out_edges(b);
	if (!err)
		err = note_uses(b);
	if (err)
		return err;
	solve(b, b->sets.use, b->sets.live, b->sets.out, scratch);
	solve(b, b->sets.whole, b->sets.whole_live, b->sets.out, scratch);
	err = check_entry(b);
	for (uint32_t i = 0; i < b->graph->block_count && !err; i++)
		err = name_block(b, i, scratch);
	return err;
}

int npuplan_flow_names(struct npuplan_flow *flow, const struct npuplan_graph *graph,
		       struct npuplan_error *error)
{
	struct builder b = { .flow = flow, .graph = graph, .error = error };
	uint64_t *memory = NULL;
	int err;

	if (error)
		error->text[0] = '\0';
	*flow = (struct npuplan_flow){ .graph = graph };
	b.sets.words = (uint32_t)npuplan_set_words(graph->tensor_count);
	b.sets.blocks = graph->block_count;
	if ((uint64_t)b.sets.words * graph->block_count > MAX_BITS / 64)
		return npuplan_fail(error, -E2BIG, "%u blocks and %u tensors: too many",
				    graph->block_count, graph->tensor_count);
	err = allocate(&b);
	if (!err) {
		memory = allocate_sets(&b.sets);
		err = memory ? build(&b) : -ENOMEM;
	}
	free_all(memory, b.touched, b.in_arena);
	if (err == -ENOMEM)
		npuplan_fail(error, err, "out of memory");
	return err;
}

void npuplan_flow_fini(struct npuplan_flow *flow)
{
	for (uint32_t i = 0; i < flow->instance_count; i++)
		free(flow->instances[i].slots);
	free_all(flow->carries, flow->bases, flow->groups, flow->names, flow->first_name,
		 flow->reuses, flow->first_reuse, flow->out_edges, flow->first_out, flow->instances,
		 flow->node_slots, flow->successors);
	*flow = (struct npuplan_flow){ 0 };
}
