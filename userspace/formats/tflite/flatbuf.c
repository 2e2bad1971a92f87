/* SPDX-License-Identifier: MIT */
#include "flatbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static uint64_t load(const struct flatbuf *fb, uint64_t pos, unsigned int bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < bytes; i++)
		value |= (uint64_t)fb->data[pos + i] << (8 * i);
	return value;
}

/* All positions are below 2^63: sums of a position and a 32-bit offset do not wrap. */
static bool inside(const struct flatbuf *fb, uint64_t pos, uint64_t bytes)
{
	return pos <= fb->size && bytes <= fb->size - pos;
}

int flatbuf_fail(struct flatbuf *fb, int err, const char *format, ...)
{
	va_list args;

	if (fb->err)
		return fb->err;
	fb->err = err;
	if (fb->error) {
		va_start(args, format);
		vsnprintf(fb->error->text, sizeof(fb->error->text), format, args);
		va_end(args);
	}
	return err;
}

static void outside(struct flatbuf *fb, const char *what, uint64_t pos)
{
	flatbuf_fail(fb, -EBADMSG,
		     "%s at byte %" PRIu64 " is not inside the file of %" PRIu64 " bytes", what,
		     pos, fb->size);
}

/* Table that the 32-bit offset at @pos leads to; none, and an error, if it is not whole. */
static struct flatbuf_table follow_table(struct flatbuf *fb, uint64_t pos)
{
	const struct flatbuf_table none = { 0 };
	struct flatbuf_table table = { .present = true };
	uint64_t vtable_size;
	int64_t vtable;

	if (fb->err)
		return none;
	table.pos = pos + load(fb, pos, 4);
	if (!inside(fb, table.pos, 4)) {
		outside(fb, "table", table.pos);
		return none;
	}
	vtable = (int64_t)table.pos - (int32_t)load(fb, table.pos, 4);
	if (vtable < 0 || !inside(fb, (uint64_t)vtable, 4)) {
		flatbuf_fail(fb, -EBADMSG,
			     "table at byte %" PRIu64 " has its vtable outside the file",
			     table.pos);
		return none;
	}
	table.vtable = (uint64_t)vtable;
	vtable_size = load(fb, table.vtable, 2);
	table.size = (uint16_t)load(fb, table.vtable + 2, 2);
	table.fields = (uint16_t)(vtable_size / 2 - 2);
	if (vtable_size < 4 || vtable_size % 2 || !inside(fb, table.vtable, vtable_size))
		flatbuf_fail(fb, -EBADMSG,
			     "vtable at byte %" PRIu64 " has a bad size of %" PRIu64 " bytes",
			     table.vtable, vtable_size);
	if (table.size < 4 || !inside(fb, table.pos, table.size))
		flatbuf_fail(fb, -EBADMSG, "table at byte %" PRIu64 " has a bad size of %u bytes",
			     table.pos, table.size);
	return fb->err ? none : table;
}

uint64_t flatbuf_field(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		       unsigned int bytes)
{
	uint64_t offset;

	if (fb->err || !table->present || field >= table->fields)
		return 0;
	offset = load(fb, table->vtable + 4 + 2 * (uint64_t)field, 2);
	if (!offset)
		return 0;
	if (offset >= 4 && offset + bytes <= table->size)
		return table->pos + offset;
	flatbuf_fail(fb, -EBADMSG,
		     "field %u of the table at byte %" PRIu64 " is outside its table of %u bytes",
		     field, table->pos, table->size);
	return 0;
}

struct flatbuf_table flatbuf_root(struct flatbuf *fb, const char *identifier)
{
	if (!inside(fb, 0, 8))
		flatbuf_fail(fb, -EBADMSG, "the file has only %" PRIu64 " bytes", fb->size);
	else if (memcmp(fb->data + 4, identifier, 4) != 0)
		flatbuf_fail(fb, -EBADMSG, "the file has no identifier '%s' at byte 4", identifier);
	return follow_table(fb, 0);
}

static uint64_t scalar(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		       unsigned int bytes, uint64_t absent)
{
	uint64_t pos = flatbuf_field(fb, table, field, bytes);

	return pos ? load(fb, pos, bytes) : absent;
}

uint8_t flatbuf_u8(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		   uint8_t absent)
{
	return (uint8_t)scalar(fb, table, field, 1, absent);
}

int32_t flatbuf_i32(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		    int32_t absent)
{
	return (int32_t)(uint32_t)scalar(fb, table, field, 4, (uint32_t)absent);
}

uint32_t flatbuf_u32(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		     uint32_t absent)
{
	return (uint32_t)scalar(fb, table, field, 4, absent);
}

uint64_t flatbuf_u64(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		     uint64_t absent)
{
	return scalar(fb, table, field, 8, absent);
}

struct flatbuf_vector flatbuf_vector(struct flatbuf *fb, const struct flatbuf_table *table,
				     unsigned int field, uint32_t stride)
{
	const struct flatbuf_vector none = { 0 };
	struct flatbuf_vector vector = { .present = true };
	uint64_t pos = flatbuf_field(fb, table, field, 4);

	if (!pos)
		return none;
	pos += load(fb, pos, 4);
	if (!inside(fb, pos, 4)) {
		outside(fb, "vector", pos);
		return none;
	}
	vector.count = (uint32_t)load(fb, pos, 4);
	vector.pos = pos + 4;
	if (inside(fb, vector.pos, (uint64_t)vector.count * stride))
		return vector;
	flatbuf_fail(fb, -EBADMSG,
		     "vector at byte %" PRIu64 " has %u elements, more than fit into the file of "
		     "%" PRIu64 " bytes",
		     pos, vector.count, fb->size);
	return none;
}

struct flatbuf_table flatbuf_table(struct flatbuf *fb, const struct flatbuf_table *table,
				   unsigned int field)
{
	uint64_t pos = flatbuf_field(fb, table, field, 4);

	return pos ? follow_table(fb, pos) : (struct flatbuf_table){ 0 };
}

struct flatbuf_table flatbuf_vector_table(struct flatbuf *fb, const struct flatbuf_vector *vector,
					  uint32_t index)
{
	return follow_table(fb, vector->pos + 4 * (uint64_t)index);
}

int32_t flatbuf_vector_i32(const struct flatbuf *fb, const struct flatbuf_vector *vector,
			   uint32_t index)
{
	return (int32_t)(uint32_t)load(fb, vector->pos + 4 * (uint64_t)index, 4);
}

int64_t flatbuf_vector_i64(const struct flatbuf *fb, const struct flatbuf_vector *vector,
			   uint32_t index)
{
	return (int64_t)load(fb, vector->pos + 8 * (uint64_t)index, 8);
}

uint64_t flatbuf_target(struct flatbuf *fb, uint64_t pos)
{
	uint64_t target = pos + load(fb, pos, 4);

	if (!inside(fb, target, 4))
		outside(fb, "what an offset leads to", target);
	return target;
}
