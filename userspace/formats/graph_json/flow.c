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

/**
 * struct lowering
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
	struct edges loose;
	bool *defined;
	bool *carried;
	uint32_t *trail;
	struct graph_json_id *ids;
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

static int out_of_memory(const struct lowering *l)
{
	return import_fail(l->reader->error, -ENOMEM, "out of memory");
}

/* Text of tensor @i. */
static struct import_text text_of(const struct lowering *l, uint32_t i)
{
	return import_tensor_text(&l->reader->graph->tensors[i]);
}

/* ----------------------------------------------------------------- blocks */

static int new_block(struct lowering *l)
{
	int64_t block = npuplan_graph_add_block(l->reader->graph);

	if (block < 0)
		return import_fail(l->reader->error, (int)block, "blocks: %s",
				   strerror((int)-block));
	l->block = (uint32_t)block;
	return 0;
}

/* There is a block to add to: the current one, or one that all loose edges lead to. */
static int need_block(struct lowering *l)
{
	int err;

	if (l->block != NPUMEM_NONE)
		return 0;
	err = new_block(l);
	for (uint32_t i = 0; i < l->loose.count && !err; i++)
		l->reader->graph->edges[l->loose.list[i]].to = l->block;
	l->loose.count = 0;
	return err;
}

static int append(struct lowering *l, struct edges *edges, uint32_t edge)
{
	uint32_t *list = realloc(edges->list, ((size_t)edges->count + 1) * sizeof(*list));

	if (!list)
		return out_of_memory(l);
	edges->list = list;
	list[edges->count++] = edge;
	return 0;
}

/* @edges: to put the edge on if it hangs loose (@to is NPUMEM_NONE) */
static int add_edge(struct lowering *l, uint32_t from, uint32_t to, const struct carries *carries,
		    struct edges *edges)
{
	int64_t edge = npuplan_graph_add_edge(l->reader->graph, from, to,
					      carries ? carries->list : NULL,
					      carries ? carries->count : 0);

	if (edge < 0)
		return import_fail(l->reader->error, (int)edge, "edges: %s", strerror((int)-edge));
	return to == NPUMEM_NONE ? append(l, edges, (uint32_t)edge) : 0;
}

/* ----------------------------------------------------------------- values */

static void define(struct lowering *l, uint32_t tensor)
{
	if (l->defined[tensor])
		return;
	l->defined[tensor] = true;
	l->trail[l->trail_count++] = tensor;
}

static void forget(struct lowering *l, uint32_t mark)
{
	while (l->trail_count > mark)
		l->defined[l->trail[--l->trail_count]] = false;
}

/* What an alias holds came from the tensor it is part of. */
static bool is_defined(const struct lowering *l, uint32_t tensor)
{
	return l->defined[tensor] ||
	       (l->reader->graph->tensors[tensor].flags & NPUMEM_TENSOR_ALIAS);
}

static int read_operator(struct lowering *l, json_t *object, const char *path)
{
	const struct npuplan_op *op;
	int err;

	err = need_block(l);
	if (!err)
		err = graph_json_op(l->reader, object, path, l->block);
	if (err)
		return err;
	op = &l->reader->graph->ops[l->reader->graph->op_count - 1];
	for (uint32_t i = 0; i < op->input_count && l->branched; i++)
		if (!is_defined(l, op->inputs[i]))
			return graph_json_fail(
				l->reader, path, "inputs",
				"%s reads %s, which is not defined on every path to it",
				import_op_text(op).s, text_of(l, op->inputs[i]).s);
	for (uint32_t i = 0; i < op->output_count; i++)
		define(l, op->outputs[i]);
	return 0;
}

