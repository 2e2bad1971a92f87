// SPDX-License-Identifier: MIT
/*
 * A program of version 2.0 of the uapi: built against a copy of its headers as they were
 * (tests/abi/2.0), and with nothing else of this repository. It opens the device, makes a
 * graph, loads a plan, runs it, computes it as an engine, and asks for what it has. While it
 * passes, programs that were built against 2.0 need not be built again.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/abi/2.0/npumem_drm.h"
#include "tests/abi/2.0/npumem_engine.h"
#include "tests/abi/2.0/npumem_request.h"

#define SIZE 4096u
#define LATE 60000000000ll

/* One step that reads tensor 0 and writes tensor 1. */
struct graph {
	struct npumem_blob_header header;
	struct npumem_blob_section sections[5];
	struct npumem_tensor tensors[2];
	struct npumem_tile tiles[2];
	struct npumem_access accesses[2];
	struct npumem_step step;
	struct npumem_block block;
};

/* Tensor 1 behind tensor 0; or in the same place, which breaks rule V4. */
struct plan {
	struct npumem_blob_header header;
	struct npumem_blob_section sections[4];
	struct npumem_plan_info info;
	struct npumem_placement placements[2];
	struct npumem_position position;
	struct npumem_plan_block block;
};

static int number, failures;

static int check(int passes, const char *what)
{
	printf("%sok %d %s\n", passes ? "" : "not ", ++number, what);
	failures += !passes;
	return passes;
}

static int call(int fd, unsigned long request, void *args)
{
	int err;

	do
		err = ioctl(fd, request, args) ? errno : 0;
	while (err == EINTR);
	return err;
}

static struct drm_npumem_buffer buffer(void *bytes, size_t size)
{
	struct drm_npumem_buffer b = { (__u64)(size_t)bytes, size };

	return b;
}

static struct npumem_blob_header header(__u32 magic, size_t size, __u32 sections)
{
	struct npumem_blob_header h = { .magic = magic,
					.version = NPUMEM_BLOB_VERSION,
					.total_size = size,
					.section_count = sections,
					.section_stride = sizeof(struct npumem_blob_section) };

	return h;
}

static struct npumem_blob_section section(__u32 kind, size_t stride, size_t offset, __u64 count)
{
	struct npumem_blob_section s = {
		.kind = kind, .stride = (__u32)stride, .offset = offset, .count = count
	};

	return s;
}

static struct npumem_region whole(void)
{
	struct npumem_region r = { .length = SIZE, .count = { 1, 1, 1 } };

	return r;
}

#define SECTION(type, kind, field, n) \
	section(kind, sizeof(((struct type *)0)->field) / (n), offsetof(struct type, field), n)

static struct graph make_graph(void)
{
	struct graph g = { .header = header(NPUMEM_GRAPH_MAGIC, sizeof(g), 5) };
	__u32 i;

	g.sections[0] = SECTION(graph, NPUMEM_GRAPH_SECTION_TENSORS, tensors, 2);
	g.sections[1] = SECTION(graph, NPUMEM_GRAPH_SECTION_TILES, tiles, 2);
	g.sections[2] = SECTION(graph, NPUMEM_GRAPH_SECTION_ACCESSES, accesses, 2);
	g.sections[3] = SECTION(graph, NPUMEM_GRAPH_SECTION_STEPS, step, 1);
	g.sections[4] = SECTION(graph, NPUMEM_GRAPH_SECTION_BLOCKS, block, 1);
	for (i = 0; i < 2; i++) {
		g.tensors[i].size = SIZE;
		g.tensors[i].align = 64;
		g.tensors[i].kind = i ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INPUT;
		g.tensors[i].alias_of = NPUMEM_NONE;
		g.tensors[i].name = NPUMEM_NONE;
		g.tiles[i].tensor = i;
		g.tiles[i].region = whole();
		g.accesses[i].tile = i;
		g.accesses[i].mode = i ? NPUMEM_ACCESS_WRITE : NPUMEM_ACCESS_READ;
		g.accesses[i].inplace = NPUMEM_NONE;
	}
	g.step.access_count = 2;
	g.step.name = NPUMEM_NONE;
	g.block.step_count = 1;
	g.block.name = NPUMEM_NONE;
	return g;
}

static struct plan make_plan(__u64 second)
{
	struct plan p = { .header = header(NPUMEM_PLAN_MAGIC, sizeof(p), 4) };
	__u32 i;

