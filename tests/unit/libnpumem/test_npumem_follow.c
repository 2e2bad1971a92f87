// SPDX-License-Identifier: MIT
/* libnpumem: plans asked for again, and what lasts when a better one takes the place of another. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "layout_build.h"
#include "npumem_fake.h"
#include "unit.h"

#define SECOND 1000000000ll

enum { INPUT, STATE, PARAMETER, OUTPUT, BOUND };

/* Plans that the daemon may have made. */
enum variant { FIRST, SMALL, MOVING, MOVES_LESS, OTHER_MODEL, VARIANTS };

/*
 * struct world - a driver with a daemon that has one plan at a time
 * @graphs, @plans: blobs of each variant; @arenas, @hosts: the sizes
 * @daemon: what the daemon has; @failed: errno that it ends requests with
 * @variants: of plans, by their handles
 * @handles, @runs: number of plans and runs made; @buffers: of buffers, each of which lies
 *	elsewhere in the device's file
 * @requests: number of requests; @deadline: of the last one
 * @plans_gone, @runs_gone, @graphs_gone: destroyed
 * @refused: ioctl that ends with @errnum
 */
static struct world {
	struct build_blob graphs[VARIANTS], plans[VARIANTS];
	uint64_t arenas[VARIANTS], hosts[VARIANTS];
	enum variant daemon;
	int failed;
	enum variant variants[64];
	uint32_t handles, buffers, runs;
	unsigned int requests, plans_gone, runs_gone, graphs_gone;
	unsigned long refused;
	int errnum;
	int64_t deadline;
} world;

static void build_model(struct build *b)
{
	build_init(b);
	build_tensor(b, NPUMEM_TENSOR_INPUT, 100, "in");
	build_tensor(b, NPUMEM_TENSOR_STATE, 64, "state");
	build_tensor(b, NPUMEM_TENSOR_PARAMETER, 32, "weights");
	build_tensor(b, NPUMEM_TENSOR_OUTPUT, 100, "out");
	build_tensor(b, NPUMEM_TENSOR_INPUT, 40, "bound");
	build_tensor_at(b, BOUND)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	for (uint32_t t = INPUT; t <= BOUND; t++)
		build_whole(b, t);
	build_step(b, 0, "step");
	for (uint32_t t = INPUT; t <= BOUND; t++)
		build_access(b, t, t == OUTPUT ? NPUMEM_ACCESS_WRITE : NPUMEM_ACCESS_READ);
	build_finish(b);
}

static void build_first(struct build *b)
{
	build_model(b);
	build_place(b, INPUT, 0);
	build_place(b, STATE, 128);
	build_place(b, PARAMETER, 256);
	build_place(b, OUTPUT, 3000);
}

/* State in two pieces, which have changed their order; everything lies elsewhere. */
static void build_small(struct build *b)
{
	build_model(b);
	build_place_region(b, STATE, 0, 0, 512, build_region(0, 40));
	build_place_region(b, STATE, 0, 0, 0, build_region(40, 24));
	build_place(b, PARAMETER, 64);
	build_place(b, INPUT, 128);
	build_place(b, OUTPUT, 300);
	b->info.arena_size = 600;
}

static void build_moves_less(struct build *b)
{
	build_transfers(b);
	for (uint32_t i = 0; i < b->positions.count; i++)
		if (build_position_at(b, i)->kind == NPUMEM_POSITION_SPILL)
			build_position_at(b, i)->length = 190;
	b->info.arena_size += 100;
}

static void build_other_model(struct build *b)
{
	build_model(b);
	build_tensor_at(b, STATE)->size = 60;
	build_tile_at(b, STATE)->region = build_region(0, 60);
	build_place(b, STATE, 0);
}

static const struct {
	void (*build)(struct build *b);
} variants[VARIANTS] = {
	[FIRST] = { build_first },
	[SMALL] = { build_small },
	[MOVING] = { build_transfers },
	[MOVES_LESS] = { build_moves_less },
	[OTHER_MODEL] = { build_other_model },
};

static void read_plan(struct drm_npumem_plan_read *args)
{
	enum variant v = world.variants[args->handle];

	if (world.failed && args->handle > 1) {
		args->state = NPUMEM_PLAN_STATE_FAILED;
		args->error = world.failed;
		return;
	}
	args->state = NPUMEM_PLAN_STATE_READY;
	args->arena_size = world.arenas[v];
	args->host_size = world.hosts[v];
	fake_give(&args->blob, world.plans[v].data, world.plans[v].size);
	fake_give(&args->graph, world.graphs[v].data, world.graphs[v].size);
}

