// SPDX-License-Identifier: MIT
/*
 * NNC, step by step, on graphs worked out by hand. Sizes are bytes; [a, b] are the
 * instants that an item lives; S and T are source and sink; "A -> B 2" is an edge
 * of weight 2 of the allocation graph.
 */
#include "npuplan_build.h"

#include "planners/nnc/nnc.h"
#include "planners/planners.h"
#include "random.h"

#define S NPUPLAN_NNC_SOURCE
#define T NPUPLAN_NNC_SINK

/**
 * struct told - the insertions, as text
 * @names: a letter for each item
 * @text: a line each: the tuple, the ends of the edge that is split, base and size of the
 *	buffer, and all edges with their weights
 */
struct told {
	const char *names;
	char text[512];
};

static char name_of(const char *names, uint32_t item)
{
	return item == S ? 'S' : item == T ? 'T' : names[item];
}

/* The bytes of all edges from one item to another. */
static uint64_t allocation_weight(const struct npuplan_nnc_allocation *allocation, uint32_t from,
				  uint32_t to)
{
	uint64_t weight = 0;

	for (uint32_t i = 0; i < allocation->edge_count; i++) {
		const struct npuplan_nnc_edge *edge = &allocation->edges[i];

		if (edge->from == from && edge->to == to)
			weight += edge->high - edge->low;
	}
	return weight;
}

/* Append " AB2" for each edge, by its ends: the source first, then the items, the sink last. */
static void tell_edges(char *text, size_t size, const struct npuplan_nnc_allocation *allocation,
		       const char *names)
{
	uint32_t count = (uint32_t)strlen(names);

	for (uint32_t i = 0; i <= count; i++) {
		for (uint32_t k = 0; k <= count; k++) {
			uint32_t from = i ? i - 1 : S, to = k < count ? k : T;
			uint64_t weight = allocation_weight(allocation, from, to);
			size_t used = strlen(text);

			if (weight)
				snprintf(text + used, size - used, " %c%c%u", name_of(names, from),
					 name_of(names, to), (unsigned int)weight);
		}
	}
}

static void tell_step(void *context, const struct npuplan_nnc_insertion *insertion)
{
	struct told *told = context;
	size_t used = strlen(told->text);
	char tuple[NPUPLAN_NNC_TUPLE + 1] = "";

	for (uint32_t i = 0; i < insertion->tuple->count; i++)
		tuple[i] = name_of(told->names, insertion->tuple->items[i]);
	snprintf(told->text + used, sizeof(told->text) - used, "%s %c%c %u %u:", tuple,
		 name_of(told->names, insertion->from), name_of(told->names, insertion->to),
		 (unsigned int)insertion->base, (unsigned int)insertion->allocation->size);
	tell_edges(told->text, sizeof(told->text), insertion->allocation, told->names);
	strcat(told->text, "\n");
}

static void assert_edges(const struct npuplan_nnc_allocation *allocation, const char *names,
			 const char *edges)
{
	char text[256] = "";

	tell_edges(text, sizeof(text), allocation, names);
	assert_string_equal(text, edges);
}

static struct npuplan_item item(uint64_t size, uint32_t start, uint32_t end)
{
	return (struct npuplan_item){ .size = size, .align = 1, .start = start, .end = end };
}

/* Run NNC, check that the result is a packing, and return its top. */
static uint64_t run(const struct npuplan_conflicts *conflicts,
		    const struct npuplan_nnc_options *options, uint64_t *offsets)
{
	struct npuplan_pack_problem problem = {
		.items = conflicts->items,
		.item_count = conflicts->item_count,
		.alignment = options->alignment,
		.conflicts = conflicts->peer_start ? conflicts : NULL,
	};
	struct npuplan_error error = { "" };
	uint64_t top, work = 0, checked;
	uint32_t clash[2];

	assert_int_equal(npuplan_nnc(conflicts, options, offsets, &top, &work, clash), 0);
	if (npuplan_pack_check(&problem, offsets, &checked, &error))
		fail_msg("%s", error.text);
	assert_int_equal(top, checked);
	assert_true(work > 0);
	return top;
}

static uint64_t follow(const struct npuplan_item *items, const char *names, const char *steps,
		       enum npuplan_nnc_form form, uint64_t *offsets)
{
	struct told told = { .names = names };
	struct npuplan_nnc_options options = {
		.form = form,
		.inserted = tell_step,
		.context = &told,
	};
	uint32_t count = (uint32_t)strlen(names);
	struct npuplan_conflicts conflicts;
	uint64_t top[2];

