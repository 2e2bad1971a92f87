/* SPDX-License-Identifier: MIT */
/*
 * Operators of graph JSON in order, loops and branches lowered to blocks, edges
 * and carries; or operators in blocks, and edges, as they stand.
 *
 * A loop of at least one iteration is a block that has an edge to itself; one
 * that may have none has a block for its test before. A branch is one edge an
 * arm. Blocks are made when an operator needs one: until then the edges that
 * lead to it hang loose, and those that still do in the end lead to the exit.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "npuimport.h"
#include "../../grow/grow.h"

/* Loops and branches in each other. */
#define MAX_DEPTH 64

static const char *const loop_keys[] = { "id",	 "name",    "type", "min_iterations",
					 "test", "carries", "body", NULL };
static const char *const carry_keys[] = { "to", "init", "from", NULL };
static const char *const branch_keys[] = { "id", "name", "type", "outputs", "arms", NULL };
static const char *const arm_keys[] = { "ops", "outputs", NULL };
static const char *const edge_keys[] = { "from", "to", "carries", NULL };
static const char *const edge_carry_keys[] = { "from", "to", NULL };

/* struct edges - list of edges that hang loose */
struct edges {
	uint32_t *list;
	uint32_t count;
};

/*
 * struct lowering
 * @json: of the reader
 * @block: that operators go to; NPUMEM_NONE: none yet, @loose lead to it
 * @loose: edges to the next block
 * @defined: per tensor whether it has a value here, whatever path was taken
 * @trail: tensors in the order in which they were defined, for going back
 * @carried: per tensor whether a loop or a branch gives it values
 * @ids: of operators, loops and branches
 * @branched: there are loops or branches. A graph without is checked as a whole,
 *	with better words
 */
struct lowering {
	struct graph_json_reader *reader;
	struct npujson *json;
	struct npuplan_graph *graph;
	struct edges loose;
	bool *defined;
	bool *carried;
	uint32_t *trail;
	struct npujson_id *ids;
	uint32_t trail_count;
	uint32_t id_count;
	uint32_t block;
	uint32_t depth;
	bool branched;
};

/* struct carries - of one edge, in the making */
struct carries {
	struct npumem_carry *list;
	uint32_t count;
};

static const struct carries none = { NULL, 0 };

static struct carries new_carries(struct lowering *l, size_t most)
{
	return (struct carries){ npujson_alloc(l->json, most, sizeof(*none.list)), 0 };
}

/* Text of tensor @i. */
static struct import_text text_of(const struct lowering *l, uint32_t i)
{
	return import_tensor_text(&l->graph->tensors[i]);
}

/* ----------------------------------------------------------------- blocks */

static void new_block(struct lowering *l)
{
	l->block = npujson_index(l->json, npuplan_graph_add_block(l->graph));
}

/* There is a block to add to: the current one, or one that all loose edges lead to. */
static void need_block(struct lowering *l)
{
	if (l->block != NPUMEM_NONE)
		return;
	new_block(l);
	for (uint32_t i = 0; i < l->loose.count; i++)
		l->graph->edges[l->loose.list[i]].to = l->block;
	l->loose.count = 0;
}

/* The list with room for one more, or as it was after saying that memory has ended. */
static void *grown(struct lowering *l, void *list, uint32_t count, size_t size)
{
	void *room = grow_by_one(list, count, size);

	if (!room)
		npujson_index(l->json, -ENOMEM);
	return room ? room : list;
}

static void append(struct lowering *l, struct edges *edges, uint32_t edge)
{
	edges->list = grown(l, edges->list, edges->count, sizeof(*edges->list));
	if (!l->json->err)
		edges->list[edges->count++] = edge;
}

/*
 * An edge, unless there was an error; the carries are freed.
 * @edges: to put it on if it hangs loose (@to is NPUMEM_NONE)
 */
static void add_edge(struct lowering *l, uint32_t from, uint32_t to, struct carries carries,
		     struct edges *edges)
{
	int64_t edge = 0;

	if (!l->json->err)
		edge = npuplan_graph_add_edge(l->graph, from, to, carries.list, carries.count);
	free(carries.list);
	edge = npujson_index(l->json, edge);
	if (!l->json->err && to == NPUMEM_NONE && edges)
		append(l, edges, (uint32_t)edge);
}

/* ----------------------------------------------------------------- values */