static int handle(unsigned long request, void *argument)
{
	if (request == world.refused)
		return world.errnum;
	switch (request) {
	case DRM_IOCTL_NPUMEM_PLAN_LOAD:
		((struct drm_npumem_plan_load *)argument)->handle = ++world.handles;
		return 0;
	case DRM_IOCTL_NPUMEM_PLAN_REQUEST:
		world.requests++;
		world.deadline = ((struct drm_npumem_plan_request *)argument)->deadline_ns;
		world.variants[++world.handles] = world.daemon;
		((struct drm_npumem_plan_request *)argument)->handle = world.handles;
		return 0;
	case DRM_IOCTL_NPUMEM_PLAN_READ:
		read_plan(argument);
		return 0;
	case DRM_IOCTL_NPUMEM_RUN_CREATE:
		((struct drm_npumem_run_create *)argument)->handle = ++world.runs;
		((struct drm_npumem_run_create *)argument)->arena_bo = ++world.buffers;
		return 0;
	case DRM_IOCTL_NPUMEM_BO_CREATE:
		((struct drm_npumem_bo_create *)argument)->size = 4096;
		((struct drm_npumem_bo_create *)argument)->handle = ++world.buffers;
		return 0;
	case DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET:
		((struct drm_npumem_bo_mmap_offset *)argument)->offset =
			4096ull * ((struct drm_npumem_bo_mmap_offset *)argument)->handle;
		return 0;
	case DRM_IOCTL_NPUMEM_PLAN_DESTROY:
		world.plans_gone++;
		return 0;
	case DRM_IOCTL_NPUMEM_RUN_DESTROY:
		world.runs_gone++;
		return 0;
	case DRM_IOCTL_NPUMEM_GRAPH_DESTROY:
		world.graphs_gone++;
		return 0;
	default:
		return fake_default(request, argument);
	}
}

/* struct fixture - what a test has; @plan is the first one */
struct fixture {
	struct npumem_device *device;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_follow *follow;
};

static struct npumem_request request_now(void)
{
	return (struct npumem_request){ .planner = "auto",
					.deadline = npumem_deadline(60 * SECOND) };
}

static void follow(struct fixture *f, uint32_t objective)
{
	struct npumem_request request = request_now();

	request.objective = objective;
	npumem_follow_free(f->follow);
	assert_int_equal(npumem_follow_new(f->graph, &request, SECOND, &f->follow, &error), 0);
}

static int setup(void **state)
{
	static struct fixture f;

	fake_reset();
	memset(&world, 0, sizeof(world));
	memset(&error, 0, sizeof(error));
	memset(&f, 0, sizeof(f));
	for (int v = 0; v < VARIANTS; v++) {
		struct build b;

		variants[v].build(&b);
		world.graphs[v] = build_graph(&b);
		world.plans[v] = build_plan(&b);
		world.arenas[v] = b.info.arena_size;
		world.hosts[v] = b.info.host_size;
		build_free(&b);
	}
	fake.handler = handle;
	f.device = fake_device();
	assert_int_equal(npumem_graph_new(f.device, "g", 1, NULL, &f.graph, &error), 0);
	assert_int_equal(npumem_plan_load(f.graph, "p", 1, NULL, &f.plan, &error), 0);
	follow(&f, NPUMEM_OBJECTIVE_ARENA);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	npumem_device_close(f->device);
	npumem_graph_free(f->graph);
	npumem_follow_free(f->follow);
	npumem_plan_free(f->plan);
	assert_int_equal(world.graphs_gone, 1);
	for (int v = 0; v < VARIANTS; v++) {
		free(world.graphs[v].data);
		free(world.plans[v].data);
	}
	return 0;
}

/* Asks at a time when it may, and takes the answer. */
static int ask(struct fixture *f, struct npumem_plan **better)
{
	unsigned int requests = world.requests;
	int64_t now = f->follow->next;
	int err = npumem_follow_at(f->follow, now, f->plan, better, &error);

	if (err)
		return err;
	assert_int_equal(world.requests, requests + 1);
	assert_null(*better);
	return npumem_follow_at(f->follow, now, f->plan, better, &error);
}

