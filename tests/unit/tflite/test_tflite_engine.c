// SPDX-License-Identifier: MIT
/*
 * Small networks in a runtime that looks like TensorFlow Lite's, computed by npumem's engine in
 * this process: whole, cut, and spilled. Floats are small integers, so what must come out is exact.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "compute.h"
#include "delegate.h"
#include "fake_runtime.h"
#include "npumem_command.h"
#include "plugin.h"
#include "said.h"
#include "unit.h"

enum { ADD = 0, CONV = 3, RELU = 19, ABS = 101 };
enum { ROWS = 4, COLUMNS = 4, CHANNELS = 2, MANY = 4, VALUES = ROWS * COLUMNS * CHANNELS };
/* Tensors of the network: what comes in and goes out, weights, and what is in between. */
enum { IN, WEIGHTS, BIAS, FIRST, SECOND, TO_MANY, WIDE, TO_FEW, THIRD, LAST, TENSORS };

static const float weights[CHANNELS * CHANNELS] = { 1, -2, 3, 1 };
static const float bias[CHANNELS] = { 5, -7 };
static const float to_many[MANY * CHANNELS] = { 1, 0, -1, 2, 3, 1, 0, -2 };
static const float to_few[CHANNELS * MANY] = { 2, 1, -1, 0, 1, 1, 0, -3 };
/* The runtime's parameters of operators, as 32-bit words: VALID, strides, none, dilations. */
static int conv_params[6] = { 2, 1, 1, 0, 1, 1 };
static int add_params[2];

static const struct fake_op network[] = {
	{ CONV, 0, { IN, WEIGHTS, BIAS, -2 }, { FIRST, -2 } },
	{ RELU, 0, { FIRST, -2 }, { SECOND, -2 } },
	{ CONV, 0, { SECOND, TO_MANY, -1, -2 }, { WIDE, -2 } },
	{ CONV, 0, { WIDE, TO_FEW, BIAS, -2 }, { THIRD, -2 } },
	{ ADD, 0, { THIRD, FIRST, -2 }, { LAST, -2 } },
};

#define OPERATORS (sizeof(network) / sizeof(network[0]))

/* ----------------------------------------------------------------------- networks */

static struct tfl_ints *ints(int count, const int *values)
{
	struct tfl_ints *list = malloc(sizeof(*list) + sizeof(int) * (size_t)count);

	list->size = count;
	memcpy(list->data, values, sizeof(int) * (size_t)count);
	return list;
}

static void set_shape(struct tfl_tensor *t, int rank, const int *shape)
{
	free(t->dims);
	t->dims = ints(rank, shape);
	t->bytes = sizeof(float);
	for (int d = 0; d < rank; d++)
		t->bytes *= (size_t)shape[d];
}

static void add_tensor(struct fake *fake, const char *name, int rank, const int *shape,
		       const void *constant)
{
	size_t bytes = sizeof(float);
	int number;

	for (int d = 0; d < rank; d++)
		bytes *= (size_t)shape[d];
	number = fake_tensor(fake, (int)bytes, constant ? TFL_MMAP_RO : TFL_ARENA);
	fake_at(fake, number)->type = TFL_FLOAT32;
	fake_at(fake, number)->name = name;
	set_shape(fake_at(fake, number), rank, shape);
	if (constant)
		memcpy(fake_at(fake, number)->data.raw, constant, bytes);
}

/* Kernels have nothing to say of sizes: the tensors have them. */
static int settle(struct tfl_context *context, struct tfl_node *node)
{
	return TFL_OK;
}

static void add_node(struct fake *fake, const struct fake_op *op)
{
	int number = fake_add(fake, op);

	fake->registrations[number].known.prepare = settle;
	if (op->code == CONV)
		fake->nodes[number].builtin_data = conv_params;
	if (op->code == ADD)
		fake->nodes[number].builtin_data = add_params;
}

static const char *const names[TENSORS] = { "in",      "weights", "bias",   "first", "second",
					    "to_many", "wide",	  "to_few", "third", "last" };

/* The shape of a tensor, of so many rows where it has rows; how many dimensions. */
static int shape_of(int tensor, int rows, int shape[4])
{
	const bool constant = tensor == WEIGHTS || tensor == TO_MANY || tensor == TO_FEW;

	shape[0] = !constant ? 1 : tensor == TO_MANY ? MANY : CHANNELS;
	shape[1] = constant ? 1 : rows;
	shape[2] = constant ? 1 : COLUMNS;
	shape[3] = tensor == WIDE || tensor == TO_FEW ? MANY : CHANNELS;
	if (tensor != BIAS)
		return 4;
	shape[0] = CHANNELS;
	return 1;
}

