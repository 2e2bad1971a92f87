/* SPDX-License-Identifier: MIT */
/* Resource variables of TFLite models: state, and each refusal alone in a valid model. */
#include <errno.h>
#include <string.h>

#include "tflite_check.h"
#include "tflite/schema.h"

enum { RELU, HANDLE, READ, ASSIGN, ONCE, ADD, CODES };

/* Tensors of the first subgraph. */
enum { IN, OUT, H, OLD, NEW, H2, SPARE };

#define VALUE(name)    { name, TYPE_INT32, 1, { 4 }, 0, 0, 0 }
#define RESOURCE(name) { name, TYPE_RESOURCE, 0, { 0 }, 0, 0, 0 }
#define VAR_HANDLE(to, shared)                                        \
	{                                                             \
		.code = HANDLE, .output_count = 1, .outputs = { to }, \
		.options_type = OPTIONS_VAR_HANDLE, .texts = {        \
			"",                                           \
			shared                                        \
		}                                                     \
	}

/* v begins as CALL_ONCE's subgraph says. old = v; new = old + in; v = new; out = relu(new) */
static struct tb_subgraph initial(void)
{
	return (struct tb_subgraph){
		.tensor_count = 2,
		.op_count = 2,
		.tensors = { RESOURCE("handle"), { "zeros", TYPE_INT32, 1, { 4 }, 1, 0, 0 } },
		.ops = {
			VAR_HANDLE(0, "v"),
			{ .code = ASSIGN, .input_count = 2, .inputs = { 0, 1 } },
		},
	};
}

static struct tb_model streaming(const struct tb_subgraph *once)
{
	return (struct tb_model){
		.version = TFLITE_VERSION,
		.subgraphs = 2,
		.more_count = 1,
		.more = once,
		.tensor_count = 7,
		.code_count = CODES,
		.op_count = 6,
		.buffer_count = 2,
		.input_count = 1,
		.output_count = 1,
		.tensors = { VALUE("in"), VALUE("out"), RESOURCE("h"), VALUE("old"), VALUE("new"),
			     RESOURCE("h2"), VALUE("spare") },
		.codes = {
			[RELU] = { BUILTIN_RELU, 0, NULL },
			[HANDLE] = { BUILTIN_PLACEHOLDER, BUILTIN_VAR_HANDLE, NULL },
			[READ] = { BUILTIN_PLACEHOLDER, BUILTIN_READ_VARIABLE, NULL },
			[ASSIGN] = { BUILTIN_PLACEHOLDER, BUILTIN_ASSIGN_VARIABLE, NULL },
			[ONCE] = { BUILTIN_PLACEHOLDER, BUILTIN_CALL_ONCE, NULL },
			[ADD] = { BUILTIN_ADD, 0, NULL },
		},
		.ops = {
			{ .code = ONCE, .options_type = OPTIONS_CALL_ONCE, .option_count = 1,
			  .options = { 1 } },
			VAR_HANDLE(H, "v"),
			{ .code = READ, .input_count = 1, .output_count = 1, .inputs = { H },
			  .outputs = { OLD } },
			{ .code = ADD, .input_count = 2, .output_count = 1, .inputs = { OLD, IN },
			  .outputs = { NEW } },
			{ .code = ASSIGN, .input_count = 2, .inputs = { H, NEW } },
			{ .code = RELU, .input_count = 1, .output_count = 1, .inputs = { NEW },
			  .outputs = { OUT } },
		},
		.buffers = { { 0 }, { .size = 16 } },
		.inputs = { IN },
		.outputs = { OUT },
	};
}

/* ---------------------------------------------------------------- what it becomes */

TEST(becomes_state)
{
	const struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = tflite_accept(&model, &info);
	const struct npuplan_tensor *var = NULL;
	uint32_t index = 0;

	assert_int_equal(info.variables, 1);
	assert_int_equal(info.instances, 0);
	assert_int_equal(info.views, 1);
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].kind == NPUMEM_TENSOR_STATE) {
			var = &graph->tensors[i];
			index = i;
		}
	assert_non_null(var);
	assert_string_equal(var->name, "v");
	assert_int_equal(var->id, H);
	assert_int_equal(var->size, 16);
	assert_int_equal(var->elem_size, 4);
	/* What is read are the state's bytes: nothing writes them as long as anybody reads. */
	assert_int_equal(graph->op_count, 3);
	assert_string_equal(graph->ops[0].type, "add");
	assert_true(graph->tensors[graph->ops[0].inputs[0]].flags & NPUMEM_TENSOR_FLAG_ALIAS);
	assert_int_equal(graph->tensors[graph->ops[0].inputs[0]].alias_of, index);
	assert_string_equal(graph->ops[1].type, "assign_variable");
	assert_int_equal(graph->ops[1].id, 4);
	assert_int_equal(graph->ops[1].outputs[0], index);
	assert_int_equal(graph->ops[1].inputs[1], index);
	tflite_plan(&model, 1, NULL);
	tflite_plan(&model, 3, NULL);
}

