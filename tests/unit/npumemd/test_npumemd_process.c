// SPDX-License-Identifier: MIT
/*
 * npumemd as a process, without a driver or with one that is none (fake_driver.h): command line,
 * exit codes, signals, and what it tells the service manager. Everything waits for a message or
 * the process's end; nothing sleeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/genetlink.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_driver.h"
#include "unit.h"

#define PATIENCE_MS 300000
#define MAX_ARGS    8

/*
 * struct daemon - one npumemd
 * @dir: with its configuration and its notify socket
 * @notify: socket that it tells its state to
 * @log: its stderr and stdout
 * @no_capability: it is to run without CAP_NET_ADMIN
 * @bare: it is to be started without descriptors 0 to 2
 * @stored: descriptor that the service manager hands to it; 0: none
 * @driver: socket to its driver that is none; 0: it has none
 */
struct daemon {
	char dir[64];
	char config[96];
	int notify;
	int log;
	pid_t pid;
	bool no_capability;
	bool bare;
	bool small_pipe;
	int stored;
	int driver;
};

static struct daemon d;

static void write_config(const char *text)
{
	FILE *file = fopen(d.config, "w");

	assert_non_null(file);
	/* Sanitizers need address space, and a test has no business in the machine's own cache. */
	fprintf(file, "[worker]\nmemory-limit = 0\n%s\n[cache]\nsize-limit = 0\n", text);
	assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(d.dir, "/tmp/npumemd-test-XXXXXX");
	if (!mkdtemp(d.dir))
		return -1;
	snprintf(d.config, sizeof(d.config), "%s/npumemd.conf", d.dir);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", d.dir);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	unsetenv("RUNTIME_DIRECTORY");
	d.notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (d.notify < 0 || bind(d.notify, (struct sockaddr *)&address, sizeof(address)))
		return -1;
	write_config("");
	return 0;
}

static int teardown(void **state)
{
	char path[96];

	close(d.notify);
	if (d.driver)
		close(d.driver);
	d.driver = 0;
	if (d.pid) {
		kill(d.pid, SIGKILL);
		waitpid(d.pid, NULL, 0);
		d.pid = 0;
	}
	snprintf(path, sizeof(path), "%s/notify", d.dir);
	unlink(path);
	unlink(d.config);
	return rmdir(d.dir);
}

/* As sd_listen_fds(3) says; in the daemon's process. */
static void hand_over(int fd)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_FDNAMES", "quotas", 1);
	if (fd == 3 ? fcntl(fd, F_SETFD, 0) : dup2(fd, 3) != 3)
		_exit(125);
}

/* Has its driver from now on, with what a daemon that is started next finds; that one's end. */
static int have_driver(int family, int refuses)
{
	const struct fake_driver first = { .family = family, .refuses = refuses };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(send(ends[0], &first, sizeof(first), 0), sizeof(first));
	d.driver = ends[0];
	return ends[1];
}

/* The driver is another one now, which npumemd hears by @command; 0: it finds that out itself. */
static void tell_driver(int family, int refuses, int command)
{
	const struct fake_driver next = { family, refuses, command };

	assert_int_equal(send(d.driver, &next, sizeof(next), 0), sizeof(next));
}

static void start_with(const char *const *arguments, int driver)
{
	const char *program = getenv(driver ? "NPUMEMD_FAKED" : "NPUMEMD");
	char *argv[MAX_ARGS + 2] = { strdup("npumemd") };
	char number[16];
	int pipes[2];

	assert_non_null(program);
	for (int i = 0; arguments[i]; i++) {
		assert_true(i < MAX_ARGS);
		argv[i + 1] = strdup(arguments[i]);
	}
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	/* Where pages are larger there is no pipe that is small. */
	if (d.small_pipe && fcntl(pipes[1], F_SETPIPE_SZ, 4096) != 4096)
		skip();
	d.pid = fork();
	assert_true(d.pid >= 0);
	if (!d.pid) {
		dup2(pipes[1], STDOUT_FILENO);
		dup2(pipes[1], STDERR_FILENO);
		/* An ordinary user has none to begin with. */
		if (d.no_capability && !geteuid() && prctl(PR_CAPBSET_DROP, CAP_NET_ADMIN, 0, 0, 0))
			_exit(126);
		if (d.stored)
			hand_over(d.stored);
		if (driver) {
			snprintf(number, sizeof(number), "%d", driver);
			setenv(FAKE_DRIVER, number, 1);
			fcntl(driver, F_SETFD, 0);
		}
		for (int fd = 0; d.bare && fd <= STDERR_FILENO; fd++)
			close(fd);
		execv(program, argv);
		_exit(127);
	}
	close(pipes[1]);
	if (driver)
		close(driver);
	d.log = pipes[0];
	for (int i = 0; argv[i]; i++)
		free(argv[i]);
}

