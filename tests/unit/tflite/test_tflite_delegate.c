// SPDX-License-Identifier: MIT
/*
 * Small graphs in a runtime that looks like TensorFlow Lite: what they compute with the delegate
 * is what they compute without, and what must not happen is refused.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "delegate.h"
#include "npuplan.h"
#include "plugin.h"
#include "said.h"
#include "tflite/nets.h"
#include "tflite/stats.h"
#include "unit.h"

/* A delegate in this process with one option more. */
static struct delegate *make_delegate(const char *key, const char *value)
{
	char *keys[] = { strdup("device"), key ? strdup(key) : NULL };
	char *values[] = { strdup("none"), value ? strdup(value) : NULL };
	struct delegate *d = plugin_create(keys, values, key ? 2 : 1, NULL);

	for (int i = 0; i < 2; i++) {
		free(keys[i]);
		free(values[i]);
	}
	assert_non_null(d);
	return d;
}

struct wanted {
	const struct net *net;
	unsigned int claimed, partitions;
	const char *said;
};

static void same_at(const struct wanted *w, int minor)
{
	struct fake *plain = net_make(w->net, minor), *ours = net_make(w->net, minor);
	struct delegate *d = make_delegate(NULL, NULL);
	struct npumem_tflite_stats stats;
	struct said said;
	char *text;

	plain->clear_temporaries = false;
	said_begin(&said);
	assert_int_equal(fake_delegate(ours, d), TFL_OK);
	text = said_end(&said);
	assert_string_equal(text, w->said);
	free(text);
	assert_int_equal(fake_allocate(plain), TFL_OK);
	if (fake_allocate(ours) != TFL_OK)
		fail_msg("%s: %s", w->net->name, ours->error);
	net_infer(plain, ours, w->net);
	stats = stats_of(d);
	assert_int_equal(stats.claimed, w->claimed);
	assert_int_equal(stats.operators, w->net->op_count);
	assert_int_equal(stats.partitions, w->partitions);
	assert_int_equal(stats.enforced_by, NPUMEM_TFLITE_PROCESS);
	assert_true(stats.arena_bytes >= stats.lower_bound);
	fake_free(ours);
	fake_free(plain);
	delegate_free(d);
}

static void same(void **state)
{
	same_at(*state, 9);
	same_at(*state, 14);
}

TEST_CASE(chain, same, NULL, NULL, struct wanted, &net_chain, 4, 1, "")
TEST_CASE(residual, same, NULL, NULL, struct wanted, &net_residual, 3, 1, "")
TEST_CASE(inplace, same, NULL, NULL, struct wanted, &net_inplace, 3, 1, "")
TEST_CASE(temporaries, same, NULL, NULL, struct wanted, &net_temporaries, 3, 1, "")
TEST_CASE(variable, same, NULL, NULL, struct wanted, &net_variable, 2, 1, "")
TEST_CASE(lasting, same, NULL, NULL, struct wanted, &net_lasting, 3, 1, "")

/* The fake's loop keeps its size, but nobody knows that before it has run. */
TEST_CASE(split, same, NULL, NULL, struct wanted, &net_split, 2, 1,
	  "npumem: left to TensorFlow Lite: node 2 (WHILE): it runs other graphs; and 2 more "
	  "(verbose=2 lists them)\n")
TEST_CASE(
	dynamic, same, NULL, NULL, struct wanted, &net_dynamic, 2, 2,
	"npumem: left to TensorFlow Lite: node 1 (CONV_2D): tensor 2 \"t\" is dynamic; and 1 more "
	"(verbose=2 lists them)\n")

/* ------------------------------------------------------------------------ memory */

TEST(inplace_takes_no_bytes)
{
	struct fake *fake = net_make(&net_inplace, 9);
	struct delegate *d = make_delegate(NULL, NULL);

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_ptr_equal(fake_at(fake, 1)->data.raw, fake_at(fake, 2)->data.raw);
	/* The input, which is kept, the tensor and the output. */
	assert_int_equal(stats_of(d).arena_bytes, 3 * 320);
	fake_free(fake);
	delegate_free(d);
}

