// SPDX-License-Identifier: MIT
/*
 * Other people's devices: an NPU's driver in a module of its own, which goes while a
 * client has its device open; and a second device on the carveout of the first.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "modules/npumem_test_exporter.h"
#include "npumem_world.h"

#define ENGINE	  "npumem_test_engine"
#define EXPORTER  "npumem_test_exporter"
#define TWIN	  "npumem_test_twin"
#define OTHER	  "/sys/bus/platform/drivers/npumem-test-engine/"
#define LINGER	  "/sys/module/" ENGINE "/parameters/linger"
#define DESCRIBED "/sys/module/" ENGINE "/parameters/described"

/* The kernel log from here on. */
static int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

static bool log_has(int fd, const char *text)
{
	char line[2048];
	bool found = false;
	ssize_t n;

	for (;;) {
		n = read(fd, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return found;
		line[n] = '\0';
		found = found || strstr(line, text);
	}
}

FIXTURE(engine)
{
	char name[64];
	int log;
	struct model model;
	char text[32];
};

FIXTURE_SETUP(engine)
{
	ASSERT_TRUE(npu_device_name(self->name, sizeof(self->name)));
	self->log = log_open();
	ASSERT_GE(self->log, 0);
	self->model = model_chain();
	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));
	ASSERT_EQ(0, npu_module_load(ENGINE));
}

FIXTURE_TEARDOWN(engine)
{
	npu_module_unload(ENGINE);
	EXPECT_EQ(0, npu_write(NPU_DRIVER "bind", self->name));
	model_free(&self->model);
	close(self->log);
}

static int engine_name(int fd, char *name, size_t size)
{
	struct drm_npumem_engine engine[1] = { 0 };
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_ENGINES, engine);
	int err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query);

	snprintf(name, size, "%s", engine[0].name);
	return err;
}

