/* SPDX-License-Identifier: MIT */
/*
 * Attributes of operators in graph JSON -> struct npuplan_attrs. Each part is read by
 * itself: what is not understood of one is a doubt, and the others hold.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "reader.h"
#include "npuimport.h"

/* Attributes that have a meaning; those that planning does not need are checked all the same. */
static const char *const known[] = { "kernel",	  "stride",    "dilation",	 "padding",
				     "pad_begin", "pad_end",   "pad_folded",	 "output_padding",
				     "groups",	  "depthwise", "ceil_mode",	 "dim",
				     "inplace",	  "alias_of",  "partial_inputs", "fused_act",
				     "bn_folded", "mode",      "scalar",	 "size",
				     "whole",	  "converts",  "start",		 NULL };

/* enum same - where the odd element goes of padding that is computed */
enum same {
	NOT_SAME,
	SAME_UPPER, /* at the end */
	SAME_LOWER,
};

/*
 * Lists of a window, one entry a spatial dimension, outermost first; pad_folded
 * (and the padding of "pad") as PyTorch has it: begin and end of the innermost
 * dimension, then of the next.
 */
struct window {
	int32_t padding[2 * NPUPLAN_MAX_SPATIAL];
	int32_t folded[2 * NPUPLAN_MAX_SPATIAL];
	int32_t output_padding[NPUPLAN_MAX_SPATIAL];
	size_t paddings, foldeds;
	enum same same;
	bool ceil_mode;
	bool partial; /* the first input is read in part */
};

/* List of @count integers from @min on, which is not there in all cases; returns how many. */
static size_t get_list(struct graph_json_reader *r, json_t *attrs, const char *key, size_t count,
		       int64_t min, int32_t *values)
{
	int64_t read[2 * NPUPLAN_MAX_SPATIAL];

	count = npujson_ints(r->json, attrs, key, false, count, count, min, NPUIMPORT_MAX_DIM / 4,
			     read);
	for (size_t i = 0; i < count; i++)
		values[i] = (int32_t)read[i];
	return count;
}

/* One value of at least 1 a spatial dimension, 1 if there is no list. */
static void spatial_list(struct graph_json_reader *r, json_t *attrs, const char *key,
			 uint32_t spatial, int32_t *to)
{
	for (uint32_t d = 0; d < spatial; d++)
		to[d] = 1;
	get_list(r, attrs, key, spatial, 1, to);
}

/*
 * Padding by name, as TensorFlow and ONNX have it: numbers for SAME follow once the
 * shapes are looked at, VALID is none. Returns whether "padding" is such a name.
 */
static bool named_padding(struct graph_json_reader *r, json_t *attrs, struct window *window)
{
	static const struct {
		const char *name;
		enum same same;
	} names[] = {
		{ "SAME", SAME_UPPER },
		{ "SAME_UPPER", SAME_UPPER },
		{ "SAME_LOWER", SAME_LOWER },
		{ "VALID", NOT_SAME },
	};
	const char *text = json_string_value(json_object_get(attrs, "padding"));
	size_t i = 0, count = sizeof(names) / sizeof(*names);

	while (text && i < count && strcasecmp(names[i].name, text) != 0)
		i++;
	if (!text || i == count || r->doubts.strict)
		return false;
	window->same = names[i].same;
	npujson_fail(r->json, "padding", "must be a list");
	graph_json_doubt(r, NPUIMPORT_DOUBT_PADDING, names[i].name);
	return true;
}

static void read_paddings(struct graph_json_reader *r, json_t *attrs, bool is_pad, uint32_t spatial,
			  struct window *window, struct npuplan_attrs *out)
{
	const int64_t least = -(NPUIMPORT_MAX_DIM / 4);
	size_t begins, ends;

