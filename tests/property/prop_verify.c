// SPDX-License-Identifier: MIT
/*
 * The verifier against a byte-by-byte oracle, on random plans, whole and spoilt.
 *
 * usage: prop_verify [SEED [COUNT [WISH]]]
 *
 * Both must accept the same plans. What is accepted is then executed along
 * random paths, several iterations and inferences long, each block's steps in
 * some order that npuv_states_submit() lets go, and every read must see the
 * right bytes. Blobs with random bytes changed must do no harm; if they are
 * accepted, the oracle must agree.
 *
 * Each case has features (feature.h). Which two the next one had better have is
 * chosen by the table of those pairs that were accepted, and refused, least often;
 * in the end every pair that can be has been both. WISH is those two, to repeat.
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

/* Refusals in a row, for each position, after which nothing will ever go. */
#define STUCK 200

/* Crossings after which a path makes for the exit. */
#define PATH 24

struct counts {
	uint64_t accepted, refused, paths, crossings, refused_jobs, raw_accepted, raw_refused;
	uint64_t flow_accepted, flow_refused, instances;
	uint64_t moves_accepted, moves_refused, transfers;
	uint64_t rules[NPUMEM_RULE_FORMAT + 1];
	struct feature_pairs pairs;
};

static struct oracle oracle;
static char text[4096];
static uint32_t wish;

static void fail(uint64_t seed, const char *what, const char *other)
{
	printf("FAILED: %s / %s\n%srepeat with: prop_verify %" PRIu64 " 1 %#" PRIx32 "\n", what,
	       other ? other : "accepts", text, seed, wish);
	exit(1);
}

static void check_walk(const struct npuv_plan *plan, uint32_t position, uint32_t a, uint64_t seed)
{
	uint32_t n = 0, t = oracle.tensor_of[a];
	struct npuv_range range;
	struct npuv_walk walk;
	unsigned int at;

	npuv_walk_begin(&walk, plan, position, a);
	while (npuv_walk_next(&walk, &range)) {
		bool external = build_tensor_at(oracle.b, t)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
		uint64_t base = external ? ORACLE_ARENA + t * ORACLE_BYTES : 0;
		uint64_t end = external ? build_tensor_at(oracle.b, t)->size :
					  oracle.b->info.arena_size;

		if (range.linear != n || !range.length || range.arena + range.length > end ||
		    range.external != (external ? t : NPUMEM_NONE))
			fail(seed, "walk", "order of ranges");
		for (; n < range.linear + range.length; n++)
			if (n >= oracle.byte_count[a] ||
			    !oracle_address(&oracle, t, oracle.bytes[a][n], position, &at) ||
			    at != base + range.arena + (n - range.linear))
				fail(seed, "walk", "address");
	}
	if (n != npuv_access_bytes(plan, a) || (n && n != oracle.byte_count[a]))
		fail(seed, "walk", "length");
	if (!n &&
	    (oracle.placed[t] || build_tensor_at(oracle.b, t)->kind != NPUMEM_TENSOR_PARAMETER))
		fail(seed, "walk", "nothing");
}

/* A transfer's access: its bytes in order, in the arena or in host memory. */
static void check_move(const struct npuv_plan *plan, uint32_t position, bool host, uint32_t access,
		       uint64_t seed)
{
	const struct npumem_position *p = build_position_at(oracle.b, position);
	struct npuv_range range;
	struct npuv_walk walk;
	unsigned int at;
	uint64_t n = 0;

	npuv_walk_begin(&walk, plan, position, access);
	while (npuv_walk_next(&walk, &range)) {
		if (range.linear != n || range.external != (host ? NPUV_HOST : NPUMEM_NONE) ||
		    range.arena + range.length >
			    (host ? oracle.b->info.host_size : oracle.b->info.arena_size))
			fail(seed, "walk", "a transfer's ranges");
		for (; n < range.linear + range.length; n++) {
			uint32_t byte = (uint32_t)(p->first + n);

			at = (unsigned int)oracle.host_at[p->index][byte];
			if (n >= p->length ||
			    (!host && !oracle_address(&oracle, p->index, byte, position, &at)) ||
			    at != range.arena + (n - range.linear))
				fail(seed, "walk", "a transfer's address");
		}
	}
	if (n != p->length)
		fail(seed, "walk", "a transfer's length");
}

