// SPDX-License-Identifier: MIT
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "../userspace/plain/plain.h"
#include "log.h"
#include "policy.h"
#include "value.h"
#include "npumem_graph.h"
#include "npuplan.h"

/* RuntimeDirectory= of npumemd.service. */
#define SERVICE_FOLDER "/run/npumemd"

/*
 * Whether the service manager has made the folder that npumemctl status looks into. Who starts a
 * daemon by hand has none, and no socket by default.
 */
static bool has_service_folder(void)
{
	const char *at = getenv("RUNTIME_DIRECTORY");
	size_t length;

	for (; at && *at; at += length + (at[length] == ':')) {
		length = strcspn(at, ":");
		if (length == strlen(SERVICE_FOLDER) && !memcmp(at, SERVICE_FOLDER, length))
			return true;
	}
	return false;
}

void config_defaults(struct config *config)
{
	*config = (struct config){
		.log_level = LOG_INFO,
		.workers = 2,
		.memory_limit = 512ull << 20,
		.cpu_limit = 60,
		.time_limit = 120,
		.plan_limit = NPUMEM_BLOB_MAX_BYTES,
		.seccomp = true,
		.cache_limit = 64ull << 20,
		.cache_folder = "/var/cache/npumemd",
		.improve_time = 0,
		.first_answer = 100,
		.improve_share = 25,
		/* They name nobody. */
		.metrics_mode = 0666,
		.planner = "auto",
		.traffic_planner = "cosma",
	};
	if (has_service_folder())
		strcpy(config->metrics_socket, SERVICE_FOLDER "/metrics");
}

void config_free(struct config *config)
{
	policies_free(config->policies);
	config->policies = NULL;
}

/* Setters of values. Each returns NULL, or a text that says what is wrong with the value. */

static const char *set_log_level(struct config *config, const char *value)
{
	return log_level_parse(value, &config->log_level) ?
		       "is not one of error, warning, notice, info, debug" :
		       NULL;
}

static const char *set_seccomp(struct config *config, const char *value)
{
	return value_yes(value, &config->seccomp);
}

static const char *set_on_battery(struct config *config, const char *value)
{
	return value_yes(value, &config->improve_on_battery);
}

static const char *parse_planner(const char *value, char planner[32])
{
	unsigned int number;
	const char *wrong = value_planner(value, &number);

	if (!wrong)
		snprintf(planner, 32, "%s", npuplan_planner_name(number));
	return wrong;
}

static const char *set_planner(struct config *config, const char *value)
{
	return parse_planner(value, config->planner);
}

static const char *set_traffic_planner(struct config *config, const char *value)
{
	const char *wrong = parse_planner(value, config->traffic_planner);

	/* Only planners that move tensors can plan for the least traffic. */
	if (!wrong && !(npuplan_planner_traits(value) & NPUPLAN_PLANNER_MOVES))
		wrong = "does not plan for the least traffic";
	return wrong;
}

static const char *parse_path(const char *value, char path[CONFIG_PATH_SIZE])
{
	if (*value != '/')
		return "is not an absolute path";
	snprintf(path, CONFIG_PATH_SIZE, "%s", value);
	return NULL;
}

static const char *set_cache_folder(struct config *config, const char *value)
{
	return parse_path(value, config->cache_folder);
}

