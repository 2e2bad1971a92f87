// SPDX-License-Identifier: MIT
/* Fields of plan JSON, checked, with errors that name them. */
#include "get.h"

#include <stdarg.h>
#include <string.h>

int plan_json_fail(struct plan_json_reader *r, const char *field, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return npuplan_fail(r->error, -EINVAL, "%s%s%s: %s", r->path,
			    r->path[0] && *field ? "." : "", field, text);
}

/* Fields of an object that are known; NULL ends the list. */
int plan_json_fields(struct plan_json_reader *r, const json_t *object, const char *const *known)
{
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return plan_json_fail(r, "", "expected an object");
	/* Iterating does not change it; jansson has no const iterator. */
	json_object_foreach((json_t *)(uintptr_t)object, name, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], name))
			i++;
		if (!known[i])
			return plan_json_fail(r, name, "unknown field");
	}
	return 0;
}

int plan_json_integer(struct plan_json_reader *r, const char *field, const json_t *value,
		      uint64_t limit, uint64_t *out)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return plan_json_fail(r, field, "expected an integer of 0 or more");
	*out = json_integer_value(value);
	if (*out > limit)
		return plan_json_fail(r, field, "%llu is more than %llu", (unsigned long long)*out,
				      (unsigned long long)limit);
	return 0;
}

/* Field of an object; absent, it keeps its value if it is optional. */
int plan_json_get(struct plan_json_reader *r, const json_t *object, const char *field,
		  bool required, uint64_t limit, uint64_t *out)
{
	const json_t *value = json_object_get(object, field);

	if (!value)
		return required ? plan_json_fail(r, field, "missing") : 0;
	return plan_json_integer(r, field, value, limit, out);
}

int plan_json_array(struct plan_json_reader *r, const json_t *object, const char *field,
		    bool required, const json_t **list)
{
	*list = json_object_get(object, field);
	if (!*list && !required)
		return 0;
	if (!json_is_array(*list))
		return plan_json_fail(r, field, *list ? "expected an array" : "missing");
	return 0;
}

/* Array of exactly @count integers. */
int plan_json_list(struct plan_json_reader *r, const json_t *object, const char *field,
		   size_t count, uint64_t limit, uint64_t *out)
{
	const json_t *list = json_object_get(object, field);
	int err = 0;

	if (!json_is_array(list) || json_array_size(list) != count)
		return plan_json_fail(r, field, "expected an array of %zu integers", count);
	for (size_t i = 0; i < count && !err; i++)
		err = plan_json_integer(r, field, json_array_get(list, i), limit, &out[i]);
	return err;
}

int plan_json_tensor(struct plan_json_reader *r, const json_t *object, const char *field,
		     uint32_t *tensor)
{
	const json_t *value = json_object_get(object, field);

	if (!value)
		return plan_json_fail(r, field, "missing");
	if (!json_is_integer(value))
		return plan_json_fail(r, field, "expected a tensor's id");
	*tensor = npuplan_ids_tensor(&r->ids, json_integer_value(value));
	if (*tensor == NPUMEM_NONE)
		return plan_json_fail(r, field, "graph %s has no tensor with id %lld",
				      r->graph->name, (long long)json_integer_value(value));
	return 0;
}
