/* SPDX-License-Identifier: MIT */
#include "fdinfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct live_engine *live_engine(struct live_file *file, const char *name)
{
	struct live_engine *engine = file->engines;

	for (uint32_t i = 0; i < file->engine_count; i++, engine++)
		if (!strcmp(engine->name, name))
			return engine;
	if (file->engine_count == LIVE_ENGINES || !*name || strlen(name) >= sizeof(engine->name))
		return NULL;
	file->engine_count++;
	snprintf(engine->name, sizeof(engine->name), "%s", name);
	return engine;
}

/* A number, and its unit, by which it is multiplied; false: there is none, or it is too large. */
static bool read_number(const char *text, uint64_t *number)
{
	uint64_t factor = 1;
	char *unit;

	errno = 0;
	*number = strtoull(text, &unit, 10);
	if (errno || unit == text || text[strspn(text, " ")] == '-')
		return false;
	unit += strspn(unit, " ");
	if (!strncmp(unit, "KiB", 3))
		factor = 1024;
	else if (!strncmp(unit, "MiB", 3))
		factor = 1024 * 1024;
	return !__builtin_mul_overflow(*number, factor, number);
}

/* What follows @prefix in @key; NULL: it begins otherwise. */
static const char *after(const char *key, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(key, prefix, length) ? NULL : key + length;
}

static void read_value(struct live_file *file, const char *key, uint64_t value)
{
	struct live_engine *engine;
	const char *name;

	if (!strcmp(key, "drm-client-id"))
		file->drm_client = value;
	else if (!strcmp(key, "npumem-client"))
		file->client = value;
	else if (after(key, "npumem-carveout-"))
		file->carveout += value;
	else if (!strcmp(key, "drm-resident-system"))
		file->system = value;
	else if (!strcmp(key, "npumem-kernel-memory"))
		file->kernel = value;
	else if (!strcmp(key, "npumem-moved"))
		file->moved = value;
	else if (after(key, "drm-engine-capacity-"))
		return;
	else if ((name = after(key, "drm-engine-")) && (engine = live_engine(file, name)))
		engine->ns = value;
	else if ((name = after(key, "npumem-jobs-")) && (engine = live_engine(file, name)))
		engine->jobs = value;
}

bool live_parse(const char *text, struct live_file *file)
{
	bool is_npumem = false;

	*file = (struct live_file){ 0 };
	while (*text) {
		size_t length = strcspn(text, "\n"), colon = strcspn(text, ":\n");
		const char *value = text + colon + 1;
		char key[64];
		uint64_t number;

		if (text[colon] == ':' && colon < sizeof(key)) {
			snprintf(key, sizeof(key), "%.*s", (int)colon, text);
			value += strspn(value, " \t");
			if (!strcmp(key, "drm-driver"))
				is_npumem = after(value, "npumem") &&
					    (value[6] == '\n' || !value[6]);
			else if (read_number(value, &number))
				read_value(file, key, number);
		}
		text += length + (text[length] != '\0');
	}
	return is_npumem;
}
