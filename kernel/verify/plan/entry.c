// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The records of entry states, which say what lies where whenever an instance is entered.
 * walk/demand.c checks, along every edge, that they hold; extent.c checks that the bytes
 * are where their placements say.
 */
#include "plan.h"

/* First byte of [first, end) of a tensor that no alias in a list makes valid; end if none. */
static int find_invalid(struct npuv_work *w, const struct npuv_graph *g, u32 tensor, u64 *first,
			u64 end)
{
	bool moved = true;
	u32 i;
	int err;

	if (npuv_starts_valid(g, tensor))
		*first = end;
	/* Aliases come in any order, but each round but the last takes one at least. */
	while (*first < end && moved && g->features & NPUMEM_FEATURE_ALIAS) {
		moved = false;
		for (i = g->alias_start[tensor]; i < g->alias_start[tensor + 1]; i++) {
			const struct npumem_tensor *t = npuv_tensor(g, g->aliases[i]);

			if (!npuv_starts_valid(g, g->aliases[i]) || *first < t->alias_offset ||
			    *first - t->alias_offset >= t->size)
				continue;
			*first = t->alias_offset + t->size;
			moved = true;
		}
		err = npuv_visit(w, 1 + g->alias_start[tensor + 1] - g->alias_start[tensor]);
		if (err)
			return err;
	}
	if (*first > end)
		*first = end;
	return 0;
}

/* NULL, or a text that says what is wrong with an entry, whose tensor exists. */
static const char *placement_flaw(const struct npuv_plan *p, u32 instance,
				  const struct npumem_entry *e)
{
	const struct npumem_placement *placement;

	if (npuv_tensor(p->graph, e->tensor)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL) {
		if (e->placement != NPUMEM_NONE || e->flags)
			return "an external tensor has no placement and no flags";
		return NULL;
	}
	if (e->flags != NPUMEM_ENTRY_RESIDENT)
		return "its flags are not RESIDENT alone";
	if (e->placement >= p->placements.count)
		return "its placement is not there";
	placement = npuv_placement(p, e->placement);
	if (placement->tensor != e->tensor)
		return "its placement is of another tensor";
	if (placement->block != instance)
		return "its placement is of another block of the plan";
	if (placement->from != npuv_plan_block(p, instance)->first_position)
		return "its placement is not yet in force when the block is entered";
	return NULL;
}

static const char *entry_flaw(const struct npuv_plan *p, u32 instance, const struct npumem_entry *e)
{
	const struct npumem_tensor *t = npuv_tensor(p->graph, e->tensor);
	u64 end;

	if (e->pad)
		return "its pad is not zero";
	if (t->flags & NPUMEM_TENSOR_FLAG_ALIAS)
		return "it is of an alias";
	if (!e->length)
		return "its length is zero";
	if (check_add_overflow(e->first, e->length, &end) || end > t->size)
		return "it ends beyond the tensor";
	if (e->host_offset)
		return "its host_offset is not zero, but it is not in host memory";
	return placement_flaw(p, instance, e);
}

static int refuse_entry(struct npuv_work *w, const struct npuv_plan *p, u32 instance, u32 index,
			const char *flaw)
{
	const struct npumem_entry *e = npuv_entry(p, index);
	struct npuv_text where, tensor;

	w->verdict->tensor = e->tensor;
	return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V6_EDGE, "V6 edge: entry %u of %s, %s: %s",
			   index, npuv_text_instance(p, instance, &where),
			   npuv_text_tensor(p->graph, e->tensor, &tensor), flaw);
}

/* When an inference begins, nothing else is there than what its client put there. */
static int check_beginning(struct npuv_work *w, const struct npuv_plan *p, u32 index)
{
	const struct npumem_entry *e = npuv_entry(p, index);
	u64 first = e->first, end = e->first + e->length;
	char flaw[80];
	int err;

	err = find_invalid(w, p->graph, e->tensor, &first, end);
	if (err || first == end)
		return err;
	snprintf(flaw, sizeof(flaw), "byte %llu is not there when an inference begins", first);
	return refuse_entry(w, p, 0, index, flaw);
}

static int check_entry(struct npuv_work *w, const struct npuv_plan *p, u32 instance, u32 index)
{
	const struct npumem_entry *e = npuv_entry(p, index);
	struct npuv_text where, tensor;
	const char *flaw;
	int err;

	if (e->tensor >= p->graph->tensors.count)
		return npuv_refuse_unknown_tensor(w, NPUMEM_RULE_V6_EDGE, e->tensor,
						  "V6 edge: entry %u of %s", index,
						  npuv_text_instance(p, instance, &where));
	if (e->flags & NPUMEM_ENTRY_HOST) {
		w->verdict->tensor = e->tensor;
		return npuv_refuse(w, -EOPNOTSUPP, NPUMEM_RULE_NONE,
				   "not supported: entry state in host memory, at entry %u of %s, "
				   "%s",
				   index, npuv_text_instance(p, instance, &where),
				   npuv_text_tensor(p->graph, e->tensor, &tensor));
	}
	flaw = entry_flaw(p, instance, e);
	if (flaw)
		return refuse_entry(w, p, instance, index, flaw);
	err = instance ? 0 : check_beginning(w, p, index);
	return err ? err : npuv_visit(w, 1);
}

/* Sort entries by instance and tensor; those of an instance stand together already. */
static int sort_entries(struct npuv_work *w, const struct npuv_plan *p, u32 *order)
{
	u64 *keys = npuv_alloc_array(p->entries.count, sizeof(u64));
	int err = keys ? 0 : -ENOMEM;
	u32 i, k;

	for (i = 0; !err && i < p->entries.count; i++)
		keys[i] = (u64)npuv_entry(p, i)->tensor << 32 | i;
	for (i = 0; !err && i < p->blocks.count; i++) {
		const struct npumem_plan_block *b = npuv_plan_block(p, i);

		err = npuv_sort(w, keys + b->first_entry, b->entry_count);
		for (k = 0; !err && k < b->entry_count; k++)
			order[b->first_entry + k] = (u32)keys[b->first_entry + k];
		if (!err)
			err = npuv_visit(w, b->entry_count);
	}
	npuv_free(keys);
	return err;
}

int npuv_entries_check(struct npuv_work *w, struct npuv_plan *p, u32 **order)
{
	u32 i, k;
	int err;

	for (i = 0; i < p->blocks.count; i++) {
		const struct npumem_plan_block *b = npuv_plan_block(p, i);

		for (k = 0; k < b->entry_count; k++) {
			err = check_entry(w, p, i, b->first_entry + k);
			if (err)
				return err;
		}
	}
	*order = npuv_alloc_array(p->entries.count, sizeof(u32));
	if (!*order)
		return -ENOMEM;
	return sort_entries(w, p, *order);
}
