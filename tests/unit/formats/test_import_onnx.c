/* SPDX-License-Identifier: MIT */
/* What the ONNX reader makes of a model: tensors, operators, aliases, constants. */
#include <errno.h>

#include "onnx_check.h"

#define IN  "in x float 1x4x8x8; "
#define OUT "; out y"

static const struct npuplan_tensor *find(const struct npuplan_graph *graph, const char *name)
{
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (!strcmp(graph->tensors[i].name, name))
			return &graph->tensors[i];
	fail_msg("no tensor '%s'", name);
	return NULL;
}

TEST(whole_model)
{
	AUTO_ONNX struct onnx_model *model = onnx_model_new(
		IN "init w float 6x4x3x3; init b float 6; node first:Conv x,w,b -> c "
		   "pads=[1,1,1,1] strides=[2,2]; node Relu c -> r; ints s 1,-1; "
		   "node Flatten r -> f; init m float 96x5; node Gemm f,m -> y; out y float Nx5");
	struct npuimport_info info;
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, NULL, &info);
	const struct npuplan_op *conv = &graph->ops[0];

	assert_string_equal(graph->name, "model");
	assert_int_equal(graph->source_layout, NPUPLAN_NCHW);
	assert_int_equal(info.format, NPUIMPORT_ONNX);
	assert_int_equal(info.operators, 4);
	assert_int_equal(info.views, 0);
	/* x, w, b, m, c, r, f, y; the list that nothing reads is left out. */
	assert_int_equal(info.tensors, 9);
	assert_int_equal(info.left_out, 1);
	assert_int_equal(graph->tensor_count, 8);
	assert_int_equal(find(graph, "x")->kind, NPUMEM_TENSOR_INPUT);
	assert_int_equal(find(graph, "w")->kind, NPUMEM_TENSOR_PARAMETER);
	assert_int_equal(find(graph, "c")->kind, NPUMEM_TENSOR_INTERMEDIATE);
	assert_int_equal(find(graph, "y")->kind, NPUMEM_TENSOR_OUTPUT);
	assert_int_equal(find(graph, "c")->size, 6 * 4 * 4 * 4);
	assert_int_equal(find(graph, "c")->align, 4);
	assert_int_equal(graph->op_count, 4);
	assert_string_equal(conv->name, "first");
	assert_string_equal(conv->type, "conv2d");
	assert_int_equal(conv->input_count, 3);
	assert_int_equal(conv->attrs.spatial, 2);
	assert_int_equal(conv->attrs.kernel[0], 3);
	assert_int_equal(conv->attrs.stride[1], 2);
	assert_int_equal(conv->attrs.pad_begin[0], 1);
	assert_string_equal(graph->ops[1].name, "r");
	assert_true(graph->ops[1].attrs.inplace);
	/* An image has layouts: turning it into a list moves bytes in some of them. */
	assert_string_equal(graph->ops[2].type, "reshape");
	assert_false(graph->ops[2].attrs.inplace);
	assert_string_equal(graph->ops[3].type, "linear");
}