static struct fake *make(void)
{
	static const float *const constants[TENSORS] = {
		[WEIGHTS] = weights, [BIAS] = bias, [TO_MANY] = to_many, [TO_FEW] = to_few
	};
	struct fake *fake = fake_new(9);

	for (int t = 0; t < TENSORS; t++) {
		int shape[4], rank = shape_of(t, ROWS, shape);

		add_tensor(fake, names[t], rank, shape, constants[t]);
	}
	for (size_t i = 0; i < OPERATORS; i++)
		add_node(fake, &network[i]);
	fake->outputs[0] = LAST;
	fake->outputs[1] = -2;
	return fake;
}

/* What they must compute, each value from those of its place. */
static void conv(const float *in, int inputs, const float *by, const float *plus, float *out,
		 int outputs)
{
	for (int c = 0; c < outputs; c++) {
		out[c] = plus ? plus[c] : 0;
		for (int i = 0; i < inputs; i++)
			out[c] += by[c * inputs + i] * in[i];
	}
}

/* @doubled: not cut off at zero, but doubled */
static void expect(const float *in, float *out, int places, bool doubled)
{
	for (int p = 0; p < places; p++, in += CHANNELS, out += CHANNELS) {
		float first[CHANNELS], second[CHANNELS], wide[MANY];

		conv(in, CHANNELS, weights, bias, first, CHANNELS);
		for (int c = 0; c < CHANNELS; c++)
			second[c] = doubled ? 2 * first[c] : first[c] > 0 ? first[c] : 0;
		conv(second, CHANNELS, to_many, NULL, wide, MANY);
		conv(wide, MANY, to_few, bias, out, CHANNELS);
		for (int c = 0; c < CHANNELS; c++)
			out[c] += first[c];
	}
}

/* ---------------------------------------------------------------------- delegates */

/* In this process, with options "KEY=VALUE" as words. */
static struct delegate *make_delegate(const char *options)
{
	char *keys[8] = { strdup("device"), strdup("engine") };
	char *values[8] = { strdup("none"), strdup("engine") };
	char *text = strdup(options), *rest = text, *word;
	struct delegate *d;
	size_t count = 2;

	while ((word = strsep(&rest, " "))) {
		char *equals = strchr(word, '=');

		if (!equals)
			continue;
		keys[count] = strndup(word, (size_t)(equals - word));
		values[count++] = strdup(equals + 1);
	}
	d = plugin_create(keys, values, count, NULL);
	for (size_t i = 0; i < count; i++) {
		free(keys[i]);
		free(values[i]);
	}
	free(text);
	assert_non_null(d);
	return d;
}

static struct npumem_tflite_stats stats_of(struct delegate *d)
{
	struct npumem_tflite_stats stats = { .size = sizeof(stats) };

	assert_int_equal(plugin_stats(d, &stats), 0);
	return stats;
}

static void fill(struct fake *fake, int seed)
{
	float *in = fake_at(fake, IN)->data.raw;

	for (size_t i = 0; i < fake_at(fake, IN)->bytes / sizeof(*in); i++)
		in[i] = (float)((int)(i * 7 + (size_t)seed * 5) % 23 - 11);
}

/* Inferences of one input after the other, the last with that of the one before. */
static void infer(struct fake *fake)
{
	const struct tfl_tensor *in = fake_at(fake, IN), *out = fake_at(fake, LAST);
	size_t places = in->bytes / sizeof(float) / CHANNELS;
	float *expected = malloc(in->bytes);

	for (int seed = 1; seed <= 4; seed++) {
		if (seed < 4)
			fill(fake, seed);
		memset(out->data.raw, 0x5a, out->bytes);
		if (fake_invoke(fake) != TFL_OK)
			fail_msg("%s", fake->error);
		expect(in->data.raw, expected, (int)places, false);
		assert_memory_equal(out->data.raw, expected, out->bytes);
	}
	free(expected);
}

static void allocate(struct fake *fake, struct delegate *d)
{
	if (fake_delegate(fake, d) != TFL_OK || fake_allocate(fake) != TFL_OK)
		fail_msg("%s", fake->error);
}

/*
 * struct way - of computing the network
 * @options: the delegate's
 * @arena: bytes that are enough
 * @spills: tensors go to host memory, and come back
 */
struct way {
	const char *options;
	uint64_t arena;
	bool spills;
};

