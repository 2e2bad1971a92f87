/* SPDX-License-Identifier: MIT */
/* What must hold of every graph that a reader accepts, whatever it was made from. */
#pragma once

#include "npuimport.h"

/** FUZZ_ASSERT() - abort with a sentence, so that sanitizers and fuzzers notice */
#define FUZZ_ASSERT(condition, text)                  \
	do {                                          \
		if (!(condition))                     \
			fuzz_abort(#condition, text); \
	} while (0)

void fuzz_abort(const char *condition, const char *text) __attribute__((noreturn));

/*
 * fuzz_check_graph() - written as graph JSON, read and written again it is the
 * same text; it can be cut into whole operators and into bands, and the blob of
 * that passes the kernel's structure check or is refused with a reason
 */
void fuzz_check_graph(struct npuplan_graph *graph);

/* A refusal has a reason, and no graph. */
void fuzz_check_refusal(int err, const struct npuplan_graph *graph,
			const struct npuplan_error *error);

/* Warnings add up, are bounded, and can be said. */
void fuzz_check_warnings(const struct npuimport_warnings *warnings);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
