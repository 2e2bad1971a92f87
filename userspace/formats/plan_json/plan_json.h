/* SPDX-License-Identifier: MIT */
/*
 * Between the parts of plan JSON: what its writer and reader share, ids and words of the
 * format; then what is only written, and only read.
 */
#pragma once

#include "../json/get.h"
#include "../json/put.h"
#include "base/internal.h"

/*
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

/* "reads" or "writes" of a tiled step: what it accesses in that way. */
json_t *npuplan_json_accesses(const struct npuplan_graph *graph, uint32_t step, uint32_t mode);

/* plan_json/tiling.c: how a graph was tiled; without "ops" and "patches", which name operators */
json_t *plan_json_tiling(const struct npuplan_tiling *tiling);
json_t *plan_json_choice(const struct npuplan_graph *graph,
			 const struct npuplan_tile_choice *choice);
json_t *plan_json_patches(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling);
/* Whether it is known how a graph was tiled. */
bool plan_json_has_tiling(const struct npuplan_tiling *tiling);

/* plan_json/flow.c: -EINVAL or -EOPNOTSUPP if "blocks" and "views" cannot be written. */
int plan_json_check_flow(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			 struct npuplan_error *error);
void plan_json_put_flow(struct npujson_text *text, const struct npuplan_graph *graph,
			const struct npuplan_plan *plan);

/*
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

/* Index of the tensor that has @id, which may be no integer; NPUMEM_NONE if there is none. */
uint32_t npuplan_ids_tensor(const struct npuplan_ids *ids, const json_t *id);

/* Index of the tensor whose id @field is; 0 after an error. */
uint32_t plan_json_tensor(struct plan_json_reader *r, const json_t *object, const char *field);

/* plan_json_read_tiling() - "tiling" of @root; all 0 if it is absent or an error
 *
 * Of a graph without operators the choices are checked, and left out.
 */
void plan_json_read_tiling(struct plan_json_reader *r, const json_t *root,
			   struct npuplan_tiling *tiling);

/* plan_json_check_tiling() - -EINVAL if the graph is known to be tiled otherwise */
void plan_json_check_tiling(struct plan_json_reader *r, const json_t *root);

/* plan_json_read_flow() - "blocks" and "views"; all else is read
 *
 * Without blocks the plan has one, of all positions.
 */
void plan_json_read_flow(struct plan_json_reader *r, const json_t *root);
