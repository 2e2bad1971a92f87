// SPDX-License-Identifier: MIT
/*
 * Which nodes have kernels that can run in planned memory. Sizes must be known before anything
 * runs, so each node is prepared here, in order, as the runtime would do it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delegate.h"
#include "operators.h"

/*
 * struct walk
 * @unsettled: per tensor, its size is known only when something has run
 * @left: nodes that are left to the runtime; @all: all of them, for one reason
 * @first: the first reason
 */
struct walk {
	struct delegate *delegate;
	struct tfl_context *context;
	bool *unsettled;
	bool all;
	size_t tensor_count;
	uint32_t left;
	struct why first;
};

/* ------------------------------------------------------------------- structs */

static size_t type_size(int type)
{
	switch (type) {
	case TFL_UINT8:
	case TFL_BOOL:
	case TFL_INT8:
		return 1;
	case TFL_INT16:
	case TFL_UINT16:
	case TFL_FLOAT16:
		return 2;
	case TFL_FLOAT32:
	case TFL_INT32:
	case TFL_UINT32:
		return 4;
	case TFL_INT64:
	case TFL_UINT64:
	case TFL_FLOAT64:
	case TFL_COMPLEX64:
		return 8;
	case TFL_COMPLEX128:
		return 16;
	default:
		return 0; /* not known, or not fixed */
	}
}

/* Whether a tensor's fields say something possible, and agree with each other. */
static bool is_tensor(const struct tfl_tensor *t)
{
	uint64_t bytes = type_size(t->type);

	if (t->type < 0 || t->type >= TFL_TYPES || t->allocation_type < 0 ||
	    t->allocation_type >= TFL_ALLOCATIONS || t->data_is_stale > 1 || t->is_variable > 1)
		return false;
	if (!t->dims)
		return t->bytes == 0 || t->allocation_type == TFL_NONE;
	if (t->dims->size < 0 || t->dims->size > TFL_MAX_DIMS)
		return false;
	for (int d = 0; d < t->dims->size; d++)
		if (t->dims->data[d] < -1 ||
		    __builtin_mul_overflow(bytes, (uint64_t)(uint32_t)t->dims->data[d], &bytes))
			return false;
	/* Of weights the bytes in the file are known to be those of the shape. */
	return t->allocation_type != TFL_MMAP_RO || t->sparsity || !type_size(t->type) ||
	       bytes == t->bytes;
}

static int check_structs(struct tfl_context *context, struct why *why)
{
	if (!context->tensors || context->tensors_size > (1u << 24) || !context->resize_tensor ||
	    !context->report_error || !context->get_node_and_registration ||
	    !context->replace_nodes)
		return why_fail(why, -EINVAL,
				"the runtime's context is not that of a known version");
	for (size_t i = 0; i < context->tensors_size; i++)
		if (!is_tensor(&context->tensors[i]))
			return why_fail(why, -EINVAL,
					"tensor %zu is not that of a known version of the runtime",
					i);
	return 0;
}

/* -------------------------------------------------------------------- reasons */

static const char *type_reason(int type)
{
	switch (type) {
	case TFL_STRING:
		return "holds strings";
	case TFL_RESOURCE:
		return "is a resource";
	case TFL_VARIANT:
		return "is a variant";
	default:
		return NULL;
	}
}

static const char *tensor_reason(const struct walk *w, int index)
{
	const struct tfl_tensor *t = &w->context->tensors[index];

	if (type_reason(t->type))
		return type_reason(t->type);
	if (t->allocation_type == TFL_DYNAMIC)
		return "is dynamic";
	if ((size_t)index < w->tensor_count && w->unsettled[index])
		return "has a size that is known only when others have run";
	return NULL;
}

/* The first tensor of a list that stands in the way. True: @why says what it is. */
static bool list_reason(const struct walk *w, const struct tfl_ints *list, struct why *why)
{
	for (int i = 0; list && i < list->size; i++) {
		int index = list->data[i];
		const char *reason;

		if (index == TFL_OPTIONAL)
			continue;
		if (index < 0 || (size_t)index >= w->context->tensors_size) {
			why_fail(why, 0, "there is no tensor %d", index);
			return true;
		}
		reason = tensor_reason(w, index);
		if (reason) {
			const char *name = w->context->tensors[index].name;

			why_fail(why, 0, "tensor %d \"%.100s\" %s", index, name ? name : "",
				 reason);
			return true;
		}
	}
	return false;
}

static bool is_constant(const struct tfl_tensor *t)
{
	return t->allocation_type == TFL_MMAP_RO || t->allocation_type == TFL_PERSISTENT_RO ||
	       (t->allocation_type == TFL_ARENA_PERSISTENT && !t->is_variable);
}

/* What is computed once, and then lasts, must not depend on what the plan has for a while. */
static bool lasting_reason(const struct walk *w, const struct tfl_node *node, struct why *why)
{
	const struct tfl_tensor *tensors = w->context->tensors;
	bool lasts = false, depends = false;

	for (int i = 0; i < node->outputs->size; i++)
		if (node->outputs->data[i] >= 0)
			lasts = lasts || is_constant(&tensors[node->outputs->data[i]]);
	for (int i = 0; i < node->inputs->size; i++)
		if (node->inputs->data[i] >= 0)
			depends = depends || !is_constant(&tensors[node->inputs->data[i]]);
	if (lasts && depends)
		why_fail(why, 0, "an output lasts, though its inputs do not");
	return lasts && depends;
}

static bool kernel_reason(const struct tfl_node *node, const struct tfl_registration *r,
			  struct why *why)
{
	const char *reason = NULL;

