// SPDX-License-Identifier: MIT
/* Conflicts, orders and first fit, worked by hand and by brute force. */
#include "npuplan_build.h"

#include <errno.h>

#include "pack/greedy/first_fit.h"
#include "random.h"

#define SEED 20260303u

static struct npuplan_item item(uint64_t size, uint32_t start, uint32_t end)
{
	return (struct npuplan_item){ .size = size, .align = 1, .start = start, .end = end };
}

/*
 *          0 1 2 3 4 5
 * A (4)    A A A
 * B (6)        B B B
 * C (2)            C C
 * D (8)    D D D D D D
 */
static void four(struct npuplan_item items[4])
{
	items[0] = item(4, 0, 2);
	items[1] = item(6, 2, 4);
	items[2] = item(2, 4, 5);
	items[3] = item(8, 0, 5);
}

static void assert_peers(const struct npuplan_conflicts *c, uint32_t of, uint32_t count,
			 const uint32_t *peers)
{
	assert_int_equal(c->peer_start[of + 1] - c->peer_start[of], count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(c->peers[c->peer_start[of] + i].item, peers[i]);
}

TEST(conflicts)
{
	struct npuplan_interval whole;
	const struct npuplan_interval *forbidden;
	struct npuplan_conflicts c;
	struct npuplan_item items[4];
	uint32_t count;

	four(items);
	assert_int_equal(npuplan_conflicts_whole(&c, items, 4), 0);
	assert_peers(&c, 0, 2, (const uint32_t[]){ 1, 3 });
	assert_peers(&c, 1, 3, (const uint32_t[]){ 0, 2, 3 });
	assert_peers(&c, 2, 2, (const uint32_t[]){ 1, 3 });
	assert_peers(&c, 3, 3, (const uint32_t[]){ 0, 1, 2 });
	/* B beside A: addr(B) - addr(A) in (-6, 4) overlaps. */
	forbidden = npuplan_forbidden(&c, 1, &c.peers[c.peer_start[1]], &whole, &count);
	assert_int_equal(count, 1);
	assert_int_equal(forbidden->low, -6);
	assert_int_equal(forbidden->high, 4);
	npuplan_conflicts_fini(&c);
	assert_int_equal(npuplan_conflicts_whole(&c, items, 0), 0);
	npuplan_conflicts_fini(&c);
}

static void assert_order(enum npuplan_order rule, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	struct npuplan_conflicts conflicts;
	struct npuplan_item items[4];
	uint32_t order[4];

	four(items);
	assert_int_equal(npuplan_conflicts_whole(&conflicts, items, 4), 0);
	assert_int_equal(npuplan_order_items(&conflicts, rule, order), 0);
	assert_int_equal(order[0], a);
	assert_int_equal(order[1], b);
	assert_int_equal(order[2], c);
	assert_int_equal(order[3], d);
	npuplan_conflicts_fini(&conflicts);
}

/*
 * Durations 3, 3, 2, 6; peers 2, 3, 2, 3; live bytes by instant 12, 12, 18, 14,
 * 16, 10, so breadths A 18, B 18, C 16, D 18; areas 12, 18, 4, 48. Ties go to
 * the larger, then to the earlier.
 */
TEST(orders)
{
	enum { A, B, C, D };

	assert_order(NPUPLAN_BY_SIZE, D, B, A, C);
	assert_order(NPUPLAN_BY_DURATION, D, B, A, C);
	assert_order(NPUPLAN_BY_PEERS, D, B, A, C);
	assert_order(NPUPLAN_BY_BREADTH, D, B, A, C);
	assert_order(NPUPLAN_BY_START, D, A, B, C);
	assert_order(NPUPLAN_BY_AREA, D, B, A, C);
}

static void assert_keys(enum npuplan_order rule, struct npuplan_item *items, uint32_t count,
			const uint32_t *want)
{
	struct npuplan_conflicts conflicts;
	uint32_t order[8];

	assert_int_equal(npuplan_conflicts_whole(&conflicts, items, count), 0);
	assert_int_equal(npuplan_order_items(&conflicts, rule, order), 0);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(order[i], want[i]);
	npuplan_conflicts_fini(&conflicts);
}

/*
 * Each order puts first what it is about. E (5, 0..9) lasts; F (20, 20..21) is
 * large; G, H, I (1, 30..30) have each other, and J (3, 29..30); J's area is 6,
 * E's 50, F's 40. Breadth: F 20, of J and the ones 6, E 5.
 */
TEST(orders_differ)
{
	enum { E, F, G, H, I, J };
	struct npuplan_item items[6] = { item(5, 0, 9),	  item(20, 20, 21), item(1, 30, 30),
					 item(1, 30, 30), item(1, 30, 30),  item(3, 29, 30) };

	assert_keys(NPUPLAN_BY_SIZE, items, 6, (const uint32_t[]){ F, E, J, G, H, I });
	assert_keys(NPUPLAN_BY_DURATION, items, 6, (const uint32_t[]){ E, F, J, G, H, I });
	assert_keys(NPUPLAN_BY_PEERS, items, 6, (const uint32_t[]){ J, G, H, I, F, E });
	assert_keys(NPUPLAN_BY_BREADTH, items, 6, (const uint32_t[]){ F, J, G, H, I, E });
	assert_keys(NPUPLAN_BY_START, items, 6, (const uint32_t[]){ E, F, J, G, H, I });
	assert_keys(NPUPLAN_BY_AREA, items, 6, (const uint32_t[]){ E, F, J, G, H, I });
}

static uint64_t fit(struct npuplan_item *items, uint32_t count, const uint32_t *order,
		    uint32_t alignment, uint64_t *offsets)
{
	struct npuplan_conflicts c;
	uint64_t top, work = 0;
	uint32_t clash[2];

	assert_int_equal(npuplan_conflicts_whole(&c, items, count), 0);
	assert_int_equal(npuplan_first_fit(&c, order, alignment, false, NULL, offsets, &top, &work,
					   clash),
			 0);
	assert_true(work >= count);
	npuplan_conflicts_fini(&c);
	return top;
}

/* D at 0, B above it at 8, A above both at 14, C above D, where B ends: 14. */
TEST(first_fit)
{
	static const uint32_t order[4] = { 3, 1, 0, 2 };
	struct npuplan_item items[4];
	uint64_t offsets[4];

	four(items);
	assert_int_equal(fit(items, 4, order, 1, offsets), 18);
	assert_int_equal(offsets[3], 0);
	assert_int_equal(offsets[1], 8);
	assert_int_equal(offsets[0], 14);
	assert_int_equal(offsets[2], 14);
}

/* The gap under a placed peer is used if it is large enough, to the byte. */
TEST(gaps)
{
	static const uint32_t order[3] = { 0, 1, 2 };
	struct npuplan_item items[3] = { item(4, 0, 5), item(2, 0, 5), item(4, 0, 5) };
	uint64_t offsets[3];

	items[0].fixed = true;
	items[0].fixed_offset = 6;
	/* 2 bytes at 0; 4 more need [2, 6): exactly there. */
	assert_int_equal(fit(items, 3, order, 1, offsets), 10);
	assert_int_equal(offsets[1], 0);
	assert_int_equal(offsets[2], 2);
	/* One byte more does not fit and goes above. */
	items[2].size = 5;
	assert_int_equal(fit(items, 3, order, 1, offsets), 15);
	assert_int_equal(offsets[2], 10);
}

TEST(alignment)
{
	static const uint32_t order[3] = { 0, 1, 2 };
	struct npuplan_item items[3] = { item(3, 0, 5), item(3, 0, 5), item(3, 0, 5) };
	uint64_t offsets[3];

	items[2].align = 64;
	assert_int_equal(fit(items, 3, order, 16, offsets), 67);
	assert_int_equal(offsets[1], 16);
	assert_int_equal(offsets[2], 64);
}

TEST(fixed_clash)
{
	static const uint32_t order[2] = { 0, 1 };
	struct npuplan_item items[2] = { item(4, 0, 5), item(4, 5, 9) };
	struct npuplan_conflicts c;
	uint64_t offsets[2], top, work = 0;
	uint32_t clash[2];

	items[0].fixed = items[1].fixed = true;
	items[1].fixed_offset = 4;
	assert_int_equal(npuplan_conflicts_whole(&c, items, 2), 0);
	assert_int_equal(npuplan_first_fit(&c, order, 1, false, NULL, offsets, &top, &work, clash),
			 0);
	assert_int_equal(top, 8);
	items[1].fixed_offset = 3;
	assert_int_equal(npuplan_first_fit(&c, order, 1, false, NULL, offsets, &top, &work, clash),
			 -EADDRINUSE);
	assert_int_equal(clash[0], 0);
	assert_int_equal(clash[1], 1);
	npuplan_conflicts_fini(&c);
}

/*
 * Several intervals a pair, as tiles will make: B may lie on A at displacement 0
 * (an in-place operator) but not elsewhere: F = (-4, 0) and (0, 4).
 */
TEST(interval_sets)
{
	static const uint32_t order[2] = { 0, 1 };
	struct npuplan_item items[2] = { item(4, 0, 5), item(4, 5, 9) };
	struct npuplan_conflicts c;
	uint64_t offsets[2], top, work = 0;
	uint32_t clash[2];

	assert_int_equal(npuplan_conflicts_whole(&c, items, 2), 0);
	c.intervals = malloc(2 * sizeof(*c.intervals));
	c.intervals[0] = (struct npuplan_interval){ -4, 0 };
	c.intervals[1] = (struct npuplan_interval){ 0, 4 };
	for (int i = 0; i < 2; i++)
		c.peers[i].interval_count = 2;
	assert_int_equal(npuplan_first_fit(&c, order, 1, false, NULL, offsets, &top, &work, clash),
			 0);
	assert_int_equal(offsets[1], 0);
	assert_int_equal(top, 4);
	npuplan_conflicts_fini(&c);
}

/* Find the lowest address by trying each in turn. */
static uint64_t brute_lowest(const struct npuplan_item *items, const uint64_t *offsets,
			     const bool *placed, uint32_t count, uint32_t which, uint32_t align)
{
	for (uint64_t address = 0;; address += align) {
		bool free = true;

		for (uint32_t i = 0; i < count && free; i++)
			if (placed[i] && items[i].start <= items[which].end &&
			    items[which].start <= items[i].end &&
			    address < offsets[i] + items[i].size &&
			    offsets[i] < address + items[which].size)
				free = false;
		if (free)
			return address;
	}
}

TEST(against_brute_force)
{
	uint64_t random = SEED;

	print_message("# seed %u\n", SEED);
	for (int round = 0; round < 500; round++) {
		uint32_t count = random_range(&random, 1, 24), order[24];
		struct npuplan_item items[24];
		bool placed[24] = { false };
		uint64_t offsets[24], want[24];

		for (uint32_t i = 0; i < count; i++) {
			uint32_t start = random_range(&random, 0, 20);

			items[i] = item(random_range(&random, 1, 30), start,
					start + random_range(&random, 0, 8));
			items[i].align = 1u << random_range(&random, 0, 4);
			order[i] = i;
		}
		for (uint32_t i = count; i > 1; i--) {
			uint32_t other = random_range(&random, 0, i - 1), moved = order[i - 1];

			order[i - 1] = order[other];
			order[other] = moved;
		}
		fit(items, count, order, 2, offsets);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t which = order[i];
			uint32_t align = items[which].align > 2 ? items[which].align : 2;

			want[which] = brute_lowest(items, want, placed, count, which, align);
			placed[which] = true;
			assert_int_equal(offsets[which], want[which]);
		}
	}
}

