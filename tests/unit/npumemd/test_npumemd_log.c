// SPDX-License-Identifier: MIT
/* npumemd: what the log does with text from outside, and which fields the journal gets. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "journal.h"
#include "log.h"
#include "log_journal.h"
#include "log_share.h"
#include "said.h"
#include "transport.h"

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

/* What a request's message has before anything is known of how it ends: also that user 0 asked. */
TEST(accepted_to_journal)
{
	struct accepted accepted = { .id = 78, .client = { .known = true } };

	log_to_journal(LOG_INFO);
	log_accepted(LOG_INFO, &accepted, "request %d", 78);
	assert_string_equal(journal, "PRIORITY=6\nSYSLOG_IDENTIFIER=npumemd\nNPUMEM_REQUEST=78\n"
				     "NPUMEM_UID=0\nMESSAGE=request 78\n");
	accepted = (struct accepted){ .id = 79, .planner = "nnc", .client = { .uid = 7 } };
	log_accepted(LOG_INFO, &accepted, "request %d", 79);
	assert_string_equal(journal, "PRIORITY=6\nSYSLOG_IDENTIFIER=npumemd\nNPUMEM_REQUEST=79\n"
				     "NPUMEM_PLANNER=nnc\nMESSAGE=request 79\n");
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

/* ------------------------------------------------------------------ who takes nothing */

static void drain(int fd)
{
	char bytes[4096];

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(errno, EAGAIN);
}

/* journald is stopped, say. */
TEST(full_journal)
{
	log_to_journal(LOG_INFO);
	journal_room = 0;
	log_info("%s", "nobody takes this");
	log_info("%s", "nor this");
	assert_string_equal(journal, "");
	/* There is room for one, which says how many have not come. */
	journal_room = 1;
	log_info("%s", "this is one more");
	assert_string_equal(journal, "PRIORITY=4\nSYSLOG_IDENTIFIER=npumemd\nMESSAGE="
				     "messages lost because nobody took them: 2\n");
	journal_room = 2;
	journal_wait_for("nobody took them: 1\n");
	log_info("%s", "there is room again");
	journal_came();
	assert_non_null(strstr(journal, "there is room again"));
	journal_room = -1;
	log_info("%s", "said once");
	assert_non_null(strstr(journal, "said once"));
}

/* A socket that nobody reads, whatever ends its room first; and none at all. */
TEST(journal_socket)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char first[] = "PRIORITY=6", second[] = "MESSAGE=a message", bytes[256];
	const struct iovec fields[] = { { first, strlen(first) }, { second, strlen(second) } };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	ssize_t n;

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/npumemd-journal-%d", getpid());
	assert_int_equal(__real_log_journal_send(address.sun_path, fields, 2), -ENOENT);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	for (int i = 0; i < 1000000 && !err; i++)
		err = __real_log_journal_send(address.sun_path, fields, 2);
	assert_int_equal(err, -EAGAIN);
	n = recv(fd, bytes, sizeof(bytes) - 1, 0);
	assert_true(n > 0);
	bytes[n] = '\0';
	assert_string_equal(bytes, "PRIORITY=6\nMESSAGE=a message\n");
	drain(fd);
	assert_int_equal(__real_log_journal_send(address.sun_path, fields, 2), 0);
	assert_int_equal(unlink(address.sun_path), 0);
	close(fd);
}