	p.sections[0] = SECTION(plan, NPUMEM_PLAN_SECTION_INFO, info, 1);
	p.sections[1] = SECTION(plan, NPUMEM_PLAN_SECTION_PLACEMENTS, placements, 2);
	p.sections[2] = SECTION(plan, NPUMEM_PLAN_SECTION_SCHEDULE, position, 1);
	p.sections[3] = SECTION(plan, NPUMEM_PLAN_SECTION_BLOCKS, block, 1);
	p.info.arena_size = 2 * SIZE;
	p.info.alignment = 64;
	p.info.status = NPUMEM_PLAN_STATUS_FEASIBLE;
	strcpy(p.info.planner, "by hand");
	for (i = 0; i < 2; i++) {
		p.placements[i].tensor = i;
		p.placements[i].region = whole();
	}
	p.placements[1].offset = second;
	p.position.kind = NPUMEM_POSITION_STEP;
	p.position.placement = NPUMEM_NONE;
	p.block.position_count = 1;
	return p;
}

static int open_device(void)
{
	char name[32] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
	glob_t nodes;
	size_t i;
	int fd = -1;

	if (glob("/dev/accel/accel*", 0, NULL, &nodes) &&
	    glob("/dev/dri/renderD*", 0, NULL, &nodes))
		return -1;
	for (i = 0; fd < 0 && i < nodes.gl_pathc; i++) {
		fd = open(nodes.gl_pathv[i], O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (call(fd, DRM_IOCTL_VERSION, &version) || strcmp(name, NPUMEM_DRIVER_NAME)) {
			close(fd);
			fd = -1;
		}
	}
	globfree(&nodes);
	return fd >= 0 && version.version_major == NPUMEM_UAPI_MAJOR ? fd : -1;
}

/* What it asks of the device, which may know more than it does. Its slot for engines. */
static __u32 ask_device(int fd)
{
	struct drm_npumem_info info;
	struct drm_npumem_engine engines[8] = { 0 };
	__u32 i;
	struct drm_npumem_bank banks[8];
	struct drm_npumem_dev_query query = { .type = NPUMEM_QUERY_INFO, .stride = sizeof(info) };

	query.answer = buffer(&info, sizeof(info));
	check(!call(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query) &&
		      info.uapi_major == NPUMEM_UAPI_MAJOR && info.max_jobs && info.bank_count,
	      "limits");
	memset(&query, 0, sizeof(query));
	query.type = NPUMEM_QUERY_BANKS;
	query.stride = sizeof(banks[0]);
	query.answer = buffer(banks, sizeof(banks));
	check(!call(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query) &&
		      query.answer.size == info.bank_count * sizeof(banks[0]) &&
		      banks[0].free >= banks[0].largest_free && banks[0].name[0],
	      "banks");
	query.type = NPUMEM_QUERY_ENGINES;
	query.stride = sizeof(engines[0]);
	query.answer = buffer(engines, sizeof(engines));
	check(!call(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query) &&
		      query.answer.size == info.engine_count * sizeof(engines[0]) &&
		      engines[0].name[0],
	      "engines");
	for (i = 0; i < 7 && !(engines[i].flags & NPUMEM_ENGINE_PROCESS);)
		i++;
	check(engines[i].flags == (NPUMEM_ENGINE_PROCESS | NPUMEM_ENGINE_TRANSFERS) &&
		      engines[i].index == i,
	      "slot");
	return i;
}

static int make(int fd, __u32 *graph, __u32 *plan)
{
	struct graph g = make_graph();
	struct plan bad = make_plan(0), good = make_plan(SIZE);
	char text[256] = "";
	struct npumem_verdict verdict;
	struct drm_npumem_graph_create create = { .blob = buffer(&g, sizeof(g)) };
	struct drm_npumem_plan_load load = { .blob = buffer(&bad, sizeof(bad)) };
	struct drm_npumem_plan_read read = { 0 };
	struct plan copy;

	create.verdict = buffer(&verdict, sizeof(verdict));
	create.log.level = 1;
	create.log.text = buffer(text, sizeof(text));
	if (!check(!call(fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &create), "graph"))
		printf("# %s\n", text);
	*graph = load.graph = create.handle;
	load.verdict = buffer(&verdict, sizeof(verdict));
	load.log = create.log;
	load.log.text = buffer(text, sizeof(text));
	check(call(fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &load) == EINVAL &&
		      verdict.rule == NPUMEM_RULE_V4_WRITE && verdict.tensor == 1 &&
		      verdict.other_tensor == 0 && verdict.length == SIZE && text[0],
	      "refusal of a bad plan");
	load.blob = buffer(&good, sizeof(good));
	load.verdict = buffer(&verdict, sizeof(verdict));
	load.log.text = buffer(text, sizeof(text));
	if (!check(!call(fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &load), "plan"))
		printf("# %s\n", text);
	*plan = read.handle = load.handle;
	read.blob = buffer(&copy, sizeof(copy));
	return check(!call(fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read) &&
			     read.state == NPUMEM_PLAN_STATE_READY &&
			     read.blob.size == sizeof(copy) &&
			     !memcmp(&copy, &good, sizeof(copy)) && read.arena_size == 2 * SIZE &&
			     read.message.size == 1,
		     "plan read");
}

static __s64 late(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec + LATE;
}

/* A BO of the device, or NULL. */
static void *map(int fd, __u32 bo, size_t size)
{
	struct drm_npumem_bo_mmap_offset at = { .handle = bo };
	void *bytes = MAP_FAILED;

	if (!call(fd, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &at))
		bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at.offset);
	return bytes == MAP_FAILED ? NULL : bytes;
}

