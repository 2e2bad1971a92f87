/* SPDX-License-Identifier: MIT */
/*
 * TensorFlow Lite Micro's offline memory plan, as a model carries it: metadata
 * "OfflineMemoryAllocation", a buffer of 32-bit integers: version 0, subgraph,
 * n, and n arena offsets, -1 for "to be planned". TFLM wants n to be the number
 * of tensors of the whole model. What the second integer is depends on the
 * writer (TFLM's own page: index of the subgraph; Vela: how many there are);
 * TFLM does not look at it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "npuimport.h"
#include "reader.h"

#define VERSION 0

static bool is_ours(const struct flatbuf *fb, const struct flatbuf_vector *name)
{
	return name->count == strlen(TFLITE_OFFLINE_NAME) &&
	       !memcmp(fb->data + name->pos, TFLITE_OFFLINE_NAME, name->count);
}

int64_t tflite_offline_find(struct flatbuf *fb, const struct flatbuf_table *model)
{
	struct flatbuf_vector entries = flatbuf_vector(fb, model, MODEL_METADATA, 4);
	int64_t buffer = -1;

	for (uint32_t i = 0; !fb->err && i < entries.count; i++) {
		struct flatbuf_table entry = flatbuf_vector_table(fb, &entries, i);
		struct flatbuf_vector name = flatbuf_vector(fb, &entry, METADATA_NAME, 1);

		if (!is_ours(fb, &name))
			continue;
		if (buffer >= 0)
			flatbuf_fail(fb, -EINVAL, "the model has metadata %s more than once",
				     TFLITE_OFFLINE_NAME);
		buffer = flatbuf_u32(fb, &entry, METADATA_BUFFER, 0);
	}
	return buffer;
}

static void check_head(struct flatbuf *fb, const struct flatbuf_vector *data, uint64_t tensors,
		       uint32_t subgraphs)
{
	struct flatbuf_vector numbers = { .pos = data->pos, .count = data->count / 4 };
	int32_t head[TFLITE_OFFLINE_HEAD];

	if (numbers.count < TFLITE_OFFLINE_HEAD) {
		flatbuf_fail(fb, -EINVAL, "metadata %s has only %" PRIu32 " bytes",
			     TFLITE_OFFLINE_NAME, data->count);
		return;
	}
	for (uint32_t i = 0; i < TFLITE_OFFLINE_HEAD; i++)
		head[i] = flatbuf_vector_i32(fb, &numbers, i);
	if (head[0] != VERSION)
		flatbuf_fail(fb, -EOPNOTSUPP,
			     "metadata %s has version %" PRId32 ", only %d is read",
			     TFLITE_OFFLINE_NAME, head[0], VERSION);
	if (head[1] < 0 || (uint32_t)head[1] > subgraphs)
		flatbuf_fail(fb, -EINVAL,
			     "metadata %s is of subgraph %" PRId32 ", but there are only %" PRIu32,
			     TFLITE_OFFLINE_NAME, head[1], subgraphs);
	if (head[2] < 0 || (uint64_t)head[2] != tensors)
		flatbuf_fail(fb, -EINVAL,
			     "metadata %s has offsets of %" PRId32
			     " tensors, but the model has %" PRIu64,
			     TFLITE_OFFLINE_NAME, head[2], tensors);
	if (data->count != 4 * (TFLITE_OFFLINE_HEAD + tensors))
		flatbuf_fail(fb, -EINVAL,
			     "metadata %s has %" PRIu32 " bytes, but %" PRIu64
			     " tensors make %" PRIu64,
			     TFLITE_OFFLINE_NAME, data->count, tensors,
			     4 * (TFLITE_OFFLINE_HEAD + tensors));
}

struct flatbuf_vector tflite_offline_data(struct flatbuf *fb, const struct flatbuf_table *model)
{
	int64_t buffer = tflite_offline_find(fb, model);
	struct flatbuf_vector buffers, subgraphs, data = { 0 };
	uint64_t tensors = 0;

	if (buffer < 0)
		return data;
	buffers = flatbuf_vector(fb, model, MODEL_BUFFERS, 4);
	if (buffer >= buffers.count)
		flatbuf_fail(fb, -EINVAL,
			     "metadata %s is in buffer %" PRId64 ", but there are only %" PRIu32,
			     TFLITE_OFFLINE_NAME, buffer, buffers.count);
	data = tflite_buffer(fb, &buffers, (uint32_t)buffer);
	subgraphs = flatbuf_vector(fb, model, MODEL_SUBGRAPHS, 4);
	for (uint32_t i = 0; !fb->err && i < subgraphs.count; i++) {
		struct flatbuf_table subgraph = flatbuf_vector_table(fb, &subgraphs, i);

		tensors += flatbuf_vector(fb, &subgraph, SUBGRAPH_TENSORS, 4).count;
	}
	if (!fb->err)
		check_head(fb, &data, tensors, subgraphs.count);
	return data;
}

void tflite_offline(struct tflite_reader *r)
{
	struct flatbuf *fb = &r->fb;
	struct flatbuf_vector data = tflite_offline_data(fb, &r->root);
	struct flatbuf_vector numbers = { .pos = data.pos, .count = data.count / 4 };
	const struct tflite_value *values = r->scope->values;

	r->has_offline = data.present;
	for (uint32_t i = 0; !fb->err && data.present && i < r->scope->sub->tensors.count; i++) {
		int32_t offset = flatbuf_vector_i32(fb, &numbers, TFLITE_OFFLINE_HEAD + i);
		struct npuplan_tensor *tensor;

		if (offset == TFLITE_OFFLINE_UNPLANNED)
			continue;
		if (offset < 0)
			flatbuf_fail(fb, -EINVAL,
				     "metadata %s: tensor %" PRIu32 " has offset %" PRId32,
				     TFLITE_OFFLINE_NAME, i, offset);
		/* It has no bytes. */
		if (values[i].tensor == NPUMEM_NONE)
			continue;
		tensor = &r->graph->tensors[values[i].tensor];
		if (tensor->kind == NPUMEM_TENSOR_PARAMETER)
			flatbuf_fail(fb, -EINVAL,
				     "metadata %s: %s is constant, but has arena offset %" PRId32,
				     TFLITE_OFFLINE_NAME, import_tensor_text(tensor).s, offset);
		if ((uint32_t)offset % tensor->align)
			flatbuf_fail(fb, -EINVAL,
				     "metadata %s: offset %" PRId32
				     " of %s is not a multiple of its alignment, %" PRIu32,
				     TFLITE_OFFLINE_NAME, offset, import_tensor_text(tensor).s,
				     tensor->align);
		tensor->flags |= NPUMEM_TENSOR_FLAG_FIXED;
		tensor->fixed_offset = (uint32_t)offset;
	}
}
