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
 * @stride: bytes of a record
 * @count: number of records. A section without records is written, too; leave it out if the format
 *	says that an absent section means none
 * @data: @count records; may be NULL if there are none
 */
struct npublob_section {
	uint32_t kind;
	uint32_t stride;
	uint64_t count;
	const void *data;
};

/*
 * npublob_write() - make a blob of sections, in the order given
 * @magic: NPUMEM_GRAPH_MAGIC or NPUMEM_PLAN_MAGIC
 * @blob: out: the blob, which the caller frees by free(); it is 8-byte aligned, and its gaps are
 *	zero
 * @size: out: bytes of the blob, a multiple of 8
 *
 * -E2BIG: more than NPUMEM_BLOB_MAX_SECTIONS sections, or more bytes than size_t counts; -ENOMEM.
 * The size of a blob is limited by its readers.
 */
int npublob_write(uint32_t magic, const struct npublob_section *sections, uint32_t count,
		  void **blob, size_t *size);

/**
 * struct npublob_strings - collects names for a strings section; all 0: none yet
 * @bytes: NUL-terminated names, one after another
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
 * @name: the name; NULL or "": none
 * @offset: out: value of the record's name field, which is NPUMEM_NONE for no name
 *
 * -E2BIG: the section would be larger than 32-bit offsets reach; -ENOMEM.
 */
int npublob_strings_add(struct npublob_strings *strings, const char *name, uint32_t *offset);
void npublob_strings_free(struct npublob_strings *strings);
