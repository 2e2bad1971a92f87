/* SPDX-License-Identifier: MIT */
/* What all parts of the ONNX reader stand on. Internal to the importer. */
#pragma once

#include "../../check.h"
#include "../../flow.h"
#include "onnx.pb-c.h"

/* Longest name kept, in bytes. */
#define ONNX_MAX_NAME	     255
/* Messages inside of each other; a graph inside of a node inside of a graph takes three. */
#define ONNX_MAX_NESTING     64
/* Bytes that a model may take unpacked, besides twice the file. */
#define ONNX_MEMORY	     (256u << 20)
/*
 * Elements of a constant whose values are followed: shapes, axes, pads; of floats, scales alone.
 * All together, too, are bounded, and with them time and memory.
 */
#define ONNX_MAX_NUMBERS     4096
#define ONNX_MAX_FLOATS	     64
#define ONNX_MAX_ALL_NUMBERS (1u << 22)
/* Strides, pads, dilations: what is computed with them cannot wrap. */
#define ONNX_MAX_STEP	     (NPUIMPORT_MAX_DIM / 4)

/* Versions of the operator set "" (ai.onnx) that are read; later ones with a warning. */
#define ONNX_FIRST_OPSET 7
#define ONNX_LAST_OPSET	 22

/* Types of elements, as TensorProto.DataType numbers them; old schemas lack the last ones. */
enum {
	ONNX_FLOAT = 1,
	ONNX_UINT8 = 2,
	ONNX_INT8 = 3,
	ONNX_UINT16 = 4,
	ONNX_INT16 = 5,
	ONNX_INT32 = 6,
	ONNX_INT64 = 7,
	ONNX_STRING = 8,
	ONNX_BOOL = 9,
	ONNX_FLOAT16 = 10,
	ONNX_DOUBLE = 11,
	ONNX_UINT32 = 12,
	ONNX_UINT64 = 13,
	ONNX_COMPLEX64 = 14,
	ONNX_COMPLEX128 = 15,
	ONNX_BFLOAT16 = 16,
	ONNX_FLOAT8E4M3FN = 17,
	ONNX_FLOAT8E5M2FNUZ = 20,
	ONNX_UINT4 = 21,
	ONNX_INT4 = 22,
	ONNX_FLOAT4E2M1 = 23,
};

/*
 * struct onnx_shape - of a tensor
 * @known: @rank is; else nothing is
 * @dims: elements per dimension; -1 where the file does not say
 */
struct onnx_shape {
	bool known;
	uint32_t rank;
	int64_t dims[NPUPLAN_MAX_DIMS];
};

/* A value of a constant: @f of floating point types, @i of all others. */
union onnx_number {
	int64_t i;
	double f;
};

/*
 * struct onnx_value - a name of the model's graph
 * @name: the file's
 * @id: its number: inputs, initializers and outputs of nodes are counted as they stand in the file
 * @info: what the file declares of it, or NULL
 * @data: the initializer that it is, or NULL
 * @type: of its elements; 0: not known yet
 * @shape: known once it is defined
 * @numbers: its values, if they are the same in every inference and not many, or NULL
 * @count: of @numbers
 * @is_input, @is_output: of the model's graph
 * @is_bound: an input of a graph that a node runs, which gives it a value
 * @is_constant: the same in every inference
 * @is_defined: it has a value by now
 * @readers: inputs of nodes
 * @writer: number of the node that writes it, + 1; 0: none
 * @tensor: index in the graph, or NPUMEM_NONE
 * @is_listed: it has been given its number
 */
struct onnx_value {
	const char *name;
	int64_t id;
	const Onnx__TypeProto *info;
	const Onnx__TensorProto *data;
	uint32_t type;
	struct onnx_shape shape;
	union onnx_number *numbers;
	uint64_t count;
	bool is_input;
	bool is_output;
	bool is_bound;
	bool is_constant;
	bool is_defined;
	bool is_listed;
	uint32_t readers;
	uint32_t writer;
	uint32_t tensor;
};

struct onnx_reader;
struct onnx_node;

/**
 * enum onnx_flags - of an operator
 * @ONNX_IN_PLACE: each element comes from that of the first input at the same place, and may stand
 *	there if the bytes of both are in one order
 * @ONNX_VIEW: the first input's bytes, with another shape or none
 * @ONNX_RANDOM: other values each time, of the same inputs
 * @ONNX_ANY_OUTPUT: the first output may be left out
 * @ONNX_BY_VALUES: values of inputs alone decide how large outputs are
 */
