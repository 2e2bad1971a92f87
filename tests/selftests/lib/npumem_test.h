/* SPDX-License-Identifier: MIT */
/*
 * Calls that all kselftests of npumem use: the device, ioctls with their errno, BOs, fences,
 * knobs, modules. None retries or hides an error, since the tests are about errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npumem_drm.h"

/* An address that no process of the test has mapped. */
#define NPU_UNMAPPED	0x1000ull
/* Longer than anything here takes on a slow emulated machine. */
#define NPU_PATIENCE_NS (300ll * 1000 * 1000 * 1000)

/* Open the first npumem device; -1 and a sentence on stderr without one. */
int npu_open(void);
/* The n-th one, from 0; -1 without. A device that was bound anew may have another place. */
int npu_open_nth(unsigned int n);
/* The one whose first engine has that name; -1 without. */
int npu_open_with(const char *engine);
/* One ioctl, as it is: 0 or a negative errno. EINTR is not hidden. */
int npu_ioctl(int fd, unsigned long request, void *arg);
/* The ioctl number @request with another struct size. */
unsigned long npu_ioctl_resize(unsigned long request, size_t size);

/* The platform driver of engine "sim", in sysfs. */
#define NPU_DRIVER "/sys/bus/platform/drivers/npumem-sim/"
/* The name of the platform device that it has; false if it has none. */
bool npu_device_name(char *name, size_t size);

/* A kernel with lockdep, and with the sanitizers that come with it here. */
bool npu_has_lockdep(void);
/**
 * npu_count() - how often, or how much, of what only repeats a path
 * @full: on an ordinary kernel
 * @few: on one with lockdep, which is ten times as slow and has seen each path by then
 */
uint32_t npu_count(uint32_t full, uint32_t few);

int64_t npu_now(void); /* CLOCK_MONOTONIC, ns */
/* A deadline of a plan request that no test lives to see. */
int64_t npu_late(void);
/* Below @below; Marsaglia's xorshift32, whose state is any number but 0. */
uint32_t npu_draw(uint32_t *state, uint32_t below);

int npu_info(int fd, struct drm_npumem_info *info);
int npu_bank(int fd, struct drm_npumem_bank *bank); /* bank 0 */

/* 0 or a negative errno. */
int npu_bo_create(int fd, uint64_t size, uint32_t flags, uint32_t *handle);
int npu_bo_close(int fd, uint32_t handle);
/* Map a BO for reading and writing; NULL on error. */
void *npu_bo_map(int fd, uint32_t handle, size_t size);
int npu_bo_wait(int fd, uint32_t handle, int64_t deadline_ns);

/* Whether reading a byte is a SIGBUS. One thread of a process at a time. */
bool npu_read_faults(const volatile uint8_t *byte);
/* The same for writing one. */
bool npu_write_faults(volatile uint8_t *byte, uint8_t value);
/* True if all bytes have that value; prints the first that has not. */
bool npu_all_bytes(const void *mem, size_t size, uint8_t value);

/* Syncobjs; the point is zero for a binary one. 0 or a negative errno. */
uint32_t npu_syncobj(int fd);
/* Wait until it is signalled, or NPU_PATIENCE_NS: -ETIME. */
int npu_sync_wait(int fd, uint32_t handle, uint64_t point);
/*
 * As it is now: 0 signalled, -ETIME not signalled, -EINVAL it has no fence at all.
 */
int npu_sync_now(int fd, uint32_t handle, uint64_t point);
/* Wait as long for it to have a fence at all, then say: 1 signalled, 0 not. */
int npu_sync_signalled(int fd, uint32_t handle, uint64_t point);
/*
 * Status of the fence in a binary syncobj: 0 not signalled, 1 signalled,
 * negative errno signalled with that error.
 */
int npu_sync_status(int fd, uint32_t handle);
/* When the fence in a binary syncobj was signalled, CLOCK_MONOTONIC ns; -1: it was not. */
int64_t npu_sync_time(int fd, uint32_t handle);

/* An array of user memory for an ioctl. */
#define NPU_ARRAY(records, n)                   \
	((struct drm_npumem_array){             \
		.stride = sizeof((records)[0]), \
		.count = (n),                   \
		.ptr = (uintptr_t)(records),    \
	})

/* Bytes of user memory for an ioctl: so many at an address; those of an object. */
#define NPU_BYTES(bytes, n) ((struct drm_npumem_buffer){ (uintptr_t)(bytes), (n) })
#define NPU_BUFFER(object)  NPU_BYTES(&(object), sizeof(object))

/* A query for records that are in an array, from the first one on. */
#define NPU_QUERY(kind, records)                               \
	((struct drm_npumem_dev_query){                        \
		.type = (kind),                                \
		.stride = sizeof((records)[0]),                \
		.answer = NPU_BYTES(records, sizeof(records)), \
	})

#define NPU_TEXT 4096

/**
 * struct npu_log - log buffer of a test, and its view for an ioctl
 * @text: never unterminated
 */
struct npu_log {
	char text[NPU_TEXT];
};

struct drm_npumem_log npu_log(struct npu_log *log, uint32_t level);

/*
 * A knob of engine "sim" in debugfs, opened for writing (-1: there is none), and
 * set. npu_knob() sets it on all devices.
 */
int npu_knob_open(const char *name);
int npu_knob_set(int fd, unsigned long value);
int npu_knob(const char *name, unsigned long value);
/* Write a text to a file of sysfs or the like: 0 or a negative errno. */
int npu_write(const char *path, const char *text);
/* The knob of one device, of any of its engines: ENGINE/NAME. */
int npu_knob_of(int fd, const char *name, unsigned long value);

/*
 * Load a module of tests/selftests/modules, or unload one: 0 or a negative errno. It is
 * looked for where scripts/qemu-run puts it, beside the tests' directory.
 */
int npu_module_load(const char *name);
int npu_module_load_with(const char *name, const char *parameters);
int npu_module_unload(const char *name);

/* Runs all functions at once, each in a thread and with @data, until all have ended. */
int npu_threads(void *(*const *functions)(void *data), unsigned int count, void *data);

/* Become somebody without privileges. 0 or a negative errno. */
int npu_become(unsigned int uid);
/* Device nodes for everybody, as udev makes them. */
void npu_open_nodes(void);