static void check_walks(const struct npuv_plan *plan, uint64_t seed)
{
	uint32_t p, a;

	for (p = 0; p < oracle.b->positions.count; p++) {
		const struct npumem_position *at = build_position_at(oracle.b, p);
		bool in = at->kind == NPUMEM_POSITION_LOAD || at->kind == NPUMEM_POSITION_FILL;
		const struct npumem_step *s;

		if (at->kind != NPUMEM_POSITION_STEP) {
			for (a = 0; at->kind != NPUMEM_POSITION_DROP && a < 2; a++)
				check_move(plan, p, in == !a, a, seed);
			continue;
		}
		s = build_step_at(oracle.b, at->index);

		for (a = s->first_access; a < s->first_access + s->access_count; a++)
			check_walk(plan, p, a, seed);
	}
}

/* What was let go: positions, and edges crossed (EDGE | index). */
#define EDGE 0x80000000u

struct path {
	const struct npuv_plan *plan;
	struct npuv_states *s;
	struct counts *counts;
	uint64_t seed;
	uint32_t log[2048];
	uint32_t gone;
	uint32_t *before;
	uint32_t before_block;
};

/* Cells of the current instance: all that counts. */
static void remember(struct path *p)
{
	memcpy(p->before, p->s->cells, p->plan->graph->cell_count * sizeof(*p->before));
	p->before_block = p->s->block;
}

static void compare(const struct path *p, const char *what)
{
	const struct npuv_graph *g = p->plan->graph;
	uint32_t b;

	if (p->s->block != p->before_block)
		fail(p->seed, "states", what);
	if (p->s->block == NPUMEM_NONE)
		return;
	b = npuv_plan_block(p->plan, p->s->block)->block;
	if (memcmp(p->before + g->cell_start[b], p->s->cells + g->cell_start[b],
		   (g->cell_start[b + 1] - g->cell_start[b]) * sizeof(*p->before)))
		fail(p->seed, "states", what);
}

static int redo(struct path *p, uint32_t what)
{
	struct npumem_verdict verdict;

	if (what & EDGE)
		return npuv_states_cross(p->s, what & ~EDGE, &verdict);
	return npuv_states_submit(p->s, what, &verdict);
}

static void undo(struct path *p, uint32_t what)
{
	if (what & EDGE)
		npuv_states_uncross(p->s, what & ~EDGE);
	else
		npuv_states_undo(p->s, what);
}

/* Take some back, across edges too, and let them go again. */
static void undo_some(struct rng *r, struct path *p)
{
	uint32_t back = p->gone - rng_below(r, p->gone < 12 ? p->gone + 1 : 12), i;

	remember(p);
	for (i = p->gone; i-- > back;)
		undo(p, p->log[i]);
	for (i = back; i < p->gone; i++)
		if (redo(p, p->log[i]))
			fail(p->seed, "states", "lost by undo");
	compare(p, "undo and redo differ");
}

/* An edge from elsewhere, or before all steps have gone, is not crossed. */
static void check_edges(struct rng *r, struct path *p, uint32_t left)
{
	struct npumem_verdict verdict;
	uint32_t edge;

	if (!p->plan->edges.count || !rng_chance(r, 20))
		return;
	edge = rng_below(r, p->plan->edges.count);
	if (!oracle.flat && npuv_plan_edge(p->plan, edge)->from == p->s->block && !left)
		return;
	remember(p);
	if (!npuv_states_cross(p->s, edge, &verdict) || verdict.rule != NPUMEM_RULE_ENFORCE_EDGE)
		fail(p->seed, "states", "an edge crossed from elsewhere, or too early");
	compare(p, "a refused edge changed them");
}

