// SPDX-License-Identifier: MIT
/*
 * The cache of plans on disks that keep whole seconds of a file's time, or a little more: what was
 * used longest ago goes first there, too, whatever the clock says.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"

#define MS	1000000ll
#define SECOND	1000000000ll
#define DAY	(86400 * SECOND)
/* The plan that is asked for all the time, and those that are not; each counts a block. */
#define SMALL	100
#define BLOCK	4096ull
#define HOT	0ull
/* By so much times run ahead of the clock at once. */
#define AT_ONCE (60 * SECOND)

/*
 * struct disk - what the filesystem and the clocks do for the cache
 * @grain: nanoseconds that times are a multiple of
 * @last: the last time that it has; 0: any
 * @fails: no time can be set
 * @clock, @up: CLOCK_REALTIME and CLOCK_MONOTONIC, nanoseconds; they stand still
 * @set: times that were set
 * @opened: plans that were opened
 */
static struct {
	int64_t grain;
	int64_t last;
	bool fails;
	int64_t clock;
	int64_t up;
	size_t set;
	size_t opened;
} disk;

int __real_futimens(int fd, const struct timespec times[2]);
int __wrap_futimens(int fd, const struct timespec times[2]);
int __wrap_futimens(int fd, const struct timespec times[2])
{
	int64_t ns = times[1].tv_sec * SECOND + times[1].tv_nsec;
	struct timespec kept;

	disk.set++;
	if (disk.fails) {
		errno = EPERM;
		return -1;
	}
	if (disk.last && ns > disk.last)
		ns = disk.last;
	ns -= ns % disk.grain;
	kept = (struct timespec){ ns / SECOND, ns % SECOND };
	return __real_futimens(fd, (struct timespec[2]){ kept, kept });
}

int __wrap_clock_gettime(clockid_t id, struct timespec *time);
int __wrap_clock_gettime(clockid_t id, struct timespec *time)
{
	int64_t ns = id == CLOCK_REALTIME ? disk.clock : disk.up;

	*time = (struct timespec){ ns / SECOND, ns % SECOND };
	return 0;
}

int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, mode_t mode);
int __wrap_openat64(int dir, const char *name, int flags, mode_t mode);

int __wrap_openat(int dir, const char *name, int flags, mode_t mode)
{
	disk.opened += strstr(name, ".plan") != NULL;
	return __real_openat(dir, name, flags, mode);
}

int __wrap_openat64(int dir, const char *name, int flags, mode_t mode)
{
	return __wrap_openat(dir, name, flags, mode);
}

/* 2027, in the middle of a second. */
#define NOW (1800000000 * SECOND + 123456789)

static int times_setup(void **state)
{
	memset(&disk, 0, sizeof(disk));
	disk.grain = SECOND;
	disk.clock = NOW;
	disk.up = 1000 * SECOND;
	return folder_make(state);
}

#define TIMES_TEST(name) TEST_WITH(name, times_setup, folder_remove)

static void put_number(uint64_t n)
{
	struct plancache_key key = folder_key_number(n);

	folder_put(&key, SMALL, 'x');
}

static void use_number(uint64_t n)
{
	struct plancache_key key = folder_key_number(n);

	folder_has(&key, SMALL, 'x');
}

/* The time that a plan's file has. */
static int64_t time_of(uint64_t n)
{
	struct plancache_key key = folder_key_number(n);
	struct stat file;
	char path[256];

	folder_path(&key, path);
	assert_int_equal(stat(path, &file), 0);
	return file.st_mtim.tv_sec * SECOND + file.st_mtim.tv_nsec;
}

static bool is_there(uint64_t n)
{
	struct plancache_key key = folder_key_number(n);
	char path[256];

	folder_path(&key, path);
	return !access(path, F_OK);
}

/* The clock was ahead when a plan was used, and is right again. */
static void get_behind(int64_t by)
{
	disk.clock += by;
	put_number(1000);
	disk.clock -= by;
}

/*
 * A plan that is asked for before each new one stays, whatever order names have, and of the others
 * the one that came last.
 */
static void assert_order(uint64_t first, uint64_t count)
{
	put_number(HOT);
	for (uint64_t n = first; n < first + count; n++) {
		use_number(HOT);
		put_number(n);
		assert_true(is_there(HOT));
		for (uint64_t i = n; i > first && i + 6 > n; i--)
			assert_true(is_there(i));
		assert_in_range(folder_files(), 1, 8);
	}
}

/* ------------------------------------------------------------- a clock that is behind */

