// SPDX-License-Identifier: MIT
/* npumemd: what the log does with text from outside, and which fields the journal gets. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "log.h"
#include "said.h"

/* Fields of the last message that the journal got, a line each; and whether there is one. */
static char journal[16384];
static bool has_journal;

int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	assert_string_equal(path, "/run/systemd/journal/socket");
	assert_int_equal(mode, W_OK);
	if (has_journal)
		return 0;
	errno = ENOENT;
	return -1;
}

int __wrap_sd_journal_sendv(const struct iovec *fields, int count);
int __wrap_sd_journal_sendv(const struct iovec *fields, int count)
{
	size_t used = 0;

	for (int i = 0; i < count; i++) {
		assert_true(fields[i].iov_len + 2 <= sizeof(journal) - used);
		memcpy(journal + used, fields[i].iov_base, fields[i].iov_len);
		used += fields[i].iov_len;
		journal[used++] = '\n';
	}
	journal[used] = '\0';
	return 0;
}

static void log_to_journal(int level)
{
	has_journal = true;
	log_setup(false, level);
	journal[0] = '\0';
}

/* C0, DEL, C1, which terminals obey, too; direction of text; no UTF-8; and UTF-8, which stays. */
#define FROM_OUTSIDE                  \
	"a\nb\tc\033[2J\x7f \xc2\x9b" \
	"1m \xe2\x80\xae"             \
	"txt \xff \xc3\xa4"
#define PLAIN "a\\x0ab\\x09c\\x1b[2J\\x7f \\xc2\\x9b1m \\xe2\\x80\\xaetxt \\xff \xc3\xa4"

TEST(to_stderr)
{
	struct said said;
	char *text;

	log_setup(true, LOG_INFO);
	said_begin(&said);
	log_info("graph %s", FROM_OUTSIDE);
	log_debug("not this");
	text = said_end(&said);
	/* A terminal has no priorities. */
	if (!isatty(STDERR_FILENO)) {
		assert_memory_equal(text, "<6>", 3);
		memmove(text, text + 3, strlen(text + 3) + 1);
	}
	assert_string_equal(text, "npumemd: graph " PLAIN "\n");
	free(text);
}

TEST(to_journal)
{
	struct log_fields fields = {
		.request = 77, .planner = "au\x1bto", .status = 28, .duration_us = 1234
	};

	log_to_journal(LOG_INFO);
	log_request(LOG_WARNING, &fields, "graph %s", FROM_OUTSIDE);
	assert_string_equal(journal, "PRIORITY=4\nSYSLOG_IDENTIFIER=npumemd\nNPUMEM_REQUEST=77\n"
				     "NPUMEM_DURATION_USEC=1234\nNPUMEM_PLANNER=au\\x1bto\n"
				     "ERRNO=28\nMESSAGE=graph " PLAIN "\n");
	log_info("%s", "no request");
	assert_string_equal(journal, "PRIORITY=6\nSYSLOG_IDENTIFIER=npumemd\nMESSAGE=no request\n");
	journal[0] = '\0';
	log_debug("not this");
	assert_string_equal(journal, "");
}

/* What is too long is cut off, and grows by what its characters become. */
TEST(too_long)
{
	char text[5000], *message;

	memset(text, '\x9b', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_to_journal(LOG_INFO);
	log_info("%s", text);
	message = strstr(journal, "MESSAGE=");
	assert_non_null(message);
	message += strlen("MESSAGE=");
	assert_int_equal(strlen(message), 4 * (2048 - strlen("MESSAGE=") - 1) + 1);
	for (; *message != '\n'; message += 4)
		assert_memory_equal(message, "\\x9b", 4);
}

TEST(no_journal)
{
	struct said said;
	char *text;

	has_journal = false;
	said_begin(&said);
	log_setup(false, LOG_INFO);
	text = said_end(&said);
	assert_non_null(strstr(text, "npumemd: no journal at /run/systemd/journal/socket, logging "
				     "to stderr\n"));
	free(text);
}
