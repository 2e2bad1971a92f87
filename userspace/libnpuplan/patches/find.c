// SPDX-License-Identifier: MIT
/*
 * Which operators to run patch by patch, in what patches, so that the fewest bytes live at once.
 *
 * While operators run in patches, all that they read from outside and the last one's output live;
 * of all else between them there is a patch. Of each operator what all patches together need of it,
 * and what the largest needs, is a product: rows are found with whole rows, columns with all rows.
 * So all numbers of patches cost as much as those of rows and those of columns one after the other.
 *
 * The operator at which most bytes live has to run in patches; all ranges of operators around it
 * that can are looked at, and the one with which the fewest bytes live anywhere in the graph is
 * taken; or in the range, if as many live elsewhere. Then the operator at which most live now is
 * next, as long as there are patches for it; those that were taken in vain are given back. How few
 * bytes can live is known by then: all is looked for once more, for as many, and as little as can
 * be that runs again (MCUNetV2, section 3, has one range, from the first operator on).
 */
#include <stdlib.h>

#include "graph/checked.h"
#include "graph/operations.h"
#include "problem/liveness.h"
#include "tiling/lives.h"
#include "tiling/patch_range.h"
#include "tiling/patches.h"

/* Operators before and behind the one at which most bytes live that are looked at. */
#define REACH 40
/* Numbers of patches that are tried along rows, and along columns. */
static const uint32_t parts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64 };
#define PART_COUNTS (sizeof(parts) / sizeof(parts[0]))

/*
 * struct cuts - the last operator's output cut along one dimension into parts[i] patches
 * @size: rows or columns of a patch; 0: there is no cut into so many
 * @most, @sum: per operator of the range, rows or columns that a patch needs at most, and that all
 *	need together
 */
struct cuts {
	int64_t size;
	int64_t most[2 * REACH + 1];
	int64_t sum[2 * REACH + 1];
};

/*
 * struct found - the best that was found so far
 * @rank: less is better: bytes that live at once, anywhere in the graph, or in the range, if the
 *	peak is elsewhere, too; if there is a @target, whether more live elsewhere
 * @bytes: that live in the range
 * @again: operations that are computed again
 */
struct found {
	struct npuplan_patches patches;
	uint64_t rank;
	uint64_t bytes;
	uint64_t again;
};

/*
 * struct search - for patches of one graph
 * @bytes: per operator, bytes that live while it runs, with the patches that were taken so far
 * @peak: the most of these
 * @target: as few bytes are enough; 0: as few as can be
 * @useful: number of @taken with which the peak came down to what it is
 * @taken: patches in the order in which they were taken; @taken_count of them
 * @operations: of all operators; @again: that patches compute again; @most_again: at most
 * @rows, @columns: of the range at hand
 * @last_use: per operator of the range at hand, the last one of it that reads what it makes
 */
struct search {
	const struct npuplan_graph *graph;
	struct npuplan_tiling *tiling;
	const struct npuplan_tensor_uses *uses;
	struct npuplan_lives lives;
	struct npuplan_pool pool;
	uint64_t *bytes;
	uint64_t peak;
	uint64_t target;
	struct npuplan_patches *taken;
	uint32_t taken_count;
	uint32_t useful;
	uint64_t operations;
	uint64_t again;
	uint64_t most_again;
	struct cuts rows[PART_COUNTS];
	struct cuts columns[PART_COUNTS];
	uint32_t last_use[2 * REACH + 1];
};

/* What all patches along one dimension need of each operator. */
static void cut_along(struct npuplan_patch_range *range, bool along_rows, uint32_t count,
		      struct cuts *cuts)
{
	const struct npuplan_spatial *output = &range->partitions[range->count - 1].output;
	int64_t extent = along_rows ? output->rows : output->row;

	cuts->size = (extent + count - 1) / count;
	/* Another number has patches of this size, too. */
	if (count > extent || (extent + cuts->size - 1) / cuts->size != count) {
		cuts->size = 0;
		return;
	}
	memset(cuts->most, 0, sizeof(cuts->most));
	memset(cuts->sum, 0, sizeof(cuts->sum));
	for (int64_t first = 0; first < extent; first += cuts->size) {
		const struct npuplan_rows some = { first, extent - first < cuts->size ?
								  extent - first :
								  cuts->size };
		const struct npuplan_part patch = {
			.rows = along_rows ? some : (struct npuplan_rows){ 0, output->rows },
			.channels = { 0, output->channels },
			.columns = along_rows || count == 1 ? (struct npuplan_rows){ 0, 0 } : some,
		};

		npuplan_patch_needs(range, &patch);
		for (uint32_t i = 0; i < range->count; i++) {
			const struct npuplan_part *need = &range->needs[i];
			int64_t needs = along_rows || !need->rows.count ? need->rows.count :
					need->columns.count		? need->columns.count :
							      range->partitions[i].output.row;

			cuts->sum[i] += needs;
			if (needs > cuts->most[i])
				cuts->most[i] = needs;
		}
	}
}

