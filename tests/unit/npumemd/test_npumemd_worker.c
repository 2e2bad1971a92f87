// SPDX-License-Identifier: MIT
/*
 * npumemd: workers. Jobs that crash, run away, answer nonsense or too much, and
 * what their sandbox forbids.
 *
 * Built twice: as it is, and as test_npumemd_limits without sanitizers, which
 * need more address space than RLIMIT_AS leaves; the tests of memory are there.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "npumemd_worker.h"

/* ------------------------------------------------------------ good behaviour */

static int job_answer(const struct worker_input *input, struct worker_reply *reply)
{
	reply->data = strdup(input->task);
	reply->size = input->task_size;
	strcpy(reply->text, "as you said");
	return 0;
}

WORKER_TEST(answer)
{
	struct worker_args args = default_args(*state, "job_answer");
	struct outcome *outcome = *state;

	args.task = "hello";
	args.task_size = sizeof("hello");
	assert_result(run_args(outcome, &args), 0, "as you said");
	assert_int_equal(outcome->result.size, 6);
	assert_string_equal(outcome->data, "hello");
}

static int job_nothing(const struct worker_input *input, struct worker_reply *reply)
{
	return 0;
}

WORKER_TEST(no_data)
{
	const struct worker_result *result = run(*state, "job_nothing");

	assert_result(result, 0, "");
	assert_null(result->data);
}

static int job_refuse(const struct worker_input *input, struct worker_reply *reply)
{
	reply->data = strdup("not looked at");
	reply->size = 5;
	strcpy(reply->text, "I would rather not");
	return -ENOSPC;
}

WORKER_TEST(failure)
{
	assert_result(run(*state, "job_refuse"), ENOSPC, "I would rather not");
}

static int job_large(const struct worker_input *input, struct worker_reply *reply)
{
	reply->size = *(const size_t *)input->task;
	reply->data = calloc(1, reply->size);
	return reply->data ? 0 : -ENOMEM;
}

WORKER_TEST(largest_answer)
{
	struct worker_args args = default_args(*state, "job_large");

	args.task = &(const size_t){ RESULT_LIMIT };
	args.task_size = sizeof(size_t);
	assert_result(run_args(*state, &args), 0, "");
}

/* ------------------------------------------------------------- bad behaviour */

WORKER_TEST(answer_too_large)
{
	struct worker_args args = default_args(*state, "job_large");

	args.task = &(const size_t){ RESULT_LIMIT + 1 };
	args.task_size = sizeof(size_t);
	assert_result(run_args(*state, &args), EFBIG,
		      "the plan is larger than 65536 bytes, the plan-size-limit of npumemd.conf");
}

static int job_die(const struct worker_input *input, struct worker_reply *reply)
{
	int number = *(const int *)input->task;

	signal(number, SIG_DFL);
	syscall(SYS_tgkill, getpid(), gettid(), number);
	return 0;
}

WORKER_TEST(crash)
{
	struct worker_args args = default_args(*state, "job_die");

	args.task = &(const int){ SIGSEGV };
	args.task_size = sizeof(int);
	assert_result(run_args(*state, &args), EIO,
		      "the planning process was killed by signal 11 (Segmentation fault)");
}

WORKER_TEST(killed)
{
	struct worker_args args = default_args(*state, "job_die");

	args.task = &(const int){ SIGKILL };
	args.task_size = sizeof(int);
	assert_result(run_args(*state, &args), EIO,
		      "the planning process was killed, as the kernel does where memory ends");
}

static int job_exit_0(const struct worker_input *input, struct worker_reply *reply)
{
	_exit(0);
}

static int job_exit_3(const struct worker_input *input, struct worker_reply *reply)
{
	_exit(3);
}

WORKER_TEST(exit_without_answer)
{
	assert_result(run(*state, "job_exit_0"), EIO, "the planning process gave no answer");
}

WORKER_TEST(exit_code)
{
	assert_result(run(*state, "job_exit_3"), EIO,
		      "the planning process ended with exit code 3");
}

