// SPDX-License-Identifier: MIT
#include "units.h"

#include <stdlib.h>

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* The unit: see the header. Sets sizes, rounded up but not divided yet. */
static void find_unit(struct npuplan_units *units, const struct npuplan_pack *run)
{
	const struct npuplan_item *items = units->problem->items;
	uint32_t n = units->problem->item_count;
	uint64_t least = UINT32_MAX, most = 1;

	for (uint32_t i = 0; i < n; i++) {
		least = run->alignments[i] < least ? run->alignments[i] : least;
		most = run->alignments[i] > most ? run->alignments[i] : most;
	}
	units->unit = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t padding = -items[i].size & (least - 1);

		units->padding = padding > units->padding ? padding : units->padding;
		units->size[i] = items[i].size + padding;
		units->unit = gcd(units->unit, units->size[i]);
		if (items[i].fixed)
			units->unit = gcd(units->unit, items[i].fixed_offset);
	}
	/* Supports are rounded up to an alignment that is no divisor: smaller steps. */
	if (units->unit % most)
		units->unit = gcd(units->unit, most);
	if (!units->unit)
		units->unit = 1;
}

int npuplan_units_init(struct npuplan_units *units, const struct npuplan_pack *run)
{
	const struct npuplan_pack_problem *problem = run->problem;
	size_t n = problem->item_count;
	uint32_t distinct = 0;
	int err;

	*units = (struct npuplan_units){ .problem = problem };
	units->size = npuplan_malloc(n * sizeof(*units->size) + 1);
	units->align = npuplan_malloc(n * sizeof(*units->align) + 1);
	units->fixed = npuplan_malloc(n * sizeof(*units->fixed) + 1);
	units->residues = npuplan_malloc(n * sizeof(*units->residues) + 1);
	err = units->size && units->align && units->fixed && units->residues ? 0 : -ENOMEM;
	if (!err)
		err = npuplan_sections_init(&units->sections, problem->items, problem->item_count);
	if (err) {
		npuplan_units_fini(units);
		return err;
	}
	find_unit(units, run);
	for (uint32_t i = 0; i < n; i++) {
		const struct npuplan_item *item = &problem->items[i];
		uint64_t align = run->alignments[i];

		units->size[i] /= (int64_t)units->unit;
		units->align[i] = units->unit % align ? (int64_t)(align / units->unit) : 1;
		units->fixed[i] = item->fixed ? (int64_t)(item->fixed_offset / units->unit) : -1;
		units->residues[i] = item->size % units->unit;
	}
	if (n)
		qsort(units->residues, n, sizeof(*units->residues), by_value);
	for (uint32_t i = 0; i < n; i++)
		if (!distinct || units->residues[distinct - 1] != units->residues[i])
			units->residues[distinct++] = units->residues[i];
	units->residue_count = distinct;
	return 0;
}

void npuplan_units_fini(struct npuplan_units *units)
{
	npuplan_sections_fini(&units->sections);
	npuplan_free_all(units->size, units->align, units->fixed, units->residues);
	*units = (struct npuplan_units){ 0 };
}

int npuplan_units_bound(const struct npuplan_units *units, uint64_t *top)
{
	const struct npuplan_sections *sections = &units->sections;
	int64_t *change = npuplan_calloc((size_t)sections->count + 1, sizeof(*change));
	int64_t now = 0, most = 0;

	if (!change)
		return -ENOMEM;
	for (uint32_t i = 0; i < units->problem->item_count; i++) {
		change[sections->first[i]] += units->size[i];
		change[sections->end[i]] -= units->size[i];
	}
	for (uint32_t s = 0; s < sections->count; s++) {
		now += change[s];
		most = now > most ? now : most;
	}
	npuplan_free(change);
	*top = (uint64_t)most * units->unit;
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

uint64_t npuplan_units_to_bytes(const struct npuplan_units *units, const int64_t *at,
				uint64_t *offsets)
{
	uint64_t top = 0;

	for (uint32_t i = 0; i < units->problem->item_count; i++) {
		offsets[i] = (uint64_t)at[i] * units->unit;
		if (offsets[i] + units->problem->items[i].size > top)
			top = offsets[i] + units->problem->items[i].size;
	}
	return top;
}
