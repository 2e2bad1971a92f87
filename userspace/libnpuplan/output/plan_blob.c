// SPDX-License-Identifier: MIT
/* Plan blobs. Reading checks the framing; the rules need a graph: npuplan_verify(). */
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "base/internal.h"
#include "verify/internal.h"

int npuplan_plan_write(const struct npuplan_plan *plan, void **blob, size_t *size,
		       struct npuplan_error *error)
{
	struct npublob_section sections[8];
	uint32_t count = 0;
	int err;

#define SECTION(KIND, COUNT, DATA) \
	(sections[count++] = (struct npublob_section){ (KIND), sizeof(*(DATA)), (COUNT), (DATA) })
	SECTION(NPUMEM_PLAN_INFO, 1, &plan->info);
	SECTION(NPUMEM_PLAN_PLACEMENTS, plan->placement_count, plan->placements);
	SECTION(NPUMEM_PLAN_SCHEDULE, plan->position_count, plan->positions);
	SECTION(NPUMEM_PLAN_BLOCKS, plan->block_count, plan->blocks);
	if (plan->entry_count)
		SECTION(NPUMEM_PLAN_ENTRIES, plan->entry_count, plan->entries);
	if (plan->edge_count)
		SECTION(NPUMEM_PLAN_EDGES, plan->edge_count, plan->edges);
	if (plan->view_count)
		SECTION(NPUMEM_PLAN_VIEWS, plan->view_count, plan->views);
	if (plan->view_slot_count)
		SECTION(NPUMEM_PLAN_VIEW_SLOTS, plan->view_slot_count, plan->view_slots);
#undef SECTION
	err = npublob_write(NPUMEM_PLAN_MAGIC, sections, count, blob, size);
	return err ? npuplan_fail(error, err, "cannot write plan: %s", strerror(-err)) : 0;
}

/* Copy the known part of each record of a section. */
static int copy_section(const struct npuv_section *section, size_t size, void *array,
			uint32_t *count)
{
	uint8_t *copy = calloc(section->count ? section->count : 1, size);

	if (!copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < section->count; i++)
		memcpy(copy + i * size, npuv_record(section, i), size);
	memcpy(array, &copy, sizeof(copy));
	*count = section->count;
	return 0;
}

int npuplan_plan_read(const void *blob, size_t size, struct npuplan_plan **out,
		      struct npuplan_error *error)
{
	enum { INFO, PLACEMENTS, SCHEDULE, BLOCKS, ENTRIES, EDGES, VIEWS, SLOTS, SECTIONS };
	struct npuv_section sections[SECTIONS] = { 0 };
#define RULE(KIND, TYPE, ALIGN, REQUIRED, NAME, INDEX) \
	{ (KIND), sizeof(TYPE), (ALIGN), (REQUIRED), (NAME), &sections[INDEX] }
	const struct npuv_section_rule rules[] = {
		RULE(NPUMEM_PLAN_INFO, struct npumem_plan_info, 8, true, "info", INFO),
		RULE(NPUMEM_PLAN_PLACEMENTS, struct npumem_placement, 8, false, "placements",
		     PLACEMENTS),
		RULE(NPUMEM_PLAN_SCHEDULE, struct npumem_position, 8, true, "schedule", SCHEDULE),
		RULE(NPUMEM_PLAN_BLOCKS, struct npumem_plan_block, 8, true, "blocks", BLOCKS),
		RULE(NPUMEM_PLAN_ENTRIES, struct npumem_entry, 8, false, "entries", ENTRIES),
		RULE(NPUMEM_PLAN_EDGES, struct npumem_plan_edge, 8, false, "edges", EDGES),
		RULE(NPUMEM_PLAN_VIEWS, struct npumem_view, 8, false, "views", VIEWS),
		RULE(NPUMEM_PLAN_VIEW_SLOTS, __u32, 4, false, "view slots", SLOTS),
	};
#undef RULE
	struct npumem_verdict verdict;
	char text[256] = "";
	struct npuv_log log;
	struct npuv_work work = {
		.blob = blob,
		.limits = &npuv_default_limits,
		.log = &log,
		.verdict = &verdict,
	};
	struct npuplan_plan *plan;
	int err;

	npuv_log_init(&log, 1, text, sizeof(text));
	npuv_verdict_clear(&verdict);
	err = npuv_blob_check(&work, size, NPUMEM_PLAN_MAGIC, rules,
			      sizeof(rules) / sizeof(rules[0]));
	if (!err && sections[INFO].count != 1)
		err = npuv_refuse_at(&work, -EBADMSG, sections[INFO].base, sections[INFO].stride,
				     "format: %u records of info, expected 1",
				     sections[INFO].count);
	if (err)
		return npuplan_fail_verdict(error, err, "plan", text);

	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	memcpy(&plan->info, sections[INFO].base, sizeof(plan->info));
	plan->peak_position = NPUMEM_NONE;
#define COPY(INDEX, FIELD, COUNT)                                                       \
	(err = err ? err :                                                              \
		     copy_section(&sections[INDEX], sizeof(*plan->FIELD), &plan->FIELD, \
				  &plan->COUNT))
	COPY(PLACEMENTS, placements, placement_count);
	COPY(SCHEDULE, positions, position_count);
	COPY(BLOCKS, blocks, block_count);
	COPY(ENTRIES, entries, entry_count);
	COPY(EDGES, edges, edge_count);
	COPY(VIEWS, views, view_count);
	COPY(SLOTS, view_slots, view_slot_count);
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
