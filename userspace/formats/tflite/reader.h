/* SPDX-License-Identifier: MIT */
/* Between the parts of the TFLite reader. Internal to the importer. */
#pragma once

#include "check.h"
#include "flatbuf.h"
#include "schema.h"

/*
 * struct tflite_reader
 * @fb: the file
 * @graph: in the making
 * @index: per tensor of the file its index in @graph, or NPUMEM_NONE if it has
 *	no bytes (an empty tensor) or is left out
 * @data: per tensor of the file its constant data, if it is a parameter
 * @writer: per tensor of @graph the latest operator that writes it
 * @views: operators that became aliases
 * @doubts: what to do about what is not understood
 */
struct tflite_reader {
	struct flatbuf fb;
	struct npuplan_graph *graph;
	uint32_t *index;
	struct flatbuf_vector *data;
	uint32_t *writer;
	uint32_t tensor_count;
	uint32_t views;
	struct import_doubts doubts;
};

/** tflite_builtin_name() - type as graph JSON has it, or NULL if not known */
const char *tflite_builtin_name(int32_t builtin);
/** tflite_builtin_inplace() - computes each element from that of its first input alone */
bool tflite_builtin_inplace(int32_t builtin);

/*
 * tflite_attrs() - attributes from an operator's options and its tensors' shapes
 * @table: the operator
 * @sources: per input of @op the tensor's number in the file
 * @op: all else of it is filled in; a transposed convolution's inputs are put
 *	into the order of graph JSON, the data first
 *
 * What is not understood leaves it without window, and to be planned whole.
 */
void tflite_attrs(struct tflite_reader *r, const struct flatbuf_table *table, int32_t builtin,
		  uint32_t *sources, struct npuplan_op *op);

/** tflite_buffer() - data of buffer @index: in the FlatBuffer, or behind it */
struct flatbuf_vector tflite_buffer(struct flatbuf *fb, const struct flatbuf_vector *buffers,
				    uint32_t index);

/* tflite_offline_find() - number, not checked, of the buffer that has the offline memory
 * plan; -1 if the model has no such plan
 */
int64_t tflite_offline_find(struct flatbuf *fb, const struct flatbuf_table *model);
/* tflite_offline_data() - the offline memory plan, its size and head checked; not present
 * if the model has no such plan
 */
struct flatbuf_vector tflite_offline_data(struct flatbuf *fb, const struct flatbuf_table *model);
/** tflite_offline() - the plan's offsets become fixed offsets of the reader's tensors */
void tflite_offline(struct tflite_reader *r, const struct flatbuf_table *model);
