// SPDX-License-Identifier: MIT
/* Live ranges of tensors, block by block, by data flow over the edges, backwards. */
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/region.h"
#include "base/sorted.h"
#include "flow.h"

/* The most bits that a set for each block takes in all; graphs that need more are refused. */
#define MAX_BITS ((uint64_t)1 << 28)

/*
 * struct touched - how one block accesses one tensor
 * @block: the block that the other members are about
 * @written: bytes that it has written so far
 * @read: it has read the tensor before it has written any byte of it
 */
struct touched {
	uint32_t block;
	uint32_t name;
	uint64_t written;
	bool read;
};

/*
 * struct names_builder - makes the names, by sets of tensors (base/bitset.h)
 * @use: per block, the tensors that it needs before it writes them
 * @whole: per block, those of which it needs all bytes then
 * @def: per block, the tensors that it writes, so that no earlier value is needed
 * @live, @whole_live: per block, the tensors that are needed on entry; those of which all bytes are
 * @always: one set: the tensors that stay in the arena for good (parameters)
 * @out, @scratch: one set each, for the block at hand
 * @words: number of words of a set
 */
struct names_builder {
	struct npuplan_flow *flow;
	const struct npuplan_graph *graph;
	struct npuplan_error *error;
	struct npuplan_pool pool;
	struct touched *touched;
	bool *in_arena;
	uint64_t *use;
	uint64_t *whole;
	uint64_t *def;
	uint64_t *live;
	uint64_t *whole_live;
	uint64_t *always;
	uint64_t *out;
	uint64_t *scratch;
	uint32_t words;
};

/*
 * struct tensor_use - the tensor that an access is of, or the base of that if it is an alias;
 * @whole: the access is of all its bytes
 */
struct tensor_use {
	uint32_t tensor;
	uint32_t mode;
	uint64_t bytes;
	bool whole;
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
	size_t at = npuplan_bisect(i, 0, e->carry_count, carries[i].to < tensor);

	return at < e->carry_count && carries[at].to == tensor ? carries[at].from : tensor;
}

uint32_t npuplan_name_of(const struct npuplan_flow *flow, uint32_t block, uint32_t tensor)
{
	uint32_t first = flow->first_name[block], count = npuplan_name_count(flow, block);
	const struct npuplan_name *names = flow->names + first;
	size_t at = npuplan_bisect(i, 0, count, names[i].tensor < tensor);

	return at < count && names[at].tensor == tensor ? first + (uint32_t)at : NPUMEM_NONE;
}

bool npuplan_may_reuse(const struct npuplan_flow *flow, uint32_t block, uint32_t read,
		       uint32_t write)
{
	for (uint32_t i = flow->first_reuse[block]; i < flow->first_reuse[block + 1]; i++)
		if (flow->reuses[i].read == read && flow->reuses[i].write == write)
			return true;
	return false;
}

uint32_t npuplan_root(uint32_t *parents, uint32_t i)
{
	while (parents[i] != i)
		i = parents[i] = parents[parents[i]];
	return i;
}

void npuplan_join(uint32_t *parents, uint32_t a, uint32_t b)
{
	a = npuplan_root(parents, a);
	b = npuplan_root(parents, b);
	parents[a > b ? a : b] = a < b ? a : b;
}

/* ------------------------------------------------------------------ tables */

NPUPLAN_ORDER(by_to, struct npumem_carry, to)

/*
 * Find the groups: tensors that are joined by carries hold each other's values, and the lowest of
 * them stands for the group.
 */
static int group_carries(struct names_builder *b)
{
	const struct npuplan_graph *graph = b->graph;
	struct npuplan_flow *flow = b->flow;
	char from[96], to[96];

	for (uint32_t i = 0; i < graph->tensor_count; i++)
		flow->groups[i] = i;
	for (uint32_t i = 0; i < graph->carry_count; i++) {
		const struct npumem_carry *carry = &graph->carries[i];

		flow->carries[i] = *carry;
		if ((graph->tensors[carry->from].flags | graph->tensors[carry->to].flags) &
		    NPUMEM_TENSOR_FLAG_EXTERNAL)
			return npuplan_fail(
				b->error, -EOPNOTSUPP,
				"%s is carried to %s, but one of them is external: without a copy both need the same bytes",
				npuplan_tensor_label(graph, carry->from, from),
				npuplan_tensor_label(graph, carry->to, to));
		npuplan_join(flow->groups, carry->from, carry->to);
	}
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		flow->groups[i] = npuplan_root(flow->groups, i);
	for (uint32_t e = 0; e < graph->edge_count; e++)
		if (graph->edges[e].carry_count > 1)
			qsort(&flow->carries[graph->edges[e].first_carry],
			      graph->edges[e].carry_count, sizeof(*flow->carries), by_to);
	return 0;
}

