/* SPDX-License-Identifier: MIT */
/* What commands say of plans: for people, and as JSON. */
#pragma once

#include "model/model.h"

/* ------------------------------------------------------------- summary.c */

/**
 * struct asked - what a plan was asked for, as far as it is known; zero: nothing is
 * @options: of the plan; may be NULL
 * @budget: name of the budget; NULL: it has none
 * @savings: say what each tensor of the peak would save if it were bound outside the
 *	arena; needs @options
 */
struct asked {
	const struct npuplan_options *options;
	const char *budget;
	bool savings;
};

/** plan_report() - what there is to know of a plan, as a JSON object */
json_t *plan_report(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		    const struct asked *asked);
/** plan_report_print() - the same for people */
void plan_report_print(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_plan *plan, const struct asked *asked);

/* ---------------------------------------------------------- placements.c */

/*
 * Where each piece of each tensor lies in the arena, and from which position of the schedule to
 * which: lines for people, or CSV (RFC 4180) with a head. Names are printed as they are.
 */
void placements_print(FILE *out, const struct npuplan_graph *graph,
		      const struct npuplan_plan *plan);
void placements_csv(FILE *out, const struct npuplan_graph *graph, const struct npuplan_plan *plan);
/* The same as macros of C. */
void placements_header(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_plan *plan);

/* -------------------------------------------------------- tiling_table.c */

/*
 * How each operator of a tiled graph is cut and what it moves: a table, or an array
 * of JSON objects; false, or NULL, with a message, if that cannot be said.
 */
bool tiling_table_print(FILE *out, const char *path, const struct npuplan_graph *graph);
json_t *tiling_table_json(const char *path, const struct npuplan_graph *graph);

/* "tiling" line of a summary, if the graph is cut other than into bands. */
void tiling_summary_print(FILE *out, const struct npuplan_graph *graph);

/* --------------------------------------------------------------- front.c */

/** front_report() - orders of tiles, peak against traffic, as a JSON object */
json_t *front_report(const struct npuplan_graph *graph, const struct npuplan_front *front);
/** front_print() - the same for people */
void front_print(FILE *out, const struct npuplan_graph *graph, const struct npuplan_front *front);

/* ----------------------------------------------------------- transfers.c */

/* Banks that the arena lies in; null if there is but one. */
json_t *plan_banks_json(const struct npuplan_plan *plan);
/*
 * What a plan moves between arena and host memory; a plan that moves nothing gives null, and prints
 * nothing.
 */
json_t *plan_transfers_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan);
void plan_transfers_print(FILE *out, const struct npuplan_graph *graph,
			  const struct npuplan_plan *plan);

/* --------------------------------------------------------------- timing.c */

/* How long a plan takes; false, with a message, if that cannot be said. */
bool plan_timing(const char *path, const struct npuplan_graph *graph,
		 const struct npuplan_plan *plan, const struct npuplan_machine *machine,
		 struct npuplan_timing *timing);
json_t *timing_json(const struct npuplan_timing *timing);
/* The same for people. */
void timing_print(FILE *out, const struct npuplan_timing *timing);

/* --------------------------------------------------------- emit_tflite.c */

/** emit_prepare() - before planning: what TensorFlow Lite Micro asks of a plan */
bool emit_prepare(struct model *model, const struct tiling *tiling,
		  struct npuplan_options *options);
/** emit_tflite() - write the model with the plan in its metadata */
int emit_tflite(const struct model *model, const struct npuplan_plan *plan, struct outputs *outputs,
		const char *path);

/* What else TensorFlow Lite Micro's arena has to have room for, for people. */
void emit_print(FILE *out, const struct model *model, const struct npuplan_plan *plan,
		const char *path);
