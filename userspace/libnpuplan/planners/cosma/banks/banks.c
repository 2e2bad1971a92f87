// SPDX-License-Identifier: MIT
/* This file decides which stay goes to which of two banks, and where in it. */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "base/sorted.h"
#include "pack/exact.h"
#include "banks.h"

/*
 * If the stays of a plan for both banks' bytes cannot be divided, so many smaller budgets are
 * tried.
 */
#define BUDGETS	   8
/* Limits of work: of the packing core on one bank, and of dividing the stays of one plan. */
#define PACK_WORK  10000000ull
#define SPLIT_WORK 200000000ull

void npuplan_banked_free(struct npuplan_banked *banked)
{
	npuplan_cosma_plan_free(&banked->plan);
	memset(banked, 0, sizeof(*banked));
}

/* ---------------------------------------------------------------- dividing */

/*
 * struct dividing - a search, depth first: each stay goes to the one bank, then to the other
 * @items, @places: room for the packing core's items and offsets
 * @order: the stays' numbers in the order of @rule
 * @rest: per place in @order, bytes that are accessed from there on
 * @load: per bank and position, bytes that are placed
 * @next: per place in @order, the bank to try next
 * @bank, @offsets: per stay, what the branch at hand has chosen
 * @best_bank, @best_offsets: the same of the best branch; the caller's
 * @best: bytes accessed in bank 0 by the best branch, if @found
 * @bound: no division has more bytes accessed in bank 0
 * @unknown: a packing was given up, so that nothing is proved any more
 */
struct dividing {
	struct npuplan_pool pool;
	const struct cosma_banking *banking;
	struct npuplan_item *items;
	uint64_t *places;
	uint32_t *order;
	uint64_t *rest;
	uint64_t *load[NPUPLAN_BANKS];
	uint8_t *next;
	uint8_t *bank;
	uint8_t *best_bank;
	uint64_t *best_offsets;
	uint64_t *offsets;
	uint64_t best;
	uint64_t bound;
	uint64_t work;
	uint64_t work_limit;
	int rule;
	bool found;
	bool unknown;
	int err;
};

static uint64_t value(const struct cosma_banking_stay *stay)
{
	return (uint64_t)stay->touches * stay->size;
}

/* The orders to try: by touches, by touches for the time the stay takes room, and by size. */
enum order { BY_TOUCHES, BY_RATE, BY_SIZE, ORDERS };

/* Which of two stays comes first in an order: @x if the result is below 0. */
static int compare(const struct cosma_banking_stay *x, const struct cosma_banking_stay *y,
		   enum order order)
{
	uint64_t left = x->touches, right = y->touches;

	if (order == BY_RATE) {
		left *= (uint64_t)y->to - y->from + 1;
		right *= (uint64_t)x->to - x->from + 1;
	} else if (order == BY_SIZE) {
		left = x->size;
		right = y->size;
	}
	if (left == right) {
		left = x->size;
		right = y->size;
	}
	return npuplan_compare(right, left);
}

static int by_order(const void *a, const void *b, void *context)
{
	const struct dividing *d = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int order = compare(&d->banking->stays[i], &d->banking->stays[j], d->rule);

	return order ?: npuplan_compare(i, j);
}

static bool put(struct dividing *d, uint32_t i, uint8_t bank)
{
	const struct cosma_banking_stay *stay = &d->banking->stays[i];
	uint64_t room = d->banking->capacity[bank];

	d->work += stay->to - stay->from + 1;
	for (uint32_t p = stay->from; p <= stay->to; p++)
		if (d->load[bank][p] + stay->size > room)
			return false;
	for (uint32_t p = stay->from; p <= stay->to; p++)
		d->load[bank][p] += stay->size;
	d->bank[i] = bank;
	return true;
}

static void take_back(struct dividing *d, uint32_t i)
{
	const struct cosma_banking_stay *stay = &d->banking->stays[i];

	for (uint32_t p = stay->from; p <= stay->to; p++)
		d->load[d->bank[i]][p] -= stay->size;
}

