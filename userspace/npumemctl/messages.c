/* SPDX-License-Identifier: MIT */
/* What goes out: errors, sizes, JSON, files. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npumemctl.h"

/* C0, DEL, and in UTF-8 C1, which are two bytes: terminals obey both. */
static size_t control_bytes(const char *text)
{
	unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];

	if (first < 0x20 || first == 0x7f)
		return 1;
	return first == 0xc2 && second >= 0x80 && second < 0xa0 ? 2 : 0;
}

char *plain_text(const char *text, bool lines)
{
	char *plain = malloc(4 * strlen(text) + 1), *out = plain;

	if (!plain)
		abort();
	while (*text) {
		size_t controls = lines && *text == '\n' ? 0 : control_bytes(text);

		if (!controls)
			*out++ = *text++;
		for (; controls; controls--)
			out += sprintf(out, "\\x%02x", (unsigned char)*text++);
	}
	*out = '\0';
	return plain;
}

static void rename_plain(char **name)
{
	char *plain = plain_text(*name, false);

	free(*name);
	*name = plain;
}

void plain_names(struct npuplan_graph *graph)
{
	rename_plain(&graph->name);
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		rename_plain(&graph->tensors[i].name);
	for (uint32_t i = 0; i < graph->op_count; i++)
		rename_plain(&graph->ops[i].name);
	for (uint32_t i = 0; i < graph->step_count; i++)
		rename_plain(&graph->steps[i].name);
}

int failure(const char *where, const char *fmt, ...)
{
	char *text, *plain;
	va_list args;
	int length;

	va_start(args, fmt);
	length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length < 0)
		abort();
	plain = plain_text(text, false);
	/* Results printed before come first where both go to one terminal. */
	fflush(stdout);
	fprintf(stderr, "npumemctl: %s: %s\n", where, plain);
	free(plain);
	free(text);
	return EXIT_FAILED;
}

struct size_text size_text(uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	struct size_text text;
	double value = (double)bytes;
	int unit = -1;

	while (value >= 1024 && unit < 3) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(text.s, sizeof(text.s), "%" PRIu64 " bytes", bytes);
	else
		snprintf(text.s, sizeof(text.s), "%" PRIu64 " bytes (%.1f %s)", bytes, value,
			 units[unit]);
	return text;
}

int print_json(json_t *object)
{
	int err = object ? json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) : -1;

	json_decref(object);
	if (err)
		return failure("JSON", "cannot be written: a name is not UTF-8, or out of memory");
	putchar('\n');
	return EXIT_OK;
}
