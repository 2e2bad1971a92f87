// SPDX-License-Identifier: MIT
/* This file turns a plan of units into a plan of the graph. */
#include "transfers.h"

#include <stdlib.h>
#include <string.h>

#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"

/* Alignment of addresses in host memory: a cache line, so that no two copies share one. */
#define HOST_ALIGN 64

/*
 * struct transfer_writing - the plan in the making
 * @first: positions that stand for position i of @found are [first[i], first[i + 1])
 * @placement: per placement of @found, the first placement of @plan that stands for its fragments
 * @before: per placement of @found, the one that it goes on, since its unit is an updated one of
 *	that one's; NPUMEM_NONE: it begins anew
 * @input: per unit, the one of which it is an updated version; NPUMEM_NONE: it is none
 * @origin: per unit, the first version of its bytes
 * @resident: per unit, its placement in @found now
 * @host: per unit, the byte in host memory where its copy begins, fragments one after another
 *	The verifier has bytes copied to one address, whatever their version, so that it is set of
 *	origins, and others have theirs
 * @stored: per unit, whether a position before has stored it
 * @copies: per origin, its versions' copies, from the position that needs the first one to the last
 *	one; its tensor is the unit, or NPUMEM_NONE if there is none
 */
struct transfer_writing {
	const struct cosma_units *units;
	const struct npuplan_cosma_plan *found;
	struct npuplan_plan *plan;
	uint32_t *first;
	uint32_t *placement;
	uint32_t *before;
	uint32_t *input;
	uint32_t *origin;
	uint32_t *resident;
	uint64_t *host;
	bool *stored;
	struct npuplan_item *copies;
};

/* Numbers the positions that stand for each position of @found. */
static int number_positions(struct transfer_writing *writing)
{
	const struct npuplan_cosma_plan *found = writing->found;
	uint64_t count = 0;

	for (uint32_t i = 0; i < found->position_count; i++) {
		const struct npumem_position *position = &found->positions[i];

		count += position->kind == NPUMEM_POSITION_STEP ?
				 1 :
				 writing->units->unit[position->index].fragment_count;
		if (count >= NPUMEM_NONE)
			return -E2BIG;
		writing->first[i + 1] = (uint32_t)count;
	}
	writing->plan->position_count = (uint32_t)count;
	writing->plan->positions = npuplan_calloc(count + 1, sizeof(*writing->plan->positions));
	return writing->plan->positions ? 0 : -ENOMEM;
}

/* Finds of which units others are updated versions. */
static void find_origins(struct transfer_writing *writing)
{
	const struct cosma_units *units = writing->units;

	for (uint32_t u = 0; u < units->count; u++) {
		writing->input[u] = NPUMEM_NONE;
		writing->origin[u] = u;
	}
	/* They come by steps in the graph's order, earlier versions before later ones. */
	for (uint32_t i = 0; i < units->takeover_count; i++) {
		const struct npuplan_cosma_takeover *takeover = &units->takeovers[i];

		if (!takeover->bound)
			continue;
		writing->input[takeover->output] = takeover->input;
		writing->origin[takeover->output] = writing->origin[takeover->input];
	}
}

/* An updated unit begins on chip where its input ends. @last: per unit, scratch */
static void find_updated(struct transfer_writing *writing, uint32_t *last)
{
	const struct npuplan_cosma_plan *found = writing->found;

	/* Placements come by unit, in the order of time. */
	for (uint32_t i = 0; i < found->placement_count; i++)
		last[found->placements[i].tensor] = i;
	for (uint32_t i = 0; i < found->placement_count; i++) {
		uint32_t u = found->placements[i].tensor, input = writing->input[u];
		bool first = !i || found->placements[i - 1].tensor != u;

		writing->before[i] = first && input != NPUMEM_NONE ? last[input] : NPUMEM_NONE;
	}
}

/* Has placements of a unit go on for an updated one, whose @i-th placement of @found it is. */
static void extend(struct transfer_writing *writing, uint32_t i)
{
	const struct npumem_placement *placement = &writing->found->placements[i];
	uint32_t first = writing->placement[writing->before[i]];
	uint32_t count = writing->units->unit[placement->tensor].fragment_count;

	writing->placement[i] = first;
	for (uint32_t k = first; k < first + count; k++)
		writing->plan->placements[k].to = writing->first[placement->to + 1] - 1;
}

/* A version of bytes has a higher number than those before it, whose placements come first. */
static int write_placements(struct transfer_writing *writing)
{
	const struct npuplan_cosma_plan *found = writing->found;
	struct npuplan_plan *plan = writing->plan;
	int err = 0;

	for (uint32_t i = 0; i < found->placement_count && !err; i++) {
		const struct npumem_placement *placement = &found->placements[i];
		const struct cosma_unit *unit = &writing->units->unit[placement->tensor];

		if (writing->before[i] != NPUMEM_NONE) {
			extend(writing, i);
			continue;
		}
		writing->placement[i] = plan->placement_count;
		for (uint32_t k = 0; k < unit->fragment_count && !err; k++) {
			const struct cosma_fragment *fragment =
				&writing->units->fragment[unit->first_fragment + k];

			struct npumem_placement part = {
				.tensor = unit->tensor,
				.from = writing->first[placement->from],
				.to = writing->first[placement->to + 1] - 1,
				.offset = writing->units->state_end + placement->offset +
					  fragment->at,
				.region = { .offset = fragment->first,
					    .length = fragment->length,
					    .count = { 1, 1, 1 } },
			};

			err = npuplan_append(&plan->placements, &plan->placement_count, &part, 1);
		}
	}
	return err;
}

