// SPDX-License-Identifier: MIT
#include <string.h>

#include "state.h"

/*
 * The most entries of lists of peers, half a GiB, and the most cells of the table of lowest
 * addresses, a quarter of one.
 */
#define MAX_PEERS ((size_t)1 << 27)
#define MAX_CELLS ((size_t)1 << 26)

void *npuplan_aligned_array(struct npuplan_pool *pool, size_t count)
{
	size_t stripe = NPUPLAN_SECTION_STRIPE * sizeof(int32_t);
	char *array = npuplan_pool_take(pool, count / NPUPLAN_SECTION_STRIPE + 2, stripe);

	return array ? array + (-(uintptr_t)array & (stripe - 1)) : NULL;
}

/* List the sections of each item that is not fixed, and the items of each section. */
static int list_members(struct npuplan_state *state)
{
	const struct npuplan_sections *sections = &state->granules->sections;
	size_t *start = state->member_start;

	for (uint32_t i = 0; i < state->n; i++) {
		state->first[i] = sections->first[i];
		state->end[i] = state->granules->fixed[i] < 0 ? sections->end[i] :
								sections->first[i];
		for (uint32_t s = state->first[i]; s < state->end[i]; s++)
			start[s + 2]++;
	}
	for (uint32_t s = 0; s < state->section_count; s++)
		start[s + 2] += start[s + 1];
	state->members = npuplan_pool_take(&state->pool, start[state->section_count + 1],
					   sizeof(*state->members));
	if (!state->members)
		return -ENOMEM;
	/* start[s + 1], where the list of s begins, moves on to its end, where the next begins. */
	for (uint32_t i = 0; i < state->n; i++)
		for (uint32_t s = state->first[i]; s < state->end[i]; s++)
			state->members[start[s + 1]++] = i;
	return 0;
}

/*
 * Give each item a row of the table. There are as many rows as items that live at once, and a row
 * is free again where its item ends.
 */
static int assign_rows(struct npuplan_state *state)
{
	AUTO_HEAP uint32_t *spare = NULL;
	uint32_t spares = 0;
	size_t cells;

	for (uint32_t s = 0; s < state->section_count; s++)
		if (state->member_start[s + 1] - state->member_start[s] > state->rows)
			state->rows =
				(uint32_t)(state->member_start[s + 1] - state->member_start[s]);
	spare = npuplan_malloc((size_t)state->rows * sizeof(*spare) + 1);
	if (!spare)
		return -ENOMEM;
	while (spares < state->rows) {
		spare[spares] = state->rows - 1 - spares;
		spares++;
	}
	for (uint32_t s = 0; s < state->section_count; s++) {
		size_t begin = state->member_start[s], end = state->member_start[s + 1];

		for (size_t m = begin; m < end; m++)
			if (state->first[state->members[m]] == s)
				state->row[state->members[m]] = spare[--spares];
		for (size_t m = begin; m < end; m++)
			if (state->end[state->members[m]] == s + 1)
				spare[spares++] = state->row[state->members[m]];
	}
	cells = (size_t)state->rows * state->columns;
	if (cells > MAX_CELLS)
		return -E2BIG;
	state->lows = npuplan_aligned_array(&state->pool, cells);
	if (!state->lows)
		return -ENOMEM;
	for (size_t k = 0; k < cells; k++)
		((int32_t *)state->lows)[k] = NPUPLAN_NOWHERE;
	state->work += cells / NPUPLAN_LANES;
	return 0;
}

/*
 * Whether @item finds @other in its first section: of two items that meet, the one that starts
 * later does.
 */
static bool later(const struct npuplan_state *state, uint32_t item, uint32_t other)
{
	return state->first[other] < state->first[item] ||
	       (state->first[other] == state->first[item] && other < item);
}

/* Call @pair for every two items that meet. */
static void find_pairs(struct npuplan_state *state,
		       void (*pair)(struct npuplan_state *state, uint32_t a, uint32_t b))
{
	for (uint32_t i = 0; i < state->n; i++) {
		uint32_t s = state->first[i];

		if (s == state->end[i])
			continue;
		for (size_t m = state->member_start[s]; m < state->member_start[s + 1]; m++)
			if (later(state, i, state->members[m]))
				pair(state, i, state->members[m]);
		state->work += state->member_start[s + 1] - state->member_start[s];
	}
}

