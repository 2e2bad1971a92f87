/* SPDX-License-Identifier: MIT */
/*
 * Workers: a worker does one job in one sandboxed child process.
 *
 * Graphs are hostile input and planning is large, so nothing of a graph is read
 * in the daemon itself. A job that crashes, runs away or replies nonsense ends
 * as an error with a reason, and costs nothing but itself.
 *
 * The child executes the daemon's program anew, so that its address space has not a byte of
 * the daemon's memory, nor of other requests: it has its task, the mapped blobs that are its
 * input, and nothing else. It keeps no descriptor but that of its reply, a memfd that the
 * daemon reads after the child is gone, when nobody can change it any more. The daemon logs
 * the child's stderr as the child's words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "sandbox.h"

/* The number of the memfd for a worker's result, its only descriptor but 0 to 2. */
#define WORKER_RESULT_FD 3
#define WORKER_TEXT_SIZE 2048
#define WORKER_BLOBS	 2
#define WORKER_TASK_MAX	 4096

/**
 * struct worker_input - input of a job, in the child
 * @task: bytes of the task, 8-byte aligned
 * @task_size: number of them
 * @blobs: blobs, mapped read-only; NULL for one that was not given
 * @blob_sizes: bytes of each blob
 */
struct worker_input {
	const void *task;
	size_t task_size;
	const void *blobs[WORKER_BLOBS];
	size_t blob_sizes[WORKER_BLOBS];
};

/**
 * struct worker_reply - reply of a job, in the child
 * @text: reason of a failure, or summary of success; for people
 * @data: result of success, malloc'ed; may be NULL
 * @size: number of bytes at @data
 * @head: of these, the first that are a part of their own; a multiple of 8
 * @cost: how good the result is: the less the better
 * @final: more time would not make a better one
 */
struct worker_reply {
	char text[WORKER_TEXT_SIZE];
	void *data;
	size_t size;
	size_t head;
	uint64_t cost;
	bool final;
};

/**
 * struct worker_job - work that a program's workers can do
 * @name: name for worker_start(); NULL ends a list of jobs
 * @run: does the job, in the child; returns 0, or a negative errno and @reply->text
 * @prepare: called before, outside the sandbox, and sees no input; may be NULL
 */
struct worker_job {
	const char *name;
	int (*run)(const struct worker_input *input, struct worker_reply *reply);
	void (*prepare)(void);
};

/*
 * worker_main() - be a worker, if this process is one
 * @jobs: list of all jobs, ended by one without a name
 *
 * To be called first thing in main(), with its argv. Returns if the process is not a
 * worker; else it does its job and exits.
 */
void worker_main(char *const *argv, const struct worker_job *jobs);

/**
 * struct worker_blob - bytes of a file that a job is to see
 * @fd: of the file; negative for none. It may be closed after worker_start()
 * @offset: of the first byte
 * @size: bytes
 */
struct worker_blob {
	int fd;
	size_t offset;
	size_t size;
};

/*
 * struct worker_result - result of a job, in the daemon
 * @status: 0 or a positive errno: the job's own, or EIO for one that crashed or
 *	answered nonsense, ETIMEDOUT for one that took too long
 * @own: the process ended by itself, and said so; else @status is what became of it
 * @text: reason or summary; may come from a hostile process
 * @data: result of success, valid until worker_free(); 8-byte aligned; may be NULL
 * @size: bytes at @data
 * @head: of these, the first that are a part of their own: 0, or a multiple of 8 below @size
 * @cost, @final: as the job says; 0 and false of a failure
 * @cpu_us: processor time that the process says it took, in microseconds
 * @blob: all of the data, as a blob for another worker
 */
struct worker_result {
	uint32_t status;
	bool own;
	char text[WORKER_TEXT_SIZE];
	const void *data;
	size_t size;
	size_t head;
	uint64_t cost;
	bool final;
	uint64_t cpu_us;
	struct worker_blob blob;
};

struct worker;

/*
 * typedef worker_done - called from the event loop, once, when the child is gone
 *
 * May worker_free() the worker.
 */
typedef void (*worker_done)(struct worker *worker, const struct worker_result *result,
			    void *userdata);

/*
 * struct worker_args - arguments of worker_start()
 * @limits: limits of the child; @limits.file_bytes is set from @result_limit
 * @result_limit: most bytes of a result
 * @deadline_us: CLOCK_MONOTONIC microseconds at which the child is killed; 0 = none
 * @idle: the child runs when nothing else does (SCHED_IDLE)
 * @nice: added to the daemon's nice value for the child
 * @job: name of the job
 * @task, @task_size: the job's task, which is copied; WORKER_TASK_MAX bytes at most
 * @blobs: blobs that the job is to see
 * @request: number of the request that it is for, for the log
 * @done: called with @userdata
 * @spent: told, with @userdata, the microseconds of processor time that the child has had, once:
 *	before @done, before what worker_stop() tells, or by worker_free(); NULL: nobody is
 */
struct worker_args {
	struct sandbox_limits limits;
	uint64_t result_limit;
	uint64_t deadline_us;
	bool idle;
	int nice;
	const char *job;
	const void *task;
	size_t task_size;
	struct worker_blob blobs[WORKER_BLOBS];
	uint64_t request;
	worker_done done;
	void (*spent)(uint64_t cpu_us, void *userdata);
	void *userdata;
};

/* Where a blob begins that stands behind so many bytes: at a page of its own. */
size_t worker_to_page(size_t bytes);

/* Write all bytes, by as many calls of write() as that takes; 0 or a negative errno. */
int write_all(int fd, const void *data, size_t size);

/* No blobs, for an initializer of struct worker_args. */
#define WORKER_NO_BLOBS { { .fd = -1 }, { .fd = -1 } }

/*
 * worker_start() - start a job; SIGCHLD must be blocked
 *
 * Returns a negative errno if no process can be had; @done is then not called.
 */
int worker_start(sd_event *event, const struct worker_args *args, struct worker **out);

/*
 * worker_stop() - the result is not wanted any more
 * @gone: told, with the worker's userdata, from the event loop, when the child is gone
 *
 * Kills the child if it still runs; @done is not called any more. A child that runs when nothing
 * else does gives its memory back when nothing else runs, too, which may take many seconds: nobody
 * waits for that.
 *
 * True: nothing ran, and the worker is freed. False: it is freed when the child is gone, before
 * @gone; worker_free() may come before that. NULL is fine, and true.
 */
bool worker_stop(struct worker *worker, void (*gone)(void *userdata));

/*
 * worker_free() - free a worker whose child is gone; or at the end of the program, where the child
 * is killed, and whoever inherits it waits for it
 *
 * What such a child has spent is told as far as it has come. NULL is fine.
 */
void worker_free(struct worker *worker);