static void find_bases(struct names_builder *b)
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

		/*
		 * Tensors outside the arena have no names, as they have no atoms in straight graphs
		 * (liveness.c).
		 */
		if (tensor->flags & (NPUMEM_TENSOR_FLAG_EXTERNAL | NPUMEM_TENSOR_FLAG_ALIAS))
			b->in_arena[i] = false;
		else if (tensor->kind != NPUMEM_TENSOR_PARAMETER)
			b->in_arena[i] = true;
	}
}

/* --------------------------------------------------------------- data flow */

static uint64_t *set_of(const struct names_builder *b, uint64_t *sets, uint32_t block)
{
	return sets + (size_t)block * b->words;
}

static struct tensor_use use_of(const struct names_builder *b, uint32_t access)
{
	const struct npumem_access *a = &b->graph->accesses[access];
	const struct npumem_tile *tile = &b->graph->tiles[a->tile];
	uint32_t base = b->flow->bases[tile->tensor];
	uint64_t bytes = chunks_bytes(&tile->region);

	return (struct tensor_use){ base, a->mode, bytes, bytes == b->graph->tensors[base].size };
}

static int note_access(struct names_builder *b, uint32_t block, uint32_t access)
{
	struct tensor_use use = use_of(b, access);
	struct touched *touched = &b->touched[use.tensor];
	char label[96], where[128];

	if (!b->in_arena[use.tensor])
		return 0;
	if (touched->block != block)
		*touched = (struct touched){ .block = block };
	/* A state stays where it is, so writing it is like an update. */
	if (use.mode == NPUMEM_ACCESS_WRITE &&
	    b->graph->tensors[use.tensor].kind != NPUMEM_TENSOR_STATE) {
		if (touched->read)
			return npuplan_fail(
				b->error, -EOPNOTSUPP,
				"%s: %s reads the value it has on entry and then writes another one; carry the new value instead",
				npuplan_tensor_label(b->graph, use.tensor, label),
				npuplan_block_label(b->graph, block, where));
		touched->written += use.bytes;
		npuplan_set_add(set_of(b, b->def, block), use.tensor);
		return 0;
	}
	if (touched->written)
		return 0;
	touched->read = true;
	npuplan_set_add(set_of(b, b->use, block), use.tensor);
	if (use.whole)
		npuplan_set_add(set_of(b, b->whole, block), use.tensor);
	return 0;
}

/* Note the accesses of a step; its writes count after its reads. */
static int note_step(struct names_builder *b, uint32_t block, uint32_t step)
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

static int note_uses(struct names_builder *b)
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
		/* The runtime puts these into the arena, whether a step reads them or not. */
		if (kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_STATE)
			npuplan_set_add(b->use, i);
	}
	return err;
}

/* Add what the exit needs: outputs and state, and the base of an alias that is an output. */
static void exit_needs(const struct names_builder *b, bool whole, uint64_t *out)
{
	memset(out, 0, b->words * sizeof(*out));
	for (uint32_t i = 0; i < b->graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &b->graph->tensors[i];
		uint32_t base = b->flow->bases[i];

		if (tensor->kind != NPUMEM_TENSOR_OUTPUT && tensor->kind != NPUMEM_TENSOR_STATE)
			continue;
		if (b->in_arena[base] && (!whole || tensor->size == b->graph->tensors[base].size))
			npuplan_set_add(out, base);
	}
}