/* All steps of the current instance, in random order until all have gone. */
static void run_instance(struct rng *r, struct path *p)
{
	const struct npumem_plan_block *block = npuv_plan_block(p->plan, p->s->block);
	struct npumem_verdict verdict;
	uint32_t left = block->position_count, stuck = 0, i;
	const char *flaw;
	bool went;

	while (left) {
		uint32_t at = block->first_position + rng_below(r, block->position_count);

		check_edges(r, p, left);
		remember(p);
		if (npuv_states_submit(p->s, at, &verdict)) {
			p->counts->refused_jobs++;
			if (stuck++ > STUCK * block->position_count)
				fail(p->seed, "states", "nothing goes any more");
			compare(p, "a refusal changed them");
			went = false;
			for (i = p->gone; i && !(p->log[i - 1] & EDGE); i--)
				went |= p->log[i - 1] == at;
			if (verdict.rule == NPUMEM_RULE_ENFORCE_TWICE && !went)
				fail(p->seed, "states", "not twice");
			if (verdict.rule == NPUMEM_RULE_ENFORCE_EDGE)
				fail(p->seed, "states", "not of this block");
			continue;
		}
		if (rng_chance(r, 10)) {
			npuv_states_undo(p->s, at);
			compare(p, "undo is not exact");
			undo_some(r, p);
			continue;
		}
		if (p->plan->blocks.count > 1 && rng_chance(r, 10)) {
			uint32_t other = rng_below(r, p->plan->positions.count);

			if ((other < block->first_position ||
			     other - block->first_position >= block->position_count) &&
			    (!npuv_states_submit(p->s, other, &verdict) ||
			     verdict.rule != NPUMEM_RULE_ENFORCE_EDGE))
				fail(p->seed, "states", "a step of another block");
		}
		p->log[p->gone++] = at;
		left--;
		stuck = 0;
		flaw = oracle_step(&oracle, at);
		if (flaw)
			fail(p->seed, "a job in another order", flaw);
	}
}

/* Blocks left to the exit, by breadth. */
static uint32_t distance(const struct npuv_graph *g, uint32_t block)
{
	uint32_t far[ORACLE_BLOCKS], i, round;

	memset(far, 0xff, sizeof(far));
	for (round = 0; round < g->blocks.count; round++) {
		for (i = 0; i < g->edges.count; i++) {
			const struct npumem_edge *e = npuv_edge(g, i);
			uint32_t from = e->to == NPUMEM_NONE ? 0 : far[e->to];

			if (from != NPUMEM_NONE && from + 1 < far[e->from])
				far[e->from] = from + 1;
		}
	}
	return block == NPUMEM_NONE ? 0 : far[block];
}

/* Some edge from here; once the path is long, one towards the exit. */
static uint32_t choose_edge(struct rng *r, const struct path *p, uint32_t crossings)
{
	const struct npuv_graph *g = p->plan->graph;
	uint32_t i, chosen = NPUMEM_NONE, n = 0;

	for (i = 0; i < p->plan->edges.count; i++) {
		const struct npumem_plan_edge *e = npuv_plan_edge(p->plan, i);
		const struct npumem_edge *of = npuv_edge(g, e->edge);

		if (e->from != p->s->block ||
		    (crossings > PATH && distance(g, of->to) >= distance(g, of->from)))
			continue;
		if (!rng_below(r, ++n))
			chosen = i;
	}
	if (chosen == NPUMEM_NONE)
		fail(p->seed, "path", "no way on");
	return chosen;
}

