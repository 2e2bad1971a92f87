// SPDX-License-Identifier: MIT
/* Forbidden displacements of live ranges by hand: staircases, repetitions, versions, limits. */
#include "npuplan_build.h"

#include <errno.h>

#include "planners/taa/displacements.h"

#define MAX_ATOMS 64

struct fixture {
	struct npuplan_atom atoms[MAX_ATOMS];
	struct npuplan_liveness live;
	struct npuplan_item items[2];
	struct npuplan_staircases staircases;
};

static void put(struct fixture *f, uint32_t tensor, uint64_t first, uint64_t length, uint32_t start,
		uint32_t end)
{
	f->atoms[f->live.atom_count++] = (struct npuplan_atom){ first, length, tensor, start, end };
}

static void cut(struct fixture *f)
{
	f->live.atoms = f->atoms;
	for (uint32_t i = 0; i < 2; i++)
		f->items[i] = (struct npuplan_item){ .align = 1, .tensor = i, .start = UINT32_MAX };
	for (uint32_t i = 0; i < f->live.atom_count; i++) {
		const struct npuplan_atom *atom = &f->atoms[i];
		struct npuplan_item *item = &f->items[atom->tensor];

		if (item->size < atom->first + atom->length)
			item->size = atom->first + atom->length;
		item->start = atom->start < item->start ? atom->start : item->start;
		item->end = atom->end > item->end ? atom->end : item->end;
	}
	assert_int_equal(npuplan_staircases_init(&f->staircases, &f->live, f->items, 2), 0);
}

/* Check that F(0, 1) is @expected, which are pairs of low and high. */
static void forbids(struct fixture *f, const int64_t *expected, size_t count)
{
	struct npuplan_intervals list = { 0 };
	size_t listed;

	assert_int_equal(npuplan_displacements(&f->staircases, 0, 1, &list, &listed), 0);
	assert_int_equal(list.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(list.at[i].low, expected[2 * i]);
		assert_int_equal(list.at[i].high, expected[2 * i + 1]);
	}
	free(list.at);
	npuplan_staircases_fini(&f->staircases);
}

TEST(whole)
{
	struct fixture together = { 0 }, apart = { 0 };

	put(&together, 0, 0, 10, 1, 5);
	put(&together, 1, 0, 6, 5, 9);
	cut(&together);
	forbids(&together, (int64_t[]){ -6, 10 }, 1);
	put(&apart, 0, 0, 10, 1, 5);
	put(&apart, 1, 0, 6, 6, 9);
	cut(&apart);
	forbids(&apart, NULL, 0);
}

/* Row k of 0 is last read as row k of 1 is written: 1 may lie lower, not higher. */
TEST(rows)
{
	struct fixture f = { 0 };

	for (uint32_t k = 0; k < 4; k++)
		put(&f, 0, 4 * k, 4, 0, 2 * k + 1);
	for (uint32_t k = 0; k < 4; k++)
		put(&f, 1, 4 * k, 4, 2 * k + 2, 9);
	cut(&f);
	assert_int_equal(f.staircases.staircase_count, 2);
	/* d = 0 is free, and so is all below it. */
	forbids(&f, (int64_t[]){ 0, 16 }, 1);
}

/* Two atoms with an idle one between them: what lies between is not forbidden. */
TEST(gap)
{
	struct fixture f = { 0 };

	put(&f, 0, 0, 1, 0, 1);
	put(&f, 0, 1, 8, 3, 4);
	put(&f, 0, 9, 1, 6, 7);
	put(&f, 1, 0, 1, 0, 1);
	put(&f, 1, 1, 1, 6, 7);
	cut(&f);
	forbids(&f, (int64_t[]){ -1, 1, 7, 9 }, 2);
}

/*
 * Three channels of two rows each (NCHW): one staircase, three times; and with another
 * distance on the other side nine displacements, of which some are the same.
 */
TEST(repeated)
{
	struct fixture same = { 0 }, other = { 0 };

	for (uint32_t c = 0; c < 3; c++) {
		put(&same, 0, 10 * c, 1, 0, 1);
		put(&same, 0, 10 * c + 1, 9, 0, 3);
	}
	for (uint32_t c = 0; c < 3; c++) {
		put(&same, 1, 10 * c, 1, 2, 9);
		put(&same, 1, 10 * c + 1, 9, 4, 9);
	}
	cut(&same);
	assert_int_equal(same.staircases.staircase_count, 2);
	assert_int_equal(same.staircases.staircases[0].repeat, 3);
	assert_int_equal(same.staircases.staircases[0].stride, 10);
	/* Once (0, 10); five distances apart: 10 itself is free, as are its like. */
	forbids(&same, (int64_t[]){ -20, -10, -10, 0, 0, 10, 10, 20, 20, 30 }, 5);

	for (uint32_t c = 0; c < 2; c++)
		put(&other, 0, 10 * c, 1, 0, 1);
	for (uint32_t c = 0; c < 2; c++)
		put(&other, 1, 7 * c, 1, 0, 1);
	cut(&other);
	assert_int_equal(other.staircases.staircase_count, 2);
	forbids(&other, (int64_t[]){ -8, -6, -1, 1, 2, 4, 9, 11 }, 4);
}

