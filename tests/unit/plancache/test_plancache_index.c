// SPDX-License-Identifier: MIT
/*
 * The cache of plans knows what is in its folder: it does not look at all files for each plan that
 * comes, and sees what others do to the folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"

/* A plan of these bytes counts a block, and so do MANY of them. */
#define SMALL 100
#define BLOCK 4096ull
#define MANY  200

/* Files that were opened and looked at, and whether nothing can be watched. */
static struct {
	size_t opened;
	size_t looked_at;
	bool blind;
} calls;

int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, mode_t mode);
int __wrap_openat64(int dir, const char *name, int flags, mode_t mode);

int __wrap_openat(int dir, const char *name, int flags, mode_t mode)
{
	calls.opened++;
	return __real_openat(dir, name, flags, mode);
}

int __wrap_openat64(int dir, const char *name, int flags, mode_t mode)
{
	return __wrap_openat(dir, name, flags, mode);
}

int __real_fstatat(int dir, const char *name, struct stat *stat, int flags);
int __wrap_fstatat(int dir, const char *name, struct stat *stat, int flags);
int __wrap_fstatat64(int dir, const char *name, struct stat *stat, int flags);

int __wrap_fstatat(int dir, const char *name, struct stat *stat, int flags)
{
	calls.looked_at++;
	return __real_fstatat(dir, name, stat, flags);
}

int __wrap_fstatat64(int dir, const char *name, struct stat *stat, int flags)
{
	return __wrap_fstatat(dir, name, stat, flags);
}

int __real_inotify_init1(int flags);
int __wrap_inotify_init1(int flags);
int __wrap_inotify_init1(int flags)
{
	if (calls.blind) {
		errno = EMFILE;
		return -1;
	}
	return __real_inotify_init1(flags);
}

static int index_setup(void **state)
{
	memset(&calls, 0, sizeof(calls));
	return folder_make(state);
}

#define INDEX_TEST(name) TEST_WITH(name, index_setup, folder_remove)

static void put_number(uint64_t n)
{
	struct plancache_key key = folder_key_number(n);

	folder_put(&key, SMALL, 'x');
}

static void put_many(uint64_t first, uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		put_number(n);
}

static void assert_has(uint64_t n, bool there)
{
	struct plancache_key key = folder_key_number(n);
	char path[256];

	folder_path(&key, path);
	assert_int_equal(!access(path, F_OK), there);
}

/* However many files there are, a plan that comes is one file to write and one to remove. */
INDEX_TEST(a_plan_costs_the_same_in_a_full_folder)
{
	put_many(0, MANY);
	folder_reopen(MANY * BLOCK);
	/* The folder is looked at once, and each file opened to learn whose it is. */
	put_number(MANY);
	assert_true(calls.opened > MANY);
	calls.opened = calls.looked_at = 0;
	put_many(MANY + 1, 20);
	/* One that is written, and what inotify tells of that and of the one that goes. */
	assert_in_range(calls.opened, 20, 20 * 2);
	assert_in_range(calls.looked_at, 0, 20 * 4);
	assert_int_equal(folder_files(), MANY);
	assert_has(20, false);
	assert_has(21, true);
}

/*
 * After a restart nobody waits until it is known of all files whose they are: those used longest
 * ago come first, and each plan brings some more. Those of whom it is not known do not go.
 */
INDEX_TEST(owners_are_learned_bit_by_bit)
{
	struct plancache_key first = folder_key_number(5000);
	const uint64_t many = 5 * PLANCACHE_HURRY, bit = 2 * PLANCACHE_HURRY;

	plancache_hurry(folder_cache);
	/* Who has the least has the one used longest ago. */
	folder_put_of(8, &first, SMALL, 'x');
	put_many(0, many - 1);
	folder_reopen(many * BLOCK);
	plancache_hurry(folder_cache);
	for (uint64_t i = 0; i < 3; i++) {
		calls.opened = 0;
		put_number(many + i);
		/* One is written, and what inotify tells of is looked at. */
		assert_in_range(calls.opened, i < 2 ? bit : bit / 2, (i < 2 ? bit : bit / 2) + 4);
		assert_has(i, false);
		assert_has(i + 1, true);
	}
	calls.opened = 0;
	put_number(many + 3);
	assert_in_range(calls.opened, 1, 4);
	assert_int_equal(folder_files(), many);
	assert_has(5000, true);
}