/* Nothing: there is none. */
static const char *set_metrics_socket(struct config *config, const char *value)
{
	*config->metrics_socket = '\0';
	if (strlen(value) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return "is longer than the 107 bytes of a socket's path";
	return *value ? parse_path(value, config->metrics_socket) : NULL;
}

static const char *set_metrics_textfile(struct config *config, const char *value)
{
	*config->metrics_textfile = '\0';
	return *value ? parse_path(value, config->metrics_textfile) : NULL;
}

static const char *set_metrics_mode(struct config *config, const char *value)
{
	size_t length = strlen(value);

	if (length < 3 || length > 4 || strspn(value, "01234567") != length ||
	    (length == 4 && *value != '0'))
		return "is not three octal digits, such as 660";
	config->metrics_mode = strtoul(value, NULL, 8);
	return NULL;
}

/* Most bytes of a file. */
#define MAX_FILE (1u << 20)

/* With less a worker cannot even start; the daemon says so now and not at each request. */
#define MIN_MEMORY (32ull << 20)

/*
 * struct key - a key that the file may have
 * @section: section that it stands in
 * @name: its name
 * @set: stores the value; NULL for a number
 * @number: offset in struct config of the uint64_t that a number is stored in
 * @range: those that it may be
 */
static const struct key {
	const char *section;
	const char *name;
	const char *(*set)(struct config *config, const char *value);
	size_t number;
	struct value_range range;
} keys[] = {
	{ "daemon", "log-level", set_log_level },
	{ "daemon", "workers", .number = offsetof(struct config, workers),
	  .range = { .least = 1, .most = 64, .sentence = "is not between 1 and 64" } },
	{ "worker", "memory-limit", .number = offsetof(struct config, memory_limit),
	  .range = { .bytes = true,
		     .least = MIN_MEMORY,
		     .most = UINT64_MAX,
		     .or_zero = true,
		     .sentence = "is neither 0 (no limit) nor at least 32M" } },
	{ "worker", "cpu-limit", .number = offsetof(struct config, cpu_limit),
	  .range = { .most = VALUE_MAX_SECONDS, .sentence = "is more than 30 days in seconds" } },
	{ "worker", "time-limit", .number = offsetof(struct config, time_limit),
	  .range = { .most = VALUE_MAX_SECONDS, .sentence = "is more than 30 days in seconds" } },
	{ "worker", "plan-size-limit", .number = offsetof(struct config, plan_limit),
	  .range = { .bytes = true,
		     .least = 4096,
		     .most = NPUMEM_BLOB_MAX_BYTES,
		     .sentence = "is not between 4K and 64M" } },
	{ "worker", "seccomp", set_seccomp },
	{ "cache", "folder", set_cache_folder },
	{ "cache", "size-limit", .number = offsetof(struct config, cache_limit),
	  .range = { .bytes = true,
		     .least = 4096,
		     .most = UINT64_MAX,
		     .or_zero = true,
		     .sentence = "is neither 0 (no cache) nor at least 4K" } },
	{ "improve", "time", .number = offsetof(struct config, improve_time),
	  .range = { .most = 24ull * 3600, .sentence = "is more than a day in seconds" } },
	{ "improve", "first-answer", .number = offsetof(struct config, first_answer),
	  .range = { .least = 1, .most = 3600000, .sentence = "is not between 1 and 3600000" } },
	{ "improve", "share", .number = offsetof(struct config, improve_share),
	  .range = { .most = 100, .sentence = "is not between 0 and 100" } },
	{ "improve", "on-battery", set_on_battery },
	{ "metrics", "socket", set_metrics_socket },
	{ "metrics", "mode", set_metrics_mode },
	{ "metrics", "textfile", set_metrics_textfile },
	{ "planner", "default", set_planner },
	{ "planner", "traffic", set_traffic_planner },
};
#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static const char *set_number(const struct key *key, struct config *config, const char *value)
{
	uint64_t number;
	const char *wrong = value_number(value, &key->range, &number);

	if (!wrong)
		memcpy((char *)config + key->number, &number, sizeof(number));
	return wrong;
}

/*
 * struct place - where a key stands
 * @line: 0: nowhere
 */
struct place {
	char file[PATH_MAX];
	int line;
};

/*
 * struct reading - state of the reading of one file
 * @metrics_line: number of the line with the last path of [metrics], 0 for none
 * @bytes: of the lines so far
 * @line: number of the line given to inih last, which does not tell its handler
 * @bad_line: number of the line with the first mistake, 0 for none yet
 * @err: what config_read() returns for it
 */
struct reading {
	FILE *file;
	struct config config;
	bool seen[KEY_COUNT];
	size_t bytes;
	int line;
	int metrics_line;
	int bad_line;
	int err;
	char wrong[256];
};

__attribute__((format(printf, 3, 4))) static void problem(struct reading *reading, int err,
							  const char *format, ...)
{
	va_list args;

	if (reading->bad_line)
		return;
	reading->bad_line = reading->line;
	reading->err = err;
	va_start(args, format);
	vsnprintf(reading->wrong, sizeof(reading->wrong), format, args);
	va_end(args);
}

#define mistake(reading, ...) problem(reading, -EINVAL, __VA_ARGS__)

static bool known_section(const char *section)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (!strcmp(section, keys[i].section))
			return true;
	return false;
}

static void check_section(struct reading *reading, const char *section, bool begins_line)
{
	char wrong[sizeof(reading->wrong)];
	int err;

	if (policy_lacks_name(section))
		mistake(reading, "section [%s] does not say which: [%s NAME]", section, section);
	else if (!policy_is_section(section) && !known_section(section))
		mistake(reading, "unknown section [%s]", section);
	else if (!policy_is_section(section))
		return;
	else if (!begins_line)
		mistake(reading, "section [%s] does not begin its line", section);
	else {
		err = policies_add(&reading->config.policies, section, wrong, sizeof(wrong));
		if (err)
			problem(reading, err, "%s", wrong);
	}
}

/*
 * A line that begins with a section's name. inih passes over what stands behind it, and tells of a
 * section only if it has a key.
 */
