/* SPDX-License-Identifier: MIT */
/*
 * Who plans a graph, has the memory for it, and is asked before each step: the driver, or the
 * driver's verifier in this process. Both take the same blobs, and refuse with a sentence that
 * names step, tensor and bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "npumem_layout.h"
#include "options.h"
#include "why.h"

/* Units of work that a search may spend: a program waits for it, a few tenths of a second. */
#define PLAN_WORK 2000000

struct enforcer;
struct program;
struct enforced;

/*
 * struct blobs - a graph, and a plan of it
 * @graph, @graph_size: graph blob
 * @plan, @plan_size: plan blob; NULL: none yet
 */
struct blobs {
	void *graph;
	size_t graph_size;
	void *plan;
	size_t plan_size;
};

/**
 * struct enforcer_ops - what a kind of enforcer does
 * @name: for people
 * @enforced_by: enum npumem_tflite_enforcer
 * @plan: have @blobs->plan made; free() it
 * @start: have the plan verified, and take memory for it. @maps: out: where it is mapped
 * @load: of ENGINE_COMPUTE: what the steps are. @program and @layout have to stay
 * @run: an inference of what was loaded: all positions of the plan's schedule, in their order
 * @bind: have a tensor of the graph, one that is external, lie in a dma-buf; NULL: nobody has to be
 *	told. dma_buf -1: bind it to nothing
 * @begin: another inference begins: from the first step on, the model's inputs are valid
 * @step: the step at a position of the plan's schedule is about to run
 * @end: an inference has ended, and its outputs have been taken from where they lay: whether the
 *	memory was there until now. NULL: it always is
 * @improved: a better plan than the one that is enforced, if somebody has one by now: free() it;
 *	NULL: there is none. It does not wait. NULL: nobody looks for better ones
 * @stop: give up an enforced plan and its memory
 * @free: give up the enforcer
 */
struct enforcer_ops {
	const char *name;
	uint32_t enforced_by;
	int (*plan)(struct enforcer *enforcer, struct blobs *blobs, struct why *why);
	int (*start)(struct enforcer *enforcer, const struct blobs *blobs,
		     struct enforced **enforced, struct npumem_maps *maps, struct why *why);
	int (*load)(struct enforced *enforced, const struct program *program,
		    const struct npumem_layout *layout, struct why *why);
	int (*run)(struct enforced *enforced, struct why *why);
	int (*bind)(struct enforced *enforced, uint32_t tensor, int dma_buf, uint64_t offset,
		    struct why *why);
	int (*begin)(struct enforced *enforced, struct why *why);
	int (*step)(struct enforced *enforced, uint32_t position, struct why *why);
	int (*end)(struct enforced *enforced, struct why *why);
	int (*improved)(struct enforced *enforced, void **plan, size_t *size, struct why *why);
	void (*stop)(struct enforced *enforced);
	void (*free)(struct enforcer *enforcer);
};

/**
 * struct enforcer - what all of them have; theirs begin with it
 * @ops: see above
 * @options: the delegate's
 */
struct enforcer {
	const struct enforcer_ops *ops;
	const struct options *options;
};

/* Plan and enforce in this process. -ENOMEM. */
int process_open(const struct options *options, struct enforcer **out, struct why *why);
/* Have a graph planned in this process, as @options want; used where only the daemon is missing. */
int process_plan(const struct options *options, struct blobs *blobs, struct why *why);

/*
 * device_open() - plan by the daemon and enforce by the driver
 *
 * -ENOENT: there is no device, or none that this process may open; -ENOTCONN: it is there, but
 * no daemon is, and @options->fallback is not to plan in this process. Others are errors.
 */
int device_open(const struct options *options, struct enforcer **out, struct why *why);

/*
 * enforcer_open() - the one that the options want
 *
 * 0 and NULL in @out: to step aside, of which a line says why. Errors are to be reported.
 */
int enforcer_open(const struct options *options, struct enforcer **out, struct why *why);

/* An inference has ended, see struct enforcer_ops. */
int enforcer_end(const struct enforcer *enforcer, struct enforced *enforced, struct why *why);
