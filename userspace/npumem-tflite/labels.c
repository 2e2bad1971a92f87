// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "labels.h"

int labels_read(const char *path, struct labels *labels, struct refusal *why)
{
	struct file file;
	size_t lines = 1;
	int err;

	*labels = (struct labels){ 0 };
	err = file_read(path, &file, why);
	if (err)
		return err;
	for (size_t i = 0; i < file.size; i++)
		lines += file.data[i] == '\n';
	labels->text = strndup((const char *)file.data, file.size);
	labels->names = calloc(lines, sizeof(*labels->names));
	file_fini(&file);
	if (!labels->text || !labels->names) {
		labels_fini(labels);
		return refuse(why, -ENOMEM, "no memory for labels");
	}
	for (char *line = labels->text; *line;) {
		size_t length = strcspn(line, "\n");
		bool last = !line[length];

		line[length] = '\0';
		if (length && line[length - 1] == '\r')
			line[length - 1] = '\0';
		labels->names[labels->count++] = line;
		line += length + !last;
	}
	if (labels->count)
		return 0;
	labels_fini(labels);
	return refuse(why, -EINVAL, "no labels, of which each has a line");
}

void labels_fini(struct labels *labels)
{
	free(labels->text);
	free(labels->names);
	*labels = (struct labels){ 0 };
}

int labels_best(const struct shape *shape, const void *data, struct label_score best[LABELS_BEST],
		size_t *count)
{
	size_t found = 0;

	for (size_t i = 0; i < shape_values(shape); i++) {
		struct label_score this = { .index = i };
		int err = value_get(shape, data, i, &this.score);
		size_t at = found < LABELS_BEST ? found++ : LABELS_BEST;

		if (err)
			return err;
		while (at && best[at - 1].score < this.score) {
			if (at < LABELS_BEST)
				best[at] = best[at - 1];
			at--;
		}
		if (at < LABELS_BEST)
			best[at] = this;
	}
	*count = found;
	return shape_values(shape) ? 0 : -EOPNOTSUPP;
}
