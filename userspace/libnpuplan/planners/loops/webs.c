// SPDX-License-Identifier: MIT
/*
 * Webs: sets of nodes (names in instances) that share an address, as in register allocation. No
 * copy is made, so nodes that an edge joins have one address. Two webs conflict if both have values
 * at one time in some instance.
 */
#include <stdlib.h>
#include <string.h>

#include "base/region.h"
#include "base/sorted.h"
#include "tiles.h"

#define MAX_PAIRS (1u << 26)

/*
 * struct tie - two webs, or two names, that are in each other's way
 * @apart: they may still have exactly the same address
 */
struct tie {
	uint32_t a;
	uint32_t b;
	bool apart;
};

/* struct ties - a list of ties that may grow to @most of them */
struct ties {
	struct tie *list;
	uint32_t count;
	uint32_t most;
};

/*
 * The bytes that a pair takes at most: as a tie of names and of webs, and as it is listed in the
 * end.
 */
#define PAIR_BYTES                                              \
	(2 * sizeof(struct tie) + sizeof(struct npuplan_pair) + \
	 2 * sizeof(struct npuplan_interval) + NPUPLAN_PAIR_BYTES)

static void join_edges(const struct npuplan_flow *flow, uint32_t *parents)
{
	for (uint32_t p = 0; p < flow->instance_count; p++) {
		const struct npuplan_instance *from = &flow->instances[p];
		uint32_t edges = npuplan_out_count(flow, from->block);

		for (uint32_t k = 0; k < edges; k++) {
			uint32_t edge = flow->out_edges[flow->first_out[from->block] + k];
			uint32_t q = flow->successors[from->first_edge + k], to;

			if (q == NPUMEM_NONE)
				continue;
			to = flow->instances[q].block;
			for (uint32_t i = flow->first_name[to]; i < flow->first_name[to + 1]; i++) {
				uint32_t tensor = flow->names[i].tensor;

				if (!flow->names[i].live_in)
					continue;
				tensor = npuplan_carried(flow, edge, tensor);
				tensor = npuplan_name_of(flow, from->block, tensor);
				npuplan_join(parents, npuplan_node_of(flow, q, i),
					     npuplan_node_of(flow, p, tensor));
			}
		}
	}
}

/*
 * struct join_key - what a node is of, and its colour: nodes for which these are equal are joined
 */
struct join_key {
	uint32_t of;
	uint32_t colour;
	uint32_t node;
};

NPUPLAN_ORDER(by_key, struct join_key, of, colour, node)

/*
 * Join the nodes that @merge says. Values of one colour of a group, and a local tensor in several
 * instances, are never in each other's way. Groups with a fixed tensor are left alone, since only
 * that tensor has to be at its offset.
 */
static int join_more(const struct npuplan_flow *flow, enum npuplan_web_merge merge,
		     uint32_t *parents)
{
	const struct npuplan_graph *graph = flow->graph;
	AUTO_HEAP struct join_key *keys =
		npuplan_malloc((size_t)flow->node_count * sizeof(*keys) + 1);
	AUTO_HEAP bool *fixed = npuplan_calloc((size_t)graph->tensor_count + 1, sizeof(*fixed));
	size_t count = 0;

	if (!keys || !fixed)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		fixed[flow->groups[i]] |= !!(graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_FIXED);
	for (uint32_t node = 0; node < flow->node_count; node++) {
		uint32_t tensor = flow->names[flow->nodes[node].name].tensor;
		uint32_t group = flow->groups[tensor], colour = flow->nodes[node].colour;
		bool local = colour == NPUMEM_NONE;

		if (local ? merge == NPUPLAN_WEBS_TENSORS : !fixed[group])
			keys[count++] = (struct join_key){ local ? tensor : group, colour, node };
	}
	if (count)
		qsort(keys, count, sizeof(*keys), by_key);
	for (size_t i = 1; i < count; i++)
		if (keys[i].of == keys[i - 1].of && keys[i].colour == keys[i - 1].colour)
			npuplan_join(parents, keys[i].node, keys[i - 1].node);
	return 0;
}

