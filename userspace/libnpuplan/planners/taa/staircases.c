// SPDX-License-Identifier: MIT
#include "staircases.h"

#include <stdlib.h>

#include "base/sorted.h"

#define NONE UINT32_MAX

/*
 * struct runs_builder - cuts tensors into runs, one after the other
 * @next: per atom of the tensor at hand, the one after it in its run; NONE: it is the last
 * @heads: per atom, whether it begins a run
 * @by_end: atoms of the tensor at hand, sorted by the byte after them, then by start
 * @keys: scratch array for sorting @by_end
 */
struct runs_builder {
	struct npuplan_runs *runs;
	uint32_t *next;
	bool *heads;
	uint32_t *by_end;
	struct npuplan_keyed *keys;
	const struct npuplan_atom *atoms;
};

static uint64_t after(const struct npuplan_atom *atom)
{
	return atom->first + atom->length;
}

static void sort_by_end(struct runs_builder *builder, uint32_t count)
{
	bool sorted = true;

	for (uint32_t i = 0; i < count; i++) {
		const struct npuplan_atom *atom = &builder->atoms[i];

		builder->by_end[i] = i;
		builder->keys[i] = (struct npuplan_keyed){ after(atom), atom->start, 0, i };
		if (i && after(atom) < after(atom - 1))
			sorted = false;
	}
	/* Atoms of a tensor without versions are sorted already. */
	if (!sorted)
		npuplan_sort_items(builder->keys, count, builder->by_end);
}

/*
 * Link each atom to one that ends where it begins and neither starts nor ends later. The atoms on
 * both sides of one address are gone through by start. Versions of the same bytes follow each other
 * in time, so an atom that does not fit at its turn fits none of the later ones; where it would,
 * there is a run more, which is no error.
 */
static void link_atoms(struct runs_builder *builder, uint32_t count)
{
	uint32_t k = 0;

	sort_by_end(builder, count);
	for (uint32_t i = 0; i < count; i++) {
		builder->next[i] = NONE;
		builder->heads[i] = true;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct npuplan_atom *atom = &builder->atoms[i];

		while (k < count) {
			const struct npuplan_atom *before = &builder->atoms[builder->by_end[k]];

			if (after(before) > atom->first ||
			    (after(before) == atom->first && before->start > atom->start))
				break;
			k++;
			if (after(before) == atom->first && before->end <= atom->end) {
				builder->next[builder->by_end[k - 1]] = i;
				builder->heads[i] = false;
				break;
			}
		}
	}
}

static bool same_shape(const struct npuplan_runs *runs, const struct npuplan_run *a,
		       const struct npuplan_run *b)
{
	if (a->atom_count != b->atom_count)
		return false;
	for (uint32_t i = 0; i < a->atom_count; i++) {
		const struct npuplan_atom *x = &runs->atoms[a->first_atom + i];
		const struct npuplan_atom *y = &runs->atoms[b->first_atom + i];

		if (x->length != y->length || x->start != y->start || x->end != y->end)
			return false;
	}
	return true;
}

/* Join the last run with the one before it, if it is the same run one stride further. */
static void fold(struct npuplan_runs *runs, uint32_t first_run)
{
	struct npuplan_run *last = &runs->runs[runs->run_count - 1], *before = last - 1;
	uint64_t distance;

	if (runs->run_count - first_run < 2 || !same_shape(runs, before, last))
		return;
	distance = runs->atoms[last->first_atom].first - runs->atoms[before->first_atom].first -
		   (before->repeat - 1) * before->stride;
	if (!distance || (before->repeat > 1 && distance != before->stride))
		return;
	before->stride = distance;
	before->repeat++;
	runs->atom_count = last->first_atom;
	runs->run_count--;
}

static void cut_tensor(struct runs_builder *builder, uint32_t count)
{
	struct npuplan_runs *runs = builder->runs;
	uint32_t first_run = runs->run_count;

	link_atoms(builder, count);
	for (uint32_t i = 0; i < count; i++) {
		struct npuplan_run *run = &runs->runs[runs->run_count];

		if (!builder->heads[i])
			continue;
		*run = (struct npuplan_run){ .first_atom = runs->atom_count, .repeat = 1 };
		for (uint32_t k = i; k != NONE; k = builder->next[k])
			runs->atoms[runs->atom_count++] = builder->atoms[k];
		run->atom_count = runs->atom_count - run->first_atom;
		runs->run_count++;
		fold(runs, first_run);
	}
}

int npuplan_runs_init(struct npuplan_runs *runs, const struct npuplan_liveness *live,
		      const struct npuplan_item *items, uint32_t item_count)
{
	size_t n = live->atom_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct runs_builder builder = {
		.runs = runs,
		.next = npuplan_pool_take(&pool, n, sizeof(*builder.next)),
		.heads = npuplan_pool_take(&pool, n, sizeof(*builder.heads)),
		.by_end = npuplan_pool_take(&pool, n, sizeof(*builder.by_end)),
		.keys = npuplan_pool_take(&pool, n, sizeof(*builder.keys)),
	};
	uint32_t begin = 0, end;

	*runs = (struct npuplan_runs){ 0 };
	runs->atoms = npuplan_pool_take(&runs->pool, n, sizeof(*runs->atoms));
	runs->runs = npuplan_pool_take(&runs->pool, n, sizeof(*runs->runs));
	runs->run_start =
		npuplan_pool_take(&runs->pool, (size_t)item_count + 1, sizeof(*runs->run_start));
	if (pool.failed || runs->pool.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < item_count; i++) {
		while (begin < n && live->atoms[begin].tensor < items[i].tensor)
			begin++;
		for (end = begin; end < n && live->atoms[end].tensor == items[i].tensor;)
			end++;
		runs->run_start[i] = runs->run_count;
		builder.atoms = live->atoms + begin;
		cut_tensor(&builder, end - begin);
		begin = end;
	}
	runs->run_start[item_count] = runs->run_count;
	return 0;
}

void npuplan_runs_fini(struct npuplan_runs *runs)
{
	npuplan_pool_free(&runs->pool);
}
