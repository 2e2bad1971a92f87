// SPDX-License-Identifier: MIT
/*
 * What jobs on several engines wait for, against an oracle that executes them in any order that
 * this allows.
 *
 * usage: prop_hazards [SEED [COUNT]]
 *
 * Random plans that the verifier accepts are run along random paths, as the driver does: SUBMITs
 * of several jobs, each of one or more positions that npuv_states_submit() lets go, each on some
 * engine; some SUBMITs are taken back. npuv_hazards_submit() says which jobs a job waits for.
 * The oracle executes jobs at random moments: each engine its own in their order, otherwise
 * whichever has what it waits for. Every read must see the right bytes, and no two jobs that
 * could run beside each other may share a byte that one of them writes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "random_case.h"
#include "verify/verify.h"

#define DEFAULT_SEED  20261124
#define DEFAULT_COUNT 40000

#define ENGINES	  4
#define JOBS	  256 /* of an engine, in one inference */
#define POSITIONS 4   /* of a job */
#define SUBMIT	  6   /* jobs of one SUBMIT */
#define STUCK	  100
#define CROSSINGS 12

/** struct job - one of a path; @after: jobs of each engine that end before it begins */
struct job {
	uint32_t positions[POSITIONS];
	uint32_t count;
	uint32_t engine;
	uint32_t after[ENGINES];
};

/*
 * One run. Jobs are counted since the inference began, by engine: those that an engine was given,
 * those that have ended, and those that were there when the block was entered.
 */
struct path {
	const struct npuv_plan *plan;
	struct npuv_states *states;
	struct npuv_hazards *hazards;
	uint32_t engines;
	struct job jobs[ENGINES][JOBS];
	uint32_t issued[ENGINES], ended[ENGINES], barrier[ENGINES];
	uint64_t seed;
};

struct counts {
	uint64_t plans, paths, jobs, overtaking, waiting, beside, taken_back, crossings;
};

static struct oracle oracle;
static struct path path;
static struct counts counts;

static void fail(const char *what, const char *how)
{
	printf("FAILED: %s: %s\nrepeat with: prop_hazards %" PRIu64 " 1\n", what, how, path.seed);
	exit(1);
}

/* ------------------------------------------------------------- bytes of a position */

enum touch { READ = 1, WRITTEN = 2 };

static void touch_transfer(const struct npumem_position *p, uint32_t position, unsigned char *bytes)
{
	bool in = p->kind == NPUMEM_POSITION_LOAD || p->kind == NPUMEM_POSITION_FILL;
	unsigned int at;
	uint32_t i, byte;

	for (i = 0; p->kind != NPUMEM_POSITION_DROP && i < p->length; i++) {
		byte = (uint32_t)p->first + i;
		if (!oracle_address(&oracle, p->index, byte, position, &at))
			fail("transfer", "nowhere");
		bytes[at] |= in ? WRITTEN : READ;
		bytes[ORACLE_HOST_AT + oracle.host_at[p->index][byte]] |= in ? READ : WRITTEN;
	}
}

static void touch(uint32_t position, unsigned char *bytes)
{
	const struct npumem_position *p = build_position_at(oracle.b, position);
	const struct npumem_step *step;
	uint32_t a, i, mode;
	unsigned int at;

	if (p->kind != NPUMEM_POSITION_STEP) {
		touch_transfer(p, position, bytes);
		return;
	}
	step = build_step_at(oracle.b, p->index);
	for (a = step->first_access; a < step->first_access + step->access_count; a++) {
		mode = build_access_at(oracle.b, a)->mode;
		for (i = 0; i < oracle.byte_count[a]; i++) {
			/* A parameter may be nowhere. */
			if (!oracle_address(&oracle, oracle.tensor_of[a], oracle.bytes[a][i],
					    position, &at))
				continue;
			bytes[at] |= mode == NPUMEM_ACCESS_READ ? READ : WRITTEN;
		}
	}
}

static void check_beside(const struct job *a, const struct job *b)
{
	static unsigned char first[ORACLE_MEMORY], second[ORACLE_MEMORY];
	uint32_t i;

	memset(first, 0, sizeof(first));
	memset(second, 0, sizeof(second));
	for (i = 0; i < a->count; i++)
		touch(a->positions[i], first);
	for (i = 0; i < b->count; i++)
		touch(b->positions[i], second);
	for (i = 0; i < ORACLE_MEMORY; i++)
		if (first[i] && second[i] && (first[i] | second[i]) & WRITTEN)
			fail("two jobs beside each other", "share a byte that one writes");
	counts.beside++;
}