/* A tensor that takes over values: one that nothing else gives values to. */
static int check_target(struct lowering *l, const char *path, const char *key, uint32_t tensor)
{
	const struct npuplan_tensor *t = &l->reader->graph->tensors[tensor];

	if (t->kind != NPUMEM_TENSOR_INTERMEDIATE && t->kind != NPUMEM_TENSOR_OUTPUT)
		return graph_json_fail(l->reader, path, key,
				       "%s must be an activation or an output",
				       text_of(l, tensor).s);
	if (t->flags & (NPUMEM_TENSOR_ALIAS | NPUMEM_TENSOR_EXTERNAL))
		return graph_json_fail(l->reader, path, key,
				       "%s must be neither an alias nor external",
				       text_of(l, tensor).s);
	if (l->carried[tensor])
		return graph_json_fail(l->reader, path, key,
				       "%s is given values by two loops or branches",
				       text_of(l, tensor).s);
	l->carried[tensor] = true;
	return 0;
}

static int check_source(struct lowering *l, const char *path, const char *key, uint32_t from,
			uint32_t to)
{
	const struct npuplan_tensor *f = &l->reader->graph->tensors[from];
	const struct npuplan_tensor *t = &l->reader->graph->tensors[to];

	if (f->flags & (NPUMEM_TENSOR_ALIAS | NPUMEM_TENSOR_EXTERNAL))
		return graph_json_fail(l->reader, path, key,
				       "%s must be neither an alias nor external",
				       text_of(l, from).s);
	if (!is_defined(l, from))
		return graph_json_fail(l->reader, path, key,
				       "%s is not defined on every path there", text_of(l, from).s);
	if (f->size != t->size)
		return graph_json_fail(l->reader, path, key,
				       "%s of %" PRIu64 " bytes is carried to %s of %" PRIu64
				       " bytes",
				       text_of(l, from).s, f->size, text_of(l, to).s, t->size);
	return 0;
}

static int get_tensor(struct lowering *l, json_t *object, const char *path, const char *key,
		      uint32_t *tensor)
{
	int64_t id = 0;
	int err = graph_json_get_int(l->reader, object, path, key, true, 0, INT64_MAX, &id);

	if (err)
		return err;
	*tensor = graph_json_tensor_of_id(l->reader, id);
	if (*tensor == NPUMEM_NONE)
		return graph_json_fail(l->reader, path, key, "no tensor has id %" PRId64, id);
	return 0;
}

/* ------------------------------------------------------------------ loops */

static int read_list(struct lowering *l, json_t *list, const char *path);

/* "to" and one of the sources of each carry; at the place where that is. */
static int read_carries(struct lowering *l, json_t *list, const char *path, const char *source,
			struct carries *carries)
{
	bool first = !strcmp(source, "init");
	json_t *object;
	size_t i;

	carries->count = 0;
	carries->list = calloc(json_array_size(list) + 1, sizeof(*carries->list));
	if (!carries->list)
		return out_of_memory(l);
	json_array_foreach(list, i, object) {
		struct graph_json_path at = graph_json_path("%s.carries[%zu]", path, i);
		struct npumem_carry *carry = &carries->list[i];
		int err = 0;

		if (!json_is_object(object))
			return graph_json_fail(l->reader, at.s, NULL, "must be an object");
		err = graph_json_only_keys(l->reader, object, at.s, carry_keys);
		if (!err)
			err = get_tensor(l, object, at.s, "to", &carry->to);
		if (!err)
			err = get_tensor(l, object, at.s, source, &carry->from);
		if (!err && first)
			err = check_target(l, at.s, "to", carry->to);
		if (!err)
			err = check_source(l, at.s, source, carry->from, carry->to);
		if (err)
			return err;
	}
	carries->count = (uint32_t)json_array_size(list);
	return 0;
}

/* From the block at hand into the loop, whose first block becomes the one at hand. */
static int enter_loop(struct lowering *l, json_t *list, const char *path)
{
	struct carries carries = { 0 };
	uint32_t from;
	int err;

	err = read_carries(l, list, path, "init", &carries);
	if (!err)
		err = need_block(l);
	from = l->block;
	if (!err)
		err = new_block(l);
	if (!err)
		err = add_edge(l, from, l->block, &carries, NULL);
	for (uint32_t i = 0; i < carries.count && !err; i++)
		define(l, carries.list[i].to);
	free(carries.list);
	return err;
}