/* One inference. */
static void run_path(struct rng *r, struct path *p)
{
	struct npumem_verdict verdict;
	uint32_t crossings = 0, edge;
	const char *flaw;

	p->gone = 0;
	npuv_states_reset(p->s);
	for (;;) {
		run_instance(r, p);
		if (oracle.flat) {
			flaw = oracle_end(&oracle);
			break;
		}
		check_edges(r, p, 0);
		edge = choose_edge(r, p, crossings++);
		if (npuv_states_cross(p->s, edge, &verdict))
			fail(p->seed, "states", "an edge is refused");
		p->log[p->gone++] = EDGE | edge;
		p->counts->crossings++;
		flaw = oracle_cross(&oracle, edge);
		if (rng_chance(r, 20))
			undo_some(r, p);
		if (flaw || p->s->block == NPUMEM_NONE)
			break;
	}
	if (flaw)
		fail(p->seed, "a path", flaw);
	p->counts->paths++;
}

/* In the order of the plan everything goes, whatever the instance. */
static void check_own_order(struct path *p)
{
	struct npumem_verdict verdict;
	uint32_t i;

	npuv_states_reset(p->s);
	for (i = 0; i < npuv_plan_block(p->plan, 0)->position_count; i++)
		if (npuv_states_submit(p->s, i, &verdict))
			fail(p->seed, "states", "the plan's own order is refused");
}

static void check_accepted(struct rng *r, const struct npuv_plan *plan, uint64_t seed,
			   struct counts *counts)
{
	static struct path p;
	uint32_t i;

	check_walks(plan, seed);
	p.plan = plan;
	p.counts = counts;
	p.seed = seed;
	p.before = malloc(plan->graph->cell_count * sizeof(*p.before) + 1);
	if (npuv_states_create(plan, &p.s) || !p.before)
		abort();
	for (i = 0; i < 3; i++) {
		/* The second inference finds what the first one left. */
		oracle_begin(&oracle, i == 1);
		run_path(r, &p);
	}
	check_own_order(&p);
	free(p.before);
	npuv_states_destroy(p.s);
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
	    g->steps.count > ORACLE_STEPS || p->info->arena_size > ORACLE_ARENA ||
	    g->blocks.count > ORACLE_BLOCKS || p->blocks.count > ORACLE_INSTANCES ||
	    p->edges.count > ORACLE_EDGES || p->info->host_size > ORACLE_HOST ||
	    p->positions.count + p->blocks.count > ORACLE_POSITIONS)
		return false;
	for (i = 0; i < g->tensors.count; i++)
		if (npuv_tensor(g, i)->size > ORACLE_BYTES)
			return false;
	copy(&b->tensors, &g->tensors);
	copy(&b->tiles, &g->tiles);
	copy(&b->accesses, &g->accesses);
	copy(&b->steps, &g->steps);
	copy(&b->blocks, &g->blocks);
	copy(&b->edges, &g->edges);
	copy(&b->carries, &g->carries);
	copy(&b->placements, &p->placements);
	copy(&b->positions, &p->positions);
	copy(&b->plan_blocks, &p->blocks);
	copy(&b->entries, &p->entries);
	copy(&b->plan_edges, &p->edges);
	/* Those of host copies are not the plan's. */
	while (b->placements.count &&
	       build_placement_at(b, b->placements.count - 1)->tensor >= g->tensors.count)
		b->placements.count--;
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

/* Transfers, or tensors that begin in host memory? */
static bool has_moves(const struct build *b)
{
	uint32_t i;

	for (i = 0; i < b->positions.count; i++)
		if (build_position_at(b, i)->kind != NPUMEM_POSITION_STEP)
			return true;
	for (i = 0; i < b->tensors.count; i++)
		if (build_tensor_at(b, i)->flags & NPUMEM_TENSOR_FLAG_HOST)
			return true;
	return false;
}

