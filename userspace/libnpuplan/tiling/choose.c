// SPDX-License-Identifier: MIT
/*
 * The tiler finds, for each operator, the tiling that fits on chip and moves the fewest bytes
 * (docs/tiling.md).
 *
 * A tile is the product of a range of rows and a range of channels, and so is the part of an input
 * that it needs. Let r be the bytes of the part for those rows with all channels, c the bytes for
 * those channels with all rows, and w the bytes of the whole: then the part has r * c / w bytes. So
 * rows alone and channels alone are cut, once for each size of a tile, and the cost of cutting both
 * is computed from these.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"

/*
 * Channels that hardware works on at once: a tile gets a multiple of them where it costs no more.
 */
#define LANES 32

/*
 * Every number of tiles is tried up to this one; above, the next one that is tried is a quarter
 * higher.
 */
#define MANY_TILES	1024
/*
 * The most footprints that are kept of a profile; more are merged to one that has the most bytes of
 * each operand.
 */
#define MOST_FOOTPRINTS 16

/*
 * The number of best candidates whose cost is computed again step by step, since bursts make the
 * product above inexact.
 */
#define FINALISTS 8

/*
 * struct profile - an operator cut by rows alone, or by channels alone
 * @size: rows or channels of a tile
 * @tiles: number of tiles
 * @sum: per operand, cost of moving its parts of all tiles
 * @changed: per operand, cost of moving those parts that differ from the part of the tile before
 * @varies: per operand, whether some tiles have other bytes of it than others
 * @footprints: @footprint_count footprints, all different, with room for one more; a footprint is
 *	the bytes that a tile has of each operand
 * @merged: there were too many footprints; the one that is left has the most bytes of each operand
 */
struct profile {
	int64_t size;
	uint64_t tiles;
	uint64_t *sum;
	uint64_t *changed;
	bool *varies;
	uint64_t *footprints;
	uint32_t footprint_count;
	bool merged;
};

/** struct profiles - profiles along rows or along channels, from large tiles to small ones */
struct profiles {
	struct profile *at;
	uint32_t count;
};

/*
 * struct chooser - the operator whose tiling is chosen
 * @p: the partition of the operator into one tile
 * @o: operands of the tile at hand; its @counted is that of the one tile
 * @all: per operand, its bytes in the one tile
 * @pool: all arrays but the two lists of profiles
 */
struct chooser {
	struct npuplan_partition p;
	struct npuplan_operands o;
	bool double_buffer;
	uint64_t *all;
	struct profiles rows;
	struct profiles channels;
	struct npuplan_pool pool;
};

/** struct tile_candidate - a tiling with its most bytes on chip and the cost of moving its tiles */
struct tile_candidate {
	const struct profile *rows;
	const struct profile *channels;
	uint32_t order;
	uint64_t onchip;
	uint64_t cost;
	uint64_t steps;
};

static void *take(struct chooser *c, size_t records, size_t size)
{
	return npuplan_pool_take(&c->pool, records * c->o.count, size);
}

static int chooser_init(struct chooser *c)
{
	npuplan_operands_init(&c->o, &c->p, &c->pool);
	c->all = take(c, 1, sizeof(*c->all));
	if (c->pool.failed)
		return -ENOMEM;
	npuplan_operands_set(&c->o, 0);
	npuplan_operands_count(&c->o);
	for (uint32_t i = 0; i < c->o.count; i++)
		c->all[i] = chunks_bytes(&c->o.regions[i]);
	return 0;
}

/*
 * Merge all footprints, and the new one behind them, to one that has the most bytes of each
 * operand.
 */
static void merge_footprints(const struct chooser *c, struct profile *profile)
{
	for (uint32_t k = 1; k <= profile->footprint_count; k++)
		for (uint32_t i = 0; i < c->o.count; i++) {
			uint64_t bytes = profile->footprints[(size_t)k * c->o.count + i];

			if (bytes > profile->footprints[i])
				profile->footprints[i] = bytes;
		}
	profile->footprint_count = 1;
	profile->merged = true;
}

