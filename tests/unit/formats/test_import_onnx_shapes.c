/* SPDX-License-Identifier: MIT */
/* Shapes that operators of ONNX models make, of all the opsets that have them in another way. */
#include "base/region.h"
#include "onnx_check.h"

/* @shape: of y */
struct shape_case {
	const char *name;
	const char *model;
	const char *shape;
};

static void check_shapes(const struct shape_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_TEXT char *text = NULL;
		AUTO_GRAPH struct npuplan_graph *graph = NULL;

		print_message("# %s\n", cases[i].name);
		assert_true(asprintf(&text, "%s; out y", cases[i].model) > 0);
		graph = onnx_accept(text);
		assert_string_equal(onnx_shape_in(graph, "y"), cases[i].shape);
		onnx_plan(text, 1, NULL);
		onnx_plan(text, 3, NULL);
	}
}

#define CHECK_SHAPES(cases) check_shapes(cases, sizeof(cases) / sizeof(*(cases)))
#define IN		    "in x float 1x4x8x8; "

/* Windows. */
static const struct shape_case windows[] = {
	{ "conv", IN "init w float 6x4x3x3; node Conv x,w -> y", "1x6x6x6" },
	{ "conv_pads",
	  IN "init w float 6x2x3x3; init b float 6; node Conv x,w,b -> y pads=[1,0,2,1] "
	     "strides=[2,1] dilations=[1,2] group=2 kernel_shape=[3,3]",
	  "1x6x5x5" },
	{ "conv_same",
	  IN "init w float 6x4x2x2; node Conv x,w -> y auto_pad=SAME_UPPER strides=[3,3]",
	  "1x6x3x3" },
	{ "conv_same_lower", IN "init w float 6x4x2x2; node Conv x,w -> y auto_pad=SAME_LOWER",
	  "1x6x8x8" },
	{ "conv_valid", IN "init w float 6x4x2x2; node Conv x,w -> y auto_pad=VALID pads=[1,1,1,1]",
	  "1x6x7x7" },
	{ "conv_1d", "in x float 1x4x8; init w float 6x4x3; node Conv x,w -> y", "1x6x6" },
	{ "conv_3d", "in x float 1x4x8x8x8; init w float 6x4x3x3x1; node Conv x,w -> y",
	  "1x6x6x6x8" },
	{ "conv_integer", "in x uint8 1x4x8x8; init w uint8 6x4x3x3; node ConvInteger x,w -> y",
	  "1x6x6x6" },
	{ "qlinear_conv",
	  "in x uint8 1x4x8x8; init w uint8 6x4x3x3; flt s 1.0; init z uint8 -; "
	  "node QLinearConv x,s,z,w,s,z,s,z -> y",
	  "1x6x6x6" },
	{ "conv_transpose",
	  IN "init w float 4x6x3x3; node ConvTranspose x,w -> y strides=[2,2] "
	     "pads=[1,1,1,1] output_padding=[1,1]",
	  "1x6x16x16" },
	{ "conv_transpose_groups", IN "init w float 4x6x3x3; node ConvTranspose x,w -> y group=2",
	  "1x12x10x10" },
	{ "conv_transpose_shape",
	  IN "init w float 4x6x3x3; node ConvTranspose x,w -> y strides=[2,2] "
	     "output_shape=[16,15]",
	  "1x6x16x15" },
	{ "conv_transpose_same",
	  IN "init w float 4x6x3x3; node ConvTranspose x,w -> y strides=[2,3] "
	     "auto_pad=SAME_UPPER",
	  "1x6x16x24" },
	{ "maxpool", IN "node MaxPool x -> y,i kernel_shape=[3,3] strides=[2,2]; out i",
	  "1x4x3x3" },
	{ "maxpool_ceil", IN "node MaxPool x -> y kernel_shape=[3,3] strides=[2,2] ceil_mode=1",
	  "1x4x4x4" },
	{ "avgpool", IN "node AveragePool x -> y kernel_shape=[2,2] pads=[1,1,0,0]", "1x4x8x8" },
	{ "lppool", IN "node LpPool x -> y kernel_shape=[2,2] strides=[2,2]", "1x4x4x4" },
	{ "global_pool", IN "node GlobalAveragePool x -> y", "1x4x1x1" },
	{ "unpool",
	  IN "in i int64 1x4x8x8; node MaxUnpool x,i -> y kernel_shape=[2,2] strides=[2,2]",
	  "1x4x16x16" },
	{ "unpool_shape",
	  IN "in i int64 1x4x8x8; ints s 1,4,17,16; "
	     "node MaxUnpool x,i,s -> y kernel_shape=[2,2] strides=[2,2]",
	  "1x4x17x16" },
	{ "roi_align",
	  IN "in r float 5x4; ints b 0,0,0,0,0; node RoiAlign x,r,b -> y output_height=3 "
	     "output_width=2",
	  "5x4x3x2" },
	{ "max_roi_pool", IN "in r float 5x5; node MaxRoiPool x,r -> y pooled_shape=[3,2]",
	  "5x4x3x2" },
};

