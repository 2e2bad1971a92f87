// SPDX-License-Identifier: MIT
#include "granules.h"

/* Find the unit (see the header), and set the sizes, rounded up but not yet divided. */
static void find_unit(struct npuplan_units *units, const struct npuplan_pack *call)
{
	const struct npuplan_item *items = units->problem->items;
	uint32_t n = units->problem->item_count;
	uint64_t least = UINT32_MAX, most = 1;

	for (uint32_t i = 0; i < n; i++) {
		least = call->alignments[i] < least ? call->alignments[i] : least;
		most = call->alignments[i] > most ? call->alignments[i] : most;
	}
	units->unit = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t padding = -items[i].size & (least - 1);

		units->padding = padding > units->padding ? padding : units->padding;
		units->size[i] = items[i].size + padding;
		units->unit = npuplan_gcd(units->unit, units->size[i]);
		if (items[i].fixed)
			units->unit = npuplan_gcd(units->unit, items[i].fixed_offset);
	}
	/*
	 * An item on top of another is moved up to its own alignment. If the unit is no multiple of
	 * that, offsets are multiples of a smaller unit.
	 */
	if (units->unit % most)
		units->unit = npuplan_gcd(units->unit, most);
	if (!units->unit)
		units->unit = 1;
}

int npuplan_units_init(struct npuplan_units *units, const struct npuplan_pack *call)
{
	const struct npuplan_pack_problem *problem = call->problem;
	size_t n = problem->item_count;

	*units = (struct npuplan_units){ .problem = problem };
	units->size = npuplan_pool_take(&units->pool, n, sizeof(*units->size));
	units->align = npuplan_pool_take(&units->pool, n, sizeof(*units->align));
	units->fixed = npuplan_pool_take(&units->pool, n, sizeof(*units->fixed));
	units->residues = npuplan_pool_take(&units->pool, n, sizeof(*units->residues));
	units->offsets = npuplan_pool_take(&units->pool, n, sizeof(*units->offsets));
	if (units->pool.failed ||
	    npuplan_sections_init(&units->sections, problem->items, problem->item_count)) {
		npuplan_units_fini(units);
		return -ENOMEM;
	}
	find_unit(units, call);
	for (uint32_t i = 0; i < n; i++) {
		const struct npuplan_item *item = &problem->items[i];
		uint64_t align = call->alignments[i];

		units->size[i] /= (int64_t)units->unit;
		units->align[i] = units->unit % align ? (int64_t)(align / units->unit) : 1;
		units->fixed[i] = item->fixed ? (int64_t)(item->fixed_offset / units->unit) : -1;
		units->residues[i] = item->size % units->unit;
	}
	units->residue_count = npuplan_sort_once(units->residues, n);
	return 0;
}

void npuplan_units_fini(struct npuplan_units *units)
{
	npuplan_free(units->sections.first);
	npuplan_pool_free(&units->pool);
}

int npuplan_units_bound(const struct npuplan_units *units, uint64_t *top)
{
	uint32_t n = units->problem->item_count;
	uint64_t *live = units->offsets;
	int err;

	for (uint32_t i = 0; i < n; i++)
		live[i] = (uint64_t)units->size[i];
	err = npuplan_sections_most(&units->sections, n, live, top);
	if (err)
		return err;
	*top *= units->unit;
	*top -= *top > units->padding ? units->padding : *top;
	*top = npuplan_units_top_from(units, *top);
	return 0;
}

uint64_t npuplan_units_top_from(const struct npuplan_units *units, uint64_t top)
{
	uint64_t base = top - top % units->unit;

	for (uint32_t i = 0; i < units->residue_count; i++)
		if (base + units->residues[i] >= top)
			return base + units->residues[i];
	return units->residue_count ? base + units->unit + units->residues[0] : top;
}

uint64_t npuplan_units_top_to(const struct npuplan_units *units, uint64_t top)
{
	uint64_t base = top - top % units->unit;

	for (uint32_t i = units->residue_count; i > 0; i--)
		if (base + units->residues[i - 1] <= top)
			return base + units->residues[i - 1];
	if (base < units->unit || !units->residue_count)
		return UINT64_MAX;
	return base - units->unit + units->residues[units->residue_count - 1];
}

void npuplan_units_offer(const struct npuplan_units *units, struct npuplan_pack *call,
			 const int64_t *at)
{
	for (uint32_t i = 0; i < units->problem->item_count; i++)
		units->offsets[i] = (uint64_t)at[i] * units->unit;
	npuplan_pack_offer(call, units->offsets);
}
