/* SPDX-License-Identifier: MIT */
/* Images of other sizes. */
#include "infer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/*
 * Type of the graph's operator: rows of an image are interpolated between neighbours, or not. What
 * a tile needs is known where the sizes say by how much the image is scaled: they do, @exact, if
 * nothing was rounded.
 */
static void name_resize(struct onnx_reader *r, struct onnx_node *n, const struct onnx_shape *out,
			bool exact)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	const char *mode = onnx_attr_text(r, n, "mode", "nearest");
	const char *where = onnx_attr_text(r, n, "coordinate_transformation_mode", "half_pixel");

	snprintf(n->type, sizeof(n->type), "%s",
		 !strcmp(mode, "nearest") ? "resize_nearest" :
		 !strcmp(mode, "linear")  ? "resize_bilinear" :
					    "resize_cubic");
	n->attrs.whole = !exact || in->rank != 4 || in->dims[0] != out->dims[0] ||
			 in->dims[1] != out->dims[1] || !strcmp(where, "tf_crop_and_resize") ||
			 !strcmp(where, "tf_half_pixel_for_nn") ||
			 onnx_attr_int(r, n, "antialias", 0) || !strcmp(mode, "cubic");
}

/* Dimensions that the sizes or scales are of; all, unless opset 18's axes say which. */
static uint32_t read_axes(struct onnx_reader *r, const struct onnx_node *n, int64_t *axes)
{
	uint32_t rank = n->inputs[0]->shape.rank;
	size_t count = 0;
	const int64_t *given = NULL;

	if (n->opset >= 18)
		given = onnx_attr_ints(r, n, "axes", &count);
	if (given && count > rank) {
		onnx_fail(r, -EINVAL, "%s: %zu axes of %" PRIu32 " dimensions", onnx_node_text(n).s,
			  count, rank);
		return 0;
	}
	for (uint32_t i = 0; i < (given ? count : rank) && !r->err; i++)
		axes[i] = given ? infer_axis(r, n, given[i], rank) : (int32_t)i;
	return given ? (uint32_t)count : rank;
}

/*
 * Elements that a scale makes; -1 if it is none. ONNX multiplies in single precision: 0.7 of 10 are
 * 7, where in double precision the nearest number to 0.7 makes less.
 */
static int64_t scaled(int64_t elements, double scale)
{
	double size = (double)floorf((float)elements * (float)scale);

	return scale > 0 && size <= NPUIMPORT_MAX_DIM ? (int64_t)size : -1;
}

static void by_scales(struct onnx_reader *r, struct onnx_node *n, const struct onnx_value *scales,
		      const int64_t *axes, uint32_t count)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	bool exact = true;

	if (scales->count != count || !onnx_is_float(scales->type)) {
		onnx_fail(r, -EINVAL, "%s: %" PRIu64 " scales of %" PRIu32 " dimensions",
			  onnx_node_text(n).s, scales->count, count);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		int64_t *size = &shape.dims[axes[i]], old = *size;

		*size = scaled(old, scales->numbers[i].f);
		exact &= (double)old * scales->numbers[i].f == (double)*size;
		if (*size < 0) {
			onnx_fail(r, -EINVAL, "%s: a scale of %g", onnx_node_text(n).s,
				  scales->numbers[i].f);
			return;
		}
	}
	infer_set(n, 0, n->inputs[0]->type, &shape);
	name_resize(r, n, &shape, exact);
}

/*
 * One scale for all: the smaller, or the larger, of those that the sizes ask for. ONNX rounds
 * halves up, and computes in single precision. False: a size was rounded.
 */
static bool keep_ratio(struct onnx_reader *r, const struct onnx_node *n, const int64_t *axes,
		       uint32_t count, int64_t *sizes)
{
	const char *policy = onnx_attr_text(r, n, "keep_aspect_ratio_policy", "stretch");
	const int64_t *dims = n->inputs[0]->shape.dims;
	bool smaller = !strcmp(policy, "not_larger");
	bool exact = true;
	float scale = 0;

	if (!strcmp(policy, "stretch") || n->opset < 18)
		return true;
	for (uint32_t i = 0; i < count; i++) {
		float own = dims[axes[i]] ? (float)sizes[i] / (float)dims[axes[i]] : 0;

		if (!i || (smaller ? own < scale : own > scale))
			scale = own;
	}
	for (uint32_t i = 0; i < count; i++) {
		double size = (double)roundf(scale * (float)dims[axes[i]]);

		exact &= (double)scale * (double)dims[axes[i]] == size;
		sizes[i] = size >= 0 && size <= NPUIMPORT_MAX_DIM ? (int64_t)size : -1;
	}
	return exact;
}

