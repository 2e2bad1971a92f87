// SPDX-License-Identifier: MIT
/*
 * The tiler: of each operator the tiling that fits on chip and moves the least data
 * (docs/tiling.md).
 *
 * Tiles are products of a range of rows and a range of channels, and so are the parts
 * of inputs that they need: the bytes of each are those for the rows, with all
 * channels, times those for the channels, with all rows, over those of all. So rows
 * and channels are cut apart from each other, once for each size of a tile, and what
 * both together take is worked out from the two.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"

/* Channels that hardware works on at once: so many a tile are taken if it is all the same. */
#define LANES 32

/* Beyond so many tiles not every number of them is tried, but one a quarter higher. */
#define MANY_TILES 1024
/* More kinds of tiles than this are taken as one that needs the most of each operand. */
#define MOST_NEEDS 16

/* So many of the best are gone through step by step: bursts do not multiply out exactly. */
#define FINALISTS 8

/*
 * struct profile - an operator cut by rows alone, or by channels alone
 * @size: rows, or channels, of a tile
 * @tiles: how many
 * @sum: per operand cost of moving all tiles of it
 * @changed: likewise of those tiles only that differ from the tile before
 * @varies: per operand whether not all tiles have the same bytes of it
 * @needs: @need_count times per operand its bytes: those of tiles that differ in them
 * @merged: there were too many; the only one has the most of each operand
 */
struct profile {
	int64_t size;
	uint64_t tiles;
	uint64_t *sum;
	uint64_t *changed;
	bool *varies;
	uint64_t *needs;
	uint32_t need_count;
	bool merged;
};

/*
 * struct chooser - one operator in the choosing
 * @operands: inputs first, then outputs
 * @all: per operand its bytes in a tile of everything
 * @counted: per operand, false for tensors that are an operand before, too
 * @rows, @channels: profiles, from large tiles to small ones
 */
struct chooser {
	const struct npuplan_graph *graph;
	const struct npuplan_op *op;
	struct npuplan_cut cut;
	bool double_buffer;
	uint32_t operands;
	uint64_t *all;
	bool *counted;
	struct npumem_region *regions;
	struct npumem_region *before;
	struct profile *rows;
	struct profile *channels;
	uint32_t row_count;
	uint32_t channel_count;
};

/** struct candidate - a tiling, what it has on chip, and what moving its tiles costs */
struct candidate {
	const struct profile *rows;
	const struct profile *channels;
	uint32_t order;
	uint64_t onchip;
	uint64_t cost;
	uint64_t steps;
};

static void free_profiles(struct profile *profiles, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		free_all(profiles[i].sum, profiles[i].changed, profiles[i].varies,
			 profiles[i].needs);
	}
	free(profiles);
}

static void chooser_fini(struct chooser *c)
{
	free_profiles(c->rows, c->row_count);
	free_profiles(c->channels, c->channel_count);
	free_all(c->all, c->counted, c->regions, c->before);
}

static void set_regions(struct chooser *c, const struct npuplan_part *tile)
{
	npuplan_tile_inputs(&c->cut, tile, c->regions);
	for (uint32_t i = 0; i < c->op->output_count; i++)
		c->regions[c->op->input_count + i] =
			npuplan_tile_output(&c->cut, c->op->outputs[i], tile);
}

static uint32_t tensor_of(const struct chooser *c, uint32_t operand)
{
	return operand < c->op->input_count ? c->op->inputs[operand] :
					      c->op->outputs[operand - c->op->input_count];
}