	/* The same whether pairs are listed or not. */
	for (int listed = 0; listed < 2; listed++) {
		told.text[0] = '\0';
		if (listed)
			assert_int_equal(npuplan_conflicts_whole(&conflicts, items, count), 0);
		else
			npuplan_conflicts_overlap(&conflicts, items, count);
		top[listed] = run(&conflicts, &options, offsets);
		assert_string_equal(told.text, steps);
		npuplan_conflicts_fini(&conflicts);
	}
	assert_int_equal(top[0], top[1]);
	return top[0];
}

/*
 * A 4 [0,1], B 8 [1,2], C 6 [3,4], D 2 [2,3], E 5 [4,5], F 3 [5,6].
 * Interference: A-B, B-D, D-C, C-E, E-F; B, C, D, E have two edges, A and F one.
 * Order of access: A B D C E F. By size: B C E A F D.
 *
 * 1. Set 1: B, C, D, E. Larger ones that do not interfere:
 *      B: none                          (B)      largest 8, edges 2
 *      C: B                             (B,C)    8, 4, sum 14
 *      D: E (not B, not C), then A      (D,E)    5, 4;  (A,D,E) 5, 5
 *      E: B                             (B,E)    8, 4, sum 13
 *    First is (B,C). There is no edge yet: a new one, S -> T 8. B takes 8 of it, C
 *    takes 6 of B, 2 of B and 6 of C go to T.
 * 2. Set 1: D, E. D: E, A as before; E: none, since B and C are in.
 *      (A,D,E) 5, edges 5; (D,E) 5, 4; (E) 5, 2; (D) 2, 2
 *    The only edge between two items is B -> C 6: A interferes with B, E with C, D
 *    with both. So (A,D,E) gets a new edge, at 8: A takes 4 of S; D 2 of A; E 2 of D,
 *    the other 2 of A, and 1 of S.
 * 3. Set 1: F, (F). All items between which there are edges are accessed before F:
 *    a new edge, at 13.
 */
TEST(published)
{
	enum { A, B, C, D, E, F };
	const struct npuplan_item items[] = { item(4, 0, 1), item(8, 1, 2), item(6, 3, 4),
					      item(2, 2, 3), item(5, 4, 5), item(3, 5, 6) };
	static const char steps[] = "BC ST 0 8: SB8 BC6 BT2 CT6\n"
				    "ADE ST 8 13: SA4 SB8 SE1 AD2 AE2 BC6 BT2 CT6 DE2 ET5\n"
				    "F ST 13 16: SA4 SB8 SE1 SF3 AD2 AE2 BC6 BT2 CT6 DE2 ET5 FT3\n";
	uint64_t offsets[6];

	assert_int_equal(follow(items, "ABCDEF", steps, NPUPLAN_NNC_PUBLISHED, offsets), 16);
	assert_int_equal(offsets[A], 8);
	assert_int_equal(offsets[B], 0);
	assert_int_equal(offsets[C], 0);
	assert_int_equal(offsets[D], 8);
	assert_int_equal(offsets[E], 8);
	assert_int_equal(offsets[F], 13);
}

/*
 * The same, extended. 1 as before; then, before a new edge is made, the items of set 1
 * are tried below the top of the buffer, which is 8, the largest first.
 *
 * 2. E 5 interferes with C at [0,6), and would end at 11. D 2 interferes with B at
 *    [0,8). So (A,D,E), where the buffer grows least: A not below 8, for B. At 8 all
 *    three may be: the top is 13, the weights are as before.
 * 3. F 3 interferes with E at [8,13): at 0 it takes 3 of C.
 * Then all are moved down: E, at 8 for the sake of a common base, need only keep clear
 * of C, which ends at 6. A ends at 12, and that is the bound: A and B live together.
 */
TEST(extended)
{
	enum { A, B, C, D, E, F };
	const struct npuplan_item items[] = { item(4, 0, 1), item(8, 1, 2), item(6, 3, 4),
					      item(2, 2, 3), item(5, 4, 5), item(3, 5, 6) };
	static const char steps[] = "BC ST 0 8: SB8 BC6 BT2 CT6\n"
				    "ADE ST 8 13: SA4 SB8 SE1 AD2 AE2 BC6 BT2 CT6 DE2 ET5\n"
				    "F ST 0 13: SA4 SB8 SE1 AD2 AE2 BC6 BT2 CF3 CT3 DE2 ET5 FT3\n";
	uint64_t offsets[6];

	assert_int_equal(follow(items, "ABCDEF", steps, NPUPLAN_NNC_EXTENDED, offsets), 12);
	assert_int_equal(offsets[E], 6);
	assert_int_equal(offsets[A], 8);
}