/* ---------------------------------------------------------------------- asking */

TEST_WITH(asks_when_it_is_time, setup, teardown)
{
	struct fixture *f = *state;
	struct npumem_plan *better = f->plan;
	int64_t now = f->follow->next;

	fake.calls = 0;
	assert_int_equal(npumem_follow_at(f->follow, now - 1, f->plan, &better, &error), 0);
	assert_null(better);
	assert_int_equal(npumem_follow_improved(f->follow, f->plan, &better, &error), 0);
	assert_int_equal(fake.calls, 0);
	assert_int_equal(npumem_follow_at(f->follow, now, f->plan, &better, &error), 0);
	assert_int_equal(world.requests, 1);
	assert_true(world.deadline > npumem_deadline(50 * SECOND));
	assert_true(world.deadline <= npumem_deadline(60 * SECOND));
	/* It is under way: nobody waits, and nothing is said. */
	fake.wait_error = -ETIME;
	assert_int_equal(npumem_follow_at(f->follow, now + 9 * SECOND, f->plan, &better, &error),
			 0);
	assert_int_equal(fake.wait_deadline, 0);
	assert_int_equal(world.requests, 1);
	assert_int_equal(error.code, 0);
	fake.wait_error = 0;
	assert_int_equal(npumem_follow_at(f->follow, now + 9 * SECOND, f->plan, &better, &error),
			 0);
	assert_null(better);
	assert_int_equal(world.plans_gone, 1);
	assert_int_equal(f->follow->next, now + 10 * SECOND);
}

TEST_WITH(asks_more_and_more_rarely, setup, teardown)
{
	struct fixture *f = *state;
	int64_t wait = SECOND;
	struct npumem_plan *better;

	for (int i = 0; i < 14; i++) {
		assert_int_equal(ask(f, &better), 0);
		assert_null(better);
		assert_int_equal(f->follow->wait, wait);
		wait = wait * 2 < NPUMEM_FOLLOW_MAX_NS ? wait * 2 : NPUMEM_FOLLOW_MAX_NS;
	}
	assert_int_equal(f->follow->wait, NPUMEM_FOLLOW_MAX_NS);
	/* Another plan than the last time: there may be more to come. */
	world.daemon = SMALL;
	assert_int_equal(ask(f, &better), 0);
	assert_non_null(better);
	npumem_plan_free(f->plan);
	f->plan = better;
	assert_int_equal(ask(f, &better), 0);
	assert_null(better);
	assert_int_equal(f->follow->wait, SECOND);
}

TEST_WITH(failures_are_told_and_pass, setup, teardown)
{
	struct fixture *f = *state;
	struct npumem_plan *better;

	world.refused = DRM_IOCTL_NPUMEM_PLAN_REQUEST;
	world.errnum = ENOTCONN;
	assert_error(ask(f, &better), -ENOTCONN,
		     "cannot request a plan: Transport endpoint is not connected (no planning "
		     "daemon is registered; start npumemd, or load a plan made offline)");
	assert_null(better);
	/* Not at once again. */
	fake.calls = 0;
	assert_int_equal(npumem_follow_at(f->follow, f->follow->next - 1, f->plan, &better, &error),
			 0);
	assert_int_equal(fake.calls, 0);
	world.refused = 0;
	world.failed = ENOSPC;
	assert_int_equal(ask(f, &better), -ENOSPC);
	assert_null(better);
	assert_int_equal(world.plans_gone, 1);
	world.failed = 0;
	world.daemon = SMALL;
	assert_int_equal(ask(f, &better), 0);
	assert_non_null(better);
	npumem_plan_free(better);
}

static int pending(unsigned long request, void *argument)
{
	int err = handle(request, argument);

	if (request == DRM_IOCTL_NPUMEM_PLAN_READ &&
	    ((struct drm_npumem_plan_read *)argument)->handle == 1)
		((struct drm_npumem_plan_read *)argument)->state = NPUMEM_PLAN_STATE_PENDING;
	return err;
}

TEST_WITH(what_is_run_is_ready, setup, teardown)
{
	struct fixture *f = *state;
	struct npumem_plan *better;

	fake.handler = pending;
	assert_error(ask(f, &better), -EBUSY, "the plan that is run is not ready");
	assert_null(better);
	assert_int_equal(world.plans_gone, 1);
}