/* ------------------------------------------------------------------ execution */

/* The job that an engine would execute now, or NULL. */
static struct job *ready(struct path *p, uint32_t engine)
{
	struct job *job = &p->jobs[engine][p->ended[engine]];
	uint32_t e;

	if (p->ended[engine] == p->issued[engine])
		return NULL;
	for (e = 0; e < p->engines; e++)
		if (e != engine && p->ended[e] < job->after[e])
			return NULL;
	return job;
}

static void execute(struct path *p, struct job *job)
{
	const char *flaw;
	uint32_t i, e;

	for (e = 0; e < p->engines; e++) {
		struct job *other = e == job->engine ? NULL : ready(p, e);

		if (other)
			check_beside(job, other);
		counts.waiting += e != job->engine && job->after[e] > p->barrier[e];
	}
	for (i = 0; i < job->count; i++) {
		flaw = oracle_step(&oracle, job->positions[i]);
		if (flaw)
			fail("a job in an order that is allowed", flaw);
	}
	p->ended[job->engine]++;
	counts.jobs++;
}

/* One job that may go, of an engine by chance; false if there is none left. */
static bool execute_one(struct rng *r, struct path *p)
{
	uint32_t e, n = 0;
	struct job *job, *chosen = NULL;
	bool left = false;

	for (e = 0; e < p->engines; e++) {
		left |= p->ended[e] < p->issued[e];
		job = ready(p, e);
		if (job && !rng_below(r, ++n))
			chosen = job;
	}
	if (chosen)
		execute(p, chosen);
	else if (left)
		fail("jobs", "all wait for each other");
	return chosen;
}

/* ----------------------------------------------------------------- submission */

/* Positions for a job, of those that go: their number. Not waited for: what it has is undone. */
static uint32_t fill_job(struct rng *r, struct path *p, struct job *job, uint32_t wanted)
{
	const struct npumem_plan_block *block = npuv_plan_block(p->plan, p->states->block);
	uint32_t number = p->issued[job->engine] - p->barrier[job->engine] + 1;
	struct npumem_verdict verdict;
	uint32_t tries, at, e;

	for (tries = 0; p->states->left && job->count < wanted; tries++) {
		if (tries > STUCK * block->position_count)
			fail("states", "nothing goes any more");
		at = block->first_position + rng_below(r, block->position_count);
		if (npuv_states_submit(p->states, at, &verdict))
			continue;
		job->positions[job->count++] = at;
		if (npuv_hazards_submit(p->hazards, at, job->engine, number, job->after))
			fail("hazards", "refused");
	}
	for (e = 0; e < p->engines; e++) {
		job->after[e] += p->barrier[e];
		/* Of what was taken back. */
		if (job->after[e] > p->issued[e])
			job->after[e] = p->issued[e];
	}
	return job->count;
}

/* Some jobs at once, or none of them after all. */
static void submit(struct rng *r, struct path *p)
{
	uint32_t i, n = 1 + rng_below(r, SUBMIT), gone = 0;
	struct job *jobs[SUBMIT];

	for (i = 0; i < n && p->states->left; i++) {
		uint32_t engine = rng_below(r, p->engines);
		struct job *job = &p->jobs[engine][p->issued[engine]];

		memset(job, 0, sizeof(*job));
		job->engine = engine;
		fill_job(r, p, job, 1 + rng_below(r, POSITIONS));
		p->issued[engine]++;
		jobs[gone++] = job;
	}
	if (!rng_chance(r, 15))
		return;
	while (gone--) {
		p->issued[jobs[gone]->engine]--;
		while (jobs[gone]->count)
			npuv_states_undo(p->states, jobs[gone]->positions[--jobs[gone]->count]);
		counts.taken_back++;
	}
}

/* Of two jobs on different engines, one that was submitted later has ended, the other not. */
static void count_overtaking(const struct path *p)
{
	uint32_t e, n = 0;

	for (e = 0; e < p->engines; e++)
		n += p->ended[e] < p->issued[e];
	counts.overtaking += n > 1;
}

static void run_instance(struct rng *r, struct path *p)
{
	while (p->states->left) {
		submit(r, p);
		while (rng_chance(r, 60) && execute_one(r, p))
			count_overtaking(p);
	}
	while (execute_one(r, p))
		;
}

