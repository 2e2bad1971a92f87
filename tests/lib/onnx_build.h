/* SPDX-License-Identifier: MIT */
/*
 * Small ONNX models for tests, described by a text. Statements end with ";":
 *
 *	opset 13			of ONNX's own operators; 17 if nothing is said
 *	opset 1 com.example		of another domain
 *	in x float 1x3xNx?		an input; N is the name of a dimension, ? one without any,
 *					"-" a scalar, "*" no shape at all
 *	out y float 1x4			an output; "out y" alone says nothing of it
 *	info z float 1x4		what the file declares of a value
 *	init w float 4x3x3x3		an initializer of zeroes
 *	ints s 1,-1			an initializer: a list of int64; "int s 1": a scalar
 *	floats f 1,2.5			likewise of float; "flt f 2.5"
 *	node Conv x,w,,b -> y pads=[1,1] group=2 alpha=0.5 auto_pad=VALID
 *	graph NAME			what follows is of a graph that nodes run, until
 *	end				... here; nodes behind may have it as an attribute:
 *					"body=", an at sign, and its name
 *
 * A node's name, with a colon, may stand before its operator, the domain, with an at sign, behind.
 * Nothing is checked: descriptions may be wrong. What the text has no words for tests change in
 * the messages.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "onnx.pb-c.h"

/**
 * struct onnx_model - messages in the making
 * @model: the file
 * @graph: its graph
 * @graphs: graphs that nodes run
 * @graph_count: number of @graphs
 * @open: of all these, what statements add to
 * @blocks: all that they are made of, freed together
 * @block_count: number of @blocks
 */
struct onnx_model {
	Onnx__ModelProto model;
	Onnx__GraphProto graph;
	Onnx__GraphProto **graphs;
	size_t graph_count;
	Onnx__GraphProto *open;
	void **blocks;
	size_t block_count;
};

/** onnx_model_new() - of a description; onnx_model_free() it */
struct onnx_model *onnx_model_new(const char *text);
void onnx_model_free(struct onnx_model *model);
/** onnx_model_take() - zeroes that live as long as the model */
void *onnx_model_take(struct onnx_model *model, size_t size);
/** onnx_model_pack() - the file: malloc'ed, @size bytes and none beyond */
void *onnx_model_pack(const struct onnx_model *model, size_t *size);

static inline void onnx_model_free_at(struct onnx_model **model)
{
	onnx_model_free(*model);
}
#define AUTO_ONNX __attribute__((cleanup(onnx_model_free_at)))
