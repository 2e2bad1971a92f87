/* SPDX-License-Identifier: MIT */
/*
 * JSON in the making. What has failed stays so, so that who makes a value looks once, at its end.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/*
 * One member or element is added to a value, which becomes NULL if that fails. The reference to
 * @value is taken over.
 */
void npujson_set(json_t **object, const char *key, json_t *value);
void npujson_set_int(json_t **object, const char *key, json_int_t value);
/* The same, unless the value is 0: then there is no such member. */
void npujson_set_if(json_t **object, const char *key, json_int_t value);
void npujson_append(json_t **list, json_t *value);

/*
 * struct npujson_text - JSON as text
 * @err: -ENOMEM if something was not written: for want of memory, or since it is no UTF-8
 */
struct npujson_text {
	FILE *out;
	int err;
};

/* npujson_put() - write a value behind @before, unless there was an error; takes the reference */
void npujson_put(struct npujson_text *text, const char *before, json_t *value);

/* npujson_put_line() - element @i of a list whose elements stand one a line */
void npujson_put_line(struct npujson_text *text, size_t i, json_t *value);
