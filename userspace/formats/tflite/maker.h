/* SPDX-License-Identifier: MIT */
/*
 * A command in the making: what the file says of an operator and its tensors (maker.c), what
 * each operator makes of it (operators.c), and all of it put together (commands.c).
 */
#pragma once

#include "check.h"
#include "command.h"
#include "flatbuf.h"

#define MAX_ATTRIBUTES 16

/*
 * struct tflite_commands - a model's file beside the graph that was made of it
 * @fb: reader of the file, which keeps the first error
 * @graph: the graph; not owned
 * @codes, @buffers, @tensors, @operators: the tables of the file under these names
 * @subgraphs: how many the file has; @tensors and @operators are of the first
 * @index: per tensor of the file, its index in @graph, or NPUMEM_NONE
 */
struct tflite_commands {
	struct flatbuf fb;
	const struct npuplan_graph *graph;
	struct flatbuf_vector codes;
	struct flatbuf_vector buffers;
	struct flatbuf_vector tensors;
	struct flatbuf_vector operators;
	uint32_t subgraphs;
	uint32_t *index;
};

/*
 * struct command_maker - the command of one step in the making
 * @all: the model; @fb and @graph are its
 * @step, @op: the step, and its operator in the graph
 * @table, @options, @inputs, @outputs: the operator in the file, with its options and lists
 * @builtin: number of the operator's kind in TFLite
 * @head: head of the command; says how many @operands, @pieces, @scales and @attributes there are
 * @operands, @pieces: what the command works on, and which bytes of that the step has
 * @scales: malloc'ed; the maker's
 * @attributes: the operator's attributes, as npumem_command.h numbers them
 */
struct command_maker {
	struct tflite_commands *all;
	struct flatbuf *fb;
	const struct npuplan_graph *graph;
	const struct npuplan_step *step;
	const struct npuplan_op *op;
	struct flatbuf_table table;
	struct flatbuf_table options;
	struct flatbuf_vector inputs;
	struct flatbuf_vector outputs;
	int32_t builtin;
	struct npumem_command head;
	struct npumem_command_operand operands[NPUMEM_COMMAND_MAX_OPERANDS];
	struct npumem_command_piece pieces[NPUMEM_COMMAND_MAX_OPERANDS];
	struct npumem_command_scale *scales;
	int32_t attributes[MAX_ATTRIBUTES];
};

/*
 * struct quantization - how the file maps a tensor's integers to real numbers, one pair or one a
 * channel
 */
struct quantization {
	struct flatbuf_vector scales;
	struct flatbuf_vector zero_points;
};

/* How a tensor's shape is seen as N x H x W x C. */
enum view {
	NATURAL, /* rank 4 as it is; others are rows of channels */
	ALIGNED, /* the last dimensions are the last ones */
	VECTOR,	 /* all are channels */
	WEIGHTS, /* out, in of a fully connected layer */
	SERIES,	 /* batch, time, elements */
	BATCHES, /* batch, elements */
};

/*
 * After the first error, which the file's reader keeps, none of these functions does anything, and
 * numbers are 0.
 */

/** maker_fail() - fail with @err and a sentence about the operator; returns the first error */
__attribute__((format(printf, 3, 4))) int maker_fail(struct command_maker *m, int err,
						     const char *format, ...);
/** maker_tensor_type() - TFLite's type of a tensor of the graph */
uint8_t maker_tensor_type(struct command_maker *m, uint32_t tensor);
bool maker_is_float_type(uint8_t type);
/* The quantization of a tensor of the file, and that of a tensor of the graph. */
struct quantization maker_file_quantization(struct flatbuf *fb, const struct flatbuf_table *tensor);
struct quantization maker_quantization_of(struct command_maker *m, uint32_t tensor);
/** maker_scale_at() - the scale of a channel; one that has none, or none that is positive, fails */
float maker_scale_at(struct command_maker *m, uint32_t tensor, uint32_t index);
/* The scale, and the zero point, of a tensor that has one of each for all of its channels. */
float maker_scale_of(struct command_maker *m, uint32_t tensor);
int32_t maker_zero_point(struct command_maker *m, uint32_t tensor);
/** maker_data_of() - the constant bytes of a tensor, in the file */
struct flatbuf_vector maker_data_of(struct command_maker *m, uint32_t tensor);
/** maker_input_at() - the operator's n-th input in the file; NPUMEM_NONE if it has none */
uint32_t maker_input_at(struct command_maker *m, uint32_t n);
/** maker_activation_at() - the fused activation that a field of the options names */
uint8_t maker_activation_at(struct command_maker *m, unsigned int field);

/** maker_writes() - whether the step writes a tensor, or a part of it */
bool maker_writes(const struct command_maker *m, uint32_t tensor);
/** maker_add_operand() - add an operand: the @nth of the step's accesses to that tensor */
void maker_add_operand(struct command_maker *m, uint32_t tensor, enum view view, unsigned int mode,
		       uint32_t nth);
/* maker_add_stored() - the same; its elements are what the file says of those of tensor @like */
void maker_add_stored(struct command_maker *m, uint32_t tensor, uint32_t like, enum view view,
		      unsigned int mode, uint32_t nth);
/** maker_add_input() - add the operator's n-th input in the file as an operand; its tensor */
uint32_t maker_add_input(struct command_maker *m, uint32_t n, enum view view);
/** maker_add_output() - add the operator's only output as an operand; returns its tensor */
uint32_t maker_add_output(struct command_maker *m, enum view view);
/** maker_add_same() - add output and input of an operator that goes element by element */
void maker_add_same(struct command_maker *m);
/** maker_add_copy() - the same of one whose input may have another shape of as many elements */
void maker_add_copy(struct command_maker *m);
/** maker_fit_copy() - what maker_add_copy() does with the two once they are there */
void maker_fit_copy(struct command_maker *m);
/* Add a scale: @factor as a whole number and a power of two. */
void maker_add_scale(struct command_maker *m, double factor);
/** maker_set_range() - set attributes @first and @first + 1 to what an activation leaves */
void maker_set_range(struct command_maker *m, uint8_t activation, uint32_t tensor, uint32_t first);
/** maker_open_range() - likewise, of an operator of floats that leaves infinities as they are */
void maker_open_range(struct command_maker *m, uint32_t first);
