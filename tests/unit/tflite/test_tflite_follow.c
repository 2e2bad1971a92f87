// SPDX-License-Identifier: MIT
/*
 * Better plans that take the place of others between two inferences: outputs are those of the
 * runtime without a delegate, and on any failure the old plan goes on.
 */
#include <errno.h>

#include "delegate.h"
#include "npuplan.h"
#include "plugin.h"
#include "said.h"
#include "tflite/fake_network.h"
#include "tflite/nets.h"
#include "tflite/stats.h"
#include "unit.h"

/*
 * struct daemon - what makes better plans
 * @with: the enforcer's operations, and improved()
 * @delegate: whose plans they are
 * @asked: how often it was
 * @left: better plans that it has still to give
 * @shift: by so many bytes everything lies further from the arena's beginning in the next plan
 * @overlaps: they are wrong
 * @err: how it fails
 */
static struct {
	struct enforcer_ops with;
	struct delegate *delegate;
	unsigned int asked, left;
	uint64_t shift;
	bool overlaps;
	int err;
} daemon;

static void make_plan(const struct memory *m, void **blob, size_t *size)
{
	struct npuplan_plan *plan;
	struct npuplan_error error;

	assert_int_equal(npuplan_plan_read(m->blobs.plan, m->blobs.plan_size, &plan, &error), 0);
	for (uint32_t i = 0; i < plan->placement_count; i++)
		plan->placements[i].offset =
			daemon.overlaps ? 0 : plan->placements[i].offset + daemon.shift;
	plan->info.arena_size += daemon.shift;
	assert_int_equal(npuplan_plan_write(plan, blob, size, &error), 0);
	npuplan_plan_free(plan);
}

static int improved(struct enforced *enforced, void **plan, size_t *size, struct why *why)
{
	*plan = NULL;
	daemon.asked++;
	if (daemon.err)
		return why_fail(why, daemon.err, "npumemd is not there");
	if (!daemon.left)
		return 0;
	daemon.left--;
	for (struct partition *p = daemon.delegate->partitions; p; p = p->next)
		if (p->memory && p->memory->enforced == enforced)
			make_plan(p->memory, plan, size);
	assert_non_null(*plan);
	return 0;
}

/* A delegate in this process that follows a daemon which has so many better plans. */
static struct delegate *make_delegate(const char *engine, const char *inputs, unsigned int plans)
{
	char *keys[] = { strdup("device"), strdup("engine"), strdup("verbose"), strdup("inputs") };
	char *values[] = { strdup("none"), strdup(engine), strdup("1"), strdup(inputs) };
	struct delegate *d = plugin_create(keys, values, strcmp(engine, "engine") ? 4 : 3, NULL);

	for (int i = 0; i < 4; i++) {
		free(keys[i]);
		free(values[i]);
	}
	assert_non_null(d);
	memset(&daemon, 0, sizeof(daemon));
	daemon.with = *d->enforcer->ops;
	daemon.with.improved = improved;
	daemon.delegate = d;
	daemon.left = plans;
	daemon.shift = 64;
	d->enforcer->ops = &daemon.with;
	d->options.follow = 1;
	return d;
}

static void allocate(struct fake *fake, struct delegate *d)
{
	if (fake_delegate(fake, d) != TFL_OK || fake_allocate(fake) != TFL_OK)
		fail_msg("%s", fake->error);
}

/* ------------------------------------------------------------------ borrowed kernels */

struct borrowed {
	const struct net *net;
	const char *inputs;
};

static void borrows(void **state)
{
	const struct borrowed *b = *state;
	struct fake *plain = net_make(b->net, 9), *ours = net_make(b->net, 9);
	struct delegate *d = make_delegate("borrow", b->inputs, 2);
	const void *before;
	struct said said;

	said_begin(&said);
	allocate(ours, d);
	assert_int_equal(fake_allocate(plain), TFL_OK);
	before = fake_at(ours, 0)->data.raw;
	/* The last inference has the input of the one before. */
	net_infer(plain, ours, b->net);
	free(said_end(&said));
	assert_int_equal(stats_of(d).swaps, 2);
	assert_true(daemon.asked >= 3);
	/* Where an operator is left to the runtime, so is its input. */
	if (d->holder[0])
		assert_ptr_not_equal(fake_at(ours, 0)->data.raw, before);
	fake_free(ours);
	fake_free(plain);
	delegate_free(d);
}

