/* SPDX-License-Identifier: MIT */
/*
 * Framing of graph and plan blobs (npumem_graph.h, "Layout"): header, section
 * table, sections. Shared by libnpumem's graph builder and libnpuplan's writers,
 * so that there is one writer of the format as there is one reader of it
 * (kernel/verify). Internal; linked statically into both.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * struct npublob_section - section to be written
 * @kind: enum npumem_graph_section or enum npumem_plan_section
 * @stride: bytes of one record
 * @count: records; a section of none is written too, so leave it out if the
 *	format says that absent means none
 * @data: @count records; may be NULL if there are none
 */
struct npublob_section {
	uint32_t kind;
	uint32_t stride;
	uint64_t count;
	const void *data;
};

/*
 * npublob_write() - lay out sections in the order given
 * @magic: NPUMEM_GRAPH_MAGIC or NPUMEM_PLAN_MAGIC
 * @blob: out: malloc'ed, so 8-byte aligned; gaps are zero
 * @size: out: bytes, a multiple of 8
 *
 * -E2BIG more than NPUMEM_BLOB_MAX_SECTIONS sections, or more bytes than size_t
 * counts; -ENOMEM. Limits on the size of a blob are the reader's.
 */
int npublob_write(uint32_t magic, const struct npublob_section *sections, uint32_t count,
		  void **blob, size_t *size);

/**
 * struct npublob_strings - strings section in the making; start with zeroes
 * @bytes: NUL-terminated names one after another
 * @size: bytes used
 * @capacity: bytes allocated
 */
struct npublob_strings {
	char *bytes;
	size_t size;
	size_t capacity;
};

/*
 * npublob_strings_add() - append a name
 * @name: NULL or "" for none
 * @offset: out: for the record's name field; NPUMEM_NONE for none
 *
 * -E2BIG if the section would be larger than 32-bit offsets reach; -ENOMEM.
 */
int npublob_strings_add(struct npublob_strings *strings, const char *name, uint32_t *offset);
void npublob_strings_free(struct npublob_strings *strings);
