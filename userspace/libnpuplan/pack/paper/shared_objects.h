/* SPDX-License-Identifier: MIT */
/* The published packer Shared Objects of Pisarchyk & Lee (arXiv 2001.03288). */
#pragma once

#include "pack/base/call.h"

/** enum npuplan_objects_rule - Pisarchyk & Lee's strategies for Shared Objects */
enum npuplan_objects_rule {
	NPUPLAN_OBJECTS_BY_BREADTH,
	NPUPLAN_OBJECTS_BY_SIZE,
	NPUPLAN_OBJECTS_BY_SIZE_IMPROVED,
};

/*
 * Pack by a strategy (enum npuplan_objects_rule). -EOPNOTSUPP: an item has a fixed offset, or
 * conflicts are listed.
 */
int npuplan_pack_shared_objects(struct npuplan_pack *call, int sharing);