static void count_pair(struct npuplan_state *state, uint32_t a, uint32_t b)
{
	state->peer_start[a + 2]++;
	state->peer_start[b + 2]++;
}

static void list_pair(struct npuplan_state *state, uint32_t a, uint32_t b)
{
	state->peers[state->peer_start[a + 1]++] = b;
	state->peers[state->peer_start[b + 1]++] = a;
}

static int list_peers(struct npuplan_state *state)
{
	find_pairs(state, count_pair);
	for (uint32_t i = 0; i < state->n; i++)
		state->peer_start[i + 2] += state->peer_start[i + 1];
	if (state->peer_start[state->n + 1] > MAX_PEERS)
		return -E2BIG;
	state->peers = npuplan_pool_take(&state->pool, state->peer_start[state->n + 1],
					 sizeof(*state->peers));
	if (!state->peers)
		return -ENOMEM;
	/* As in list_members(), peer_start[i + 1] moves on to the end of the list of i. */
	find_pairs(state, list_pair);
	return 0;
}

static int init_items(struct npuplan_state *state)
{
	const struct npuplan_granules *granules = state->granules;

	for (uint32_t i = 0; i < state->n; i++) {
		if (granules->size[i] > NPUPLAN_MAX_GRANULES ||
		    granules->align[i] > NPUPLAN_MAX_GRANULES)
			return -E2BIG;
		state->size[i] = (int32_t)granules->size[i];
		state->align[i] = (int32_t)granules->align[i];
	}
	return 0;
}

int npuplan_state_init(struct npuplan_state *state, const struct npuplan_granules *granules)
{
	size_t n = granules->problem->item_count, s = granules->sections.count;
	size_t stripes = s / NPUPLAN_SECTION_STRIPE + 1;
	struct npuplan_pool *pool = &state->pool;
	int err;

	*state = (struct npuplan_state){
		.granules = granules,
		.n = n,
		.section_count = s,
		.columns = stripes * NPUPLAN_SECTION_STRIPE,
		.words = n / 64 + 1,
	};
	state->first = npuplan_pool_take(pool, n, sizeof(*state->first));
	state->end = npuplan_pool_take(pool, n, sizeof(*state->end));
	state->size = npuplan_pool_take(pool, n, sizeof(*state->size));
	state->align = npuplan_pool_take(pool, n, sizeof(*state->align));
	state->peer_start = npuplan_pool_take(pool, n + 2, sizeof(*state->peer_start));
	state->member_start = npuplan_pool_take(pool, s + 2, sizeof(*state->member_start));
	state->row = npuplan_pool_take(pool, n, sizeof(*state->row));
	state->rank = npuplan_pool_take(pool, n, sizeof(*state->rank));
	state->limit = npuplan_pool_take(pool, n, sizeof(*state->limit));
	state->low = npuplan_pool_take(pool, n, sizeof(*state->low));
	state->place = npuplan_pool_take(pool, n, sizeof(*state->place));
	state->floor = npuplan_aligned_array(pool, state->columns);
	state->total = npuplan_pool_take(pool, s, sizeof(*state->total));
	state->weight = npuplan_pool_take(pool, s, sizeof(*state->weight));
	state->dirty = npuplan_pool_take(pool, stripes, sizeof(*state->dirty));
	state->why = npuplan_pool_take(pool, state->words, sizeof(*state->why));
	err = pool->failed ? -ENOMEM : init_items(state);
	if (!err)
		err = npuplan_obstacles_init(&state->obstacles, granules);
	if (!err)
		err = list_members(state);
	if (!err)
		err = assign_rows(state);
	if (!err)
		err = list_peers(state);
	state->work += granules->sections.memberships + state->obstacles.work / 4 + 16 * n;
	return err;
}

void npuplan_state_fini(struct npuplan_state *state)
{
	npuplan_obstacles_fini(&state->obstacles);
	npuplan_free_all(state->moved, state->floors);
	npuplan_pool_free(&state->pool);
}

/* The lowest address from @low on at which fixed items leave room for an item. */
static int64_t fit(const struct npuplan_state *state, uint32_t item, int64_t low)
{
	return npuplan_obstacles_fit(&state->obstacles, item, low, state->size[item],
				     state->align[item]);
}

