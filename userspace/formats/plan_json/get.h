/* SPDX-License-Identifier: MIT */
/* Between the parts of the plan JSON reader. */
#ifndef NPUPLAN_PLAN_JSON_GET_H
#define NPUPLAN_PLAN_JSON_GET_H

#include "plan_json.h"

/**
 * struct plan_json_reader - plan in the reading
 * @json: the file
 * @host: per tensor the place of its host copy, UINT64_MAX if it has none yet
 */
struct plan_json_reader {
	struct npujson *json;
	const struct npuplan_graph *graph;
	struct npuplan_plan *plan;
	struct npuplan_ids ids;
	uint64_t *host;
};

/* Index of the tensor whose id @field is; 0 after an error. */
uint32_t plan_json_tensor(struct plan_json_reader *r, const json_t *object, const char *field);

/** plan_json_read_tiling() - "tiling" of @root; all 0 if it is absent or an error
 *
 * Of a graph without operators the choices are checked, and left out.
 */
void plan_json_read_tiling(struct plan_json_reader *r, const json_t *root,
			   struct npuplan_tiling *tiling);

/* plan_json_check_tiling() - -EINVAL if the graph is known to be tiled otherwise */
void plan_json_check_tiling(struct plan_json_reader *r, const json_t *root);

/** plan_json_read_flow() - "blocks" and "views"; all else is read
 *
 * Without blocks the plan has one, of all positions.
 */
void plan_json_read_flow(struct plan_json_reader *r, const json_t *root);

#endif /* NPUPLAN_PLAN_JSON_GET_H */
