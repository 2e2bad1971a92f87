/* SPDX-License-Identifier: MIT */
/*
 * ONNX model -> struct npuplan_graph.
 *
 * The file is a message of Protocol Buffers, which protobuf-c unpacks by the schema that libonnx
 * has. Initializers, and what nodes make of constants alone, are parameters; nodes that only give
 * bytes another shape are no operators: their outputs are aliases. Shapes come from the operators
 * (infer/), from the inputs on; what the file says of them must agree.
 */
#include "nodes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sized.h"
#include "wire.h"

/* ----------------------------------------------------------------- unpacking */

/*
 * struct memory - what protobuf-c may take. A message of a byte or two in the file is some hundred
 * in memory, so a small file could ask for a lot.
 */
struct memory {
	size_t used;
	size_t limit;
	bool is_over;
	bool is_out;
};

/* Before each block: its size. As large as the strictest alignment. */
#define BLOCK_HEAD _Alignof(max_align_t)

static void *take(void *context, size_t size)
{
	struct memory *memory = context;
	unsigned char *block;

	if (size > memory->limit - memory->used) {
		memory->is_over = true;
		return NULL;
	}
	block = malloc(BLOCK_HEAD + size);
	if (!block) {
		memory->is_out = true;
		return NULL;
	}
	memcpy(block, &size, sizeof(size));
	memory->used += size;
	return block + BLOCK_HEAD;
}

static void give_back(void *context, void *pointer)
{
	struct memory *memory = context;
	unsigned char *block = pointer;
	size_t size;

	if (!block)
		return;
	block -= BLOCK_HEAD;
	memcpy(&size, block, sizeof(size));
	memory->used -= size;
	free(block);
}

/* Files may have as many names as bytes; graphs not. */
static void count_reference(struct onnx_reader *r, const ProtobufCMessageDescriptor *type,
			    const ProtobufCFieldDescriptor *field)
{
	if (type != &onnx__node_proto__descriptor ||
	    (strcmp(field->name, "input") != 0 && strcmp(field->name, "output") != 0))
		return;
	if (r->references == NPUIMPORT_MAX_REFERENCES)
		onnx_fail(r, -E2BIG, "nodes have more than %u inputs and outputs",
			  NPUIMPORT_MAX_REFERENCES);
	r->references++;
}

/*
 * A message that may stand once protobuf-c merges with those before it: what there is again and
 * again takes it quadratic time. @seen has a bit for each field of the message's type.
 */
static void check_once(struct onnx_reader *r, const ProtobufCMessageDescriptor *type,
		       const ProtobufCFieldDescriptor *field, uint64_t *seen, ptrdiff_t at)
{
	uint64_t bit = 1ull << (field - type->fields) % 64;

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return;
	if (*seen & bit)
		onnx_fail(r, -EBADMSG, "a message (%s) has field '%s' twice at byte %td",
			  type->short_name, field->name, at);
	*seen |= bit;
}

/* protobuf-c recurses into messages as deep as the file has them, and takes all there is. */
static void check_messages(struct onnx_reader *r, const uint8_t *file,
			   const ProtobufCMessageDescriptor *type, struct wire message,
			   unsigned int depth)
{
	uint64_t seen = 0;

	if (depth == ONNX_MAX_NESTING) {
		onnx_fail(r, -E2BIG, "messages are nested more than %d deep at byte %td",
			  ONNX_MAX_NESTING, message.at - file);
		return;
	}
	while (message.at < message.end && !r->err) {
		const ProtobufCFieldDescriptor *known;
		const uint8_t *start = message.at;
		struct wire_field field;

		if (!wire_next(&message, &field)) {
			onnx_fail(r, -EBADMSG,
				  "no field of a Protocol Buffers message (%s) begins at byte %td",
				  type->short_name, start - file);
			return;
		}
		known = protobuf_c_message_descriptor_get_field(type, (unsigned int)field.number);
		if (known)
			count_reference(r, type, known);
		r->graphs += known && known->descriptor == &onnx__graph_proto__descriptor;
		if (!known || known->type != PROTOBUF_C_TYPE_MESSAGE || field.type != WIRE_BYTES)
			continue;
		check_once(r, type, known, &seen, start - file);
		check_messages(r, file, known->descriptor, field.inside, depth + 1);
	}
}

static Onnx__ModelProto *unpack(struct onnx_reader *r, const uint8_t *data, size_t size,
				ProtobufCAllocator *allocator)
{
	struct memory *memory = allocator->allocator_data;
	Onnx__ModelProto *model;

	check_messages(r, data, &onnx__model_proto__descriptor, (struct wire){ data, data + size },
		       0);
	if (r->err)
		return NULL;
	model = onnx__model_proto__unpack(allocator, size, data);
	if (model)
		return model;
	if (memory->is_over)
		onnx_fail(r, -E2BIG, "the model takes more than %zu bytes of memory unpacked",
			  memory->limit);
	else if (memory->is_out)
		onnx_fail(r, -ENOMEM, "out of memory");
	else
		onnx_fail(r, -EBADMSG, "the bytes are no ONNX model: protobuf-c refuses them");
	return NULL;
}

/* ----------------------------------------------------------------- the model */

