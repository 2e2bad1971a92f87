// SPDX-License-Identifier: MIT
/*
 * Models that no converter makes, and a runtime that gives nothing or nonsense where it is asked:
 * the delegate claims nothing, or refuses, and says why.
 */
#include <stdio.h>

#include "delegate.h"
#include "tflite/fake_runtime.h"
#include "plugin.h"
#include "said.h"
#include "unit.h"

#define BYTES 64
#define OPS   4

enum { ADD = 0, CONV = 3 };

/* A chain of operators: each reads the tensor before, and writes the next one. */
static struct fake *make_chain(unsigned int flags)
{
	struct fake *fake = fake_new(9);

	for (int t = 0; t <= OPS; t++)
		fake_tensor(fake, BYTES, TFL_ARENA);
	for (int i = 0; i < OPS; i++)
		fake_add(fake, &(struct fake_op){ CONV, flags, { i, -2 }, { i + 1, -2 } });
	fake->outputs[0] = OPS;
	fake->outputs[1] = -2;
	return fake;
}

static struct delegate *make_delegate(bool strict)
{
	char device[] = "device", none[] = "none", key[] = "strict", one[] = "1";
	char *keys[] = { device, key }, *values[] = { none, one };
	struct delegate *d = plugin_create(keys, values, strict ? 2 : 1, NULL);

	assert_non_null(d);
	return d;
}

/* The delegate claims nothing and says why; strict, it is an error. */
static void claims_nothing(struct fake *fake, const char *why)
{
	struct delegate *d = make_delegate(false), *strict = make_delegate(true);
	char text[512];
	struct said said;
	char *line;

	said_begin(&said);
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	line = said_end(&said);
	snprintf(text, sizeof(text), "npumem: %s: nothing is claimed\n", why);
	assert_string_equal(line, text);
	free(line);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	assert_int_equal(fake_delegate(fake, strict), TFL_DELEGATE_ERROR);
	snprintf(text, sizeof(text),
		 "npumem: option \"strict\": 4 of 4 operators cannot be claimed: %s", why);
	assert_string_equal(fake->error, text);
	fake_free(fake);
	delegate_free(d);
	delegate_free(strict);
}

static void refused(struct fake *fake, const char *why)
{
	struct delegate *d = make_delegate(false);
	int status = fake_delegate(fake, d);

	if (status == TFL_OK)
		status = fake_allocate(fake);
	assert_int_equal(status, TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error, why);
	fake_free(fake);
	delegate_free(d);
}

/* ------------------------------------------------------------------------ models */

TEST(reads_what_is_written_later)
{
	struct fake *fake = make_chain(0);

	fake->nodes[1].inputs->data[0] = 4;
	claims_nothing(fake, "node 1 reads tensor 4 before node 3 writes it");
}

TEST(reads_what_it_writes)
{
	struct fake *fake = make_chain(0);

	fake->nodes[2].inputs->data[0] = 3;
	claims_nothing(fake, "node 2 reads tensor 3 before node 2 writes it");
}

TEST(written_twice)
{
	struct fake *fake = make_chain(0);

	fake->nodes[3].outputs->data[0] = 2;
	claims_nothing(fake, "tensor 2 is written by nodes 1 and 3");
}

/* A variable, tensor 5, that node 1 may write; node 2, or node 0, only reads it. */
static struct fake *make_variable(bool before)
{
	const struct fake_op first = { CONV, 0, { before ? 5 : 0, -2 }, { 1, -2 } };
	const struct fake_op assign = { ADD, 0, { 1, 5, -2 }, { 2, -2 } };
	const struct fake_op read = { CONV, 0, { before ? 0 : 5, -2 }, { 3, -2 } };
	const struct fake_op last = { ADD, 0, { 2, 3, -2 }, { 4, -2 } };
	struct fake *fake = fake_new(9);

	for (int i = 0; i < 6; i++)
		fake_tensor(fake, BYTES, TFL_ARENA);
	fake_at(fake, 5)->type = TFL_RESOURCE;
	fake_add(fake, &first);
	fake_add(fake, &assign);
	fake_add(fake, &read);
	fake_add(fake, &last);
	fake->outputs[0] = 4;
	fake->outputs[1] = -2;
	return fake;
}

/* The runtime would run node 2 before node 1, which waits for what is claimed. */
TEST(reads_what_was_assigned)
{
	claims_nothing(make_variable(false),
		       "node 2 takes variable 5 after node 1 has assigned it");
}

TEST(reads_before_it_assigns)
{
	struct fake *fake = make_variable(true);
	struct delegate *d = make_delegate(false);
	struct npumem_tflite_stats stats = { .size = sizeof(stats) };

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(plugin_stats(d, &stats), 0);
	assert_int_equal(stats.claimed, 2);
	fake_free(fake);
	delegate_free(d);
}

