/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared arenas: carveout BOs that runs take turns with.
 */
#ifndef NPUMEM_SHARED_H
#define NPUMEM_SHARED_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct npu_bo;
struct npu_client;

/**
 * struct npu_shared - who has a shared arena, and who waits for it
 * @bo: the arena; it owns this
 * @lock: guards all below, and all of &struct npu_place. Page faults take it
 * @line: of struct npu_place, those that wait, in the order in which they came
 * @turn: whose turn it is, or NULL
 * @open: client whose files may map bytes now, or NULL; it is that of @turn
 * @last: client whose bytes are in the arena, referenced; NULL if they are nobody's
 * @dirty: there may be bytes other than zero in the arena
 */
struct npu_shared {
	struct npu_bo *bo;
	struct mutex lock;
	struct list_head line;
	struct npu_place *turn;
	const struct npu_client *open;
	struct npu_client *last;
	bool dirty;
};

/**
 * struct npu_place - a run's place in the line for a shared arena
 * @node: in &npu_shared.line, or empty
 * @waits: a call waits in it. One that was interrupted leaves the run its place, but
 *	those behind it go first meanwhile
 * @until: CLOCK_MONOTONIC nanoseconds, until when it is kept without a call
 * @context: first one of the NPUMEM_MAX_ENGINES contexts of fences of the run's jobs
 * @error: negative errno for all that wait or will, or zero
 * @woken: when the turn has come, or @error is set
 */
struct npu_place {
	struct list_head node;
	bool waits;
	s64 until;
	u64 context;
	int error;
	struct completion woken;
};

/* ERR_PTR: -ENOMEM. */
struct npu_shared *npumem_shared_create(struct npu_bo *bo);
void npumem_shared_destroy(struct npu_shared *shared); /* or NULL; nobody is in the line */

void npumem_place_init(struct npu_place *place, u64 context);

/**
 * npumem_shared_begin() - wait for the turn, and make the arena ready
 * @shared: shared arena
 * @place: of the run whose turn it is to be, not in two lines
 * @client: whose run it is
 * @deadline_ns: CLOCK_MONOTONIC nanoseconds; a past time polls
 *
 * What another client has left in the arena is zero when this returns 0, and files of
 * @client may map its bytes.
 *
 * Return: 0, -EALREADY (it has the turn), -EBUSY (another call waits in that place),
 * -ETIMEDOUT, -ERESTARTSYS, -EINTR (a fatal signal came while the arena was filled with
 * zeroes), -ENODEV, or what npumem_shared_cancel() was told.
 */
int npumem_shared_begin(struct npu_shared *shared, struct npu_place *place,
			struct npu_client *client, s64 deadline_ns);

/*
 * The turn ends, or the place in the line is given up, if there is any. No job accesses the
 * arena any more. All mappings are gone on return, and the next in the line has the turn.
 */
void npumem_shared_end(struct npu_shared *shared, struct npu_place *place);

/*
 * Wait for the jobs of the run whose turn it is. Other fences of the arena are nobody's: whoever
 * has its dma-buf can put some there. Returns as dma_resv_wait_timeout().
 */
long npumem_shared_wait(struct npu_shared *shared, long timeout);

/* Who waits in that place shall not, with a negative errno, nor shall anybody later. */
void npumem_shared_cancel(struct npu_shared *shared, struct npu_place *place, int error);

#endif /* NPUMEM_SHARED_H */