static void compare(struct fixture *f, enum variant now, enum variant then, bool is)
{
	struct npumem_plan *better;

	world.variants[npumem_plan_handle(f->plan)] = now;
	world.daemon = then;
	assert_int_equal(ask(f, &better), 0);
	assert_int_equal(better != NULL, is);
	npumem_plan_free(better);
}

TEST_WITH(better_is_less, setup, teardown)
{
	struct fixture *f = *state;

	compare(f, FIRST, FIRST, false);
	compare(f, FIRST, SMALL, true);
	compare(f, SMALL, FIRST, false);
	/* Less is moved, in a larger arena. */
	compare(f, MOVING, MOVES_LESS, true);
	compare(f, MOVES_LESS, MOVING, false);
	compare(f, MOVING, SMALL, true);
	compare(f, SMALL, MOVING, false);
	follow(f, NPUMEM_OBJECTIVE_PEAK);
	compare(f, MOVING, MOVES_LESS, false);
	compare(f, MOVES_LESS, MOVING, true);
}

TEST_WITH(refusals, setup, teardown)
{
	struct fixture *f = *state;
	struct npumem_request request = request_now();
	struct npumem_follow *made = NULL;
	struct npumem_plan *better;
	struct {
		struct npumem_request request;
		uint64_t later;
	} later = { request, 1 };

	assert_error(npumem_follow_new(NULL, &request, 0, &made, &error), -EINVAL,
		     "npumem_follow_new: NULL argument");
	assert_error(npumem_follow_new(f->graph, NULL, 0, &made, &error), -EINVAL,
		     "npumem_follow_new: NULL argument");
	assert_error(npumem_follow_new(f->graph, &request, 0, NULL, &error), -EINVAL,
		     "npumem_follow_new: NULL argument");
	assert_error(npumem_follow_new(f->graph, &request, -1, &made, &error), -EINVAL,
		     "plans are asked for again after 0 to 3600000000000 ns, not -1");
	assert_error(npumem_follow_new(f->graph, &request, NPUMEM_FOLLOW_MAX_NS + 1, &made, &error),
		     -EINVAL,
		     "plans are asked for again after 0 to 3600000000000 ns, not "
		     "3600000000001");
	assert_error(npumem_follow_new_sized(f->graph, &later.request, sizeof(later), 0, &made,
					     &error),
		     -E2BIG, "the plan request is of a version later than this library's, 0.1.0");
	request.deadline = 0;
	assert_error(npumem_follow_new(f->graph, &request, 0, &made, &error), -EINVAL,
		     "a plan request needs a deadline");
	assert_null(made);
	assert_error(npumem_follow_improved(NULL, f->plan, &better, &error), -EINVAL,
		     "npumem_follow_improved: NULL argument");
	assert_error(npumem_follow_improved(f->follow, NULL, &better, &error), -EINVAL,
		     "npumem_follow_improved: NULL argument");
	assert_error(npumem_follow_improved(f->follow, f->plan, NULL, &error), -EINVAL,
		     "npumem_follow_improved: NULL argument");
	request = request_now();
	assert_int_equal(npumem_follow_new(f->graph, &request, 0, &made, &error), 0);
	assert_int_equal(made->interval, NPUMEM_FOLLOW_NS);
	npumem_follow_free(made);
	npumem_follow_free(NULL);
}

/* A request that is under way is given up with who follows. */
TEST_WITH(given_up, setup, teardown)
{
	struct fixture *f = *state;
	struct npumem_plan *better;

	assert_int_equal(npumem_follow_at(f->follow, f->follow->next, f->plan, &better, &error), 0);
	npumem_follow_free(f->follow);
	f->follow = NULL;
	assert_int_equal(world.plans_gone, 1);
	assert_int_equal(fake.syncs_made, fake.syncs_gone);
}

/* -------------------------------------------------------------------- sessions */

struct filled {
	unsigned int calls;
	uint64_t arena;
	uint8_t state[64];
	int err;
};

static int fill(const struct npumem_session *next, void *userdata, struct npumem_error *why)
{
	struct filled *filled = userdata;

	filled->calls++;
	assert_int_equal(npumem_layout_read(next->layout, 0, STATE, &next->maps, filled->state,
					    sizeof(filled->state), &error),
			 0);
	return filled->err ? npumem_fail(why, filled->err, "not now") : 0;
}

