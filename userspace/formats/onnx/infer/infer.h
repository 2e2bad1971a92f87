/* SPDX-License-Identifier: MIT */
/* What a node's outputs are like, by operator. Internal to the ONNX reader. */
#pragma once

#include "../base/reader.h"

/** infer_input() - the k-th; NULL if it is left out */
static inline struct onnx_value *infer_input(const struct onnx_node *n, uint32_t k)
{
	return k < n->input_count ? n->inputs[k] : NULL;
}

/** infer_is_wanted() - whether the k-th output is not left out */
static inline bool infer_is_wanted(const struct onnx_node *n, uint32_t k)
{
	return k < n->output_count && n->outputs[k];
}

/** infer_set() - the k-th output, if there is one, has elements of a type, and a shape */
void infer_set(struct onnx_node *n, uint32_t k, uint32_t type, const struct onnx_shape *shape);

/** infer_like() - the first output has elements of the first input's type, whatever its shape */
static inline void infer_like(struct onnx_node *n)
{
	if (infer_is_wanted(n, 0))
		n->outputs[0]->type = n->inputs[0]->type;
}

/*
 * infer_not_last() - the k-th input, if it is a list, has no number for each element along the last
 *	dimension of the first output
 *
 * Tiles of matrices take it for one that has if it is as long: the operator is whole then. The
 * output must have its shape before.
 */
void infer_not_last(struct onnx_node *n, uint32_t k);

/* infer_rank() - whether an input has a number of dimensions; false after failing */
bool infer_rank(struct onnx_reader *r, const struct onnx_node *n, uint32_t k, uint32_t least,
		uint32_t most);

/* infer_axis() - an axis, which counts from the end if it is negative, of @rank dimensions; -1
 * after failing
 */
int32_t infer_axis(struct onnx_reader *r, const struct onnx_node *n, int64_t axis, uint32_t rank);

/* infer_broadcast() - @shape becomes what it and @other are stretched to */
void infer_broadcast(struct onnx_reader *r, const struct onnx_node *n, struct onnx_shape *shape,
		     const struct onnx_shape *other);

/*
 * infer_list() - numbers that were an attribute once, and have been an input since an opset
 * @k: the input
 * @name: of the attribute; NULL: it has never been one
 * @since: the opset
 * @list: out: at most @room numbers
 * @count: out: how many; 0 if there is none
 *
 * False: values that are not known before the model runs, or after failing. An attribute where the
 * opset has the input, or an input where it has the attribute, fails.
 */
bool infer_list(struct onnx_reader *r, const struct onnx_node *n, uint32_t k, const char *name,
		int64_t since, int64_t *list, uint32_t room, uint32_t *count);

/* infer_axes() - such a list of axes, all between 0 and @rank, none twice; a bit for each
 * @given: out: whether there are any
 */
bool infer_axes(struct onnx_reader *r, const struct onnx_node *n, uint32_t k, int64_t since,
		uint32_t rank, uint32_t *axes, bool *given);

/* same.c: outputs like an input */
void infer_same(struct onnx_reader *r, struct onnx_node *n);
void infer_same_bool(struct onnx_reader *r, struct onnx_node *n);
void infer_channels(struct onnx_reader *r, struct onnx_node *n);
void infer_dropout(struct onnx_reader *r, struct onnx_node *n);
void infer_batchnorm(struct onnx_reader *r, struct onnx_node *n);
void infer_lrn(struct onnx_reader *r, struct onnx_node *n);
void infer_layernorm(struct onnx_reader *r, struct onnx_node *n);
void infer_softmax(struct onnx_reader *r, struct onnx_node *n);
void infer_cast(struct onnx_reader *r, struct onnx_node *n);
void infer_cast_like(struct onnx_reader *r, struct onnx_node *n);
void infer_random_like(struct onnx_reader *r, struct onnx_node *n);
void infer_broadcasts(struct onnx_reader *r, struct onnx_node *n);
void infer_compare(struct onnx_reader *r, struct onnx_node *n);
void infer_where(struct onnx_reader *r, struct onnx_node *n);
void infer_prelu(struct onnx_reader *r, struct onnx_node *n);
void infer_quantize(struct onnx_reader *r, struct onnx_node *n);
void infer_dequantize(struct onnx_reader *r, struct onnx_node *n);
void infer_dynamic_quantize(struct onnx_reader *r, struct onnx_node *n);