/*
 * Behind an operator whose output has no size before it runs the runtime prepares others only in
 * the first inference, when a program has written inputs already: these stay where they are.
 */
TEST(inputs_written_before_there_is_a_plan)
{
	struct fake *fake = net_make(&net_dynamic, 9);
	struct delegate *d = make_delegate(NULL, NULL);

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(stats_of(d).claimed, 2);
	assert_int_equal(fake_at(fake, 0)->allocation_type, TFL_ARENA);
	assert_int_equal(fake_at(fake, 1)->allocation_type, TFL_CUSTOM);
	fake_free(fake);
	delegate_free(d);
}

TEST(inputs_are_reused_if_asked_for)
{
	struct fake *fake = net_make(&net_inplace, 9);
	struct delegate *d = make_delegate("inputs", "reuse");

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(stats_of(d).arena_bytes, 2 * 320);
	fake_free(fake);
	delegate_free(d);
}

TEST(resized)
{
	struct fake *plain = net_make(&net_residual, 9), *ours = net_make(&net_residual, 9);
	struct delegate *d = make_delegate(NULL, NULL);
	uint64_t before;

	assert_int_equal(fake_delegate(ours, d), TFL_OK);
	assert_int_equal(fake_allocate(plain), TFL_OK);
	assert_int_equal(fake_allocate(ours), TFL_OK);
	net_infer(plain, ours, &net_residual);
	before = stats_of(d).arena_bytes;
	fake_resize(plain, 0, 4096);
	fake_resize(ours, 0, 4096);
	assert_int_equal(fake_allocate(plain), TFL_OK);
	assert_int_equal(fake_allocate(ours), TFL_OK);
	net_infer(plain, ours, &net_residual);
	assert_true(stats_of(d).arena_bytes > 4 * before);
	fake_free(ours);
	fake_free(plain);
	delegate_free(d);
}

/* Freeing the delegate first is a mistake that harms nobody. */
TEST(destroyed_first)
{
	struct fake *fake = net_make(&net_chain, 14);
	struct delegate *d = make_delegate(NULL, NULL);

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	delegate_free(d);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	fake_free(fake);
	/* The runtime applies it again when inputs are resized, if it has given the nodes back. */
	fake = net_make(&net_chain, 14);
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	fake_free(fake);
}

TEST(another_graph_is_left)
{
	struct fake *first = net_make(&net_chain, 9), *second = net_make(&net_chain, 9);
	struct delegate *d = make_delegate(NULL, NULL);
	struct said said;
	char *text;

	assert_int_equal(fake_delegate(first, d), TFL_OK);
	said_begin(&said);
	assert_int_equal(fake_delegate(second, d), TFL_OK);
	text = said_end(&said);
	assert_string_equal(text,
			    "npumem: left to TensorFlow Lite: another graph than the first\n");
	free(text);
	assert_int_equal(fake_allocate(second), TFL_OK);
	assert_int_equal(fake_invoke(second), TFL_OK);
	fake_free(second);
	fake_free(first);
	delegate_free(d);
}

/* ---------------------------------------------------------------------- refusals */

/* The delegate refuses the graph, or an allocation, with this error. */
static void refused(struct fake *fake, const char *key, const char *value, const char *text)
{
	struct delegate *d = make_delegate(key, value);
	struct said said;
	int status;

	said_begin(&said);
	status = fake_delegate(fake, d);
	if (status == TFL_OK)
		status = fake_allocate(fake);
	free(said_end(&said));
	assert_int_equal(status, TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error, text);
	fake_free(fake);
	delegate_free(d);
}

TEST(strict)
{
	refused(net_make(&net_split, 9), "strict", "1",
		"npumem: option \"strict\": 3 of 5 operators cannot be claimed: node 2 (WHILE): it "
		"runs other graphs");
}

TEST(strings_are_left)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake_at(fake, 2)->type = TFL_STRING;
	refused(fake, "strict", "1",
		"npumem: option \"strict\": 2 of 4 operators cannot be claimed: node 1 (CONV_2D): "
		"tensor 2 \"t\" holds strings");
}

