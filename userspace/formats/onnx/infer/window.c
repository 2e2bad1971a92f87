/* SPDX-License-Identifier: MIT */
/* Windows that slide over images N,C,[D,][H,]W: convolutions and pools. */
#include "infer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Dimensions that a window may have, whether the graph's attributes have room for them or not. */
#define MAX_SPATIAL (NPUPLAN_MAX_DIMS - 2)

/*
 * struct window - along each spatial dimension
 * @in, @out: elements of the image before and after
 */
struct window {
	uint32_t spatial;
	int64_t in[MAX_SPATIAL];
	int64_t out[MAX_SPATIAL];
	int64_t kernel[MAX_SPATIAL];
	int64_t stride[MAX_SPATIAL];
	int64_t dilation[MAX_SPATIAL];
	int64_t begin[MAX_SPATIAL];
	int64_t end[MAX_SPATIAL];
};

static int64_t extent(const struct window *w, uint32_t d)
{
	return (w->kernel[d] - 1) * w->dilation[d] + 1;
}

/* Numbers of an attribute, @count of them, between @least and @most, or one for all. */
static void read_ints(struct onnx_reader *r, const struct onnx_node *n, const char *name,
		      uint32_t count, int64_t least, int64_t most, int64_t otherwise,
		      int64_t *values)
{
	size_t given;
	const int64_t *ints = onnx_attr_ints(r, n, name, &given);

	for (uint32_t d = 0; d < count; d++)
		values[d] = otherwise;
	if (!ints || r->err)
		return;
	if (given != count) {
		onnx_fail(r, -EINVAL, "%s: attribute '%s' has %zu numbers, must have %" PRIu32,
			  onnx_node_text(n).s, name, given, count);
		return;
	}
	for (uint32_t d = 0; d < count; d++) {
		values[d] = ints[d];
		if (ints[d] < least || ints[d] > most)
			onnx_fail(r, -EINVAL,
				  "%s: attribute '%s' has %" PRId64 ", must be %" PRId64
				  " to %" PRId64,
				  onnx_node_text(n).s, name, ints[d], least, most);
	}
}

/* The image, and all but the kernel's size and the padding. */
static bool read_window(struct onnx_reader *r, struct onnx_node *n, struct window *w)
{
	const struct onnx_shape *shape = &n->inputs[0]->shape;
	int64_t pads[2 * MAX_SPATIAL];

	if (!infer_rank(r, n, 0, 3, NPUPLAN_MAX_DIMS))
		return false;
	*w = (struct window){ .spatial = shape->rank - 2 };
	memcpy(w->in, shape->dims + 2, w->spatial * sizeof(*w->in));
	read_ints(r, n, "strides", w->spatial, 1, ONNX_MAX_STEP, 1, w->stride);
	read_ints(r, n, "dilations", w->spatial, 1, ONNX_MAX_STEP, 1, w->dilation);
	read_ints(r, n, "pads", 2 * w->spatial, 0, ONNX_MAX_STEP, 0, pads);
	memcpy(w->begin, pads, w->spatial * sizeof(*w->begin));
	memcpy(w->end, pads + w->spatial, w->spatial * sizeof(*w->end));
	return !r->err;
}

static const char *auto_pad(struct onnx_reader *r, const struct onnx_node *n)
{
	const char *name = onnx_attr_text(r, n, "auto_pad", "NOTSET");

	if (strcmp(name, "NOTSET") != 0 && strcmp(name, "VALID") != 0 &&
	    strcmp(name, "SAME_UPPER") != 0 && strcmp(name, "SAME_LOWER") != 0)
		onnx_fail(r, -EINVAL, "%s: its auto_pad is none that is known",
			  onnx_node_text(n).s);
	return name;
}

