// SPDX-License-Identifier: MIT
/*
 * A partition that npumem's engine computes: its kernels are asked for sizes and nothing else. The
 * runtime keeps inputs, outputs and variables; they are copied to where the plan wants them, and
 * back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../grow/grow.h"
#include "delegate.h"

/* ------------------------------------------------------------------------ claiming */

/* What the importer says of its operator 0 is said of the node. */
static void drop_place(struct why *why)
{
	char *behind = strncmp(why->text, "operator 0 ", 11) == 0 ? strstr(why->text, "): ") : NULL;

	if (behind)
		memmove(why->text, behind + 3, strlen(behind + 3) + 1);
}

int engine_check_node(struct tfl_context *context, const struct tfl_node *node, int32_t code,
		      const struct options *options, struct why *why)
{
	const struct nodes nodes = { .list = &node,
				     .codes = &code,
				     .count = 1,
				     .outputs = node->outputs->data,
				     .output_count = (uint32_t)node->outputs->size };
	struct program *program;
	int err;

	for (int i = 0; i < node->outputs->size; i++) {
		int t = node->outputs->data[i];

		if (t >= 0 && (context->tensors[t].allocation_type == TFL_MMAP_RO ||
			       context->tensors[t].allocation_type == TFL_PERSISTENT_RO))
			return why_fail(why, -EOPNOTSUPP, "an output is constant");
	}
	err = program_new(context, &nodes, options, &program, why);
	if (err)
		drop_place(why);
	program_free(program);
	return err;
}

/* ------------------------------------------------------------------------ planning */

/* A program can resize inputs so that some operators, or all, have nothing to do. */
static bool writes_nothing(const struct tfl_context *context, const struct tfl_node *node)
{
	for (int i = 0; i < node->outputs->size; i++)
		if (node->outputs->data[i] >= 0 && context->tensors[node->outputs->data[i]].bytes)
			return false;
	return true;
}

static int check_sizes(const struct tfl_context *context, const struct op *op, struct why *why)
{
	for (int i = 0; i < op->node.outputs->size; i++) {
		int t = op->node.outputs->data[i];
		const char *name = t >= 0 ? context->tensors[t].name : NULL;

		if (t >= 0 && context->tensors[t].allocation_type == TFL_DYNAMIC)
			return why_fail(why, -EOPNOTSUPP,
					"%s: tensor %d \"%.100s\" has become dynamic", op->name, t,
					name ? name : "");
	}
	return 0;
}

/* @program: out: NULL: there is nothing to compute */
static int make_program(struct tfl_context *context, struct partition *p, struct program **program,
			struct why *why)
{
	const struct tfl_node **list = calloc((size_t)p->op_count + 1, sizeof(*list));
	int32_t *codes = calloc((size_t)p->op_count + 1, sizeof(*codes));
	struct nodes nodes = {
		.list = list, .codes = codes, .outputs = p->outputs, .output_count = p->output_count
	};
	int err = list && codes ? 0 : why_fail(why, -ENOMEM, "out of memory");

	*program = NULL;
	for (uint32_t i = 0; i < p->op_count && !err; i++) {
		const struct op *op = &p->ops[i];

		err = check_sizes(context, op, why);
		if (err || writes_nothing(context, &op->node))
			continue;
		list[nodes.count] = &op->node;
		codes[nodes.count++] = op->code;
	}
	if (!err && nodes.count)
		err = program_new(context, &nodes, &p->delegate->options, program, why);
	free(list);
	free(codes);
	return err;
}

/* For the figures: what is in the arena, now and then. */
static int list_planned(struct partition *p, const struct npuplan_graph *graph)
{
	free(p->planned);
	p->planned_count = 0;
	p->planned = calloc((size_t)graph->tensor_count + 1, sizeof(*p->planned));
	for (uint32_t t = 0; p->planned && t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (!(tensor->flags & (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL)))
			p->planned[p->planned_count++] =
				(struct planned){ .index = p->program->tensors[t],
						  .bytes = tensor->size,
						  .kind = tensor->kind };
	}
	return p->planned ? 0 : -ENOMEM;
}