/* Number the webs by their first nodes. */
static void number_webs(struct npuplan_webs *webs, const struct npuplan_flow *flow)
{
	for (uint32_t i = 0; i < flow->node_count; i++) {
		uint32_t root = npuplan_root(webs->web_of, i);

		webs->items[i].tensor = root == i ? webs->web_count++ : webs->items[root].tensor;
	}
	for (uint32_t i = 0; i < flow->node_count; i++)
		webs->web_of[i] = webs->items[i].tensor;
	memset(webs->items, 0, (size_t)flow->node_count * sizeof(*webs->items));
}

static int fix(struct npuplan_item *item, const struct npuplan_graph *graph, uint32_t tensor,
	       struct npuplan_error *error)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];
	char label[96], other[96];

	if (!(t->flags & NPUMEM_TENSOR_FLAG_FIXED))
		return 0;
	if (item->fixed && item->fixed_offset != t->fixed_offset)
		return npuplan_fail(
			error, -EINVAL,
			"fixed offsets collide: %s at %llu and %s at %llu are carried to each other, so without a copy they share their bytes",
			npuplan_tensor_label(graph, item->tensor, label),
			(unsigned long long)item->fixed_offset,
			npuplan_tensor_label(graph, tensor, other),
			(unsigned long long)t->fixed_offset);
	item->fixed = true;
	item->fixed_offset = t->fixed_offset;
	/* Messages name the tensor that is fixed. */
	item->tensor = tensor;
	return 0;
}

static int make_items(struct npuplan_webs *webs, const struct npuplan_flow *flow,
		      struct npuplan_error *error)
{
	const struct npuplan_graph *graph = flow->graph;

	for (uint32_t i = 0; i < flow->node_count; i++) {
		const struct npuplan_node *node = &flow->nodes[i];
		const struct npuplan_name *name = &flow->names[node->name];
		const struct npuplan_tensor *tensor = &graph->tensors[name->tensor];
		struct npuplan_item *item = &webs->items[webs->web_of[i]];
		/*
		 * The entry of an instance is the same instant as the exit of the one before it in
		 * the schedule.
		 */
		uint32_t origin = 2 * flow->instances[node->instance].first_position;
		int err;

		if (!item->size)
			*item = (struct npuplan_item){
				.size = tensor->size,
				.align = tensor->align,
				.start = origin + name->start,
				.end = origin + name->end,
				.tensor = name->tensor,
			};
		if (item->align < tensor->align)
			item->align = tensor->align;
		if (item->start > origin + name->start)
			item->start = origin + name->start;
		if (item->end < origin + name->end)
			item->end = origin + name->end;
		err = fix(item, graph, name->tensor, error);
		if (err)
			return err;
	}
	return 0;
}

/* --------------------------------------------------------------- conflicts */

static int add_tie(struct ties *ties, uint32_t a, uint32_t b, bool apart)
{
	struct tie tie = { a < b ? a : b, a < b ? b : a, apart };

	if (ties->count == ties->most)
		return -E2BIG;
	return npuplan_append(&ties->list, &ties->count, &tie, 1);
}

/*
 * List the pairs of names of a block that live together, as ties between names, by the same sweep
 * as npuplan_conflicts_whole().
 */
static int pair_names(const struct npuplan_flow *flow, uint32_t block, struct ties *pairs)
{
	uint32_t first = flow->first_name[block], count = npuplan_name_count(flow, block);
	AUTO_HEAP struct npuplan_keyed *order = npuplan_malloc((size_t)count * sizeof(*order) + 1);
	AUTO_HEAP uint32_t *active = npuplan_malloc((size_t)count * sizeof(*active) + 1);
	uint32_t live = 0;
	int err = order && active ? 0 : -ENOMEM;

	pairs->count = 0;
	for (uint32_t i = 0; i < count && !err; i++)
		order[i] = (struct npuplan_keyed){ flow->names[first + i].start, 0, 0, first + i };
	if (!err)
		npuplan_sort_keyed(order, count);
	for (uint32_t i = 0; i < count && !err; i++) {
		uint32_t newcomer = order[i].item, kept = 0;
		const struct npuplan_name *name = &flow->names[newcomer];

		for (uint32_t k = 0; k < live; k++)
			if (flow->names[active[k]].end >= name->start)
				active[kept++] = active[k];
		live = kept;
		for (uint32_t k = 0; k < live && !err; k++) {
			bool apart = flow->names[active[k]].end == name->start &&
				     npuplan_may_reuse(flow, block, active[k], newcomer);

			err = add_tie(pairs, active[k], newcomer, apart);
		}
		active[live++] = newcomer;
	}
	return err;
}

