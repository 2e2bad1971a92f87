// SPDX-License-Identifier: MIT
/*
 * Everything at once: clients that are killed and come back and do, from several threads and
 * on files that they share with each other, what is drawn from a seed; a daemon that answers
 * wrongly, or dies; engines that hang and fail; a device that goes and comes back. What the
 * kernel says to it is for KASAN and lockdep. What is asked here: when all of them are
 * gone, nobody holds anything of the device any more.
 *
 * NPUMEM_RACE_SECONDS and NPUMEM_RACE_SEED say otherwise how long, and from which seed;
 * who comes first is not in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "modules/npumem_test_exporter.h"
#include "npumem_fake_daemon.h"
#include "npumem_world.h"

#define SEED	20261122u
#define SECONDS 10

enum {
	CLIENTS = 3,
	THREADS = 3,
	FILES = 3,
	BUFFERS = 4,
	FENCES = 3,
	MODELS = 4,
	HANDLES = 6,
	USER = 60001, /* the first one's */
};

static struct blob graphs[MODELS], plans[MODELS];
static int64_t end;

/* Of a client's process; all of its threads, and of the next process's the socket. */
static int files[FILES], buffers[BUFFERS], fences[FENCES], sockets[2];

static __thread uint32_t state;

static uint32_t draw(uint32_t below)
{
	return npu_draw(&state, below);
}

static uint32_t handle(void)
{
	return 1 + draw(HANDLES);
}

static void seed(uint32_t number)
{
	state = number ? number * 2654435761u : 1;
}

static uint32_t number_of(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

/* -------------------------------------------------------------- what clients do */

/* What is there makes way, and is closed. */
static void replace(int *slot, int fd)
{
	int old = __atomic_exchange_n(slot, fd, __ATOMIC_SEQ_CST);

	if (old >= 0)
		close(old);
}

static void keep_buffer(int fd)
{
	replace(&buffers[draw(BUFFERS)], fd);
}

static void graph_and_plan(int fd)
{
	uint32_t i = draw(MODELS);
	struct drm_npumem_graph_create graph = {
		.blob = NPU_BYTES(graphs[i].data, draw(20) ? graphs[i].size : draw(graphs[i].size)),
	};
	struct drm_npumem_plan_load plan = { .graph = handle() };

	npu_ioctl(fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &graph);
	i = draw(4) ? i : draw(MODELS);
	plan.graph = draw(4) ? graph.handle : plan.graph;
	plan.blob = NPU_BYTES(plans[i].data, plans[i].size);
	npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &plan);
}

static void request(int fd)
{
	struct drm_npumem_plan_request args = {
		.graph = handle(),
		.deadline_ns = npu_now() + draw(3) * 50000000ll + 1,
		.out_sync = draw(2) ? handle() : 0,
		.arena_budget = draw(4) ? 0 : draw(8192),
	};

	args.out_point = args.out_sync && draw(2) ? draw(10) : 0;
	npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &args);
}

static void run(int fd)
{
	struct drm_npumem_run_create args = { .plan = handle(), .host_bo = draw(2) ? handle() : 0 };

	npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args);
}

static void bind_tensor(int fd)
{
	struct drm_npumem_run_bind args = {
		.run = handle(),
		.tensor = draw(6),
		.bo = draw(HANDLES),
		.offset = draw(4) * 1024,
	};

	npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_BIND, &args);
}

static void submit(int fd)
{
	struct drm_npumem_sync in[2], out[2];
	struct npumem_sim_command commands[4] = { 0 };
	struct drm_npumem_job jobs[4] = { 0 };
	struct drm_npumem_submit args = { .run = handle() };
	uint32_t i, count = draw(2) ? 1 : 1 + draw(4);

	for (i = 0; i < count; i++) {
		if (!draw(8)) {
			jobs[i].flags = NPUMEM_JOB_EDGE;
			jobs[i].first_position = draw(3);
			continue;
		}
		jobs[i].first_position = draw(4) ? draw(3) : draw(12);
		jobs[i].position_count = draw(4) ? 1 : 1 + draw(4);
		jobs[i].engine = draw(3);
		commands[i].op = draw(4);
		commands[i].value = commands[i].op >= NPUMEM_SIM_FILL ? draw(200) : 0;
		if (!commands[i].op && draw(2))
			continue;
		jobs[i].commands =
			NPU_BYTES(&commands[i], draw(16) ? sizeof(commands[i]) : draw(1 << 17));
	}
	for (i = 0; i < 2; i++) {
		in[i] = (struct drm_npumem_sync){ .handle = handle(), .point = i * draw(5) };
		out[i] = (struct drm_npumem_sync){ .handle = handle(), .point = i * draw(5) };
	}
	args.jobs = NPU_ARRAY(jobs, count);
	if (!draw(3))
		args.in_syncs = NPU_ARRAY(in, 1 + draw(2));
	if (draw(2))
		args.out_syncs = NPU_ARRAY(out, 1 + draw(2));
	npu_ioctl(fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
}

static void reset(int fd)
{
	struct drm_npumem_run_query query = { .run = handle() };

	npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query);
	world_destroy(fd, DRM_IOCTL_NPUMEM_RUN_RESET, handle());
}