/* Finds addresses within one bank for what the branch at hand has put there. */
static bool pack(struct dividing *d, uint8_t bank)
{
	const struct cosma_banking *banking = d->banking;
	struct npuplan_pack_problem problem = {
		.items = d->items,
		.capacity = banking->capacity[bank],
		.alignment = banking->alignment,
	};
	struct npuplan_pack_options options = { .work_limit = PACK_WORK };
	struct npuplan_pack_result result = { 0 };

	for (uint32_t i = 0; i < banking->count; i++)
		if (d->bank[i] == bank)
			d->items[problem.item_count++] = (struct npuplan_item){
				.size = banking->stays[i].size,
				.align = banking->stays[i].align,
				.start = banking->stays[i].from,
				.end = banking->stays[i].to,
				.tensor = i,
			};
	if (!problem.item_count)
		return true;
	d->err = npuplan_pack_exactly(&problem, &options, d->places, &result, NULL);
	d->work += result.work;
	if (d->err || result.status == NPUMEM_PLAN_STATUS_UNKNOWN)
		d->unknown = true;
	if (d->err || result.status == NPUMEM_PLAN_STATUS_UNKNOWN ||
	    result.status == NPUMEM_PLAN_STATUS_INFEASIBLE)
		return false;
	for (uint32_t k = 0; k < problem.item_count; k++)
		d->offsets[d->items[k].tensor] = d->places[k];
	return true;
}

static bool ended(const struct dividing *d)
{
	return d->err || d->work >= d->work_limit || (d->found && d->best >= d->bound);
}

static void keep(struct dividing *d, uint64_t now)
{
	if (!pack(d, 0) || !pack(d, 1))
		return;
	d->found = true;
	d->best = now;
	memcpy(d->best_bank, d->bank, d->banking->count * sizeof(*d->bank));
	memcpy(d->best_offsets, d->offsets, d->banking->count * sizeof(*d->offsets));
}

/* The search is no recursion, since there may be many stays. */
static void divide(struct dividing *d)
{
	const struct cosma_banking *banking = d->banking;
	uint64_t now = 0;
	uint32_t k = 0;

	while (!ended(d)) {
		const struct cosma_banking_stay *stay;

		if (k < banking->count && d->next[k] < NPUPLAN_BANKS &&
		    !(d->found && now + d->rest[k] <= d->best)) {
			uint8_t bank = d->next[k]++;

			stay = &banking->stays[d->order[k]];
			if (!put(d, d->order[k], bank))
				continue;
			now += bank ? 0 : value(stay);
			d->next[++k] = 0;
			continue;
		}
		if (k == banking->count && !(d->found && now <= d->best))
			keep(d, now);
		if (!k--)
			return;
		stay = &banking->stays[d->order[k]];
		now -= d->bank[d->order[k]] ? 0 : value(stay);
		take_back(d, d->order[k]);
	}
}

static int dividing_init(struct dividing *d)
{
	struct npuplan_pool *pool = &d->pool;
	uint32_t count = d->banking->count;

	d->items = npuplan_pool_take(pool, count, sizeof(*d->items));
	d->places = npuplan_pool_take(pool, count, sizeof(*d->places));
	d->order = npuplan_pool_take(pool, count, sizeof(*d->order));
	d->rest = npuplan_pool_take(pool, (size_t)count + 1, sizeof(*d->rest));
	d->next = npuplan_pool_take(pool, (size_t)count + 1, sizeof(*d->next));
	d->bank = npuplan_pool_take(pool, count, sizeof(*d->bank));
	d->offsets = npuplan_pool_take(pool, count, sizeof(*d->offsets));
	for (int b = 0; b < NPUPLAN_BANKS; b++)
		d->load[b] = npuplan_pool_take(pool, d->banking->positions, sizeof(*d->load[b]));
	return pool->failed ? -ENOMEM : cosma_banking_bound(d->banking, &d->bound);
}

static void sort(struct dividing *d)
{
	const struct cosma_banking *banking = d->banking;

	for (uint32_t i = 0; i < banking->count; i++)
		d->order[i] = i;
	qsort_r(d->order, banking->count, sizeof(*d->order), by_order, d);
	for (uint32_t k = banking->count; k-- > 0;)
		d->rest[k] = d->rest[k + 1] + value(&banking->stays[d->order[k]]);
	for (int b = 0; b < NPUPLAN_BANKS; b++)
		memset(d->load[b], 0, (size_t)banking->positions * sizeof(*d->load[b]));
	d->next[0] = 0;
}

