/* SPDX-License-Identifier: MIT */
/* Shared Objects of Pisarchyk & Lee (arXiv 2001.03288). */
#pragma once

#include "pack/base/run.h"

/** enum npuplan_objects_rule - Pisarchyk & Lee's strategies for Shared Objects */
enum npuplan_objects_rule {
	NPUPLAN_OBJECTS_BY_BREADTH,
	NPUPLAN_OBJECTS_BY_SIZE,
	NPUPLAN_OBJECTS_BY_SIZE_IMPROVED,
};

/* shared_objects.c; items without fixed offsets and whole conflicts only: -EOPNOTSUPP. */
int npuplan_pack_shared_objects(struct npuplan_pack *run, int sharing);