/* States lie where they lie from the first position to the last one. */
static int write_states(struct transfer_writing *writing)
{
	const struct cosma_units *units = writing->units;
	struct npuplan_plan *plan = writing->plan;
	int err = 0;

	for (uint32_t i = 0; i < units->state_count && !err; i++) {
		const struct cosma_state *state = &units->state[i];
		struct npumem_placement whole = {
			.tensor = state->tensor,
			.to = plan->position_count - 1,
			.offset = state->offset,
			.region = { .length = state->size, .count = { 1, 1, 1 } },
		};

		err = npuplan_append(&plan->placements, &plan->placement_count, &whole, 1);
	}
	return err;
}

/* Finds out when the copies in host memory of each unit's versions are needed. */
static void find_copies(struct transfer_writing *writing)
{
	const struct npuplan_cosma_plan *found = writing->found;
	uint32_t end = writing->plan->position_count;

	for (uint32_t u = 0; u < writing->units->count; u++) {
		const struct npuplan_tensor *tensor = &writing->units->graph->tensors[u];
		bool there = tensor->flags & NPUMEM_TENSOR_FLAG_HOST;

		writing->copies[u] = (struct npuplan_item){
			.size = tensor->size,
			.align = 1,
			.end = there ? end : 0,
			.tensor = there ? u : NPUMEM_NONE,
		};
	}
	for (uint32_t i = 0; i < found->position_count; i++) {
		const struct npumem_position *position = &found->positions[i];
		uint32_t last = writing->first[i + 1] - 1;
		struct npuplan_item *copy;

		if (position->kind == NPUMEM_POSITION_STEP)
			continue;
		copy = &writing->copies[writing->origin[position->index]];
		if (copy->tensor == NPUMEM_NONE) {
			copy->start = writing->first[i];
			copy->tensor = writing->origin[position->index];
		}
		if (position->kind == NPUMEM_POSITION_STORE)
			copy->end = end;
		else if (copy->end < last)
			copy->end = last;
	}
}

int cosma_place_copies(const struct npuplan_item *copies, uint32_t count, uint64_t *host,
		       uint64_t *size, struct npuplan_error *error)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct npuplan_item *items = npuplan_pool_take(&pool, count, sizeof(*items));
	uint64_t *offsets = npuplan_pool_take(&pool, count, sizeof(*offsets));
	struct npuplan_pack_problem problem = { .items = items, .alignment = HOST_ALIGN };
	struct npuplan_pack_result result = { 0 };
	int err = pool.failed ? -ENOMEM : 0;

	for (uint32_t i = 0; i < count && !err; i++)
		if (copies[i].tensor != NPUMEM_NONE)
			items[problem.item_count++] = copies[i];
	if (!err && problem.item_count)
		err = npuplan_pack_in_order(NPUPLAN_BY_SIZE, &problem, offsets, &result, error);
	for (uint32_t i = 0; i < problem.item_count && !err; i++)
		host[items[i].tensor] = offsets[i];
	*size = result.top;
	return err;
}

/*
 * Counts the bytes that a transfer moves: the search's are those of places, in which fragments are
 * aligned. The first store of an output is compulsory, any other one is for room.
 */
static void count_transfer(struct transfer_writing *writing, uint32_t kind, uint32_t u)
{
	const struct cosma_unit *unit = &writing->units->unit[u];
	struct npumem_plan_info *info = &writing->plan->info;
	bool output = writing->units->graph->tensors[u].kind == NPUMEM_TENSOR_OUTPUT;
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < unit->fragment_count; k++)
		bytes += writing->units->fragment[unit->first_fragment + k].length;
	if (kind == NPUMEM_POSITION_LOAD ||
	    (kind == NPUMEM_POSITION_STORE && output && !writing->stored[u]))
		info->load_bytes += bytes;
	else if (kind == NPUMEM_POSITION_FILL)
		info->fill_bytes += bytes;
	else if (kind != NPUMEM_POSITION_DROP)
		info->spill_bytes += bytes;
	writing->stored[u] |= kind == NPUMEM_POSITION_STORE;
}

