/* SPDX-License-Identifier: MIT */
#include "clients.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../grow/grow.h"

/* Longest text of a file of /proc that is read; the kernel's are shorter. */
#define MAX_TEXT 8192

/* Reads a file whole, or its beginning; 0, or a negative errno. */
static int read_text(int folder, const char *name, char text[MAX_TEXT])
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = fd < 0 ? -1 : 1;
	int err = fd < 0 ? -errno : 0;

	while (got > 0 && used < MAX_TEXT - 1) {
		got = read(fd, text + used, MAX_TEXT - 1 - used);
		if (got < 0)
			err = -errno;
		else
			used += (size_t)got;
	}
	text[used] = '\0';
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Whether an open file is of the device: by its number, since the node may have any name, in name
 * spaces of others above all. No file system is asked for what is new: one that is remote, or a
 * process of a client, might never answer. 1, 0, or a negative errno.
 */
static int is_of(int folder, const char *name, dev_t device)
{
	struct statx status;
	char path[32];

	if (snprintf(path, sizeof(path), "fd/%s", name) >= (int)sizeof(path))
		return 0;
	if (statx(folder, path, AT_STATX_DONT_SYNC, STATX_TYPE, &status))
		return -errno;
	return S_ISCHR(status.stx_mode) &&
	       makedev(status.stx_rdev_major, status.stx_rdev_minor) == device;
}

static int add_client(struct live_list *list, const struct live_client *client)
{
	struct live_client *clients = grow_by_one(list->clients, list->count, sizeof(*clients));

	if (!clients)
		return -ENOMEM;
	list->clients = clients;
	clients[list->count++] = *client;
	return 0;
}

static struct live_name name_in(int folder)
{
	struct live_name name = { 0 };
	char text[MAX_TEXT];
	size_t length;

	if (read_text(folder, "comm", text))
		return name;
	/* The last newline is the kernel's, others are the process's. */
	length = strlen(text);
	if (length && text[length - 1] == '\n')
		text[length - 1] = '\0';
	snprintf(name.s, sizeof(name.s), "%.*s", (int)sizeof(name.s) - 1, text);
	return name;
}

struct live_name live_process_name(const char *proc, pid_t pid)
{
	struct live_name name = { 0 };
	char path[256];
	int folder;

	snprintf(path, sizeof(path), "%s/%d", proc, (int)pid);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return name;
	name = name_in(folder);
	close(folder);
	return name;
}

/* Who the process is. Its folder is its effective user's, even if it must not be traced. */
static void name_client(int folder, const char *process, struct live_client *client)
{
	struct stat status;

	client->pid = (pid_t)strtol(process, NULL, 10);
	client->uid = fstat(folder, &status) ? (uid_t)-1 : status.st_uid;
	client->command = name_in(folder);
}

/* Descriptors of a file one after the other, that of the lowest process first. */
static int by_drm_client(const void *a, const void *b)
{
	const struct live_client *first = a, *second = b;

	if (first->file.drm_client != second->file.drm_client)
		return first->file.drm_client < second->file.drm_client ? -1 : 1;
	return first->pid < second->pid ? -1 : first->pid > second->pid;
}

/* Keep one client of all that are the same. */
static void drop_copies(struct live_list *list)
{
	uint32_t kept = 0;

	if (list->count)
		qsort(list->clients, list->count, sizeof(*list->clients), by_drm_client);
	for (uint32_t i = 0; i < list->count; i++)
		if (!kept ||
		    list->clients[i].file.drm_client != list->clients[kept - 1].file.drm_client)
			list->clients[kept++] = list->clients[i];
	list->count = kept;
}

static int add_file(struct live_list *list, int folder, const char *process, const char *name,
		    struct live_client *client)
{
	char text[MAX_TEXT], path[32];

