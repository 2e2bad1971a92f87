/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clients: who holds how much of a device, and how much each may hold.
 */
#ifndef NPUMEM_CLIENT_H
#define NPUMEM_CLIENT_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/uidgid.h>

#include "drv.h"
#include "fair.h"

struct seq_file;
struct npu_user;

/**
 * enum npu_resource - resource that a user has a share of, and errno when the share is spent
 * @NPUMEM_RESOURCE_MEMORY: bytes of kernel memory that graphs, plans and runs keep;
 *	-EDQUOT
 * @NPUMEM_RESOURCE_HANDLES: GEM handles; -EMFILE
 * @NPUMEM_RESOURCE_BINDINGS: external tensors that are bound to a BO; -EMFILE
 * @NPUMEM_RESOURCE_JOBS: jobs submitted that have not ended; -EBUSY. One file has
 *	NPUMEM_MAX_CLIENT_JOBS at most, whoever its user is
 * @NPUMEM_RESOURCE_WAITS: fences of others that jobs wait for, each as often as one does; -EBUSY
 * @NPUMEM_RESOURCE_ENGINES: engines in a process that are attached; -EMFILE
 * @NPUMEM_RESOURCE_CARVEOUT: bytes of bank 0, and so on for each bank; -ENOSPC
 * @NPUMEM_RESOURCES: number of them
 */
enum npu_resource {
	NPUMEM_RESOURCE_MEMORY,
	NPUMEM_RESOURCE_HANDLES,
	NPUMEM_RESOURCE_BINDINGS,
	NPUMEM_RESOURCE_JOBS,
	NPUMEM_RESOURCE_WAITS,
	NPUMEM_RESOURCE_ENGINES,
	NPUMEM_RESOURCE_CARVEOUT,
	NPUMEM_RESOURCES = NPUMEM_RESOURCE_CARVEOUT + NPUMEM_MAX_BANKS,
};

/**
 * struct npu_use - what a client has had of an engine since it was opened
 * @ns: time of its jobs that have ended; of several at a time none counts twice
 * @jobs: number of them
 */
struct npu_use {
	u64 ns;
	u64 jobs;
};

/**
 * struct npu_client - one open file, as its objects know it
 * @ref: the file and everything charged to it hold one each: a plan that a run
 *	keeps is charged to the file that made it, long after that is closed
 * @user: whose file it is; all files of a user have one share together
 * @number: its index in &npu_device.clients
 * @pid: process that opened the file; referenced
 * @comm: name of that process when it opened the file
 * @gid: effective group of that process
 * @cgroup: path of its control group of version 2, NPUMEM_MAX_CGROUP bytes of it at most; NULL
 *	where there is none
 * @used: amount of each resource that this file holds
 * @since_ns: CLOCK_MONOTONIC nanoseconds since when it has held some of each bank without
 *	a break
 * @engines: its share of each engine's time, at each level
 * @use: of each engine; guarded by the lock of the engine's queue
 * @moved: bytes that transfers of its runs have moved
 */
struct npu_client {
	struct kref ref;
	struct npu_user *user;
	u32 number;
	struct pid *pid;
	char comm[TASK_COMM_LEN];
	kgid_t gid;
	char *cgroup;
	atomic64_t used[NPUMEM_RESOURCES];
	s64 since_ns[NPUMEM_MAX_BANKS];
	struct npu_fair_client engines[NPUMEM_MAX_ENGINES][NPU_LEVELS];
	struct npu_use use[NPUMEM_MAX_ENGINES];
	atomic64_t moved;
};

/* Make the client of a file that the current process opens, with a reference. ERR_PTR: -ENOMEM. */
struct npu_client *npumem_client_create(struct npu_device *dev);
struct npu_client *npumem_client_get(struct npu_client *client);
void npumem_client_put(struct npu_client *client); /* or NULL. Any context that may sleep */

/**
 * npumem_client_charge() - charge a client for a resource, if its user's share has room
 * @client: the one who will hold it
 * @resource: which, of &enum npu_resource; each bank has a number of its own
 * @amount: bytes, or number of objects
 *
 * The caller keeps a reference on the client until it has given all of it back with
 * npumem_client_uncharge(). Any context, whoever current is.
 *
 * Return: 0, or the resource's errno (see &enum npu_resource).
 */
int npumem_client_charge(struct npu_client *client, unsigned int resource, u64 amount);
void npumem_client_uncharge(struct npu_client *client, unsigned int resource, u64 amount);

/*
 * Around a verification. It needs many times the memory that its result keeps, so a user
 * has one under way at a time (users without limits have as many as they like). The caller
 * touches no user memory in between: a page fault would keep other processes of this user
 * waiting. -EINTR: the caller was killed while it waited for another verification.
 */
int npumem_client_begin_verify(struct npu_client *client);
void npumem_client_end_verify(struct npu_client *client);

/*
 * Whether a mistake of the client may be multicast. If its user has made too many of late
 * it may not, and is counted as suppressed. Any context.
 */
bool npumem_client_may_tell(struct npu_client *client);

/* The most that the client's user may have of a resource; U64_MAX if there is no limit. */
u64 npumem_client_limit(const struct npu_client *client, unsigned int resource);

/* The uid of the user that opened the file. */
kuid_t npumem_client_uid(const struct npu_client *client);

/*
 * The client with that number, or else the one with the next, referenced; the number is
 * told. NULL: there is none.
 */
struct npu_client *npumem_client_next(struct npu_device *dev, unsigned long *number);

/* What a client has had of engine @index so far. Any context. */
struct npu_use npumem_client_use(struct npu_device *dev, const struct npu_client *client,
				 u32 index);

int npumem_clients_init(struct npu_device *dev); /* at probe; -ENOMEM */
/* For debugfs: print what each user holds, and the most that it may hold. */
void npumem_clients_show(struct npu_device *dev, struct seq_file *m);

#endif /* NPUMEM_CLIENT_H */
