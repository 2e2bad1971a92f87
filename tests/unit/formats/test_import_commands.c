// SPDX-License-Identifier: MIT
/* Commands of a TFLite model's steps, what is refused, and regions as boxes. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "auto.h"
#include "command.h"
#include "npuimport.h"
#include "random.h"
#include "tflite/commands.h"
#include "tflite/region.h"
#include "tflite/schema.h"
#include "stream_model.h"
#include "tflite_build.h"
#include "tflite_flow.h"
#include "unit.h"

#define SEED  20261123
#define TRIES 20000

/* A conv2d (SAME, stride 2, ReLU6) of 1x8x8x3 to 1x4x4x2 and a softmax, of floats. */
static struct tb_model floats(void)
{
	struct tb_model model = tb_valid();

	for (uint32_t t = 0; t < model.tensor_count; t++)
		model.tensors[t].type = TYPE_FLOAT32;
	model.buffers[1].size = 54 * 4;
	model.buffers[2].size = 2 * 4;
	model.ops[0].options[3] = ACTIVATION_RELU6;
	return model;
}

/* One operator, whose inputs are all the model's input; its output has the input's shape. */
static struct tb_model one_op(int32_t builtin, uint32_t inputs)
{
	struct tb_model model = floats();

	model.tensor_count = 2;
	model.tensors[1] = model.tensors[0];
	model.tensors[1].buffer = 0;
	model.codes[0] = (struct tb_code){ (int8_t)builtin, builtin, NULL };
	model.op_count = 1;
	model.ops[0] = (struct tb_op){ .input_count = inputs, .output_count = 1, .outputs = { 1 } };
	model.outputs[0] = 1;
	return model;
}

/*
 * struct world - a model, its graph cut by @tiling, and its commands
 * @commands: NULL if they were refused; @err, @error
 */
struct world {
	struct tb_file file;
	struct npuplan_graph *graph;
	struct tflite_commands *commands;
	struct npuplan_error error;
	int err;
};

static void open_world(struct world *w, const struct tb_model *model,
		       const struct npuplan_tiling *tiling)
{
	memset(w, 0, sizeof(*w));
	tb_build(model, &w->file);
	if (npuimport_tflite(w->file.bytes, w->file.size, "m", NULL, &w->graph, NULL, &w->error) ||
	    (tiling && npuplan_graph_tile(w->graph, tiling, &w->error)))
		fail_msg("%s", w->error.text);
	w->err =
		tflite_commands_new(w->file.bytes, w->file.size, w->graph, &w->commands, &w->error);
}

static void close_world(struct world *w)
{
	tflite_commands_free(w->commands);
	npuplan_graph_free(w->graph);
}

static const struct npuplan_tiling whole = { .bands = 1, .with_parameters = true };

/* Its parts, where command_build() of tests would put them. */
struct parts {
	const struct npumem_command *head;
	const struct npumem_command_operand *operands;
	const struct npumem_command_piece *pieces;
	const int32_t *attributes;
};

static struct parts parts_of(const void *command)
{
	const struct npumem_command *head = command;
	const char *at = (const char *)command + sizeof(*head);
	struct parts p = { .head = head, .operands = (const void *)at };

	at += (head->operand_count * sizeof(*p.operands) + 7) / 8 * 8;
	p.pieces = (const void *)at;
	at += head->piece_count * sizeof(*p.pieces);
	p.attributes = (const void *)(at + head->scale_count * sizeof(struct npumem_command_scale));
	return p;
}

#define ASSERT_FOUR(array, a, b, c, d) \
	assert_memory_equal(array, ((const uint32_t[4]){ a, b, c, d }), 4 * sizeof(uint32_t))

