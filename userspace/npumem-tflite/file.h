/* SPDX-License-Identifier: MIT */
/* A file read as a whole. */
#pragma once

#include <stddef.h>

#include "refusal.h"

/* struct file - what a file has; file_fini() frees it */
struct file {
	unsigned char *data;
	size_t size;
};

/* The errno of what failed, or -EFBIG: more than 256 MiB. Of these nothing is to be freed. */
int file_read(const char *path, struct file *file, struct refusal *why);
void file_fini(struct file *file);
