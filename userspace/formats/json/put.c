// SPDX-License-Identifier: MIT
#include "put.h"

#include <errno.h>

void npujson_set(json_t **object, const char *key, json_t *value)
{
	if (json_object_set_new(*object, key, value)) {
		json_decref(*object);
		*object = NULL;
	}
}

void npujson_set_int(json_t **object, const char *key, json_int_t value)
{
	npujson_set(object, key, json_integer(value));
}

void npujson_set_if(json_t **object, const char *key, json_int_t value)
{
	if (value)
		npujson_set_int(object, key, value);
}

void npujson_append(json_t **list, json_t *value)
{
	if (json_array_append_new(*list, value)) {
		json_decref(*list);
		*list = NULL;
	}
}

void npujson_put(struct npujson_text *text, const char *before, json_t *value)
{
	fputs(before, text->out);
	if (!text->err && (!value || json_dumpf(value, text->out, JSON_COMPACT | JSON_ENCODE_ANY)))
		text->err = -ENOMEM;
	json_decref(value);
}

void npujson_put_line(struct npujson_text *text, size_t i, json_t *value)
{
	npujson_put(text, i ? ",\n" : "\n", value);
}
