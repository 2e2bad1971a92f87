/* SPDX-License-Identifier: MIT */
/* Models that the ONNX reader refuses: each but for one thing as it takes them. */
#include <errno.h>

#include "onnx_check.h"

#define IN  "in x float 1x4x8x8; "
#define OUT "; out y"

struct refusal {
	const char *model;
	int err;
	const char *message;
};

static void check_refusals(const struct refusal *refusals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		print_message("# %s\n", refusals[i].model);
		onnx_refuse(refusals[i].model, refusals[i].err, refusals[i].message);
	}
}
#define CHECK_REFUSALS(refusals) check_refusals(refusals, sizeof(refusals) / sizeof(*(refusals)))

/* ---------------------------------------------------------------- the model */

static const struct refusal bad_models[] = {
	{ "opset 6; " IN "node Relu x -> y" OUT, -EOPNOTSUPP,
	  "the model has operator set 6, only 7 and later are read" },
	{ "opset 23; " IN "node Relu x -> y" OUT, -EINVAL,
	  "the model has operator set 23, known up to 22" },
	{ "in x float *; node Relu x -> y" OUT, -EOPNOTSUPP,
	  "input 'x' has no type or shape in the file: export the model with shapes" },
	{ "in x; node Relu x -> y" OUT, -EOPNOTSUPP,
	  "input 'x' has no type or shape in the file: export the model with shapes" },
	{ "in x float 1xbatch; node Relu x -> y" OUT, -EOPNOTSUPP,
	  "input 'x' has a dimension 'batch' without a size (dimension 1): give one, as batch=1" },
	{ "in x float 1x?; node Relu x -> y" OUT, -EOPNOTSUPP,
	  "input 'x' has dimension 1 without a size: give one, as x:1=1" },
	{ "in x float 1x2; in x float 1x2; node Relu x -> y" OUT, -EINVAL,
	  "tensor 'x' is an input twice" },
	{ "in x string 1x2; node Identity x -> y" OUT, -EOPNOTSUPP,
	  "tensor 'x' has strings: their size is not known before the model runs" },
	{ "in x unknown 1x2; node Identity x -> y" OUT, -EOPNOTSUPP,
	  "tensor 'x' has element type 24, not known here" },
	{ "in x float 1x2x3x4x5x6x7x8x9; node Relu x -> y" OUT, -EOPNOTSUPP,
	  "tensor 'x' has 9 dimensions, more than 8" },
	{ "in x float 2147483648; node Relu x -> y" OUT, -E2BIG,
	  "tensor 'x' has 2147483648 elements along dimension 0" },
	{ "in x float 2147483647x1024; node Relu x -> y" OUT, -E2BIG,
	  "tensor 'x' is larger than 1099511627776 bytes" },
	{ IN "node Relu x -> y; out y; out z", -EINVAL,
	  "tensor 'z' is an output of the graph, but nothing writes it" },
	{ "in x float 2; out x", -EINVAL, "the graph has no operators" },
	{ "init w float 2; init w float 2; node Relu w -> y" OUT, -EINVAL,
	  "tensor 'w' is an initializer twice" },
	{ "init w float 1x2x3x4x5x6x7x8x9; node Relu w -> y" OUT, -EOPNOTSUPP,
	  "tensor 'w' has 9 dimensions, more than 8" },
	{ "init w unknown 2; node Relu w -> y" OUT, -EOPNOTSUPP,
	  "tensor 'w' has element type 24, not known here" },
	{ "init w float 2147483647x1024; node Relu w -> y" OUT, -E2BIG,
	  "tensor 'w' is larger than 1099511627776 bytes" },
	{ "init w float 1024x1024; node Relu w -> y" OUT, -EINVAL,
	  "tensor 'w': its data has 0 bytes, but shape and type make 4194304" },
};

TEST(models)
{
	CHECK_REFUSALS(bad_models);
}

/* ------------------------------------------------------------------- nodes */