/*
 * L 1 [0,5] lives with all; P 8 [0,0], X 3 [2,2], Y 5 [3,3], Q 8 [5,5].
 * Interference: L has four edges, the others one. Order of access: P L X Y Q.
 *
 * 1. Set 1: L. All larger ones interfere. (L): S -> L 1, L -> T 1.
 * 2. Set 1: P, X, Y, Q. P and Q have nothing larger; X: P, then Q; Y: P, then Q.
 *    Largest 8: (P,Y,Q) edges 3, sum 21; (P,X,Q) 3, 19; (P,Y), (P,X), (P), (Q).
 *    The edges there are have S or T for an end. A new one, at 1: P takes 8, Y 5 of P,
 *    Q 5 of Y and the other 3 of P.
 * 3. Set 1: X, accessed after P and before Y and Q. P -> Y 5, at 1, and P -> Q 3, at 6,
 *    can take it; P -> Q is narrower. It is split: P -> X 3, X -> Q 3, 0 is left.
 */
TEST(splits_an_edge)
{
	enum { L, P, X, Y, Q };
	const struct npuplan_item items[] = { item(1, 0, 5), item(8, 0, 0), item(3, 2, 2),
					      item(5, 3, 3), item(8, 5, 5) };
	static const char steps[] = "L ST 0 1: SL1 LT1\n"
				    "PYQ ST 1 9: SL1 SP8 LT1 PY5 PQ3 YQ5 QT8\n"
				    "X PQ 6 9: SL1 SP8 LT1 PX3 PY5 XQ3 YQ5 QT8\n";
	uint64_t offsets[5];

	assert_int_equal(follow(items, "LPXYQ", steps, NPUPLAN_NNC_PUBLISHED, offsets), 9);
	assert_int_equal(offsets[X], 6);
	assert_int_equal(follow(items, "LPXYQ", steps, NPUPLAN_NNC_EXTENDED, offsets), 9);
}

/*
 * The published steps of insertion, into an edge P -> Q 10: U 2, V 6, W 4 in this
 * order. The edge keeps 10 - 6. U takes 2 of P. V takes 2 of U and 4 of P. W takes 2
 * of V where that had them of U, and 2 more of V; none of P. To Q go 4 of W, 2 of V.
 */
TEST(insertion)
{
	enum { P, Q, U, V, W };
	static const uint32_t rank[] = { 1, 5, 2, 3, 4 };
	static const char edges[] = " SP10 PQ4 PU2 PV4 QT10 UV2 VQ2 VW4 WQ4";
	struct npuplan_nnc_allocation allocation = { .rank = rank, .item_count = 5 };
	int64_t edge = -1;
	uint32_t marks[2];

	assert_int_equal(npuplan_nnc_allocation_grow(&allocation, 10), 0);
	assert_int_equal(npuplan_nnc_allocation_insert(&allocation, P, 0, 10, 0), 0);
	assert_int_equal(npuplan_nnc_allocation_insert(&allocation, Q, 0, 10, 0), 0);
	assert_int_equal(allocation_weight(&allocation, P, Q), 10);
	for (uint32_t i = 0; i < allocation.edge_count; i++)
		if (allocation.edges[i].from == P && allocation.edges[i].to == Q)
			edge = i;
	assert_true(edge >= 0);
	assert_int_equal(npuplan_nnc_allocation_renew(&allocation, edge), 0);
	assert_true(edge < allocation.edge_count - 1);
	edge = allocation.edge_count - 1;
	assert_int_equal(allocation.edges[edge].from, P);
	assert_int_equal(allocation.edges[edge].to, Q);
	assert_int_equal(npuplan_nnc_allocation_insert(&allocation, U, 0, 2, edge), 0);
	assert_int_equal(npuplan_nnc_allocation_insert(&allocation, V, 0, 6, edge), 0);
	assert_int_equal(npuplan_nnc_allocation_insert(&allocation, W, 0, 4, edge), 0);
	assert_edges(&allocation, "PQUVW", edges);
	/* Forgetting empty edges changes no weight, and indices move along. */
	marks[0] = 0;
	marks[1] = allocation.edge_count;
	npuplan_nnc_allocation_compact(&allocation, marks, 2);
	assert_edges(&allocation, "PQUVW", edges);
	assert_int_equal(allocation.edge_count, 9);
	assert_int_equal(marks[0], 0);
	assert_int_equal(marks[1], 9);
	npuplan_nnc_allocation_fini(&allocation);
}