TEST(resources_are_left)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake_at(fake, 0)->type = TFL_RESOURCE;
	refused(fake, "strict", "1",
		"npumem: option \"strict\": 1 of 4 operators cannot be claimed: node 0 (CONV_2D): "
		"tensor 0 \"t\" is a resource");
}

TEST(no_kernel)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake->registrations[3].known.invoke = NULL;
	refused(fake, "strict", "1",
		"npumem: option \"strict\": 1 of 4 operators cannot be claimed: node 3 (CONV_2D): it "
		"has no kernel to borrow");
}

/* A custom operator that the runtime knows may have functions; one that it does not has none. */
TEST(custom_operators)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake->registrations[2].known.builtin_code = 32;
	fake->registrations[3].known.builtin_code = 32;
	fake->registrations[3].known.prepare = NULL;
	refused(fake, "strict", "1",
		"npumem: option \"strict\": 1 of 4 operators cannot be claimed: node 3 (CUSTOM): the "
		"runtime does not know it");
}

TEST(other_delegate)
{
	struct tfl_delegate other = { 0 };
	struct fake *fake = net_make(&net_chain, 9);

	fake->nodes[3].delegate = &other;
	refused(fake, "strict", "1",
		"npumem: option \"strict\": 1 of 4 operators cannot be claimed: node 3 (CONV_2D): it "
		"is another delegate's");
}

TEST(cannot_be_prepared)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake->states[3]->flags = FAKE_FAILS;
	refused(fake, "strict", "1",
		"npumem: option \"strict\": 1 of 4 operators cannot be claimed: node 3 (CONV_2D): its "
		"kernel cannot be prepared");
}

TEST(lasts_longer_than_its_inputs)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake->states[3]->flags = FAKE_LASTS;
	refused(fake, "strict", "1",
		"npumem: option \"strict\": 1 of 4 operators cannot be claimed: node 3 (CONV_2D): an "
		"output lasts, though its inputs do not");
}

TEST(no_such_tensor)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake->registrations[3].known.prepare = NULL;
	fake->nodes[3].inputs->data[0] = 400;
	refused(fake, "strict", "1",
		"npumem: option \"strict\": 1 of 4 operators cannot be claimed: node 3 (CONV_2D): "
		"there is no tensor 400");
}

TEST(over_budget)
{
	struct fake *fake = net_make(&net_chain, 9);
	struct delegate *d = make_delegate("budget", "256");

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_non_null(strstr(fake->error, "budget"));
	/* Who runs it all the same is told so. */
	assert_int_equal(fake_invoke(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error,
			    "npumem: the operators have no memory: allocating it has failed");
	fake_free(fake);
	delegate_free(d);
}

TEST(becomes_dynamic)
{
	struct fake *fake = net_make(&net_chain, 9);
	struct delegate *d = make_delegate(NULL, NULL);

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	fake->states[1]->flags = FAKE_DYNAMIC;
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error,
			    "npumem: CONV_2D, node 1: tensor 2 \"t\" has become dynamic");
	fake_free(fake);
	delegate_free(d);
}

TEST(kernel_fails)
{
	struct fake *fake = net_make(&net_chain, 9);
	struct delegate *d = make_delegate(NULL, NULL);

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	fake->states[2]->flags = FAKE_FAILS_RUN;
	assert_int_equal(fake_invoke(fake), TFL_ERROR);
	assert_string_equal(fake->error, "npumem: CONV_2D, node 2 has failed");
	fake_free(fake);
	delegate_free(d);
}

/* ------------------------------------------------------------------------ structs */

TEST(weights_of_another_size)
{
	struct fake *fake = net_make(&net_residual, 9);

	fake_at(fake, 2)->bytes--;
	refused(fake, NULL, NULL, "npumem: tensor 2 is not that of a known version of the runtime");
}

TEST(impossible_fields)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake_at(fake, 1)->allocation_type = 99;
	refused(fake, NULL, NULL, "npumem: tensor 1 is not that of a known version of the runtime");
	fake = net_make(&net_chain, 9);
	fake_at(fake, 3)->is_variable = 64;
	refused(fake, NULL, NULL, "npumem: tensor 3 is not that of a known version of the runtime");
}

