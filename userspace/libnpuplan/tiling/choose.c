// SPDX-License-Identifier: MIT
/*
 * The tiler finds, for each operator, the tiling that fits on chip and moves the fewest bytes
 * (docs/tiling.md).
 *
 * A tile is the product of a range of rows, a range of channels and a range of columns, and so is
 * the part of an input that it needs. Let r be the bytes of the part for those rows with all
 * channels, c the bytes for those channels with all rows, and w the bytes of the whole: then the
 * part for both has r * c / w bytes; columns are a factor more, and so is depth, the channels of
 * the input that a step adds up. So each dimension is cut alone, once for each size of a tile, and
 * the cost of cutting several is computed from these.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "patches.h"

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
 * Columns cost steps: whole rows, if they fit, have to move so many times the bytes that columns do
 * to be left, in per cent.
 */
#define WORTH_COLUMNS 105

/* enum dimension - what an operator is cut along */
enum dimension {
	ROWS,
	CHANNELS,
	COLUMNS,
	DEPTH, /* steps of a tile, which add up its sums */
	DIMENSIONS,
};

/*
 * struct profile - an operator cut along one dimension alone
 * @size: rows, channels or columns of a tile, or input channels of a step
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

/*
 * struct profiles - profiles along one dimension, the first of one tile; of rows, columns and depth
 * from large tiles to small ones
 */
struct profiles {
	struct profile *at;
	uint32_t count;
};

/*
 * struct chooser - the operator whose tiling is chosen
 * @p: the partition of the operator into one tile
 * @o: operands of the tile at hand; its @counted is that of the one tile
 * @depth: channels of the first input that may be cut; 0: they may not be
 * @all: per operand, its bytes in the one tile
 * @profiles: by enum dimension; those of columns and depth are one alone if they cannot be cut
 * @pool: all arrays but the lists of profiles
 */
struct chooser {
	struct npuplan_partition p;
	struct npuplan_operands o;
	bool double_buffer;
	int64_t depth;
	uint64_t *all;
	struct profiles profiles[DIMENSIONS];
	struct npuplan_pool pool;
};

/*
 * struct tile_candidate - a tiling with its most bytes on chip and the cost of moving its tiles
 * @cut: by enum dimension; all NULL: none
 */
struct tile_candidate {
	const struct profile *cut[DIMENSIONS];
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

/* Add the profile of tiles of @size rows, channels, columns or depth, unless it is there. */
static int add_profile(struct chooser *c, enum dimension along, int64_t size)
{
	struct profiles *list = &c->profiles[along];
	struct npuplan_partition p = c->p;
	struct profile *profile;

	for (uint32_t i = 0; i < list->count; i++)
		if (list->at[i].size == size)
			return 0;
	if (npuplan_grow(&list->at, list->count, sizeof(*list->at)))
		return -ENOMEM;
	npuplan_partition_set(&p, &(struct npuplan_tile_choice){
					  .rows = along == ROWS ? (uint32_t)size : 0,
					  .channels = along == CHANNELS ? (uint32_t)size : 0,
					  .columns = along == COLUMNS ? (uint32_t)size : 0,
					  .depth = along == DEPTH && c->depth ? (uint32_t)size : 0,
				  });
	p.sums = c->p.sums;
	profile = &list->at[list->count++];
	*profile = (struct profile){
		.size = size,
		.tiles = npuplan_partition_steps(&p),
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
 * channels and depth also this size rounded up to whole lanes.
 */
static int add_profiles(struct chooser *c, enum dimension along)
{
	const struct npuplan_spatial *output = &c->p.output;
	int64_t depth_granule = 1, depth = c->depth ? npuplan_depth(&c->p, &depth_granule) : 1;
	const int64_t extents[DIMENSIONS] = { output->rows, output->channels, output->row, depth };
	/* Of rows that cannot be cut whole ones are the only profile. */
	const int64_t granules[DIMENSIONS] = {
		1,
		npuplan_granule(output),
		npuplan_has_columns(&c->p) ? 1 : output->row,
		depth_granule,
	};
	int64_t extent = extents[along], granule = granules[along];
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
		if ((along == CHANNELS || along == DEPTH) && size % LANES &&
		    (size + LANES - 1) / LANES * LANES < extent)
			err = add_profile(c, along, (size + LANES - 1) / LANES * LANES);
		if (!err)
			err = add_profile(c, along, size < extent ? size : extent);
		if (n > MANY_TILES && n < units)
			n = n + n / 4 < units ? n + n / 4 : units - 1;
	}
	return err;
}

static int by_size(const void *left, const void *right)
{
	const struct profile *a = left, *b = right;

	return a->size < b->size ? 1 : -(a->size > b->size);
}

/* a * b / all, where the product may need more than 64 bits. */
static uint64_t share(uint64_t a, uint64_t b, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)a * b / all) : 0;
}

