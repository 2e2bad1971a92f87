/* SPDX-License-Identifier: MIT */
/*
 * What all files of libnpuplan share: errors, options, arrays and labels.
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
 * npuplan_take_options() - options as this version has them
 * @own: out: what was given, continued by zeros
 * @given: the caller's, of @size bytes; may be NULL
 * @size: see @given
 * @error: may be NULL
 *
 * -E2BIG: something is asked for that this version does not know.
 */
int npuplan_take_options(struct npuplan_options *own, const struct npuplan_options *given,
			 size_t size, struct npuplan_error *error);

/* -E2BIG and its sentence: @what is of a later version, and asks for what this one has not. */
int npuplan_fail_later(struct npuplan_error *error, const char *what);

/** npuplan_format_bytes() - "1.8 MiB", "512 B"; for messages */
const char *npuplan_format_bytes(uint64_t bytes, char text[32]);

/* Greatest common divisor; of 0 and another number that one. */
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

/* Name of a tensor or step for messages: its own, or "tensor 3", "step 3". */
const char *npuplan_tensor_label(const struct npuplan_graph *graph, uint32_t tensor, char text[96]);
const char *npuplan_step_label(const struct npuplan_graph *graph, uint32_t step, char text[96]);

/* The first line of the verifier's log is the error's text. */
int npuplan_fail_verdict(struct npuplan_error *error, int err, const char *what, const char *log);
