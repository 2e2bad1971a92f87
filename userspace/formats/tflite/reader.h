/* SPDX-License-Identifier: MIT */
/* Between the parts of the TFLite reader. Internal to the importer. */
#pragma once

#include "check.h"
#include "flow.h"
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
};

struct tflite_name {
	char s[TFLITE_MAX_NAME + 1];
};

/*
 * struct tflite_subgraph - one of the file
 * @number: its place among the file's
 * @tensors, @operators, @inputs, @outputs: its vectors
 * @uses: per tensor, USE_*
 * @last_read: per tensor, the last operator that reads it; NPUMEM_NONE: none
 * @data: per tensor its constant data, if it is a parameter
 * @kept: per tensor its index in the graph if all instances have it in common (a constant, a
 *	variable tensor), or NPUMEM_NONE
 * @first_tensor, @first_operator: how many the subgraphs before have
 * @instances: how often it has come into the graph
 * @active: it is coming into the graph now
 */
struct tflite_subgraph {
	uint32_t number;
	struct flatbuf_vector tensors;
	struct flatbuf_vector operators;
	struct flatbuf_vector inputs;
	struct flatbuf_vector outputs;
	uint8_t *uses;
	uint32_t *last_read;
	struct flatbuf_vector *data;
	uint32_t *kept;
	uint64_t first_tensor;
	uint64_t first_operator;
	uint32_t instances;
	bool active;
};

/**
 * struct tflite_value - what a tensor of the file is in one instance of its subgraph; of one that
 * has no bytes, or is left out, both members are NPUMEM_NONE
 * @tensor: index in the graph
 * @variable: the resource variable that it is a handle of
 */
struct tflite_value {
	uint32_t tensor;
	uint32_t variable;
};

/*
 * struct tflite_scope - one instance of a subgraph
 * @instance: among those of its subgraph
 * @values: per tensor
 * @bound: per tensor, whether its value has come from outside, or it is a handle
 * @until: per operator that reads a resource variable, the next operator that may write that
 */
struct tflite_scope {
	struct tflite_subgraph *sub;
	uint32_t instance;
	struct tflite_value *values;
	bool *bound;
	uint32_t *until;
};

/*
 * struct tflite_fact - what is known of a tensor of the graph besides
 * @type: of its elements, as the file says
 * @writer: the latest operator of the graph that writes it, or NPUMEM_NONE
 * @carried: a loop or a branch gives it values
 * @read: by an operator that has been taken over
 * @fixed: its values are the same in every inference: they depend on constants and shapes
 * @scales: how many scales its elements have
 * @scale, @zero_point: the first of each, as the file has it
 */
struct tflite_fact {
	uint8_t type;
	uint32_t scales;
	uint32_t scale;
	int64_t zero_point;
	uint32_t writer;
	bool carried;
	bool read;
	bool fixed;
};

/*
 * struct tflite_variable - resource variable
 * @key: container, a NUL, and name, as the file has them; @key_size bytes, @container_size of
 *	them the container's
 * @name: for people
 * @id: of the tensor that stands for it
 * @known: @like and @type say what its value is like
 * @like: size and shape
 * @tensor: index in the graph, or NPUMEM_NONE
 * @touched: an operator of the graph has read or written it
 */
struct tflite_variable {
	char *key;
	size_t key_size;
	size_t container_size;
	struct tflite_name name;
	int64_t id;
	bool known;
	bool touched;
	uint8_t type;
	uint32_t tensor;
	struct npuplan_tensor like;
};

/*
 * struct tflite_reader
 * @fb: the file
 * @root, @codes, @buffers: tables of the model that are looked into again and again
 * @subgraphs: all of the model, @subgraph_count of them
 * @tensor_total, @operator_total: of all subgraphs
 * @graph: in the making
 * @facts: per tensor of @graph; @fact_count of them
 * @scope: the instance that is being read
 * @depth: how many instances there are around it
 * @references: inputs and outputs so far, of all instances
 * @instances: of subgraphs but the first
 * @variables: resource variables; @variable_count of them
 * @has_offline: the model has an offline memory plan
 * @views: operators that became aliases
 * @flow: blocks in the making
 * @doubts: what to do about what is not understood
 */
struct tflite_reader {
	struct flatbuf fb;
	struct flatbuf_table root;
	struct flatbuf_vector codes;
	struct flatbuf_vector buffers;
	struct tflite_subgraph *subgraphs;
	uint32_t subgraph_count;
	uint64_t tensor_total;
	uint64_t operator_total;
	struct npuplan_graph *graph;
	struct tflite_fact *facts;
	uint32_t fact_count;
	struct tflite_scope *scope;
	uint32_t depth;
	uint64_t references;
	uint32_t instances;
	struct tflite_variable *variables;
	uint32_t variable_count;
	bool has_offline;
	uint32_t views;
	struct import_flow flow;
	struct import_doubts doubts;
};

/*
 * struct tflite_node - an operator of the file
 * @number: in its subgraph
 */
struct tflite_node {
	uint32_t number;
	int32_t builtin;
	struct tflite_name type;
	struct flatbuf_table table;
	struct flatbuf_vector inputs;
	struct flatbuf_vector outputs;
};

/* Where an operator stands: "operator 3", or "operator 3 of subgraph 2". */
struct import_text tflite_place(const struct tflite_scope *scope, uint32_t number);