/* Keep the footprint of the tile at hand, unless a tile before had the same. */
static void add_footprint(const struct chooser *c, struct profile *profile)
{
	size_t count = c->o.count;
	uint64_t *footprint = profile->footprints + profile->footprint_count * count;

	for (uint32_t i = 0; i < count; i++)
		footprint[i] = chunks_bytes(&c->o.regions[i]);
	for (uint32_t k = 0; k < profile->footprint_count; k++)
		if (!memcmp(profile->footprints + k * count, footprint, count * sizeof(*footprint)))
			return;
	if (profile->merged || profile->footprint_count == MOST_FOOTPRINTS)
		merge_footprints(c, profile);
	else
		profile->footprint_count++;
}

/* Add the profile of tiles of @size rows or channels, unless it is there. */
static int add_profile(struct chooser *c, bool rows, int64_t size)
{
	struct profiles *list = rows ? &c->rows : &c->channels;
	struct npuplan_partition p = c->p;
	struct profile *profile;

	for (uint32_t i = 0; i < list->count; i++)
		if (list->at[i].size == size)
			return 0;
	if (npuplan_grow(&list->at, list->count, sizeof(*list->at)))
		return -ENOMEM;
	npuplan_partition_set(&p, &(struct npuplan_tile_choice){
					  .rows = rows ? (uint32_t)size : 0,
					  .channels = rows ? 0 : (uint32_t)size,
				  });
	profile = &list->at[list->count++];
	*profile = (struct profile){
		.size = size,
		.tiles = npuplan_partition_tiles(&p),
		.sum = take(c, 1, sizeof(*profile->sum)),
		.changed = take(c, 1, sizeof(*profile->changed)),
		.varies = take(c, 1, sizeof(*profile->varies)),
		.footprints = take(c, MOST_FOOTPRINTS + 1, sizeof(*profile->footprints)),
	};
	if (c->pool.failed)
		return -ENOMEM;
	c->o.p = &p;
	for (uint64_t k = 0; k < profile->tiles; k++) {
		npuplan_operands_set(&c->o, k);
		for (uint32_t i = 0; i < c->o.count; i++) {
			uint64_t cost = npuplan_operand_cost(&c->o, i);
			bool is_new = npuplan_operand_is_new(&c->o, i);

			profile->sum[i] += cost;
			profile->changed[i] += is_new ? cost : 0;
			profile->varies[i] |= k && is_new;
		}
		add_footprint(c, profile);
	}
	c->o.p = &c->p;
	return 0;
}

/*
 * Add the profiles to try: for each number of tiles the least size that makes so many, and along
 * channels also this size rounded up to whole lanes.
 */
static int add_profiles(struct chooser *c, bool rows)
{
	int64_t granule = rows ? 1 : npuplan_granule(&c->p.output);
	int64_t extent = rows ? c->p.output.rows : c->p.output.channels;
	int64_t units = (extent + granule - 1) / granule, before = 0;
	int err = 0;

	/* The verifier limits how many steps there may be. */
	for (int64_t n = 1; n <= units && !err; n++) {
		int64_t size = (units + n - 1) / n * granule;

		if (n > (int64_t)npuv_default_limits.max_accesses)
			break;
		if (size == before) {
			/* Skip numbers of tiles that have the same size. */
			n = (units + size / granule - 2) / (size / granule - 1) - 1;
			continue;
		}
		before = size;
		if (!rows && size % LANES && (size + LANES - 1) / LANES * LANES < extent)
			err = add_profile(c, false, (size + LANES - 1) / LANES * LANES);
		if (!err)
			err = add_profile(c, rows, size < extent ? size : extent);
		if (n > MANY_TILES && n < units)
			n = n + n / 4 < units ? n + n / 4 : units - 1;
	}
	return err;
}

/* a * b / all, where the product may need more than 64 bits. */
static uint64_t share(uint64_t a, uint64_t b, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)a * b / all) : 0;
}

