// SPDX-License-Identifier: MIT
/*
 * The cache of plans: what is kept comes back, what is damaged is nothing, what is written is
 * whole or not there, and no more is kept than may be.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"

/* ------------------------------------------------------------------- entries */

CACHE_TEST(what_was_put_comes_back)
{
	char data[40] = "a graph and a plan";
	struct plancache_entry entry = folder_entry(data, sizeof(data)), got;
	struct plancache_key key = folder_key(&folder_request);

	entry.head = 16;
	entry.owner = 1000;
	folder_has_not(&key, -ENOENT);
	assert_int_equal(plancache_put(folder_cache, &key, &entry), 0);
	folder_reopen(PLENTY);
	assert_int_equal(plancache_get(folder_cache, &key, &got), 0);
	assert_string_equal(got.planner, "auto");
	assert_int_equal(got.objective, 1);
	assert_int_equal(got.arena_budget, 4096);
	assert_int_equal(got.graph_size, sizeof(folder_graph));
	assert_string_equal(got.version, NPUMEM_PACKAGE_VERSION);
	assert_int_equal(got.cost, 77);
	assert_int_equal(got.given_us, 1234);
	assert_true(got.final);
	assert_string_equal(got.text, "one line");
	assert_int_equal(got.head, 16);
	assert_int_equal(got.owner, 1000);
	assert_int_equal(got.size, sizeof(data));
	assert_memory_equal(got.data, data, sizeof(data));
	free(got.data);
	assert_int_equal(folder_files(), 1);
}

CACHE_TEST(the_later_one_stays)
{
	struct plancache_key key = folder_key(&folder_request);

	folder_put(&key, 100, 'a');
	folder_put(&key, 50, 'b');
	folder_has(&key, 50, 'b');
	assert_int_equal(folder_files(), 1);
}

CACHE_TEST(dropped)
{
	struct plancache_key key = folder_key(&folder_request);

	assert_int_equal(plancache_drop(folder_cache, &key), -ENOENT);
	folder_put(&key, 100, 'a');
	assert_int_equal(plancache_drop(folder_cache, &key), 0);
	folder_has_not(&key, -ENOENT);
}

/* All that a plan is made from has a part in the key, and ends where it ends. */
TEST(keys)
{
	struct plancache_request others[8] = { folder_request, folder_request, folder_request,
					       folder_request, folder_request, folder_request,
					       folder_request, folder_request };
	struct plancache_key keys[8];

	others[1].graph_size--;
	others[2].options = folder_graph;
	others[2].options_size = 8;
	others[3].planner = "greedy";
	others[4].objective = 0;
	others[5].arena_budget = 4097;
	others[6].cut = true;
	/* The same bytes in all, but for where one thing ends and the next begins. */
	others[7] = others[2];
	others[7].options_size = 7;
	for (size_t i = 0; i < 8; i++) {
		keys[i] = folder_key(&others[i]);
		for (size_t j = 0; j < i; j++)
			assert_memory_not_equal(keys[i].bytes, keys[j].bytes, PLANCACHE_KEY_SIZE);
	}
	assert_memory_equal(folder_key(&folder_request).bytes, keys[0].bytes, PLANCACHE_KEY_SIZE);
}

/* -------------------------------------------------------------------- damage */

/* Power was lost when so many bytes had come to the disk: the rest is not there, or zeros. */
CACHE_TEST(cut_at_every_byte)
{
	struct plancache_key key = folder_key(&folder_request);
	char path[256], whole[2048], part[2048];
	size_t size;

	folder_put(&key, 100, 'a');
	folder_path(&key, path);
	size = folder_read(path, whole, sizeof(whole));
	for (size_t n = 0; n < size; n++) {
		folder_write(path, whole, n);
		folder_has_not(&key, -EBADMSG);
		/* It is gone, and does not stand in the way of a new one. */
		folder_has_not(&key, -ENOENT);
		memset(part, 0, sizeof(part));
		memcpy(part, whole, n);
		folder_write(path, part, size);
		folder_has_not(&key, -EBADMSG);
		assert_int_equal(folder_files(), 0);
	}
	folder_write(path, whole, size);
	folder_has(&key, 100, 'a');
}