static void set_low(struct npuplan_state *state, uint32_t item, int32_t low)
{
	int32_t *lows = (int32_t *)state->lows + (size_t)state->row[item] * state->columns;
	int32_t *at = lows + state->first[item], *end = lows + state->end[item];

	npuplan_unaligned_lanes all = { low, low, low, low };

	state->low[item] = low;
	for (; end - at >= NPUPLAN_LANES; at += NPUPLAN_LANES)
		*(npuplan_unaligned_lanes *)at = all;
	for (; at < end; at++)
		*at = low;
}

/* Mark the sections of an item whose floor is @before: their floors are to be found anew. */
static void touch(struct npuplan_state *state, uint32_t item, int32_t before)
{
	uint32_t stripe = state->first[item] / NPUPLAN_SECTION_STRIPE;
	uint32_t end = (state->end[item] - 1) / NPUPLAN_SECTION_STRIPE + 1;
	npuplan_lanes all = { before, before, before, before };

	for (; stripe < end; stripe++) {
		const npuplan_lanes *floor =
			(const npuplan_lanes *)state->floor +
			(size_t)stripe * NPUPLAN_SECTION_STRIPE / NPUPLAN_LANES;
		npuplan_lanes same;

		if (state->dirty[stripe])
			continue;
		same = (floor[0] == all) | (floor[1] == all) | (floor[2] == all) |
		       (floor[3] == all);
		if (!(same[0] | same[1] | same[2] | same[3]))
			continue;
		state->dirty[stripe] = 1;
		state->from = stripe < state->from ? stripe : state->from;
		state->to = stripe >= state->to ? stripe + 1 : state->to;
	}
}

static void touch_none(struct npuplan_state *state)
{
	if (state->from < state->to)
		memset(state->dirty + state->from, 0, state->to - state->from);
	state->from = UINT32_MAX;
	state->to = 0;
}

static npuplan_lanes lower(npuplan_lanes a, npuplan_lanes b)
{
	npuplan_lanes less = a < b;

	return (a & less) | (b & ~less);
}

/* Find the floors of a stripe of sections. */
static void find_stripe(struct npuplan_state *state, uint32_t stripe)
{
	size_t column = (size_t)stripe * NPUPLAN_SECTION_STRIPE / NPUPLAN_LANES;
	const npuplan_lanes *row = state->lows + column;
	npuplan_lanes *floor = (npuplan_lanes *)state->floor + column;
	size_t stride = state->columns / NPUPLAN_LANES;
	npuplan_lanes a = { 0 }, b, c, d;

	a += NPUPLAN_NOWHERE;
	b = c = d = a;
	for (uint32_t r = 0; r < state->rows; r++, row += stride) {
		a = lower(row[0], a);
		b = lower(row[1], b);
		c = lower(row[2], c);
		d = lower(row[3], d);
	}
	floor[0] = a;
	floor[1] = b;
	floor[2] = c;
	floor[3] = d;
	state->work += state->rows + 4;
}

static void blame_section(struct npuplan_state *state, uint32_t section)
{
	size_t begin = state->member_start[section], end = state->member_start[section + 1];

	memset(state->why, 0, state->words * sizeof(*state->why));
	for (size_t m = begin; m < end; m++)
		if (state->low[state->members[m]] != NPUPLAN_NOWHERE)
			npuplan_set_add(state->why, state->members[m]);
	state->work += (end - begin) / 2;
}

static void blame_item(struct npuplan_state *state, uint32_t item)
{
	memset(state->why, 0, state->words * sizeof(*state->why));
	npuplan_set_add(state->why, item);
}

/* Whether the unplaced items of each section of a stripe fit above its floor. */
static bool fits(struct npuplan_state *state, uint32_t stripe)
{
	uint32_t s = stripe * NPUPLAN_SECTION_STRIPE, end = s + NPUPLAN_SECTION_STRIPE;

	for (end = end < state->section_count ? end : state->section_count; s < end; s++) {
		int64_t need = (int64_t)state->floor[s] + state->total[s];

		if (state->obstacles.any && state->total[s])
			need += npuplan_obstacles_above(&state->obstacles, s, state->floor[s]);
		if (need <= state->capacity || !state->total[s])
			continue;
		/* All its unplaced items lie above the floor, one above the other. */
		state->weight[s]++;
		blame_section(state, s);
		return false;
	}
	return true;
}