TEST(impossible_context)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake->context.resize_tensor = NULL;
	refused(fake, NULL, NULL, "npumem: the runtime's context is not that of a known version");
}

/* The vector never moves: there is no telling whether a kernel may be prepared. */
static int add_nothing(struct tfl_context *context, int count, int *first)
{
	*first = 0;
	return TFL_ERROR;
}

TEST(tensors_do_not_grow)
{
	struct fake *fake = net_make(&net_chain, 9);

	fake->context.add_tensors = add_nothing;
	refused(fake, NULL, NULL,
		"npumem: the runtime's tensors do not grow as those of known versions do");
}

/* ------------------------------------------------------------------ bound inputs */

/* Memory that stands for a dma-buf: bytes of a seed from @offset on. */
static int filled(unsigned int seed, size_t offset, size_t bytes)
{
	int fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	unsigned char data[512];

	assert_true(fd >= 0 && bytes <= sizeof(data));
	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)(seed * 31 + i * 7);
	assert_int_equal(pwrite(fd, data, bytes, (off_t)offset), bytes);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return fd;
}

/* One inference of what is bound; the plain one is given the same bytes. */
static void infer_bound(struct fake *plain, struct fake *ours, struct delegate *d,
			unsigned int seed, size_t offset)
{
	int fd = filled(seed, offset, 256);
	struct why why;

	assert_int_equal(pread(fd, fake_at(plain, 0)->data.raw, 256, (off_t)offset), 256);
	if (plugin_bind_input(d, fake_at(ours, 0), fd, offset, &why))
		fail_msg("%s", why.text);
	close(fd);
	assert_int_equal(fake_invoke(plain), TFL_OK);
	if (fake_invoke(ours) != TFL_OK)
		fail_msg("%s", ours->error);
	assert_memory_equal(fake_at(ours, 4)->data.raw, fake_at(plain, 4)->data.raw, 256);
}

static void bind_refused(struct delegate *d, const void *tensor, int fd, uint64_t offset, int code,
			 const char *text)
{
	struct why why;

	assert_int_equal(plugin_bind_input(d, tensor, fd, offset, &why), code);
	assert_string_equal(why.text, text);
}

TEST(inputs_are_bound)
{
	struct fake *plain = net_make(&net_chain, 9), *ours = net_make(&net_chain, 9);
	struct delegate *d = make_delegate("inputs", "bound");

	assert_int_equal(fake_delegate(ours, d), TFL_OK);
	assert_int_equal(fake_allocate(plain), TFL_OK);
	assert_int_equal(fake_allocate(ours), TFL_OK);
	/* The input has no place in the arena. */
	assert_int_equal(stats_of(d).arena_bytes, 2 * 256);
	assert_int_equal(fake_invoke(ours), TFL_DELEGATE_ERROR);
	assert_string_equal(ours->error,
			    "npumem: tensor 0 is bound to nothing (npumem_tflite_bind_input())");
	infer_bound(plain, ours, d, 1, 0);
	infer_bound(plain, ours, d, 2, 64);
	infer_bound(plain, ours, d, 3, 65536 + 128);
	/* Allocated again as it was, it stays bound; the runtime may ask for that at any time. */
	assert_int_equal(fake_allocate(ours), TFL_OK);
	assert_int_equal(fake_invoke(ours), TFL_OK);
	assert_memory_equal(fake_at(ours, 4)->data.raw, fake_at(plain, 4)->data.raw, 256);
	fake_free(ours);
	fake_free(plain);
	delegate_free(d);
}

TEST(an_input_that_is_not_overwritten)
{
	struct fake *fake = net_make(&net_inplace, 9);
	struct delegate *d = make_delegate("inputs", "bound");
	int fd = filled(5, 0, 320);
	struct why why;

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(plugin_bind_input(d, fake_at(fake, 0), fd, 0, &why), 0);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	close(fd);
	fake_free(fake);
	delegate_free(d);
}