/* Whether depth is cut; then what is read twice is read in other parts. */
static bool is_deep(const struct tile_candidate *candidate)
{
	return candidate->cut[DEPTH]->tiles > 1;
}

/* Bytes on chip of a step, given for each dimension the number of a footprint. */
static uint64_t onchip_at(const struct chooser *c, const struct tile_candidate *candidate,
			  const uint32_t *footprint)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < c->o.count; i++) {
		uint64_t part = c->all[i];
		bool streamed = false;

		if (!is_deep(candidate) && (!c->o.counted[i] || npuplan_operand_is_sums(&c->o, i)))
			continue;
		for (int d = 0; d < DIMENSIONS; d++) {
			const struct profile *profile = candidate->cut[d];

			part = share(part,
				     profile->footprints[(size_t)footprint[d] * c->o.count + i],
				     c->all[i]);
			streamed |= profile->varies[i];
		}
		bytes += part * (c->double_buffer && streamed ? 2 : 1);
	}
	return bytes;
}

/* Bytes on chip of a candidate, at the step that has most. */
static uint64_t onchip_of(const struct chooser *c, const struct tile_candidate *candidate)
{
	uint32_t at[DIMENSIONS];
	uint64_t most = 0;

	for (at[ROWS] = 0; at[ROWS] < candidate->cut[ROWS]->footprint_count; at[ROWS]++)
		for (at[CHANNELS] = 0; at[CHANNELS] < candidate->cut[CHANNELS]->footprint_count;
		     at[CHANNELS]++)
			for (at[COLUMNS] = 0;
			     at[COLUMNS] < candidate->cut[COLUMNS]->footprint_count; at[COLUMNS]++)
				for (at[DEPTH] = 0;
				     at[DEPTH] < candidate->cut[DEPTH]->footprint_count;
				     at[DEPTH]++) {
					uint64_t bytes = onchip_at(c, candidate, at);

					most = bytes > most ? bytes : most;
				}
	return most;
}

/*
 * struct operand_cost - what moving one operand costs along one of the two loops of a tiling
 * @sum: of its parts of all tiles
 * @changed: of those that differ from the part of the tile before
 * @varies: some tiles have other bytes of it than others
 */
struct operand_cost {
	uint64_t sum;
	uint64_t changed;
	bool varies;
};

static struct operand_cost cost_of_profile(const struct profile *profile, uint32_t operand)
{
	return (struct operand_cost){
		.sum = profile->sum[operand],
		.changed = profile->changed[operand],
		.varies = profile->varies[operand],
	};
}

/*
 * Rows and columns are one loop, in which columns go by first: if they have other bytes, so has
 * each place.
 */
static struct operand_cost cost_of_places(const struct chooser *c,
					  const struct tile_candidate *candidate, uint32_t operand)
{
	struct operand_cost cost = cost_of_profile(candidate->cut[ROWS], operand);
	const struct profile *columns = candidate->cut[COLUMNS];

	cost.sum = share(cost.sum, columns->sum[operand], c->profiles[COLUMNS].at[0].sum[operand]);
	if (columns->varies[operand]) {
		cost.changed = cost.sum;
		cost.varies = true;
	}
	return cost;
}

/*
 * Cost of moving a candidate's tiles. While the inner loop advances, an input whose part stays the
 * same stays on chip; one whose part changes is read again for each tile of the outer loop. Depth
 * is the innermost loop: what changes with it is read again for each tile.
 */
static uint64_t cost_of(const struct chooser *c, const struct tile_candidate *candidate)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < c->o.count; i++) {
		struct operand_cost places = cost_of_places(c, candidate, i);
		struct operand_cost channels = cost_of_profile(candidate->cut[CHANNELS], i);
		bool rows_outer = candidate->order == NPUPLAN_ROWS_OUTER;
		const struct operand_cost *outer = rows_outer ? &places : &channels;
		const struct operand_cost *inner = rows_outer ? &channels : &places;
		const struct profile *depth = candidate->cut[DEPTH];

		if (npuplan_operand_is_output(&c->o, i))
			bytes += share(outer->sum, inner->sum, c->all[i]);
		else if (depth->varies[i])
			bytes += share(share(outer->sum, inner->sum, c->all[i]), depth->sum[i],
				       c->profiles[DEPTH].at[0].sum[i]);
		else if (c->o.counted[i] && inner->varies)
			bytes += share(outer->sum, inner->changed, c->all[i]);
		else if (c->o.counted[i])
			bytes += outer->changed;
	}
	return bytes;
}

