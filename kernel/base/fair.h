/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shares of an engine's time: how much each user and client has had, and which of them have
 * jobs that wait. job/fairq.c gives the turns.
 */
#ifndef NPUMEM_FAIR_H
#define NPUMEM_FAIR_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>

struct npu_job;

/**
 * enum npu_level - of a run's jobs: whoever waits at one goes before all at those after it
 * @NPU_LEVEL_HIGH: NPUMEM_PRIORITY_HIGH
 * @NPU_LEVEL_NORMAL: NPUMEM_PRIORITY_NORMAL
 * @NPU_LEVEL_LOW: NPUMEM_PRIORITY_LOW
 * @NPU_LEVELS: number of them
 */
enum npu_level {
	NPU_LEVEL_HIGH,
	NPU_LEVEL_NORMAL,
	NPU_LEVEL_LOW,
	NPU_LEVELS,
};

/**
 * struct npu_fair_node - a user or client, as one of several that take turns
 * @node: in a tree by @vtime, while it has jobs that wait
 * @vtime: ns of engine time that it has had, or would have had, had it never been idle
 */
struct npu_fair_node {
	struct rb_node node;
	u64 vtime;
};

/**
 * struct npu_fair_set - users, or clients of one user, that take turns
 * @tree: of struct npu_fair_node that have jobs waiting
 * @min_vtime: vtime of the one that had the last turn. One that has been idle begins there
 */
struct npu_fair_set {
	struct rb_root_cached tree;
	u64 min_vtime;
};

/**
 * struct npu_fair_user - a user's share of one engine at one level
 * @base: its place among the engine's users
 * @clients: its clients, which take turns when it is this user's turn
 */
struct npu_fair_user {
	struct npu_fair_node base;
	struct npu_fair_set clients;
};

/**
 * struct npu_fair_client - a client's share of one engine at one level
 * @base: its place among its user's clients
 * @user: the user that opened this client's file
 * @jobs: jobs that wait, in the order in which they became ready
 */
struct npu_fair_client {
	struct npu_fair_node base;
	struct npu_fair_user *user;
	struct list_head jobs;
};

/**
 * struct npu_fairq - queue of one engine
 * @lock: guards all of this and of the users' and clients' shares; any context
 * @users: users that have jobs waiting, at each level
 * @running: number of jobs whose turn it is; while it is less than @depth no job waits
 * @depth: the most jobs whose turn it may be at a time
 * @ended_at: when the last turn ended: until then the engine's time was that of another job
 * @average_ns: about the engine time that a job takes
 * @index: of the engine
 */
struct npu_fairq {
	spinlock_t lock;
	struct npu_fair_set users[NPU_LEVELS];
	u32 running;
	u32 depth;
	ktime_t ended_at;
	u64 average_ns;
	u32 index;
};

void npumem_fair_user_init(struct npu_fair_user *user);
void npumem_fair_client_init(struct npu_fair_client *client, struct npu_fair_user *user);
void npumem_fairq_init(struct npu_fairq *q, u32 index, u32 depth);

/*
 * Whether a user without clients has had more engine time than a new user begins with. It
 * owes the difference, and must not be forgotten before others have had as much.
 */
bool npumem_fairq_owes(struct npu_fairq *q, const struct npu_fair_user levels[NPU_LEVELS]);

#endif /* NPUMEM_FAIR_H */