/* From the end of the body back to the loop's first block. */
static int close_loop(struct lowering *l, json_t *list, const char *path, uint32_t head)
{
	struct carries carries = { 0 };
	int err;

	err = need_block(l);
	if (!err)
		err = read_carries(l, list, path, "from", &carries);
	if (!err)
		err = add_edge(l, l->block, head, &carries, NULL);
	free(carries.list);
	return err;
}

static int read_loop(struct lowering *l, json_t *object, const char *path)
{
	json_t *carries = NULL, *body = NULL, *test = NULL;
	int64_t least = 1;
	uint32_t head, last = 0, mark;
	int err;

	err = graph_json_only_keys(l->reader, object, path, loop_keys);
	if (!err)
		err = graph_json_get_int(l->reader, object, path, "min_iterations", false, 0, 1,
					 &least);
	if (!err)
		err = graph_json_get_array(l->reader, object, path, "carries", false, &carries);
	if (!err)
		err = graph_json_get_array(l->reader, object, path, "test", false, &test);
	if (!err)
		err = graph_json_get_array(l->reader, object, path, "body", true, &body);
	if (!err && !json_array_size(body))
		err = graph_json_fail(l->reader, path, "body", "must not be empty");
	if (!err && test && least)
		err = graph_json_fail(l->reader, path, "test",
				      "needs \"min_iterations\" 0: it runs before each iteration");
	if (err)
		return err;
	err = enter_loop(l, carries, path);
	head = l->block;
	if (!err)
		err = read_list(l, test, graph_json_path("%s.test", path).s);
	mark = l->trail_count;
	if (!err && !least) {
		err = need_block(l);
		last = l->block;
		if (!err)
			err = new_block(l);
		if (!err)
			err = add_edge(l, last, l->block, NULL, NULL);
	}
	if (!err)
		err = read_list(l, body, graph_json_path("%s.body", path).s);
	if (!err)
		err = close_loop(l, carries, path, head);
	if (err)
		return err;
	/* What the body defines is not there if it never ran. */
	if (!least)
		forget(l, mark);
	else
		last = l->block;
	l->block = NPUMEM_NONE;
	return add_edge(l, last, NPUMEM_NONE, NULL, &l->loose);
}

/* --------------------------------------------------------------- branches */

/* The branch's outputs take the arm's. */
static int read_results(struct lowering *l, json_t *arm, const char *path, const uint32_t *outputs,
			uint32_t count, struct carries *carries)
{
	uint32_t *results = NULL, given = 0;
	int err = 0;

	if (json_object_get(arm, "outputs"))
		err = graph_json_get_tensors(l->reader, arm, path, "outputs", &results, &given);
	if (!err && given < count)
		err = graph_json_fail(l->reader, path, "outputs",
				      "the arm defines nothing for %s, an output of the branch",
				      text_of(l, outputs[given]).s);
	if (!err && given > count)
		err = graph_json_fail(l->reader, path, "outputs",
				      "the arm defines %" PRIu32 " values, the branch has %" PRIu32
				      " outputs",
				      given, count);
	carries->list = calloc((size_t)count + 1, sizeof(*carries->list));
	if (!err && !carries->list)
		err = out_of_memory(l);
	for (uint32_t i = 0; i < count && !err; i++) {
		err = check_source(l, path, "outputs", results[i], outputs[i]);
		carries->list[i] = (struct npumem_carry){ results[i], outputs[i] };
	}
	carries->count = count;
	free(results);
	return err;
}

