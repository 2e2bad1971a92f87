// SPDX-License-Identifier: MIT
/*
 * The runtime's node that stands for a partition: it prepares and invokes the borrowed kernels, one
 * after the other, in memory that was planned, and asks before each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delegate.h"
#include "npumem.h"
#include "operators.h"

/* Say it where the program looks for the runtime's own errors. */
static int report(struct tfl_context *context, const struct why *why)
{
	context->report_error(context, "npumem: %s", why->text);
	return TFL_DELEGATE_ERROR;
}

/* ------------------------------------------------------------ init and free */

static struct tfl_ints *copy_ints(const struct tfl_ints *list)
{
	size_t size = list ? (size_t)list->size : 0;
	struct tfl_ints *copy = malloc(sizeof(*copy) + size * sizeof(int));

	if (!copy)
		return NULL;
	copy->size = (int)size;
	for (size_t i = 0; i < size; i++)
		copy->data[i] = list->data[i];
	return copy;
}

/* The runtime's vector of nodes moves, so what it points to is copied while it may be asked. */
static int borrow(struct tfl_context *context, struct op *op, int index, struct why *why)
{
	struct tfl_registration *registration;
	struct tfl_node *node;
	int err = order_node(context, index, &node, &registration, why);

	if (err)
		return err;
	op->node = *node;
	op->node.temporaries = copy_ints(node->temporaries);
	op->prepare = registration->prepare;
	op->invoke = registration->invoke;
	op->code = registration->builtin_code;
	op->index = index;
	snprintf(op->name, sizeof(op->name), "%s, node %d", operator_name(op->code).s, index);
	return op->node.temporaries ? 0 : why_fail(why, -ENOMEM, "out of memory");
}

static void unlink_partition(struct partition *p)
{
	struct partition **at = &p->delegate->partitions;

	while (*at && *at != p)
		at = &(*at)->next;
	if (*at)
		*at = p->next;
}

static bool is_placed(const struct partition *p, size_t tensor)
{
	if (tensor < p->tensor_count && p->number_of[tensor] != NPUMEM_NONE)
		return true;
	for (uint32_t i = 0; i < p->kept_count; i++)
		if ((size_t)p->kept[i].index == tensor)
			return true;
	return false;
}

/*
 * Tensors that have no place, or all, go back to the runtime, which gives them memory when it
 * allocates again.
 */
static void give_back(struct tfl_context *context, struct partition *p, bool all)
{
	struct delegate *d = p->delegate;

	for (size_t i = 0; i < d->tensor_count && i < context->tensors_size; i++) {
		struct tfl_tensor *t = &context->tensors[i];

		if (d->holder[i] != p || (!all && is_placed(p, i)))
			continue;
		if (t->allocation_type == TFL_CUSTOM) {
			t->allocation_type = d->holding[i] == HOLDING_KEPT ? TFL_ARENA_PERSISTENT :
									     TFL_ARENA;
			t->data.raw = NULL;
		}
		d->holder[i] = NULL;
		d->holding[i] = HOLDING_NOT;
	}
}

static void free_bounds(struct partition *p)
{
	for (uint32_t i = 0; i < p->bound_count; i++)
		bound_unmap(&p->bounds[i]);
	free(p->bounds);
	p->bounds = NULL;
	p->bound_count = 0;
}

static void free_partition(struct tfl_context *context, void *data)
{
	struct partition *p = data;
	struct delegate *d;

	if (!p)
		return;
	d = p->delegate;
	give_back(context, p, true);
	unlink_partition(p);
	engine_fini(p);
	for (uint32_t i = 0; i < p->op_count; i++)
		free(p->ops[i].node.temporaries);
	for (uint32_t i = 0; i < p->kept_count; i++)
		free(p->kept[i].memory);
	free(p->kept);
	free_bounds(p);
	free(p->ops);
	free(p->outputs);
	free(p->planned);
	free(p->number_of);
	free(p->op_of);
	free(p);
	if (d->destroyed && !d->partitions)
		delegate_retire(d);
}

