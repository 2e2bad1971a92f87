// SPDX-License-Identifier: MIT
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

#define ANSWER_MAGIC 0x72776e70u

/* First bytes of the memfd; the text and the data follow. */
struct answer_header {
	uint32_t magic;
	uint32_t status;
	uint64_t data_size;
	char text[WORKER_TEXT_SIZE];
};

_Static_assert(sizeof(struct answer_header) % 8 == 0, "data is aligned");

/**
 * struct worker - child process and what watches it
 * @event: kept so that sources can be made and unmade
 * @child: source of its end
 * @timer: source of its deadline, or NULL
 * @pid: of the child; 0 once it has been waited for
 * @memfd: that it writes its answer to
 * @timed_out: killed at its deadline
 * @map: of the memfd, @map_size bytes, once it has ended well
 */
struct worker {
	sd_event_source *child;
	sd_event_source *timer;
	pid_t pid;
	int memfd;
	bool timed_out;
	void *map;
	size_t map_size;
	struct worker_args args;
	struct worker_result result;
};

/* ------------------------------------------------------------- in the child */

static int write_all(int fd, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0)
			return -errno;
		at += n;
		size -= n;
	}
	return 0;
}

static int write_answer(int err, const struct worker_answer *answer)
{
	struct answer_header header = {
		.magic = ANSWER_MAGIC,
		.status = -err,
		.data_size = err ? 0 : answer->size,
	};

	memcpy(header.text, answer->text, sizeof(header.text));
	err = write_all(WORKER_RESULT_FD, &header, sizeof(header));
	if (!err && header.data_size)
		err = write_all(WORKER_RESULT_FD, answer->data, header.data_size);
	return err;
}

/* Only stderr, for sanitizers and assertions, and the result stay open. */
static int keep_result_only(int memfd)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(memfd, WORKER_RESULT_FD) < 0 || close_range(WORKER_RESULT_FD + 1, ~0U, 0))
		return -errno;
	return 0;
}

__attribute__((noreturn)) static void child(const struct worker_args *args, int memfd, pid_t parent)
{
	struct sandbox_limits limits = args->limits;
	struct worker_answer answer = { "" };
	const char *what = "descriptors";
	sigset_t blocked;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	/*
	 * The daemon blocked SIGCHLD and the signals it ends by. Those of a
	 * terminal reach the child too and stay blocked: the daemon sees to it.
	 */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_SETMASK, &blocked, NULL);

	limits.file_bytes = args->result_limit + sizeof(struct answer_header);
	err = keep_result_only(memfd);
	if (!err)
		err = sandbox_enter(&limits, &what);
	if (err)
		snprintf(answer.text, sizeof(answer.text),
			 "the worker's sandbox cannot be set up (%s): %s", what, strerror(-err));
	else
		err = args->job(args->task, &answer);
	_exit(write_answer(err, &answer) ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* ------------------------------------------------------------ in the daemon */

__attribute__((format(printf, 3, 4))) static void fail(struct worker *worker, uint32_t status,
						       const char *format, ...)
{
	va_list args;

	worker->result.status = status;
	va_start(args, format);
	vsnprintf(worker->result.text, sizeof(worker->result.text), format, args);
	va_end(args);
}

static void fail_signal(struct worker *worker, int number)
{
	if (worker->timed_out)
		fail(worker, ETIMEDOUT, "planning was stopped at the deadline");
	else if (number == SIGXCPU)
		fail(worker, ETIMEDOUT,
		     "planning was stopped after %" PRIu64
		     " s of processor time, the cpu-limit of npumemd.conf",
		     worker->args.limits.cpu_seconds);
	else if (number == SIGXFSZ)
		fail(worker, EFBIG,
		     "the plan is larger than %" PRIu64
		     " bytes, the plan-size-limit of npumemd.conf",
		     worker->args.result_limit);
	else if (number == SIGSYS)
		fail(worker, EIO,
		     "the planning process made a system call that its sandbox forbids");
	else
		fail(worker, EIO, "the planning process was killed by signal %d (%s)", number,
		     strsignal(number));
}

static void read_answer(struct worker *worker)
{
	struct worker_result *result = &worker->result;
	const struct answer_header *header;
	struct stat stat;
	uint64_t rest;

	if (fstat(worker->memfd, &stat)) {
		fail(worker, errno, "a result cannot be read: %m");
		return;
	}
	if ((uint64_t)stat.st_size < sizeof(*header)) {
		fail(worker, EIO, "the planning process gave no answer");
		return;
	}
	rest = stat.st_size - sizeof(*header);
	worker->map = mmap(NULL, stat.st_size, PROT_READ, MAP_SHARED, worker->memfd, 0);
	if (worker->map == MAP_FAILED) {
		worker->map = NULL;
		fail(worker, errno, "a result cannot be read: %m");
		return;
	}
	worker->map_size = stat.st_size;
	header = worker->map;
	if (header->magic != ANSWER_MAGIC || header->data_size != rest ||
	    rest > worker->args.result_limit || header->status > 4095 ||
	    header->text[sizeof(header->text) - 1] || (header->status && rest)) {
		fail(worker, EIO, "the planning process gave an answer that makes no sense");
		return;
	}
	result->status = header->status;
	snprintf(result->text, sizeof(result->text), "%s", header->text);
	result->data = rest ? header + 1 : NULL;
	result->size = rest;
}

static int on_exit_of_child(sd_event_source *source, const siginfo_t *info, void *userdata)
{
	struct worker *worker = userdata;

	worker->pid = 0; /* sd-event has waited for it, or does so right after */
	if (info->si_code == CLD_EXITED && info->si_status == EXIT_SUCCESS)
		read_answer(worker);
	else if (info->si_code == CLD_EXITED)
		fail(worker, EIO, "the planning process ended with exit code %d", info->si_status);
	else
		fail_signal(worker, info->si_status);
	worker->args.done(worker, &worker->result, worker->args.userdata);
	return 0;
}

static int on_deadline(sd_event_source *source, uint64_t now, void *userdata)
{
	struct worker *worker = userdata;

	if (worker->pid) {
		worker->timed_out = true;
		kill(worker->pid, SIGKILL);
	}
	return 0;
}

static int watch(sd_event *event, struct worker *worker)
{
	int err = sd_event_add_child(event, &worker->child, worker->pid, WEXITED, on_exit_of_child,
				     worker);

	if (err >= 0 && worker->args.deadline_us)
		err = sd_event_add_time(event, &worker->timer, CLOCK_MONOTONIC,
					worker->args.deadline_us, 1000, on_deadline, worker);
	return err < 0 ? err : 0;
}

int worker_start(sd_event *event, const struct worker_args *args, struct worker **out)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	pid_t parent = getpid();
	int err;

	if (!worker)
		return -ENOMEM;
	worker->args = *args;
	worker->memfd = memfd_create("npumemd-result", MFD_CLOEXEC);
	if (worker->memfd < 0) {
		err = -errno;
		free(worker);
		return err;
	}
	worker->pid = fork();
	if (!worker->pid)
		child(args, worker->memfd, parent);
	if (worker->pid < 0) {
		err = -errno;
		worker->pid = 0;
	} else {
		err = watch(event, worker);
	}
	if (err) {
		worker_free(worker);
		return err;
	}
	*out = worker;
	return 0;
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	/* The source first: nobody else may wait for the child. */
	sd_event_source_disable_unref(worker->child);
	sd_event_source_disable_unref(worker->timer);
	if (worker->pid) {
		kill(worker->pid, SIGKILL);
		while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (worker->map)
		munmap(worker->map, worker->map_size);
	close(worker->memfd);
	free(worker);
}
