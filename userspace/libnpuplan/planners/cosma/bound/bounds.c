// SPDX-License-Identifier: MIT
/*
 * This file bounds from below what a state has still to pay: it asks each critical operator how
 * many bytes have to be moved because of it.
 */
#include <stdlib.h>
#include <string.h>

#include "critical.h"

/*
 * An item is a member or an adder of a critical operator, seen from one downset. Its kind says how
 * it counts in a state.
 */
enum item_kind {
	UNPRODUCED, /* a member not produced yet: each byte of it costs @price */
	RETURNING,  /* a member used before the operator: if away, it comes back for 1 a byte */
	RESTING,    /* a member not used before it: if away, it stays so for nothing */
	HELD,	    /* an adder: it counts only while it is on chip */
};

/*
 * struct downset_item - member or adder of a critical operator at a downset
 * @size: bytes
 * @at: its place in the downset's live list; NPUMEM_NONE if it is not live
 * @price: of a byte, as struct cosma_member has it
 * @has_copy: the host has a copy as soon as it is produced
 * @free: no group counts the tensor, so that one group may count it as an adder
 */
struct downset_item {
	int64_t size;
	uint32_t at;
	uint8_t kind;
	uint8_t price;
	bool has_copy;
	bool free;
};

/** struct downset_critical - critical operator whose price depends on the state, at a downset */
struct downset_critical {
	int64_t excess;
	uint32_t group;
	uint32_t first;
	uint32_t end;
};

/*
 * struct cosma_downset_bound - critical operators of a downset, by group
 * @base: sum of the prices of those groups whose price is the same in all states of the downset
 * @alone: greatest price of a single operator among those whose price is the same in all states
 * @critical: operators whose price depends on the state
 * @first: per group, its first one in @critical; those of no group are behind the last group
 * @settled: per group, the greatest price of those of its operators that do not depend on the state
 * @item: members and adders of all of @critical
 */
struct cosma_downset_bound {
	int64_t base;
	int64_t alone;
	uint32_t critical_count;
	uint32_t group_count;
	struct downset_critical *critical;
	int64_t *settled;
	struct downset_item *item;
	uint32_t *first;
};

/* struct cosma_scratch - room to work in, which all downsets share; @item grows when needed
 * @critical: of the downset that is prepared
 * @cover: items of the cover that is asked for
 * @at: per tensor, its place in the live list of the downset that is prepared
 * @touched: per critical operator: its price depends on the state
 * @settled: per group, as struct cosma_downset_bound has it
 * @spoken: per group: one of its operators is touched
 * @slot: per group, its number at the downset
 * @used: per live tensor, the @stamp of the state in which a group has counted it as an adder
 * @taken: live tensors that the critical operator which was asked last counts as adders
 * @stamp: number of the state that is asked for
 */
struct cosma_scratch {
	struct downset_critical *critical;
	struct downset_item *item;
	struct cosma_cover_item *cover;
	uint32_t *at;
	bool *touched;
	int64_t *settled;
	bool *spoken;
	uint32_t *slot;
	uint32_t *used;
	uint32_t *taken;
	uint32_t stamp;
};

void cosma_bounds_fini(struct cosma_bounds *bounds)
{
	for (uint32_t i = 0; i < bounds->critical_count; i++)
		npuplan_free(bounds->critical[i].member);
	npuplan_free(bounds->critical);
	npuplan_free(bounds->of_adder.item);
	if (bounds->scratch)
		npuplan_free(bounds->scratch->item);
	npuplan_pool_free(&bounds->pool);
	memset(bounds, 0, sizeof(*bounds));
}

static int scratch_init(struct cosma_bounds *bounds)
{
	uint32_t tensors = bounds->model->tensor_count, groups = bounds->group_count;
	struct npuplan_pool *pool = &bounds->pool;
	struct cosma_scratch *scratch = npuplan_pool_take(pool, 1, sizeof(*scratch));

	bounds->scratch = scratch;
	if (!scratch)
		return -ENOMEM;
	scratch->critical =
		npuplan_pool_take(pool, bounds->critical_count, sizeof(*scratch->critical));
	scratch->touched =
		npuplan_pool_take(pool, bounds->critical_count, sizeof(*scratch->touched));
	scratch->cover = npuplan_pool_take(pool, tensors, sizeof(*scratch->cover));
	scratch->at = npuplan_pool_take(pool, tensors, sizeof(*scratch->at));
	scratch->used = npuplan_pool_take(pool, tensors, sizeof(*scratch->used));
	scratch->taken = npuplan_pool_take(pool, tensors, sizeof(*scratch->taken));
	scratch->settled = npuplan_pool_take(pool, groups, sizeof(*scratch->settled));
	scratch->spoken = npuplan_pool_take(pool, groups, sizeof(*scratch->spoken));
	scratch->slot = npuplan_pool_take(pool, groups, sizeof(*scratch->slot));
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t x = 0; x < tensors; x++)
		scratch->at[x] = NPUMEM_NONE;
	return 0;
}

