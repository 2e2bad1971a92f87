// SPDX-License-Identifier: MIT
#include "worker_protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

/* So many lines of a worker's stderr are logged, and so many bytes of it are read. */
#define SAID_LINES 20
#define SAID_BYTES 8192
/* What a worker adds to its badness where memory ends: the most there is. */
#define OOM_SCORE  "1000"

/*
 * struct worker - child process and the event sources that watch it
 * @child: event source of its end
 * @timer: event source of its deadline, or NULL
 * @pid: pid of the child; 0 once it has been waited for
 * @memfd: file that it writes its reply to
 * @said: read end of the pipe that is its stderr
 * @timed_out: it was killed at its deadline
 * @gone: told when the child is gone that was stopped; NULL: it was not
 * @map: mapping of @memfd, @map_size bytes, once it has ended well
 */
struct worker {
	sd_event_source *child;
	sd_event_source *timer;
	pid_t pid;
	int memfd;
	int said;
	bool timed_out;
	void (*gone)(void *userdata);
	void *map;
	size_t map_size;
	struct worker_args args;
	struct worker_result result;
};

/* ------------------------------------------- in the child, until it executes */

/*
 * struct descriptors - descriptors for a worker, as they are numbered in the daemon
 * @result: memfd for its reply
 * @start: memfd with its struct worker_start
 * @said: write end of the pipe that will be its stderr
 */
struct descriptors {
	int result;
	int start;
	int said;
	const struct worker_blob *blobs;
};

/* Duplicate a descriptor above the numbers that those of a worker will have. */
static int above(int fd)
{
	return fcntl(fd, F_DUPFD, WORKER_END_FD);
}

/*
 * @result: out, whatever comes of it: where the reply goes. The number that this will have may be
 * that of a file of the daemon's until all are placed.
 */
static int place(const struct descriptors *fds, int *result)
{
	int from[WORKER_END_FD];
	int null;

	*result = fds->result;
	null = open("/dev/null", O_RDWR);
	if (null < 0)
		return -errno;
	from[STDIN_FILENO] = above(null);
	from[STDOUT_FILENO] = above(null);
	from[STDERR_FILENO] = above(fds->said);
	from[WORKER_RESULT_FD] = above(fds->result);
	from[WORKER_START_FD] = above(fds->start);
	for (int i = 0; i < WORKER_BLOBS; i++)
		from[WORKER_BLOB_FD + i] = above(fds->blobs[i].fd < 0 ? null : fds->blobs[i].fd);
	for (int fd = 0; fd < WORKER_END_FD; fd++)
		if (from[fd] < 0)
			return -EMFILE;
	*result = from[WORKER_RESULT_FD];
	for (int fd = 0; fd < WORKER_END_FD; fd++)
		if (dup2(from[fd], fd) < 0)
			return -errno;
	*result = WORKER_RESULT_FD;
	return close_range(WORKER_END_FD, ~0U, 0) ? -errno : 0;
}

static int lower_priority(const struct worker_args *args)
{
	const struct sched_param param = { 0 };

	if (args->idle && sched_setscheduler(0, SCHED_IDLE, &param))
		return -errno;
	if (!args->nice)
		return 0;
	/* -1 is a priority, too. */
	errno = 0;
	return nice(args->nice) == -1 && errno ? -errno : 0;
}

/*
 * Where memory ends, in a control group (MemoryMax of the service) or in all of the machine, a
 * worker is to go before the daemon: its request can be made again. Where there is no /proc nothing
 * is lost but that.
 */
static void go_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, OOM_SCORE, strlen(OOM_SCORE));
	close(fd);
}

/*
 * The child between fork() and exec(). It makes only calls that are safe after fork() in a
 * process with threads. A failure can only be told by the reply.
 */
