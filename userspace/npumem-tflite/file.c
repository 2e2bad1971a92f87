// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

#define MAX_SIZE (256u << 20)

/* Sizes are not asked for beforehand: pipes have none. */
static int read_all(FILE *stream, struct file *file, struct refusal *why)
{
	size_t room = 0;

	while (!feof(stream) && !ferror(stream)) {
		if (file->size == room) {
			unsigned char *more;

			if (room > MAX_SIZE)
				return refuse(why, -EFBIG, "more than 256 MiB");
			room = room ? 2 * room : 65536;
			more = realloc(file->data, room);
			if (!more)
				return refuse(why, -ENOMEM, "no memory for the file");
			file->data = more;
		}
		file->size += fread(file->data + file->size, 1, room - file->size, stream);
	}
	return ferror(stream) ? refuse(why, -EIO, "%s", strerror(errno)) : 0;
}

int file_read(const char *path, struct file *file, struct refusal *why)
{
	FILE *stream = fopen(path, "rbe");
	int err;

	*file = (struct file){ 0 };
	if (!stream)
		return refuse(why, -errno, "%s", strerror(errno));
	err = read_all(stream, file, why);
	fclose(stream);
	if (err)
		file_fini(file);
	return err;
}

void file_fini(struct file *file)
{
	free(file->data);
	*file = (struct file){ 0 };
}