/* Make ties between webs of the ties between names of a block, for each of its instances. */
static int tie_block(const struct npuplan_webs *webs, const struct npuplan_flow *flow,
		     uint32_t block, struct ties *pairs, struct ties *ties)
{
	int err = pair_names(flow, block, pairs);

	for (uint32_t p = 0; p < flow->instance_count && !err; p++) {
		if (flow->instances[p].block != block)
			continue;
		for (uint32_t i = 0; i < pairs->count && !err; i++) {
			const struct tie *pair = &pairs->list[i];
			uint32_t a = webs->web_of[npuplan_node_of(flow, p, pair->a)];
			uint32_t b = webs->web_of[npuplan_node_of(flow, p, pair->b)];

			if (a != b)
				err = add_tie(ties, a, b, pair->apart);
		}
	}
	return err;
}

NPUPLAN_ORDER(by_webs, struct tie, a, b, apart)

/* List each pair of webs once. If one instance needs the two apart, they are apart in all. */
static int list_conflicts(struct npuplan_webs *webs, struct ties *ties)
{
	AUTO_HEAP struct npuplan_pair *pairs =
		npuplan_malloc((size_t)ties->count * sizeof(*pairs) + 1);
	AUTO_HEAP struct npuplan_interval *intervals =
		npuplan_malloc(2 * (size_t)ties->count * sizeof(*intervals) + 1);
	size_t count = 0, used = 0;

	if (!pairs || !intervals)
		return -ENOMEM;
	if (ties->count)
		qsort(ties->list, ties->count, sizeof(*ties->list), by_webs);
	for (uint32_t i = 0; i < ties->count; i++) {
		const struct tie *tie = &ties->list[i];

		if (i && tie[-1].a == tie->a && tie[-1].b == tie->b)
			continue;
		pairs[count++] = (struct npuplan_pair){
			.a = tie->a,
			.b = tie->b,
			.interval_count = tie->apart ? 2 : 0,
			.first_interval = used,
		};
		if (!tie->apart)
			continue;
		intervals[used++] =
			(struct npuplan_interval){ -(int64_t)webs->items[tie->b].size, 0 };
		intervals[used++] =
			(struct npuplan_interval){ 0, (int64_t)webs->items[tie->a].size };
	}
	return npuplan_conflicts_pairs(&webs->conflicts, webs->items, webs->web_count, pairs, count,
				       intervals);
}

int npuplan_webs_init(struct npuplan_webs *webs, const struct npuplan_flow *flow,
		      const struct npuplan_flow_tiles *tiles, enum npuplan_web_merge merge,
		      uint64_t memory_limit, struct npuplan_error *error)
{
	bool limited = memory_limit && memory_limit / PAIR_BYTES < MAX_PAIRS;
	uint32_t most = limited ? memory_limit / PAIR_BYTES : MAX_PAIRS;
	struct ties pairs = { .most = most }, ties = { .most = most };
	int err;

	*webs = (struct npuplan_webs){
		.web_of = malloc((size_t)flow->node_count * sizeof(*webs->web_of) + 1),
		.items = calloc((size_t)flow->node_count + 1, sizeof(*webs->items)),
	};
	err = webs->web_of && webs->items ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < flow->node_count && !err; i++)
		webs->web_of[i] = i;
	if (!err)
		join_edges(flow, webs->web_of);
	if (!err && merge != NPUPLAN_WEBS_FINE)
		err = join_more(flow, merge, webs->web_of);
	if (!err) {
		number_webs(webs, flow);
		err = make_items(webs, flow, error);
	}
	if (tiles && !err)
		err = npuplan_tiles_conflicts(webs, flow, tiles, most);
	for (uint32_t i = 0; i < flow->graph->block_count && !tiles && !err; i++)
		err = tie_block(webs, flow, i, &pairs, &ties);
	if (!err && !tiles)
		err = list_conflicts(webs, &ties);
	free_all(pairs.list, ties.list);
	if (err == -ENOMEM)
		npuplan_fail(error, err, "out of memory");
	else if (err == -E2BIG)
		npuplan_fail(error, err, "more than %u pairs of tensors live together%s", most,
			     limited ? ": the limit of memory has no room to list them" : "");
	return err;
}

