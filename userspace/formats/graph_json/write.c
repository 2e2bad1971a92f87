/* SPDX-License-Identifier: MIT */
/* struct npuplan_graph -> graph JSON, one tensor or operator a line. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../json/put.h"
#include "reader.h"
#include "npuimport.h"

/* Bytes of an element if all tensors have the same, else 0. */
static uint32_t common_elem_size(const struct npuplan_graph *graph)
{
	uint32_t size = graph->tensor_count ? graph->tensors[0].elem_size : 0;

	for (uint32_t i = 0; i < graph->tensor_count - graph->added_count; i++) {
		if (graph->tensors[i].elem_size != size)
			return 0;
	}
	return size;
}

static json_t *tensor_json(const struct npuplan_graph *graph, const struct npuplan_tensor *tensor,
			   bool with_elem_size)
{
	json_t *object = json_object(), *shape = json_array();

	for (uint32_t i = 0; i < tensor->dim_count; i++)
		npujson_append(&shape, json_integer(tensor->shape[i]));
	npujson_set_int(&object, "id", tensor->id);
	npujson_set(&object, "name", json_string(tensor->name));
	npujson_set(&object, "shape", shape);
	npujson_set_int(&object, "bytes", (json_int_t)tensor->size);
	npujson_set(&object, "kind", json_string(graph_json_kinds[tensor->kind]));
	if (with_elem_size)
		npujson_set_if(&object, "dtype_bytes", tensor->elem_size);
	if (tensor->align != graph_json_align(tensor->elem_size))
		npujson_set_int(&object, "align", tensor->align);
	if (tensor->flags & NPUMEM_TENSOR_FLAG_FIXED)
		npujson_set_int(&object, "fixed_offset", (json_int_t)tensor->fixed_offset);
	if (tensor->flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
		npujson_set(&object, "external", json_true());
	if (tensor->flags & NPUMEM_TENSOR_FLAG_HOST)
		npujson_set(&object, "host", json_true());
	if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS) {
		npujson_set_int(&object, "alias_of", graph->tensors[tensor->alias_of].id);
		npujson_set_int(&object, "alias_offset", (json_int_t)tensor->alias_offset);
	}
	return object;
}

/* A number for each spatial dimension. */
static void set_spatial(json_t **object, const char *key, const int32_t *values, uint32_t spatial)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < spatial; i++)
		npujson_append(&list, json_integer(values[i]));
	npujson_set(object, key, list);
}

static void set_references(const struct npuplan_graph *graph, json_t **object, const char *key,
			   const uint32_t *tensors, uint32_t count)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++)
		npujson_append(&list, json_integer(graph->tensors[tensors[i]].id));
	npujson_set(object, key, list);
}

static json_t *attrs_json(const struct npuplan_op *op)
{
	const struct npuplan_attrs *attrs = &op->attrs;
	json_t *object = json_object();

	if (attrs->spatial) {
		set_spatial(&object, "kernel", attrs->kernel, attrs->spatial);
		set_spatial(&object, "stride", attrs->stride, attrs->spatial);
		set_spatial(&object, "dilation", attrs->dilation, attrs->spatial);
		set_spatial(&object, "pad_begin", attrs->pad_begin, attrs->spatial);
		set_spatial(&object, "pad_end", attrs->pad_end, attrs->spatial);
	}
	if (attrs->groups > 1)
		npujson_set_int(&object, "groups", attrs->groups);
	if (attrs->axis >= 0)
		npujson_set_int(&object, "dim", attrs->axis);
	if (npuplan_is_slice(op) && npuplan_slice_first(attrs) >= 0)
		npujson_set_int(&object, "start", npuplan_slice_first(attrs));
	if (attrs->inplace)
		npujson_set(&object, "inplace", json_true());
	if (attrs->whole)
		npujson_set(&object, "whole", json_true());
	if (attrs->converts)
		npujson_set(&object, "converts", json_true());
	return object;
}