/* Nor does one that is used, or takes another one's place, or is dropped. */
INDEX_TEST(what_this_process_does_is_known)
{
	struct plancache_key key = folder_key_number(0), second = folder_key_number(1);
	struct plancache_entry entry;

	folder_reopen(10 * BLOCK);
	put_many(0, 10);
	calls.looked_at = 0;
	assert_int_equal(plancache_get(folder_cache, &key, &entry), 0);
	free(entry.data);
	assert_int_equal(plancache_drop(folder_cache, &second), 0);
	put_number(10);
	assert_int_equal(folder_files(), 10);
	/* A plan of two blocks in the place of one. */
	folder_put(&key, BLOCK, 'y');
	assert_int_equal(folder_files(), 9);
	assert_has(2, false);
	put_number(11);
	assert_int_equal(folder_files(), 9);
	assert_has(0, true);
	assert_has(3, false);
	assert_has(4, true);
	assert_in_range(calls.looked_at, 0, 30);
}

/* What another program puts, drops, renames or copies into the folder counts, or no longer. */
static void others_change_the_folder(void)
{
	struct plancache_key first = folder_key_number(0), copy = folder_key_number(100);
	struct plancache_key other = folder_key_number(101);
	char path[256], to[256], bytes[8192];
	struct plancache *cache;
	struct plancache_entry entry = folder_entry(bytes, SMALL);
	size_t size;

	memset(bytes, 'z', sizeof(bytes));
	folder_reopen(10 * BLOCK);
	put_many(0, 10);
	/* 0 is another one's name now; its bytes are no plan of that, and count all the same. */
	folder_path(&first, path);
	folder_path(&copy, to);
	assert_int_equal(rename(path, to), 0);
	put_number(10);
	assert_int_equal(folder_files(), 10);
	assert_has(100, false);
	assert_has(1, true);
	/* A copy of another, made longer: two blocks. */
	first = folder_key_number(5);
	folder_path(&first, path);
	size = folder_read(path, bytes, sizeof(bytes));
	memset(bytes + size, 0, sizeof(bytes) - size);
	folder_write(to, bytes, sizeof(bytes));
	put_number(11);
	assert_int_equal(folder_files(), 9);
	assert_int_equal(unlink(to), 0);
	put_many(12, 2);
	assert_int_equal(folder_files(), 10);
	/* Another program's plan. */
	assert_int_equal(plancache_open(folder_name, PLENTY, &cache), 0);
	assert_int_equal(plancache_put(cache, &other, &entry), 0);
	plancache_close(cache);
	put_number(14);
	assert_int_equal(folder_files(), 10);
	assert_has(101, true);
}

INDEX_TEST(others_are_seen)
{
	others_change_the_folder();
}

INDEX_TEST(others_are_seen_without_inotify)
{
	calls.blind = true;
	others_change_the_folder();
}

/* More happens at once than inotify remembers. */
INDEX_TEST(too_much_at_once)
{
	struct plancache_key first = folder_key_number(0), copy = folder_key_number(100);
	char path[256], to[256];
	unsigned int most = 0;
	FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%u", &most), 1);
	fclose(file);
	folder_reopen(10 * BLOCK);
	put_many(0, 10);
	folder_path(&first, path);
	folder_path(&copy, to);
	for (unsigned int i = 0; i <= most / 4 + 1; i++) {
		assert_int_equal(rename(path, to), 0);
		assert_int_equal(rename(to, path), 0);
	}
	assert_int_equal(unlink(path), 0);
	put_number(10);
	assert_int_equal(folder_files(), 10);
	assert_has(1, true);
	put_number(11);
	assert_has(1, false);
	assert_int_equal(folder_files(), 10);
}

/* The folder goes, and another one stands in its place, with plans that count. */
INDEX_TEST(another_folder)
{
	char aside[80], command[200];
	struct plancache *cache;
	struct plancache_key key = folder_key_number(50);
	char bytes[SMALL] = "";
	struct plancache_entry entry = folder_entry(bytes, sizeof(bytes));

	folder_reopen(10 * BLOCK);
	put_many(0, 10);
	snprintf(command, sizeof(command), "rm -r %s", folder_name);
	assert_int_equal(system(command), 0);
	snprintf(aside, sizeof(aside), "%s", folder_name);
	assert_int_equal(plancache_open(aside, PLENTY, &cache), 0);
	for (uint64_t n = 50; n < 60; n++) {
		key = folder_key_number(n);
		assert_int_equal(plancache_put(cache, &key, &entry), 0);
	}
	plancache_close(cache);
	put_number(10);
	assert_int_equal(folder_files(), 10);
	assert_has(50, false);
	put_number(11);
	assert_int_equal(folder_files(), 10);
	assert_has(51, false);
	assert_has(11, true);
}

/* What a killed writer left goes, also when it comes after the folder was looked at. */
INDEX_TEST(unfinished_files_go)
{
	char path[256];

	folder_reopen(10 * BLOCK);
	put_number(0);
	snprintf(path, sizeof(path), "%s/.npumem-12345-1", folder_name);
	folder_write(path, "half", 4);
	put_number(1);
	assert_int_not_equal(access(path, F_OK), 0);
}