CACHE_TEST(every_bit_counts)
{
	struct plancache_key key = folder_key(&folder_request);
	char path[256], bytes[2048];
	size_t size;

	folder_put(&key, 100, 'a');
	folder_path(&key, path);
	size = folder_read(path, bytes, sizeof(bytes));
	for (size_t i = 0; i < size; i++) {
		char old = bytes[i];

		bytes[i] ^= (char)(1 << i % 8);
		folder_write(path, bytes, size);
		folder_has_not(&key, -EBADMSG);
		bytes[i] = old;
	}
}

CACHE_TEST(bytes_behind_the_end)
{
	struct plancache_key key = folder_key(&folder_request);
	const size_t history = sizeof(struct plancache_history);
	char path[256], bytes[2048] = { 0 };
	size_t size;

	folder_put(&key, 100, 'a');
	folder_path(&key, path);
	size = folder_read(path, bytes, sizeof(bytes));
	memset(bytes + size, 0, sizeof(bytes) - size);
	/* These could have been history. */
	folder_write(path, bytes, size + history);
	folder_has(&key, 100, 'a');
	folder_write(path, bytes, size + history + 1);
	folder_has_not(&key, -EBADMSG);
}

/* A file with a hole that no memory has room for, and one of a whole plan with a hole behind it. */
CACHE_TEST(sizes_that_the_header_does_not_say)
{
	struct plancache_key key = folder_key(&folder_request);
	struct plancache *reader;
	struct plancache_entry entry;
	char path[256];

	assert_int_equal(plancache_open_existing(folder_name, &reader), 0);
	folder_put(&key, 100, 'a');
	folder_path(&key, path);
	assert_int_equal(truncate(path, 1ll << 40), 0);
	assert_int_equal(plancache_peek(reader, &key, &entry), -EBADMSG);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(truncate(path, 1ll << 40), 0);
	assert_int_equal(plancache_peek(reader, &key, &entry), -EBADMSG);
	plancache_close(reader);
	folder_has_not(&key, -EBADMSG);
	folder_has_not(&key, -ENOENT);
}

/* A file of another request under this one's name: a digest alone would not tell. */
CACHE_TEST(another_ones_name)
{
	struct plancache_key key = folder_key_number(1), other = folder_key_number(2);
	char path[256], other_path[256];

	folder_put(&key, 100, 'a');
	folder_path(&key, path);
	folder_path(&other, other_path);
	assert_int_equal(rename(path, other_path), 0);
	folder_has_not(&other, -EBADMSG);
	assert_int_equal(folder_files(), 0);
}

/* What somebody can hash who means harm, and no file should say. */
static void refuse(void (*change)(struct plancache_header *header))
{
	struct plancache_key key = folder_key(&folder_request);
	struct plancache_header header;
	struct plancache_entry entry;
	char data[64] = "x";
	char file[sizeof(header) + sizeof(data)];

	entry = folder_entry(data, sizeof(data));
	plancache_encode(&key, &entry, &header);
	memcpy(file + sizeof(header), data, sizeof(data));
	memcpy(file, &header, sizeof(header));
	assert_int_equal(plancache_decode(&key, file, sizeof(file), &entry), 0);
	change(&header);
	plancache_seal(&header, data);
	memcpy(file, &header, sizeof(header));
	assert_int_equal(plancache_decode(&key, file, sizeof(file), &entry), -EBADMSG);
}

static void head_is_all(struct plancache_header *header)
{
	header->head = header->size;
}

static void head_at_no_word(struct plancache_header *header)
{
	header->head = 12;
}

static void final_is_two(struct plancache_header *header)
{
	header->final = 2;
}

static void endless_text(struct plancache_header *header)
{
	memset(header->text, 'x', sizeof(header->text));
}

static void endless_planner(struct plancache_header *header)
{
	memset(header->planner, 'x', sizeof(header->planner));
}

static void endless_version(struct plancache_header *header)
{
	memset(header->version, 'x', sizeof(header->version));
}

TEST(nonsense_with_a_right_digest)
{
	refuse(head_is_all);
	refuse(head_at_no_word);
	refuse(final_is_two);
	refuse(endless_text);
	refuse(endless_planner);
	refuse(endless_version);
}

