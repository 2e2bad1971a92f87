/* SPDX-License-Identifier: MIT */
/*
 * Members of JSON objects, checked, for the readers of graphs and of plans.
 *
 * The first error of a document is kept in its struct npujson, and calls after it say no
 * other. So a reader takes all members of an object and looks at the error once; it has to
 * look before it uses a value as an index. (jansson's json_unpack() says of a wrong member its
 * place in the text only, takes numbers as signed, and has no limits.)
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

/** npujson_alloc() - calloc() @count elements and one more; NULL: that error is kept */
void *npujson_alloc(struct npujson *json, size_t count, size_t size);

/** npujson_copy() - strdup() a text; NULL: that error is kept */
char *npujson_copy(struct npujson *json, const char *text);

/*
 * The index that an ..._add_...() call returned for the object at hand: @index. If that is a
 * negative errno, the error is kept, with a sentence, and the index is 0.
 */
uint32_t npujson_index(struct npujson *json, int64_t index);

/** npujson_enter() - lengthen the path; returns its length before, for npujson_leave() */
__attribute__((format(printf, 2, 3))) size_t npujson_enter(struct npujson *json, const char *format,
							   ...);
/* Shorten the path to @length again. */
void npujson_leave(struct npujson *json, size_t length);

/*
 * Whether a member's name is one of @known, which NULL ends, or begins with @prefix, which may be
 * NULL.
 */
bool npujson_is_known(const char *key, const char *const *known, const char *prefix);

/** npujson_object() - @value must be an object without other members than @known */
void npujson_object(struct npujson *json, json_t *value, const char *const *known);

/** npujson_value() - the integer that @value is, from @min to @max; @key is for the sentence */
int64_t npujson_value(struct npujson *json, const char *key, const json_t *value, int64_t min,
		      int64_t max);

/** npujson_int() - the integer of a member that must be there, from @min to @max */
int64_t npujson_int(struct npujson *json, const json_t *object, const char *key, int64_t min,
		    int64_t max);

/** npujson_int_or() - the same of a member that may be missing; @absent if it is */
int64_t npujson_int_or(struct npujson *json, const json_t *object, const char *key, int64_t min,
		       int64_t max, int64_t absent);

/* The boolean of a member; @absent if it is missing. */
bool npujson_bool_or(struct npujson *json, const json_t *object, const char *key, bool absent);

/*
 * The text of a member; @absent if the member is missing, which it must not be where @absent is
 * NULL. It is never NULL: after an error it is "".
 */
const char *npujson_text(struct npujson *json, const json_t *object, const char *key,
			 const char *absent);

/** npujson_choice() - number of the member's text in @names, which NULL ends; or @absent */
uint32_t npujson_choice(struct npujson *json, const json_t *object, const char *key, bool required,
			const char *const *names, uint32_t absent);

/** npujson_list() - the list of a member; NULL, which has no elements, if it is missing */
json_t *npujson_list(struct npujson *json, const json_t *object, const char *key, bool required);

/**
 * struct npujson_walk - a walk through a list, each element of which is the object at hand in turn
 * @json: the document
 * @list: the list; NULL: it has no elements
 * @name: the list's name, for the path
 * @count: how many elements have been met, the one at hand among them
 * @outside: length of the path without the element at hand
 */
struct npujson_walk {
	struct npujson *json;
	const json_t *list;
	const char *name;
	size_t count;
	size_t outside;
};

/** npujson_walk() - begin a walk before the first element of @list */
struct npujson_walk npujson_walk(struct npujson *json, const json_t *list, const char *name);

/** npujson_next() - the next element; NULL behind the last one, or after an error */
json_t *npujson_next(struct npujson_walk *walk);

/*
 * Read a list of @min_count to @max_count integers into @values, which are left alone if the list
 * is missing. Returns how many there are; 0 after an error.
 */
size_t npujson_ints(struct npujson *json, const json_t *object, const char *key, bool required,
		    size_t min_count, size_t max_count, int64_t min, int64_t max, int64_t *values);

/**
 * struct npujson_id - what a file calls a thing, with the thing's index
 * @id: the number that the file has for it
 * @tile: which of several things of this number it is; 0 if there is but one
 * @index: index of the thing in the graph
 */
struct npujson_id {
	int64_t id;
	uint32_t tile;
	uint32_t index;
};

/** npujson_sort_ids() - sort ids for npujson_find(); returns one that is there twice, or NULL */
const struct npujson_id *npujson_sort_ids(struct npujson_id *ids, uint32_t count);

/** npujson_find() - the index of a thing among sorted ids; NPUMEM_NONE if it is not there */
uint32_t npujson_find(const struct npujson_id *ids, uint32_t count, int64_t id, uint32_t tile);
