// SPDX-License-Identifier: MIT
/*
 * A program computed by jobs: one for each step, with its command, for the engine that computes;
 * and one for transfers that follow one another, for an engine that carries them out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "../../monotonic/monotonic.h"
#include "device.h"
#include "program.h"
#include "weights.h"

/* The driver ends a job that takes too long, so all of them end; there may be thousands. */
#define RUN_TIME (600 * SECOND)

int jobs_load(struct enforced *e, const struct program *program, const struct npumem_layout *layout,
	      struct why *why)
{
	int err;

	e->program = program;
	e->layout = layout;
	e->jobs = calloc(e->device->max_jobs, sizeof(*e->jobs));
	if (!e->jobs)
		return why_fail(why, -ENOMEM, "out of memory");
	err = weights_new(e->device->device, program, &e->weights, why);
	if (!err && e->weights)
		err = weights_bind(e->weights, e->run, why);
	return err;
}

/* Jobs of others are in the way, or ours: wait a moment, or for all of these. */
static int make_room(struct enforced *e, int64_t end, struct npumem_error *error)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int err = npumem_run_wait(e->run, npumem_deadline(RUN_TIME), error);

	nanosleep(&moment, NULL);
	return err ? err : monotonic_ns() < end ? 0 : -EBUSY;
}

/* As many at once as the driver takes, from the first on. */
static int submit(struct enforced *e, uint32_t count, struct npumem_error *error)
{
	int64_t end = npumem_deadline(JOB_TIME);
	uint32_t done = 0, part = count;
	int err = 0;

	while (done < count && !err) {
		struct npumem_submit submit = {
			.jobs = e->jobs + done,
			.job_count = part < count - done ? part : count - done,
		};

		err = npumem_run_submit(e->run, &submit, error);
		if (!err) {
			done += submit.job_count;
		} else if (err == -E2BIG && part > 1) {
			part = (part + 1) / 2;
			err = 0;
		} else if (err == -EBUSY) {
			err = make_room(e, end, error);
		}
	}
	return err;
}

/* A job that begins at a position; @next: out: the position after it. */
static int make_job(struct enforced *e, uint32_t position, uint32_t count, uint32_t *next,
		    struct drm_npumem_job *job, struct npumem_error *error)
{
	struct npumem_position at;
	int err = npumem_layout_position(e->layout, position, &at, error);

	*next = position + 1;
	if (err)
		return err;
	if (at.kind == NPUMEM_POSITION_STEP) {
		*job = npumem_job_positions(e->device->engine, position, 1,
					    e->program->commands[at.index],
					    (uint32_t)e->program->sizes[at.index]);
		return 0;
	}
	while (*next < count && !npumem_layout_position(e->layout, *next, &at, error) &&
	       at.kind != NPUMEM_POSITION_STEP)
		++*next;
	*job = npumem_job_positions(e->device->transfer_engine, position, *next - position, NULL,
				    0);
	return 0;
}

/* With the names of what the driver cites by number. */
static int fail(const struct enforced *e, int err, const struct npumem_error *error,
		struct why *why)
{
	char names[512];

	npuplan_verdict_names(e->program->graph, &error->verdict, names, sizeof(names));
	return why_fail(why, err, "%s%s%s", error->text, *names ? "; " : "", names);
}

int jobs_run(struct enforced *e, struct why *why)
{
	uint32_t count = npumem_layout_count(e->layout, NPUMEM_PLAN_SECTION_SCHEDULE);
	struct npumem_error error = { 0 };
	uint32_t position = 0, jobs = 0;
	int err = 0;

	while (position < count && !err) {
		err = make_job(e, position, count, &position, &e->jobs[jobs], &error);
		if (!err && (++jobs == e->device->max_jobs || position == count)) {
			err = submit(e, jobs, &error);
			jobs = 0;
		}
	}
	if (!err) {
		err = npumem_run_wait(e->run, npumem_deadline(RUN_TIME), &error);
	} else {
		struct npumem_error later = { 0 };

		/* What was submitted before has to end before a next inference begins. */
		npumem_run_wait(e->run, npumem_deadline(RUN_TIME), &later);
	}
	return err ? fail(e, err, &error, why) : 0;
}