static int job_spin(const struct worker_input *input, struct worker_reply *reply)
{
	volatile bool forever = true;

	while (forever)
		;
	return 0;
}

WORKER_TEST(deadline)
{
	struct worker_args args = default_args(*state, "job_spin");

	args.deadline_us = now_us() + 20000;
	assert_result(run_args(*state, &args), ETIMEDOUT, "planning was stopped at the deadline");
}

WORKER_TEST(cpu_limit)
{
	struct worker_args args = default_args(*state, "job_spin");

	args.limits.cpu_seconds = 1;
	assert_result(run_args(*state, &args), ETIMEDOUT,
		      "planning was stopped after 1 s of processor time, the cpu-limit of "
		      "npumemd.conf");
}

static int policy;

static void look_at_policy(void)
{
	policy = sched_getscheduler(0);
}

static int job_policy(const struct worker_input *input, struct worker_reply *reply)
{
	strcpy(reply->text, policy == SCHED_IDLE ? "idle" : "not idle");
	return 0;
}

WORKER_TEST(idle)
{
	struct worker_args args = default_args(*state, "job_policy");

	assert_result(run_args(*state, &args), 0, "not idle");
	worker_teardown(state);
	worker_setup(state);
	args = default_args(*state, "job_policy");
	args.idle = true;
	assert_result(run_args(*state, &args), 0, "idle");
}

static char score[16];

static void look_at_score(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "re");

	if (!file || !fgets(score, sizeof(score), file))
		strcpy(score, "none\n");
	if (file)
		fclose(file);
}

static int job_score(const struct worker_input *input, struct worker_reply *reply)
{
	strcpy(reply->text, score);
	return 0;
}

/* Where memory ends the worker goes, and not the daemon. */
WORKER_TEST(goes_first)
{
	look_at_score();
	assert_string_not_equal(score, "1000\n");
	assert_result(run(*state, "job_score"), 0, "1000\n");
}

/* What sched_setscheduler() fails with, as under a service's system call filter. */
static int no_scheduler;

int __wrap_sched_setscheduler(pid_t pid, int to, const struct sched_param *param);
int __real_sched_setscheduler(pid_t pid, int to, const struct sched_param *param);
int __wrap_sched_setscheduler(pid_t pid, int to, const struct sched_param *param)
{
	if (!no_scheduler)
		return __real_sched_setscheduler(pid, to, param);
	errno = no_scheduler;
	return -1;
}

WORKER_TEST(idle_is_not_permitted)
{
	struct worker_args args = default_args(*state, "job_policy");
	const struct worker_result *result;

	args.idle = true;
	no_scheduler = EPERM;
	result = run_args(*state, &args);
	no_scheduler = 0;
	assert_result(result, EPERM,
		      "the worker's priority cannot be lowered: Operation not permitted");
}

/* A hostile process may write anything: bytes of a real answer, one changed each. */
static unsigned char answer_bytes[4096];
static size_t answer_size;

static int job_raw(const struct worker_input *input, struct worker_reply *reply)
{
	if (write(WORKER_RESULT_FD, input->task, input->task_size) != (ssize_t)input->task_size)
		_exit(9);
	_exit(0);
}

/* As in worker_protocol.h: magic, status, data_size, head_size, cost, final, cpu_us, text. */
enum { HEAD_AT = 16, FINAL_AT = 32, TEXT_AT = 48 };

static void good_bytes(uint32_t status, uint64_t data_size)
{
	const uint32_t magic = 0x72776e70;

	memset(answer_bytes, 0, sizeof(answer_bytes));
	memcpy(answer_bytes, &magic, 4);
	memcpy(answer_bytes + 4, &status, 4);
	memcpy(answer_bytes + 8, &data_size, 8);
	strcpy((char *)answer_bytes + TEXT_AT, "text");
	answer_size = TEXT_AT + WORKER_TEXT_SIZE + data_size;
}

