/* SPDX-License-Identifier: MIT */
/* Between the parts of the TFLite reader. Internal to the importer. */
#pragma once

#include "check.h"
#include "flatbuf.h"
#include "schema.h"

/* Longest name kept, in bytes: converters join the names of all they fuse. */
#define TFLITE_MAX_NAME 255

enum {
	USE_INPUT = 1,	 /* of the subgraph */
	USE_OUTPUT = 2,	 /* of the subgraph */
	USE_READ = 4,	 /* by an operator */
	USE_WRITTEN = 8, /* by an operator */
	USE_VARIABLE = 16,
	USE_READ_YET = 32, /* by an operator that has been taken over */
};

struct tflite_name {
	char s[TFLITE_MAX_NAME + 1];
};

/* struct tflite_tables - tables and vectors of the model that are looked into again and again */
struct tflite_tables {
	struct flatbuf_table root;
	struct flatbuf_vector codes;
	struct flatbuf_vector buffers;
	struct flatbuf_table subgraph;
	struct flatbuf_vector tensors;
	struct flatbuf_vector operators;
	struct flatbuf_vector inputs;
	struct flatbuf_vector outputs;
	uint32_t subgraphs;
	uint8_t *uses; /* per tensor, USE_* */
};

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

/* tflite_name_of() - name as clean UTF-8, cut short; bytes that are none become '?' */
struct tflite_name tflite_name_of(struct flatbuf *fb, const struct flatbuf_table *table,
				  unsigned int field);

/* tflite_check_added() - @index: of what the graph was given, or -errno */
void tflite_check_added(struct tflite_reader *r, int64_t index, const char *what);
/** tflite_tensor() - tensor @number of the file goes into the graph, if it has bytes */
void tflite_tensor(struct tflite_reader *r, const struct tflite_tables *model, uint32_t number);

/* tflite_count_uses() - the uses of each tensor are counted, all numbers of tensors checked */
void tflite_count_uses(struct tflite_reader *r, struct tflite_tables *model);

/*
 * tflite_is_view() - whether an operator only gives its first input's bytes another shape, and
 * the output can be those bytes
 * @target: number of the output in the file
 */
bool tflite_is_view(const struct tflite_reader *r, const struct tflite_tables *model,
		    int32_t builtin, const struct npuplan_op *op, uint32_t target);
/** tflite_make_view() - the operator is none: its output is an alias */
void tflite_make_view(struct tflite_reader *r, const struct npuplan_op *op);

/** tflite_operator() - operator @number of the file goes into the graph */
void tflite_operator(struct tflite_reader *r, const struct tflite_tables *model, uint32_t number);

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