static void define(struct lowering *l, uint32_t tensor)
{
	if (l->defined[tensor])
		return;
	l->defined[tensor] = true;
	l->trail[l->trail_count++] = tensor;
}

static void forget(struct lowering *l, uint32_t trail)
{
	while (l->trail_count > trail)
		l->defined[l->trail[--l->trail_count]] = false;
}

/*
 * Whether something has written the tensor; the bytes of an alias are written as those of its
 * base.
 */
static bool is_defined(const struct lowering *l, uint32_t tensor)
{
	return l->defined[tensor] || (l->graph->tensors[tensor].flags & NPUMEM_TENSOR_FLAG_ALIAS);
}

static void read_operator(struct lowering *l, json_t *object)
{
	const struct npuplan_op *op;

	need_block(l);
	graph_json_op(l->reader, object, l->block);
	if (l->json->err)
		return;
	op = &l->graph->ops[l->graph->op_count - 1];
	for (uint32_t i = 0; i < op->input_count && l->branched; i++)
		if (!is_defined(l, op->inputs[i]))
			npujson_fail(l->json, "inputs",
				     "%s reads %s, which is not defined on every path to it",
				     import_op_text(op).s, text_of(l, op->inputs[i]).s);
	for (uint32_t i = 0; i < op->output_count; i++)
		define(l, op->outputs[i]);
}

/* Whether values can be carried to or from a tensor: they are its own, in the arena. */
static void check_carried(struct lowering *l, const char *key, uint32_t tensor)
{
	if (l->graph->tensors[tensor].flags &
	    (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL))
		npujson_fail(l->json, key, "%s must be neither an alias nor external",
			     text_of(l, tensor).s);
}

/* A tensor that takes over values: one that nothing else gives values to. */
static void check_target(struct lowering *l, const char *key, uint32_t tensor)
{
	uint32_t kind = l->graph->tensors[tensor].kind;

	if (kind != NPUMEM_TENSOR_INTERMEDIATE && kind != NPUMEM_TENSOR_OUTPUT)
		npujson_fail(l->json, key, "%s must be an activation or an output",
			     text_of(l, tensor).s);
	check_carried(l, key, tensor);
	if (l->carried[tensor])
		npujson_fail(l->json, key, "%s is given values by two loops or branches",
			     text_of(l, tensor).s);
	l->carried[tensor] = true;
}

static void check_source(struct lowering *l, const char *key, uint32_t from, uint32_t to)
{
	uint64_t have = l->graph->tensors[from].size, want = l->graph->tensors[to].size;

	check_carried(l, key, from);
	if (!is_defined(l, from))
		npujson_fail(l->json, key, "%s is not defined on every path there",
			     text_of(l, from).s);
	if (have != want)
		npujson_fail(l->json, key,
			     "%s of %" PRIu64 " bytes is carried to %s of %" PRIu64 " bytes",
			     text_of(l, from).s, have, text_of(l, to).s, want);
}

/* Index of a tensor; 0 after an error. */
static uint32_t get_tensor(struct lowering *l, json_t *object, const char *key)
{
	int64_t id = npujson_int(l->json, object, key, 0, INT64_MAX);
	uint32_t tensor = graph_json_tensor_of_id(l->reader, id);

	if (tensor == NPUMEM_NONE)
		npujson_fail(l->json, key, "no tensor has id %" PRId64, id);
	return l->json->err ? 0 : tensor;
}

/* ------------------------------------------------------------------ loops */

static void read_list(struct lowering *l, json_t *list, const char *key);

/* "to" and one of the sources of each carry; at the place where that is. */
static struct carries read_carries(struct lowering *l, json_t *list, const char *source)
{
	struct npujson_walk walk = npujson_walk(l->json, list, ".carries");
	struct carries carries = new_carries(l, json_array_size(list));
	json_t *object;

	while ((object = npujson_next(&walk))) {
		struct npumem_carry *carry = &carries.list[carries.count++];

		graph_json_only_keys(l->reader, object, carry_keys);
		carry->to = get_tensor(l, object, "to");
		carry->from = get_tensor(l, object, source);
		if (l->json->err)
			break;
		if (!strcmp(source, "init"))
			check_target(l, "to", carry->to);
		check_source(l, source, carry->from, carry->to);
	}
	return carries;
}

