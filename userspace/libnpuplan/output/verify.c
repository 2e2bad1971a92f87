// SPDX-License-Identifier: MIT
/* The kernel's verifier, run in this process, and its verdict as a sentence. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "graph/checked.h"
#include "verify.h"

int npuplan_verify(const void *graph_blob, size_t graph_size, const void *plan_blob,
		   size_t plan_size, struct npumem_verdict *verdict, char *log_text,
		   size_t log_size)
{
	struct npumem_verdict own;
	struct npuv_graph *graph;
	struct npuv_plan *plan;
	struct npuv_log log;
	int err;

	if (!verdict)
		verdict = &own;
	if (log_size > UINT32_MAX)
		log_size = UINT32_MAX;
	npuv_log_init(&log, log_text && log_size ? 1 : 0, log_text, log_text ? log_size : 0);
	err = npuv_graph_create(graph_blob, graph_size, &npuv_default_limits, &log, verdict,
				&graph);
	if (err)
		return err;
	err = npuv_plan_create(graph, plan_blob, plan_size, &npuv_default_limits, &log, verdict,
			       &plan);
	if (!err)
		npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	return err;
}

int npuplan_verify_cells(const struct npuv_graph *cells, const struct npuplan_plan *plan,
			 const char *what, struct npumem_verdict *verdict,
			 struct npuplan_error *error)
{
	struct npumem_verdict own;
	struct npuv_plan *verified;
	struct npuv_log log;
	char text[384] = "";
	void *blob;
	size_t size;
	int err;

	err = npuplan_plan_write(plan, &blob, &size, error);
	if (err)
		return err;
	if (size > npuv_default_limits.max_blob) {
		free(blob);
		return npuplan_fail(error, -E2BIG,
				    "%s: its blob has %zu bytes, at most %llu are taken; fewer "
				    "placements and transfers make it smaller",
				    what, size, (unsigned long long)npuv_default_limits.max_blob);
	}
	npuv_log_init(&log, 1, text, sizeof(text));
	err = npuv_plan_create(cells, blob, size, &npuv_default_limits, &log,
			       verdict ? verdict : &own, &verified);
	if (err)
		npuplan_fail_verdict(error, err, what, text);
	else
		npuv_plan_destroy(verified);
	free(blob);
	return err;
}

int npuplan_verify_plan(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			struct npumem_verdict *verdict, struct npuplan_error *error)
{
	struct npuplan_checked checked;
	int err;

	if (verdict)
		memset(verdict, 0, sizeof(*verdict));
	err = npuplan_checked_init(&checked, graph, error);
	if (err)
		return err;
	err = npuplan_verify_cells(checked.cells, plan, "plan", verdict, error);
	npuplan_checked_fini(&checked);
	return err;
}

void npuplan_verdict_names(const struct npuplan_graph *graph, const struct npumem_verdict *verdict,
			   char *text, size_t size)
{
	struct npuplan_checked checked;

	text[0] = '\0';
	if (verdict->rule == NPUMEM_RULE_NONE || npuplan_checked_init(&checked, graph, NULL))
		return;
	npuv_verdict_text(checked.cells, verdict, text, size < UINT32_MAX ? size : UINT32_MAX);
	npuplan_checked_fini(&checked);
}