/* Bytes on chip of a candidate, at the step that has most. */
static uint64_t onchip_of(const struct chooser *c, const struct profile *rows,
			  const struct profile *channels)
{
	uint64_t most = 0;

	for (uint32_t r = 0; r < rows->footprint_count; r++)
		for (uint32_t k = 0; k < channels->footprint_count; k++) {
			const uint64_t *a = rows->footprints + (size_t)r * c->o.count;
			const uint64_t *b = channels->footprints + (size_t)k * c->o.count;
			uint64_t bytes = 0;

			for (uint32_t i = 0; i < c->o.count; i++) {
				bool streamed = rows->varies[i] || channels->varies[i];

				if (c->o.counted[i])
					bytes += share(a[i], b[i], c->all[i]) *
						 (c->double_buffer && streamed ? 2 : 1);
			}
			most = bytes > most ? bytes : most;
		}
	return most;
}

/*
 * Cost of moving a candidate's tiles. While the inner dimension advances, an input whose part stays
 * the same stays on chip; one whose part changes is read again for each tile of the outer
 * dimension.
 */
static uint64_t cost_of(const struct chooser *c, const struct tile_candidate *candidate)
{
	bool rows_outer = candidate->order == NPUPLAN_ROWS_OUTER;
	const struct profile *outer = rows_outer ? candidate->rows : candidate->channels;
	const struct profile *inner = rows_outer ? candidate->channels : candidate->rows;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < c->o.count; i++) {
		if (i >= c->p.op->input_count)
			bytes += share(outer->sum[i], inner->sum[i], c->all[i]);
		else if (c->o.counted[i] && inner->varies[i])
			bytes += share(outer->sum[i], inner->changed[i], c->all[i]);
		else if (c->o.counted[i])
			bytes += outer->changed[i];
	}
	return bytes;
}

static bool is_better(const struct tile_candidate *a, const struct tile_candidate *b)
{
	bool lanes_a, lanes_b;

	if (!b->rows)
		return true;
	if (a->cost != b->cost)
		return a->cost < b->cost;
	if (a->steps != b->steps)
		return a->steps < b->steps;
	lanes_a = a->channels->size % LANES == 0;
	lanes_b = b->channels->size % LANES == 0;
	return lanes_a > lanes_b;
}

/* Insert a candidate into @best, which has the FINALISTS best ones, the best first. */
static void enter(struct tile_candidate *best, struct tile_candidate candidate)
{
	for (int i = 0; i < FINALISTS; i++)
		if (is_better(&candidate, &best[i])) {
			struct tile_candidate other = best[i];

			best[i] = candidate;
			if (!other.rows)
				return;
			candidate = other;
		}
}

/*
 * Look at all candidates: @best gets the best of those that fit into @onchip bytes, @least the one
 * that takes the fewest bytes on chip.
 */
static void search(const struct chooser *c, uint64_t onchip, struct tile_candidate *best,
		   struct tile_candidate *least)
{
	for (uint32_t k = 0; k < c->channels.count; k++)
		for (uint32_t r = 0; r < c->rows.count; r++) {
			struct tile_candidate candidate = {
				.rows = &c->rows.at[r],
				.channels = &c->channels.at[k],
				.onchip = onchip_of(c, &c->rows.at[r], &c->channels.at[k]),
				.steps = c->rows.at[r].tiles * c->channels.at[k].tiles,
			};

			if (candidate.steps > npuv_default_limits.max_accesses)
				continue;
			if (!least->rows || candidate.onchip < least->onchip)
				*least = candidate;
			if (candidate.onchip > onchip)
				continue;
			candidate.cost = cost_of(c, &candidate);
			enter(best, candidate);
			if (candidate.rows->tiles == 1 || candidate.channels->tiles == 1)
				continue;
			candidate.order = NPUPLAN_CHANNELS_OUTER;
			candidate.cost = cost_of(c, &candidate);
			enter(best, candidate);
		}
}

