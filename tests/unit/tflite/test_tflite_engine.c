// SPDX-License-Identifier: MIT
/*
 * A small network in a runtime that looks like TensorFlow Lite's, computed by npumem's engine in
 * this process: whole, cut, and spilled.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "compute.h"
#include "delegate.h"
#include "tflite/fake_network.h"
#include "tflite/stats.h"
#include "npumem_command.h"
#include "plugin.h"
#include "said.h"
#include "unit.h"

/* An operator that the engine has not. */
#define ABS 101

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

/* Inferences of one input after the other, the last with that of the one before. */
static void infer(struct fake *fake)
{
	const struct tfl_tensor *in = fake_at(fake, IN), *out = fake_at(fake, LAST);
	size_t places = in->bytes / sizeof(float) / CHANNELS;
	float *expected = malloc(in->bytes);

	for (int seed = 1; seed <= 4; seed++) {
		if (seed < 4)
			network_fill(fake, seed);
		if (out->bytes)
			memset(out->data.raw, 0x5a, out->bytes);
		if (fake_invoke(fake) != TFL_OK)
			fail_msg("%s", fake->error);
		network_compute(in->data.raw, expected, (int)places, false);
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
	struct fake *fake = network_new();

	allocate(fake, d);
	infer(fake);
	stats = stats_of(d);
	assert_int_equal(stats.claimed, NETWORK_OPERATORS);
	assert_int_equal(stats.operators, NETWORK_OPERATORS);
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
	struct fake *fake = network_new();
	struct delegate *d = make_delegate("");
	float expected[VALUES];
	struct said said;
	char *text;

	fake->registrations[1].known.builtin_code = ABS;
	fake->registrations[1].known.invoke = double_all;
	said_begin(&said);
	allocate(fake, d);
	text = said_end(&said);
	assert_string_equal(text, LEFT "node 1 (ABS): the engine has no such operator\n");
	free(text);
	assert_int_equal(stats_of(d).claimed, 4);
	assert_int_equal(stats_of(d).partitions, 2);
	network_fill(fake, 1);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	network_compute(fake_at(fake, IN)->data.raw, expected, ROWS * COLUMNS, true);
	assert_memory_equal(fake_at(fake, LAST)->data.raw, expected, sizeof(expected));
	fake_free(fake);
	delegate_free(d);
}

TEST(strict)
{
	struct fake *fake = network_new();
	struct delegate *d = make_delegate("strict=1");

	fake->registrations[1].known.builtin_code = ABS;
	assert_int_equal(fake_delegate(fake, d), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error, "npumem: option \"strict\": 1 of 5 operators cannot be "
					 "claimed: node 1 (ABS): the engine has no such operator");
	fake_free(fake);
	delegate_free(d);
}

TEST(sparse_weights)
{
	struct fake *fake = network_new();

	fake_at(fake, WEIGHTS)->sparsity = fake;
	left(fake, "", 4, LEFT "node 0 (CONV_2D): tensor 1 \"weights\" is sparse\n");
}

TEST(unknown_type)
{
	struct fake *fake = network_new();

	fake_at(fake, SECOND)->type = 40;
	left(fake, "", 3,
	     LEFT
	     "node 1 (RELU): tensor 4 \"second\" has elements of a type that is not known; and "
	     "1 more (verbose=2 lists them)\n");
}

TEST(constant_output)
{
	struct fake *fake = network_new();

	fake_at(fake, SECOND)->allocation_type = TFL_PERSISTENT_RO;
	left(fake, "", 4, LEFT "node 1 (RELU): an output is constant\n");
}

TEST(no_scale)
{
	struct fake *fake = network_new();

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
	struct fake *fake = network_new();

	fake->nodes[0].builtin_data = params;
	left(fake, "", 4, LEFT "node 0 (CONV_2D): its window is not understood\n");
}

TEST(without_parameters)
{
	struct fake *fake = network_new();

	fake->nodes[0].builtin_data = NULL;
	left(fake, "", 4, LEFT "node 0 (CONV_2D): its window is not understood\n");
}

TEST(fused_activation)
{
	int params[2] = { 300 };
	struct fake *fake = network_new();

	fake->nodes[4].builtin_data = params;
	left(fake, "", 4, LEFT "node 4 (ADD): it has fused activation 255\n");
}

TEST(no_such_intermediate)
{
	static const int none[] = { 99 };
	struct fake *fake = network_new();
	struct tfl_ints *list = network_ints(1, none);

	fake->nodes[1].intermediates = list;
	left(fake, "", 4, LEFT "node 1 (RELU): there is no tensor 99\n");
	free(list);
}

TEST(too_little_on_chip)
{
	struct fake *fake = network_new();

	left(fake, "onchip=4", 0,
	     LEFT "node 0 (CONV_2D): operator first in tiles of 1 rows x 1 channels x 1 columns: "
		  "step 0 of 32 needs 24 bytes on chip, 8 of them for in; there are 4; and 4 more "
		  "(verbose=2 lists them)\n");
}

/* ----------------------------------------------------------------------- refusals */

TEST(over_budget)
{
	struct fake *fake = network_new();
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
	struct fake *fake = network_new();
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

/* Sizes that do not fit together any more: what reads models says so, and nothing is run. */
TEST(becomes_another_shape)
{
	static const int other[] = { 1, ROWS, COLUMNS, CHANNELS + 1 };
	struct fake *fake = network_new();
	struct delegate *d = make_delegate("");

	allocate(fake, d);
	network_resize(fake_at(fake, IN), 4, other);
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(
		fake->error,
		"npumem: operator 0 'first' (conv2d): step first: the engine refuses its "
		"command: the channels are no groups");
	assert_int_equal(fake_invoke(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error,
			    "npumem: the operators have no memory: allocating it has failed");
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
	struct prepared w = { network_new(), make_delegate(options), NULL };

	allocate(w.fake, w.d);
	network_fill(w.fake, 1);
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

/* A runtime that has taken its memory away, before an inference or in the middle of it. */
TEST(tensors_without_memory)
{
	static const int tensors[] = { IN, LAST };

	for (int i = 0; i < 2; i++) {
		struct prepared w = prepare("");
		struct tfl_tensor *t = fake_at(w.fake, tensors[i]);
		char text[100];

		t->bytes--;
		snprintf(text, sizeof(text), "npumem: tensor %d \"%s\" has no memory", tensors[i],
			 t->name);
		assert_int_equal(fake_invoke(w.fake), TFL_DELEGATE_ERROR);
		assert_string_equal(w.fake->error, text);
		t->bytes++;
		t->data.raw = NULL;
		assert_int_equal(fake_invoke(w.fake), TFL_DELEGATE_ERROR);
		assert_string_equal(w.fake->error, text);
		finish(&w);
	}
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

	assert_int_equal(ops->begin(w.p->memory->enforced, &why), 0);
	assert_int_equal(ops->step(w.p->memory->enforced, 1, &why), -EPERM);
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
static void reallocate(struct prepared *w, int rows, int columns, unsigned int lines)
{
	struct said said;
	char *text;

	for (int t = 0; t < TENSORS; t++) {
		int shape[4], rank = network_shape(t, rows, shape);

		if (t != WEIGHTS && t != TO_MANY && t != TO_FEW && rank == 4)
			shape[2] = columns;
		network_resize(fake_at(w->fake, t), rank, shape);
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
	struct prepared w = { network_new(), make_delegate("verbose=1"), NULL };

	assert_int_equal(fake_delegate(w.fake, w.d), TFL_OK);
	reallocate(&w, ROWS, COLUMNS, 1);
	reallocate(&w, ROWS, COLUMNS, 0);
	/* As many bytes, but rows begin elsewhere. */
	reallocate(&w, 2 * ROWS, COLUMNS / 2, 1);
	reallocate(&w, 2 * ROWS, COLUMNS / 2, 0);
	reallocate(&w, 3 * ROWS, COLUMNS, 1);
	assert_int_equal(stats_of(w.d).arena_bytes, 3 * 512);
	reallocate(&w, ROWS, COLUMNS, 1);
	/* Nothing is to be computed, and nothing is wrong with that. */
	reallocate(&w, 0, COLUMNS, 0);
	assert_int_equal(stats_of(w.d).arena_bytes, 0);
	reallocate(&w, ROWS, COLUMNS, 1);
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
