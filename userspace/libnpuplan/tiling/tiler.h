/* SPDX-License-Identifier: MIT */
/* What the tilings share: making steps and tiles, equal tiles only once. */
#pragma once

#include "base/internal.h"
#include "base/region.h"
#include "base/table.h"

/*
 * struct npuplan_tiler - tiling in the making
 * @table: of the graph's tiles
 * @accesses: of the step in the making
 * @place: per tile the last access of it: of this step, if it is in @accesses
 */
struct npuplan_tiler {
	struct npuplan_graph *graph;
	bool with_parameters;
	struct npuplan_table table;
	struct npumem_access *accesses;
	uint32_t *place;
	uint32_t access_count;
};

/* -EINVAL if the graph has steps already. */
int npuplan_tiler_init(struct npuplan_tiler *tiler, struct npuplan_graph *graph,
		       bool with_parameters, struct npuplan_error *error);
/* @err: of the tiling; if not zero the graph gets rid of all steps and tiles. */
void npuplan_tiler_fini(struct npuplan_tiler *tiler, int err);

/* npuplan_tiler_access() - let the step in the making access a region
 *
 * Reading what is read already does nothing; reading and writing one tensor
 * whole is an update in place. Parameters are skipped if not asked for.
 */
int npuplan_tiler_access(struct npuplan_tiler *tiler, uint32_t tensor,
			 const struct npumem_region *region, uint32_t mode);

/* npuplan_tiler_inplace() - the write of one region may take the bytes read of another
 *
 * Both are accesses of the step in the making. Nothing is done unless they are a
 * read and a write of as many bytes: what is updated, or skipped as a parameter,
 * is not taken.
 */
void npuplan_tiler_inplace(struct npuplan_tiler *tiler, uint32_t read,
			   const struct npumem_region *read_region, uint32_t write,
			   const struct npumem_region *write_region);

/* npuplan_tiler_step() - end the step: it does tile @index of @count of @op
 *
 * -EINVAL if it accesses nothing; -E2BIG if there are more accesses by now than
 * the verifier takes.
 */
int npuplan_tiler_step(struct npuplan_tiler *tiler, uint32_t op, uint32_t index, uint32_t count,
		       uint32_t flags, struct npuplan_error *error);

/** npuplan_whole() - region of a whole tensor */
struct npumem_region npuplan_whole(const struct npuplan_tensor *tensor);
