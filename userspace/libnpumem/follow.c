// SPDX-License-Identifier: MIT
/* Plans asked for again, in the hope of a better one. */
#include "follow.h"

#include <errno.h>
#include <stdlib.h>

#include "../monotonic/monotonic.h"
#include "layout.h"

int npumem_follow_new_sized(struct npumem_graph *graph, const struct npumem_request *request,
			    size_t request_size, int64_t interval, struct npumem_follow **out,
			    struct npumem_error *error)
{
	struct npumem_follow *follow;
	int err;

	if (!graph || !request || !out)
		return npumem_fail(error, -EINVAL, "npumem_follow_new: NULL argument");
	if (interval < 0 || interval > NPUMEM_FOLLOW_MAX_NS)
		return npumem_fail(error, -EINVAL,
				   "plans are asked for again after 0 to %lld ns, not %lld",
				   NPUMEM_FOLLOW_MAX_NS, (long long)interval);
	follow = calloc(1, sizeof(*follow));
	if (!follow)
		return npumem_fail_errno(error, -ENOMEM, "follow a plan");
	err = npumem_asked_init(&follow->asked, request, request_size, error);
	if (err) {
		npumem_asked_fini(&follow->asked);
		free(follow);
		return err;
	}
	follow->graph = npumem_graph_get(graph);
	follow->interval = interval ? interval : NPUMEM_FOLLOW_NS;
	follow->wait = follow->interval;
	follow->next = monotonic_ns() + follow->wait;
	follow->patience = follow->asked.args.deadline_ns - monotonic_ns();
	*out = follow;
	return 0;
}

void npumem_follow_free(struct npumem_follow *follow)
{
	if (!follow)
		return;
	npumem_plan_free(follow->pending);
	npumem_graph_free(follow->graph);
	npumem_asked_fini(&follow->asked);
	free(follow);
}

/* ------------------------------------------------------------------- comparing */

/*
 * struct cost - the less the better
 * @moved: bytes that transfers move, all of them once
 * @arena: bytes of the arena
 * @host: bytes of host memory
 */
struct cost {
	uint64_t moved;
	uint64_t arena;
	uint64_t host;
};

/* What the verified schedule moves; what the plan says of itself nobody has verified. */
static int find_moved(struct npumem_plan *plan, uint64_t *moved, struct npumem_error *error)
{
	struct npumem_layout *layout;
	int err = npumem_plan_layout(plan, &layout, error);

	if (err)
		return err;
	*moved = 0;
	for (uint32_t i = 0; i < layout->position_count; i++)
		if (layout->positions[i].kind != NPUMEM_POSITION_DROP)
			*moved += layout->positions[i].length;
	npumem_layout_free(layout);
	return 0;
}

static int find_cost(struct npumem_plan *plan, struct cost *cost, struct npumem_error *error)
{
	struct npumem_plan_stats stats;
	int err = npumem_plan_get_stats(plan, &stats, error);

	if (err)
		return err;
	if (stats.state != NPUMEM_PLAN_STATE_READY)
		return npumem_fail(error, -EBUSY, "the plan that is run is not ready");
	*cost = (struct cost){ .arena = stats.arena_size, .host = stats.host_size };
	/* Without host memory nothing is moved, and the blob need not be read. */
	return stats.host_size ? find_moved(plan, &cost->moved, error) : 0;
}

static bool is_less(const struct cost *a, const struct cost *b, bool arena_first)
{
	if (arena_first && a->arena != b->arena)
		return a->arena < b->arena;
	if (a->moved != b->moved)
		return a->moved < b->moved;
	if (a->arena != b->arena)
		return a->arena < b->arena;
	return a->host < b->host;
}

static int is_better(const struct npumem_follow *follow, struct npumem_plan *made,
		     struct npumem_plan *plan, bool *better, struct npumem_error *error)
{
	struct cost now, then;
	int err = find_cost(plan, &now, error);

	if (!err)
		err = find_cost(made, &then, error);
	*better = !err &&
		  is_less(&then, &now, follow->asked.args.objective == NPUMEM_OBJECTIVE_PEAK);
	return err;
}

/* ---------------------------------------------------------------------- asking */

/* After another plan than the last time there may soon be a third; otherwise rather not. */
static void wait_again(struct npumem_follow *follow, int64_t now, const struct npumem_plan *plan)
{
	uint32_t handle = npumem_plan_handle(plan);

	if (follow->current != handle)
		follow->wait = follow->interval;
	else if (follow->wait > NPUMEM_FOLLOW_MAX_NS / 2)
		follow->wait = NPUMEM_FOLLOW_MAX_NS;
	else
		follow->wait *= 2;
	follow->current = handle;
	follow->next = now + follow->wait;
}

static int take_answer(struct npumem_follow *follow, int64_t now, struct npumem_plan *plan,
		       struct npumem_plan **better, struct npumem_error *error)
{
	struct npumem_error why = { 0 };
	struct npumem_plan *made = follow->pending;
	bool is = false;
	int err = npumem_plan_wait(made, 0, &why);

	if (err == -EINPROGRESS)
		return 0;
	follow->pending = NULL;
	wait_again(follow, now, plan);
	if (!err)
		err = is_better(follow, made, plan, &is, &why);
	if (is)
		*better = made;
	else
		npumem_plan_free(made);
	if (err && error)
		*error = why;
	return err;
}

int npumem_follow_at(struct npumem_follow *follow, int64_t now, struct npumem_plan *plan,
		     struct npumem_plan **better, struct npumem_error *error)
{
	int err;

	*better = NULL;
	if (follow->pending)
		return take_answer(follow, now, plan, better, error);
	if (now < follow->next)
		return 0;
	err = npumem_asked_send(&follow->asked, follow->graph, npumem_deadline(follow->patience),
				&follow->pending, error);
	if (err)
		wait_again(follow, now, plan);
	return err;
}

int npumem_follow_improved(struct npumem_follow *follow, struct npumem_plan *plan,
			   struct npumem_plan **better, struct npumem_error *error)
{
	if (!follow || !plan || !better)
		return npumem_fail(error, -EINVAL, "npumem_follow_improved: NULL argument");
	return npumem_follow_at(follow, monotonic_ns(), plan, better, error);
}