static void start(const char *const *arguments)
{
	start_with(arguments, 0);
}

/* Exit code, once it has ended; its output into @text. */
static int finish(char *text, size_t size)
{
	size_t used = 0;
	int status;

	for (;;) {
		struct pollfd poll_fd = { .fd = d.log, .events = POLLIN };
		ssize_t n;

		assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
		n = read(d.log, text + used, size - 1 - used);
		assert_true(n >= 0);
		if (!n)
			break;
		used += n;
	}
	text[used] = '\0';
	close(d.log);
	assert_int_equal(waitpid(d.pid, &status, 0), d.pid);
	d.pid = 0;
	if (!WIFEXITED(status))
		fail_msg("killed by signal %d: %s", WTERMSIG(status), text);
	return WEXITSTATUS(status);
}

/* The next message that begins with @prefix; others (STATUS=) are passed over. */
static void expect_notify(const char *prefix)
{
	char text[512];

	for (;;) {
		struct pollfd poll_fd = { .fd = d.notify, .events = POLLIN };
		ssize_t n;

		if (poll(&poll_fd, 1, PATIENCE_MS) != 1)
			fail_msg("no %s", prefix);
		n = recv(d.notify, text, sizeof(text) - 1, 0);
		assert_true(n >= 0);
		text[n] = '\0';
		if (!strncmp(text, prefix, strlen(prefix)))
			return;
	}
}

static void run(const char *const *arguments, int code, const char *says)
{
	char text[16384];
	int got;

	start(arguments);
	got = finish(text, sizeof(text));
	if (!strstr(text, says))
		fail_msg("\"%s\" does not say \"%s\"", text, says);
	assert_int_equal(got, code);
}

#define RUN(code, says, ...) run((const char *const[]){ __VA_ARGS__, NULL }, code, says)