static void destroy(int fd)
{
	static const unsigned long requests[] = {
		DRM_IOCTL_NPUMEM_RUN_DESTROY,
		DRM_IOCTL_NPUMEM_PLAN_DESTROY,
		DRM_IOCTL_NPUMEM_GRAPH_DESTROY,
	};

	world_destroy(fd, requests[draw(3)], handle());
}

static void read_plan(int fd)
{
	struct drm_npumem_plan_read args = { .handle = handle() };
	char blob[512], text[128];

	args.blob = NPU_BUFFER(blob);
	args.message = NPU_BUFFER(text);
	npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_READ, &args);
}

static void bo(int fd)
{
	uint32_t bo;

	npu_bo_create(fd, draw(2) ? 32768 : 4096, draw(2) ? NPUMEM_BO_SYSTEM : NPUMEM_BO_CARVEOUT,
		      &bo);
	if (!draw(3))
		npu_bo_close(fd, handle());
}

/* By the kernel, which says EFAULT where we would get a SIGBUS. */
static void touch(int fd)
{
	char *mem = npu_bo_map(fd, handle(), 4096);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (mem && read(zero, mem + draw(4096), 1) < 0)
		errno = 0;
	if (mem)
		munmap(mem, 4096);
	close(zero);
}

static void wait_bo(int fd)
{
	npu_bo_wait(fd, handle(), npu_now() + draw(2) * 20000000);
}

static void export(int fd)
{
	int buffer;

	if (!drmPrimeHandleToFD(fd, handle(), DRM_CLOEXEC | (draw(2) ? DRM_RDWR : 0), &buffer))
		keep_buffer(buffer);
}

static void import(int fd)
{
	uint32_t bo;

	drmPrimeFDToHandle(fd, buffers[draw(BUFFERS)], &bo);
}

static void foreign(int fd)
{
	struct udmabuf_create args = { .size = 32768 };
	uint32_t flags = draw(16) | EXPORTER_ERRNO(1 + draw(130));
	int device, memory;

	if (draw(2)) {
		device = open("/dev/npumem_test_exporter", O_RDWR | O_CLOEXEC);
		if (device >= 0 && !ioctl(device, EXPORTER_CREATE, &flags))
			keep_buffer(flags);
	} else {
		device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
		memory = memfd_create("race", MFD_ALLOW_SEALING | MFD_CLOEXEC);
		args.memfd = memory;
		if (!ftruncate(memory, args.size) && !fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK))
			keep_buffer(ioctl(device, UDMABUF_CREATE, &args));
		close(memory);
	}
	if (device >= 0)
		close(device);
}

static void syncobj(int fd)
{
	struct dma_buf_import_sync_file args = { .flags = DMA_BUF_SYNC_WRITE };
	uint32_t other;

	drmSyncobjCreate(fd, draw(2) ? DRM_SYNCOBJ_CREATE_SIGNALED : 0, &other);
	if (!draw(3))
		drmSyncobjDestroy(fd, handle());
	if (drmSyncobjExportSyncFile(fd, handle(), &args.fd))
		return;
	if (draw(2))
		ioctl(buffers[draw(BUFFERS)], DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &args);
	else
		drmSyncobjImportSyncFile(fd, handle(), args.fd);
	close(args.fd);
}