static json_t *op_json(const struct npuplan_graph *graph, const struct npuplan_op *op)
{
	json_t *object = json_object();

	npujson_set_int(&object, "id", op->id);
	npujson_set(&object, "name", json_string(op->name));
	npujson_set(&object, "type", json_string(op->type));
	set_references(graph, &object, "inputs", op->inputs, op->input_count);
	set_references(graph, &object, "outputs", op->outputs, op->output_count);
	npujson_set(&object, "attrs", attrs_json(op));
	return object;
}

/* Loops and branches have become blocks and edges, and are written as such. */
static json_t *blocks_json(const struct npuplan_graph *graph)
{
	json_t *list = json_array();
	uint32_t op = 0;

	for (uint32_t i = 0; i < graph->block_count; i++) {
		uint32_t first = op;

		while (op < graph->op_count && graph->ops[op].block == i)
			op++;
		npujson_append(&list, json_integer(op - first));
	}
	return list;
}

static json_t *edge_json(const struct npuplan_graph *graph, const struct npumem_edge *edge)
{
	json_t *object = json_object(), *carries = json_array();

	for (uint32_t i = 0; i < edge->carry_count; i++) {
		const struct npumem_carry *carry = &graph->carries[edge->first_carry + i];
		json_t *pair = json_object();

		npujson_set_int(&pair, "from", graph->tensors[carry->from].id);
		npujson_set_int(&pair, "to", graph->tensors[carry->to].id);
		npujson_append(&carries, pair);
	}
	npujson_set_int(&object, "from", edge->from);
	if (edge->to != NPUMEM_NONE)
		npujson_set_int(&object, "to", edge->to);
	if (edge->carry_count)
		npujson_set(&object, "carries", carries);
	else
		json_decref(carries);
	return object;
}

static int write_graph(struct npujson_text *text, const struct npuplan_graph *graph,
		       struct npuplan_error *error)
{
	const char *layout = graph->source_layout == NPUPLAN_NCHW ? "NCHW" : "NHWC";
	uint32_t elem_size = common_elem_size(graph);

	npujson_put(text, "{\"name\":", json_string(graph->name));
	if (text->err)
		return import_fail(error, -EINVAL, "the name of the graph is not UTF-8");
	npujson_put(text, ",\n\"layout\":", json_string(layout));
	if (elem_size)
		npujson_put(text, ",\n\"dtype_bytes\":", json_integer(elem_size));
	fputs(",\n\"tensors\":[", text->out);
	/* What a tiling added is none of the model's. */
	for (uint32_t i = 0; i < graph->tensor_count - graph->added_count; i++) {
		npujson_put_line(text, i, tensor_json(graph, &graph->tensors[i], !elem_size));
		if (text->err)
			return import_fail(error, -EINVAL,
					   "tensor %" PRId64 ": its name is not UTF-8",
					   graph->tensors[i].id);
	}
	fputs("\n],\n\"ops\":[", text->out);
	for (uint32_t i = 0; i < graph->op_count; i++) {
		npujson_put_line(text, i, op_json(graph, &graph->ops[i]));
		if (text->err)
			return import_fail(error, -EINVAL,
					   "operator %" PRId64 ": its name or type is not UTF-8",
					   graph->ops[i].id);
	}
	if (graph->edge_count) {
		npujson_put(text, "\n],\n\"blocks\":", blocks_json(graph));
		fputs(",\n\"edges\":[", text->out);
	}
	for (uint32_t i = 0; i < graph->edge_count; i++)
		npujson_put_line(text, i, edge_json(graph, &graph->edges[i]));
	fputs("\n]}\n", text->out);
	return text->err ? import_fail(error, text->err, "out of memory") : 0;
}

int npuimport_graph_json_write(const struct npuplan_graph *graph, char **text,
			       struct npuplan_error *error)
{
	struct npujson_text json = { 0 };
	size_t size;
	int err;

	*text = NULL;
	if (!graph->op_count)
		return import_fail(error, -EINVAL,
				   "graph '%.100s' has no operators, so graph JSON cannot hold it",
				   graph->name);
	json.out = open_memstream(text, &size);
	if (!json.out)
		return import_fail(error, -ENOMEM, "out of memory");
	err = write_graph(&json, graph, error);
	if (fclose(json.out) && !err)
		err = import_fail(error, -ENOMEM, "out of memory");
	if (err) {
		free(*text);
		*text = NULL;
	}
	return err;
}
