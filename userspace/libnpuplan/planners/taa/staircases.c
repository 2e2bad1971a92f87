// SPDX-License-Identifier: MIT
#include "staircases.h"

#include <stdlib.h>

#include "base/sorted.h"

#define NONE UINT32_MAX

/*
 * struct staircase_builder - cuts tensors into staircases, one after the other
 * @next: per atom of the tensor at hand, the one after it in its staircase; NONE: it is the last
 * @heads: per atom, whether it begins a staircase
 * @by_end: atoms of the tensor at hand, sorted by the byte after them, then by start
 * @keys: scratch array for sorting @by_end
 */
struct staircase_builder {
	struct npuplan_staircases *staircases;
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

static void sort_by_end(struct staircase_builder *builder, uint32_t count)
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
 * there is a staircase more, which is no error.
 */
static void link_atoms(struct staircase_builder *builder, uint32_t count)
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

static bool same_shape(const struct npuplan_staircases *staircases,
		       const struct npuplan_staircase *a, const struct npuplan_staircase *b)
{
	if (a->atom_count != b->atom_count)
		return false;
	for (uint32_t i = 0; i < a->atom_count; i++) {
		const struct npuplan_atom *x = &staircases->atoms[a->first_atom + i];
		const struct npuplan_atom *y = &staircases->atoms[b->first_atom + i];

		if (x->length != y->length || x->start != y->start || x->end != y->end)
			return false;
	}
	return true;
}

/*
 * Join the last staircase with the one before it, if it is the same staircase one stride further.
 */
static void fold(struct npuplan_staircases *staircases, uint32_t first_staircase)
{
	struct npuplan_staircase *last = &staircases->staircases[staircases->staircase_count - 1],
				 *before = last - 1;
	uint64_t distance;

	if (staircases->staircase_count - first_staircase < 2 ||
	    !same_shape(staircases, before, last))
		return;
	distance = staircases->atoms[last->first_atom].first -
		   staircases->atoms[before->first_atom].first -
		   (before->repeat - 1) * before->stride;
	if (!distance || (before->repeat > 1 && distance != before->stride))
		return;
	before->stride = distance;
	before->repeat++;
	staircases->atom_count = last->first_atom;
	staircases->staircase_count--;
}

static void cut_tensor(struct staircase_builder *builder, uint32_t count)
{
	struct npuplan_staircases *staircases = builder->staircases;
	uint32_t first_staircase = staircases->staircase_count;

	link_atoms(builder, count);
	for (uint32_t i = 0; i < count; i++) {
		struct npuplan_staircase *staircase =
			&staircases->staircases[staircases->staircase_count];

		if (!builder->heads[i])
			continue;
		*staircase = (struct npuplan_staircase){ .first_atom = staircases->atom_count,
							 .repeat = 1 };
		for (uint32_t k = i; k != NONE; k = builder->next[k])
			staircases->atoms[staircases->atom_count++] = builder->atoms[k];
		staircase->atom_count = staircases->atom_count - staircase->first_atom;
		staircases->staircase_count++;
		fold(staircases, first_staircase);
	}
}

int npuplan_staircases_init(struct npuplan_staircases *staircases,
			    const struct npuplan_liveness *live, const struct npuplan_item *items,
			    uint32_t item_count)
{
	size_t n = live->atom_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct staircase_builder builder = {
		.staircases = staircases,
		.next = npuplan_pool_take(&pool, n, sizeof(*builder.next)),
		.heads = npuplan_pool_take(&pool, n, sizeof(*builder.heads)),
		.by_end = npuplan_pool_take(&pool, n, sizeof(*builder.by_end)),
		.keys = npuplan_pool_take(&pool, n, sizeof(*builder.keys)),
	};
	uint32_t begin = 0, end;

	*staircases = (struct npuplan_staircases){ 0 };
	staircases->atoms = npuplan_pool_take(&staircases->pool, n, sizeof(*staircases->atoms));
	staircases->staircases =
		npuplan_pool_take(&staircases->pool, n, sizeof(*staircases->staircases));
	staircases->staircase_start = npuplan_pool_take(&staircases->pool, (size_t)item_count + 1,
							sizeof(*staircases->staircase_start));
	if (pool.failed || staircases->pool.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < item_count; i++) {
		while (begin < n && live->atoms[begin].tensor < items[i].tensor)
			begin++;
		for (end = begin; end < n && live->atoms[end].tensor == items[i].tensor;)
			end++;
		staircases->staircase_start[i] = staircases->staircase_count;
		builder.atoms = live->atoms + begin;
		cut_tensor(&builder, end - begin);
		begin = end;
	}
	staircases->staircase_start[item_count] = staircases->staircase_count;
	return 0;
}

void npuplan_staircases_fini(struct npuplan_staircases *staircases)
{
	npuplan_pool_free(&staircases->pool);
}