/* 12000 items that all live at once are 72 million pairs; 2^26 are taken. */
TEST(too_many_pairs)
{
	struct npuplan_item *items = calloc(12000, sizeof(*items));
	struct npuplan_conflicts c;

	for (int i = 0; i < 12000; i++)
		items[i] = item(1, 0, 5);
	assert_int_equal(npuplan_conflicts_whole(&c, items, 12000), -E2BIG);
	assert_null(c.peers);
	assert_int_equal(npuplan_conflicts_whole(&c, items, 2000), 0);
	npuplan_conflicts_fini(&c);
	free(items);
}

static bool at_once(void *context)
{
	++*(unsigned int *)context;
	return true;
}

/* Listing ends at the limit of pairs that was asked for, and when the caller gives up. */
TEST(list_of_pairs)
{
	struct npuplan_item *items = calloc(4000, sizeof(*items));
	unsigned int asked = 0;
	const struct npuplan_until until = { .over = at_once, .context = &asked };
	struct npuplan_conflicts c;

	for (int i = 0; i < 4000; i++)
		items[i] = item(1, 0, 5);
	assert_int_equal(npuplan_conflicts_list(&c, items, 4, 5, NULL), -E2BIG);
	assert_null(c.peer_start);
	assert_int_equal(npuplan_conflicts_list(&c, items, 4, 6, NULL), 0);
	npuplan_conflicts_fini(&c);
	assert_int_equal(npuplan_conflicts_list(&c, items, 4000, 1 << 24, &until), -EINTR);
	assert_int_equal(asked, 1);
	assert_null(c.peer_start);
	free(items);
}
