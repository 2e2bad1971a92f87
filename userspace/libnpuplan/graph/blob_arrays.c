// SPDX-License-Identifier: MIT
#include "blob_arrays.h"

#include <string.h>

#include "base/internal.h"
#include "blob.h"

uint32_t npuplan_blob_sections(const struct npuplan_blob_array *table, uint32_t lines,
			       const void *arrays, struct npublob_section *sections)
{
	const char *at = arrays;
	uint32_t written = 0;

	for (const struct npuplan_blob_array *line = table; line < table + lines; line++) {
		struct npublob_section section = { .kind = line->kind, .stride = line->size };

		section.count = *(const uint32_t *)(at + line->count);
		memcpy(&section.data, at + line->records, sizeof(section.data));
		if (section.count || !line->optional)
			sections[written++] = section;
	}
	return written;
}

int npuplan_blob_copy(const struct npuplan_blob_array *table, uint32_t lines, const void *parsed,
		      void *arrays)
{
	const char *sections = parsed;
	char *at = arrays;
	int err = 0;

	for (const struct npuplan_blob_array *line = table; line < table + lines; line++) {
		const struct npuv_section *section =
			(const struct npuv_section *)(sections + line->parsed);
		uint32_t *count = (uint32_t *)(at + line->count);

		while (*count < section->count && !err)
			err = npuplan_append_sized(at + line->records, count, line->size,
						   npuv_record(section, *count), 1);
	}
	return err;
}
