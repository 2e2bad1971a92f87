/* SPDX-License-Identifier: MIT */
/* userspace/formats/tflite/offline.c, emit.c: offline memory plans in TFLite models. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <glob.h>

#include "auto.h"
#include "models.h"
#include "tflite/reader.h"
#include "tflite_build.h"

/* tb_valid() has tensors in, w, b, c, out; this is an offline plan for it. */
struct plan {
	int32_t numbers[TFLITE_OFFLINE_HEAD + 5];
};

static const struct plan valid_plan = { { 0, 1, 5, 0, -1, -1, 192, 0 } };

/* tb_valid() with a plan in buffer 3. */
static struct tb_model with_plan(const struct plan *plan)
{
	struct tb_model model = tb_valid();

	model.buffer_count = 4;
	model.buffers[3] = (struct tb_buffer){ .size = sizeof(*plan), .data = plan };
	model.metadata_count = 2;
	model.metadata[0] = (struct tb_metadata){ "min_runtime_version", 0 };
	model.metadata[1] = (struct tb_metadata){ TFLITE_OFFLINE_NAME, 3 };
	return model;
}

static struct npuplan_graph *read_graph(const void *data, size_t size)
{
	const struct npuimport_options tolerant = { .strict = false };
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { 0 };

	/* As models are read that are written: what is doubtful stays. */
	if (npuimport_tflite(data, size, "x", &tolerant, &graph, NULL, &error))
		fail_msg("refused: %s", error.text);
	return graph;
}

static void refuse(const struct tb_model *model, int err, const char *message)
{
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { 0 };
	size_t size;
	void *data = tb_exact(model, &size);

	assert_int_equal(npuimport_tflite(data, size, "x", NULL, &graph, NULL, &error), err);
	assert_string_equal(error.text, message);
	assert_null(graph);
	free(data);
}

/* ------------------------------------------------------------------ reading */

TEST(read)
{
	struct tb_model model = with_plan(&valid_plan);
	size_t size;
	void *data = tb_exact(&model, &size);
	struct npuplan_graph *graph = read_graph(data, size);

	assert_int_equal(graph->tensors[0].flags, NPUMEM_TENSOR_FLAG_FIXED);
	assert_int_equal(graph->tensors[0].fixed_offset, 0);
	assert_int_equal(graph->tensors[1].flags, 0);
	assert_int_equal(graph->tensors[2].flags, 0);
	assert_int_equal(graph->tensors[3].flags, NPUMEM_TENSOR_FLAG_FIXED);
	assert_int_equal(graph->tensors[3].fixed_offset, 192);
	assert_int_equal(graph->tensors[4].flags, NPUMEM_TENSOR_FLAG_FIXED);
	npuplan_graph_free(graph);
	free(data);
	/* Other metadata is nothing to us. */
	model.metadata[1].name = "OfflineMemoryAllocation2";
	data = tb_exact(&model, &size);
	graph = read_graph(data, size);
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		assert_int_equal(graph->tensors[i].flags, 0);
	npuplan_graph_free(graph);
	free(data);
}

static void refuse_plan(unsigned int number, int32_t value, int err, const char *message)
{
	struct plan plan = valid_plan;
	struct tb_model model;

	plan.numbers[number] = value;
	model = with_plan(&plan);
	refuse(&model, err, message);
}

TEST(refused_plans)
{
	refuse_plan(0, 1, -EOPNOTSUPP,
		    "metadata OfflineMemoryAllocation has version 1, only 0 is read");
	refuse_plan(1, 2, -EINVAL,
		    "metadata OfflineMemoryAllocation is of subgraph 2, but there are only 1");
	refuse_plan(1, -1, -EINVAL,
		    "metadata OfflineMemoryAllocation is of subgraph -1, but there are only 1");
	refuse_plan(2, 4, -EINVAL,
		    "metadata OfflineMemoryAllocation has offsets of 4 tensors, but the model has "
		    "5");
	refuse_plan(2, -5, -EINVAL,
		    "metadata OfflineMemoryAllocation has offsets of -5 tensors, but the model has "
		    "5");
	refuse_plan(3, -2, -EINVAL, "metadata OfflineMemoryAllocation: tensor 0 has offset -2");
	refuse_plan(4, 64, -EINVAL,
		    "metadata OfflineMemoryAllocation: tensor 1 'w' is constant, but has arena "
		    "offset 64");
}

