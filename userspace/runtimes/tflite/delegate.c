// SPDX-License-Identifier: MIT
#include "delegate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int delegate_grow(struct delegate *d, size_t tensor_count)
{
	struct partition **holder;
	uint8_t *holding;
	bool *produced;

	if (tensor_count <= d->tensor_count)
		return 0;
	holder = reallocarray(d->holder, tensor_count, sizeof(*holder));
	if (holder)
		d->holder = holder;
	holding = reallocarray(d->holding, tensor_count, sizeof(*holding));
	if (holding)
		d->holding = holding;
	produced = reallocarray(d->produced, tensor_count, sizeof(*produced));
	if (produced)
		d->produced = produced;
	if (!holder || !holding || !produced)
		return -ENOMEM;
	for (size_t i = d->tensor_count; i < tensor_count; i++) {
		holder[i] = NULL;
		holding[i] = HOLDING_NOT;
		produced[i] = false;
	}
	d->tensor_count = tensor_count;
	return 0;
}

/*
 * Other graphs of the model are left alone. When nothing is left of an interpreter, another one
 * may come.
 */
static bool is_other_graph(const struct delegate *d, const struct tfl_context *context)
{
	return d->context && d->context != context && (d->partitions || !d->claimed);
}

/* What was known of the tensors of another interpreter is of no use. */
static void forget(struct delegate *d)
{
	d->capacity = 0;
	for (size_t i = 0; i < d->tensor_count; i++) {
		d->produced[i] = false;
		d->holder[i] = NULL;
		d->holding[i] = HOLDING_NOT;
	}
}

static struct tfl_ints *copy_plan(struct tfl_context *context)
{
	struct tfl_ints *plan = NULL, *copy;
	size_t size;

	if (context->get_execution_plan(context, &plan) != TFL_OK || !plan || plan->size < 0)
		return NULL;
	size = sizeof(*plan) + sizeof(int) * (size_t)plan->size;
	copy = malloc(size);
	if (copy)
		memcpy(copy, plan, size);
	return copy;
}

static int claim_nodes(struct delegate *d, struct tfl_context *context, const struct tfl_ints *plan,
		       struct why *why)
{
	struct tfl_ints *claimed = NULL;
	int err;

	if (!d->partitions)
		forget(d);
	err = claim(d, context, plan, &claimed, why);

	if (err)
		return err;
	d->context = context;
	d->operators = (uint32_t)plan->size;
	d->claimed = (uint32_t)claimed->size;
	if (claimed->size &&
	    context->replace_nodes(context, partition_registration(), claimed, &d->tfl) != TFL_OK)
		err = why_fail(why, -EINVAL, "the runtime does not give up the nodes");
	free(claimed);
	return err;
}

static int prepare(struct tfl_context *context, struct tfl_delegate *delegate)
{
	struct delegate *d = (struct delegate *)delegate;
	struct tfl_ints *plan;
	struct why why;
	int err;

	if (!d->enforcer)
		return TFL_OK;
	if (is_other_graph(d, context)) {
		say("left to TensorFlow Lite: another graph than the first");
		return TFL_OK;
	}
	plan = copy_plan(context);
	err = plan ? claim_nodes(d, context, plan, &why) :
		     why_fail(&why, -EINVAL, "the runtime does not give its execution plan");
	free(plan);
	if (!err)
		return TFL_OK;
	context->report_error(context, "npumem: %s", why.text);
	return TFL_DELEGATE_ERROR;
}

struct delegate *delegate_new(const struct options *options, struct enforcer *enforcer)
{
	struct delegate *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->options = *options;
	d->enforcer = enforcer;
	if (enforcer)
		enforcer->options = &d->options;
	d->tfl.data = d;
	d->tfl.prepare = prepare;
	d->tfl.flags = TFL_DELEGATE_ALLOW_DYNAMIC;
	return d;
}

/* All that a delegate has. */
static void release(struct delegate *d)
{
	if (d->enforcer)
		d->enforcer->ops->free(d->enforcer);
	options_fini(&d->options);
	free(d->holder);
	free(d->holding);
	free(d->produced);
	d->enforcer = NULL;
	d->holder = NULL;
	d->holding = NULL;
	d->produced = NULL;
	d->tensor_count = 0;
}

void delegate_free(struct delegate *d)
{
	if (!d)
		return;
	d->destroyed = true;
	if (d->partitions)
		return;
	release(d);
	free(d);
}

void delegate_retire(struct delegate *d)
{
	static struct delegate *retired;

	release(d);
	d->next = __atomic_load_n(&retired, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&retired, &d->next, d, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}
