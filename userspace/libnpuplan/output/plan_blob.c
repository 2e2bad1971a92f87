// SPDX-License-Identifier: MIT
/*
 * Plan blobs: written, and read with their framing checked. Whether a plan keeps the rules only
 * npuplan_verify() can say, which has the graph.
 */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "blob.h"
#include "graph/blob_arrays.h"
#include "graph/checked.h"

#define ARRAY(KIND, RECORDS, COUNT, SECTION, OPTIONAL)                                           \
	NPUPLAN_BLOB_ARRAY(KIND, struct npuplan_plan, RECORDS, COUNT, struct npuv_plan, SECTION, \
			   OPTIONAL)

/* All sections but the info, which is one record and no array. */
static const struct npuplan_blob_array arrays[] = {
	ARRAY(NPUMEM_PLAN_SECTION_PLACEMENTS, placements, placement_count, placements, false),
	ARRAY(NPUMEM_PLAN_SECTION_SCHEDULE, positions, position_count, positions, false),
	ARRAY(NPUMEM_PLAN_SECTION_BLOCKS, blocks, block_count, blocks, false),
	ARRAY(NPUMEM_PLAN_SECTION_ENTRIES, entries, entry_count, entries, true),
	ARRAY(NPUMEM_PLAN_SECTION_EDGES, edges, edge_count, edges, true),
	ARRAY(NPUMEM_PLAN_SECTION_VIEWS, views, view_count, views, true),
	ARRAY(NPUMEM_PLAN_SECTION_VIEW_SLOTS, view_slots, view_slot_count, slots, true),
};

enum { ARRAYS = sizeof(arrays) / sizeof(arrays[0]) };

int npuplan_plan_write(const struct npuplan_plan *plan, void **blob, size_t *size,
		       struct npuplan_error *error)
{
	struct npublob_section sections[1 + ARRAYS] = {
		{ NPUMEM_PLAN_SECTION_INFO, sizeof(plan->info), 1, &plan->info },
	};
	uint32_t count = 1 + npuplan_blob_sections(arrays, ARRAYS, plan, sections + 1);
	int err;

	err = npublob_write(NPUMEM_PLAN_MAGIC, sections, count, blob, size);
	return err ? npuplan_fail(error, err, "cannot write plan: %s", strerror(-err)) : 0;
}

int npuplan_plan_read(const void *blob, size_t size, struct npuplan_plan **out,
		      struct npuplan_error *error)
{
	struct npumem_verdict verdict;
	struct npuv_section info;
	struct npuv_plan parsed;
	char text[256] = "";
	struct npuv_log log;
	struct npuplan_plan *plan;
	int err;

	npuv_log_init(&log, 1, text, sizeof(text));
	err = npuv_plan_parse(blob, size, &npuv_default_limits, &log, &verdict, &parsed, &info);
	if (!err && info.count != 1) {
		err = -EBADMSG;
		npuv_log(&log, "format: %u records of info, expected 1", info.count);
	}
	if (err)
		return npuplan_fail_verdict(error, err, "plan", text);

	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	memcpy(&plan->info, info.base, sizeof(plan->info));
	plan->peak_position = NPUMEM_NONE;
	err = npuplan_blob_copy(arrays, ARRAYS, &parsed, plan);
	if (err) {
		npuplan_plan_free(plan);
		return npuplan_fail(error, err, "cannot read plan: %s", strerror(-err));
	}
	/* A text field of untrusted bytes must end somewhere. */
	plan->info.planner[sizeof(plan->info.planner) - 1] = '\0';
	/* A blob always says these three; a lower bound of 0 says nothing. */
	plan->claims = NPUPLAN_CLAIM_STATUS | NPUPLAN_CLAIM_TRAFFIC | NPUPLAN_CLAIM_ALIGNMENT;
	if (plan->info.lower_bound)
		plan->claims |= NPUPLAN_CLAIM_LOWER_BOUND;
	*out = plan;
	return 0;
}
