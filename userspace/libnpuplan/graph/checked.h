/* SPDX-License-Identifier: MIT */
/*
 * Graphs as blobs, and what the verifier makes of them.
 */
#pragma once

#include "base/internal.h"

/*
 * struct npuplan_checked - graph as blob, checked by the verifier, with its cells
 * @blob: owned
 * @cells: checked form of @blob
 */
struct npuplan_checked {
	void *blob;
	size_t size;
	struct npuv_graph *cells;
};

int npuplan_checked_init(struct npuplan_checked *checked, const struct npuplan_graph *graph,
			 struct npuplan_error *error);
void npuplan_checked_fini(struct npuplan_checked *checked);
