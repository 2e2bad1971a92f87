/* SPDX-License-Identifier: MIT */
/*
 * TFLite model -> struct npuplan_graph.
 *
 * The model is its first subgraph; others come into the graph where operators of
 * it run them (control.c). A tensor whose buffer has data is a parameter;
 * variable tensors are state, and an operator that reads one updates it in place;
 * so are resource variables (variables.c). Operators that only give bytes another
 * shape are no operators here: their outputs are aliases. What takes no part:
 * fused activations, quantization; subgraphs that nothing runs; tensors that
 * nothing uses and that have no bytes.
 */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "npuimport.h"

static void read_model(struct tflite_reader *r)
{
	struct flatbuf *fb = &r->fb;
	uint32_t version;

	r->root = flatbuf_root(fb, TFLITE_IDENTIFIER);
	version = flatbuf_u32(fb, &r->root, MODEL_VERSION, 0);
	if (version != TFLITE_VERSION)
		flatbuf_fail(fb, -EOPNOTSUPP,
			     "the model has schema version %" PRIu32 ", only %d is read", version,
			     TFLITE_VERSION);
	r->codes = flatbuf_vector(fb, &r->root, MODEL_OPERATOR_CODES, 4);
	r->buffers = flatbuf_vector(fb, &r->root, MODEL_BUFFERS, 4);
	tflite_subgraphs(r);
}

static void read_graph(struct tflite_reader *r)
{
	r->scope = tflite_scope_new(r, &r->subgraphs[0]);
	if (!r->scope)
		return;
	tflite_scope_run(r, r->scope);
	import_end_flow(&r->flow);
	tflite_number_copies(r);
	if (!r->fb.err)
		r->fb.err = import_check_graph(r->graph, r->fb.error);
	tflite_scope_free(r->scope);
}

static uint32_t count_states(const struct tflite_reader *r)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->variable_count; i++)
		count += r->variables[i].tensor != NPUMEM_NONE;
	return count;
}

static struct npuimport_info info_of(const struct tflite_reader *r)
{
	uint32_t tensors = r->subgraphs[0].tensors.count, present = 0;

	for (uint32_t i = 0; i < r->graph->tensor_count; i++)
		present += (uint64_t)r->graph->tensors[i].id < tensors;
	return (struct npuimport_info){
		.format = NPUIMPORT_TFLITE,
		.subgraphs = r->subgraph_count,
		.operators = r->subgraphs[0].operators.count,
		.tensors = tensors,
		.left_out = tensors - present,
		.views = r->views,
		.instances = r->instances,
		.loops = r->flow.loops,
		.branches = r->flow.branches,
		.variables = count_states(r),
	};
}

int npuimport_tflite_sized(const void *data, size_t size, const char *name,
			   const struct npuimport_options *options, size_t options_size,
			   struct npuplan_graph **out, struct npuimport_info *info,
			   struct npuplan_error *error)
{
	struct npuplan_error own;
	struct tflite_reader reader = {
		.fb = { .data = data, .size = size, .error = error ? error : &own },
	};
	int err = import_doubts_of(&reader.doubts, options, options_size, error);

	*out = NULL;
	if (err)
		return err;
	read_model(&reader);
	if (!reader.fb.err) {
		reader.graph = npuplan_graph_new(name);
		if (!reader.graph)
			flatbuf_fail(&reader.fb, -ENOMEM, "out of memory");
	}
	if (!reader.fb.err) {
		reader.graph->source_layout = NPUPLAN_NHWC;
		reader.graph->layout = NPUPLAN_NHWC;
		reader.flow = (struct import_flow){
			.ops = &tflite_flow_ops,
			.reader = &reader,
			.graph = reader.graph,
			.error = reader.fb.error,
			.err = &reader.fb.err,
		};
		read_graph(&reader);
	}
	if (!reader.fb.err && info)
		*info = info_of(&reader);
	tflite_variables_free(&reader);
	tflite_subgraphs_free(&reader);
	free(reader.facts);
	if (reader.fb.err) {
		npuplan_graph_free(reader.graph);
		return reader.fb.err;
	}
	*out = reader.graph;
	return 0;
}