TEST(convolution)
{
	struct tb_model model = floats();
	struct npuplan_tiling rows = { .rows = 1, .with_parameters = true };
	static const float range[2] = { 0, 6 };
	struct world w;
	struct parts p;
	void *command;
	size_t size;

	open_world(&w, &model, &rows);
	assert_int_equal(w.err, 0);
	/* The second of four rows: rows 2 to 4 of the input. */
	assert_int_equal(tflite_command(w.commands, 1, &command, &size, &w.error), 0);
	p = parts_of(command);
	assert_int_equal(p.head->size, size);
	assert_int_equal(p.head->operation, NPUMEM_COMMAND_CONV);
	assert_int_equal(p.head->operand_count, 4);
	assert_int_equal(p.head->piece_count, 4);
	assert_int_equal(p.head->scale_count, 0);
	ASSERT_FOUR(p.operands[0].shape, 1, 4, 4, 2);
	ASSERT_FOUR(p.operands[0].origin, 0, 1, 0, 0);
	ASSERT_FOUR(p.operands[0].dims, 1, 1, 4, 2);
	ASSERT_FOUR(p.operands[1].shape, 1, 8, 8, 3);
	ASSERT_FOUR(p.operands[1].origin, 0, 2, 0, 0);
	ASSERT_FOUR(p.operands[1].dims, 1, 3, 8, 3);
	ASSERT_FOUR(p.operands[2].dims, 2, 3, 3, 3);
	ASSERT_FOUR(p.operands[3].dims, 1, 1, 1, 2);
	for (uint32_t i = 0; i < 4; i++) {
		const struct npumem_access *access =
			&w.graph->accesses[w.graph->steps[1].first_access + p.pieces[i].access];
		uint32_t tensor = w.graph->tiles[access->tile].tensor;

		assert_int_equal(tensor,
				 i ? w.graph->ops[0].inputs[i - 1] : w.graph->ops[0].outputs[0]);
		assert_int_equal(p.operands[i].type, NPUMEM_COMMAND_FLOAT32);
		assert_int_equal(p.pieces[i].offset, 0);
		assert_int_equal(p.pieces[i].stride[3], 4);
	}
	assert_int_equal(p.pieces[1].stride[1], 8 * 3 * 4);
	assert_int_equal(p.attributes[NPUMEM_COMMAND_STRIDE_H], 2);
	assert_int_equal(p.attributes[NPUMEM_COMMAND_DILATION_W], 1);
	assert_int_equal(p.attributes[NPUMEM_COMMAND_PAD_TOP], 0);
	assert_int_equal(p.attributes[NPUMEM_COMMAND_KERNEL_W], 3);
	assert_memory_equal(&p.attributes[NPUMEM_COMMAND_WINDOW_MIN], range, sizeof(range));
	free(command);
	close_world(&w);
}

/* An input handed out in another shape: each row of that is as many elements of the input. */
TEST(part_of_another_shape)
{
	struct npuplan_tiling rows = { .rows = 2, .with_parameters = true };
	struct tb_model model = one_op(BUILTIN_RESHAPE, 1);
	struct world w;
	struct parts p;
	void *command;
	size_t size;

	memcpy(model.tensors[1].shape, (const int32_t[]){ 1, 6, 4, 8 }, 4 * sizeof(int32_t));
	open_world(&w, &model, &rows);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.graph->step_count, 3);
	assert_int_equal(tflite_command(w.commands, 1, &command, &size, &w.error), 0);
	p = parts_of(command);
	assert_int_equal(p.head->operation, NPUMEM_COMMAND_COPY);
	for (int i = 0; i < 2; i++) {
		ASSERT_FOUR(p.operands[i].shape, 1, 6, 4, 8);
		ASSERT_FOUR(p.operands[i].origin, 0, 2, 0, 0);
		ASSERT_FOUR(p.operands[i].dims, 1, 2, 4, 8);
		assert_int_equal(p.pieces[i].rows, 2);
		assert_int_equal(p.pieces[i].offset, i ? 2 * 4 * 8 * sizeof(float) : 0);
		assert_int_equal(p.pieces[i].stride[1], 4 * 8 * sizeof(float));
	}
	free(command);
	close_world(&w);
}

/* The range of an operator of one input, or of two that are the same, as many as there are. */
static void float_range(int32_t builtin, uint32_t inputs, float range[2])
{
	struct tb_model model = one_op(builtin, inputs);
	struct world w;
	struct parts p;
	void *command;
	size_t size;

	open_world(&w, &model, &whole);
	assert_int_equal(w.err, 0);
	assert_int_equal(tflite_command(w.commands, 0, &command, &size, &w.error), 0);
	p = parts_of(command);
	memcpy(range, p.attributes, 2 * sizeof(*range));
	free(command);
	close_world(&w);
}