/* A worker that writes these. */
static const struct worker_result *run_raw(void **state)
{
	struct worker_args args = default_args(*state, "job_raw");

	args.task = answer_bytes;
	args.task_size = answer_size;
	return run_args(*state, &args);
}

static void assert_nonsense(void **state)
{
	worker_teardown(state);
	worker_setup(state);
	assert_result(run_raw(state), EIO,
		      "the planning process gave an answer that makes no sense");
}

WORKER_TEST(garbage)
{
	good_bytes(0, 8);
	assert_result(run_raw(state), 0, "text");

	answer_bytes[0] ^= 1; /* magic */
	assert_nonsense(state);
	good_bytes(0, 8);
	answer_size--; /* less data than said */
	assert_nonsense(state);
	good_bytes(0, 8);
	answer_size++; /* more */
	assert_nonsense(state);
	good_bytes(0, 8);
	answer_bytes[HEAD_AT] = 8; /* a part that is all of it */
	assert_nonsense(state);
	good_bytes(0, 16);
	answer_bytes[HEAD_AT] = 4; /* one that nothing can be aligned behind */
	assert_nonsense(state);
	good_bytes(0, 8);
	answer_bytes[FINAL_AT] = 2; /* neither yes nor no */
	assert_nonsense(state);
	good_bytes(4096, 0); /* not an errno */
	assert_nonsense(state);
	good_bytes(0x80000000, 0);
	assert_nonsense(state);
	good_bytes(EINVAL, 8); /* a failure with data */
	assert_nonsense(state);
	good_bytes(0, 8);
	memset(answer_bytes + TEXT_AT, 'x', WORKER_TEXT_SIZE); /* no end of the text */
	assert_nonsense(state);
	good_bytes(0, 8);
	memset(answer_bytes + 8, 0xff, 8); /* size that overflows */
	assert_nonsense(state);

	good_bytes(0, 0);
	answer_size = 16 + WORKER_TEXT_SIZE - 1; /* a header cut short */
	worker_teardown(state);
	worker_setup(state);
	assert_result(run_raw(state), EIO, "the planning process gave no answer");
}

/* ------------------------------------------------------------------- sandbox */

#define FORBIDDEN "the planning process made a system call that its sandbox forbids"

static int job_open(const struct worker_input *input, struct worker_reply *reply)
{
	open("/etc/passwd", O_RDONLY);
	return 0;
}

static int job_socket(const struct worker_input *input, struct worker_reply *reply)
{
	socket(AF_UNIX, SOCK_STREAM, 0);
	return 0;
}

static int job_fork(const struct worker_input *input, struct worker_reply *reply)
{
	if (!fork())
		_exit(0);
	return 0;
}

static int job_exec(const struct worker_input *input, struct worker_reply *reply)
{
	execl("/bin/true", "true", (char *)NULL);
	return 0;
}

static int job_kill_parent(const struct worker_input *input, struct worker_reply *reply)
{
	kill(getppid(), SIGTERM);
	return 0;
}

static int job_tgkill_parent(const struct worker_input *input, struct worker_reply *reply)
{
	pid_t parent = *(const pid_t *)input->task;

	syscall(SYS_tgkill, parent, parent, SIGTERM);
	return 0;
}

static int job_exec_memory(const struct worker_input *input, struct worker_reply *reply)
{
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return 0;
}

static int job_make_executable(const struct worker_input *input, struct worker_reply *reply)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	return 0;
}

static int job_ioctl(const struct worker_input *input, struct worker_reply *reply)
{
	syscall(SYS_ioctl, 2, 0, 0);
	return 0;
}

