// SPDX-License-Identifier: MIT
/*
 * Repairing: large neighbourhood search, which lowers the top of a packing by packing a few items
 * anew at a time.
 *
 * An item above the top aimed at is freed, together with others that live about the same time; all
 * other items stay as obstacles. The exact search (search.h) looks for room for the free items
 * below the new top. Where a search from scratch would need many things to go right at once, each
 * is put right on its own here, at a cost that depends on the neighbourhood alone and not on the
 * number of items.
 */
#include "large.h"

#include "base/random.h"
#include "pack/search/search.h"

/* The most free items; of more, some are chosen at random. */
#define MOST_FREE 1024

/*
 * struct npuplan_repair - arrays for packing neighbourhoods anew, which are kept for many searches
 * @high: items above the top aimed at
 * @found: scratch array
 * @about: items of a window: first the @inside ones that live within it, then those that stick out
 *	of it
 * @free: items to pack anew; @is_free: per item, whether it is one of them
 * @around: items that are obstacles
 * @marks: first and last sections of the free items, ascending, which are the sections of the small
 *	problem
 * @small, @items: the small problem and its items: free items, then obstacles
 * @small_at: per item of the small problem, where the search puts it
 */
struct npuplan_repair {
	const struct npuplan_granules *granules;
	const struct npuplan_alive *alive;
	struct npuplan_high high;
	uint32_t *found;
	uint32_t *about;
	uint32_t about_count;
	uint32_t inside;
	uint32_t *free;
	uint32_t free_count;
	uint32_t *around;
	bool *is_free;
	uint64_t *marks;
	uint32_t mark_count;
	struct npuplan_granules small;
	struct npuplan_pack_problem problem;
	struct npuplan_item *items;
	int64_t *small_at;
	uint64_t random;
	uint64_t top;
	uint64_t work;
};

static uint64_t next_random(struct npuplan_repair *repair)
{
	return npuplan_random(&repair->random) >> 16;
}

int npuplan_repair_new(struct npuplan_repair **out, const struct npuplan_granules *granules,
		       const struct npuplan_alive *alive, struct npuplan_pool *pool)
{
	size_t n = granules->problem->item_count;
	struct npuplan_repair *repair = npuplan_pool_take(pool, 1, sizeof(*repair));

	*out = repair;
	if (!repair)
		return -ENOMEM;
	*repair = (struct npuplan_repair){
		.granules = granules,
		.alive = alive,
		.random = NPUPLAN_RANDOM_SEED,
		.high.items = npuplan_pool_take(pool, n, sizeof(*repair->high.items)),
		.high.where = npuplan_pool_take(pool, n, sizeof(*repair->high.where)),
		.found = npuplan_pool_take(pool, n, sizeof(*repair->found)),
		.about = npuplan_pool_take(pool, n, sizeof(*repair->about)),
		.free = npuplan_pool_take(pool, n, sizeof(*repair->free)),
		.around = npuplan_pool_take(pool, n, sizeof(*repair->around)),
		.is_free = npuplan_pool_take(pool, n, sizeof(*repair->is_free)),
		.marks = npuplan_pool_take(pool, 2 * n, sizeof(*repair->marks)),
		.small = {
			.problem = &repair->problem,
			.granule = granules->granule,
			.padding = granules->padding,
			.sections.first = npuplan_pool_take(pool, n, sizeof(uint32_t)),
			.sections.end = npuplan_pool_take(pool, n, sizeof(uint32_t)),
			.size = npuplan_pool_take(pool, n, sizeof(int64_t)),
			.align = npuplan_pool_take(pool, n, sizeof(int64_t)),
			.fixed = npuplan_pool_take(pool, n, sizeof(int64_t)),
		},
		.items = npuplan_pool_take(pool, n, sizeof(*repair->items)),
		.small_at = npuplan_pool_take(pool, n, sizeof(*repair->small_at)),
	};
	repair->problem.items = repair->items;
	return pool->failed ? -ENOMEM : 0;
}

