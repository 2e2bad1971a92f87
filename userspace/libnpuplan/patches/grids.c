// SPDX-License-Identifier: MIT
/*
 * While operators run in patches, all that they read from outside and the last one's output live;
 * of all else between them there is a patch. Of each operator what all patches together need of it,
 * and what the largest needs, is a product: rows are found with whole rows, columns with all rows.
 * So all numbers of patches cost as much as those of rows and those of columns one after the other.
 */
#include "grids.h"

#include <stdlib.h>
#include <string.h>

#include "graph/operations.h"
#include "tiling/patches.h"

/* Numbers of patches that are tried along rows, and along columns. */
static const uint32_t parts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64 };
#define PART_COUNTS (sizeof(parts) / sizeof(parts[0]))
/* Patches that need more steps than this cost more to plan and to run than they spare. */
#define MOST_STEPS  (1u << 17)

/*
 * struct cuts - the last operator's output cut along one dimension into parts[i] patches
 * @size: rows or columns of a patch; 0: there is no cut into so many
 * @most, @sum: per operator of the range, rows or columns that a patch needs at most, and that all
 *	need together
 */
struct cuts {
	int64_t size;
	int64_t most[NPUPLAN_PATCH_LENGTH];
	int64_t sum[NPUPLAN_PATCH_LENGTH];
};

/*
 * struct look - at a range
 * @around: bytes that live all the while but are none of these
 * @inputs: bytes that the range reads from outside, and nobody behind it
 * @output: bytes of the last operator's output
 * @last_use: per operator of the range, the last one of it that reads what it makes
 * @operations: of each
 * @grids, @count: that it has, in no order
 */
struct look {
	const struct npuplan_patch_grid_table *table;
	struct npuplan_patch_range range;
	uint64_t around;
	uint64_t inputs;
	uint64_t output;
	struct cuts rows[PART_COUNTS];
	struct cuts columns[PART_COUNTS];
	uint32_t last_use[NPUPLAN_PATCH_LENGTH];
	uint64_t operations[NPUPLAN_PATCH_LENGTH];
	struct npuplan_patch_grid grids[PART_COUNTS * PART_COUNTS];
	uint32_t count;
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
static uint64_t most_between(const struct look *look, const struct cuts *rows,
			     const struct cuts *columns)
{
	const struct npuplan_patch_range *range = &look->range;
	uint64_t most = 0, now = 0;

	for (uint32_t i = 0; i + 1 < range->count; i++) {
		now += bytes_of(&range->partitions[i], rows->most[i], columns->most[i]);
		most = now > most ? now : most;
		for (uint32_t k = 0; k < i; k++)
			if (look->last_use[k] == i)
				now -= bytes_of(&range->partitions[k], rows->most[k],
						columns->most[k]);
	}
	return now > most ? now : most;
}

/* Operations of the range that are computed again. */
static uint64_t again(const struct look *look, const struct cuts *rows, const struct cuts *columns)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i + 1 < look->range.count; i++) {
		const struct npuplan_spatial *output = &look->range.partitions[i].output;
		unsigned __int128 all = (unsigned __int128)output->rows * output->row;
		unsigned __int128 made = (unsigned __int128)rows->sum[i] * columns->sum[i];

		if (made > all)
			sum += (uint64_t)(look->operations[i] * (made - all) / all);
	}
	return sum;
}

/* Whether an input of the range is read from outside, and was not seen among those before it. */
static bool is_new(const struct look *look, uint32_t first, uint32_t op, uint32_t input)
{
	const struct npuplan_graph *graph = look->table->graph;
	uint32_t base = npuplan_base_of(graph, graph->ops[first + op].inputs[input]);

	if (npuplan_patch_writer(&look->range, op, input) < look->range.count)
		return false;
	for (uint32_t i = 0; i <= op; i++)
		for (uint32_t k = 0; k < (i < op ? graph->ops[first + i].input_count : input); k++)
			if (npuplan_base_of(graph, graph->ops[first + i].inputs[k]) == base)
				return false;
	return true;
}

/*
 * Find bytes that live while a range runs in patches, but for those of patches: what lives at its
 * first operator, all that it reads from outside, and the last one's output.
 */
static void find_around(struct look *look, uint32_t first, uint32_t last)
{
	const struct npuplan_graph *graph = look->table->graph;
	const struct npuplan_lives *lives = look->table->lives;

	look->around = lives->bytes[first] - lives->size[graph->ops[first].outputs[0]];
	look->output = lives->size[npuplan_base_of(graph, graph->ops[last].outputs[0])];
	look->inputs = 0;
	for (uint32_t i = 0; i < look->range.count; i++)
		for (uint32_t k = 0; k < graph->ops[first + i].input_count; k++) {
			uint32_t base = npuplan_base_of(graph, graph->ops[first + i].inputs[k]);
			uint32_t dies = npuplan_lives_dies(lives, base);

			if (!lives->size[base] || !is_new(look, first, i, k) || dies > last)
				continue;
			look->inputs += lives->size[base];
			/* What an output may take the bytes of does not live any more there. */
			if (dies >= first)
				look->around -= lives->size[base];
		}
}

/*
 * The bytes of a range in so many rows of patches: of what it reads from outside, and nobody behind
 * it, there is ever less, and of its output ever more, so that never both are whole.
 */
static uint64_t bytes_in(const struct look *look, uint32_t rows)
{
	uint64_t begin = look->inputs + look->output / rows;
	uint64_t end = look->output + look->inputs / rows;

	return look->around + (begin > end ? begin : end);
}

