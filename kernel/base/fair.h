/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shares of an engine's time: who has had how much, and who has jobs that wait.
 * job/fairq.c gives the turns.
 */
#ifndef NPUMEM_FAIR_H
#define NPUMEM_FAIR_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>

struct npu_job;

/**
 * struct npu_fair_node - one among others that take turns
 * @node: in a tree by @vtime, while it has jobs that wait
 * @vtime: ns of engine time that it has had, or would have had, had it never been idle
 */
struct npu_fair_node {
	struct rb_node node;
	u64 vtime;
};

/**
 * struct npu_fair_set - those that take turns
 * @tree: of struct npu_fair_node that have jobs waiting
 * @floor: of the one that had the last turn: who has been idle begins there
 */
struct npu_fair_set {
	struct rb_root_cached tree;
	u64 floor;
};

/**
 * struct npu_fair_user - what a user has of one engine
 * @base: among the engine's users
 * @clients: that take turns when it is this user's
 */
struct npu_fair_user {
	struct npu_fair_node base;
	struct npu_fair_set clients;
};

/**
 * struct npu_fair_client - what a client has of one engine
 * @base: among its user's clients
 * @user: whose
 * @jobs: that wait, in the order in which they became ready
 */
struct npu_fair_client {
	struct npu_fair_node base;
	struct npu_fair_user *user;
	struct list_head jobs;
};

/**
 * struct npu_fairq - queue of one engine
 * @lock: guards all of this and of the users' and clients' shares; any context
 * @users: that have jobs waiting
 * @current_job: whose turn it is, or NULL; then nobody waits
 * @since: when that began
 * @index: of the engine
 */
struct npu_fairq {
	spinlock_t lock;
	struct npu_fair_set users;
	struct npu_job *current_job;
	ktime_t since;
	u32 index;
};

void npumem_fair_user_init(struct npu_fair_user *user);
void npumem_fair_client_init(struct npu_fair_client *client, struct npu_fair_user *user);
void npumem_fairq_init(struct npu_fairq *q, u32 index);

/*
 * Whether a user without clients has had more engine time than who comes now would
 * begin with: it owes that, and must not be forgotten meanwhile.
 */
bool npumem_fairq_owes(struct npu_fairq *q, const struct npu_fair_user *user);

#endif /* NPUMEM_FAIR_H */