TEST(windows)
{
	CHECK_SHAPES(windows);
}

/* Matrices. */
static const struct shape_case matrices[] = {
	{ "gemm", "in x float 3x4; init w float 4x5; node Gemm x,w -> y", "3x5" },
	{ "gemm_turned", "in x float 4x3; init w float 5x4; node Gemm x,w -> y transA=1 transB=1",
	  "3x5" },
	{ "matmul", "in x float 2x1x3x4; in w float 7x4x5; node MatMul x,w -> y", "2x7x3x5" },
	{ "matmul_row", "in x float 4; in w float 7x4x5; node MatMul x,w -> y", "7x5" },
	{ "matmul_column", "in x float 3x4; in w float 4; node MatMul x,w -> y", "3" },
	{ "matmul_integer", "in x uint8 3x4; in w uint8 4x2; node MatMulInteger x,w -> y", "3x2" },
	{ "qlinear_matmul",
	  "in x uint8 3x4; in w uint8 4x2; flt s 1.0; init z uint8 -; "
	  "node QLinearMatMul x,s,z,w,s,z,s,z -> y",
	  "3x2" },
	{ "einsum",
	  "in x float 2x3x4; in w float 2x4x5; node Einsum x,w -> y equation=bij,bjk->bik",
	  "2x3x5" },
	{ "einsum_implicit", "in x float 3x4; in w float 4x5; node Einsum x,w -> y equation=ij,jk",
	  "3x5" },
	{ "einsum_rest", "in x float 2x3x4; node Einsum x -> y equation=...ij->...ji", "2x4x3" },
	{ "lstm",
	  "in x float 7x2x3; init w float 1x20x3; init r float 1x20x5; "
	  "node LSTM x,w,r -> y,h,c hidden_size=5; out h; out c",
	  "7x1x2x5" },
	{ "gru_both",
	  "in x float 7x2x3; init w float 2x15x3; init r float 2x15x5; "
	  "node GRU x,w,r -> ,y direction=bidirectional",
	  "2x2x5" },
	{ "rnn_batch_first",
	  "in x float 2x7x3; init w float 1x5x3; init r float 1x5x5; "
	  "node RNN x,w,r -> y layout=1",
	  "2x7x1x5" },
	{ "det", "in x float 2x3x3; node Det x -> y", "2" },
	{ "loss", "in x float 3x5; in t int64 3; node SoftmaxCrossEntropyLoss x,t -> y,p; out p",
	  "-" },
	{ "loss_each",
	  "in x float 3x5; in t int64 3; node NegativeLogLikelihoodLoss x,t -> y "
	  "reduction=none",
	  "3" },
};

TEST(matrices)
{
	CHECK_SHAPES(matrices);
}