static int count(const char *text, const char *what)
{
	int n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

TEST_WITH(version, setup, teardown)
{
	RUN(0, "npumemd " NPUMEM_PACKAGE_VERSION "\n", "--version");
}

/* A full disk is a failure, as for npumemctl. */
TEST_WITH(full, setup, teardown)
{
	static const char *const options[] = { "--version", "--help" };
	char command[512];

	for (int i = 0; i < 2; i++) {
		snprintf(command, sizeof(command),
			 "err=$(\"$NPUMEMD\" %s 2>&1 >/dev/full); test $? = 1 && "
			 "test \"$err\" = 'npumemd: standard output: No space left on device'",
			 options[i]);
		assert_int_equal(system(command), 0);
	}
}

TEST_WITH(command_line, setup, teardown)
{
	RUN(2, "unrecognized option", "--no-such-option");
	RUN(2, "log level \"loud\" is not one of error, warning, notice, info, debug",
	    "--log-level", "loud");
	RUN(2, "Too many arguments", "surplus");
	/* Nothing of it moves the cursor of whoever looks. */
	RUN(2, "unrecognized option '--\\x1b[2J'\n", "--\033[2J=x");
	RUN(2, "unrecognized option '-\\x1b'\n", "-\033");
	RUN(2, "unrecognized option '-f\\x1b'\n", "-f\033");
	/* That is no option, but a value. */
	RUN(2, "npumemd: a\\xff: No such file", "--check-config", "-ca\377");
	RUN(2, "npumemd: a\\xff: No such file", "-fca\377");
	RUN(2, "log level \"\\x1b[2J\" is not one of", "--log-level", "\033[2J");
	RUN(2, "npumemd: \\x1b[2J: ", "--check-config", "--config", "\033[2J");
}

TEST_WITH(check_config, setup, teardown)
{
	char reason[256];

	RUN(0, "", "--check-config", "--config", d.config);
	write_config("wrokers = 3\n");
	snprintf(reason, sizeof(reason),
		 "npumemd: %s:3: unknown key \"wrokers\" in section [worker]\n", d.config);
	RUN(2, reason, "--check-config", "--config", d.config);
	/* What it would only warn of; what cannot be looked at, or is not wanted, is no matter. */
	unit_write(d.config, "[cache]\nfolder = /dev/null/plans\n[metrics]\nsocket = /proc/none/x\n"
			     "textfile = /nothere\n");
	RUN(0,
	    "npumemd: warning: [cache] folder: /dev/null/plans cannot be made: there is no folder "
	    "/dev/null\n"
	    "npumemd: warning: [metrics] socket: /proc/none/x cannot be made: there is no folder "
	    "/proc/none\n",
	    "--check-config", "--config", d.config);
	unit_write(d.config, "[cache]\nfolder = /dev/null/plans\nsize-limit = 0\n"
			     "[metrics]\nsocket = /run/npumemd/metrics\n");
	RUN(0, "", "--check-config", "--config", d.config);
	unit_write(d.config, "[cache]\nfolder = /nothere//\n"
			     "[metrics]\nsocket = /run/npumemd//metrics\n");
	RUN(0, "", "--check-config", "--config", d.config);
	unit_write(d.config, "[cache]\nfolder = /dev/null\n[metrics]\nsocket = /dev\n"
			     "textfile = /dev/full\n");
	RUN(0,
	    "npumemd: warning: [cache] folder: /dev/null is there, and is no folder\n"
	    "npumemd: warning: [metrics] socket: /dev is there, and is no socket\n"
	    "npumemd: warning: [metrics] textfile: /dev/full is there, and is no regular file\n",
	    "--check-config", "--config", d.config);
	unit_write(d.config, "[cache]\nsize-limit = 0\n[improve]\ntime = 60\n");
	RUN(0,
	    "npumemd: warning: [improve] time: no plan is improved, since [cache] size-limit 0 "
	    "keeps none\n",
	    "--check-config", "--config", d.config);
	/* Root may read it, and asks; the service is not root. */
	assert_int_equal(chmod(d.config, 0640), 0);
	snprintf(reason, sizeof(reason),
		 "npumemd: warning: %s: not every user may read it, and the service runs as one of "
		 "its own\n",
		 d.config);
	RUN(0, reason, "--check-config", "--config", d.config);
	assert_int_equal(chmod(d.config, 0644), 0);
	write_config("wrokers = 3\n");
	snprintf(reason, sizeof(reason),
		 "npumemd: %s:3: unknown key \"wrokers\" in section [worker]\n", d.config);
	/* Nor does it start with it. */
	RUN(2, reason, "--foreground", "--config", d.config);
}

/* A user who was deleted is said, and no reason to end. */
TEST_WITH(user_gone, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	static const char says[] =
		"[user npumem-gone] is nobody's: there is no such user; names are "
		"looked up again by a reload\n";
	char text[16384], warning[256];

	write_config("[user npumem-gone]\nplans = no\n");
	snprintf(warning, sizeof(warning), "npumemd: warning: %s", says);
	RUN(0, warning, "--check-config", "--config", d.config);
	start(arguments);
	expect_notify("READY=1");
	kill(d.pid, SIGHUP);
	expect_notify("RELOADING=1");
	expect_notify("READY=1");
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	snprintf(warning, sizeof(warning), "<4>npumemd: %s", says);
	assert_int_equal(count(text, warning), 2);
}

/* Whether the daemon, which has become that by now, keeps this signal for later. */
static bool blocks(int number)
{
	char path[64], line[256];
	unsigned long long mask = 0;
	bool is_daemon = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", d.pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		is_daemon |= !strcmp(line, "Name:\tnpumemd\n");
		if (sscanf(line, "SigBlk: %llx", &mask) == 1)
			break;
	}
	fclose(file);
	return is_daemon && mask >> (number - 1) & 1;
}

