/* SPDX-License-Identifier: MIT */
/* What the files of libnpumem share; not installed. */
#pragma once

#include <stdatomic.h>

#include "npumem.h"

/**
 * struct npumem_device - open device node
 * @refs: the caller's, and one of every object made from it; the descriptor is
 *	closed with the last, so objects may outlive npumem_device_close()
 * @fd: of the node
 * @path: of the node, or ""
 */
struct npumem_device {
	atomic_uint refs;
	int fd;
	char path[];
};

/**
 * struct npumem_bo - buffer
 * @device: whose it is
 * @size: bytes
 * @handle: of GEM
 * @dma_buf: descriptor of the caller's memory, which the BO is; -1 of other BOs
 * @map: where it is mapped, or NULL
 * @memory: the caller's memory of npumem_bo_from_memory(), or NULL
 * @memory_size: bytes at @memory
 */
struct npumem_bo {
	struct npumem_device *device;
	uint64_t size;
	uint32_t handle;
	int dma_buf;
	void *map;
	void *memory;
	uint64_t memory_size;
};

struct npumem_device *npumem_device_get(struct npumem_device *device);
void npumem_device_put(struct npumem_device *device);

/* GRAPH_DESTROY, PLAN_DESTROY or RUN_DESTROY; there is nobody to tell of an error. */
void npumem_handle_destroy(struct npumem_device *device, unsigned long request, uint32_t handle);

/* npumem_device_list() below another directory than /dev; *denied counts EACCES. */
int npumem_device_scan(const char *dev, char ***paths, uint32_t *count, uint32_t *denied,
		       struct npumem_error *error);

/* npumem_device_open(NULL) below another directory than /dev. */
int npumem_device_open_first(const char *dev, struct npumem_device **out,
			     struct npumem_error *error);

/* ioctl.c */
int npumem_ioctl(const struct npumem_device *device, unsigned long request, void *argument);
/* The same, and says what it could not do: npumem_fail_errno(). */
int npumem_call(const struct npumem_device *device, unsigned long request, void *argument,
		struct npumem_error *error, const char *what);

/* A buffer for the driver; one of no bytes is nowhere. */
static inline struct drm_npumem_buffer buffer_of(const void *bytes, uint64_t size)
{
	return (struct drm_npumem_buffer){
		.ptr = size ? (uintptr_t)bytes : 0,
		.size = size,
	};
}

/* bo.c: for a GEM handle that the driver made, an arena's. Takes it over. */
int npumem_bo_wrap(struct npumem_device *device, uint32_t handle, uint64_t size,
		   struct npumem_bo **out, struct npumem_error *error);

/* sync.c: wait for one binary syncobj; -ETIMEDOUT. */
int npumem_sync_wait_one(const struct npumem_device *device, uint32_t handle, int64_t deadline);

/* plan.c */
struct npumem_device *npumem_plan_device(const struct npumem_plan *plan);
/* One more npumem_graph_free() gives it up. */
struct npumem_graph *npumem_graph_get(struct npumem_graph *graph);

/**
 * struct npumem_asked - a request that can be sent more than once
 * @args: but for graph and syncobj; the deadline is the one that was asked for
 * @options: that @args points to, or NULL
 */
struct npumem_asked {
	struct drm_npumem_plan_request args;
	void *options;
};

/* Errors as of npumem_plan_request(); npumem_asked_fini() in any case. */
int npumem_asked_init(struct npumem_asked *asked, const struct npumem_request *request,
		      size_t request_size, struct npumem_error *error);
void npumem_asked_fini(struct npumem_asked *asked);
int npumem_asked_send(const struct npumem_asked *asked, struct npumem_graph *graph,
		      int64_t deadline, struct npumem_plan **out, struct npumem_error *error);

/* error.c; all return @code. */

/* The text is all there is to say. */
__attribute__((format(printf, 3, 4))) int npumem_fail(struct npumem_error *error, int code,
						      const char *format, ...);
/* -E2BIG: @what is of a later version, and asks for what this one has not. */
int npumem_fail_later(struct npumem_error *error, const char *what);
/* "cannot <what>: <the errno in words>", and what to do about it. */
__attribute__((format(printf, 3, 4))) int npumem_fail_errno(struct npumem_error *error, int code,
							    const char *format, ...);
/*
 * A graph, plan or job was refused. @what: "the plan", ... @log: the verifier's,
 * or NULL. Falls back on npumem_fail_errno() if there is neither.
 */
int npumem_fail_verdict(struct npumem_error *error, int code, const char *what,
			const struct npumem_verdict *verdict, const char *log);
/*
 * Fail with -EIO, since a run is lost: by a job with the positive errno @cause, and a verdict,
 * whose rule may be NPUMEM_RULE_NONE.
 */
int npumem_fail_lost(struct npumem_error *error, int cause, const struct npumem_verdict *verdict);

/* log.c */

/**
 * struct npumem_log_use - verifier log of one call
 * @user: the caller's wish, or NULL
 * @own: used when the caller wants none, so that the error can quote it
 */
struct npumem_log_use {
	struct npumem_log *user;
	char own[2048];
};

void npumem_log_begin(struct npumem_log_use *use, struct npumem_log *user,
		      struct drm_npumem_log *log);
/* Returns the text, never NULL. */
const char *npumem_log_end(struct npumem_log_use *use, const struct drm_npumem_log *log);