/* Finds the price of a critical operator while none of its members is produced. */
static void ask_early(struct cosma_bounds *bounds, struct cosma_critical *critical)
{
	struct cosma_cover_item *cover = bounds->scratch->cover;
	int64_t *asked[] = { &critical->grouped, &critical->alone };

	for (int alone = 0; alone < 2; alone++) {
		for (uint32_t k = 0; k < critical->member_count; k++) {
			const struct cosma_member *member = &critical->member[k];
			bool copied = bounds->model->flags[member->tensor] & COSMA_COPIED;

			cover[k].size = member->bytes;
			cover[k].price = !alone ? member->price : copied ? 1 : 2;
		}
		*asked[alone] =
			cosma_cover(cover, critical->member_count, critical->excess, &bounds->work);
	}
}

int cosma_bounds_init(struct cosma_bounds *bounds, const struct cosma_model *model, int64_t budget,
		      const struct cosma_call *call)
{
	int err;

	memset(bounds, 0, sizeof(*bounds));
	bounds->model = model;
	bounds->budget = budget;
	bounds->call = call;
	err = cosma_critical_find(bounds);
	err = err ? err : cosma_critical_group(bounds);
	err = err ? err : cosma_critical_defer(bounds);
	err = err ? err : cosma_critical_charge(bounds);
	err = err ? err : scratch_init(bounds);
	for (uint32_t i = 0; i < bounds->critical_count && !err; i++)
		ask_early(bounds, &bounds->critical[i]);
	return err;
}

/* ------------------------------------------------------------------- a downset */

/* Whether a user of @x that runs before @v, or @v itself, is still to run. */
static bool is_returning(const struct cosma_model *model, const struct cosma_downset *downset,
			 uint32_t x, uint32_t v)
{
	cosma_for_each(k, model->consumers, x) {
		uint32_t user = model->consumers.item[k];

		if (!cosma_downset_has(downset, user) &&
		    (user == v || cosma_before(model, user, v)))
			return true;
	}
	return false;
}

/* Whether the operator that uses a deferred member has run. */
static bool is_used(const struct cosma_downset *downset, const struct cosma_member *member)
{
	return member->first != NPUMEM_NONE && cosma_downset_has(downset, member->first);
}

static int add_item(struct cosma_scratch *scratch, uint32_t *count, struct downset_item item)
{
	return npuplan_append(&scratch->item, count, &item, 1);
}

/*
 * Lists members and adders of a critical operator. @gone: out: bytes of members that need not be
 * kept any more.
 */
static int list_items(struct cosma_bounds *bounds, const struct cosma_downset *downset,
		      const struct cosma_critical *critical, uint32_t *count, int64_t *gone)
{
	const struct cosma_model *model = bounds->model;
	struct cosma_scratch *scratch = bounds->scratch;
	uint32_t number = (uint32_t)(critical - bounds->critical);
	int err = 0;

	*gone = 0;
	for (uint32_t k = 0; k < critical->member_count && !err; k++) {
		const struct cosma_member *member = &critical->member[k];
		uint32_t x = member->tensor, at = scratch->at[x];
		struct downset_item item = {
			.size = member->bytes,
			.at = at,
			.price = member->price,
			.kind = UNPRODUCED,
			.has_copy = model->flags[x] & COSMA_COPIED,
		};

		/* The tensor that was made of it is an adder now. */
		if (is_used(downset, member)) {
			*gone += member->bytes;
			continue;
		}
		if (at != NPUMEM_NONE)
			item.kind = is_returning(model, downset, x, critical->op) ? RETURNING :
										    RESTING;
		err = add_item(scratch, count, item);
	}
	for (uint32_t i = 0; i < downset->live_count && !err; i++) {
		uint32_t x = downset->live[i];

		if (!cosma_listed(&bounds->of_adder, x, number))
			continue;
		err = add_item(scratch, count,
			       (struct downset_item){
				       .size = model->size[x],
				       .at = i,
				       .price = 2,
				       .kind = HELD,
				       .free = !bounds->charged[x],
			       });
	}
	return err;
}