/* From the block at hand into the loop, whose first block becomes the one at hand. */
static void enter_loop(struct lowering *l, json_t *list)
{
	struct carries carries = read_carries(l, list, "init");
	uint32_t from;

	need_block(l);
	from = l->block;
	new_block(l);
	for (uint32_t i = 0; i < carries.count && !l->json->err; i++)
		define(l, carries.list[i].to);
	add_edge(l, from, l->block, carries, NULL);
}

static void read_loop(struct lowering *l, json_t *object)
{
	json_t *carries, *body, *test;
	uint32_t head, last = 0, trail;
	bool least;

	graph_json_only_keys(l->reader, object, loop_keys);
	least = npujson_int_or(l->json, object, "min_iterations", 0, 1, 1);
	carries = npujson_list(l->json, object, "carries", false);
	test = npujson_list(l->json, object, "test", false);
	body = npujson_list(l->json, object, "body", true);
	if (!json_array_size(body))
		npujson_fail(l->json, "body", "must not be empty");
	if (test && least)
		npujson_fail(l->json, "test",
			     "needs \"min_iterations\" 0: it runs before each iteration");
	if (l->json->err)
		return;
	enter_loop(l, carries);
	head = l->block;
	read_list(l, test, ".test");
	trail = l->trail_count;
	if (!least && !l->json->err) {
		need_block(l);
		last = l->block;
		new_block(l);
		add_edge(l, last, l->block, none, NULL);
	}
	read_list(l, body, ".body");
	if (l->json->err)
		return;
	need_block(l);
	add_edge(l, l->block, head, read_carries(l, carries, "from"), NULL);
	/* What the body defines is not there if it never ran. */
	if (!least)
		forget(l, trail);
	else
		last = l->block;
	l->block = NPUMEM_NONE;
	add_edge(l, last, NPUMEM_NONE, none, &l->loose);
}

/* --------------------------------------------------------------- branches */

/* The branch's outputs take the arm's. */
static struct carries read_results(struct lowering *l, json_t *arm, const uint32_t *outputs,
				   uint32_t count)
{
	struct carries carries = new_carries(l, count);
	uint32_t *results = NULL, given = 0;

	if (json_object_get(arm, "outputs"))
		results = graph_json_get_tensors(l->reader, arm, "outputs", &given);
	if (given < count && !l->json->err)
		npujson_fail(l->json, "outputs",
			     "the arm defines nothing for %s, an output of the branch",
			     text_of(l, outputs[given]).s);
	if (given > count)
		npujson_fail(l->json, "outputs",
			     "the arm defines %" PRIu32 " values, the branch has %" PRIu32
			     " outputs",
			     given, count);
	for (uint32_t i = 0; i < count && !l->json->err; i++) {
		check_source(l, "outputs", results[i], outputs[i]);
		carries.list[carries.count++] = (struct npumem_carry){ results[i], outputs[i] };
	}
	free(results);
	return carries;
}

/* @from: block before the branch; @exits: edges to what follows it */
static void read_arm(struct lowering *l, json_t *arm, uint32_t from, const uint32_t *outputs,
		     uint32_t count, struct edges *exits)
{
	uint32_t trail = l->trail_count;
	json_t *ops;

	graph_json_only_keys(l->reader, arm, arm_keys);
	ops = npujson_list(l->json, arm, "ops", false);
	if (l->json->err)
		return;
	l->block = from;
	if (json_array_size(ops)) {
		l->block = NPUMEM_NONE;
		add_edge(l, from, NPUMEM_NONE, none, &l->loose);
		read_list(l, ops, ".ops");
		if (l->json->err)
			return;
		need_block(l);
	}
	add_edge(l, l->block, NPUMEM_NONE, read_results(l, arm, outputs, count), exits);
	forget(l, trail);
}

static void read_arms(struct lowering *l, json_t *object, bool is_if, const uint32_t *outputs,
		      uint32_t count, struct edges *exits)
{
	json_t *arms = npujson_list(l->json, object, "arms", true), *arm;
	struct npujson_walk walk = npujson_walk(l->json, arms, ".arms");
	size_t arm_count = json_array_size(arms);
	uint32_t from;

	if (!arm_count || (is_if && arm_count > 2))
		npujson_fail(l->json, "arms", "%s",
			     is_if ? "must be one or two" : "must not be empty");
	if (l->json->err)
		return;
	if (is_if && arm_count == 1 && count)
		npujson_fail(l->json, "arms",
			     "an \"if\" with outputs needs two arms: nothing for %s",
			     text_of(l, outputs[0]).s);
	need_block(l);
	from = l->block;
	while ((arm = npujson_next(&walk)))
		read_arm(l, arm, from, outputs, count, exits);
	/* Without an else, the other way leads past the arm. */
	if (is_if && arm_count == 1)
		add_edge(l, from, NPUMEM_NONE, none, exits);
}