/* A header that says more than any plan has makes nobody read that much. */
TEST(too_large_to_be_a_plan)
{
	struct plancache_key key = folder_key(&folder_request);
	char data[] = "data";
	struct plancache_entry entry = folder_entry(data, 4);
	struct plancache_header header;

	plancache_encode(&key, &entry, &header);
	header.size = PLANCACHE_MOST;
	assert_true(plancache_is_sound(&header, &key, sizeof(header) + PLANCACHE_MOST));
	header.size++;
	assert_false(plancache_is_sound(&header, &key, sizeof(header) + PLANCACHE_MOST + 1));
}

CACHE_TEST(more_than_any_plan_has)
{
	struct plancache_key key = folder_key(&folder_request);
	char data[] = "data";
	struct plancache_entry entry = folder_entry(data, PLANCACHE_MOST + 1);

	folder_reopen(UINT64_MAX);
	assert_int_equal(plancache_put(folder_cache, &key, &entry), -EFBIG);
	assert_int_equal(folder_files(), 0);
}

/* ------------------------------------------------------- what is no file at all */

CACHE_TEST(no_files)
{
	struct plancache_key key = folder_key(&folder_request);
	char path[256];

	folder_path(&key, path);
	assert_int_equal(mkfifo(path, 0644), 0);
	folder_has_not(&key, -EBADMSG);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	folder_has_not(&key, -EBADMSG);
	folder_has_not(&key, -ENOENT);
	assert_int_equal(mkdir(path, 0755), 0);
	folder_has_not(&key, -EBADMSG);
	assert_int_equal(rmdir(path), 0);
	folder_put(&key, 100, 'a');
	folder_has(&key, 100, 'a');
}

CACHE_TEST(folder_removed_meanwhile)
{
	struct plancache_key key = folder_key(&folder_request);

	assert_int_equal(rmdir(folder_name), 0);
	folder_has_not(&key, -ENOENT);
	folder_put(&key, 100, 'a');
	folder_has(&key, 100, 'a');
}

TEST(folder_that_cannot_be)
{
	assert_int_equal(plancache_open("/proc/no/folder", PLENTY, &folder_cache), -ENOENT);
	assert_int_equal(plancache_open("/dev/zero", PLENTY, &folder_cache), -ENOTDIR);
}

/* Others' files are neither counted nor removed. */
CACHE_TEST(other_names_stay)
{
	struct plancache_key key = folder_key(&folder_request);
	char path[256], upper[256];

	snprintf(path, sizeof(path), "%s/README", folder_name);
	folder_write(path, "mine", 4);
	folder_path(&key, upper);
	for (char *c = upper + strlen(folder_name) + 1; *c != '.'; c++)
		if (*c >= 'a')
			*c += 'A' - 'a';
	folder_write(upper, "mine", 4);
	folder_reopen(8192);
	for (uint64_t i = 0; i < 5; i++) {
		struct plancache_key one = folder_key_number(i);

		folder_put(&one, 100, 'a');
	}
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(access(upper, F_OK), 0);
	assert_int_equal(folder_files(), 4);
}

/* -------------------------------------------------------------------- bounds */

/* What root keeps for a service the service can mark as used. */
CACHE_TEST(root_gives_to_the_folders_owner)
{
	struct plancache_key key = folder_key(&folder_request);
	struct stat file;
	char path[256];

	if (geteuid())
		skip();
	folder_put(&key, 100, 'a');
	folder_path(&key, path);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_uid, 0);
	assert_int_equal(chown(folder_name, 1234, 2345), 0);
	folder_put(&key, 100, 'b');
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_uid, 1234);
	assert_int_equal(file.st_gid, 2345);
	folder_has(&key, 100, 'b');
}