/* Element by element. */
static const struct shape_case elements[] = {
	{ "broadcast", "in x float 4x1x3; in z float 5x1; node Add x,z -> y", "4x5x3" },
	{ "compare", "in x float 4x3; in z float 3; node Less x,z -> y", "4x3" },
	{ "several", "in x float 4x3; in z float 3; in v float 2x1x1; node Max x,z,v -> y",
	  "2x4x3" },
	{ "where", "in c bool 4x1; in x float 3; in z float 1; node Where c,x,z -> y", "4x3" },
	{ "prelu", IN "init s float 4x1x1; node PRelu x,s -> y", "1x4x8x8" },
	{ "clip_11", IN "flt l 0.0; flt h 6.0; node Clip x,l,h -> y", "1x4x8x8" },
	{ "clip_6", "opset 9; " IN "node Clip x -> y min=0.0 max=6.0", "1x4x8x8" },
	{ "batchnorm", IN "init s float 4; node BatchNormalization x,s,s,s,s -> y", "1x4x8x8" },
	{ "layernorm", "in x float 2x3x4; init s float 4; node LayerNormalization x,s,s -> a,y",
	  "2x3x1" },
	{ "softmax_12", "opset 12; in x float 2x3x4; node Softmax x -> y", "2x3x4" },
	{ "cast", IN "node Cast x -> y to=10", "1x4x8x8" },
	{ "cast_like", IN "in z int8 1; node CastLike x,z -> y", "1x4x8x8" },
	{ "quantize", IN "flt s 0.5; node QuantizeLinear x,s -> y", "1x4x8x8" },
	{ "dequantize", "in x int8 4x2; flt s 0.5; node DequantizeLinear x,s -> y", "4x2" },
	{ "dynamic_quantize", IN "node DynamicQuantizeLinear x -> a,y,z; out a; out z", "-" },
	{ "dropout", "opset 12; " IN "node Dropout x -> a,y; out a", "1x4x8x8" },
};

TEST(elements)
{
	CHECK_SHAPES(elements);
}

/* Shapes. */
static const struct shape_case shapes[] = {
	{ "reshape", IN "ints s 0,2,-1; node Reshape x,s -> y", "1x2x128" },
	{ "reshape_zero",
	  "in x float 0x4; in z float 2; ints s 4,0; node Reshape x,s -> a allowzero=1; "
	  "node Relu z -> y",
	  "2" },
	{ "flatten", IN "node Flatten x -> y axis=2", "4x64" },
	{ "flatten_end", IN "node Flatten x -> y axis=4", "256x1" },
	{ "squeeze_13", "in x float 1x3x1x2; ints a 0,-2; node Squeeze x,a -> y", "3x2" },
	{ "squeeze_11", "opset 11; in x float 1x3x1x2; node Squeeze x -> y axes=[2]", "1x3x2" },
	{ "squeeze_all", "in x float 1x3x1x2; node Squeeze x -> y", "3x2" },
	{ "unsqueeze_13", "in x float 3x2; ints a 0,-1; node Unsqueeze x,a -> y", "1x3x2x1" },
	{ "unsqueeze_11", "opset 11; in x float 3x2; node Unsqueeze x -> y axes=[1]", "3x1x2" },
	{ "transpose", "in x float 2x3x4; node Transpose x -> y", "4x3x2" },
	{ "transpose_perm", "in x float 2x3x4; node Transpose x -> y perm=[1,0,2]", "3x2x4" },
	{ "depth_to_space", IN "node DepthToSpace x -> y blocksize=2", "1x1x16x16" },
	{ "space_to_depth", IN "node SpaceToDepth x -> y blocksize=2", "1x16x4x4" },
	{ "expand", "in x float 3x1; ints s 2,1,6; node Expand x,s -> y", "2x3x6" },
	{ "tile", "in x float 3x2; ints s 2,3; node Tile x,s -> y", "6x6" },
};

TEST(shapes)
{
	CHECK_SHAPES(shapes);
}