enum onnx_flags {
	ONNX_IN_PLACE = 1,
	ONNX_VIEW = 2,
	ONNX_RANDOM = 4,
	ONNX_BY_VALUES = 8,
	ONNX_ANY_OUTPUT = 16,
};

/*
 * struct onnx_operator - what is known of an operator
 * @name: ONNX's
 * @type: the graph's; NULL: @name in small letters
 * @least, @most: inputs
 * @flags: enum onnx_flags
 * @infer: types and shapes of its outputs, attributes of the graph's operator
 */
struct onnx_operator {
	const char *name;
	const char *type;
	uint32_t least;
	uint32_t most;
	unsigned int flags;
	void (*infer)(struct onnx_reader *r, struct onnx_node *n);
};

/*
 * struct onnx_node - a node that is being read
 * @number: in its graph
 * @where: that graph's, for people
 * @known: NULL if the operator is not
 * @opset: version of its operator set
 * @inputs, @outputs: NULL where one is left out
 * @type: the graph's operator
 * @attrs: the graph's
 * @is_view: the first output is the first input's bytes
 */
struct onnx_node {
	const Onnx__NodeProto *proto;
	uint32_t number;
	const char *where;
	const struct onnx_operator *known;
	int64_t opset;
	struct onnx_value **inputs;
	struct onnx_value **outputs;
	uint32_t input_count;
	uint32_t output_count;
	char type[ONNX_MAX_NAME + 1];
	struct npuplan_attrs attrs;
	bool is_view;
};

/*
 * struct onnx_scope - a graph of the file that is being read: the model's, or one that a node runs
 * @outer: that of the node; NULL: it is the model's
 * @names: tree of its values by name
 * @first_node: number of its first node among those of all graphs
 * @where: for people: " in then_branch of node 2"
 */
struct onnx_scope {
	const Onnx__GraphProto *graph;
	struct onnx_scope *outer;
	void *names;
	uint32_t first_node;
	char where[64];
};

/*
 * struct onnx_reader
 * @error: of the first failure
 * @err: 0, or its negative errno
 * @options: the caller's
 * @opset: version of ONNX's own operator set; 0: the model imports none
 * @dims_used: per size that the caller gave, whether a dimension has that name
 * @scope: the graph that is being read
 * @values: those of all graphs, @value_count
 * @graph: in the making
 * @references: inputs and outputs of nodes
 * @numbers: values that are followed, of all constants
 * @views, @listed, @graphs, @instances: for struct npuimport_info; @listed is the next number, too
 * @elsewhere: the first small constant whose data is in another file that was not read, or NULL
 * @node_count: nodes of the graphs that have been read, or are being read
 * @flow: blocks in the making
 */
struct onnx_reader {
	struct npuplan_error *error;
	int err;
	struct import_doubts doubts;
	struct npuimport_options options;
	bool *dims_used;
	const Onnx__ModelProto *model;
	int64_t opset;
	struct onnx_scope *scope;
	struct onnx_value **values;
	uint32_t value_count;
	struct npuplan_graph *graph;
	uint32_t references;
	uint64_t numbers;
	uint32_t views;
	uint32_t listed;
	uint32_t graphs;
	uint32_t instances;
	const struct onnx_value *elsewhere;
	uint32_t node_count;
	struct import_flow flow;
};

/** onnx_fail() - keep the first failure: errno and a sentence */
__attribute__((format(printf, 3, 4))) void onnx_fail(struct onnx_reader *r, int err,
						     const char *fmt, ...);

/** onnx_text() - a name of the file as clean UTF-8, cut short; NULL is "" */
struct onnx_name {
	char s[ONNX_MAX_NAME + 1];
};
struct onnx_name onnx_text(const char *name);
/** onnx_node_text() - "node 3 'conv1' (Conv)", and where it is if that is not the model's graph */
struct import_text onnx_node_text(const struct onnx_node *n);
/** onnx_value_text() - "tensor 'x'" */
struct import_text onnx_value_text(const struct onnx_value *value);
/** onnx_shape_text() - "1x3x224x224"; "scalar"; "?" for what is not known */
struct import_text onnx_shape_text(const struct onnx_shape *shape);
/** onnx_type_name() - "float", "int64", ...; NULL: not known here */
const char *onnx_type_name(uint32_t type);
/** onnx_type_bits() - of an element; 0: none, or not known */
unsigned int onnx_type_bits(uint32_t type);
static inline bool onnx_is_float(uint32_t type)
{
	return type == ONNX_FLOAT || type == ONNX_DOUBLE || type == ONNX_FLOAT16 ||
	       type == ONNX_BFLOAT16 ||
	       (type >= ONNX_FLOAT8E4M3FN && type <= ONNX_FLOAT8E5M2FNUZ) ||
	       type == ONNX_FLOAT4E2M1;
}