/* Each file counts a block, and there is room for three. */
CACHE_TEST(used_longest_ago_goes_first)
{
	struct plancache_key keys[4];

	folder_reopen(3 * 4096);
	for (uint64_t i = 0; i < 4; i++)
		keys[i] = folder_key_number(i);
	folder_put(&keys[0], 100, '0');
	folder_put(&keys[1], 100, '1');
	folder_put(&keys[2], 100, '2');
	folder_has(&keys[0], 100, '0');
	folder_put(&keys[3], 100, '3');
	folder_has_not(&keys[1], -ENOENT);
	folder_has(&keys[0], 100, '0');
	folder_has(&keys[2], 100, '2');
	folder_has(&keys[3], 100, '3');
	/* Two blocks: two have to go. */
	folder_put(&keys[1], 4096, '1');
	folder_has_not(&keys[0], -ENOENT);
	folder_has_not(&keys[2], -ENOENT);
	folder_has(&keys[3], 100, '3');
	folder_has(&keys[1], 4096, '1');
}

/* Room for six. One who has two keeps them, whatever another one asks for; and vice versa. */
CACHE_TEST(nobody_pushes_out_others)
{
	struct plancache_key keys[20];

	folder_reopen(6 * 4096);
	for (uint64_t i = 0; i < 20; i++)
		keys[i] = folder_key_number(i);
	folder_put_of(8, &keys[0], 100, '0');
	folder_put_of(8, &keys[1], 100, '1');
	for (uint64_t i = 2; i < 12; i++)
		folder_put_of(7, &keys[i], 100, 'x');
	folder_has(&keys[0], 100, '0');
	folder_has(&keys[1], 100, '1');
	for (uint64_t i = 2; i < 8; i++)
		folder_has_not(&keys[i], -ENOENT);
	for (uint64_t i = 8; i < 12; i++)
		folder_has(&keys[i], 100, 'x');
	/* What he used last stays longest, to where both have as much. */
	folder_has(&keys[8], 100, 'x');
	folder_put_of(8, &keys[2], 100, '2');
	folder_has_not(&keys[9], -ENOENT);
	assert_int_equal(folder_files(), 6);
	for (uint64_t i = 12; i < 20; i++)
		folder_put_of(8, &keys[i], 100, 'y');
	folder_has(&keys[8], 100, 'x');
	folder_has(&keys[11], 100, 'x');
	folder_has(&keys[19], 100, 'y');
	assert_int_equal(folder_files(), 6);
}

/* A file that says nothing of its owner is one of those that nobody has. */
CACHE_TEST(owner_that_cannot_be_read)
{
	struct plancache_key keys[4];
	char path[256];

	folder_reopen(3 * 4096);
	for (uint64_t i = 0; i < 4; i++)
		keys[i] = folder_key_number(i);
	folder_put_of(8, &keys[0], 100, '0');
	folder_put_of(8, &keys[1], 100, '1');
	folder_put_of(8, &keys[2], 100, '2');
	folder_path(&keys[2], path);
	assert_int_equal(truncate(path, 10), 0);
	folder_put_of(PLANCACHE_NOBODY, &keys[3], 100, '3');
	/* It has two with the new one, and 8 has two, one of which was used before all others. */
	folder_has_not(&keys[0], -ENOENT);
	folder_has(&keys[1], 100, '1');
	folder_has(&keys[3], 100, '3');
}

/* The clock has been set back, or begins in 1970 after each start. */
CACHE_TEST(order_survives_the_clock)
{
	struct plancache_key keys[4];
	const struct timespec future[2] = { { 1ll << 33, 0 }, { 1ll << 33, 0 } };
	char path[256];

	for (uint64_t i = 0; i < 4; i++)
		keys[i] = folder_key_number(i);
	folder_put(&keys[0], 100, '0');
	folder_path(&keys[0], path);
	assert_int_equal(utimensat(AT_FDCWD, path, future, 0), 0);
	folder_reopen(3 * 4096);
	folder_put(&keys[1], 100, '1');
	folder_put(&keys[2], 100, '2');
	folder_put(&keys[3], 100, '3');
	folder_has_not(&keys[0], -ENOENT);
	folder_has(&keys[1], 100, '1');
}

