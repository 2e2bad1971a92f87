// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Multi-view tensors of a plan. The driver hands them on to the runtime; this file checks
 * that a runtime can follow them.
 */
#include "plan.h"

/* NULL, or a text that says what is wrong with one slot of a view. */
static const char *slot_flaw(const struct npuv_plan *p, const struct npumem_view *v, u32 slot)
{
	u32 value = npuv_view_slot(p, slot);

	if (value & NPUMEM_VIEW_SLOT_NESTED) {
		value &= ~NPUMEM_VIEW_SLOT_NESTED;
		if (value >= p->views.count)
			return "a view in one of its slots is not there";
		if (npuv_view(p, value)->tensor != v->tensor)
			return "a view in one of its slots is of another tensor";
		return NULL;
	}
	if (value >= p->placements.count)
		return "a placement in one of its slots is not there";
	if (npuv_placement(p, value)->tensor != v->tensor)
		return "a placement in one of its slots is of another tensor";
	return NULL;
}

static const char *view_flaw(const struct npuv_plan *p, const struct npumem_view *v, u32 next)
{
	if (v->type != NPUMEM_VIEW_CYCLIC && v->type != NPUMEM_VIEW_FIRST_CYCLIC)
		return "its type is unknown";
	if (!v->repeat)
		return "its repeat is zero";
	if (v->loop >= p->graph->edges.count)
		return "its loop is not an edge of the graph";
	if (v->first_slot != next)
		return "its slots do not follow those of the view before";
	if (v->slot_count > p->slots.count - next)
		return "its slots are not all there";
	if (v->slot_count - (v->type == NPUMEM_VIEW_FIRST_CYCLIC) != v->repeat)
		return "it does not have as many slots as it needs";
	return NULL;
}

static int refuse_view(struct npuv_work *w, const struct npuv_plan *p, u32 i, const char *flaw)
{
	const struct npumem_view *v = npuv_view(p, i);
	struct npuv_text text;

	w->verdict->tensor = v->tensor;
	return npuv_refuse_at(w, -EINVAL, v, sizeof(*v), "format: view %u of %s: %s", i,
			      npuv_text_tensor(p->graph, v->tensor, &text), flaw);
}

/* Check all views. @parents gets for each view the number of slots that it is in. */
static int check_views(struct npuv_work *w, const struct npuv_plan *p, u32 *parents)
{
	u32 i, k, next = 0;
	int err;

	for (i = 0; i < p->views.count; i++) {
		const struct npumem_view *v = npuv_view(p, i);
		const char *flaw;

		if (v->tensor >= p->graph->tensors.count) {
			npuv_verdict_at(w, v, sizeof(*v));
			return npuv_refuse_unknown_tensor(w, NPUMEM_RULE_FORMAT, v->tensor,
							  "format: view %u", i);
		}
		flaw = view_flaw(p, v, next);
		for (k = 0; !flaw && k < v->slot_count; k++) {
			u32 value = npuv_view_slot(p, next + k);

			flaw = slot_flaw(p, v, next + k);
			if (!flaw && value & NPUMEM_VIEW_SLOT_NESTED)
				parents[value & ~NPUMEM_VIEW_SLOT_NESTED]++;
		}
		if (flaw)
			return refuse_view(w, p, i, flaw);
		err = npuv_visit(w, 1 + v->slot_count);
		if (err)
			return err;
		next += v->slot_count;
	}
	if (next != p->slots.count)
		return npuv_refuse_at(w, -EINVAL, p->slots.base + (size_t)next * p->slots.stride,
				      p->slots.stride, "format: view slot %u belongs to no view",
				      next);
	return 0;
}

/* Remove views that are in no slot, again and again: any that is left contains itself. */
static int check_nesting(struct npuv_work *w, const struct npuv_plan *p, u32 *parents, u32 *queue)
{
	u32 i, k, count = 0;
	int err;

	for (i = 0; i < p->views.count; i++)
		if (!parents[i])
			queue[count++] = i;
	for (i = 0; i < count; i++) {
		const struct npumem_view *v = npuv_view(p, queue[i]);

		for (k = 0; k < v->slot_count; k++) {
			u32 value = npuv_view_slot(p, v->first_slot + k);

			if (value & NPUMEM_VIEW_SLOT_NESTED &&
			    !--parents[value & ~NPUMEM_VIEW_SLOT_NESTED])
				queue[count++] = value & ~NPUMEM_VIEW_SLOT_NESTED;
		}
		err = npuv_visit(w, 1 + v->slot_count);
		if (err)
			return err;
	}
	for (i = 0; count < p->views.count; i++)
		if (parents[i])
			return refuse_view(w, p, i, "it is in itself, or in one that is");
	return 0;
}

int npuv_views_check(struct npuv_work *w, const struct npuv_plan *p)
{
	u32 *parents, *queue;
	int err = -ENOMEM;

	if (!p->views.count && !p->slots.count)
		return 0;
	parents = npuv_alloc_array(p->views.count, sizeof(u32));
	queue = npuv_alloc_array(p->views.count, sizeof(u32));
	if (parents && queue)
		err = check_views(w, p, parents);
	if (!err)
		err = check_nesting(w, p, parents, queue);
	npuv_free_all(parents, queue);
	return err;
}