/* Bytes of so much of an operator's output, of all its channels. */
static uint64_t bytes_of(const struct npuplan_partition *p, int64_t rows, int64_t columns)
{
	struct npuplan_spatial part = p->output;

	part.rows = rows;
	part.row = columns;
	return rows && columns ? npuplan_spatial_bytes(&part) : 0;
}

/* The most bytes of patches that live at once. */
static uint64_t most_between(const struct search *search, const struct npuplan_patch_range *range,
			     const struct cuts *rows, const struct cuts *columns)
{
	uint64_t most = 0, now = 0;

	for (uint32_t i = 0; i + 1 < range->count; i++) {
		now += bytes_of(&range->partitions[i], rows->most[i], columns->most[i]);
		most = now > most ? now : most;
		for (uint32_t k = 0; k < i; k++)
			if (search->last_use[k] == i)
				now -= bytes_of(&range->partitions[k], rows->most[k],
						columns->most[k]);
	}
	return now > most ? now : most;
}

/* Operations of the range that are computed again. */
static uint64_t again(const struct search *search, const struct npuplan_patch_range *range,
		      const struct cuts *rows, const struct cuts *columns)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i + 1 < range->count; i++) {
		const struct npuplan_spatial *output = &range->partitions[i].output;
		unsigned __int128 all = (unsigned __int128)output->rows * output->row;
		unsigned __int128 made = (unsigned __int128)rows->sum[i] * columns->sum[i];
		uint32_t op = (uint32_t)(range->partitions[i].op - search->graph->ops);

		if (made > all)
			sum += (uint64_t)(npuplan_operations(search->graph, op) * (made - all) /
					  all);
	}
	return sum;
}

/*
 * Bytes that live while a range runs in patches, but for those of patches: what lives at its first
 * operator, all that it reads from outside, and the last one's output.
 */
static uint64_t bytes_around(const struct search *search, const struct npuplan_patch_range *range,
			     uint32_t first, uint32_t last)
{
	const struct npuplan_graph *graph = search->graph;
	const struct npuplan_lives *lives = &search->lives;
	uint64_t bytes = search->bytes[first];

	for (uint32_t i = 0; i < range->count; i++)
		for (uint32_t k = 0; k < graph->ops[first + i].input_count; k++) {
			uint32_t base = npuplan_base_of(graph, graph->ops[first + i].inputs[k]);

			/* What an output may take the bytes of does not live any more there. */
			if (npuplan_patch_writer(range, i, k) == range->count &&
			    npuplan_lives_dies(lives, base) + 1 == first)
				bytes += lives->size[base];
		}
	if (first == last)
		return bytes;
	return bytes - lives->size[graph->ops[first].outputs[0]] +
	       lives->size[npuplan_base_of(graph, graph->ops[last].outputs[0])];
}

/* The most bytes that live at operators outside of a range. */
static uint64_t most_outside(const struct search *search, uint32_t first, uint32_t last)
{
	uint64_t most = 0;

	for (uint32_t v = 0; v < search->graph->op_count; v++)
		if ((v < first || v > last) && search->bytes[v] > most)
			most = search->bytes[v];
	return most;
}

static bool is_better(const struct found *a, const struct found *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->again < b->again;
}

/* Look at all patches that a range may have. -ENOMEM */
static int look_at(struct search *search, uint32_t first, uint32_t last, struct found *best)
{
	struct npuplan_patch_range range;
	uint64_t around, outside = most_outside(search, first, last);
	int err = npuplan_patch_range_init(&range, search->graph, first, last);
	bool columns = true;

	around = err ? 0 : bytes_around(search, &range, first, last);
	if (err || around >= (search->target ? search->target : best->rank))
		goto out;
	for (uint32_t i = 0; i < range.count; i++) {
		columns &= npuplan_has_columns(&range.partitions[i]);
		for (uint32_t k = 0; k < range.partitions[i].op->input_count; k++)
			if (npuplan_patch_writer(&range, i, k) < range.count)
				search->last_use[npuplan_patch_writer(&range, i, k)] = i;
	}
	for (size_t n = 0; n < PART_COUNTS; n++) {
		cut_along(&range, true, parts[n], &search->rows[n]);
		search->columns[n].size = 0;
		if (columns || !n)
			cut_along(&range, false, parts[n], &search->columns[n]);
	}
	for (size_t r = 0; r < PART_COUNTS; r++)
		for (size_t c = 0; c < PART_COUNTS; c++) {
			const struct cuts *rows = &search->rows[r], *across = &search->columns[c];
			struct found found = {
				.patches = { .first = first, .last = last },
				.bytes = around,
			};

			if (!rows->size || !across->size || (!r && !c))
				continue;
			found.again = again(search, &range, rows, across);
			found.bytes += most_between(search, &range, rows, across);
			if (search->target && found.bytes > search->target)
				continue;
			found.rank = search->target ? outside > search->target :
				     outside < search->peak && outside > found.bytes ? outside :
										       found.bytes;
			if (search->again + found.again > search->most_again ||
			    !is_better(&found, best))
				continue;
			found.patches.rows = r ? (uint32_t)rows->size : 0;
			found.patches.columns = c ? (uint32_t)across->size : 0;
			*best = found;
		}
out:
	npuplan_pool_free(&range.pool);
	return err;
}

