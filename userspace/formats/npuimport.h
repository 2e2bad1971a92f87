/* SPDX-License-Identifier: MIT */
/*
 * libnpuimport: model readers: graph JSON, TFLite, ONNX and graph blobs -> struct npuplan_graph.
 *
 * Input is not trusted: every reader checks all that it relies on and ends in
 * a sentence that names the place (JSON path, byte of the file, operator and
 * tensor), never in a crash. Functions return 0 or a negative errno: -EBADMSG
 * the file is not well formed, -EINVAL it breaks a rule of its format or of
 * graphs, -EOPNOTSUPP it needs what is not supported, -E2BIG it is too large,
 * -ENOMEM; npuimport_file() also what open() and read() give.
 *
 * What a reader does not understand, but planning whole operators does not need,
 * is a warning unless it is asked to be strict: see struct npuimport_options.
 *
 * What all readers promise of a graph they return: operators are in an order
 * in which every tensor is written before it is read (tensors with aliases:
 * see the verifier), each tensor is written at most once, aliases lead to their
 * bases and are inside them, sizes are 1 byte to NPUIMPORT_MAX_BYTES, ids are unique. There
 * are no steps yet (but in a graph read from a blob): see
 * npuplan_graph_tile() and npuplan_graph_tile_bands().
 */
#ifndef NPUIMPORT_H
#define NPUIMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "npuplan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPUIMPORT_EXPORT __attribute__((visibility("default")))

/* Largest tensor, in bytes: the sum over a graph then fits 64 bits. */
#define NPUIMPORT_MAX_BYTES	 (1ll << 40)
/* Largest file read, in bytes. */
#define NPUIMPORT_MAX_FILE	 (2ll << 30)
/* The same of JSON, which takes many times as much memory. */
#define NPUIMPORT_MAX_JSON	 ((size_t)256 << 20)
/* Inputs and outputs of all operators together. */
#define NPUIMPORT_MAX_REFERENCES (1u << 22)
/* Rank, coordinates and padding of shapes and windows. */
#define NPUIMPORT_MAX_DIM	 INT32_MAX
/* Kernel elements along one dimension. */
#define NPUIMPORT_MAX_KERNEL	 65535

/**
 * npuimport_version() - version of the library, as "major.minor.patch"
 *
 * The text is the library's.
 */
NPUIMPORT_EXPORT const char *npuimport_version(void);

/** enum npuimport_format - kind of a file */
enum npuimport_format {
	NPUIMPORT_UNKNOWN,
	NPUIMPORT_GRAPH_JSON,
	NPUIMPORT_TFLITE,
	NPUIMPORT_BLOB, /* npumem_graph.h */
	NPUIMPORT_ONNX,
};

/**
 * struct npuimport_info - what was in the file, and what was left out
 * @format: of the file
 * @subgraphs: of the model
 * @operators: of the first subgraph
 * @tensors: of the first subgraph
 * @views: operators that only give bytes another shape: not in the graph, their
 *	outputs are aliases
 * @left_out: tensors of the first subgraph that are not in the graph, since they
 *	have no bytes, or nothing uses them and they have no size that is known; of ONNX
 *	also constants that no operator of the graph uses
 * @instances: how often other subgraphs are in the graph: each place that runs one
 *	has tensors of its own
 * @loops: operators that run a subgraph again and again
 * @branches: operators that run one of two subgraphs
 * @variables: resource variables, which are state
 * @reserved: room for later versions; zero
 */
struct npuimport_info {
	enum npuimport_format format;
	uint32_t subgraphs;
	uint32_t operators;
	uint32_t tensors;
	uint32_t left_out;
	uint32_t views;
	uint32_t instances;
	uint32_t loops;
	uint32_t branches;
	uint32_t variables;
	uint64_t reserved[2];
};

/**
 * npuimport_format_name() - "graph JSON", "TFLite", "graph blob", "ONNX" or "unknown"
 * @format: of a file
 *
 * The text is the library's.
 */
NPUIMPORT_EXPORT const char *npuimport_format_name(enum npuimport_format format);