/* What an operator without an activation leaves is finite; what only clamps leaves infinities. */
TEST(ranges_of_floats)
{
	float range[2];

	float_range(BUILTIN_ADD, 2, range);
	assert_true(range[0] == -FLT_MAX && range[1] == FLT_MAX);
	float_range(BUILTIN_RELU, 1, range);
	assert_true(range[0] == 0 && range[1] == INFINITY);
	float_range(BUILTIN_RELU6, 1, range);
	assert_true(range[0] == 0 && range[1] == 6);
}

/* Constants are accessed whole, but one row is all that a row is made of. */
TEST(part_of_a_parameter)
{
	struct npuplan_tiling rows = { .rows = 1, .with_parameters = true };
	struct tb_model model = floats();
	struct world w;
	struct parts p;
	void *command;
	size_t size;

	model.codes[0].builtin = model.codes[0].deprecated = BUILTIN_DEQUANTIZE;
	model.ops[0].input_count = 1;
	model.ops[0].inputs[0] = 1;
	model.ops[0].options_type = 0;
	model.ops[0].option_count = 0;
	model.tensors[1].type = TYPE_FLOAT16;
	memcpy(model.tensors[1].shape, model.tensors[3].shape, sizeof(model.tensors[1].shape));
	model.buffers[1].size = 4 * 4 * 2 * 2;
	open_world(&w, &model, &rows);
	assert_int_equal(tflite_command(w.commands, 2, &command, &size, &w.error), 0);
	p = parts_of(command);
	assert_int_equal(p.head->operation, NPUMEM_COMMAND_CONVERT);
	ASSERT_FOUR(p.operands[0].origin, 0, 2, 0, 0);
	ASSERT_FOUR(p.operands[1].origin, 0, 2, 0, 0);
	ASSERT_FOUR(p.operands[1].dims, 1, 1, 4, 2);
	ASSERT_FOUR(p.operands[1].shape, 1, 4, 4, 2);
	assert_int_equal(p.pieces[1].offset, 2 * 4 * 2 * 2);
	assert_int_equal(p.pieces[1].rows, 1);
	free(command);
	close_world(&w);
}

TEST(initial_values)
{
	struct tb_model model = floats();
	uint8_t weights[54 * 4], value[54 * 4];
	struct world w;

	for (size_t i = 0; i < sizeof(weights); i++)
		weights[i] = (uint8_t)(i * 5);
	model.buffers[1].data = weights;
	open_world(&w, &model, &whole);
	assert_int_equal(tflite_initial_value(w.commands, 1, value, &w.error), 0);
	assert_memory_equal(value, weights, sizeof(value));
	assert_int_equal(tflite_initial_value(w.commands, 0, value, &w.error), -EINVAL);
	assert_string_equal(w.error.text, "the model says nothing of the value of tensor 0 'in'");
	close_world(&w);
}

static void refuse_graph(const struct npuplan_tiling *tiling, int err, const char *why)
{
	struct tb_model model = floats();
	struct world w;

	open_world(&w, &model, tiling);
	assert_int_equal(w.err, err);
	assert_null(w.commands);
	assert_string_equal(w.error.text, why);
	close_world(&w);
}

TEST(refused_graphs)
{
	struct tb_model model = floats();
	struct tflite_commands *commands;
	struct world w;

	refuse_graph(NULL, -EINVAL, "graph m is not cut into steps");
	refuse_graph(&(struct npuplan_tiling){ .layout = NPUPLAN_NCHW, .bands = 1 }, -EOPNOTSUPP,
		     "graph m is laid out as nchw");
	refuse_graph(&(struct npuplan_tiling){ .ops = &(struct npuplan_tile_choice){ .depth = 2 },
					       .op_count = 1 },
		     -EOPNOTSUPP,
		     "tensor 3 'c' is made of partial sums: an engine has no commands for these");
	refuse_graph(
		&(struct npuplan_tiling){
			.patches = &(struct npuplan_patches){ 0, 1, 2, 0 },
			.patch_count = 1,
		},
		-EOPNOTSUPP,
		"tensor 3 'c' is made in patches: an engine has no commands for these");
	open_world(&w, &model, &whole);
	w.graph->tensors[2].id = 5;
	assert_int_equal(tflite_commands_new(w.file.bytes, w.file.size, w.graph, &commands,
					     &w.error),
			 -EINVAL);
	assert_string_equal(w.error.text, "tensor 5 'b' is not in the model");
	assert_int_equal(tflite_commands_new("TFL", 3, w.graph, &commands, &w.error), -EBADMSG);
	close_world(&w);
}

