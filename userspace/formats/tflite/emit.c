/* SPDX-License-Identifier: MIT */
/*
 * A TFLite model with an offline memory plan.
 *
 * Offsets in a FlatBuffer are relative and lead forward. So what is new is put
 * before the old file: a root table like the old one, but with longer vectors of
 * buffers and of metadata, whose old elements lead into the old file. That moves
 * as a whole, by a multiple of any alignment; the few positions in it that count
 * from the start of the file are raised. A plan that is there already is
 * overwritten where it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npuimport.h"
#include "reader.h"

/* The old file moves by a multiple of this: no less than any alignment in it. */
#define MOVE_ALIGN 64

/*
 * struct emitter - new file in the making
 * @fb: the old file
 * @offsets: per tensor
 * @bytes: the new file: what is new, then the old one at @move
 * @used: bytes of what is new so far
 */
struct emitter {
	struct flatbuf fb;
	struct flatbuf_table model;
	struct flatbuf_vector subgraphs;
	struct flatbuf_vector tensors;
	struct flatbuf_vector operators;
	struct flatbuf_vector buffers;
	struct flatbuf_vector metadata;
	const int32_t *offsets;
	uint8_t *bytes;
	uint64_t size;
	uint64_t used;
	uint64_t move;
};

/* A table in the new file whose fields are 4 bytes each. */
struct new_table {
	uint64_t vtable;
	uint64_t pos;
};