WORKER_TEST(forbidden_calls)
{
	static const char *const jobs[] = {
		"job_open",
		"job_socket",
		"job_fork",
		"job_exec",
		"job_kill_parent",
		"job_exec_memory",
		"job_make_executable",
		"job_ioctl",
	};
	struct worker_args args;
	pid_t self = getpid();

	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		assert_result(run(*state, jobs[i]), EIO, FORBIDDEN);
		worker_teardown(state);
		worker_setup(state);
	}
	args = default_args(*state, "job_tgkill_parent");
	args.task = &self;
	args.task_size = sizeof(self);
	assert_result(run_args(*state, &args), EIO, FORBIDDEN);
}

/* What does not need seccomp, seen without it. */
static int job_look(const struct worker_input *input, struct worker_reply *reply)
{
	struct rlimit limit;

	for (int fd = WORKER_RESULT_FD + 1; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) >= 0) {
			snprintf(reply->text, sizeof(reply->text), "descriptor %d is open", fd);
			return -EPERM;
		}
	}
	if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EMFILE) {
		strcpy(reply->text, "a file could be opened");
		return -EPERM;
	}
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)) {
		strcpy(reply->text, "new privileges may be had");
		return -EPERM;
	}
	if (getrlimit(RLIMIT_CORE, &limit) || limit.rlim_max) {
		strcpy(reply->text, "a core may be dumped");
		return -EPERM;
	}
	/* chroot() wants a capability that root has. */
	if (!chroot("/") || errno != EPERM) {
		strcpy(reply->text, "capabilities are left");
		return -EPERM;
	}
	return 0;
}

WORKER_TEST(given_up)
{
	struct worker_args args = default_args(*state, "job_look");
	int fd = open("/dev/null", O_RDONLY);

	assert_true(fd > WORKER_RESULT_FD);
	args.limits.seccomp = false;
	assert_result(run_args(*state, &args), 0, "");
	close(fd);
}

/* The one call that is refused without killing: see sandbox.c. */
static int job_stat(const struct worker_input *input, struct worker_reply *reply)
{
	struct stat stat;

	if (!fstatat(AT_FDCWD, "/etc/passwd", &stat, 0) || errno != EPERM ||
	    !syscall(SYS_newfstatat, WORKER_RESULT_FD, "", &stat, AT_EMPTY_PATH) ||
	    errno != EPERM) {
		strcpy(reply->text, "a path could be looked at");
		return -EPERM;
	}
	fprintf(stderr, "streams work\n");
	return 0;
}

WORKER_TEST(no_path)
{
	assert_result(run(*state, "job_stat"), 0, "");
}

/* ------------------------------------------------------------------- memory */

/* Where nothing is mapped unless somebody asks for it. */
#define FAR_AWAY ((void *)0x200000000000)

static const char secret[] = "another client's";

/* A page is mapped if the kernel can read it. */
static int job_find(const struct worker_input *input, struct worker_reply *reply)
{
	const void *at = *(void *const *)input->task;

	if (write(STDERR_FILENO, at, 1) >= 0 || errno != EFAULT) {
		strcpy(reply->text, "there is memory of the daemon");
		return -EPERM;
	}
	return 0;
}

