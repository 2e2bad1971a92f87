/* SPDX-License-Identifier: MIT */
/* Which reader a file is for. */
#include "import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "tflite_schema.h"

const char *npuimport_format_name(enum npuimport_format format)
{
	switch (format) {
	case NPUIMPORT_GRAPH_JSON:
		return "graph JSON";
	case NPUIMPORT_TFLITE:
		return "TFLite";
	case NPUIMPORT_BLOB:
		return "graph blob";
	case NPUIMPORT_UNKNOWN:
		break;
	}
	return "unknown";
}

int npuimport_read_file(const char *path, void **data, size_t *size, struct npuplan_error *error)
{
	bool is_stdin = !strcmp(path, "-");
	size_t capacity = 65536, used = 0;
	char *bytes = NULL, *grown;
	int fd, err = 0;

	*data = NULL;
	*size = 0;
	fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return import_fail(error, -errno, "%s", strerror(errno));
	for (;;) {
		ssize_t got;

		if (!bytes || used == capacity) {
			capacity *= bytes ? 2 : 1;
			grown = realloc(bytes, capacity + 1);
			if (!grown) {
				err = import_fail(error, -ENOMEM, "out of memory");
				break;
			}
			bytes = grown;
		}
		got = read(fd, bytes + used, capacity - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			err = import_fail(error, -errno, "%s", strerror(errno));
		if (got <= 0)
			break;
		used += (size_t)got;
		if (used > (size_t)NPUIMPORT_MAX_FILE) {
			err = import_fail(error, -E2BIG, "the file has more than %lld bytes",
					  NPUIMPORT_MAX_FILE);
			break;
		}
	}
	if (!is_stdin)
		close(fd);
	if (err || !bytes) {
		free(bytes);
		return err ? err : -EIO;
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

static enum npuimport_format format_of(const uint8_t *bytes, size_t size)
{
	static const uint8_t blob_magic[] = { 'N', 'P', 'G', 'R' };
	size_t i = 0;

	if (size >= 8 && !memcmp(bytes + 4, TFLITE_IDENTIFIER, 4))
		return NPUIMPORT_TFLITE;
	if (size >= 4 && !memcmp(bytes, blob_magic, 4))
		return NPUIMPORT_BLOB;
	while (i < size && bytes[i] && strchr(" \t\r\n", bytes[i]))
		i++;
	return i < size && bytes[i] == '{' ? NPUIMPORT_GRAPH_JSON : NPUIMPORT_UNKNOWN;
}

static int read_blob(const void *data, size_t size, struct npuplan_graph **out,
		     struct npuimport_info *info, struct npuplan_error *error)
{
	int err = npuplan_graph_read(data, size, out, error);

	if (!err && info)
		*info = (struct npuimport_info){
			.format = NPUIMPORT_BLOB,
			.subgraphs = 1,
			.operators = (*out)->op_count,
			.tensors = (*out)->tensor_count,
		};
	return err;
}

int npuimport_buffer(const void *data, size_t size, const char *name, struct npuplan_graph **out,
		     struct npuimport_info *info, struct npuplan_error *error)
{
	char *base;
	int err;

	*out = NULL;
	switch (format_of(data, size)) {
	case NPUIMPORT_GRAPH_JSON:
		return npuimport_graph_json(data, size, out, info, error);
	case NPUIMPORT_BLOB:
		return read_blob(data, size, out, info, error);
	case NPUIMPORT_TFLITE:
		base = base_name(name);
		if (!base)
			return import_fail(error, -ENOMEM, "out of memory");
		err = npuimport_tflite(data, size, base, out, info, error);
		free(base);
		return err;
	case NPUIMPORT_UNKNOWN:
		break;
	}
	return import_fail(error, -EOPNOTSUPP,
			   "neither graph JSON nor a TFLite model nor a graph blob");
}

int npuimport_file(const char *path, struct npuplan_graph **out, struct npuimport_info *info,
		   struct npuplan_error *error)
{
	void *data;
	size_t size;
	int err;

	*out = NULL;
	err = npuimport_read_file(path, &data, &size, error);
	if (err)
		return err;
	err = npuimport_buffer(data, size, strcmp(path, "-") ? path : "stdin", out, info, error);
	free(data);
	return err;
}