TEST_CASE(chain, borrows, NULL, NULL, struct borrowed, &net_chain, "keep")
TEST_CASE(residual, borrows, NULL, NULL, struct borrowed, &net_residual, "keep")
TEST_CASE(in_place, borrows, NULL, NULL, struct borrowed, &net_inplace, "keep")
TEST_CASE(temporaries, borrows, NULL, NULL, struct borrowed, &net_temporaries, "keep")
TEST_CASE(several_partitions, borrows, NULL, NULL, struct borrowed, &net_split, "keep")
TEST_CASE(variables, borrows, NULL, NULL, struct borrowed, &net_variable, "keep")
TEST_CASE(lasting, borrows, NULL, NULL, struct borrowed, &net_lasting, "keep")

/* An input whose bytes others get lies where the better plan has it when it is read. */
TEST(reused_input)
{
	struct fake *plain = net_make(&net_chain, 9), *ours = net_make(&net_chain, 9);
	struct delegate *d = make_delegate("borrow", "reuse", 5);
	struct said said;

	said_begin(&said);
	allocate(ours, d);
	assert_int_equal(fake_allocate(plain), TFL_OK);
	for (unsigned int seed = 1; seed <= 6; seed++) {
		fake_fill(plain, 0, seed);
		fake_fill(ours, 0, seed);
		assert_int_equal(fake_invoke(plain), TFL_OK);
		assert_int_equal(fake_invoke(ours), TFL_OK);
		assert_same_outputs(plain, ours, &net_chain);
	}
	free(said_end(&said));
	assert_int_equal(stats_of(d).swaps, 5);
	fake_free(ours);
	fake_free(plain);
	delegate_free(d);
}

/* ---------------------------------------------------------------------- on an engine */

TEST(computed)
{
	struct delegate *d = make_delegate("engine", "", 3);
	struct fake *fake = network_new();
	struct said said;
	char *text;

	said_begin(&said);
	allocate(fake, d);
	for (int seed = 1; seed <= 5; seed++) {
		const struct tfl_tensor *in = fake_at(fake, IN), *out = fake_at(fake, LAST);
		float expected[VALUES];

		network_fill(fake, seed);
		assert_int_equal(fake_invoke(fake), TFL_OK);
		network_compute(in->data.raw, expected, ROWS * COLUMNS, false);
		assert_memory_equal(out->data.raw, expected, out->bytes);
	}
	text = said_end(&said);
	assert_int_equal(daemon.asked, 5);
	assert_int_equal(stats_of(d).swaps, 3);
	assert_non_null(strstr(text, "npumem: a better plan: arena "));
	assert_non_null(strstr(text, ", spilled 0 and no longer 0\n"));
	free(text);
	fake_free(fake);
	delegate_free(d);
}

/* ------------------------------------------------------------------------- failures */

static void goes_on(const char *engine, struct fake *fake, void (*spoil)(void), const char *words)
{
	struct delegate *d = make_delegate(engine, "keep", 1);
	const struct memory *before;
	struct said said;
	char *text;

	said_begin(&said);
	allocate(fake, d);
	spoil();
	before = d->partitions->memory;
	assert_int_equal(fake_invoke(fake), TFL_OK);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	text = said_end(&said);
	if (!strstr(text, words))
		fail_msg("%s", text);
	assert_ptr_equal(d->partitions->memory, before);
	assert_int_equal(stats_of(d).swaps, 0);
	free(text);
	fake_free(fake);
	delegate_free(d);
}

static void is_gone(void)
{
	daemon.err = -ENOTCONN;
}

static void is_wrong(void)
{
	daemon.overlaps = true;
}

static const char gone[] = "npumem: no better plan, the old one goes on: npumemd is not there\n";
static const char wrong[] =
	"npumem: no better plan, the old one goes on: the verifier refuses the plan: ";

TEST(borrowed_without_daemon)
{
	goes_on("borrow", net_make(&net_chain, 9), is_gone, gone);
}

TEST(computed_without_daemon)
{
	goes_on("engine", network_new(), is_gone, gone);
}

TEST(borrowed_with_a_wrong_plan)
{
	goes_on("borrow", net_make(&net_chain, 9), is_wrong, wrong);
}

TEST(computed_with_a_wrong_plan)
{
	goes_on("engine", network_new(), is_wrong, wrong);
}

/* Nobody is asked where the option is not there. */
TEST(nobody_follows)
{
	struct fake *fake = net_make(&net_chain, 9);
	struct delegate *d = make_delegate("borrow", "keep", 1);
	struct said said;

	d->options.follow = 0;
	said_begin(&said);
	allocate(fake, d);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	free(said_end(&said));
	assert_int_equal(daemon.asked, 0);
	assert_int_equal(stats_of(d).swaps, 0);
	fake_free(fake);
	delegate_free(d);
}