/* Versions of the same bytes, cut differently, each with a staircase of its own. */
TEST(versions)
{
	struct fixture f = { 0 };

	put(&f, 0, 0, 2, 0, 1);
	put(&f, 0, 0, 4, 4, 5);
	put(&f, 0, 2, 2, 0, 1);
	put(&f, 1, 0, 4, 1, 2);
	put(&f, 1, 4, 4, 6, 7);
	cut(&f);
	assert_int_equal(f.staircases.staircase_start[1], 2);
	forbids(&f, (int64_t[]){ -4, 4 }, 1);
}

TEST(too_many)
{
	/* 3000 times 3000 repetitions at distances without a common measure. */
	struct npuplan_atom atoms[] = { { 0, 1, 0, 0, 1 }, { 0, 1, 1, 0, 1 } };
	struct npuplan_staircase staircase[] = { { 0, 1, 3000, 1000003 }, { 1, 1, 3000, 1000033 } };
	uint32_t start[] = { 0, 1, 2 };
	struct npuplan_staircases staircases = { atoms, staircase, start, 2, 2 };
	struct npuplan_intervals list = { 0 };
	size_t listed;

	assert_int_equal(npuplan_displacements(&staircases, 0, 1, &list, &listed), -E2BIG);
	free(list.at);
}

static int conflicts_of(const struct fixture *f, struct npuplan_conflicts *conflicts)
{
	struct npuplan_conflicts whole;
	bool approximated = true;
	int err;

	assert_int_equal(npuplan_conflicts_whole(&whole, f->items, 2), 0);
	err = npuplan_displacement_conflicts(conflicts, &whole, &f->live, &approximated);
	assert_false(approximated);
	npuplan_conflicts_fini(&whole);
	return err;
}

TEST(conflicts)
{
	struct fixture f = { 0 };
	struct npuplan_conflicts conflicts;

	put(&f, 0, 0, 4, 0, 1);
	put(&f, 0, 4, 4, 0, 3);
	put(&f, 1, 0, 8, 2, 5);
	cut(&f);
	assert_int_equal(conflicts_of(&f, &conflicts), 0);
	assert_int_equal(conflicts.peer_start[2], 2);
	assert_int_equal(conflicts.peers[0].interval_count, 1);
	assert_int_equal(conflicts.intervals[conflicts.peers[1].first_interval].low, -4);
	assert_int_equal(conflicts.intervals[conflicts.peers[1].first_interval].high, 8);
	npuplan_conflicts_fini(&conflicts);

	/* If all of both live together, the pair is listed as whole tensors. */
	f.atoms[0].end = 3;
	assert_int_equal(conflicts_of(&f, &conflicts), 0);
	assert_int_equal(conflicts.peer_start[2], 2);
	assert_int_equal(conflicts.peers[0].interval_count, 0);
	npuplan_conflicts_fini(&conflicts);

	/* Live ranges of the tensors overlap, those of their bytes do not. */
	f.atoms[0] = (struct npuplan_atom){ 0, 4, 0, 0, 1 };
	f.atoms[1] = (struct npuplan_atom){ 4, 4, 0, 6, 7 };
	f.items[0].end = 7;
	assert_int_equal(conflicts_of(&f, &conflicts), 0);
	assert_int_equal(conflicts.peer_start[2], 0);
	npuplan_conflicts_fini(&conflicts);
	npuplan_staircases_fini(&f.staircases);
}

/* More intervals than are listed: the pair is taken as whole tensors. */
TEST(approximated)
{
	enum { ATOMS = 3000 };
	struct npuplan_atom *atoms = calloc(2 * ATOMS, sizeof(*atoms));
	struct npuplan_liveness live = { .atoms = atoms, .atom_count = 2 * ATOMS };
	struct npuplan_item items[2] = {
		{ .size = 1000003ull * ATOMS, .align = 1, .tensor = 0, .end = 1 },
		{ .size = 1000033ull * ATOMS, .align = 1, .tensor = 1, .end = 1 },
	};
	struct npuplan_conflicts whole, conflicts;
	bool approximated = false;

	assert_non_null(atoms);
	for (uint32_t i = 0; i < ATOMS; i++) {
		atoms[i] = (struct npuplan_atom){ 1000003ull * i, 1, 0, 0, 1 };
		atoms[ATOMS + i] = (struct npuplan_atom){ 1000033ull * i, 1, 1, 0, 1 };
	}
	assert_int_equal(npuplan_conflicts_whole(&whole, items, 2), 0);
	assert_int_equal(npuplan_displacement_conflicts(&conflicts, &whole, &live, &approximated),
			 0);
	assert_true(approximated);
	assert_int_equal(conflicts.peer_start[2], 2);
	assert_int_equal(conflicts.peers[0].interval_count, 0);
	npuplan_conflicts_fini(&conflicts);
	npuplan_conflicts_fini(&whole);
	free(atoms);
}