static void set_choice(const struct tile_candidate *candidate, struct npuplan_tile_choice *choice)
{
	choice->rows = candidate->rows->tiles > 1 ? (uint32_t)candidate->rows->size : 0;
	choice->channels = candidate->channels->tiles > 1 ? (uint32_t)candidate->channels->size : 0;
	choice->order = candidate->order;
}

/*
 * Go through the steps of the candidates in @best, and return the best one that fits; NULL: there
 * is none.
 */
static const struct tile_candidate *pick(const struct chooser *c,
					 const struct npuplan_tiling *tiling,
					 struct npuplan_tile_choice *choice,
					 struct tile_candidate *best)
{
	const struct tile_candidate *first = NULL;
	struct npuplan_tile_cost cost;

	for (int i = 0; i < FINALISTS && best[i].rows; i++) {
		set_choice(&best[i], choice);
		if (npuplan_choice_cost(c->p.graph, tiling, choice, &cost))
			return NULL;
		best[i].cost = cost.transfers;
		if (!first || is_better(&best[i], first))
			first = &best[i];
	}
	return first;
}

/*
 * Choose how @choice->op is cut: the best way that fits, or else the one that takes the fewest
 * bytes on chip.
 */
static int choose(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		  struct npuplan_tile_choice *choice)
{
	struct tile_candidate best[FINALISTS] = { 0 }, least = { 0 };
	const struct tile_candidate *chosen;
	struct chooser c = { .double_buffer = tiling->double_buffer };
	int err;

	if (!npuplan_partition_init(&c.p, graph, choice->op, 0))
		return 0;
	err = chooser_init(&c);
	if (!err)
		err = add_profiles(&c, true);
	if (!err)
		err = add_profiles(&c, false);
	if (!err) {
		search(&c, tiling->onchip, best, &least);
		chosen = pick(&c, tiling, choice, best);
		set_choice(chosen ? chosen : &least, choice);
	}
	npuplan_free_all(c.rows.at, c.channels.at);
	npuplan_pool_free(&c.pool);
	return err;
}

/* Check, by going through the steps, that what was chosen or asked for fits on chip. */
static int check_fit(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		     const struct npuplan_tile_choice *choice, struct npuplan_error *error)
{
	const struct npuplan_op *op = &graph->ops[choice->op];
	struct npuplan_tile_cost cost;
	const struct npuplan_tile_report *report = &cost.report;
	char tiles[96] = "whole", label[96];
	int err = npuplan_choice_cost(graph, tiling, choice, &cost);

	if (err == -E2BIG)
		return npuplan_fail_accesses(op, error);
	if (err)
		return npuplan_fail(error, err, "operator %s: %s", op->name, strerror(-err));
	if (report->onchip <= tiling->onchip)
		return 0;
	if (report->steps > 1)
		snprintf(tiles, sizeof(tiles),
			 "in tiles of %" PRId64 " rows x %" PRId64 " channels", report->rows,
			 report->channels);
	return npuplan_fail(error, -ENOSPC,
			    "operator %s %s: step %" PRIu64 " of %" PRIu64 " needs %" PRIu64
			    " bytes on chip, %" PRIu64 " of them for %s; there are %" PRIu64,
			    op->name, tiles, cost.step, report->steps, report->onchip,
			    cost.tensor_bytes, npuplan_tensor_label(graph, cost.tensor, label),
			    tiling->onchip);
}

int npuplan_choose_tiles(const struct npuplan_graph *graph, struct npuplan_tiling *tiling,
			 struct npuplan_error *error)
{
	struct npuplan_tile_choice *all = calloc(graph->op_count + (size_t)1, sizeof(*all));
	int err = 0;

	if (!all)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < graph->op_count && !err; i++) {
		const struct npuplan_tile_choice *told = npuplan_told(tiling, i);

		all[i].op = i;
		if (told)
			all[i] = *told;
		else if (choose(graph, tiling, &all[i]))
			err = npuplan_fail(error, -ENOMEM, "out of memory");
		if (!err)
			err = check_fit(graph, tiling, &all[i], error);
	}
	free(tiling->ops);
	tiling->ops = all;
	tiling->op_count = graph->op_count;
	return err;
}