static bool is_better(const struct tile_candidate *a, const struct tile_candidate *b)
{
	bool lanes_a, lanes_b;

	if (!b->cut[ROWS])
		return true;
	if (a->cost != b->cost)
		return a->cost < b->cost;
	if (a->steps != b->steps)
		return a->steps < b->steps;
	lanes_a = a->cut[CHANNELS]->size % LANES == 0;
	lanes_b = b->cut[CHANNELS]->size % LANES == 0;
	return lanes_a > lanes_b;
}

/* Insert a candidate into @best, which has the FINALISTS best ones, the best first. */
static void enter(struct tile_candidate *best, struct tile_candidate candidate)
{
	for (int i = 0; i < FINALISTS; i++)
		if (is_better(&candidate, &best[i])) {
			struct tile_candidate other = best[i];

			best[i] = candidate;
			if (!other.cut[ROWS])
				return;
			candidate = other;
		}
}

/* Cut the candidate along @along, columns or depth, as the profile @at says. */
static void set_cut(const struct chooser *c, enum dimension along, uint32_t at,
		    struct tile_candidate *candidate)
{
	candidate->cut[along] = &c->profiles[along].at[at];
	candidate->onchip = onchip_of(c, candidate);
	candidate->steps = 1;
	for (int d = 0; d < DIMENSIONS; d++)
		candidate->steps *= candidate->cut[d]->tiles;
}

/*
 * Leave the candidate whole along @along, columns or depth, if it fits into @onchip bytes so, or
 * else give it the largest of these that do; if there are none, the smallest of which there are not
 * too many.
 */
static void fit(const struct chooser *c, enum dimension along, uint64_t onchip,
		struct tile_candidate *candidate)
{
	const struct profiles *sizes = &c->profiles[along];
	uint32_t large = 0, small = sizes->count - 1;
	uint64_t tiles;

	set_cut(c, along, 0, candidate);
	if (candidate->onchip <= onchip)
		return;
	tiles = candidate->steps;
	while (small && tiles * sizes->at[small].tiles > npuv_default_limits.max_accesses)
		small--;
	set_cut(c, along, small, candidate);
	if (candidate->onchip > onchip)
		return;
	/* Those at @large do not fit, those at @small do. */
	while (large + 1 < small) {
		uint32_t middle = large + (small - large) / 2;

		set_cut(c, along, middle, candidate);
		*(candidate->onchip <= onchip ? &small : &large) = middle;
	}
	set_cut(c, along, small, candidate);
}

/* Note that a candidate may be the one that takes the fewest bytes on chip. */
static void enter_least(struct tile_candidate *least, const struct tile_candidate *candidate)
{
	if (!least->cut[ROWS] || candidate->onchip < least->onchip)
		*least = *candidate;
}

/*
 * Look at all candidates: @whole and @cut get the best of whole rows and of columns that fit into
 * @onchip bytes, @least the one that takes the fewest bytes on chip.
 */
static void search(const struct chooser *c, uint64_t onchip, struct tile_candidate *whole,
		   struct tile_candidate *cut, struct tile_candidate *least)
{
	const struct profiles *rows = &c->profiles[ROWS], *channels = &c->profiles[CHANNELS];

	for (uint32_t k = 0; k < channels->count; k++)
		for (uint32_t r = 0; r < rows->count; r++) {
			struct tile_candidate candidate = {
				.cut = { &rows->at[r], &channels->at[k], NULL,
					 c->profiles[DEPTH].at },
			};
			struct tile_candidate *best;

			fit(c, COLUMNS, onchip, &candidate);
			best = candidate.cut[COLUMNS]->tiles > 1 ? cut : whole;
			if (candidate.steps > npuv_default_limits.max_accesses)
				continue;
			enter_least(least, &candidate);
			if (candidate.onchip > onchip)
				continue;
			candidate.cost = cost_of(c, &candidate);
			enter(best, candidate);
			if (candidate.steps == candidate.cut[CHANNELS]->tiles ||
			    candidate.cut[CHANNELS]->tiles == 1)
				continue;
			candidate.order = NPUPLAN_CHANNELS_OUTER;
			candidate.cost = cost_of(c, &candidate);
			enter(best, candidate);
		}
}

/*
 * Enter a candidate whose depth is cut, if that fits and makes not too many steps. Its order is
 * rows first: what depth cuts is read again for each tile either way.
 */
