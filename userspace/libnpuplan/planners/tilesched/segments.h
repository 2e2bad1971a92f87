/* SPDX-License-Identifier: MIT */
/*
 * Which consecutive operators run interleaved: a schedule is a path over segments
 * [begin, end) that cover the operators. Segments are played one by one
 * (simulate.h); dynamic programming puts them together.
 */
#pragma once

#include "simulate.h"

/*
 * struct tilesched_segment - operators [@begin, end) run in one way
 */
struct tilesched_segment {
	uint32_t begin;
	struct tilesched_way way;
	struct npuplan_schedule_point cost;
};

/*
 * struct tilesched_table - segments worth having, by their end
 *
 * For each @begin and end none that another one beats in peak and traffic. Single
 * operators are always there.
 *
 * @at: those with end e are at[e][0 .. count[e]), by begin in the order they were played
 * @work: units and waits looked at
 * @incomplete: not all segments were looked at: the limit of work, or the caller's
 */
struct tilesched_table {
	uint32_t op_count;
	struct tilesched_segment **at;
	uint32_t *count;
	uint64_t work;
	bool incomplete;
};

/* tilesched_table_init() - play all segments, the shorter ones first
 * @work_limit: units and waits looked at; those of single operators are not counted
 * @effort: asked now and then; when it is over, the rest is left out
 *
 * The whole graph is looked at before segments of two. What peaks no lower than layer
 * order of the same operators is not kept: that has no more traffic. tilesched_table_fini()
 * in any case. -ENOMEM.
 */
int tilesched_table_init(struct tilesched_table *table, struct tilesched_sim *sim,
			 uint64_t work_limit, struct npuplan_effort *effort);
void tilesched_table_fini(struct tilesched_table *table);

/*
 * struct tilesched_path - a schedule
 * @segments: in order; the end of one is the begin of the next, or op_count. free() it
 */
struct tilesched_path {
	struct tilesched_segment *segments;
	uint32_t count;
	struct npuplan_schedule_point cost;
};

/* tilesched_path_find() - least traffic of those that peak no higher than @limit
 *
 * -ENOENT: there is none; -ENOMEM.
 */
int tilesched_path_find(const struct tilesched_table *table, uint64_t limit,
			struct tilesched_path *path);

/* tilesched_front() - all paths that no other beats in both peak and traffic
 * @costs: out: from the least peak on, malloc'ed
 *
 * Where there are hundreds, some may be left out, but not the first and the last.
 * -ENOMEM.
 */
int tilesched_front(const struct tilesched_table *table, struct npuplan_schedule_point **costs,
		    uint32_t *count);

static inline uint64_t tilesched_traffic(const struct npuplan_schedule_point *cost)
{
	return cost->weights + cost->halos;
}