static void write_all(const struct npumem_session *s)
{
	uint8_t bytes[100];

	for (uint32_t t = INPUT; t <= PARAMETER; t++) {
		size_t size = t == INPUT ? 100 : t == STATE ? 64 : 32;

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)(50 * t + i);
		assert_int_equal(npumem_layout_write(s->layout, t, &s->maps, bytes, size, &error),
				 0);
	}
}

/* What was written is there, wherever that is. */
static void check_all(const struct npumem_session *s)
{
	for (uint32_t t = INPUT; t <= PARAMETER; t++) {
		struct npumem_range *ranges;
		uint32_t count;

		assert_int_equal(npumem_layout_entry(s->layout, 0, t, &ranges, &count, &error), 0);
		for (uint32_t r = 0; r < count; r++)
			for (uint64_t i = 0; i < ranges[r].length; i++)
				assert_int_equal(
					((uint8_t *)npumem_range_address(&ranges[r], &s->maps))[i],
					(uint8_t)(50 * t + ranges[r].first + i));
		free(ranges);
	}
}

static void open_session(struct fixture *f, struct npumem_session *s)
{
	assert_int_equal(npumem_session_init(s, f->plan, 0, &error), 0);
	f->plan = NULL;
	write_all(s);
}

/* Of the plan that the daemon has at a time when it may be asked. */
static int improved(struct fixture *f, struct npumem_session *s, struct filled *filled,
		    bool *swapped)
{
	struct npumem_plan *better;
	int err;

	*swapped = true;
	f->plan = s->plan;
	assert_int_equal(npumem_follow_at(f->follow, f->follow->next, s->plan, &better, &error), 0);
	err = npumem_session_improved(s, f->follow, fill, filled, swapped, &error);
	f->plan = NULL;
	return err;
}

TEST_WITH(what_lasts_is_carried_over, setup, teardown)
{
	struct fixture *f = *state;
	struct filled filled = { 0 };
	struct npumem_session s;
	struct npumem_plan *old;
	bool swapped;

	open_session(f, &s);
	old = s.plan;
	assert_int_equal(improved(f, &s, &filled, &swapped), 0);
	assert_false(swapped);
	assert_ptr_equal(s.plan, old);
	assert_int_equal(filled.calls, 0);
	world.daemon = SMALL;
	assert_int_equal(improved(f, &s, &filled, &swapped), 0);
	assert_true(swapped);
	assert_int_equal(filled.calls, 1);
	assert_int_equal(filled.state[63], 50 + 63);
	assert_int_equal(world.runs, 2);
	assert_int_equal(world.runs_gone, 1);
	check_all(&s);
	/* And back again, which nobody would. */
	memset(s.maps.arena, 0, 64);
	write_all(&s);
	assert_int_equal(npumem_plan_load(f->graph, "p", 1, NULL, &old, &error), 0);
	assert_int_equal(npumem_session_swap(&s, old, NULL, NULL, &error), 0);
	check_all(&s);
	npumem_session_fini(&s);
	assert_null(s.run);
	npumem_session_fini(&s);
	npumem_session_fini(NULL);
	assert_int_equal(world.runs_gone, 3);
	assert_int_equal(world.plans_gone, world.handles);
}

/* Host memory, too: an input that loads take in two halves. */
TEST_WITH(host_memory_is_carried_over, setup, teardown)
{
	struct fixture *f = *state;
	uint8_t bytes[100], found[100] = { 0 };
	struct npumem_range *ranges;
	struct npumem_session s;
	struct npumem_plan *next;
	uint32_t count;

	world.variants[1] = MOVING;
	assert_int_equal(npumem_session_init(&s, f->plan, 0, &error), 0);
	f->plan = NULL;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i + 1);
	assert_int_equal(npumem_layout_write(s.layout, IN, &s.maps, bytes, sizeof(bytes), &error),
			 0);
	world.variants[world.handles + 1] = MOVES_LESS;
	assert_int_equal(npumem_plan_load(f->graph, "p", 1, NULL, &next, &error), 0);
	assert_int_equal(npumem_session_swap(&s, next, NULL, NULL, &error), 0);
	assert_int_equal(npumem_layout_entry(s.layout, 0, IN, &ranges, &count, &error), 0);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(ranges[i].memory, NPUMEM_MEMORY_HOST);
		memcpy(found + ranges[i].first, npumem_range_address(&ranges[i], &s.maps),
		       ranges[i].length);
	}
	free(ranges);
	assert_memory_equal(found, bytes, sizeof(bytes));
	npumem_session_fini(&s);
}