/**
 * enum npuimport_doubt - what was not understood, and what the reader did instead
 * @NPUIMPORT_DOUBT_FIELD: a field of the file or of a tensor that is not known: passed over
 * @NPUIMPORT_DOUBT_VALUE: a known field's value that planning does not need: passed over
 * @NPUIMPORT_DOUBT_LAYOUT: what the shapes' dimensions are: all operators are planned whole
 * @NPUIMPORT_DOUBT_SHAPE: of a tensor: it has its bytes alone, and is never cut
 * @NPUIMPORT_DOUBT_ELEMENT: of a tensor: its bytes and shape say another element size
 *	than the file's "dtype_bytes", and theirs was taken
 * @NPUIMPORT_DOUBT_ATTRIBUTE: an attribute or field of an operator that is not known, or
 *	has a value of another form: the operator is planned whole
 * @NPUIMPORT_DOUBT_WINDOW: a window that is not understood, or does not make the
 *	output's shape of the input's: the operator is planned whole
 * @NPUIMPORT_DOUBT_PADDING: padding by name, for which numbers were computed: nothing
 *	is lost
 * @NPUIMPORT_DOUBT_INPLACE: not taken as working in place
 * @NPUIMPORT_DOUBT_OPERATOR: an operator that is not known: planned whole
 * @NPUIMPORT_DOUBTS: number of kinds
 *
 * An operator that is planned whole is one step, whatever the graph is cut into
 * (npuplan_attrs.whole).
 */
enum npuimport_doubt {
	NPUIMPORT_DOUBT_FIELD,
	NPUIMPORT_DOUBT_VALUE,
	NPUIMPORT_DOUBT_LAYOUT,
	NPUIMPORT_DOUBT_SHAPE,
	NPUIMPORT_DOUBT_ELEMENT,
	NPUIMPORT_DOUBT_ATTRIBUTE,
	NPUIMPORT_DOUBT_WINDOW,
	NPUIMPORT_DOUBT_PADDING,
	NPUIMPORT_DOUBT_INPLACE,
	NPUIMPORT_DOUBT_OPERATOR,
	NPUIMPORT_DOUBTS,
};

/* Warnings of one kind about one thing, and places of each, that are kept. */
#define NPUIMPORT_WARNINGS 16
#define NPUIMPORT_PLACES   3

/**
 * struct npuimport_warning - one thing that was not understood, wherever it stands
 * @kind: enum npuimport_doubt
 * @count: how often
 * @what: name of the field or attribute; the operator's type, of windows
 * @text: of the first place the sentence that a strict reader ends with
 * @places: the first ones, in the order of the file: JSON path, or operator
 */
struct npuimport_warning {
	enum npuimport_doubt kind;
	uint64_t count;
	char what[64];
	char text[320];
	char places[NPUIMPORT_PLACES][96];
};

/**
 * struct npuimport_warnings - all that was not understood; bounded, whatever the file
 * @list: in the order in which they were met; @count of them
 * @count: number of warnings in @list
 * @total: of all places, those of things that found no room in @list too
 * @unlisted: of these alone
 * @reserved: room for later versions; zero
 */
struct npuimport_warnings {
	struct npuimport_warning list[NPUIMPORT_WARNINGS];
	uint32_t count;
	uint64_t total;
	uint64_t unlisted;
	uint64_t reserved[4];
};

/**
 * struct npuimport_dim - size of a dimension for which the model has a name only
 * @name: as the model has it ("batch"); of a dimension without one its tensor's name and its
 *	number ("x:0")
 * @size: elements, from 1 on
 */
struct npuimport_dim {
	const char *name;
	int64_t size;
};

/**
 * struct npuimport_options - how to read; where NULL is given, strictly
 * @strict: refuse (-EINVAL) what is not understood. For authors of converters
 * @warnings: filled in, whether the model is read or refused; zeroed by the caller.
 *	NULL: they are of no interest
 * @dims: sizes of dimensions, @dim_count of them; of ONNX models, others have none
 * @dim_count: number of @dims
 * @folder: where the files are that a model names, of which small constants are read; NULL: none is
 *	read, or, by npuimport_file(), those beside the model
 */
struct npuimport_options {
	bool strict;
	struct npuimport_warnings *warnings;
	const struct npuimport_dim *dims;
	uint32_t dim_count;
	const char *folder;
};

/**
 * npuimport_doubt_name() - one word for a kind of what was not understood
 * @kind: below NPUIMPORT_DOUBTS
 *
 * "field", "attribute", "window" and so on. The text is the library's.
 */
NPUIMPORT_EXPORT const char *npuimport_doubt_name(enum npuimport_doubt kind);