TEST(attributes)
{
	static const struct {
		const char *model;
		const char *type;
		int32_t axis;
		bool whole;
	} cases[] = {
		{ IN "node Softmax x -> y", "softmax", 3, false },
		{ "opset 12; " IN "node Softmax x -> y", "softmax", 1, true },
		{ IN "node Concat x,x -> y axis=-3", "cat", 1, false },
		{ IN "node ReduceMean x -> y axes=[2,3]", "mean", 2, false },
		{ IN "node ReduceMean x -> y axes=[1,3]", "mean", 1, true },
		{ IN "node MaxPool x -> y kernel_shape=[2,2]", "maxpool", -1, false },
		{ "in x float 1x4x8; node MaxPool x -> y kernel_shape=[2]", "maxpool", -1, true },
		{ IN "node GlobalAveragePool x -> y", "avgpool", -1, false },
		{ IN "ints p 0,0,1,1,0,0,1,1; node Pad x,p -> y", "pad", -1, false },
		{ IN "ints p 0,1,0,0,0,0,0,0; node Pad x,p -> y", "pad", -1, true },
		{ IN "ints p 0,0,1,1,0,0,1,1; node Pad x,p -> y mode=edge", "mirror_pad", -1,
		  true },
		{ IN "floats s 1.0,1.0,2.0,2.0; node Resize x,,s -> y", "resize_nearest", -1,
		  false },
		{ IN "floats s 1.0,1.0,2.0,2.0; node Resize x,,s -> y mode=linear",
		  "resize_bilinear", -1, false },
		{ IN "floats s 1.0,1.0,2.0,2.0; node Resize x,,s -> y mode=cubic", "resize_cubic",
		  -1, true },
		{ IN "floats s 1.0,2.0,2.0,2.0; node Resize x,,s -> y", "resize_nearest", -1,
		  true },
		{ IN "floats s 1.0,1.0,2.0,1.5; node Resize x,,s -> y", "resize_nearest", -1,
		  false },
		/* 8 x 1.3 is no whole number: rows are mapped by the scale, not by the sizes. */
		{ IN "floats s 1.0,1.0,1.3,1.0; node Resize x,,s -> y", "resize_nearest", -1,
		  true },
		{ "opset 9; " IN "floats s 1.0,1.0,1.3,1.0; node Upsample x,s -> y",
		  "resize_nearest", -1, true },
		{ IN "ints s 1,4,10,8; node Resize x,,,s -> y", "resize_nearest", -1, false },
		{ "opset 18; in x float 1x4x4x5; ints s 16,20; node Resize x,,,s -> y axes=[2,3] "
		  "keep_aspect_ratio_policy=not_larger",
		  "resize_nearest", -1, false },
		{ "opset 18; in x float 1x4x4x5; ints s 6,20; node Resize x,,,s -> y axes=[2,3] "
		  "keep_aspect_ratio_policy=not_larger",
		  "resize_nearest", -1, true },
		{ "opset 11; " IN "floats s 1.0,1.0,2.0,2.0; floats r; node Resize x,r,s -> y "
		  "coordinate_transformation_mode=tf_half_pixel_for_nn",
		  "resize_nearest", -1, true },
		{ "in x float 3x4; init w float 5x4; node Gemm x,w -> y transB=1", "linear", -1,
		  false },
		{ "in x float 3x4; init w float 4x4; node Gemm x,w -> y transB=1", "gemm", -1,
		  false },
		{ "in x float 3x4; in w float 4x5; node Gemm x,w -> y", "gemm", -1, false },
		{ IN "init w float 4x1x3x3; node ConvTranspose x,w -> y group=4",
		  "conv_transpose2d", -1, false },
		{ IN "init s float 8; node LayerNormalization x,s -> y", "layernorm", -1, false },
		{ IN "init s float 8x8; node LayerNormalization x,s -> y axis=2", "layernorm", -1,
		  true },
		{ IN "node LRN x -> y size=3", "local_response_normalization", -1, false },
		{ "in x float 1x4x8; node LRN x -> y size=3", "local_response_normalization", -1,
		  true },
		{ IN "init s float 4; node BatchNormalization x,s,s,s,s -> y", "batchnorm", -1,
		  false },
		{ IN "init s float 4; node BatchNormalization x,s,s,s,s -> y training_mode=1",
		  "batchnorm", -1, true },
		{ "opset 13; " IN "init s float 4; node BatchNormalization x,s,s,s,s -> y,m,v",
		  "batchnorm", -1, true },
		/* Lists that do not lie along the last dimension, but are as long. */
		{ "in x float 2x8x8; init s float 8; node BatchNormalization x,s,s,s,s -> y",
		  "batchnorm", -1, true },
		{ "in x float 2x4x8; init s float 4; node BatchNormalization x,s,s,s,s -> y",
		  "batchnorm", -1, false },
		{ "in x float 2x8; init s float 8; node BatchNormalization x,s,s,s,s -> y",
		  "batchnorm", -1, false },
		{ "in x float 2x8x8; init s float 8; node InstanceNormalization x,s,s -> y",
		  "instancenorm", -1, true },
		{ "opset 18; in x float 2x8x4; init s float 4; "
		  "node GroupNormalization x,s,s -> y num_groups=4",
		  "groupnorm", -1, true },
		{ "opset 18; in x float 2x8x4; ints a 1,2; node ReduceMean x,a -> y keepdims=0",
		  "mean", 1, true },
		{ "opset 18; in x float 2x8x4; ints a 2; node ReduceMean x,a -> y keepdims=0",
		  "mean", 2, false },
		{ "in x float 3x4; init w float 4; node MatMul x,w -> y", "matmul", -1, true },
		{ "in x float 4; init w float 4x5; node MatMul x,w -> y", "matmul", -1, true },
		{ "in x float 3x4; init w float 4x5; node MatMul x,w -> y", "matmul", -1, false },
		{ "in x uint8 3x4; init w uint8 4x3; init z uint8 3; "
		  "node MatMulInteger x,w,z -> y",
		  "matmul", -1, true },
		{ "in x uint8 3x4; init w uint8 4x3; init z uint8 -; init c uint8 3; "
		  "node MatMulInteger x,w,z,c -> y",
		  "matmul", -1, false },
		{ "in x uint8 3x4; in w uint8 4x3; floats r 1.0,1.0,1.0; flt s 1.0; "
		  "init z uint8 -; node QLinearMatMul x,r,z,w,s,z,s,z -> y",
		  "matmul", -1, true },
		{ "in x uint8 3x4; in w uint8 4x3; floats c 1.0,1.0,1.0; flt s 1.0; "
		  "init z uint8 -; node QLinearMatMul x,s,z,w,c,z,s,z -> y",
		  "matmul", -1, false },
		{ "in x float 8x8; init s float 8; node QuantizeLinear x,s -> y axis=0", "quantize",
		  -1, true },
		{ "in x float 8x8; init s float 8; node QuantizeLinear x,s -> y axis=-1",
		  "quantize", -1, false },
		{ "in x int8 2x8x8; init s float 8; node DequantizeLinear x,s -> y", "dequantize",
		  -1, true },
		{ "in x int8 8x8; init s float 8; node DequantizeLinear x,s -> y", "dequantize", -1,
		  false },
		{ "in x float 1x8x8x8; init s float 8; node PRelu x,s -> y", "prelu", -1, true },
		{ IN "init s float 4x1x1; node PRelu x,s -> y", "prelu", -1, false },
		{ "in x float 3x8; init s float 8; node PRelu x,s -> y", "prelu", -1, false },
		{ "in x float 3x4; init w float 4x3; init c float 3x1; node Gemm x,w,c -> y",
		  "linear", -1, true },
		{ "in x float 3x4; init w float 4x3; init c float 3; node Gemm x,w,c -> y",
		  "linear", -1, false },
		{ IN "node Clip x -> y", "clamp", -1, false },
		{ IN "node HardSwish x -> y", "hardswish", -1, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO_TEXT char *text = NULL;
		AUTO_GRAPH struct npuplan_graph *graph = NULL;

		print_message("# %s\n", cases[i].model);
		assert_true(asprintf(&text, "%s" OUT, cases[i].model) > 0);
		graph = onnx_accept(text);
		assert_int_equal(graph->op_count, 1);
		assert_string_equal(graph->ops[0].type, cases[i].type);
		assert_int_equal(graph->ops[0].attrs.axis, cases[i].axis);
		assert_int_equal(graph->ops[0].attrs.whole, cases[i].whole);
	}
}

/* One row that is left over is before the image, or after it, by the operator set. */
TEST(transposed_padding)
{
	static const struct {
		const char *opset;
		const char *how;
		int32_t begin;
	} cases[] = {
		{ "17", "auto_pad=SAME_UPPER", 0 },  { "17", "auto_pad=SAME_LOWER", 1 },
		{ "17", "output_shape=[16,16]", 1 }, { "11", "auto_pad=SAME_UPPER", 0 },
		{ "10", "auto_pad=SAME_UPPER", 1 },  { "10", "auto_pad=SAME_LOWER", 0 },
		{ "10", "output_shape=[16,16]", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO_TEXT char *text = NULL;
		AUTO_GRAPH struct npuplan_graph *graph = NULL;

		print_message("# opset %s, %s\n", cases[i].opset, cases[i].how);
		assert_true(asprintf(&text,
				     "opset %s; " IN "init w float 4x6x3x3; "
				     "node ConvTranspose x,w -> y strides=[2,2] %s" OUT,
				     cases[i].opset, cases[i].how) > 0);
		graph = onnx_accept(text);
		assert_int_equal(graph->ops[0].attrs.pad_begin[0], cases[i].begin);
		assert_int_equal(graph->ops[0].attrs.pad_end[0], 1 - cases[i].begin);
	}
}

/* What only gives bytes another shape is no operator. */
TEST(views)
{
	static const struct {
		const char *model;
		const char *alias_of; /* y is an alias; NULL: it is not */
	} cases[] = {
		{ "in x float 3x4; node Relu x -> a; ints s 2,6; node Reshape a,s -> y", "a" },
		{ "in x float 3x4; node Relu x -> a; node Identity a -> y", "a" },
		{ "in x float 3x4; node Relu x -> a; node Identity a -> b; node Identity b -> y",
		  "a" },
		{ "in x float 3x4; node Relu x -> a; node Dropout a -> y", "a" },
		{ "in x float 3x4; node Relu x -> a; node Dropout a -> y,m; out m", NULL },
		{ "in x float 3x4; in t bool -; node Relu x -> a; node Dropout a,,t -> y", NULL },
		{ "in x float 3x4; node Relu x -> a; node Cast a -> y to=1", "a" },
		{ "in x float 3x4; node Relu x -> a; node Cast a -> y to=6", NULL },
		/* An input that is handed out. */
		{ "in x float 3x4; ints s 2,6; node Reshape x,s -> y", NULL },
		/* Images: in another layout the bytes stand in another order. */
		{ IN "node Relu x -> a; node Flatten a -> y", NULL },
		{ IN "node Relu x -> a; node Identity a -> y", "a" },
		{ IN "node GlobalMaxPool x -> a; node Flatten a -> y", "a" },
		{ "in x float 1x1x8x8; node Relu x -> a; node Flatten a -> y", "a" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO_TEXT char *text = NULL;
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		const struct npuplan_tensor *y;

		print_message("# %s\n", cases[i].model);
		assert_true(asprintf(&text, "%s" OUT, cases[i].model) > 0);
		graph = onnx_accept(text);
		y = find(graph, "y");
		assert_int_equal(y->kind, NPUMEM_TENSOR_OUTPUT);
		if (cases[i].alias_of)
			assert_string_equal(graph->tensors[y->alias_of].name, cases[i].alias_of);
		else
			assert_false(y->flags & NPUMEM_TENSOR_FLAG_ALIAS);
		onnx_plan(text, 1, NULL);
	}
}

/* An operator works in place if that moves no bytes, in whatever layout of images. */
TEST(in_place)
{
	static const struct {
		const char *model;
		bool inplace;
	} cases[] = {
		{ IN "node Relu x -> y", true },
		{ IN "in z float 4x1x1; node Add x,z -> y", true },
		{ IN "in z float 2x4x8x8; node Add x,z -> y", false },
		{ IN "node Flatten x -> y", false },
		{ "in x float 1x4x8; node Flatten x -> y", true },
		/* The output is an image of channels, the input is none. */
		{ "in x float 3x8x8; in z float 1x3x8x8; node Add x,z -> y", false },
		{ "in x float 8x8; in z float 1x8x8; node Add x,z -> y", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO_TEXT char *text = NULL;
		AUTO_GRAPH struct npuplan_graph *graph = NULL;

		print_message("# %s\n", cases[i].model);
		assert_true(asprintf(&text, "%s" OUT, cases[i].model) > 0);
		graph = onnx_accept(text);
		assert_int_equal(graph->ops[0].attrs.inplace, cases[i].inplace);
	}
}

/* What constants alone make is a parameter, but for outputs and random numbers. */
TEST(constants)
{
	AUTO_GRAPH struct npuplan_graph *graph =
		onnx_accept("in x float 2x3; init w float 3x2; node Transpose w -> t; "
			    "node Relu t -> u; node Add x,u -> a; node Mul t,t -> z; "
			    "node RandomNormalLike t -> n; node Add a,n -> y; out y; out z");

	assert_int_equal(find(graph, "u")->kind, NPUMEM_TENSOR_PARAMETER);
	assert_int_equal(find(graph, "n")->kind, NPUMEM_TENSOR_INTERMEDIATE);
	assert_int_equal(find(graph, "z")->kind, NPUMEM_TENSOR_OUTPUT);
	assert_int_equal(graph->op_count, 4);
	assert_int_equal(graph->ops[0].id, 2);
}

/* Of proto3's writers a 0 is left out. */
TEST(constant_left_out)
{
	AUTO_ONNX struct onnx_model *model = onnx_model_new(
		"in x float 5x6; node Constant - -> c value_int=0; node Gather x,c -> y" OUT);
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	model->graph.node[0]->attribute[0]->has_i = 0;
	graph = onnx_accept_model(model, NULL, NULL);
	assert_string_equal(onnx_shape_in(graph, "y"), "6");
}

/* What is empty has no tensor, and operators go without it. */
TEST(empty)
{
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(
		"in x float 2x3; in e float 2x0; node Relu e -> f; node Concat x,f -> y axis=1" OUT);

	assert_int_equal(graph->tensor_count, 2);
	assert_int_equal(graph->op_count, 1);
	assert_int_equal(graph->ops[0].input_count, 1);
}

TEST(passes_through)
{
	AUTO_GRAPH struct npuplan_graph *graph =
		onnx_accept("in x float 2x3; node Relu x -> y; out x; out y");

	assert_int_equal(find(graph, "x")->kind, NPUMEM_TENSOR_STATE);
}

/* Of an operator that is not known the file must say how large the outputs are. */
TEST(unknown_operator)
{
	static const char text[] = IN "node a:FusedConv@com.microsoft x -> z; node Relu z -> y; "
				      "info z float 1x2x8x8" OUT;
	AUTO_ONNX struct onnx_model *model = onnx_model_new(text);
	struct npuimport_warnings warnings = { 0 };
	const struct npuimport_options options = { .warnings = &warnings };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, &options, NULL);

	assert_string_equal(graph->ops[0].type, "fusedconv");
	assert_true(graph->ops[0].attrs.whole);
	assert_int_equal(warnings.total, 1);
	assert_int_equal(warnings.list[0].kind, NPUIMPORT_DOUBT_OPERATOR);
	assert_string_equal(warnings.list[0].text, "node 0 'a' (FusedConv) is not known here");
	onnx_plan(text, 1, NULL);
}

TEST(later_opset)
{
	AUTO_ONNX struct onnx_model *model = onnx_model_new("opset 23; " IN "node Relu x -> y" OUT);
	struct npuimport_warnings warnings = { 0 };
	const struct npuimport_options options = { .warnings = &warnings };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, &options, NULL);

	assert_int_equal(graph->op_count, 1);
	assert_int_equal(warnings.total, 1);
	assert_string_equal(warnings.list[0].text, "the model has operator set 23, known up to 22");
}

/* A size that values decide, but the file knows. What a tile would need it does not know. */
TEST(declared)
{
	static const char *const whole[] = {
		"opset 9; " IN "in s float 4; node Upsample x,s -> y; out y float 1x4x16x16",
		IN "in s int64 4; node Resize x,,,s -> y; out y float 1x4x16x16",
		IN "in s int64 8; node Pad x,s -> y; out y float 1x4x16x16",
	};
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(
		IN "in s int64 2; node Reshape x,s -> z; info z float 4x64; node Relu z -> y" OUT);

	assert_string_equal(onnx_shape_in(graph, "y"), "4x64");
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		AUTO_GRAPH struct npuplan_graph *made = onnx_accept(whole[i]);

		print_message("# %s\n", whole[i]);
		assert_true(made->ops[0].attrs.whole);
	}
}

TEST(dimensions)
{
	static const char text[] = "in x float batchx?; node Relu x -> y; out y float batchx?";
	AUTO_ONNX struct onnx_model *model = onnx_model_new(text);
	const struct npuimport_dim sizes[] = { { "batch", 3 }, { "x:1", 5 }, { "N", 1 } };
	const struct npuimport_dim none[] = { { "batch", 0 } };
	const struct npuimport_dim twice[] = { { "batch", 3 }, { "x:1", 5 }, { "batch", 4 } };
	struct npuimport_options options = { .dims = sizes, .dim_count = 2, .strict = true };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, &options, NULL);

	assert_string_equal(onnx_shape_in(graph, "y"), "3x5");
	options.dim_count = 1;
	onnx_refuse_model(model, &options, -EOPNOTSUPP,
			  "input 'x' has dimension 1 without a size: give one, as x:1=1");
	options.dim_count = 3;
	onnx_refuse_model(model, &options, -EINVAL,
			  "a size is given for dimension 'N', and the model has none of that name");
	options = (struct npuimport_options){ .dims = none, .dim_count = 1 };
	onnx_refuse_model(model, &options, -EINVAL,
			  "the size of dimension 'batch', 0, is not between 1 and 2147483647");
	options = (struct npuimport_options){ .dims = twice, .dim_count = 3 };
	onnx_refuse_model(model, &options, -EINVAL,
			  "two sizes are given for dimension 'batch': 3 and 4");
}