/* --------------------------------------------------------------- values.c */

/* onnx_value() - by its name, of the graph that is being read, where it may be new; NULL for "" and
 * after an error
 */
struct onnx_value *onnx_value(struct onnx_reader *r, const char *name);
/** onnx_find() - likewise, or of the nearest graph around it that has one; NULL: there is none */
struct onnx_value *onnx_find(const struct onnx_scope *scope, const char *name);
/** onnx_list_value() - the value gets its number, unless it has one */
void onnx_list_value(struct onnx_reader *r, struct onnx_value *value);
/* onnx_values() - inputs, initializers, declarations and outputs of the graph; inputs of one that a
 * node runs have no value yet
 */
void onnx_values(struct onnx_reader *r);
/** onnx_scope_free() - the tree of its values, which stay */
void onnx_scope_free(struct onnx_scope *scope);
/** onnx_values_free() - all values */
void onnx_values_free(struct onnx_reader *r);
/* onnx_declared() - type and shape as the file declares them, sizes that the caller gave put in
 * @type: out: 0 if it is not declared
 *
 * Fails for what is no tensor.
 */
void onnx_declared(struct onnx_reader *r, const struct onnx_value *value, uint32_t *type,
		   struct onnx_shape *shape);
/** onnx_tensor() - the value's tensor in the graph; NPUMEM_NONE if it has no bytes */
uint32_t onnx_tensor(struct onnx_reader *r, struct onnx_value *value);
/* onnx_resize() - a tensor of the graph gets the value's type and shape, which has come to be known
 * since; a value without elements fails
 */
void onnx_resize(struct onnx_reader *r, const struct onnx_value *value, uint32_t tensor);
/* onnx_elements() - product of the dimensions from @first on, before @end; above
 * NPUIMPORT_MAX_BYTES if it is larger than that
 */
uint64_t onnx_elements(const struct onnx_shape *shape, uint32_t first, uint32_t end);
/* onnx_check_size() - fail if the value has more bytes than tensors may have, or dimensions beyond
 * those that are read
 */
void onnx_check_size(struct onnx_reader *r, const struct onnx_value *value);

/* -------------------------------------------------------------- numbers.c */

/*
 * struct onnx_external - where data is that is in another file
 * @location: below the model's folder
 * @offset, @bytes: in that file
 */
struct onnx_external {
	const char *location;
	uint64_t offset;
	uint64_t bytes;
};

/*
 * onnx_external_check() - what the model says of where data is
 * @bytes: that it must have
 *
 * False: that is refused.
 */
bool onnx_external_check(struct onnx_reader *r, const struct onnx_value *value,
			 const Onnx__TensorProto *data, uint64_t bytes,
			 struct onnx_external *where);

/*
 * onnx_external_read() - its bytes; free() them
 *
 * NULL: the file is not there, or the caller wants none read, or the reader has failed.
 */
uint8_t *onnx_external_read(struct onnx_reader *r, const struct onnx_value *value,
			    const struct onnx_external *where);

/** onnx_initializer() - type, shape and data of an initializer or an attribute */
void onnx_initializer(struct onnx_reader *r, struct onnx_value *value,
		      const Onnx__TensorProto *data);
/* onnx_numbers_new() - @value->numbers, zeroes, for @count values of its type; false if those are
 * too many to be followed, or after an error
 */
bool onnx_numbers_new(struct onnx_reader *r, struct onnx_value *value, uint64_t count);

/* ----------------------------------------------------------- attributes.c */

int64_t onnx_attr_int(struct onnx_reader *r, const struct onnx_node *n, const char *name,
		      int64_t otherwise);
float onnx_attr_float(struct onnx_reader *r, const struct onnx_node *n, const char *name,
		      float otherwise);
const char *onnx_attr_text(struct onnx_reader *r, const struct onnx_node *n, const char *name,
			   const char *otherwise);
/** onnx_attr_ints() - NULL if it is not there; @count: out */
const int64_t *onnx_attr_ints(struct onnx_reader *r, const struct onnx_node *n, const char *name,
			      size_t *count);
const float *onnx_attr_floats(struct onnx_reader *r, const struct onnx_node *n, const char *name,
			      size_t *count);
const Onnx__TensorProto *onnx_attr_tensor(struct onnx_reader *r, const struct onnx_node *n,
					  const char *name);
/** onnx_attr() - as the file has it, of any type; NULL if it is not there */
const Onnx__AttributeProto *onnx_attr(const struct onnx_node *n, const char *name);