	if (is_pad || !named_padding(r, attrs, window))
		window->paddings = get_list(r, attrs, "padding", is_pad ? 2 * spatial : spatial,
					    is_pad ? least : 0, window->padding);
	window->foldeds =
		get_list(r, attrs, "pad_folded", 2 * (size_t)spatial, least, window->folded);
	begins = get_list(r, attrs, "pad_begin", spatial, least, out->pad_begin);
	ends = get_list(r, attrs, "pad_end", spatial, least, out->pad_end);
	if (begins != ends)
		npujson_fail(r->json, NULL, "\"pad_begin\" and \"pad_end\" go together");
	if (begins && json_object_get(attrs, "padding"))
		npujson_fail(r->json, "padding", "excludes \"pad_begin\" and \"pad_end\"");
	if (get_list(r, attrs, "output_padding", spatial, 0, window->output_padding) &&
	    !out->transposed)
		npujson_fail(r->json, "output_padding", "is for transposed convolutions only");
}

/* The several ways in which padding is given add up, per dimension. */
static void sum_paddings(const struct window *window, bool is_pad, struct npuplan_attrs *out)
{
	for (uint32_t d = 0; d < out->spatial; d++) {
		uint32_t torch = 2 * (out->spatial - 1 - d);

		if (window->paddings) {
			out->pad_begin[d] = window->padding[is_pad ? torch : d];
			out->pad_end[d] = window->padding[is_pad ? torch + 1 : d];
		}
		if (window->foldeds) {
			out->pad_begin[d] += window->folded[torch];
			out->pad_end[d] += window->folded[torch + 1];
		}
		out->pad_end[d] -= window->output_padding[d];
	}
}

static void forget_window(struct npuplan_attrs *attrs)
{
	*attrs = (struct npuplan_attrs){
		.groups = attrs->groups,
		.axis = attrs->axis,
		.inplace = attrs->inplace,
		.transposed = attrs->transposed,
		.whole = attrs->whole,
		.converts = attrs->converts,
	};
}

/* Padding that is missing at the end for @size windows of @in elements. */
static int32_t hanging(const struct npuplan_attrs *attrs, uint32_t dim, int64_t in, int64_t size)
{
	int64_t extent = (int64_t)(attrs->kernel[dim] - 1) * attrs->dilation[dim] + 1;
	int64_t missing = (size - 1) * attrs->stride[dim] + extent - in - attrs->pad_begin[dim] -
			  attrs->pad_end[dim];

	return missing > 0 ? (int32_t)missing : 0;
}

/* Padding that makes one element of each @stride of @in, as few as do. */
static void share_padding(struct graph_json_reader *r, const struct window *window,
			  struct npuplan_op *op, uint32_t d, int64_t in)
{
	struct npuplan_attrs *attrs = &op->attrs;
	int64_t extent = (int64_t)(attrs->kernel[d] - 1) * attrs->dilation[d] + 1;
	int64_t out = (in + attrs->stride[d] - 1) / attrs->stride[d];
	int64_t total = (out - 1) * attrs->stride[d] + extent - in;

	if (attrs->transposed || window->foldeds || total > NPUIMPORT_MAX_DIM / 4)
		npujson_fail(r->json, "padding", "SAME is not computed for %s",
			     import_op_text(op).s);
	if (total < 0)
		total = 0;
	attrs->pad_begin[d] = (int32_t)((total + (window->same == SAME_LOWER)) / 2);
	attrs->pad_end[d] = (int32_t)total - attrs->pad_begin[d];
}

/*
 * Compare the window with the shapes. An operator that stands for a pad and a
 * crop (pad_folded, partial_inputs) does not say which rows were cut off: its
 * window is then not known, and planners take it as reading whole inputs.
 */
static void check_window(struct graph_json_reader *r, const struct window *window,
			 struct npuplan_op *op)
{
	const struct npuplan_tensor *in, *out = &r->graph->tensors[op->outputs[0]];
	uint32_t first = import_spatial(r->graph->source_layout);
	uint32_t spatial = op->attrs.spatial;