static int copy_outputs(struct partition *p, const struct tfl_ints *outputs)
{
	p->outputs = calloc((size_t)outputs->size + 1, sizeof(*p->outputs));
	if (!p->outputs)
		return -ENOMEM;
	p->output_count = (uint32_t)outputs->size;
	for (int i = 0; i < outputs->size; i++)
		p->outputs[i] = outputs->data[i];
	return 0;
}

static void *init(struct tfl_context *context, const char *buffer, size_t size)
{
	const struct tfl_delegate_params *params = (const void *)buffer;
	struct partition *p = calloc(1, sizeof(*p));
	struct why why = { .text = "out of memory" };
	int err = p ? 0 : -ENOMEM;

	if (!err) {
		p->delegate = (struct delegate *)params->delegate;
		p->next = p->delegate->partitions;
		p->delegate->partitions = p;
		p->ops = calloc((size_t)params->nodes->size + 1, sizeof(*p->ops));
		err = p->ops ? copy_outputs(p, params->outputs) : -ENOMEM;
	}
	for (int i = 0; !err && i < params->nodes->size; i++) {
		p->op_count++;
		err = borrow(context, &p->ops[i], params->nodes->data[i], &why);
	}
	if (err) {
		report(context, &why);
		free_partition(context, p);
		return NULL;
	}
	return p;
}

/* -------------------------------------------------------------------- memory */

static void hold(struct delegate *d, struct tfl_tensor *t, int index, struct partition *p,
		 enum holding holding, void *memory, uint64_t bytes)
{
	t->allocation_type = TFL_CUSTOM;
	t->data.raw = memory;
	t->bytes = bytes;
	d->holder[index] = p;
	d->holding[index] = (uint8_t)holding;
}

/*
 * Give each tensor its address. The runtime may take it away between two inferences: 2.14 clears
 * temporaries that no node has.
 */
static void bind(struct tfl_context *context, struct partition *p)
{
	struct delegate *d = p->delegate;

	for (uint32_t i = 0; i < p->bound_count; i++)
		hold(d, &context->tensors[p->bounds[i].index], p->bounds[i].index, p,
		     HOLDING_PLANNED, p->bounds[i].address, p->bounds[i].bytes);
	for (uint32_t i = 0; i < p->planned_count; i++) {
		const struct planned *planned = &p->planned[i];

		if (planned->external)
			continue;
		hold(d, &context->tensors[planned->index], planned->index, p, HOLDING_PLANNED,
		     (uint8_t *)p->memory->maps.arena + p->memory->offsets[i], planned->bytes);
	}
	for (uint32_t i = 0; i < p->kept_count; i++)
		hold(d, &context->tensors[p->kept[i].index], p->kept[i].index, p, HOLDING_KEPT,
		     p->kept[i].memory, p->kept[i].bytes);
}

static uint64_t sum_of(const struct partition *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->planned_count; i++)
		sum += p->planned[i].bytes;
	return sum;
}

static void say_summary(const struct partition *p)
{
	const struct memory *m = p->memory;

	say("%" PRIu32 " of %" PRIu32 " operators, arena %" PRIu64 " bytes, bound %" PRIu64
	    ", tensors %" PRIu64 ", planner %.31s, %s in %" PRIu64 " us, enforced by %s",
	    p->op_count, p->delegate->operators, (uint64_t)m->info.arena_size,
	    (uint64_t)m->info.lower_bound, sum_of(p), m->info.planner,
	    m->cached ? "from the cache" : "planned", m->plan_ns / 1000, m->enforcer->ops->name);
}

/* They are bound to nothing at first, and again when another graph has been made. */
static int make_bounds(struct partition *p, struct why *why)
{
	p->bounds = calloc(p->planned_count + (size_t)1, sizeof(*p->bounds));
	if (!p->bounds)
		return why_fail(why, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < p->planned_count; i++)
		if (p->planned[i].external)
			p->bounds[p->bound_count++] = (struct bound){
				.index = p->planned[i].index,
				.number = i,
				.bytes = p->planned[i].bytes,
				.fd = -1,
			};
	return 0;
}

