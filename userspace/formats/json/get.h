/* SPDX-License-Identifier: MIT */
/*
 * Members of JSON objects, checked, for the readers of graphs and of plans.
 *
 * The first error of a document is kept in its struct npujson, and calls after it say no
 * other. So a reader takes all members of an object and looks at the error once; it has to
 * look before it uses a value as an index.
 */
#pragma once

#include <jansson.h>

#include "npuplan_base.h"

/**
 * struct npujson - a document in the reading
 * @error: where the sentence of the first error goes; may be NULL
 * @err: -errno of the first error, 0 if there was none
 * @path: of the object at hand, for sentences: "$.ops[3].attrs"
 */
struct npujson {
	struct npuplan_error *error;
	int err;
	char path[96];
};

/* npujson_fail() - -EINVAL with the sentence "PATH.KEY: ...", unless there was an error before
 * @key: member of the object at hand; NULL for the object itself
 *
 * Returns the first error.
 */
__attribute__((format(printf, 3, 4))) int npujson_fail(struct npujson *json, const char *key,
						       const char *format, ...);

/** npujson_alloc() - calloc() of @count elements and one more; NULL is an error */
void *npujson_alloc(struct npujson *json, size_t count, size_t size);

/** npujson_copy() - strdup(); NULL is an error */
char *npujson_copy(struct npujson *json, const char *text);

/** npujson_index() - @index of what was added for the object at hand; -errno is an error, then 0 */
uint32_t npujson_index(struct npujson *json, int64_t index);

/** npujson_enter() - lengthen the path; returns what npujson_leave() shortens it to */
__attribute__((format(printf, 2, 3))) size_t npujson_enter(struct npujson *json, const char *format,
							   ...);
void npujson_leave(struct npujson *json, size_t length);

/* npujson_is_known() - whether a member's name is one of @known
 * @known: ends with NULL
 * @prefix: names that begin like this are known, too; may be NULL
 */
bool npujson_is_known(const char *key, const char *const *known, const char *prefix);

/** npujson_object() - @value must be an object without other members than @known */
void npujson_object(struct npujson *json, json_t *value, const char *const *known);

/** npujson_value() - integer of @min to @max; @key is for the sentence */
int64_t npujson_value(struct npujson *json, const char *key, const json_t *value, int64_t min,
		      int64_t max);

/** npujson_int() - member that must be there */
int64_t npujson_int(struct npujson *json, const json_t *object, const char *key, int64_t min,
		    int64_t max);

/** npujson_int_or() - member, or @absent */
int64_t npujson_int_or(struct npujson *json, const json_t *object, const char *key, int64_t min,
		       int64_t max, int64_t absent);

bool npujson_bool_or(struct npujson *json, const json_t *object, const char *key, bool absent);

/* npujson_text() - member; if @absent is NULL it must be there
 *
 * Returns no NULL: "" after an error.
 */
const char *npujson_text(struct npujson *json, const json_t *object, const char *key,
			 const char *absent);

/** npujson_choice() - number of the member's text in @names, which NULL ends; or @absent */
uint32_t npujson_choice(struct npujson *json, const json_t *object, const char *key, bool required,
			const char *const *names, uint32_t absent);

/** npujson_list() - member; NULL, which has no elements, if it is absent */
json_t *npujson_list(struct npujson *json, const json_t *object, const char *key, bool required);

/*
 * struct npujson_walk - through the elements of a list, each of which is the object at hand in turn
 * @name: of the list, for the path
 * @count: elements so far, the one at hand among them
 * @outside: the path's length without them
 */
struct npujson_walk {
	struct npujson *json;
	const json_t *list;
	const char *name;
	size_t count;
	size_t outside;
};

/** npujson_walk() - before the first element of @list, which may be NULL: that has none */
struct npujson_walk npujson_walk(struct npujson *json, const json_t *list, const char *name);

/** npujson_next() - the next element; NULL behind the last one, or after an error */
json_t *npujson_next(struct npujson_walk *walk);

/* npujson_ints() - list of @min_count to @max_count integers
 * @values: left alone if the list is absent
 *
 * Returns how many there are, 0 after an error.
 */
size_t npujson_ints(struct npujson *json, const json_t *object, const char *key, bool required,
		    size_t min_count, size_t max_count, int64_t min, int64_t max, int64_t *values);

/**
 * struct npujson_id - from what a file calls a thing to its index
 * @id: as the file has it
 * @tile: which one of several of this id; 0 if there is but one
 * @index: of the thing in the graph
 */
struct npujson_id {
	int64_t id;
	uint32_t tile;
	uint32_t index;
};

/** npujson_sort_ids() - sort for npujson_find(); returns one that comes twice, or NULL */
const struct npujson_id *npujson_sort_ids(struct npujson_id *ids, uint32_t count);

/** npujson_find() - index, or NPUMEM_NONE */
uint32_t npujson_find(const struct npujson_id *ids, uint32_t count, int64_t id, uint32_t tile);
