/* SPDX-License-Identifier: MIT */
/*
 * libnpumem: plans that npumemd improves, followed by a runtime that goes on running.
 *
 * A program has its first plan soon, and npumemd may search on (npumemd.conf(5), [improve]) and
 * keep the better plan, which the next request gets. A runtime that planned once asks again
 * between two inferences: npumem_follow_improved() does so without waiting, and not too often. It
 * then runs the better plan: by npumem_session_swap(), which makes another run, carries over what
 * lasts, and gives up the old one; or by means of its own. Until all of that has succeeded the old
 * plan goes on. npumem_session_improved() is both. docs/runtime.md walks through the calls. The
 * conventions are those of npumem.h.
 */
#ifndef NPUMEM_FOLLOW_H
#define NPUMEM_FOLLOW_H

#include "npumem_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npumem_follow;

/* Nanoseconds between two requests where the caller does not say how many, and at most. */
#define NPUMEM_FOLLOW_NS     10000000000ll
#define NPUMEM_FOLLOW_MAX_NS 3600000000000ll

NPUMEM_EXPORT int npumem_follow_new_sized(struct npumem_graph *graph,
					  const struct npumem_request *request, size_t request_size,
					  int64_t interval, struct npumem_follow **out,
					  struct npumem_error *error);
/**
 * npumem_follow_new() - prepare to ask for a plan again and again
 * @graph: the graph; may be freed before what is made here
 * @request: as it was asked for; copied. Each request has as long as @request has now, from this
 *	call to its deadline
 * @interval: nanoseconds between two requests, at least; 0: NPUMEM_FOLLOW_NS
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * Nothing is asked yet. -EINVAL: NULL argument, an interval below 0 or above NPUMEM_FOLLOW_MAX_NS,
 * or what npumem_plan_request() refuses as such; -E2BIG: likewise; -ENOMEM.
 */
static inline int npumem_follow_new(struct npumem_graph *graph,
				    const struct npumem_request *request, int64_t interval,
				    struct npumem_follow **out, struct npumem_error *error)
{
	return npumem_follow_new_sized(graph, request, sizeof(*request), interval, out, error);
}
/**
 * npumem_follow_improved() - a better plan than the one that is run, if there is one now
 * @follow: of the same graph
 * @plan: ready; the one that is run
 * @better: out: the caller's, ready; NULL: there is none, as nearly always
 * @error: filled in if the call fails; may be NULL
 *
 * Never waits: one call asks, a later one finds the answer. Most calls only look at the clock. When
 * an answer was no better, the next request is made after twice the time, up to
 * NPUMEM_FOLLOW_MAX_NS; with another @plan than before after the interval again. So a plan that
 * took some time to find is had at the latest after as much again, and one that is final costs next
 * to nothing.
 *
 * Better is less: first of bytes that the plan's transfers move, then of its arena and host memory;
 * for NPUMEM_OBJECTIVE_PEAK the arena comes first. A plan of a request that cuts may be of another
 * graph (npumem_plan_graph()), and may have another order of steps in any case: jobs and commands
 * with positions are to be made anew.
 *
 * A failure is no reason to stop: @plan goes on as it is, and the next request is made after the
 * time that it would be otherwise. Errors as of npumem_plan_request() and npumem_plan_wait(), none
 * of them but at a request or its answer; -EINVAL: NULL argument; -EBUSY: @plan is not ready.
 */
NPUMEM_EXPORT int npumem_follow_improved(struct npumem_follow *follow, struct npumem_plan *plan,
					 struct npumem_plan **better, struct npumem_error *error);
/**
 * npumem_follow_free() - ask no more
 * @follow: may be NULL. A request that is under way is given up
 */
NPUMEM_EXPORT void npumem_follow_free(struct npumem_follow *follow);