static void write_transfer(struct transfer_writing *writing, uint32_t i)
{
	const struct npumem_position *position = &writing->found->positions[i];
	const struct cosma_unit *unit = &writing->units->unit[position->index];
	bool drop = position->kind == NPUMEM_POSITION_DROP;

	count_transfer(writing, position->kind, position->index);

	for (uint32_t k = 0; k < unit->fragment_count; k++) {
		const struct cosma_fragment *fragment =
			&writing->units->fragment[unit->first_fragment + k];

		writing->plan->positions[writing->first[i] + k] = (struct npumem_position){
			.kind = position->kind,
			.index = unit->tensor,
			.placement =
				drop ? NPUMEM_NONE :
				       writing->placement[writing->resident[position->index]] + k,
			.first = fragment->first,
			.length = fragment->length,
			.host_offset = drop ? 0 : writing->host[position->index] + fragment->at,
		};
	}
}

static void write_positions(struct transfer_writing *writing)
{
	const struct npuplan_cosma_plan *found = writing->found;
	uint32_t *next = writing->resident;

	for (uint32_t r = found->placement_count; r-- > 0;)
		next[found->placements[r].tensor] = r;
	for (uint32_t i = 0; i < found->position_count; i++) {
		const struct npumem_position *position = &found->positions[i];

		if (position->kind == NPUMEM_POSITION_STEP) {
			writing->plan->positions[writing->first[i]] = (struct npumem_position){
				.kind = NPUMEM_POSITION_STEP,
				.index = position->index,
				.placement = NPUMEM_NONE,
			};
			continue;
		}
		write_transfer(writing, i);
		/* The tensor comes back to its next placement in the order of time. */
		if (position->kind == NPUMEM_POSITION_SPILL ||
		    position->kind == NPUMEM_POSITION_DROP)
			next[position->index]++;
	}
}

/* Finds the first position at which most bytes are placed. */
static int find_peak(struct npuplan_plan *plan)
{
	AUTO_HEAP int64_t *change =
		npuplan_calloc((size_t)plan->position_count + 1, sizeof(*change));
	int64_t now = 0, most = -1;

	if (!change)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];

		change[placement->from] += (int64_t)placement->region.length;
		change[placement->to + 1] -= (int64_t)placement->region.length;
	}
	for (uint32_t p = 0; p < plan->position_count; p++) {
		now += change[p];
		if (now <= most)
			continue;
		most = now;
		plan->peak_position = p;
	}
	return 0;
}

static int write_plan(struct transfer_writing *writing, struct npuplan_error *error)
{
	const struct npuplan_cosma_plan *found = writing->found;
	struct npuplan_plan *plan = writing->plan;
	uint64_t host_size = 0;
	int err = number_positions(writing);

	find_origins(writing);
	find_updated(writing, writing->resident);
	err = err ? err : write_placements(writing);
	err = err ? err : write_states(writing);
	if (!err)
		find_copies(writing);
	err = err ? err :
		    cosma_place_copies(writing->copies, writing->units->count, writing->host,
				       &host_size, error);
	plan->info.host_size = host_size;
	plan->blocks = npuplan_calloc(1, sizeof(*plan->blocks));
	if (!err && !plan->blocks)
		err = -ENOMEM;
	if (err)
		return err;
	for (uint32_t u = 0; u < writing->units->count; u++)
		writing->host[u] = writing->host[writing->origin[u]];
	write_positions(writing);
	plan->blocks[0].position_count = plan->position_count;
	plan->block_count = 1;
	plan->info.arena_size = writing->units->state_end + found->top;
	for (uint32_t i = 0; i < writing->units->state_count; i++) {
		const struct cosma_state *state = &writing->units->state[i];

		if (state->offset + state->size > plan->info.arena_size)
			plan->info.arena_size = state->offset + state->size;
	}
	plan->info.lower_bound = writing->units->state_bytes + found->peak;
	plan->info.work = found->work;
	plan->info.status = found->status;
	return find_peak(plan);
}

int cosma_transfers(const struct cosma_units *units, const struct npuplan_cosma_plan *found,
		    struct npuplan_plan **out, struct npuplan_error *error)
{
	uint32_t count = units->count;
	struct npuplan_pool pool = { 0 };
	struct transfer_writing writing = {
		.units = units,
		.found = found,
		.plan = npuplan_calloc(1, sizeof(*writing.plan)),
		.first = npuplan_pool_take(&pool, found->position_count + (size_t)1,
					   sizeof(uint32_t)),
		.placement = npuplan_pool_take(&pool, found->placement_count, sizeof(uint32_t)),
		.before = npuplan_pool_take(&pool, found->placement_count, sizeof(uint32_t)),
		.input = npuplan_pool_take(&pool, count, sizeof(uint32_t)),
		.origin = npuplan_pool_take(&pool, count, sizeof(uint32_t)),
		.resident = npuplan_pool_take(&pool, count, sizeof(uint32_t)),
		.host = npuplan_pool_take(&pool, count, sizeof(uint64_t)),
		.stored = npuplan_pool_take(&pool, count, sizeof(bool)),
		.copies = npuplan_pool_take(&pool, count, sizeof(*writing.copies)),
	};
	int err = writing.plan && !pool.failed ? write_plan(&writing, error) : -ENOMEM;

	npuplan_pool_free(&pool);
	if (err) {
		npuplan_plan_free(writing.plan);
		return npuplan_fail(error, err, "cosma: %s", strerror(-err));
	}
	*out = writing.plan;
	return 0;
}