/* Whether an item ends above the top aimed at. */
static bool is_high(const struct npuplan_repair *repair, const int64_t *at, uint32_t item)
{
	return (uint64_t)at[item] * repair->granules->granule +
		       repair->granules->problem->items[item].size >
	       repair->top;
}

/*
 * List the items of a window, the sections [first, end): first those that live within it, then
 * those that stick out.
 */
static void look(struct npuplan_repair *repair, uint32_t first, uint32_t end)
{
	uint32_t at = 0;

	repair->about_count =
		npuplan_alive_in(repair->alive, first, end, repair->found, &repair->work);
	for (int within = 1; within >= 0; within--) {
		for (uint32_t k = 0; k < repair->about_count; k++)
			if (npuplan_alive_within(repair->alive, repair->found[k], first, end) ==
			    within)
				repair->about[at++] = repair->found[k];
		if (within)
			repair->inside = at;
	}
}

/* Choose a neighbourhood of about @wanted items around @item. */
static void choose(struct npuplan_repair *repair, uint32_t item, uint32_t wanted)
{
	const struct npuplan_sections *sections = &repair->granules->sections;
	uint32_t first = sections->first[item], end = sections->end[item];
	uint32_t reach = 1, all;
	bool stick_out = next_random(repair) % 2;

	for (;;) {
		look(repair, first, end);
		if (repair->inside >= wanted || (!first && end == sections->count))
			break;
		/* The window reaches unevenly far to both sides. */
		reach += next_random(repair) % (2 * reach);
		all = next_random(repair) % (reach + 1);
		first = first > all ? first - all : 0;
		end = sections->count - end > reach - all ? end + reach - all : sections->count;
	}
	repair->free[0] = item;
	repair->free_count = 1;
	all = stick_out ? repair->about_count : repair->inside;
	for (uint32_t i = 0; i < all; i++) {
		uint32_t other = repair->about[i];

		if (other != item && repair->granules->fixed[other] < 0 &&
		    (all <= MOST_FREE || next_random(repair) % all < MOST_FREE))
			repair->free[repair->free_count++] = other;
	}
}

/* The index of the last mark that is not above @section. */
static uint32_t mark_of(const struct npuplan_repair *repair, uint32_t section)
{
	return npuplan_bisect(at, 0, repair->mark_count, repair->marks[at] <= section) - 1;
}

/*
 * Build the small problem. Between two marks all sections have the same free items, and an obstacle
 * in one of them is in the way of all these.
 */
static void build(struct npuplan_repair *repair, const int64_t *at)
{
	const struct npuplan_granules *granules = repair->granules;
	const struct npuplan_sections *sections = &granules->sections;
	struct npuplan_granules *small = &repair->small;
	int64_t capacity = (int64_t)((repair->top + granules->padding) / granules->granule);
	uint32_t first = UINT32_MAX, end = 0, count, around = 0;

	for (uint32_t f = 0; f < repair->free_count; f++) {
		uint32_t item = repair->free[f];

		repair->is_free[item] = true;
		repair->marks[2 * f] = sections->first[item];
		repair->marks[2 * f + 1] = sections->end[item];
		first = sections->first[item] < first ? sections->first[item] : first;
		end = sections->end[item] > end ? sections->end[item] : end;
	}
	look(repair, first, end);
	for (uint32_t i = 0; i < repair->about_count; i++) {
		uint32_t item = repair->about[i];

		if (!repair->is_free[item] && at[item] < capacity &&
		    (uint64_t)at[item] <= repair->top / granules->granule)
			repair->around[around++] = item;
	}
	for (uint32_t f = 0; f < repair->free_count; f++)
		repair->is_free[repair->free[f]] = false;
	repair->mark_count = npuplan_sort_once(repair->marks, 2 * repair->free_count);
	small->sections.count = repair->mark_count - 1;
	small->sections.memberships = 0;
	count = repair->free_count + around;
	for (uint32_t i = 0; i < count; i++) {
		bool is_free = i < repair->free_count;
		uint32_t item = is_free ? repair->free[i] : repair->around[i - repair->free_count];
		uint32_t begin = sections->first[item], stop = sections->end[item];

		begin = begin < first ? first : begin;
		stop = stop > end ? end : stop;
		small->sections.first[i] = mark_of(repair, begin);
		small->sections.end[i] = mark_of(repair, stop - 1) + 1;
		small->sections.memberships += small->sections.end[i] - small->sections.first[i];
		small->size[i] = granules->size[item];
		small->align[i] = granules->align[item];
		small->fixed[i] = -1;
		repair->items[i] = granules->problem->items[item];
		if (is_free)
			continue;
		small->fixed[i] = at[item];
		small->align[i] = 1;
		repair->items[i].size = 0;
		if (small->size[i] > capacity - at[item])
			small->size[i] = capacity - at[item];
	}
	repair->problem.item_count = count;
	repair->work += 8 * (uint64_t)count;
}

