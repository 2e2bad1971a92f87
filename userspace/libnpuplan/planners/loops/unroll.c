// SPDX-License-Identifier: MIT
/*
 * Finding the instances of blocks: names are coloured around the loops until no new instance comes
 * up.
 *
 * Each group (names joined by carries, all of one size) has colours, numbered from 0. An instance
 * is a block with the colour of each name that is live on its entry. Its new values take colours
 * that are free, and the edges that leave it then say which instances follow. This is register
 * allocation by colouring, but without moves: it duplicates code instead.
 */
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "flow.h"

/* The most ways to colour an instance's new values that are compared. */
#define MAX_TRIES    64
/* An instance with more new values than this is coloured in the first way that will do. */
#define MAX_SEARCHED 64
/* The most colours that are tried for one value, the lowest free one included. */
#define MAX_CHOICES  8

/*
 * struct colouring - colours the new values of instances, one instance after the other
 * @instance: the instance at hand; @block: its block, whose names are [@first, @end)
 * @colours: per name of the block, its colour; NPUMEM_NONE: it has none, or none yet
 * @best: the colours of the best way so far, by which @score edges lead to known instances
 * @fresh: names that are to be coloured, by start; @fresh_count of them
 * @taken: per colour, @now if it is not free for the name at hand
 * @alone: per tensor, whether no carry joins it to another one, so that it has one colour, or
 *	whether that is not looked at
 * @last_of: per block, its latest instance; @before: per instance, the one before it of the same
 *	block; NPUMEM_NONE ends the list
 * @table: hash table of instances, by block and colours
 * @in_count: per block, number of names that are live on entry
 */
struct colouring {
	struct npuplan_flow *flow;
	struct npuplan_error *error;
	struct npuplan_pool pool;
	uint32_t *colours;
	uint32_t *best;
	uint32_t *fresh;
	uint32_t *key;
	uint32_t *last_of;
	uint32_t *before;
	struct npuplan_table table;
	uint32_t *in_count;
	uint64_t *taken;
	uint64_t now;
	bool *alone;
	uint32_t instance;
	uint32_t block;
	uint32_t first;
	uint32_t end;
	uint32_t fresh_count;
	uint32_t score;
	uint32_t tries;
};

static uint32_t group_of(const struct npuplan_flow *flow, uint32_t name)
{
	return flow->groups[flow->names[name].tensor];
}

/* Mark the colours that a name cannot have, which are fewer than there are names. */
static void mark_taken(struct colouring *s, uint32_t name)
{
	const struct npuplan_flow *flow = s->flow;
	const struct npuplan_name *mine = &flow->names[name];
	uint32_t group = group_of(flow, name);

	s->now++;
	for (uint32_t i = s->first; i < s->end; i++) {
		const struct npuplan_name *other = &flow->names[i];
		uint32_t colour = s->colours[i - s->first];

		if (i == name || colour == NPUMEM_NONE || group_of(flow, i) != group ||
		    other->end < mine->start || other->start > mine->end)
			continue;
		if (other->end != mine->start || !npuplan_may_reuse(flow, s->block, i, name))
			s->taken[colour] = s->now;
	}
}

static bool is_free(const struct colouring *s, uint32_t colour)
{
	return s->taken[colour] != s->now;
}

/*
 * Find the key of the instance of block @to that an edge leads to: per name live on its entry, the
 * colour of the value that it takes. False: one of these values has no colour yet.
 */
static bool edge_key(const struct colouring *s, uint32_t edge, uint32_t to, uint32_t *key)
{
	const struct npuplan_flow *flow = s->flow;
	uint32_t count = 0;

	for (uint32_t i = flow->first_name[to]; i < flow->first_name[to + 1]; i++) {
		uint32_t tensor = flow->names[i].tensor;

		if (!flow->names[i].live_in)
			continue;
		tensor = npuplan_carried(flow, edge, tensor);
		key[count] = s->colours[npuplan_name_of(flow, s->block, tensor) - s->first];
		if (key[count++] == NPUMEM_NONE)
			return false;
	}
	return true;
}

static uint32_t hash_of(const struct colouring *s, uint32_t block, const uint32_t *key)
{
	return npuplan_hash(block, key, s->in_count[block] * sizeof(*key));
}

static uint32_t find_instance(const struct colouring *s, uint32_t block, const uint32_t *key)
{
	npuplan_table_for_each(i, &s->table, hash_of(s, block, key))
		if (s->flow->instances[i].block == block &&
		    !memcmp(s->flow->instances[i].colours, key, s->in_count[block] * sizeof(*key)))
			return i;
	return NPUMEM_NONE;
}