static int chooser_init(struct chooser *c)
{
	struct npuplan_part all = { { 0, c->cut.output.rows }, { 0, c->cut.output.channels } };
	size_t count;

	c->operands = c->op->input_count + c->op->output_count;
	count = (size_t)c->operands + 1;
	c->all = calloc(count, sizeof(*c->all));
	c->counted = calloc(count, sizeof(*c->counted));
	c->regions = calloc(count, sizeof(*c->regions));
	c->before = calloc(count, sizeof(*c->before));
	if (!c->all || !c->counted || !c->regions || !c->before)
		return -ENOMEM;
	set_regions(c, &all);
	for (uint32_t i = 0; i < c->operands; i++) {
		c->all[i] = npuplan_region_bytes(&c->regions[i]);
		c->counted[i] = true;
		for (uint32_t k = 0; k < i; k++)
			c->counted[i] &=
				tensor_of(c, k) != tensor_of(c, i) ||
				memcmp(&c->regions[k], &c->regions[i], sizeof(c->regions[i])) != 0;
	}
	return 0;
}

/* The most of each operand, of all needs and the one behind them, as the only one. */
static void merge_needs(const struct chooser *c, struct profile *profile)
{
	for (uint32_t k = 1; k <= profile->need_count; k++)
		for (uint32_t i = 0; i < c->operands; i++) {
			uint64_t bytes = profile->needs[(size_t)k * c->operands + i];

			if (bytes > profile->needs[i])
				profile->needs[i] = bytes;
		}
	profile->need_count = 1;
	profile->merged = true;
}

/* Keep what a tile needs if no tile before needed just that. */
static int add_need(struct chooser *c, struct profile *profile)
{
	uint64_t *need, *more;

	more = realloc(profile->needs,
		       (profile->need_count + (size_t)1) * c->operands * sizeof(*more));
	if (!more)
		return -ENOMEM;
	profile->needs = more;
	need = more + (size_t)profile->need_count * c->operands;
	for (uint32_t i = 0; i < c->operands; i++)
		need[i] = npuplan_region_bytes(&c->regions[i]);
	for (uint32_t k = 0; k < profile->need_count; k++)
		if (!memcmp(more + (size_t)k * c->operands, need, c->operands * sizeof(*need)))
			return 0;
	if (profile->merged || profile->need_count == MOST_NEEDS)
		merge_needs(c, profile);
	else
		profile->need_count++;
	return 0;
}

static uint64_t transfer_cost(const struct chooser *c, uint32_t operand)
{
	uint32_t kind = c->graph->tensors[tensor_of(c, operand)].kind;

	return npuplan_transfer_cost(&c->regions[operand], kind == NPUMEM_TENSOR_PARAMETER);
}

/* Cut by rows or by channels into tiles of profile->size. */
static int cut_by(struct chooser *c, bool rows, struct profile *profile)
{
	const struct npuplan_tile_choice choice = {
		.rows = rows ? (uint32_t)profile->size : 0,
		.channels = rows ? 0 : (uint32_t)profile->size,
	};
	size_t count = (size_t)c->operands + 1;
	struct npuplan_grid grid;
	int err = 0;

	npuplan_grid_init(&grid, &c->cut, &choice);
	profile->tiles = npuplan_grid_tiles(&grid);
	profile->sum = calloc(count, sizeof(*profile->sum));
	profile->changed = calloc(count, sizeof(*profile->changed));
	profile->varies = calloc(count, sizeof(*profile->varies));
	if (!profile->sum || !profile->changed || !profile->varies)
		return -ENOMEM;
	for (uint64_t k = 0; k < profile->tiles && !err; k++) {
		struct npuplan_part tile = npuplan_grid_tile(&grid, k);

		set_regions(c, &tile);
		for (uint32_t i = 0; i < c->operands; i++) {
			uint64_t cost = transfer_cost(c, i);
			bool is_new = !k || memcmp(&c->regions[i], &c->before[i],
						   sizeof(c->before[i])) != 0;

			profile->sum[i] += cost;
			profile->changed[i] += is_new ? cost : 0;
			profile->varies[i] |= k && is_new;
		}
		memcpy(c->before, c->regions, c->operands * sizeof(*c->before));
		err = add_need(c, profile);
	}
	return err;
}