/* Find the tensors that an edge needs of the block that it leaves, into b->scratch. */
static void edge_needs(const struct names_builder *b, uint64_t *live, uint32_t edge)
{
	const struct npumem_edge *e = &b->graph->edges[edge];
	const struct npumem_carry *carries = &b->flow->carries[e->first_carry];
	const uint64_t *in;

	if (e->to == NPUMEM_NONE) {
		exit_needs(b, live == b->whole_live, b->scratch);
		return;
	}
	in = set_of(b, live, e->to);
	memcpy(b->scratch, in, b->words * sizeof(*in));
	for (uint32_t i = 0; i < e->carry_count; i++)
		npuplan_set_drop(b->scratch, carries[i].to);
	for (uint32_t i = 0; i < e->carry_count; i++)
		if (npuplan_set_has(in, carries[i].to))
			npuplan_set_add(b->scratch, carries[i].from);
}

/* Find the tensors that any edge needs of a block, into b->out. */
static void block_needs(const struct names_builder *b, uint64_t *live, uint32_t block)
{
	memset(b->out, 0, b->words * sizeof(*b->out));
	for (uint32_t k = b->flow->first_out[block]; k < b->flow->first_out[block + 1]; k++) {
		edge_needs(b, live, b->flow->out_edges[k]);
		for (uint32_t w = 0; w < b->words; w++)
			b->out[w] |= b->scratch[w];
	}
}

/* Find the least sets with live = use + (needed after the block - def), for all blocks. */
static void solve(const struct names_builder *b, uint64_t *use, uint64_t *live)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = b->graph->block_count; i-- > 0;) {
			uint64_t *in = set_of(b, live, i);

			block_needs(b, live, i);
			for (uint32_t w = 0; w < b->words; w++) {
				uint64_t word = set_of(b, use, i)[w] |
						(b->out[w] & ~set_of(b, b->def, i)[w]);

				changed |= word != in[w];
				in[w] = word;
			}
		}
	}
}

/* ------------------------------------------------------------------ checks */

/* Fail because block 0 needs a tensor that nothing has written, and say which block reads it. */
static int fail_undefined(struct names_builder *b, uint32_t tensor)
{
	const struct npuplan_graph *graph = b->graph;
	char label[96], other[128];

	npuplan_tensor_label(graph, tensor, label);
	for (uint32_t i = 0; i < graph->block_count; i++)
		if (npuplan_set_has(set_of(b, b->use, i), tensor))
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

static int check_entry(struct names_builder *b)
{
	for (uint32_t i = 0; i < b->graph->tensor_count; i++) {
		uint32_t kind = b->graph->tensors[i].kind;

		if (npuplan_set_has(b->live, i) && kind != NPUMEM_TENSOR_INPUT &&
		    kind != NPUMEM_TENSOR_STATE && kind != NPUMEM_TENSOR_PARAMETER)
			return fail_undefined(b, i);
	}
	return 0;
}

/* A parameter stays in the arena, unless it goes only where nobody reads it. */
static void keep_parameters(struct names_builder *b)
{
	for (uint32_t i = 0; i < b->graph->tensor_count; i++)
		if (b->graph->tensors[i].kind == NPUMEM_TENSOR_PARAMETER &&
		    npuplan_set_has(b->live, i))
			npuplan_set_add(b->always, i);
}

/* ------------------------------------------------------------------- names */

static int add_name(struct names_builder *b, uint32_t block, uint32_t tensor)
{
	struct npuplan_flow *flow = b->flow;
	bool always = npuplan_set_has(b->always, tensor);
	bool in = always || npuplan_set_has(set_of(b, b->live, block), tensor);
	bool out = always || npuplan_set_has(b->out, tensor);
	uint32_t exit = 2 * b->graph->blocks[block].step_count + 1;
	uint32_t *count = &flow->first_name[block + 1];
	const struct npuplan_name name = {
		.tensor = tensor,
		.start = in ? 0 : UINT32_MAX,
		.end = out ? exit : 0,
		.update = UINT32_MAX,
		.live_in = in,
		.live_out = out,
		.sure_start = in ? 0 : UINT32_MAX,
	};

	if (*count >= NPUPLAN_MAX_NODES)
		return npuplan_fail(b->error, -E2BIG, "more than %u live tensors of all blocks",
				    NPUPLAN_MAX_NODES);
	b->touched[tensor] = (struct touched){ .block = block, .name = *count };
	return npuplan_append(&flow->names, count, &name, 1);
}

/* Extend the live ranges of the names that a step accesses. */
static void extend_names(struct names_builder *b, uint32_t step, uint32_t position)
{
	const struct npuplan_step *s = &b->graph->steps[step];
	bool staged = s->flags & NPUMEM_STEP_STAGED;
	uint32_t load = 2 * position + 1, store = load + 1, last = staged ? load : store;

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		struct tensor_use use = use_of(b, a);
		struct npuplan_name *name;

		if (!b->in_arena[use.tensor])
			continue;
		name = &b->flow->names[b->touched[use.tensor].name];
		name->accessed = true;
		if (use.mode != NPUMEM_ACCESS_WRITE) {
			if (name->end < last)
				name->end = last;
			if (use.whole && name->sure_end < last)
				name->sure_end = last;
		}
		if (use.mode != NPUMEM_ACCESS_READ) {
			b->touched[use.tensor].written += use.bytes;
			if (name->start == UINT32_MAX)
				name->start = store;
			if (name->end < store)
				name->end = store;
			if (!name->live_in && use.mode == NPUMEM_ACCESS_WRITE)
				name->sure_start = store;
			if (use.whole && name->sure_end < store)
				name->sure_end = store;
			if ((use.mode == NPUMEM_ACCESS_UPDATE || name->live_in) &&
			    name->update == UINT32_MAX)
				name->update = load;
		}
	}
}