/*
 * Puts critical operators in the order of their groups; within a group they stay as they were
 * found.
 */
static void sort_critical(struct cosma_downset_bound *bound, const struct cosma_scratch *scratch)
{
	uint32_t groups = bound->group_count, filled = 0;

	for (uint32_t g = 0; g <= groups; g++) {
		bound->first[g] = filled;
		for (uint32_t i = 0; i < bound->critical_count; i++) {
			const struct downset_critical *critical = &scratch->critical[i];
			bool grouped = critical->group != NPUMEM_NONE;

			if ((grouped ? scratch->slot[critical->group] : groups) != g)
				continue;
			bound->critical[filled++] = *critical;
			if (grouped)
				bound->settled[g] = scratch->settled[critical->group];
		}
	}
}

/* Keeps a downset's bound in one block of memory, so that one npuplan_free() ends it. */
static int store(struct cosma_downset *downset, const struct cosma_scratch *scratch,
		 const struct cosma_downset_bound *made, uint32_t items)
{
	size_t size = sizeof(*made) + items * sizeof(*made->item) +
		      made->group_count * sizeof(*made->settled) +
		      made->critical_count * sizeof(*made->critical) +
		      (made->group_count + 1) * sizeof(*made->first);
	struct cosma_downset_bound *bound = npuplan_malloc(size);

	if (!bound)
		return -ENOMEM;
	*bound = *made;
	bound->item = (struct downset_item *)(bound + 1);
	bound->settled = (int64_t *)(bound->item + items);
	bound->critical = (struct downset_critical *)(bound->settled + made->group_count);
	bound->first = (uint32_t *)(bound->critical + made->critical_count);
	if (items)
		memcpy(bound->item, scratch->item, items * sizeof(*bound->item));
	sort_critical(bound, scratch);
	downset->bound = bound;
	return 0;
}

static int prepare(struct cosma_bounds *bounds, struct cosma_downset *downset)
{
	struct cosma_scratch *scratch = bounds->scratch;
	struct cosma_downset_bound made = { 0 };
	uint32_t items = 0;
	int err = 0;

	memset(scratch->touched, 0, bounds->critical_count * sizeof(*scratch->touched));
	memset(scratch->settled, 0, bounds->group_count * sizeof(*scratch->settled));
	memset(scratch->spoken, 0, bounds->group_count * sizeof(*scratch->spoken));
	for (uint32_t i = 0; i < downset->live_count; i++) {
		uint32_t x = downset->live[i];

		scratch->at[x] = i;
		cosma_for_each(k, bounds->of_adder, x)
			scratch->touched[bounds->of_adder.item[k]] = true;
	}
	for (uint32_t i = 0; i < bounds->critical_count && !err; i++) {
		const struct cosma_critical *critical = &bounds->critical[i];
		uint32_t group = critical->group;
		struct downset_critical entry = { critical->excess, group, items, items };
		int64_t gone;

		if (cosma_downset_has(downset, critical->op))
			continue;
		for (uint32_t k = 0; k < critical->member_count && !scratch->touched[i]; k++)
			scratch->touched[i] = scratch->at[critical->member[k].tensor] !=
						      NPUMEM_NONE ||
					      is_used(downset, &critical->member[k]);
		if (!scratch->touched[i]) {
			if (critical->alone > made.alone)
				made.alone = critical->alone;
			if (group != NPUMEM_NONE && critical->grouped > scratch->settled[group])
				scratch->settled[group] = critical->grouped;
			continue;
		}
		err = list_items(bounds, downset, critical, &items, &gone);
		entry.excess -= gone;
		entry.end = items;
		scratch->critical[made.critical_count++] = entry;
		if (group != NPUMEM_NONE && !scratch->spoken[group]) {
			scratch->spoken[group] = true;
			scratch->slot[group] = made.group_count++;
		}
	}
	for (uint32_t g = 0; g < bounds->group_count; g++)
		if (!scratch->spoken[g])
			made.base += scratch->settled[g];
	for (uint32_t i = 0; i < downset->live_count; i++)
		scratch->at[downset->live[i]] = NPUMEM_NONE;
	bounds->work += bounds->critical_count + items;
	return err ? err : store(downset, scratch, &made, items);
}