static struct npuplan_strategy pick(struct npuplan_repair *repair, uint64_t *nodes)
{
	static const uint8_t ranks[2] = { NPUPLAN_RANK_TOTAL_AREA, NPUPLAN_RANK_AREA };
	static const double slack_weights[4] = { 0.1, 0.3, 1, 2 };
	uint64_t random = next_random(repair);
	struct npuplan_strategy strategy = {
		.section_rule = NPUPLAN_SECTION_BLEND,
		.rank_rule = ranks[random % 2],
		.value_rule = NPUPLAN_VALUE_FLUSH,
		.seed = (uint32_t)next_random(repair) | 1,
		.slack_weight = slack_weights[random / 2 % 4],
		.count_weight = 0.005,
	};

	*nodes = (uint64_t)repair->free_count << (1 + random / 8 % 3);
	return strategy;
}

/* Try one neighbourhood. Returns 1 if it was packed anew, 0 or -EAGAIN if not; -ENOMEM. */
static int attempt(struct npuplan_repair *repair, int64_t *at, struct npuplan_pack *call)
{
	uint32_t item = repair->high.items[next_random(repair) % repair->high.count];
	uint32_t wanted = 8u << next_random(repair) % 8;
	struct npuplan_search *search = NULL;
	struct npuplan_strategy strategy;
	uint64_t nodes;
	int result = -EAGAIN;

	/* A fixed item cannot be moved. */
	if (repair->granules->fixed[item] < 0) {
		choose(repair, item, wanted);
		build(repair, at);
		result = npuplan_search_new(&search, &repair->small);
	}
	repair->work += wanted;
	if (result)
		return result == -ENOMEM ? result : -EAGAIN;
	strategy = pick(repair, &nodes);
	result = npuplan_search_run(search, &strategy, repair->top, NULL, nodes, repair->small_at,
				    call);
	npuplan_search_free(search);
	for (uint32_t f = 0; f < repair->free_count && result == 1; f++) {
		uint32_t moved = repair->free[f];

		at[moved] = repair->small_at[f];
		npuplan_high_set(&repair->high, moved, is_high(repair, at, moved));
	}
	return result;
}

int npuplan_repair_run(struct npuplan_repair *repair, int64_t *at, uint64_t top, uint64_t work,
		       struct npuplan_pack *call)
{
	uint32_t n = repair->granules->problem->item_count;
	uint64_t end = call->work + work;
	int result = 0;

	repair->top = top;
	for (uint32_t i = 0; i < n; i++)
		npuplan_high_set(&repair->high, i, is_high(repair, at, i));
	call->work += n;
	while (repair->high.count) {
		if (result == -ENOMEM)
			return result;
		if (call->work >= end || npuplan_pack_over(call))
			return -EAGAIN;
		result = attempt(repair, at, call);
		call->work += repair->work;
		repair->work = 0;
	}
	return result == -ENOMEM ? result : 1;
}
