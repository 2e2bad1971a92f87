// SPDX-License-Identifier: MIT
/*
 * A partition as a graph: each operator is a step that accesses whole tensors. Temporaries of
 * kernels are tensors that only their step writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../grow/grow.h"
#include "delegate.h"
#include "npumem.h"
#include "operators.h"

/* The runtime's own alignment of tensors, which kernels rely on. */
#define ALIGNMENT 64

/* struct build - @accesses: of the step at hand, @access_count; one tensor, one tile */
struct build {
	struct partition *p;
	struct tfl_context *context;
	struct npumem_builder *builder;
	struct npumem_error error;
	struct why *why;
	struct npumem_access *accesses;
	uint32_t access_count;
};

/* -------------------------------------------------------------------- tensors */

static uint32_t *number_of(const struct build *b, int index)
{
	return &b->p->number_of[index];
}

/* The partition has a place for the tensor, or may give it one. */
static bool is_ours(const struct build *b, int index)
{
	const struct delegate *d = b->p->delegate;

	return !d->holder[index] || d->holder[index] == b->p;
}

/* What the tensor was before it was given memory here: the kernel may have said it anew. */
static int allocation_of(const struct build *b, int index)
{
	const struct delegate *d = b->p->delegate;
	int type = b->context->tensors[index].allocation_type;

	if (type != TFL_CUSTOM || d->holder[index] != b->p)
		return type;
	return d->holding[index] == HOLDING_KEPT ? TFL_ARENA_PERSISTENT : TFL_ARENA;
}

/* Another number for the graph's tensors; its only tile has the same number. */
static int add_tensor(struct build *b, int index, uint32_t kind, bool external)
{
	const struct tfl_tensor *t = &b->context->tensors[index];
	const struct npumem_tensor_args args = {
		.name = t->name,
		.size = t->bytes,
		.align = ALIGNMENT,
		.kind = kind,
		.flags = external ? NPUMEM_TENSOR_FLAG_EXTERNAL : 0,
	};
	const struct npumem_region whole = npumem_region_whole(t->bytes);
	struct partition *p = b->p;
	int64_t err;

	err = npumem_builder_add_tensor(b->builder, &args, &b->error);
	if (err >= 0)
		err = npumem_builder_add_tile(b->builder, (uint32_t)err, &whole, &b->error);
	if (err < 0)
		return why_fail(b->why, (int)err, "%s", b->error.text);
	*number_of(b, index) = p->planned_count;
	p->planned[p->planned_count++] = (struct planned){
		.index = index, .bytes = t->bytes, .kind = kind, .external = external
	};
	return 0;
}

/* The entry of a tensor, or a new one without memory. NULL: out of memory. */
static struct kept *find_kept(struct partition *p, int index)
{
	struct kept *kept;

	for (uint32_t i = 0; i < p->kept_count; i++)
		if (p->kept[i].index == index)
			return &p->kept[i];
	kept = grow_by_one(p->kept, p->kept_count, sizeof(*kept));
	if (!kept)
		return NULL;
	p->kept = kept;
	kept[p->kept_count] = (struct kept){ .index = index };
	return &kept[p->kept_count++];
}

/* What was kept of the graph before, and is not of this one. */
static void drop_kept(struct partition *p)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->kept_count; i++) {
		if (p->kept[i].used)
			p->kept[count++] = p->kept[i];
		else
			free(p->kept[i].memory);
	}
	p->kept_count = count;
}

/* What is there already stays: the kernel will not compute it again. */
static int add_kept(struct build *b, int index)
{
	uint64_t bytes = b->context->tensors[index].bytes;
	struct kept *kept = find_kept(b->p, index);

	if (!kept)
		return why_fail(b->why, -ENOMEM, "out of memory");
	kept->used = true;
	if (kept->bytes == bytes)
		return 0;
	free(kept->memory);
	kept->bytes = 0;
	kept->memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
	if (!kept->memory)
		return why_fail(b->why, -ENOMEM, "out of memory");
	memset(kept->memory, 0, bytes);
	kept->bytes = bytes;
	return 0;
}

/* ------------------------------------------------------------------- accesses */