/*
 * Whether a step reads a tensor by another access than the one given, and by another tile than that
 * has.
 */
static bool reads_elsewhere(const struct names_builder *b, const struct npuplan_step *s,
			    uint32_t access, uint32_t tensor)
{
	const struct npumem_access *accesses = b->graph->accesses;

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++)
		if (a != access && accesses[a].mode != NPUMEM_ACCESS_WRITE &&
		    (accesses[a].mode != NPUMEM_ACCESS_READ ||
		     accesses[a].tile != accesses[access].tile) &&
		    use_of(b, a).tensor == tensor)
			return true;
	return false;
}

/*
 * List a step's reuses, where an in-place operator reads and writes whole tensors of one size and
 * it is the last use of the first.
 */
static int list_reuses(struct names_builder *b, uint32_t step, uint32_t position, uint32_t *count)
{
	const struct npuplan_step *s = &b->graph->steps[step];
	uint32_t store = 2 * position + 2;

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		uint32_t inplace = b->graph->accesses[a].inplace, read, write;
		struct tensor_use from, to = use_of(b, a);
		struct npuplan_reuse reuse;
		int err;

		if (to.mode != NPUMEM_ACCESS_WRITE || inplace >= s->access_count)
			continue;
		from = use_of(b, s->first_access + inplace);
		if (!from.whole || !to.whole || from.tensor == to.tensor ||
		    !b->in_arena[from.tensor] || !b->in_arena[to.tensor] ||
		    reads_elsewhere(b, s, s->first_access + inplace, from.tensor))
			continue;
		read = b->touched[from.tensor].name;
		write = b->touched[to.tensor].name;
		if (b->flow->names[read].end != store || b->flow->names[write].start != store ||
		    from.bytes != to.bytes)
			continue;
		reuse = (struct npuplan_reuse){ read, write };
		err = npuplan_append(&b->flow->reuses, count, &reuse, 1);
		if (err)
			return err;
	}
	return 0;
}

static int check_whole(struct names_builder *b, uint32_t block)
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

static int name_block(struct names_builder *b, uint32_t block)
{
	const struct npumem_block *record = &b->graph->blocks[block];
	struct npuplan_flow *flow = b->flow;
	int err = 0;

	flow->first_name[block + 1] = flow->first_name[block];
	flow->first_reuse[block + 1] = flow->first_reuse[block];
	block_needs(b, b->live, block);
	for (uint32_t w = 0; w < b->words; w++) {
		uint64_t word = set_of(b, b->live, block)[w] | b->out[w] |
				set_of(b, b->def, block)[w] | b->always[w];

		for (; word && !err; word &= word - 1)
			err = add_name(b, block, 64 * w + (uint32_t)__builtin_ctzll(word));
	}
	/* Tensors of which all bytes are needed at the exit of the block live whole until then. */
	block_needs(b, b->whole_live, block);
	for (uint32_t s = 0; s < record->step_count && !err; s++)
		extend_names(b, record->first_step + s, s);
	for (uint32_t s = 0; s < record->step_count && !err; s++)
		err = list_reuses(b, record->first_step + s, s, &flow->first_reuse[block + 1]);
	for (uint32_t i = flow->first_name[block]; i < flow->first_name[block + 1] && !err; i++)
		if (npuplan_set_has(b->out, flow->names[i].tensor) ||
		    npuplan_set_has(b->always, flow->names[i].tensor))
			flow->names[i].sure_end = 2 * record->step_count + 1;
	return err ? err : check_whole(b, block);
}