TEST(bindings_that_are_refused)
{
	struct fake *fake = net_make(&net_chain, 9);
	struct delegate *d = make_delegate("inputs", "bound");
	int fd = filled(1, 0, 256), pipes[2];
	struct tfl_tensor other = { 0 };

	bind_refused(d, fake_at(fake, 0), fd, 0, -ENOENT,
		     "the tensor is none of the delegate's interpreter");
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	bind_refused(NULL, fake_at(fake, 0), fd, 0, -EINVAL,
		     "no delegate, no tensor, or no descriptor");
	bind_refused(d, NULL, fd, 0, -EINVAL, "no delegate, no tensor, or no descriptor");
	bind_refused(d, fake_at(fake, 0), -1, 0, -EINVAL,
		     "no delegate, no tensor, or no descriptor");
	bind_refused(d, &other, fd, 0, -ENOENT, "the tensor is none of the delegate's interpreter");
	bind_refused(d, fake_at(fake, 1), fd, 0, -ENOENT,
		     "tensor 1 is no input that is to be bound (option \"inputs\")");
	bind_refused(d, fake_at(fake, 0), fd, 8, -EINVAL, "byte 8 is no multiple of 64");
	bind_refused(d, fake_at(fake, 0), fd, 64, -ERANGE,
		     "the tensor has 256 bytes, and from byte 64 on the dma-buf has 192");
	bind_refused(d, fake_at(fake, 0), fd, 1024, -ERANGE,
		     "the tensor has 256 bytes, and from byte 1024 on the dma-buf has 0");
	assert_int_equal(pipe(pipes), 0);
	bind_refused(d, fake_at(fake, 0), pipes[0], 0, -EBADF,
		     "the descriptor has no size: Illegal seek");
	close(pipes[0]);
	close(pipes[1]);
	/* Whoever shrinks it would end the program. */
	pipes[0] = memfd_create("input", MFD_CLOEXEC);
	assert_int_equal(ftruncate(pipes[0], 256), 0);
	bind_refused(d, fake_at(fake, 0), pipes[0], 0, -EBADF,
		     "the descriptor is neither a dma-buf nor memory that is sealed against being "
		     "shrunk (F_SEAL_SHRINK)");
	close(pipes[0]);
	bind_refused(d, fake_at(fake, 0), 1000, 0, -EBADF, "descriptor 1000: Bad file descriptor");
	/* What has failed has bound nothing. */
	assert_int_equal(fake_invoke(fake), TFL_DELEGATE_ERROR);
	close(fd);
	fake_free(fake);
	delegate_free(d);
}

/* An operator that is left to the runtime reads the input, too, and nobody would wait for it. */
TEST(inputs_of_a_part_are_not_bound)
{
	struct fake *fake = net_make(&net_split, 9);
	struct delegate *d = make_delegate("inputs", "bound");
	struct said said;

	said_begin(&said);
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	free(said_end(&said));
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error, "npumem: tensor 0 \"t\" cannot be bound: not all "
					 "operators are claimed (option \"inputs\")");
	fake_free(fake);
	delegate_free(d);
}

/* ----------------------------------------------------------------- planted faults */

static const struct enforcer_ops *good;

/* A planner that puts the last tensor where the first one is. */
static int plan_overlap(struct enforcer *enforcer, struct blobs *blobs, struct why *why)
{
	struct npuplan_error error;
	struct npuplan_plan *plan;
	int err = good->plan(enforcer, blobs, why);

	if (err)
		return err;
	assert_int_equal(npuplan_plan_read(blobs->plan, blobs->plan_size, &plan, &error), 0);
	free(blobs->plan);
	for (uint32_t i = 0; i < plan->placement_count; i++)
		plan->placements[i].offset = 0;
	assert_int_equal(npuplan_plan_write(plan, &blobs->plan, &blobs->plan_size, &error), 0);
	npuplan_plan_free(plan);
	return 0;
}

TEST(overlapping_planner)
{
	struct fake *fake = net_make(&net_chain, 9);
	struct delegate *d = make_delegate(NULL, NULL);
	struct enforcer_ops bad = *d->enforcer->ops;

	good = d->enforcer->ops;
	bad.plan = plan_overlap;
	d->enforcer->ops = &bad;
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
	assert_non_null(strstr(fake->error, "npumem: the verifier refuses the plan: "));
	assert_non_null(strstr(fake->error, "CONV_2D, node 0"));
	assert_non_null(strstr(fake->error, "256"));
	fake_free(fake);
	d->enforcer->ops = good;
	delegate_free(d);
}