/* Find the floors of all sections that are marked; false: the items of one do not fit. */
static bool find_floors(struct npuplan_state *state)
{
	bool possible = true;

	state->out_of_memory |=
		npuplan_reserve(&state->floors, &state->floors_capacity,
				state->floors_count + state->columns / NPUPLAN_SECTION_STRIPE,
				sizeof(*state->floors)) != 0;
	if (state->out_of_memory)
		return false;
	for (uint32_t stripe = state->from; stripe < state->to && possible; stripe++) {
		struct npuplan_floors *before;

		if (!state->dirty[stripe])
			continue;
		before = &state->floors[state->floors_count++];
		before->stripe = stripe;
		memcpy(before->floor, state->floor + (size_t)stripe * NPUPLAN_SECTION_STRIPE,
		       sizeof(before->floor));
		find_stripe(state, stripe);
		possible = fits(state, stripe);
	}
	return possible;
}

static void remember_move(struct npuplan_state *state, uint32_t item)
{
	state->moved[state->moved_count++] =
		(struct npuplan_moved){ .item = item, .low = state->low[item] };
}

/* Make room to remember so many more moved items. */
static bool reserve_moves(struct npuplan_state *state, size_t count)
{
	state->out_of_memory |= npuplan_reserve(&state->moved, &state->moved_capacity,
						state->moved_count + count,
						sizeof(*state->moved)) != 0;
	return !state->out_of_memory;
}

/* Raise an item's lowest address to @low; false: it is above the item's limit. */
static bool raise(struct npuplan_state *state, uint32_t item, int64_t low)
{
	remember_move(state, item);
	low = fit(state, item, low);
	if (low > state->limit[item]) {
		blame_item(state, item);
		return false;
	}
	touch(state, item, state->low[item]);
	set_low(state, item, (int32_t)low);
	return true;
}

bool npuplan_state_place(struct npuplan_state *state, uint32_t item)
{
	const uint32_t *peer = state->peers + state->peer_start[item];
	const uint32_t *last = state->peers + state->peer_start[item + 1];
	int32_t top = state->low[item] + state->size[item];

	/* These sums are undone even if nothing else has been done. */
	for (uint32_t s = state->first[item]; s < state->end[item]; s++)
		state->total[s] -= state->size[item];
	state->left--;
	touch_none(state);
	if (!reserve_moves(state, (size_t)(last - peer) + 1))
		return false;
	remember_move(state, item);
	state->place[item] = state->low[item];
	touch(state, item, state->low[item]);
	set_low(state, item, NPUPLAN_NOWHERE);
	state->work += (uint64_t)(last - peer) / 4;
	for (; peer < last; peer++)
		if (state->low[*peer] < top && !raise(state, *peer, top))
			return false;
	state->work += 4 * (state->moved_count & 63);
	return find_floors(state);
}

/* The lowest address at which another unplaced item, or a fixed one, can be right below an item. */
static int64_t next_support(struct npuplan_state *state, uint32_t item)
{
	const uint32_t *peer = state->peers + state->peer_start[item];
	const uint32_t *last = state->peers + state->peer_start[item + 1];
	int64_t lowest = npuplan_obstacles_top(&state->obstacles, item, state->low[item]);

	state->work += (uint64_t)(last - peer) / 4;
	for (; peer < last; peer++) {
		int64_t top = (int64_t)state->low[*peer] + state->size[*peer];

		lowest = top < lowest ? top : lowest;
	}
	return lowest >= NPUPLAN_NOWHERE ? lowest : fit(state, item, lowest);
}

bool npuplan_state_waste(struct npuplan_state *state, const uint32_t *items, uint32_t count)
{
	touch_none(state);
	if (!reserve_moves(state, count))
		return false;
	/*
	 * All supports are found by the addresses before, since an item may lie on one that is
	 * raised, too.
	 */
	for (uint32_t i = 0; i < count; i++) {
		int64_t support = next_support(state, items[i]);

		if (support > state->limit[items[i]]) {
			/*
			 * The item can lie nowhere. The caller blames the other items at the floor,
			 * and all other items are too high to support it. It counts as moved,
			 * though it has no address.
			 */
			remember_move(state, items[i]);
			blame_item(state, items[i]);
			return false;
		}
		/* The item is not placed yet, so its place can keep this meanwhile. */
		state->place[items[i]] = (int32_t)support;
	}
	for (uint32_t i = 0; i < count; i++)
		raise(state, items[i], state->place[items[i]]);
	return find_floors(state);
}

