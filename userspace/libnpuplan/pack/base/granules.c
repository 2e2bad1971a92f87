// SPDX-License-Identifier: MIT
#include "granules.h"

/* Find the granule (see the header), and set the sizes, rounded up but not yet divided. */
static void find_granule(struct npuplan_granules *granules, const struct npuplan_pack *call)
{
	const struct npuplan_item *items = granules->problem->items;
	uint32_t n = granules->problem->item_count;
	uint64_t least = UINT32_MAX, most = 1;

	for (uint32_t i = 0; i < n; i++) {
		least = call->alignments[i] < least ? call->alignments[i] : least;
		most = call->alignments[i] > most ? call->alignments[i] : most;
	}
	granules->granule = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t padding = -items[i].size & (least - 1);

		granules->padding = padding > granules->padding ? padding : granules->padding;
		granules->size[i] = items[i].size + padding;
		granules->granule = npuplan_gcd(granules->granule, granules->size[i]);
		if (items[i].fixed)
			granules->granule = npuplan_gcd(granules->granule, items[i].fixed_offset);
	}
	/*
	 * An item on top of another is moved up to its own alignment. If the granule is no multiple
	 * of that, offsets are multiples of a smaller granule.
	 */
	if (granules->granule % most)
		granules->granule = npuplan_gcd(granules->granule, most);
	if (!granules->granule)
		granules->granule = 1;
}

int npuplan_granules_init(struct npuplan_granules *granules, const struct npuplan_pack *call)
{
	const struct npuplan_pack_problem *problem = call->problem;
	size_t n = problem->item_count;

	*granules = (struct npuplan_granules){ .problem = problem };
	granules->size = npuplan_pool_take(&granules->pool, n, sizeof(*granules->size));
	granules->align = npuplan_pool_take(&granules->pool, n, sizeof(*granules->align));
	granules->fixed = npuplan_pool_take(&granules->pool, n, sizeof(*granules->fixed));
	granules->residues = npuplan_pool_take(&granules->pool, n, sizeof(*granules->residues));
	granules->offsets = npuplan_pool_take(&granules->pool, n, sizeof(*granules->offsets));
	if (granules->pool.failed ||
	    npuplan_sections_init(&granules->sections, problem->items, problem->item_count)) {
		npuplan_granules_fini(granules);
		return -ENOMEM;
	}
	find_granule(granules, call);
	for (uint32_t i = 0; i < n; i++) {
		const struct npuplan_item *item = &problem->items[i];
		uint64_t align = call->alignments[i];

		granules->size[i] /= (int64_t)granules->granule;
		granules->align[i] =
			granules->granule % align ? (int64_t)(align / granules->granule) : 1;
		granules->fixed[i] =
			item->fixed ? (int64_t)(item->fixed_offset / granules->granule) : -1;
		granules->residues[i] = item->size % granules->granule;
	}
	granules->residue_count = npuplan_sort_once(granules->residues, n);
	return 0;
}

void npuplan_granules_fini(struct npuplan_granules *granules)
{
	npuplan_free(granules->sections.first);
	npuplan_pool_free(&granules->pool);
}

static int find_bound(const struct npuplan_granules *granules, uint64_t *top)
{
	uint32_t n = granules->problem->item_count;
	uint64_t *live = granules->offsets;
	int err;

	for (uint32_t i = 0; i < n; i++)
		live[i] = (uint64_t)granules->size[i];
	err = npuplan_sections_most(&granules->sections, n, live, top);
	if (err)
		return err;
	*top *= granules->granule;
	*top -= *top > granules->padding ? granules->padding : *top;
	*top = npuplan_granules_top_from(granules, *top);
	return 0;
}

int npuplan_granules_prove(const struct npuplan_granules *granules, struct npuplan_pack *call)
{
	uint64_t bound;
	int err = find_bound(granules, &bound);

	if (err)
		return err;
	npuplan_pack_prove(call, bound);
	/* Only some tops are possible, so the bound is raised to the next one. */
	npuplan_pack_prove(call, npuplan_granules_top_from(granules, call->lower_bound));
	return 0;
}

uint64_t npuplan_granules_top_from(const struct npuplan_granules *granules, uint64_t top)
{
	uint64_t base = top - top % granules->granule;

	for (uint32_t i = 0; i < granules->residue_count; i++)
		if (base + granules->residues[i] >= top)
			return base + granules->residues[i];
	return granules->residue_count ? base + granules->granule + granules->residues[0] : top;
}

uint64_t npuplan_granules_top_to(const struct npuplan_granules *granules, uint64_t top)
{
	uint64_t base = top - top % granules->granule;

	for (uint32_t i = granules->residue_count; i > 0; i--)
		if (base + granules->residues[i - 1] <= top)
			return base + granules->residues[i - 1];
	if (base < granules->granule || !granules->residue_count)
		return UINT64_MAX;
	return base - granules->granule + granules->residues[granules->residue_count - 1];
}

void npuplan_granules_offer(const struct npuplan_granules *granules, struct npuplan_pack *call,
			    const int64_t *at)
{
	for (uint32_t i = 0; i < granules->problem->item_count; i++)
		granules->offsets[i] = (uint64_t)at[i] * granules->granule;
	npuplan_pack_offer(call, granules->offsets);
}
