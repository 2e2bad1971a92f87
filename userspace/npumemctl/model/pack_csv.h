/* SPDX-License-Identifier: MIT */
/*
 * Packing problems as MiniMalloc keeps them: CSV with a header line that names the
 * columns, one buffer a line. lower, upper (instants, the upper one exclusive) and
 * size (bytes) must be there; id, alignment and offset (fixed; may be empty) may.
 */
#pragma once

#include <stdio.h>

#include "npuplan.h"

/*
 * struct pack_csv - a file read. It is read without a CSV library, since those hand out cells:
 * a row is written again as it was, byte for byte, with a column more
 * @items: buffers. Instants count from the earliest; where they do not fit into
 *	32 bits, only their order is kept
 * @rows: per buffer, its line without the offset
 * @header: likewise
 */
struct pack_csv {
	struct npuplan_item *items;
	char **rows;
	char *header;
	uint32_t count;
};

/* pack_csv_read() - read to the end of @in
 * @error: out: what is wrong, beginning with the line's number
 *
 * 0, -EBADMSG or -ENOMEM. Release it in any case.
 */
int pack_csv_read(struct pack_csv *csv, FILE *in, struct npuplan_error *error);
void pack_csv_fini(struct pack_csv *csv);

/** pack_csv_write() - the same lines with offsets appended; errors are @out's */
void pack_csv_write(const struct pack_csv *csv, const uint64_t *offsets, FILE *out);