	if (!op->input_count) {
		npujson_fail(r->json, NULL, "%s has a window but no input", import_op_text(op).s);
		return;
	}
	in = &r->graph->tensors[op->inputs[0]];
	if (in->dim_count != spatial + 2 || out->dim_count != spatial + 2)
		npujson_fail(r->json, NULL,
			     "%s has a window of %u dimensions, so its first input and its "
			     "output must have %u, not %u and %u",
			     import_op_text(op).s, spatial, spatial + 2, in->dim_count,
			     out->dim_count);
	if (window->partial)
		forget_window(&op->attrs);
	for (uint32_t d = 0; d < op->attrs.spatial && !r->json->err; d++) {
		int64_t size;

		if (window->same)
			share_padding(r, window, op, d, in->shape[first + d]);
		size = import_window_size(&op->attrs, d, in->shape[first + d], window->ceil_mode);
		if (size == out->shape[first + d]) {
			/* A window that hangs over the end reads padding there. */
			if (window->ceil_mode)
				op->attrs.pad_end[d] +=
					hanging(&op->attrs, d, in->shape[first + d], size);
		} else if (window->foldeds) {
			forget_window(&op->attrs);
		} else {
			npujson_fail(r->json, NULL,
				     "%s: window, stride and padding make %" PRId64
				     " elements of %" PRId64
				     " along spatial dimension %u, but its output has %" PRId64,
				     import_op_text(op).s, size, in->shape[first + d], d,
				     out->shape[first + d]);
		}
	}
}

static void read_window(struct graph_json_reader *r, json_t *attrs, bool partial,
			struct npuplan_op *op)
{
	struct npuplan_attrs *out = &op->attrs;
	bool is_pad = !strcmp(op->type, "pad") && !json_object_get(attrs, "kernel");
	static const char *const window_keys[] = { "stride",	     "dilation",  "padding",
						   "pad_begin",	     "pad_end",	  "pad_folded",
						   "output_padding", "ceil_mode", NULL };
	struct window window = { .partial = partial };
	int64_t kernel[NPUPLAN_MAX_SPATIAL];
	size_t spatial;

	spatial = npujson_ints(r->json, attrs, "kernel", false, 1, NPUPLAN_MAX_SPATIAL, 1,
			       NPUIMPORT_MAX_KERNEL, kernel);
	if (is_pad) {
		json_t *list = json_object_get(attrs, "padding");

		spatial = json_array_size(list) / 2;
		if (list && (spatial < 1 || spatial > NPUPLAN_MAX_SPATIAL)) {
			npujson_fail(r->json, "padding", "must have 2, 4 or 6 entries");
			return;
		}
		for (size_t i = 0; i < spatial; i++)
			kernel[i] = 1;
	}
	for (size_t i = 0; window_keys[i] && !spatial; i++)
		if (json_object_get(attrs, window_keys[i]))
			npujson_fail(r->json, window_keys[i], "needs \"kernel\" beside it");
	if (!spatial)
		return;
	out->spatial = (uint32_t)spatial;
	for (size_t i = 0; i < spatial; i++)
		out->kernel[i] = (int32_t)kernel[i];
	spatial_list(r, attrs, "stride", out->spatial, out->stride);
	spatial_list(r, attrs, "dilation", out->spatial, out->dilation);
	window.ceil_mode = npujson_bool_or(r->json, attrs, "ceil_mode", false);
	/* Padding by name is a doubt of its own, and takes no other error back. */
	if (!r->json->err)
		read_paddings(r, attrs, is_pad, out->spatial, &window, out);
	if (r->json->err)
		return;
	sum_paddings(&window, is_pad, out);
	if (is_pad)
		/* A pad whose output does not fit crops, too: see check_window(). */
		window.foldeds = window.paddings;
	check_window(r, &window, op);
}

/* @id must be an input of the operator that is being read; whether it is the first one. */
static bool check_input(struct graph_json_reader *r, const char *key, int64_t id,
			const struct npuplan_op *op)
{
	uint32_t tensor = graph_json_tensor_of_id(r, id);

	if (tensor == NPUMEM_NONE || r->input_of[tensor] != r->graph->op_count)
		npujson_fail(r->json, key, "%" PRId64 " is not an input of %s", id,
			     import_op_text(op).s);
	return !r->json->err && tensor == op->inputs[0];
}

/* Whether the first input is read in part. */
static bool read_partial(struct graph_json_reader *r, json_t *attrs, const struct npuplan_op *op)
{
	json_t *list = npujson_list(r->json, attrs, "partial_inputs", false), *item;
	bool first = false;
	char key[48];
	size_t i;

	json_array_foreach(list, i, item) {
		snprintf(key, sizeof(key), "partial_inputs[%zu]", i);
		if (!json_is_integer(item))
			npujson_fail(r->json, key, "must be the id of a tensor");
		first |= check_input(r, key, json_integer_value(item), op);
	}
	return first;
}