/* ------------------------------------------------------------------- whole */

static int allocate(struct names_builder *b)
{
	size_t tensors = b->graph->tensor_count, blocks = b->graph->block_count;
	size_t words = b->words * blocks, bytes = sizeof(uint64_t);
	struct npuplan_flow *flow = b->flow;
	struct npuplan_pool *pool = &flow->pool;

	flow->carries = npuplan_pool_take(pool, b->graph->carry_count, sizeof(*flow->carries));
	flow->bases = npuplan_pool_take(pool, tensors, sizeof(*flow->bases));
	flow->groups = npuplan_pool_take(pool, tensors, sizeof(*flow->groups));
	flow->first_name = npuplan_pool_take(pool, blocks + 1, sizeof(*flow->first_name));
	flow->first_reuse = npuplan_pool_take(pool, blocks + 1, sizeof(*flow->first_reuse));
	flow->first_out = npuplan_pool_take(pool, blocks + 2, sizeof(*flow->first_out));
	flow->out_edges = npuplan_pool_take(pool, b->graph->edge_count, sizeof(*flow->out_edges));
	b->touched = npuplan_pool_take(&b->pool, tensors, sizeof(*b->touched));
	b->in_arena = npuplan_pool_take(&b->pool, tensors, sizeof(*b->in_arena));
	b->use = npuplan_pool_take(&b->pool, words, bytes);
	b->whole = npuplan_pool_take(&b->pool, words, bytes);
	b->def = npuplan_pool_take(&b->pool, words, bytes);
	b->live = npuplan_pool_take(&b->pool, words, bytes);
	b->whole_live = npuplan_pool_take(&b->pool, words, bytes);
	b->always = npuplan_pool_take(&b->pool, b->words, bytes);
	b->out = npuplan_pool_take(&b->pool, b->words, bytes);
	b->scratch = npuplan_pool_take(&b->pool, b->words, bytes);
	if (pool->failed || b->pool.failed)
		return -ENOMEM;
	for (size_t i = 0; i < tensors; i++)
		b->touched[i].block = NPUMEM_NONE;
	return 0;
}

static int build(struct names_builder *b)
{
	const struct npuplan_graph *graph = b->graph;
	int err;

	find_bases(b);
	npuplan_counting_sort(graph->edges, graph->edge_count, sizeof(*graph->edges),
			      offsetof(struct npumem_edge, from), graph->block_count,
			      b->flow->first_out, b->flow->out_edges);
	err = group_carries(b);
	if (!err)
		err = note_uses(b);
	if (err)
		return err;
	solve(b, b->use, b->live);
	solve(b, b->whole, b->whole_live);
	err = check_entry(b);
	keep_parameters(b);
	for (uint32_t i = 0; i < graph->block_count && !err; i++)
		err = name_block(b, i);
	return err;
}

int npuplan_flow_names(struct npuplan_flow *flow, const struct npuplan_graph *graph,
		       struct npuplan_error *error)
{
	struct names_builder b = {
		.flow = flow,
		.graph = graph,
		.error = error,
		.words = npuplan_set_words(graph->tensor_count),
	};
	int err;

	*flow = (struct npuplan_flow){ .graph = graph, .most_instances = NPUPLAN_MAX_INSTANCES };
	if ((uint64_t)b.words * graph->block_count > MAX_BITS / 64)
		return npuplan_fail(error, -E2BIG, "%u blocks and %u tensors: too many",
				    graph->block_count, graph->tensor_count);
	err = allocate(&b);
	if (!err)
		err = build(&b);
	npuplan_pool_free(&b.pool);
	return err;
}

void npuplan_flow_fini(struct npuplan_flow *flow)
{
	npuplan_pool_free(&flow->pool);
	free_all(flow->names, flow->reuses, flow->instances, flow->nodes, flow->successors);
}
