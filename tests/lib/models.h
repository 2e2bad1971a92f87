/* SPDX-License-Identifier: MIT */
/* Models that stand in files: those of tests/graphs, and those of the folder beside the project. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "npuimport.h"
#include "unit.h"

/* The exit status by which meson knows a program whose tests cannot run. */
#define SKIPPED 77

/* The folder tests/graphs, which meson names in the environment. */
static inline const char *models_folder(void)
{
	const char *folder = getenv("NPUMEM_GRAPHS");

	if (!folder)
		fail_msg("NPUMEM_GRAPHS is not set: it has to name the folder tests/graphs");
	return folder;
}

/* The graph of that name in tests/graphs; the caller frees it. */
static inline struct npuplan_graph *import_model(const char *name)
{
	struct npuplan_graph *graph;
	struct npuplan_error error;
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s.json", models_folder(), name);
	if (npuimport_file(path, NULL, &graph, NULL, &error))
		fail_msg("%s", error.text);
	return graph;
}

/*
 * The folder of models beside the project: NPUMEM_SHARED, or else ../shared. NULL where it is not
 * there, after a sentence that says what (@missed) was not tested.
 */
static inline const char *shared_folder(const char *missed)
{
	const char *shared = getenv("NPUMEM_SHARED");

	if (!shared)
		shared = "../shared";
	if (!access(shared, R_OK))
		return shared;
	fprintf(stderr, "SKIPPED: %s is not there: %s (set NPUMEM_SHARED)\n", shared, missed);
	return NULL;
}
