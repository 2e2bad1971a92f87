// SPDX-License-Identifier: MIT
/*
 * The cache of plans: what is kept comes back, what is damaged is nothing, what is written is
 * whole or not there, and no more is kept than may be.
 */
#include "plancache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format.h"
#include "unit.h"

#define PLENTY (64ull << 20)

static char folder[64];
static struct plancache *cache;
static char graph[24] = "a graph of no meaning";

static int setup(void **state)
{
	strcpy(folder, "/tmp/npumem-cache-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	return plancache_open(folder, PLENTY, &cache);
}

static void remove_all(void)
{
	DIR *list = opendir(folder);
	struct dirent *entry;

	while ((entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(list), entry->d_name, 0);
	closedir(list);
}

static int teardown(void **state)
{
	plancache_close(cache);
	remove_all();
	return rmdir(folder);
}

#define CACHE_TEST(name) TEST_WITH(name, setup, teardown)

static void reopen(uint64_t limit)
{
	plancache_close(cache);
	assert_int_equal(plancache_open(folder, limit, &cache), 0);
}

static const struct plancache_request plain = {
	.graph = graph,
	.graph_size = sizeof(graph),
	.planner = "auto",
	.objective = 1,
	.arena_budget = 4096,
};

static struct plancache_key key_of(const struct plancache_request *request)
{
	struct plancache_key key;

	plancache_key(request, &key);
	return key;
}

/* The key of the n-th of many requests. */
static struct plancache_key key_number(uint64_t n)
{
	struct plancache_request request = plain;

	request.arena_budget = n;
	return key_of(&request);
}

static struct plancache_entry entry_of(char *data, size_t size)
{
	struct plancache_entry entry;

	plancache_entry_init(&entry, &plain);
	entry.cost = 77;
	entry.given_us = 1234;
	entry.final = true;
	strcpy(entry.text, "one line");
	entry.data = data;
	entry.size = size;
	return entry;
}

static void put_of(uint32_t owner, const struct plancache_key *key, size_t size, char fill)
{
	char *data = malloc(size);
	struct plancache_entry entry = entry_of(data, size);

	entry.owner = owner;
	memset(data, fill, size);
	assert_int_equal(plancache_put(cache, key, &entry), 0);
	free(data);
}

static void put(const struct plancache_key *key, size_t size, char fill)
{
	put_of(PLANCACHE_NOBODY, key, size, fill);
}

/* It is there, whole, and its bytes are so. */
static void has(const struct plancache_key *key, size_t size, char fill)
{
	struct plancache_entry entry;

	assert_int_equal(plancache_get(cache, key, &entry), 0);
	assert_int_equal(entry.size, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(((char *)entry.data)[i], fill);
	free(entry.data);
}

static void has_not(const struct plancache_key *key, int err)
{
	struct plancache_entry entry;

	assert_int_equal(plancache_get(cache, key, &entry), err);
}

static size_t files(void)
{
	DIR *list = opendir(folder);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(list)))
		count += entry->d_name[0] != '.';
	closedir(list);
	return count;
}

static void path_of(const struct plancache_key *key, char path[256])
{
	char name[PLANCACHE_NAME_SIZE];

	plancache_key_name(key, name);
	snprintf(path, 256, "%s/%s.plan", folder, name);
}

/* ------------------------------------------------------------------- entries */

CACHE_TEST(what_was_put_comes_back)
{
	char data[40] = "a graph and a plan";
	struct plancache_entry entry = entry_of(data, sizeof(data)), got;
	struct plancache_key key = key_of(&plain);

	entry.head = 16;
	entry.owner = 1000;
	has_not(&key, -ENOENT);
	assert_int_equal(plancache_put(cache, &key, &entry), 0);
	reopen(PLENTY);
	assert_int_equal(plancache_get(cache, &key, &got), 0);
	assert_string_equal(got.planner, "auto");
	assert_int_equal(got.objective, 1);
	assert_int_equal(got.arena_budget, 4096);
	assert_int_equal(got.graph_size, sizeof(graph));
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
	assert_int_equal(files(), 1);
}

CACHE_TEST(the_later_one_stays)
{
	struct plancache_key key = key_of(&plain);

	put(&key, 100, 'a');
	put(&key, 50, 'b');
	has(&key, 50, 'b');
	assert_int_equal(files(), 1);
}

CACHE_TEST(dropped)
{
	struct plancache_key key = key_of(&plain);

	assert_int_equal(plancache_drop(cache, &key), -ENOENT);
	put(&key, 100, 'a');
	assert_int_equal(plancache_drop(cache, &key), 0);
	has_not(&key, -ENOENT);
}

/* All that a plan is made from has a part in the key, and ends where it ends. */
TEST(keys)
{
	struct plancache_request others[8] = { plain, plain, plain, plain,
					       plain, plain, plain, plain };
	struct plancache_key keys[8];

	others[1].graph_size--;
	others[2].options = graph;
	others[2].options_size = 8;
	others[3].planner = "greedy";
	others[4].objective = 0;
	others[5].arena_budget = 4097;
	others[6].cut = true;
	/* The same bytes in all, but for where one thing ends and the next begins. */
	others[7] = others[2];
	others[7].options_size = 7;
	for (size_t i = 0; i < 8; i++) {
		keys[i] = key_of(&others[i]);
		for (size_t j = 0; j < i; j++)
			assert_memory_not_equal(keys[i].bytes, keys[j].bytes, PLANCACHE_KEY_SIZE);
	}
	assert_memory_equal(key_of(&plain).bytes, keys[0].bytes, PLANCACHE_KEY_SIZE);
}

/* -------------------------------------------------------------------- damage */

static size_t read_file(const char *path, char *bytes, size_t room)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, bytes, room);

	assert_in_range(n, 1, room - 1);
	close(fd);
	return (size_t)n;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* Power was lost when so many bytes had come to the disk: the rest is not there, or zeros. */
