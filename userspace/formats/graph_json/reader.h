/* SPDX-License-Identifier: MIT */
/* Between the parts of the graph JSON reader. Internal to the importer. */
#pragma once

#include "../json/get.h"
#include "check.h"

/*
 * struct graph_json_reader
 * @json: the file. Its error's place is never NULL
 * @graph: in the making
 * @ids: of tensors, sorted by id
 * @input_of: per tensor, the number of the latest operator that reads it
 * @doubts: what to do about what is not understood
 * @whole: no operator can be cut: what the dimensions of shapes are is not known
 */
struct graph_json_reader {
	struct npujson *json;
	struct npuplan_graph *graph;
	struct npujson_id *ids;
	uint32_t *input_of;
	uint32_t id_count;
	bool whole;
	struct import_doubts doubts;
};

/* Names of enum npumem_tensor_kind, by value; NULL ends them. */
extern const char *const graph_json_kinds[];

/* Alignment of a tensor of which the file gives none: natural alignment, if elements have one. */
static inline uint32_t graph_json_align(uint32_t elem_size)
{
	return elem_size && elem_size <= 16 && !(elem_size & (elem_size - 1)) ? elem_size : 1;
}

/* graph_json_doubt() - import_doubt() of the error of a part of the object at hand
 * @what: field or attribute
 *
 * The caller has seen to it that there was no error before that part. Returns whether
 * there is one in it, even if it need not be one.
 */
bool graph_json_doubt(struct graph_json_reader *r, enum npuimport_doubt kind, const char *what);

/* graph_json_known_keys() - @object must be one; others than @keys (NULL-terminated) and "x_..."
 * are doubts
 *
 * Returns whether there is one.
 */
bool graph_json_known_keys(struct graph_json_reader *r, json_t *object, const char *const *keys,
			   enum npuimport_doubt kind);

/** graph_json_only_keys() - @value must be an object of @keys and "x_...", in doubt or not */
void graph_json_only_keys(struct graph_json_reader *r, json_t *value, const char *const *keys);

/** graph_json_tensor_of_id() - index, or NPUMEM_NONE */
uint32_t graph_json_tensor_of_id(const struct graph_json_reader *r, int64_t id);

/** graph_json_get_tensors() - list of ids of tensors -> malloc'ed list of indices */
uint32_t *graph_json_get_tensors(struct graph_json_reader *r, json_t *object, const char *key,
				 uint32_t *count);
/* graph_json_sort_ids() - sort; no id may come twice
 * @what: "tensors" or "ops"
 */
void graph_json_sort_ids(struct graph_json_reader *r, struct npujson_id *ids, uint32_t count,
			 const char *what);

/** graph_json_op() - read an operator that is no loop or branch, add it to @block */
void graph_json_op(struct graph_json_reader *r, json_t *object, uint32_t block);

/* graph_json_ops() - operators, loops and branches -> blocks and edges
 * @list: "ops" of the file
 *
 * Block 0 has no edge that leads to it.
 */
void graph_json_ops(struct graph_json_reader *r, json_t *root, json_t *list);

/* graph_json_aliases() - "alias_of" of all tensors, chains made short
 * @list: of the tensors, all else of which is read
 *
 * Refuses ranges that are not inside, chains that go in a circle, addresses that
 * break the alignment, and kinds that the base does not give.
 */
void graph_json_aliases(struct graph_json_reader *r, json_t *list);

/* graph_json_attrs() - read the attributes of an operator
 * @object: the operator, which is at hand
 * @op: all else of it is filled in
 *
 * What is not understood leaves it without window, and to be planned whole.
 */
void graph_json_attrs(struct graph_json_reader *r, json_t *object, struct npuplan_op *op);