TEST(refused_alignment)
{
	struct plan plan = valid_plan;
	struct tb_model model;

	plan.numbers[3 + 3] = 194;
	model = with_plan(&plan);
	model.tensors[3].type = TYPE_INT32;
	refuse(&model, -EINVAL,
	       "metadata OfflineMemoryAllocation: offset 194 of tensor 3 'c' is not a multiple of "
	       "its alignment, 4");
}

TEST(refused_metadata)
{
	struct tb_model model = with_plan(&valid_plan);

	model.metadata[0].name = TFLITE_OFFLINE_NAME;
	refuse(&model, -EINVAL, "the model has metadata OfflineMemoryAllocation more than once");
	model = with_plan(&valid_plan);
	model.metadata[1].buffer = 4;
	refuse(&model, -EINVAL,
	       "metadata OfflineMemoryAllocation is in buffer 4, but there are only 4");
	model.metadata[1].buffer = UINT32_MAX;
	refuse(&model, -EINVAL,
	       "metadata OfflineMemoryAllocation is in buffer 4294967295, but there are only 4");
	model = with_plan(&valid_plan);
	model.buffers[3].size = 0;
	refuse(&model, -EINVAL, "metadata OfflineMemoryAllocation has only 0 bytes");
	model.buffers[3].size = 11;
	refuse(&model, -EINVAL, "metadata OfflineMemoryAllocation has only 11 bytes");
	model.buffers[3].size = sizeof(struct plan) - 1;
	refuse(&model, -EINVAL,
	       "metadata OfflineMemoryAllocation has 31 bytes, but 5 tensors make 32");
}

/* Tensors of all subgraphs count, as TensorFlow Lite Micro has it. */
TEST(subgraphs)
{
	struct tb_model model = with_plan(&valid_plan);
	size_t size;
	void *data;

	/* The second one has no tensors. */
	model.subgraphs = 2;
	data = tb_exact(&model, &size);
	npuplan_graph_free(read_graph(data, size));
	free(data);
}

/* An empty tensor has no bytes, wherever it is put. */
TEST(empty_tensor)
{
	struct {
		int32_t numbers[TFLITE_OFFLINE_HEAD + 6];
	} plan = { { 0, 1, 6, 0, -1, -1, 192, 0, 7 } };
	struct tb_model model = with_plan(&valid_plan);
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	size_t size;
	void *data;

	model.tensor_count = 6;
	model.tensors[5] = (struct tb_tensor){ "none", TYPE_INT8, 1, { 0 }, 0, 0, 0 };
	model.buffers[3] = (struct tb_buffer){ .size = sizeof(plan), .data = &plan };
	data = tb_exact(&model, &size);
	graph = read_graph(data, size);
	assert_int_equal(graph->tensor_count, 5);
	free(data);
}

/* ------------------------------------------------------------------ writing */

static const int32_t offsets[] = { 0, -1, -1, 192, 0 };

static void *emit(const void *data, size_t size, const int32_t *at, uint32_t count,
		  size_t *out_size)
{
	struct npuplan_error error = { 0 };
	void *out = NULL, *exact;

	if (npuimport_tflite_emit(data, size, at, count, &out, out_size, &error))
		fail_msg("not written: %s", error.text);
	exact = malloc(*out_size);
	assert_non_null(exact);
	memcpy(exact, out, *out_size);
	free(out);
	return exact;
}

