/* SPDX-License-Identifier: MIT */
#include "flatbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "check.h"

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

static int outside(struct flatbuf *fb, const char *what, uint64_t pos)
{
	return import_fail(fb->error, -EBADMSG,
			   "%s at byte %" PRIu64 " is not inside the file of %" PRIu64 " bytes",
			   what, pos, fb->size);
}

/* Table that the 32-bit offset at @pos leads to. */
static int follow_table(struct flatbuf *fb, uint64_t pos, struct flatbuf_table *table)
{
	uint64_t vtable_size;
	int64_t vtable;

	table->pos = pos + load(fb, pos, 4);
	if (!inside(fb, table->pos, 4))
		return outside(fb, "table", table->pos);
	vtable = (int64_t)table->pos - (int32_t)load(fb, table->pos, 4);
	if (vtable < 0 || !inside(fb, (uint64_t)vtable, 4))
		return import_fail(fb->error, -EBADMSG,
				   "table at byte %" PRIu64 " has its vtable outside the file",
				   table->pos);
	table->vtable = (uint64_t)vtable;
	vtable_size = load(fb, table->vtable, 2);
	table->size = (uint16_t)load(fb, table->vtable + 2, 2);
	if (vtable_size < 4 || vtable_size % 2 || !inside(fb, table->vtable, vtable_size))
		return import_fail(fb->error, -EBADMSG,
				   "vtable at byte %" PRIu64 " has a bad size of %" PRIu64 " bytes",
				   table->vtable, vtable_size);
	if (table->size < 4 || !inside(fb, table->pos, table->size))
		return import_fail(fb->error, -EBADMSG,
				   "table at byte %" PRIu64 " has a bad size of %u bytes",
				   table->pos, table->size);
	table->fields = (uint16_t)(vtable_size / 2 - 2);
	table->present = true;
	return 0;
}

int flatbuf_field(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		  unsigned int bytes, uint64_t *pos)
{
	uint64_t offset;

	*pos = 0;
	if (!table->present || field >= table->fields)
		return 0;
	offset = load(fb, table->vtable + 4 + 2 * (uint64_t)field, 2);
	if (!offset)
		return 0;
	if (offset < 4 || offset + bytes > table->size)
		return import_fail(fb->error, -EBADMSG,
				   "field %u of the table at byte %" PRIu64
				   " is outside its table of %u bytes",
				   field, table->pos, table->size);
	*pos = table->pos + offset;
	return 0;
}

int flatbuf_root(struct flatbuf *fb, const char *identifier, struct flatbuf_table *root)
{
	if (!inside(fb, 0, 8))
		return import_fail(fb->error, -EBADMSG, "the file has only %" PRIu64 " bytes",
				   fb->size);
	if (memcmp(fb->data + 4, identifier, 4) != 0)
		return import_fail(fb->error, -EBADMSG, "the file has no identifier '%s' at byte 4",
				   identifier);
	return follow_table(fb, 0, root);
}

static int scalar(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		  unsigned int bytes, uint64_t absent, uint64_t *value)
{
	uint64_t pos;
	int err = flatbuf_field(fb, table, field, bytes, &pos);

	*value = pos ? load(fb, pos, bytes) : absent;
	return err;
}

int flatbuf_u8(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
	       uint8_t absent, uint8_t *value)
{
	uint64_t raw;
	int err = scalar(fb, table, field, 1, absent, &raw);

	*value = (uint8_t)raw;
	return err;
}

int flatbuf_i32(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		int32_t absent, int32_t *value)
{
	uint64_t raw;
	int err = scalar(fb, table, field, 4, (uint32_t)absent, &raw);

	*value = (int32_t)(uint32_t)raw;
	return err;
}

int flatbuf_u32(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		uint32_t absent, uint32_t *value)
{
	uint64_t raw;
	int err = scalar(fb, table, field, 4, absent, &raw);

	*value = (uint32_t)raw;
	return err;
}

int flatbuf_u64(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		uint64_t absent, uint64_t *value)
{
	return scalar(fb, table, field, 8, absent, value);
}

int flatbuf_vector(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		   uint32_t stride, struct flatbuf_vector *vector)
{
	uint64_t pos;
	int err = flatbuf_field(fb, table, field, 4, &pos);

	*vector = (struct flatbuf_vector){ 0 };
	if (err || !pos)
		return err;
	pos += load(fb, pos, 4);
	if (!inside(fb, pos, 4))
		return outside(fb, "vector", pos);
	vector->count = (uint32_t)load(fb, pos, 4);
	vector->pos = pos + 4;
	vector->present = true;
	if (!inside(fb, vector->pos, (uint64_t)vector->count * stride))
		return import_fail(fb->error, -EBADMSG,
				   "vector at byte %" PRIu64 " has %u elements, more than fit "
				   "into the file of %" PRIu64 " bytes",
				   pos, vector->count, fb->size);
	return 0;
}

int flatbuf_table(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		  struct flatbuf_table *out)
{
	uint64_t pos;
	int err = flatbuf_field(fb, table, field, 4, &pos);

	*out = (struct flatbuf_table){ 0 };
	if (err || !pos)
		return err;
	return follow_table(fb, pos, out);
}

int flatbuf_vector_table(struct flatbuf *fb, const struct flatbuf_vector *vector, uint32_t index,
			 struct flatbuf_table *out)
{
	*out = (struct flatbuf_table){ 0 };
	return follow_table(fb, vector->pos + 4 * (uint64_t)index, out);
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

int flatbuf_target(struct flatbuf *fb, uint64_t pos, uint64_t *target)
{
	*target = pos + load(fb, pos, 4);
	return inside(fb, *target, 4) ? 0 : outside(fb, "what an offset leads to", *target);
}