int cosma_banking_solve(const struct cosma_banking *banking, uint64_t work_limit, uint8_t *bank,
			uint64_t *offsets, uint64_t *accessed, uint64_t *work, bool *optimal)
{
	struct dividing d = {
		.banking = banking,
		.best_bank = bank,
		.best_offsets = offsets,
	};
	int err = dividing_init(&d);
	bool all = false;

	for (d.rule = 0; d.rule < ORDERS && !err && !all; d.rule++) {
		d.work_limit = work_limit / ORDERS * (uint64_t)(d.rule + 1);
		sort(&d);
		divide(&d);
		err = d.err;
		/* Either everything was looked at, or nothing can be better. */
		all = (d.found && d.best >= d.bound) || d.work < d.work_limit;
	}
	*accessed = d.best;
	*work = d.work;
	*optimal = !err && ((d.found && d.best >= d.bound) || (all && !d.unknown));
	npuplan_pool_free(&d.pool);
	return err ? err : d.found ? 0 : -ENOENT;
}

/* ------------------------------------------------------------------- plans */

static bool touches(const struct npuplan_graph *graph, const struct npumem_position *at,
		    uint32_t tensor)
{
	const struct npuplan_op *op;

	if (at->kind != NPUMEM_POSITION_STEP)
		return at->index == tensor && at->kind != NPUMEM_POSITION_DROP;
	op = &graph->ops[at->index];
	for (uint32_t k = 0; k < op->input_count; k++)
		if (op->inputs[k] == tensor)
			return true;
	for (uint32_t k = 0; k < op->output_count; k++)
		if (op->outputs[k] == tensor)
			return true;
	return false;
}

static int read_stays(struct cosma_banking *banking, const struct npuplan_graph *graph,
		      const struct npuplan_cosma_plan *plan)
{
	banking->stays = npuplan_calloc((size_t)plan->placement_count + 1, sizeof(*banking->stays));
	if (!banking->stays)
		return -ENOMEM;
	banking->count = plan->placement_count;
	banking->positions = plan->position_count;
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];
		const struct npuplan_tensor *tensor = &graph->tensors[placement->tensor];
		struct cosma_banking_stay *stay = &banking->stays[i];

		*stay = (struct cosma_banking_stay){
			.size = tensor->size,
			.align = tensor->align,
			.from = placement->from,
			.to = placement->to,
		};
		for (uint32_t p = placement->from; p <= placement->to; p++)
			stay->touches += touches(graph, &plan->positions[p], placement->tensor);
	}
	return 0;
}

/* Returns 0 if the plan's stays are divided, -ENOENT if no way was found. */
static int divide_plan(const struct npuplan_graph *graph, const struct cosma_settings *options,
		       const struct npuplan_bank banks[NPUPLAN_BANKS], struct npuplan_banked *out)
{
	uint32_t fast = banks[1].bandwidth > banks[0].bandwidth;
	struct cosma_banking banking = {
		.alignment = options->common.alignment,
		.capacity = { banks[fast].size, banks[!fast].size },
	};
	uint32_t count = out->plan.placement_count;
	struct npuplan_pool pool = { 0 };
	uint8_t *bank = npuplan_pool_take(&pool, count, sizeof(*bank));
	uint64_t *offsets = npuplan_pool_take(&pool, count, sizeof(*offsets));
	uint64_t accessed = 0, all = 0, work = 0;
	int err = pool.failed ? -ENOMEM : read_stays(&banking, graph, &out->plan);

	if (!err)
		err = cosma_banking_bound(&banking, &out->accessed_bound);
	if (!err)
		err = cosma_banking_solve(&banking, SPLIT_WORK, bank, offsets, &accessed, &work,
					  &out->optimal);
	out->work += work;
	out->plan.top = 0;
	for (uint32_t i = 0; i < count && !err; i++) {
		uint32_t b = bank[i] ? !fast : fast;
		struct npumem_placement *placement = &out->plan.placements[i];
		uint64_t end = offsets[i] + banking.stays[i].size;

		placement->offset = offsets[i] + (b ? banks[0].size : 0);
		end += b ? banks[0].size : 0;
		out->plan.top = end > out->plan.top ? end : out->plan.top;
		all += value(&banking.stays[i]);
	}
	out->accessed[fast] = accessed;
	out->accessed[!fast] = all - accessed;
	out->microseconds = 0;
	for (int b = 0; b < NPUPLAN_BANKS; b++)
		out->microseconds += (double)out->accessed[b] / (double)banks[b].bandwidth;
	npuplan_free(banking.stays);
	npuplan_pool_free(&pool);
	return err;
}

