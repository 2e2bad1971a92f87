// SPDX-License-Identifier: MIT
#include "get.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int npujson_fail(struct npujson *json, const char *key, const char *format, ...)
{
	struct npuplan_error *error = json->error;
	int length;
	va_list args;

	if (json->err)
		return json->err;
	json->err = -EINVAL;
	if (!error)
		return json->err;
	*error = (struct npuplan_error){ .step = NPUMEM_NONE };
	length = snprintf(error->text, sizeof(error->text), "%s%s%.60s%s", json->path,
			  key && json->path[0] ? "." : "", key ? key : "",
			  key || json->path[0] ? ": " : "");
	va_start(args, format);
	vsnprintf(error->text + length, sizeof(error->text) - (size_t)length, format, args);
	va_end(args);
	return json->err;
}

void *npujson_alloc(struct npujson *json, size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	if (!memory)
		npujson_index(json, -ENOMEM);
	return memory;
}

char *npujson_copy(struct npujson *json, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		npujson_index(json, -ENOMEM);
	return copy;
}

uint32_t npujson_index(struct npujson *json, int64_t index)
{
	if (index >= 0)
		return (uint32_t)index;
	if (!json->err) {
		npujson_fail(json, NULL, "%s", strerror((int)-index));
		json->err = (int)index;
	}
	return 0;
}

size_t npujson_enter(struct npujson *json, const char *format, ...)
{
	size_t length = strlen(json->path);
	va_list args;

	va_start(args, format);
	vsnprintf(json->path + length, sizeof(json->path) - length, format, args);
	va_end(args);
	return length;
}

void npujson_leave(struct npujson *json, size_t length)
{
	json->path[length] = '\0';
}

bool npujson_is_known(const char *key, const char *const *known, const char *prefix)
{
	while (*known && strcmp(*known, key) != 0)
		known++;
	return *known || (prefix && !strncmp(key, prefix, strlen(prefix)));
}

void npujson_object(struct npujson *json, json_t *value, const char *const *known)
{
	const char *key;
	json_t *member;

	if (!json_is_object(value))
		npujson_fail(json, NULL, "must be an object");
	json_object_foreach(value, key, member)
		if (!npujson_is_known(key, known, NULL))
			npujson_fail(json, key, "unknown field");
}

static bool is_within(const json_t *value, int64_t min, int64_t max)
{
	return json_is_integer(value) && json_integer_value(value) >= min &&
	       json_integer_value(value) <= max;
}

int64_t npujson_value(struct npujson *json, const char *key, const json_t *value, int64_t min,
		      int64_t max)
{
	if (is_within(value, min, max))
		return json_integer_value(value);
	if (max < min)
		npujson_fail(json, key, "there is nothing that it could be");
	else if (min == INT64_MIN)
		npujson_fail(json, key, "must be an integer");
	else
		npujson_fail(json, key, "must be an integer from %" PRId64 " to %" PRId64, min,
			     max);
	return min;
}

/* Member that must be there if it is @required. */
static json_t *member(struct npujson *json, const json_t *object, const char *key, bool required)
{
	json_t *value = json_object_get(object, key);

	if (!value && required)
		npujson_fail(json, key, "missing");
	return value;
}

int64_t npujson_int(struct npujson *json, const json_t *object, const char *key, int64_t min,
		    int64_t max)
{
	const json_t *value = member(json, object, key, true);

	return value ? npujson_value(json, key, value, min, max) : min;
}

int64_t npujson_int_or(struct npujson *json, const json_t *object, const char *key, int64_t min,
		       int64_t max, int64_t absent)
{
	const json_t *value = member(json, object, key, false);
	int64_t given = value ? npujson_value(json, key, value, min, max) : absent;

	return json->err ? absent : given;
}

bool npujson_bool_or(struct npujson *json, const json_t *object, const char *key, bool absent)
{
	const json_t *value = member(json, object, key, false);

	if (value && !json_is_boolean(value))
		npujson_fail(json, key, "must be true or false");
	return json_is_boolean(value) ? json_is_true(value) : absent;
}

const char *npujson_text(struct npujson *json, const json_t *object, const char *key,
			 const char *absent)
{
	const json_t *value = member(json, object, key, !absent);

	if (value && !json_is_string(value))
		npujson_fail(json, key, "must be a string");
	if (json_is_string(value))
		return json_string_value(value);
	return absent ? absent : "";
}

uint32_t npujson_choice(struct npujson *json, const json_t *object, const char *key, bool required,
			const char *const *names, uint32_t absent)
{
	const json_t *value = member(json, object, key, required);
	const char *text = json_string_value(value);
	char list[96] = "";
	size_t used = 0;

	for (uint32_t i = 0; value && names[i]; i++) {
		if (text && !strcmp(text, names[i]))
			return i;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
					 !i	      ? "" :
					 names[i + 1] ? ", " :
							" or ",
					 names[i]);
	}
	if (value)
		npujson_fail(json, key, "must be %s", list);
	return absent;
}

json_t *npujson_list(struct npujson *json, const json_t *object, const char *key, bool required)
{
	json_t *value = member(json, object, key, required);

	if (value && !json_is_array(value))
		npujson_fail(json, key, "must be a list");
	return json_is_array(value) ? value : NULL;
}

struct npujson_walk npujson_walk(struct npujson *json, const json_t *list, const char *name)
{
	return (struct npujson_walk){ json, list, name, 0, strlen(json->path) };
}

json_t *npujson_next(struct npujson_walk *walk)
{
	json_t *item = walk->json->err ? NULL : json_array_get(walk->list, walk->count);

	npujson_leave(walk->json, walk->outside);
	if (item)
		npujson_enter(walk->json, "%s[%zu]", walk->name, walk->count++);
	return item;
}

size_t npujson_ints(struct npujson *json, const json_t *object, const char *key, bool required,
		    size_t min_count, size_t max_count, int64_t min, int64_t max, int64_t *values)
{
	json_t *list = npujson_list(json, object, key, required), *item;
	size_t count = json_array_size(list), i;
	char name[80] = "";

	if (!list)
		return 0;
	if (count < min_count || count > max_count) {
		if (min_count == max_count)
			npujson_fail(json, key, "must have %zu entries, not %zu", min_count, count);
		else
			npujson_fail(json, key, "must have %zu to %zu entries, not %zu", min_count,
				     max_count, count);
		return 0;
	}
	json_array_foreach(list, i, item) {
		if (!is_within(item, min, max))
			snprintf(name, sizeof(name), "%.50s[%zu]", key, i);
		values[i] = npujson_value(json, name, item, min, max);
	}
	return json->err ? 0 : count;
}

static int compare_ids(const void *left, const void *right)
{
	const struct npujson_id *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->tile < b->tile ? -1 : a->tile > b->tile;
}

const struct npujson_id *npujson_sort_ids(struct npujson_id *ids, uint32_t count)
{
	if (count)
		qsort(ids, count, sizeof(*ids), compare_ids);
	for (uint32_t i = 1; i < count; i++)
		if (!compare_ids(&ids[i - 1], &ids[i]))
			return &ids[i];
	return NULL;
}

uint32_t npujson_find(const struct npujson_id *ids, uint32_t count, int64_t id, uint32_t tile)
{
	const struct npujson_id key = { .id = id, .tile = tile };
	const struct npujson_id *found =
		count ? bsearch(&key, ids, count, sizeof(*ids), compare_ids) : NULL;

	return found ? found->index : NPUMEM_NONE;
}
