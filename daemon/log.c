// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "plain.h"
#include "transport.h"

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

#define FIELD_SIZE 64
#define MAX_FIELDS 8

/* struct field_list - what the journal gets: @count texts, which are malloc'ed */
struct field_list {
	struct iovec vectors[MAX_FIELDS];
	int count;
};

__attribute__((format(printf, 2, 3))) static void add_field(struct field_list *list,
							    const char *format, ...)
{
	char text[FIELD_SIZE], *plain;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	plain = plain_text(text, false);
	list->vectors[list->count++] = (struct iovec){ plain, strlen(plain) };
}

struct log_fields log_fields_of(const struct accepted *accepted)
{
	return (struct log_fields){
		.request = accepted->id,
		.planner = accepted->planner,
		.known = accepted->client.known,
		.uid = accepted->client.uid,
	};
}

static void to_journal(int level, const struct log_fields *fields, const char *message)
{
	struct field_list list = { .count = 0 };

	add_field(&list, "PRIORITY=%d", level);
	add_field(&list, "SYSLOG_IDENTIFIER=npumemd");
	if (fields) {
		add_field(&list, "NPUMEM_REQUEST=%" PRIu64, fields->request);
		if (fields->known)
			add_field(&list, "NPUMEM_UID=%" PRIu32, fields->uid);
		if (fields->duration_us)
			add_field(&list, "NPUMEM_DURATION_USEC=%" PRIu64, fields->duration_us);
		if (fields->planner && *fields->planner)
			add_field(&list, "NPUMEM_PLANNER=%s", fields->planner);
		if (fields->status)
			add_field(&list, "ERRNO=%" PRIu32, fields->status);
	}
	/* Of these nothing is written. */
	list.vectors[list.count] = (struct iovec){ (void *)(uintptr_t)message, strlen(message) };
	sd_journal_sendv(list.vectors, list.count + 1);
	while (list.count)
		free(list.vectors[--list.count].iov_base);
}

void log_request(int level, const struct log_fields *fields, const char *format, ...)
{
	static const char key[] = "MESSAGE=";
	char line[MESSAGE_SIZE] = "MESSAGE=";
	const char *text;
	char *plain;
	va_list args;

	if (level > sink.level)
		return;
	va_start(args, format);
	vsnprintf(line + sizeof(key) - 1, sizeof(line) - (sizeof(key) - 1), format, args);
	va_end(args);
	/* One line of what does a terminal no harm. */
	plain = plain_text(line, false);
	text = plain + sizeof(key) - 1;
	if (sink.journal)
		to_journal(level, fields, plain);
	else if (sink.prefix)
		fprintf(stderr, "<%d>npumemd: %s\n", level, text);
	else
		fprintf(stderr, "npumemd: %s\n", text);
	free(plain);
}