/**
 * npuimport_warning_text() - a warning as one sentence, for people
 * @warning: the warning
 * @text: out: as much of it as fits into @size bytes, no newline. Names are the
 *	model's: they may have control characters
 * @size: bytes at @text
 */
NPUIMPORT_EXPORT void npuimport_warning_text(const struct npuimport_warning *warning, char *text,
					     size_t size);

/**
 * npuimport_read_file() - all bytes of a file
 * @path: of the file; "-" is standard input
 * @data: out: malloc'ed, NUL-terminated beyond @size; free() it
 * @size: out: bytes at @data, without the NUL
 * @error: filled in if the call fails; may be NULL
 *
 * -E2BIG: more than NPUIMPORT_MAX_FILE bytes, or NPUIMPORT_MAX_JSON if it begins as JSON does;
 * -EOPNOTSUPP: a device, or a file that begins with eight NULs, as nothing that can be read here
 * does; -ENOMEM; otherwise what open() and read() give,
 * as -ENOENT.
 */
NPUIMPORT_EXPORT int npuimport_read_file(const char *path, void **data, size_t *size,
					 struct npuplan_error *error);

NPUIMPORT_EXPORT int npuimport_file_sized(const char *path, const struct npuimport_options *options,
					  size_t options_size, struct npuplan_graph **out,
					  struct npuimport_info *info, struct npuplan_error *error);
/**
 * npuimport_file() - read a model, its format told by its content
 * @path: of the file; "-" is standard input
 * @options: may be NULL
 * @out: out: the graph; npuplan_graph_free() it
 * @info: out: what was in the file; may be NULL
 * @error: filled in if the call fails; may be NULL
 *
 * Errors as npuimport_read_file() and npuimport_buffer().
 */
static inline int npuimport_file(const char *path, const struct npuimport_options *options,
				 struct npuplan_graph **out, struct npuimport_info *info,
				 struct npuplan_error *error)
{
	return npuimport_file_sized(path, options, sizeof(*options), out, info, error);
}

NPUIMPORT_EXPORT int npuimport_buffer_sized(const void *data, size_t size, const char *name,
					    const struct npuimport_options *options,
					    size_t options_size, struct npuplan_graph **out,
					    struct npuimport_info *info,
					    struct npuplan_error *error);
/**
 * npuimport_buffer() - the same from memory
 * @data: the bytes
 * @size: bytes at @data
 * @name: of the graph where the format has none; a path loses its folders and
 *	its extension
 * @options: may be NULL
 * @out: out: the graph, which keeps nothing of @data; npuplan_graph_free() it
 * @info: out: what was in the file; may be NULL
 * @error: filled in if the call fails; may be NULL
 *
 * -EBADMSG: not well formed; -EINVAL: a rule of its format or of graphs is broken, or, if the
 * options are strict, something is not understood; -EOPNOTSUPP: none of the formats, or what is
 * not supported; -E2BIG: too large, or options of a later version; -ENOMEM.
 */
static inline int npuimport_buffer(const void *data, size_t size, const char *name,
				   const struct npuimport_options *options,
				   struct npuplan_graph **out, struct npuimport_info *info,
				   struct npuplan_error *error)
{
	return npuimport_buffer_sized(data, size, name, options, sizeof(*options), out, info,
				      error);
}

NPUIMPORT_EXPORT int npuimport_graph_json_sized(const char *text, size_t size,
						const struct npuimport_options *options,
						size_t options_size, struct npuplan_graph **out,
						struct npuimport_info *info,
						struct npuplan_error *error);
/**
 * npuimport_graph_json() - read graph JSON (docs/formats.md), and nothing else
 * @text: the text
 * @size: bytes at @text
 * @options: may be NULL
 * @out: out: the graph, which keeps nothing of @text; npuplan_graph_free() it
 * @info: out: what was in the text; may be NULL
 * @error: filled in if the call fails; may be NULL
 *
 * For programs that are to take no other format, whatever the bytes are: a server, say. Errors
 * as npuimport_buffer(), but for other formats, which are -EBADMSG here.
 */
static inline int npuimport_graph_json(const char *text, size_t size,
				       const struct npuimport_options *options,
				       struct npuplan_graph **out, struct npuimport_info *info,
				       struct npuplan_error *error)
{
	return npuimport_graph_json_sized(text, size, options, sizeof(*options), out, info, error);
}