/* Elements of the output, of windows that pads are given or computed for. */
static void slide(struct onnx_reader *r, struct onnx_node *n, struct window *w, bool ceil_mode)
{
	const char *pad = auto_pad(r, n);

	for (uint32_t d = 0; d < w->spatial && !r->err; d++) {
		int64_t span;

		if (!strncmp(pad, "SAME", 4)) {
			int64_t total;

			w->out[d] = (w->in[d] + w->stride[d] - 1) / w->stride[d];
			total = (w->out[d] - 1) * w->stride[d] + extent(w, d) - w->in[d];
			total = total > 0 ? total : 0;
			w->begin[d] = pad[5] == 'U' ? total / 2 : total - total / 2;
			w->end[d] = total - w->begin[d];
			continue;
		}
		if (*pad == 'V')
			w->begin[d] = w->end[d] = 0;
		span = w->in[d] + w->begin[d] + w->end[d] - extent(w, d);
		if (span < 0 || !w->in[d]) {
			onnx_fail(r, -EINVAL,
				  "%s: a window of %" PRId64 " does not fit into %" PRId64
				  " elements along dimension %" PRIu32,
				  onnx_node_text(n).s, extent(w, d),
				  w->in[d] + w->begin[d] + w->end[d], d + 2);
			return;
		}
		w->out[d] = span / w->stride[d] + 1;
		/* The last window must start inside of the input or the padding before it. */
		if (ceil_mode && span % w->stride[d] &&
		    w->out[d] * w->stride[d] < w->in[d] + w->begin[d])
			w->out[d]++;
	}
}

/* The graph's operator gets the window, if its attributes have room for that. */
static void give_window(struct onnx_reader *r, struct onnx_node *n, const struct window *w,
			int64_t groups)
{
	if (w->spatial < 2 || w->spatial > NPUPLAN_MAX_SPATIAL || groups > INT32_MAX || r->err) {
		n->attrs.whole = true;
		return;
	}
	for (uint32_t d = 0; d < w->spatial; d++) {
		if (w->kernel[d] > NPUIMPORT_MAX_KERNEL || w->begin[d] > ONNX_MAX_STEP ||
		    w->end[d] > ONNX_MAX_STEP || w->end[d] < -ONNX_MAX_STEP) {
			n->attrs.whole = true;
			return;
		}
		n->attrs.kernel[d] = (int32_t)w->kernel[d];
		n->attrs.stride[d] = (int32_t)w->stride[d];
		n->attrs.dilation[d] = (int32_t)w->dilation[d];
		n->attrs.pad_begin[d] = (int32_t)w->begin[d];
		n->attrs.pad_end[d] = (int32_t)w->end[d];
	}
	n->attrs.spatial = w->spatial;
	n->attrs.groups = (int32_t)groups;
}

/* "conv2d", "maxpool": by the number of dimensions, where the type has it. */
static void name_type(struct onnx_node *n, const char *type, uint32_t spatial)
{
	snprintf(n->type, sizeof(n->type), "%s%" PRIu32 "d", type, spatial);
}

static void give_output(struct onnx_reader *r, struct onnx_node *n, uint32_t k, uint32_t type,
			int64_t channels, const struct window *w)
{
	struct onnx_shape shape = n->inputs[0]->shape;

	shape.dims[1] = channels;
	memcpy(shape.dims + 2, w->out, w->spatial * sizeof(*w->out));
	if (!r->err)
		infer_set(n, k, type, &shape);
}

/* ------------------------------------------------------------- convolutions */

/* Kernel, from the weights; an attribute may say it once more. */
static bool read_kernel(struct onnx_reader *r, struct onnx_node *n, uint32_t weights,
			struct window *w)
{
	const struct onnx_shape *shape = &n->inputs[weights]->shape;
	int64_t said[MAX_SPATIAL];

	if (!infer_rank(r, n, weights, w->spatial + 2, w->spatial + 2))
		return false;
	read_ints(r, n, "kernel_shape", w->spatial, 1, NPUIMPORT_MAX_DIM, 0, said);
	for (uint32_t d = 0; d < w->spatial && !r->err; d++) {
		w->kernel[d] = shape->dims[d + 2];
		if (!w->kernel[d] || (said[d] && said[d] != w->kernel[d]))
			onnx_fail(r, -EINVAL,
				  "%s: kernel_shape has %" PRId64
				  ", and its weights are of shape %s",
				  onnx_node_text(n).s, said[d], onnx_shape_text(shape).s);
		/* An extent of more than the largest image fits none. */
		if ((w->kernel[d] - 1) > NPUIMPORT_MAX_DIM / w->dilation[d])
			onnx_fail(r, -EINVAL,
				  "%s: a kernel of %" PRId64 " with dilation %" PRId64
				  " is larger than any image",
				  onnx_node_text(n).s, w->kernel[d], w->dilation[d]);
	}
	return !r->err;
}