/* Parts. */
static const struct shape_case parts[] = {
	{ "concat", "in x float 2x3; in z float 2x1; node Concat x,z -> y axis=-1", "2x4" },
	{ "split_13", "in x float 2x7; ints s 2,5; node Split x,s -> a,y axis=1; out a", "2x5" },
	{ "split_11", "opset 11; in x float 7; node Split x -> a,y split=[3,4]; out a", "4" },
	{ "split_18", "opset 18; in x float 7; node Split x -> a,y num_outputs=2; out a", "3" },
	{ "slice_10",
	  "in x float 8x8; ints b 1,-3; ints e 9223372036854775807,-9; ints a 0,1; "
	  "ints s 3,-2; node Slice x,b,e,a,s -> y",
	  "3x3" },
	{ "slice_before",
	  "in x float 8x8; ints b -9; ints e -100; ints a 0; ints s -1; node Slice x,b,e,a,s -> y",
	  "1x8" },
	{ "slice_before_empty",
	  "in x float 0x8; in z float 2; ints b -9; ints e -100; ints a 0; ints s -1; "
	  "node Slice x,b,e,a,s -> a0; node Relu z -> y; info a0 float 0x8",
	  "2" },
	{ "slice_9", "opset 9; in x float 8x8; node Slice x -> y starts=[2] ends=[-1] axes=[1]",
	  "8x5" },
	{ "slice_default", "in x float 8x8; ints b 1; ints e 3; node Slice x,b,e -> y", "2x8" },
	{ "pad_11", IN "ints p 0,0,1,2,0,0,3,4; node Pad x,p -> y", "1x4x12x14" },
	{ "pad_9", "opset 9; " IN "node Pad x -> y pads=[0,0,1,1,0,0,1,1] mode=reflect",
	  "1x4x10x10" },
	{ "pad_18", "opset 18; " IN "ints p 1,-2; ints a 3; node Pad x,p,,a -> y", "1x4x8x7" },
	{ "gather", "in x float 5x6; in i int64 2x3; node Gather x,i -> y axis=1", "5x2x3" },
	{ "gather_scalar", "in x float 5x6; in i int64 -; node Gather x,i -> y", "6" },
	{ "gather_elements", "in x float 5x6; in i int64 2x6; node GatherElements x,i -> y",
	  "2x6" },
	{ "gather_nd", "in x float 2x3x4; in i int64 2x1x1; node GatherND x,i -> y batch_dims=1",
	  "2x1x4" },
	{ "one_hot", "in x int64 3; int d 5; floats v 0.0,1.0; node OneHot x,d,v -> y", "3x5" },
	{ "one_hot_float",
	  "in x int64 3; flt d 5.0; floats v 0.0,1.0; node OneHot x,d,v -> y axis=0", "5x3" },
};

TEST(parts)
{
	CHECK_SHAPES(parts);
}

/* Fewer elements. */
static const struct shape_case reductions[] = {
	{ "reduce", IN "node ReduceMean x -> y axes=[2,3] keepdims=0", "1x4" },
	{ "reduce_18", "opset 18; " IN "ints a 1; node ReduceMax x,a -> y", "1x1x8x8" },
	{ "reduce_all", IN "node ReduceL2 x -> y", "1x1x1x1" },
	{ "reduce_none", "opset 18; " IN "node ReduceMean x -> y noop_with_empty_axes=1",
	  "1x4x8x8" },
	{ "reduce_sum_13", "opset 13; " IN "ints a 1,-1; node ReduceSum x,a -> y keepdims=0",
	  "1x8" },
	{ "argmax", IN "node ArgMax x -> y axis=1 keepdims=0", "1x8x8" },
	{ "topk", "in x float 3x9; ints k 4; node TopK x,k -> y,i; out i", "3x4" },
	{ "topk_9", "opset 9; in x float 9x3; node TopK x -> y axis=0 k=4", "4x3" },
};

TEST(reductions)
{
	CHECK_SHAPES(reductions);
}

