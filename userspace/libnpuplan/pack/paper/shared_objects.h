/* SPDX-License-Identifier: MIT */
/* Shared Objects of Pisarchyk & Lee (arXiv 2001.03288). */
#pragma once

#include "pack/base/run.h"

/** enum npuplan_sharing - Pisarchyk & Lee's strategies for Shared Objects */
enum npuplan_sharing {
	NPUPLAN_SHARE_BY_BREADTH,
	NPUPLAN_SHARE_BY_SIZE,
	NPUPLAN_SHARE_BY_SIZE_IMPROVED,
};

/* shared_objects.c; items without fixed offsets and whole conflicts only: -EOPNOTSUPP. */
int npuplan_pack_shared_objects(struct npuplan_pack *run, int sharing);