/* As long as a client has the device open, through whichever file. */
TEST_F(engine, module_stays_while_it_is_used)
{
	struct world w;
	int fd = npu_open(), second = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_GE(second, 0);
	ASSERT_EQ(0, world_open(&w, fd, &self->model));
	/* What delete_module(2) says of a module in use if it is not to wait. */
	ASSERT_EQ(-EWOULDBLOCK, npu_module_unload(ENGINE));
	/* The client does not notice. */
	EXPECT_EQ(0, world_step(&w, CHAIN_COPY, NPUMEM_SIM_FILL, 1));
	EXPECT_EQ(0, world_wait(&w));
	EXPECT_EQ(0, world_step(&w, CHAIN_MIX, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(-EWOULDBLOCK, npu_module_unload(ENGINE));
	world_close(&w);
	close(fd);
	EXPECT_EQ(-EWOULDBLOCK, npu_module_unload(ENGINE));
	EXPECT_EQ(0, engine_name(second, self->text, sizeof(self->text)));
	EXPECT_STREQ("other", self->text);
	close(second);
	/* The job in flight has no file any more: the device's removal ends it. */
	EXPECT_EQ(0, npu_module_unload(ENGINE));
	EXPECT_NE(0, access("/sys/module/" ENGINE, F_OK));
}

/* The device goes; what the client still has of it needs no callback. */
TEST_F(engine, device_goes_before_its_clients)
{
	struct world w;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, engine_name(fd, self->text, sizeof(self->text)));
	EXPECT_STREQ("other", self->text);
	ASSERT_EQ(0, world_open(&w, fd, &self->model));
	/* The first is running, the other is in the queue. */
	ASSERT_EQ(0, world_step(&w, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_step(&w, CHAIN_MIX, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(fd, w.arena_bo, 0));
	ASSERT_EQ(0, npu_write(OTHER "unbind", "npumem-test-engine"));
	EXPECT_TRUE(log_has(self->log, "drvdata kept"));
	/* All is settled by then, and nothing begins any more. */
	EXPECT_EQ(-ENODEV, world_step(&w, CHAIN_LAST, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(-ENODEV, engine_name(fd, self->text, sizeof(self->text)));
	EXPECT_EQ(-EWOULDBLOCK, npu_module_unload(ENGINE));
	munmap(w.arena, w.arena_size);
	close(fd);
	EXPECT_EQ(0, npu_module_unload(ENGINE));
	EXPECT_NE(0, access("/sys/module/" ENGINE, F_OK));
}

static void *unload(void *result)
{
	*(int *)result = npu_module_unload(ENGINE);
	return NULL;
}

static bool module_going(void)
{
	char state[16] = "";
	int fd = open("/sys/module/" ENGINE "/initstate", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, state, sizeof(state) - 1) < 0)
			state[0] = '\0';
		close(fd);
	}
	return !strcmp(state, "going\n");
}

/* The device is still there, its module as good as gone. */
TEST_F(engine, not_opened_while_its_module_goes)
{
	char link[64], node[PATH_MAX] = "";
	pthread_t thread;
	int result = 1, opened, err, fd = npu_open();
	bool there;

	ASSERT_GE(fd, 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ASSERT_LT(0, readlink(link, node, sizeof(node) - 1));
	close(fd);
	ASSERT_EQ(0, npu_write(LINGER, "1"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, unload, &result));
	while (!module_going())
		sched_yield();
	opened = open(node, O_RDWR | O_CLOEXEC);
	err = errno;
	there = access(node, F_OK) == 0 && module_going();
	EXPECT_EQ(0, npu_write(LINGER, "0"));
	pthread_join(thread, NULL);
	EXPECT_EQ(-1, opened);
	EXPECT_EQ(ENODEV, err);
	EXPECT_TRUE(there);
	EXPECT_EQ(0, result);
	if (opened >= 0)
		close(opened);
}

/* Nobody could run a job on it. */
TEST_F(engine, none_is_no_device)
{
	int fd;

	ASSERT_EQ(0, npu_write(OTHER "unbind", "npumem-test-engine"));
	ASSERT_EQ(0, npu_write(DESCRIBED, "0"));
	EXPECT_EQ(-EINVAL, npu_write(OTHER "bind", "npumem-test-engine"));
	EXPECT_TRUE(log_has(self->log, "no engine"));
	EXPECT_EQ(-1, npu_open());
	/* It was for no other reason, and has left nothing behind. */
	ASSERT_EQ(0, npu_write(DESCRIBED, "1"));
	ASSERT_EQ(0, npu_write(OTHER "bind", "npumem-test-engine"));
	fd = npu_open();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, engine_name(fd, self->text, sizeof(self->text)));
	EXPECT_STREQ("other", self->text);
	close(fd);
}

/* To its exporter, memory is written by the CPU or by a device, and not by both at will. */
TEST_F(engine, both_kinds_have_no_foreign_memory)
{
	uint32_t flags = 0, own, bo = 0;
	struct model m = model_external();
	int fd, exporter;
	struct world w;

	ASSERT_EQ(0, npu_module_load(EXPORTER));
	exporter = open("/dev/" EXPORTER, O_RDWR | O_CLOEXEC);
	ASSERT_GE(exporter, 0);
	ASSERT_EQ(0, npu_write(OTHER "unbind", "npumem-test-engine"));
	ASSERT_EQ(0, npu_write(DESCRIBED, "2"));
	ASSERT_EQ(0, npu_write(OTHER "bind", "npumem-test-engine"));
	fd = npu_open();
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	ASSERT_EQ(0, npu_bo_create(fd, 4096, NPUMEM_BO_SYSTEM, &own));
	EXPECT_EQ(0, world_bind(&w, EXTERNAL_X, own, 0));
	ASSERT_EQ(0, ioctl(exporter, EXPORTER_CREATE, &flags));
	ASSERT_EQ(0, drmPrimeFDToHandle(fd, (int)flags, &bo));
	close((int)flags);
	EXPECT_EQ(-EOPNOTSUPP, world_bind(&w, EXTERNAL_X, bo, 0));
	world_close(&w);
	close(fd);
	close(exporter);
	EXPECT_EQ(0, npu_module_unload(EXPORTER));
	model_free(&m);
}

/* Loaded and gone with nobody looking, five times. */
TEST_F(engine, comes_and_goes)
{
	char name[32];
	int i, fd;

	for (i = 0; i < 5; i++) {
		fd = npu_open();
		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, engine_name(fd, name, sizeof(name)));
		EXPECT_STREQ("other", name);
		close(fd);
		ASSERT_EQ(0, npu_module_unload(ENGINE));
		ASSERT_EQ(0, npu_module_load(ENGINE));
	}
}

/* Bytes of a carveout belong to one device. */
TEST(twin)
{
	const char *secret = "secret of a client of the first device";
	int fd = npu_open(), log = log_open();
	uint32_t bo;
	char *map;

	ASSERT_GE(fd, 0);
	ASSERT_GE(log, 0);
	ASSERT_EQ(0, npu_bo_create(fd, 65536, NPUMEM_BO_CARVEOUT, &bo));
	map = npu_bo_map(fd, bo, 65536);
	ASSERT_NE(NULL, map);
	strcpy(map, secret);
	ASSERT_EQ(0, npu_module_load(TWIN));
	EXPECT_EQ(0, access("/sys/bus/platform/devices/npumem-test-twin", F_OK));
	EXPECT_NE(0, access("/sys/bus/platform/devices/npumem-test-twin/driver", F_OK));
	/* EBUSY, which not all kernels know the name of. */
	EXPECT_TRUE(log_has(
		log, "npumem-test-twin: probe with driver npumem-sim failed with error -16"));
	EXPECT_EQ(-1, npu_open_nth(1));
	EXPECT_STREQ(secret, map);
	EXPECT_EQ(0, npu_module_unload(TWIN));
	munmap(map, 65536);
	close(log);
	close(fd);
}

TEST_HARNESS_MAIN