WORKER_TEST(nothing_of_the_daemon)
{
	struct worker_args args = default_args(*state, "job_find");
	char *page = mmap(FAR_AWAY, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(page, FAR_AWAY);
	memcpy(page, secret, sizeof(secret));
	args.task = &page;
	args.task_size = sizeof(page);
	assert_result(run_args(*state, &args), 0, "");
	munmap(page, 4096);
}

static int job_blobs(const struct worker_input *input, struct worker_reply *reply)
{
	if (input->blob_sizes[0] != 5 || memcmp(input->blobs[0], "first", 5) != 0 ||
	    input->blob_sizes[1] != 6 || memcmp(input->blobs[1], "second", 6) != 0) {
		strcpy(reply->text, "other blobs");
		return -EPERM;
	}
	return 0;
}

WORKER_TEST(blobs)
{
	struct worker_args args = default_args(*state, "job_blobs");
	int fd = memfd_create("blobs", MFD_CLOEXEC);

	assert_int_equal(write(fd, "first...second", 14), 14);
	args.blobs[0] = (struct worker_blob){ .fd = fd, .size = 5 };
	args.blobs[1] = (struct worker_blob){ .fd = fd, .offset = 8, .size = 6 };
	assert_result(run_args(*state, &args), 0, "");
	close(fd);
}

WORKER_TEST(blob_not_mapped)
{
	struct worker_args args = default_args(*state, "job_nothing");
	int fd = memfd_create("blob", MFD_CLOEXEC);

	args.blobs[0] = (struct worker_blob){ .fd = fd };
	assert_result(run_args(*state, &args), EINVAL,
		      "a blob of 0 bytes cannot be mapped: Invalid argument");
	close(fd);
}

/* What one worker has made, another may check: it is as it was, and stays so. */
static int writable(const struct worker_blob *blob)
{
	return pwrite(blob->fd, "x", 1, (off_t)blob->offset) >= 0 || errno != EPERM;
}

static void on_sealed(struct worker *worker, const struct worker_result *result, void *userdata)
{
	struct outcome *outcome = userdata;

	outcome->writable = !result->size || writable(&result->blob);
	keep_result(worker, result, userdata);
}

WORKER_TEST(result_is_sealed)
{
	struct worker_args args = default_args(*state, "job_answer");
	struct outcome *outcome = *state;

	args.task = "hello";
	args.task_size = sizeof("hello");
	args.done = on_sealed;
	assert_result(run_args(outcome, &args), 0, "as you said");
	assert_false(outcome->writable);
}

/* ---------------------------------------------------------------------- log */

static int job_say(const struct worker_input *input, struct worker_reply *reply)
{
	fputs("<3>npumemd: request 1 failed: forged\nand\r<1>more\n", stderr);
	return 0;
}

/* Far more than is kept; it must neither block nor fail the worker. */
static int job_babble(const struct worker_input *input, struct worker_reply *reply)
{
	for (int i = 0; i < 100000; i++)
		if (write(STDERR_FILENO, "babble\n", 7) < 0 && errno != EAGAIN)
			return -errno;
	return 0;
}

/* Run it; what the daemon has logged meanwhile. */
static void run_logged(void **state, const char *job, char *log, size_t size)
{
	int file = memfd_create("log", MFD_CLOEXEC), old = dup(STDERR_FILENO);
	ssize_t n;

	assert_true(file >= 0 && old >= 0);
	fflush(stderr);
	assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
	log_setup(true, LOG_INFO);
	run(*state, job);
	fflush(stderr);
	assert_int_equal(dup2(old, STDERR_FILENO), STDERR_FILENO);
	close(old);
	n = pread(file, log, size - 1, 0);
	assert_true(n >= 0);
	log[n] = '\0';
	close(file);
}

WORKER_TEST(says_nothing_in_the_daemons_name)
{
	char log[4096];

	run_logged(state, "job_say", log, sizeof(log));
	assert_string_equal(
		log, "<4>npumemd: the planning process of request 77 said: "
		     "<3>npumemd: request 1 failed: forged\n"
		     "<4>npumemd: the planning process of request 77 said: and\\x0d<1>more\n");
}

WORKER_TEST(says_not_much)
{
	static char log[65536];
	struct outcome *outcome = *state;
	int lines = 0;

	run_logged(state, "job_babble", log, sizeof(log));
	assert_int_equal(outcome->result.status, 0);
	for (const char *at = log; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 20);
}

/* ---------------------------------------------------------------- descriptors */

WORKER_TEST(no_descriptor)
{
	const struct worker_args args = default_args(*state, "job_nothing");
	struct outcome *outcome = *state;
	struct rlimit old, none;
	struct worker *worker;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(worker_start(outcome->event, &args, &worker), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/*
 * Wherever descriptors end, a worker that has not got its own says so, and writes nothing into the
 * daemon's, of which one has the number that its reply is to have.
 */
WORKER_TEST(few_descriptors)
{
	struct outcome *outcome = *state;
	int kept, ours = memfd_create("ours", MFD_CLOEXEC);
	unsigned int said = 0, ran = 0;
	struct rlimit old, few;

	/* The loop's own may have the number. */
	outcome->event = sd_event_unref(outcome->event);
	kept = dup(WORKER_RESULT_FD);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(dup2(ours, WORKER_RESULT_FD), WORKER_RESULT_FD);
	for (rlim_t limit = WORKER_RESULT_FD + 1; limit < 64; limit++) {
		struct worker_args args = default_args(outcome, "job_nothing");
		struct worker *worker;
		struct stat status;
		int err;

		/* Each loop ends with its worker. */
		outcome->event = sd_event_unref(outcome->event);
		assert_true(sd_event_new(&outcome->event) >= 0);
		few = (struct rlimit){ .rlim_cur = limit, .rlim_max = old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		err = worker_start(outcome->event, &args, &worker);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		if (err)
			continue;
		assert_int_equal(sd_event_loop(outcome->event), 0);
		assert_int_equal(fstat(ours, &status), 0);
		assert_int_equal(status.st_size, 0);
		if (outcome->result.status)
			assert_string_equal(outcome->result.text,
					    "the worker cannot be started: Too many open files");
		said += !!outcome->result.status;
		ran += !outcome->result.status;
	}
	assert_true(said && ran);
	close(WORKER_RESULT_FD);
	if (kept >= 0)
		assert_int_equal(dup2(kept, WORKER_RESULT_FD), WORKER_RESULT_FD);
	close(kept);
	close(ours);
}

/* --------------------------------------------------------------------- memory */

#ifdef WITH_MEMORY_LIMIT
static int job_hog(const struct worker_input *input, struct worker_reply *reply)
{
	size_t step = 1 << 20, total = 0;

	while (total < (1u << 30)) {
		char *memory = malloc(step);

		if (!memory) {
			snprintf(reply->text, sizeof(reply->text), "no more");
			return -ENOMEM;
		}
		memset(memory, 1, step);
		total += step;
	}
	return 0;
}

WORKER_TEST(memory_limit)
{
	struct worker_args args = default_args(*state, "job_hog");

	args.limits.memory = 64 << 20;
	assert_result(run_args(*state, &args), ENOMEM, "no more");
}

static int deep(unsigned int levels)
{
	volatile char frame[65536];

	frame[levels % sizeof(frame)] = 1;
	return levels ? deep(levels - 1) + frame[0] : 0;
}

static int job_deep(const struct worker_input *input, struct worker_reply *reply)
{
	return deep(1u << 20) ? -EPERM : 0;
}

WORKER_TEST(stack_overflow)
{
	assert_result(run(*state, "job_deep"), EIO,
		      "the planning process was killed by signal 11 (Segmentation fault)");
}
#endif

#define JOB(name) { #name, name }

static const struct worker_job jobs[] = {
	JOB(job_answer),
	JOB(job_nothing),
	JOB(job_refuse),
	JOB(job_large),
	JOB(job_die),
	JOB(job_exit_0),
	JOB(job_exit_3),
	JOB(job_spin),
	JOB(job_raw),
	{ "job_policy", job_policy, look_at_policy },
	{ "job_score", job_score, look_at_score },
	JOB(job_open),
	JOB(job_socket),
	JOB(job_fork),
	JOB(job_exec),
	JOB(job_kill_parent),
	JOB(job_tgkill_parent),
	JOB(job_exec_memory),
	JOB(job_make_executable),
	JOB(job_ioctl),
	JOB(job_look),
	JOB(job_stat),
	JOB(job_find),
	JOB(job_blobs),
	JOB(job_say),
	JOB(job_babble),
#ifdef WITH_MEMORY_LIMIT
	JOB(job_hog),
	JOB(job_deep),
#endif
	{ 0 },
};

int main(int argc, char **argv)
{
	worker_main(argv, jobs);
	return unit_run(NULL, NULL);
}