/* window.c: windows that slide over images */
void infer_conv(struct onnx_reader *r, struct onnx_node *n);
void infer_conv_integer(struct onnx_reader *r, struct onnx_node *n);
void infer_qlinear_conv(struct onnx_reader *r, struct onnx_node *n);
void infer_conv_transpose(struct onnx_reader *r, struct onnx_node *n);
void infer_pool(struct onnx_reader *r, struct onnx_node *n);
void infer_global_pool(struct onnx_reader *r, struct onnx_node *n);
void infer_unpool(struct onnx_reader *r, struct onnx_node *n);
void infer_roi_align(struct onnx_reader *r, struct onnx_node *n);

/* matrix.c: products of matrices, recurrent networks */
void infer_gemm(struct onnx_reader *r, struct onnx_node *n);
void infer_matmul(struct onnx_reader *r, struct onnx_node *n);
void infer_matmul_integer(struct onnx_reader *r, struct onnx_node *n);
void infer_qlinear_matmul(struct onnx_reader *r, struct onnx_node *n);
void infer_einsum(struct onnx_reader *r, struct onnx_node *n);
void infer_recurrent(struct onnx_reader *r, struct onnx_node *n);
void infer_loss(struct onnx_reader *r, struct onnx_node *n);
void infer_det(struct onnx_reader *r, struct onnx_node *n);

/* reduce.c: fewer elements along axes */
void infer_reduce(struct onnx_reader *r, struct onnx_node *n);
void infer_arg(struct onnx_reader *r, struct onnx_node *n);
void infer_topk(struct onnx_reader *r, struct onnx_node *n);

/* shape.c: the same elements in another shape */
void infer_reshape(struct onnx_reader *r, struct onnx_node *n);
void infer_flatten(struct onnx_reader *r, struct onnx_node *n);
void infer_squeeze(struct onnx_reader *r, struct onnx_node *n);
void infer_unsqueeze(struct onnx_reader *r, struct onnx_node *n);
void infer_transpose(struct onnx_reader *r, struct onnx_node *n);
void infer_depth_to_space(struct onnx_reader *r, struct onnx_node *n);
void infer_space_to_depth(struct onnx_reader *r, struct onnx_node *n);
void infer_expand(struct onnx_reader *r, struct onnx_node *n);
void infer_tile(struct onnx_reader *r, struct onnx_node *n);

/* part.c: parts of tensors, and tensors of parts */
void infer_concat(struct onnx_reader *r, struct onnx_node *n);
void infer_split(struct onnx_reader *r, struct onnx_node *n);
void infer_slice(struct onnx_reader *r, struct onnx_node *n);
void infer_pad(struct onnx_reader *r, struct onnx_node *n);
void infer_gather(struct onnx_reader *r, struct onnx_node *n);
void infer_gather_elements(struct onnx_reader *r, struct onnx_node *n);
void infer_gather_nd(struct onnx_reader *r, struct onnx_node *n);
void infer_one_hot(struct onnx_reader *r, struct onnx_node *n);

/* image.c: images of other sizes */
void infer_resize(struct onnx_reader *r, struct onnx_node *n);
void infer_upsample(struct onnx_reader *r, struct onnx_node *n);
void infer_grid_sample(struct onnx_reader *r, struct onnx_node *n);
void infer_affine_grid(struct onnx_reader *r, struct onnx_node *n);
void infer_crop_pad(struct onnx_reader *r, struct onnx_node *n);

/* make.c: of no input's elements */
void infer_constant(struct onnx_reader *r, struct onnx_node *n);
void infer_constant_of_shape(struct onnx_reader *r, struct onnx_node *n);
void infer_shape(struct onnx_reader *r, struct onnx_node *n);
void infer_size(struct onnx_reader *r, struct onnx_node *n);
void infer_range(struct onnx_reader *r, struct onnx_node *n);
void infer_eye_like(struct onnx_reader *r, struct onnx_node *n);
void infer_random(struct onnx_reader *r, struct onnx_node *n);
void infer_multinomial(struct onnx_reader *r, struct onnx_node *n);
void infer_unknown(struct onnx_reader *r, struct onnx_node *n);