/* Some edge from here, at last towards the exit; NPUMEM_NONE if it is not found. */
static uint32_t choose_edge(struct rng *r, const struct path *p, bool exit)
{
	uint32_t i, n = 0, chosen = NPUMEM_NONE;

	for (i = 0; i < p->plan->edges.count; i++) {
		const struct npumem_plan_edge *e = npuv_plan_edge(p->plan, i);

		if (e->from == p->states->block && (!exit || e->to == NPUMEM_NONE) &&
		    !rng_below(r, ++n))
			chosen = i;
	}
	return chosen;
}

static void cross(struct path *p, uint32_t edge)
{
	struct npumem_verdict verdict;
	const char *flaw;
	uint32_t to = npuv_plan_edge(p->plan, edge)->to;

	if (npuv_states_cross(p->states, edge, &verdict))
		fail("states", "an edge is refused");
	flaw = oracle_cross(&oracle, edge);
	if (flaw)
		fail("an edge", flaw);
	memcpy(p->barrier, p->issued, sizeof(p->barrier));
	if (to != NPUMEM_NONE)
		npuv_hazards_enter(p->hazards, to);
	counts.crossings++;
}

/* One inference, or the beginning of one that goes in circles. */
static void run_path(struct rng *r, struct path *p, bool again)
{
	uint32_t crossings, edge = NPUMEM_NONE;
	const char *flaw;

	memset(p->issued, 0, sizeof(p->issued));
	memset(p->ended, 0, sizeof(p->ended));
	memset(p->barrier, 0, sizeof(p->barrier));
	oracle_begin(&oracle, again);
	npuv_states_reset(p->states);
	npuv_hazards_enter(p->hazards, 0);
	for (crossings = 0; p->states->block != NPUMEM_NONE && crossings < CROSSINGS; crossings++) {
		run_instance(r, p);
		if (oracle.flat) {
			flaw = oracle_end(&oracle);
			if (flaw)
				fail("the end", flaw);
			break;
		}
		edge = choose_edge(r, p, crossings > CROSSINGS / 2);
		if (edge == NPUMEM_NONE)
			edge = choose_edge(r, p, false);
		cross(p, edge);
	}
	counts.paths++;
}

/* ---------------------------------------------------------------------- cases */

static void run_plan(struct rng *r, const struct npuv_plan *plan)
{
	uint32_t i;

	path.plan = plan;
	path.engines = 1 + rng_below(r, ENGINES);
	if (npuv_states_create(plan, &path.states) ||
	    npuv_hazards_create(plan, path.engines, &path.hazards))
		abort();
	for (i = 0; i < 2; i++)
		run_path(r, &path, false);
	npuv_hazards_destroy(path.hazards);
	npuv_states_destroy(path.states);
	counts.plans++;
}

static void one_case(uint64_t seed)
{
	struct rng r = { .state = seed * 0x9e3779b97f4a7c15ull };
	struct npuv_graph *graph = NULL;
	struct npuv_plan *plan = NULL;
	struct npumem_verdict verdict;
	struct build_blob g, p;
	struct build b;

	path.seed = seed;
	build_init(&b);
	random_case(&r, &b);
	g = build_graph(&b);
	p = build_plan(&b);
	if (!npuv_graph_create(g.data, g.size, &npuv_default_limits, NULL, &verdict, &graph) &&
	    !npuv_plan_create(graph, p.data, p.size, &npuv_default_limits, NULL, &verdict, &plan) &&
	    !oracle_graph(&oracle, &b) && !oracle_plan(&oracle))
		run_plan(&r, plan);
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	free(g.data);
	free(p.data);
	build_free(&b);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : DEFAULT_SEED;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : DEFAULT_COUNT;
	uint64_t i;

	for (i = 0; i < count; i++)
		one_case(seed + i);
	printf("plans %" PRIu64 ", paths %" PRIu64 ", edges crossed %" PRIu64 "\n", counts.plans,
	       counts.paths, counts.crossings);
	printf("jobs executed %" PRIu64 ", waits for other engines %" PRIu64
	       ", pairs beside each other %" PRIu64 ", moments of overlap %" PRIu64
	       ", jobs taken back %" PRIu64 "\n",
	       counts.jobs, counts.waiting, counts.beside, counts.overtaking, counts.taken_back);
	/* What waits for everything, or for nothing, proves little. */
	if (count >= 1000 && (counts.plans < count / 5 || counts.waiting < counts.jobs / 10 ||
			      counts.beside < counts.jobs / 20 || !counts.taken_back ||
			      counts.crossings < count / 10)) {
		printf("FAILED: too few of some kind\n");
		return 1;
	}
	return 0;
}