static void read_axis(struct graph_json_reader *r, json_t *attrs, struct npuplan_op *op)
{
	/* Of a split the first input may be the axis itself. */
	bool split = npuplan_is_split(op) || npuplan_is_slice(op);
	uint32_t like = split ? op->outputs[0] : op->input_count ? op->inputs[0] : NPUMEM_NONE;
	int64_t rank = like != NPUMEM_NONE ? r->graph->tensors[like].dim_count : 0;
	int64_t dims[NPUPLAN_MAX_DIMS];
	size_t count = 1;

	if (json_is_integer(json_object_get(attrs, "dim")))
		dims[0] = npujson_int(r->json, attrs, "dim", -rank, rank - 1);
	else
		count = npujson_ints(r->json, attrs, "dim", false, 1, NPUPLAN_MAX_DIMS, -rank,
				     rank - 1, dims);
	op->attrs.axis = -1;
	/* The outermost of several: bands cut outer dimensions. */
	for (size_t i = 0; i < count && !r->json->err; i++) {
		int32_t axis = (int32_t)(dims[i] < 0 ? dims[i] + rank : dims[i]);

		if (op->attrs.axis < 0 || axis < op->attrs.axis)
			op->attrs.axis = axis;
	}
}

/* Where a slice begins along its axis; without it that is not known. */
static void read_start(struct graph_json_reader *r, json_t *attrs, struct npuplan_op *op)
{
	int64_t first = npujson_int_or(r->json, attrs, "start", 0, NPUIMPORT_MAX_DIM, -1);
	const struct npuplan_tensor *in, *out;
	uint32_t axis = (uint32_t)op->attrs.axis;

	if (first < 0 || r->json->err)
		return;
	if (!npuplan_is_slice(op) || !op->input_count || op->attrs.axis < 0 || op->attrs.spatial) {
		npujson_fail(r->json, "start", "is of slices with a \"dim\" and no \"kernel\"");
		return;
	}
	in = &r->graph->tensors[op->inputs[0]];
	out = &r->graph->tensors[op->outputs[0]];
	if (out->dim_count != in->dim_count || first > in->shape[axis] ||
	    out->shape[axis] > in->shape[axis] - first)
		npujson_fail(r->json, "start",
			     "%" PRId64 " is not where the output of %s can begin in its input",
			     first, import_op_text(op).s);
	else
		npuplan_set_slice(&op->attrs, axis, first);
}

static void read_inplace(struct graph_json_reader *r, json_t *attrs, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = r->graph->tensors;
	bool inplace = npujson_bool_or(r->json, attrs, "inplace", false);
	int64_t alias = npujson_int_or(r->json, attrs, "alias_of", 0, INT64_MAX, -1);

	/* An operator that compilers drop: its output may take its input's bytes. */
	if (alias >= 0)
		inplace |= check_input(r, "alias_of", alias, op);
	if (inplace &&
	    (!op->input_count || tensors[op->inputs[0]].size != tensors[op->outputs[0]].size))
		npujson_fail(r->json, NULL,
			     "%s works in place, so its first input and its output must have "
			     "the same size",
			     import_op_text(op).s);
	op->attrs.inplace = inplace && !r->json->err;
	graph_json_doubt(r, NPUIMPORT_DOUBT_INPLACE, "inplace");
}

/* Attributes that planning does not use need the right types all the same, so that typos show. */
static void check_others(struct graph_json_reader *r, json_t *attrs)
{
	static const char *const strings[] = { "fused_act", "bn_folded", "mode", NULL };
	int64_t sizes[NPUPLAN_MAX_DIMS];
	json_t *scalar = json_object_get(attrs, "scalar");

	for (size_t i = 0; strings[i]; i++) {
		npujson_text(r->json, attrs, strings[i], "");
		graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, strings[i]);
	}
	npujson_bool_or(r->json, attrs, "depthwise", false);
	graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, "depthwise");
	npujson_ints(r->json, attrs, "size", false, 1, NPUPLAN_MAX_DIMS, 1, NPUIMPORT_MAX_DIM,
		     sizes);
	graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, "size");
	if (scalar && !json_is_number(scalar))
		npujson_fail(r->json, "scalar", "must be a number");
	graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, "scalar");
}

