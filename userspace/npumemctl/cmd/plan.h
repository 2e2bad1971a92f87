/* SPDX-License-Identifier: MIT */
/* What the command line of npumemctl plan says; plan_options.c reads it. */
#pragma once

#include "commands.h"
#include "report/report.h"

#define COPY_NEVER (NPUPLAN_COPYING_SMALLER + 1)

struct plan_arguments {
	struct tiling tiling;
	struct model_reading reading;
	struct limits limits;
	struct npuplan_options plan;
	struct npuplan_cosma_options cosma;
	struct npuplan_tilesched_options tilesched;
	const char *graph;
	const char *output;
	const char *blob;
	const char *graph_blob;
	const char *engine;
	const char *budget;
	const char *budget_option; /* as it was typed */
	const char *tflite;
	const char *lp;
	struct option_texts external;
	struct option_texts fixed;
	struct option_texts breaks;
	struct option_texts assign;
	struct npuplan_core cores[NPUPLAN_CORES];
	uint32_t core_count;
	uint32_t *core_of;     /* per operator; cosma.core_of in the end */
	uint32_t *break_steps; /* cosma.breaks in the end */
	struct npuplan_bank banks[NPUPLAN_BANKS];
	struct npuplan_machine machine;
	struct npuplan_recompute recomputed;
	struct npuplan_carry_copies copied;
	uint32_t copying; /* enum npuplan_copying, or COPY_NEVER */
	uint32_t instances;
	uint32_t recompute_limit;
	bool recompute;
	bool pareto;
	bool external_io;
	bool json;
	bool report;
	bool tiles;
	bool concats;
};

/** plan_command - its options and arguments; the input is a struct plan_arguments */
extern const struct command plan_command;