/* Count the edges that lead to instances that are there already, or to the exit. */
static uint32_t count_known(const struct colouring *s)
{
	const struct npuplan_flow *flow = s->flow;
	uint32_t known = 0;

	for (uint32_t k = flow->first_out[s->block]; k < flow->first_out[s->block + 1]; k++) {
		uint32_t edge = flow->out_edges[k], to = flow->graph->edges[edge].to;

		known += to == NPUMEM_NONE || (edge_key(s, edge, to, s->key) &&
					       find_instance(s, to, s->key) != NPUMEM_NONE);
	}
	return known;
}

/*
 * Add a colour to @choices if it is free; @tried is the bit set of colours that have been looked
 * at.
 */
static void add_choice(const struct colouring *s, uint32_t colour, uint64_t *tried,
		       uint32_t *choices, uint32_t *count)
{
	if (colour >= 64 || *tried >> colour & 1)
		return;
	*tried |= 1ull << colour;
	if (is_free(s, colour))
		choices[(*count)++] = colour;
}

/*
 * List the colours to try for a name: those in which instances that may follow expect its value,
 * then the lowest free one. Returns how many.
 */
static uint32_t list_choices(struct colouring *s, uint32_t name, uint32_t *choices)
{
	const struct npuplan_flow *flow = s->flow;
	uint32_t count = 0, colour = 0;
	uint64_t tried = 0;

	mark_taken(s, name);
	for (uint32_t k = flow->first_out[s->block]; k < flow->first_out[s->block + 1]; k++) {
		uint32_t edge = flow->out_edges[k], to = flow->graph->edges[edge].to, at = 0;

		if (to == NPUMEM_NONE)
			continue;
		for (uint32_t i = flow->first_name[to]; i < flow->first_name[to + 1]; i++) {
			if (!flow->names[i].live_in)
				continue;
			if (npuplan_carried(flow, edge, flow->names[i].tensor) ==
			    flow->names[name].tensor)
				for (uint32_t p = s->last_of[to];
				     p != NPUMEM_NONE && count < MAX_CHOICES - 1; p = s->before[p])
					add_choice(s, flow->instances[p].colours[at], &tried,
						   choices, &count);
			at++;
		}
	}
	while (!is_free(s, colour))
		colour++;
	for (uint32_t i = 0; i < count; i++)
		if (choices[i] == colour)
			return count;
	choices[count++] = colour;
	return count;
}

static void choose(struct colouring *s, uint32_t at)
{
	uint32_t choices[MAX_CHOICES], count, known, *colour;

	if (s->score == npuplan_out_count(s->flow, s->block) || s->tries >= MAX_TRIES)
		return;
	if (at == s->fresh_count) {
		s->tries++;
		known = count_known(s);
		if (s->score == UINT32_MAX || known > s->score) {
			s->score = known;
			memcpy(s->best, s->colours, (s->end - s->first) * sizeof(*s->best));
		}
		return;
	}
	colour = &s->colours[s->fresh[at] - s->first];
	count = list_choices(s, s->fresh[at], choices);
	for (uint32_t i = 0; i < count; i++) {
		*colour = choices[i];
		choose(s, at + 1);
	}
	*colour = NPUMEM_NONE;
}

static void choose_first(struct colouring *s)
{
	uint32_t choices[MAX_CHOICES];

	for (uint32_t i = 0; i < s->fresh_count; i++) {
		list_choices(s, s->fresh[i], choices);
		s->colours[s->fresh[i] - s->first] = choices[0];
	}
}

/*
 * Refuse a value with two names of which one is updated in place while the other is still needed.
 */
static int check_updates(const struct colouring *s)
{
	const struct npuplan_flow *flow = s->flow;
	const struct npuplan_graph *graph = flow->graph;
	char label[96], other[96], where[128];

	for (uint32_t i = s->first; i < s->end; i++) {
		uint32_t update = flow->names[i].update, colour = s->colours[i - s->first];

		if (update == UINT32_MAX || colour == NPUMEM_NONE ||
		    s->alone[flow->names[i].tensor])
			continue;
		for (uint32_t k = s->first; k < s->end; k++)
			if (k != i && s->colours[k - s->first] == colour &&
			    group_of(flow, k) == group_of(flow, i) &&
			    flow->names[k].start <= update && flow->names[k].end > update)
				return npuplan_fail(
					s->error, -EOPNOTSUPP,
					"%s is updated in place in %s while %s, which has the same value there, is still needed: that takes a copy",
					npuplan_tensor_label(graph, flow->names[i].tensor, label),
					npuplan_block_label(graph, s->block, where),
					npuplan_tensor_label(graph, flow->names[k].tensor, other));
	}
	return 0;
}

