// SPDX-License-Identifier: MIT
/* A plan with its run and its memory, which another plan's takes the place of. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "layout.h"

static int take_memory(struct npumem_session *s, struct npumem_error *error)
{
	struct npumem_plan_stats stats;
	int err = npumem_plan_layout(s->plan, &s->layout, error);

	if (!err)
		err = npumem_plan_get_stats(s->plan, &stats, error);
	if (!err && stats.host_size)
		err = npumem_bo_new(npumem_plan_device(s->plan), stats.host_size, NPUMEM_BO_SYSTEM,
				    0, &s->host, error);
	if (!err)
		err = npumem_run_new(s->plan, s->bank, s->host, &s->run, error);
	if (!err)
		err = npumem_run_map(s->run, s->host, &s->maps, error);
	return err;
}

/* All but the plan, which may be the caller's. */
static void give_back(struct npumem_session *s)
{
	npumem_run_free(s->run);
	npumem_bo_free(s->host);
	npumem_layout_free(s->layout);
}

int npumem_session_init(struct npumem_session *session, struct npumem_plan *plan, uint32_t bank,
			struct npumem_error *error)
{
	int err;

	if (!session || !plan)
		return npumem_fail(error, -EINVAL, "npumem_session_init: NULL argument");
	*session = (struct npumem_session){ .plan = plan, .bank = bank };
	err = take_memory(session, error);
	if (err) {
		give_back(session);
		*session = (struct npumem_session){ 0 };
	}
	return err;
}

void npumem_session_fini(struct npumem_session *session)
{
	if (!session)
		return;
	give_back(session);
	npumem_plan_free(session->plan);
	*session = (struct npumem_session){ 0 };
}

/* -------------------------------------------------------------------- carrying over */

/* struct valid - what is valid when an inference begins: @count ranges by tensor and byte */
struct valid {
	struct npumem_range *ranges;
	uint32_t count;
};

static int find_valid(const struct npumem_layout *layout, struct valid *valid,
		      struct npumem_error *error)
{
	struct npumem_error why = { 0 };
	int err = npumem_layout_entry(layout, 0, NPUMEM_NONE, &valid->ranges, &valid->count, &why);

	/* Of constants that are outside of the arena alone something can be computed, too. */
	if (err == -ENOENT) {
		*valid = (struct valid){ 0 };
		return 0;
	}
	if (err && error)
		*error = why;
	return err;
}

/* The bytes that both ranges have, from one place to the other. */
static void copy_common(const struct npumem_range *from, const struct npumem_maps *from_maps,
			const struct npumem_range *to, const struct npumem_maps *to_maps)
{
	const char *source = npumem_range_address(from, from_maps);
	char *target = npumem_range_address(to, to_maps);
	uint64_t first = from->first > to->first ? from->first : to->first;
	uint64_t from_end = from->first + from->length, to_end = to->first + to->length;
	uint64_t end = from_end < to_end ? from_end : to_end;

	if (source && target && first < end)
		memcpy(target + (first - to->first), source + (first - from->first), end - first);
}

/* Whether a range ends before another one does, which may have common bytes with the next one. */
static bool ends_first(const struct npumem_range *a, const struct npumem_range *b)
{
	if (a->tensor != b->tensor)
		return a->tensor < b->tensor;
	return a->first + a->length < b->first + b->length;
}

static int carry_over(const struct npumem_session *old, const struct npumem_session *next,
		      struct npumem_error *error)
{
	struct valid from = { 0 }, to = { 0 };
	uint32_t i = 0, k = 0;
	int err = find_valid(old->layout, &from, error);

	if (!err)
		err = find_valid(next->layout, &to, error);
	while (!err && i < from.count && k < to.count) {
		const struct npumem_range *a = &from.ranges[i], *b = &to.ranges[k];

		if (a->tensor == b->tensor)
			copy_common(a, &old->maps, b, &next->maps);
		if (ends_first(a, b))
			i++;
		else
			k++;
	}
	free(from.ranges);
	free(to.ranges);
	return err;
}

/* A plan of another model would be carried the wrong bytes, in silence. */
static int check_same(const struct npumem_layout *old, const struct npumem_layout *next,
		      struct npumem_error *error)
{
	uint32_t count = old->tensor_count < next->tensor_count ? old->tensor_count :
								  next->tensor_count;

	for (uint32_t t = 0; t < count; t++)
		if (old->tensors[t].kind != next->tensors[t].kind ||
		    old->tensors[t].size != next->tensors[t].size)
			return npumem_fail(error, -EINVAL,
					   "tensor %u of the better plan is another one than that "
					   "of the plan that is run",
					   t);
	return 0;
}

static int check_idle(const struct npumem_session *session, struct npumem_error *error)
{
	struct npumem_error why = { 0 };
	int err = npumem_bo_wait(npumem_run_arena(session->run), 0, &why);

	if (err == -ETIMEDOUT)
		return npumem_fail(error, -EBUSY,
				   "a job of the run is under way: swap between two inferences");
	if (err && error)
		*error = why;
	return err;
}

int npumem_session_swap(struct npumem_session *session, struct npumem_plan *better,
			npumem_session_fill fill, void *userdata, struct npumem_error *error)
{
	struct npumem_session next;
	int err;

	if (!session || !session->run || !better)
		return npumem_fail(error, -EINVAL, "npumem_session_swap: NULL argument");
	err = check_idle(session, error);
	if (!err)
		err = npumem_session_init(&next, better, session->bank, error);
	if (err)
		return err;
	err = check_same(session->layout, next.layout, error);
	if (!err)
		err = carry_over(session, &next, error);
	if (!err && fill)
		err = fill(&next, userdata, error);
	if (err) {
		give_back(&next);
		return err;
	}
	npumem_session_fini(session);
	*session = next;
	return 0;
}

int npumem_session_improved(struct npumem_session *session, struct npumem_follow *follow,
			    npumem_session_fill fill, void *userdata, bool *swapped,
			    struct npumem_error *error)
{
	struct npumem_plan *better;
	int err;

	if (!session || !session->plan || !swapped)
		return npumem_fail(error, -EINVAL, "npumem_session_improved: NULL argument");
	*swapped = false;
	err = npumem_follow_improved(follow, session->plan, &better, error);
	if (err || !better)
		return err;
	err = npumem_session_swap(session, better, fill, userdata, error);
	if (err)
		npumem_plan_free(better);
	*swapped = !err;
	return err;
}