/* A name that no input has, but what a node makes. */
TEST(declared_dimension)
{
	AUTO_ONNX struct onnx_model *model = onnx_model_new(
		"in x float 3x4; node a:Relu x -> z; node Relu z -> y; info z float Nx4" OUT);
	const struct npuimport_dim right = { "N", 3 }, wrong = { "N", 5 };
	struct npuimport_options options = { .dims = &right, .dim_count = 1 };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, &options, NULL);

	assert_string_equal(onnx_shape_in(graph, "z"), "3x4");
	options.dims = &wrong;
	onnx_refuse_model(model, &options, -EINVAL,
			  "node 0 'a' (Relu) makes tensor 'z' of shape 3x4, but the file declares "
			  "5x4");
}

/* A file is told by its bytes, one that is cut short by its name. */
TEST(recognised)
{
	AUTO_ONNX struct onnx_model *model = onnx_model_new(IN "node Relu x -> y" OUT);
	const struct npuimport_dim size = { "batch", 1 };
	const struct npuimport_options options = { .dims = &size, .dim_count = 1 };
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	struct npuimport_info info;
	size_t bytes;
	void *file = onnx_model_pack(model, &bytes);

	assert_int_equal(npuimport_buffer(file, bytes, "a/kws", NULL, &graph, &info, &error), 0);
	assert_int_equal(info.format, NPUIMPORT_ONNX);
	assert_string_equal(npuimport_format_name(info.format), "ONNX");
	assert_string_equal(graph->name, "kws");
	npuplan_graph_free(graph);
	assert_int_equal(npuimport_buffer(file, bytes - 1, "a/kws", NULL, &graph, NULL, &error),
			 -EOPNOTSUPP);
	assert_string_equal(
		error.text,
		"neither graph JSON nor a TFLite model nor an ONNX model nor a graph blob");
	assert_int_equal(npuimport_buffer(file, bytes - 1, "a/kws.onnx", NULL, &graph, NULL,
					  &error),
			 -EBADMSG);
	assert_int_equal(npuimport_buffer("{}", 2, "a.json", &options, &graph, NULL, &error),
			 -EINVAL);
	assert_string_equal(error.text, "a size is given for dimension 'batch', and only ONNX "
					"models have names of dimensions");
	free(file);
}