static void refuse_emit(const struct tb_model *model, const int32_t *at, uint32_t count, int err,
			const char *message)
{
	struct npuplan_error error = { 0 };
	size_t size, out_size;
	void *data = tb_exact(model, &size), *out = NULL;

	assert_int_equal(npuimport_tflite_emit(data, size, at, count, &out, &out_size, &error),
			 err);
	assert_string_equal(error.text, message);
	assert_null(out);
	free(data);
}

/* Data of every buffer that the old file has is the new one's, too. */
static void same_buffers(const void *old_data, size_t old_size, const void *new_data,
			 size_t new_size, uint32_t but)
{
	struct npuplan_error error = { 0 };
	struct flatbuf old = { old_data, old_size, &error }, new = { new_data, new_size, &error };
	struct flatbuf_table old_root = flatbuf_root(&old, TFLITE_IDENTIFIER);
	struct flatbuf_table new_root = flatbuf_root(&new, TFLITE_IDENTIFIER);
	struct flatbuf_vector old_list = flatbuf_vector(&old, &old_root, MODEL_BUFFERS, 4);
	struct flatbuf_vector new_list = flatbuf_vector(&new, &new_root, MODEL_BUFFERS, 4);

	assert_true(new_list.count >= old_list.count);
	for (uint32_t i = 0; i < old_list.count; i++) {
		struct flatbuf_vector a = tflite_buffer(&old, &old_list, i);
		struct flatbuf_vector b = tflite_buffer(&new, &new_list, i);

		assert_int_equal(a.count, b.count);
		if (i != but && a.count)
			assert_memory_equal(old.data + a.pos, new.data + b.pos, a.count);
		/* Wherever it was aligned it still is. */
		if (a.count && i < old_list.count)
			assert_int_equal(a.pos % 16, b.pos % 16);
	}
	assert_int_equal(old.err, 0);
	assert_int_equal(new.err, 0);
}

static void has_offsets(const void *data, size_t size, const int32_t *at)
{
	AUTO_GRAPH struct npuplan_graph *graph = read_graph(data, size);

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
			continue;
		assert_int_equal(!!(tensor->flags & NPUMEM_TENSOR_FLAG_FIXED), at[tensor->id] >= 0);
		if (at[tensor->id] >= 0)
			assert_int_equal(tensor->fixed_offset, at[tensor->id]);
	}
}

TEST(add)
{
	struct tb_model model = tb_valid();
	struct npuplan_error error = { 0 };
	struct flatbuf fb = { .error = &error };
	struct flatbuf_vector plan;
	struct flatbuf_table root;
	size_t size, out_size;
	void *data, *out;

	model.metadata_count = 1;
	model.metadata[0] = (struct tb_metadata){ "min_runtime_version", 2 };
	data = tb_exact(&model, &size);
	out = emit(data, size, offsets, 5, &out_size);
	/* The old file stands at the end, as it was. */
	assert_true(out_size > size && (out_size - size) % 64 == 0);
	assert_memory_equal((uint8_t *)out + out_size - size, data, size);
	has_offsets(out, out_size, offsets);
	same_buffers(data, size, out, out_size, UINT32_MAX);
	fb.data = out;
	fb.size = out_size;
	root = flatbuf_root(&fb, TFLITE_IDENTIFIER);
	plan = tflite_offline_data(&fb, &root);
	assert_int_equal(fb.err, 0);
	assert_int_equal(plan.count, sizeof(valid_plan));
	assert_int_equal(plan.pos % 16, 0);
	assert_memory_equal(fb.data + plan.pos, &valid_plan, sizeof(valid_plan));
	free(out);
	free(data);
}