	if (node->delegate || r->builtin_code == TFL_OP_DELEGATE)
		reason = "it is another delegate's";
	else if (operator_runs_graphs(r->builtin_code))
		reason = "it runs other graphs";
	else if (!r->invoke)
		reason = "it has no kernel to borrow";
	/* So the runtime registers what it does not know; a node of its own says its name. */
	else if (r->builtin_code == TFL_OP_CUSTOM && !r->prepare && !r->init && !r->free)
		reason = "the runtime does not know it";
	if (reason)
		why_fail(why, 0, "%s", reason);
	return reason != NULL;
}

/* What the runtime does with every node whose inputs have a size: the outputs have one then. */
static bool prepare(const struct walk *w, struct tfl_node *node, const struct tfl_registration *r)
{
	if (operator_runs_graphs(r->builtin_code))
		return false;
	for (int i = 0; i < node->inputs->size; i++) {
		int t = node->inputs->data[i];

		if (t >= 0 && ((size_t)t >= w->tensor_count || w->unsettled[t] ||
			       w->context->tensors[t].allocation_type == TFL_DYNAMIC))
			return false;
	}
	return !r->prepare || r->prepare(w->context, node) == TFL_OK;
}

static void settle(const struct walk *w, const struct tfl_node *node, bool prepared)
{
	for (int i = 0; i < node->outputs->size; i++) {
		int t = node->outputs->data[i];

		if (t < 0 || (size_t)t >= w->tensor_count)
			continue;
		w->unsettled[t] = !prepared ||
				  w->context->tensors[t].allocation_type == TFL_DYNAMIC;
		w->delegate->unsettled |= w->unsettled[t];
	}
}

/* True: the node is left to the runtime, for the reason in @why. */
static bool node_reason(const struct walk *w, struct tfl_node *node,
			const struct tfl_registration *r, struct why *why)
{
	const struct options *options = &w->delegate->options;
	bool left = kernel_reason(node, r, why) || list_reason(w, node->inputs, why) ||
		    list_reason(w, node->outputs, why);
	bool prepared = prepare(w, node, r);

	settle(w, node, prepared);
	if (left)
		return true;
	if (!prepared) {
		why_fail(why, 0, "its kernel cannot be prepared");
		return true;
	}
	if (list_reason(w, node->outputs, why))
		return true;
	if (options->engine == ENGINE_COMPUTE)
		return engine_check_node(w->context, node, r->builtin_code, options, why) != 0;
	return list_reason(w, node->temporaries, why) || lasting_reason(w, node, why);
}

/* ---------------------------------------------------------------------- walk */

static void leave(struct walk *w, int index, const struct tfl_registration *r,
		  const struct why *why)
{
	if (w->delegate->options.verbose >= 2)
		say("node %d (%s) is left to TensorFlow Lite: %s", index,
		    operator_name(r->builtin_code).s, why->text);
	if (!w->left)
		why_fail(&w->first, 0, "node %d (%s): %s", index, operator_name(r->builtin_code).s,
			 why->text);
	w->left++;
}

static int look_at(struct walk *w, int index, struct tfl_ints *claimed, struct why *why)
{
	struct tfl_registration *r;
	struct tfl_node *node;
	struct why reason;
	int err = headroom_ensure(w->delegate, w->context, why);

	if (!err)
		err = order_node(w->context, index, &node, &r, why);
	if (err)
		return err;
	for (int i = 0; i < node->outputs->size; i++) {
		int t = node->outputs->data[i];

		if (t >= 0 && (size_t)t < w->delegate->tensor_count)
			w->delegate->produced[t] = true;
	}
	if (!node_reason(w, node, r, &reason)) {
		claimed->data[claimed->size++] = index;
		return 0;
	}
	leave(w, index, r, &reason);
	return 0;
}

static void say_left(const struct walk *w)
{
	if (!w->left)
		return;
	if (w->all)
		say("%s: nothing is claimed", w->first.text);
	else if (w->left == 1)
		say("left to TensorFlow Lite: %s", w->first.text);
	else
		say("left to TensorFlow Lite: %s; and %u more%s", w->first.text, w->left - 1,
		    w->delegate->options.verbose >= 2 ? "" : " (verbose=2 lists them)");
}

static int look_at_all(struct walk *w, const struct tfl_ints *plan, struct tfl_ints *claimed,
		       struct why *why)
{
	int err = order_check(w->context, plan, &w->first);

	if (err == -EDOM) {
		w->all = true;
		w->left = (uint32_t)plan->size;
		return 0;
	}
	if (err)
		return why_fail(why, err, "%s", w->first.text);
	for (int i = 0; i < plan->size && !err; i++)
		err = look_at(w, plan->data[i], claimed, why);
	return err;
}

int claim(struct delegate *d, struct tfl_context *context, const struct tfl_ints *plan,
	  struct tfl_ints **claimed, struct why *why)
{
	struct walk w = { .delegate = d,
			  .context = context,
			  .tensor_count = context->tensors_size };
	int err = check_structs(context, why);

	if (err)
		return err;
	d->unsettled = false;
	*claimed = calloc(1, sizeof(**claimed) + sizeof(int) * (size_t)plan->size);
	w.unsettled = calloc(w.tensor_count + 1, sizeof(*w.unsettled));
	if (!*claimed || !w.unsettled || delegate_grow(d, context->tensors_size))
		err = why_fail(why, -ENOMEM, "out of memory");
	if (!err)
		err = look_at_all(&w, plan, *claimed, why);
	free(w.unsettled);
	if (!err && w.left && d->options.strict)
		err = why_fail(why, -EPERM,
			       "option \"strict\": %u of %d operators cannot be claimed: %s",
			       w.left, plan->size, w.first.text);
	if (err) {
		free(*claimed);
		*claimed = NULL;
		return err;
	}
	say_left(&w);
	return 0;
}
