/* SPDX-License-Identifier: MIT */
/*
 * Options of a plan request (npumem_options.h), read strictly: in a worker, since they are
 * a client's. What they say is checked here as far as it can be without the graph; the rest
 * is what planners refuse.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npumem_options.h"
#include "npuplan.h"

#define OPTIONS_END (NPUMEM_OPTION_COLUMNS + 1)

/**
 * struct asked - what options say
 * @given: bit 1 << type of each option that is there
 * @numbers: by type, of those that are a number; else 0
 * @banks: if NPUMEM_OPTION_BANKS is there
 * @tiles: of NPUMEM_OPTION_TILES: the bytes of the options, @tile_count records
 * @tile_count: number of @tiles
 */
struct asked {
	uint32_t given;
	uint64_t numbers[OPTIONS_END];
	struct npuplan_bank banks[NPUPLAN_BANKS];
	const unsigned char *tiles;
	uint32_t tile_count;
};

/* Whether an option is there. */
static inline bool asked_for(const struct asked *asked, enum npumem_option_type type)
{
	return asked->given >> type & 1;
}

/* Whether the daemon is to make another graph. */
bool asked_cut(const struct asked *asked);

/* One of the tiles. */
struct npumem_option_tile asked_tile(const struct asked *asked, uint32_t i);

/*
 * options_read() - what a request's options say
 * @data: the options, which @out goes on using; NULL if there are none
 * @out: out: what they say
 * @error: its text says what is wrong
 *
 * Allocates nothing. -E2BIG, -EBADMSG, -EOPNOTSUPP, -EINVAL: as npumem_options.h says.
 */
int options_read(const void *data, size_t size, struct asked *out, struct npuplan_error *error);

/* Write an error's text and return @err. */
__attribute__((format(printf, 3, 4))) int options_fail(struct npuplan_error *error, int err,
						       const char *format, ...);