/* Another driver's, which signals when its file is closed: soon, see signal_fences(). */
static void fence(int fd)
{
	struct dma_buf_import_sync_file args = { .flags = DMA_BUF_SYNC_WRITE };
	int maker = open("/dev/npumem_test_fence", O_RDWR | O_CLOEXEC);

	if (maker < 0)
		return;
	if (read(maker, &args.fd, sizeof(args.fd)) == (ssize_t)sizeof(args.fd)) {
		if (draw(3))
			drmSyncobjImportSyncFile(fd, handle(), args.fd);
		else
			ioctl(buffers[draw(BUFFERS)], DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &args);
		close(args.fd);
	}
	replace(&fences[draw(FENCES)], maker);
}

/* A run from its beginning, so that there are some. */
static void make_run(int fd)
{
	uint32_t i = draw(MODELS), graph, plan, t;
	struct drm_npumem_run_create args = { 0 };

	struct drm_npumem_graph_create graph_args = {
		.blob = NPU_BYTES(graphs[i].data, graphs[i].size),
	};
	struct drm_npumem_plan_load plan_args = {
		.blob = NPU_BYTES(plans[i].data, plans[i].size),
	};

	if (npu_ioctl(fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &graph_args))
		return;
	graph = plan_args.graph = graph_args.handle;
	npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &plan_args);
	plan = plan_args.handle;
	world_destroy(fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, graph);
	if (i == 2)
		npu_bo_create(fd, 32768, NPUMEM_BO_SYSTEM, &args.host_bo);
	args.plan = plan;
	npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args);
	if (draw(2))
		world_destroy(fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, plan);
	if (args.host_bo)
		npu_bo_close(fd, args.host_bo);
	if (draw(2))
		npu_bo_close(fd, args.arena_bo);
	for (t = 0; i == 1 && t < EXTERNAL_TENSORS; t++) {
		struct drm_npumem_run_bind b = { .run = args.handle, .tensor = t, .bo = handle() };

		b.offset = draw(4) * 1024;
		npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_BIND, &b);
	}
}

/* ------------------------------------------------------ files that others get */

