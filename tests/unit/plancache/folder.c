// SPDX-License-Identifier: MIT
#include "folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char folder_name[64];
struct plancache *folder_cache;
char folder_graph[24] = "a graph of no meaning";

int folder_make(void **state)
{
	strcpy(folder_name, "/tmp/npumem-cache-XXXXXX");
	if (!mkdtemp(folder_name))
		return -1;
	return plancache_open(folder_name, PLENTY, &folder_cache);
}

static void remove_all(void)
{
	DIR *list = opendir(folder_name);
	struct dirent *entry;

	while ((entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(list), entry->d_name, 0);
	closedir(list);
}

int folder_remove(void **state)
{
	plancache_close(folder_cache);
	remove_all();
	return rmdir(folder_name);
}

void folder_reopen(uint64_t limit)
{
	plancache_close(folder_cache);
	assert_int_equal(plancache_open(folder_name, limit, &folder_cache), 0);
}

const struct plancache_request folder_request = {
	.graph = folder_graph,
	.graph_size = sizeof(folder_graph),
	.planner = "auto",
	.objective = 1,
	.arena_budget = 4096,
};

struct plancache_key folder_key(const struct plancache_request *request)
{
	struct plancache_key key;

	plancache_key(request, &key);
	return key;
}

/* The key of the n-th of many requests. */
struct plancache_key folder_key_number(uint64_t n)
{
	struct plancache_request request = folder_request;

	request.arena_budget = n;
	return folder_key(&request);
}

struct plancache_entry folder_entry(char *data, size_t size)
{
	struct plancache_entry entry;

	plancache_entry_init(&entry, &folder_request);
	entry.cost = 77;
	entry.given_us = 1234;
	entry.final = true;
	strcpy(entry.text, "one line");
	entry.data = data;
	entry.size = size;
	return entry;
}

void folder_put_of(uint32_t owner, const struct plancache_key *key, size_t size, char fill)
{
	char *data = malloc(size);
	struct plancache_entry entry = folder_entry(data, size);

	entry.owner = owner;
	memset(data, fill, size);
	assert_int_equal(plancache_put(folder_cache, key, &entry), 0);
	free(data);
}

void folder_put(const struct plancache_key *key, size_t size, char fill)
{
	folder_put_of(PLANCACHE_NOBODY, key, size, fill);
}

/* It is there, whole, and its bytes are so. */
void folder_has(const struct plancache_key *key, size_t size, char fill)
{
	struct plancache_entry entry;

	assert_int_equal(plancache_get(folder_cache, key, &entry), 0);
	assert_int_equal(entry.size, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(((char *)entry.data)[i], fill);
	free(entry.data);
}

void folder_has_not(const struct plancache_key *key, int err)
{
	struct plancache_entry entry;

	assert_int_equal(plancache_get(folder_cache, key, &entry), err);
}

size_t folder_files(void)
{
	DIR *list = opendir(folder_name);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(list)))
		count += entry->d_name[0] != '.';
	closedir(list);
	return count;
}

void folder_path(const struct plancache_key *key, char path[256])
{
	char name[PLANCACHE_NAME_SIZE];

	plancache_key_name(key, name);
	snprintf(path, 256, "%s/%s.plan", folder_name, name);
}

size_t folder_read(const char *path, char *bytes, size_t room)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, bytes, room);

	assert_in_range(n, 1, room - 1);
	close(fd);
	return (size_t)n;
}

void folder_write(const char *path, const char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

struct plancache_entry folder_entry_past(char *data, size_t size, uint32_t past)
{
	struct plancache_entry before, entry = folder_entry(data, size);

	for (uint32_t i = 0; i < past; i++) {
		before = entry;
		entry = folder_entry(data, size);
		entry.cost = 1000 - i;
		plancache_entry_made(&entry, i ? &before : NULL,
				     i ? PLANCACHE_BY_SEARCH : PLANCACHE_BY_ANSWER, 500 + i);
	}
	return entry;
}
