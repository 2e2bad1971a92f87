// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "search_state.h"

static void *array(size_t count, size_t size)
{
	return calloc(count + 1, size);
}

int npuplan_state_init(struct npuplan_state *state, const struct npuplan_units *units)
{
	size_t n = units->problem->item_count, s = units->sections.count;

	*state = (struct npuplan_state){
		.units = units,
		.n = n,
		.section_count = s,
		.words = n / 64 + 1,
		.item = array(n, sizeof(*state->item)),
		.first = array(n, sizeof(*state->first)),
		.end = array(n, sizeof(*state->end)),
		.size = array(n, sizeof(*state->size)),
		.align = array(n, sizeof(*state->align)),
		.limit = array(n, sizeof(*state->limit)),
		.low = array(n, sizeof(*state->low)),
		.place = array(n, sizeof(*state->place)),
		.section_start = array(s, sizeof(*state->section_start)),
		.members = array(units->sections.memberships, sizeof(*state->members)),
		.active = array(s, sizeof(*state->active)),
		.floor = array(s, sizeof(*state->floor)),
		.count = array(s, sizeof(*state->count)),
		.total = array(s, sizeof(*state->total)),
		.weight = array(s, sizeof(*state->weight)),
		.stamp = array(s, sizeof(*state->stamp)),
		.dirty = array(s, sizeof(*state->dirty)),
		.why = array(n / 64 + 1, sizeof(*state->why)),
	};
	if (state->item && state->first && state->end && state->size && state->align &&
	    state->limit && state->low && state->place && state->section_start && state->members &&
	    state->active && state->floor && state->count && state->total && state->weight &&
	    state->stamp && state->dirty && state->why)
		return 0;
	npuplan_state_fini(state);
	return -ENOMEM;
}

void npuplan_state_fini(struct npuplan_state *state)
{
	free(state->item);
	free(state->first);
	free(state->end);
	free(state->size);
	free(state->align);
	free(state->limit);
	free(state->low);
	free(state->place);
	free(state->section_start);
	free(state->members);
	free(state->active);
	free(state->floor);
	free(state->count);
	free(state->total);
	free(state->weight);
	free(state->stamp);
	free(state->dirty);
	free(state->moved);
	free(state->refloored);
	free(state->why);
	*state = (struct npuplan_state){ 0 };
}

/* Members of each section, ascending by rank. */
static void list_members(struct npuplan_state *state)
{
	size_t start = 0;

	memset(state->active, 0, state->section_count * sizeof(*state->active));
	for (uint32_t r = 0; r < state->n; r++)
		for (uint32_t s = state->first[r]; s < state->end[r]; s++)
			state->active[s]++;
	for (uint32_t s = 0; s < state->section_count; s++) {
		state->section_start[s] = start;
		start += state->active[s];
		state->active[s] = 0;
		state->total[s] = 0;
		state->weight[s] = 1;
		state->stamp[s] = 0;
	}
	for (uint32_t r = 0; r < state->n; r++) {
		for (uint32_t s = state->first[r]; s < state->end[r]; s++) {
			state->members[state->section_start[s] + state->active[s]++] = r;
			state->total[s] += state->size[r];
		}
	}
}

static int64_t aligned(int64_t address, int64_t align)
{
	return (address + align - 1) & -align;
}

static void remember_move(struct npuplan_state *state, uint32_t rank)
{
	if (state->moved_count == state->moved_capacity) {
		size_t capacity = state->moved_capacity ? 2 * state->moved_capacity : 256;
		void *grown = realloc(state->moved, capacity * sizeof(*state->moved));

		if (!grown) {
			state->out_of_memory = true;
			return;
		}
		state->moved = grown;
		state->moved_capacity = capacity;
	}
	state->moved[state->moved_count++] =
		(struct npuplan_moved){ .item = rank, .low = state->low[rank] };
}

static void remember_floor(struct npuplan_state *state, uint32_t section)
{
	if (state->stamp[section] == state->decision)
		return;
	if (state->refloored_count == state->refloored_capacity) {
		size_t capacity = state->refloored_capacity ? 2 * state->refloored_capacity : 256;
		void *grown = realloc(state->refloored, capacity * sizeof(*state->refloored));

		if (!grown) {
			state->out_of_memory = true;
			return;
		}
		state->refloored = grown;
		state->refloored_capacity = capacity;
	}
	state->stamp[section] = state->decision;
	state->refloored[state->refloored_count++] = (struct npuplan_refloored){
		.section = section,
		.count = state->count[section],
		.floor = state->floor[section],
	};
}

static void blame(struct npuplan_state *state, const uint32_t *ranks, uint32_t count)
{
	memset(state->why, 0, state->words * sizeof(*state->why));
	for (uint32_t i = 0; i < count; i++)
		npuplan_set_add(state->why, ranks[i]);
}

static bool find_floor(struct npuplan_state *state, uint32_t section)
{
	const uint32_t *members = &state->members[state->section_start[section]];
	uint32_t active = state->active[section], count = 0;
	int64_t floor = NPUPLAN_NOWHERE;

	for (uint32_t m = 0; m < active; m++) {
		int64_t low = state->low[members[m]];

		if (low < floor) {
			floor = low;
			count = 1;
		} else {
			count += low == floor;
		}
	}
	state->work += active + 1;
	state->floor[section] = floor;
	state->count[section] = count;
	if (!active || floor + state->total[section] <= state->capacity)
		return true;
	/* They lie above the floor, one above the other, and do not fit. */
	state->weight[section]++;
	blame(state, members, active);
	return false;
}

static bool find_floors(struct npuplan_state *state)
{
	for (uint32_t d = 0; d < state->dirty_count; d++) {
		if (!find_floor(state, state->dirty[d])) {
			state->dirty_count = 0;
			return false;
		}
	}
	state->dirty_count = 0;
	return true;
}

