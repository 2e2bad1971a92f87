/* SPDX-License-Identifier: MIT */
/* Members of JSON objects, checked, with errors that carry the JSON path. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "reader.h"

struct graph_json_path graph_json_path(const char *fmt, ...)
{
	struct graph_json_path path;
	va_list args;

	va_start(args, fmt);
	vsnprintf(path.s, sizeof(path.s), fmt, args);
	va_end(args);
	return path;
}

int graph_json_fail(struct graph_json_reader *reader, const char *path, const char *key,
		    const char *fmt, ...)
{
	char text[sizeof(reader->error->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!key)
		return import_fail(reader->error, -EINVAL, "%s: %s", path, text);
	return import_fail(reader->error, -EINVAL, "%s.%.60s: %s", path, key, text);
}

static int missing(struct graph_json_reader *reader, const char *path, const char *key)
{
	return graph_json_fail(reader, path, NULL, "\"%s\" is missing", key);
}

int graph_json_get_int(struct graph_json_reader *reader, json_t *object, const char *path,
		       const char *key, bool required, int64_t min, int64_t max, int64_t *value)
{
	json_t *member = json_object_get(object, key);

	if (!member)
		return required ? missing(reader, path, key) : 0;
	if (!json_is_integer(member) || json_integer_value(member) < min ||
	    json_integer_value(member) > max)
		return graph_json_fail(reader, path, key,
				       "must be an integer from %" PRId64 " to %" PRId64, min, max);
	*value = json_integer_value(member);
	return 0;
}

int graph_json_get_bool(struct graph_json_reader *reader, json_t *object, const char *path,
			const char *key, bool *value)
{
	json_t *member = json_object_get(object, key);

	if (!member)
		return 0;
	if (!json_is_boolean(member))
		return graph_json_fail(reader, path, key, "must be true or false");
	*value = json_is_true(member);
	return 0;
}

int graph_json_get_string(struct graph_json_reader *reader, json_t *object, const char *path,
			  const char *key, bool required, const char **value)
{
	json_t *member = json_object_get(object, key);

	if (!member)
		return required ? missing(reader, path, key) : 0;
	if (!json_is_string(member))
		return graph_json_fail(reader, path, key, "must be a string");
	*value = json_string_value(member);
	return 0;
}

int graph_json_get_array(struct graph_json_reader *reader, json_t *object, const char *path,
			 const char *key, bool required, json_t **value)
{
	json_t *member = json_object_get(object, key);

	if (!member)
		return required ? missing(reader, path, key) : 0;
	if (!json_is_array(member))
		return graph_json_fail(reader, path, key, "must be a list");
	*value = member;
	return 0;
}

int graph_json_get_ints(struct graph_json_reader *reader, json_t *object, const char *path,
			const char *key, size_t min_count, size_t max_count, int64_t min,
			int64_t max, int64_t *values, size_t *count)
{
	json_t *list = NULL, *item;
	size_t i;
	int err;

	*count = 0;
	err = graph_json_get_array(reader, object, path, key, false, &list);
	if (err || !list)
		return err;
	if (json_array_size(list) < min_count || json_array_size(list) > max_count) {
		if (min_count == max_count)
			return graph_json_fail(reader, path, key, "must have %zu entries, not %zu",
					       min_count, json_array_size(list));
		return graph_json_fail(reader, path, key, "must have %zu to %zu entries, not %zu",
				       min_count, max_count, json_array_size(list));
	}
	json_array_foreach(list, i, item) {
		if (!json_is_integer(item) || json_integer_value(item) < min ||
		    json_integer_value(item) > max)
			return graph_json_fail(reader,
					       graph_json_path("%s.%s[%zu]", path, key, i).s, NULL,
					       "must be an integer from %" PRId64 " to %" PRId64,
					       min, max);
		values[i] = json_integer_value(item);
	}
	*count = json_array_size(list);
	return 0;
}

int graph_json_doubt(struct graph_json_reader *reader, int err, enum npuimport_doubt kind,
		     const char *what, const char *path)
{
	return import_doubt(&reader->doubts, err, kind, what, path, reader->error);
}

static bool is_known(const char *key, const char *const *keys)
{
	size_t i = 0;

	while (keys[i] && strcmp(keys[i], key) != 0)
		i++;
	return keys[i] || !strncmp(key, "x_", 2);
}

static int unknown_key(struct graph_json_reader *reader, const char *path, const char *key)
{
	return graph_json_fail(
		reader, path, NULL,
		"\"%.60s\" is not known here (names that begin with \"x_\" are ignored)", key);
}

int graph_json_only_keys(struct graph_json_reader *reader, json_t *object, const char *path,
			 const char *const *keys)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		if (!is_known(key, keys))
			return unknown_key(reader, path, key);
	}
	return 0;
}

int graph_json_known_keys(struct graph_json_reader *reader, json_t *object, const char *path,
			  const char *const *keys, enum npuimport_doubt kind, bool *unknown)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		int err;

		if (is_known(key, keys))
			continue;
		err = graph_json_doubt(reader, unknown_key(reader, path, key), kind, key, path);
		if (err)
			return err;
		if (unknown)
			*unknown = true;
	}
	return 0;
}