/* Whether operators of a range can run in patches, beside those that do already. */
static bool can_be(const struct search *search, uint32_t first, uint32_t last)
{
	/* Of any size. */
	struct npuplan_patches patches = { .first = first, .last = last, .rows = 1 };
	struct npuplan_tiling alone = *search->tiling;

	alone.patches = &patches;
	alone.patch_count = 1;
	return !npuplan_check_range(search->graph, &alone, 0, search->uses, NULL);
}

/* The number of operators from @at on, in a direction, that run in no patches; at most REACH. */
static uint32_t reach(const struct search *search, uint32_t at, int step)
{
	uint32_t count = 0;

	while (count < REACH && at + step < search->graph->op_count &&
	       !npuplan_patches_of(search->tiling, at + step)) {
		at += step;
		count++;
	}
	return count;
}

static int by_first(const void *left, const void *right)
{
	const struct npuplan_patches *a = left, *b = right;

	return a->first < b->first ? -1 : a->first > b->first;
}

static uint64_t find_peak(const struct search *search, uint32_t *at)
{
	*at = 0;
	for (uint32_t v = 1; v < search->graph->op_count; v++)
		*at = search->bytes[v] > search->bytes[*at] ? v : *at;
	return search->bytes[*at];
}

/* The tiling's patches become the first @count that were taken. -ENOMEM */
static int set_patches(struct search *search, uint32_t count)
{
	struct npuplan_tiling *tiling = search->tiling;
	int err;

	tiling->patch_count = 0;
	err = npuplan_append(&tiling->patches, &tiling->patch_count, search->taken, count);
	if (!err)
		qsort(tiling->patches, count, sizeof(*tiling->patches), by_first);
	return err;
}

/* Take what was found: its operators need as many bytes each as all of them. -ENOMEM */
static int take(struct search *search, const struct found *found)
{
	uint64_t peak;
	uint32_t at;
	int err = npuplan_append(&search->taken, &search->taken_count, &found->patches, 1);

	err = err ? err : set_patches(search, search->taken_count);
	if (err)
		return err;
	for (uint32_t v = found->patches.first; v <= found->patches.last; v++)
		search->bytes[v] = found->bytes;
	search->again += found->again;
	peak = find_peak(search, &at);
	if (peak < search->peak) {
		search->peak = peak;
		search->useful = search->taken_count;
	}
	return 0;
}

/* Find patches for the operator at which most bytes live. @any: out: there are some */
static int find_next(struct search *search, bool *any)
{
	struct found best = { .again = UINT64_MAX };
	uint32_t at, before, behind;
	int err = 0;

	*any = false;
	best.rank = find_peak(search, &at);
	if (best.rank <= search->target)
		return 0;
	if (npuplan_patches_of(search->tiling, at))
		return 0;
	before = reach(search, at, -1);
	behind = reach(search, at, 1);
	for (uint32_t last = at; last <= at + behind && !err; last++)
		for (uint32_t first = at - before; first <= at && !err; first++)
			if (first < last && can_be(search, first, last))
				err = look_at(search, first, last, &best);
	/* As many bytes with something computed again are no gain. */
	*any = !err && best.again != UINT64_MAX;
	return *any ? take(search, &best) : err;
}

static int search_init(struct search *search, uint32_t most_again)
{
	const struct npuplan_graph *graph = search->graph;
	int err = npuplan_lives_init(&search->lives, graph, &search->pool);

	search->uses = npuplan_uses_find(graph, &search->pool);
	if (err || !search->uses)
		return -ENOMEM;
	search->bytes = npuplan_pool_take(&search->pool, graph->op_count, sizeof(*search->bytes));
	if (!search->bytes)
		return -ENOMEM;
	for (uint32_t v = 0; v < graph->op_count; v++)
		search->operations += npuplan_operations(graph, v);
	search->most_again = (uint64_t)((unsigned __int128)search->operations * most_again / 100);
	return 0;
}