/* Whether an operator only copies what it puts together, or takes apart. */
static bool has_parts(const struct npuplan_op *op)
{
	return npuplan_is_concat(op) || npuplan_is_split(op) || npuplan_is_slice(op);
}

/*
 * Whether a concat's, a split's or a slice's output has other bytes than its inputs: it is said, an
 * activation is fused, or something was not understood.
 */
static void read_converts(struct graph_json_reader *r, json_t *attrs, struct npuplan_op *op)
{
	const json_t *act = json_object_get(attrs, "fused_act");
	const char *text = json_string_value(act);
	bool none = !act || json_is_null(act) || (text && (!*text || !strcasecmp(text, "none")));

	op->attrs.converts = npujson_bool_or(r->json, attrs, "converts", false) ||
			     (has_parts(op) && !none);
	if (graph_json_doubt(r, NPUIMPORT_DOUBT_ATTRIBUTE, "converts"))
		op->attrs.converts = true;
}

/* An operator of which something was not understood is not cut into tiles. */
static bool whole_in_doubt(struct graph_json_reader *r, enum npuimport_doubt kind, const char *what,
			   struct npuplan_op *op)
{
	bool doubt = graph_json_doubt(r, kind, what);

	op->attrs.whole |= doubt;
	return doubt;
}

/* Parts that say what the operator reads: in doubt it is planned whole. */
static void read_parts(struct graph_json_reader *r, json_t *attrs, struct npuplan_op *op)
{
	bool partial;

	op->attrs.whole = npujson_bool_or(r->json, attrs, "whole", op->attrs.whole);
	whole_in_doubt(r, NPUIMPORT_DOUBT_ATTRIBUTE, "whole", op);
	op->attrs.groups = (int32_t)npujson_int_or(r->json, attrs, "groups", 1, INT32_MAX, 1);
	whole_in_doubt(r, NPUIMPORT_DOUBT_ATTRIBUTE, "groups", op);
	partial = read_partial(r, attrs, op);
	whole_in_doubt(r, NPUIMPORT_DOUBT_ATTRIBUTE, "partial_inputs", op);
	read_window(r, attrs, partial, op);
	if (whole_in_doubt(r, NPUIMPORT_DOUBT_WINDOW, op->type, op))
		forget_window(&op->attrs);
	read_axis(r, attrs, op);
	whole_in_doubt(r, NPUIMPORT_DOUBT_ATTRIBUTE, "dim", op);
	read_start(r, attrs, op);
	whole_in_doubt(r, NPUIMPORT_DOUBT_ATTRIBUTE, "start", op);
}

void graph_json_attrs(struct graph_json_reader *r, json_t *object, struct npuplan_op *op)
{
	json_t *attrs = json_object_get(object, "attrs");
	size_t outside;
	bool unknown;

	op->attrs = (struct npuplan_attrs){ .axis = -1, .groups = 1 };
	op->attrs.transposed = !strncmp(op->type, "conv_transpose", 14);
	if (!attrs)
		return;
	if (!json_is_object(attrs)) {
		/* Exporters write null where there are none. */
		op->attrs.whole = !json_is_null(attrs);
		npujson_fail(r->json, "attrs", "must be an object");
		graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, "attrs");
		return;
	}
	outside = npujson_enter(r->json, ".attrs");
	unknown = graph_json_known_keys(r, attrs, known, NPUIMPORT_DOUBT_ATTRIBUTE);
	read_parts(r, attrs, op);
	/* A part of each is no sum. */
	op->attrs.whole |= unknown || (json_object_get(attrs, "partial_inputs") && has_parts(op));
	read_inplace(r, attrs, op);
	check_others(r, attrs);
	read_converts(r, attrs, op);
	npujson_leave(r->json, outside);
}
