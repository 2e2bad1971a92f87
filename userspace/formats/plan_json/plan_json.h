/* SPDX-License-Identifier: MIT */
/* What the plan JSON writer and reader share: ids, and words of the format. */
#ifndef NPUPLAN_PLAN_JSON_H
#define NPUPLAN_PLAN_JSON_H

#include "../json/get.h"
#include "base/internal.h"
#include "graph/shape.h"

/**
 * struct npuplan_ids - from ids of the source file to indices
 * @tensors: sorted by id
 * @steps: sorted by id of the operator, then tile
 */
struct npuplan_ids {
	struct npujson_id *tensors, *steps;
	uint32_t tensor_count;
	uint32_t step_count;
};

/* -EINVAL if two tensors, or two steps, are not told apart by their ids. */
int npuplan_ids_init(struct npuplan_ids *ids, const struct npuplan_graph *graph,
		     struct npuplan_error *error);
void npuplan_ids_fini(struct npuplan_ids *ids);

/** npuplan_digest_text() - the graph's digest as plan JSON has it: "sha256:3f2a..." */
struct npuplan_digest_text {
	char s[2 * NPUPLAN_DIGEST_SIZE + 8];
};
struct npuplan_digest_text npuplan_digest_text(const struct npuplan_graph *graph);

/* Names of enum npumem_plan_status and npumem_position_kind, by value. */
extern const char *const npuplan_status_names[4];
extern const char *const npuplan_transfer_names[NPUMEM_POSITION_STORE + 1];

/* Strides of a region or placement. */
json_t *npuplan_json_strides(const __u64 strides[NPUMEM_REGION_DIMS]);

/* {"offset", "length", "count": [3], "stride": [3]} */
json_t *npuplan_json_region(const struct npumem_region *region);

/* "rows" of @object, and "channels" where they are not all that the tensor has. */
void npuplan_json_part(json_t *object, const struct npuplan_spatial *spatial,
		       const struct npuplan_rows *rows, const struct npuplan_rows *channels);

/* "reads" or "writes" of a tiled step: what it accesses in that way. */
json_t *npuplan_json_accesses(const struct npuplan_graph *graph, uint32_t step, uint32_t mode);

/* plan_json/tiling.c: how a graph was tiled; without the choices, which are in "ops" */
json_t *plan_json_tiling(const struct npuplan_graph *graph);
json_t *plan_json_choice(const struct npuplan_graph *graph,
			 const struct npuplan_tile_choice *choice);

/* plan_json/flow.c: -EINVAL or -EOPNOTSUPP if the writers below cannot write it. */
int plan_json_check_flow(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			 struct npuplan_error *error);
/* @next_edge: first of the plan's edges that is not written yet; moved on */
json_t *plan_json_block(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			uint32_t block, uint32_t *next_edge);
json_t *plan_json_view(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       const struct npumem_view *view);

#endif /* NPUPLAN_PLAN_JSON_H */