static void destroy(int fd, unsigned long request, __u32 object, const char *what)
{
	struct drm_npumem_handle handle = { .handle = object };

	check(!call(fd, request, &handle), what);
}

/* A job that has no commands: its step is accounted for, and does nothing. */
static void run(int fd, __u32 plan)
{
	struct drm_npumem_run_create create = { .plan = plan };
	struct drm_npumem_job job = { .position_count = 1 };
	struct drm_npumem_submit submit = { .jobs = { sizeof(job), 1, (size_t)&job } };
	struct drm_npumem_bo_wait wait = { .deadline_ns = late() };
	struct drm_npumem_run_query query = { 0 };
	struct drm_npumem_handle handle = { 0 };
	struct npumem_verdict verdict;
	char *arena;

	check(!call(fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &create), "run");
	wait.handle = create.arena_bo;
	arena = map(fd, create.arena_bo, 2 * SIZE);
	if (check(arena != NULL, "arena mapped"))
		memset(arena, 7, SIZE);
	submit.run = query.run = handle.handle = create.handle;
	submit.verdict = buffer(&verdict, sizeof(verdict));
	check(!call(fd, DRM_IOCTL_NPUMEM_SUBMIT, &submit) && submit.failed_job == NPUMEM_NONE,
	      "job");
	submit.verdict = buffer(&verdict, sizeof(verdict));
	check(call(fd, DRM_IOCTL_NPUMEM_SUBMIT, &submit) == EPERM && !submit.failed_job &&
		      verdict.rule >= NPUMEM_RULE_ENFORCE_READ && !verdict.position,
	      "refusal of the same job again");
	check(!call(fd, DRM_IOCTL_NPUMEM_BO_WAIT, &wait), "end of the job");
	check(!call(fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query) && query.submitted == 1 &&
		      !query.error && !query.load_bytes,
	      "run asked");
	check(!call(fd, DRM_IOCTL_NPUMEM_RUN_RESET, &handle), "next inference");
	submit.verdict = buffer(&verdict, sizeof(verdict));
	check(!call(fd, DRM_IOCTL_NPUMEM_SUBMIT, &submit), "its job");
}

/* The copy that the step is, in the window; what the task says of it. */
static int compute(const struct npumem_engine_next *task, char *window, const char *commands)
{
	struct npumem_engine_access in, out;

	memcpy(&in, window, sizeof(in));
	memcpy(&out, window + sizeof(in), sizeof(out));
	if (!task->task || task->access_count != 2 || task->step || task->position ||
	    task->first_position || task->position_count != 1 ||
	    task->commands_size != strlen(commands) ||
	    memcmp(window + task->commands_offset, commands, strlen(commands)) ||
	    in.flags != NPUMEM_ENGINE_ACCESS_READ || in.tile || in.size != SIZE ||
	    in.offset % NPUMEM_ENGINE_ALIGN || out.flags != NPUMEM_ENGINE_ACCESS_WRITE ||
	    out.tile != 1 || out.size != SIZE)
		return 0;
	memcpy(window + out.offset, window + in.offset, SIZE);
	return 1;
}

