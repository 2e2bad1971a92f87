// SPDX-License-Identifier: MIT
/* Bounds of a state: which critical operators ask for how much. */
#include <stdlib.h>
#include <string.h>

#include "critical.h"

/* How an item of a downset's critical operator changes with the state. */
enum item_kind {
	UNPRODUCED, /* member, not produced yet: pays @unit */
	RETURNING,  /* member, to be used before the operator: if away, comes back: pays 1 */
	RESTING,    /* member, not used before it: if away, stays away for nothing */
	HELD,	    /* adder: counts only while on chip */
};

/*
 * struct downset_item
 * @at: in the downset's live list; NPUMEM_NONE if not live
 * @free: no group counts the tensor, so one of them may count it as an adder
 */
struct downset_item {
	int64_t size;
	uint32_t at;
	uint8_t kind;
	uint8_t unit;
	bool has_copy;
	bool free;
};

/** struct downset_critical - critical operator that the state has a say in */
struct downset_critical {
	int64_t excess;
	uint32_t group;
	uint32_t first;
	uint32_t end;
};

/*
 * struct cosma_downset_bound - a downset's critical operators, by group
 * @base: sum of what groups ask for that the state has no say in
 * @alone: most that any single one of these asks for
 * @first: per group, its first one in @critical; behind the last group come those
 *	of no group
 * @floor: per group, most of those without a say
 */
struct cosma_downset_bound {
	int64_t base;
	int64_t alone;
	uint32_t critical_count;
	uint32_t group_count;
	struct downset_critical *critical;
	int64_t *floor;
	struct downset_item *item;
	uint32_t *first;
};

/* Room to work in; @item grows when needed. */
struct cosma_scratch {
	struct downset_critical *critical;
	struct downset_item *item;
	struct cosma_cover_item *cover;
	uint32_t *at;	 /* per tensor: in the live list */
	bool *touched;	 /* per critical operator */
	int64_t *floor;	 /* per group */
	bool *spoken;	 /* per group */
	uint32_t *slot;	 /* per group: number at the downset */
	uint32_t *used;	 /* per live tensor: stamp of the state whose group took it */
	uint32_t *taken; /* live tensors that the best of a group takes */
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
	scratch->floor = npuplan_pool_take(pool, groups, sizeof(*scratch->floor));
	scratch->spoken = npuplan_pool_take(pool, groups, sizeof(*scratch->spoken));
	scratch->slot = npuplan_pool_take(pool, groups, sizeof(*scratch->slot));
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t x = 0; x < tensors; x++)
		scratch->at[x] = NPUMEM_NONE;
	return 0;
}

/* What a critical operator asks for while none of its members is produced. */
static void ask_early(struct cosma_bounds *bounds, struct cosma_critical *critical)
{
	struct cosma_cover_item *cover = bounds->scratch->cover;
	int64_t *asked[] = { &critical->grouped, &critical->alone };

	for (int alone = 0; alone < 2; alone++) {
		for (uint32_t k = 0; k < critical->member_count; k++) {
			const struct cosma_member *member = &critical->member[k];
			bool copied = bounds->model->flags[member->tensor] & COSMA_COPIED;

			cover[k].size = member->bytes;
			cover[k].unit = !alone ? member->unit : copied ? 1 : 2;
		}
		*asked[alone] =
			cosma_cover(cover, critical->member_count, critical->excess, &bounds->work);
	}
}

int cosma_bounds_init(struct cosma_bounds *bounds, const struct cosma_model *model, int64_t budget)
{
	int err;

	memset(bounds, 0, sizeof(*bounds));
	bounds->model = model;
	bounds->budget = budget;
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

		if (!npuplan_set_has(downset->executed, user) &&
		    (user == v || cosma_before(model, user, v)))
			return true;
	}
	return false;
}

/* Whether a deferred member's user has run. */
static bool is_used(const struct cosma_downset *downset, const struct cosma_member *member)
{
	return member->first != NPUMEM_NONE && npuplan_set_has(downset->executed, member->first);
}

static int add_item(struct cosma_scratch *scratch, uint32_t *count, struct downset_item item)
{
	return npuplan_append(&scratch->item, count, &item, 1);
}

/* @gone: out: bytes that nobody has to keep any more */
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
			.unit = member->unit,
			.kind = UNPRODUCED,
			.has_copy = model->flags[x] & COSMA_COPIED,
		};

		/* What was made of it is an adder now. */
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
				       .unit = 2,
				       .kind = HELD,
				       .free = !bounds->charged[x],
			       });
	}
	return err;
}

/* Critical operators by group, in the order they were found. */
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
				bound->floor[g] = scratch->floor[critical->group];
		}
	}
}

/* Everything in one block, so that one free() ends it. */
static int store(struct cosma_downset *downset, const struct cosma_scratch *scratch,
		 const struct cosma_downset_bound *made, uint32_t items)
{
	size_t size = sizeof(*made) + items * sizeof(*made->item) +
		      made->group_count * sizeof(*made->floor) +
		      made->critical_count * sizeof(*made->critical) +
		      (made->group_count + 1) * sizeof(*made->first);
	struct cosma_downset_bound *bound = npuplan_malloc(size);

	if (!bound)
		return -ENOMEM;
	*bound = *made;
	bound->item = (struct downset_item *)(bound + 1);
	bound->floor = (int64_t *)(bound->item + items);
	bound->critical = (struct downset_critical *)(bound->floor + made->group_count);
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
	memset(scratch->floor, 0, bounds->group_count * sizeof(*scratch->floor));
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

		if (npuplan_set_has(downset->executed, critical->op))
			continue;
		for (uint32_t k = 0; k < critical->member_count && !scratch->touched[i]; k++)
			scratch->touched[i] = scratch->at[critical->member[k].tensor] !=
						      NPUMEM_NONE ||
					      is_used(downset, &critical->member[k]);
		if (!scratch->touched[i]) {
			if (critical->alone > made.alone)
				made.alone = critical->alone;
			if (group != NPUMEM_NONE && critical->grouped > scratch->floor[group])
				scratch->floor[group] = critical->grouped;
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
			made.base += scratch->floor[g];
	for (uint32_t i = 0; i < downset->live_count; i++)
		scratch->at[downset->live[i]] = NPUMEM_NONE;
	bounds->work += bounds->critical_count + items;
	return err ? err : store(downset, scratch, &made, items);
}

/* ------------------------------------------------------------------- a state */

/* How a critical operator is asked. */
enum asking {
	GROUP,	      /* at its group's prices, members only */
	GROUP_ADDERS, /* and with adders that no group has taken */
	ALONE,	      /* at full prices, everything */
};

/*
 * ask() - what a critical operator asks for in a state
 * @taken_count: out: live tensors that count as adders; which they are is in the scratch memory
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
		uint32_t unit = how == ALONE ? 2 : item->unit;
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
			.unit = host ? 1 : unit,
		};
	}
	bounds->work += critical->end - critical->first;
	return cosma_cover(scratch->cover, count, excess, &bounds->work);
}

/* What a group asks for: the most that one of it does. */
static int64_t ask_group(struct cosma_bounds *bounds, const struct cosma_downset *downset,
			 const uint64_t *masks, uint32_t group)
{
	const struct cosma_downset_bound *bound = downset->bound;
	const struct downset_critical *best = NULL;
	struct cosma_scratch *scratch = bounds->scratch;
	int64_t most = bound->floor[group], asked;
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
	/* Once more, to know whom it took. */
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
