/* SPDX-License-Identifier: MIT */
/*
 * The choice of the consecutive operators that run interleaved. A schedule is a path: fusions
 * [begin, end) that cover all operators. Fusions are played one by one (simulate.h), and dynamic
 * programming puts them together.
 */
#pragma once

#include "simulate.h"

/* struct tilesched_fusion - operators [@begin, end) that are run in one way */
struct tilesched_fusion {
	uint32_t begin;
	struct tilesched_way way;
	struct npuplan_schedule_point cost;
};

/*
 * struct tilesched_table - the fusions that are worth having, by their end
 *
 * Of the fusions with one begin and end it has those that no other one beats in both peak and
 * traffic. Single operators are always there.
 *
 * @at: fusions with end e are at[e][0 .. count[e]), in the order in which they were played
 * @work: work units: units of memory and waits that were looked at
 * @incomplete: not all fusions were looked at, because of the limit of work or the caller
 */
struct tilesched_table {
	uint32_t op_count;
	struct tilesched_fusion **at;
	uint32_t *count;
	uint64_t work;
	bool incomplete;
};

/* tilesched_table_init() - play all fusions, the shorter ones first
 * @work_limit: work units after which the rest is left out; single operators do not count
 * @effort: asked now and then; when it is over, the rest is left out
 *
 * The whole graph is played before fusions of two operators. A fusion that peaks no lower than
 * layer order of the same operators is not kept, since that has no more traffic. The caller calls
 * tilesched_table_fini() in any case. -ENOMEM.
 */
int tilesched_table_init(struct tilesched_table *table, struct tilesched_sim *sim,
			 uint64_t work_limit, struct npuplan_effort *effort);
void tilesched_table_fini(struct tilesched_table *table);

/*
 * struct tilesched_path - a schedule, as fusions
 * @fusions: the fusions in order, which the caller frees by free(); the end of one is the begin
 *	of the next, or op_count
 */
struct tilesched_path {
	struct tilesched_fusion *fusions;
	uint32_t count;
	struct npuplan_schedule_point cost;
};

/* tilesched_path_find() - find the path of least traffic whose peak is not above @limit
 *
 * -ENOENT: there is no such path; -ENOMEM.
 */
int tilesched_path_find(const struct tilesched_table *table, uint64_t limit,
			struct tilesched_path *path);

/* tilesched_front() - find the costs of all paths that no other one beats in both peak and traffic
 * @costs: out: the costs, from the least peak on, which the caller frees by free()
 *
 * If there are hundreds, some may be left out, but not the first and the last. -ENOMEM.
 */
int tilesched_front(const struct tilesched_table *table, struct npuplan_schedule_point **costs,
		    uint32_t *count);

static inline uint64_t tilesched_traffic(const struct npuplan_schedule_point *cost)
{
	return cost->weights + cost->halos;
}
