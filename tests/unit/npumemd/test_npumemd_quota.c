// SPDX-License-Identifier: MIT
/* npumemd: who owes how much planning time, and how that outlives the daemon. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "quota.h"
#include "said.h"
#include "unit.h"

/* --------------------------------------------------------------------- planning time */

TEST(quota_fills_again)
{
	struct quotas *quotas = quotas_new(QUOTA_MINUTE_US);
	const uint64_t second = 1000000;

	/* 50 %: 30 s a minute. */
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 0), 0);
	quotas_charge(quotas, "user 1", 50, 29 * second, 0);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 0), 0);
	/* A debt of 9 s takes 18 to be paid. */
	quotas_charge(quotas, "user 1", 50, 10 * second, 0);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 0), 18 * second + 1);
	assert_int_equal(quotas_wait_us(quotas, "user 2", 50, 0), 0);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 0, 0), 0);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 17 * second), second + 1);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 18 * second + 1), 0);
	/* However long he waits, he has no more than a minute's. */
	quotas_charge(quotas, "user 1", 50, 31 * second, 1000 * second);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 1000 * second), 2 * second + 1);
	/* A quota that is raised is fuller at once, and fills faster. */
	assert_int_equal(quotas_wait_us(quotas, "user 1", 100, 1000 * second), 0);
	quotas_charge(quotas, "user 1", 50, 50 * second, 1000 * second);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 100, 1000 * second), 21 * second + 1);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 100, 1010 * second), 11 * second + 1);
	quotas_free(quotas);
}

/* One of an hour holds more at once, and fills as fast. */
TEST(quota_of_an_hour)
{
	struct quotas *quotas = quotas_new(60 * QUOTA_MINUTE_US);
	const uint64_t second = 1000000;

	/* 25 %: 900 s an hour. */
	quotas_charge(quotas, "searches", 25, 899 * second, 0);
	assert_int_equal(quotas_wait_us(quotas, "searches", 25, 0), 0);
	quotas_charge(quotas, "searches", 25, 2701 * second, 0);
	assert_int_equal(quotas_wait_us(quotas, "searches", 25, 0), 3 * 3600 * second + 1);
	assert_int_equal(quotas_wait_us(quotas, "searches", 25, 3 * 3600 * second), 1);
	assert_int_equal(quotas_wait_us(quotas, "searches", 25, 3 * 3600 * second + 1), 0);
	quotas_free(quotas);
}

/* Looking for plans counts as planning, but planning does not keep from looking. */
TEST(quota_of_looking)
{
	struct quotas *quotas = quotas_new(QUOTA_MINUTE_US);
	const uint64_t second = 1000000;

	quotas_charge(quotas, "user 1", 50, 40 * second, 0);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 0), 20 * second + 1);
	assert_int_equal(quotas_look_wait_us(quotas, "user 1", 50, 0), 0);
	quotas_charge_look(quotas, "user 1", 50, 29 * second, 0);
	assert_int_equal(quotas_look_wait_us(quotas, "user 1", 50, 0), 0);
	quotas_charge_look(quotas, "user 1", 50, 2 * second, 0);
	assert_int_equal(quotas_look_wait_us(quotas, "user 1", 50, 0), 2 * second + 1);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 0), 82 * second + 1);
	/* Both fill at the same rate. */
	assert_int_equal(quotas_look_wait_us(quotas, "user 1", 50, second), second + 1);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 2 * second), 80 * second + 1);
	assert_int_equal(quotas_look_wait_us(quotas, "user 1", 50, 2 * second + 1), 0);
	assert_int_equal(quotas_look_wait_us(quotas, "user 2", 50, 0), 0);
	assert_int_equal(quotas_look_wait_us(quotas, "user 1", 0, 0), 0);
	quotas_charge_look(NULL, "user 1", 50, 1, 0);
	assert_int_equal(quotas_look_wait_us(NULL, "user 1", 50, 0), 0);
	quotas_free(quotas);
}

/* -------------------------------------------------------------- quotas that are kept */

static char kept[64];

static int kept_setup(void **state)
{
	int fd;

	strcpy(kept, "/tmp/npumemd-quotas-XXXXXX");
	fd = mkstemp(kept);
	return fd < 0 ? -1 : close(fd);
}

static int kept_teardown(void **state)
{
	unlink(kept);
	return 0;
}

