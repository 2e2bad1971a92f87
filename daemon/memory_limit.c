// SPDX-License-Identifier: MIT
#include "memory_limit.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The group's path of version 2, below where that is mounted. */
static bool find_group(const char *process, char *group, size_t size)
{
	FILE *file = fopen(process, "re");
	bool found = false;
	char line[PATH_MAX];

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		found = !strncmp(line, "0::/", 4);
		line[strcspn(line, "\n")] = '\0';
		if (found)
			snprintf(group, size, "%s", line + 3);
	}
	fclose(file);
	return found;
}

/* UINT64_MAX also where the file has "max", or is not there, as in the topmost group. */
static uint64_t limit_of(const char *groups, const char *group)
{
	char path[2 * PATH_MAX];
	uint64_t limit;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s/memory.max", groups, group);
	file = fopen(path, "re");
	if (!file)
		return UINT64_MAX;
	if (fscanf(file, "%" SCNu64, &limit) != 1)
		limit = UINT64_MAX;
	fclose(file);
	return limit;
}

uint64_t memory_limit(const char *process, const char *groups)
{
	uint64_t least = UINT64_MAX, limit;
	char group[PATH_MAX];

	if (!find_group(process, group, sizeof(group)))
		return UINT64_MAX;
	for (char *slash; (slash = strrchr(group, '/')); *slash = '\0') {
		limit = limit_of(groups, group);
		if (limit < least)
			least = limit;
	}
	/* In a container what is mounted may be the group of that. */
	limit = limit_of(groups, "");
	return limit < least ? limit : least;
}