/**
 * npuimport_graph_json_write() - graph JSON of a graph
 * @graph: the graph
 * @text: out: malloc'ed, NUL-terminated; free() it
 * @error: filled in if the call fails; may be NULL
 *
 * What struct npuplan_graph does not hold (fused activations, say) is not
 * written. Reading the text and writing that graph gives the same bytes. The
 * graph must have operators: steps alone say nothing of a model (-EINVAL).
 */
NPUIMPORT_EXPORT int npuimport_graph_json_write(const struct npuplan_graph *graph, char **text,
						struct npuplan_error *error);

NPUIMPORT_EXPORT int npuimport_tflite_sized(const void *data, size_t size, const char *name,
					    const struct npuimport_options *options,
					    size_t options_size, struct npuplan_graph **out,
					    struct npuimport_info *info,
					    struct npuplan_error *error);
/**
 * npuimport_tflite() - read a TFLite model, and nothing else
 * @data: the bytes
 * @size: bytes at @data
 * @name: of the graph; copied
 * @options: may be NULL
 * @out: out: the graph, which keeps nothing of @data; npuplan_graph_free() it
 * @info: out: what was in the model; may be NULL
 * @error: filled in if the call fails; may be NULL
 *
 * The model is its first subgraph, with those that it runs: loops and branches become blocks
 * and edges. Ids of tensors and operators are their numbers, counted through all subgraphs; of a
 * subgraph that stands in the graph again, and of copies that are not in the file, higher ones.
 * Errors as npuimport_buffer(), but for other formats, which are -EBADMSG here; -ELOOP: a
 * subgraph runs itself.
 */
static inline int npuimport_tflite(const void *data, size_t size, const char *name,
				   const struct npuimport_options *options,
				   struct npuplan_graph **out, struct npuimport_info *info,
				   struct npuplan_error *error)
{
	return npuimport_tflite_sized(data, size, name, options, sizeof(*options), out, info,
				      error);
}

NPUIMPORT_EXPORT int npuimport_onnx_sized(const void *data, size_t size, const char *name,
					  const struct npuimport_options *options,
					  size_t options_size, struct npuplan_graph **out,
					  struct npuimport_info *info, struct npuplan_error *error);
/**
 * npuimport_onnx() - read an ONNX model, and nothing else
 * @data: the bytes
 * @size: bytes at @data
 * @name: of the graph; copied
 * @options: may be NULL
 * @out: out: the graph, which keeps nothing of @data; npuplan_graph_free() it
 * @info: out: what was in the model; may be NULL
 * @error: filled in if the call fails; may be NULL
 *
 * Ids of operators are the numbers of the nodes; tensors are counted as they stand in the file:
 * initializers, inputs, and what nodes write. Of data in other files that of small constants is
 * read, if @options has a folder, since it may decide how large tensors are. Errors as
 * npuimport_buffer(), but for other formats, which are -EBADMSG here; -EOPNOTSUPP also if the
 * library was built without protobuf-c.
 */
static inline int npuimport_onnx(const void *data, size_t size, const char *name,
				 const struct npuimport_options *options,
				 struct npuplan_graph **out, struct npuimport_info *info,
				 struct npuplan_error *error)
{
	return npuimport_onnx_sized(data, size, name, options, sizeof(*options), out, info, error);
}

/**
 * npuimport_tflite_emit() - TFLite model with an offline memory plan
 * @data: model of one subgraph, @size bytes
 * @size: bytes at @data
 * @offsets: per tensor of the model its arena offset, a multiple of 16; -1 for
 *	tensors that TensorFlow Lite Micro shall place itself, and for constants
 * @count: must be the model's number of tensors
 * @out: out: malloc'ed, @out_size bytes; free() it
 * @out_size: out: bytes at @out
 * @error: filled in if the call fails; may be NULL
 *
 * Adds metadata OfflineMemoryAllocation, or replaces its numbers; all else stays
 * as it is, and is read again to make sure. -EINVAL: an offset is none, or the
 * model has something in the way; -EOPNOTSUPP: several subgraphs (TFLM would
 * apply the offsets to each), resource variables, or a model newer than is known here.
 */
NPUIMPORT_EXPORT int npuimport_tflite_emit(const void *data, size_t size, const int32_t *offsets,
					   uint32_t count, void **out, size_t *out_size,
					   struct npuplan_error *error);

#ifdef __cplusplus
}
#endif

#endif /* NPUIMPORT_H */
