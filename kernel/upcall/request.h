/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plan requests, shared by upcall.c (their life), upcall/queue.c (whose turn it
 * is), upcall/fd.c (the descriptor that the daemon gets) and upcall/netlink.c (netlink).
 */
#ifndef NPUMEM_UPCALL_REQUEST_H
#define NPUMEM_UPCALL_REQUEST_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "npumem_netlink.h"
#include "npumem_request.h"
#include "upcall.h"

struct mem_cgroup;
struct npu_queue_user;
struct sock;

enum npu_request_state {
	NPUMEM_REQUEST_WAITING, /* for the daemon to accept it */
	NPUMEM_REQUEST_ACCEPTED,
	NPUMEM_REQUEST_CLAIMED, /* it is being settled, or has been */
};

/**
 * struct npu_request - one PLAN_REQUEST
 * @ref: the list, the deadline's work, the verifier's and the request fd hold one each
 * @link: in the list of requests that are not yet claimed
 * @waiting: in its requester's list, oldest first, while it waits
 * @requester: the open file whose requests it counts among, until it is claimed
 * @state: guarded by the upcall's lock; likewise @file
 * @error: what it is settled with, from being claimed on
 * @file: open file of the fd that the daemon has, only to be compared; no reference
 * @id: unique while the module is loaded
 * @graph: kept until the request is freed: the fd may be mapped
 * @client: is charged for @options; referenced
 * @options: likewise kept; __vmalloc()'ed in whole pages, zero past @options_size; NULL for none
 * @options_size: bytes of the options
 * @cut: the daemon may answer with a graph of its own
 * @dev: kept, as is @plan, until it is settled
 * @plan: PENDING plan that it will settle
 * @out: gets @fence when it is settled, and has none before
 * @fence: seen by nobody before it is signalled
 * @memcg: the requester's, which the answer and the plan are charged to; may be NULL
 * @expiry: settles it with ETIMEDOUT
 * @verify: settles it with what the verifier says
 * @deadline_ns: CLOCK_MONOTONIC
 * @arena_budget: bytes, or 0
 * @objective: enum drm_npumem_objective
 * @planner: name of the planner asked for, may be empty
 * @daemon_pid: pid of the process that sent DONE
 * @settled: the outcome may be read; what follows is constant then
 * @answered: DONE has come
 * @graph_size: bytes of the graph that the answer begins with, as DONE said, or zero
 * @wait: for @settled
 * @verdict: of the verifier
 * @text: room for the outcome's message, of an answered request
 * @reason: the outcome's message: @text or a constant
 * @answer_lock: guards what follows; nothing waits for memory or user space under it
 * @answer: plan blob as far as the daemon has written it
 * @answer_size: bytes written
 * @answer_room: bytes allocated
 * @answer_closed: it was taken for verification or dropped
 */
struct npu_request {
	struct kref ref;
	struct list_head link;
	struct list_head waiting;
	struct npu_requester *requester;
	enum npu_request_state state;
	u32 error;
	struct file *file;
	u64 id;
	struct npu_graph *graph;
	struct npu_client *client;
	void *options;
	u64 options_size;
	bool cut;
	struct npu_device *dev;
	struct npu_plan *plan;
	struct npu_out_sync out;
	struct dma_fence *fence;
	struct mem_cgroup *memcg;
	struct delayed_work expiry;
	struct work_struct verify;
	s64 deadline_ns;
	u64 arena_budget;
	u32 objective;
	char planner[32];
	pid_t daemon_pid;

	bool settled;
	bool answered;
	u64 graph_size;
	wait_queue_head_t wait;
	struct npumem_verdict verdict;
	char *text;
	const char *reason;

	struct mutex answer_lock;
	u8 *answer;
	u64 answer_size;
	u64 answer_room;
	bool answer_closed;
};

/* upcall.c */

/* Make a socket the daemon's. -EBUSY: another one is registered. */
int npumem_upcall_register(struct sock *sk, u32 portid);
/* A socket with that portid was closed. If it is the daemon's, settle all requests. */
void npumem_upcall_unregister(u32 portid);
bool npumem_upcall_is_daemon(const struct sock *sk);

/* Accept the request whose turn it is, and return it with a reference; or NULL. */
struct npu_request *npumem_request_accept(void);
/* The daemon could not be told of the request: it waits again, and comes next. */
void npumem_request_unaccept(struct npu_request *req);
/* The daemon is about to get this file for the request. */
void npumem_request_opened(struct npu_request *req, struct file *file);
/* That file has been released: settle the request with ECONNRESET, if it is not settled. */
void npumem_request_closed(struct npu_request *req, struct file *file);
/**
 * struct npu_request_done - how the daemon settles a request
 * @id: of the request
 * @status: positive errno, or zero: the answer was written
 * @graph_size: bytes of the graph that the answer begins with, or zero
 * @text: kmalloc'ed room of NPUMEM_MAX_MESSAGE + 1 bytes with the daemon's message
 */
struct npu_request_done {
	u64 id;
	u32 status;
	u64 graph_size;
	char *text;
};

/*
 * Settle an accepted request as the daemon says. With status zero a work verifies the
 * answer and settles the request with the outcome. -ENOENT: there is no such request (any
 * more). -EINVAL: a graph that was not asked for. The request owns the text if 0 is returned.
 */
int npumem_request_done(const struct npu_request_done *done);
void npumem_request_get(struct npu_request *req);
void npumem_request_put(struct npu_request *req);

/* upcall/queue.c, all under the upcall's lock */

/* Whether the requester may have another request: 0, or -EBUSY. */
int npumem_queue_admit(const struct npu_requester *requester);
/* Add a request that was admitted. It waits behind the others of its requester. */
void npumem_queue_add(struct npu_request *req, struct npu_requester *requester);
/* Take the request whose turn it is from those that wait; or NULL. */
struct npu_request *npumem_queue_next(void);
/* Undo npumem_queue_next(): the request waits again, and comes next. */
void npumem_queue_return(struct npu_request *req);
/* A request is about to be settled, and does not count among its requester's any more. */
void npumem_queue_remove(struct npu_request *req);
/*
 * A requester joins when its file is opened and leaves when that is closed. Both return
 * memory that the caller frees once it has released the lock, or NULL.
 */
struct npu_queue_user *npumem_queue_join(struct npu_requester *requester);
struct npu_queue_user *npumem_queue_leave(struct npu_requester *requester);
/* Allocate a requester, which has not joined yet; or NULL. Not to be called under the lock. */
struct npu_requester *npumem_requester_alloc(kuid_t uid);

/* upcall/fd.c */

/* Make a file, with a reference on the request. It is in no descriptor table yet. */
struct file *npumem_request_file(struct npu_request *req);
/* Take the answer from the request and refuse further writes. NULL if there is no answer. */
void *npumem_request_take_answer(struct npu_request *req, u64 *size);

/* upcall/netlink.c */

int npumem_upcall_nl_init(void);
void npumem_upcall_nl_exit(void);
/* Multicast READY, which tells the daemon that requests wait. */
void npumem_upcall_nl_ready(void);

#endif /* NPUMEM_UPCALL_REQUEST_H */