/* @from: block before the branch; @exits: edges to what follows it */
static int read_arm(struct lowering *l, json_t *arm, const char *path, uint32_t from,
		    const uint32_t *outputs, uint32_t count, struct edges *exits)
{
	struct carries carries = { 0 };
	uint32_t mark = l->trail_count;
	json_t *ops = NULL;
	int err;

	if (!json_is_object(arm))
		return graph_json_fail(l->reader, path, NULL, "must be an object");
	err = graph_json_only_keys(l->reader, arm, path, arm_keys);
	if (!err)
		err = graph_json_get_array(l->reader, arm, path, "ops", false, &ops);
	l->block = from;
	if (!err && json_array_size(ops)) {
		l->block = NPUMEM_NONE;
		err = add_edge(l, from, NPUMEM_NONE, NULL, &l->loose);
		if (!err)
			err = read_list(l, ops, graph_json_path("%s.ops", path).s);
		if (!err)
			err = need_block(l);
	}
	if (!err)
		err = read_results(l, arm, path, outputs, count, &carries);
	if (!err)
		err = add_edge(l, l->block, NPUMEM_NONE, &carries, exits);
	free(carries.list);
	forget(l, mark);
	return err;
}

static int read_arms(struct lowering *l, json_t *object, const char *path, bool is_if,
		     const uint32_t *outputs, uint32_t count, struct edges *exits)
{
	json_t *arms = NULL, *arm;
	uint32_t from;
	size_t i;
	int err;

	err = graph_json_get_array(l->reader, object, path, "arms", true, &arms);
	if (!err && (!json_array_size(arms) || (is_if && json_array_size(arms) > 2)))
		err = graph_json_fail(l->reader, path, "arms",
				      is_if ? "must be one or two" : "must not be empty");
	if (!err && is_if && json_array_size(arms) == 1 && count)
		err = graph_json_fail(l->reader, path, "arms",
				      "an \"if\" with outputs needs two arms: nothing for %s",
				      text_of(l, outputs[0]).s);
	if (!err)
		err = need_block(l);
	if (err)
		return err;
	from = l->block;
	json_array_foreach(arms, i, arm) {
		err = read_arm(l, arm, graph_json_path("%s.arms[%zu]", path, i).s, from, outputs,
			       count, exits);
		if (err)
			return err;
	}
	/* Without an else, the other way leads past the arm. */
	if (is_if && json_array_size(arms) == 1)
		err = add_edge(l, from, NPUMEM_NONE, NULL, exits);
	return err;
}

static int read_branch(struct lowering *l, json_t *object, const char *path, bool is_if)
{
	struct edges exits = { 0 };
	uint32_t *outputs = NULL, count = 0;
	int err;

	err = graph_json_only_keys(l->reader, object, path, branch_keys);
	if (!err && json_object_get(object, "outputs"))
		err = graph_json_get_tensors(l->reader, object, path, "outputs", &outputs, &count);
	for (uint32_t i = 0; i < count && !err; i++)
		err = check_target(l, path, "outputs", outputs[i]);
	if (!err)
		err = read_arms(l, object, path, is_if, outputs, count, &exits);
	for (uint32_t i = 0; i < count && !err; i++)
		define(l, outputs[i]);
	l->block = NPUMEM_NONE;
	for (uint32_t i = 0; i < exits.count && !err; i++)
		err = append(l, &l->loose, exits.list[i]);
	free(exits.list);
	free(outputs);
	return err;
}

/* -------------------------------------------------------------- operators */

static bool is_branch(const char *type)
{
	return !strcmp(type, "if") || !strcmp(type, "switch");
}

/* Type of an operator, "" if there is none (yet). */
static const char *type_of(json_t *object)
{
	const char *type = json_string_value(json_object_get(object, "type"));

	return type ? type : "";
}

