// SPDX-License-Identifier: MIT
/* npumemd: configuration file, log levels. Every rejection, with its line. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "config.h"
#include "log.h"
#include "unit.h"

static char path[64];

static int setup(void **state)
{
	int fd;

	/* The tests themselves may be a service's. */
	unsetenv("RUNTIME_DIRECTORY");
	strcpy(path, "/tmp/npumemd-conf-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	/* As it is in /etc. */
	fchmod(fd, 0644);
	close(fd);
	return 0;
}

static int teardown(void **state)
{
	return unlink(path);
}

static struct config read_good(const char *text)
{
	struct config config;
	char reason[512] = "";
	int err;

	unit_write(path, text);
	err = config_read(path, false, &config, reason, sizeof(reason));
	if (err)
		fail_msg("%s", reason);
	return config;
}

/* @reason is what follows the file's name. */
static void refuse(const char *text, const char *reason)
{
	struct config config, before;
	char got[512];

	memset(&config, 0x5a, sizeof(config));
	before = config;
	unit_write(path, text);
	assert_int_equal(config_read(path, false, &config, got, sizeof(got)), -EINVAL);
	assert_memory_equal(got, path, strlen(path));
	assert_string_equal(got + strlen(path), reason);
	/* A file with a mistake changes nothing. */
	assert_memory_equal(&config, &before, sizeof(config));
}

TEST_WITH(defaults, setup, teardown)
{
	struct config config = read_good("");

	assert_int_equal(config.log_level, LOG_INFO);
	assert_int_equal(config.workers, 2);
	assert_int_equal(config.memory_limit, 512 << 20);
	assert_int_equal(config.cpu_limit, 60);
	assert_int_equal(config.time_limit, 120);
	assert_int_equal(config.plan_limit, 64 << 20);
	assert_true(config.seccomp);
	assert_string_equal(config.cache_folder, "/var/cache/npumemd");
	assert_int_equal(config.cache_limit, 64 << 20);
	assert_int_equal(config.improve_time, 0);
	assert_int_equal(config.first_answer, 100);
	assert_int_equal(config.improve_share, 25);
	assert_false(config.improve_on_battery);
	assert_int_equal(config.metrics_mode, 0666);
	assert_string_equal(config.metrics_socket, "");
	assert_string_equal(config.metrics_textfile, "");
	assert_string_equal(config.planner, "auto");
	assert_string_equal(config.traffic_planner, "cosma");
}

/* One path cannot be both, whichever key comes last; the service's socket is one without a key. */
TEST_WITH(one_path_of_metrics, setup, teardown)
{
	refuse("[metrics]\nsocket = /srv/m\ntextfile = /srv/m\nmode = 600\n",
	       ":3: socket and textfile are both \"/srv/m\"");
	refuse("[metrics]\ntextfile = /srv/m\n\nsocket = /srv/m\n",
	       ":4: socket and textfile are both \"/srv/m\"");
	read_good("[metrics]\nsocket = /srv/m\ntextfile = /srv/m.prom\n");
	read_good("[metrics]\nsocket =\ntextfile =\n");
	read_good("[metrics]\ntextfile = /run/npumemd/metrics\n");
	setenv("RUNTIME_DIRECTORY", "/run/npumemd", 1);
	refuse("[metrics]\ntextfile = /run/npumemd/metrics\n",
	       ":2: socket and textfile are both \"/run/npumemd/metrics\"");
}

/* The service has one without any configuration; a daemon started by hand has no folder for it. */
TEST_WITH(service_socket, setup, teardown)
{
	static const char *const lists[] = { "/run/npumemd", "/run/npumemd:/run/x",
					     "/run/x:/run/npumemd" };
	static const char *const others[] = { "", ":", "/run/npumem", "/run/npumemd2:/run/x",
					      "/run/user/1/run/npumemd" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		setenv("RUNTIME_DIRECTORY", lists[i], 1);
		assert_string_equal(read_good("").metrics_socket, "/run/npumemd/metrics");
		assert_string_equal(read_good("[metrics]\nsocket =\n").metrics_socket, "");
		assert_string_equal(read_good("[metrics]\nsocket = /x\n").metrics_socket, "/x");
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		setenv("RUNTIME_DIRECTORY", others[i], 1);
		assert_string_equal(read_good("").metrics_socket, "");
	}
}