/* Another piece of a tensor to be copied before an inference, or after it. */
static int add_copy(struct copies *copies, const struct memory *m, const struct npumem_range *range,
		    int tensor)
{
	void *memory = npumem_range_address(range, &m->maps);
	struct copy *list;

	if (!memory || tensor < 0)
		return 0;
	list = grow_by_one(copies->list, copies->count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	copies->list = list;
	list[copies->count++] = (struct copy){
		.tensor = tensor, .first = range->first, .length = range->length, .memory = memory
	};
	return 0;
}

static int add_copies(struct copies *copies, const struct partition *p, struct npumem_range *ranges,
		      uint32_t count, struct why *why)
{
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		err = add_copy(copies, p->memory, &ranges[i],
			       p->program->tensors[ranges[i].tensor]);
	free(ranges);
	return err ? why_fail(why, err, "out of memory") : 0;
}

static int find_inputs(struct partition *p, struct why *why)
{
	struct npumem_error error = { 0 };
	struct npumem_range *ranges;
	uint32_t count;
	int err;

	err = npumem_layout_entry(p->memory->layout, 0, NPUMEM_NONE, &ranges, &count, &error);
	/* Of constants alone something can be computed, too. */
	if (err == -ENOENT)
		return 0;
	return err ? why_fail(why, err, "%s", error.text) :
		     add_copies(&p->in, p, ranges, count, why);
}

static int find_outputs(struct partition *p, struct why *why)
{
	const struct npuplan_graph *graph = p->program->graph;
	struct npumem_error error = { 0 };
	int err = 0;

	for (uint32_t t = 0; t < graph->tensor_count && !err; t++) {
		struct npumem_range *ranges;
		uint32_t count;

		if (graph->tensors[t].kind != NPUMEM_TENSOR_OUTPUT &&
		    graph->tensors[t].kind != NPUMEM_TENSOR_STATE)
			continue;
		err = npumem_layout_exit(p->memory->layout, 0, t, &ranges, &count, &error);
		err = err ? why_fail(why, err, "%s", error.text) :
			    add_copies(&p->out, p, ranges, count, why);
	}
	return err;
}

void engine_fini(struct partition *p)
{
	memory_free(p->memory);
	program_free(p->program);
	free(p->in.list);
	free(p->out.list);
	p->memory = NULL;
	p->program = NULL;
	p->in = p->out = (struct copies){ 0 };
}

static int plan(struct partition *p, void *blob, size_t size, struct why *why)
{
	const struct npuplan_graph *graph = p->program->graph;
	const struct memory_args args = { .graph = blob,
					  .graph_size = size,
					  .tensor_count = graph->tensor_count,
					  .program = p->program };
	int err = memory_new(p->delegate->enforcer, &args, &p->memory, why);

	if (!err)
		err = find_inputs(p, why);
	if (!err)
		err = find_outputs(p, why);
	if (!err && list_planned(p, graph))
		err = why_fail(why, -ENOMEM, "out of memory");
	return err;
}

int engine_plan(struct tfl_context *context, struct partition *p, bool *again, struct why *why)
{
	struct npuplan_error error = { 0 };
	struct program *program = NULL;
	void *blob = NULL;
	size_t size = 0;
	int err;

	*again = false;
	err = make_program(context, p, &program, why);
	if (program) {
		err = npuplan_graph_write(program->graph, &blob, &size, &error);
		if (err)
			why_fail(why, err, "%s", error.text);
	}
	p->empty = !err && !program;
	/* What was planned is of other sizes, perhaps, and must not be run. */
	if (err || !program) {
		program_free(program);
		engine_fini(p);
		return err;
	}
	/* Nothing has another size or shape, and weights do not change. */
	if (p->memory && memory_is_of(p->memory, blob, size) &&
	    program_is_same(p->program, program)) {
		program_free(program);
		free(blob);
		return 0;
	}
	engine_fini(p);
	p->program = program;
	*again = true;
	err = plan(p, blob, size, why);
	if (err)
		engine_fini(p);
	return err;
}

/* Nothing lasts in the arena from one inference to the next. */
int engine_take(struct partition *p, struct memory *better, struct why *why)
{
	struct memory *old = p->memory;
	struct copies in = p->in, out = p->out;
	int err;

	p->memory = better;
	p->in = p->out = (struct copies){ 0 };
	err = find_inputs(p, why);
	if (!err)
		err = find_outputs(p, why);
	if (err) {
		free(p->in.list);
		free(p->out.list);
		p->memory = old;
		p->in = in;
		p->out = out;
		return err;
	}
	free(in.list);
	free(out.list);
	memory_free(old);
	return 0;
}

/* ------------------------------------------------------------------------ invoking */

/* The runtime's bytes that a copy is of. */
static char *bytes_of(const struct tfl_context *context, const struct copy *copy, int *err,
		      struct why *why)
{
	const struct tfl_tensor *t = &context->tensors[copy->tensor];

	if (t->data.raw && copy->first + copy->length <= t->bytes)
		return (char *)t->data.raw + copy->first;
	*err = why_fail(why, -EINVAL, "tensor %d \"%.100s\" has no memory", copy->tensor,
			t->name ? t->name : "");
	return NULL;
}

int engine_invoke(struct tfl_context *context, struct partition *p, struct why *why)
{
	const struct enforcer_ops *ops = p->delegate->enforcer->ops;
	int err;

	if (p->empty)
		return 0;
	if (!p->memory)
		return why_fail(why, -EINVAL,
				"the operators have no memory: allocating it has failed");
	improve(p);
	err = ops->begin(p->memory->enforced, why);
	for (uint32_t i = 0; i < p->in.count && !err; i++) {
		const char *from = bytes_of(context, &p->in.list[i], &err, why);

		if (from)
			memcpy(p->in.list[i].memory, from, p->in.list[i].length);
	}
	if (!err)
		err = ops->run(p->memory->enforced, why);
	for (uint32_t i = 0; i < p->out.count && !err; i++) {
		char *to = bytes_of(context, &p->out.list[i], &err, why);

		if (to)
			memcpy(to, p->out.list[i].memory, p->out.list[i].length);
	}
	return err ? err : enforcer_end(p->delegate->enforcer, p->memory->enforced, why);
}