static void begin_section(struct reading *reading, const char *line)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf", blank[] = " \t\r\n";
	char section[256];
	const char *begin, *rest;
	size_t length;

	/* inih passes over one, too. */
	if (reading->line == 1 && !strncmp(line, byte_order_mark, strlen(byte_order_mark)))
		line += strlen(byte_order_mark);
	begin = line + strspn(line, blank);
	length = strcspn(begin, "]");
	rest = begin + length;
	/* inih refuses one without an end. */
	if (*begin != '[' || !*rest || length > sizeof(section))
		return;
	rest += 1 + strspn(rest + 1, blank);
	if (*rest && !strchr(";#", *rest)) {
		mistake(reading, "something stands behind the section's name");
		return;
	}
	snprintf(section, sizeof(section), "%.*s", (int)length - 1, begin + 1);
	check_section(reading, section, begin == line);
}

/*
 * As fgets(), but counts lines and refuses long ones, whose rest inih would take for a new line.
 * Behind the first mistake nothing is read: there are files that never end.
 */
static char *read_line(char *text, int size, void *stream)
{
	struct reading *reading = stream;
	size_t length, blanks;

	if (reading->bad_line)
		return NULL;
	/* Then its last NUL is the one that fgets() puts behind what it has read. */
	memset(text, '\n', (size_t)size);
	if (!fgets(text, size, reading->file))
		return NULL;
	reading->line++;
	length = strlen(text);
	reading->bytes += length;
	if (reading->bytes > MAX_FILE)
		mistake(reading, "the file is longer than %u bytes", MAX_FILE);
	begin_section(reading, text);
	/* What is behind a NUL nobody would see. */
	if (memrchr(text, '\0', (size_t)size) != text + length)
		mistake(reading, "the line has a NUL");
	if (length + 1 == (size_t)size && text[length - 1] != '\n')
		mistake(reading, "the line is longer than %d bytes", size - 2);
	/* inih takes a line that begins with blanks for the rest of the key before. */
	blanks = strspn(text, " \t\r\f\v");
	memmove(text, text + blanks, length - blanks + 1);
	return text;
}

static int handle_policy(struct reading *reading, const char *section, const char *name,
			 const char *value)
{
	char wrong[sizeof(reading->wrong)];
	int err =
		policies_set(reading->config.policies, section, name, value, wrong, sizeof(wrong));

	if (err)
		problem(reading, err, "%s", wrong);
	return !err;
}

static int handle(void *user, const char *section, const char *name, const char *value)
{
	struct reading *reading = user;

	if (policy_is_section(section))
		return handle_policy(reading, section, name, value);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const char *wrong;

		if (strcmp(section, keys[i].section) != 0 || strcmp(name, keys[i].name) != 0)
			continue;
		if (reading->seen[i]) {
			mistake(reading, "%s is given twice", name);
			return 0;
		}
		reading->seen[i] = true;
		wrong = keys[i].set ? keys[i].set(&reading->config, value) :
				      set_number(&keys[i], &reading->config, value);
		if (wrong)
			mistake(reading, "%s: \"%s\" %s", name, value, wrong);
		if (keys[i].set == set_metrics_socket || keys[i].set == set_metrics_textfile)
			reading->metrics_line = reading->line;
		return !wrong;
	}
	if (!*section)
		mistake(reading, "%s stands in no section", name);
	else
		mistake(reading, "unknown key \"%s\" in section [%s]", name, section);
	return 0;
}

/* What is wrong, as a terminal may have it: files and their names have any bytes. */
__attribute__((format(printf, 3, 4))) static void tell(char *reason, size_t size,
						       const char *format, ...)
{
	char raw[PATH_MAX + 512], *plain;
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	plain = plain_text(raw, false);
	snprintf(reason, size, "%s", plain);
	free(plain);
}

/* Note the first file, or folder of files, that not every user may read. */
static void note_private(struct config *config, const char *path, const struct stat *status)
{
	mode_t all = S_ISDIR(status->st_mode) ? S_IROTH | S_IXOTH : S_IROTH;

	if (!*config->private_file && (status->st_mode & all) != all)
		snprintf(config->private_file, sizeof(config->private_file), "%.*s",
			 (int)sizeof(config->private_file) - 1, path);
}

/* Opens a file to read; what would let the daemon wait for somebody, such as a FIFO, is -EINVAL. */
static int open_file(const char *path, FILE **file)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	int err = 0;

	*file = NULL;
	if (fd < 0 || fstat(fd, &status))
		err = -errno;
	/* A link to /dev/null masks a file. */
	else if (S_ISDIR(status.st_mode))
		err = -EISDIR;
	else if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode))
		err = -EINVAL;
	if (!err) {
		*file = fdopen(fd, "r");
		err = *file ? 0 : -errno;
	}
	if (err && fd >= 0)
		close(fd);
	return err;
}