static void read_branch(struct lowering *l, json_t *object, bool is_if)
{
	struct edges exits = { 0 };
	uint32_t *outputs = NULL, count = 0;

	graph_json_only_keys(l->reader, object, branch_keys);
	if (json_object_get(object, "outputs"))
		outputs = graph_json_get_tensors(l->reader, object, "outputs", &count);
	for (uint32_t i = 0; i < count; i++)
		check_target(l, "outputs", outputs[i]);
	if (!l->json->err)
		read_arms(l, object, is_if, outputs, count, &exits);
	for (uint32_t i = 0; i < count; i++)
		define(l, outputs[i]);
	l->block = NPUMEM_NONE;
	for (uint32_t i = 0; i < exits.count; i++)
		append(l, &l->loose, exits.list[i]);
	free(exits.list);
	free(outputs);
}

/* -------------------------------------------------------------- operators */

/* Type of an operator, "" if there is none (yet). */
static const char *type_of(json_t *object)
{
	const char *type = json_string_value(json_object_get(object, "type"));

	return type ? type : "";
}

/* Whether an operator is none, but a loop or branch. */
static bool is_flow(json_t *object)
{
	const char *type = type_of(object);

	return !strcmp(type, "loop") || !strcmp(type, "if") || !strcmp(type, "switch");
}

static void read_any(struct lowering *l, json_t *object)
{
	const char *type = type_of(object);
	int64_t id = 0;

	if (!json_is_object(object))
		npujson_fail(l->json, NULL, "must be an object");
	id = npujson_int(l->json, object, "id", 0, INT64_MAX);
	/* Of operators it is read later. */
	if (is_flow(object))
		npujson_text(l->json, object, "name", NULL);
	l->ids = grown(l, l->ids, l->id_count, sizeof(*l->ids));
	if (l->json->err)
		return;
	l->ids[l->id_count] = (struct npujson_id){ .id = id, .index = l->id_count };
	l->id_count++;
	if (!strcmp(type, "loop"))
		read_loop(l, object);
	else if (is_flow(object))
		read_branch(l, object, !strcmp(type, "if"));
	else
		read_operator(l, object);
}

/* @key: of the list in the object at hand, with a dot before it */
static void read_list(struct lowering *l, json_t *list, const char *key)
{
	struct npujson_walk walk = npujson_walk(l->json, list, key);
	json_t *object;

	if (++l->depth > MAX_DEPTH) {
		npujson_enter(l->json, "%s", key);
		npujson_fail(l->json, NULL, "loops and branches are nested more than %d deep",
			     MAX_DEPTH);
	}
	while ((object = npujson_next(&walk)))
		read_any(l, object);
	l->depth--;
}

/* ------------------------------------------------------ blocks as they are */

static void read_edge(struct lowering *l, json_t *object)
{
	uint32_t last = l->graph->block_count - 1, from, to;
	json_t *list = json_object_get(object, "carries"), *carry;
	struct npujson_walk walk = npujson_walk(l->json, list, ".carries");
	struct carries carries = new_carries(l, json_array_size(list));

	graph_json_only_keys(l->reader, object, edge_keys);
	from = (uint32_t)npujson_int(l->json, object, "from", 0, last);
	to = (uint32_t)npujson_int_or(l->json, object, "to", 0, last, NPUMEM_NONE);
	npujson_list(l->json, object, "carries", false);
	while ((carry = npujson_next(&walk))) {
		struct npumem_carry *c = &carries.list[carries.count++];

		graph_json_only_keys(l->reader, carry, edge_carry_keys);
		c->from = get_tensor(l, carry, "from");
		c->to = get_tensor(l, carry, "to");
		if (!l->json->err &&
		    l->graph->tensors[c->from].size != l->graph->tensors[c->to].size)
			npujson_fail(l->json, NULL, "%s and %s differ in size",
				     text_of(l, c->from).s, text_of(l, c->to).s);
	}
	add_edge(l, from, to, carries, NULL);
}