static void enter_deep(const struct chooser *c, uint64_t onchip, struct tile_candidate *candidate,
		       struct tile_candidate *best, struct tile_candidate *least)
{
	if (candidate->steps * c->o.count > npuv_default_limits.max_accesses)
		return;
	enter_least(least, candidate);
	if (candidate->onchip > onchip)
		return;
	candidate->cost = cost_of(c, candidate);
	enter(best, *candidate);
}

/* Enter a candidate once more, with the next less depth of whole lanes, unless it has such. */
static void enter_lanes(const struct chooser *c, uint64_t onchip, struct tile_candidate *candidate,
			struct tile_candidate *best, struct tile_candidate *least)
{
	const struct profiles *depths = &c->profiles[DEPTH];
	uint32_t at = (uint32_t)(candidate->cut[DEPTH] - depths->at);

	if (depths->at[at].size % LANES == 0)
		return;
	while (at < depths->count && depths->at[at].size % LANES != 0)
		at++;
	if (at == depths->count)
		return;
	set_cut(c, DEPTH, at, candidate);
	enter_deep(c, onchip, candidate, best, least);
}

/*
 * Look at all candidates that fit only with their depth cut: into the fewest ranges; if that takes
 * columns, too, into some numbers of ranges, each twice the one before.
 */
static void search_deep(const struct chooser *c, uint64_t onchip, struct tile_candidate *best,
			struct tile_candidate *least)
{
	const struct profiles *rows = &c->profiles[ROWS], *channels = &c->profiles[CHANNELS];
	const struct profiles *depths = &c->profiles[DEPTH], *columns = &c->profiles[COLUMNS];

	for (uint32_t k = 0; k < channels->count; k++)
		for (uint32_t r = 0; r < rows->count; r++) {
			struct tile_candidate candidate = {
				.cut = { &rows->at[r], &channels->at[k], columns->at, NULL },
			};
			uint64_t most = 2;

			fit(c, DEPTH, onchip, &candidate);
			if (!is_deep(&candidate))
				continue;
			enter_deep(c, onchip, &candidate, best, least);
			if (candidate.onchip <= onchip) {
				enter_lanes(c, onchip, &candidate, best, least);
				continue;
			}
			if (columns->count == 1)
				continue;
			for (uint32_t d = 1; d < depths->count; d++) {
				if (depths->at[d].tiles < most && d + 1 < depths->count)
					continue;
				most = 2 * depths->at[d].tiles;
				candidate.cut[DEPTH] = &depths->at[d];
				fit(c, COLUMNS, onchip, &candidate);
				enter_deep(c, onchip, &candidate, best, least);
			}
		}
}

/* The size of a candidate's tiles along one dimension as a choice says it: 0 for all. */
static uint32_t size_of(const struct tile_candidate *candidate, enum dimension along)
{
	const struct profile *profile = candidate->cut[along];

	return profile->tiles > 1 ? (uint32_t)profile->size : 0;
}

static void set_choice(const struct tile_candidate *candidate, struct npuplan_tile_choice *choice)
{
	choice->rows = size_of(candidate, ROWS);
	choice->channels = size_of(candidate, CHANNELS);
	choice->columns = size_of(candidate, COLUMNS);
	choice->depth = size_of(candidate, DEPTH);
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

	for (int i = 0; i < FINALISTS && best[i].cut[ROWS]; i++) {
		set_choice(&best[i], choice);
		if (npuplan_choice_cost(c->p.graph, tiling, choice, &cost))
			return NULL;
		/* Parts of sums are rounded to blocks, so that they may take more than computed. */
		if (choice->depth && cost.report.onchip > tiling->onchip)
			continue;
		best[i].cost = cost.transfers;
		if (!first || is_better(&best[i], first))
			first = &best[i];
	}
	return first;
}

/*
 * The best of the candidates whose depth is cut, or one of the next less depths of it: with small
 * depths, bursts that the product leaves out matter most.
 */
static const struct tile_candidate *pick_deep(struct chooser *c,
					      const struct npuplan_tiling *tiling,
					      struct npuplan_tile_choice *choice,
					      struct tile_candidate *best)
{
	const struct tile_candidate *first = pick(c, tiling, choice, best);
	const struct profiles *depths = &c->profiles[DEPTH];
	struct tile_candidate less[FINALISTS] = { 0 };
	const struct tile_candidate *other;
	uint32_t at;

