// SPDX-License-Identifier: MIT
#include "search.h"

#include <string.h>

#include "state.h"

/* The number of decisions between two looks at the clock. */
#define LOOK_EVERY 256

/*
 * struct frame - a decision: which item lies on the floor of a valley, or that none does ("waste")
 * @choices: the candidates are so many of search->choices, from first_choice on; waste is tried
 *	after them
 * @next: the alternative to try next; @choices: waste; more: all have been tried
 * @placed: the item that the alternative at hand has placed; NPUMEM_NONE: waste
 * @moved, @floors: how many entries the state's lists of these names had before it
 * @reason: set of items whose lowest addresses made the alternatives so far fail; allocated when
 *	first needed, and kept for the frames that come to this depth later
 * @blamed: whether @reason has anything in it yet
 */
struct frame {
	size_t first_choice;
	uint32_t choices;
	uint32_t next;
	uint32_t placed;
	bool blamed;
	size_t moved;
	size_t floors;
	uint64_t *reason;
};

/*
 * struct npuplan_search - the state and arrays of the search, which are kept for many searches
 * @frames: the decisions that are made, the first one first
 * @choices: candidates of all frames
 * @fit: per item, how well it fitted the valley when it was last a candidate
 * @counts: scratch array, per section
 * @at_floor: number of items at the floor of the section that was chosen
 */
struct npuplan_search {
	struct npuplan_state state;
	const struct npuplan_strategy *strategy;
	struct frame *frames;
	size_t depth;
	uint32_t capacity;
	uint32_t *choices;
	size_t choice_count;
	uint32_t choice_capacity;
	int *fit;
	int32_t *counts;
	uint32_t at_floor;
};

int npuplan_search_new(struct npuplan_search **out, const struct npuplan_granules *granules)
{
	struct npuplan_search *search = npuplan_calloc(1, sizeof(*search));
	int err;

	*out = search;
	if (!search)
		return -ENOMEM;
	err = npuplan_state_init(&search->state, granules);
	search->fit = npuplan_pool_take(&search->state.pool, granules->problem->item_count,
					sizeof(*search->fit));
	search->counts = npuplan_aligned_array(&search->state.pool, granules->sections.count);
	if (!err && search->state.pool.failed)
		err = -ENOMEM;
	if (err) {
		npuplan_search_free(search);
		*out = NULL;
	}
	return err;
}

void npuplan_search_free(struct npuplan_search *search)
{
	if (!search)
		return;
	npuplan_state_fini(&search->state);
	npuplan_free_all(search->frames, search->choices, search);
}

/*
 * How good it is to branch at a section, the lower the better, by the strategy's enum
 * npuplan_section_rule.
 */
static double score(const struct npuplan_state *state, const struct npuplan_strategy *strategy,
		    uint32_t s, uint32_t at_floor)
{
	double slack = (double)(state->capacity - state->floor[s] - state->total[s]);
	double count = at_floor, open = count + (slack > 0);

	switch ((enum npuplan_section_rule)strategy->section_rule) {
	case NPUPLAN_SECTION_FLOOR:
		return s;
	case NPUPLAN_SECTION_COUNT:
		return open * 1e6 + slack;
	case NPUPLAN_SECTION_SLACK:
	case NPUPLAN_SECTION_FLOOR_SLACK:
		return slack * 1e3 + count;
	case NPUPLAN_SECTION_WEIGHT:
		return open / state->weight[s];
	case NPUPLAN_SECTION_FLOOR_COUNT:
		return open * 1e3 + slack * 0.1;
	case NPUPLAN_SECTION_PRODUCT_WEIGHT:
		return (slack + 1) * count / state->weight[s];
	case NPUPLAN_SECTION_PRODUCT_WEIGHT1:
		return open * (1 + slack) / state->weight[s];
	case NPUPLAN_SECTION_BLEND:
		return state->floor[s] + strategy->slack_weight * slack +
		       strategy->count_weight * (double)state->capacity * open;
	case NPUPLAN_SECTION_RULES:
		break;
	}
	return 0;
}

/*
 * The highest floor that is looked at: rules that look for the lowest floor first look at no
 * others.
 */
static int32_t highest_floor(const struct npuplan_search *search)
{
	const struct npuplan_state *state = &search->state;
	uint8_t rule = search->strategy->section_rule;
	int32_t least = NPUPLAN_NOWHERE;

	if (rule != NPUPLAN_SECTION_FLOOR && rule != NPUPLAN_SECTION_FLOOR_COUNT &&
	    rule != NPUPLAN_SECTION_FLOOR_SLACK)
		return NPUPLAN_NOWHERE - 1;
	for (uint32_t s = 0; s < state->section_count; s++)
		least = state->floor[s] < least ? state->floor[s] : least;
	return least;
}