static const struct refusal bad_nodes[] = {
	{ IN "node a:Relu x -> y; node b:Relu x -> y" OUT, -EINVAL,
	  "node 1 'b' (Relu) writes tensor 'y', which node 0 writes already" },
	{ IN "node a:Relu x -> x; out x", -EINVAL,
	  "node 0 'a' (Relu) writes tensor 'x', which is an input of the graph" },
	{ IN "init w float 2; node a:Relu x -> w; out w", -EINVAL,
	  "node 0 'a' (Relu) writes tensor 'w', which is an initializer of the graph" },
	{ IN "node a:Relu z -> y; node b:Relu x -> z" OUT, -EINVAL,
	  "node 0 'a' (Relu) reads tensor 'z', which nothing before it writes" },
	{ IN "node a:Add x -> y" OUT, -EINVAL, "node 0 'a' (Add) has 1 inputs, must have 2" },
	{ IN "node a:Relu x,x -> y" OUT, -EINVAL,
	  "node 0 'a' (Relu) has 2 inputs, must have at most 1" },
	{ IN "node a:Add ,x -> y" OUT, -EINVAL, "node 0 'a' (Add) lacks input 0" },
	{ IN "node a:Relu x -> -; node b:Relu x -> y" OUT, -EINVAL,
	  "node 0 'a' (Relu) lacks output 0" },
	{ IN "node a:Foo x -> y" OUT, -EOPNOTSUPP,
	  "node 0 'a' (Foo), of domain 'ai.onnx', is not known here, and the file does not say "
	  "how large tensor 'y' is" },
	{ IN "node a:Relu@com.example x -> y; out y float *", -EOPNOTSUPP,
	  "node 0 'a' (Relu), of domain 'com.example', is not known here, and the file does not "
	  "say how large tensor 'y' is" },
	{ IN "node a:NonZero x -> y; out y int64 4x7", -EOPNOTSUPP,
	  "node 0 'a' (NonZero): values decide how large tensor 'y' is, which is not known before "
	  "the model runs" },
	{ IN "in s int64 2; node a:Reshape x,s -> y" OUT, -EOPNOTSUPP,
	  "node 0 'a' (Reshape): values decide how large tensor 'y' is, which is not known before "
	  "the model runs" },
	{ IN "in s int64 2; node a:Reshape x,s -> y; out y float 4x65", -EINVAL,
	  "node 0 'a' (Reshape): 1x4x8x8 cannot become 4x65" },
	{ IN "in s int64 1; node a:Squeeze x,s -> y; out y float 4x8x9", -EINVAL,
	  "node 0 'a' (Squeeze): 1x4x8x8 cannot become 4x8x9" },
	{ IN "in s int64 2; node a:Reshape x,s -> y; out y int8 4x64", -EINVAL,
	  "node 0 'a' (Reshape) makes tensor 'y' of type 1 (float), but the file declares 3 (int8)" },
	{ "in x float 1; in s int64 2; node a:Expand x,s -> y; out y int8 4x64", -EINVAL,
	  "node 0 'a' (Expand) makes tensor 'y' of type 1 (float), but the file declares 3 (int8)" },
	{ "in x float 1; in s int64 1; node a:Tile x,s -> y; out y int8 4", -EINVAL,
	  "node 0 'a' (Tile) makes tensor 'y' of type 1 (float), but the file declares 3 (int8)" },
	{ "in x float 5; in s int64 1; node a:Slice x,s,s -> y; out y int8 4", -EINVAL,
	  "node 0 'a' (Slice) makes tensor 'y' of type 1 (float), but the file declares 3 (int8)" },
	{ "in x float 5; in s int64 2; node a:Pad x,s -> y; out y int8 8", -EINVAL,
	  "node 0 'a' (Pad) makes tensor 'y' of type 1 (float), but the file declares 3 (int8)" },
	{ IN "in s int64 4; node a:Resize x,,,s -> y; out y int8 1x4x9x9", -EINVAL,
	  "node 0 'a' (Resize) makes tensor 'y' of type 1 (float), but the file declares 3 (int8)" },
	{ "opset 9; " IN "in s float 4; node a:Upsample x,s -> y; out y int8 1x4x9x9", -EINVAL,
	  "node 0 'a' (Upsample) makes tensor 'y' of type 1 (float), but the file declares 3 "
	  "(int8)" },
	{ IN "node a:Relu x -> y; out y float 1x4x8x9", -EINVAL,
	  "node 0 'a' (Relu) makes tensor 'y' of shape 1x4x8x8, but the file declares 1x4x8x9" },
	{ IN "node a:Relu x -> z; info z float Nx4x8; node b:Relu z -> y" OUT, -EINVAL,
	  "node 0 'a' (Relu) makes tensor 'z' of shape 1x4x8x8, but the file declares ?x4x8" },
	{ IN "node a:Relu x -> y; out y int8 1x4x8x8", -EINVAL,
	  "node 0 'a' (Relu) makes tensor 'y' of type 1 (float), but the file declares 3 (int8)" },
	{ IN "node a:Relu x -> y; out y unknown 1x4x8x8", -EINVAL,
	  "node 0 'a' (Relu) makes tensor 'y' of type 1 (float), but the file declares 24 (not "
	  "known here)" },
	{ IN "node a:Softmax x -> y axis=1.5" OUT, -EINVAL,
	  "node 0 'a' (Softmax): attribute 'axis' has type 1, must have 2" },
	{ IN "node a:Softmax x -> y axis=4" OUT, -EINVAL,
	  "node 0 'a' (Softmax): axis 4 of 4 dimensions" },
	{ IN "in z float 3; node a:Add x,z -> y" OUT, -EINVAL,
	  "node 0 'a' (Add): shapes 1x4x8x8 and 3 do not broadcast" },
	{ IN "init s float 1x5x4x1x1; node a:PRelu x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (PRelu): a slope of shape 1x5x4x1x1 does not fit an input of 1x4x8x8" },
	{ IN "node a:Cast x -> y to=24" OUT, -EOPNOTSUPP,
	  "node 0 'a' (Cast): element type 24 is not known here" },
	{ "in x float 2147483647x1; in z float 1x2147483647; node a:Add x,z -> y" OUT, -E2BIG,
	  "tensor 'y' is larger than 1099511627776 bytes" },
};

