/* SPDX-License-Identifier: MIT */
/* What goes out: errors, sizes, JSON, files. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "npumemctl.h"

int failure(const char *where, const char *fmt, ...)
{
	va_list args;

	/* Results printed before come first where both go to one terminal. */
	fflush(stdout);
	fprintf(stderr, "npumemctl: %s: ", where);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
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

int write_file(const char *path, const void *data, size_t size)
{
	bool bad;
	FILE *file;

	if (strcmp(path, "-") == 0) {
		bad = fwrite(data, 1, size, stdout) != size || fflush(stdout);
		return bad ? failure("standard output", "%s", strerror(errno)) : EXIT_OK;
	}
	file = fopen(path, "we");
	if (!file)
		return failure(path, "%s", strerror(errno));
	bad = fwrite(data, 1, size, file) != size;
	bad |= fclose(file) != 0;
	return bad ? failure(path, "%s", strerror(errno)) : EXIT_OK;
}