void npuplan_webs_fini(struct npuplan_webs *webs)
{
	npuplan_conflicts_fini(&webs->conflicts);
	free_all(webs->web_of, webs->items);
	*webs = (struct npuplan_webs){ 0 };
}

/* ------------------------------------------------------------- lower bound */

/*
 * struct change - bytes that begin to live at an instant, or cease after it
 * @node: the node that has them; NPUMEM_NONE: bytes of a name that no other one shares its bytes
 *	with
 */
struct change {
	uint32_t instant;
	bool ends;
	uint32_t node;
	uint64_t bytes;
};

NPUPLAN_ORDER(by_instant, struct change, instant, ends, node, bytes)

/*
 * struct changes - a list of changes that grows
 * @starts, @ends: per instant of a block, single bytes that begin to live, or cease after it; 0
 *	between instances. A block of many tiles has far more atoms than instants
 */
struct changes {
	struct change *list;
	uint32_t count;
	uint64_t *starts;
	uint64_t *ends;
};

/*
 * The most bytes that the step which stores at an instant saves by working in place, of tiles as of
 * whole tensors: @tiles know all but what it takes of names that they take to live until the exit.
 */
static uint64_t saved(const struct npuplan_flow *flow, const struct npuplan_block_tiles *tiles,
		      uint32_t block, uint32_t instant)
{
	const struct npuplan_graph *graph = flow->graph;
	const struct npumem_block *record = &graph->blocks[block];
	uint64_t bytes = tiles ? tiles->taken[instant] : 0;
	const struct npuplan_step *s;

	if (!instant || instant % 2 || instant / 2 > record->step_count)
		return bytes;
	s = &graph->steps[record->first_step + instant / 2 - 1];
	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		const struct npumem_access *to = &graph->accesses[a], *from;
		const struct npuplan_name *read;
		uint32_t name;

		if (to->inplace >= s->access_count)
			continue;
		from = &graph->accesses[s->first_access + to->inplace];
		name = npuplan_name_of(flow, block, flow->bases[graph->tiles[from->tile].tensor]);
		read = name == NPUMEM_NONE ? NULL : &flow->names[name];
		if (read && read->end == instant && (!tiles || read->update != UINT32_MAX))
			bytes += chunks_bytes(&graph->tiles[to->tile].region);
	}
	return bytes;
}

static int add_changes(struct changes *changes, uint32_t start, uint32_t end, uint32_t node,
		       uint64_t bytes)
{
	const struct change both[2] = { { start, false, node, bytes }, { end, true, node, bytes } };

	return npuplan_append(&changes->list, &changes->count, both, 2);
}

/* List the single bytes that begin and cease to live at each instant up to @exit. */
static int add_bytes(struct changes *changes, uint32_t exit)
{
	int err = 0;

	for (uint32_t i = 0; i <= exit && !err; i++) {
		const struct change both[2] = { { i, false, NPUMEM_NONE, changes->starts[i] },
						{ i, true, NPUMEM_NONE, changes->ends[i] } };

		changes->starts[i] = changes->ends[i] = 0;
		for (int k = 0; k < 2 && !err; k++)
			if (both[k].bytes)
				err = npuplan_append(&changes->list, &changes->count, &both[k], 1);
	}
	return err;
}

