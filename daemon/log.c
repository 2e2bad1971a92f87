// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "log_journal.h"
#include "log_share.h"
#include "plain.h"
#include "transport.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define MESSAGE_SIZE   2048

static struct {
	bool journal;
	bool prefix; /* lines begin with their priority (sd-daemon(3)) */
	int level;
	uint64_t lost; /* messages that nobody took */
	struct log_shares shares;
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

static bool to_journal(int level, const struct log_fields *fields, const char *message)
{
	struct field_list list = { .count = 0 };
	int err;

	add_field(&list, "PRIORITY=%d", level);
	add_field(&list, "SYSLOG_IDENTIFIER=npumemd");
	if (fields) {
		if (fields->request)
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
	err = log_journal_send(JOURNAL_SOCKET, list.vectors, list.count + 1);
	while (list.count)
		free(list.vectors[--list.count].iov_base);
	return !err;
}

/*
 * Where stderr is a pipe, who reads it may be slow: what it has room for is a page. A terminal has
 * none while it writes, and is waited for.
 */
static bool to_stderr(int level, const char *text)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	char line[PIPE_BUF];
	int length;

	if (!sink.prefix) {
		fprintf(stderr, "npumemd: %s\n", text);
		return true;
	}
	if (!poll(&room, 1, 0))
		return false;
	length = snprintf(line, sizeof(line) - 1, "<%d>npumemd: %s", level, text);
	if (length > (int)sizeof(line) - 2)
		length = sizeof(line) - 2;
	memcpy(line + length, "\n", sizeof("\n"));
	return fputs(line, stderr) >= 0;
}

#define KEY "MESSAGE="

/* @line: KEY and the message. False: it is lost. */
static bool put_at_once(int level, const struct log_fields *fields, const char *line)
{
	/* One line of what does a terminal no harm. */
	char *plain = plain_text(line, false);
	bool put = sink.journal ? to_journal(level, fields, plain) :
				  to_stderr(level, plain + strlen(KEY));

	free(plain);
	return put;
}

/* A message that nobody takes at once is lost, and the next one that somebody does says so. */
static void put(int level, const struct log_fields *fields, const char *line)
{
	char text[80];

	snprintf(text, sizeof(text), KEY "messages lost because nobody took them: %" PRIu64,
		 sink.lost);
	if (sink.lost && put_at_once(LOG_WARNING, NULL, text))
		sink.lost = 0;
	if (sink.lost || !put_at_once(level, fields, line))
		sink.lost++;
}

/* About what is left out of somebody's messages; itself it is none of them. */
static void put_of_share(uint64_t user, const char *what)
{
	struct log_fields fields = { .known = user <= UINT32_MAX, .uid = (uint32_t)user };
	char line[MESSAGE_SIZE];

	if (LOG_WARNING > sink.level)
		return;
	if (fields.known)
		snprintf(line, sizeof(line), KEY "user %" PRIu32 ": %s", fields.uid, what);
	else
		snprintf(line, sizeof(line), KEY "%s: %s",
			 user == LOG_SHARE_OTHERS ? "other users" : "users who are not known",
			 what);
	put(LOG_WARNING, &fields, line);
}

/* Whether a message about a request of @user is told, after what is to be said of others. */
static struct log_verdict take_share(uint64_t user)
{
	struct log_verdict verdict = log_share_take(&sink.shares, user, now_us());
	char text[64];

	if (verdict.left_out) {
		snprintf(text, sizeof(text), "%" PRIu64 " messages about requests were left out",
			 verdict.left_out);
		put_of_share(verdict.user, text);
	}
	return verdict;
}

void log_request(int level, const struct log_fields *fields, const char *format, ...)
{
	uint64_t user = fields && fields->known ? fields->uid : LOG_SHARE_NOBODY;
	struct log_verdict verdict = { .tell = true };
	char line[MESSAGE_SIZE] = KEY;
	va_list args;

	if (level > sink.level)
		return;
	/* Errors are not the user's. At LOG_DEBUG somebody wants to know all of it. */
	if (fields && level > LOG_ERR && sink.level < LOG_DEBUG)
		verdict = take_share(user);
	if (!verdict.tell)
		return;
	va_start(args, format);
	vsnprintf(line + strlen(KEY), sizeof(line) - strlen(KEY), format, args);
	va_end(args);
	put(level, fields, line);
	if (!verdict.last)
		return;
	snprintf(line, sizeof(line),
		 "%d messages about requests in %llu minutes are enough; more are left out until "
		 "these are over",
		 LOG_SHARE_MESSAGES, LOG_SHARE_PERIOD_US / 60000000);
	put_of_share(verdict.share, line);
}