	if (!first)
		return NULL;
	at = (uint32_t)(first->cut[DEPTH] - depths->at) + 1;
	for (int i = 0; i < FINALISTS && at < depths->count; i++, at++) {
		less[i] = *first;
		set_cut(c, DEPTH, at, &less[i]);
		if (less[i].steps * c->o.count > npuv_default_limits.max_accesses)
			less[i].cut[ROWS] = NULL;
	}
	other = pick(c, tiling, choice, less);
	if (!other || !is_better(other, first))
		return first;
	best[0] = *other;
	return &best[0];
}

/*
 * Choose how @choice->op is cut: the best way that fits, or else the one that takes the fewest
 * bytes on chip.
 */
static int choose(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		  struct npuplan_tile_choice *choice)
{
	struct tile_candidate whole[FINALISTS] = { 0 }, cut[FINALISTS] = { 0 };
	struct tile_candidate deep[FINALISTS] = { 0 }, least = { 0 };
	const struct tile_candidate *chosen, *other;
	struct chooser c = { .double_buffer = tiling->double_buffer };
	int64_t granule;
	int err;

	if (!npuplan_partition_init(&c.p, graph, choice->op, 0))
		return 0;
	c.depth = tiling->partial_sums ? npuplan_depth(&c.p, &granule) : 0;
	c.p.sums = c.depth > 0;
	err = chooser_init(&c);
	for (int d = 0; d < DIMENSIONS && !err; d++)
		err = add_profiles(&c, d);
	if (!err) {
		/* Rounding may have put them out of order. */
		qsort(c.profiles[DEPTH].at, c.profiles[DEPTH].count, sizeof(*c.profiles[DEPTH].at),
		      by_size);
		search(&c, tiling->onchip, whole, cut, &least);
		chosen = pick(&c, tiling, choice, whole);
		other = pick(&c, tiling, choice, cut);
		if (!chosen || (other && chosen->cost / WORTH_COLUMNS > other->cost / 100))
			chosen = other;
		/* Whole depth stays where that moves no more. */
		search_deep(&c, tiling->onchip, deep, &least);
		other = pick_deep(&c, tiling, choice, deep);
		if (!chosen || (other && other->cost < chosen->cost))
			chosen = other;
		set_choice(chosen ? chosen : &least, choice);
	}
	for (int d = 0; d < DIMENSIONS; d++)
		npuplan_free(c.profiles[d].at);
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
	char tiles[128] = "whole", columns[32] = "", depth[32] = "", label[96];
	int err = npuplan_choice_cost(graph, tiling, choice, &cost);

	if (err == -E2BIG)
		return npuplan_fail_accesses(op, error);
	if (err)
		return npuplan_fail(error, err, "operator %s: %s", op->name, strerror(-err));
	if (report->onchip <= tiling->onchip)
		return 0;
	if (report->columns)
		snprintf(columns, sizeof(columns), " x %" PRId64 " columns", report->columns);
	if (report->depth)
		snprintf(depth, sizeof(depth), " of depth %" PRId64, report->depth);
	if (report->steps > 1)
		snprintf(tiles, sizeof(tiles),
			 "in tiles of %" PRId64 " rows x %" PRId64 " channels%s%s", report->rows,
			 report->channels, columns, depth);
	return npuplan_fail(error, -ENOSPC,
			    "operator %s %s: step %" PRIu64 " of %" PRIu64 " needs %" PRIu64
			    " bytes on chip, %" PRIu64 " of them for %s%s; there are %" PRIu64,
			    op->name, tiles, cost.step, report->steps, report->onchip,
			    cost.tensor_bytes, cost.of_sums ? "sums of " : "",
			    npuplan_tensor_label(graph, cost.tensor, label), tiling->onchip);
}

int npuplan_choose_tiles(const struct npuplan_graph *graph, struct npuplan_tiling *tiling,
			 struct npuplan_error *error)
{
	struct npuplan_tile_choice *all = calloc(graph->op_count + (size_t)1, sizeof(*all));
	uint32_t count = 0;
	int err = 0;

	if (!all)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < graph->op_count && !err; i++) {
		const struct npuplan_tile_choice *told = npuplan_told(tiling, i);
		struct npuplan_tile_choice *choice = &all[count];

		/* Whether patches fit is found out when their steps are made. */
		if (npuplan_patches_of(tiling, i))
			continue;
		count++;
		choice->op = i;
		if (told)
			*choice = *told;
		else if (choose(graph, tiling, choice))
			err = npuplan_fail(error, -ENOMEM, "out of memory");
		if (!err)
			err = check_fit(graph, tiling, choice, error);
	}
	free(tiling->ops);
	tiling->ops = all;
	tiling->op_count = count;
	return err;
}
