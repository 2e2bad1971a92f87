// SPDX-License-Identifier: MIT
/*
 * The verifier against a byte-by-byte oracle, on random plans, whole and spoilt.
 *
 * usage: prop_verify [SEED [COUNT]]
 *
 * Both must accept the same plans. What is accepted is then run in random other
 * orders that npuv_states_submit() lets go, and every read must see the right
 * bytes. Blobs with random bytes changed must do no harm; if they are accepted,
 * the oracle must agree.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "random_case.h"
#include "verify/verify.h"

#define DEFAULT_SEED  20261121
#define DEFAULT_COUNT 100000

struct counts {
	uint64_t accepted, refused, orders, refused_jobs, raw_accepted, raw_refused;
	uint64_t rules[32];
};

static struct oracle oracle;
static char text[4096];

static void fail(uint64_t seed, const char *what, const char *other)
{
	printf("FAILED: %s / %s\n%srepeat with: prop_verify %" PRIu64 " 1\n", what,
	       other ? other : "accepts", text, seed);
	exit(1);
}

static void check_walks(const struct npuv_plan *plan, uint64_t seed)
{
	uint32_t a, n;

	for (a = 0; a < oracle.b->accesses.count; a++) {
		uint32_t t = build_tile_at(oracle.b, build_access_at(oracle.b, a)->tile)->tensor;
		uint32_t position = oracle.position_of[oracle.step_of[a]];
		struct npuv_range range;
		struct npuv_walk walk;

		n = 0;
		npuv_walk_begin(&walk, plan, position, a);
		while (npuv_walk_next(&walk, &range)) {
			if (range.linear != n || !range.length ||
			    range.arena + range.length > oracle.b->info.arena_size)
				fail(seed, "walk", "order of ranges");
			for (; n < range.linear + range.length; n++)
				if (n >= oracle.byte_count[a] ||
				    oracle.home[t][oracle.bytes[a][n]][position].address !=
					    range.arena + (n - range.linear))
					fail(seed, "walk", "address");
		}
		if (n != oracle.byte_count[a] && oracle.placed[t])
			fail(seed, "walk", "length");
	}
}

/* Submit in random order until all has gone, now and then taking steps back. */
static void check_orders(struct rng *r, const struct npuv_plan *plan, uint64_t seed,
			 struct counts *counts)
{
	uint32_t positions = plan->positions.count, cells = plan->graph->cell_count;
	uint32_t order[ORACLE_STEPS], gone = 0, i;
	struct npumem_verdict verdict;
	struct npuv_states *s;
	uint32_t *before;
	const char *flaw;

	if (npuv_states_create(plan, &s))
		abort();
	before = malloc(cells * sizeof(*before) + 1);
	oracle_begin(&oracle);
	while (gone < positions) {
		uint32_t at = rng_below(r, positions), back;

		memcpy(before, s->cells, cells * sizeof(*before));
		if (npuv_states_submit(s, at, &verdict)) {
			counts->refused_jobs++;
			if (memcmp(before, s->cells, cells * sizeof(*before)))
				fail(seed, "states", "a refusal changed them");
			for (i = 0; i < gone && order[i] != at; i++)
				;
			if (verdict.rule == NPUMEM_RULE_ENFORCE_TWICE && i == gone)
				fail(seed, "states", "not twice");
			continue;
		}
		if (rng_chance(r, 10)) {
			/* Take it back, and some before it; then let them go again. */
			back = rng_below(r, gone + 1);
			npuv_states_undo(s, at);
			if (memcmp(before, s->cells, cells * sizeof(*before)))
				fail(seed, "states", "undo is not exact");
			for (i = gone; i-- > back;)
				npuv_states_undo(s, order[i]);
			for (i = back; i < gone; i++)
				if (npuv_states_submit(s, order[i], &verdict))
					fail(seed, "states", "lost by undo");
			if (memcmp(before, s->cells, cells * sizeof(*before)))
				fail(seed, "states", "undo and redo differ");
			continue;
		}
		order[gone++] = at;
		flaw = oracle_step(&oracle, at);
		if (flaw)
			fail(seed, "a job in another order", flaw);
	}
	flaw = oracle_end(&oracle);
	if (flaw)
		fail(seed, "all jobs in another order", flaw);
	npuv_states_reset(s);
	for (i = 0; i < positions; i++)
		if (npuv_states_submit(s, i, &verdict))
			fail(seed, "states", "the plan's own order is refused");
	counts->orders++;
	free(before);
	npuv_states_destroy(s);
}

static void check_accepted(struct rng *r, const struct npuv_plan *plan, uint64_t seed,
			   struct counts *counts)
{
	check_walks(plan, seed);
	check_orders(r, plan, seed, counts);
	check_orders(r, plan, seed, counts);
}

static int verify(struct build_blob g, struct build_blob p, struct npuv_graph **graph,
		  struct npuv_plan **plan, struct npumem_verdict *verdict)
{
	struct npuv_log log;
	int err;

