/* SPDX-License-Identifier: MIT */
/* Between the parts of the plan JSON reader. */
#ifndef NPUPLAN_PLAN_JSON_GET_H
#define NPUPLAN_PLAN_JSON_GET_H

#include "plan_json.h"

/**
 * struct plan_json_reader - plan in the reading
 * @path: of the object at hand, for messages: "schedule[3]"; "" for the file
 * @host: per tensor the place of its host copy, UINT64_MAX if it has none yet
 */
struct plan_json_reader {
	const struct npuplan_graph *graph;
	struct npuplan_plan *plan;
	struct npuplan_error *error;
	struct npuplan_ids ids;
	uint64_t *host;
	char path[48];
};

/** plan_json_fail() - "schedule[3].op: sentence"; returns -EINVAL
 * @field: of the object at hand; "" for the object itself
 */
__attribute__((format(printf, 3, 4))) int
plan_json_fail(struct plan_json_reader *r, const char *field, const char *format, ...);

/* Fields of an object that are known; NULL ends the list. */
int plan_json_fields(struct plan_json_reader *r, const json_t *object, const char *const *known);

/* Value of 0 to @limit. */
int plan_json_integer(struct plan_json_reader *r, const char *field, const json_t *value,
		      uint64_t limit, uint64_t *out);
/* Field of an object; absent, it keeps its value if it is optional. */
int plan_json_get(struct plan_json_reader *r, const json_t *object, const char *field,
		  bool required, uint64_t limit, uint64_t *out);
/* Array of whatever it has; NULL if it is absent and optional. */
int plan_json_array(struct plan_json_reader *r, const json_t *object, const char *field,
		    bool required, const json_t **list);
/* Array of exactly @count integers. */
int plan_json_list(struct plan_json_reader *r, const json_t *object, const char *field,
		   size_t count, uint64_t limit, uint64_t *out);
int plan_json_tensor(struct plan_json_reader *r, const json_t *object, const char *field,
		     uint32_t *tensor);

/** plan_json_read_tiling() - "tiling" of @root; all 0 if it is absent
 *
 * Of a graph without operators the choices are checked, and left out.
 */
int plan_json_read_tiling(struct plan_json_reader *r, const json_t *root,
			  struct npuplan_tiling *tiling);

/* plan_json_check_tiling() - -EINVAL if the graph is known to be tiled otherwise */
int plan_json_check_tiling(struct plan_json_reader *r, const json_t *root);

/** plan_json_read_flow() - "blocks" and "views"; all else is read
 *
 * Without blocks the plan has one, of all positions.
 */
int plan_json_read_flow(struct plan_json_reader *r, const json_t *root);

#endif /* NPUPLAN_PLAN_JSON_GET_H */
