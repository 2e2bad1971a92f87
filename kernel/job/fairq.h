/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fair queueing: whose job an engine runs next.
 */
#ifndef NPUMEM_FAIRQ_H
#define NPUMEM_FAIRQ_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>

struct dma_fence;
struct npu_job;
struct npu_run;

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
 * enum npu_turn - what a job is to its engine's queue
 * @NPUMEM_TURN_NONE: has not asked yet
 * @NPUMEM_TURN_WAITING: in a client's list of jobs
 * @NPUMEM_TURN_ITS: the engine is its until it ends
 * @NPUMEM_TURN_OVER: it is not to be run, and may go without the engine
 */
enum npu_turn {
	NPUMEM_TURN_NONE,
	NPUMEM_TURN_WAITING,
	NPUMEM_TURN_ITS,
	NPUMEM_TURN_OVER,
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

/* Fences to be signalled by npumem_fairq_wake(): of jobs that may go. */
struct npu_fairq_wake {
	struct dma_fence *cancelled;
	struct dma_fence *next;
};

void npumem_fair_user_init(struct npu_fair_user *user);
void npumem_fair_client_init(struct npu_fair_client *client, struct npu_fair_user *user);
void npumem_fairq_init(struct npu_fairq *q, u32 index);

/*
 * Whether a user without clients has had more engine time than who comes now would
 * begin with: it owes that, and must not be forgotten meanwhile.
 */
bool npumem_fairq_owes(struct npu_fairq *q, const struct npu_fair_user *user);

/*
 * A job has all that it waited for but the engine: true if it may go now. Else its
 * npumem_job.turn is signalled when it may, and it asks again.
 */
bool npumem_fairq_ask(struct npu_fairq *q, struct npu_job *job);
/*
 * A job has ended, or is not run though it was its turn (if it was not, nothing is
 * done). The next one goes when npumem_fairq_wake() is called, which is after the
 * job's own fence was signalled.
 */
void npumem_fairq_end(struct npu_fairq *q, struct npu_job *job, struct npu_fairq_wake *wake);
void npumem_fairq_wake(const struct npu_fairq_wake *wake);
/* A run has failed: its job that waits need not wait any more. Any context. */
void npumem_fairq_cancel(struct npu_fairq *q, struct npu_run *run);

#endif /* NPUMEM_FAIRQ_H */