static int read_any(struct lowering *l, json_t *object, const char *path)
{
	const char *type = type_of(object), *name = NULL;
	int64_t id = 0;
	int err;

	err = json_is_object(object) ?
		      graph_json_get_int(l->reader, object, path, "id", true, 0, INT64_MAX, &id) :
		      graph_json_fail(l->reader, path, NULL, "must be an object");
	/* Of operators it is read later. */
	if (!err && (!strcmp(type, "loop") || is_branch(type)))
		err = graph_json_get_string(l->reader, object, path, "name", true, &name);
	if (err)
		return err;
	if (!(l->id_count & (l->id_count - 1))) {
		size_t room = l->id_count ? 2 * (size_t)l->id_count : 1;
		struct graph_json_id *ids = realloc(l->ids, room * sizeof(*ids));

		if (!ids)
			return out_of_memory(l);
		l->ids = ids;
	}
	l->ids[l->id_count] = (struct graph_json_id){ .id = id, .index = l->id_count };
	l->id_count++;
	if (!strcmp(type, "loop"))
		return read_loop(l, object, path);
	if (is_branch(type))
		return read_branch(l, object, path, !strcmp(type, "if"));
	return read_operator(l, object, path);
}

static int read_list(struct lowering *l, json_t *list, const char *path)
{
	json_t *object;
	size_t i;

	if (++l->depth > MAX_DEPTH)
		return graph_json_fail(l->reader, path, NULL,
				       "loops and branches are nested more than %d deep",
				       MAX_DEPTH);
	json_array_foreach(list, i, object) {
		int err = read_any(l, object, graph_json_path("%s[%zu]", path, i).s);

		if (err)
			return err;
	}
	l->depth--;
	return 0;
}

/* ------------------------------------------------------ blocks as they are */

static int read_edge(struct lowering *l, json_t *object, const char *path)
{
	uint32_t blocks = l->reader->graph->block_count;
	int64_t from = 0, to = NPUMEM_NONE, edge;
	struct carries carries = { 0 };
	json_t *list = NULL, *carry;
	size_t i;
	int err;

	if (!json_is_object(object))
		return graph_json_fail(l->reader, path, NULL, "must be an object");
	err = graph_json_only_keys(l->reader, object, path, edge_keys);
	if (!err)
		err = graph_json_get_int(l->reader, object, path, "from", true, 0, blocks - 1,
					 &from);
	if (!err)
		err = graph_json_get_int(l->reader, object, path, "to", false, 0, blocks - 1, &to);
	if (!err)
		err = graph_json_get_array(l->reader, object, path, "carries", false, &list);
	if (err)
		return err;
	carries.list = calloc(json_array_size(list) + 1, sizeof(*carries.list));
	if (!carries.list)
		return out_of_memory(l);
	json_array_foreach(list, i, carry) {
		struct graph_json_path at = graph_json_path("%s.carries[%zu]", path, i);
		struct npumem_carry *c = &carries.list[carries.count++];

		err = json_is_object(carry) ?
			      graph_json_only_keys(l->reader, carry, at.s, edge_carry_keys) :
			      graph_json_fail(l->reader, at.s, NULL, "must be an object");
		if (!err)
			err = get_tensor(l, carry, at.s, "from", &c->from);
		if (!err)
			err = get_tensor(l, carry, at.s, "to", &c->to);
		if (!err && l->reader->graph->tensors[c->from].size !=
				    l->reader->graph->tensors[c->to].size)
			err = graph_json_fail(l->reader, at.s, NULL, "%s and %s differ in size",
					      text_of(l, c->from).s, text_of(l, c->to).s);
		if (err)
			break;
	}
	edge = err ? err :
		     npuplan_graph_add_edge(l->reader->graph, (uint32_t)from, (uint32_t)to,
					    carries.list, carries.count);
	free(carries.list);
	if (!err && edge < 0)
		err = import_fail(l->reader->error, (int)edge, "%s: %s", path,
				  strerror((int)-edge));
	return err;
}