static struct quotas *begin_again(uint64_t now)
{
	struct quotas *quotas = quotas_new(QUOTA_MINUTE_US);

	assert_non_null(quotas);
	quotas_keep(quotas, open(kept, O_RDWR | O_CLOEXEC), now);
	return quotas;
}

/* The next daemon knows who owes what, and what has come since. */
TEST_WITH(debts_outlive_the_daemon, kept_setup, kept_teardown)
{
	const uint64_t second = 1000000;
	struct quotas *quotas = begin_again(0);

	quotas_charge(quotas, "user 1", 50, 40 * second, 0);
	quotas_charge_look(quotas, "unit a.service", 10, 7 * second, second);
	quotas_free(quotas);
	quotas = begin_again(2 * second);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 2 * second), 18 * second + 1);
	assert_int_equal(quotas_look_wait_us(quotas, "unit a.service", 10, 2 * second),
			 9 * second + 1);
	assert_int_equal(quotas_look_wait_us(quotas, "user 1", 50, 2 * second), 0);
	quotas_free(quotas);
	/* A clock that is behind, as of another boot: nothing has come. */
	quotas = begin_again(second / 2);
	assert_int_equal(quotas_look_wait_us(quotas, "unit a.service", 10, second / 2),
			 10 * second + 1);
	quotas_free(quotas);
	/* What is small is kept when the daemon ends; what is not, at once: it may be killed. */
	quotas = begin_again(1000 * second);
	quotas_charge(quotas, "user 1", 50, 30 * second, 1000 * second);
	quotas_charge(quotas, "user 1", 50, 1000, 1000 * second);
	{
		struct quotas *other = begin_again(1000 * second);

		assert_int_equal(quotas_wait_us(other, "user 1", 50, 1000 * second), 1);
		quotas_free(other);
	}
	quotas_free(quotas);
	quotas = begin_again(1000 * second);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 50, 1000 * second), 2001);
	quotas_free(quotas);
	/* Nowhere. */
	quotas = quotas_new(QUOTA_MINUTE_US);
	quotas_keep(quotas, -1, 0);
	quotas_charge(quotas, "user 1", 50, 40 * second, 0);
	quotas_free(quotas);
}

/* What is written is shorter than what was there: nothing of that is left. */
TEST_WITH(fewer_debts, kept_setup, kept_teardown)
{
	const uint64_t second = 1000000;
	struct quotas *quotas = begin_again(0);
	char wrong[256];

	quotas_charge(quotas, "user 1", 50, second, 0);
	quotas_charge(quotas, "user 2", 50, second, 0);
	quotas_free(quotas);
	quotas = begin_again(10 * second);
	quotas_charge(quotas, "user 2", 50, second, 10 * second);
	quotas_free(quotas);
	quotas = quotas_new(QUOTA_MINUTE_US);
	assert_int_equal(quotas_read(quotas, kept, 10 * second, wrong, sizeof(wrong)), 0);
	quotas_free(quotas);
}

/* A file that cannot be written is said once, and one that is damaged when it is taken. */
TEST_WITH(debts_not_kept, kept_setup, kept_teardown)
{
	struct quotas *quotas = quotas_new(QUOTA_MINUTE_US);
	struct said said;
	char *text, *first;

	log_setup(true, LOG_WARNING);
	unit_write(kept, "npumemd-quotas 2\n");
	said_begin(&said);
	quotas_keep(quotas, open(kept, O_RDONLY | O_CLOEXEC), 0);
	quotas_charge(quotas, "user 1", 50, 1000000, 0);
	quotas_charge(quotas, "user 1", 50, 1000000, 0);
	quotas_free(quotas);
	text = said_end(&said);
	first = strstr(text, "who has used up planning time is forgotten: /proc/self/fd/");
	assert_non_null(first);
	assert_non_null(strstr(first, ":1: the file is damaged\n"));
	first = strstr(text, "is forgotten at a restart: Bad file descriptor\n");
	assert_non_null(first);
	assert_null(strstr(first + 1, "is forgotten at a restart"));
	free(text);
}

