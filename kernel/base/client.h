/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clients: who holds how much of a device, and how much each may hold.
 */
#ifndef NPUMEM_CLIENT_H
#define NPUMEM_CLIENT_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>

#include "drv.h"
#include "fair.h"

struct seq_file;
struct npu_user;

/**
 * enum npu_resource - what a client has a share of
 * @NPUMEM_RESOURCE_MEMORY: bytes of kernel memory that graphs, plans and runs keep;
 *	-EDQUOT
 * @NPUMEM_RESOURCE_HANDLES: GEM handles; -EMFILE
 * @NPUMEM_RESOURCE_BINDINGS: external tensors that are bound to a BO; -EMFILE
 * @NPUMEM_RESOURCE_JOBS: submitted that have not ended; -EBUSY. One file has
 *	NPUMEM_MAX_CLIENT_JOBS at most, whoever its user is
 * @NPUMEM_RESOURCE_CARVEOUT: bytes of bank 0, and so on for each bank; -ENOSPC
 * @NPUMEM_RESOURCES: number of them
 */
enum npu_resource {
	NPUMEM_RESOURCE_MEMORY,
	NPUMEM_RESOURCE_HANDLES,
	NPUMEM_RESOURCE_BINDINGS,
	NPUMEM_RESOURCE_JOBS,
	NPUMEM_RESOURCE_CARVEOUT,
	NPUMEM_RESOURCES = NPUMEM_RESOURCE_CARVEOUT + NPUMEM_MAX_BANKS,
};

/**
 * struct npu_client - one open file, as its objects know it
 * @ref: the file and everything charged to it hold one each: a plan that a run
 *	keeps is its owner's, long after the file is closed
 * @user: whose file it is; the share is the user's, all of whose files have it
 *	together
 * @used: of each resource, by this file
 * @engines: its share of each engine's time
 */
struct npu_client {
	struct kref ref;
	struct npu_user *user;
	atomic64_t used[NPUMEM_RESOURCES];
	struct npu_fair_client engines[NPUMEM_MAX_ENGINES];
};

/* The client of the file that current opens, referenced. ERR_PTR: -ENOMEM. */
struct npu_client *npumem_client_create(struct npu_device *dev);
struct npu_client *npumem_client_get(struct npu_client *client);
void npumem_client_put(struct npu_client *client); /* or NULL. Any context that may sleep */

/**
 * npumem_client_charge() - take so much of a resource, if the user's share has room
 * @client: who will hold it
 * @resource: what
 * @amount: bytes, or how many
 *
 * The caller keeps a reference on the client until it has given all of it back with
 * npumem_client_uncharge(). Any context, whoever current is.
 *
 * Return: 0, or the resource's errno (see &enum npu_resource).
 */
int npumem_client_charge(struct npu_client *client, unsigned int resource, u64 amount);
void npumem_client_uncharge(struct npu_client *client, unsigned int resource, u64 amount);

/*
 * Verification needs many times the memory that its result keeps, so a user has but
 * one under way (users that may exceed their share have as many as they like). Nothing
 * of user space is touched meanwhile: its other processes would wait for that.
 * -EINTR: killed while waiting for another one.
 */
int npumem_client_begin_verify(struct npu_client *client);
void npumem_client_end_verify(struct npu_client *client);

/*
 * A mistake of the client's is to be multicast: is it, or has its user made too many of
 * late? It is counted then. Any context.
 */
bool npumem_client_may_tell(struct npu_client *client);

/* What the user may have of a resource; U64_MAX: anything. */
u64 npumem_client_limit(const struct npu_client *client, unsigned int resource);

/* Who opened the file. */
kuid_t npumem_client_uid(const struct npu_client *client);

int npumem_clients_init(struct npu_device *dev); /* at probe; -ENOMEM */
/* debugfs: what each user holds, and may. */
void npumem_clients_show(struct npu_device *dev, struct seq_file *m);

#endif /* NPUMEM_CLIENT_H */