static void store(struct emitter *e, uint64_t at, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		e->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

/* Room for @bytes, whose byte @head is at a multiple of @align. */
static uint64_t take(struct emitter *e, uint64_t bytes, uint64_t head, uint64_t align)
{
	uint64_t at = (e->used + head + align - 1) / align * align - head;

	e->used = at + bytes;
	return at;
}

/* No field is present yet. */
static struct new_table take_table(struct emitter *e, uint32_t fields)
{
	struct new_table table;

	table.vtable = take(e, 4 + 2 * (uint64_t)fields, 0, 4);
	table.pos = take(e, 4 + 4 * (uint64_t)fields, 0, 4);
	if (e->bytes) {
		store(e, table.vtable, 4 + 2 * (uint64_t)fields, 2);
		store(e, table.vtable + 2, 4 + 4 * (uint64_t)fields, 2);
		store(e, table.pos, table.pos - table.vtable, 4);
	}
	return table;
}

/* Make a field present; where its value stands. */
static uint64_t present(struct emitter *e, const struct new_table *table, uint32_t field)
{
	store(e, table->vtable + 4 + 2 * (uint64_t)field, 4 + 4 * (uint64_t)field, 2);
	return table->pos + 4 + 4 * (uint64_t)field;
}

static void refer(struct emitter *e, uint64_t at, uint64_t target)
{
	store(e, at, target - at, 4);
}

static uint64_t plan_bytes(const struct emitter *e)
{
	return 4 * (TFLITE_OFFLINE_HEAD + (uint64_t)e->tensors.count);
}

static void store_plan(struct emitter *e, uint64_t at)
{
	const uint32_t head[TFLITE_OFFLINE_HEAD] = { 0, e->subgraphs.count, e->tensors.count };

	for (uint32_t i = 0; i < TFLITE_OFFLINE_HEAD; i++)
		store(e, at + 4 * (uint64_t)i, head[i], 4);
	at += 4 * TFLITE_OFFLINE_HEAD;
	for (uint32_t i = 0; i < e->tensors.count; i++)
		store(e, at + 4 * (uint64_t)i, (uint32_t)e->offsets[i], 4);
}

/* The old root's field @field is the new one's, too. */
static void keep_field(struct emitter *e, const struct new_table *root, uint32_t field)
{
	uint64_t pos = flatbuf_field(&e->fb, &e->model, field, 4);

	if (!pos)
		return;
	if (field == MODEL_VERSION)
		store(e, present(e, root, field), flatbuf_u32(&e->fb, &e->model, field, 0), 4);
	else
		refer(e, present(e, root, field), e->move + flatbuf_target(&e->fb, pos));
}

/* A vector of tables at @at: those of @old, and one more. */
static void store_vector(struct emitter *e, uint64_t at, const struct flatbuf_vector *old,
			 uint64_t added)
{
	store(e, at, old->count + (uint64_t)1, 4);
	at += 4;
	for (uint32_t i = 0; i < old->count; i++, at += 4)
		refer(e, at, e->move + flatbuf_target(&e->fb, old->pos + 4 * (uint64_t)i));
	refer(e, at, added);
}

/*
 * All that is new, before the old file. In this order every offset leads
 * forward. Called twice: first without @e->bytes, to know its size.
 */
static void store_front(struct emitter *e)
{
	static const char text[] = TFLITE_OFFLINE_NAME;
	uint64_t metadata, buffers, name, plan;
	struct new_table root, entry, buffer;

	e->used = 0;
	take(e, 8, 0, 1);
	root = take_table(e, MODEL_FIELDS);
	metadata = take(e, 4 + 4 * ((uint64_t)e->metadata.count + 1), 0, 4);
	buffers = take(e, 4 + 4 * ((uint64_t)e->buffers.count + 1), 0, 4);
	entry = take_table(e, METADATA_BUFFER + 1);
	buffer = take_table(e, BUFFER_DATA + 1);
	name = take(e, 4 + sizeof(text), 0, 4);
	plan = take(e, 4 + plan_bytes(e), 4, TFLITE_OFFLINE_ALIGN);
	if (!e->bytes)
		return;
	refer(e, 0, root.pos);
	memcpy(e->bytes + 4, TFLITE_IDENTIFIER, 4);
	for (uint32_t i = 0; i < MODEL_FIELDS; i++)
		if (i != MODEL_METADATA && i != MODEL_BUFFERS)
			keep_field(e, &root, i);
	refer(e, present(e, &root, MODEL_METADATA), metadata);
	refer(e, present(e, &root, MODEL_BUFFERS), buffers);
	store_vector(e, metadata, &e->metadata, entry.pos);
	store_vector(e, buffers, &e->buffers, buffer.pos);
	refer(e, present(e, &entry, METADATA_NAME), name);
	store(e, present(e, &entry, METADATA_BUFFER), e->buffers.count, 4);
	store(e, name, sizeof(text) - 1, 4);
	memcpy(e->bytes + name + 4, text, sizeof(text));
	refer(e, present(e, &buffer, BUFFER_DATA), plan);
	store(e, plan, plan_bytes(e), 4);
	store_plan(e, plan + 4);
}

/* A position that counts from the start of the file; 0 and 1 mean none. */
static void raise(struct emitter *e, const struct flatbuf_vector *tables, unsigned int field)
{
	for (uint32_t i = 0; i < tables->count && !e->fb.err; i++) {
		struct flatbuf_table table = flatbuf_vector_table(&e->fb, tables, i);
		uint64_t pos = flatbuf_field(&e->fb, &table, field, 8);
		uint64_t value = flatbuf_u64(&e->fb, &table, field, 0);

		if (pos && value > 1)
			store(e, e->move + pos, e->move + value, 8);
	}
}

/* Fields that a newer schema adds cannot be copied: nobody knows whether they are offsets. */
static void check_known(struct emitter *e)
{
	for (uint32_t i = MODEL_FIELDS; i < e->model.fields; i++)
		if (flatbuf_field(&e->fb, &e->model, i, 1))
			flatbuf_fail(&e->fb, -EOPNOTSUPP,
				     "the model has fields that are not known here: it cannot be "
				     "rewritten");
	/* The first one is the empty one, by convention. */
	if (!e->buffers.count)
		flatbuf_fail(&e->fb, -EINVAL, "the model has no buffers");
}

static void add_plan(struct emitter *e)
{
	check_known(e);
	if (e->fb.err)
		return;
	store_front(e);
	e->move = (e->used + MOVE_ALIGN - 1) / MOVE_ALIGN * MOVE_ALIGN;
	e->size = e->move + e->fb.size;
	if (e->size > INT32_MAX) {
		flatbuf_fail(&e->fb, -E2BIG, "with the plan the model would have %" PRIu64 " bytes",
			     e->size);
		return;
	}
	e->bytes = calloc(1, e->size);
	if (!e->bytes) {
		flatbuf_fail(&e->fb, -ENOMEM, "out of memory");
		return;
	}
	memcpy(e->bytes + e->move, e->fb.data, e->fb.size);
	store_front(e);
	raise(e, &e->buffers, BUFFER_OFFSET);
	raise(e, &e->operators, OPERATOR_LARGE_OFFSET);
}

/* Numbers of other tensors or metadata are not overwritten. */
static void check_unshared(struct emitter *e, uint32_t buffer)
{
	struct flatbuf_table table;
	uint32_t uses = 0;

	for (uint32_t i = 0; i < e->tensors.count && !e->fb.err; i++) {
		table = flatbuf_vector_table(&e->fb, &e->tensors, i);
		if (flatbuf_u32(&e->fb, &table, TENSOR_BUFFER, 0) == buffer)
			flatbuf_fail(&e->fb, -EINVAL,
				     "metadata %s shares buffer %" PRIu32 " with tensor %" PRIu32,
				     TFLITE_OFFLINE_NAME, buffer, i);
	}
	for (uint32_t i = 0; i < e->metadata.count && !e->fb.err; i++) {
		table = flatbuf_vector_table(&e->fb, &e->metadata, i);
		uses += flatbuf_u32(&e->fb, &table, METADATA_BUFFER, 0) == buffer;
	}
	if (uses > 1)
		flatbuf_fail(&e->fb, -EINVAL,
			     "metadata %s shares buffer %" PRIu32 " with other metadata",
			     TFLITE_OFFLINE_NAME, buffer);
}

static void replace_plan(struct emitter *e, uint32_t buffer)
{
	struct flatbuf_vector data;

	check_unshared(e, buffer);
	data = tflite_offline_data(&e->fb, &e->model);
	if (e->fb.err)
		return;
	e->size = e->fb.size;
	e->bytes = malloc(e->size);
	if (!e->bytes) {
		flatbuf_fail(&e->fb, -ENOMEM, "out of memory");
		return;
	}
	memcpy(e->bytes, e->fb.data, e->size);
	store_plan(e, data.pos);
}

static void open_model(struct emitter *e, uint32_t count)
{
	struct flatbuf *fb = &e->fb;
	struct flatbuf_table subgraph;

	e->model = flatbuf_root(fb, TFLITE_IDENTIFIER);
	e->subgraphs = flatbuf_vector(fb, &e->model, MODEL_SUBGRAPHS, 4);
	e->buffers = flatbuf_vector(fb, &e->model, MODEL_BUFFERS, 4);
	e->metadata = flatbuf_vector(fb, &e->model, MODEL_METADATA, 4);
	if (e->subgraphs.count != 1)
		flatbuf_fail(fb, -EOPNOTSUPP,
			     "the model has %" PRIu32 " subgraphs: TensorFlow Lite Micro "
			     "would apply the offsets to each of them",
			     e->subgraphs.count);
	subgraph = flatbuf_vector_table(fb, &e->subgraphs, 0);
	e->tensors = flatbuf_vector(fb, &subgraph, SUBGRAPH_TENSORS, 4);
	e->operators = flatbuf_vector(fb, &subgraph, SUBGRAPH_OPERATORS, 4);
	for (uint32_t i = 0; i < e->tensors.count && !fb->err; i++) {
		struct flatbuf_table table = flatbuf_vector_table(fb, &e->tensors, i);

		if (flatbuf_u8(fb, &table, TENSOR_TYPE, 0) == TYPE_RESOURCE)
			flatbuf_fail(fb, -EOPNOTSUPP,
				     "tensor %" PRIu32 " is a resource: TensorFlow Lite Micro "
				     "keeps what it stands for elsewhere, and copies it",
				     i);
	}
	if (count != e->tensors.count)
		flatbuf_fail(fb, -EINVAL,
			     "offsets of %" PRIu32 " tensors, but the model has %" PRIu32, count,
			     e->tensors.count);
	for (uint32_t i = 0; i < count && !fb->err; i++) {
		int32_t offset = e->offsets[i];

		if (offset < TFLITE_OFFLINE_UNPLANNED ||
		    (offset >= 0 && offset % TFLITE_OFFLINE_ALIGN))
			flatbuf_fail(fb, -EINVAL,
				     "tensor %" PRIu32 ": offset %" PRId32
				     " is not a multiple of %d",
				     i, offset, TFLITE_OFFLINE_ALIGN);
	}
}

/*
 * Graph JSON of a model without its offline plan, malloc'ed; tensors in @graph: their fixed
 * offsets, UINT64_MAX of those that have none, are there, but no flag says so.
 */
static int read_again(const void *data, size_t size, struct npuplan_graph **graph, char **text,
		      struct npuplan_error *error)
{
	/* Whatever was read once is written; what is doubtful was said then. */
	const struct npuimport_options tolerant = { .strict = false };
	int err = npuimport_tflite(data, size, "", &tolerant, graph, NULL, error);

	if (err)
		return err;
	for (uint32_t i = 0; i < (*graph)->tensor_count; i++) {
		struct npuplan_tensor *tensor = &(*graph)->tensors[i];

		if (!(tensor->flags & NPUMEM_TENSOR_FLAG_FIXED))
			tensor->fixed_offset = UINT64_MAX;
		tensor->flags &= ~NPUMEM_TENSOR_FLAG_FIXED;
	}
	return npuimport_graph_json_write(*graph, text, error);
}

/* The new file is the old model, and has the offsets. */
static int check_result(const struct emitter *e)
{
	struct npuplan_graph *old = NULL, *new = NULL;
	struct npuplan_error *error = e->fb.error;
	char *old_text = NULL, *new_text = NULL;
	int err = read_again(e->fb.data, e->fb.size, &old, &old_text, error);

	if (!err)
		err = read_again(e->bytes, e->size, &new, &new_text, error);
	if (!err && strcmp(old_text, new_text) != 0)
		err = import_fail(error, -EINVAL,
				  "the model's parts overlap: with a plan it would be another one");
	for (uint32_t i = 0; !err && i < new->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &new->tensors[i];
		int32_t offset = e->offsets[tensor->id];
		uint64_t expected = offset < 0 ? UINT64_MAX : (uint64_t)offset;

		if (!(tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS) && tensor->fixed_offset != expected)
			err = import_fail(error, -EINVAL, "%s was not given offset %" PRId32,
					  import_tensor_text(tensor).s, offset);
	}
	npuplan_graph_free(old);
	npuplan_graph_free(new);
	free(old_text);
	free(new_text);
	return err;
}

int npuimport_tflite_emit(const void *data, size_t size, const int32_t *offsets, uint32_t count,
			  void **out, size_t *out_size, struct npuplan_error *error)
{
	struct emitter e = {
		.fb = { .data = data, .size = size, .error = error },
		.offsets = offsets,
	};
	int64_t buffer;
	int err;

	*out = NULL;
	open_model(&e, count);
	buffer = tflite_offline_find(&e.fb, &e.model);
	if (buffer < 0)
		add_plan(&e);
	else
		replace_plan(&e, (uint32_t)buffer);
	err = e.fb.err ? e.fb.err : check_result(&e);
	if (err) {
		free(e.bytes);
		return err;
	}
	*out = e.bytes;
	*out_size = e.size;
	return 0;
}
