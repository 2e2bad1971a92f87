/* SPDX-License-Identifier: MIT */
/*
 * Between the daemon (worker.c) and the program that it executes as a worker
 * (worker_main.c): both are one file, so nothing here needs a version.
 */
#pragma once

#include <sys/types.h>

#include "worker.h"

/* Its argv[0], alone, and its name in ps. */
#define WORKER_NAME "npumemd-worker"

/* Descriptors beside the result's. */
#define WORKER_START_FD 4
#define WORKER_BLOB_FD	5 /* first one */
#define WORKER_END_FD	(WORKER_BLOB_FD + WORKER_BLOBS)

#define WORKER_START_MAGIC 0x73776e70u
#define WORKER_REPLY_MAGIC 0x72776e70u

/*
 * struct worker_start - what the worker is to do
 * @parent: process that it is a child of
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

/* First bytes of the memfd; the data follow. */
struct worker_reply_header {
	uint32_t magic;
	uint32_t status;
	uint64_t data_size;
	char text[WORKER_TEXT_SIZE];
};

_Static_assert(sizeof(struct worker_reply_header) % 8 == 0, "data is aligned");

/* Write it to WORKER_RESULT_FD. */
int worker_write_reply(int err, const struct worker_reply *reply);
