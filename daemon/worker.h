/* SPDX-License-Identifier: MIT */
/*
 * Workers: one job in one sandboxed child process.
 *
 * Graphs are hostile input and planning is large, so nothing of a graph is read
 * in the daemon itself. A job that crashes, runs away or answers nonsense ends
 * as an error with a reason, and costs nothing but itself.
 *
 * The child is forked, not executed: the daemon has one thread, so the child may
 * go on using everything, and sees its input (the graph's mapping) without any
 * copy. It keeps no descriptor of the daemon's: not the netlink socket, whose
 * closing tells the driver that the daemon died, nor the device's. Its answer
 * goes through a memfd that the daemon reads after the child is gone, when
 * nobody can change it any more.
 */
#ifndef NPUMEMD_WORKER_H
#define NPUMEMD_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "sandbox.h"

/* Where a worker finds its result's memfd; its only descriptor but 0 to 2. */
#define WORKER_RESULT_FD 3
#define WORKER_TEXT_SIZE 2048

/**
 * struct worker_answer - what a job says, in the child
 * @text: reason of a failure, or summary of success; for people
 * @data: result of success, malloc'ed; may be NULL
 * @size: bytes at @data
 */
struct worker_answer {
	char text[WORKER_TEXT_SIZE];
	void *data;
	size_t size;
};

/**
 * typedef worker_job - work done in the child
 *
 * Returns 0 or a negative errno; the latter with @answer->text.
 */
typedef int (*worker_job)(const void *task, struct worker_answer *answer);

/**
 * struct worker_result - what came of it, in the daemon
 * @status: 0 or a positive errno: the job's own, or EIO for one that crashed or
 *	answered nonsense, ETIMEDOUT for one that took too long
 * @text: reason or summary; may come from a hostile process
 * @data: of success; until worker_free(); 8-byte aligned; may be NULL
 * @size: bytes at @data
 */
struct worker_result {
	uint32_t status;
	char text[WORKER_TEXT_SIZE];
	const void *data;
	size_t size;
};

struct worker;

/**
 * typedef worker_done - called from the event loop, once, when the child is gone
 *
 * May worker_free() the worker.
 */
typedef void (*worker_done)(struct worker *worker, const struct worker_result *result,
			    void *userdata);

/**
 * struct worker_args - of worker_start()
 * @limits: of the child; @limits.file_bytes is set from @result_limit
 * @result_limit: bytes of a result
 * @deadline_us: CLOCK_MONOTONIC microseconds at which the child is killed; 0 = none
 * @job: runs in the child with @task
 * @done: called with @userdata
 */
struct worker_args {
	struct sandbox_limits limits;
	uint64_t result_limit;
	uint64_t deadline_us;
	worker_job job;
	const void *task;
	worker_done done;
	void *userdata;
};

/**
 * worker_start() - start a job; SIGCHLD must be blocked
 *
 * Returns a negative errno if no process can be had; @done is then not called.
 */
int worker_start(sd_event *event, const struct worker_args *args, struct worker **out);

/* Kill the child if it still runs; @done is not called any more. NULL is fine. */
void worker_free(struct worker *worker);

#endif /* NPUMEMD_WORKER_H */