/* Choose the section to branch at, and find its valley, sections [begin, end). */
static uint32_t choose_section(struct npuplan_search *search, uint32_t *begin, uint32_t *end)
{
	struct npuplan_state *state = &search->state;
	const int32_t *floor = state->floor;
	int32_t highest = highest_floor(search);
	uint32_t best = NPUMEM_NONE, count = state->section_count;
	double least = 0;

	for (uint32_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && floor[to] == floor[from]; to++)
			;
		if (floor[from] > highest || (from && floor[from - 1] < floor[from]) ||
		    (to < count && floor[to] < floor[from]))
			continue;
		npuplan_state_count(state, from, to, search->counts);
		for (uint32_t s = from; s < to; s++) {
			double this =
				score(state, search->strategy, s, (uint32_t)search->counts[s]);

			if (best == NPUMEM_NONE || this < least) {
				least = this;
				best = s;
				*begin = from;
				*end = to;
				search->at_floor = (uint32_t)search->counts[s];
			}
		}
	}
	state->work += count / 2;
	return best;
}

/*
 * How well a candidate fits the valley [begin, end) between its walls, by the strategy's enum
 * npuplan_value_rule.
 */
static int fitness(const struct npuplan_search *search, uint32_t item, uint32_t begin, uint32_t end)
{
	const struct npuplan_state *state = &search->state;
	int64_t top = state->low[item] + state->size[item], left, right;
	bool at_left = state->first[item] == begin, at_right = state->end[item] == end;
	bool level_left, level_right;

	left = begin && state->floor[begin - 1] != NPUPLAN_NOWHERE ? state->floor[begin - 1] :
								     state->capacity;
	right = end < state->section_count && state->floor[end] != NPUPLAN_NOWHERE ?
			state->floor[end] :
			state->capacity;
	level_left = at_left && top == left;
	level_right = at_right && top == right;
	switch ((enum npuplan_value_rule)search->strategy->value_rule) {
	case NPUPLAN_VALUE_FLUSH:
		return at_left + at_right + level_left + level_right;
	case NPUPLAN_VALUE_EXACT:
		return 2 * (level_left + level_right) + (at_left && at_right);
	case NPUPLAN_VALUE_SIDES:
		return at_left + at_right;
	case NPUPLAN_VALUE_LEVEL:
		return level_left + level_right;
	case NPUPLAN_VALUE_RANK:
		break;
	}
	return 0;
}

/* Insert a candidate into the frame: those that fit better come first, then those of lower rank. */
static void insert(struct npuplan_search *search, struct frame *frame, uint32_t item, int fit)
{
	const uint32_t *rank = search->state.rank;
	uint32_t *choices = &search->choices[frame->first_choice];
	uint32_t at = frame->choices++;

	for (; at; at--) {
		uint32_t other = choices[at - 1];

		if (search->fit[other] > fit ||
		    (search->fit[other] == fit && rank[other] < rank[item]))
			break;
		choices[at] = other;
	}
	choices[at] = item;
	search->fit[item] = fit;
}

static int grow(struct npuplan_search *search, uint32_t choices)
{
	uint32_t before = search->capacity;
	int err = npuplan_reserve(&search->frames, &search->capacity, search->depth + 1,
				  sizeof(*search->frames));

	if (err)
		return err;
	if (search->capacity > before)
		memset(search->frames + before, 0,
		       (search->capacity - before) * sizeof(*search->frames));
	return npuplan_reserve(&search->choices, &search->choice_capacity,
			       search->choice_count + choices, sizeof(*search->choices));
}

static int open_frame(struct npuplan_search *search)
{
	struct npuplan_state *state = &search->state;
	uint32_t begin = 0, end = 0, section = choose_section(search, &begin, &end);
	const uint32_t *members = &state->members[state->member_start[section]];
	size_t slots = state->member_start[section + 1] - state->member_start[section];
	int err = grow(search, search->at_floor);
	struct frame *frame;

	if (err)
		return err;
	frame = &search->frames[search->depth++];
	*frame = (struct frame){
		.first_choice = search->choice_count,
		.placed = NPUMEM_NONE,
		.reason = frame->reason,
	};
	for (size_t m = 0; m < slots; m++)
		if (state->low[members[m]] == state->floor[section])
			insert(search, frame, members[m], fitness(search, members[m], begin, end));
	search->choice_count += frame->choices;
	state->work += slots / 4;
	return 0;
}

/* The reason of the last frame, which is allocated if it has none yet; NULL: out of memory. */
static uint64_t *reason_of(struct npuplan_search *search)
{
	struct frame *frame = &search->frames[search->depth - 1];
	size_t words = search->state.words;

	if (!frame->reason)
		frame->reason = npuplan_pool_take(&search->state.pool, words, sizeof(uint64_t));
	if (frame->reason && !frame->blamed) {
		memset(frame->reason, 0, words * sizeof(uint64_t));
		frame->blamed = true;
	}
	search->state.out_of_memory |= !frame->reason;
	return frame->reason;
}

static bool same(const struct npuplan_state *state, uint32_t a, uint32_t b)
{
	return state->size[a] == state->size[b] && state->first[a] == state->first[b] &&
	       state->end[a] == state->end[b] && state->align[a] == state->align[b] &&
	       state->limit[a] == state->limit[b];
}