TEST(nodes)
{
	CHECK_REFUSALS(bad_nodes);
}

/* ----------------------------------------------------------------- windows */

static const struct refusal bad_windows[] = {
	{ "in x float 4x8; init w float 6x4x3; node a:Conv x,w -> y" OUT, -EINVAL,
	  "node 0 'a' (Conv): input 0, tensor 'x', has 2 dimensions, must have 3 to 8" },
	{ IN "init w float 6x4x3; node a:Conv x,w -> y" OUT, -EINVAL,
	  "node 0 'a' (Conv): input 1, tensor 'w', has 3 dimensions, must have 4" },
	{ IN "init w float 6x4x3x3; node a:Conv x,w -> y strides=[1]" OUT, -EINVAL,
	  "node 0 'a' (Conv): attribute 'strides' has 1 numbers, must have 2" },
	{ IN "init w float 6x4x3x3; node a:Conv x,w -> y strides=[1,0]" OUT, -EINVAL,
	  "node 0 'a' (Conv): attribute 'strides' has 0, must be 1 to 536870911" },
	{ IN "init w float 6x4x3x3; node a:Conv x,w -> y auto_pad=SAME" OUT, -EINVAL,
	  "node 0 'a' (Conv): its auto_pad is none that is known" },
	{ IN "init w float 6x4x3x3; node a:Conv x,w -> y kernel_shape=[3,2]" OUT, -EINVAL,
	  "node 0 'a' (Conv): kernel_shape has 2, and its weights are of shape 6x4x3x3" },
	{ IN "init w float 6x4x9x3; node a:Conv x,w -> y" OUT, -EINVAL,
	  "node 0 'a' (Conv): a window of 9 does not fit into 8 elements along dimension 2" },
	{ IN "init w float 6x4x9x3; node a:Conv x,w -> y dilations=[536870911,1]" OUT, -EINVAL,
	  "node 0 'a' (Conv): a kernel of 9 with dilation 536870911 is larger than any image" },
	{ IN "init w float 6x3x3x3; node a:Conv x,w -> y" OUT, -EINVAL,
	  "node 0 'a' (Conv): 4 channels in 1 groups do not fit weights for 3, which make 6" },
	{ IN "init w float 6x5x3x3; node a:ConvTranspose x,w -> y" OUT, -EINVAL,
	  "node 0 'a' (ConvTranspose): 4 channels in 1 groups do not fit weights for 6" },
	{ IN "init w float 4x5x3x3; node a:ConvTranspose x,w -> y pads=[9,0,9,0]" OUT, -EINVAL,
	  "node 0 'a' (ConvTranspose): its output has -8 elements along dimension 2" },
	{ IN "node a:MaxPool x -> y" OUT, -EINVAL, "node 0 'a' (MaxPool) has no kernel_shape" },
	{ IN "node a:MaxPool x -> y kernel_shape=[9,9] dilations=[536870911,1]" OUT, -EINVAL,
	  "node 0 'a' (MaxPool): a kernel of 9 with dilation 536870911 is larger than any image" },
};

TEST(windows)
{
	CHECK_REFUSALS(bad_windows);
}

/* ---------------------------------------------------------------- matrices */

