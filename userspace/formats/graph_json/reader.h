/* SPDX-License-Identifier: MIT */
/* Between the parts of the graph JSON reader. Internal to the importer. */
#ifndef NPUMEM_IMPORT_GRAPH_JSON_H
#define NPUMEM_IMPORT_GRAPH_JSON_H

#include <jansson.h>

#include "check.h"

/* A place in the document: "$.ops[3].attrs". */
struct graph_json_path {
	char s[96];
};

__attribute__((format(printf, 1, 2))) struct graph_json_path graph_json_path(const char *fmt, ...);

/* id of the file -> index */
struct graph_json_id {
	int64_t id;
	uint32_t index;
};

/**
 * struct graph_json_reader
 * @graph: in the making
 * @ids: of tensors, sorted by id
 * @input_of: per tensor, the number of the latest operator that reads it
 * @doubts: what to do about what is not understood
 * @whole: no operator can be cut: what the dimensions of shapes are is not known
 * @error: the caller's, or @own
 */
struct graph_json_reader {
	struct npuplan_graph *graph;
	struct graph_json_id *ids;
	uint32_t *input_of;
	uint32_t id_count;
	bool whole;
	struct import_doubts doubts;
	struct npuplan_error *error;
	struct npuplan_error own;
};

/** graph_json_fail() - "$.a.b: sentence", returns -EINVAL */
__attribute__((format(printf, 4, 5))) int graph_json_fail(struct graph_json_reader *reader,
							  const char *path, const char *key,
							  const char *fmt, ...);

/** graph_json_doubt() - import_doubt() of this reader's error; returns what to go on with
 * @what: field or attribute
 */
int graph_json_doubt(struct graph_json_reader *reader, int err, enum npuimport_doubt kind,
		     const char *what, const char *path);

/*
 * Members of an object, with their type and range checked. An absent member
 * leaves *value alone and is an error only if @required.
 */
int graph_json_get_int(struct graph_json_reader *reader, json_t *object, const char *path,
		       const char *key, bool required, int64_t min, int64_t max, int64_t *value);
int graph_json_get_bool(struct graph_json_reader *reader, json_t *object, const char *path,
			const char *key, bool *value);
int graph_json_get_string(struct graph_json_reader *reader, json_t *object, const char *path,
			  const char *key, bool required, const char **value);
int graph_json_get_array(struct graph_json_reader *reader, json_t *object, const char *path,
			 const char *key, bool required, json_t **value);
/** graph_json_get_ints() - list of @min_count to @max_count integers; *count 0 if absent */
int graph_json_get_ints(struct graph_json_reader *reader, json_t *object, const char *path,
			const char *key, size_t min_count, size_t max_count, int64_t min,
			int64_t max, int64_t *values, size_t *count);
/** graph_json_only_keys() - no member but @keys (NULL-terminated) and "x_...", in doubt or not */
int graph_json_only_keys(struct graph_json_reader *reader, json_t *object, const char *path,
			 const char *const *keys);

/** graph_json_known_keys() - others than @keys and "x_..." are doubts
 * @unknown: set if there is one; left alone if not. May be NULL
 */
int graph_json_known_keys(struct graph_json_reader *reader, json_t *object, const char *path,
			  const char *const *keys, enum npuimport_doubt kind, bool *unknown);

/** graph_json_tensor_of_id() - index, or NPUMEM_NONE */
uint32_t graph_json_tensor_of_id(const struct graph_json_reader *reader, int64_t id);

/** graph_json_get_tensors() - list of ids of tensors -> malloc'ed list of indices */
int graph_json_get_tensors(struct graph_json_reader *reader, json_t *object, const char *path,
			   const char *key, uint32_t **indices, uint32_t *count);
/** graph_json_sort_ids() - sort; no id may come twice
 * @what: "tensors" or "ops"
 */
int graph_json_sort_ids(struct graph_json_reader *reader, struct graph_json_id *ids, uint32_t count,
			const char *what);

/** graph_json_op() - read an operator that is no loop or branch, add it to @block */
int graph_json_op(struct graph_json_reader *reader, json_t *object, const char *path,
		  uint32_t block);
/** graph_json_ops() - operators, loops and branches -> blocks and edges
 * @list: "ops" of the file
 *
 * Block 0 has no edge that leads to it.
 */
int graph_json_ops(struct graph_json_reader *reader, json_t *root, json_t *list);

/** graph_json_aliases() - "alias_of" of all tensors, chains made short
 * @list: of the tensors, all else of which is read
 *
 * Refuses ranges that are not inside, chains that go in a circle, addresses that
 * break the alignment, and kinds that the base does not give.
 */
int graph_json_aliases(struct graph_json_reader *reader, json_t *list);

/** graph_json_attrs() - read the attributes of an operator
 * @object: the operator; @path: its
 * @op: all else of it is filled in
 *
 * What is not understood leaves it without window, and to be planned whole.
 */
int graph_json_attrs(struct graph_json_reader *reader, json_t *object, const char *path,
		     struct npuplan_op *op);

#endif /* NPUMEM_IMPORT_GRAPH_JSON_H */