TEST_WITH(every_key, setup, teardown)
{
	struct config config = read_good("; comment\n"
					 "[daemon]\n"
					 "log-level = debug\n"
					 "workers=64\n"
					 "# comment\n"
					 "[worker]\n"
					 "memory-limit = 2G\n"
					 "cpu-limit = 5\n"
					 "time-limit = 0\n"
					 "plan-size-limit = 4K\n"
					 "seccomp = no\n"
					 "[cache]\n"
					 "folder = /srv/plans\n"
					 "size-limit = 1M\n"
					 "[improve]\n"
					 "time = 600\n"
					 "first-answer = 5\n"
					 "share = 100\n"
					 "on-battery = yes\n"
					 "[metrics]\n"
					 "socket = /run/npumemd/metrics\n"
					 "mode = 0666\n"
					 "textfile = /srv/npumemd.prom\n"
					 "[planner]\n"
					 "default = greedy\n"
					 "traffic = cosma-belady\n");

	assert_int_equal(config.log_level, LOG_DEBUG);
	assert_int_equal(config.workers, 64);
	assert_int_equal(config.memory_limit, 2ull << 30);
	assert_int_equal(config.cpu_limit, 5);
	assert_int_equal(config.time_limit, 0);
	assert_int_equal(config.plan_limit, 4096);
	assert_false(config.seccomp);
	assert_string_equal(config.cache_folder, "/srv/plans");
	assert_int_equal(config.cache_limit, 1 << 20);
	assert_int_equal(config.improve_time, 600);
	assert_int_equal(config.first_answer, 5);
	assert_int_equal(config.improve_share, 100);
	assert_true(config.improve_on_battery);
	assert_string_equal(config.metrics_socket, "/run/npumemd/metrics");
	assert_int_equal(config.metrics_mode, 0666);
	assert_string_equal(config.metrics_textfile, "/srv/npumemd.prom");
	assert_string_equal(config.planner, "greedy");
	assert_string_equal(config.traffic_planner, "cosma-belady");
}

TEST_WITH(sizes, setup, teardown)
{
	assert_int_equal(read_good("[worker]\nmemory-limit = 33554432\n").memory_limit, 32 << 20);
	assert_int_equal(read_good("[worker]\nmemory-limit = 32768K\n").memory_limit, 32 << 20);
	assert_int_equal(read_good("[worker]\nmemory-limit = 0\n").memory_limit, 0);
	assert_int_equal(read_good("[worker]\nplan-size-limit = 64M\n").plan_limit, 64 << 20);
}

/* A longer one could never be listened on. */
TEST_WITH(socket_path, setup, teardown)
{
	char name[109], text[160], reason[256];

	memset(name, 's', sizeof(name) - 1);
	name[0] = '/';
	name[107] = '\0';
	snprintf(text, sizeof(text), "[metrics]\nsocket = %s\n", name);
	assert_string_equal(read_good(text).metrics_socket, name);
	name[107] = 's';
	name[108] = '\0';
	snprintf(text, sizeof(text), "[metrics]\nsocket = %s\n", name);
	snprintf(reason, sizeof(reason),
		 ":2: socket: \"%s\" is longer than the 107 bytes of a socket's path", name);
	refuse(text, reason);
}