/* tflite_name_of() - name as clean UTF-8, cut short; bytes that are none become '?' */
struct tflite_name tflite_name_of(struct flatbuf *fb, const struct flatbuf_table *table,
				  unsigned int field);

/** tflite_subgraphs() - the file's subgraphs, not looked into yet */
void tflite_subgraphs(struct tflite_reader *r);
/** tflite_subgraphs_free() - what they own, and they */
void tflite_subgraphs_free(struct tflite_reader *r);
/* tflite_count_uses() - an instance more of the subgraph: all its numbers are checked, the uses
 * of each tensor are known from now on
 */
void tflite_count_uses(struct tflite_reader *r, struct tflite_subgraph *sub);

/** tflite_scope_new() - an instance of a subgraph, without values; NULL after an error */
struct tflite_scope *tflite_scope_new(struct tflite_reader *r, struct tflite_subgraph *sub);
/** tflite_scope_free() - @scope may be NULL */
void tflite_scope_free(struct tflite_scope *scope);
/** tflite_scope_run() - its tensors, but for those that are bound, and its operators */
void tflite_scope_run(struct tflite_reader *r, struct tflite_scope *scope);

/*
 * tflite_describe() - size, shape and type of a tensor of the file
 * @tensor: out: without a kind; its name is NULL, its size 0 if it has no bytes or its type none
 *
 * Returns the type.
 */
uint8_t tflite_describe(struct tflite_reader *r, const struct tflite_subgraph *sub, uint32_t number,
			struct npuplan_tensor *tensor);
/** tflite_has_data() - whether a tensor of the file is a constant */
bool tflite_has_data(struct tflite_reader *r, const struct tflite_subgraph *sub, uint32_t number);
/* tflite_check_bytes() - fail if a tensor, @type and @tensor being what tflite_describe() says of
 * it, has elements without a size
 */
void tflite_check_bytes(struct tflite_reader *r, uint32_t number, uint8_t type,
			const struct npuplan_tensor *tensor);
/* tflite_add_tensor() - a tensor of elements of @type more in the graph; returns its index, or
 * NPUMEM_NONE after an error
 */
uint32_t tflite_add_tensor(struct tflite_reader *r, const struct npuplan_tensor *tensor,
			   uint8_t type);
/* tflite_tensor() - tensor @number of the scope goes into the graph, if it has bytes and has no
 * value yet
 */
void tflite_tensor(struct tflite_reader *r, uint32_t number);

/** tflite_is_defined() - whether a tensor of the graph has a value by now */
bool tflite_is_defined(const struct tflite_reader *r, uint32_t tensor);

/*
 * tflite_is_view() - whether an operator only gives its first input's bytes another shape, and
 * the output can be those bytes
 * @target: number of the output in the file
 */
bool tflite_is_view(const struct tflite_reader *r, int32_t builtin, const struct npuplan_op *op,
		    uint32_t target);
/** tflite_make_view() - the operator is none: its output is an alias */
void tflite_make_view(struct tflite_reader *r, const struct npuplan_op *op);

/** tflite_node() - operator @number of the scope, in the file */
struct tflite_node tflite_node(struct tflite_reader *r, uint32_t number);
/*
 * tflite_check_dynamic() - fail if values decide how large an output is
 * @op: the operator in the making; which of its outputs are fixed is known from now on
 */
void tflite_check_dynamic(struct tflite_reader *r, const struct tflite_node *node,
			  const struct npuplan_op *op);

/** tflite_operator() - operator @number of the scope goes into the graph */
void tflite_operator(struct tflite_reader *r, uint32_t number);
/* tflite_add_op() - an operator more in the block at hand, which must have its inputs by now;
 * block and name are filled in
 */
void tflite_add_op(struct tflite_reader *r, struct npuplan_op *op);
/** tflite_flow_ops - the reader's part of what all readers do for control flow */
extern const struct import_flow_ops tflite_flow_ops;
/** tflite_number_copies() - ids of what is not in the file: above those of the file */
void tflite_number_copies(struct tflite_reader *r);

/*
 * tflite_subgraph_of() - the subgraph that an operator runs
 * @type: that its options must have
 * @field: of the options, which has the subgraph's number
 *
 * NULL after an error.
 */
struct tflite_subgraph *tflite_subgraph_of(struct tflite_reader *r, const struct tflite_node *node,
					   uint8_t type, unsigned int field);

/** tflite_variables_ahead() - the scope's handles, and what may be written where */
void tflite_variables_ahead(struct tflite_reader *r);
/** tflite_handle() - one of the operators of resource variables, or CALL_ONCE */
void tflite_handle(struct tflite_reader *r, const struct tflite_node *node);
/** tflite_variables_free() - give up the table of variables */
void tflite_variables_free(struct tflite_reader *r);

/** tflite_control() - CALL, IF or WHILE: the subgraphs that it runs come into the graph */
void tflite_control(struct tflite_reader *r, const struct tflite_node *node);

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

/* tflite_part_attrs() - the same of a split or a slice: along which axis, and from where on, if
 * constants of the model say
 */
void tflite_part_attrs(struct tflite_reader *r, const struct flatbuf_table *table, int32_t builtin,
		       const uint32_t *sources, struct npuplan_op *op);
/* tflite_converts() - whether elements with the same values have other bytes in another tensor,
 * both of the graph
 */
bool tflite_converts(const struct tflite_reader *r, uint32_t from, uint32_t to);

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
/** tflite_offline() - the plan's offsets become fixed offsets of the scope's tensors */
void tflite_offline(struct tflite_reader *r);
