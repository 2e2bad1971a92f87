/* SPDX-License-Identifier: MIT */
/* Rules of graphs that all readers share. Internal to the importer. */
#pragma once

#include "base/region.h"
#include "npuimport.h"

/** import_fail() - put a sentence into @error, return @err */
__attribute__((format(printf, 3, 4))) int import_fail(struct npuplan_error *error, int err,
						      const char *fmt, ...);

/* import_clean_name() - a name of a file as clean UTF-8
 * @name: out: cut short to @room bytes, its NUL among them; bytes that are none become '?'
 * @text: @length bytes
 */
void import_clean_name(char *name, size_t room, const char *text, size_t length);

/* import_type_name() - a file's own name of an operator becomes the graph's: in small letters
 * @name: changed; @room bytes
 *
 * Names that mean something here ("loop", "cat", "scan_store") such operators do not have:
 * "custom_" is put before these.
 */
void import_type_name(char *name, size_t room);

/** import_tensor_text() - "tensor 7 'conv1/out'", cut short to fit @text */
struct import_text {
	char s[160];
};
struct import_text import_tensor_text(const struct npuplan_tensor *tensor);
/** import_op_text() - "operator 3 'conv1' (conv2d)" */
struct import_text import_op_text(const struct npuplan_op *op);

/**
 * struct import_doubts - what is done about what is not understood
 * @strict: it is refused
 * @warnings: counted here otherwise; may be NULL
 */
struct import_doubts {
	bool strict;
	struct npuimport_warnings *warnings;
};

/**
 * import_doubts_of() - what a caller's options say of doubts; without options all is refused
 * @doubts: out: what is done
 * @options: the caller's, of @size bytes; may be NULL
 * @size: see @options
 * @error: may be NULL
 *
 * -E2BIG: they ask for what this version does not know.
 */
int import_doubts_of(struct import_doubts *doubts, const struct npuimport_options *options,
		     size_t size, struct npuplan_error *error);

/* import_warn() - count what was not understood
 * @what: name of it, with @kind what warnings are told apart by
 * @where: JSON path, or operator
 * @text: sentence
 */
void import_warn(const struct import_doubts *doubts, enum npuimport_doubt kind, const char *what,
		 const char *where, const char *text);

/*
 * import_doubt() - an error that need not be one
 * @err: -EINVAL, with its sentence in @error, becomes 0 and a warning unless all is
 *	refused; others stay
 *
 * Returns what to go on with.
 */
int import_doubt(const struct import_doubts *doubts, int err, enum npuimport_doubt kind,
		 const char *what, const char *where, struct npuplan_error *error);

/* import_info() - what is said of a file of one graph; @info may be NULL */
void import_info(struct npuimport_info *info, enum npuimport_format format,
		 const struct npuplan_graph *graph);

/*
 * import_check_cat() - the inputs of a concatenation make up its output
 *
 * Along its axis if that and the shapes are known, else in bytes. Of an operator that
 * is planned whole they must be no less. -EINVAL with the operator and the numbers.
 */
int import_check_cat(const struct npuplan_graph *graph, const struct npuplan_op *op,
		     struct npuplan_error *error);

/*
 * import_check_graph() - every tensor is written once, before it is read, ...
 *
 * Inputs and parameters are never written; activations and outputs always are.
 * State may be read, or updated: then it is an input and an output of its
 * operator. Bytes that aliases share may be written under any of their names:
 * whether they are before they are read is left to the verifier. -EINVAL with the operator
 * and the tensor.
 */
int import_check_graph(const struct npuplan_graph *graph, struct npuplan_error *error);

/*
 * import_window_size() - elements that a window gives along one dimension
 * @in: elements of the input
 * @ceil_mode: a last window may hang over the end, but must start inside the
 *	input or its padding at the begin
 *
 * Negative or zero if the window does not fit.
 */
int64_t import_window_size(const struct npuplan_attrs *attrs, uint32_t dim, int64_t in,
			   bool ceil_mode);

/** import_spatial() - index in a shape of the first spatial dimension */
static inline uint32_t import_spatial(enum npuplan_layout layout)
{
	return layout == NPUPLAN_NCHW ? 2 : 1;
}