TEST_WITH(unknown, setup, teardown)
{
	refuse("[daemon]\nworkers = 1\nwrokers = 2\n",
	       ":3: unknown key \"wrokers\" in section [daemon]");
	refuse("[deamon]\nworkers = 1\n", ":1: unknown section [deamon]");
	/* Also one without keys, wherever it stands. */
	refuse("[daemon]\nworkers = 1\n[improv] ; soon\n", ":3: unknown section [improv]");
	refuse("  [deamon]\n", ":1: unknown section [deamon]");
	refuse("\xef\xbb\xbf[deamon]\n", ":1: unknown section [deamon]");
	refuse("[]\n", ":1: unknown section []");
	assert_int_equal(read_good("\xef\xbb\xbf[daemon]\nworkers = 5\n").workers, 5);
	assert_int_equal(read_good(" [daemon]\nworkers = 5\n").workers, 5);
	refuse("workers = 1\n", ":1: workers stands in no section");
	/* A key of another section. */
	refuse("[worker]\nworkers = 1\n", ":2: unknown key \"workers\" in section [worker]");
}

TEST_WITH(syntax, setup, teardown)
{
	char line[400];

	refuse("[daemon]\n\nworkers\n", ":3: neither [section], key = value, nor a comment");
	refuse("[daemon\n", ":1: neither [section], key = value, nor a comment");
	refuse("[daemon]\nworkers = 1\n\nworkers = 2\n", ":4: workers is given twice");
	/* Keys may begin with blanks, as those of an example whose # was taken away. */
	assert_int_equal(read_good("[daemon]\n  log-level = debug\n\t workers = 5\n").workers, 5);
	assert_int_equal(read_good("[daemon]\n  workers = 5\n\n # no\n").workers, 5);
	refuse("[daemon]\nworkers = 1\n  more\n",
	       ":3: neither [section], key = value, nor a comment");
	refuse("[user root]\n  arena-limit = 4M\n  cpu-quota = x\n",
	       ":3: cpu-quota: \"x\" is not a number");
	memset(line, 'x', sizeof(line));
	memcpy(line, "[daemon]\nworkers = ", 19);
	strcpy(line + sizeof(line) - 2, "\n");
	refuse(line, ":2: the line is longer than 198 bytes");
	memset(line, '#', 199);
	strcpy(line + 198, "\n");
	read_good(line);
	strcpy(line + 198, "#\n");
	refuse(line, ":1: the line is longer than 198 bytes");
}

/* Files that do not end. */
TEST_WITH(endless, setup, teardown)
{
	static char text[(1 << 20) + 2];
	struct config config;
	char reason[512];

	assert_int_equal(config_read("/dev/zero", false, &config, reason, sizeof(reason)), -EINVAL);
	assert_string_equal(reason, "/dev/zero:1: the line has a NUL");
	/* 2^20 bytes may be read, and no more. */
	for (size_t i = 0; i < 1 << 20; i++)
		text[i] = i % 64 == 63 ? '\n' : '#';
	read_good(text);
	text[1 << 20] = '\n';
	refuse(text, ":16385: the file is longer than 1048576 bytes");
}

/* What a file says must not move the cursor of whoever reads what is wrong with it. */
TEST_WITH(escaped, setup, teardown)
{
	struct config config;
	char reason[512];

	refuse("[daemon]\nworkers = \x1b[2J\xc2\x9b\n",
	       ":2: workers: \"\\x1b[2J\\xc2\\x9b\" is not a number");
	refuse("[\x1b[31m]\n", ":1: unknown section [\\x1b[31m]");
	refuse("[daemon]\n\x7f = \xff\n", ":2: unknown key \"\\x7f\" in section [daemon]");
	refuse("[daemon]\nw\xc3\xb6rker = 1\n",
	       ":2: unknown key \"w\xc3\xb6rker\" in section [daemon]");
	assert_int_equal(config_read("/nowhere/\x1b[31m", false, &config, reason, sizeof(reason)),
			 -ENOENT);
	assert_string_equal(reason, "/nowhere/\\x1b[31m: No such file or directory");
}

/* The first mistake of several is the one named, whoever finds it. */
TEST_WITH(first_mistake, setup, teardown)
{
	refuse("[daemon]\nworkers\nworkers = 0\n",
	       ":2: neither [section], key = value, nor a comment");
	refuse("[daemon]\nworkers = 0\nworkers\n", ":2: workers: \"0\" is not between 1 and 64");
}