/* The number of the access, which is there only once. */
static uint32_t add_access(struct build *b, uint32_t tensor, uint32_t mode)
{
	for (uint32_t i = 0; i < b->access_count; i++)
		if (b->accesses[i].tile == tensor && b->accesses[i].mode == mode)
			return i;
	b->accesses[b->access_count] =
		(struct npumem_access){ .tile = tensor, .mode = mode, .inplace = NPUMEM_NONE };
	return b->access_count++;
}

/*
 * The runtime keeps the model's inputs, so that a program may run it again without writing them
 * again: as state they live through all of an inference.
 */
static uint32_t input_kind(const struct partition *p)
{
	const struct delegate *d = p->delegate;

	return d->options.reuse_inputs && p->op_count == d->operators ? NPUMEM_TENSOR_INPUT :
									NPUMEM_TENSOR_STATE;
}

/* Operators that are left to the runtime would have to be waited for, and are not. */
static int add_bound(struct build *b, int index)
{
	const struct tfl_tensor *t = &b->context->tensors[index];

	if (b->p->op_count != b->p->delegate->operators)
		return why_fail(b->why, -EOPNOTSUPP,
				"tensor %d \"%.100s\" cannot be bound: not all operators are "
				"claimed (option \"inputs\")",
				index, t->name ? t->name : "");
	return add_tensor(b, index, NPUMEM_TENSOR_INPUT, true);
}

/*
 * Inputs that others write lie where these have them; so do weights and variables, and all inputs
 * that a program may have written before there is a plan.
 */
static int add_input(struct build *b, int index)
{
	const struct tfl_tensor *t = &b->context->tensors[index];
	int err = 0;

	if (t->is_variable)
		b->p->variables = true;
	if (*number_of(b, index) == NPUMEM_NONE) {
		if (b->p->delegate->produced[index] || !is_ours(b, index) || !t->bytes ||
		    t->is_variable || allocation_of(b, index) != TFL_ARENA)
			return 0;
		if (b->p->delegate->options.bound_inputs)
			err = add_bound(b, index);
		else if (b->p->delegate->unsettled)
			return 0;
		else
			err = add_tensor(b, index, input_kind(b->p), false);
	}
	if (!err)
		add_access(b, *number_of(b, index), NPUMEM_ACCESS_READ);
	return err;
}

static bool is_output(const struct partition *p, int index)
{
	for (uint32_t i = 0; i < p->output_count; i++)
		if (p->outputs[i] == index)
			return true;
	return false;
}

/* An output or a temporary of the step at hand. */
static int add_written(struct build *b, const struct op *op, int index)
{
	const struct tfl_tensor *t = &b->context->tensors[index];
	int err;

	if (!t->bytes || t->is_variable)
		return 0;
	switch (allocation_of(b, index)) {
	case TFL_ARENA:
		break;
	case TFL_ARENA_PERSISTENT:
		return add_kept(b, index);
	case TFL_DYNAMIC:
		return why_fail(b->why, -EOPNOTSUPP, "%s: tensor %d \"%.100s\" has become dynamic",
				op->name, index, t->name ? t->name : "");
	default:
		return 0;
	}
	if (*number_of(b, index) == NPUMEM_NONE) {
		err = add_tensor(b, index,
				 is_output(b->p, index) ? NPUMEM_TENSOR_OUTPUT :
							  NPUMEM_TENSOR_INTERMEDIATE,
				 false);
		if (err)
			return err;
	}
	add_access(b, *number_of(b, index), NPUMEM_ACCESS_WRITE);
	return 0;
}

/*
 * An operator that goes byte by byte may write where it reads, if nobody needs that any more. Of
 * inputs of other sizes the kernel may go another way.
 */
static void allow_inplace(struct build *b, const struct op *op)
{
	const struct tfl_tensor *tensors = b->context->tensors;
	const struct tfl_ints *inputs = op->node.inputs;
	const struct partition *p = b->p;
	uint64_t bytes;

	if (!operator_is_inplace(op->code) || op->node.outputs->size != 1 || !b->access_count ||
	    b->accesses[b->access_count - 1].mode != NPUMEM_ACCESS_WRITE)
		return;
	bytes = tensors[op->node.outputs->data[0]].bytes;
	/* The second input of those that only rearrange is a shape. */
	if (op->code == TFL_OP_ADD || op->code == TFL_OP_MUL || op->code == TFL_OP_SUB)
		for (int i = 0; i < inputs->size; i++)
			if (inputs->data[i] < 0 || tensors[inputs->data[i]].bytes != bytes)
				return;
	for (uint32_t i = 0; i < b->access_count; i++) {
		struct npumem_access *write = &b->accesses[b->access_count - 1];

		if (b->accesses[i].mode == NPUMEM_ACCESS_READ && inputs->data[0] >= 0 &&
		    p->planned[b->accesses[i].tile].index == inputs->data[0] &&
		    !p->planned[b->accesses[i].tile].external &&
		    p->planned[b->accesses[i].tile].bytes == bytes)
			write->inplace = i;
	}
}