/* X at [0,4), Y at [4,8); Z at [2,6) takes of both, and both hand the rest on. */
TEST(several_predecessors)
{
	enum { X, Y, Z };
	static const uint32_t rank[] = { 1, 2, 3 };
	static const char edges[] = " SX4 SY4 XZ2 XT2 YZ2 YT2 ZT4";
	struct npuplan_nnc_allocation allocation = { .rank = rank, .item_count = 3 };

	assert_int_equal(npuplan_nnc_allocation_grow(&allocation, 8), 0);
	assert_int_equal(npuplan_nnc_allocation_insert(&allocation, X, 0, 4, 0), 0);
	assert_int_equal(npuplan_nnc_allocation_insert(&allocation, Y, 4, 8, 0), 0);
	assert_int_equal(npuplan_nnc_allocation_insert(&allocation, Z, 2, 6, 0), 0);
	assert_edges(&allocation, "XYZ", edges);
	npuplan_nnc_allocation_fini(&allocation);
}

/*
 * Six equal items, each living with the next. To the letter none is put before the
 * first or after the last item of a flow, so nothing is shared.
 */
TEST(chain)
{
	struct npuplan_nnc_options options = { .form = NPUPLAN_NNC_PUBLISHED };
	struct npuplan_conflicts conflicts;
	struct npuplan_item items[6];
	uint64_t offsets[6];

	for (uint32_t i = 0; i < 6; i++)
		items[i] = item(4, i, i + 1);
	npuplan_conflicts_overlap(&conflicts, items, 6);
	assert_int_equal(run(&conflicts, &options, offsets), 24);
	options.form = NPUPLAN_NNC_EXTENDED;
	options.capacity = 8;
	assert_int_equal(run(&conflicts, &options, offsets), 8);
}

/* In place: two items that live together may be at the same address, or apart. */
TEST(in_place)
{
	struct npuplan_item items[] = { item(4, 0, 2), item(4, 1, 3) };
	const struct npuplan_interval intervals[] = { { -4, 0 }, { 0, 4 } };
	const struct npuplan_pair pair = { 0, 1, 2, 0 };
	struct npuplan_nnc_options options = { .capacity = 4 };
	struct npuplan_conflicts conflicts;
	uint64_t offsets[2];

	assert_int_equal(npuplan_conflicts_pairs(&conflicts, items, 2, &pair, 1, intervals), 0);
	assert_int_equal(run(&conflicts, &options, offsets), 4);
	npuplan_conflicts_fini(&conflicts);
	/* Only apart, by at least four, or at two. */
	assert_int_equal(
		npuplan_conflicts_pairs(&conflicts, items, 2, &pair, 1,
					(const struct npuplan_interval[]){ { -4, 2 }, { 2, 4 } }),
		0);
	assert_int_equal(run(&conflicts, &options, offsets), 6);
	assert_int_equal(offsets[1] - offsets[0], 2);
	npuplan_conflicts_fini(&conflicts);
}

/*
 * Interference that is none of intervals: Z is accessed before P and Q, at the same
 * bytes, and X, accessed between P and Q, interferes with Z alone (as the web of a
 * loop may). P -> Q looks free for it, and is not.
 */
TEST(no_intervals)
{
	enum { Z, P, Q, X, L };
	struct npuplan_item items[] = { item(8, 0, 0), item(8, 1, 1), item(8, 5, 5), item(4, 3, 3),
					item(1, 0, 5) };
	const struct npuplan_pair pairs[] = {
		{ L, Z, 0, 0 }, { L, P, 0, 0 }, { L, Q, 0, 0 }, { L, X, 0, 0 }, { X, Z, 0, 0 },
	};
	struct npuplan_conflicts conflicts;
	uint64_t offsets[5];

	for (int form = 0; form < 2; form++) {
		struct npuplan_nnc_options options = { .form = form };

		assert_int_equal(npuplan_conflicts_pairs(&conflicts, items, 5, pairs, 5, NULL), 0);
		assert_true(run(&conflicts, &options, offsets) >= 13);
		assert_true(offsets[X] + 4 <= offsets[Z] || offsets[Z] + 8 <= offsets[X]);
		npuplan_conflicts_fini(&conflicts);
	}
}