static int check_banks(const struct npuplan_bank banks[NPUPLAN_BANKS], uint32_t alignment,
		       struct npuplan_error *error)
{
	for (int b = 0; b < NPUPLAN_BANKS; b++) {
		if (!banks[b].size || !banks[b].bandwidth)
			return npuplan_fail(error, -EINVAL, "bank %d has no %s", b,
					    banks[b].size ? "bandwidth" : "bytes");
		if (banks[b].size > INT64_MAX / 8)
			return npuplan_fail(error, -EINVAL, "bank %d: %llu bytes are too many", b,
					    (unsigned long long)banks[b].size);
		/* Plan JSON has no greater numbers. */
		if (banks[b].bandwidth > INT64_MAX)
			return npuplan_fail(error, -EINVAL,
					    "bank %d: %llu bytes a microsecond are too many", b,
					    (unsigned long long)banks[b].bandwidth);
	}
	if (alignment > 1 && banks[0].size % alignment)
		return npuplan_fail(error, -EINVAL,
				    "bank 0: %llu bytes are no multiple of the alignment, %u",
				    (unsigned long long)banks[0].size, alignment);
	return 0;
}

/* Finds the largest tensor that an operator uses, if no bank has room for it. */
static bool too_large(const struct npuplan_graph *graph, const struct cosma_settings *options,
		      const struct npuplan_bank banks[NPUPLAN_BANKS],
		      struct npuplan_cosma_plan *plan)
{
	uint64_t room = banks[0].size > banks[1].size ? banks[0].size : banks[1].size;

	for (uint32_t v = 0; v < graph->op_count; v++) {
		const struct npuplan_op *op = &graph->ops[v];

		for (uint32_t k = 0; k < op->input_count + op->output_count; k++) {
			uint32_t t = k < op->input_count ? op->inputs[k] :
							   op->outputs[k - op->input_count];

			if (graph->tensors[t].kind == NPUMEM_TENSOR_PARAMETER &&
			    !options->with_parameters)
				continue;
			if (graph->tensors[t].size <= room ||
			    graph->tensors[t].size <= plan->needed)
				continue;
			plan->needed = graph->tensors[t].size;
			plan->needed_op = v;
		}
	}
	return plan->needed > 0;
}

int npuplan_cosma_banks(const struct npuplan_graph *graph, const struct cosma_settings *options,
			const struct npuplan_bank banks[NPUPLAN_BANKS], struct npuplan_banked *out,
			struct npuplan_error *error)
{
	struct cosma_settings now = *options;
	uint64_t sum, one;
	uint32_t status = NPUMEM_PLAN_STATUS_UNKNOWN;
	int err = check_banks(banks, options->common.alignment, error);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	if (too_large(graph, options, banks, &out->plan)) {
		out->plan.status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		return 0;
	}
	sum = banks[0].size + banks[1].size;
	one = banks[0].size > banks[1].size ? banks[0].size : banks[1].size;
	for (uint32_t i = 0; i <= BUDGETS && !err; i++) {
		npuplan_cosma_plan_free(&out->plan);
		now.common.arena_budget = sum - (sum - one) / BUDGETS * i;
		err = npuplan_cosma(graph, &now, &out->plan, error);
		out->work += out->plan.work;
		/* If a larger budget gave no plan, a smaller one gives none either. */
		if (err || !out->plan.positions)
			break;
		status = i ? NPUMEM_PLAN_STATUS_FEASIBLE : out->plan.status;
		err = divide_plan(graph, &now, banks, out);
		if (!err) {
			out->budget = now.common.arena_budget;
			out->plan.status = status;
			return 0;
		}
		if (err == -ENOENT)
			err = 0;
	}
	if (err) {
		npuplan_banked_free(out);
		return npuplan_fail(error, err, "two banks: %s", strerror(-err));
	}
	/* That it is infeasible is proved only of one bank that has all the bytes. */
	if (out->plan.positions || status != NPUMEM_PLAN_STATUS_UNKNOWN) {
		npuplan_cosma_plan_free(&out->plan);
		out->plan.status = NPUMEM_PLAN_STATUS_UNKNOWN;
	}
	return 0;
}