static int check_places(const struct partition *p, const struct memory *memory, struct why *why)
{
	for (uint32_t i = 0; i < p->planned_count; i++)
		if (!p->planned[i].external && memory->offsets[i] == UINT64_MAX)
			return why_fail(why, -EOPNOTSUPP,
					"the plan has no place for tensor %" PRIu32, i);
	return 0;
}

static int plan_memory(struct tfl_context *context, struct partition *p, struct why *why)
{
	struct delegate *d = p->delegate;
	struct memory_args args = { 0 };
	size_t size = 0;
	void *graph;
	int err;

	err = graph_build(p, context, &graph, &size, why);
	if (err)
		return err;
	if (graph && p->memory && memory_is_of(p->memory, graph, size)) {
		free(graph);
		return 0;
	}
	free_bounds(p);
	memory_free(p->memory);
	p->memory = NULL;
	if (!graph)
		return 0;
	args.graph = graph;
	args.graph_size = size;
	args.tensor_count = p->planned_count;
	args.in_order = p->variables;
	err = memory_new(d->enforcer, &args, &p->memory, why);
	if (!err)
		err = check_places(p, p->memory, why);
	if (!err)
		err = make_bounds(p, why);
	if (err) {
		memory_free(p->memory);
		p->memory = NULL;
		return err;
	}
	if (d->options.verbose)
		say_summary(p);
	return 0;
}

static int plan_engine(struct tfl_context *context, struct partition *p, struct why *why)
{
	bool again;
	int err = engine_plan(context, p, &again, why);

	if (!err && again && p->delegate->options.verbose)
		say_summary(p);
	return err;
}

/* The tensors that another graph had, and this one has not, are the runtime's again. */
static int prepare(struct tfl_context *context, struct tfl_node *node)
{
	struct partition *p = node->user_data;
	struct why why;
	bool computes;
	int err = 0;

	if (!p)
		return TFL_DELEGATE_ERROR;
	computes = p->delegate->options.engine == ENGINE_COMPUTE;
	for (uint32_t i = 0; i < p->op_count; i++) {
		struct op *op = &p->ops[i];
		int status;

		if (headroom_ensure(p->delegate, context, &why))
			return report(context, &why);
		status = op->prepare ? op->prepare(context, &op->node) : TFL_OK;
		if (status != TFL_OK)
			return status;
	}
	if (delegate_grow(p->delegate, context->tensors_size))
		err = why_fail(&why, -ENOMEM, "out of memory");
	if (!err && computes)
		err = plan_engine(context, p, &why);
	else if (!err)
		err = plan_memory(context, p, &why);
	give_back(context, p, err != 0);
	if (err)
		return report(context, &why);
	if (!computes)
		bind(context, p);
	return TFL_OK;
}

/*
 * The program has written the model's inputs, now or before an earlier inference; nothing else
 * lasts in the arena.
 */
int partition_take(struct partition *p, struct memory *better, struct why *why)
{
	struct memory *old = p->memory;
	int err = check_places(p, better, why);

	if (err)
		return err;
	for (uint32_t i = 0; i < p->planned_count; i++) {
		const struct planned *planned = &p->planned[i];

		if (planned->kind == NPUMEM_TENSOR_INPUT || planned->kind == NPUMEM_TENSOR_STATE)
			memcpy((uint8_t *)better->maps.arena + better->offsets[i],
			       (uint8_t *)old->maps.arena + old->offsets[i], planned->bytes);
	}
	p->memory = better;
	memory_free(old);
	return 0;
}

/* -------------------------------------------------------------------- invoke */

static int run_op(struct tfl_context *context, struct op *op, struct why *why, int *status)
{
	*status = op->invoke(context, &op->node);
	return *status == TFL_OK ? 0 : why_fail(why, -EIO, "%s has failed", op->name);
}

int partition_step(struct tfl_context *context, struct partition *p, uint32_t position,
		   struct why *why, int *status)
{
	struct memory *m = p->memory;
	uint32_t step = m->steps[position];
	int err;

	if (step >= p->step_count)
		return why_fail(why, -EINVAL, "the plan has a step %" PRIu32 ", the graph has not",
				step);
	err = m->enforcer->ops->step(m->enforced, position, why);
	return err ? err : run_op(context, &p->ops[p->op_of[step]], why, status);
}

