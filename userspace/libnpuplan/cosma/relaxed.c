// SPDX-License-Identifier: MIT
/* Segments one after the other, and their paths put together. */
#include <stdlib.h>
#include <string.h>

#include "mpmf.h"
#include "solve.h"

/* Ranks of a part's operators. */
static int part_rank(const uint32_t *rank, const struct cosma_model *part, uint32_t **out)
{
	*out = NULL;
	if (!rank)
		return 0;
	*out = malloc(((size_t)part->op_count + 1) * sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (uint32_t v = 0; v < part->op_count; v++)
		(*out)[v] = rank[part->op_of[v]];
	return 0;
}

/** struct evictions - who leaves before which position, of the whole model */
struct evictions {
	uint32_t *tensor;
	uint32_t *position;
	uint32_t count;
};

static int note(struct evictions *evictions, const struct cosma_model *part,
		const struct cosma_path *path, uint32_t at)
{
	for (uint32_t p = 0; p < path->op_count; p++)
		for (uint32_t k = path->first[p]; k < path->first[p + 1]; k++) {
			uint32_t count = evictions->count;

			if (npuplan_grow(&evictions->tensor, count, sizeof(uint32_t)) ||
			    npuplan_grow(&evictions->position, count, sizeof(uint32_t)))
				return -ENOMEM;
			evictions->tensor[count] = part->tensor_of[path->evicted[k]];
			evictions->position[evictions->count++] = at + p;
		}
	return 0;
}

/** cosma_relaxed_segment() - one segment's best path, by whatever it takes */
static int solve_segment(struct cosma_solve *solve, const struct cosma_model *part,
			 const uint32_t *rank, struct cosma_path *path, int64_t *lower_bound)
{
	struct cosma_query query = {
		.model = part,
		.budget = (int64_t)solve->options->budget,
		.upper = INT64_MAX / 2,
		.rank = rank,
	};

	return cosma_search(&query, &solve->run, path, lower_bound);
}

int cosma_relaxed(struct cosma_solve *solve, struct cosma_schedule *schedule, int64_t *lower_bound)
{
	const struct cosma_segments *segments = &solve->segments;
	struct evictions evictions = { 0 };
	int outcome = COSMA_SOLVED;

	*lower_bound = 0;
	for (uint32_t i = 0; i < segments->count && outcome >= 0; i++) {
		uint32_t at = segments->first[i], *rank = NULL;
		struct cosma_path path = { 0 };
		struct cosma_model part = { 0 };
		int64_t bound = 0;
		int found = cosma_model_part(&part, &solve->model, segments->ops + at,
					     segments->first[i + 1] - at, NULL);

		found = found ? found : part_rank(solve->rank, &part, &rank);
		found = found ? found : solve_segment(solve, &part, rank, &path, &bound);
		*lower_bound += bound;
		if (found == COSMA_SOLVED || found == COSMA_FOUND) {
			cosma_schedule_part(schedule, &part, &path, at);
			if (note(&evictions, &part, &path, at))
				found = -ENOMEM;
		}
		if (found < 0 || outcome == COSMA_SOLVED || found == COSMA_STOPPED)
			outcome = found;
		cosma_path_fini(&path);
		cosma_model_fini(&part);
		free(rank);
	}
	if (outcome == COSMA_SOLVED || outcome == COSMA_FOUND) {
		cosma_schedule_order(schedule);
		for (uint32_t k = 0; k < evictions.count; k++)
			cosma_schedule_evict(schedule, evictions.tensor[k], evictions.position[k]);
	}
	free(evictions.tensor);
	free(evictions.position);
	return outcome;
}

int cosma_least_peak(const struct cosma_model *model, const struct cosma_segments *segments,
		     const uint32_t *rank, struct cosma_run *run, struct cosma_schedule *schedule,
		     int64_t *peak, int64_t *lower_bound)
{
	int outcome = COSMA_SOLVED;

	*peak = 0;
	*lower_bound = 0;
	for (uint32_t v = 0; v < model->op_count; v++)
		*lower_bound = model->need[v] > *lower_bound ? model->need[v] : *lower_bound;
	for (uint32_t i = 0; i < segments->count && outcome == COSMA_SOLVED; i++) {
		uint32_t at = segments->first[i], *ranks = NULL;
		struct cosma_path path = { 0 };
		struct cosma_model part = { 0 };
		int64_t bound = 0;

		outcome = cosma_model_part(&part, model, segments->ops + at,
					   segments->first[i + 1] - at, NULL);
		outcome = outcome ? outcome : part_rank(rank, &part, &ranks);
		outcome = outcome ? outcome :
				    cosma_mpmf(&part, *lower_bound, ranks, run, &path, &bound);
		*lower_bound = bound > *lower_bound ? bound : *lower_bound;
		if (outcome == COSMA_SOLVED) {
			*peak = path.cost > *peak ? path.cost : *peak;
			cosma_schedule_part(schedule, &part, &path, at);
		}
		cosma_path_fini(&path);
		cosma_model_fini(&part);
		free(ranks);
	}
	if (outcome == COSMA_SOLVED)
		cosma_schedule_order(schedule);
	return outcome;
}
