// SPDX-License-Identifier: MIT
/* Packers by name. */
#include <string.h>

#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"
#include "pack/paper/shared_objects.h"
#include "pack/search/searches.h"
#include "packers.h"

static const struct npuplan_packer packers[] = {
	{ "exact", 0, npuplan_pack_exact },
	{ "greedy", 0, npuplan_pack_best_greedy },
	{ "size", NPUPLAN_BY_SIZE, npuplan_pack_first_fit },
	{ "duration", NPUPLAN_BY_DURATION, npuplan_pack_first_fit },
	{ "peers", NPUPLAN_BY_PEERS, npuplan_pack_first_fit },
	{ "breadth", NPUPLAN_BY_BREADTH, npuplan_pack_first_fit },
	{ "start", NPUPLAN_BY_START, npuplan_pack_first_fit },
	{ "area", NPUPLAN_BY_AREA, npuplan_pack_first_fit },
	{ "conflicts", NPUPLAN_BY_CONFLICTS, npuplan_pack_first_fit },
	{ "size-duration", NPUPLAN_BY_SIZE_DURATION, npuplan_pack_first_fit },
	{ "squeaky", 16, npuplan_pack_squeaky },
	{ "tflm", NPUPLAN_BY_SIZE_ALONE, npuplan_pack_first_fit },
	{ "tflite", 0, npuplan_pack_best_fit },
	{ "valley", NPUPLAN_VALLEY_MODES, npuplan_pack_valley },
	{ "valley-longest", 0, npuplan_pack_valley },
	{ "valley-first", 1, npuplan_pack_valley },
	{ "valley-last", 2, npuplan_pack_valley },
	{ "valley-flush", 3, npuplan_pack_valley },
	{ "valley-area", NPUPLAN_VALLEY_AREA, npuplan_pack_valley },
	{ "shared-breadth", NPUPLAN_SHARE_BY_BREADTH, npuplan_pack_shared_objects },
	{ "shared-size", NPUPLAN_SHARE_BY_SIZE, npuplan_pack_shared_objects },
	{ "shared-size-improved", NPUPLAN_SHARE_BY_SIZE_IMPROVED, npuplan_pack_shared_objects },
};

#define PACKER_COUNT (sizeof(packers) / sizeof(packers[0]))

const struct npuplan_packer *npuplan_packer_find(const char *name)
{
	for (size_t i = 0; i < PACKER_COUNT; i++)
		if (!strcmp(packers[i].name, name))
			return &packers[i];
	return NULL;
}

const char *npuplan_packer_name(unsigned int i)
{
	return i < PACKER_COUNT ? packers[i].name : NULL;
}