static void check_goes_on(struct fixture *f, struct npumem_session *s, struct filled *filled,
			  int expected, const char *text)
{
	struct npumem_session before = *s;
	unsigned int gone = world.plans_gone;
	bool swapped;

	world.daemon = SMALL;
	assert_int_equal(improved(f, s, filled, &swapped), expected);
	assert_int_equal(error.code, expected);
	assert_ptr_equal(strstr(error.text, text), error.text);
	assert_false(swapped);
	assert_memory_equal(s, &before, sizeof(before));
	/* The better plan alone is given up. */
	assert_int_equal(world.plans_gone, gone + 1);
	check_all(s);
}

TEST_WITH(on_failure_the_old_plan_goes_on, setup, teardown)
{
	struct fixture *f = *state;
	struct filled filled = { 0 };
	struct npumem_session s;

	open_session(f, &s);
	world.refused = DRM_IOCTL_NPUMEM_RUN_CREATE;
	world.errnum = ENOSPC;
	check_goes_on(f, &s, &filled, -ENOSPC,
		      "cannot create a run with an arena of 600 bytes in bank 0: No space left");
	world.refused = DRM_IOCTL_NPUMEM_BO_WAIT;
	world.errnum = ETIMEDOUT;
	check_goes_on(f, &s, &filled, -EBUSY,
		      "a job of the run is under way: swap between two inferences");
	world.errnum = ENODEV;
	check_goes_on(f, &s, &filled, -ENODEV, "cannot wait for the jobs that use a BO");
	assert_int_equal(filled.calls, 0);
	world.refused = 0;
	filled.err = -EXDEV;
	check_goes_on(f, &s, &filled, -EXDEV, "not now");
	assert_int_equal(filled.calls, 1);
	assert_int_equal(world.runs_gone, 1);
	npumem_session_fini(&s);
}

TEST_WITH(plans_of_another_model, setup, teardown)
{
	struct fixture *f = *state;
	struct npumem_session s;
	struct npumem_plan *other;

	open_session(f, &s);
	world.variants[world.handles + 1] = OTHER_MODEL;
	assert_int_equal(npumem_plan_load(f->graph, "p", 1, NULL, &other, &error), 0);
	assert_error(npumem_session_swap(&s, other, NULL, NULL, &error), -EINVAL,
		     "tensor 1 of the better plan is another one than that of the plan that is "
		     "run");
	check_all(&s);
	npumem_plan_free(other);
	npumem_session_fini(&s);
}

TEST_WITH(sessions_refuse, setup, teardown)
{
	struct fixture *f = *state;
	struct npumem_session s = { 0 };
	bool swapped;

	assert_error(npumem_session_init(NULL, f->plan, 0, &error), -EINVAL,
		     "npumem_session_init: NULL argument");
	assert_error(npumem_session_init(&s, NULL, 0, &error), -EINVAL,
		     "npumem_session_init: NULL argument");
	assert_error(npumem_session_swap(&s, f->plan, NULL, NULL, &error), -EINVAL,
		     "npumem_session_swap: NULL argument");
	assert_error(npumem_session_improved(&s, f->follow, NULL, NULL, &swapped, &error), -EINVAL,
		     "npumem_session_improved: NULL argument");
	/* The plan stays the caller's. */
	world.refused = DRM_IOCTL_NPUMEM_RUN_CREATE;
	world.errnum = ENOSPC;
	assert_int_equal(npumem_session_init(&s, f->plan, 0, &error), -ENOSPC);
	assert_null(s.plan);
	world.refused = 0;
	open_session(f, &s);
	assert_error(npumem_session_swap(&s, NULL, NULL, NULL, &error), -EINVAL,
		     "npumem_session_swap: NULL argument");
	assert_error(npumem_session_improved(&s, f->follow, NULL, NULL, NULL, &error), -EINVAL,
		     "npumem_session_improved: NULL argument");
	assert_error(npumem_session_improved(&s, NULL, NULL, NULL, &swapped, &error), -EINVAL,
		     "npumem_follow_improved: NULL argument");
	npumem_session_fini(&s);
}