static void computes(void **state)
{
	const struct way *way = *state;
	struct delegate *d = make_delegate(way->options);
	struct npumem_tflite_stats stats;
	struct fake *fake = make();

	allocate(fake, d);
	infer(fake);
	stats = stats_of(d);
	assert_int_equal(stats.claimed, OPERATORS);
	assert_int_equal(stats.operators, OPERATORS);
	assert_int_equal(stats.partitions, 1);
	assert_int_equal(stats.enforced_by, NPUMEM_TFLITE_PROCESS);
	assert_in_range(stats.arena_bytes, 1, way->arena);
	assert_int_equal(stats.tensor_bytes, (5 * VALUES + ROWS * COLUMNS * MANY) * sizeof(float));
	assert_int_equal(stats.spilled_bytes > 0, way->spills);
	fake_free(fake);
	delegate_free(d);
}

TEST_CASE(whole, computes, NULL, NULL, struct way, "", 512, false)
TEST_CASE(in_bands, computes, NULL, NULL, struct way, "bands=2", 511, false)
TEST_CASE(in_rows, computes, NULL, NULL, struct way, "rows=1", 511, false)
TEST_CASE(on_chip, computes, NULL, NULL, struct way, "onchip=256", 511, false)
TEST_CASE(taa, computes, NULL, NULL, struct way, "planner=taa bands=4", 511, false)
TEST_CASE(tile_scheduled, computes, NULL, NULL, struct way, "planner=tile-scheduled", 256, false)
TEST_CASE(moved, computes, NULL, NULL, struct way, "planner=cosma", 512, false)
TEST_CASE(spilled, computes, NULL, NULL, struct way, "planner=cosma budget=384", 384, true)

/* --------------------------------------------------------------- left to the runtime */

/* What is said of a network that is not claimed whole; @claimed of it are. */
static void left(struct fake *fake, const char *options, unsigned int claimed, const char *text)
{
	struct delegate *d = make_delegate(options);
	struct said said;
	char *got;

	said_begin(&said);
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	got = said_end(&said);
	assert_string_equal(got, text);
	free(got);
	assert_int_equal(stats_of(d).claimed, claimed);
	fake_free(fake);
	delegate_free(d);
}

#define LEFT "npumem: left to TensorFlow Lite: "

/* A kernel of the runtime's. */
static int double_all(struct tfl_context *context, struct tfl_node *node)
{
	const struct tfl_tensor *in = &context->tensors[node->inputs->data[0]];
	float *out = context->tensors[node->outputs->data[0]].data.raw;

	for (size_t i = 0; i < in->bytes / sizeof(*out); i++)
		out[i] = 2 * ((const float *)in->data.raw)[i];
	return TFL_OK;
}

/* The second of two partitions takes what the runtime's kernel has left in the runtime's memory. */
TEST(other_operators)
{
	struct fake *fake = make();
	struct delegate *d = make_delegate("");
	float expected[VALUES];
	struct said said;
	char *text;

	fake->registrations[1].known.builtin_code = ABS;
	fake->registrations[1].known.invoke = double_all;
	said_begin(&said);
	allocate(fake, d);
	text = said_end(&said);
	assert_string_equal(text, LEFT "node 1 (operator): the engine has no such operator\n");
	free(text);
	assert_int_equal(stats_of(d).claimed, 4);
	assert_int_equal(stats_of(d).partitions, 2);
	fill(fake, 1);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	expect(fake_at(fake, IN)->data.raw, expected, ROWS * COLUMNS, true);
	assert_memory_equal(fake_at(fake, LAST)->data.raw, expected, sizeof(expected));
	fake_free(fake);
	delegate_free(d);
}

TEST(strict)
{
	struct fake *fake = make();
	struct delegate *d = make_delegate("strict=1");

	fake->registrations[1].known.builtin_code = ABS;
	assert_int_equal(fake_delegate(fake, d), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error,
			    "npumem: option \"strict\": 1 of 5 operators cannot be "
			    "claimed: node 1 (operator): the engine has no such operator");
	fake_free(fake);
	delegate_free(d);
}

TEST(sparse_weights)
{
	struct fake *fake = make();

	fake_at(fake, WEIGHTS)->sparsity = fake;
	left(fake, "", 4, LEFT "node 0 (CONV_2D): tensor 1 \"weights\" is sparse\n");
}

TEST(unknown_type)
{
	struct fake *fake = make();

	fake_at(fake, SECOND)->type = 40;
	left(fake, "", 3,
	     LEFT
	     "node 1 (RELU): tensor 4 \"second\" has elements of a type that is not known; and "
	     "1 more (verbose=2 lists them)\n");
}

TEST(constant_output)
{
	struct fake *fake = make();

	fake_at(fake, SECOND)->allocation_type = TFL_PERSISTENT_RO;
	left(fake, "", 4, LEFT "node 1 (RELU): an output is constant\n");
}

