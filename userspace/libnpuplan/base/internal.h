/* SPDX-License-Identifier: MIT */
/*
 * Functions that all folders of libnpuplan use: errors as sentences, options of another version,
 * and labels of tensors and steps.
 */
#pragma once

#include <errno.h>

#include "array.h"
#include "heap.h"
#include "npuplan.h"
#include "pool.h"

#include "verify/verify.h"

/** npuplan_fail() - fill @error (may be NULL) with a sentence; returns @err */
__attribute__((format(printf, 3, 4))) int npuplan_fail(struct npuplan_error *error, int err,
						       const char *format, ...);

/**
 * struct npuplan_taken_options - the library's copy of a caller's options
 * @all: what was asked for; its pointers to options of one planner lead to the copies below,
 *	or are NULL where the caller's are. So this struct is not to be copied
 * @cosma: planner cosma's
 * @machine: of @cosma
 * @tilesched: planner tile-scheduled's
 */
struct npuplan_taken_options {
	struct npuplan_options all;
	struct npuplan_cosma_options cosma;
	struct npuplan_machine machine;
	struct npuplan_tilesched_options tilesched;
};

/**
 * npuplan_take_options() - options as this version has them
 * @taken: out: what was given, continued by zeros
 * @given: the caller's, of @size bytes; may be NULL
 * @size: see @given
 * @error: may be NULL
 *
 * -E2BIG: something is asked for that this version does not know. -EINVAL: the options of
 * one planner do not say their size, or alignment or deadline make no sense; nobody checks these
 * two once more.
 */
int npuplan_take_options(struct npuplan_taken_options *taken, const struct npuplan_options *given,
			 size_t size, struct npuplan_error *error);

/**
 * npuplan_check_taken() - refuse what the planner that is asked does not take
 * @planner: name of the planner that is asked
 * @traits: enum npuplan_planner_trait: which options it takes
 * @options: as npuplan_take_options() took them
 * @error: may be NULL
 *
 * -EOPNOTSUPP, or 0.
 */
int npuplan_check_taken(const char *planner, uint32_t traits, const struct npuplan_options *options,
			struct npuplan_error *error);

/*
 * npuplan_take_machine() - a caller's machine as this version has it
 * @taken: out: likewise
 * @given: may be NULL
 *
 * Errors as npuplan_take_options().
 */
int npuplan_take_machine(struct npuplan_machine *taken, const struct npuplan_machine *given,
			 struct npuplan_error *error);

/* Fail with -E2BIG: @what (plural: "options") asks for something that only a later version has. */
int npuplan_fail_later(struct npuplan_error *error, const char *what);

/*
 * npuplan_format_bytes() - write bytes as messages have them, "1.8 MiB" or "512 B"; returns @text
 */
const char *npuplan_format_bytes(uint64_t bytes, char text[32]);

/* The greatest common divisor of two numbers; if one of them is 0, it is the other one. */
static inline uint64_t npuplan_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Whether a graph is one block without edges: no loops and branches. */
static inline bool npuplan_is_straight(const struct npuplan_graph *graph)
{
	return graph->block_count == 1 && !graph->edge_count;
}

/*
 * The name of a tensor or step in messages: its own, or "tensor 3", "step 3" if it has none. Both
 * may write it into @text and return it.
 */
const char *npuplan_tensor_label(const struct npuplan_graph *graph, uint32_t tensor, char text[96]);
const char *npuplan_step_label(const struct npuplan_graph *graph, uint32_t step, char text[96]);

/*
 * Fail with @err, quoting the first line of the verifier's log, or @err's name if @log is empty;
 * @what says what the verifier has refused.
 */
int npuplan_fail_verdict(struct npuplan_error *error, int err, const char *what, const char *log);
