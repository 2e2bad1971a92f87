// SPDX-License-Identifier: MIT
/*
 * What the runtime takes for granted, and does not check. It runs operators in the order of the
 * file; but when it gives some up, it sorts them by who waits for whom, and goes astray where that
 * has no end, or where an output is left out. A handle's variable is nothing that one operator
 * waits for another for. And a tensor has one size, of whoever was prepared last: too small for
 * others that write it.
 */
#include <errno.h>
#include <stdlib.h>

#include "delegate.h"

/*
 * struct order
 * @writer: per tensor, 1 + position of the node that writes it; 0: none does
 * @assigned: per tensor that is a handle, the same of the last node that may write its variable
 */
struct order {
	struct tfl_context *context;
	const struct tfl_ints *plan;
	uint32_t *writer;
	uint32_t *assigned;
};

int order_node(struct tfl_context *context, int index, struct tfl_node **node,
	       struct tfl_registration **registration, struct why *why)
{
	*node = NULL;
	*registration = NULL;
	if (context->get_node_and_registration(context, index, node, registration) == TFL_OK &&
	    *node && *registration && (*node)->inputs && (*node)->outputs)
		return 0;
	return why_fail(why, -EINVAL, "node %d is not that of a known version of the runtime",
			index);
}

/* NULL: there is no such tensor, as where an optional one is left out. */
static uint32_t *writer_of(const struct order *o, int tensor)
{
	bool is_known = tensor >= 0 && (size_t)tensor < o->context->tensors_size;

	return is_known ? &o->writer[tensor] : NULL;
}

static int note_writes(const struct order *o, const struct tfl_node *node, int position,
		       struct why *why)
{
	for (int i = 0; i < node->outputs->size; i++) {
		uint32_t *writer = writer_of(o, node->outputs->data[i]);

		if (!writer)
			return why_fail(why, -EDOM, "output %d of node %d is no tensor", i,
					o->plan->data[position]);
		if (*writer)
			return why_fail(why, -EDOM, "tensor %d is written by nodes %d and %d",
					node->outputs->data[i], o->plan->data[*writer - 1],
					o->plan->data[position]);
		*writer = (uint32_t)position + 1;
	}
	return 0;
}

static int check_reads(const struct order *o, const struct tfl_node *node, int position,
		       struct why *why)
{
	for (int i = 0; i < node->inputs->size; i++) {
		const uint32_t *writer = writer_of(o, node->inputs->data[i]);

		if (writer && *writer > (uint32_t)position)
			return why_fail(why, -EDOM,
					"node %d reads tensor %d before node %d writes it",
					o->plan->data[position], node->inputs->data[i],
					o->plan->data[*writer - 1]);
	}
	return 0;
}

/*
 * Whoever takes a handle after its variable has been assigned could come before that once the
 * runtime has sorted. One that takes nothing else, and makes one tensor of it, only reads.
 */
static int check_variables(const struct order *o, const struct tfl_node *node, int position,
			   struct why *why)
{
	bool reads = node->inputs->size == 1 && node->outputs->size == 1;

	for (int i = 0; i < node->inputs->size; i++) {
		int tensor = node->inputs->data[i];

		if (!writer_of(o, tensor) || o->context->tensors[tensor].type != TFL_RESOURCE)
			continue;
		if (o->assigned[tensor])
			return why_fail(why, -EDOM,
					"node %d takes variable %d after node %d has assigned it",
					o->plan->data[position], tensor,
					o->plan->data[o->assigned[tensor] - 1]);
		if (!reads)
			o->assigned[tensor] = (uint32_t)position + 1;
	}
	return 0;
}

typedef int (*look)(const struct order *o, const struct tfl_node *node, int position,
		    struct why *why);

static int each_node(const struct order *o, look look_at, struct why *why)
{
	struct tfl_registration *registration;
	struct tfl_node *node;
	int err = 0;

	for (int i = 0; i < o->plan->size && !err; i++) {
		err = order_node(o->context, o->plan->data[i], &node, &registration, why);
		if (!err)
			err = look_at(o, node, i, why);
	}
	return err;
}

int order_check(struct tfl_context *context, const struct tfl_ints *plan, struct why *why)
{
	const struct order o = { .context = context,
				 .plan = plan,
				 .writer = calloc(context->tensors_size + 1, sizeof(*o.writer)),
				 .assigned =
					 calloc(context->tensors_size + 1, sizeof(*o.assigned)) };
	int err = o.writer && o.assigned ? each_node(&o, note_writes, why) :
					   why_fail(why, -ENOMEM, "out of memory");

	if (!err)
		err = each_node(&o, check_reads, why);
	if (!err)
		err = each_node(&o, check_variables, why);
	free(o.writer);
	free(o.assigned);
	return err;
}