#define RNN "in x float 7x2x3; init w float 1x5x3; init r float 1x5x5; node a:RNN x,w,r -> y "

static const struct refusal bad_matrices[] = {
	{ "in x float 3x4; init w float 5x6; node a:Gemm x,w -> y" OUT, -EINVAL,
	  "node 0 'a' (Gemm): matrices of 3x4 and 5x6 have no product" },
	{ "in x float 3x4; init w float 5x6; node a:MatMul x,w -> y" OUT, -EINVAL,
	  "node 0 'a' (MatMul): matrices of 3x4 and 5x6 have no product" },
	{ "in x float -; init w float 5x6; node a:MatMul x,w -> y" OUT, -EINVAL,
	  "node 0 'a' (MatMul): input 0, tensor 'x', has 0 dimensions, must have 1 to 8" },
	{ "in x float 3x4; node a:Einsum x -> y" OUT, -EINVAL,
	  "node 0 'a' (Einsum) has no equation" },
	{ "in x float 3x4; node a:Einsum x -> y equation=ijk->i" OUT, -EINVAL,
	  "node 0 'a' (Einsum): its equation does not fit input 0 of shape 3x4" },
	{ "in x float 3x4; node a:Einsum x -> y equation=ii->i" OUT, -EINVAL,
	  "node 0 'a' (Einsum): its equation does not fit input 0 of shape 3x4" },
	{ "in x float 3x4; node a:Einsum x -> y equation=ij,jk->i" OUT, -EINVAL,
	  "node 0 'a' (Einsum): its equation has not 1 inputs" },
	{ "in x float 3x4; node a:Einsum x -> y equation=ij->k" OUT, -EINVAL,
	  "node 0 'a' (Einsum): the output of its equation is not understood" },
	{ RNN "hidden_size=4" OUT, -EINVAL,
	  "node 0 'a' (RNN): its hidden_size is 4, and its weights are of shape 1x5x5" },
	{ RNN "direction=bidirectional" OUT, -EINVAL,
	  "node 0 'a' (RNN): its weights are for 1 directions" },
};

TEST(matrices)
{
	CHECK_REFUSALS(bad_matrices);
}

/* ------------------------------------------------------------------ shapes */

static const struct refusal bad_shapes[] = {
	{ IN "ints s 5,-1; node a:Reshape x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Reshape): 1x4x8x8 cannot become 5x51" },
	{ IN "ints s -1,-1; node a:Reshape x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Reshape): its shape has -1 twice" },
	{ IN "ints s -2,4; node a:Reshape x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Reshape): dimension 0 would have -2 elements" },
	{ IN "floats s 1.0; node a:Reshape x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Reshape): tensor 's' is no list of up to 8 integers" },
	{ IN "ints s 1,1,1,1,1,1,1,1,1; node a:Reshape x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Reshape): tensor 's' is no list of up to 8 integers" },
	{ IN "ints a 1; node a:Squeeze x,a -> y" OUT, -EINVAL,
	  "node 0 'a' (Squeeze): dimension 1 of shape 1x4x8x8 has more than one element" },
	{ IN "ints a 0,-4; node a:Squeeze x,a -> y" OUT, -EINVAL,
	  "node 0 'a' (Squeeze): axis 0 is there twice" },
	{ "opset 11; " IN "node a:Squeeze x -> y axes=[0,1,2,3,4,5,6,7,8]" OUT, -EINVAL,
	  "node 0 'a' (Squeeze): attribute 'axes' has 9 numbers, at most 8" },
	{ "opset 13; " IN "node a:Squeeze x -> y axes=[0]" OUT, -EINVAL,
	  "node 0 'a' (Squeeze): 'axes' is an input in operator set 13" },
	{ "opset 12; " IN "ints a 0; node a:Squeeze x,a -> y" OUT, -EINVAL,
	  "node 0 'a' (Squeeze): 'axes' is an attribute in operator set 12" },
	{ IN "ints a 0,1,2,3,4; node a:Unsqueeze x,a -> y" OUT, -EOPNOTSUPP,
	  "node 0 'a' (Unsqueeze): its output has 9 dimensions, more than 8" },
	{ IN "node a:Transpose x -> y perm=[0,1,1,2]" OUT, -EINVAL,
	  "node 0 'a' (Transpose): perm is no order of 4 dimensions" },
	{ IN "node a:DepthToSpace x -> y blocksize=3" OUT, -EINVAL,
	  "node 0 'a' (DepthToSpace): 4 elements are no blocks of 9" },
	{ IN "node a:DepthToSpace x -> y" OUT, -EINVAL,
	  "node 0 'a' (DepthToSpace): a blocksize of 0" },
	{ IN "ints s 2,-1; node a:Expand x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Expand): dimension 1 would have -1 elements" },
	/* What is rounded in a way that is not known here is not computed. */
	{ "in x float 1; floats s 2.0; node Cast s -> h to=10; node Cast h -> i to=7; "
	  "node a:Expand x,i -> y" OUT,
	  -EOPNOTSUPP,
	  "node 2 'a' (Expand): values decide how large tensor 'y' is, which is not known before "
	  "the model runs" },
	{ IN "ints s 2,2; node a:Tile x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Tile): 2 repeats of 4 dimensions" },
	{ IN "ints s 1,1,1,9223372036854775807; node a:Tile x,s -> y" OUT, -E2BIG,
	  "node 0 'a' (Tile): dimension 3 is too large" },
};

