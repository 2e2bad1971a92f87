/* SPDX-License-Identifier: MIT */
/* Which reader a file is for. */
#include "npuimport.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "onnx/wire.h"
#include "sized.h"
#include "tflite/schema.h"

const char *npuimport_format_name(enum npuimport_format format)
{
	static const char *const names[] = { "unknown", "graph JSON", "TFLite", "graph blob",
					     "ONNX" };

	return names[format <= NPUIMPORT_ONNX ? format : NPUIMPORT_UNKNOWN];
}

/*
 * The words of a warning: @thing is what was not understood (%s is its name), @outcome what came
 * of it.
 */
static const struct {
	const char *name;
	const char *thing;
	const char *outcome;
} sentences[NPUIMPORT_DOUBTS] = {
	[NPUIMPORT_DOUBT_FIELD] = { "field", "field \"%s\" is not known", "passed over" },
	[NPUIMPORT_DOUBT_VALUE] = { "value", "\"%s\" is not understood", "passed over" },
	[NPUIMPORT_DOUBT_LAYOUT] = { "layout", "\"%s\" is not understood",
				     "all operators planned whole" },
	[NPUIMPORT_DOUBT_SHAPE] = { "shape", "\"%s\" is not understood", "tensors never cut" },
	[NPUIMPORT_DOUBT_ELEMENT] = { "element", "\"%s\" is not that of all tensors",
				      "taken from bytes and shape" },
	[NPUIMPORT_DOUBT_ATTRIBUTE] = { "attribute", "attribute \"%s\" is not understood",
					"operators planned whole" },
	[NPUIMPORT_DOUBT_WINDOW] = { "window", "the window of %s is not understood",
				     "operators planned whole" },
	[NPUIMPORT_DOUBT_PADDING] = { "padding", "padding %s is a name",
				      "its numbers were computed" },
	[NPUIMPORT_DOUBT_INPLACE] = { "inplace", "\"%s\" is not understood",
				      "not planned in place" },
	[NPUIMPORT_DOUBT_OPERATOR] = { "operator", "operator %s is not known",
				       "operators planned whole" },
};

const char *npuimport_doubt_name(enum npuimport_doubt kind)
{
	return kind < NPUIMPORT_DOUBTS ? sentences[kind].name : "unknown";
}

/* printf() of what fits, after what is there already. */
__attribute__((format(printf, 4, 5))) static void add_text(char *text, size_t size, size_t *used,
							   const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text + *used, size - *used, format, args);
	va_end(args);
	if (length > 0)
		*used = (size_t)length < size - *used ? *used + (size_t)length : size - 1;
}

void npuimport_warning_text(const struct npuimport_warning *warning, char *text, size_t size)
{
	const char *thing = sentences[warning->kind].thing, *name = strstr(thing, "%s");
	size_t used = 0;

	if (!size)
		return;
	add_text(text, size, &used, "%.*s%s%s, %" PRIu64 " time%s, %s: %s", (int)(name - thing),
		 thing, warning->what, name + 2, warning->count, warning->count == 1 ? "" : "s",
		 sentences[warning->kind].outcome, warning->text);
	for (uint32_t i = 1; i < NPUIMPORT_PLACES && i < warning->count; i++)
		add_text(text, size, &used, "%s %s", i == 1 ? "; also" : ",", warning->places[i]);
	if (warning->count > NPUIMPORT_PLACES)
		add_text(text, size, &used, " and %" PRIu64 " more",
			 warning->count - NPUIMPORT_PLACES);
}

/*
 * No format begins so, but files that power loss has left, and /dev/zero, which would be read until
 * there is no memory.
 */
static bool is_void(const char *bytes, size_t used)
{
	static const char nothing[8];

	return used >= sizeof(nothing) && !memcmp(bytes, nothing, sizeof(nothing));
}

/* But for where people type, and nothing; others, such as /dev/urandom, may not end. */
static bool is_device(int fd)
{
	struct stat status, null;

	return !fstat(fd, &status) && S_ISCHR(status.st_mode) && !isatty(fd) &&
	       (stat("/dev/null", &null) || status.st_rdev != null.st_rdev);
}

/* Most bytes of a file that begins so; @blanks: how many are known to be there, 0 at first. */
static size_t limit_of(const char *bytes, size_t used, size_t *blanks)
{
	while (*blanks < used && bytes[*blanks] && strchr(" \t\r\n", bytes[*blanks]))
		++*blanks;
	return *blanks == used || bytes[*blanks] == '{' ? NPUIMPORT_MAX_JSON :
							  (size_t)NPUIMPORT_MAX_FILE;
}

