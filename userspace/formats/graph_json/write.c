/* SPDX-License-Identifier: MIT */
/* struct npuplan_graph -> graph JSON, one tensor or operator a line. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "npuimport.h"

/* Bytes of an element if all tensors have the same, else 0. */
static uint32_t common_elem_size(const struct npuplan_graph *graph)
{
	uint32_t size = graph->tensor_count ? graph->tensors[0].elem_size : 0;

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		if (graph->tensors[i].elem_size != size)
			return 0;
	}
	return size;
}

static json_t *tensor_json(const struct npuplan_graph *graph, const struct npuplan_tensor *tensor,
			   bool with_elem_size)
{
	json_t *object = json_object(), *shape = json_array();
	int err = 0;

	for (uint32_t i = 0; i < tensor->dim_count; i++)
		err |= json_array_append_new(shape, json_integer(tensor->shape[i]));
	err |= json_object_set_new(object, "id", json_integer(tensor->id));
	err |= json_object_set_new(object, "name", json_string(tensor->name));
	err |= json_object_set_new(object, "shape", shape);
	err |= json_object_set_new(object, "bytes", json_integer((json_int_t)tensor->size));
	err |= json_object_set_new(object, "kind", json_string(graph_json_kinds[tensor->kind]));
	if (with_elem_size && tensor->elem_size)
		err |= json_object_set_new(object, "dtype_bytes", json_integer(tensor->elem_size));
	if (tensor->align != graph_json_align(tensor->elem_size))
		err |= json_object_set_new(object, "align", json_integer(tensor->align));
	if (tensor->flags & NPUMEM_TENSOR_FIXED)
		err |= json_object_set_new(object, "fixed_offset",
					   json_integer((json_int_t)tensor->fixed_offset));
	if (tensor->flags & NPUMEM_TENSOR_EXTERNAL)
		err |= json_object_set_new(object, "external", json_true());
	if (tensor->flags & NPUMEM_TENSOR_HOST)
		err |= json_object_set_new(object, "host", json_true());
	if (tensor->flags & NPUMEM_TENSOR_ALIAS) {
		err |= json_object_set_new(object, "alias_of",
					   json_integer(graph->tensors[tensor->alias_of].id));
		err |= json_object_set_new(object, "alias_offset",
					   json_integer((json_int_t)tensor->alias_offset));
	}
	if (err) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static int set_ints(json_t *object, const char *key, const int32_t *values, uint32_t count)
{
	json_t *list = json_array();
	int err = 0;

	for (uint32_t i = 0; i < count; i++)
		err |= json_array_append_new(list, json_integer(values[i]));
	return err | json_object_set_new(object, key, list);
}

static int set_references(const struct npuplan_graph *graph, json_t *object, const char *key,
			  const uint32_t *tensors, uint32_t count)
{
	json_t *list = json_array();
	int err = 0;

	for (uint32_t i = 0; i < count; i++)
		err |= json_array_append_new(list, json_integer(graph->tensors[tensors[i]].id));
	return err | json_object_set_new(object, key, list);
}

static json_t *attrs_json(const struct npuplan_attrs *attrs)
{
	json_t *object = json_object();
	int err = 0;

	if (attrs->spatial) {
		err |= set_ints(object, "kernel", attrs->kernel, attrs->spatial);
		err |= set_ints(object, "stride", attrs->stride, attrs->spatial);
		err |= set_ints(object, "dilation", attrs->dilation, attrs->spatial);
		err |= set_ints(object, "pad_begin", attrs->pad_begin, attrs->spatial);
		err |= set_ints(object, "pad_end", attrs->pad_end, attrs->spatial);
	}
	if (attrs->groups > 1)
		err |= json_object_set_new(object, "groups", json_integer(attrs->groups));
	if (attrs->axis >= 0)
		err |= json_object_set_new(object, "dim", json_integer(attrs->axis));
	if (attrs->inplace)
		err |= json_object_set_new(object, "inplace", json_true());
	if (attrs->whole)
		err |= json_object_set_new(object, "whole", json_true());
	if (err) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *op_json(const struct npuplan_graph *graph, const struct npuplan_op *op)
{
	json_t *object = json_object();
	int err = 0;

	err |= json_object_set_new(object, "id", json_integer(op->id));
	err |= json_object_set_new(object, "name", json_string(op->name));
	err |= json_object_set_new(object, "type", json_string(op->type));
	err |= set_references(graph, object, "inputs", op->inputs, op->input_count);
	err |= set_references(graph, object, "outputs", op->outputs, op->output_count);
	err |= json_object_set_new(object, "attrs", attrs_json(&op->attrs));
	if (err) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* Loops and branches have become blocks and edges, and are written as such. */
static json_t *blocks_json(const struct npuplan_graph *graph)
{
	json_t *list = json_array();
	uint32_t op = 0;
	int err = 0;

	for (uint32_t i = 0; i < graph->block_count; i++) {
		uint32_t first = op;

		while (op < graph->op_count && graph->ops[op].block == i)
			op++;
		err |= json_array_append_new(list, json_integer(op - first));
	}
	if (err) {
		json_decref(list);
		return NULL;
	}
	return list;
}

static json_t *edge_json(const struct npuplan_graph *graph, const struct npumem_edge *edge)
{
	json_t *object = json_object(), *carries = json_array();
	int err = 0;

	for (uint32_t i = 0; i < edge->carry_count; i++) {
		const struct npumem_carry *carry = &graph->carries[edge->first_carry + i];

		err |= json_array_append_new(
			carries,
			json_pack("{sIsI}", "from", (json_int_t)graph->tensors[carry->from].id,
				  "to", (json_int_t)graph->tensors[carry->to].id));
	}
	err |= json_object_set_new(object, "from", json_integer(edge->from));
	if (edge->to != NPUMEM_NONE)
		err |= json_object_set_new(object, "to", json_integer(edge->to));
	if (edge->carry_count)
		err |= json_object_set(object, "carries", carries);
	json_decref(carries);
	if (err) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* @json is given up. */
static int write_line(FILE *out, json_t *json, bool last)
{
	int err = json ? json_dumpf(json, out, JSON_COMPACT) : -1;

	json_decref(json);
	fputs(last ? "\n" : ",\n", out);
	return err;
}

static int write_flow(FILE *out, const struct npuplan_graph *graph, struct npuplan_error *error)
{
	json_t *blocks;
	int err;

	if (!graph->edge_count) {
		fputs("]}\n", out);
		return 0;
	}
	fputs("],\n\"blocks\":", out);
	blocks = blocks_json(graph);
	err = blocks ? json_dumpf(blocks, out, JSON_COMPACT) : -1;
	json_decref(blocks);
	fputs(",\n\"edges\":[\n", out);
	for (uint32_t i = 0; i < graph->edge_count && !err; i++)
		err = write_line(out, edge_json(graph, &graph->edges[i]),
				 i + 1 == graph->edge_count);
	fputs("]}\n", out);
	return err ? import_fail(error, -ENOMEM, "out of memory") : 0;
}

static int write_graph(FILE *out, const struct npuplan_graph *graph, struct npuplan_error *error)
{
	uint32_t elem_size = common_elem_size(graph);
	json_t *name = json_string(graph->name);

	fputs("{\"name\":", out);
	if (!name || json_dumpf(name, out, JSON_ENCODE_ANY)) {
		json_decref(name);
		return import_fail(error, -EINVAL, "the name of the graph is not UTF-8");
	}
	json_decref(name);
	fprintf(out, ",\n\"layout\":\"%s\"",
		graph->source_layout == NPUPLAN_NCHW ? "NCHW" : "NHWC");
	if (elem_size)
		fprintf(out, ",\n\"dtype_bytes\":%" PRIu32, elem_size);
	fputs(",\n\"tensors\":[\n", out);
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		if (write_line(out, tensor_json(graph, &graph->tensors[i], !elem_size),
			       i + 1 == graph->tensor_count))
			return import_fail(error, -EINVAL,
					   "tensor %" PRId64 ": its name is not UTF-8",
					   graph->tensors[i].id);
	}
	fputs("],\n\"ops\":[\n", out);
	for (uint32_t i = 0; i < graph->op_count; i++) {
		if (write_line(out, op_json(graph, &graph->ops[i]), i + 1 == graph->op_count))
			return import_fail(error, -EINVAL,
					   "operator %" PRId64 ": its name or type is not UTF-8",
					   graph->ops[i].id);
	}
	return write_flow(out, graph, error);
}

int npuimport_graph_json_write(const struct npuplan_graph *graph, char **text,
			       struct npuplan_error *error)
{
	size_t size;
	FILE *out;
	int err;

	*text = NULL;
	if (!graph->op_count)
		return import_fail(error, -EINVAL,
				   "graph '%.100s' has no operators, so graph JSON cannot hold it",
				   graph->name);
	out = open_memstream(text, &size);
	if (!out)
		return import_fail(error, -ENOMEM, "out of memory");
	err = write_graph(out, graph, error);
	if (fclose(out) && !err)
		err = import_fail(error, -ENOMEM, "out of memory");
	if (err) {
		free(*text);
		*text = NULL;
	}
	return err;
}