/*
 * A reload that is asked for at any moment after the start is not the end. It is held up here by
 * more warnings than fit into the pipe that takes them, before it would be a daemon.
 */
TEST_WITH(early_reload, setup, teardown)
{
	const char *const arguments[] = { "--check-config", "-c", d.config, NULL };
	char text[65536];
	FILE *config;
	int ms = 0;

	config = fopen(d.config, "w");
	assert_non_null(config);
	for (int i = 0; i < 64; i++)
		fprintf(config, "[user npumem-gone-%d]\nplans = no\n", i);
	assert_int_equal(fclose(config), 0);
	d.small_pipe = true;
	start(arguments);
	d.small_pipe = false;
	for (; !blocks(SIGHUP) && ms < PATIENCE_MS; ms++)
		usleep(1000);
	assert_true(ms < PATIENCE_MS);
	kill(d.pid, SIGHUP);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_int_equal(count(text, "npumemd: warning: [user npumem-gone-"), 64);
}

TEST_WITH(config_missing, setup, teardown)
{
	RUN(2, "npumemd: /nowhere/npumemd.conf: No such file or directory\n", "--config",
	    "/nowhere/npumemd.conf");
}

/* What is no mistake of whoever wrote it is a failure, after which a service is started again. */
TEST_WITH(config_unreadable_now, setup, teardown)
{
	RUN(1, "npumemd: /proc/self/mem: Input/output error\n", "--config", "/proc/self/mem");
	RUN(1, "npumemd: /proc/self/mem: Input/output error\n", "--check-config", "--config",
	    "/proc/self/mem");
}

TEST_WITH(life, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, "--log-level", "debug", NULL };
	char text[16384];

	start(arguments);
	expect_notify("READY=1");
	kill(d.pid, SIGTERM);
	expect_notify("STOPPING=1");
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_non_null(strstr(text, "<6>npumemd: SIGTERM: shutting down, 0 requests under way, "
				     "0 searches for better plans\n"));
}

/* What is opened instead of them would be a socket, into which the log went. */
TEST_WITH(no_standard_descriptors, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384], link[64], to[64];

	d.bare = true;
	start(arguments);
	d.bare = false;
	expect_notify("READY=1");
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)d.pid, fd);
		length = readlink(link, to, sizeof(to) - 1);
		assert_true(length > 0);
		to[length] = '\0';
		assert_string_equal(to, "/dev/null");
	}
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_string_equal(text, "");
}

TEST_WITH(sigint, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384];

	start(arguments);
	expect_notify("READY=1");
	kill(d.pid, SIGINT);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_non_null(strstr(text, "SIGINT: shutting down"));
}

TEST_WITH(reload, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384], reason[256];

	start(arguments);
	expect_notify("READY=1");
	/* A mistake changes nothing, and does not end it. */
	write_config("nonsense\n");
	kill(d.pid, SIGHUP);
	expect_notify("RELOADING=1\nMONOTONIC_USEC=");
	expect_notify("READY=1");
	write_config("[daemon]\nlog-level = warning\n");
	kill(d.pid, SIGHUP);
	expect_notify("RELOADING=1\nMONOTONIC_USEC=");
	expect_notify("READY=1");
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	snprintf(reason, sizeof(reason),
		 "<3>npumemd: the configuration stays as it was: %s:3: neither [section], key = "
		 "value, nor a comment\n",
		 d.config);
	assert_non_null(strstr(text, reason));
	/* The new level holds: these are less than warnings. */
	assert_null(strstr(text, "configuration read again"));
	assert_null(strstr(text, "shutting down"));
}

