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

/* Those that planning does not need are checked all the same. */
static const char *const known[] = { "kernel",	  "stride",    "dilation",	 "padding",
				     "pad_begin", "pad_end",   "pad_folded",	 "output_padding",
				     "groups",	  "depthwise", "ceil_mode",	 "dim",
				     "inplace",	  "alias_of",  "partial_inputs", "fused_act",
				     "bn_folded", "mode",      "scalar",	 "size",
				     "whole",	  NULL };

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
	int64_t padding[2 * NPUPLAN_MAX_SPATIAL];
	int64_t folded[2 * NPUPLAN_MAX_SPATIAL];
	int64_t output_padding[NPUPLAN_MAX_SPATIAL];
	size_t paddings, foldeds;
	enum same same;
	bool ceil_mode;
	bool partial; /* the first input is read in part */
};

static void copy_list(int32_t *to, const int64_t *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (int32_t)from[i];
}

/* One value a spatial dimension, or the default for all of them. */
static int spatial_list(struct graph_json_reader *reader, json_t *attrs, const char *path,
			const char *key, uint32_t spatial, int64_t min, int32_t absent, int32_t *to)
{
	int64_t values[NPUPLAN_MAX_SPATIAL];
	size_t count;
	int err = graph_json_get_ints(reader, attrs, path, key, spatial, spatial, min,
				      NPUIMPORT_MAX_DIM / 4, values, &count);

	if (err)
		return err;
	for (uint32_t i = 0; i < spatial; i++)
		to[i] = count ? (int32_t)values[i] : absent;
	return 0;
}

/*
 * Padding by name, as TensorFlow and ONNX have it: numbers for SAME follow once the
 * shapes are looked at, VALID is none. Returns 1 if "padding" is no such name.
 */
static int named_padding(struct graph_json_reader *reader, json_t *attrs, const char *path,
			 struct window *window)
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
	if (!text || i == count || reader->doubts.strict)
		return 1;
	window->same = names[i].same;
	return graph_json_doubt(reader, graph_json_fail(reader, path, "padding", "must be a list"),
				NPUIMPORT_DOUBT_PADDING, names[i].name, path);
}

static int read_paddings(struct graph_json_reader *reader, json_t *attrs, const char *path,
			 bool is_pad, uint32_t spatial, struct window *window,
			 struct npuplan_attrs *out)
{
	const int64_t limit = NPUIMPORT_MAX_DIM / 4;
	int64_t values[NPUPLAN_MAX_SPATIAL];
	size_t begins, ends, count;
	int err;

	err = is_pad ? 1 : named_padding(reader, attrs, path, window);
	if (err > 0)
		err = graph_json_get_ints(reader, attrs, path, "padding",
					  is_pad ? 2 * spatial : spatial,
					  is_pad ? 2 * spatial : spatial, is_pad ? -limit : 0,
					  limit, window->padding, &window->paddings);
	if (!err)
		err = graph_json_get_ints(reader, attrs, path, "pad_folded", 2 * spatial,
					  2 * spatial, -limit, limit, window->folded,
					  &window->foldeds);
	if (!err)
		err = graph_json_get_ints(reader, attrs, path, "pad_begin", spatial, spatial,
					  -limit, limit, values, &begins);
	if (err)
		return err;
	copy_list(out->pad_begin, values, begins);
	err = graph_json_get_ints(reader, attrs, path, "pad_end", spatial, spatial, -limit, limit,
				  values, &ends);
	if (err)
		return err;
	copy_list(out->pad_end, values, ends);
	if (begins != ends)
		return graph_json_fail(reader, path, NULL,
				       "\"pad_begin\" and \"pad_end\" go together");
	if (begins && json_object_get(attrs, "padding"))
		return graph_json_fail(reader, path, "padding",
				       "excludes \"pad_begin\" and \"pad_end\"");
	memset(window->output_padding, 0, sizeof(window->output_padding));
	err = graph_json_get_ints(reader, attrs, path, "output_padding", spatial, spatial, 0, limit,
				  window->output_padding, &count);
	if (!err && count && !out->transposed)
		return graph_json_fail(reader, path, "output_padding",
				       "is for transposed convolutions only");
	return err;
}

