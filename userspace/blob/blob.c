// SPDX-License-Identifier: MIT
#include "blob.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "npumem_graph.h"

/* The format is little-endian, and records are written as they are in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "big-endian hosts are not supported");
_Static_assert(sizeof(struct npumem_blob_header) == 32, "table follows at byte 32");
_Static_assert(sizeof(struct npumem_blob_section) == 32, "stride of the section table");

static int add_aligned(size_t *total, size_t bytes)
{
	size_t sum;

	if (__builtin_add_overflow(*total, bytes, &sum) || sum > SIZE_MAX - 7)
		return -E2BIG;
	*total = (sum + 7) & ~(size_t)7;
	return 0;
}

static int section_bytes(const struct npublob_section *section, size_t *bytes)
{
	return __builtin_mul_overflow(section->count, section->stride, bytes) ? -E2BIG : 0;
}

int npublob_write(uint32_t magic, const struct npublob_section *sections, uint32_t count,
		  void **blob, size_t *size)
{
	struct npumem_blob_section *table;
	struct npumem_blob_header *header;
	size_t total = sizeof(*header), bytes;
	uint8_t *out;

	if (count > NPUMEM_BLOB_MAX_SECTIONS)
		return -E2BIG;
	total += count * sizeof(*table);
	for (uint32_t i = 0; i < count; i++)
		if (section_bytes(&sections[i], &bytes) || add_aligned(&total, bytes))
			return -E2BIG;

	out = calloc(1, total);
	if (!out)
		return -ENOMEM;
	header = (struct npumem_blob_header *)out;
	header->magic = magic;
	header->version = NPUMEM_BLOB_VERSION;
	header->total_size = total;
	header->section_count = count;
	header->section_stride = sizeof(*table);

	table = (struct npumem_blob_section *)(out + sizeof(*header));
	total = sizeof(*header) + count * sizeof(*table);
	for (uint32_t i = 0; i < count; i++) {
		table[i].kind = sections[i].kind;
		table[i].stride = sections[i].stride;
		table[i].offset = total;
		table[i].count = sections[i].count;
		section_bytes(&sections[i], &bytes);
		if (bytes)
			memcpy(out + total, sections[i].data, bytes);
		add_aligned(&total, bytes);
	}
	*blob = out;
	*size = total;
	return 0;
}

int npublob_strings_add(struct npublob_strings *strings, const char *name, uint32_t *offset)
{
	size_t length, needed;

	*offset = NPUMEM_NONE;
	if (!name || !*name)
		return 0;
	length = strlen(name) + 1;
	if (__builtin_add_overflow(strings->size, length, &needed) || needed >= NPUMEM_NONE)
		return -E2BIG;
	if (needed > strings->capacity) {
		size_t capacity = needed * 2;
		char *bytes = realloc(strings->bytes, capacity);

		if (!bytes)
			return -ENOMEM;
		strings->bytes = bytes;
		strings->capacity = capacity;
	}
	memcpy(strings->bytes + strings->size, name, length);
	*offset = strings->size;
	strings->size = needed;
	return 0;
}

void npublob_strings_free(struct npublob_strings *strings)
{
	free(strings->bytes);
	memset(strings, 0, sizeof(*strings));
}