__attribute__((noreturn)) static void child(const struct descriptors *fds, pid_t parent,
					    const struct worker_args *args)
{
	static struct worker_reply reply;
	const char *what = "the worker cannot be started";
	char *const argv[] = { (char[]){ WORKER_NAME }, NULL };
	sigset_t blocked;
	int err, result;

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
	go_first();
	/* Before anything else that can fail: a failure is told by a descriptor of these. */
	err = place(fds, &result);
	if (!err) {
		err = lower_priority(args);
		if (err)
			what = "the worker's priority cannot be lowered";
	}
	if (!err) {
		execv("/proc/self/exe", argv);
		err = -errno;
	}
	/* strerror() is not safe here. */
	stpcpy(stpcpy(stpcpy(reply.text, what), ": "), strerrordesc_np(-err));
	_exit(worker_write_reply(result, err, &reply) ? EXIT_FAILURE : EXIT_SUCCESS);
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
	else if (number == SIGKILL)
		/* The kernel's log has more, which the client does not see. */
		fail(worker, EIO,
		     "the planning process was killed, as the kernel does where memory ends");
	else
		fail(worker, EIO, "the planning process was killed by signal %d (%s)", number,
		     strsignal(number));
}

static void read_reply(struct worker *worker)
{
	struct worker_result *result = &worker->result;
	const struct worker_reply_header *header;
	struct stat stat;
	uint64_t rest;

	if (fstat(worker->memfd, &stat)) {
		fail(worker, errno, "a result cannot be read: %m");
		return;
	}
	/* The reply goes to another worker; sealed, it is what that one checked when it is used. */
	if (fcntl(worker->memfd, F_ADD_SEALS,
		  F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)) {
		fail(worker, errno, "a result cannot be sealed: %m");
		return;
	}
	if ((uint64_t)stat.st_size < sizeof(*header)) {
		fail(worker, EIO, "the planning process gave no answer");
		return;
	}
	rest = stat.st_size - sizeof(*header);
	worker->map = mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, worker->memfd, 0);
	if (worker->map == MAP_FAILED) {
		worker->map = NULL;
		fail(worker, errno, "a result cannot be read: %m");
		return;
	}
	worker->map_size = stat.st_size;
	header = worker->map;
	if (header->magic != WORKER_REPLY_MAGIC || header->data_size != rest ||
	    rest > worker->args.result_limit || header->status > 4095 ||
	    (header->head_size && (header->head_size >= rest || header->head_size % 8)) ||
	    header->text[sizeof(header->text) - 1] || (header->status && rest) ||
	    header->final > 1) {
		fail(worker, EIO, "the planning process gave an answer that makes no sense");
		return;
	}
	result->status = header->status;
	result->own = true;
	snprintf(result->text, sizeof(result->text), "%s", header->text);
	result->data = rest ? header + 1 : NULL;
	result->size = rest;
	result->head = header->head_size;
	result->cost = header->cost;
	result->final = header->final;
	result->cpu_us = header->cpu_us;
	result->blob = (struct worker_blob){
		.fd = worker->memfd,
		.offset = sizeof(*header),
		.size = rest,
	};
}

/* Log a worker's stderr line by line, so that none of it can be taken for the daemon's. */
static void log_said(const struct worker *worker)
{
	const struct log_fields fields = { .request = worker->args.request };
	char said[SAID_BYTES + 1];
	char *line, *rest = said;
	ssize_t n = read(worker->said, said, SAID_BYTES);

	if (n <= 0)
		return;
	for (ssize_t i = 0; i < n; i++)
		if (!said[i])
			said[i] = '?';
	said[n] = '\0';
	for (int i = 0; i < SAID_LINES && (line = strsep(&rest, "\n")); i++)
		if (*line)
			log_request(LOG_WARNING, fields.request ? &fields : NULL,
				    "the planning process of request %" PRIu64 " said: %s",
				    fields.request, line);
}