/* Reads a file over what @config says. @metrics: of the last path of [metrics] */
static int read_file(const char *path, struct config *config, struct place *metrics, char *reason,
		     size_t reason_size)
{
	struct reading reading = { .config = *config };
	struct stat status;
	int line, err;

	err = open_file(path, &reading.file);
	if (err) {
		tell(reason, reason_size, "%s: %s", path, strerror(-err));
		return err;
	}
	policies_next_file(reading.config.policies);
	if (!fstat(fileno(reading.file), &status))
		note_private(&reading.config, path, &status);
	line = ini_parse_stream(read_line, &reading, handle, &reading);
	/* They are of all files: config_read() frees them if one is wrong. */
	config->policies = reading.config.policies;
	err = ferror(reading.file) ? -EIO : 0;
	fclose(reading.file);
	if (line < 0 || err) {
		err = line == -2 ? -ENOMEM : -EIO;
		tell(reason, reason_size, "%s: %s", path, strerror(-err));
		return err;
	}
	/* A line that inih itself refuses never comes to the handler. */
	if (line && (!reading.bad_line || line < reading.bad_line)) {
		reading.bad_line = line;
		reading.err = -EINVAL;
		strcpy(reading.wrong, "neither [section], key = value, nor a comment");
	}
	if (reading.bad_line) {
		tell(reason, reason_size, "%s:%d: %s", path, reading.bad_line, reading.wrong);
		return reading.err;
	}
	*config = reading.config;
	if (reading.metrics_line) {
		snprintf(metrics->file, sizeof(metrics->file), "%s", path);
		metrics->line = reading.metrics_line;
	}
	return 0;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 &&
	       !strcmp(entry->d_name + length - 5, ".conf");
}

/* By name, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Reads the files of the folder beside the configuration file, if there is one. */
static int read_drop_ins(const char *path, struct config *config, struct place *metrics,
			 char *reason, size_t reason_size)
{
	struct dirent **entries;
	char folder[PATH_MAX], file[PATH_MAX];
	struct stat status;
	int count, err = 0;

	if (snprintf(folder, sizeof(folder), "%s.d", path) >= (int)sizeof(folder))
		return 0;
	count = scandir(folder, &entries, is_drop_in, by_name);
	if (count < 0) {
		err = errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
		/* What a link names is on a disk that is not mounted, say. */
		if (!err && errno == ENOENT && !lstat(folder, &status))
			err = -ENOENT;
		if (err)
			tell(reason, reason_size, "%s: %s", folder, strerror(-err));
		return err;
	}
	config->has_folder = true;
	config->drop_ins = count;
	if (!stat(folder, &status))
		note_private(config, folder, &status);
	for (int i = 0; i < count; i++) {
		if (!err && snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name) <
				    (int)sizeof(file))
			err = read_file(file, config, metrics, reason, reason_size);
		free(entries[i]);
	}
	free(entries);
	return err;
}

/* What is to be right once all files are read, since one takes back what another says. */
static int check_metrics(const struct config *config, const struct place *metrics, char *reason,
			 size_t reason_size)
{
	if (!*config->metrics_textfile ||
	    strcmp(config->metrics_socket, config->metrics_textfile) != 0)
		return 0;
	tell(reason, reason_size, "%s:%d: socket and textfile are both \"%s\"", metrics->file,
	     metrics->line, config->metrics_textfile);
	return -EINVAL;
}

int config_read(const char *path, bool optional, struct config *config, char *reason,
		size_t reason_size)
{
	struct place metrics = { .line = 0 };
	struct stat status;
	struct config all;
	int err;

	config_defaults(&all);
	err = read_file(path, &all, &metrics, reason, reason_size);
	all.has_file = !err;
	/* What a link names is on a disk that is not mounted, say. */
	if (err == -ENOENT && optional && lstat(path, &status))
		err = 0;
	if (!err)
		err = read_drop_ins(path, &all, &metrics, reason, reason_size);
	if (!err)
		err = check_metrics(&all, &metrics, reason, reason_size);
	if (!err)
		*config = all;
	else
		config_free(&all);
	return err;
}

bool config_misses(const struct config *before, const struct config *now, const char *path,
		   char *reason, size_t size)
{
	bool file = before->has_file && !now->has_file;
	bool folder = before->drop_ins && !now->has_folder;

	if (file || folder)
		tell(reason, size, "%s%s is not there any more", path, file ? "" : ".d");
	return file || folder;
}