/* Images. */
static const struct shape_case images[] = {
	{ "resize_scales", IN "floats s 1.0,1.0,2.0,0.5; node Resize x,,s -> y", "1x4x16x4" },
	{ "resize_single", "in x float 1x4x10x10; floats s 1.0,1.0,0.7,0.7; node Resize x,,s -> y",
	  "1x4x7x7" },
	{ "resize_sizes", IN "ints s 1,4,5,20; node Resize x,,,s -> y mode=linear", "1x4x5x20" },
	{ "resize_empty", IN "floats f; ints s 1,4,5,20; node Resize x,,f,s -> y mode=cubic",
	  "1x4x5x20" },
	{ "resize_10", "opset 10; " IN "floats s 1.0,1.0,2.0,2.0; node Resize x,s -> y",
	  "1x4x16x16" },
	{ "resize_axes", "opset 18; " IN "ints s 5,20; node Resize x,,,s -> y axes=[2,3]",
	  "1x4x5x20" },
	{ "resize_not_larger",
	  "opset 18; " IN "ints s 4,20; node Resize x,,,s -> y axes=[2,3] "
	  "keep_aspect_ratio_policy=not_larger",
	  "1x4x4x4" },
	{ "resize_not_smaller",
	  "opset 18; " IN "ints s 4,20; node Resize x,,,s -> y axes=[2,3] "
	  "keep_aspect_ratio_policy=not_smaller",
	  "1x4x20x20" },
	{ "resize_half",
	  "opset 18; in x float 1x4x4x5; ints s 2,20; node Resize x,,,s -> y axes=[2,3] "
	  "keep_aspect_ratio_policy=not_larger",
	  "1x4x2x3" },
	{ "upsample", "opset 9; " IN "floats s 1.0,1.0,2.0,3.0; node Upsample x,s -> y",
	  "1x4x16x24" },
	{ "upsample_7", "opset 7; " IN "node Upsample x -> y scales=[1.0,1.0,2.0,2.0]",
	  "1x4x16x16" },
	{ "grid_sample", IN "in g float 1x5x6x2; node GridSample x,g -> y", "1x4x5x6" },
	{ "affine_grid", "opset 20; in x float 1x2x3; ints s 1,4,5,6; node AffineGrid x,s -> y",
	  "1x5x6x2" },
	{ "crop_pad", "opset 18; " IN "ints s 4,9; node CenterCropPad x,s -> y axes=[2,3]",
	  "1x4x4x9" },
};

TEST(images)
{
	CHECK_SHAPES(images);
}

/* Of no input's elements. */
static const struct shape_case made[] = {
	{ "shape", IN "node Shape x -> y", "4" },
	{ "shape_part", IN "node Shape x -> y start=-3 end=-1", "2" },
	{ "size", IN "node Size x -> y", "-" },
	{ "constant",
	  "in x float 2; node Constant - -> c value_floats=[1.0,2.0]; node Add x,c -> y", "2" },
	{ "constant_empty",
	  "in x float 1; node Constant - -> c value_ints=[]; node Reshape x,c -> y", "-" },
	{ "constant_of_shape", IN "ints s 2,3; node ConstantOfShape s -> y", "2x3" },
	{ "range", "int a 2; int b 9; int c 3; node Range a,b,c -> y", "3" },
	{ "range_float", "flt a 0.0; flt b 1.0; flt c 0.25; node Range a,b,c -> y", "4" },
	{ "eye_like", "in x float 3x4; node EyeLike x -> y dtype=7", "3x4" },
	{ "random", "in x float 3; node RandomNormal - -> a shape=[2,3]; node MatMul a,x -> y",
	  "2" },
	{ "random_like", "in x float 3; node RandomUniformLike x -> y", "3" },
	{ "bernoulli", "in x float 3; node Bernoulli x -> y dtype=9", "3" },
	{ "multinomial", "in x float 3x4; node Multinomial x -> y sample_size=7", "3x7" },
};

TEST(made)
{
	CHECK_SHAPES(made);
}

