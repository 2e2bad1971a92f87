/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "sized.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int import_fail(struct npuplan_error *error, int err, const char *fmt, ...)
{
	va_list args;

	if (!error)
		return err;
	va_start(args, fmt);
	vsnprintf(error->text, sizeof(error->text), fmt, args);
	va_end(args);
	return err;
}

/* Length of the UTF-8 sequence at @s of at most @size bytes; 0 if it is none. */
static size_t utf8_length(const uint8_t *s, size_t size)
{
	size_t length = s[0] < 0x80		    ? 1 :
			s[0] >= 0xc2 && s[0] < 0xe0 ? 2 :
			s[0] >= 0xe0 && s[0] < 0xf0 ? 3 :
			s[0] >= 0xf0 && s[0] < 0xf5 ? 4 :
						      0;

	if (!length || length > size)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong, surrogates, beyond the last code point. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

void import_clean_name(char *name, size_t room, const char *text, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t used = 0, i = 0;

	while (i < length) {
		size_t next = utf8_length(bytes + i, length - i);

		if (used + (next ? next : 1) > room - 1)
			break;
		if (next && bytes[i] >= ' ' && bytes[i] != 0x7f) {
			memcpy(name + used, bytes + i, next);
			used += next;
			i += next;
		} else {
			name[used++] = '?';
			i++;
		}
	}
	name[used] = '\0';
}

void import_type_name(char *name, size_t room)
{
	/* Of graph JSON, of its operators whose sizes are checked, and of what the runtime does. */
	static const char *const taken[] = {
		"loop",	     "if",	   "switch",	 "cat",	       "concat",     "copy",
		"loop_test", "loop_index", "scan_slice", "scan_begin", "scan_store",
	};
	char own[16];

	for (char *c = name; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		if (strcmp(name, taken[i]))
			continue;
		snprintf(own, sizeof(own), "%s", name);
		snprintf(name, room, "custom_%s", own);
		return;
	}
}

struct import_text import_tensor_text(const struct npuplan_tensor *tensor)
{
	struct import_text text;

	snprintf(text.s, sizeof(text.s), "tensor %" PRId64 " '%.100s'", tensor->id, tensor->name);
	return text;
}

struct import_text import_op_text(const struct npuplan_op *op)
{
	struct import_text text;

	snprintf(text.s, sizeof(text.s), "operator %" PRId64 " '%.80s' (%.24s)", op->id, op->name,
		 op->type);
	return text;
}

void import_info(struct npuimport_info *info, enum npuimport_format format,
		 const struct npuplan_graph *graph)
{
	if (info)
		*info = (struct npuimport_info){
			.format = format,
			.subgraphs = 1,
			.operators = graph->op_count,
			.tensors = graph->tensor_count,
		};
}

int import_doubts_of(struct import_doubts *doubts, const struct npuimport_options *options,
		     size_t size, struct npuplan_error *error)
{
	struct npuimport_options own;

	if (!sized_take(&own, sizeof(own), options, size))
		return import_fail(error, -E2BIG,
				   "the options asked for are of a version later than this "
				   "library's, %s",
				   npuimport_version());
	*doubts = (struct import_doubts){ !options || own.strict, own.warnings };
	return 0;
}

void import_warn(const struct import_doubts *doubts, enum npuimport_doubt kind, const char *what,
		 const char *where, const char *text)
{
	struct npuimport_warnings *warnings = doubts->warnings;
	struct npuimport_warning key = { .kind = kind }, *warning;
	uint32_t i = 0;

	if (!warnings)
		return;
	warnings->total++;
	/* Cut short as it is kept, so that long names are found again, too. */
	snprintf(key.what, sizeof(key.what), "%s", what);
	while (i < warnings->count &&
	       (warnings->list[i].kind != kind || strcmp(warnings->list[i].what, key.what) != 0))
		i++;
	if (i == NPUIMPORT_WARNINGS) {
		warnings->unlisted++;
		return;
	}
	warning = &warnings->list[i];
	if (i == warnings->count) {
		*warning = key;
		snprintf(warning->text, sizeof(warning->text), "%s", text);
		warnings->count++;
	}
	if (warning->count < NPUIMPORT_PLACES)
		snprintf(warning->places[warning->count], sizeof(warning->places[0]), "%s", where);
	warning->count++;
}

int import_doubt(const struct import_doubts *doubts, int err, enum npuimport_doubt kind,
		 const char *what, const char *where, struct npuplan_error *error)
{
	if (err != -EINVAL || doubts->strict)
		return err;
	import_warn(doubts, kind, what, where, error->text);
	error->text[0] = '\0';
	return 0;
}

/* Dimensions but the one that is joined are alike; that of the inputs adds up. */
static int check_cat_shapes(const struct npuplan_graph *graph, const struct npuplan_op *op,
			    struct npuplan_error *error)
{
	const struct npuplan_tensor *out = &graph->tensors[op->outputs[0]];
	uint32_t axis = (uint32_t)op->attrs.axis;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < op->input_count; i++) {
		const struct npuplan_tensor *in = &graph->tensors[op->inputs[i]];

		for (uint32_t d = 0; d < out->dim_count; d++)
			if (d != axis && in->shape[d] != out->shape[d])
				return import_fail(error, -EINVAL,
						   "%s: %s has %" PRId64 " elements along "
						   "dimension %" PRIu32 ", its output %" PRId64,
						   import_op_text(op).s, import_tensor_text(in).s,
						   in->shape[d], d, out->shape[d]);
		/* Fewer than 2^22 inputs of less than 2^31. */
		sum += (uint64_t)in->shape[axis];
	}
	if (sum == (uint64_t)out->shape[axis])
		return 0;
	return import_fail(error, -EINVAL,
			   "%s: its inputs have %" PRIu64 " elements along dimension %" PRIu32
			   " together, but its output has %" PRId64,
			   import_op_text(op).s, sum, axis, out->shape[axis]);
}

