// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define MESSAGE_SIZE   2048

static struct {
	bool journal;
	bool prefix; /* lines begin with their priority (sd-daemon(3)) */
	int level;
} sink = { .level = LOG_INFO };

static const struct {
	const char *name;
	int level;
} levels[] = {
	{ "error", LOG_ERR }, { "warning", LOG_WARNING }, { "notice", LOG_NOTICE },
	{ "info", LOG_INFO }, { "debug", LOG_DEBUG },
};

int log_level_parse(const char *name, int *level)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (!strcmp(name, levels[i].name)) {
			*level = levels[i].level;
			return 0;
		}
	}
	return -EINVAL;
}

void log_setup(bool to_stderr, int level)
{
	sink.level = level;
	sink.prefix = !isatty(STDERR_FILENO);
	sink.journal = !to_stderr;
	if (sink.journal && access(JOURNAL_SOCKET, W_OK)) {
		sink.journal = false;
		log_notice("no journal at " JOURNAL_SOCKET ", logging to stderr");
	}
}

void log_set_level(int level)
{
	sink.level = level;
}

/* Make one line of printable text: bytes of UTF-8 stay, control characters are replaced. */
static void make_plain(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = *text == '\n' || *text == '\t' ? ' ' : '?';
}

#define FIELD_SIZE 64

struct field_list {
	char text[6][FIELD_SIZE];
	struct iovec vectors[7];
	int count;
};

__attribute__((format(printf, 2, 3))) static void add_field(struct field_list *list,
							    const char *format, ...)
{
	char *text = list->text[list->count];
	va_list args;

	va_start(args, format);
	vsnprintf(text, FIELD_SIZE, format, args);
	va_end(args);
	make_plain(text);
	list->vectors[list->count].iov_base = text;
	list->vectors[list->count].iov_len = strlen(text);
	list->count++;
}

static void to_journal(int level, const struct log_fields *fields, char *message)
{
	struct field_list list = { .count = 0 };

	add_field(&list, "PRIORITY=%d", level);
	add_field(&list, "SYSLOG_IDENTIFIER=npumemd");
	if (fields) {
		add_field(&list, "NPUMEM_REQUEST=%" PRIu64, fields->request);
		add_field(&list, "NPUMEM_DURATION_USEC=%" PRIu64, fields->duration_us);
		if (fields->planner)
			add_field(&list, "NPUMEM_PLANNER=%s", fields->planner);
		if (fields->status)
			add_field(&list, "ERRNO=%" PRIu32, fields->status);
	}
	list.vectors[list.count].iov_base = message;
	list.vectors[list.count].iov_len = strlen(message);
	list.count++;
	sd_journal_sendv(list.vectors, list.count);
}

void log_request(int level, const struct log_fields *fields, const char *format, ...)
{
	static const char key[] = "MESSAGE=";
	char line[MESSAGE_SIZE] = "MESSAGE=";
	char *text = line + sizeof(key) - 1;
	va_list args;

	if (level > sink.level)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(line) - (sizeof(key) - 1), format, args);
	va_end(args);
	make_plain(text);
	if (sink.journal)
		to_journal(level, fields, line);
	else if (sink.prefix)
		fprintf(stderr, "<%d>npumemd: %s\n", level, text);
	else
		fprintf(stderr, "npumemd: %s\n", text);
}