TEST(shapes)
{
	CHECK_REFUSALS(bad_shapes);
}

/* ------------------------------------------------------------------- parts */

static const struct refusal bad_parts[] = {
	{ IN "in z float 1x4x8x7; node a:Concat x,z -> y axis=1" OUT, -EINVAL,
	  "node 0 'a' (Concat): shapes 1x4x8x8 and 1x4x8x7 cannot be joined along dimension 1" },
	{ IN "node a:Concat x, -> y axis=1" OUT, -EINVAL, "node 0 'a' (Concat) lacks input 1" },
	{ "opset 13; in x float 7; node a:Split x -> y,z; out z" OUT, -EINVAL,
	  "node 0 'a' (Split): 7 elements are no 2 equal parts" },
	{ IN "ints s 1,4; node a:Split x,s -> y,z axis=1; out z" OUT, -EINVAL,
	  "node 0 'a' (Split): its 2 parts do not make up 4 elements" },
	{ IN "ints s 1; node a:Slice x,s -> y" OUT, -EINVAL, "node 0 'a' (Slice) lacks input 2" },
	{ IN "ints s 1; ints e 1,2; node a:Slice x,s,e -> y" OUT, -EINVAL,
	  "node 0 'a' (Slice): 1 starts and 2 ends, 0 axes, 0 steps of 4 dimensions" },
	{ IN "ints s 1; ints e 2; ints z 0; node a:Slice x,s,e,z,z -> y" OUT, -EINVAL,
	  "node 0 'a' (Slice): a step of 0" },
	{ IN "ints p 1,1; node a:Pad x,p -> y" OUT, -EINVAL,
	  "node 0 'a' (Pad): 2 paddings of 4 dimensions" },
	{ IN "ints p 0,0,-9,0,0,0,0,0; node a:Pad x,p -> y" OUT, -EINVAL,
	  "node 0 'a' (Pad): paddings -9 and 0 of 8 elements" },
	{ IN "in i int64 1x2x3x4x5x6; node a:Gather x,i -> y" OUT, -EOPNOTSUPP,
	  "node 0 'a' (Gather): its output has 9 dimensions, more than 8" },
	{ "in x float 2; ints l 3,4; int i 2; node a:Gather l,i -> n; ints z 0; "
	  "node Unsqueeze n,z -> s; node Expand x,s -> y" OUT,
	  -EINVAL, "node 0 'a' (Gather): index 2 of 2 elements" },
	{ IN "in i int64 2x5; node a:GatherND x,i -> y" OUT, -EINVAL,
	  "node 0 'a' (GatherND): indices of shape 2x5 do not lead into 1x4x8x8" },
	{ "in x int64 1x2x3x4x5x6x7x8; int d 5; floats v 0.0,1.0; node a:OneHot x,d,v -> y" OUT,
	  -EOPNOTSUPP, "node 0 'a' (OneHot): its output has 9 dimensions, more than 8" },
	{ "in x int64 3; int d -5; floats v 0.0,1.0; node a:OneHot x,d,v -> y" OUT, -E2BIG,
	  "tensor 'y' has -5 elements along dimension 1" },
	{ "in x float 3; ints k 4; node a:TopK x,k -> y" OUT, -EINVAL,
	  "node 0 'a' (TopK): 4 of 3 elements" },
	{ "in x float 3; node a:TopK x -> y" OUT, -EINVAL, "node 0 'a' (TopK) lacks input 1" },
};

TEST(parts)
{
	CHECK_REFUSALS(bad_parts);
}

/* ------------------------------------------------------------------ images */