TEST(replace)
{
	static const int32_t others[] = { 64, -1, -1, 0, 256 };
	struct tb_model model = with_plan(&valid_plan);
	size_t size, out_size;
	void *data = tb_exact(&model, &size);
	void *out = emit(data, size, others, 5, &out_size);

	assert_int_equal(out_size, size);
	has_offsets(out, out_size, others);
	same_buffers(data, size, out, out_size, 3);
	free(out);
	/* The same numbers: the same file. */
	out = emit(data, size, offsets, 5, &out_size);
	assert_int_equal(out_size, size);
	assert_memory_equal(out, data, size);
	free(out);
	free(data);
}

/* What was added is what is replaced the next time: files do not grow. */
TEST(add_replace)
{
	static const int32_t others[] = { 64, -1, -1, -1, 256 };
	struct tb_model model = tb_valid();
	size_t size, first_size, second_size;
	void *data = tb_exact(&model, &size);
	void *first = emit(data, size, offsets, 5, &first_size);
	void *second = emit(first, first_size, others, 5, &second_size);

	assert_int_equal(first_size, second_size);
	has_offsets(second, second_size, others);
	same_buffers(data, size, second, second_size, UINT32_MAX);
	free(second);
	free(first);
	free(data);
}

/* Data behind the FlatBuffer is found by its position in the file. */
TEST(data_behind)
{
	static const uint8_t weights[54] = { 1, 2, 3, 4, 5, 6, 7, 53 };
	struct tb_model model = tb_valid();
	uint8_t *data, *moved;
	size_t size, out_size;
	void *bare;

	model.buffers[1] = (struct tb_buffer){ .offset = 2, .offset_size = sizeof(weights) };
	bare = tb_exact(&model, &size);
	free(bare);
	model.buffers[1].offset = size;
	bare = tb_exact(&model, &size);
	data = malloc(size + sizeof(weights));
	assert_non_null(data);
	memcpy(data, bare, size);
	memcpy(data + size, weights, sizeof(weights));
	free(bare);
	size += sizeof(weights);
	moved = emit(data, size, offsets, 5, &out_size);
	has_offsets(moved, out_size, offsets);
	same_buffers(data, size, moved, out_size, UINT32_MAX);
	assert_memory_equal(moved + out_size - sizeof(weights), weights, sizeof(weights));
	free(moved);
	free(data);
}

TEST(emit_refused)
{
	static const int32_t odd[] = { 0, -1, -1, 200, 0 };
	static const int32_t negative[] = { 0, -1, -1, -2, 0 };
	static const int32_t constant[] = { 0, 1024, -1, 192, 0 };
	struct tb_model model = tb_valid();

	refuse_emit(&model, offsets, 4, -EINVAL, "offsets of 4 tensors, but the model has 5");
	refuse_emit(&model, odd, 5, -EINVAL, "tensor 3: offset 200 is not a multiple of 16");
	refuse_emit(&model, negative, 5, -EINVAL, "tensor 3: offset -2 is not a multiple of 16");
	refuse_emit(&model, constant, 5, -EINVAL,
		    "metadata OfflineMemoryAllocation: tensor 1 'w' is constant, but has arena "
		    "offset 1024");
	model.subgraphs = 2;
	refuse_emit(&model, offsets, 5, -EOPNOTSUPP,
		    "the model has 2 subgraphs: TensorFlow Lite Micro would apply the offsets to "
		    "each of them");
	model = tb_valid();
	model.tensors[5] = (struct tb_tensor){ "h", TYPE_RESOURCE, 0, { 0 }, 0, 0, 0 };
	model.tensor_count = 6;
	refuse_emit(&model, offsets, 6, -EOPNOTSUPP,
		    "tensor 5 is a resource: TensorFlow Lite Micro keeps what it stands for "
		    "elsewhere, and copies it");
	model = tb_valid();
	model.buffer_count = 0;
	for (uint32_t i = 0; i < model.tensor_count; i++)
		model.tensors[i].buffer = 0;
	refuse_emit(&model, offsets, 5, -EINVAL, "the model has no buffers");
	model = with_plan(&valid_plan);
	model.metadata[0].buffer = 3;
	refuse_emit(&model, offsets, 5, -EINVAL,
		    "metadata OfflineMemoryAllocation shares buffer 3 with other metadata");
	model = with_plan(&valid_plan);
	model.tensors[2] = (struct tb_tensor){ "b", TYPE_INT8, 1, { 32 }, 3, 0, 0 };
	refuse_emit(&model, offsets, 5, -EINVAL,
		    "metadata OfflineMemoryAllocation shares buffer 3 with tensor 2");
}