/* A file that was cut while it was written is taken; what that means to others is said. */
TEST_WITH(reload_without_policies, setup, teardown)
{
	static const char said[] =
		"<4>npumemd: no policy is left: all users may ask for all plans\n";
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384];

	write_config("[user 7]\nplans = no\n");
	start(arguments);
	expect_notify("READY=1");
	for (int i = 0; i < 2; i++) {
		write_config("");
		kill(d.pid, SIGHUP);
		expect_notify("RELOADING=1\nMONOTONIC_USEC=");
		expect_notify("READY=1");
	}
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_int_equal(count(text, said), 1);
}

/* The command line's level outlives a reload. */
TEST_WITH(reload_keeps_level, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, "--log-level", "info", NULL };
	char text[16384];

	start(arguments);
	expect_notify("READY=1");
	write_config("[daemon]\nlog-level = error\n");
	kill(d.pid, SIGHUP);
	expect_notify("RELOADING=1");
	expect_notify("READY=1");
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_non_null(strstr(text, "configuration read again"));
}

/* The folder of the cache and that of the socket come after the daemon has started. */
TEST_WITH(folders_come, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384], config[512], expected[512], folder[96], plans[104], metrics[104];

	snprintf(folder, sizeof(folder), "%s/data", d.dir);
	snprintf(plans, sizeof(plans), "%s/plans", folder);
	snprintf(metrics, sizeof(metrics), "%s/metrics", folder);
	snprintf(config, sizeof(config),
		 "[worker]\nmemory-limit = 0\n[cache]\nfolder = %s\n[metrics]\nsocket = %s\n",
		 plans, metrics);
	unit_write(d.config, config);
	start(arguments);
	expect_notify("READY=1");
	assert_int_equal(mkdir(folder, 0700), 0);
	/* Nobody waits for what is tried again by itself. */
	kill(d.pid, SIGHUP);
	expect_notify("RELOADING=1");
	expect_notify("READY=1");
	assert_int_equal(access(metrics, F_OK), 0);
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_int_equal(access(metrics, F_OK), -1);
	assert_int_equal(rmdir(plans), 0);
	assert_int_equal(rmdir(folder), 0);
	snprintf(expected, sizeof(expected),
		 "<5>npumemd: plans are not kept: %s: No such file or directory; tried again every "
		 "30 s\n",
		 plans);
	assert_int_equal(count(text, expected), 1);
	snprintf(expected, sizeof(expected), "<5>npumemd: plans are kept in %s now\n", plans);
	assert_int_equal(count(text, expected), 1);
	snprintf(
		expected, sizeof(expected),
		"<4>npumemd: no metrics at %s: No such file or directory; tried again every 15 s\n",
		metrics);
	assert_int_equal(count(text, expected), 1);
	snprintf(expected, sizeof(expected), "<5>npumemd: the metrics are told at %s now\n",
		 metrics);
	assert_int_equal(count(text, expected), 1);
}

TEST_WITH(watchdog, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384];

	setenv("WATCHDOG_USEC", "200000", 1);
	start(arguments);
	unsetenv("WATCHDOG_USEC");
	expect_notify("READY=1");
	expect_notify("WATCHDOG=1");
	expect_notify("WATCHDOG=1");
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
}

/* The descriptor that comes with the daemon's first message that has one. */
static int expect_stored(void)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char text[512];
	int fd;

	for (;;) {
		struct iovec part = { .iov_base = text, .iov_len = sizeof(text) - 1 };
		struct msghdr message = { .msg_iov = &part,
					  .msg_iovlen = 1,
					  .msg_control = &control,
					  .msg_controllen = sizeof(control) };
		struct pollfd poll_fd = { .fd = d.notify, .events = POLLIN };
		struct cmsghdr *head;
		ssize_t n;

		assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
		n = recvmsg(d.notify, &message, MSG_CMSG_CLOEXEC);
		assert_true(n >= 0);
		text[n] = '\0';
		for (head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
			if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
				continue;
			assert_string_equal(text, "FDSTORE=1\nFDNAME=quotas");
			memcpy(&fd, CMSG_DATA(head), sizeof(fd));
			return fd;
		}
	}
}

