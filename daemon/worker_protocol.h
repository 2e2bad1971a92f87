/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the daemon (worker.c) and a worker (worker_main.c). Both are one
 * program file, so nothing here needs a version.
 */
#pragma once

#include <sys/types.h>

#include "worker.h"

/* A worker's argv[0], its only argument, and its name in ps. */
#define WORKER_NAME "npumemd-worker"

/* Numbers of the worker's descriptors beside that of the result. */
#define WORKER_START_FD 4
#define WORKER_BLOB_FD	5 /* first one */
#define WORKER_END_FD	(WORKER_BLOB_FD + WORKER_BLOBS)

#define WORKER_START_MAGIC 0x73776e70u
#define WORKER_REPLY_MAGIC 0x72776e70u

/*
 * struct worker_start - what the daemon tells a worker to do
 * @parent: pid of the daemon
 * @blobs: as in struct worker_args, but the descriptors are WORKER_BLOB_FD and on
 */
struct worker_start {
	uint32_t magic;
	pid_t parent;
	struct sandbox_limits limits;
	char job[32];
	struct worker_blob blobs[WORKER_BLOBS];
	uint64_t task_size;
	uint8_t task[WORKER_TASK_MAX] __attribute__((aligned(8)));
};

/* The first bytes of the memfd with the reply; the data follow. */
struct worker_reply_header {
	uint32_t magic;
	uint32_t status;
	uint64_t data_size;
	uint64_t head_size;
	uint64_t cost;
	uint64_t final;
	uint64_t cpu_us;
	char text[WORKER_TEXT_SIZE];
};

_Static_assert(sizeof(struct worker_reply_header) % 8 == 0, "data is aligned");

/* Write a reply to the memfd for it, WORKER_RESULT_FD once descriptors are in their places. */
int worker_write_reply(int fd, int err, const struct worker_reply *reply);