TEST(no_scale)
{
	struct fake *fake = make();

	for (int t = IN; t < TENSORS; t++) {
		fake_at(fake, t)->type = t == BIAS ? TFL_INT32 : TFL_INT8;
		fake_at(fake, t)->bytes /= t == BIAS ? 1 : sizeof(float);
	}
	left(fake, "", 0,
	     LEFT "node 0 (CONV_2D): tensor 0 'in' has no scale; and 4 more (verbose=2 lists "
		  "them)\n");
}

TEST(padding_not_said)
{
	int params[6] = { 0, 1, 1, 0, 1, 1 };
	struct fake *fake = make();

	fake->nodes[0].builtin_data = params;
	left(fake, "", 4, LEFT "node 0 (CONV_2D): its window is not understood\n");
}

TEST(without_parameters)
{
	struct fake *fake = make();

	fake->nodes[0].builtin_data = NULL;
	left(fake, "", 4, LEFT "node 0 (CONV_2D): its window is not understood\n");
}

TEST(fused_activation)
{
	int params[2] = { 300 };
	struct fake *fake = make();

	fake->nodes[4].builtin_data = params;
	left(fake, "", 4, LEFT "node 4 (ADD): it has fused activation 255\n");
}

TEST(no_such_intermediate)
{
	static const int none[] = { 99 };
	struct fake *fake = make();
	struct tfl_ints *list = ints(1, none);

	fake->nodes[1].intermediates = list;
	left(fake, "", 4, LEFT "node 1 (RELU): there is no tensor 99\n");
	free(list);
}

TEST(too_little_on_chip)
{
	struct fake *fake = make();

	left(fake, "onchip=20", 0,
	     LEFT "node 0 (CONV_2D): operator first in tiles of 1 rows x 1 channels: step 0 of 8 "
		  "needs 60 bytes on chip, 32 of them for in; there are 20; and 4 more (verbose=2 "
		  "lists them)\n");
}

/* ----------------------------------------------------------------------- refusals */

TEST(over_budget)
{
	struct fake *fake = make();
	struct delegate *d = make_delegate("budget=500");

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_non_null(strstr(fake->error, "512"));
	/* Who runs it all the same is told so. */
	assert_int_equal(fake_invoke(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error,
			    "npumem: the operators have no memory: allocating it has failed");
	fake_free(fake);
	delegate_free(d);
}

TEST(becomes_dynamic)
{
	struct fake *fake = make();
	struct delegate *d = make_delegate("");

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	fake_at(fake, SECOND)->allocation_type = TFL_DYNAMIC;
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error,
			    "npumem: RELU, node 1: tensor 4 \"second\" has become dynamic");
	fake_at(fake, SECOND)->allocation_type = TFL_ARENA;
	fake_free(fake);
	delegate_free(d);
}

/* Sizes that do not fit together any more: what reads models says so. */
TEST(becomes_another_shape)
{
	static const int other[] = { 1, ROWS, COLUMNS, CHANNELS + 1 };
	struct fake *fake = make();
	struct delegate *d = make_delegate("");

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	set_shape(fake_at(fake, IN), 4, other);
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(
		fake->error,
		"npumem: operator 0 'first' (conv2d): step first: the engine refuses its "
		"command: the channels are no groups");
	fake_free(fake);
	delegate_free(d);
}

/* struct prepared - the network with a delegate and memory */
struct prepared {
	struct fake *fake;
	struct delegate *d;
	struct partition *p;
};

static struct prepared prepare(const char *options)
{
	struct prepared w = { make(), make_delegate(options), NULL };

	allocate(w.fake, w.d);
	fill(w.fake, 1);
	w.p = w.d->partitions;
	return w;
}

static void finish(struct prepared *w)
{
	fake_free(w->fake);
	delegate_free(w->d);
}

static void spoil_command(struct program *program, uint32_t step)
{
	((struct npumem_command *)program->commands[step])->version = 99;
}

/* An engine that does not take a command ends the inference; the next one is whole again. */
TEST(command_refused)
{
	struct prepared w = prepare("");

	spoil_command(w.p->program, 1);
	assert_int_equal(fake_invoke(w.fake), TFL_DELEGATE_ERROR);
	assert_string_equal(w.fake->error,
			    "npumem: step 1 \"second\": its version is not known here");
	((struct npumem_command *)w.p->program->commands[1])->version = NPUMEM_COMMAND_VERSION;
	infer(w.fake);
	finish(&w);
}