/* Each use is a later one on the disk, by the least that it keeps. */
static void assert_each_is_later(int64_t grain)
{
	int64_t before;

	disk.grain = grain;
	get_behind(365 * DAY);
	folder_reopen(PLENTY);
	before = time_of(1000);
	for (uint64_t n = 0; n < 10; n++) {
		put_number(n);
		assert_int_equal(time_of(n), before + grain);
		use_number(1000);
		before += 2 * grain;
		assert_int_equal(time_of(1000), before);
	}
}

TIMES_TEST(nanoseconds)
{
	assert_each_is_later(1);
	/* Nothing is tried out. */
	assert_int_equal(disk.set, 21);
}

TIMES_TEST(hundred_nanoseconds)
{
	assert_each_is_later(100);
	assert_int_equal(disk.set, 21 + 2);
}

TIMES_TEST(ten_milliseconds)
{
	assert_each_is_later(10 * MS);
}

TIMES_TEST(whole_seconds)
{
	assert_each_is_later(SECOND);
	/* Once it is known what the disk keeps, it is known. */
	assert_int_equal(disk.set, 21 + 2);
}

TIMES_TEST(two_seconds)
{
	assert_each_is_later(2 * SECOND);
}

/* What goes first does not depend on names, neither before nor after restarts. */
TIMES_TEST(order_while_the_clock_is_behind)
{
	folder_reopen(8 * BLOCK);
	get_behind(365 * DAY);
	for (uint64_t n = 0; n < 10; n++) {
		folder_reopen(8 * BLOCK);
		assert_order(1 + 20 * n, 20);
	}
}

/* However many uses there are, times do not run ahead of the clock by more and more. */
TIMES_TEST(the_clock_catches_up)
{
	const int64_t ahead = 1000 * SECOND;
	int64_t most;

	folder_reopen(8 * BLOCK);
	get_behind(ahead);
	most = time_of(1000) + AT_ONCE;
	/* Long after times wait for time to go by what was used last is known. */
	assert_order(1, 200);
	assert_in_range(time_of(HOT), most - SECOND, most);
	for (uint64_t n = 0; n < 3000; n++) {
		use_number(HOT);
		use_number(200);
		assert_true(time_of(HOT) <= disk.clock ||
			    time_of(HOT) <= most + (int64_t)n * SECOND / 2);
		disk.clock += SECOND;
		disk.up += SECOND;
	}
	use_number(HOT);
	assert_int_equal(time_of(HOT), disk.clock / SECOND * SECOND);
}

/* A disk that ends in 2038, where it is: times say nothing any more. */
TIMES_TEST(the_last_time)
{
	disk.last = NOW / SECOND * SECOND + 3 * SECOND;
	folder_reopen(8 * BLOCK);
	get_behind(365 * DAY);
	assert_int_equal(time_of(1000), disk.last);
	assert_order(1, 100);
	assert_int_equal(time_of(HOT), disk.last);
	/* It has nanoseconds: there is no need to find that out for each use. */
	disk.set = 0;
	use_number(HOT);
	assert_int_equal(disk.set, 1);
}

/* --------------------------------------------------------------- a clock that is right */

/* Much is used within a second: the disk has the second, and the order is known all the same. */
TIMES_TEST(order_within_a_second)
{
	const int64_t second = NOW / SECOND * SECOND;

	folder_reopen(8 * BLOCK);
	assert_order(1, 100);
	assert_int_equal(time_of(HOT), second);
	assert_int_equal(time_of(100), second);
	/* All files are looked at once more. */
	disk.up += DAY;
	assert_order(101, 20);
	assert_int_equal(disk.set, 1 + 2 * 100 + 1 + 2 * 20);
}

/* What this process put is not found to have changed, and opened to learn whose it is. */
static void assert_known(void)
{
	folder_reopen(8 * BLOCK);
	for (uint64_t n = 0; n < 10; n++)
		put_number(n);
	disk.opened = 0;
	for (uint64_t n = 10; n < 30; n++)
		put_number(n);
	assert_int_equal(disk.opened, 0);
	assert_int_equal(folder_files(), 8);
}

TIMES_TEST(own_plans_are_known)
{
	assert_known();
}

TIMES_TEST(own_plans_are_known_while_the_clock_is_behind)
{
	get_behind(365 * DAY);
	assert_known();
}

/* Nor where no time can be set: it is the one at which the file was written. */
TIMES_TEST(own_plans_are_known_without_times)
{
	disk.fails = true;
	assert_known();
}