static void check_opset(struct onnx_reader *r)
{
	char text[96];

	for (size_t i = 0; i < r->model->n_opset_import; i++) {
		const Onnx__OperatorSetIdProto *set = r->model->opset_import[i];

		if (!set->domain || !*set->domain || !strcmp(set->domain, "ai.onnx"))
			r->opset = set->version;
	}
	/* Models of other domains alone have none; older than IR version 3, too. */
	if (!r->opset)
		return;
	if (r->opset < ONNX_FIRST_OPSET)
		onnx_fail(r, -EOPNOTSUPP,
			  "the model has operator set %" PRId64 ", only %d and later are read",
			  r->opset, ONNX_FIRST_OPSET);
	if (r->err || r->opset <= ONNX_LAST_OPSET)
		return;
	snprintf(text, sizeof(text), "the model has operator set %" PRId64 ", known up to %d",
		 r->opset, ONNX_LAST_OPSET);
	r->err = import_fail(r->error, -EINVAL, "%s", text);
	r->err = import_doubt(&r->doubts, r->err, NPUIMPORT_DOUBT_VALUE, "opset_import", "model",
			      r->error);
}

/* What is asked for must be of some use. */
static void check_dims(struct onnx_reader *r)
{
	for (uint32_t i = 0; i < r->options.dim_count && !r->err; i++)
		if (!r->dims_used[i])
			onnx_fail(r, -EINVAL,
				  "a size is given for dimension '%s', and the model has none of "
				  "that name",
				  onnx_text(r->options.dims[i].name).s);
}

static void read_model(struct onnx_reader *r, const char *name)
{
	struct onnx_scope scope = { .graph = r->model->graph };

	if (!r->model->graph)
		onnx_fail(r, -EBADMSG, "the model has no graph");
	check_opset(r);
	if (r->err)
		return;
	r->graph = npuplan_graph_new(name);
	if (!r->graph) {
		onnx_fail(r, -ENOMEM, "out of memory");
		return;
	}
	r->graph->source_layout = NPUPLAN_NCHW;
	r->graph->layout = NPUPLAN_NHWC;
	r->flow = (struct import_flow){
		.ops = &onnx_flow_ops,
		.reader = r,
		.graph = r->graph,
		.error = r->error,
		.err = &r->err,
	};
	r->scope = &scope;
	onnx_values(r);
	onnx_names(r);
	onnx_nodes(r);
	r->scope = NULL;
	onnx_scope_free(&scope);
	import_end_flow(&r->flow);
	import_number_made(r->graph, r->listed, r->node_count);
	/* Names that the nodes' outputs alone have count, too. */
	if (!r->err)
		check_dims(r);
	if (!r->err)
		r->err = import_check_graph(r->graph, r->error);
}

/* A size of a dimension: of a name that none before it has, and one that tensors may have. */
static int check_size(struct onnx_reader *r, uint32_t k)
{
	const struct npuimport_dim *dims = r->options.dims;
	struct onnx_name name = onnx_text(dims[k].name);

	if (dims[k].size < 1 || dims[k].size > NPUIMPORT_MAX_DIM)
		return import_fail(r->error, -EINVAL,
				   "the size of dimension '%s', %" PRId64
				   ", is not between 1 and %d",
				   name.s, dims[k].size, NPUIMPORT_MAX_DIM);
	for (uint32_t i = 0; i < k; i++)
		if (!strcmp(dims[i].name, dims[k].name))
			return import_fail(r->error, -EINVAL,
					   "two sizes are given for dimension '%s': %" PRId64
					   " and %" PRId64,
					   name.s, dims[i].size, dims[k].size);
	return 0;
}

/* The caller's options, and the sizes of dimensions among them. */
static int take_options(struct onnx_reader *r, const struct npuimport_options *options, size_t size)
{
	int err = import_doubts_of(&r->doubts, options, size, r->error);

	if (err)
		return err;
	sized_take(&r->options, sizeof(r->options), options, size);
	for (uint32_t i = 0; i < r->options.dim_count && !err; i++)
		err = check_size(r, i);
	if (err)
		return err;
	r->dims_used = calloc(r->options.dim_count + (size_t)1, sizeof(*r->dims_used));
	return r->dims_used ? 0 : import_fail(r->error, -ENOMEM, "out of memory");
}

static struct npuimport_info info_of(const struct onnx_reader *r)
{
	uint32_t present = 0;

	for (uint32_t i = 0; i < r->graph->tensor_count; i++)
		present += r->graph->tensors[i].id < r->listed;
	return (struct npuimport_info){
		.format = NPUIMPORT_ONNX,
		.subgraphs = r->graphs,
		.operators = (uint32_t)r->model->graph->n_node,
		.tensors = r->listed,
		.left_out = r->listed - present,
		.views = r->views,
		.instances = r->instances,
		.loops = r->flow.loops,
		.branches = r->flow.branches,
	};
}

int npuimport_onnx_sized(const void *data, size_t size, const char *name,
			 const struct npuimport_options *options, size_t options_size,
			 struct npuplan_graph **out, struct npuimport_info *info,
			 struct npuplan_error *error)
{
	struct memory memory = { .limit = 2 * size + ONNX_MEMORY };
	ProtobufCAllocator allocator = { take, give_back, &memory };
	struct npuplan_error own;
	struct onnx_reader reader = { .error = error ? error : &own };
	Onnx__ModelProto *model = NULL;

	*out = NULL;
	reader.err = take_options(&reader, options, options_size);
	if (!reader.err && size > (size_t)NPUIMPORT_MAX_FILE)
		onnx_fail(&reader, -E2BIG, "the model has more than %lld bytes",
			  NPUIMPORT_MAX_FILE);
	if (!reader.err)
		model = unpack(&reader, data, size, &allocator);
	reader.model = model;
	if (model)
		read_model(&reader, name);
	if (!reader.err && info)
		*info = info_of(&reader);
	onnx_values_free(&reader);
	if (model)
		onnx__model_proto__free_unpacked(model, &allocator);
	free(reader.dims_used);
	if (reader.err) {
		npuplan_graph_free(reader.graph);
		return reader.err;
	}
	*out = reader.graph;
	return 0;
}