/* Refuse a state that would not end in the bytes in which the next inference looks for it. */
static int check_states(const struct colouring *s)
{
	const struct npuplan_flow *flow = s->flow;
	uint32_t at = 0;
	char label[96], where[128];

	for (uint32_t i = flow->first_name[0]; i < flow->first_name[1]; i++) {
		uint32_t tensor = flow->names[i].tensor, now;

		if (!flow->names[i].live_in)
			continue;
		now = flow->instances[0].colours[at++];
		if (flow->graph->tensors[tensor].kind != NPUMEM_TENSOR_STATE)
			continue;
		if (s->colours[npuplan_name_of(flow, s->block, tensor) - s->first] != now)
			return npuplan_fail(
				s->error, -EOPNOTSUPP,
				"state %s leaves %s in other bytes than those it began in: without a copy the next inference would not find it",
				npuplan_tensor_label(flow->graph, tensor, label),
				npuplan_block_label(flow->graph, s->block, where));
	}
	return 0;
}

/* Fail because there are too many instances: of blocks alone, or of places of carried tensors. */
static int fail_instances(struct colouring *s, uint32_t block)
{
	const struct npuplan_flow *flow = s->flow;
	char names[200] = "", label[96], where[128];
	uint32_t named = 0;
	size_t used = 0;

	if (flow->graph->block_count > flow->most_instances)
		return npuplan_fail(
			s->error, -E2BIG,
			"the graph has %u blocks: a plan has at most %u instances of blocks",
			flow->graph->block_count, flow->most_instances);
	for (uint32_t i = flow->first_name[block]; i < flow->first_name[block + 1] && named < 4;
	     i++) {
		uint32_t tensor = flow->names[i].tensor;

		if (!flow->names[i].live_in || used >= sizeof(names) - 100)
			continue;
		for (uint32_t k = 0; k < flow->graph->carry_count; k++) {
			if (flow->carries[k].to != tensor)
				continue;
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.40s",
						 named++ ? ", " : "",
						 npuplan_tensor_label(flow->graph, tensor, label));
			break;
		}
	}
	/* It may be there only behind the loop whose tensors do. */
	return npuplan_fail(
		s->error, -E2BIG,
		"%s: %s%s%s rotate through more places than %u instances of blocks, or %u positions, or %u tensors of all instances, can tell apart",
		npuplan_block_label(flow->graph, block, where),
		named ? "its carried tensors (" : "the tensors that it needs", names,
		named ? ")" : "", flow->most_instances, NPUPLAN_MAX_POSITIONS, NPUPLAN_MAX_NODES);
}

static int add_instance(struct colouring *s, uint32_t block, const uint32_t *key)
{
	struct npuplan_flow *flow = s->flow;
	uint32_t count = flow->instance_count, names = npuplan_name_count(flow, block);
	const struct npuplan_instance added = {
		.colours = npuplan_pool_take(&flow->pool, s->in_count[block], sizeof(*key)),
		.block = block,
		.first_node = flow->node_count,
		.first_position = flow->position_count,
		.first_edge = flow->edge_count,
	};
	int err = -ENOMEM;

	if (count >= flow->most_instances || names > NPUPLAN_MAX_NODES - flow->node_count ||
	    flow->graph->blocks[block].step_count > NPUPLAN_MAX_POSITIONS - flow->position_count)
		return fail_instances(s, block);
	if (added.colours)
		err = npuplan_append(&flow->instances, &flow->instance_count, &added, 1);
	if (err)
		return err;
	memcpy(added.colours, key, s->in_count[block] * sizeof(*key));
	flow->node_count += names;
	flow->position_count += flow->graph->blocks[block].step_count;
	flow->edge_count += npuplan_out_count(flow, block);
	s->before[count] = s->last_of[block];
	s->last_of[block] = count;
	return npuplan_table_add(&s->table, hash_of(s, block, key), count);
}

static bool is_earlier(const struct npuplan_name *a, const struct npuplan_name *b)
{
	return a->start != b->start ? a->start < b->start : a < b;
}

/* List the names that need a colour: those that leave the block and have not come in with one. */
static void list_fresh(struct colouring *s)
{
	const struct npuplan_name *names = s->flow->names;
	uint32_t at = 0;

	s->fresh_count = 0;
	for (uint32_t i = s->first; i < s->end; i++) {
		uint32_t *colour = &s->colours[i - s->first], k = s->fresh_count;

		*colour = NPUMEM_NONE;
		if (names[i].live_in) {
			*colour = s->flow->instances[s->instance].colours[at++];
		} else if (names[i].live_out && s->alone[names[i].tensor]) {
			*colour = 0;
		} else if (names[i].live_out) {
			for (; k && is_earlier(&names[i], &names[s->fresh[k - 1]]); k--)
				s->fresh[k] = s->fresh[k - 1];
			s->fresh[k] = i;
			s->fresh_count++;
		}
	}
}