/* @count operators of the list, from @next on, which make a block. */
static void read_block(struct lowering *l, json_t *ops, size_t next, size_t count)
{
	struct npujson_walk walk = npujson_walk(l->json, ops, ".ops");
	json_t *op;

	walk.count = next;
	while (walk.count < next + count && (op = npujson_next(&walk))) {
		if (is_flow(op))
			npujson_fail(l->json, "type", "\"%s\" and blocks exclude each other",
				     type_of(op));
		else
			read_any(l, op);
	}
	npujson_leave(l->json, walk.outside);
}

/* "blocks": how many operators each has; "edges" */
static void read_flat(struct lowering *l, json_t *root, json_t *ops)
{
	json_t *blocks = npujson_list(l->json, root, "blocks", true);
	json_t *edges = npujson_list(l->json, root, "edges", true), *object;
	struct npujson_walk walk = npujson_walk(l->json, edges, ".edges");
	size_t i, next = 0, op_count = json_array_size(ops);

	if (!json_array_size(blocks) || !json_array_size(edges))
		npujson_fail(l->json, "blocks", "and edges must not be empty; leave them out");
	json_array_foreach(blocks, i, object) {
		json_int_t count = json_integer_value(object);

		if (!json_is_integer(object) || count < 0 || (uint64_t)count > op_count - next) {
			npujson_enter(l->json, ".blocks[%zu]", i);
			npujson_fail(l->json, NULL,
				     "must be a number of operators, and there are %zu in all",
				     op_count);
		}
		if (l->json->err)
			return;
		if (i)
			new_block(l);
		read_block(l, ops, next, (size_t)count);
		next += (size_t)count;
	}
	if (next != op_count)
		npujson_fail(l->json, "blocks", "hold %zu operators of %zu", next, op_count);
	while ((object = npujson_next(&walk)))
		read_edge(l, object);
}

/* ------------------------------------------------------------------- whole */

static void read_structured(struct lowering *l, json_t *list)
{
	struct npuplan_graph *graph = l->graph;
	json_t *object;
	size_t at;

	json_array_foreach(list, at, object)
		l->branched |= is_flow(object);
	read_list(l, list, ".ops");
	/* Loose edges lead to the exit; what they carry must arrive in a block. */
	for (uint32_t i = 0; i < l->loose.count && !l->json->err && l->block == NPUMEM_NONE; i++)
		if (graph->edges[l->loose.list[i]].carry_count)
			need_block(l);
	if (l->json->err || !l->branched)
		return;
	if (l->block != NPUMEM_NONE)
		add_edge(l, l->block, NPUMEM_NONE, none, &l->loose);
	for (uint32_t i = 0; i < graph->tensor_count && !l->json->err; i++)
		if (graph->tensors[i].kind == NPUMEM_TENSOR_OUTPUT && !is_defined(l, i))
			l->json->err = import_fail(
				l->json->error, -EINVAL,
				"%s is an output of the graph, but not defined on every path to its end",
				text_of(l, i).s);
}

void graph_json_ops(struct graph_json_reader *reader, json_t *root, json_t *list)
{
	struct npuplan_graph *graph = reader->graph;
	size_t count = graph->tensor_count;
	struct lowering l = {
		.reader = reader,
		.json = reader->json,
		.graph = graph,
		.defined = npujson_alloc(reader->json, count, sizeof(*l.defined)),
		.carried = npujson_alloc(reader->json, count, sizeof(*l.carried)),
		.trail = npujson_alloc(reader->json, count, sizeof(*l.trail)),
	};

	for (uint32_t i = 0; i < count && !l.json->err; i++)
		if (graph->tensors[i].kind == NPUMEM_TENSOR_INPUT ||
		    graph->tensors[i].kind == NPUMEM_TENSOR_PARAMETER ||
		    graph->tensors[i].kind == NPUMEM_TENSOR_STATE)
			define(&l, i);
	if (!l.json->err && (json_object_get(root, "blocks") || json_object_get(root, "edges")))
		read_flat(&l, root, list);
	else if (!l.json->err)
		read_structured(&l, list);
	graph_json_sort_ids(reader, l.ids, l.id_count, "ops");
	free(l.defined);
	free(l.carried);
	free(l.trail);
	free(l.ids);
	free(l.loose.list);
}