void npuplan_state_undo(struct npuplan_state *state, size_t moved, size_t floors, uint32_t placed)
{
	while (state->moved_count > moved) {
		const struct npuplan_moved *last = &state->moved[--state->moved_count];

		if (state->low[last->item] != last->low)
			set_low(state, last->item, last->low);
	}
	while (state->floors_count > floors) {
		const struct npuplan_floors *last = &state->floors[--state->floors_count];

		memcpy(state->floor + (size_t)last->stripe * NPUPLAN_SECTION_STRIPE, last->floor,
		       sizeof(last->floor));
	}
	if (placed == NPUMEM_NONE)
		return;
	state->left++;
	for (uint32_t s = state->first[placed]; s < state->end[placed]; s++)
		state->total[s] += state->size[placed];
}

/* Count, for each section of a stripe, the items at its floor, as find_stripe() finds those. */
static void count_stripe(const struct npuplan_state *state, uint32_t column, int32_t *count)
{
	const npuplan_lanes *row = state->lows + column / NPUPLAN_LANES;
	const npuplan_lanes *floor = (const npuplan_lanes *)state->floor + column / NPUPLAN_LANES;
	npuplan_lanes *out = (npuplan_lanes *)count + column / NPUPLAN_LANES;
	size_t stride = state->columns / NPUPLAN_LANES;
	npuplan_lanes a = { 0 }, b = a, c = a, d = a;

	/* In vectors, true is -1. */
	for (uint32_t r = 0; r < state->rows; r++, row += stride) {
		a -= row[0] == floor[0];
		b -= row[1] == floor[1];
		c -= row[2] == floor[2];
		d -= row[3] == floor[3];
	}
	out[0] = a;
	out[1] = b;
	out[2] = c;
	out[3] = d;
}

void npuplan_state_count(struct npuplan_state *state, uint32_t from, uint32_t to, int32_t *count)
{
	for (uint32_t column = from / NPUPLAN_SECTION_STRIPE * NPUPLAN_SECTION_STRIPE; column < to;
	     column += NPUPLAN_SECTION_STRIPE) {
		count_stripe(state, column, count);
		state->work += state->rows;
	}
}

/* Reset an item for packings below @top; false: it does not fit. */
static bool reset_item(struct npuplan_state *state, uint32_t item, uint64_t top)
{
	const struct npuplan_granules *granules = state->granules;
	uint64_t size = granules->problem->items[item].size;
	bool fixed = granules->fixed[item] >= 0;
	int64_t low = fixed ? granules->fixed[item] : fit(state, item, 0);

	if (size > top)
		return false;
	state->limit[item] = (int32_t)((top - size) / granules->granule) & -state->align[item];
	if (low > state->limit[item])
		return false;
	state->place[item] = (int32_t)low;
	if (fixed) {
		state->low[item] = NPUPLAN_NOWHERE;
		return true;
	}
	state->left++;
	set_low(state, item, (int32_t)low);
	for (uint32_t s = state->first[item]; s < state->end[item]; s++) {
		state->total[s] += state->size[item];
		/* This keeps the sums within 32 bits. */
		if (state->total[s] > state->capacity)
			return false;
	}
	return true;
}

bool npuplan_state_reset(struct npuplan_state *state, uint64_t top)
{
	const struct npuplan_granules *granules = state->granules;

	state->capacity = (int64_t)((top + granules->padding) / granules->granule);
	state->left = 0;
	state->moved_count = 0;
	state->floors_count = 0;
	memset(state->total, 0, state->section_count * sizeof(*state->total));
	for (uint32_t s = 0; s < state->section_count; s++)
		state->weight[s] = 1;
	state->work += granules->sections.memberships / NPUPLAN_LANES + state->n;
	for (uint32_t i = 0; i < state->n; i++)
		if (!reset_item(state, i, top))
			return false;
	for (uint32_t stripe = 0; stripe < state->columns / NPUPLAN_SECTION_STRIPE; stripe++)
		find_stripe(state, stripe);
	for (uint32_t stripe = 0; stripe < state->columns / NPUPLAN_SECTION_STRIPE; stripe++)
		if (!fits(state, stripe))
			return false;
	return true;
}