CACHE_TEST(cut_at_every_byte)
{
	struct plancache_key key = key_of(&plain);
	char path[256], whole[2048], part[2048];
	size_t size;

	put(&key, 100, 'a');
	path_of(&key, path);
	size = read_file(path, whole, sizeof(whole));
	for (size_t n = 0; n < size; n++) {
		write_file(path, whole, n);
		has_not(&key, -EBADMSG);
		/* It is gone, and does not stand in the way of a new one. */
		has_not(&key, -ENOENT);
		memset(part, 0, sizeof(part));
		memcpy(part, whole, n);
		write_file(path, part, size);
		has_not(&key, -EBADMSG);
		assert_int_equal(files(), 0);
	}
	write_file(path, whole, size);
	has(&key, 100, 'a');
}

CACHE_TEST(every_bit_counts)
{
	struct plancache_key key = key_of(&plain);
	char path[256], bytes[2048];
	size_t size;

	put(&key, 100, 'a');
	path_of(&key, path);
	size = read_file(path, bytes, sizeof(bytes));
	for (size_t i = 0; i < size; i++) {
		char old = bytes[i];

		bytes[i] ^= (char)(1 << i % 8);
		write_file(path, bytes, size);
		has_not(&key, -EBADMSG);
		bytes[i] = old;
	}
}

CACHE_TEST(bytes_behind_the_end)
{
	struct plancache_key key = key_of(&plain);
	char path[256], bytes[2048] = { 0 };
	size_t size;

	put(&key, 100, 'a');
	path_of(&key, path);
	size = read_file(path, bytes, sizeof(bytes));
	bytes[size] = 0;
	write_file(path, bytes, size + 1);
	has_not(&key, -EBADMSG);
}

/* A file of another request under this one's name: a digest alone would not tell. */
CACHE_TEST(another_ones_name)
{
	struct plancache_key key = key_number(1), other = key_number(2);
	char path[256], other_path[256];

	put(&key, 100, 'a');
	path_of(&key, path);
	path_of(&other, other_path);
	assert_int_equal(rename(path, other_path), 0);
	has_not(&other, -EBADMSG);
	assert_int_equal(files(), 0);
}

