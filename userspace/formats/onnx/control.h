/* SPDX-License-Identifier: MIT */
/* Between the parts of the ONNX reader that read If, Loop and Scan. */
#pragma once

#include "nodes.h"

/** onnx_part_name() - of what the file has no name for: the node's with a word */
struct import_text onnx_part_name(const struct onnx_node *n, const char *part);

/** onnx_make_tensor() - a tensor that is not in the file; NPUMEM_NONE without elements */
uint32_t onnx_make_tensor(struct onnx_reader *r, const struct onnx_node *n, const char *part,
			  uint32_t type, const struct onnx_shape *shape);

/*
 * onnx_make_op() - an operator that is not in the file, planned whole
 * @inputs, @outputs: NPUMEM_NONE where there is none; without outputs there is no operator
 * @in_place: the first output may lie where the first input lies
 */
void onnx_make_op(struct onnx_reader *r, const struct onnx_node *n, const char *part,
		  const char *kind, const uint32_t inputs[2], const uint32_t outputs[2],
		  bool in_place);

/** onnx_graph_of() - a graph that a node has as an attribute; NULL after an error */
const Onnx__GraphProto *onnx_graph_of(struct onnx_reader *r, const struct onnx_node *n,
				      const char *attribute);

/*
 * onnx_enter() - begin to read a graph that a node has as an attribute
 * @inputs: that it must have; they have no values yet
 *
 * False after an error. If it was entered onnx_leave() it, whatever comes.
 */
bool onnx_enter(struct onnx_reader *r, const struct onnx_node *n, const char *attribute,
		uint32_t inputs, struct onnx_scope *scope);
void onnx_leave(struct onnx_reader *r);

/** onnx_input_of() - the k-th input of the graph that is being read; NULL after an error */
struct onnx_value *onnx_input_of(struct onnx_reader *r, uint32_t k);
/** onnx_output_of() - the k-th output of that, which has a value; NULL after an error */
struct onnx_value *onnx_output_of(struct onnx_reader *r, uint32_t k);

/** onnx_loop() - a node Loop, its inputs and outputs found */
void onnx_loop(struct onnx_reader *r, struct onnx_node *n);
/** onnx_scan() - a node Scan, its inputs and outputs found */
void onnx_scan(struct onnx_reader *r, struct onnx_node *n);
