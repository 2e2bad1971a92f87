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

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether an open file is of the device: by its name, which is the same in other name spaces. */
static bool is_of(int folder, const char *name, const char *device)
{
	char path[32], target[256];
	ssize_t length;

	if (snprintf(path, sizeof(path), "fd/%s", name) >= (int)sizeof(path))
		return false;
	length = readlinkat(folder, path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	return !strcmp(last_part(target), last_part(device));
}

static struct live_client *find_client(const struct live_list *list, uint64_t drm_client)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->clients[i].file.drm_client == drm_client)
			return &list->clients[i];
	return NULL;
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

	if (!read_text(folder, "comm", text))
		snprintf(name.s, sizeof(name.s), "%.*s", (int)strcspn(text, "\n"), text);
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

/* Who the process is. */
static void name_client(int folder, const char *process, struct live_client *client)
{
	struct stat status;

	client->pid = (pid_t)strtol(process, NULL, 10);
	if (!fstat(folder, &status))
		client->uid = status.st_uid;
	client->command = name_in(folder);
}

static int add_file(struct live_list *list, int folder, const char *process, const char *name)
{
	struct live_client client = { .is_seen = true };
	char text[MAX_TEXT], path[32];

	if (snprintf(path, sizeof(path), "fdinfo/%s", name) >= (int)sizeof(path) ||
	    read_text(folder, path, text) || !live_parse(text, &client.file) ||
	    find_client(list, client.file.drm_client))
		return 0;
	name_client(folder, process, &client);
	return add_client(list, &client);
}

/* Of a process: those of its open files that are of the device. */
static int add_process(struct live_list *list, int proc, const char *process, const char *device)
{
	int folder = openat(proc, process, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int files = folder < 0 ? -1 : openat(folder, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *open = files < 0 ? NULL : fdopendir(files);
	struct dirent *entry;
	int err = 0;

	if (folder >= 0 && files < 0)
		list->hidden += errno == EACCES || errno == EPERM;
	else if (files >= 0 && !open)
		close(files);
	while (open && !err && (entry = readdir(open)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    is_of(folder, entry->d_name, device))
			err = add_file(list, folder, process, entry->d_name);
	if (open)
		closedir(open);
	if (folder >= 0)
		close(folder);
	return err;
}

static int by_carveout(const void *a, const void *b)
{
	const struct live_client *first = a, *second = b;

	if (first->file.carveout != second->file.carveout)
		return first->file.carveout < second->file.carveout ? 1 : -1;
	return first->pid < second->pid ? -1 : first->pid > second->pid;
}

static void sort(struct live_list *list)
{
	if (list->count)
		qsort(list->clients, list->count, sizeof(*list->clients), by_carveout);
}

int live_find(const char *proc, const char *device, struct live_list *list)
{
	int folder = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *open = folder < 0 ? NULL : fdopendir(folder);
	int err = open ? 0 : -errno;
	struct dirent *entry;

	*list = (struct live_list){ 0 };
	if (!open && folder >= 0)
		close(folder);
	while (open && !err && (entry = readdir(open)))
		if (isdigit((unsigned char)entry->d_name[0]))
			err = add_process(list, folder, entry->d_name, device);
	if (open)
		closedir(open);
	sort(list);
	return err;
}

int live_add_holders(struct live_list *list, const struct drm_npumem_holder *holders,
		     uint32_t count)
{
	uint32_t seen = list->count;
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++) {
		const struct drm_npumem_holder *holder = &holders[i];
		struct live_client client = {
			.file = { .client = holder->client, .kernel = holder->memory_bytes },
			.pid = (pid_t)holder->pid,
			.uid = holder->uid,
		}, *found = NULL;

		for (uint32_t k = 0; k < list->count && !found; k++)
			if (list->clients[k].file.client == holder->client)
				found = &list->clients[k];
		memcpy(client.command.s, holder->comm, sizeof(holder->comm));
		if (!found) {
			err = add_client(list, &client);
			found = &list->clients[list->count - 1];
		}
		/* Those that were seen have said it themselves. */
		if (!err && found - list->clients >= (ptrdiff_t)seen)
			found->file.carveout += holder->bytes;
	}
	sort(list);
	return err;
}

void live_free(struct live_list *list)
{
	free(list->clients);
	*list = (struct live_list){ 0 };
}
