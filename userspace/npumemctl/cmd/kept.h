/* SPDX-License-Identifier: MIT */
/* What is known of a plan that is kept, as text and as JSON. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "npuplan.h"
#include "plancache.h"
#include "rate.h"

/* Names by enum drm_npumem_objective, with NULL behind them. */
#define KEPT_OBJECTIVES 3
extern const char *const kept_objectives[KEPT_OBJECTIVES + 1];

/* A text as JSON has it; bytes that are no UTF-8, as plain text has them. */
json_t *kept_text_json(const char *text);
/* JSON has no numbers above INT64_MAX: that then. */
json_int_t kept_int_json(uint64_t number);
/* Of what costs of a planner for an objective are bytes: "arena", "traffic", or null. */
json_t *kept_counts_json(enum plancache_counts counts);
/* All of it but what the plan's bytes say. */
json_t *kept_json(const struct plancache_file *file, const struct plancache_entry *entry);

/* How long ago, in the largest unit of which it is at least two; clocks may have been set. */
const char *kept_ago(int64_t then_ns, char text[32]);

/* kept_print() - print all of it; @info: of the plan itself */
void kept_print(const struct plancache_file *file, const struct plancache_entry *entry,
		const struct npumem_plan_info *info);
