/* SPDX-License-Identifier: MIT */
/* Options of the commands that search for a plan or a packing: where it lies, when to stop. */
#include "cli.h"

#define FIELD(name) offsetof(struct limits, name)

static const struct command_option options[] = {
	{ "align", 0, VALUE_ALIGNMENT, "BYTES",
	  "Alignment of every offset, a power of two up to 64KiB (1: none but what a tensor or "
	  "buffer asks for)",
	  FIELD(alignment) },
	{ "deadline", 0, VALUE_SECONDS, "SECONDS",
	  "Take the best that was found in this time; results may then differ between runs",
	  FIELD(deadline) },
	{ "work", 0, VALUE_NUMBER, "UNITS",
	  "Take the best that was found in so many units of work: repeatable, unlike a deadline",
	  FIELD(work), 1, UINT64_MAX - 1 },
	{ "memory", 0, VALUE_SIZE, "BYTES",
	  "Take the best that was found before the search holds more bytes", FIELD(memory) },
	{ 0 },
};

const struct command limits_command = { .options = options };