/* What somebody can hash who means harm, and no file should say. */
static void refuse(void (*change)(struct plancache_header *header))
{
	struct plancache_key key = key_of(&plain);
	struct plancache_header header;
	struct plancache_entry entry;
	char data[64] = "x";
	char file[sizeof(header) + sizeof(data)];

	entry = entry_of(data, sizeof(data));
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

/* ------------------------------------------------------- what is no file at all */

CACHE_TEST(no_files)
{
	struct plancache_key key = key_of(&plain);
	char path[256];

	path_of(&key, path);
	assert_int_equal(mkfifo(path, 0644), 0);
	has_not(&key, -EBADMSG);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	has_not(&key, -EBADMSG);
	has_not(&key, -ENOENT);
	assert_int_equal(mkdir(path, 0755), 0);
	has_not(&key, -EBADMSG);
	assert_int_equal(rmdir(path), 0);
	put(&key, 100, 'a');
	has(&key, 100, 'a');
}

CACHE_TEST(folder_removed_meanwhile)
{
	struct plancache_key key = key_of(&plain);

	assert_int_equal(rmdir(folder), 0);
	has_not(&key, -ENOENT);
	put(&key, 100, 'a');
	has(&key, 100, 'a');
}

TEST(folder_that_cannot_be)
{
	assert_int_equal(plancache_open("/proc/no/folder", PLENTY, &cache), -ENOENT);
	assert_int_equal(plancache_open("/dev/zero", PLENTY, &cache), -ENOTDIR);
}

/* Others' files are neither counted nor removed. */
CACHE_TEST(other_names_stay)
{
	struct plancache_key key = key_of(&plain);
	char path[256], upper[256];

	snprintf(path, sizeof(path), "%s/README", folder);
	write_file(path, "mine", 4);
	path_of(&key, upper);
	for (char *c = upper + strlen(folder) + 1; *c != '.'; c++)
		if (*c >= 'a')
			*c += 'A' - 'a';
	write_file(upper, "mine", 4);
	reopen(8192);
	for (uint64_t i = 0; i < 5; i++) {
		struct plancache_key one = key_number(i);

		put(&one, 100, 'a');
	}
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(access(upper, F_OK), 0);
	assert_int_equal(files(), 4);
}

/* -------------------------------------------------------------------- bounds */

/* What root keeps for a service the service can mark as used. */
CACHE_TEST(root_gives_to_the_folders_owner)
{
	struct plancache_key key = key_of(&plain);
	struct stat file;
	char path[256];

	if (geteuid())
		skip();
	put(&key, 100, 'a');
	path_of(&key, path);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_uid, 0);
	assert_int_equal(chown(folder, 1234, 2345), 0);
	put(&key, 100, 'b');
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_uid, 1234);
	assert_int_equal(file.st_gid, 2345);
	has(&key, 100, 'b');
}

/* Each file counts a block, and there is room for three. */
CACHE_TEST(used_longest_ago_goes_first)
{
	struct plancache_key keys[4];

	reopen(3 * 4096);
	for (uint64_t i = 0; i < 4; i++)
		keys[i] = key_number(i);
	put(&keys[0], 100, '0');
	put(&keys[1], 100, '1');
	put(&keys[2], 100, '2');
	has(&keys[0], 100, '0');
	put(&keys[3], 100, '3');
	has_not(&keys[1], -ENOENT);
	has(&keys[0], 100, '0');
	has(&keys[2], 100, '2');
	has(&keys[3], 100, '3');
	/* Two blocks: two have to go. */
	put(&keys[1], 4096, '1');
	has_not(&keys[0], -ENOENT);
	has_not(&keys[2], -ENOENT);
	has(&keys[3], 100, '3');
	has(&keys[1], 4096, '1');
}

/* Room for six. One who has two keeps them, whatever another one asks for; and vice versa. */
CACHE_TEST(nobody_pushes_out_others)
{
	struct plancache_key keys[20];

	reopen(6 * 4096);
	for (uint64_t i = 0; i < 20; i++)
		keys[i] = key_number(i);
	put_of(8, &keys[0], 100, '0');
	put_of(8, &keys[1], 100, '1');
	for (uint64_t i = 2; i < 12; i++)
		put_of(7, &keys[i], 100, 'x');
	has(&keys[0], 100, '0');
	has(&keys[1], 100, '1');
	for (uint64_t i = 2; i < 8; i++)
		has_not(&keys[i], -ENOENT);
	for (uint64_t i = 8; i < 12; i++)
		has(&keys[i], 100, 'x');
	/* What he used last stays longest, to where both have as much. */
	has(&keys[8], 100, 'x');
	put_of(8, &keys[2], 100, '2');
	has_not(&keys[9], -ENOENT);
	assert_int_equal(files(), 6);
	for (uint64_t i = 12; i < 20; i++)
		put_of(8, &keys[i], 100, 'y');
	has(&keys[8], 100, 'x');
	has(&keys[11], 100, 'x');
	has(&keys[19], 100, 'y');
	assert_int_equal(files(), 6);
}

/* A file that says nothing of its owner is one of those that nobody has. */
CACHE_TEST(owner_that_cannot_be_read)
{
	struct plancache_key keys[4];
	char path[256];

	reopen(3 * 4096);
	for (uint64_t i = 0; i < 4; i++)
		keys[i] = key_number(i);
	put_of(8, &keys[0], 100, '0');
	put_of(8, &keys[1], 100, '1');
	put_of(8, &keys[2], 100, '2');
	path_of(&keys[2], path);
	assert_int_equal(truncate(path, 10), 0);
	put_of(PLANCACHE_NOBODY, &keys[3], 100, '3');
	/* It has two with the new one, and 8 has two, one of which was used before all others. */
	has_not(&keys[0], -ENOENT);
	has(&keys[1], 100, '1');
	has(&keys[3], 100, '3');
}