/* Channels of the image are those of the weights, times the groups. */
static int64_t read_groups(struct onnx_reader *r, struct onnx_node *n, int64_t each, int64_t all,
			   int64_t outputs)
{
	int64_t groups = onnx_attr_int(r, n, "group", 1);

	if (groups < 1 || groups > NPUIMPORT_MAX_DIM || each * groups != all || outputs % groups)
		onnx_fail(r, -EINVAL,
			  "%s: %" PRId64 " channels in %" PRId64
			  " groups do not fit weights for %" PRId64 ", which make %" PRId64,
			  onnx_node_text(n).s, all, groups, each, outputs);
	return groups;
}

static void conv(struct onnx_reader *r, struct onnx_node *n, uint32_t weights, uint32_t type)
{
	const struct onnx_shape *kernel = &n->inputs[weights]->shape;
	int64_t groups, channels = n->inputs[0]->shape.dims[1];
	struct window w;

	if (!read_window(r, n, &w) || !read_kernel(r, n, weights, &w))
		return;
	groups = read_groups(r, n, kernel->dims[1], channels, kernel->dims[0]);
	slide(r, n, &w, false);
	give_output(r, n, 0, type, kernel->dims[0], &w);
	name_type(n, "conv", w.spatial);
	give_window(r, n, &w, groups);
}

void infer_conv(struct onnx_reader *r, struct onnx_node *n)
{
	conv(r, n, 1, n->inputs[0]->type);
}

void infer_conv_integer(struct onnx_reader *r, struct onnx_node *n)
{
	conv(r, n, 1, ONNX_INT32);
}

/* Inputs: x, its scale and zero point, w, its, those of y, bias. */
void infer_qlinear_conv(struct onnx_reader *r, struct onnx_node *n)
{
	conv(r, n, 3, n->inputs[7]->type);
}

/*
 * Padding is what an output of the size asked for leaves over. Of an odd number the smaller half is
 * before the image with SAME_UPPER alone; until opset 11 with all others.
 */
static void pad_transposed(struct onnx_reader *r, struct onnx_node *n, struct window *w)
{
	int64_t added[MAX_SPATIAL], asked[MAX_SPATIAL];
	const char *pad = auto_pad(r, n);
	bool less_first = !strcmp(pad, "SAME_UPPER") == (n->opset >= 11);

	read_ints(r, n, "output_padding", w->spatial, 0, ONNX_MAX_STEP, 0, added);
	read_ints(r, n, "output_shape", w->spatial, 1, NPUIMPORT_MAX_DIM, 0, asked);
	for (uint32_t d = 0; d < w->spatial && !r->err; d++) {
		int64_t full = (w->in[d] - 1) * w->stride[d] + extent(w, d), total;

		if (!strncmp(pad, "SAME", 4) && !asked[d])
			asked[d] = w->in[d] * w->stride[d];
		if (*pad == 'V')
			w->begin[d] = w->end[d] = 0;
		if (asked[d]) {
			total = full + added[d] - asked[d];
			total = total > 0 ? total : 0;
			w->begin[d] = less_first ? total / 2 : total - total / 2;
			w->out[d] = asked[d];
		} else {
			w->out[d] = full + added[d] - w->begin[d] - w->end[d];
		}
		/* As a window that gives that size has it, output_padding taken off. */
		w->end[d] = full - w->begin[d] - w->out[d];
		if (w->out[d] < 1 || !w->in[d])
			onnx_fail(r, -EINVAL,
				  "%s: its output has %" PRId64
				  " elements along dimension %" PRIu32,
				  onnx_node_text(n).s, w->out[d], d + 2);
	}
}

/* Weights: in, out / groups, ... */
void infer_conv_transpose(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *kernel = &n->inputs[1]->shape;
	int64_t groups;
	struct window w;

	if (!read_window(r, n, &w) || !read_kernel(r, n, 1, &w))
		return;
	groups = onnx_attr_int(r, n, "group", 1);
	if (groups < 1 || groups > NPUIMPORT_MAX_DIM || kernel->dims[0] % groups ||
	    kernel->dims[0] != n->inputs[0]->shape.dims[1])
		onnx_fail(r, -EINVAL,
			  "%s: %" PRId64 " channels in %" PRId64
			  " groups do not fit weights for %" PRId64,
			  onnx_node_text(n).s, n->inputs[0]->shape.dims[1], groups,
			  kernel->dims[0]);
	pad_transposed(r, n, &w);
	give_output(r, n, 0, n->inputs[0]->type, kernel->dims[1] * groups, &w);
	name_type(n, "conv_transpose", w.spatial);
	n->attrs.transposed = true;
	give_window(r, n, &w, groups);
}

