// SPDX-License-Identifier: MIT
/* Plan blobs. Reading checks the framing; the rules need a graph: npuplan_verify(). */
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "base/internal.h"
#include "graph/checked.h"

int npuplan_plan_write(const struct npuplan_plan *plan, void **blob, size_t *size,
		       struct npuplan_error *error)
{
	struct npublob_section sections[8];
	uint32_t count = 0;
	int err;

#define SECTION(KIND, COUNT, DATA) \
	(sections[count++] = (struct npublob_section){ (KIND), sizeof(*(DATA)), (COUNT), (DATA) })
	SECTION(NPUMEM_PLAN_SECTION_INFO, 1, &plan->info);
	SECTION(NPUMEM_PLAN_SECTION_PLACEMENTS, plan->placement_count, plan->placements);
	SECTION(NPUMEM_PLAN_SECTION_SCHEDULE, plan->position_count, plan->positions);
	SECTION(NPUMEM_PLAN_SECTION_BLOCKS, plan->block_count, plan->blocks);
	if (plan->entry_count)
		SECTION(NPUMEM_PLAN_SECTION_ENTRIES, plan->entry_count, plan->entries);
	if (plan->edge_count)
		SECTION(NPUMEM_PLAN_SECTION_EDGES, plan->edge_count, plan->edges);
	if (plan->view_count)
		SECTION(NPUMEM_PLAN_SECTION_VIEWS, plan->view_count, plan->views);
	if (plan->view_slot_count)
		SECTION(NPUMEM_PLAN_SECTION_VIEW_SLOTS, plan->view_slot_count, plan->view_slots);
#undef SECTION
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
#define COPY(SECTION, FIELD, COUNT)                                                            \
	(err = err ? err :                                                                     \
		     npuplan_copy_section(&parsed.SECTION, sizeof(*plan->FIELD), &plan->FIELD, \
					  &plan->COUNT))
	COPY(placements, placements, placement_count);
	COPY(positions, positions, position_count);
	COPY(blocks, blocks, block_count);
	COPY(entries, entries, entry_count);
	COPY(edges, edges, edge_count);
	COPY(views, views, view_count);
	COPY(slots, view_slots, view_slot_count);
#undef COPY
	if (err) {
		npuplan_plan_free(plan);
		return npuplan_fail(error, err, "cannot read plan: %s", strerror(-err));
	}
	/* A text field of untrusted bytes must end somewhere. */
	plan->info.planner[sizeof(plan->info.planner) - 1] = '\0';
	/* A blob says all of these; a bound of 0 is none. */
	plan->claims = NPUPLAN_CLAIM_STATUS | NPUPLAN_CLAIM_TRAFFIC | NPUPLAN_CLAIM_ALIGNMENT;
	if (plan->info.lower_bound)
		plan->claims |= NPUPLAN_CLAIM_LOWER_BOUND;
	*out = plan;
	return 0;
}