/* What exporters compute of shapes. */
static const struct shape_case exported[] = {
	{ "view_of_batch",
	  IN "node Shape x -> s; int zero 0; node Gather s,zero -> n; ints a 0; "
	     "node Unsqueeze n,a -> l; ints rest -1; node Concat l,rest -> t axis=0; "
	     "node Reshape x,t -> y",
	  "1x256" },
	{ "upsampled",
	  "opset 11; " IN "node Shape x -> s; ints b 2; ints e 4; node Slice s,b,e -> hw; "
	  "node Cast hw -> f to=1; flt two 2.0; node Mul f,two -> g; node Floor g -> h; "
	  "node Cast h -> i to=7; ints b0 0; node Slice s,b0,b -> nc; "
	  "node Concat nc,i -> t axis=0; node Resize x,,,t -> y mode=nearest",
	  "1x4x16x16" },
	{ "expanded",
	  "in x float 1x1; ints s -1,5; ints minus -1; ints ones 3,1; int k 1; "
	  "node Equal s,minus -> e; node Where e,ones,s -> t; node Sub t,k -> u; node Max u,k -> v; "
	  "ints full 3,4; node Min full,v -> w; node Expand x,w -> y",
	  "2x4" },
	{ "halves",
	  IN "node Shape x -> s; int k 1; node Gather s,k -> c; int two 2; node Div c,two -> h; "
	     "ints a 0; node Unsqueeze h,a -> e; ints b 0; ints ax 1; node Slice x,b,e,ax -> y",
	  "1x2x8x8" },
	/* In single precision these are whole numbers, in double precision they are less. */
	{ "single_mul",
	  "in x float 1; ints t 10; flt s 0.7; node Cast t -> f to=1; node Mul f,s -> g; "
	  "node Floor g -> h; node Cast h -> i to=7; node Expand x,i -> y",
	  "7" },
	{ "single_reduce",
	  "in x float 1; floats s 10.0,0.7; node ReduceProd s -> g; node Floor g -> h; "
	  "node Cast h -> i to=7; node Expand x,i -> y",
	  "7" },
	{ "single_sqrt",
	  "in x float 1; floats s 24.999998; node Sqrt s -> g; node Floor g -> h; "
	  "node Cast h -> i to=7; node Expand x,i -> y",
	  "5" },
	{ "double",
	  "in x float 1; floats t 10.0; floats s 0.7; node Cast t -> e to=11; "
	  "node Cast s -> f to=11; node Mul e,f -> g; node Floor g -> h; "
	  "node Cast h -> i to=7; node Expand x,i -> y",
	  "6" },
	{ "product",
	  IN "node Shape x -> s; node ReduceProd s -> p keepdims=0; ints l -1; "
	     "node Reshape p,l -> q; node Reshape x,q -> y",
	  "256" },
};

TEST(exported)
{
	CHECK_SHAPES(exported);
}

/* Where a slice begins, if that is along one axis, without a gap. */
TEST(starts)
{
	static const struct {
		const char *text;
		int32_t axis;
		int64_t first; /* -1: not known */
	} cases[] = {
		{ "ints b 1; ints e 3; node Slice x,b,e -> y", 0, 1 },
		{ "ints b -3; ints e 9; ints a -1; node Slice x,b,e,a -> y", 1, 5 },
		{ "ints b 2; ints e 8; ints a 1; ints s 2; node Slice x,b,e,a,s -> y", -1, -1 },
		{ "ints b 1,1; ints e 3,4; node Slice x,b,e -> y", -1, -1 },
		{ "ints b 0,1; ints e 8,4; node Slice x,b,e -> y", 1, 1 },
		{ "ints b 0; ints e 8; node Slice x,b,e -> y", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		AUTO_TEXT char *text = NULL;

		assert_true(asprintf(&text, "in x float 8x8; %s; out y", cases[i].text) > 0);
		graph = onnx_accept(text);
		assert_string_equal(graph->ops[0].type, "slice");
		assert_int_equal(graph->ops[0].attrs.axis, cases[i].axis);
		assert_int_equal(npuplan_slice_first(&graph->ops[0].attrs), cases[i].first);
	}
}