TEST(output_left_out)
{
	struct fake *fake = make_chain(0);
	struct delegate *d = make_delegate(false);
	struct said said;
	char *line;

	fake->nodes[2].outputs->data[0] = TFL_OPTIONAL;
	said_begin(&said);
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	line = said_end(&said);
	assert_string_equal(line, "npumem: output 0 of node 2 is no tensor: nothing is claimed\n");
	free(line);
	fake_free(fake);
	delegate_free(d);
}

TEST(same_input_twice)
{
	struct fake *fake = fake_new(9);
	struct delegate *d = make_delegate(false);

	fake_tensor(fake, BYTES, TFL_ARENA);
	fake_tensor(fake, BYTES, TFL_ARENA);
	fake_add(fake, &(struct fake_op){ CONV, 0, { 0, 0, 0, -2 }, { 1, -2 } });
	fake->outputs[0] = 1;
	fake->outputs[1] = -2;
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	memset(fake_at(fake, 0)->data.raw, 5, BYTES);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	assert_int_equal(*(uint8_t *)fake_at(fake, 1)->data.raw, 1 + 5 + 10 + 15);
	fake_free(fake);
	delegate_free(d);
}

TEST(no_operators)
{
	struct fake *fake = fake_new(9);
	struct delegate *d = make_delegate(true);

	fake_tensor(fake, BYTES, TFL_ARENA);
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	fake_free(fake);
	delegate_free(d);
}