/* -------------------------------------------------------------------- pools */

static bool read_pool(struct onnx_reader *r, struct onnx_node *n, struct window *w)
{
	if (!read_window(r, n, w))
		return false;
	read_ints(r, n, "kernel_shape", w->spatial, 1, NPUIMPORT_MAX_DIM, 0, w->kernel);
	for (uint32_t d = 0; d < w->spatial && !r->err; d++) {
		if (!w->kernel[d])
			onnx_fail(r, -EINVAL, "%s has no kernel_shape", onnx_node_text(n).s);
		else if ((w->kernel[d] - 1) > NPUIMPORT_MAX_DIM / w->dilation[d])
			onnx_fail(r, -EINVAL,
				  "%s: a kernel of %" PRId64 " with dilation %" PRId64
				  " is larger than any image",
				  onnx_node_text(n).s, w->kernel[d], w->dilation[d]);
	}
	return !r->err;
}

void infer_pool(struct onnx_reader *r, struct onnx_node *n)
{
	int64_t channels = n->inputs[0]->shape.dims[1];
	struct window w;

	if (!read_pool(r, n, &w))
		return;
	slide(r, n, &w, onnx_attr_int(r, n, "ceil_mode", 0) != 0);
	give_output(r, n, 0, n->inputs[0]->type, channels, &w);
	/* Which element was the largest. */
	give_output(r, n, 1, ONNX_INT64, channels, &w);
	/* A window of the last row may hang over the end, where there is no padding. */
	for (uint32_t d = 0; d < w.spatial; d++) {
		int64_t last = (w.out[d] - 1) * w.stride[d] + extent(&w, d) - w.in[d] - w.begin[d];

		if (last > w.end[d])
			w.end[d] = last;
	}
	give_window(r, n, &w, 1);
}

void infer_global_pool(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *shape = &n->inputs[0]->shape;
	struct window w = { 0 };

	if (!infer_rank(r, n, 0, 2, NPUPLAN_MAX_DIMS))
		return;
	w.spatial = shape->rank - 2;
	for (uint32_t d = 0; d < w.spatial; d++) {
		w.in[d] = w.kernel[d] = shape->dims[d + 2];
		w.out[d] = w.stride[d] = w.dilation[d] = 1;
	}
	give_output(r, n, 0, n->inputs[0]->type, shape->dims[1], &w);
	give_window(r, n, &w, 1);
}

/* The size is what a pool's would have been before it; a third input may say it. */
void infer_unpool(struct onnx_reader *r, struct onnx_node *n)
{
	int64_t sizes[NPUPLAN_MAX_DIMS];
	struct onnx_shape shape = n->inputs[0]->shape;
	struct window w;
	uint32_t count;

	if (infer_input(n, 2)) {
		if (!infer_list(r, n, 2, NULL, 0, sizes, NPUPLAN_MAX_DIMS, &count))
			return;
		shape.rank = count;
		memcpy(shape.dims, sizes, count * sizeof(*sizes));
		infer_set(n, 0, n->inputs[0]->type, &shape);
		return;
	}
	if (!read_pool(r, n, &w))
		return;
	for (uint32_t d = 0; d < w.spatial; d++)
		w.out[d] = (w.in[d] - 1) * w.stride[d] + w.kernel[d] - w.begin[d] - w.end[d];
	give_output(r, n, 0, n->inputs[0]->type, shape.dims[1], &w);
}

void infer_roi_align(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	int64_t sizes[2] = { onnx_attr_int(r, n, "output_height", 1),
			     onnx_attr_int(r, n, "output_width", 1) };

	/* MaxRoiPool: the size is one attribute, and there is no third input. */
	if (onnx_attr(n, "pooled_shape"))
		read_ints(r, n, "pooled_shape", 2, 1, NPUIMPORT_MAX_DIM, 1, sizes);
	if (!infer_rank(r, n, 0, 4, 4) || !infer_rank(r, n, 1, 2, 2))
		return;
	shape.dims[0] = n->inputs[1]->shape.dims[0];
	memcpy(shape.dims + 2, sizes, sizeof(sizes));
	infer_set(n, 0, n->inputs[0]->type, &shape);
}