/* Who fills the dma-bufs is waited for; @count: out: how many are being read. */
static int begin_reading(const struct partition *p, uint32_t *count, struct why *why)
{
	for (*count = 0; *count < p->bound_count; ++*count) {
		const struct bound *b = &p->bounds[*count];
		int err = b->address ? bound_begin(b, why) :
				       why_fail(why, -EINVAL,
						"tensor %d is bound to nothing "
						"(npumem_tflite_bind_input())",
						b->index);

		if (err)
			return err;
	}
	return 0;
}

static int run_steps(struct tfl_context *context, struct partition *p, struct why *why, int *status)
{
	int err = 0;

	/* What accesses nothing that is planned needs nothing of it either. */
	for (uint32_t i = 0; i < p->op_count && !err; i++)
		if (p->ops[i].step == NPUMEM_NONE)
			err = run_op(context, &p->ops[i], why, status);
	if (!err && p->memory)
		err = p->memory->enforcer->ops->begin(p->memory->enforced, why);
	for (uint32_t i = 0; !err && p->memory && i < p->memory->step_count; i++)
		err = partition_step(context, p, i, why, status);
	if (!err && p->memory)
		err = enforcer_end(p->memory->enforcer, p->memory->enforced, why);
	return err;
}

int partition_invoke(struct tfl_context *context, struct partition *p)
{
	int status = TFL_DELEGATE_ERROR, err;
	uint32_t reading;
	struct why why;

	if (p->step_count && !p->memory) {
		why_fail(&why, -EINVAL, "the operators have no memory: allocating it has failed");
		return report(context, &why);
	}
	improve(p);
	bind(context, p);
	err = begin_reading(p, &reading, &why);
	if (!err)
		err = run_steps(context, p, &why, &status);
	while (reading > 0) {
		struct why later;
		int code = bound_end(&p->bounds[--reading], &later);

		if (code && !err) {
			err = code;
			why = later;
		}
	}
	if (!err)
		return TFL_OK;
	report(context, &why);
	return status == TFL_OK ? TFL_DELEGATE_ERROR : status;
}

static int bind_input(struct partition *p, struct bound *b, int dma_buf, uint64_t offset,
		      struct why *why)
{
	const struct enforcer_ops *ops = p->memory->enforcer->ops;
	int err;

	bound_unmap(b);
	err = ops->bind ? ops->bind(p->memory->enforced, b->number, -1, 0, why) : 0;
	if (!err)
		err = bound_map(b, dma_buf, offset, why);
	if (!err && ops->bind)
		err = ops->bind(p->memory->enforced, b->number, dma_buf, offset, why);
	if (err)
		bound_unmap(b);
	return err;
}

int partition_bind(struct delegate *d, int index, int dma_buf, uint64_t offset, struct why *why)
{
	int err = -ENOENT;

	for (struct partition *p = d->partitions; p; p = p->next)
		for (uint32_t i = 0; p->memory && i < p->bound_count; i++)
			if (p->bounds[i].index == index) {
				err = bind_input(p, &p->bounds[i], dma_buf, offset, why);
				bind(d->context, p);
				return err;
			}
	return why_fail(why, err, "tensor %d is no input that is to be bound (option \"inputs\")",
			index);
}

static int invoke(struct tfl_context *context, struct tfl_node *node)
{
	struct partition *p = node->user_data;
	struct why why;

	if (p->delegate->options.engine == ENGINE_BORROW)
		return partition_invoke(context, p);
	return engine_invoke(context, p, &why) ? report(context, &why) : TFL_OK;
}

struct tfl_registration_padded partition_registration(void)
{
	struct tfl_registration_padded registration;

	memset(&registration, 0, sizeof(registration));
	registration.known.init = init;
	registration.known.free = free_partition;
	registration.known.prepare = prepare;
	registration.known.invoke = invoke;
	registration.known.builtin_code = TFL_OP_DELEGATE;
	registration.known.custom_name = "npumem";
	registration.known.version = 1;
	return registration;
}
