// SPDX-License-Identifier: MIT
#include "effort.h"

bool npuplan_effort_late(const struct npuplan_effort *effort)
{
	return effort && effort->deadline && npuplan_now() >= effort->deadline;
}

double npuplan_effort_left(const struct npuplan_effort *effort)
{
	double left;

	if (!effort || !effort->deadline)
		return 0;
	left = effort->deadline - npuplan_now();
	return left > 1e-6 ? left : 1e-6;
}

uint64_t npuplan_effort_work_left(uint64_t limit, uint64_t used, uint64_t own)
{
	if (!limit)
		return own;
	return limit > used ? limit - used : 1;
}

/*
 * The distance of the best packing to the bound, as a fraction of the bound. Of traffic it is a
 * fraction of the traffic itself, since the bound is often 0.
 */
static double gap(const struct npuplan_effort *effort, uint64_t top, uint64_t lower_bound)
{
	if (effort->traffic && top == lower_bound)
		return 0;
	if (effort->traffic)
		return top == UINT64_MAX ? 1 : (double)(top - lower_bound) / (double)top;
	if (top == UINT64_MAX || !lower_bound)
		return 0;
	return (double)(top - lower_bound) / (double)lower_bound;
}

bool npuplan_effort_tell(struct npuplan_effort *effort, uint64_t top, uint64_t lower_bound,
			 uint64_t work)
{
	struct npuplan_pack_progress progress = {
		.top = top,
		.lower_bound = lower_bound,
		.work = work,
	};

	if (!effort)
		return false;
	effort->told_at = work;
	if (effort->stopped || !effort->progress)
		return effort->stopped;
	progress.traffic = effort->traffic;
	progress.gap = gap(effort, top, lower_bound);
	progress.seconds = npuplan_effort_seconds(effort);
	effort->stopped = effort->progress(effort->context, &progress) != 0;
	return effort->stopped;
}

bool npuplan_effort_over(struct npuplan_effort *effort, uint64_t top, uint64_t lower_bound,
			 uint64_t work)
{
	if (effort && work >= effort->work_limit)
		return true;
	return npuplan_effort_late(effort) || npuplan_effort_tell(effort, top, lower_bound, work);
}

void npuplan_effort_share(struct npuplan_effort *effort, uint64_t work, uint64_t units, double part)
{
	double now = npuplan_now();

	effort->share_work = units ? work + units : UINT64_MAX;
	effort->share_deadline = effort->deadline ? now + part * (effort->deadline - now) : 0;
}

bool npuplan_effort_share_over(struct npuplan_effort *effort, uint64_t top, uint64_t lower_bound,
			       uint64_t work)
{
	if (work >= effort->work_limit)
		effort->stopped = true;
	if (effort->stopped || work >= effort->share_work)
		return true;
	if (work - effort->told_at < NPUPLAN_EFFORT_LOOK)
		return false;
	effort->stopped = npuplan_effort_over(effort, top, lower_bound, work);
	if (effort->share_deadline && npuplan_now() >= effort->share_deadline)
		effort->share_work = work;
	return effort->stopped || work >= effort->share_work;
}