/* The same run once more, with this process as the engine. */
static void serve(int fd, __u32 slot, __u32 plan)
{
	const char *commands = "copy";
	struct drm_npumem_bo_create bo = { .size = 4 * SIZE, .flags = NPUMEM_BO_SYSTEM };
	struct drm_npumem_engine_attach attach = { .engine = slot, .hang_ms = 10000, .version = 1 };
	struct drm_npumem_run_create create = { .plan = plan };
	struct drm_npumem_job job = { .position_count = 1, .engine = slot };
	struct drm_npumem_submit submit = { .jobs = { sizeof(job), 1, (size_t)&job } };
	struct drm_npumem_bo_wait wait = { .deadline_ns = late() };
	struct npumem_engine_next task = { .deadline_ns = late() };
	struct npumem_engine_alive alive;
	char *window, *arena;

	check(!call(fd, DRM_IOCTL_NPUMEM_BO_CREATE, &bo), "window");
	attach.window = bo.handle;
	strcpy(attach.name, "of 2.0");
	check(!call(fd, DRM_IOCTL_NPUMEM_ENGINE_ATTACH, &attach), "attached");
	check(!call(fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &create), "its run");
	window = map(fd, bo.handle, 4 * SIZE);
	arena = map(fd, create.arena_bo, 2 * SIZE);
	if (!check(window && arena, "window and arena mapped"))
		return;
	memset(arena, 9, SIZE);
	job.commands = buffer((void *)commands, strlen(commands));
	submit.run = create.handle;
	check(!call(fd, DRM_IOCTL_NPUMEM_SUBMIT, &submit), "job for it");
	check(!call(attach.fd, NPUMEM_IOCTL_ENGINE_NEXT, &task) && compute(&task, window, commands),
	      "task");
	alive.task = task.commit = task.task;
	check(!call(attach.fd, NPUMEM_IOCTL_ENGINE_ALIVE, &alive), "alive");
	task.deadline_ns = 0;
	check(call(attach.fd, NPUMEM_IOCTL_ENGINE_NEXT, &task) == ETIMEDOUT && !task.commit,
	      "committed, and no other");
	wait.handle = create.arena_bo;
	check(!call(fd, DRM_IOCTL_NPUMEM_BO_WAIT, &wait) && !memcmp(arena, arena + SIZE, SIZE),
	      "what it has computed");
	munmap(window, 4 * SIZE);
	munmap(arena, 2 * SIZE);
	close(attach.fd);
	destroy(fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, create.handle, "its run gone");
}

/* What it has, and, as root, who holds the carveout. */
static void ask_objects(int fd, __u32 graph, __u32 plan)
{
	struct drm_npumem_plan_record plans[2];
	struct drm_npumem_run_record runs[2];
	struct drm_npumem_holder holders[32];
	struct drm_npumem_dev_query query = { .type = NPUMEM_QUERY_PLANS };
	int found = 0;
	size_t i;

	query.stride = sizeof(plans[0]);
	query.answer = buffer(plans, sizeof(plans));
	check(!call(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query) &&
		      query.answer.size == sizeof(plans[0]) && plans[0].handle == plan &&
		      plans[0].graph == graph && plans[0].state == NPUMEM_PLAN_STATE_READY,
	      "plans");
	query.type = NPUMEM_QUERY_RUNS;
	query.stride = sizeof(runs[0]);
	query.answer = buffer(runs, sizeof(runs));
	check(!call(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query) &&
		      query.answer.size == sizeof(runs[0]) && runs[0].plan == plan &&
		      runs[0].submitted == 1 && runs[0].arena_size >= 2 * SIZE,
	      "runs");
	query.type = NPUMEM_QUERY_HOLDERS;
	query.stride = sizeof(holders[0]);
	query.next = 0;
	do {
		query.first = query.next;
		query.answer = buffer(holders, sizeof(holders));
		if (call(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query))
			break;
		for (i = 0; i < 32 && i < query.answer.size / sizeof(holders[0]); i++)
			found += holders[i].pid == (__u32)getpid() &&
				 holders[i].bytes >= runs[0].arena_size && holders[i].comm[0];
	} while (query.next);
	check(found == 1, "holders");
}

int main(void)
{
	__u32 graph, plan, slot;
	int fd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	fd = open_device();
	if (check(fd >= 0, "device of version 2")) {
		slot = ask_device(fd);
		if (make(fd, &graph, &plan)) {
			serve(fd, slot, plan);
			run(fd, plan);
			ask_objects(fd, graph, plan);
		}
		destroy(fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, plan, "plan gone");
		destroy(fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, graph, "graph gone");
		close(fd);
	}
	printf("1..%d\n", number);
	return failures ? 1 : 0;
}
