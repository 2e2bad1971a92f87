// SPDX-License-Identifier: MIT
/* What a plan says, for runtimes: records of its blob, and where a tensor lies. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npumem_plan.h"
#include "device.h"

/* Section of a plan blob; a kind that is absent has no records. */
static int find_section(const uint8_t *blob, size_t size, uint32_t kind,
			struct npumem_blob_section *found, struct npumem_error *error)
{
	struct npumem_blob_header header;
	struct npumem_blob_section section;

	*found = (struct npumem_blob_section){ .kind = kind };
	if (size < sizeof(header))
		return npumem_fail(error, -EPROTO, "the driver gave a plan of %zu bytes", size);
	memcpy(&header, blob, sizeof(header));
	if (header.magic != NPUMEM_PLAN_MAGIC || header.version != NPUMEM_BLOB_VERSION ||
	    header.section_stride < sizeof(section) ||
	    header.section_count > (size - sizeof(header)) / header.section_stride)
		return npumem_fail(error, -EPROTO,
				   "the driver gave a plan in a format that is not known here");
	for (uint32_t i = 0; i < header.section_count; i++) {
		memcpy(&section, blob + sizeof(header) + (size_t)i * header.section_stride,
		       sizeof(section));
		if (section.kind != kind)
			continue;
		if (!section.stride || section.offset > size ||
		    section.count > (size - section.offset) / section.stride)
			return npumem_fail(error, -EPROTO,
					   "section %u of the driver's plan is beyond its end",
					   kind);
		*found = section;
		break;
	}
	return 0;
}

int npumem_plan_records(struct npumem_plan *plan, uint32_t section, size_t record_size,
			void **records, uint32_t *count, struct npumem_error *error)
{
	struct npumem_blob_section found;
	uint8_t *list;
	size_t size, known;
	void *blob;
	int err;

	if (!plan || !record_size || !records || !count)
		return npumem_fail(error, -EINVAL, "npumem_plan_records: NULL argument");
	err = npumem_plan_read(plan, &blob, &size, error);
	if (err)
		return err;
	err = find_section(blob, size, section, &found, error);
	if (err)
		goto out;
	list = calloc(found.count + 1, record_size);
	if (!list) {
		err = npumem_fail_errno(error, -ENOMEM, "read records of a plan");
		goto out;
	}
	known = record_size < found.stride ? record_size : found.stride;
	for (uint64_t i = 0; i < found.count; i++)
		memcpy(list + i * record_size, (uint8_t *)blob + found.offset + i * found.stride,
		       known);
	*records = list;
	*count = (uint32_t)found.count;
out:
	free(blob);
	return err;
}

int npumem_plan_offset(struct npumem_plan *plan, uint32_t tensor, uint32_t position,
		       uint64_t *offset, struct npumem_error *error)
{
	const struct npumem_placement *placement = NULL;
	struct npumem_placement *placements;
	uint32_t count, found = 0;
	void *records;
	int err;

	if (!offset)
		return npumem_fail(error, -EINVAL, "npumem_plan_offset: NULL argument");
	err = npumem_plan_records(plan, NPUMEM_PLAN_SECTION_PLACEMENTS, sizeof(*placements),
				  &records, &count, error);
	if (err)
		return err;
	placements = records;
	for (uint32_t i = 0; i < count; i++) {
		if (placements[i].tensor != tensor || position < placements[i].from ||
		    position > placements[i].to)
			continue;
		placement = &placements[i];
		found++;
	}
	if (!found)
		err = npumem_fail(error, -ENOENT, "tensor %u is not in the arena at position %u",
				  tensor, position);
	else if (found > 1 || placement->region.count[0] != 1 || placement->region.count[1] != 1 ||
		 placement->region.count[2] != 1)
		err = npumem_fail(error, -EOPNOTSUPP,
				  "tensor %u lies in pieces at position %u; read its placements",
				  tensor, position);
	else
		*offset = placement->offset;
	free(placements);
	return err;
}