static void send_file(int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec byte = { .iov_base = "f", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	sendmsg(sockets[0], &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Another user's file takes the place of one of ours. */
static void receive_file(int fd)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec room = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &room,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	int other;

	if (recvmsg(sockets[1], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_len != CMSG_LEN(sizeof(int)))
		return;
	memcpy(&other, CMSG_DATA(cmsg), sizeof(other));
	dup3(other, fd, O_CLOEXEC);
	close(other);
}

static void reopen(int fd)
{
	int other;

	if (draw(16))
		return;
	other = npu_open();
	if (other >= 0) {
		dup3(other, fd, O_CLOEXEC);
		close(other);
	}
}

/* By how often each is in it. */
static void (*const acts[])(int fd) = {
	graph_and_plan, request,   run,	   bind_tensor, bind_tensor,  submit,	 submit,  submit,
	submit,		submit,	   reset,  reset,	destroy,      read_plan, bo,	  touch,
	wait_bo,	export,	   import, foreign,	syncobj,      make_run,	 request, make_run,
	make_run,	send_file, reopen, submit,	receive_file, fence,	 fence,
};

static void *act(void *number)
{
	seed((uintptr_t)number);
	while (npu_now() < end)
		acts[draw(sizeof(acts) / sizeof(acts[0]))](files[draw(FILES)]);
	return NULL;
}

/* Not by those who may wait for them. Until the process ends. */
static void *signal_fences(void *number)
{
	seed((uintptr_t)number);
	for (;;) {
		usleep(draw(100000));
		replace(&fences[draw(FENCES)], -1);
	}
	return NULL;
}

static void client(uint32_t number, uint32_t first)
{
	pthread_t threads[THREADS], signaller;
	uintptr_t i;

	if (npu_become(USER + number % CLIENTS))
		_exit(1);
	/* What nobody reads of a device that is gone at the moment. */
	if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
		_exit(1);
	for (i = 0; i < BUFFERS; i++)
		buffers[i] = -1;
	for (i = 0; i < FENCES; i++)
		fences[i] = -1;
	for (i = 0; i < FILES; i++)
		while ((files[i] = npu_open()) < 0 && npu_now() < end)
			usleep(10000);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, act, (void *)(first + i)))
			_exit(1);
	if (pthread_create(&signaller, NULL, signal_fences, (void *)(first + i)))
		_exit(1);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* ------------------------------------------------------------ daemon and engine */

static void answer(struct fake_daemon *daemon, const struct fake_request *request)
{
	void *graph = mmap(NULL, request->graph_size, PROT_READ, MAP_SHARED, request->fd, 0);
	const struct blob *plan = &plans[draw(MODELS)];
	uint32_t status = draw(3) ? 0 : draw(4096);

	if (draw(3) && write(request->fd, plan->data, draw(4) ? plan->size : draw(plan->size)) < 0)
		errno = 0;
	if (draw(3))
		fake_done_without(daemon, &request->id, &status);
	if (graph != MAP_FAILED && draw(2))
		munmap(graph, request->graph_size);
	close(request->fd);
}

static void serve(uint32_t number)
{
	struct fake_daemon daemon;
	struct fake_request request;
	uint32_t left;

	seed(number);
	while (npu_now() < end) {
		if (fake_open(&daemon))
			_exit(1);
		fake_register(&daemon, NPUMEM_VERSION, "liar");
		for (left = 1 + draw(50); left && npu_now() < end; left--) {
			if (fake_accept(&daemon, &request))
				usleep(5000);
			else
				answer(&daemon, &request);
		}
		fake_close(&daemon);
	}
	_exit(0);
}

/* For all users. */
static void open_nodes(void)
{
	glob_t nodes;
	size_t i;

	if (glob("/dev/{accel/accel*,dri/renderD*,udmabuf,npumem_test_*}", GLOB_BRACE, NULL,
		 &nodes))
		return;
	for (i = 0; i < nodes.gl_pathc; i++)
		chmod(nodes.gl_pathv[i], 0666);
	globfree(&nodes);
}

/* Files of debugfs are read as well: their readers take locks. */
static void look(void)
{
	char text[4096];
	glob_t found;
	size_t i;
	int fd;

	if (glob("/sys/kernel/debug/{accel,dri}/*/{runs,shares,faults,carveout}", GLOB_BRACE, NULL,
		 &found))
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
		while (fd >= 0 && read(fd, text, sizeof(text)) > 0)
			;
		if (fd >= 0)
			close(fd);
	}
	globfree(&found);
}

static void plug(const char *device, uint32_t number)
{
	static const char *const knobs[] = { "hang_next", "fail_next", "bytes_per_second",
					     "pause" };
	static const uint32_t most[] = { 3, 3, 200000, 2 };
	uint32_t i;

	seed(number);
	while (npu_now() < end) {
		usleep(draw(500000));
		i = draw(4);
		npu_knob("hang_ms", 200);
		npu_knob(knobs[i], draw(most[i]));
		look();
		if (draw(2))
			continue;
		npu_knob("pause", 0);
		if (npu_write(NPU_DRIVER "unbind", device))
			_exit(1);
		usleep(draw(100000));
		if (npu_write(NPU_DRIVER "bind", device))
			_exit(2);
		open_nodes();
	}
	_exit(0);
}

/* ------------------------------------------------------------------- the test */

/* A graph that never ends, so that edges have somewhere to go. */
static struct model model_loop(void)
{
	struct model m = { 0 };
	uint32_t x = model_tensor(&m, NPUMEM_TENSOR_INPUT, 256), block, back, out, instance;

	model_whole(&m, x);
	block = model_block(&m);
	model_step(&m, 0);
	model_access(&m, 0, NPUMEM_ACCESS_READ);
	m.blocks[block].step_count = 1;
	back = model_edge(&m, block, block);
	out = model_edge(&m, block, NPUMEM_NONE);
	instance = model_instance(&m, block);
	model_enter(&m, instance, x, 0);
	model_plan_edge(&m, instance, instance, back);
	model_plan_edge(&m, instance, NPUMEM_NONE, out);
	return m;
}

static void make_blobs(void)
{
	struct model models[MODELS] = { model_chain(), model_external(), model_spill(),
					model_loop() };
	int i;

	for (i = 0; i < MODELS; i++) {
		graphs[i] = model_graph(&models[i]);
		plans[i] = model_plan(&models[i]);
		model_free(&models[i]);
	}
}

/* What "shares" says of all users together is nothing but zeroes, and of limits. */
static bool nothing_is_held(void)
{
	long long memory, handles, bindings, jobs, waits, carveout;
	bool nothing = true, once = false;
	char line[512];
	glob_t found;
	FILE *file;

	if (glob("/sys/kernel/debug/{accel,dri}/*/shares", GLOB_BRACE, NULL, &found))
		return false;
	file = fopen(found.gl_pathv[0], "r");
	globfree(&found);
	while (file && fgets(line, sizeof(line), file)) {
		once = true;
		if (sscanf(line,
			   "uid=%*u unlimited=%*d memory=%lld/%*u handles=%lld bindings=%lld jobs=%lld waits=%lld events_suppressed=%*d bank0=%lld",
			   &memory, &handles, &bindings, &jobs, &waits, &carveout) != 6 ||
		    memory || handles || bindings || jobs || waits || carveout) {
			nothing = false;
			printf("# held: %s", line);
		}
	}
	if (file)
		fclose(file);
	return nothing && once;
}

FIXTURE(race)
{
	char device[256];
	bool exporter, fence;
};

FIXTURE_SETUP(race)
{
	ASSERT_TRUE(npu_device_name(self->device, sizeof(self->device)));
	self->exporter = npu_module_load("npumem_test_exporter") == 0;
	EXPECT_TRUE(self->exporter);
	self->fence = npu_module_load("npumem_test_fence") == 0;
	EXPECT_TRUE(self->fence);
	open_nodes();
	make_blobs();
}

FIXTURE_TEARDOWN(race)
{
	int i;

	npu_knob("pause", 0);
	npu_knob("bytes_per_second", 0);
	npu_knob("hang_next", 0);
	npu_knob("fail_next", 0);
	npu_knob("hang_ms", 5000);
	for (i = 0; i < MODELS; i++) {
		blob_free(&graphs[i]);
		blob_free(&plans[i]);
	}
	if (self->exporter)
		while (npu_module_unload("npumem_test_exporter") == -EAGAIN)
			usleep(10000);
	if (self->fence)
		while (npu_module_unload("npumem_test_fence") == -EAGAIN)
			usleep(10000);
}

/* Seconds: a debug kernel in an emulator is slow. */
TEST_F_TIMEOUT(race, leaves_nothing_behind, 86400)
{
	uint32_t first = number_of("NPUMEM_RACE_SEED", SEED), count = 0, killed = 0;
	int64_t patience, seconds = number_of("NPUMEM_RACE_SECONDS", SECONDS);
	pid_t clients[CLIENTS], daemon, plugger;
	struct drm_npumem_bank bank = { 0 };
	int i, fd, status;

	TH_LOG("seed %u, %lld s", first, (long long)seconds);
	seed(first);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sockets));
	end = npu_now() + seconds * 1000000000;
	daemon = fork();
	if (!daemon)
		serve(first + 1);
	plugger = fork();
	if (!plugger)
		plug(self->device, first + 2);
	memset(clients, 0, sizeof(clients));
	while (npu_now() < end) {
		for (i = 0; i < CLIENTS; i++) {
			if (clients[i])
				continue;
			clients[i] = fork();
			if (!clients[i])
				client(i, first + 100 + (THREADS + 1) * count);
			count++;
		}
		usleep(500000 + draw(1000000));
		i = draw(CLIENTS);
		if (draw(2) && npu_now() < end) {
			ASSERT_EQ(0, kill(clients[i], SIGKILL));
			ASSERT_EQ(clients[i], waitpid(clients[i], &status, 0));
			clients[i] = 0;
			killed++;
		}
	}
	ASSERT_EQ(plugger, waitpid(plugger, &status, 0));
	EXPECT_EQ(0, status);
	/* A job that waits may have others wait. */
	EXPECT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_knob("bytes_per_second", 0));
	ASSERT_EQ(daemon, waitpid(daemon, &status, 0));
	EXPECT_EQ(0, status);
	for (i = 0; i < CLIENTS; i++) {
		if (!clients[i])
			continue;
		ASSERT_EQ(clients[i], waitpid(clients[i], &status, 0));
		/* A SIGBUS is what somebody may get. */
		EXPECT_EQ(0, status);
	}
	/* Files on their way are closed with the sockets. */
	close(sockets[0]);
	close(sockets[1]);
	TH_LOG("%u clients, %u killed", count, killed);

	fd = npu_open();
	ASSERT_GE(fd, 0);
	patience = npu_now() + NPU_PATIENCE_NS;
	do {
		usleep(100000);
		ASSERT_EQ(0, npu_bank(fd, &bank));
	} while ((bank.free != bank.size || !nothing_is_held()) && npu_now() < patience);
	EXPECT_EQ(bank.size, bank.free);
	EXPECT_TRUE(nothing_is_held());
	close(fd);
}

TEST_HARNESS_MAIN