/* All paddings together, per dimension. */
static void sum_paddings(const struct window *window, bool is_pad, struct npuplan_attrs *out)
{
	for (uint32_t d = 0; d < out->spatial; d++) {
		uint32_t torch = 2 * (out->spatial - 1 - d);

		if (is_pad && window->paddings) {
			out->pad_begin[d] = (int32_t)window->padding[torch];
			out->pad_end[d] = (int32_t)window->padding[torch + 1];
		} else if (window->paddings) {
			out->pad_begin[d] = (int32_t)window->padding[d];
			out->pad_end[d] = (int32_t)window->padding[d];
		}
		if (window->foldeds) {
			out->pad_begin[d] += (int32_t)window->folded[torch];
			out->pad_end[d] += (int32_t)window->folded[torch + 1];
		}
		out->pad_end[d] -= (int32_t)window->output_padding[d];
	}
}

static void forget_window(struct npuplan_attrs *attrs)
{
	attrs->spatial = 0;
	memset(attrs->kernel, 0, sizeof(attrs->kernel));
	memset(attrs->stride, 0, sizeof(attrs->stride));
	memset(attrs->dilation, 0, sizeof(attrs->dilation));
	memset(attrs->pad_begin, 0, sizeof(attrs->pad_begin));
	memset(attrs->pad_end, 0, sizeof(attrs->pad_end));
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
static int place_same(struct graph_json_reader *reader, const char *path,
		      const struct window *window, struct npuplan_op *op, uint32_t d, int64_t in)
{
	struct npuplan_attrs *attrs = &op->attrs;
	int64_t extent = (int64_t)(attrs->kernel[d] - 1) * attrs->dilation[d] + 1;
	int64_t out = (in + attrs->stride[d] - 1) / attrs->stride[d];
	int64_t total = (out - 1) * attrs->stride[d] + extent - in;

	if (attrs->transposed || window->foldeds || total > NPUIMPORT_MAX_DIM / 4)
		return graph_json_fail(reader, path, "padding", "SAME is not computed for %s",
				       import_op_text(op).s);
	if (total < 0)
		total = 0;
	attrs->pad_begin[d] = (int32_t)((total + (window->same == SAME_LOWER)) / 2);
	attrs->pad_end[d] = (int32_t)total - attrs->pad_begin[d];
	return 0;
}

/*
 * Compare the window with the shapes. An operator that stands for a pad and a
 * crop (pad_folded, partial_inputs) does not say which rows were cut off: its
 * window is then not known, and planners take it as reading whole inputs.
 */
static int check_window(struct graph_json_reader *reader, const char *path,
			const struct window *window, struct npuplan_op *op)
{
	const struct npuplan_tensor *in, *out = &reader->graph->tensors[op->outputs[0]];
	uint32_t first = import_spatial(reader->graph->source_layout);
	uint32_t spatial = op->attrs.spatial;

	if (!op->input_count)
		return graph_json_fail(reader, path, NULL, "%s has a window but no input",
				       import_op_text(op).s);
	in = &reader->graph->tensors[op->inputs[0]];
	if (in->dim_count != spatial + 2 || out->dim_count != spatial + 2)
		return graph_json_fail(
			reader, path, NULL,
			"%s has a window of %u dimensions, so its first input and its "
			"output must have %u, not %u and %u",
			import_op_text(op).s, spatial, spatial + 2, in->dim_count, out->dim_count);
	if (window->partial) {
		forget_window(&op->attrs);
		return 0;
	}
	for (uint32_t d = 0; d < spatial; d++) {
		int64_t size;
		int err = 0;

		if (window->same)
			err = place_same(reader, path, window, op, d, in->shape[first + d]);
		if (err)
			return err;
		size = import_window_size(&op->attrs, d, in->shape[first + d], window->ceil_mode);
		if (size == out->shape[first + d]) {
			/* A window that hangs over the end reads padding there. */
			if (window->ceil_mode)
				op->attrs.pad_end[d] +=
					hanging(&op->attrs, d, in->shape[first + d], size);
			continue;
		}
		if (window->foldeds) {
			forget_window(&op->attrs);
			return 0;
		}
		return graph_json_fail(reader, path, NULL,
				       "%s: window, stride and padding make %" PRId64
				       " elements of %" PRId64
				       " along spatial dimension %u, but its "
				       "output has %" PRId64,
				       import_op_text(op).s, size, in->shape[first + d], d,
				       out->shape[first + d]);
	}
	return 0;
}

static int read_window(struct graph_json_reader *reader, json_t *attrs, const char *path,
		       bool partial, struct npuplan_op *op)
{
	struct npuplan_attrs *out = &op->attrs;
	bool is_pad = !strcmp(op->type, "pad") && !json_object_get(attrs, "kernel");
	static const char *const window_keys[] = { "stride",	     "dilation",  "padding",
						   "pad_begin",	     "pad_end",	  "pad_folded",
						   "output_padding", "ceil_mode", NULL };
	struct window window = { .partial = partial };
	int64_t kernel[NPUPLAN_MAX_SPATIAL];
	size_t spatial;
	int err;

	err = graph_json_get_ints(reader, attrs, path, "kernel", 1, NPUPLAN_MAX_SPATIAL, 1,
				  NPUIMPORT_MAX_KERNEL, kernel, &spatial);
	if (err)
		return err;
	if (is_pad) {
		json_t *list = json_object_get(attrs, "padding");

		spatial = list ? json_array_size(list) / 2 : 0;
		if (list && (spatial < 1 || spatial > NPUPLAN_MAX_SPATIAL))
			return graph_json_fail(reader, path, "padding",
					       "must have 2, 4 or 6 entries");
		for (size_t i = 0; i < spatial; i++)
			kernel[i] = 1;
	}
	if (!spatial) {
		for (size_t i = 0; window_keys[i]; i++) {
			if (json_object_get(attrs, window_keys[i]))
				return graph_json_fail(reader, path, window_keys[i],
						       "needs \"kernel\" beside it");
		}
		return 0;
	}
	out->spatial = (uint32_t)spatial;
	copy_list(out->kernel, kernel, spatial);
	err = spatial_list(reader, attrs, path, "stride", out->spatial, 1, 1, out->stride);
	if (!err)
		err = spatial_list(reader, attrs, path, "dilation", out->spatial, 1, 1,
				   out->dilation);
	if (!err)
		err = graph_json_get_bool(reader, attrs, path, "ceil_mode", &window.ceil_mode);
	if (!err)
		err = read_paddings(reader, attrs, path, is_pad, out->spatial, &window, out);
	if (err)
		return err;
	sum_paddings(&window, is_pad, out);
	if (is_pad)
		/* A pad whose output does not fit crops, too: see check_window(). */
		window.foldeds = window.paddings;
	return check_window(reader, path, &window, op);
}

/* @id must be an input of the operator that is being read. */
static int check_input(struct graph_json_reader *reader, const char *path, int64_t id,
		       const struct npuplan_op *op, bool *first)
{
	uint32_t tensor = graph_json_tensor_of_id(reader, id);

	if (tensor == NPUMEM_NONE || reader->input_of[tensor] != reader->graph->op_count)
		return graph_json_fail(reader, path, NULL, "%" PRId64 " is not an input of %s", id,
				       import_op_text(op).s);
	if (tensor == op->inputs[0])
		*first = true;
	return 0;
}

static int read_partial(struct graph_json_reader *reader, json_t *attrs, const char *path,
			const struct npuplan_op *op, bool *first)
{
	json_t *list = NULL, *item;
	size_t i;
	int err = graph_json_get_array(reader, attrs, path, "partial_inputs", false, &list);

	if (err || !list)
		return err;
	json_array_foreach(list, i, item) {
		struct graph_json_path at = graph_json_path("%s.partial_inputs[%zu]", path, i);

		if (!json_is_integer(item))
			return graph_json_fail(reader, at.s, NULL, "must be the id of a tensor");
		err = check_input(reader, at.s, json_integer_value(item), op, first);
		if (err)
			return err;
	}
	return 0;
}

static int read_axis(struct graph_json_reader *reader, json_t *attrs, const char *path,
		     struct npuplan_op *op)
{
	int64_t rank = op->input_count ? reader->graph->tensors[op->inputs[0]].dim_count : 0;
	int64_t dims[NPUPLAN_MAX_DIMS];
	size_t count;
	int err;

	op->attrs.axis = -1;
	if (json_is_integer(json_object_get(attrs, "dim"))) {
		err = graph_json_get_int(reader, attrs, path, "dim", false, -rank, rank - 1, dims);
		count = 1;
	} else {
		err = graph_json_get_ints(reader, attrs, path, "dim", 1, NPUPLAN_MAX_DIMS, -rank,
					  rank - 1, dims, &count);
	}
	if (err)
		return err;
	/* The outermost of several: bands cut outer dimensions. */
	for (size_t i = 0; i < count; i++) {
		int32_t axis = (int32_t)(dims[i] < 0 ? dims[i] + rank : dims[i]);

		if (op->attrs.axis < 0 || axis < op->attrs.axis)
			op->attrs.axis = axis;
	}
	return 0;
}

static int read_inplace(struct graph_json_reader *reader, json_t *attrs, const char *path,
			struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = reader->graph->tensors;
	bool first = false;
	int64_t alias = -1;
	int err = graph_json_get_bool(reader, attrs, path, "inplace", &op->attrs.inplace);

	if (!err)
		err = graph_json_get_int(reader, attrs, path, "alias_of", false, 0, INT64_MAX,
					 &alias);
	if (!err && alias >= 0) {
		err = check_input(reader, graph_json_path("%s.alias_of", path).s, alias, op,
				  &first);
		/* An operator that compilers drop: its output may take its input's bytes. */
		op->attrs.inplace |= first;
	}
	if (err || !op->attrs.inplace)
		return err;
	if (!op->input_count || tensors[op->inputs[0]].size != tensors[op->outputs[0]].size)
		return graph_json_fail(
			reader, path, NULL,
			"%s works in place, so its first input and its output must have "
			"the same size",
			import_op_text(op).s);
	return 0;
}

/* What planning does not use: right types all the same, so that typos show. */
static int check_others(struct graph_json_reader *reader, json_t *attrs, const char *path)
{
	static const char *const strings[] = { "fused_act", "bn_folded", "mode", NULL };
	int64_t sizes[NPUPLAN_MAX_DIMS];
	json_t *scalar = json_object_get(attrs, "scalar");
	const char *text;
	bool depthwise;
	size_t count;
	int err = 0;

	for (size_t i = 0; !err && strings[i]; i++) {
		err = graph_json_get_string(reader, attrs, path, strings[i], false, &text);
		err = graph_json_doubt(reader, err, NPUIMPORT_DOUBT_VALUE, strings[i], path);
	}
	if (!err) {
		err = graph_json_get_bool(reader, attrs, path, "depthwise", &depthwise);
		err = graph_json_doubt(reader, err, NPUIMPORT_DOUBT_VALUE, "depthwise", path);
	}
	if (!err) {
		err = graph_json_get_ints(reader, attrs, path, "size", 1, NPUPLAN_MAX_DIMS, 1,
					  NPUIMPORT_MAX_DIM, sizes, &count);
		err = graph_json_doubt(reader, err, NPUIMPORT_DOUBT_VALUE, "size", path);
	}
	if (!err && scalar && !json_is_number(scalar))
		err = graph_json_doubt(reader,
				       graph_json_fail(reader, path, "scalar", "must be a number"),
				       NPUIMPORT_DOUBT_VALUE, "scalar", path);
	return err;
}

/* What an operator that was not read as the file meant it is left with. */
static int whole_in_doubt(struct graph_json_reader *reader, int err, enum npuimport_doubt kind,
			  const char *what, const char *path, struct npuplan_op *op)
{
	op->attrs.whole |= err == -EINVAL;
	return graph_json_doubt(reader, err, kind, what, path);
}

/* Parts that say what the operator reads: in doubt it is planned whole. */
static int read_parts(struct graph_json_reader *reader, json_t *attrs, const char *path,
		      struct npuplan_op *op)
{
	int64_t groups = 1;
	bool partial = false;
	int err;

	err = graph_json_get_bool(reader, attrs, path, "whole", &op->attrs.whole);
	err = whole_in_doubt(reader, err, NPUIMPORT_DOUBT_ATTRIBUTE, "whole", path, op);
	if (err)
		return err;
	err = graph_json_get_int(reader, attrs, path, "groups", false, 1, INT32_MAX, &groups);
	op->attrs.groups = (int32_t)groups;
	err = whole_in_doubt(reader, err, NPUIMPORT_DOUBT_ATTRIBUTE, "groups", path, op);
	if (err)
		return err;
	err = read_partial(reader, attrs, path, op, &partial);
	err = whole_in_doubt(reader, err, NPUIMPORT_DOUBT_ATTRIBUTE, "partial_inputs", path, op);
	if (err)
		return err;
	err = read_window(reader, attrs, path, partial, op);
	if (err == -EINVAL)
		forget_window(&op->attrs);
	err = whole_in_doubt(reader, err, NPUIMPORT_DOUBT_WINDOW, op->type, path, op);
	if (err)
		return err;
	err = read_axis(reader, attrs, path, op);
	if (err == -EINVAL)
		op->attrs.axis = -1;
	return whole_in_doubt(reader, err, NPUIMPORT_DOUBT_ATTRIBUTE, "dim", path, op);
}

int graph_json_attrs(struct graph_json_reader *reader, json_t *object, const char *op_path,
		     struct npuplan_op *op)
{
	struct graph_json_path path = graph_json_path("%s.attrs", op_path);
	json_t *attrs = json_object_get(object, "attrs");
	int err;

	op->attrs = (struct npuplan_attrs){ .axis = -1, .groups = 1 };
	op->attrs.transposed = !strncmp(op->type, "conv_transpose", 14);
	if (!attrs)
		return 0;
	if (!json_is_object(attrs)) {
		/* Exporters write null where there are none. */
		op->attrs.whole = !json_is_null(attrs);
		err = graph_json_fail(reader, op_path, "attrs", "must be an object");
		return graph_json_doubt(reader, err, NPUIMPORT_DOUBT_VALUE, "attrs", op_path);
	}
	err = graph_json_known_keys(reader, attrs, path.s, known, NPUIMPORT_DOUBT_ATTRIBUTE,
				    &op->attrs.whole);
	if (!err) {
		bool unknown = op->attrs.whole;

		err = read_parts(reader, attrs, path.s, op);
		op->attrs.whole |= unknown;
	}
	/* A part of each is no sum. */
	if (!err && json_object_get(attrs, "partial_inputs") && import_is_cat(op))
		op->attrs.whole = true;
	if (!err) {
		err = read_inplace(reader, attrs, path.s, op);
		if (err == -EINVAL)
			op->attrs.inplace = false;
		err = graph_json_doubt(reader, err, NPUIMPORT_DOUBT_INPLACE, "inplace", path.s);
	}
	if (!err)
		err = check_others(reader, attrs, path.s);
	return err;
}