static void one_case(uint64_t seed, struct counts *counts)
{
	struct rng r = { .state = seed * 0x9e3779b97f4a7c15ull, .wish = wish };
	struct npumem_verdict verdict;
	struct npuv_graph *graph;
	struct npuv_plan *plan;
	struct build_blob g, p;
	const char *flaw;
	uint32_t spoilt;
	struct build b;
	bool moves;
	int err;

	build_init(&b);
	random_case(&r, &b);
	for (spoilt = rng_chance(&r, 50) ? 1 + rng_below(&r, 3) : 0; spoilt; spoilt--)
		mutate_case(&r, &b);
	g = build_graph(&b);
	p = build_plan(&b);
	moves = has_moves(&b);

	err = verify(g, p, &graph, &plan, &verdict);
	flaw = oracle_graph(&oracle, &b);
	if (!flaw)
		flaw = oracle_plan(&oracle);
	if (!err != !flaw || (err && err != -EINVAL && !(err == -EOPNOTSUPP && moves)))
		fail(seed, err ? "verifier refuses" : "verifier accepts", flaw);
	counts->accepted += !err;
	counts->refused += !!err;
	features_count(&counts->pairs, features_of(&b), !err);
	if (!oracle.flat) {
		counts->flow_accepted += !err;
		counts->flow_refused += !!err;
		counts->instances += err ? 0 : b.plan_blocks.count;
	}
	counts->rules[verdict.rule]++;
	counts->moves_accepted += !err && moves;
	counts->moves_refused += err && moves;
	counts->transfers += plan ? plan->transfers : 0;
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
	static struct counts counts;
	uint32_t missing;
	uint64_t i;

	printf("seed %" PRIu64 ", %" PRIu64 " plans\n", seed, count);
	for (i = 0; i < count; i++) {
		/* Every other case is left to chance. */
		wish = i % 2 ? features_rare(&counts.pairs, i) : 0;
		if (argc > 3)
			wish = (uint32_t)strtoul(argv[3], NULL, 0);
		one_case(seed + i, &counts);
	}
	printf("accepted %" PRIu64 ", refused %" PRIu64 ", verifier and oracle agree\n",
	       counts.accepted, counts.refused);
	for (i = 1; i < NPUMEM_RULE_FORMAT; i++)
		if (counts.rules[i])
			printf("  V%-8" PRIu64 " %" PRIu64 "\n", i, counts.rules[i]);
	printf("  %-9s %" PRIu64 "\n", "format", counts.rules[NPUMEM_RULE_FORMAT]);
	printf("of these with several blocks: accepted %" PRIu64 " (%" PRIu64
	       " instances), refused %" PRIu64 "\n",
	       counts.flow_accepted, counts.instances, counts.flow_refused);
	printf("of these with transfers or tensors in host memory: accepted %" PRIu64 " (%" PRIu64
	       " transfers), refused %" PRIu64 "\n",
	       counts.moves_accepted, counts.transfers, counts.moves_refused);
	printf("paths run %" PRIu64 ", edges crossed %" PRIu64 ", jobs refused on the way %" PRIu64
	       "\n",
	       counts.paths, counts.crossings, counts.refused_jobs);
	printf("blobs with bytes changed: accepted %" PRIu64 ", refused %" PRIu64 "\n",
	       counts.raw_accepted, counts.raw_refused);
	missing = features_print(&counts.pairs);
	if (count >= DEFAULT_COUNT && missing) {
		printf("FAILED: %" PRIu32 " pairs of features never accepted, or never refused\n",
		       missing);
		return 1;
	}
	/* A generator that makes only good or only bad plans proves nothing. */
	if (count >= 1000 &&
	    (counts.accepted < count / 5 || counts.refused < count / 5 ||
	     counts.flow_accepted < count / 20 || counts.flow_refused < count / 10 ||
	     counts.moves_accepted < count / 20 || counts.moves_refused < count / 20)) {
		printf("FAILED: less than a fifth of the plans on one side\n");
		return 1;
	}
	return 0;
}
