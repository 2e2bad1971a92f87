/* SPDX-License-Identifier: MIT */
/*
 * TFLite model, subgraph 0 -> struct npuplan_graph.
 *
 * A tensor whose buffer has data is a parameter; variable tensors are state,
 * and an operator that reads one updates it in place. Operators that only give
 * bytes another shape are no operators here: their outputs are aliases. What
 * takes no part: fused activations, quantization, other subgraphs; tensors that
 * nothing uses and that have no bytes.
 */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npuimport.h"

static void read_model(struct tflite_reader *r, struct tflite_tables *model)
{
	struct flatbuf *fb = &r->fb;
	struct flatbuf_vector subgraphs;
	uint32_t version;

	model->root = flatbuf_root(fb, TFLITE_IDENTIFIER);
	version = flatbuf_u32(fb, &model->root, MODEL_VERSION, 0);
	if (version != TFLITE_VERSION)
		flatbuf_fail(fb, -EOPNOTSUPP,
			     "the model has schema version %" PRIu32 ", only %d is read", version,
			     TFLITE_VERSION);
	model->codes = flatbuf_vector(fb, &model->root, MODEL_OPERATOR_CODES, 4);
	model->buffers = flatbuf_vector(fb, &model->root, MODEL_BUFFERS, 4);
	subgraphs = flatbuf_vector(fb, &model->root, MODEL_SUBGRAPHS, 4);
	if (!subgraphs.count)
		flatbuf_fail(fb, -EINVAL, "the model has no subgraph");
	model->subgraph = flatbuf_vector_table(fb, &subgraphs, 0);
	model->tensors = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_TENSORS, 4);
	model->operators = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_OPERATORS, 4);
	model->inputs = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_INPUTS, 4);
	model->outputs = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_OUTPUTS, 4);
	model->subgraphs = subgraphs.count;
}

static void read_subgraph(struct tflite_reader *r, struct tflite_tables *model)
{
	size_t count = (size_t)model->tensors.count + 1;

	r->tensor_count = model->tensors.count;
	r->index = calloc(count, sizeof(*r->index));
	r->data = calloc(count, sizeof(*r->data));
	model->uses = calloc(count, 1);
	r->writer = malloc(count * sizeof(*r->writer));
	if (!r->index || !r->data || !r->writer || !model->uses) {
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
		return;
	}
	memset(r->writer, 0xff, count * sizeof(*r->writer));
	tflite_count_uses(r, model);
	for (uint32_t i = 0; !r->fb.err && i < model->tensors.count; i++)
		tflite_tensor(r, model, i);
	if (!r->fb.err)
		tflite_offline(r, &model->root);
	for (uint32_t i = 0; !r->fb.err && i < model->operators.count; i++)
		tflite_operator(r, model, i);
	if (!r->fb.err)
		r->fb.err = import_check_graph(r->graph, r->fb.error);
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
	struct tflite_tables model = { 0 };
	int err = import_doubts_of(&reader.doubts, options, options_size, error);

	*out = NULL;
	if (err)
		return err;
	read_model(&reader, &model);
	if (reader.fb.err)
		return reader.fb.err;
	reader.graph = npuplan_graph_new(name);
	if (!reader.graph)
		return import_fail(error, -ENOMEM, "out of memory");
	reader.graph->source_layout = NPUPLAN_NHWC;
	reader.graph->layout = NPUPLAN_NHWC;
	read_subgraph(&reader, &model);
	free(reader.index);
	free(reader.data);
	free(reader.writer);
	free(model.uses);
	if (reader.fb.err) {
		npuplan_graph_free(reader.graph);
		return reader.fb.err;
	}
	if (info)
		*info = (struct npuimport_info){
			.format = NPUIMPORT_TFLITE,
			.subgraphs = model.subgraphs,
			.operators = model.operators.count,
			.tensors = model.tensors.count,
			.left_out = model.tensors.count - reader.graph->tensor_count,
			.views = reader.views,
		};
	*out = reader.graph;
	return 0;
}