int npuimport_read_file(const char *path, void **data, size_t *size, struct npuplan_error *error)
{
	bool is_stdin = !strcmp(path, "-");
	size_t capacity = 32768, used = 0, blanks = 0, limit;
	char *bytes = NULL, *grown;
	ssize_t got = 1;
	int fd, err = 0;

	*data = NULL;
	*size = 0;
	fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return import_fail(error, -errno, "%s", strerror(errno));
	if (is_device(fd))
		err = import_fail(error, -EOPNOTSUPP, "this is a device");
	while (got && !err) {
		if (!bytes || used == capacity) {
			capacity *= 2;
			grown = realloc(bytes, capacity + 1);
			if (!grown) {
				err = import_fail(error, -ENOMEM, "out of memory");
				break;
			}
			bytes = grown;
		}
		got = read(fd, bytes + used, capacity - used);
		if (got > 0)
			used += (size_t)got;
		else if (got < 0 && errno != EINTR)
			err = import_fail(error, -errno, "%s", strerror(errno));
		if (!err && is_void(bytes, used))
			err = import_fail(
				error, -EOPNOTSUPP,
				"the file begins with NULs, as no model and no plan does");
		limit = limit_of(bytes, used, &blanks);
		if (!err && used > limit)
			err = import_fail(error, -E2BIG, "the file has more than %zu bytes", limit);
	}
	if (!is_stdin)
		close(fd);
	if (err) {
		free(bytes);
		return err;
	}
	bytes[used] = '\0';
	*data = bytes;
	*size = used;
	return 0;
}

/* "models/kws.tflite" -> "kws"; malloc'ed */
static char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = strdup(slash ? slash + 1 : path);
	char *dot = name ? strrchr(name, '.') : NULL;

	if (dot && dot != name)
		*dot = '\0';
	return name;
}

static bool ends_in(const char *name, const char *end)
{
	size_t length = strlen(name), end_length = strlen(end);

	return length > end_length && !strcmp(name + length - end_length, end);
}

/* ONNX models have no magic number: one that is cut short goes by its name. */
static enum npuimport_format format_of(const uint8_t *bytes, size_t size, const char *name)
{
	static const uint8_t blob_magic[] = { 'N', 'P', 'G', 'R' };
	size_t i = 0;

	if (size >= 8 && !memcmp(bytes + 4, TFLITE_IDENTIFIER, 4))
		return NPUIMPORT_TFLITE;
	if (size >= 4 && !memcmp(bytes, blob_magic, 4))
		return NPUIMPORT_BLOB;
	while (i < size && bytes[i] && strchr(" \t\r\n", bytes[i]))
		i++;
	if (i < size && bytes[i] == '{')
		return NPUIMPORT_GRAPH_JSON;
	return onnx_is_model(bytes, size) || ends_in(name, ".onnx") ? NPUIMPORT_ONNX :
								      NPUIMPORT_UNKNOWN;
}

static int read_blob(const void *data, size_t size, struct npuplan_graph **out,
		     struct npuimport_info *info, struct npuplan_error *error)
{
	int err = npuplan_graph_read(data, size, out, error);

	if (!err)
		import_info(info, NPUIMPORT_BLOB, *out);
	return err;
}

/* Readers of formats without names of dimensions have no use for their sizes. */
static int check_dims(enum npuimport_format format, const struct npuimport_options *options,
		      size_t options_size, struct npuplan_error *error)
{
	struct npuimport_options own;

	if (format == NPUIMPORT_ONNX || !sized_take(&own, sizeof(own), options, options_size) ||
	    !own.dim_count)
		return 0;
	return import_fail(
		error, -EINVAL,
		"a size is given for dimension '%.100s', and only ONNX models have names "
		"of dimensions",
		own.dims[0].name);
}

int npuimport_buffer_sized(const void *data, size_t size, const char *name,
			   const struct npuimport_options *options, size_t options_size,
			   struct npuplan_graph **out, struct npuimport_info *info,
			   struct npuplan_error *error)
{
	enum npuimport_format format = format_of(data, size, name);
	char *base;
	int err;

	*out = NULL;
	err = check_dims(format, options, options_size, error);
	if (err)
		return err;
	switch (format) {
	case NPUIMPORT_GRAPH_JSON:
		return npuimport_graph_json_sized(data, size, options, options_size, out, info,
						  error);
	case NPUIMPORT_BLOB:
		return read_blob(data, size, out, info, error);
	case NPUIMPORT_TFLITE:
	case NPUIMPORT_ONNX:
		base = base_name(name);
		if (!base)
			return import_fail(error, -ENOMEM, "out of memory");
		err = (format == NPUIMPORT_ONNX ? npuimport_onnx_sized : npuimport_tflite_sized)(
			data, size, base, options, options_size, out, info, error);
		free(base);
		return err;
	case NPUIMPORT_UNKNOWN:
		break;
	}
	return import_fail(
		error, -EOPNOTSUPP,
		"neither graph JSON nor a TFLite model nor an ONNX model nor a graph blob");
}

int npuimport_file_sized(const char *path, const struct npuimport_options *options,
			 size_t options_size, struct npuplan_graph **out,
			 struct npuimport_info *info, struct npuplan_error *error)
{
	struct npuimport_options own;
	struct import_doubts doubts;
	char *copy = NULL;
	void *data;
	size_t size;
	int err;

	*out = NULL;
	err = import_doubts_of(&doubts, options, options_size, error);
	if (!err)
		err = npuimport_read_file(path, &data, &size, error);
	if (err)
		return err;
	sized_take(&own, sizeof(own), options, options_size);
	own.strict = doubts.strict;
	/* What comes by standard input has no files beside it. */
	if (!own.folder && strcmp(path, "-") != 0) {
		copy = strdup(path);
		own.folder = copy ? dirname(copy) : NULL;
	}
	err = npuimport_buffer_sized(data, size, strcmp(path, "-") ? path : "stdin", &own,
				     sizeof(own), out, info, error);
	free(copy);
	free(data);
	return err;
}
