/* SPDX-License-Identifier: MIT */
/* Names of classes, a line each, and which of them an output says most of. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "refusal.h"
#include "shape.h"

/* How many are told. */
#define LABELS_BEST 5

/* struct labels - the lines of a file; labels_fini() frees them */
struct labels {
	char *text;
	const char **names;
	size_t count;
};

/* The errnos of file_read(), or -EINVAL: the file has no line. */
int labels_read(const char *path, struct labels *labels, struct refusal *why);
void labels_fini(struct labels *labels);

/* struct label_score - a class and what the output has for it, as a real number */
struct label_score {
	size_t index;
	double score;
};

/*
 * labels_best() - the classes with the highest values, the highest one first
 * @count: out: how many were found, LABELS_BEST at most
 *
 * -EOPNOTSUPP: an output that has no numbers.
 */
int labels_best(const struct shape *shape, const void *data, struct label_score best[LABELS_BEST],
		size_t *count);