static uint64_t microseconds(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static void tell_spent(const struct worker *worker, uint64_t cpu_us)
{
	if (worker->args.spent)
		worker->args.spent(cpu_us, worker->args.userdata);
}

/* The kernel's figure: what the child says of itself may be what a hostile graph says. */
static void tell_spent_of_exited(const struct worker *worker)
{
	struct rusage usage = { 0 };
	siginfo_t info;

	/* glibc's waitid() has no rusage. */
	if (!syscall(SYS_waitid, P_PID, worker->pid, &info, WEXITED | WNOHANG | WNOWAIT, &usage))
		tell_spent(worker, microseconds(&usage));
}

/* Of a child that is not waited for. */
static void tell_spent_so_far(const struct worker *worker)
{
	struct timespec spent;
	clockid_t clock;

	if (!clock_getcpuclockid(worker->pid, &clock) && !clock_gettime(clock, &spent))
		tell_spent(worker,
			   (uint64_t)spent.tv_sec * 1000000 + (uint64_t)spent.tv_nsec / 1000);
}

/* The child that was stopped is gone. */
static void end_stopped(struct worker *worker)
{
	void (*gone)(void *userdata) = worker->gone;
	void *userdata = worker->args.userdata;

	worker_free(worker);
	gone(userdata);
}

static int on_exit_of_child(sd_event_source *source, const siginfo_t *info, void *userdata)
{
	struct worker *worker = userdata;

	tell_spent_of_exited(worker);
	worker->pid = 0; /* sd-event has waited for it, or does so right after */
	if (worker->gone) {
		end_stopped(worker);
		return 0;
	}
	log_said(worker);
	if (info->si_code == CLD_EXITED && info->si_status == EXIT_SUCCESS)
		read_reply(worker);
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

/* Make a memfd with the worker's struct worker_start; or a negative errno. */
static int start_file(const struct worker_args *args, pid_t parent)
{
	struct worker_start start = {
		.magic = WORKER_START_MAGIC,
		.parent = parent,
		.limits = args->limits,
		.task_size = args->task_size,
	};
	int fd, err;

	if (args->task_size > sizeof(start.task) || strlen(args->job) >= sizeof(start.job))
		return -EINVAL;
	start.limits.file_bytes = args->result_limit + sizeof(struct worker_reply_header);
	memcpy(start.job, args->job, strlen(args->job) + 1);
	memcpy(start.blobs, args->blobs, sizeof(start.blobs));
	if (args->task_size)
		memcpy(start.task, args->task, args->task_size);
	fd = memfd_create("npumemd-start", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, &start, sizeof(start));
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int spawn(struct worker *worker)
{
	struct descriptors fds = { .result = worker->memfd, .blobs = worker->args.blobs };
	pid_t parent = getpid();
	int pipes[2];
	int err = 0;

	/* Writing does not block: more than the pipe holds is lost. */
	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	worker->said = pipes[0];
	fds.said = pipes[1];
	fds.start = start_file(&worker->args, parent);
	if (fds.start < 0) {
		close(fds.said);
		return fds.start;
	}
	worker->pid = fork();
	if (!worker->pid)
		child(&fds, parent, &worker->args);
	if (worker->pid < 0) {
		err = -errno;
		worker->pid = 0;
	}
	close(fds.start);
	close(fds.said);
	return err;
}

/*
 * Without an event source nobody hears of the child's end. It has hardly begun, and has little to
 * give back.
 */
static void kill_unwatched(struct worker *worker)
{
	if (!worker->pid)
		return;
	kill(worker->pid, SIGKILL);
	sd_event_source_disable_unref(worker->child);
	worker->child = NULL;
	while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
		;
	worker->pid = 0;
}

size_t worker_to_page(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

int worker_start(sd_event *event, const struct worker_args *args, struct worker **out)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int err;

	if (!worker)
		return -ENOMEM;
	worker->args = *args;
	worker->said = -1;
	worker->memfd = memfd_create("npumemd-result", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (worker->memfd < 0) {
		err = -errno;
		free(worker);
		return err;
	}
	err = spawn(worker);
	if (!err)
		err = watch(event, worker);
	if (err) {
		kill_unwatched(worker);
		worker_free(worker);
		return err;
	}
	*out = worker;
	return 0;
}

bool worker_stop(struct worker *worker, void (*gone)(void *userdata))
{
	if (!worker)
		return true;
	if (!worker->pid) {
		worker_free(worker);
		return true;
	}
	worker->gone = gone;
	worker->timer = sd_event_source_disable_unref(worker->timer);
	kill(worker->pid, SIGKILL);
	return false;
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	if (worker->pid) {
		tell_spent_so_far(worker);
		kill(worker->pid, SIGKILL);
	}
	sd_event_source_disable_unref(worker->child);
	sd_event_source_disable_unref(worker->timer);
	if (worker->map)
		munmap(worker->map, worker->map_size);
	if (worker->said >= 0)
		close(worker->said);
	close(worker->memfd);
	free(worker);
}