	if (snprintf(path, sizeof(path), "fdinfo/%s", name) >= (int)sizeof(path) ||
	    read_text(folder, path, text) || !live_parse(text, &client->file))
		return 0;
	if (!client->is_seen)
		name_client(folder, process, client);
	client->is_seen = true;
	client->fd = (int)strtol(name, NULL, 10);
	/* A process may have very many descriptors of one file. */
	if (list->count >= 1024 && !(list->count & (list->count - 1)))
		drop_copies(list);
	return add_client(list, client);
}

/* Of a process: those of its open files that are of the device. */
static int add_process(struct live_list *list, int proc, const char *process, dev_t device)
{
	int folder = openat(proc, process, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int files = folder < 0 ? -1 : openat(folder, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *open = files < 0 ? NULL : fdopendir(files);
	struct live_client client = { 0 };
	bool hidden = files < 0 && (errno == EACCES || errno == EPERM);
	struct dirent *entry;
	int err = 0, is;

	if (files >= 0 && !open)
		close(files);
	while (open && !err && (entry = readdir(open))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		is = is_of(folder, entry->d_name, device);
		/* Names of files may be seen where files may not. */
		hidden |= is == -EACCES || is == -EPERM;
		if (is == 1)
			err = add_file(list, folder, process, entry->d_name, &client);
	}
	list->hidden += hidden;
	if (open)
		closedir(open);
	if (folder >= 0)
		close(folder);
	return err;
}

static int by_number(const void *a, const void *b)
{
	const struct live_client *first = a, *second = b;

	return first->file.client < second->file.client ? -1 :
							  first->file.client > second->file.client;
}

static void sort_by_number(struct live_list *list)
{
	if (list->count)
		qsort(list->clients, list->count, sizeof(*list->clients), by_number);
}

int live_find(const char *proc, const char *device, struct live_list *list)
{
	int folder = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *open = folder < 0 ? NULL : fdopendir(folder);
	int err = open ? 0 : -errno;
	struct dirent *entry;
	struct stat status;

	*list = (struct live_list){ 0 };
	if (!open && folder >= 0)
		close(folder);
	if (!err && stat(device, &status))
		err = -errno;
	while (open && !err && (entry = readdir(open)))
		if (isdigit((unsigned char)entry->d_name[0]))
			err = add_process(list, folder, entry->d_name, status.st_rdev);
	if (open)
		closedir(open);
	drop_copies(list);
	sort_by_number(list);
	return err;
}

/* The client of a number among the first @count, which ascend. */
static struct live_client *find_number(const struct live_list *list, uint32_t count,
				       uint64_t number)
{
	const struct live_client key = { .file.client = number };

	return count ? bsearch(&key, list->clients, count, sizeof(key), by_number) : NULL;
}

const struct live_client *live_find_number(const struct live_list *list, uint64_t number)
{
	return find_number(list, list->count, number);
}

static int by_holder(const void *a, const void *b)
{
	const struct drm_npumem_holder *first = a, *second = b;

	return first->client < second->client ? -1 : first->client > second->client;
}

int live_add_holders(struct live_list *list, struct drm_npumem_holder *holders, uint32_t count)
{
	uint32_t seen = list->count;
	int err = 0;

	if (count)
		qsort(holders, count, sizeof(*holders), by_holder);
	for (uint32_t i = 0; i < count && !err; i++) {
		const struct drm_npumem_holder *holder = &holders[i];
		struct live_client *found = find_number(list, seen, holder->client);
		struct live_client client = {
			.file = { .client = holder->client, .kernel = holder->memory_bytes },
			.pid = (pid_t)holder->pid,
			.uid = holder->uid,
		};

		/* What it holds it has said itself. Whoever has the file, this one is charged. */
		if (found) {
			found->uid = holder->uid;
			continue;
		}
		memcpy(client.command.s, holder->comm, sizeof(holder->comm));
		if (list->count == seen ||
		    list->clients[list->count - 1].file.client != holder->client)
			err = add_client(list, &client);
		if (!err)
			list->clients[list->count - 1].file.carveout += holder->bytes;
	}
	sort_by_number(list);
	return err;
}

void live_free(struct live_list *list)
{
	free(list->clients);
	*list = (struct live_list){ 0 };
}