static const struct refusal bad_images[] = {
	{ IN "node a:Resize x -> y" OUT, -EINVAL,
	  "node 0 'a' (Resize) has neither scales nor sizes" },
	{ IN "floats s 1.0,2.0; node a:Resize x,,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Resize): 2 scales of 4 dimensions" },
	{ IN "floats s 1.0,1.0,-2.0,1.0; node a:Resize x,,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Resize): a scale of -2" },
	{ IN "ints s 1,2; node a:Resize x,,,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Resize): 2 sizes of 4 dimensions" },
	{ IN "ints s 1,2,-3,4; node a:Resize x,,,s -> y" OUT, -EINVAL,
	  "node 0 'a' (Resize): a size of -3" },
	{ "opset 18; " IN "ints s 1; node a:Resize x,,,s -> y axes=[0,1,2,3,0]" OUT, -EINVAL,
	  "node 0 'a' (Resize): 5 axes of 4 dimensions" },
	{ "opset 18; in x float 1x4x1x8; ints s -9223372036854775808,20; "
	  "node a:Resize x,,,s -> y axes=[2,3] keep_aspect_ratio_policy=not_larger" OUT,
	  -EINVAL, "node 0 'a' (Resize): a size of -1" },
	{ "opset 9; " IN "node a:Upsample x -> y" OUT, -EINVAL,
	  "node 0 'a' (Upsample) lacks input 1" },
	{ "opset 7; " IN "node a:Upsample x -> y" OUT, -EINVAL,
	  "node 0 'a' (Upsample): 0 scales of 4 dimensions" },
	{ "in x float 1x2x3; ints s 1,4; node a:AffineGrid x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (AffineGrid): its size has 2 numbers" },
	{ IN "ints s 1,2; node a:CenterCropPad x,s -> y" OUT, -EINVAL,
	  "node 0 'a' (CenterCropPad): 2 sizes of 4 dimensions" },
};

TEST(images)
{
	CHECK_REFUSALS(bad_images);
}

/* -------------------------------------------------------------------- made */

static const struct refusal bad_made[] = {
	{ IN "node a:Constant - -> y; node Relu x -> z; out z" OUT, -EINVAL,
	  "node 0 'a' (Constant) has no value" },
	{ IN "node a:Constant - -> y value_string=text; node Relu x -> z; out z" OUT, -EOPNOTSUPP,
	  "node 0 'a' (Constant): a constant of strings is not read" },
	{ "ints s 2,-3; node a:ConstantOfShape s -> y" OUT, -EINVAL,
	  "node 0 'a' (ConstantOfShape): dimension 1 would have -3 elements" },
	{ "int l 1; int z 0; node a:Range l,l,z -> y" OUT, -EINVAL,
	  "node 0 'a' (Range): from 1 to 1 in steps of 0" },
	{ IN "node a:RandomNormal - -> y; node Relu x -> z; out z" OUT, -EINVAL,
	  "node 0 'a' (RandomNormal) has no shape of up to 8 dimensions" },
};

TEST(made)
{
	CHECK_REFUSALS(bad_made);
}

/* ------------------------------------------------- what the text has no words for */

/* A valid model with an initializer, changed by @change. */
static void refuse_changed(void (*change)(struct onnx_model *model), int err, const char *message)
{
	AUTO_ONNX struct onnx_model *model =
		onnx_model_new("in x float 2x3; init w float 2x3; ints s 3,2; node a:Add x,w -> z; "
			       "node b:Reshape z,s -> y; out y");

	change(model);
	onnx_refuse_model(model, NULL, err, message);
}

static void typed_data(struct onnx_model *model)
{
	model->graph.initializer[0]->has_raw_data = 0;
}

static void nameless_initializer(struct onnx_model *model)
{
	model->graph.initializer[0]->name = NULL;
}

static void nameless_input(struct onnx_model *model)
{
	model->graph.input[0]->name = NULL;
}

static void nameless_output(struct onnx_model *model)
{
	model->graph.output[0]->name = NULL;
}

static void segment(struct onnx_model *model)
{
	Onnx__TensorProto__Segment *made = onnx_model_take(model, sizeof(*made));

	onnx__tensor_proto__segment__init(made);
	model->graph.initializer[0]->segment = made;
}

static void sparse(struct onnx_model *model)
{
	Onnx__SparseTensorProto *made = onnx_model_take(model, sizeof(*made));

	onnx__sparse_tensor_proto__init(made);
	model->graph.sparse_initializer = onnx_model_take(model, sizeof(made));
	model->graph.sparse_initializer[0] = made;
	model->graph.n_sparse_initializer = 1;
}