TEST(emit_unknown_field)
{
	struct tb_model model = tb_valid();
	struct tb_file *file = malloc(sizeof(*file));
	struct npuplan_error error = { 0 };
	size_t vtable, out_size;
	void *out = NULL;

	assert_non_null(file);
	tb_build(&model, file);
	vtable = file->model - tb_get(file, file->model, 4);
	tb_put(file, vtable + 4 + 2 * MODEL_FIELDS, 4 + 8 * MODEL_FIELDS, 2);
	assert_int_equal(npuimport_tflite_emit(file->bytes, file->size, offsets, 5, &out, &out_size,
					       &error),
			 -EOPNOTSUPP);
	assert_string_equal(error.text,
			    "the model has fields that are not known here: it cannot be rewritten");
	free(file);
}

/* Every byte spoiled: refused, or a model that is itself but for the plan. */
TEST(emit_spoiled)
{
	struct tb_model model = with_plan(&valid_plan);
	size_t size;
	uint8_t *exact = tb_exact(&model, &size);

	for (size_t at = 0; at < size; at++) {
		for (unsigned int value = 1; value < 256; value *= 3) {
			struct npuplan_error error = { 0 };
			void *out = NULL;
			size_t out_size;

			exact[at] ^= (uint8_t)value;
			if (npuimport_tflite_emit(exact, size, offsets, 5, &out, &out_size, &error))
				assert_true(error.text[0]);
			else
				has_offsets(out, out_size, offsets);
			free(out);
			exact[at] ^= (uint8_t)value;
		}
	}
	free(exact);
}

/* ------------------------------------------------------------- real models */

/* Every tensor that is not constant gets an address of its own. */
static int32_t *spread(const struct npuplan_graph *graph, uint32_t count)
{
	int32_t *at = malloc((count + (size_t)1) * sizeof(*at)), next = 0;

	assert_non_null(at);
	for (uint32_t i = 0; i < count; i++)
		at[i] = -1;
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		if (tensor->kind == NPUMEM_TENSOR_PARAMETER ||
		    (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS))
			continue;
		at[tensor->id] = next;
		next += (int32_t)(tensor->size + 15) / 16 * 16;
	}
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
			at[tensor->id] = at[graph->tensors[tensor->alias_of].id];
	}
	return at;
}

TEST(real_models)
{
	const char *shared = shared_folder("no real model was rewritten");
	struct npuplan_error error = { 0 };
	AUTO_TEXT char *pattern = NULL;
	glob_t found;

	if (!shared)
		skip();
	assert_true(asprintf(&pattern, "%s/models/tflite/*.tflite", shared) > 0);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 11);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct npuplan_graph *graph = NULL;
		struct npuimport_info info;
		size_t size, out_size;
		void *data, *out;
		int32_t *at;

		if (npuimport_read_file(found.gl_pathv[i], &data, &size, &error) ||
		    npuimport_tflite(data, size, "x", NULL, &graph, &info, &error))
			fail_msg("%s: %s", found.gl_pathv[i], error.text);
		at = spread(graph, info.tensors);
		out = emit(data, size, at, info.tensors, &out_size);
		has_offsets(out, out_size, at);
		same_buffers(data, size, out, out_size, UINT32_MAX);
		npuplan_graph_free(graph);
		free(out);
		free(at);
		free(data);
	}
	globfree(&found);
}
