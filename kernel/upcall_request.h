/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plan requests, shared by upcall.c (their life), upcall_fd.c (the descriptor
 * that the daemon gets) and upcall_nl.c (netlink).
 */
#ifndef NPUMEM_UPCALL_REQUEST_H
#define NPUMEM_UPCALL_REQUEST_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "npumem_netlink.h"
#include "upcall.h"

enum npumem_request_state {
	NPUMEM_REQUEST_WAITING, /* for the daemon to accept it */
	NPUMEM_REQUEST_ACCEPTED,
	NPUMEM_REQUEST_CLAIMED, /* somebody settles it, or has */
};

/**
 * struct npumem_request - one PLAN_REQUEST
 * @ref: the list, the deadline's work and the request fd hold one each
 * @link: in the list of those not yet claimed, oldest first
 * @state: guarded by the upcall's lock; likewise @file
 * @error: what it is settled with, from being claimed on
 * @file: of the fd that the daemon has, to know it by; no reference
 * @id: unique while the module is loaded
 * @graph: kept until the request is freed: the fd may be mapped
 * @dev: kept, as is @plan, until it is settled
 * @plan: that waits for it
 * @fence: signalled once, when it is settled
 * @expiry: settles it with ETIMEDOUT
 * @deadline_ns: CLOCK_MONOTONIC
 * @arena_budget: bytes, or 0
 * @objective: enum drm_npumem_objective
 * @planner: name asked for, may be empty
 * @answer_lock: guards what follows
 * @answer: plan blob as far as the daemon has written it
 * @answer_size: bytes written
 * @answer_room: bytes allocated
 * @answer_closed: it was taken for verification or dropped
 */
struct npumem_request {
	struct kref ref;
	struct list_head link;
	enum npumem_request_state state;
	u32 error;
	struct file *file;
	u64 id;
	struct npumem_graph *graph;
	struct npumem_device *dev;
	struct npumem_plan *plan;
	struct dma_fence *fence;
	struct delayed_work expiry;
	s64 deadline_ns;
	u64 arena_budget;
	u32 objective;
	char planner[32];

	struct mutex answer_lock;
	u8 *answer;
	u64 answer_size;
	u64 answer_room;
	bool answer_closed;
};

/**
 * struct npumem_outcome - how a request that DONE settled has ended
 * @error: positive errno, or zero
 * @verdict: its rule is NPUMEM_RULE_NONE unless the verifier refused the plan
 * @message: reason, NUL-terminated
 */
struct npumem_outcome {
	u32 error;
	struct npumem_verdict verdict;
	char message[NPUMEM_MAX_MESSAGE + 1];
};

/* upcall.c */

/* -EBUSY while another socket is registered. */
int npumem_upcall_register(u32 portid);
/* Settles all requests if it was this socket that is registered. */
void npumem_upcall_unregister(u32 portid);
bool npumem_upcall_is_daemon(u32 portid);

/* The oldest request that waits, now accepted, and a reference; or NULL. */
struct npumem_request *npumem_request_accept(void);
/* The daemon could not be told: it waits again. */
void npumem_request_unaccept(struct npumem_request *req);
/* The daemon is about to have this file. */
void npumem_request_opened(struct npumem_request *req, struct file *file);
/* It has closed it: settle with ECONNRESET what is not settled. */
void npumem_request_closed(struct npumem_request *req, struct file *file);
/*
 * Settle an accepted request as the daemon says. 0 if it was settled here, the
 * outcome says how; -ENOENT if there is no such request (any more).
 */
int npumem_request_done(u64 id, u32 status, const char *message, struct npumem_outcome *outcome);
void npumem_request_get(struct npumem_request *req);
void npumem_request_put(struct npumem_request *req);

/* upcall_fd.c */

/* A file with a reference on the request; not in any table yet. */
struct file *npumem_request_file(struct npumem_request *req);
/* Take the answer away and let nothing more be written. NULL if there is none. */
void *npumem_request_take_answer(struct npumem_request *req, u64 *size);

/* upcall_nl.c */

int npumem_upcall_nl_init(void);
void npumem_upcall_nl_exit(void);
/* Multicast READY. */
void npumem_upcall_nl_ready(void);

#endif /* NPUMEM_UPCALL_REQUEST_H */