static bool tried(const struct npuplan_search *search, const struct frame *frame, uint32_t at)
{
	const uint32_t *choices = &search->choices[frame->first_choice];

	for (uint32_t i = 0; i < at; i++)
		if (same(&search->state, choices[i], choices[at]))
			return true;
	return false;
}

enum outcome { ENTERED, FAILED, EXHAUSTED };

/* Try the next alternative of the last frame. */
static enum outcome advance(struct npuplan_search *search)
{
	struct npuplan_state *state = &search->state;
	struct frame *frame = &search->frames[search->depth - 1];
	const uint32_t *choices = &search->choices[frame->first_choice];
	bool entered;

	while (frame->next < frame->choices && tried(search, frame, frame->next)) {
		uint64_t *reason = reason_of(search);

		/* An item that is equal to one that has failed would fail, too. */
		if (reason)
			npuplan_set_add(reason, choices[frame->next]);
		frame->next++;
	}
	if (frame->next > frame->choices)
		return EXHAUSTED;
	frame->moved = state->moved_count;
	frame->floors = state->floors_count;
	if (frame->next < frame->choices) {
		frame->placed = choices[frame->next];
		entered = npuplan_state_place(state, frame->placed);
	} else {
		frame->placed = NPUMEM_NONE;
		entered = npuplan_state_waste(state, choices, frame->choices);
	}
	frame->next++;
	return entered ? ENTERED : FAILED;
}

/*
 * Take back the alternative of the last frame, which has failed because of state->why. False: all
 * others fail for the same reason.
 */
static bool take_back(struct npuplan_search *search)
{
	struct npuplan_state *state = &search->state;
	struct frame *frame = &search->frames[search->depth - 1];
	bool to_blame = false;
	uint64_t *reason;

	for (size_t i = frame->moved; i < state->moved_count && !to_blame; i++)
		to_blame = npuplan_set_has(state->why, state->moved[i].item);
	state->work += state->moved_count - frame->moved;
	npuplan_state_undo(state, frame->moved, frame->floors, frame->placed);
	if (!to_blame)
		return false;
	reason = reason_of(search);
	for (size_t w = 0; reason && w < state->words; w++)
		reason[w] |= state->why[w];
	if (reason && frame->placed != NPUMEM_NONE)
		npuplan_set_add(reason, frame->placed);
	state->work += state->words;
	return true;
}

static void close_frame(struct npuplan_search *search)
{
	search->choice_count = search->frames[--search->depth].first_choice;
}

/* Go back to the last decision that is among the reasons; false: there is none. */
static bool backjump(struct npuplan_search *search)
{
	while (search->depth) {
		if (take_back(search))
			return true;
		close_frame(search);
	}
	return false;
}

/*
 * All alternatives of the last frame have failed: its reason becomes the reason why the alternative
 * of the frame before has failed.
 */
static bool fail_frame(struct npuplan_search *search)
{
	struct npuplan_state *state = &search->state;
	uint64_t *reason = reason_of(search);

	if (reason)
		memcpy(state->why, reason, state->words * sizeof(*state->why));
	close_frame(search);
	return backjump(search);
}

static int explore(struct npuplan_search *search, uint64_t nodes, struct npuplan_pack *call)
{
	struct npuplan_state *state = &search->state;
	enum outcome outcome = ENTERED;

	for (;;) {
		if (outcome == ENTERED) {
			if (!state->left)
				return 1;
			if (!nodes--)
				return -EAGAIN;
			if (nodes % LOOK_EVERY == 0) {
				call->work += state->work;
				state->work = 0;
				if (npuplan_pack_over(call))
					return -EAGAIN;
			}
			if (open_frame(search))
				return -ENOMEM;
		} else if (outcome == FAILED ? !backjump(search) : !fail_frame(search)) {
			return state->out_of_memory ? -ENOMEM : 0;
		}
		outcome = advance(search);
		if (state->out_of_memory)
			return -ENOMEM;
	}
}

int npuplan_search_run(struct npuplan_search *search, const struct npuplan_strategy *strategy,
		       uint64_t top, const uint64_t *incumbent, uint64_t nodes, int64_t *at,
		       struct npuplan_pack *call)
{
	struct npuplan_state *state = &search->state;
	uint64_t granules = (top + state->granules->padding) / state->granules->granule;
	int result;

	if (granules > (uint64_t)NPUPLAN_MAX_GRANULES)
		return -EAGAIN;
	result = npuplan_rank(state, strategy, incumbent);
	if (result)
		return result;
	search->strategy = strategy;
	search->depth = 0;
	search->choice_count = 0;
	if (npuplan_state_reset(state, top))
		result = explore(search, nodes, call);
	call->work += state->work;
	state->work = 0;
	for (uint32_t i = 0; i < state->n && result == 1; i++)
		at[i] = state->place[i];
	return result;
}
