/* SPDX-License-Identifier: MIT */
/*
 * Stand-in for the driver below libnpumem: ioctl() and what libdrm would do are
 * replaced at link time (--wrap). The device's descriptor is a memfd, so that
 * mapping it works.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npumem.h"
#include "unit.h"

/*
 * struct fake - what the driver does, and what was asked of it
 * @name: that drmGetVersion() reports; NULL: it fails with errno @unnamed
 * @major: of its version
 * @goes: path of a node that goes when a driver is asked for its name; NULL: none
 * @handler: called for every ioctl of ours with the argument struct; returns 0
 *	or a positive errno. NULL: fake_default()
 * @interrupts: ioctls that end with EINTR before the next one goes through;
 *	they spoil their argument, as the kernel may
 * @calls: ioctls, interrupted ones included
 * @request: of the last one
 * @before: its argument struct, as it came in
 * @closed_handle: GEM handle closed last
 * @syncs_made, @syncs_gone: syncobjs created and destroyed
 * @open_error: errno of open(), or 0
 * @udmabuf_error: errno of opening /dev/udmabuf, or 0: it is there
 * @sync_error: errno of creating a syncobj, or 0
 * @wait_error: negative errno that waiting for syncobjs returns, or 0
 * @prime_error: errno of importing and exporting dma-bufs, or 0
 * @prime_flags: of the last export
 * @waited: syncobjs of the last wait, @wait_points their points
 */
struct fake {
	const char *name;
	int unnamed;
	int major;
	const char *goes;
	int (*handler)(unsigned long request, void *argument);
	unsigned int interrupts;
	unsigned int calls;
	unsigned long request;
	unsigned char before[256];
	uint32_t closed_handle;
	unsigned int syncs_made;
	unsigned int syncs_gone;
	int open_error;
	int udmabuf_error;
	int sync_error;
	int wait_error;
	int prime_error;
	uint32_t prime_flags;
	uint32_t waited[4];
	uint64_t wait_points[4];
	int64_t wait_deadline;
	bool timeline;
};

extern struct fake fake;

/* A well-behaved driver: one bank, one engine, handles 7 (graph), 8 (plan), ... */
int fake_default(unsigned long request, void *argument);
/* What a driver does with a buffer: the beginning, zeros behind, the true size. */
void fake_give(struct drm_npumem_buffer *buffer, const void *data, uint64_t size);
/* Forget everything; a well-behaved driver called "npumem". */
void fake_reset(void);
/* Device on a memfd of some pages. */
struct npumem_device *fake_device(void);

/* What the call under test has said. */
extern struct npumem_error error;
/* A call has failed with that errno and exactly that text. */
void assert_error(int err, int expected, const char *text);

/* Everything that a test of jobs needs; made by objects_setup(), which leaves it in @state. */
struct objects {
	struct npumem_device *device;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_run *run;
};

int objects_setup(void **state);
int objects_teardown(void **state);

/* A verdict that says nothing. */
extern const struct npumem_verdict no_verdict;