static int gone(struct enforced *enforced, struct why *why)
{
	return why_fail(why, -ENODEV, "the device is gone");
}

/* It went while the last operator computed: what that has written is nowhere. */
TEST(gone_in_the_end)
{
	struct fake *fake = net_make(&net_chain, 9);
	struct delegate *d = make_delegate(NULL, NULL);
	struct enforcer_ops bad = *d->enforcer->ops;

	good = d->enforcer->ops;
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	bad.end = gone;
	d->enforcer->ops = &bad;
	assert_int_equal(fake_invoke(fake), TFL_DELEGATE_ERROR);
	assert_string_equal(fake->error, "npumem: the device is gone");
	d->enforcer->ops = good;
	assert_int_equal(fake_invoke(fake), TFL_OK);
	fake_free(fake);
	delegate_free(d);
}

TEST(out_of_order)
{
	struct fake *fake = net_make(&net_chain, 9);
	struct delegate *d = make_delegate(NULL, NULL);
	struct partition *p;
	struct why why;
	int status;

	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	p = d->partitions;
	assert_int_equal(p->memory->enforcer->ops->begin(p->memory->enforced, &why), 0);
	assert_int_equal(partition_step(&fake->context, p, 1, &why, &status), -EPERM);
	assert_string_equal(
		why.text,
		"read of a tile that is not live: step 1 (CONV_2D, node 1) may not access tensor 1 \"t\", bytes "
		"[256, 512) of the arena; step 0 (CONV_2D, node 0) is to come before");
	assert_int_equal(partition_step(&fake->context, p, 0, &why, &status), 0);
	assert_int_equal(partition_step(&fake->context, p, 0, &why, &status), -EPERM);
	assert_int_equal(partition_step(&fake->context, p, 1, &why, &status), 0);
	fake_free(fake);
	delegate_free(d);
}

/* ------------------------------------------------------------------------- cache */

static char folder[] = "/tmp/npumem-cache-XXXXXX";

/* Cached plans of the delegate; @text: what it has said. */
static unsigned int cached(char **text)
{
	struct fake *fake = net_make(&net_residual, 9);
	struct delegate *d = make_delegate("cache", folder);
	struct said said;
	unsigned int count;

	said_begin(&said);
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	*text = said_end(&said);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	count = stats_of(d).cached;
	fake_free(fake);
	delegate_free(d);
	return count;
}

/* Change the only file of the folder. */
static void each_file(void (*change)(const char *path))
{
	struct dirent *entry;
	DIR *dir = opendir(folder);
	char path[600];

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		change(path);
	}
	closedir(dir);
}

static void cut_short(const char *path)
{
	assert_int_equal(truncate(path, 100), 0);
}

static void empty(const char *path)
{
	assert_int_equal(truncate(path, 0), 0);
}

static void spoil(const char *path)
{
	FILE *file = fopen(path, "r+");

	assert_non_null(file);
	fseek(file, -16, SEEK_END);
	fputs("damaged", file);
	fclose(file);
}

static void remove_file(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

static void damaged(void (*change)(const char *path))
{
	char *text;

	each_file(change);
	assert_int_equal(cached(&text), 0);
	assert_non_null(strstr(text, "npumem: the cached plan is no good, so it is made anew: "));
	free(text);
	assert_int_equal(cached(&text), 1);
	free(text);
}

TEST(cache)
{
	char *text;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(cached(&text), 0);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(cached(&text), 1);
	assert_string_equal(text, "");
	free(text);
	damaged(cut_short);
	damaged(empty);
	damaged(spoil);
	each_file(remove_file);
	assert_int_equal(rmdir(folder), 0);
	/* Something else stands in its place. */
	assert_int_equal(symlink("/dev/null", folder), 0);
	assert_int_equal(cached(&text), 0);
	assert_non_null(strstr(text, "npumem: the plan is not cached: /tmp/npumem-cache-"));
	assert_non_null(strstr(text, ": Not a directory\n"));
	free(text);
	assert_int_equal(unlink(folder), 0);
}