/* The verifier's states are asked before each step. */
TEST(out_of_order)
{
	struct prepared w = prepare("");
	const struct enforcer_ops *ops = w.d->enforcer->ops;
	struct why why;

	assert_int_equal(ops->begin(w.p->memory->session, &why), 0);
	assert_int_equal(ops->step(w.p->memory->session, 1, &why), -EPERM);
	assert_string_equal(
		why.text,
		"read of a tile that is not live: step 1 (second) may not access tensor 3 "
		"\"first\", bytes [256, 384) of the arena; step 0 (first) is to come before");
	finish(&w);
}

/* ------------------------------------------------------------------------- compute */

static void assert_not_computed(const struct prepared *w, const char *text)
{
	struct compute *compute = NULL;
	struct why why;

	assert_int_not_equal(compute_new(w->p->program, w->p->memory->layout, &w->p->memory->maps,
					 &compute, &why),
			     0);
	assert_null(compute);
	assert_string_equal(why.text, text);
}

static void not_computed(struct prepared *w, const char *text)
{
	assert_not_computed(w, text);
	finish(w);
}

TEST(command_not_known)
{
	struct prepared w = prepare("");

	spoil_command(w.p->program, 2);
	not_computed(&w, "step 2: its version is not known here");
}

TEST(step_not_known)
{
	struct prepared w = prepare("");

	uint32_t *count = &w.p->program->graph->step_count, before = *count;

	*count = 1;
	assert_not_computed(&w, "the plan has a step 1, the graph has not");
	*count = before;
	finish(&w);
}

TEST(byte_without_a_place)
{
	struct prepared w = prepare("");
	const struct npuplan_graph *graph = w.p->program->graph;

	graph->tiles[graph->accesses[0].tile].region.offset = VALUES * sizeof(float);
	not_computed(&w, "position 0: a byte of tensor \"in\" has no place");
}

TEST(parameter_without_bytes)
{
	struct prepared w = prepare("");
	const struct npuplan_graph *graph = w.p->program->graph;
	uint32_t tensor = graph->tiles[graph->accesses[1].tile].tensor;

	assert_non_null(w.p->program->bytes[tensor]);
	w.p->program->bytes[tensor] = NULL;
	not_computed(&w, "position 0: a byte of tensor \"weights\" has no place");
}

TEST(tensor_not_known)
{
	struct prepared w = prepare("");
	const struct npuplan_graph *graph = w.p->program->graph;

	graph->tiles[graph->accesses[0].tile].tensor = 77;
	not_computed(&w, "the graph has no tensor 77");
}

/* ------------------------------------------------------------------ again and again */

/* Planned anew when sizes are others, and only then; @lines: that say so. */
static void reallocate(struct prepared *w, int rows, unsigned int lines)
{
	struct said said;
	char *text;

	for (int t = 0; t < TENSORS; t++) {
		int shape[4], rank = shape_of(t, rows, shape);

		set_shape(fake_at(w->fake, t), rank, shape);
	}
	said_begin(&said);
	assert_int_equal(fake_allocate(w->fake), TFL_OK);
	text = said_end(&said);
	assert_int_equal(strstr(text, "npumem: 5 of 5 operators, arena ") == text, lines);
	assert_int_equal(strchr(text, '\n') == NULL, !lines);
	free(text);
	infer(w->fake);
}

TEST(resized)
{
	struct prepared w = { make(), make_delegate("verbose=1"), NULL };

	assert_int_equal(fake_delegate(w.fake, w.d), TFL_OK);
	reallocate(&w, ROWS, 1);
	reallocate(&w, ROWS, 0);
	reallocate(&w, 3 * ROWS, 1);
	assert_int_equal(stats_of(w.d).arena_bytes, 3 * 512);
	reallocate(&w, ROWS, 1);
	finish(&w);
}

static char folder[] = "/tmp/npumem-engine-XXXXXX";

static unsigned int cached(const char *more)
{
	char options[200];
	struct prepared w;
	unsigned int count;

	snprintf(options, sizeof(options), "cache=%s %s", folder, more);
	w = prepare(options);
	infer(w.fake);
	count = stats_of(w.d).cached;
	finish(&w);
	return count;
}

/* Each way of cutting is another graph, with a plan of its own. */
TEST(cache)
{
	struct dirent *entry;
	DIR *dir;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(cached(""), 0);
	assert_int_equal(cached(""), 1);
	assert_int_equal(cached("rows=1"), 0);
	assert_int_equal(cached("rows=1"), 1);
	assert_int_equal(cached("rows=2"), 0);
	dir = opendir(folder);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			assert_int_equal(unlinkat(dirfd(dir), entry->d_name, 0), 0);
	closedir(dir);
	assert_int_equal(rmdir(folder), 0);
}