/* ------------------------------------------------------------------- a state */

/* What counts when a critical operator is asked for its price. */
enum asking {
	GROUP,	      /* members only, at the prices of its group */
	GROUP_ADDERS, /* the same, and adders that no group counts */
	ALONE,	      /* members and adders, at full prices */
};

/*
 * ask() - price of a critical operator in a state
 * @how: what counts
 * @taken_count: out: live tensors that count as adders; the scratch memory says which
 */
static int64_t ask(struct cosma_bounds *bounds, const struct cosma_downset *downset,
		   const uint64_t *masks, const struct downset_critical *critical, enum asking how,
		   uint32_t *taken_count)
{
	const struct cosma_downset_bound *bound = downset->bound;
	struct cosma_scratch *scratch = bounds->scratch;
	int64_t excess = critical->excess;
	uint32_t count = 0;

	*taken_count = 0;
	for (uint32_t k = critical->first; k < critical->end; k++) {
		const struct downset_item *item = &bound->item[k];
		uint32_t price = how == ALONE ? 2 : item->price;
		bool on = item->at != NPUMEM_NONE && npuplan_set_has(masks, item->at);
		bool host = item->at != NPUMEM_NONE ?
				    npuplan_set_has(masks + downset->words, item->at) :
				    item->has_copy;

		if (item->kind == HELD) {
			if (!on || how == GROUP ||
			    (how == GROUP_ADDERS &&
			     (!item->free || scratch->used[item->at] == scratch->stamp)))
				continue;
			excess += item->size;
			scratch->taken[(*taken_count)++] = item->at;
		} else if (item->kind == RESTING && !on) {
			excess -= item->size;
			continue;
		}
		scratch->cover[count++] = (struct cosma_cover_item){
			.size = item->size,
			.price = host ? 1 : price,
		};
	}
	bounds->work += critical->end - critical->first;
	return cosma_cover(scratch->cover, count, excess, &bounds->work);
}

/* The price of a group is the greatest of its operators'. */
static int64_t ask_group(struct cosma_bounds *bounds, const struct cosma_downset *downset,
			 const uint64_t *masks, uint32_t group)
{
	const struct cosma_downset_bound *bound = downset->bound;
	const struct downset_critical *best = NULL;
	struct cosma_scratch *scratch = bounds->scratch;
	int64_t most = bound->settled[group], asked;
	uint32_t first = bound->first[group], end = bound->first[group + 1], taken;

	for (enum asking how = GROUP; how <= GROUP_ADDERS; how++)
		for (uint32_t i = first; i < end && most != COSMA_NEVER; i++) {
			asked = ask(bounds, downset, masks, &bound->critical[i], how, &taken);
			if (asked <= most)
				continue;
			most = asked;
			best = how == GROUP ? NULL : &bound->critical[i];
		}
	if (!best || most == COSMA_NEVER)
		return most;
	/* The best one is asked once more, to know which adders it has counted. */
	ask(bounds, downset, masks, best, GROUP_ADDERS, &taken);
	for (uint32_t i = 0; i < taken; i++)
		scratch->used[scratch->taken[i]] = scratch->stamp;
	return most;
}

int cosma_bounds_of(struct cosma_bounds *bounds, struct cosma_downset *downset,
		    const uint64_t *masks, int64_t *out)
{
	int64_t sum, alone;
	uint32_t taken;
	int err = downset->bound ? 0 : prepare(bounds, downset);

	if (err)
		return err;
	*out = COSMA_NEVER;
	sum = downset->bound->base;
	alone = downset->bound->alone;
	bounds->scratch->stamp++;
	for (uint32_t g = 0; g < downset->bound->group_count; g++) {
		int64_t most = ask_group(bounds, downset, masks, g);

		if (most == COSMA_NEVER)
			return 0;
		sum += most;
	}
	for (uint32_t i = 0; i < downset->bound->critical_count && alone != COSMA_NEVER; i++) {
		int64_t asked =
			ask(bounds, downset, masks, &downset->bound->critical[i], ALONE, &taken);

		alone = asked > alone ? asked : alone;
	}
	*out = sum > alone ? sum : alone;
	return 0;
}
