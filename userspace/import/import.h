/* SPDX-License-Identifier: MIT */
/*
 * Model readers: graph JSON, TFLite and graph blobs -> struct npuplan_graph.
 *
 * Input is not trusted: every reader checks all that it relies on and ends in
 * a sentence that names the place (JSON path, byte of the file, operator and
 * tensor), never in a crash. Functions return 0 or a negative errno: -EBADMSG
 * the file is not well formed, -EINVAL it breaks a rule of its format or of
 * graphs, -EOPNOTSUPP it needs what is not supported, -E2BIG it is too large,
 * -ENOMEM; npuimport_file() also what open() and read() give.
 *
 * What all readers promise of a graph they return: operators are in an order
 * in which every tensor is written before it is read (tensors with aliases:
 * see the verifier), each tensor is written at most once, aliases lead to their
 * bases and are inside them, sizes are 1 byte to NPUIMPORT_MAX_BYTES, ids are unique. There
 * are no steps yet (but in a graph read from a blob): see
 * npuplan_graph_tile_whole() and npuplan_graph_tile_bands().
 */
#ifndef NPUMEM_IMPORT_H
#define NPUMEM_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "npuplan.h"

/* Largest tensor, in bytes: the sum over a graph then fits 64 bits. */
#define NPUIMPORT_MAX_BYTES	 (1ll << 40)
/* Largest file read, in bytes. */
#define NPUIMPORT_MAX_FILE	 (2ll << 30)
/* Inputs and outputs of all operators together. */
#define NPUIMPORT_MAX_REFERENCES (1u << 22)
/* Rank, coordinates and padding of shapes and windows. */
#define NPUIMPORT_MAX_DIM	 INT32_MAX
/* Kernel elements along one dimension. */
#define NPUIMPORT_MAX_KERNEL	 65535

/** enum npuimport_format - kind of a file */
enum npuimport_format {
	NPUIMPORT_UNKNOWN,
	NPUIMPORT_GRAPH_JSON,
	NPUIMPORT_TFLITE,
	NPUIMPORT_BLOB, /* npumem_graph.h */
};

/**
 * struct npuimport_info - what was in the file, and what was left out
 * @format: of the file
 * @subgraphs: of the model; only the first is imported
 * @operators: of the first subgraph
 * @tensors: of the first subgraph
 * @views: operators that only give bytes another shape: not in the graph, their
 *	outputs are aliases
 * @left_out: tensors that are not in the graph, since nothing uses them and
 *	they have no size that is known
 */
struct npuimport_info {
	enum npuimport_format format;
	uint32_t subgraphs;
	uint32_t operators;
	uint32_t tensors;
	uint32_t left_out;
	uint32_t views;
};

/** npuimport_format_name() - "graph JSON", "TFLite", "graph blob" or "unknown" */
const char *npuimport_format_name(enum npuimport_format format);

/**
 * npuimport_read_file() - all bytes of a file
 * @path: of the file; "-" is standard input
 * @data: out: malloc'ed, NUL-terminated beyond @size; free() it
 *
 * -E2BIG more than NPUIMPORT_MAX_FILE bytes.
 */
int npuimport_read_file(const char *path, void **data, size_t *size, struct npuplan_error *error);

/**
 * npuimport_file() - read a model, its format told by its content
 * @path: of the file; "-" is standard input
 * @info: may be NULL
 */
int npuimport_file(const char *path, struct npuplan_graph **out, struct npuimport_info *info,
		   struct npuplan_error *error);

/**
 * npuimport_buffer() - the same from memory
 * @name: of the graph where the format has none; a path loses its folders and
 *	its extension
 */
int npuimport_buffer(const void *data, size_t size, const char *name, struct npuplan_graph **out,
		     struct npuimport_info *info, struct npuplan_error *error);

/** npuimport_graph_json() - read graph JSON (docs/formats.md) */
int npuimport_graph_json(const char *text, size_t size, struct npuplan_graph **out,
			 struct npuimport_info *info, struct npuplan_error *error);

/**
 * npuimport_graph_json_write() - graph JSON of a graph
 * @text: out: malloc'ed, NUL-terminated; free() it
 *
 * What struct npuplan_graph does not hold (fused activations, say) is not
 * written. Reading the text and writing that graph gives the same bytes. The
 * graph must have operators: steps alone say nothing of a model (-EINVAL).
 */
int npuimport_graph_json_write(const struct npuplan_graph *graph, char **text,
			       struct npuplan_error *error);

/** npuimport_tflite() - read subgraph 0 of a TFLite model
 * @name: of the graph
 */
int npuimport_tflite(const void *data, size_t size, const char *name, struct npuplan_graph **out,
		     struct npuimport_info *info, struct npuplan_error *error);

/**
 * npuimport_tflite_emit() - TFLite model with an offline memory plan
 * @data: model of one subgraph, @size bytes
 * @offsets: per tensor of the model its arena offset, a multiple of 16; -1 for
 *	tensors that TensorFlow Lite Micro shall place itself, and for constants
 * @count: must be the model's number of tensors
 * @out: out: malloc'ed, @out_size bytes; free() it
 *
 * Adds metadata OfflineMemoryAllocation, or replaces its numbers; all else stays
 * as it is, and is read again to make sure. -EINVAL: an offset is none, or the
 * model has something in the way; -EOPNOTSUPP: several subgraphs (TFLM would
 * apply the offsets to each), or a model newer than is known here.
 */
int npuimport_tflite_emit(const void *data, size_t size, const int32_t *offsets, uint32_t count,
			  void **out, size_t *out_size, struct npuplan_error *error);

#endif /* NPUMEM_IMPORT_H */