static void no_graph(struct onnx_model *model)
{
	model->model.graph = NULL;
}

static void no_opset(struct onnx_model *model)
{
	model->model.n_opset_import = 0;
}

static void no_operator(struct onnx_model *model)
{
	model->graph.node[0]->op_type = NULL;
}

static void sequence(struct onnx_model *model)
{
	Onnx__TypeProto__Sequence *made = onnx_model_take(model, sizeof(*made));
	Onnx__TypeProto *type = onnx_model_take(model, sizeof(*type));

	onnx__type_proto__sequence__init(made);
	onnx__type_proto__init(type);
	type->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
	type->sequence_type = made;
	model->graph.output[0]->type = type;
}

/* An attribute that is a graph of its own. */
static void branch(struct onnx_model *model)
{
	Onnx__AttributeProto *attr = onnx_model_take(model, sizeof(*attr));
	Onnx__GraphProto *graph = onnx_model_take(model, sizeof(*graph));
	Onnx__NodeProto *node = model->graph.node[0];

	onnx__attribute_proto__init(attr);
	onnx__graph_proto__init(graph);
	attr->g = graph;
	node->attribute = onnx_model_take(model, sizeof(attr));
	node->attribute[0] = attr;
	node->n_attribute = 1;
}

static void function(struct onnx_model *model)
{
	static char name[] = "Twice", domain[] = "local";
	Onnx__FunctionProto *made = onnx_model_take(model, sizeof(*made));

	onnx__function_proto__init(made);
	made->name = model->graph.node[0]->op_type = name;
	made->domain = model->graph.node[0]->domain = domain;
	model->model.functions = onnx_model_take(model, sizeof(made));
	model->model.functions[0] = made;
	model->model.n_functions = 1;
}

TEST(messages)
{
	refuse_changed(typed_data, -EINVAL,
		       "tensor 'w': its data has 0 elements, but its shape makes 6");
	refuse_changed(nameless_initializer, -EINVAL, "initializer 0 has no name");
	refuse_changed(nameless_input, -EINVAL, "input 0 has no name");
	refuse_changed(nameless_output, -EINVAL, "output 0 has no name");
	refuse_changed(segment, -EOPNOTSUPP,
		       "tensor 'w' is one segment of a tensor, which is not read");
	refuse_changed(sparse, -EOPNOTSUPP,
		       "the model has 1 sparse initializers, which are not read");
	refuse_changed(no_graph, -EBADMSG, "the model has no graph");
	refuse_changed(no_opset, -EINVAL,
		       "node 0 'a' (Add): the model imports no operator set of ONNX's");
	refuse_changed(no_operator, -EINVAL, "node 0 'a' () has no operator");
	refuse_changed(sequence, -EOPNOTSUPP,
		       "tensor 'y' is a sequence: its size is not known before the model runs");
	refuse_changed(branch, -EOPNOTSUPP,
		       "node 0 'a' (Add) runs graphs of its own, which only If, Loop and Scan are "
		       "known to do");
	refuse_changed(function, -EOPNOTSUPP,
		       "node 0 'a' (Twice) is a function of the model, and the file does not say "
		       "how large tensor 'z' is: export the model with its functions inlined");
}

/* --------------------------------------------------------------------- bytes */

static void refuse_bytes(const void *file, size_t size, int err, const char *message)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	/* Of exactly that size, so that reading beyond it is seen. */
	void *exact = malloc(size ? size : 1);

	assert_non_null(exact);
	memcpy(exact, file, size);
	assert_int_equal(npuimport_onnx(exact, size, "model", NULL, &graph, NULL, &error), err);
	assert_string_equal(error.text, message);
	free(exact);
}

/* As many graphs inside of nodes' attributes inside of graphs. */
static size_t nested(uint8_t *file, size_t room, unsigned int levels)
{
	size_t at = room;

	/* From the inside out: graph (7) in the model, node (1), attribute (5), graph (6). */
	for (unsigned int i = 0; i < levels; i++) {
		static const uint8_t tags[] = { 1 << 3 | 2, 5 << 3 | 2, 6 << 3 | 2 };
		unsigned int depth = levels - 1 - i;
		size_t length = room - at;

		file[--at] = (uint8_t)(length >> 14 & 0x7f);
		file[--at] = (uint8_t)((length >> 7 & 0x7f) | 0x80);
		file[--at] = (uint8_t)((length & 0x7f) | 0x80);
		file[--at] = depth ? tags[(depth - 1) % 3] : 7 << 3 | 2;
	}
	memmove(file, file + at, room - at);
	return room - at;
}

