/* SPDX-License-Identifier: MIT */
/* The clients of a device that live, and what each of them does. */
#pragma once

#include <sys/types.h>

#include "fdinfo.h"
#include "npumem.h"

/** struct live_name - a name that a process has chosen itself */
struct live_name {
	char s[17];
};

/** live_process_name() - of a process, in the folder of the processes; "" if it is not to be had */
struct live_name live_process_name(const char *proc, pid_t pid);

/**
 * struct live_client - a client
 * @file: what the kernel says of its open file; of one that is not to be seen, or closed while its
 *	jobs still run, nothing but what it holds
 * @pid: a process that has the file open; 0: none that is to be seen
 * @fd: its descriptor there
 * @uid: the user who is charged, or, of one that holds nothing, as whom the process runs;
 *	(uid_t)-1: it is not known
 * @command: name of the process
 * @is_seen: @file has more than what it holds
 */
struct live_client {
	struct live_file file;
	pid_t pid;
	int fd;
	uid_t uid;
	struct live_name command;
	bool is_seen;
};

/*
 * struct live_list - clients, ascending by their numbers
 * @clients: @count of them; owned
 * @hidden: processes whose open files this user may not see
 * @partial: there may be more clients than are known to exist: the driver does not tell this user
 *	who holds the carveout
 */
struct live_list {
	struct live_client *clients;
	uint32_t count;
	uint32_t hidden;
	bool partial;
};

/**
 * live_find() - find who has a device open
 * @proc: folder of the processes, "/proc"
 * @device: path of a node of the device; others may have opened it by another
 * @list: out: live_free() it, also after an error
 *
 * A process that comes or goes meanwhile may be missing. Negative errno: @proc cannot be read,
 * there is no @device, or -ENOMEM.
 */
int live_find(const char *proc, const char *device, struct live_list *list);

/*
 * live_add_holders() - add those that hold some of the carveout and were not found
 * @holders: @count of NPUMEM_QUERY_HOLDERS, of all banks; they are sorted
 */
int live_add_holders(struct live_list *list, struct drm_npumem_holder *holders, uint32_t count);
/** live_find_number() - the client of that number; NULL: there is none */
const struct live_client *live_find_number(const struct live_list *list, uint64_t number);
void live_free(struct live_list *list);