/* So it does where another program uses the same folder, and has used it more often. */
CACHE_TEST(order_of_two_programs)
{
	const struct timespec future[2] = { { 1ll << 33, 0 }, { 1ll << 33, 0 } };
	struct plancache_key keys[5];
	struct plancache_entry got;
	struct plancache *other;
	char path[256];

	for (uint64_t i = 0; i < 5; i++)
		keys[i] = folder_key_number(i);
	folder_put(&keys[0], 100, '0');
	folder_path(&keys[0], path);
	assert_int_equal(utimensat(AT_FDCWD, path, future, 0), 0);
	folder_reopen(3 * 4096);
	assert_int_equal(plancache_open(folder_name, 3 * 4096, &other), 0);
	folder_put(&keys[1], 100, '1');
	folder_put(&keys[2], 100, '2');
	for (int i = 0; i < 10; i++)
		folder_has(&keys[2], 100, '2');
	/* What the other one uses then is used after that, */
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(plancache_get(other, &keys[3 - i], &got), 0);
		free(got.data);
	}
	plancache_close(other);
	folder_reopen(3 * 4096);
	folder_put(&keys[3], 100, '3');
	folder_has_not(&keys[0], -ENOENT);
	folder_put(&keys[4], 100, '4');
	folder_has_not(&keys[2], -ENOENT);
	folder_has(&keys[1], 100, '1');
	/* and so is what this one puts once it has seen what the other one put. */
	assert_int_equal(plancache_open(folder_name, 3 * 4096, &other), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(plancache_get(other, &keys[1], &got), 0);
		assert_int_equal(plancache_put(other, &keys[1], &got), 0);
		free(got.data);
	}
	plancache_close(other);
	for (int i = 0; i < 2; i++)
		folder_put(&keys[4], 100, '4');
	folder_put(&keys[3], 100, '3');
	folder_put(&keys[0], 100, '0');
	folder_has_not(&keys[1], -ENOENT);
	folder_has(&keys[4], 100, '4');
}

/* Times that nanoseconds of 64 bits cannot tell: what is used after that is used later. */
CACHE_TEST(any_year)
{
	static const time_t years[] = { 13569465600, -11676096000 }; /* 2400, 1600 */
	struct plancache_key keys[4];
	struct plancache_file *list;
	char path[256];
	size_t count;

	for (uint64_t i = 0; i < 4; i++)
		keys[i] = folder_key_number(i);
	for (uint64_t i = 0; i < 2; i++) {
		const struct timespec times[2] = { { years[i], 5 }, { years[i], 5 } };

		folder_put(&keys[i], 100, '0');
		folder_path(&keys[i], path);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	}
	assert_int_equal(plancache_list(folder_cache, &list, &count), 0);
	assert_int_equal(count, 2);
	assert_memory_equal(&list[0].key, &keys[0], sizeof(keys[0]));
	assert_true(list[0].used_ns > 0);
	assert_true(list[1].used_ns < 0 || list[1].used_ns < list[0].used_ns);
	free(list);
	folder_reopen(3 * 4096);
	folder_put(&keys[2], 100, '2');
	folder_put(&keys[3], 100, '3');
	folder_has_not(&keys[1], -ENOENT);
	folder_has(&keys[0], 100, '0');
	folder_put(&keys[1], 100, '1');
	folder_has_not(&keys[2], -ENOENT);
}

/* Put again under its own key it counts once. */
CACHE_TEST(replaced_counts_once)
{
	struct plancache_key small = folder_key_number(1), large = folder_key_number(2);

	folder_reopen(4 * 4096);
	folder_put(&small, 100, 's');
	folder_put(&large, 9000, 'a');
	folder_put(&large, 9000, 'b');
	folder_has(&small, 100, 's');
	folder_has(&large, 9000, 'b');
	/* So it does for its owner, who would have the most otherwise. */
	folder_put_of(7, &small, 100, 's');
	folder_put_of(8, &large, 100, 'c');
	folder_reopen(3 * 4096);
	folder_put_of(8, &large, 5000, 'd');
	folder_has(&small, 100, 's');
	folder_has(&large, 5000, 'd');
}

CACHE_TEST(larger_than_all)
{
	struct plancache_key one = folder_key_number(1), two = folder_key_number(2);
	static char data[8192];
	struct plancache_entry entry = folder_entry(data, sizeof(data));

	folder_reopen(8192);
	folder_put(&one, 100, 'a');
	assert_int_equal(plancache_put(folder_cache, &two, &entry), -EFBIG);
	/* Nothing had to go for it. */
	folder_has(&one, 100, 'a');
}