TEST(fixed_and_aligned)
{
	struct npuplan_item items[] = { item(10, 0, 3), item(6, 1, 2), item(5, 2, 4),
					item(3, 4, 5) };
	struct npuplan_nnc_options options = { .alignment = 8 };
	struct npuplan_conflicts conflicts;
	uint64_t offsets[4], top, work = 0;
	uint32_t clash[2];

	items[1].fixed = true;
	items[1].fixed_offset = 32;
	items[3].align = 16;
	for (int form = 0; form < 2; form++) {
		options.form = form;
		npuplan_conflicts_overlap(&conflicts, items, 4);
		assert_in_range(run(&conflicts, &options, offsets), 38, 80);
		assert_int_equal(offsets[1], 32);
		assert_int_equal(offsets[3] % 16, 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(offsets[i] % 8, 0);
	}
	items[2].fixed = true;
	items[2].fixed_offset = 32;
	assert_int_equal(npuplan_nnc(&conflicts, &options, offsets, &top, &work, clash),
			 -EADDRINUSE);
	assert_int_equal(clash[0], 1);
	assert_int_equal(clash[1], 2);
	/* They do not live together: they may be at one address. */
	items[2].start = 3;
	run(&conflicts, &options, offsets);
	assert_int_equal(offsets[2], 32);
}

static bool stop_at_once(void *context)
{
	++*(unsigned int *)context;
	return true;
}

static bool is_late(void *effort)
{
	return npuplan_effort_late(effort);
}

static void fill_layered(struct npuplan_item *items, uint32_t count)
{
	uint64_t random = 7;

	for (uint32_t i = 0; i < count; i++)
		items[i] =
			item(64u << random_range(&random, 0, 6), i,
			     i + (random_range(&random, 0, 9) ? 1 : random_range(&random, 2, 12)));
}

/* If time is up from the start, all items are placed by first fit, which still is a packing. */
TEST(stopped)
{
	static struct npuplan_item items[300];
	static uint64_t offsets[300];
	unsigned int asked = 0;
	struct npuplan_effort effort = npuplan_effort_begin(UINT64_MAX, -1, NULL, NULL);
	struct npuplan_until until = { .over = stop_at_once, .context = &asked };
	const struct npuplan_nnc_options options = { .capacity = 1, .until = &until };
	struct npuplan_conflicts conflicts;

	fill_layered(items, 300);
	npuplan_conflicts_overlap(&conflicts, items, 300);
	run(&conflicts, &options, offsets);
	assert_in_range(asked, 1, 2);
	until = (struct npuplan_until){ .over = is_late, .context = &effort };
	run(&conflicts, &options, offsets);
}

/* More rounds never make it worse, and they give the same result each time. */
TEST(rounds)
{
	static struct npuplan_item items[1000];
	static uint64_t offsets[1000], again[1000];
	struct npuplan_nnc_options options = { 0 };
	struct npuplan_conflicts conflicts;
	uint64_t once, bound = 0, live;

	fill_layered(items, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		live = 0;
		for (uint32_t k = i < 12 ? 0 : i - 12; k <= i; k++)
			live += items[k].end >= i ? items[k].size : 0;
		bound = live > bound ? live : bound;
	}
	npuplan_conflicts_overlap(&conflicts, items, 1000);
	once = run(&conflicts, &options, offsets);
	options.capacity = bound;
	assert_int_equal(run(&conflicts, &options, offsets), bound);
	assert_true(once > bound);
	assert_int_equal(run(&conflicts, &options, again), bound);
	assert_memory_equal(offsets, again, sizeof(offsets));
}

TEST(nothing)
{
	struct npuplan_nnc_options options = { .capacity = 1 };
	struct npuplan_conflicts conflicts;
	uint64_t top = 1, work = 0, offset;
	uint32_t clash[2];

	npuplan_conflicts_overlap(&conflicts, NULL, 0);
	assert_int_equal(npuplan_nnc(&conflicts, &options, &offset, &top, &work, clash), 0);
	assert_int_equal(top, 0);
}