/* @line: of the mistake. */
static void damaged(const char *text, unsigned int line)
{
	struct quotas *quotas = quotas_new(QUOTA_MINUTE_US);
	char wrong[256], expected[128];

	unit_write(kept, text);
	snprintf(expected, sizeof(expected), "%s:%u: the file is damaged", kept, line);
	assert_int_equal(quotas_read(quotas, kept, 100, wrong, sizeof(wrong)), -EBADMSG);
	assert_string_equal(wrong, expected);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 1, 100), 0);
	quotas_free(quotas);
}

TEST_WITH(damaged_debts, kept_setup, kept_teardown)
{
#define GOOD_LINE "600000000 0 1 100 user 1\n"
#define HEAD	  "npumemd-quotas 1 "
	static const char *const bad_lines[] = {
		"600000000 0 1 100 \n",
		"600000000 0 1 100\n",
		"600000000 0 1 user 1\n",
		"-1 0 1 100 user 1\n",
		" 600000000 0 1 100 user 1\n",
		"600000000  0 1 100 user 1\n",
		"9223372036854775808 0 1 100 user 1\n",
		"99999999999999999999 0 1 100 user 1\n",
		"600000000 600000001 1 100 user 1\n",
		"600000000 0 6401 100 user 1\n",
		"600000000 0 1 x user 1\n",
		"600000000 0 1 100 unit aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.scope\n",
		"600000000 0 1 100 user 1",
		"\n",
	};
	struct quotas *quotas = quotas_new(QUOTA_MINUTE_US);
	char text[4096], wrong[256], expected[128];

	unit_write(kept, HEAD "1\n" GOOD_LINE);
	assert_int_equal(quotas_read(quotas, kept, 100, wrong, sizeof(wrong)), 0);
	assert_int_equal(quotas_wait_us(quotas, "user 1", 1, 100), 600000000 - 60000000 + 1);
	quotas_free(quotas);
	for (size_t i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
		snprintf(text, sizeof(text), HEAD "2\n" GOOD_LINE "%s", bad_lines[i]);
		damaged(text, 3);
	}
	damaged("", 1);
	damaged("npumemd-quotas 2 1\n" GOOD_LINE, 1);
	damaged(HEAD "\n", 1);
	damaged(HEAD "4097\n", 1);
	damaged(HEAD "1 \n" GOOD_LINE, 1);
	/* Too few, and too many. */
	damaged(HEAD "2\n" GOOD_LINE, 3);
	damaged(HEAD "1\n" GOOD_LINE GOOD_LINE, 3);
	memset(text, 'x', 300);
	text[300] = '\0';
	damaged(text, 1);
	quotas = quotas_new(QUOTA_MINUTE_US);
	assert_int_equal(quotas_read(quotas, "/dev/zero", 100, wrong, sizeof(wrong)), -EBADMSG);
	assert_string_equal(wrong, "/dev/zero:1: the file is damaged");
	assert_int_equal(unlink(kept), 0);
	assert_int_equal(quotas_read(quotas, kept, 100, wrong, sizeof(wrong)), -ENOENT);
	snprintf(expected, sizeof(expected), "%s: No such file or directory", kept);
	assert_string_equal(wrong, expected);
	quotas_free(quotas);
}

/* More than are kept: the file can be read all the same. */
TEST_WITH(debts_of_many, kept_setup, kept_teardown)
{
	struct quotas *quotas = begin_again(0);
	char name[32];

	for (int i = 0; i < 4100; i++) {
		snprintf(name, sizeof(name), "user %d", i);
		quotas_charge(quotas, name, 1, 700000 + (i == 4099), 0);
	}
	quotas_free(quotas);
	quotas = quotas_new(QUOTA_MINUTE_US);
	assert_int_equal(quotas_read(quotas, kept, 0, name, sizeof(name)), 0);
	assert_int_equal(quotas_wait_us(quotas, "user 4095", 1, 0), 10000001);
	assert_int_equal(quotas_wait_us(quotas, "user 4096", 1, 0), 0);
	quotas_free(quotas);
}

TEST(quotas_of_many)
{
	struct quotas *quotas = quotas_new(QUOTA_MINUTE_US);
	char name[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "user %d", i);
		quotas_charge(quotas, name, 1, 600001, 0);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "user %d", i);
		assert_int_equal(quotas_wait_us(quotas, name, 1, 0), 101);
	}
	quotas_charge(NULL, "user 1", 1, 1, 0);
	assert_int_equal(quotas_wait_us(NULL, "user 1", 1, 0), 0);
	quotas_free(quotas);
}