/* The clock has been set back, or begins in 1970 after each start. */
CACHE_TEST(order_survives_the_clock)
{
	struct plancache_key keys[4];
	const struct timespec future[2] = { { 1ll << 33, 0 }, { 1ll << 33, 0 } };
	char path[256];

	for (uint64_t i = 0; i < 4; i++)
		keys[i] = key_number(i);
	put(&keys[0], 100, '0');
	path_of(&keys[0], path);
	assert_int_equal(utimensat(AT_FDCWD, path, future, 0), 0);
	reopen(3 * 4096);
	put(&keys[1], 100, '1');
	put(&keys[2], 100, '2');
	put(&keys[3], 100, '3');
	has_not(&keys[0], -ENOENT);
	has(&keys[1], 100, '1');
}

CACHE_TEST(larger_than_all)
{
	struct plancache_key one = key_number(1), two = key_number(2);
	static char data[8192];
	struct plancache_entry entry = entry_of(data, sizeof(data));

	reopen(8192);
	put(&one, 100, 'a');
	assert_int_equal(plancache_put(cache, &two, &entry), -EFBIG);
	/* Nothing had to go for it. */
	has(&one, 100, 'a');
}

CACHE_TEST(list)
{
	struct plancache_file *list;
	struct plancache_key keys[3];
	size_t count;

	assert_int_equal(plancache_list(cache, &list, &count), 0);
	assert_int_equal(count, 0);
	assert_null(list);
	for (uint64_t i = 0; i < 3; i++) {
		keys[i] = key_number(i);
		put(&keys[i], i == 1 ? 5000 : 100, 'a');
	}
	has(&keys[0], 100, 'a');
	assert_int_equal(plancache_list(cache, &list, &count), 0);
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

/* The disk is full after so many bytes: the plan before is still there, and nothing else. */
CACHE_TEST(full_at_every_byte)
{
	struct plancache_key key = key_of(&plain);
	struct rlimit limit, before;
	char data[100] = "new";
	struct plancache_entry entry = entry_of(data, sizeof(data));
	size_t size = sizeof(struct plancache_header) + sizeof(data);

	put(&key, 50, 'o');
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	for (size_t n = 0; n < size; n++) {
		int err;

		limit = before;
		limit.rlim_cur = n;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		err = plancache_put(cache, &key, &entry);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		assert_int_equal(err, -EFBIG);
		assert_int_equal(files(), 1);
		has(&key, 50, 'o');
	}
	assert_int_equal(plancache_put(cache, &key, &entry), 0);
	signal(SIGXFSZ, SIG_DFL);
}

/* A writer that was killed leaves a file behind, which the next one removes. */
CACHE_TEST(unfinished_file)
{
	struct plancache_key key = key_of(&plain);
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/.npumem-1-0", folder);
	write_file(path, "part", 4);
	/* One who still writes keeps it. */
	fd = open(path, O_WRONLY);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	put(&key, 100, 'a');
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	put(&key, 100, 'a');
	assert_int_equal(access(path, F_OK), -1);
	has(&key, 100, 'a');
}

/* Who only looks removes nothing. */
CACHE_TEST(unfinished_file_stays)
{
	struct plancache *reader;
	char path[256];

	snprintf(path, sizeof(path), "%s/.npumem-1-0", folder);
	write_file(path, "part", 4);
	assert_int_equal(plancache_open_existing(folder, &reader), 0);
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
	struct plancache_key key = key_of(&plain);
	struct plancache *writer;
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		write_file(path, "thesis", 6);
	}
	put(&key, 100, 'a');
	assert_int_equal(plancache_open(folder, PLENTY, &writer), 0);
	plancache_close(writer);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
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

	if (plancache_open(folder, 6 * 4096, &own))
		return 1;
	for (unsigned int i = 0; i < 400; i++) {
		unsigned int which = (i * 7 + number) % 5;
		struct plancache_key key = key_number(which);
		int err;

		memset(data, (int)('a' + which), sizeof(data));
		entry = entry_of(data, 1000 * (which + 1));
		/* The file may be taken for one that nobody writes any more. */
		err = plancache_put(own, &key, &entry);
		if (err && err != -ENOENT)
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