/* The first step of a model, or @step. */
static void refuse_step(const struct tb_model *model, const struct npuplan_tiling *tiling,
			uint32_t step, int err, const char *why)
{
	struct world w;
	void *command;
	size_t size;

	open_world(&w, model, tiling);
	assert_int_equal(w.err, 0);
	assert_int_equal(tflite_command(w.commands, step, &command, &size, &w.error), err);
	assert_null(command);
	assert_string_equal(w.error.text, why);
	close_world(&w);
}

static void refuse_model(const struct tb_model *model, const char *why)
{
	struct world w;

	open_world(&w, model, &whole);
	assert_int_equal(w.err, -EOPNOTSUPP);
	assert_null(w.commands);
	assert_string_equal(w.error.text, why);
	close_world(&w);
}

/* Which way to go an engine does not know, nor operators of other subgraphs. */
TEST(refused_subgraphs)
{
	struct tb_subgraph subs[2];
	struct tb_model model;

	fibonacci(subs);
	model = looping(subs);
	refuse_model(&model, "graph m has loops or branches: which way to go an engine's commands "
			     "do not say");
	arms(subs);
	model = calling(&subs[1]);
	refuse_model(&model, "operator 2 'mid' (add) is not in the model's first subgraph: an "
			     "engine has no commands for others");
}

/* A resource variable that nothing gives a value before the first inference. */
TEST(refused_variables)
{
	struct tb_model model = model_of(NULL, 0);
	uint8_t value[16];
	struct world w;

	model.tensor_count = 4;
	model.tensors[0] = (struct tb_tensor)VALUE("in");
	model.tensors[1] = (struct tb_tensor)VALUE("out");
	model.tensors[2] = (struct tb_tensor)RESOURCE("h");
	model.tensors[3] = (struct tb_tensor)VALUE("old");
	model.op_count = 3;
	model.ops[0] = (struct tb_op){
		.code = HANDLE,
		.output_count = 1,
		.outputs = { 2 },
		.options_type = OPTIONS_VAR_HANDLE,
		.texts = { NULL, "v" },
	};
	model.ops[1] = (struct tb_op)UNARY(READ, 2, 3);
	model.ops[2] = (struct tb_op)BINARY(ADD, 0, 3, 1);
	open_world(&w, &model, &whole);
	assert_int_equal(w.err, 0);
	for (uint32_t i = 0; i < w.graph->tensor_count; i++) {
		if (w.graph->tensors[i].kind != NPUMEM_TENSOR_STATE)
			continue;
		assert_int_equal(tflite_initial_value(w.commands, i, value, &w.error), -EOPNOTSUPP);
		assert_string_equal(w.error.text, "tensor 2 'v' is a resource variable: it does "
						  "not begin with a constant");
	}
	close_world(&w);
}

/* ------------------------------------------------------------------------------- streaming */

/* The state of a model begins with what CALL_ONCE assigns, each variable with its own. */
TEST(variables_begin)
{
	struct tb_model model = stream_model();
	struct stream begins;
	unsigned int states = 0;
	struct world w;

	stream_begin(&begins);
	open_world(&w, &model, &whole);
	assert_int_equal(w.err, 0);
	for (uint32_t t = 0; t < w.graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &w.graph->tensors[t];
		float value[STREAM_OLD * STREAM_CHANNELS];

		if (tensor->kind != NPUMEM_TENSOR_STATE)
			continue;
		assert_in_range(tensor->size, 1, sizeof(value));
		assert_int_equal(tflite_initial_value(w.commands, t, value, &w.error), 0);
		if (!strcmp(tensor->name, "window"))
			assert_memory_equal(value, begins.window, sizeof(begins.window));
		else
			assert_memory_equal(value, begins.sum, sizeof(begins.sum));
		states++;
	}
	assert_int_equal(states, 2);
	close_world(&w);
}