static int follow_edges(struct colouring *s)
{
	struct npuplan_flow *flow = s->flow;
	uint32_t next = flow->instances[s->instance].first_edge,
		 end = flow->first_out[s->block + 1];
	int err = 0;

	for (uint32_t k = flow->first_out[s->block]; k < end && !err; k++) {
		uint32_t edge = flow->out_edges[k], to = flow->graph->edges[edge].to;
		uint32_t successor = NPUMEM_NONE;

		if (to == NPUMEM_NONE) {
			err = check_states(s);
		} else {
			edge_key(s, edge, to, s->key);
			successor = find_instance(s, to, s->key);
			if (successor == NPUMEM_NONE) {
				successor = flow->instance_count;
				err = add_instance(s, to, s->key);
			}
		}
		if (!err)
			err = npuplan_append(&flow->successors, &next, &successor, 1);
	}
	return err;
}

static int settle(struct colouring *s)
{
	struct npuplan_flow *flow = s->flow;
	uint32_t node = flow->instances[s->instance].first_node;
	int err;

	s->block = flow->instances[s->instance].block;
	s->first = flow->first_name[s->block];
	s->end = flow->first_name[s->block + 1];
	list_fresh(s);
	if (s->fresh_count <= MAX_SEARCHED) {
		s->score = UINT32_MAX;
		s->tries = 0;
		choose(s, 0);
		memcpy(s->colours, s->best, (s->end - s->first) * sizeof(*s->colours));
	} else {
		choose_first(s);
	}
	err = check_updates(s);
	for (uint32_t i = s->first; i < s->end && !err; i++) {
		struct npuplan_node added = { i, s->instance, s->colours[i - s->first] };

		err = npuplan_append(&flow->nodes, &node, &added, 1);
	}
	return err ? err : follow_edges(s);
}

static int allocate(struct colouring *s)
{
	const struct npuplan_flow *flow = s->flow;
	uint32_t blocks = flow->graph->block_count, tensors = flow->graph->tensor_count, most = 0;
	size_t number = sizeof(uint32_t);

	for (uint32_t i = 0; i < blocks; i++)
		if (most < npuplan_name_count(flow, i))
			most = npuplan_name_count(flow, i);
	s->in_count = npuplan_pool_take(&s->pool, blocks, number);
	s->last_of = npuplan_pool_take(&s->pool, blocks, number);
	s->alone = npuplan_pool_take(&s->pool, tensors, sizeof(*s->alone));
	s->before = npuplan_pool_take(&s->pool, NPUPLAN_MAX_INSTANCES, number);
	/* The number of a colour is below the number of tensors, since each name takes one. */
	s->taken = npuplan_pool_take(&s->pool, (size_t)tensors + most + 64, sizeof(*s->taken));
	s->colours = npuplan_pool_take(&s->pool, most, number);
	s->best = npuplan_pool_take(&s->pool, most, number);
	s->fresh = npuplan_pool_take(&s->pool, most, number);
	s->key = npuplan_pool_take(&s->pool, most, number);
	if (s->pool.failed)
		return -ENOMEM;
	memset(s->last_of, 0xff, blocks * number);
	memset(s->alone, true, tensors);
	for (uint32_t i = 0; i < flow->graph->carry_count; i++)
		if (!flow->tracked || flow->tracked[flow->carries[i].to])
			s->alone[flow->carries[i].from] = s->alone[flow->carries[i].to] = false;
	for (uint32_t i = 0; i < blocks; i++)
		for (uint32_t k = flow->first_name[i]; k < flow->first_name[i + 1]; k++)
			s->in_count[i] += flow->names[k].live_in;
	return 0;
}

/* Add the first instance: an inference begins with each value in a colour of its own. */
static int add_first(struct colouring *s)
{
	const struct npuplan_flow *flow = s->flow;
	uint32_t *used = npuplan_pool_take(&s->pool, flow->graph->tensor_count, sizeof(*used));
	uint32_t count = 0;

	if (!used)
		return -ENOMEM;
	for (uint32_t i = flow->first_name[0]; i < flow->first_name[1]; i++)
		if (flow->names[i].live_in)
			s->key[count++] =
				s->alone[flow->names[i].tensor] ? 0 : used[group_of(flow, i)]++;
	return add_instance(s, 0, s->key);
}

int npuplan_flow_instances(struct npuplan_flow *flow, const struct npuplan_effort *effort,
			   struct npuplan_error *error)
{
	struct colouring s = { .flow = flow, .error = error };
	int err = allocate(&s);

	if (!err)
		err = add_first(&s);
	for (; !err && s.instance < flow->instance_count; s.instance++) {
		err = settle(&s);
		if (!err && s.instance % 16 == 15 && npuplan_effort_late(effort) &&
		    s.instance + 1 < flow->instance_count)
			err = npuplan_fail(
				error, -ETIMEDOUT,
				"the deadline has passed with %u instances of blocks settled: tensors that loops carry rotate through too many places",
				s.instance + 1);
	}
	npuplan_table_fini(&s.table);
	npuplan_pool_free(&s.pool);
	return err;
}