/**
 * struct npumem_session - a plan, and what it takes to run it
 * @plan: ready
 * @layout: of it
 * @run: of it, with an arena of its own
 * @host: host BO of @run; NULL: the plan needs none
 * @maps: where the memory of @run is mapped
 * @bank: of the arena
 * @pad: zero
 * @reserved: room for later versions; zero
 *
 * Made by npumem_session_init(). A caller reads the fields and changes none.
 */
struct npumem_session {
	struct npumem_plan *plan;
	struct npumem_layout *layout;
	struct npumem_run *run;
	struct npumem_bo *host;
	struct npumem_maps maps;
	uint32_t bank;
	uint32_t pad;
	uint64_t reserved[4];
};

/**
 * npumem_session_init() - take memory for a ready plan
 * @session: out: zero on failure
 * @plan: the session's from then on, unless the call fails
 * @bank: carveout bank of the arena
 * @error: filled in if the call fails; may be NULL
 *
 * Errors as of npumem_plan_layout(), npumem_bo_new(), npumem_run_new() and npumem_run_map().
 */
NPUMEM_EXPORT int npumem_session_init(struct npumem_session *session, struct npumem_plan *plan,
				      uint32_t bank, struct npumem_error *error);
/**
 * npumem_session_fini() - give up what a session has, its plan too
 * @session: may be all zero
 */
NPUMEM_EXPORT void npumem_session_fini(struct npumem_session *session);

/**
 * typedef npumem_session_fill - what a runtime has to do for a run before it takes the old one's
 * place
 * @next: of the better plan. Its memory has what the old one's had, see npumem_session_swap()
 * @userdata: the caller's
 * @error: for the reason
 *
 * Bind external tensors, write what is not to be carried over, make commands and jobs. Not 0:
 * @next is given up, and the old run goes on.
 */
typedef int (*npumem_session_fill)(const struct npumem_session *next, void *userdata,
				   struct npumem_error *error);

/**
 * npumem_session_swap() - run a better plan from the next inference on
 * @session: between two inferences: no job is under way. Its maps, layout and run are others
 *	then, and addresses of the old ones are not good any more
 * @better: ready, of the same tensors; the session's from then on, unless the call fails
 * @fill: NULL: nothing is to be done
 * @userdata: for @fill
 * @error: filled in if the call fails; may be NULL
 *
 * Copies the bytes of all tensors that are valid when an inference begins, from where the old plan
 * has them to where the new one does: state in the arena, which so goes on as if nothing had
 * happened; parameters that were written once; inputs that have been written already. (Of an input,
 * or of a parameter in host memory, that the old plan has given other bytes the place of, what
 * is copied has no meaning, as it had none in the old one.) External tensors stay where they are,
 * and are bound by @fill.
 *
 * Both arenas are there for a moment, and both are charged; where there is no room for that the old
 * plan goes on. On failure the session is what it was: -EBUSY: a job is under way; -EINVAL: NULL
 * argument, or the plans are not of the same tensors; what @fill returns; otherwise as of
 * npumem_session_init().
 */
NPUMEM_EXPORT int npumem_session_swap(struct npumem_session *session, struct npumem_plan *better,
				      npumem_session_fill fill, void *userdata,
				      struct npumem_error *error);
/**
 * npumem_session_improved() - between two inferences: run a better plan, if there is one now
 * @session: as of npumem_session_swap()
 * @follow: of the graph
 * @fill: as of npumem_session_swap()
 * @userdata: for @fill
 * @swapped: out: the session has another plan
 * @error: filled in if the call fails; may be NULL
 *
 * npumem_follow_improved() and, if it has found a plan, npumem_session_swap(). The session can be
 * run in any case. -EINVAL: NULL argument; otherwise as of both.
 */
NPUMEM_EXPORT int npumem_session_improved(struct npumem_session *session,
					  struct npumem_follow *follow, npumem_session_fill fill,
					  void *userdata, bool *swapped,
					  struct npumem_error *error);

#ifdef __cplusplus
}
#endif

#endif /* NPUMEM_FOLLOW_H */
