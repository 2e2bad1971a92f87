/* SPDX-License-Identifier: MIT */
/*
 * Data of constants in files beside the model. Planning needs sizes, and the values of small
 * constants that decide them; the rest of such files, which are large, is not read.
 */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a path stays below the folder that it starts from. */
static bool stays_inside(const char *path)
{
	if (!*path || *path == '/')
		return false;
	while (path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && !memcmp(path, "..", 2))
			return false;
		path = path[length] ? path + length + 1 : NULL;
	}
	return true;
}

/* Number of bytes, in decimal; false if it is none. */
static bool read_bytes(const char *text, uint64_t *bytes)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*bytes = strtoull(text, &end, 10);
	return !errno && !*end;
}

bool onnx_external_check(struct onnx_reader *r, const struct onnx_value *value,
			 const Onnx__TensorProto *data, uint64_t bytes, struct onnx_external *where)
{
	uint64_t length = bytes;

	*where = (struct onnx_external){ .bytes = bytes };
	for (size_t i = 0; i < data->n_external_data && !r->err; i++) {
		const Onnx__StringStringEntryProto *entry = data->external_data[i];
		const char *key = entry->key ? entry->key : "";
		const char *text = entry->value ? entry->value : "";

		if (!strcmp(key, "location"))
			where->location = text;
		else if ((!strcmp(key, "length") && !read_bytes(text, &length)) ||
			 (!strcmp(key, "offset") && !read_bytes(text, &where->offset)))
			onnx_fail(r, -EINVAL,
				  "%s: the %s of its external data, '%.40s', is no number",
				  onnx_value_text(value).s, key, onnx_text(text).s);
	}
	/* Nobody is sent elsewhere by a model. */
	if (!where->location)
		onnx_fail(r, -EINVAL, "%s: its data is external, and no file is named",
			  onnx_value_text(value).s);
	else if (!stays_inside(where->location))
		onnx_fail(r, -EINVAL,
			  "%s: its external data is in '%.200s', which is not below the model's "
			  "folder",
			  onnx_value_text(value).s, onnx_text(where->location).s);
	if (length != bytes)
		onnx_fail(r, -EINVAL,
			  "%s: its external data has %" PRIu64
			  " bytes, but shape and type make %" PRIu64,
			  onnx_value_text(value).s, length, bytes);
	return !r->err;
}

/* Opens a file below a folder; what would let the reader wait for somebody is no file. */
static int open_below(const char *folder, const char *location)
{
	int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = at < 0 ? -1 : openat(at, location, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (at >= 0)
		close(at);
	if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* All bytes from an offset on, or none. */
static bool read_at(int fd, uint8_t *data, uint64_t bytes, uint64_t offset)
{
	uint64_t done = 0;
	ssize_t got = 1;

	if (offset > INT64_MAX - bytes)
		return false;
	while (done < bytes && got > 0) {
		got = pread(fd, data + done, bytes - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			done += (uint64_t)got;
	}
	return done == bytes;
}

uint8_t *onnx_external_read(struct onnx_reader *r, const struct onnx_value *value,
			    const struct onnx_external *where)
{
	const char *folder = r->options.folder;
	int fd = folder ? open_below(folder, where->location) : -1;
	uint8_t *data = NULL;

	if (fd < 0) {
		if (!r->elsewhere)
			r->elsewhere = value;
		return NULL;
	}
	data = malloc(where->bytes);
	if (!data)
		onnx_fail(r, -ENOMEM, "out of memory");
	else if (!read_at(fd, data, where->bytes, where->offset))
		onnx_fail(r, -EINVAL,
			  "%s: its external data, %" PRIu64 " bytes from %" PRIu64
			  " on, is not in '%.200s'",
			  onnx_value_text(value).s, where->bytes, where->offset,
			  onnx_text(where->location).s);
	close(fd);
	if (r->err) {
		free(data);
		data = NULL;
	}
	return data;
}
