// SPDX-License-Identifier: MIT
/*
 * The worker's side: the daemon's program, executed anew, finds its input, does its job and
 * writes its reply.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "worker_protocol.h"

int write_all(int fd, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		size -= n;
	}
	return 0;
}

/* Processor time of this process. */
static uint64_t cpu_us(void)
{
	struct timespec spent = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	return (uint64_t)spent.tv_sec * 1000000 + (uint64_t)spent.tv_nsec / 1000;
}

int worker_write_reply(int fd, int err, const struct worker_reply *reply)
{
	struct worker_reply_header header = {
		.magic = WORKER_REPLY_MAGIC,
		.status = -err,
		.data_size = err ? 0 : reply->size,
		.head_size = err ? 0 : reply->head,
		.cost = err ? 0 : reply->cost,
		.final = err ? 0 : reply->final,
		.cpu_us = cpu_us(),
	};

	memcpy(header.text, reply->text, sizeof(header.text));
	err = write_all(fd, &header, sizeof(header));
	if (!err && header.data_size)
		err = write_all(fd, reply->data, header.data_size);
	return err;
}

static const struct worker_job *find_job(const struct worker_job *jobs, const char *name)
{
	for (; jobs->name; jobs++)
		if (!strcmp(jobs->name, name))
			return jobs;
	return NULL;
}

/* Map a blob, privately, so that later writes of others into the file are not seen. */
static int map_blob(int fd, const struct worker_blob *blob, const void **out)
{
	uint8_t *map = mmap(NULL, blob->offset + blob->size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	*out = map + blob->offset;
	return 0;
}

static int map_blobs(const struct worker_start *start, struct worker_input *input,
		     struct worker_reply *reply)
{
	int err;

	for (int i = 0; i < WORKER_BLOBS; i++) {
		if (start->blobs[i].fd < 0)
			continue;
		err = map_blob(WORKER_BLOB_FD + i, &start->blobs[i], &input->blobs[i]);
		if (err) {
			snprintf(reply->text, sizeof(reply->text),
				 "a blob of %zu bytes cannot be mapped: %s", start->blobs[i].size,
				 strerror(-err));
			return err;
		}
		input->blob_sizes[i] = start->blobs[i].size;
	}
	return 0;
}

static int enter_sandbox(const struct worker_start *start, struct worker_reply *reply)
{
	const char *what;
	int err = sandbox_enter(&start->limits, NULL, &what);

	if (err)
		snprintf(reply->text, sizeof(reply->text),
			 "the worker's sandbox cannot be set up (%s): %s", what, strerror(-err));
	return err;
}

__attribute__((noreturn)) static void be_worker(const struct worker_job *jobs)
{
	static struct worker_start start;
	static struct worker_reply reply;
	struct worker_input input = { .task = start.task };
	const struct worker_job *job = NULL;
	int err;

	if (pread(WORKER_START_FD, &start, sizeof(start), 0) != sizeof(start) ||
	    start.magic != WORKER_START_MAGIC)
		_exit(EXIT_FAILURE);
	/* The daemon may have died before this call, so that the signal will not come. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != start.parent)
		_exit(EXIT_FAILURE);
	prctl(PR_SET_NAME, WORKER_NAME);
	input.task_size = start.task_size;
	err = map_blobs(&start, &input, &reply);
	if (!err && close_range(WORKER_RESULT_FD + 1, ~0U, 0))
		err = -errno;
	if (!err) {
		job = find_job(jobs, start.job);
		err = job ? 0 : -ENOSYS;
	}
	if (!err && job->prepare)
		job->prepare();
	if (!err)
		err = enter_sandbox(&start, &reply);
	if (!err)
		err = job->run(&input, &reply);
	_exit(worker_write_reply(WORKER_RESULT_FD, err, &reply) ? EXIT_FAILURE : EXIT_SUCCESS);
}

void worker_main(char *const *argv, const struct worker_job *jobs)
{
	if (argv[0] && !strcmp(argv[0], WORKER_NAME) && !argv[1])
		be_worker(jobs);
}