/* Look for patches; the tiling's become those that were found. -ENOMEM */
static int run(struct search *search, uint64_t target)
{
	bool any = true;
	int err = 0;

	if (search->graph->op_count)
		memcpy(search->bytes, search->lives.bytes,
		       search->graph->op_count * sizeof(*search->bytes));
	search->peak = npuplan_lives_most(&search->lives);
	search->target = target;
	search->taken_count = search->useful = 0;
	search->again = 0;
	search->tiling->patch_count = 0;
	while (any && !err)
		err = find_next(search, &any);
	return err || !search->taken_count ? err : set_patches(search, search->useful);
}

/* First for the fewest bytes that can live, then for as many, with the least that runs again. */
static int run_twice(struct search *search)
{
	struct npuplan_tiling first = *search->tiling;
	uint64_t peak, again;
	int err = run(search, 0);

	peak = search->peak;
	again = search->again;
	first.patches = search->tiling->patches;
	first.patch_count = search->tiling->patch_count;
	if (err || !first.patch_count)
		return err;
	search->tiling->patches = NULL;
	err = run(search, peak);
	if (err || (search->peak <= peak && search->again < again)) {
		free(first.patches);
		return err;
	}
	free(search->tiling->patches);
	*search->tiling = first;
	return 0;
}

/* The most bytes that live at one instant of the graph, cut as a tiling says. */
static int find_live(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		     uint64_t *bytes, struct npuplan_error *error)
{
	struct npuplan_tiling given = *tiling;
	struct npuplan_liveness live = { 0 };
	struct npuplan_checked checked;
	uint32_t instant;
	int err;

	/* Where inputs begin is noted in the tensors, and does not matter here. */
	given.inputs = NPUPLAN_INPUTS_GIVEN;
	err = npuplan_graph_tile(graph, &given, error);
	if (err)
		return err;
	err = npuplan_checked_init(&checked, graph, error);
	if (!err) {
		err = npuplan_liveness_init(&live, checked.cells);
		err = err ? err : npuplan_lower_bound(&live, bytes, &instant);
		if (err)
			npuplan_fail(error, err, "out of memory");
		npuplan_liveness_fini(&live);
		npuplan_checked_fini(&checked);
	}
	npuplan_graph_untile(graph);
	return err;
}

/*
 * Whether fewer bytes live with the patches than without: what was counted is whole tensors, of
 * which steps may share more than that. Too many patches are of no use, either.
 */
static int look_once_more(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			  bool *better, struct npuplan_error *error)
{
	struct npuplan_tiling whole = *tiling;
	uint64_t with = 0, without = 0;
	int err;

	*better = tiling->patch_count;
	/* In loops and branches bytes do not live from one instant to another. */
	if (!*better || !npuplan_is_straight(graph))
		return 0;
	whole.patches = NULL;
	whole.patch_count = 0;
	err = find_live(graph, &whole, &without, error);
	if (err)
		return err;
	err = find_live(graph, tiling, &with, error);
	*better = !err && with < without;
	return err == -E2BIG ? 0 : err;
}

int npuplan_patches_find(struct npuplan_graph *graph, struct npuplan_tiling *tiling,
			 uint32_t most_again, struct npuplan_error *error)
{
	enum npuplan_layout before = graph->layout;
	struct search search = { .graph = graph, .tiling = tiling };
	bool better = false;
	int err;

	if (graph->step_count || graph->tile_count)
		return npuplan_fail(error, -EINVAL, "graph %s is tiled already", graph->name);
	if (tiling->patch_count)
		return npuplan_fail(error, -EINVAL, "patches are told already");
	if (tiling->onchip || tiling->concat || tiling->op_count || tiling->clone_count ||
	    tiling->carry_copy_count || tiling->link_copy_count)
		return npuplan_fail(error, -EINVAL,
				    "patches are found where operators are cut alike, concats copy "
				    "and nothing is added");
	err = npuplan_graph_set_layout(graph, tiling->layout, error);
	if (err)
		return err;
	err = search_init(&search, most_again);
	err = err ? err : run_twice(&search);
	free(search.taken);
	npuplan_pool_free(&search.pool);
	if (err)
		npuplan_fail(error, err, "out of memory");
	else
		err = look_once_more(graph, tiling, &better, error);
	if (!better) {
		free(tiling->patches);
		tiling->patches = NULL;
		tiling->patch_count = 0;
	}
	npuplan_graph_set_layout(graph, before, NULL);
	return err;
}