static int add_profile(struct chooser *c, bool rows, int64_t size)
{
	struct profile **list = rows ? &c->rows : &c->channels;
	uint32_t *count = rows ? &c->row_count : &c->channel_count;

	for (uint32_t i = 0; i < *count; i++)
		if ((*list)[i].size == size)
			return 0;
	if (npuplan_grow(list, *count, sizeof(**list)))
		return -ENOMEM;
	(*list)[*count] = (struct profile){ .size = size };
	++*count;
	return cut_by(c, rows, &(*list)[*count - 1]);
}

/* Sizes of tiles: for each number of tiles the least size, and of channels that in whole lanes. */
static int add_profiles(struct chooser *c, bool rows)
{
	int64_t granule = rows ? 1 : npuplan_granule(&c->cut.output);
	int64_t extent = rows ? c->cut.output.rows : c->cut.output.channels;
	int64_t units = (extent + granule - 1) / granule, before = 0;
	int err = 0;

	/* No more steps than the verifier takes, be they ever so small. */
	for (int64_t n = 1; n <= units && !err; n++) {
		int64_t size = (units + n - 1) / n * granule;

		if (n > (int64_t)npuv_default_limits.max_accesses)
			break;
		if (size == before) {
			/* On to the number of tiles that has smaller ones. */
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

/* a * b / c, of bytes whose product may be large. */
static uint64_t share(uint64_t a, uint64_t b, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)a * b / all) : 0;
}

/* Bytes on chip: of the step that has most. */
static uint64_t onchip_of(const struct chooser *c, const struct profile *rows,
			  const struct profile *channels)
{
	uint64_t most = 0;

	for (uint32_t r = 0; r < rows->need_count; r++)
		for (uint32_t k = 0; k < channels->need_count; k++) {
			const uint64_t *a = rows->needs + (size_t)r * c->operands;
			const uint64_t *b = channels->needs + (size_t)k * c->operands;
			uint64_t bytes = 0;

			for (uint32_t i = 0; i < c->operands; i++) {
				bool streamed = rows->varies[i] || channels->varies[i];

				if (c->counted[i])
					bytes += share(a[i], b[i], c->all[i]) *
						 (c->double_buffer && streamed ? 2 : 1);
			}
			most = bytes > most ? bytes : most;
		}
	return most;
}

/*
 * Cost of what is moved. Along the inner dimension an input whose part stays the same stays on
 * chip; one whose part changes is read again for each tile of the outer dimension.
 */
static uint64_t cost_of(const struct chooser *c, const struct candidate *candidate)
{
	bool rows_outer = candidate->order == NPUPLAN_ROWS_OUTER;
	const struct profile *outer = rows_outer ? candidate->rows : candidate->channels;
	const struct profile *inner = rows_outer ? candidate->channels : candidate->rows;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < c->operands; i++) {
		if (i >= c->op->input_count)
			bytes += share(outer->sum[i], inner->sum[i], c->all[i]);
		else if (c->counted[i] && inner->varies[i])
			bytes += share(outer->sum[i], inner->changed[i], c->all[i]);
		else if (c->counted[i])
			bytes += outer->changed[i];
	}
	return bytes;
}

static bool is_better(const struct candidate *a, const struct candidate *b)
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

/* Keep a candidate among the best of FINALISTS, best first. */
static void enter(struct candidate *best, struct candidate candidate)
{
	for (int i = 0; i < FINALISTS; i++)
		if (is_better(&candidate, &best[i])) {
			struct candidate other = best[i];

			best[i] = candidate;
			if (!other.rows)
				return;
			candidate = other;
		}
}

