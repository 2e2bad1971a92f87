/* SPDX-License-Identifier: MIT */
/* Between the parts of the ONNX reader that go from node to node. Internal to the importer. */
#pragma once

#include "base/reader.h"

/* ---------------------------------------------------------------- nodes.c */

/** onnx_names() - what the nodes of the graph that is being read write, and who reads it */
void onnx_names(struct onnx_reader *r);
/** onnx_nodes() - all nodes of the graph that is being read go into the graph */
void onnx_nodes(struct onnx_reader *r);
/* onnx_finish_output() - what a node makes, or hands to a graph that it runs, agrees with what the
 * file declares, which is taken where the node does not tell; the value has a value now
 */
void onnx_finish_output(struct onnx_reader *r, const struct onnx_node *n, struct onnx_value *value);
/** onnx_is_complete() - whether all dimensions are known */
bool onnx_is_complete(const struct onnx_shape *shape);
/** onnx_is_same() - whether a shape is as declared, where that says something */
bool onnx_is_same(const struct onnx_shape *declared, const struct onnx_shape *made);

/* ------------------------------------------------------------- control.c */

/** onnx_flow_ops - the reader's part of what all readers do for control flow */
extern const struct import_flow_ops onnx_flow_ops;
/** onnx_is_control() - If, Loop and Scan, which run graphs of their own */
bool onnx_is_control(const struct onnx_node *n);
/** onnx_control() - such a node, its inputs and outputs found */
void onnx_control(struct onnx_reader *r, struct onnx_node *n);

/* ------------------------------------------------------------ operators.c */

/** onnx_operator() - by ONNX's name; NULL: not known */
const struct onnx_operator *onnx_operator(const char *name);

/* ----------------------------------------------------------------- fold.c */

/** onnx_fold() - values of the outputs, if those of the inputs say them */
void onnx_fold(struct onnx_reader *r, struct onnx_node *n);