/* "blocks": how many operators each has; "edges" */
static int read_flat(struct lowering *l, json_t *root, json_t *ops)
{
	json_t *blocks = NULL, *edges = NULL, *object;
	size_t i, next = 0;
	int err;

	err = graph_json_get_array(l->reader, root, "$", "blocks", true, &blocks);
	if (!err)
		err = graph_json_get_array(l->reader, root, "$", "edges", true, &edges);
	if (!err && (!json_array_size(blocks) || !json_array_size(edges)))
		err = graph_json_fail(l->reader, "$", "blocks",
				      "and edges must not be empty; leave them out");
	if (err)
		return err;
	json_array_foreach(blocks, i, object) {
		json_int_t count = json_integer_value(object);

		if (!json_is_integer(object) || count < 0 ||
		    (uint64_t)count > json_array_size(ops) - next)
			return graph_json_fail(
				l->reader, graph_json_path("$.blocks[%zu]", i).s, NULL,
				"must be a number of operators, and there are %zu in all",
				json_array_size(ops));
		err = i ? new_block(l) : 0;
		for (; count && !err; count--, next++) {
			struct graph_json_path at = graph_json_path("$.ops[%zu]", next);
			json_t *op = json_array_get(ops, next);
			const char *type = type_of(op);

			if (!strcmp(type, "loop") || is_branch(type))
				err = graph_json_fail(l->reader, at.s, "type",
						      "\"%s\" and blocks exclude each other", type);
			else
				err = read_any(l, op, at.s);
		}
		if (err)
			return err;
	}
	if (next != json_array_size(ops))
		return graph_json_fail(l->reader, "$", "blocks", "hold %zu operators of %zu", next,
				       json_array_size(ops));
	json_array_foreach(edges, i, object) {
		err = read_edge(l, object, graph_json_path("$.edges[%zu]", i).s);
		if (err)
			return err;
	}
	return 0;
}

/* ------------------------------------------------------------------- whole */

static int read_structured(struct lowering *l, json_t *list)
{
	struct npuplan_graph *graph = l->reader->graph;
	json_t *object;
	size_t at;
	int err;

	json_array_foreach(list, at, object)
		l->branched |= !strcmp(type_of(object), "loop") || is_branch(type_of(object));
	err = read_list(l, list, "$.ops");
	/* Loose edges lead to the exit; what they carry must arrive in a block. */
	for (uint32_t i = 0; i < l->loose.count && !err && l->block == NPUMEM_NONE; i++)
		if (graph->edges[l->loose.list[i]].carry_count)
			err = need_block(l);
	if (!err && l->branched && l->block != NPUMEM_NONE)
		err = add_edge(l, l->block, NPUMEM_NONE, NULL, &l->loose);
	for (uint32_t i = 0; i < graph->tensor_count && !err && l->branched; i++)
		if (graph->tensors[i].kind == NPUMEM_TENSOR_OUTPUT && !is_defined(l, i))
			err = import_fail(
				l->reader->error, -EINVAL,
				"%s is an output of the graph, but not defined on every path to its end",
				text_of(l, i).s);
	return err;
}

int graph_json_ops(struct graph_json_reader *reader, json_t *root, json_t *list)
{
	struct npuplan_graph *graph = reader->graph;
	size_t count = graph->tensor_count;
	struct lowering l = {
		.reader = reader,
		.defined = calloc(count + 1, sizeof(*l.defined)),
		.carried = calloc(count + 1, sizeof(*l.carried)),
		.trail = calloc(count + 1, sizeof(*l.trail)),
	};
	int err = 0;

	if (!l.defined || !l.carried || !l.trail)
		err = out_of_memory(&l);
	for (uint32_t i = 0; i < count && !err; i++)
		if (graph->tensors[i].kind == NPUMEM_TENSOR_INPUT ||
		    graph->tensors[i].kind == NPUMEM_TENSOR_PARAMETER ||
		    graph->tensors[i].kind == NPUMEM_TENSOR_STATE)
			define(&l, i);
	if (!err)
		err = json_object_get(root, "blocks") || json_object_get(root, "edges") ?
			      read_flat(&l, root, list) :
			      read_structured(&l, list);
	if (!err && l.id_count)
		err = graph_json_sort_ids(reader, l.ids, l.id_count, "ops");
	free(l.defined);
	free(l.carried);
	free(l.trail);
	free(l.ids);
	free(l.loose.list);
	return err;
}