TEST(bytes)
{
	static uint8_t file[4096];
	const uint8_t no_tag[] = { 0x08, 0x08, 0x00 }, group[] = { 0x0b };
	const uint8_t long_text[] = { 0x12, 0x05, 'a' };
	/* A tensor's packed numbers, of which the last one is cut short. */
	const uint8_t packed[] = { 0x3a, 0x07, 0x2a, 0x05, 0x22, 0x03, 0, 0, 0 };
	/* Two graphs of one model. */
	const uint8_t twice[] = { 0x3a, 0x00, 0x3a, 0x00 };
	size_t size;

	refuse_bytes(twice, sizeof(twice), -EBADMSG,
		     "a message (ModelProto) has field 'graph' twice at byte 2");
	refuse_bytes(no_tag, sizeof(no_tag), -EBADMSG,
		     "no field of a Protocol Buffers message (ModelProto) begins at byte 2");
	refuse_bytes(group, sizeof(group), -EBADMSG,
		     "no field of a Protocol Buffers message (ModelProto) begins at byte 0");
	refuse_bytes(long_text, sizeof(long_text), -EBADMSG,
		     "no field of a Protocol Buffers message (ModelProto) begins at byte 0");
	refuse_bytes(packed, sizeof(packed), -EBADMSG,
		     "the bytes are no ONNX model: protobuf-c refuses them");
	refuse_bytes("", 0, -EBADMSG, "the model has no graph");
	size = nested(file, sizeof(file), 63);
	refuse_bytes(file, size, -EINVAL, "node 0 '' () has no operator");
	size = nested(file, sizeof(file), 64);
	refuse_bytes(file, size, -E2BIG, "messages are nested more than 64 deep at byte 256");
}

/* A node of a name more than there may be, each an empty one. */
TEST(references)
{
	size_t names = (4u << 20) + 1, node = 2 * names, graph = node + 5;
	uint8_t *file = malloc(node + 10);

	assert_non_null(file);
	file[0] = 7 << 3 | 2;
	file[5] = 1 << 3 | 2;
	for (int i = 0; i < 4; i++) {
		file[1 + i] = (uint8_t)((graph >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
		file[6 + i] = (uint8_t)((node >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
	}
	for (size_t i = 0; i < names; i++) {
		file[10 + 2 * i] = 1 << 3 | 2;
		file[11 + 2 * i] = 0;
	}
	refuse_bytes(file, node + 10, -E2BIG, "nodes have more than 4194304 inputs and outputs");
	free(file);
}

/* Of so many constants that following them all would take long, the last are not followed. */
TEST(numbers)
{
	size_t nodes = 1025, size = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	fputs("in x float 1; int a 0; int b 4096; int c 1; node Range a,b,c -> r0; ", file);
	for (size_t i = 0; i < nodes; i++)
		fprintf(file, "node Add r%zu,a -> r%zu; ", i, i + 1);
	fprintf(file, "ints z 0; ints e 2; node Slice r%zu,z,e -> q; node Expand x,q -> y; out y",
		nodes);
	fclose(file);
	onnx_refuse(text, -EOPNOTSUPP,
		    "node 1027 '' (Expand): values decide how large tensor 'y' is, which is not "
		    "known before the model runs");
	free(text);
}

/* Nothing of it is looked at. */
TEST(large_file)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;

	assert_int_equal(npuimport_onnx("", (2ull << 30) + 1, "model", NULL, &graph, NULL, &error),
			 -E2BIG);
	assert_string_equal(error.text, "the model has more than 2147483648 bytes");
}

/* Two bytes of a file that are a node each: more memory than a model of that size may take. */
TEST(memory)
{
	size_t nodes = 4u << 20, body = 2 * nodes;
	uint8_t *file = malloc(body + 8);

	assert_non_null(file);
	file[0] = 7 << 3 | 2;
	for (int i = 0; i < 4; i++)
		file[1 + i] = (uint8_t)((body >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
	for (size_t i = 0; i < nodes; i++) {
		file[5 + 2 * i] = 1 << 3 | 2;
		file[6 + 2 * i] = 0;
	}
	refuse_bytes(file, body + 5, -E2BIG,
		     "the model takes more than 285212682 bytes of memory unpacked");
	free(file);
}