/* Number of an operator of the streaming model, by its kind: the first one. */
static uint32_t operator_of(const struct tb_model *model, int32_t builtin)
{
	for (uint32_t i = 0; i < model->op_count; i++) {
		const struct tb_code *code = &model->codes[model->ops[i].code];

		if ((code->deprecated == BUILTIN_PLACEHOLDER ? code->builtin : code->deprecated) ==
		    builtin)
			return i;
	}
	fail_msg("no operator %d", builtin);
	return 0;
}

/* Where a slice begins: from the end, with a mask, beyond the tensor; the rest is refused. */
TEST(strided_slice)
{
	static const struct {
		int32_t first;
		int32_t mask;
		int32_t expected;
	} cases[] = { { 2, 0, 2 }, { -6, 0, 2 }, { 1, 2, 0 }, { -100, 0, 0 }, { 1, 0, 1 } };
	struct tb_model model = stream_model();
	struct tb_op *op = &model.ops[operator_of(&model, BUILTIN_STRIDED_SLICE)];
	struct tb_buffer *buffer = &model.buffers[model.tensors[op->inputs[1]].buffer];
	int32_t first[4] = { 0 };

	buffer->data = first;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;
		struct parts p;
		void *command;
		size_t size;

		first[1] = cases[i].first;
		op->options[0] = cases[i].mask;
		open_world(&w, &model, &whole);
		assert_int_equal(tflite_command(w.commands, 1, &command, &size, &w.error), 0);
		p = parts_of(command);
		assert_int_equal(p.head->operation, NPUMEM_COMMAND_SLICE);
		ASSERT_FOUR(p.attributes, 0, (uint32_t)cases[i].expected, 0, 0);
		free(command);
		close_world(&w);
	}
}

TEST(refused_slices)
{
	static const int32_t twos[4] = { 1, 2, 1, 1 };
	struct tb_model model = stream_model(), other = model;
	struct tb_op *op = &other.ops[operator_of(&model, BUILTIN_STRIDED_SLICE)];

	for (int32_t option = 2; option < 5; option++) {
		other = model;
		op->option_count = 5;
		op->options[option] = 2;
		refuse_step(&other, &whole, 1, -EOPNOTSUPP,
			    "operator 5 'new' (strided_slice): its output has not the input's "
			    "dimensions");
	}
	other = model;
	other.buffers[other.tensors[op->inputs[3]].buffer].data = twos;
	refuse_step(&other, &whole, 1, -EOPNOTSUPP,
		    "operator 5 'new' (strided_slice): it leaves elements out");
	other = model;
	other.tensors[op->inputs[1]].type = TYPE_INT64;
	other.buffers[other.tensors[op->inputs[1]].buffer].size = 32;
	other.buffers[other.tensors[op->inputs[1]].buffer].data = NULL;
	refuse_step(&other, &whole, 1, -EOPNOTSUPP,
		    "operator 5 'new' (strided_slice): its input 1 is not 4 constant integers of "
		    "32 bits");
}

TEST(refused_steps)
{
	struct tb_model model = floats();

	refuse_step(&model, &(struct npuplan_tiling){ .bands = 1 }, 0, -EINVAL,
		    "operator 0 'c' (conv2d): step c does not access tensor 1 'w': parameters have "
		    "to be planned");
	model.ops[0].options[3] = ACTIVATION_TANH;
	refuse_step(&model, &whole, 0, -EOPNOTSUPP,
		    "operator 0 'c' (conv2d): it has fused activation 4");
	model = tb_valid();
	refuse_step(&model, &whole, 0, -EINVAL,
		    "operator 0 'c' (conv2d): tensor 0 'in' has no scale");
	model = floats();
	model.tensors[4].type = model.tensors[3].type = TYPE_FLOAT64;
	refuse_step(&model, &whole, 0, -EOPNOTSUPP,
		    "operator 0 'c' (conv2d): tensor 3 'c' has elements of TFLite's type 10");
	model = floats();
	model.tensors[1].type = TYPE_INT32;
	refuse_step(&model, &whole, 0, -EOPNOTSUPP,
		    "operator 0 'c' (conv2d): step c: the engine refuses its command: no such "
		    "convolution of these types");
	model = floats();
	model.codes[1].builtin = model.codes[1].deprecated = 8;
	refuse_step(&model, &whole, 1, -EOPNOTSUPP,
		    "operator 1 'out' (floor): the engine has no such operator");
}

