// SPDX-License-Identifier: MIT
/*
 * Each allocation that the driver makes in a call, and each access to user memory, fails
 * once: the call then says so, or does without, and nothing is left behind. By the
 * kernel's fault injection (/proc/PID/fail-nth), restricted to what the module asks for.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_fake_daemon.h"
#include "npumem_world.h"

#define DEBUGFS "/sys/kernel/debug/"

enum { BUFFER = 32768, MOST = 2000, TEXT = 1024 };

/*
 * struct scene - what calls need, made before
 * @path: of the device node
 * @models, @graphs, @plans: of external tensors, and of spills
 * @w: with all external tensors bound, X to @imported
 * @sharing: run with arena @shared
 * @nth: /proc/thread-self/fail-nth
 */
struct scene {
	char path[64];
	int fd, buffer, nth;
	struct model models[2];
	struct blob graphs[2], plans[2];
	struct world w, sharing;
	uint32_t system, shared, imported, host, graph, plan, spill_plan, in, out, made, arena;
	struct fake_daemon daemon;
	struct fake_request request;
};

/* ------------------------------------------------------------------- the calls */

static int call_open(struct scene *s)
{
	int fd = open(s->path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return close(fd) ? -errno : 0;
}

static int call_graph(struct scene *s)
{
	char text[TEXT];
	struct drm_npumem_graph_create args = {
		.blob = NPU_BYTES(s->graphs[0].data, s->graphs[0].size),
		.log = { .level = 2, .text = NPU_BUFFER(text) },
	};
	int err = npu_ioctl(s->fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args);

	s->made = args.handle;
	return err;
}

static void undo_graph(struct scene *s)
{
	world_destroy(s->fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, s->made);
}

static int call_plan(struct scene *s)
{
	char text[TEXT];
	struct drm_npumem_plan_load args = {
		.graph = s->graph,
		.blob = NPU_BYTES(s->plans[0].data, s->plans[0].size),
		.log = { .level = 2, .text = NPU_BUFFER(text) },
	};
	int err = npu_ioctl(s->fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args);

	s->made = args.handle;
	return err;
}

/* The verifier refuses it, and the verdict is told all the same. */
static int call_bad_plan(struct scene *s)
{
	char text[TEXT];
	struct drm_npumem_plan_load args = {
		.graph = s->graph,
		.blob = NPU_BYTES(s->plans[1].data, s->plans[1].size),
		.log = { .level = 2, .text = NPU_BUFFER(text) },
	};
	int err = npu_ioctl(s->fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args);

	s->made = args.handle;
	return err == -EINVAL || err == -EBADMSG ? 0 : err;
}

static void undo_plan(struct scene *s)
{
	world_destroy(s->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, s->made);
}

static int call_bo(struct scene *s, uint32_t flags)
{
	return npu_bo_create(s->fd, BUFFER, flags, &s->made);
}

static int call_carveout(struct scene *s)
{
	return call_bo(s, NPUMEM_BO_CARVEOUT);
}

static int call_system(struct scene *s)
{
	return call_bo(s, NPUMEM_BO_SYSTEM);
}

static void undo_bo(struct scene *s)
{
	npu_bo_close(s->fd, s->made);
}

static int call_run_of(struct scene *s, uint32_t plan, uint32_t host)
{
	struct drm_npumem_run_create args = { .plan = plan, .host_bo = host };
	int err = npu_ioctl(s->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args);

	s->made = args.handle;
	s->arena = args.arena_bo;
	return err;
}

static int call_run(struct scene *s)
{
	return call_run_of(s, s->plan, 0);
}

static int call_run_with_host(struct scene *s)
{
	return call_run_of(s, s->spill_plan, s->host);
}

static void undo_run(struct scene *s)
{
	npu_bo_close(s->fd, s->arena);
	world_destroy(s->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, s->made);
}

static int call_shared(struct scene *s)
{
	return call_bo(s, NPUMEM_BO_SHARED);
}

static int call_run_shared(struct scene *s)
{
	struct drm_npumem_run_create args = {
		.plan = s->plan,
		.flags = NPUMEM_RUN_CREATE_SHARED,
		.arena_bo = s->shared,
	};
	int err = npu_ioctl(s->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args);

	s->made = args.handle;
	return err;
}

static void undo_run_shared(struct scene *s)
{
	world_destroy(s->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, s->made);
}

/* Who gets no memory for the page in his turn would be killed, so none is touched. */
static int call_turn(struct scene *s)
{
	return world_begin(&s->sharing, 0);
}

static void undo_turn(struct scene *s)
{
	world_end(&s->sharing);
}

static int call_bind(struct scene *s)
{
	return world_bind(&s->w, EXTERNAL_E, s->system, 4096);
}

static void undo_bind(struct scene *s)
{
	world_bind(&s->w, EXTERNAL_E, s->system, 8192);
}

static int call_bind_imported(struct scene *s)
{
	return world_bind(&s->w, EXTERNAL_X, s->imported, 4096);
}

static void undo_bind_imported(struct scene *s)
{
	world_bind(&s->w, EXTERNAL_X, s->imported, 0);
}

/* A copy with a bounce buffer, waits, timelines and an imported buffer. */
static int call_submit(struct scene *s)
{
	struct drm_npumem_job jobs[] = {
		world_job(&s->w, EXTERNAL_LOAD, NPUMEM_SIM_MIX, 1),
		world_job(&s->w, EXTERNAL_MIX, NPUMEM_SIM_COPY, 0),
	};
	struct drm_npumem_sync in = { .handle = s->in };
	struct drm_npumem_sync out[] = { { .handle = s->out }, { .handle = s->in, .point = 0 } };
	struct drm_npumem_submit args = {
		.run = s->w.run,
		.jobs = NPU_ARRAY(jobs, 2),
		.in_syncs = NPU_ARRAY(&in, 1),
		.out_syncs = NPU_ARRAY(out, 1),
	};

	out[0].point = npu_now();
	return npu_ioctl(s->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
}

static void undo_submit(struct scene *s)
{
	world_wait(&s->w);
	npu_bo_wait(s->fd, s->imported, npu_now() + NPU_PATIENCE_NS);
	world_reset(&s->w);
}

static int call_wait(struct scene *s)
{
	return npu_bo_wait(s->fd, s->imported, 0);
}

static int call_request(struct scene *s)
{
	static const uint8_t options[100];
	struct drm_npumem_plan_request args = {
		.graph = s->graph,
		.deadline_ns = npu_late(),
		.out_sync = s->out,
		.out_point = npu_now(),
		.options = NPU_BUFFER(options),
	};
	int err = npu_ioctl(s->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &args);

	s->made = args.handle;
	return err;
}

static int call_answer(struct scene *s)
{
	return pwrite(s->request.fd, s->plans[0].data, s->plans[0].size, 0) < 0 ? -errno : 0;
}

static int call_more_of_answer(struct scene *s)
{
	char more[8192] = { 0 };

	return pwrite(s->request.fd, more, sizeof(more), 100) < 0 ? -errno : 0;
}

static int call_import(struct scene *s)
{
	int err = drmPrimeFDToHandle(s->fd, s->buffer, &s->made) ? -errno : 0;

	return err;
}

static int call_export(struct scene *s)
{
	uint32_t bo;
	int fd, err = npu_bo_create(s->fd, BUFFER, NPUMEM_BO_SYSTEM, &bo);

	if (err)
		return err;
	if (drmPrimeHandleToFD(s->fd, bo, DRM_CLOEXEC | DRM_RDWR, &fd))
		err = -errno;
	else
		close(fd);
	npu_bo_close(s->fd, bo);
	return err;
}

static int call_query(struct scene *s)
{
	struct drm_npumem_info info;
	struct drm_npumem_bank bank;

	return npu_info(s->fd, &info) ?: npu_bank(s->fd, &bank);
}

static void undo_nothing(struct scene *s)
{
}

static const struct call {
	const char *name;
	int (*call)(struct scene *s);
	void (*undo)(struct scene *s);
} calls[] = {
	{ "open", call_open, undo_nothing },
	{ "GRAPH_CREATE", call_graph, undo_graph },
	{ "PLAN_LOAD", call_plan, undo_plan },
	{ "PLAN_LOAD, refused", call_bad_plan, undo_nothing },
	{ "BO_CREATE, carveout", call_carveout, undo_bo },
	{ "BO_CREATE, system", call_system, undo_bo },
	{ "BO_CREATE, shared", call_shared, undo_bo },
	{ "RUN_CREATE", call_run, undo_run },
	{ "RUN_CREATE, host BO", call_run_with_host, undo_run },
	{ "RUN_CREATE, shared", call_run_shared, undo_run_shared },
	{ "RUN_TURN", call_turn, undo_turn },
	{ "RUN_BIND", call_bind, undo_bind },
	{ "RUN_BIND, imported", call_bind_imported, undo_bind_imported },
	{ "SUBMIT", call_submit, undo_submit },
	{ "BO_WAIT", call_wait, undo_nothing },
	{ "PLAN_REQUEST", call_request, undo_plan },
	{ "answer", call_answer, undo_nothing },
	{ "more of the answer", call_more_of_answer, undo_nothing },
	{ "import", call_import, undo_bo },
	{ "export", call_export, undo_nothing },
	{ "DEV_QUERY", call_query, undo_nothing },
};

/* ---------------------------------------------------------------- fault injection */

static int put_attribute(const char *kind, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	return npu_write(path, text);
}

/* Only what has a function of the module on its stack. */
static int restrict_faults(void)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	char line[256], start[32] = "", last[32] = "";
	FILE *modules = fopen("/proc/modules", "r");
	uint64_t size, base;
	size_t i;
	int err;

	while (modules && fgets(line, sizeof(line), modules))
		if (sscanf(line, "npumem %" SCNu64 " %*s %*s %*s %" SCNx64, &size, &base) == 2) {
			snprintf(start, sizeof(start), "%#" PRIx64, base);
			snprintf(last, sizeof(last), "%#" PRIx64, base + size);
		}
	if (modules)
		fclose(modules);
	for (i = 0; i < 3; i++) {
		err = put_attribute(kinds[i], "verbose", "0");
		err = err ?: put_attribute(kinds[i], "require-start", start);
		err = err ?: put_attribute(kinds[i], "require-end", last);
		if (i < 2)
			err = err ?: put_attribute(kinds[i], "ignore-gfp-wait", "N");
		if (err)
			return err;
	}
	put_attribute("fail_page_alloc", "ignore-gfp-highmem", "N");
	return put_attribute("fail_page_alloc", "min-order", "0");
}

static int arm(const struct scene *s, unsigned int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", nth);

	return pwrite(s->nth, text, length, 0) == length ? 0 : -errno;
}

/* Faults that were still to come; it is none if there was one. */
static int disarm(const struct scene *s)
{
	char text[16] = "";
	int left = pread(s->nth, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : -1;

	return arm(s, 0) ? -1 : left;
}

/* Who holds what, as text. */
static void held(char *text, size_t size)
{
	glob_t found;
	ssize_t n = 0;
	int fd;

	text[0] = 0;
	if (glob(DEBUGFS "{accel,dri}/*/shares", GLOB_BRACE, NULL, &found))
		return;
	fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	if (fd < 0)
		return;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
}

/* What jobs hold they give back a moment after they have ended. */
static bool held_is(const char *before)
{
	int64_t patience = npu_now() + NPU_PATIENCE_NS;
	char now[TEXT];

	do {
		held(now, sizeof(now));
		if (!strcmp(now, before))
			return true;
		usleep(1000);
	} while (npu_now() < patience);
	printf("# before: %s# now:    %s", before, now);
	return false;
}

/* ---------------------------------------------------------------------- the tests */

static int udmabuf(void)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = BUFFER };
	int fd, device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	create.memfd = memfd_create("memory", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (ftruncate(create.memfd, BUFFER) || fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	fd = ioctl(device, UDMABUF_CREATE, &create);
	close(create.memfd);
	close(device);
	return fd;
}

FIXTURE(no_memory)
{
	struct scene s;
};

FIXTURE_SETUP(no_memory)
{
	struct scene *s = &self->s;
	char link[64];
	int i;

	memset(s, 0, sizeof(*s));
	s->nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (s->nth < 0)
		SKIP(return, "the kernel has no fault injection");
	ASSERT_EQ(0, restrict_faults());
	s->fd = npu_open();
	ASSERT_GE(s->fd, 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", s->fd);
	ASSERT_LT(0, readlink(link, s->path, sizeof(s->path) - 1));
	s->models[0] = model_external();
	s->models[1] = model_spill();
	for (i = 0; i < 2; i++) {
		s->graphs[i] = model_graph(&s->models[i]);
		s->plans[i] = model_plan(&s->models[i]);
	}
	ASSERT_EQ(0, world_open(&s->w, s->fd, &s->models[0]));
	s->graph = s->w.graph;
	s->plan = s->w.plan;
	ASSERT_EQ(0, world_graph(s->fd, &s->graphs[1], &s->made));
	ASSERT_EQ(0, world_plan(s->fd, s->made, &s->plans[1], &s->spill_plan));
	ASSERT_EQ(0, npu_bo_create(s->fd, BUFFER, NPUMEM_BO_SYSTEM, &s->system));
	ASSERT_EQ(0, npu_bo_create(s->fd, BUFFER, NPUMEM_BO_SYSTEM, &s->host));
	s->buffer = udmabuf();
	ASSERT_GE(s->buffer, 0);
	ASSERT_EQ(0, drmPrimeFDToHandle(s->fd, s->buffer, &s->imported));
	ASSERT_EQ(0, world_bind(&s->w, EXTERNAL_X, s->imported, 0));
	ASSERT_EQ(0, world_bind(&s->w, EXTERNAL_P, s->system, 0));
	ASSERT_EQ(0, world_bind(&s->w, EXTERNAL_E, s->system, 8192));
	ASSERT_EQ(0, world_bind(&s->w, EXTERNAL_Y, s->system, 16384));
	ASSERT_EQ(0, npu_bo_create(s->fd, BUFFER, NPUMEM_BO_SHARED, &s->shared));
	ASSERT_EQ(0, world_open_shared(&s->sharing, s->fd, &s->models[0], s->shared));
	s->out = npu_syncobj(s->fd);
	ASSERT_EQ(0, drmSyncobjCreate(s->fd, DRM_SYNCOBJ_CREATE_SIGNALED, &s->in));
	ASSERT_EQ(0, fake_open(&s->daemon));
	ASSERT_EQ(0, fake_register(&s->daemon, NPUMEM_VERSION, "idle"));
	ASSERT_EQ(0, call_request(s));
	ASSERT_EQ(0, fake_accept(&s->daemon, &s->request));
}

FIXTURE_TEARDOWN(no_memory)
{
	struct scene *s = &self->s;
	int i;

	if (s->nth < 0)
		return;
	close(s->request.fd);
	fake_close(&s->daemon);
	close(s->buffer);
	world_close(&s->sharing);
	world_close(&s->w);
	close(s->fd);
	for (i = 0; i < 2; i++) {
		blob_free(&s->graphs[i]);
		blob_free(&s->plans[i]);
		model_free(&s->models[i]);
	}
	close(s->nth);
}

/* Seconds: a debug kernel in an emulator is slow. */
TEST_F_TIMEOUT(no_memory, is_said_and_leaves_nothing_behind, 1100)
{
	struct scene *s = &self->s;
	const struct call *call;
	int err, left, nth, refused, all = 0;
	char before[TEXT];
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		call = &calls[i];
		refused = 0;
		/* What is got once and kept. */
		ASSERT_EQ(0, call->call(s));
		call->undo(s);
		held(before, sizeof(before));
		for (nth = 1; nth < MOST; nth++) {
			ASSERT_EQ(0, arm(s, nth));
			err = call->call(s);
			left = disarm(s);
			ASSERT_GE(left, 0);
			if (err) {
				refused++;
				EXPECT_TRUE(err == -ENOMEM || err == -EFAULT)
				{
					TH_LOG("%s, fault %d: %s", call->name, nth, strerror(-err));
				}
			} else {
				call->undo(s);
			}
			ASSERT_TRUE(held_is(before))
			{
				TH_LOG("%s, fault %d: %d", call->name, nth, err);
			}
			if (left) {
				EXPECT_EQ(0, err);
				break;
			}
		}
		TH_LOG("%s: %d faults, refused %d times", call->name, nth - 1, refused);
		EXPECT_LT(nth, MOST);
		all += refused;
	}
	/* Of a module at addresses other than those asked for, none would fail. */
	EXPECT_GT(all, 0);
}

TEST_HARNESS_MAIN
