/* SPDX-License-Identifier: MIT */
/*
 * FlatBuffers, read only, every access checked against the buffer's end.
 *
 * A buffer is little-endian. A table starts with a signed 32-bit distance back
 * to its vtable; the vtable has its own size, the table's size, and for each
 * field its 16-bit offset in the table, 0 for "absent, use the default".
 * Vectors, strings and tables in fields are 32-bit offsets forward from where
 * they stand; vectors start with a 32-bit count, strings are vectors of bytes
 * with a NUL behind. Nothing is assumed of alignment.
 *
 * What stands outside is -EBADMSG with a sentence that names the byte. The first
 * error is kept, and from then on all fields are absent; an absent field is no
 * error: scalars give the default, vectors have count 0, tables are !present.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npuplan.h"

/*
 * struct flatbuf - the whole buffer
 * @data: @size bytes
 * @error: where sentences go
 * @err: -errno of the first error, 0 if there was none
 */
struct flatbuf {
	const uint8_t *data;
	uint64_t size;
	struct npuplan_error *error;
	int err;
};

/*
 * struct flatbuf_table - table whose vtable is inside the buffer
 * @pos: byte of the table
 * @size: bytes of the table, all inside the buffer
 * @vtable: byte of the vtable
 * @fields: that the vtable has
 */
struct flatbuf_table {
	uint64_t pos;
	uint64_t vtable;
	uint16_t size;
	uint16_t fields;
	bool present;
};

/*
 * struct flatbuf_vector - @count elements at byte @pos, all inside the buffer
 */
struct flatbuf_vector {
	uint64_t pos;
	uint32_t count;
	bool present;
};

/** flatbuf_fail() - @err with a sentence, unless there was an error before; returns the first */
__attribute__((format(printf, 3, 4))) int flatbuf_fail(struct flatbuf *fb, int err,
						       const char *format, ...);

/** flatbuf_root() - root table; @identifier: four characters at byte 4 */
struct flatbuf_table flatbuf_root(struct flatbuf *fb, const char *identifier);

/** flatbuf_field() - where a field of @bytes stands; 0 if it is absent */
uint64_t flatbuf_field(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		       unsigned int bytes);
/** flatbuf_target() - where the offset at @pos leads; @pos: of four bytes in the buffer */
uint64_t flatbuf_target(struct flatbuf *fb, uint64_t pos);

/* Scalars of a table. */
uint8_t flatbuf_u8(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		   uint8_t absent);
int32_t flatbuf_i32(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		    int32_t absent);
uint32_t flatbuf_u32(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		     uint32_t absent);
uint64_t flatbuf_u64(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		     uint64_t absent);

/** flatbuf_vector() - vector of elements of @stride bytes (4 for tables) */
struct flatbuf_vector flatbuf_vector(struct flatbuf *fb, const struct flatbuf_table *table,
				     unsigned int field, uint32_t stride);
/** flatbuf_table() - table in a field */
struct flatbuf_table flatbuf_table(struct flatbuf *fb, const struct flatbuf_table *table,
				   unsigned int field);
/** flatbuf_vector_table() - table in a vector; @index < vector->count, if there was no error */
struct flatbuf_table flatbuf_vector_table(struct flatbuf *fb, const struct flatbuf_vector *vector,
					  uint32_t index);
/** flatbuf_vector_i32() - element of a vector of 4 bytes' stride; @index < vector->count */
int32_t flatbuf_vector_i32(const struct flatbuf *fb, const struct flatbuf_vector *vector,
			   uint32_t index);
/** flatbuf_vector_i64() - element of a vector of 8 bytes' stride; @index < vector->count */
int64_t flatbuf_vector_i64(const struct flatbuf *fb, const struct flatbuf_vector *vector,
			   uint32_t index);