/* An operator that runs twice, to save memory, is once in the file. */
TEST(clones)
{
	struct tb_model model = floats();
	struct world w;
	void *command;
	size_t size;

	open_world(&w, &model, &whole);
	w.graph->ops[1].id = 2;
	assert_int_equal(tflite_command(w.commands, 1, &command, &size, &w.error), -EOPNOTSUPP);
	assert_string_equal(w.error.text,
			    "operator 2 'out' (softmax): it is not in the file: it runs once more");
	close_world(&w);
}

/* ------------------------------------------------------------------------------- regions */

static void mark(const struct npumem_region *r, uint8_t *marks)
{
	for (uint64_t k = 0; k < r->count[2]; k++)
		for (uint64_t j = 0; j < r->count[1]; j++)
			for (uint64_t i = 0; i < r->count[0]; i++)
				memset(marks + r->offset + i * r->stride[0] + j * r->stride[1] +
					       k * r->stride[2],
				       1, r->length);
}

static bool in_box(const struct tflite_box *box, const uint32_t shape[4], uint64_t element)
{
	for (int d = 4; d-- > 0; element /= shape[d])
		if (element % shape[d] < box->origin[d] ||
		    element % shape[d] - box->origin[d] >= box->dims[d])
			return false;
	return true;
}

/* Against every byte: a region is the box that is found, or is none at all. */
TEST(boxes)
{
	uint64_t seed = SEED;
	unsigned int found = 0, none = 0;

	for (int i = 0; i < TRIES; i++) {
		uint32_t shape[4], elem = 1u << random_range(&seed, 0, 1), size = elem;
		struct npumem_region region = { .count = { 1, 1, 1 } };
		struct tflite_box box = { 0 }, bounds = { { 0 }, { 0 } };
		uint8_t marks[2048] = { 0 };
		uint64_t extent;
		bool good, exact = true;

		for (int d = 0; d < 4; d++)
			size *= shape[d] = random_range(&seed, 1, 4);
		/* Chunks and gaps are often those of rows and columns. */
		extent = region.length = elem * random_range(&seed, 1, 4) *
					 (random_range(&seed, 0, 1) ? shape[3] : 1);
		for (int d = 0; d < 3; d++) {
			region.count[d] = random_range(&seed, 1, 3);
			if (region.count[d] == 1)
				continue;
			region.stride[d] = extent + elem * random_range(&seed, 0, 3);
			if (random_range(&seed, 0, 1))
				region.stride[d] = (extent + elem * shape[3] - 1) /
						   (elem * shape[3]) * elem * shape[3];
			extent += region.stride[d] * (region.count[d] - 1);
		}
		if (extent > size)
			continue;
		region.offset = random_range(&seed, 0, (size - (uint32_t)extent) / elem) * elem;
		mark(&region, marks);
		good = tflite_box(shape, elem, &region, &box);
		/* The smallest box that has all of it. */
		for (int d = 0; d < 4; d++) {
			uint32_t low = UINT32_MAX, high = 0;

			for (uint32_t b = 0; b < size; b++) {
				uint32_t at = b / elem;

				for (int e = 3; e > d; e--)
					at /= shape[e];
				at %= shape[d];
				if (marks[b] && at < low)
					low = at;
				if (marks[b] && at > high)
					high = at;
			}
			bounds.origin[d] = low;
			bounds.dims[d] = high - low + 1;
		}
		for (uint32_t b = 0; b < size; b++)
			exact = exact && marks[b] == in_box(&bounds, shape, b / elem);
		assert_int_equal(good, exact);
		if (good)
			assert_memory_equal(&box, &bounds, sizeof(box));
		found += good;
		none += !good;
	}
	print_message("# %u boxes, %u none\n", found, none);
	assert_in_range(found, 500, TRIES);
	assert_in_range(none, 500, TRIES);
}