/* Who owes planning time is in a file that the service manager keeps for the next daemon. */
TEST_WITH(stored, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	static const char damaged[] = "no quotas\n";
	char text[16384];
	int fd;

	start(arguments);
	fd = expect_stored();
	expect_notify("READY=1");
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_null(strstr(text, "is forgotten"));
	/* The next one reads it. */
	assert_int_equal(pwrite(fd, damaged, strlen(damaged), 0), strlen(damaged));
	d.stored = fd;
	start(arguments);
	d.stored = 0;
	expect_notify("READY=1");
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_non_null(strstr(text, "<4>npumemd: who has used up planning time is forgotten: "
				     "/proc/self/fd/3:1: the file is damaged\n"));
	close(fd);
}

/* Without a driver, which the machine that tests are built on does not have. */
TEST_WITH(no_driver, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384];

	start(arguments);
	expect_notify("READY=1");
	kill(d.pid, SIGHUP);
	expect_notify("READY=1");
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_int_equal(
		count(text, "<5>npumemd: the npumem driver is not loaded, waiting for it\n"), 1);
}

TEST_WITH(no_capability, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384];

	d.no_capability = true;
	start(arguments);
	d.no_capability = false;
	expect_notify("READY=1");
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_int_equal(count(text,
			       "<4>npumemd: the capability CAP_NET_ADMIN is missing, which the "
			       "npumem driver wants of its daemon: start npumemd as root or "
			       "by its service\n"),
			 1);
}

/* It ends with @code, and says why, if the driver refuses it for what waiting does not mend. */
static void refused(int refuses, int code, const char *says)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384];

	start_with(arguments, have_driver(21, refuses));
	assert_int_equal(finish(text, sizeof(text)), code);
	assert_int_equal(count(text, says), 1);
}

TEST_WITH(second, setup, teardown)
{
	refused(-EBUSY, 3,
		"<3>npumemd: another daemon is registered with the npumem driver; there can be "
		"one\n");
}

TEST_WITH(not_permitted, setup, teardown)
{
	refused(-EPERM, 4,
		"<3>npumemd: the npumem driver wants the capability CAP_NET_ADMIN of its "
		"daemon\n");
}

/*
 * A driver that was loaded before an upgrade stays: npumemd says once that it is another one, and
 * waits until it has gone and the right one has come.
 */
TEST_WITH(other_version, setup, teardown)
{
	const char *const arguments[] = { "-f", "-c", d.config, NULL };
	char text[16384];

	start_with(arguments, have_driver(21, -EPROTONOSUPPORT));
	expect_notify("STATUS=Waiting for the npumem driver of version " NPUMEM_PACKAGE_VERSION
		      "; another one is loaded.");
	expect_notify("READY=1");
	/* It is the same one, whatever else npumemd has not heard of, or hears twice. */
	tell_driver(21, -EPROTONOSUPPORT, 0);
	tell_driver(21, -EPROTONOSUPPORT, 0);
	tell_driver(21, -EPROTONOSUPPORT, CTRL_CMD_NEWFAMILY);
	tell_driver(0, 0, CTRL_CMD_DELFAMILY);
	expect_notify("STATUS=Waiting for the npumem driver.");
	tell_driver(22, -EPROTONOSUPPORT, CTRL_CMD_NEWFAMILY);
	expect_notify("STATUS=Waiting for the npumem driver of version");
	/* It went, and the right one came, and npumemd has heard of neither. */
	tell_driver(23, 0, 0);
	expect_notify("STATUS=Waiting for the npumem driver.");
	expect_notify("STATUS=Planning for the npumem driver.");
	kill(d.pid, SIGTERM);
	assert_int_equal(finish(text, sizeof(text)), 0);
	assert_int_equal(count(text, "<3>npumemd: the npumem driver that is loaded speaks another "
				     "version of the protocol than this npumemd "
				     "(" NPUMEM_PACKAGE_VERSION "); waiting for the one that comes "
				     "with it: load that, or restart the machine\n"),
			 2);
	assert_int_equal(count(text, "<5>npumemd: the npumem driver is gone, waiting for it\n"), 2);
	assert_int_equal(count(text, "<6>npumemd: registered with the npumem driver\n"), 1);
}