	npuv_log_init(&log, 1, text, sizeof(text));
	*graph = NULL;
	*plan = NULL;
	err = npuv_graph_create(g.data, g.size, &npuv_default_limits, &log, verdict, graph);
	if (!err)
		err = npuv_plan_create(*graph, p.data, p.size, &npuv_default_limits, &log, verdict,
				       plan);
	if (err && !log.used)
		abort();
	return err;
}

static void copy(struct build_array *to, const struct npuv_section *from)
{
	uint32_t i;
	char *out;

	to->count = 0;
	out = build_add(to, from->count);
	for (i = 0; i < from->count; i++)
		memcpy(out + (size_t)i * to->size, from->base + (size_t)i * from->stride, to->size);
}

/* Records of what was accepted; false if they are beyond the oracle's limits. */
static bool read_back(const struct npuv_graph *g, const struct npuv_plan *p, struct build *b)
{
	uint32_t i;

	if (g->tensors.count > ORACLE_TENSORS || g->accesses.count > ORACLE_ACCESSES ||
	    g->steps.count > ORACLE_STEPS || p->info->arena_size > ORACLE_ARENA)
		return false;
	for (i = 0; i < g->tensors.count; i++)
		if (npuv_tensor(g, i)->size > ORACLE_BYTES)
			return false;
	copy(&b->tensors, &g->tensors);
	copy(&b->tiles, &g->tiles);
	copy(&b->accesses, &g->accesses);
	copy(&b->steps, &g->steps);
	copy(&b->placements, &p->placements);
	copy(&b->positions, &p->positions);
	b->info = *p->info;
	return true;
}

static void spoil_bytes(struct rng *r, struct build_blob g, struct build_blob p, uint64_t seed,
			struct counts *counts)
{
	struct npumem_verdict verdict;
	struct npuv_graph *graph;
	struct npuv_plan *plan;
	struct build b;
	const char *flaw;
	int err;

	mutate_bytes(r, rng_chance(r, 50) ? &g : &p);
	err = verify(g, p, &graph, &plan, &verdict);
	counts->raw_accepted += !err;
	counts->raw_refused += !!err;
	if (err && err != -EBADMSG && err != -EINVAL && err != -EOPNOTSUPP && err != -E2BIG)
		fail(seed, "bytes: unexpected error", strerror(-err));
	build_init(&b);
	if (!err && read_back(graph, plan, &b)) {
		flaw = oracle_graph(&oracle, &b);
		if (!flaw)
			flaw = oracle_plan(&oracle);
		if (flaw)
			fail(seed, "bytes: accepted", flaw);
		check_accepted(r, plan, seed, counts);
	}
	build_free(&b);
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
}

static void one_case(uint64_t seed, struct counts *counts)
{
	struct rng r = { seed * 0x9e3779b97f4a7c15ull };
	struct npumem_verdict verdict;
	struct npuv_graph *graph;
	struct npuv_plan *plan;
	struct build_blob g, p;
	const char *flaw;
	uint32_t spoilt;
	struct build b;
	int err;

	build_init(&b);
	random_case(&r, &b);
	for (spoilt = rng_chance(&r, 60) ? 1 + rng_below(&r, 3) : 0; spoilt; spoilt--)
		mutate_case(&r, &b);
	g = build_graph(&b);
	p = build_plan(&b);

	err = verify(g, p, &graph, &plan, &verdict);
	flaw = oracle_graph(&oracle, &b);
	if (!flaw)
		flaw = oracle_plan(&oracle);
	if (!err != !flaw || (err && err != -EINVAL))
		fail(seed, err ? "verifier refuses" : "verifier accepts", flaw);
	counts->accepted += !err;
	counts->refused += !!err;
	counts->rules[verdict.rule % 32]++;
	if (!err)
		check_accepted(&r, plan, seed, counts);
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);

	if (rng_chance(&r, 50))
		spoil_bytes(&r, g, p, seed, counts);
	free(g.data);
	free(p.data);
	build_free(&b);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : DEFAULT_SEED;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : DEFAULT_COUNT;
	static const char *const names[] = { "",	"V1 bounds", "V2 order",
					     "V3 read", "V4 write",  "V5 spill",
					     "V6 edge", "V7 exit",   "format" };
	struct counts counts = { 0 };
	uint64_t i;

	printf("seed %" PRIu64 ", %" PRIu64 " plans\n", seed, count);
	for (i = 0; i < count; i++)
		one_case(seed + i, &counts);
	printf("accepted %" PRIu64 ", refused %" PRIu64 ", verifier and oracle agree\n",
	       counts.accepted, counts.refused);
	for (i = 1; i <= NPUMEM_RULE_FORMAT; i++)
		printf("  %-9s %" PRIu64 "\n", names[i], counts.rules[i]);
	printf("orders run %" PRIu64 ", jobs refused on the way %" PRIu64 "\n", counts.orders,
	       counts.refused_jobs);
	printf("blobs with bytes changed: accepted %" PRIu64 ", refused %" PRIu64 "\n",
	       counts.raw_accepted, counts.raw_refused);
	/* A generator that makes only good or only bad plans proves nothing. */
	if (count >= 1000 && (counts.accepted < count / 5 || counts.refused < count / 5)) {
		printf("FAILED: less than a fifth of the plans on one side\n");
		return 1;
	}
	return 0;
}