int import_check_cat(const struct npuplan_graph *graph, const struct npuplan_op *op,
		     struct npuplan_error *error)
{
	const struct npuplan_tensor *out = &graph->tensors[op->outputs[0]];
	bool shapes = op->attrs.axis >= 0 && (uint32_t)op->attrs.axis < out->dim_count &&
		      !op->attrs.whole,
	     bytes = out->elem_size;
	uint64_t sum = 0;

	if (!op->input_count || op->output_count != 1)
		return 0;
	for (uint32_t i = 0; i < op->input_count; i++) {
		const struct npuplan_tensor *in = &graph->tensors[op->inputs[i]];

		shapes &= in->dim_count == out->dim_count;
		bytes &= in->elem_size == out->elem_size;
		/* Fewer than 2^22 inputs of at most 2^40. */
		sum += in->size;
	}
	if (shapes)
		return check_cat_shapes(graph, op, error);
	/* Of other element sizes bytes say nothing, nor does a part of an input. */
	if (!bytes || sum == out->size || (op->attrs.whole && sum > out->size))
		return 0;
	return import_fail(error, -EINVAL,
			   "%s: its inputs have %" PRIu64 " bytes together, but its output has "
			   "%" PRIu64,
			   import_op_text(op).s, sum, out->size);
}

/* Kind of the tensor that has the bytes. */
static uint32_t kind_of_bytes(const struct npuplan_graph *graph, uint32_t tensor)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];

	return t->flags & NPUMEM_TENSOR_FLAG_ALIAS ? graph->tensors[t->alias_of].kind : t->kind;
}

/*
 * @writer: per tensor the operator that writes it, @reader: the latest operator
 * seen that reads it; NPUMEM_NONE to begin with.
 */
static int check_writes(const struct npuplan_graph *graph, uint32_t *writer, uint32_t *reader,
			struct npuplan_error *error)
{
	for (uint32_t i = 0; i < graph->op_count; i++) {
		const struct npuplan_op *op = &graph->ops[i];

		if (!op->output_count)
			return import_fail(error, -EINVAL, "%s writes no tensor",
					   import_op_text(op).s);
		for (uint32_t k = 0; k < op->input_count; k++)
			reader[op->inputs[k]] = i;
		for (uint32_t k = 0; k < op->output_count; k++) {
			uint32_t t = op->outputs[k];
			const struct npuplan_tensor *tensor = &graph->tensors[t];
			uint32_t kind = kind_of_bytes(graph, t);

			if (tensor->kind == NPUMEM_TENSOR_STATE && reader[t] != i)
				return import_fail(
					error, -EINVAL,
					"%s writes %s, a state, without reading it: state is "
					"updated in place, so it must be among the inputs too",
					import_op_text(op).s, import_tensor_text(tensor).s);
			if (kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER)
				return import_fail(error, -EINVAL, "%s writes %s, which is %s%s",
						   import_op_text(op).s,
						   import_tensor_text(tensor).s,
						   tensor->kind == kind ? "" : "part of ",
						   kind == NPUMEM_TENSOR_INPUT ?
							   "an input of the graph" :
							   "a parameter");
			/* Several operators may update a state, each of them once. */
			if (writer[t] != NPUMEM_NONE &&
			    (tensor->kind != NPUMEM_TENSOR_STATE || writer[t] == i))
				return import_fail(error, -EINVAL,
						   "%s is written by %s and again by %s",
						   import_tensor_text(tensor).s,
						   import_op_text(&graph->ops[writer[t]]).s,
						   import_op_text(op).s);
			writer[t] = i;
		}
	}
	return 0;
}