TEST_WITH(values, setup, teardown)
{
	static const struct {
		const char *text;
		const char *reason;
	} bad[] = {
		{ "[daemon]\nlog-level = loud\n",
		  ":2: log-level: \"loud\" is not one of error, warning, notice, info, debug" },
		{ "[daemon]\nlog-level =\n",
		  ":2: log-level: \"\" is not one of error, warning, notice, info, debug" },
		{ "[daemon]\nworkers = 0\n", ":2: workers: \"0\" is not between 1 and 64" },
		{ "[daemon]\nworkers = 65\n", ":2: workers: \"65\" is not between 1 and 64" },
		{ "[daemon]\nworkers = -1\n", ":2: workers: \"-1\" is not a number" },
		{ "[daemon]\nworkers = 2x\n", ":2: workers: \"2x\" is not a number" },
		{ "[daemon]\nworkers = 99999999999999999999\n",
		  ":2: workers: \"99999999999999999999\" is too large" },
		{ "[worker]\nmemory-limit = 31M\n",
		  ":2: memory-limit: \"31M\" is neither 0 (no limit) nor at least 32M" },
		{ "[worker]\nmemory-limit = lots\n",
		  ":2: memory-limit: \"lots\" is not a number of bytes" },
		{ "[worker]\nmemory-limit =\n", ":2: memory-limit: \"\" is not a number of bytes" },
		{ "[worker]\nmemory-limit = M\n",
		  ":2: memory-limit: \"M\" is not a number of bytes" },
		{ "[worker]\nmemory-limit = 17179869184G\n",
		  ":2: memory-limit: \"17179869184G\" is too large" },
		{ "[worker]\nmemory-limit = 33.5MB5\n",
		  ":2: memory-limit: \"33.5MB5\" is not a number of bytes" },
		{ "[worker]\nmemory-limit = 33.3MiB\n",
		  ":2: memory-limit: \"33.3MiB\" makes no whole number of bytes" },
		{ "[worker]\nmemory-limit = 33MB\n",
		  ":2: memory-limit: \"33MB\" is neither 0 (no limit) nor at least 32M" },
		{ "[worker]\ncpu-limit = 1.5\n", ":2: cpu-limit: \"1.5\" is not a number" },
		{ "[worker]\ncpu-limit = 2592001\n",
		  ":2: cpu-limit: \"2592001\" is more than 30 days in seconds" },
		{ "[worker]\ntime-limit = soon\n", ":2: time-limit: \"soon\" is not a number" },
		{ "[worker]\ntime-limit = 2592001\n",
		  ":2: time-limit: \"2592001\" is more than 30 days in seconds" },
		{ "[worker]\nplan-size-limit = 4095\n",
		  ":2: plan-size-limit: \"4095\" is not between 4K and 64M" },
		{ "[worker]\nplan-size-limit = 65M\n",
		  ":2: plan-size-limit: \"65M\" is not between 4K and 64M" },
		{ "[worker]\nseccomp = maybe\n", ":2: seccomp: \"maybe\" is not one of yes, no" },
		{ "[cache]\nfolder = plans\n", ":2: folder: \"plans\" is not an absolute path" },
		{ "[cache]\nsize-limit = 4095\n",
		  ":2: size-limit: \"4095\" is neither 0 (no cache) nor at least 4K" },
		{ "[metrics]\nsocket = metrics\n",
		  ":2: socket: \"metrics\" is not an absolute path" },
		{ "[metrics]\ntextfile = metrics\n",
		  ":2: textfile: \"metrics\" is not an absolute path" },
		{ "[metrics]\nmode = 1660\n",
		  ":2: mode: \"1660\" is not three octal digits, such as 660" },
		{ "[metrics]\nmode = 680\n",
		  ":2: mode: \"680\" is not three octal digits, such as 660" },
		{ "[improve]\ntime = 86401\n",
		  ":2: time: \"86401\" is more than a day in seconds" },
		{ "[improve]\nfirst-answer = 0\n",
		  ":2: first-answer: \"0\" is not between 1 and 3600000" },
		{ "[improve]\nshare = 101\n", ":2: share: \"101\" is not between 0 and 100" },
		{ "[improve]\nshare = -1\n", ":2: share: \"-1\" is not a number" },
		{ "[improve]\nshare = 25%\n", ":2: share: \"25%\" is not a number" },
		{ "[improve]\nshare = 1\nshare = 1\n", ":3: share is given twice" },
		{ "[improve]\non-battery = 1\n", ":2: on-battery: \"1\" is not one of yes, no" },
		{ "[planner]\ndefault = magic\n",
		  ":2: default: \"magic\" is not a planner of this npumemd" },
		{ "[planner]\ntraffic = auto\n",
		  ":2: traffic: \"auto\" does not plan for the least traffic" },
		{ "[planner]\ntraffic = magic\n",
		  ":2: traffic: \"magic\" is not a planner of this npumemd" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(bad[i].text, bad[i].reason);
}

TEST_WITH(no_file, setup, teardown)
{
	struct config config;
	char reason[512];

	assert_int_equal(config_read("/nowhere/npumemd.conf", false, &config, reason,
				     sizeof(reason)),
			 -ENOENT);
	assert_string_equal(reason, "/nowhere/npumemd.conf: No such file or directory");
	assert_int_equal(config_read("/", false, &config, reason, sizeof(reason)), -EISDIR);
	assert_string_equal(reason, "/: Is a directory");
}

/* ---------------------------------------------------------------------------- drop-ins */

/* Writes a file of the folder beside the configuration file. */
static void drop_in(const char *name, const char *text)
{
	char file[128];
	FILE *out;

	snprintf(file, sizeof(file), "%s.d/%s", path, name);
	out = fopen(file, "w");
	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static int setup_folder(void **state)
{
	char folder[80];

	if (setup(state))
		return -1;
	snprintf(folder, sizeof(folder), "%s.d", path);
	return mkdir(folder, 0755);
}

static int teardown_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s.d'", path);
	return system(command) | teardown(state);
}

/* Later files say more than earlier ones, by their names; others are not read. */
TEST_WITH(drop_ins, setup_folder, teardown_folder)
{
	struct config config;

	drop_in("20-b.conf", "[daemon]\nworkers = 5\n");
	drop_in("10-a.conf", "[daemon]\nworkers = 4\nlog-level = debug\n[worker]\ncpu-limit = 7\n");
	drop_in("30-c.conf~", "[daemon]\nworkers = 6\n");
	drop_in(".conf", "[daemon]\nworkers = 7\n");
	drop_in(".hidden.conf", "[daemon]\nworkers = 8\n");
	drop_in("README", "no configuration\n");
	config = read_good("[daemon]\nworkers = 3\n[worker]\ncpu-limit = 6\ntime-limit = 8\n");
	assert_int_equal(config.workers, 5);
	assert_int_equal(config.log_level, LOG_DEBUG);
	assert_int_equal(config.cpu_limit, 7);
	assert_int_equal(config.time_limit, 8);
}

/* A mistake is told with its own file, and nothing is changed by any of them. */
TEST_WITH(bad_drop_in, setup_folder, teardown_folder)
{
	drop_in("10-a.conf", "[daemon]\nworkers = 4\n");
	drop_in("20-b.conf", "[daemon]\nworkers = 5\nworkers = 6\n");
	refuse("", ".d/20-b.conf:3: workers is given twice");
	drop_in("20-b.conf", "[nothing]\nx = 1\n");
	refuse("", ".d/20-b.conf:1: unknown section [nothing]");
}

/* Paths of the metrics: what one file says another one may take back, or get wrong. */
TEST_WITH(drop_in_metrics, setup_folder, teardown_folder)
{
	struct config config;

	drop_in("10-a.conf", "[metrics]\nsocket = /srv/a\n");
	refuse("[metrics]\ntextfile = /srv/a\n",
	       ".d/10-a.conf:2: socket and textfile are both \"/srv/a\"");
	drop_in("20-b.conf", "[metrics]\n\ntextfile = /srv/b\n");
	config = read_good("[metrics]\ntextfile = /srv/a\n");
	assert_string_equal(config.metrics_socket, "/srv/a");
	assert_string_equal(config.metrics_textfile, "/srv/b");
}

/* What lets whoever reads it wait, and what hides the rest of a line. */
TEST_WITH(strange_drop_ins, setup_folder, teardown_folder)
{
	static const char nul[] = "[daemon]\nworkers = 4\0 junk";
	char fifo[96], link[96], reason[512], wrong[160];
	struct config config;
	FILE *file;

	snprintf(link, sizeof(link), "%s.d/05-masked.conf", path);
	assert_int_equal(symlink("/dev/null", link), 0);
	read_good("");
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(nul, 1, sizeof(nul) - 1, file), sizeof(nul) - 1);
	assert_int_equal(fclose(file), 0);
	snprintf(wrong, sizeof(wrong), "%s:2: the line has a NUL", path);
	assert_int_equal(config_read(path, false, &config, reason, sizeof(reason)), -EINVAL);
	assert_string_equal(reason, wrong);
	unit_write(path, "");
	snprintf(fifo, sizeof(fifo), "%s.d/10-a.conf", path);
	assert_int_equal(mkfifo(fifo, 0644), 0);
	snprintf(wrong, sizeof(wrong), "%s: Invalid argument", fifo);
	assert_int_equal(config_read(path, false, &config, reason, sizeof(reason)), -EINVAL);
	assert_string_equal(reason, wrong);
}

/* A file that need not be there; a link to one that is not is a mistake all the same. */
TEST_WITH(optional_file, setup_folder, teardown_folder)
{
	char reason[512] = "", expected[PATH_MAX + 64];
	struct config config;

	assert_int_equal(config_read(path, true, &config, reason, sizeof(reason)), 0);
	assert_true(config.has_file);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(config_read(path, true, &config, reason, sizeof(reason)), 0);
	assert_false(config.has_file);
	drop_in("10-a.conf", "[daemon]\nworkers = 4\n");
	assert_int_equal(config_read(path, true, &config, reason, sizeof(reason)), 0);
	assert_false(config.has_file);
	assert_int_equal(config.workers, 4);
	assert_int_equal(symlink("nowhere", path), 0);
	assert_int_equal(config_read(path, true, &config, reason, sizeof(reason)), -ENOENT);
	snprintf(expected, sizeof(expected), "%s: No such file or directory", path);
	assert_string_equal(reason, expected);
}

/* The same of the folder; and what was there is missed. */
TEST_WITH(missed, setup_folder, teardown_folder)
{
	char reason[512] = "", expected[PATH_MAX + 64], folder[PATH_MAX - 16], aside[PATH_MAX];
	struct config config, before;

	drop_in("10-a.conf", "[daemon]\nworkers = 4\n");
	assert_int_equal(config_read(path, true, &before, reason, sizeof(reason)), 0);
	assert_true(before.has_file && before.has_folder && before.drop_ins == 1);
	assert_false(config_misses(&before, &before, path, reason, sizeof(reason)));
	snprintf(folder, sizeof(folder), "%s.d", path);
	snprintf(aside, sizeof(aside), "%s.aside", path);
	assert_int_equal(rename(folder, aside), 0);
	assert_int_equal(config_read(path, true, &config, reason, sizeof(reason)), 0);
	assert_true(config_misses(&before, &config, path, reason, sizeof(reason)));
	snprintf(expected, sizeof(expected), "%s.d is not there any more", path);
	assert_string_equal(reason, expected);
	/* Nobody misses a folder without files. */
	before.drop_ins = 0;
	assert_false(config_misses(&before, &config, path, reason, sizeof(reason)));
	config.has_file = false;
	assert_true(config_misses(&before, &config, path, reason, sizeof(reason)));
	snprintf(expected, sizeof(expected), "%s is not there any more", path);
	assert_string_equal(reason, expected);
	assert_int_equal(symlink("nowhere", folder), 0);
	assert_int_equal(config_read(path, true, &config, reason, sizeof(reason)), -ENOENT);
	snprintf(expected, sizeof(expected), "%s.d: No such file or directory", path);
	assert_string_equal(reason, expected);
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(rename(aside, folder), 0);
}

/* What only its owner may read is told, the first of it. */
TEST_WITH(private_files, setup_folder, teardown_folder)
{
	struct config config;
	char reason[512], folder[PATH_MAX - 16], second[PATH_MAX];

	drop_in("10-a.conf", "[daemon]\nworkers = 4\n");
	drop_in("20-b.conf", "[daemon]\nworkers = 5\n");
	assert_int_equal(config_read(path, false, &config, reason, sizeof(reason)), 0);
	assert_string_equal(config.private_file, "");
	snprintf(second, sizeof(second), "%s.d/20-b.conf", path);
	assert_int_equal(chmod(second, 0640), 0);
	assert_int_equal(config_read(path, false, &config, reason, sizeof(reason)), 0);
	assert_string_equal(config.private_file, second);
	assert_int_equal(config.workers, 5);
	/* A folder in which nobody else may look for files. */
	snprintf(folder, sizeof(folder), "%s.d", path);
	assert_int_equal(chmod(folder, 0744), 0);
	assert_int_equal(config_read(path, false, &config, reason, sizeof(reason)), 0);
	assert_string_equal(config.private_file, folder);
	assert_int_equal(chmod(folder, 0711), 0);
	assert_int_equal(config_read(path, false, &config, reason, sizeof(reason)), 0);
	assert_string_equal(config.private_file, folder);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(config_read(path, false, &config, reason, sizeof(reason)), 0);
	assert_string_equal(config.private_file, path);
}

/* Without the file there may be others. */
TEST_WITH(drop_ins_alone, setup_folder, teardown_folder)
{
	struct config config;
	char reason[512];

	drop_in("10-a.conf", "[daemon]\nworkers = 4\n");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(config_read(path, true, &config, reason, sizeof(reason)), 0);
	assert_int_equal(config.workers, 4);
	assert_int_equal(config_read(path, false, &config, reason, sizeof(reason)), -ENOENT);
	unit_write(path, "");
}

/* The example that is installed holds the defaults, commented out. */
TEST_WITH(example, setup, teardown)
{
	const char *example = getenv("NPUMEMD_EXAMPLE");
	char reason[512] = "", line[256], text[8192] = "";
	struct config config, defaults;
	FILE *file;

	assert_non_null(example);
	/* It is the service's. */
	setenv("RUNTIME_DIRECTORY", "/run/npumemd", 1);
	config_defaults(&defaults);
	if (config_read(example, false, &config, reason, sizeof(reason)))
		fail_msg("%s", reason);
	defaults.has_file = config.has_file;
	defaults.has_folder = config.has_folder;
	assert_memory_equal(&config, &defaults, sizeof(config));

	/* With each "#key = value" made a line of its own. */
	file = fopen(example, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *from = line;

		if (line[0] == '#' && line[1] >= 'a' && line[1] <= 'z')
			from++;
		assert_true(strlen(text) + strlen(from) < sizeof(text));
		strcat(text, from);
	}
	fclose(file);
	assert_non_null(strstr(text, "\nworkers = "));
	config = read_good(text);
	assert_memory_equal(&config, &defaults, sizeof(config));
}

TEST_WITH(log_levels, setup, teardown)
{
	static const struct {
		const char *name;
		int level;
	} good[] = {
		{ "error", LOG_ERR }, { "warning", LOG_WARNING }, { "notice", LOG_NOTICE },
		{ "info", LOG_INFO }, { "debug", LOG_DEBUG },
	};
	int level = -1;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(log_level_parse(good[i].name, &level), 0);
		assert_int_equal(level, good[i].level);
	}
	assert_int_equal(log_level_parse("Info", &level), -EINVAL);
	assert_int_equal(log_level_parse("", &level), -EINVAL);
	assert_int_equal(level, LOG_DEBUG);
}
