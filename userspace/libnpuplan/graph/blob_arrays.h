/* SPDX-License-Identifier: MIT */
/*
 * Arrays of a graph or plan that are sections of its blob. A table says where an array is in the
 * struct that has them all, and where its section is in the blob's form that the verifier has
 * parsed; the functions go through such a table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct npublob_section;

/**
 * struct npuplan_blob_array - an array of records, and the section of a blob that it is
 * @kind: enum npumem_graph_section or enum npumem_plan_section
 * @size: bytes of a record, as this version knows it
 * @records: offset of the pointer to the records in the struct that has the arrays
 * @count: offset of their number there, a uint32_t
 * @parsed: offset of the section, a struct npuv_section, in the parsed blob
 * @optional: the blob has no such section if there are no records
 */
struct npuplan_blob_array {
	uint32_t kind;
	uint32_t size;
	size_t records;
	size_t count;
	size_t parsed;
	bool optional;
};

/* NPUPLAN_BLOB_ARRAY() - a line of such a table
 * @KIND: of the section
 * @ARRAYS: type of the struct that has the arrays
 * @RECORDS, @COUNT: its members
 * @PARSED: type of the parsed blob
 * @SECTION: its member
 * @OPTIONAL: the blob has no such section if there are no records
 */
#define NPUPLAN_BLOB_ARRAY(KIND, ARRAYS, RECORDS, COUNT, PARSED, SECTION, OPTIONAL) \
	{                                                                           \
		.kind = (KIND),                                                     \
		.size = sizeof(*((ARRAYS *)NULL)->RECORDS),                         \
		.records = offsetof(ARRAYS, RECORDS),                               \
		.count = offsetof(ARRAYS, COUNT),                                   \
		.parsed = offsetof(PARSED, SECTION),                                \
		.optional = (OPTIONAL),                                             \
	}

/* npuplan_blob_sections() - the sections that arrays make, for npublob_write()
 * @table: @lines of them
 * @arrays: the struct that has the arrays
 * @sections: out: room for @lines; they borrow the arrays
 *
 * Returns how many sections there are, in the table's order.
 */
uint32_t npuplan_blob_sections(const struct npuplan_blob_array *table, uint32_t lines,
			       const void *arrays, struct npublob_section *sections);

/* npuplan_blob_copy() - copy the known part of each record of a parsed blob's sections
 * @table: @lines of them
 * @parsed: the parsed blob
 * @arrays: the struct that has the arrays, all of them empty; out: they are the caller's to free()
 *
 * -E2BIG: 2^31 records or more; -ENOMEM. Arrays that were copied before stay then.
 */
int npuplan_blob_copy(const struct npuplan_blob_array *table, uint32_t lines, const void *parsed,
		      void *arrays);
