// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Instances of blocks, rule V2: a plan may hold each block of its graph several
 * times, each time with all of its steps in some order.
 */
#include "plan.h"

u32 npuv_instance_last(const struct npuv_plan *p, u32 instance)
{
	const struct npumem_plan_block *b = npuv_plan_block(p, instance);

	return b->first_position + (b->position_count ? b->position_count - 1 : 0);
}

/* This is the last instance that begins by @position; ones without positions come before it. */
u32 npuv_instance_at(const struct npuv_plan *p, u32 position)
{
	u32 lo = 1;

	npuv_bisect(lo, p->blocks.count, i, npuv_plan_block(p, i)->first_position <= position);
	return lo - 1;
}

/* A graph of one block without edges has one instance, and its end is the exit. */
static int check_flat(struct npuv_work *w, const struct npuv_plan *p)
{
	const struct npumem_plan_block *b = npuv_plan_block(p, 0);

	if (p->blocks.count != 1)
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: plan has %u blocks, its graph has 1 and no loop",
				   p->blocks.count);
	if (b->block || b->first_position || b->position_count != p->positions.count ||
	    b->first_entry || b->entry_count || b->pad)
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: block 0 of the plan is not the whole schedule of "
				   "block 0, without entries");
	if (p->entries.count)
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: entry 0 belongs to no block of the plan");
	return 0;
}

static int check_ranges(struct npuv_work *w, const struct npuv_plan *p)
{
	u32 i, positions = 0, entries = 0;
	int err;

	for (i = 0; i < p->blocks.count; i++) {
		const struct npumem_plan_block *b = npuv_plan_block(p, i);
		const char *flaw = NULL;

		if (b->block >= p->graph->blocks.count)
			flaw = "its block is not in the graph";
		else if (!i && b->block)
			flaw = "an inference begins there, but it is not of block 0";
		else if (b->first_position != positions)
			flaw = "its positions do not follow those of the block before";
		else if (b->position_count > p->positions.count - positions)
			flaw = "its positions are not all there";
		else if (b->first_entry != entries)
			flaw = "its entries do not follow those of the block before";
		else if (b->entry_count > p->entries.count - entries)
			flaw = "its entries are not all there";
		else if (b->pad)
			flaw = "its pad is not zero";
		if (flaw)
			return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
					   "V2 order: block %u of the plan: %s", i, flaw);
		positions += b->position_count;
		entries += b->entry_count;
		err = npuv_visit(w, 1);
		if (err)
			return err;
	}
	if (positions != p->positions.count) {
		w->verdict->position = positions;
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: position %u belongs to no block of the plan",
				   positions);
	}
	if (entries != p->entries.count)
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: entry %u belongs to no block of the plan", entries);
	return 0;
}

static int refuse_position(struct npuv_work *w, const struct npuv_plan *p, u32 position,
			   const char *flaw)
{
	const struct npumem_position *at = npuv_position(p, position);
	struct npuv_text text;

	w->verdict->position = position;
	if (at->kind == NPUMEM_POSITION_STEP && at->index < p->graph->steps.count) {
		w->verdict->step = at->index;
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: position %u, %s: %s", position,
				   npuv_text_step(p->graph, at->index, &text), flaw);
	}
	return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER, "V2 order: position %u: %s", position,
			   flaw);
}

/* Check a position. @seen has for each step the last instance that holds it, plus 1. */
static int check_position(struct npuv_work *w, struct npuv_plan *p, u32 instance, u32 i, u32 *seen)
{
	const struct npumem_block *block =
		npuv_block(p->graph, npuv_plan_block(p, instance)->block);
	const struct npumem_position *at = npuv_position(p, i);

	if (at->kind > NPUMEM_POSITION_STORE)
		return refuse_position(w, p, i, "its kind is unknown");
	if (at->kind != NPUMEM_POSITION_STEP) {
		p->transfers++; /* transfer.c checks it */
		return 0;
	}
	if (at->index >= p->graph->steps.count)
		return refuse_position(w, p, i, "its step is not there");
	if (at->placement != NPUMEM_NONE || at->pad || at->first || at->length || at->host_offset)
		return refuse_position(w, p, i, "fields of a transfer are not empty");
	if (at->index < block->first_step || at->index - block->first_step >= block->step_count)
		return refuse_position(w, p, i, "the step is not of the block that it stands in");
	if (seen[at->index] == instance + 1)
		return refuse_position(w, p, i, "the step stands at an earlier one too");
	seen[at->index] = instance + 1;
	return 0;
}

static int refuse_missing(struct npuv_work *w, const struct npuv_plan *p, u32 instance,
			  const u32 *seen)
{
	u32 step = npuv_block(p->graph, npuv_plan_block(p, instance)->block)->first_step;
	struct npuv_text text, where;

	while (seen[step] == instance + 1)
		step++;
	w->verdict->step = step;
	npuv_text_step(p->graph, step, &text);
	if (npuv_is_flat(p->graph))
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: %s is not in the schedule", text.s);
	return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER, "V2 order: %s is not in %s", text.s,
			   npuv_text_instance(p, instance, &where));
}

static int check_steps(struct npuv_work *w, struct npuv_plan *p, u32 *seen)
{
	u32 i, k;
	int err;

	for (i = 0; i < p->blocks.count; i++) {
		const struct npumem_plan_block *b = npuv_plan_block(p, i);
		u32 before = p->transfers, steps;

		for (k = 0; k < b->position_count; k++) {
			err = check_position(w, p, i, b->first_position + k, seen);
			if (!err)
				err = npuv_visit(w, 1);
			if (err)
				return err;
		}
		/* None is there twice, so all are if there are as many. */
		steps = b->position_count - (p->transfers - before);
		if (steps < npuv_block(p->graph, b->block)->step_count)
			return refuse_missing(w, p, i, seen);
	}
	return 0;
}

int npuv_instances_check(struct npuv_work *w, struct npuv_plan *p)
{
	u32 *seen;
	int err;

	err = npuv_is_flat(p->graph) ? check_flat(w, p) : check_ranges(w, p);
	if (err)
		return err;
	seen = npuv_alloc_array(p->graph->steps.count, sizeof(u32));
	err = seen ? check_steps(w, p, seen) : -ENOMEM;
	npuv_free(seen);
	return err;
}