/* The item is to lie at @low or higher. */
static bool raise(struct npuplan_state *state, uint32_t rank, int64_t low)
{
	int64_t before = state->low[rank];

	remember_move(state, rank);
	state->low[rank] = low;
	if (low > state->limit[rank]) {
		blame(state, &rank, 1);
		return false;
	}
	for (uint32_t s = state->first[rank]; s < state->end[rank]; s++) {
		if (state->floor[s] != before || !state->count[s])
			continue;
		remember_floor(state, s);
		if (!--state->count[s])
			state->dirty[state->dirty_count++] = s;
	}
	state->work += state->end[rank] - state->first[rank] + 1;
	return true;
}

static void take_out(struct npuplan_state *state, uint32_t section, uint32_t rank)
{
	uint32_t *members = &state->members[state->section_start[section]];
	uint32_t at = 0, last = --state->active[section];

	while (members[at] != rank)
		at++;
	members[at] = members[last];
	members[last] = rank;
	state->total[section] -= state->size[rank];
	remember_floor(state, section);
	state->count[section] = 0;
	state->dirty[state->dirty_count++] = section;
	state->work += at + 1;
}

bool npuplan_state_place(struct npuplan_state *state, uint32_t rank)
{
	int64_t top = state->low[rank] + state->size[rank];

	state->decision++;
	remember_move(state, rank);
	state->place[rank] = state->low[rank];
	state->low[rank] = NPUPLAN_NOWHERE;
	state->left--;
	for (uint32_t s = state->first[rank]; s < state->end[rank]; s++)
		take_out(state, s, rank);
	for (uint32_t s = state->first[rank]; s < state->end[rank]; s++) {
		const uint32_t *members = &state->members[state->section_start[s]];

		for (uint32_t m = 0; m < state->active[s]; m++) {
			uint32_t other = members[m];

			if (state->low[other] < top &&
			    !raise(state, other, aligned(top, state->align[other]))) {
				state->dirty_count = 0;
				return false;
			}
		}
		state->work += state->active[s];
	}
	return find_floors(state);
}

/* Lowest address at which another unplaced item can be right below. */
static int64_t next_support(struct npuplan_state *state, uint32_t rank)
{
	int64_t lowest = NPUPLAN_NOWHERE;

	for (uint32_t s = state->first[rank]; s < state->end[rank]; s++) {
		const uint32_t *members = &state->members[state->section_start[s]];

		for (uint32_t m = 0; m < state->active[s]; m++) {
			int64_t top = state->low[members[m]] + state->size[members[m]];

			if (members[m] != rank && top < lowest)
				lowest = top;
		}
		state->work += state->active[s];
	}
	return lowest == NPUPLAN_NOWHERE ? lowest : aligned(lowest, state->align[rank]);
}

bool npuplan_state_waste(struct npuplan_state *state, const uint32_t *ranks, uint32_t count)
{
	size_t first = state->moved_count;

	state->decision++;
	/* All supports by the addresses before: an item may lie on one that is raised, too. */
	for (uint32_t i = 0; i < count; i++) {
		int64_t support = next_support(state, ranks[i]);

		remember_move(state, ranks[i]);
		if (state->out_of_memory)
			return false;
		if (support > state->limit[ranks[i]]) {
			/* The caller blames the others at the floor, and the rest is too high. */
			blame(state, &ranks[i], 1);
			return false;
		}
		/* Not placed yet: a scratch pad. */
		state->place[ranks[i]] = support;
	}
	for (uint32_t i = 0; i < count; i++) {
		state->moved_count = first + i;
		if (!raise(state, ranks[i], state->place[ranks[i]])) {
			state->dirty_count = 0;
			return false;
		}
	}
	return find_floors(state);
}

void npuplan_state_undo(struct npuplan_state *state, size_t moved, size_t refloored,
			uint32_t placed)
{
	while (state->moved_count > moved) {
		const struct npuplan_moved *last = &state->moved[--state->moved_count];

		state->low[last->item] = last->low;
	}
	while (state->refloored_count > refloored) {
		const struct npuplan_refloored *last = &state->refloored[--state->refloored_count];

		state->floor[last->section] = last->floor;
		state->count[last->section] = last->count;
	}
	if (placed == NPUMEM_NONE)
		return;
	state->left++;
	for (uint32_t s = state->first[placed]; s < state->end[placed]; s++) {
		state->active[s]++;
		state->total[s] += state->size[placed];
	}
}

bool npuplan_state_reset(struct npuplan_state *state, uint64_t top)
{
	const struct npuplan_units *units = state->units;
	bool possible = true;

	state->capacity = (int64_t)((top + units->padding) / units->unit);
	for (uint32_t r = 0; r < state->n; r++) {
		uint32_t item = state->item[r];
		uint64_t size = units->problem->items[item].size;
		int64_t fixed = units->fixed[item];

		if (size > top)
			return false;
		state->first[r] = units->sections.first[item];
		state->end[r] = units->sections.end[item];
		state->size[r] = units->size[item];
		state->align[r] = units->align[item];
		state->limit[r] = (int64_t)((top - size) / units->unit) & -units->align[item];
		state->low[r] = 0;
		if (fixed >= 0) {
			possible = possible && fixed <= state->limit[r];
			state->low[r] = state->limit[r] = fixed;
		}
	}
	state->left = state->n;
	state->moved_count = 0;
	state->refloored_count = 0;
	state->decision = 0;
	list_members(state);
	state->work += state->units->sections.memberships + state->n;
	for (uint32_t s = 0; s < state->section_count && possible; s++)
		possible = find_floor(state, s);
	return possible;
}
