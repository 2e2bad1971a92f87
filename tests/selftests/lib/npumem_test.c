// SPDX-License-Identifier: MIT
#include "npumem_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/sync_file.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <xf86drm.h>

static bool is_npumem(int fd)
{
	char name[32] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return ioctl(fd, DRM_IOCTL_VERSION, &version) == 0 && !strcmp(name, NPUMEM_DRIVER_NAME);
}

int npu_open_nth(unsigned int n)
{
	glob_t nodes;
	int fd = -1;
	size_t i;

	if (glob("/dev/{accel/accel,dri/renderD}*", GLOB_BRACE, NULL, &nodes))
		return -1;
	for (i = 0; fd < 0 && i < nodes.gl_pathc; i++) {
		fd = open(nodes.gl_pathv[i], O_RDWR | O_CLOEXEC);
		if (fd >= 0 && (!is_npumem(fd) || n--)) {
			close(fd);
			fd = -1;
		}
	}
	globfree(&nodes);
	return fd;
}

int npu_open(void)
{
	int fd = npu_open_nth(0);

	if (fd < 0)
		fprintf(stderr, "# no npumem device in /dev/accel and /dev/dri\n");
	return fd;
}

int npu_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

unsigned long npu_ioctl_resize(unsigned long request, size_t size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

bool npu_device_name(char *name, size_t size)
{
	struct dirent *entry;
	DIR *dir = opendir(NPU_DRIVER);
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		found = entry->d_type == DT_LNK && strcmp(entry->d_name, "module");
		if (found)
			snprintf(name, size, "%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool npu_has_lockdep(void)
{
	return access("/proc/lockdep", F_OK) == 0;
}

uint32_t npu_count(uint32_t full, uint32_t few)
{
	return npu_has_lockdep() ? few : full;
}

int64_t npu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

int64_t npu_late(void)
{
	return npu_now() + NPUMEM_MAX_REQUEST_NS / 2;
}

uint32_t npu_draw(uint32_t *state, uint32_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % below;
}

static int query(int fd, uint32_t type, void *out, uint32_t size)
{
	struct drm_npumem_dev_query args = {
		.type = type,
		.stride = size,
		.answer = NPU_BYTES(out, size),
	};

	return npu_ioctl(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args);
}

int npu_open_with(const char *engine)
{
	struct drm_npumem_engine first = { 0 };
	unsigned int n = 0;
	int fd;

	while ((fd = npu_open_nth(n++)) >= 0) {
		if (!query(fd, NPUMEM_QUERY_ENGINES, &first, sizeof(first)) &&
		    !strcmp(first.name, engine))
			return fd;
		close(fd);
	}
	return -1;
}

int npu_info(int fd, struct drm_npumem_info *info)
{
	return query(fd, NPUMEM_QUERY_INFO, info, sizeof(*info));
}

int npu_bank(int fd, struct drm_npumem_bank *bank)
{
	return query(fd, NPUMEM_QUERY_BANKS, bank, sizeof(*bank));
}

int npu_bo_create(int fd, uint64_t size, uint32_t flags, uint32_t *handle)
{
	struct drm_npumem_bo_create args = { .size = size, .flags = flags };
	int err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_BO_CREATE, &args);

	*handle = err ? 0 : args.handle;
	return err;
}

int npu_bo_close(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

void *npu_bo_map(int fd, uint32_t handle, size_t size)
{
	struct drm_npumem_bo_mmap_offset args = { .handle = handle };
	void *mem;

	if (npu_ioctl(fd, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &args))
		return NULL;
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, args.offset);
	return mem == MAP_FAILED ? NULL : mem;
}

int npu_bo_wait(int fd, uint32_t handle, int64_t deadline_ns)
{
	struct drm_npumem_bo_wait args = { .handle = handle, .deadline_ns = deadline_ns };

	return npu_ioctl(fd, DRM_IOCTL_NPUMEM_BO_WAIT, &args);
}

static sigjmp_buf bus_error;

static void on_bus_error(int signal)
{
	siglongjmp(bus_error, 1);
}

static bool faults(volatile uint8_t *byte, const uint8_t *value)
{
	struct sigaction action = { .sa_handler = on_bus_error }, old;
	bool faults = true;

	sigaction(SIGBUS, &action, &old);
	if (!sigsetjmp(bus_error, 1)) {
		if (value)
			*byte = *value;
		else
			(void)*byte;
		faults = false;
	}
	sigaction(SIGBUS, &old, NULL);
	return faults;
}

bool npu_read_faults(const volatile uint8_t *byte)
{
	return faults((volatile uint8_t *)byte, NULL);
}

bool npu_write_faults(volatile uint8_t *byte, uint8_t value)
{
	return faults(byte, &value);
}

bool npu_all_bytes(const void *mem, size_t size, uint8_t value)
{
	const uint8_t *p = mem;
	size_t i;

	for (i = 0; i < size; i++) {
		if (p[i] != value) {
			printf("# byte %zu of %zu is %#x, not %#x\n", i, size, p[i], value);
			return false;
		}
	}
	return true;
}

uint32_t npu_syncobj(int fd)
{
	uint32_t handle = 0;

	return drmSyncobjCreate(fd, 0, &handle) ? 0 : handle;
}

static int sync_wait(int fd, uint32_t handle, uint64_t point, int64_t until, uint32_t flags)
{
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
		.timeout_nsec = until,
		.flags = flags,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

int npu_sync_wait(int fd, uint32_t handle, uint64_t point)
{
	return sync_wait(fd, handle, point, npu_now() + NPU_PATIENCE_NS,
			 DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT);
}

int npu_sync_now(int fd, uint32_t handle, uint64_t point)
{
	return sync_wait(fd, handle, point, 0, 0);
}

int npu_sync_signalled(int fd, uint32_t handle, uint64_t point)
{
	int err = sync_wait(fd, handle, point, npu_now() + NPU_PATIENCE_NS,
			    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT |
				    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE);

	if (err)
		return err;
	err = sync_wait(fd, handle, point, 0, 0);
	if (err == -ETIME)
		return 0;
	return err ? err : 1;
}

/* What a sync file says of a syncobj's fence, which may stand for several. */
static int sync_info(int fd, uint32_t handle, struct sync_file_info *info,
		     struct sync_fence_info fences[8])
{
	int file, err;

	*info = (struct sync_file_info){ .num_fences = 8, .sync_fence_info = (uintptr_t)fences };
	if (drmSyncobjExportSyncFile(fd, handle, &file))
		return -ENOENT;
	err = npu_ioctl(file, SYNC_IOC_FILE_INFO, info);
	close(file);
	return err;
}

int npu_sync_status(int fd, uint32_t handle)
{
	struct sync_fence_info fences[8] = { 0 };
	struct sync_file_info info;
	int err = sync_info(fd, handle, &info, fences);

	return err ? err : info.status;
}

int64_t npu_sync_time(int fd, uint32_t handle)
{
	struct sync_fence_info fences[8] = { 0 };
	struct sync_file_info info;
	int64_t last = -1;
	uint32_t i;

	if (sync_info(fd, handle, &info, fences) || !info.status)
		return -1;
	for (i = 0; i < info.num_fences; i++)
		if ((int64_t)fences[i].timestamp_ns > last)
			last = fences[i].timestamp_ns;
	return last;
}

struct drm_npumem_log npu_log(struct npu_log *log, uint32_t level)
{
	memset(log->text, 0, sizeof(log->text));
	return (struct drm_npumem_log){
		.level = level,
		.text = level ? NPU_BUFFER(log->text) : (struct drm_npumem_buffer){ 0 },
	};
}

/* Whatever the accel and the DRM minor are called. */
static int find_knobs(const char *name, glob_t *found)
{
	char pattern[128];

	snprintf(pattern, sizeof(pattern), "/sys/kernel/debug/{accel,dri}/*/sim/%s", name);
	return glob(pattern, GLOB_BRACE, NULL, found) ? -ENOENT : 0;
}

int npu_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

int npu_knob_open(const char *name)
{
	glob_t found;
	int fd;

	if (find_knobs(name, &found))
		return -1;
	fd = open(found.gl_pathv[0], O_WRONLY | O_CLOEXEC);
	globfree(&found);
	return fd;
}

int npu_knob_set(int fd, unsigned long value)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%lu\n", value);

	return write(fd, text, len) == len ? 0 : -errno;
}

int npu_knob(const char *name, unsigned long value)
{
	glob_t found;
	int fd, err = find_knobs(name, &found);
	size_t i;

	for (i = 0; !err && i < found.gl_pathc; i++) {
		fd = open(found.gl_pathv[i], O_WRONLY | O_CLOEXEC);
		err = fd < 0 ? -errno : npu_knob_set(fd, value);
		if (fd >= 0)
			close(fd);
	}
	if (err != -ENOENT)
		globfree(&found);
	return err;
}

int npu_module_load(const char *name)
{
	return npu_module_load_with(name, "");
}

int npu_module_load_with(const char *name, const char *parameters)
{
	char path[256];
	int fd, err;

	snprintf(path, sizeof(path), "../modules/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return err;
}

int npu_module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

int npu_threads(void *(*const *functions)(void *data), unsigned int count, void *data)
{
	pthread_t ids[count];
	unsigned int started = 0, i;
	int err = 0;

	while (!err && started < count) {
		err = -pthread_create(&ids[started], NULL, functions[started], data);
		started += !err;
	}
	for (i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	return err;
}

int npu_become(unsigned int uid)
{
	return setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ? -errno : 0;
}

void npu_open_nodes(void)
{
	glob_t nodes;
	size_t i;

	if (glob("/dev/{accel/accel,dri/renderD}*", GLOB_BRACE, NULL, &nodes))
		return;
	for (i = 0; i < nodes.gl_pathc; i++)
		chmod(nodes.gl_pathv[i], 0666);
	globfree(&nodes);
}

int npu_knob_of(int fd, const char *name, unsigned long value)
{
	char path[64], pattern[PATH_MAX + 64];
	char *device;
	struct stat st;
	glob_t found;
	int knob, err;

	/* Its directory there is called as the device that the node is of. */
	if (fstat(fd, &st))
		return -errno;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	device = realpath(path, NULL);
	if (!device)
		return -errno;
	snprintf(pattern, sizeof(pattern), "/sys/kernel/debug/{accel,dri}/%s/%s",
		 strrchr(device, '/') + 1, name);
	free(device);
	if (glob(pattern, GLOB_BRACE, NULL, &found))
		return -ENOENT;
	knob = open(found.gl_pathv[0], O_WRONLY | O_CLOEXEC);
	globfree(&found);
	if (knob < 0)
		return -errno;
	err = npu_knob_set(knob, value);
	close(knob);
	return err;
}