/* Values come along edges: nothing else gives @to any. */
static int check_carries(const struct npuplan_graph *graph, const uint32_t *writer, bool *elsewhere,
			 struct npuplan_error *error)
{
	for (uint32_t i = 0; i < graph->carry_count; i++) {
		uint32_t to = graph->carries[i].to;

		if (writer[to] != NPUMEM_NONE)
			return import_fail(
				error, -EINVAL,
				"%s is written by %s, and a loop or branch carries values to it",
				import_tensor_text(&graph->tensors[to]).s,
				import_op_text(&graph->ops[writer[to]]).s);
		elsewhere[to] = true;
	}
	return 0;
}

/*
 * Order within a block. Across blocks it depends on the path: readers of models
 * see to that as they make the blocks, and planning does. @elsewhere: per tensor,
 * whether it has values that no operator writes to it: carried to it, or written
 * under another name of its bytes. Of bytes that have several names the verifier
 * sees to it that they are written before they are read.
 */
static int check_reads(const struct npuplan_graph *graph, const uint32_t *writer,
		       const bool *elsewhere, struct npuplan_error *error)
{
	for (uint32_t i = 0; i < graph->op_count; i++) {
		const struct npuplan_op *op = &graph->ops[i];

		for (uint32_t k = 0; k < op->input_count; k++) {
			uint32_t t = op->inputs[k];
			const struct npuplan_tensor *tensor = &graph->tensors[t];

			if (tensor->kind == NPUMEM_TENSOR_INPUT ||
			    tensor->kind == NPUMEM_TENSOR_PARAMETER ||
			    tensor->kind == NPUMEM_TENSOR_STATE || elsewhere[t])
				continue;
			if (writer[t] == NPUMEM_NONE)
				return import_fail(error, -EINVAL,
						   "%s reads %s, which nothing writes",
						   import_op_text(op).s,
						   import_tensor_text(tensor).s);
			if (writer[t] == i)
				return import_fail(error, -EINVAL,
						   "%s reads %s, which it writes itself",
						   import_op_text(op).s,
						   import_tensor_text(tensor).s);
			if (writer[t] > i && graph->ops[writer[t]].block == op->block)
				return import_fail(
					error, -EINVAL,
					"%s reads %s, which %s writes only later: operators "
					"must be in execution order",
					import_op_text(op).s, import_tensor_text(tensor).s,
					import_op_text(&graph->ops[writer[t]]).s);
		}
	}
	return 0;
}

/* Outputs of the graph have values that are written, or that come from elsewhere. */
static int check_outputs(const struct npuplan_graph *graph, const uint32_t *writer,
			 const bool *elsewhere, struct npuplan_error *error)
{
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].kind == NPUMEM_TENSOR_OUTPUT && writer[i] == NPUMEM_NONE &&
		    !elsewhere[i])
			return import_fail(error, -EINVAL,
					   "%s is an output of the graph, but nothing writes it",
					   import_tensor_text(&graph->tensors[i]).s);
	return 0;
}

int import_check_graph(const struct npuplan_graph *graph, struct npuplan_error *error)
{
	size_t room = (size_t)graph->tensor_count + 1;
	uint32_t *writer = malloc(room * sizeof(*writer)), *reader = malloc(room * sizeof(*reader));
	bool *elsewhere = calloc(room, sizeof(*elsewhere));
	int err = 0;

	if (!graph->op_count)
		err = import_fail(error, -EINVAL, "the graph has no operators");
	else if (!writer || !reader || !elsewhere)
		err = import_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < graph->tensor_count && !err; i++) {
		writer[i] = reader[i] = NPUMEM_NONE;
		if (graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			elsewhere[i] = elsewhere[graph->tensors[i].alias_of] = true;
	}
	if (!err)
		err = check_writes(graph, writer, reader, error);
	if (!err)
		err = check_carries(graph, writer, elsewhere, error);
	if (!err)
		err = check_reads(graph, writer, elsewhere, error);
	if (!err)
		err = check_outputs(graph, writer, elsewhere, error);
	free(writer);
	free(reader);
	free(elsewhere);
	return err;
}

int64_t import_window_size(const struct npuplan_attrs *attrs, uint32_t dim, int64_t in,
			   bool ceil_mode)
{
	int64_t stride = attrs->stride[dim];
	int64_t extent = (int64_t)(attrs->kernel[dim] - 1) * attrs->dilation[dim] + 1;
	int64_t pads = (int64_t)attrs->pad_begin[dim] + attrs->pad_end[dim];
	int64_t span, out;

	if (attrs->transposed)
		return (in - 1) * stride - pads + extent;
	span = in + pads - extent;
	if (span < 0)
		return 0;
	out = span / stride + 1;
	/* PyTorch's rule: the window that ceil adds starts before the end padding. */
	if (ceil_mode && span % stride && out * stride < in + attrs->pad_begin[dim])
		out++;
	return out;
}