static void by_sizes(struct onnx_reader *r, struct onnx_node *n, const int64_t *axes,
		     uint32_t count)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	int64_t sizes[NPUPLAN_MAX_DIMS];
	uint32_t given;
	bool exact;

	if (!infer_list(r, n, 3, NULL, 0, sizes, NPUPLAN_MAX_DIMS, &given))
		return;
	if (given != count) {
		onnx_fail(r, -EINVAL, "%s: %" PRIu32 " sizes of %" PRIu32 " dimensions",
			  onnx_node_text(n).s, given, count);
		return;
	}
	exact = keep_ratio(r, n, axes, count, sizes);
	for (uint32_t i = 0; i < count; i++) {
		if (sizes[i] < 0 || sizes[i] > NPUIMPORT_MAX_DIM) {
			onnx_fail(r, -EINVAL, "%s: a size of %" PRId64, onnx_node_text(n).s,
				  sizes[i]);
			return;
		}
		shape.dims[axes[i]] = sizes[i];
	}
	infer_set(n, 0, n->inputs[0]->type, &shape);
	name_resize(r, n, &shape, exact);
}

/* Opset 10 has the scales second; since 11 they are third, after a region, or sizes are fourth. */
void infer_resize(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_value *scales = infer_input(n, n->opset >= 11 ? 2 : 1);
	int64_t axes[NPUPLAN_MAX_DIMS];
	uint32_t count = read_axes(r, n, axes);

	infer_like(n);
	/* Until values are known that say more. */
	n->attrs.whole = true;
	if (r->err)
		return;
	/* No scales are a name that is left out, or a list of none. */
	if (n->opset >= 11 && infer_input(n, 3) &&
	    (!scales || (scales->shape.rank == 1 && !scales->shape.dims[0])))
		by_sizes(r, n, axes, count);
	else if (!scales)
		onnx_fail(r, -EINVAL, "%s has neither scales nor sizes", onnx_node_text(n).s);
	else if (scales->numbers)
		by_scales(r, n, scales, axes, count);
}

/* Scales are an attribute until opset 9. */
void infer_upsample(struct onnx_reader *r, struct onnx_node *n)
{
	union onnx_number numbers[NPUPLAN_MAX_DIMS] = { 0 };
	struct onnx_value scales = { .type = ONNX_FLOAT, .numbers = numbers };
	int64_t axes[NPUPLAN_MAX_DIMS];
	uint32_t rank = n->inputs[0]->shape.rank;
	const float *floats;
	size_t count;

	infer_like(n);
	/* Until values are known that say more. */
	n->attrs.whole = true;
	for (uint32_t i = 0; i < rank; i++)
		axes[i] = i;
	if (n->opset >= 9) {
		if (!infer_input(n, 1))
			onnx_fail(r, -EINVAL, "%s lacks input 1", onnx_node_text(n).s);
		else if (n->inputs[1]->numbers)
			by_scales(r, n, n->inputs[1], axes, rank);
		return;
	}
	floats = onnx_attr_floats(r, n, "scales", &count);
	scales.count = count;
	for (uint32_t i = 0; floats && i < count && i < rank; i++)
		numbers[i].f = (double)floats[i];
	if (!r->err)
		by_scales(r, n, &scales, axes, rank);
}

/* N, C, and the sizes of the grid, whose last dimension says where. */
void infer_grid_sample(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	uint32_t rank = shape.rank;

	if (!infer_rank(r, n, 0, 3, NPUPLAN_MAX_DIMS) || !infer_rank(r, n, 1, rank, rank))
		return;
	memcpy(shape.dims + 2, n->inputs[1]->shape.dims + 1, (rank - 2) * sizeof(*shape.dims));
	infer_set(n, 0, n->inputs[0]->type, &shape);
}

/* Sizes are N, C, and those of the image; of the grid without C, with one more for where. */
void infer_affine_grid(struct onnx_reader *r, struct onnx_node *n)
{
	int64_t sizes[NPUPLAN_MAX_DIMS];
	struct onnx_shape out = { .known = true };

	if (!infer_list(r, n, 1, NULL, 0, sizes, NPUPLAN_MAX_DIMS, &out.rank))
		return;
	if (out.rank < 3) {
		onnx_fail(r, -EINVAL, "%s: its size has %" PRIu32 " numbers", onnx_node_text(n).s,
			  out.rank);
		return;
	}
	out.dims[0] = sizes[0];
	memcpy(out.dims + 1, sizes + 2, (out.rank - 2) * sizeof(*sizes));
	out.dims[out.rank - 1] = out.rank - 2;
	infer_set(n, 0, n->inputs[0]->type, &out);
}

void infer_crop_pad(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	int64_t sizes[NPUPLAN_MAX_DIMS], axes[NPUPLAN_MAX_DIMS];
	uint32_t count = read_axes(r, n, axes), given;

	infer_like(n);
	if (r->err || !infer_list(r, n, 1, NULL, 0, sizes, NPUPLAN_MAX_DIMS, &given))
		return;
	if (given != count)
		onnx_fail(r, -EINVAL, "%s: %" PRIu32 " sizes of %" PRIu32 " dimensions",
			  onnx_node_text(n).s, given, count);
	for (uint32_t i = 0; i < count && !r->err; i++)
		shape.dims[axes[i]] = sizes[i];
	infer_set(n, 0, n->inputs[0]->type, &shape);
}