/* Who reads stderr is slow. */
TEST(full_pipe)
{
	int ends[2], before = dup(STDERR_FILENO);
	char text[8192] = "", page[4096] = "";
	const char *lost;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	log_setup(true, LOG_INFO);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	while (write(ends[1], page, sizeof(page)) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
	log_info("%s", "nobody takes this");
	drain(ends[0]);
	/* No longer than what is sure to fit. */
	memset(page, 'x', sizeof(page) - 1);
	log_info("there is room %s", page);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	lost = "<4>npumemd: messages lost because nobody took them: 1\n"
	       "<6>npumemd: there is room xxx";
	assert_memory_equal(text, lost, strlen(lost));
	assert_string_equal(text + strlen(text) - 3, "xx\n");
	close(before);
	close(ends[0]);
	close(ends[1]);
}

/* ------------------------------------------------------------------- a user's share */

static void take(struct log_shares *shares, uint64_t user, uint64_t now, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		log_share_take(shares, user, now);
}

TEST(share)
{
	struct log_shares shares = { 0 };
	struct log_verdict verdict;

	take(&shares, 7, 100, LOG_SHARE_MESSAGES - 2);
	verdict = log_share_take(&shares, 7, 101);
	assert_true(verdict.tell && !verdict.last && !verdict.left_out);
	verdict = log_share_take(&shares, 7, 102);
	assert_true(verdict.tell && verdict.last && !verdict.left_out);
	verdict = log_share_take(&shares, 7, 100 + LOG_SHARE_PERIOD_US - 1);
	assert_true(!verdict.tell && !verdict.last && !verdict.left_out);
	take(&shares, 7, 100 + LOG_SHARE_PERIOD_US - 1, 4);
	/* Nobody else's, and nobody's is a user's. */
	verdict = log_share_take(&shares, 8, 100 + LOG_SHARE_PERIOD_US - 1);
	assert_true(verdict.tell && !verdict.left_out);
	verdict = log_share_take(&shares, LOG_SHARE_NOBODY, 100 + LOG_SHARE_PERIOD_US - 1);
	assert_true(verdict.tell && !verdict.left_out);
	/* The period is over. */
	verdict = log_share_take(&shares, 7, 100 + LOG_SHARE_PERIOD_US);
	assert_true(verdict.tell && !verdict.last);
	assert_int_equal(verdict.user, 7);
	assert_int_equal(verdict.left_out, 5);
	verdict = log_share_take(&shares, 7, 100 + LOG_SHARE_PERIOD_US);
	assert_true(verdict.tell && !verdict.left_out);
}

/* More users than there are shares: those who come last have one together, until others end. */
TEST(shares_of_many)
{
	const uint64_t first = LOG_SHARE_USERS, second = LOG_SHARE_USERS + 1;
	struct log_shares shares = { 0 };
	struct log_verdict verdict;

	take(&shares, 0, 0, LOG_SHARE_MESSAGES + 3);
	for (uint64_t user = 1; user < LOG_SHARE_USERS; user++) {
		verdict = log_share_take(&shares, user, user);
		assert_true(verdict.tell && !verdict.left_out);
	}
	take(&shares, first, 100, LOG_SHARE_MESSAGES - 1);
	verdict = log_share_take(&shares, second, 100);
	assert_true(verdict.tell && verdict.last && !verdict.left_out);
	assert_true(verdict.share == LOG_SHARE_OTHERS);
	assert_false(log_share_take(&shares, first, 100).tell);
	assert_false(log_share_take(&shares, second, 100).tell);
	assert_false(log_share_take(&shares, 0, 100).tell);
	assert_true(log_share_take(&shares, 2, 100).tell);
	/* The first one's period is over. */
	verdict = log_share_take(&shares, second, LOG_SHARE_PERIOD_US);
	assert_true(verdict.tell && verdict.share == second);
	assert_int_equal(verdict.user, 0);
	assert_int_equal(verdict.left_out, 4);
	/* And then that of the others. */
	verdict = log_share_take(&shares, first, 100 + LOG_SHARE_PERIOD_US);
	assert_true(verdict.tell && verdict.share == first && !verdict.left_out);
}

TEST(flood)
{
	struct log_fields fields = { .request = 1, .known = true, .uid = 4000 };

	log_to_journal(LOG_INFO);
	for (int i = 0; i < LOG_SHARE_MESSAGES; i++)
		log_request(LOG_WARNING, &fields, "refused");
	assert_string_equal(journal,
			    "PRIORITY=4\nSYSLOG_IDENTIFIER=npumemd\nNPUMEM_UID=4000\n"
			    "MESSAGE=user 4000: 1000 messages about requests in 10 minutes "
			    "are enough; more are left out until these are over\n");
	journal[0] = '\0';
	log_request(LOG_WARNING, &fields, "refused");
	assert_string_equal(journal, "");
	log_request(LOG_ERR, &fields, "another version");
	assert_non_null(strstr(journal, "another version"));
	/* What nobody has asked for, what another one has, and all for who looks closely. */
	log_warning("%s", "disk full");
	assert_non_null(strstr(journal, "disk full"));
	fields.uid = 4001;
	log_request(LOG_WARNING, &fields, "refused");
	assert_non_null(strstr(journal, "NPUMEM_UID=4001"));
	fields.uid = 4000;
	log_set_level(LOG_DEBUG);
	log_request(LOG_WARNING, &fields, "refused");
	assert_non_null(strstr(journal, "NPUMEM_UID=4000"));
}

/* At the least level at which something is left out that is told, too. */
TEST(flood_of_warnings)
{
	struct log_fields fields = { .request = 1, .known = true, .uid = 4003 };

	log_to_journal(LOG_WARNING);
	for (int i = 0; i < LOG_SHARE_MESSAGES; i++)
		log_request(LOG_WARNING, &fields, "refused");
	assert_non_null(strstr(journal, "more are left out until these are over"));
}

/* What the level leaves out is nobody's share. */
TEST(below_the_level)
{
	struct log_fields fields = { .request = 1, .known = true, .uid = 4002 };

	log_to_journal(LOG_WARNING);
	for (int i = 0; i <= LOG_SHARE_MESSAGES; i++)
		log_request(LOG_INFO, &fields, "planned");
	log_request(LOG_WARNING, &fields, "refused");
	assert_non_null(strstr(journal, "MESSAGE=refused"));
}