CACHE_TEST(list)
{
	struct plancache_file *list;
	struct plancache_key keys[3];
	size_t count;

	assert_int_equal(plancache_list(folder_cache, &list, &count), 0);
	assert_int_equal(count, 0);
	assert_null(list);
	for (uint64_t i = 0; i < 3; i++) {
		keys[i] = folder_key_number(i);
		folder_put(&keys[i], i == 1 ? 5000 : 100, 'a');
	}
	folder_has(&keys[0], 100, 'a');
	assert_int_equal(plancache_list(folder_cache, &list, &count), 0);
	assert_int_equal(count, 3);
	assert_memory_equal(&list[0].key, &keys[0], sizeof(keys[0]));
	assert_memory_equal(&list[1].key, &keys[2], sizeof(keys[0]));
	assert_memory_equal(&list[2].key, &keys[1], sizeof(keys[0]));
	assert_int_equal(list[0].bytes, 4096);
	assert_int_equal(list[2].bytes, 8192);
	assert_true(list[0].used_ns > list[1].used_ns);
	free(list);
}

/* -------------------------------------------------------------------- writing */

/* A writer that was killed leaves a file behind, which the next one removes. */
CACHE_TEST(unfinished_file)
{
	struct plancache_key key = folder_key(&folder_request);
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/.npumem-1-0", folder_name);
	folder_write(path, "part", 4);
	/* One who still writes keeps it. */
	fd = open(path, O_WRONLY);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	folder_put(&key, 100, 'a');
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	folder_put(&key, 100, 'a');
	assert_int_equal(access(path, F_OK), -1);
	folder_has(&key, 100, 'a');
}

/* Who only looks removes nothing. */
CACHE_TEST(unfinished_file_stays)
{
	struct plancache *reader;
	char path[256];

	snprintf(path, sizeof(path), "%s/.npumem-1-0", folder_name);
	folder_write(path, "part", 4);
	assert_int_equal(plancache_open_existing(folder_name, &reader), 0);
	assert_int_equal(access(path, F_OK), 0);
	plancache_close(reader);
}

/* A folder may have files of others, whatever they are called. */
CACHE_TEST(files_of_others)
{
	static const char *const names[] = {
		"new-chapter.txt", "new-1-0",	      ".npumem-", ".npumem-1",	 ".npumem-1-",
		".npumem--1",	   ".npumem-1-2.txt", "1.plan",	  ".npumem-a-1",
	};
	struct plancache_key key = folder_key(&folder_request);
	struct plancache *writer;
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder_name, names[i]);
		folder_write(path, "thesis", 6);
	}
	folder_put(&key, 100, 'a');
	assert_int_equal(plancache_open(folder_name, PLENTY, &writer), 0);
	plancache_close(writer);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder_name, names[i]);
		if (access(path, F_OK))
			fail_msg("%s is gone", names[i]);
	}
}

/* Processes that write and read the same few plans, and have room for less than all. */
static int work_for_a_while(unsigned int number)
{
	static char data[6000];
	struct plancache_entry entry;
	struct plancache *own;

	if (plancache_open(folder_name, 6 * 4096, &own))
		return 1;
	for (unsigned int i = 0; i < 400; i++) {
		unsigned int which = (i * 7 + number) % 5;
		struct plancache_key key = folder_key_number(which);
		int err;

		memset(data, (int)('a' + which), sizeof(data));
		entry = folder_entry(data, 1000 * (which + 1));
		if (plancache_put(own, &key, &entry))
			return 2;
		err = plancache_get(own, &key, &entry);
		if (err && err != -ENOENT)
			return 3;
		if (err)
			continue;
		if (entry.size != 1000 * (which + 1) || memcmp(entry.data, data, entry.size))
			return 4;
		free(entry.data);
	}
	plancache_close(own);
	return 0;
}

CACHE_TEST(several_processes)
{
	pid_t children[4];
	int status;

	for (unsigned int i = 0; i < 4; i++) {
		children[i] = fork();
		if (!children[i])
			_exit(work_for_a_while(i));
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
}