/* ----------------------------------------------------------------------- steps */

static size_t length(const struct tfl_ints *list)
{
	return list ? (size_t)list->size : 0;
}

/* Kernels may have other temporaries each time that they are prepared. */
static int add_list(struct build *b, struct op *op, const struct tfl_ints *list, bool written)
{
	int err = 0;

	for (size_t i = 0; i < length(list) && !err; i++) {
		int t = list->data[i];

		if (t == TFL_OPTIONAL)
			continue;
		if (t < 0 || (size_t)t >= b->p->tensor_count)
			return why_fail(b->why, -EINVAL, "%s: there is no tensor %d", op->name, t);
		err = written ? add_written(b, op, t) : add_input(b, t);
	}
	return err;
}

static int fill_step(struct build *b, struct op *op, uint32_t number)
{
	struct partition *p = b->p;
	int64_t step;
	int err;

	err = add_list(b, op, op->node.inputs, false);
	if (!err)
		err = add_list(b, op, op->node.temporaries, true);
	if (!err)
		err = add_list(b, op, op->node.outputs, true);
	if (err || !b->access_count)
		return err;
	allow_inplace(b, op);
	step = npumem_builder_add_step(b->builder, op->name, 0, (uint64_t)op->index, b->accesses,
				       b->access_count, &b->error);
	if (step < 0)
		return why_fail(b->why, (int)step, "%s", b->error.text);
	op->step = p->step_count;
	p->op_of[p->step_count++] = number;
	return 0;
}

static int add_step(struct build *b, uint32_t number)
{
	struct op *op = &b->p->ops[number];
	size_t count =
		length(op->node.inputs) + length(op->node.outputs) + length(op->node.temporaries);
	struct npumem_access *accesses = calloc(count + 1, sizeof(*accesses));
	int err;

	if (!accesses)
		return why_fail(b->why, -ENOMEM, "out of memory");
	op->step = NPUMEM_NONE;
	b->accesses = accesses;
	b->access_count = 0;
	err = fill_step(b, op, number);
	free(accesses);
	return err;
}

/* ----------------------------------------------------------------------- graph */

/* Room for all: nothing is planned that is not one of the model's tensors. */
static int begin(struct build *b)
{
	struct partition *p = b->p;
	size_t count = b->context->tensors_size;

	free(p->planned);
	free(p->number_of);
	free(p->op_of);
	p->planned_count = 0;
	p->step_count = 0;
	p->variables = false;
	p->tensor_count = count;
	for (uint32_t i = 0; i < p->kept_count; i++)
		p->kept[i].used = false;
	p->planned = calloc(count + 1, sizeof(*p->planned));
	p->number_of = malloc((count + 1) * sizeof(*p->number_of));
	p->op_of = calloc(p->op_count + (size_t)1, sizeof(*p->op_of));
	b->builder = npumem_builder_new();
	if (!p->planned || !p->number_of || !p->op_of || !b->builder)
		return why_fail(b->why, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		p->number_of[i] = NPUMEM_NONE;
	return 0;
}

int graph_build(struct partition *p, struct tfl_context *context, void **blob, size_t *size,
		struct why *why)
{
	struct build b = { .p = p, .context = context, .why = why };
	int err = begin(&b);

	*blob = NULL;
	for (uint32_t i = 0; i < p->op_count && !err; i++)
		err = add_step(&b, i);
	if (!err && p->step_count) {
		err = npumem_builder_finish(b.builder, blob, size, &b.error);
		if (err)
			why_fail(why, err, "%s", b.error.text);
	}
	npumem_builder_free(b.builder);
	drop_kept(p);
	return err;
}