/* Nothing is there to be planned, and nothing is left of the plan before. */
TEST(no_bytes)
{
	struct fake *fake = make_chain(0);
	struct delegate *d = make_delegate(false);

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(fake_resize(fake, 0, 0), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	for (int t = 0; t < OPS; t++) {
		assert_null(fake_at(fake, t)->data.raw);
		assert_int_equal(fake_at(fake, t)->allocation_type, TFL_ARENA);
	}
	assert_int_equal(fake_invoke(fake), TFL_OK);
	assert_int_equal(fake_resize(fake, 0, BYTES), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	fake_fill(fake, 0, 1);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	fake_free(fake);
	delegate_free(d);
}

/* A plan that cannot be made leaves no pointers into the arena of the one before. */
TEST(no_plan_for_other_sizes)
{
	struct fake *fake = fake_new(9);
	struct delegate *d = make_delegate(false);

	for (int t = 0; t < 3; t++)
		fake_tensor(fake, BYTES, TFL_ARENA);
	fake_add(fake, &(struct fake_op){ CONV, 0, { 0, 1, -2 }, { 2, -2 } });
	fake->outputs[0] = 2;
	fake->outputs[1] = -2;
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_non_null(fake_at(fake, 1)->data.raw);
	d->options.budget = 4096;
	assert_int_equal(fake_resize(fake, 0, 1 << 20), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_null(fake_at(fake, 1)->data.raw);
	assert_int_equal(fake_resize(fake, 0, BYTES), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	fake_fill(fake, 0, 1);
	fake_fill(fake, 1, 1);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	fake_free(fake);
	delegate_free(d);
}

/* What was computed once, and is computed each time now, is the plan's. */
TEST(lasts_no_more)
{
	struct fake *fake = fake_new(9);
	struct delegate *d = make_delegate(false);

	fake_tensor(fake, BYTES, TFL_MMAP_RO);
	fake_tensor(fake, BYTES, TFL_ARENA);
	fake_tensor(fake, BYTES, TFL_ARENA);
	fake_add(fake, &(struct fake_op){ CONV, FAKE_LASTS, { 0, -2 }, { 1, -2 } });
	fake_add(fake, &(struct fake_op){ CONV, 0, { 1, -2 }, { 2, -2 } });
	fake->outputs[0] = 2;
	fake->outputs[1] = -2;
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(d->partitions->kept_count, 1);
	fake->states[0]->flags = 0;
	fake_at(fake, 1)->allocation_type = TFL_ARENA;
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(d->partitions->kept_count, 0);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	assert_int_equal(*(uint8_t *)fake_at(fake, 2)->data.raw, 2);
	fake_free(fake);
	delegate_free(d);
}

/* ----------------------------------------------------------------------- runtime */

/* The call after so many fails, or gives nothing; -1: none does. */
static int calls_left;

static bool is_last_call(void)
{
	if (calls_left < 0)
		return false;
	calls_left--;
	return calls_left < 0;
}

static int plan_fails(struct tfl_context *context, struct tfl_ints **plan)
{
	(void)context;
	(void)plan;
	return TFL_ERROR;
}

static int plan_is_null(struct tfl_context *context, struct tfl_ints **plan)
{
	(void)context;
	*plan = NULL;
	return TFL_OK;
}

static int plan_is_negative(struct tfl_context *context, struct tfl_ints **plan)
{
	static struct tfl_ints negative = { .size = -1 };

	(void)context;
	*plan = &negative;
	return TFL_OK;
}

TEST(execution_plan)
{
	int (*const gets[])(struct tfl_context *, struct tfl_ints **) = { plan_fails, plan_is_null,
									  plan_is_negative };

	for (size_t i = 0; i < sizeof(gets) / sizeof(gets[0]); i++) {
		struct fake *fake = make_chain(0);

		fake->context.get_execution_plan = gets[i];
		refused(fake, "npumem: the runtime does not give its execution plan");
	}
}

static int (*get_node)(struct tfl_context *context, int index, struct tfl_node **node,
		       struct tfl_registration **registration);
/* What the call that fails leaves out. */
static enum { STATUS, NODE, REGISTRATION, INPUTS, OUTPUTS, KINDS } left_out;

static int get_node_or_not(struct tfl_context *context, int index, struct tfl_node **node,
			   struct tfl_registration **registration)
{
	static struct tfl_node incomplete;

	get_node(context, index, node, registration);
	if (!is_last_call())
		return TFL_OK;
	incomplete = **node;
	if (left_out == INPUTS)
		incomplete.inputs = NULL;
	if (left_out == OUTPUTS)
		incomplete.outputs = NULL;
	*node = left_out == NODE ? NULL : &incomplete;
	if (left_out == REGISTRATION)
		*registration = NULL;
	return left_out == STATUS ? TFL_ERROR : TFL_OK;
}

/* Each call in turn; the last of them is when the kernels are borrowed. */
static int refusals(int kind)
{
	int count = 0;

	for (;; count++) {
		struct fake *fake = make_chain(0);
		struct delegate *d = make_delegate(false);
		int status;

		left_out = kind;
		calls_left = count;
		get_node = fake->context.get_node_and_registration;
		fake->context.get_node_and_registration = get_node_or_not;
		status = fake_delegate(fake, d);
		if (status == TFL_OK)
			status = fake_allocate(fake);
		if (calls_left < 0) {
			char text[128];

			snprintf(text, sizeof(text),
				 "npumem: node %d is not that of a known version of the runtime",
				 count % OPS);
			assert_int_equal(status, TFL_DELEGATE_ERROR);
			assert_string_equal(fake->error, text);
		}
		fake_free(fake);
		delegate_free(d);
		if (calls_left >= 0)
			return count;
	}
}

TEST(nodes)
{
	for (int kind = STATUS; kind < KINDS; kind++)
		assert_int_equal(refusals(kind), 5 * OPS);
}

static int (*add_tensors)(struct tfl_context *context, int count, int *first);

static int add_tensors_or_not(struct tfl_context *context, int count, int *first)
{
	return is_last_call() ? TFL_ERROR : add_tensors(context, count, first);
}

/* The kernels of this chain add none, so all calls are the delegate's. */
TEST(tensors_that_do_not_grow)
{
	int count = 0;

	for (bool ends = false; !ends; count++) {
		struct fake *fake = make_chain(0);
		struct delegate *d = make_delegate(false);

		calls_left = count;
		add_tensors = fake->context.add_tensors;
		fake->context.add_tensors = add_tensors_or_not;
		if (fake_delegate(fake, d) != TFL_OK)
			assert_string_equal(fake->error,
					    "npumem: the runtime's tensors do not grow as those of "
					    "known versions do");
		else
			ends = calls_left >= 0;
		fake_free(fake);
		delegate_free(d);
	}
	assert_true(count > 1);
}

static int keep_nodes(struct tfl_context *context, struct tfl_registration_padded registration,
		      const struct tfl_ints *nodes, struct tfl_delegate *delegate)
{
	(void)context;
	(void)registration;
	(void)nodes;
	(void)delegate;
	return TFL_ERROR;
}

TEST(nodes_are_not_given_up)
{
	struct fake *fake = make_chain(0);

	fake->context.replace_nodes = keep_nodes;
	refused(fake, "npumem: the runtime does not give up the nodes");
}

TEST(far_too_many_tensors)
{
	struct fake *fake = make_chain(0);
	size_t size = fake->context.tensors_size;
	struct delegate *d = make_delegate(false);

	fake->context.tensors_size = (size_t)1 << 40;
	assert_int_equal(fake_delegate(fake, d), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error,
			    "npumem: the runtime's context is not that of a known version");
	fake->context.tensors_size = size;
	fake_free(fake);
	delegate_free(d);
}

/* A kernel has other temporaries when it is prepared again. */
static int prepare_nonsense(struct tfl_context *context, struct tfl_node *node)
{
	(void)context;
	free(node->temporaries);
	node->temporaries = malloc(sizeof(struct tfl_ints) + sizeof(int));
	node->temporaries->size = 1;
	node->temporaries->data[0] = calls_left;
	return TFL_OK;
}

static void nonsense_temporary(int tensor, const char *why)
{
	struct fake *fake = make_chain(0);
	struct delegate *d = make_delegate(false);

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	calls_left = tensor;
	d->partitions->ops[1].prepare = prepare_nonsense;
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error, why);
	fake_free(fake);
	delegate_free(d);
}

TEST(temporaries)
{
	nonsense_temporary(400, "npumem: CONV_2D, node 1: there is no tensor 400");
	nonsense_temporary(-7, "npumem: CONV_2D, node 1: there is no tensor -7");
}