/* The old value is read after the new one is there: it is copied before. */
TEST(old_value_kept)
{
	const struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	model.ops[5].inputs[0] = OLD;
	graph = tflite_accept(&model, NULL);
	assert_int_equal(graph->op_count, 4);
	assert_string_equal(graph->ops[0].type, "read_variable");
	assert_int_equal(graph->ops[0].id, 2);
	assert_int_equal(graph->ops[0].output_count, 1);
	assert_int_equal(graph->tensors[graph->ops[0].inputs[0]].kind, NPUMEM_TENSOR_STATE);
	tflite_plan(&model, 1, NULL);
}

/* An output of the model is a copy, too. */
TEST(read_as_output)
{
	const struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	model.outputs[1] = OLD;
	model.output_count = 2;
	graph = tflite_accept(&model, NULL);
	assert_string_equal(graph->ops[0].type, "read_variable");
	tflite_plan(&model, 1, NULL);
}

/* Two handles of one name are of one variable; in another container it is another one. */
TEST(names)
{
	const struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = NULL, *other = NULL, *more = NULL;

	model.ops[6] = (struct tb_op)VAR_HANDLE(H2, "v");
	model.op_count = 7;
	model.ops[4].inputs[0] = H2;
	graph = tflite_accept(&model, &info);
	assert_int_equal(info.variables, 1);
	assert_int_equal(graph->op_count, 3);
	model.ops[6].texts[0] = "c";
	other = tflite_accept(&model, &info);
	assert_int_equal(info.variables, 2);
	tflite_plan(&model, 1, NULL);
	/* One that nothing reads or writes is none. */
	model.ops[6].texts[1] = "x";
	model.ops[4].inputs[0] = H;
	more = tflite_accept(&model, &info);
	assert_int_equal(info.variables, 1);
}

/* A variable of no bytes is none; what is read of it has none either. */
TEST(empty)
{
	struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	once.tensors[1] = (struct tb_tensor){ "none", TYPE_INT32, 1, { 0 }, 0, 0, 0 };
	model.tensors[OLD].shape[0] = 0;
	model.tensors[SPARE].shape[0] = 0;
	model.ops[4].inputs[1] = SPARE;
	graph = tflite_accept(&model, &info);
	assert_int_equal(info.variables, 0);
	assert_int_equal(graph->op_count, 2);
}

/* Of four steps of a model with a long state the arena holds the state once. */
TEST(arena)
{
	const struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);
	uint64_t arena;

	tflite_plan(&model, 1, &arena);
	/* v, in, new; later out where in was. */
	assert_int_equal(arena, 48);
}

/* ---------------------------------------------------------------- refusals */

TEST(handles)
{
	const struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);

	model.ops[2].inputs[0] = H2;
	tflite_refuse(&model, -EINVAL,
		      "operator 2 (read_variable): its first input, tensor 5, is no handle of a "
		      "variable");
	model = streaming(&once);
	model.ops[4].inputs[0] = IN;
	tflite_refuse(&model, -EINVAL,
		      "operator 4 (assign_variable): its first input, tensor 0, is no handle of a "
		      "variable");
	model = streaming(&once);
	model.ops[1].outputs[0] = SPARE;
	tflite_refuse(&model, -EINVAL,
		      "operator 1 (var_handle): its output, tensor 6, cannot be a handle of it");
	model = streaming(&once);
	model.ops[6] = (struct tb_op)VAR_HANDLE(H, "w");
	model.op_count = 7;
	tflite_refuse(&model, -EINVAL,
		      "operator 6 (var_handle): its output, tensor 2, cannot be a handle of it");
	model = streaming(&once);
	model.ops[1].options_type = 0;
	tflite_refuse(&model, -EINVAL, "operator 1 (var_handle) does not name its variable");
	/* Whoever computes does not do so with a handle. */
	model = streaming(&once);
	model.ops[5].inputs[0] = H;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "tensor 2 'h' is a resource: what it stands for is not in the model's plan");
	model = streaming(&once);
	model.outputs[0] = H;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "tensor 2 'h' is a resource: what it stands for is not in the model's plan");
}