/*
 * List what is sure to live in an instance: single bytes of names of which that is known, and which
 * share no web with another name, and other names as long as all their bytes live. @of_web: per
 * web, 0.
 */
static int list_changes(const struct npuplan_flow *flow, const struct npuplan_webs *webs,
			const struct npuplan_block_tiles *tiles, uint32_t instance,
			uint32_t *of_web, struct changes *changes)
{
	uint32_t block = flow->instances[instance].block, first = flow->first_name[block];
	uint32_t node = flow->instances[instance].first_node;
	uint32_t count = npuplan_name_count(flow, block), atom = 0;
	int err = 0;

	changes->count = 0;
	for (uint32_t i = 0; i < count; i++)
		of_web[webs->web_of[node + i]]++;
	for (uint32_t i = 0; i < count && !err; i++) {
		const struct npuplan_name *name = &flow->names[first + i];
		bool by_bytes = tiles && tiles->exact[i] && of_web[webs->web_of[node + i]] == 1;

		if (!by_bytes && name->sure_start <= name->sure_end)
			err = add_changes(changes, name->sure_start, name->sure_end, node + i,
					  flow->graph->tensors[name->tensor].size);
		for (; tiles && atom < tiles->live.atom_count &&
		       tiles->live.atoms[atom].tensor == i && !err;
		     atom++) {
			const struct npuplan_atom *at = &tiles->live.atoms[atom];

			if (by_bytes && at->end) {
				changes->starts[at->start] += at->length;
				changes->ends[at->end] += at->length;
			}
		}
	}
	if (tiles && !err)
		err = add_bytes(changes, tiles->live.exit);
	for (uint32_t i = 0; i < count; i++)
		of_web[webs->web_of[node + i]] = 0;
	if (changes->count)
		qsort(changes->list, changes->count, sizeof(*changes->list), by_instant);
	return err;
}

/* The instants of the block that has most of them. */
static size_t most_instants(const struct npuplan_graph *graph)
{
	size_t most = 0;

	for (uint32_t b = 0; b < graph->block_count; b++)
		if (most < graph->blocks[b].step_count)
			most = graph->blocks[b].step_count;
	return 2 * most + 2;
}

int npuplan_flow_bound(const struct npuplan_flow *flow, const struct npuplan_webs *webs,
		       const struct npuplan_flow_tiles *tiles, uint64_t *bytes, uint32_t *instance,
		       uint32_t *instant)
{
	AUTO_HEAP uint32_t *live = npuplan_calloc((size_t)webs->web_count + 1, sizeof(*live));
	size_t instants = most_instants(flow->graph);
	AUTO_HEAP uint64_t *sums = npuplan_calloc(2 * instants, sizeof(*sums));
	struct changes changes = { .starts = sums, .ends = sums + (sums ? instants : 0) };
	int err = live && sums ? 0 : -ENOMEM;

	*bytes = 0;
	*instance = 0;
	*instant = 0;
	for (uint32_t p = 0; p < flow->instance_count && !err; p++) {
		uint32_t block = flow->instances[p].block;
		const struct npuplan_block_tiles *of_block = tiles ? &tiles->blocks[block] : NULL;
		uint64_t now = 0;

		err = list_changes(flow, webs, of_block, p, live, &changes);
		for (uint32_t i = 0; i < changes.count && !err; i++) {
			const struct change *change = &changes.list[i];
			uint32_t *lives = change->node == NPUMEM_NONE ?
						  NULL :
						  &live[webs->web_of[change->node]];
			uint64_t less;

			/* Names of one web have the same value, and its bytes count once. */
			if (change->ends) {
				now -= lives && --*lives ? 0 : change->bytes;
				continue;
			}
			now += lives && (*lives)++ ? 0 : change->bytes;
			less = saved(flow, of_block, block, change->instant);
			if (now > less && now - less > *bytes) {
				*bytes = now - less;
				*instance = p;
				*instant = change->instant;
			}
		}
	}
	npuplan_free(changes.list);
	return err;
}