/* The best that fit, in @best; what takes the least on chip, in @least. */
static void search(const struct chooser *c, uint64_t onchip, struct candidate *best,
		   struct candidate *least)
{
	for (uint32_t k = 0; k < c->channel_count; k++)
		for (uint32_t r = 0; r < c->row_count; r++) {
			struct candidate candidate = {
				.rows = &c->rows[r],
				.channels = &c->channels[k],
				.onchip = onchip_of(c, &c->rows[r], &c->channels[k]),
				.steps = c->rows[r].tiles * c->channels[k].tiles,
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

static void set_choice(const struct chooser *c, const struct candidate *candidate,
		       struct npuplan_tile_choice *choice)
{
	choice->rows = candidate->rows->tiles > 1 ? (uint32_t)candidate->rows->size : 0;
	choice->channels = candidate->channels->tiles > 1 ? (uint32_t)candidate->channels->size : 0;
	choice->order = candidate->order;
}

/* The best of those that fit, by their steps; NULL if there is none. */
static const struct candidate *pick(const struct chooser *c, const struct npuplan_tiling *tiling,
				    struct npuplan_tile_choice *choice, struct candidate *best)
{
	const struct candidate *first = NULL;
	struct npuplan_tile_cost cost;

	for (int i = 0; i < FINALISTS && best[i].rows; i++) {
		set_choice(c, &best[i], choice);
		if (npuplan_choice_cost(c->graph, tiling, choice, &cost))
			return NULL;
		best[i].cost = cost.transfers;
		if (!first || is_better(&best[i], first))
			first = &best[i];
	}
	return first;
}

/* @choice: its op is set; becomes the best that fits, else what takes the least. */
static int choose(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		  struct npuplan_tile_choice *choice)
{
	struct candidate best[FINALISTS] = { 0 }, least = { 0 };
	const struct candidate *chosen;
	struct chooser c = {
		.graph = graph,
		.op = &graph->ops[choice->op],
		.double_buffer = tiling->double_buffer,
	};
	int err;

	if (!npuplan_cut_of(graph, choice->op, false, &c.cut))
		return 0;
	err = chooser_init(&c);
	if (!err)
		err = add_profiles(&c, true);
	if (!err)
		err = add_profiles(&c, false);
	if (!err) {
		search(&c, tiling->onchip, best, &least);
		chosen = pick(&c, tiling, choice, best);
		set_choice(&c, chosen ? chosen : &least, choice);
	}
	chooser_fini(&c);
	return err;
}

/* What was chosen or told, by going through its steps. */
static int check_fit(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		     const struct npuplan_tile_choice *choice, struct npuplan_error *error)
{
	const char *name = graph->ops[choice->op].name;
	struct npuplan_tile_cost cost;
	char tiles[96] = "whole", label[96];
	int err = npuplan_choice_cost(graph, tiling, choice, &cost);
	struct npuplan_cut cut;

	if (err == -E2BIG)
		return npuplan_fail(error, err,
				    "operator %s: the tiling has more than %llu accesses", name,
				    (unsigned long long)npuv_default_limits.max_accesses);
	if (err)
		return npuplan_fail(error, err, "operator %s: %s", name, strerror(-err));
	if (cost.onchip <= tiling->onchip)
		return 0;
	if (cost.steps > 1 && npuplan_cut_of(graph, choice->op, false, &cut))
		snprintf(tiles, sizeof(tiles),
			 "in tiles of %" PRId64 " rows x %" PRId64 " channels",
			 choice->rows ? choice->rows : cut.output.rows,
			 choice->channels ? choice->channels : cut.output.channels);
	return npuplan_fail(error, -ENOSPC,
			    "operator %s %s: step %" PRIu64 " of %" PRIu64 " needs %" PRIu64
			    " bytes on chip, %" PRIu64 " of them for %s; there are %" PRIu64,
			    name, tiles, cost.step, cost.steps, cost.onchip, cost.tensor_bytes,
			    npuplan_tensor_label(graph, cost.tensor, label), tiling->onchip);
}

int npuplan_choose_tiles(const struct npuplan_graph *graph, struct npuplan_tiling *tiling,
			 struct npuplan_error *error)
{
	struct npuplan_tile_choice *all = calloc(graph->op_count + (size_t)1, sizeof(*all));
	uint32_t told = 0;
	int err = 0;

	if (!all)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < graph->op_count && !err; i++) {
		all[i].op = i;
		if (told < tiling->op_count && tiling->ops[told].op == i)
			all[i] = tiling->ops[told++];
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