TEST(references)
{
	const struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);

	model.ops[1].output_count = 0;
	tflite_refuse(&model, -EINVAL, "operator 1 (var_handle) has 0 outputs, must have 1");
	model = streaming(&once);
	model.ops[1].outputs[0] = -1;
	tflite_refuse(&model, -EINVAL, "operator 1 (var_handle) lacks output 0");
	model = streaming(&once);
	model.ops[2].input_count = 2;
	tflite_refuse(&model, -EINVAL, "operator 2 (read_variable) has 2 inputs, must have 1");
	model = streaming(&once);
	model.ops[2].output_count = 0;
	tflite_refuse(&model, -EINVAL, "operator 2 (read_variable) has 0 outputs, must have 1");
	model = streaming(&once);
	model.ops[4].input_count = 1;
	tflite_refuse(&model, -EINVAL, "operator 4 (assign_variable) has 1 inputs, must have 2");
	model = streaming(&once);
	model.ops[4].inputs[1] = -1;
	tflite_refuse(&model, -EINVAL, "operator 4 (assign_variable) lacks input 1");
	model = streaming(&once);
	model.ops[4].output_count = 1;
	tflite_refuse(&model, -EINVAL, "operator 4 (assign_variable) has 1 outputs, must have 0");
}

TEST(sizes)
{
	struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);

	/* That of CALL_ONCE is the first. */
	model.tensors[OLD].shape[0] = 3;
	tflite_refuse(&model, -EINVAL,
		      "operator 2 (read_variable): variable 'v' has 12 bytes here, 16 before");
	model = streaming(&once);
	model.tensors[NEW].shape[0] = 5;
	tflite_refuse(&model, -EINVAL,
		      "operator 4 (assign_variable): variable 'v' has 20 bytes here, 16 before");
	model = streaming(&once);
	model.tensors[OLD].type = TYPE_FLOAT32;
	tflite_refuse(&model, -EINVAL,
		      "operator 2 (read_variable): variable 'v' has elements of type 0 here, 2 "
		      "before");
	model = streaming(&once);
	model.tensors[OLD].shape[0] = -1;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "tensor 3 'old' has an unknown size (-1) in dimension 0: convert the model "
		      "with fixed shapes");
	/* A constant of strings has bytes, but a variable of strings may have more. */
	model = streaming(&once);
	once.tensors[1].type = TYPE_STRING;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "tensor 8 'zeros' has strings: their size is not known before the model "
		      "runs");
}

TEST(call_once)
{
	struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);
	struct tb_op first = model.ops[0];

	model.ops[0].options[0] = 2;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (call_once) runs subgraph 2, but there are only 2");
	model = streaming(&once);
	model.ops[0].options[0] = 0;
	tflite_refuse(&model, -ELOOP, "operator 0 (call_once) runs subgraph 0, which it is in");
	model = streaming(&once);
	model.ops[0].no_options_table = 1;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (call_once): its options have type 0, expected 103");
	model = streaming(&once);
	model.ops[0].input_count = 1;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (call_once) hands values on, but runs before the first "
		      "inference");
	model = streaming(&once);
	once.outputs[0] = 1;
	once.output_count = 1;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (call_once) hands values on, but runs before the first "
		      "inference");
	once.output_count = 0;
	once.ops[1].inputs[0] = 1;
	tflite_refuse(&model, -EINVAL,
		      "operator 1 of subgraph 1 (assign_variable): its first input, tensor 1, is "
		      "no handle of a variable");
	once.ops[1].inputs[0] = 0;
	once.ops[1].input_count = 1;
	tflite_refuse(&model, -EINVAL,
		      "operator 1 of subgraph 1 (assign_variable) has 1 inputs, must have 2");
	/* Once somebody has used the variable, what it holds depends on the inference. */
	once = initial();
	model = streaming(&once);
	memmove(&model.ops[0], &model.ops[1], 5 * sizeof(model.ops[0]));
	model.ops[5] = first;
	model.ops[4].inputs[0] = NEW;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 1 of subgraph 1 assigns variable 'v' once, after others have used "
		      "it");
}

