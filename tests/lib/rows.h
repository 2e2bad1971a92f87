/* SPDX-License-Identifier: MIT */
/* Converts between rows of a tensor, with all of their channels, and regions. */
#pragma once

#include "graph/shape.h"

/** rows_region() - bytes of a range of rows, all channels, all batches */
static inline struct npumem_region rows_region(const struct npuplan_spatial *spatial,
					       struct npuplan_rows rows)
{
	const struct npuplan_part part = { rows, { 0, spatial->channels } };

	return npuplan_part_region(spatial, &part);
}

/** region_rows() - rows that a region holds whole; false if it is not that */
static inline bool region_rows(const struct npuplan_spatial *spatial,
			       const struct npumem_region *region, struct npuplan_rows *rows)
{
	struct npuplan_part part;
	bool found = npuplan_region_part(spatial, region, &part) &&
		     part.channels.count == spatial->channels;

	*rows = part.rows;
	return found;
}