/* Find the grids of all sizes. */
static void look_at_sizes(struct look *look)
{
	const struct npuplan_patch_grid_table *table = look->table;
	struct npuplan_patch_range *range = &look->range;
	bool columns = true;

	for (uint32_t i = 0; i < range->count; i++) {
		uint32_t op = (uint32_t)(range->partitions[i].op - table->graph->ops);

		look->operations[i] = npuplan_operations(table->graph, op);
		columns &= npuplan_has_columns(&range->partitions[i]);
		for (uint32_t k = 0; k < range->partitions[i].op->input_count; k++)
			if (npuplan_patch_writer(range, i, k) < range->count)
				look->last_use[npuplan_patch_writer(range, i, k)] = i;
	}
	for (size_t n = 0; n < PART_COUNTS; n++) {
		cut_along(range, true, parts[n], &look->rows[n]);
		if (columns || !n)
			cut_along(range, false, parts[n], &look->columns[n]);
	}
	for (size_t r = 0; r < PART_COUNTS; r++)
		for (size_t c = 0; c < PART_COUNTS; c++) {
			const struct cuts *rows = &look->rows[r], *across = &look->columns[c];
			struct npuplan_patch_grid *grid = &look->grids[look->count];

			if (!rows->size || !across->size || (!r && !c) ||
			    parts[r] * parts[c] * range->count > MOST_STEPS)
				continue;
			grid->again = again(look, rows, across);
			grid->bytes = bytes_in(look, parts[r]) + most_between(look, rows, across);
			grid->patches = parts[r] * parts[c];
			grid->rows = r ? (uint32_t)rows->size : 0;
			grid->columns = c ? (uint32_t)across->size : 0;
			look->count += grid->again <= table->most_again &&
				       grid->bytes < table->most_bytes;
		}
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_bytes(const void *left, const void *right)
{
	const struct npuplan_patch_grid *a = left, *b = right;
	int order = compare(a->bytes, b->bytes);

	order = order ? order : compare(a->again, b->again);
	order = order ? order : compare(a->patches, b->patches);
	/* Long rows before short ones. */
	return order ? order : compare(a->rows, b->rows);
}

/* Whether one of the grids, all of which have no more bytes, is as good in all. */
static bool is_beaten(const struct npuplan_patch_grid *grids, uint32_t count,
		      const struct npuplan_patch_grid *grid)
{
	for (uint32_t i = 0; i < count; i++)
		if (grids[i].again <= grid->again && grids[i].patches <= grid->patches)
			return true;
	return false;
}

/* Keep the grids that no other one is as good as. */
static int keep_best(struct look *look, struct npuplan_patch_grids *grids)
{
	uint32_t kept = 0;

	qsort(look->grids, look->count, sizeof(*look->grids), by_bytes);
	for (uint32_t i = 0; i < look->count; i++)
		if (!is_beaten(look->grids, kept, &look->grids[i]))
			look->grids[kept++] = look->grids[i];
	grids->all = npuplan_pool_take(look->table->pool, kept, sizeof(*grids->all));
	if (!grids->all)
		return -ENOMEM;
	grids->count = kept;
	if (kept)
		memcpy(grids->all, look->grids, kept * sizeof(*grids->all));
	return 0;
}

/* Whether operators of a range can run in patches. */
static bool can_be(const struct npuplan_patch_grid_table *table, uint32_t first, uint32_t last)
{
	/* Of any size. */
	struct npuplan_patches patches = { .first = first, .last = last, .rows = 1 };
	struct npuplan_tiling alone = *table->tiling;

	alone.patches = &patches;
	alone.patch_count = 1;
	return !npuplan_check_range(table->graph, &alone, 0, table->uses, NULL);
}

static int look_at(struct npuplan_patch_grid_table *table, uint32_t first, uint32_t last,
		   struct npuplan_patch_grids *grids)
{
	struct look *look = calloc(1, sizeof(*look));
	int err;

	if (!look)
		return -ENOMEM;
	look->table = table;
	err = npuplan_patch_range_init(&look->range, table->graph, first, last);
	if (!err) {
		find_around(look, first, last);
		if (bytes_in(look, UINT32_MAX) < table->most_bytes)
			look_at_sizes(look);
		err = keep_best(look, grids);
	}
	npuplan_pool_free(&look->range.pool);
	free(look);
	return err;
}

int npuplan_patch_grids_of(struct npuplan_patch_grid_table *table, uint32_t first, uint32_t last,
			   uint64_t below, const struct npuplan_patch_grids **out)
{
	static const struct npuplan_patch_grids none;
	const struct npuplan_op *op = &table->graph->ops[first];
	struct npuplan_patch_grids *grids;

	*out = &none;
	/* What lives beside the first one's output lives for all of them. */
	if (op->output_count != 1 ||
	    table->lives->bytes[first] - table->lives->size[op->outputs[0]] >= below)
		return 0;
	if (!table->ranges[first])
		table->ranges[first] = npuplan_pool_take(table->pool, table->length,
							 sizeof(*table->ranges[first]));
	if (!table->ranges[first])
		return -ENOMEM;
	grids = &table->ranges[first][last - first];
	*out = grids;
	if (grids->known)
		return 0;
	grids->known = true;
	if (table->work < last + 1 - first || !can_be(table, first, last))
		return 0;
	table->work -= last + 1 - first;
	return look_at(table, first, last, grids);
}