/*
 * struct writer - a FlatBuffer that a test writes by itself, after a valid one
 * @at: where the next byte comes
 */
struct writer {
	uint8_t *bytes;
	size_t at;
};

static size_t put(struct writer *w, uint64_t value, int bytes)
{
	size_t at = w->at;

	for (int i = 0; i < bytes; i++)
		w->bytes[w->at++] = (uint8_t)(value >> (8 * i));
	return at;
}

/* The offset at @at leads to what is written next. */
static void lead(struct writer *w, size_t at)
{
	struct writer back = { w->bytes, at };

	put(&back, w->at - at, 4);
}

/* A VAR_HANDLE to tensor @number of a variable of that name; its table's place at @slot. */
static void put_handle(struct writer *w, size_t slot, size_t vtable, size_t options_vtable,
		       uint32_t number)
{
	size_t outputs, options, name;

	lead(w, slot);
	put(w, w->at - vtable, 4);
	put(w, HANDLE, 4);
	outputs = put(w, 0, 4);
	put(w, OPTIONS_VAR_HANDLE, 4);
	options = put(w, 0, 4);
	lead(w, outputs);
	put(w, 1, 4);
	put(w, number, 4);
	lead(w, options);
	put(w, w->at - options_vtable, 4);
	name = put(w, 0, 4);
	lead(w, name);
	put(w, 4, 4);
	put(w, number, 4);
	put(w, 0, 4);
}

/* @count handles of as many variables, in place of the model's own tensors and operators. */
static int read_many(uint32_t count, struct npuplan_error *error)
{
	const struct tb_subgraph once = initial();
	struct tb_model model = streaming(&once);
	struct tb_file *file = malloc(sizeof(*file));
	struct npuplan_graph *graph = NULL;
	size_t vtable, options_vtable, table, list;
	struct writer w = { calloc(1, sizeof(file->bytes) + (size_t)count * 128), 0 };
	int err;

	assert_non_null(file);
	assert_non_null(w.bytes);
	model.input_count = model.output_count = 0;
	tb_build(&model, file);
	memcpy(w.bytes, file->bytes, file->size);
	w.at = file->size;
	/* All tensors are the same table: TYPE at byte 4 of it. */
	lead(&w, file->subgraph + 4 + 8 * SUBGRAPH_TENSORS);
	put(&w, count, 4);
	list = w.at;
	w.at += 4 * (size_t)count;
	vtable = w.at;
	put(&w, 8, 2);
	put(&w, 8, 2);
	put(&w, 0, 2);
	put(&w, 4, 2);
	table = put(&w, w.at - vtable, 4);
	put(&w, TYPE_RESOURCE, 4);
	for (uint32_t i = 0; i < count; i++) {
		struct writer slot = { w.bytes, list + 4 * (size_t)i };

		put(&slot, table - slot.at, 4);
	}
	/* Fields CODE, OUTPUTS, OPTIONS_TYPE and OPTIONS; of the options, the name. */
	vtable = w.at;
	put(&w, 14, 2);
	put(&w, 20, 2);
	put(&w, 4, 2);
	put(&w, 0, 2);
	put(&w, 8, 2);
	put(&w, 12, 2);
	put(&w, 16, 2);
	options_vtable = w.at;
	put(&w, 8, 2);
	put(&w, 8, 2);
	put(&w, 0, 2);
	put(&w, 4, 2);
	lead(&w, file->subgraph + 4 + 8 * SUBGRAPH_OPERATORS);
	put(&w, count, 4);
	list = w.at;
	w.at += 4 * (size_t)count;
	for (uint32_t i = 0; i < count; i++)
		put_handle(&w, list + 4 * (size_t)i, vtable, options_vtable, i);
	err = npuimport_tflite(w.bytes, w.at, "many", NULL, &graph, NULL, error);
	assert_null(graph);
	free(w.bytes);
	free(file);
	return err;
}

TEST(too_many)
{
	struct npuplan_error error = { 0 };

	assert_int_equal(read_many(1025, &error), -E2BIG);
	assert_string_equal(error.text, "the model has more than 1024 resource variables");
	/* One less is taken; but there is nothing else in the model. */
	assert_int_equal(read_many(1024, &error), -EINVAL);
	assert_string_equal(error.text, "the graph has no operators");
}
