// SPDX-License-Identifier: MIT
#include "kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/model.h"

#define BILLION 1000000000ll

const char *const kept_objectives[] = { "arena", "traffic", "peak", NULL };

static const char *objective_name(uint32_t objective)
{
	return objective < KEPT_OBJECTIVES ? kept_objectives[objective] : "unknown";
}

json_t *kept_text_json(const char *text)
{
	json_t *string = json_string(text);
	char *plain = string ? NULL : plain_text(text, false);

	if (plain)
		string = json_string(plain);
	free(plain);
	return string;
}

static const char *maker_name(uint32_t maker)
{
	static const char *const names[PLANCACHE_MAKERS] = { "unknown", "answer", "search",
							     "warm" };

	return names[maker < PLANCACHE_MAKERS ? maker : PLANCACHE_BY_UNKNOWN];
}

json_int_t kept_int_json(uint64_t number)
{
	return (json_int_t)(number > INT64_MAX ? INT64_MAX : number);
}

/* What another npumem counts for a planner may be something else. */
static enum plancache_counts counts_of(const struct plancache_entry *entry)
{
	if (entry->cost == PLANCACHE_COST_UNKNOWN ||
	    strcmp(entry->version, NPUMEM_PACKAGE_VERSION) != 0)
		return PLANCACHE_COUNTS_UNKNOWN;
	return plancache_counts(entry->planner, entry->objective);
}

json_t *kept_counts_json(enum plancache_counts counts)
{
	return counts == PLANCACHE_COUNTS_ARENA	  ? json_string("arena") :
	       counts == PLANCACHE_COUNTS_TRAFFIC ? json_string("traffic") :
						    json_null();
}

static json_t *history_json(const struct plancache_entry *entry)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < entry->past_count; i++) {
		const struct plancache_past *past = &entry->past[i];

		json_array_append_new(array, json_pack("{sI sI ss sf}", "made_ns",
						       (json_int_t)past->made_ns, "cost",
						       kept_int_json(past->cost), "by",
						       maker_name(past->maker), "seconds",
						       1e-6 * (double)past->took_us));
	}
	return array;
}

json_t *kept_json(const struct plancache_file *file, const struct plancache_entry *entry)
{
	char name[PLANCACHE_NAME_SIZE];

	plancache_key_name(&file->key, name);
	return json_pack(
		"{ss so ss sI sI so so sI so sb so sI sI so so}", "key", name, "planner",
		kept_text_json(entry->planner), "objective", objective_name(entry->objective),
		"arena_budget", kept_int_json(entry->arena_budget), "graph_bytes",
		kept_int_json(entry->graph_size), "cost",
		entry->cost == PLANCACHE_COST_UNKNOWN ? json_null() :
							json_integer(kept_int_json(entry->cost)),
		"counts", kept_counts_json(counts_of(entry)), "bytes", (json_int_t)file->bytes,
		"given_us",
		entry->given_us == PLANCACHE_NO_DEADLINE ?
			json_null() :
			json_integer(kept_int_json(entry->given_us)),
		"final", entry->final, "version", kept_text_json(entry->version), "used_ns",
		(json_int_t)file->used_ns, "plan_bytes", (json_int_t)(entry->size - entry->head),
		"uid", entry->owner == PLANCACHE_NOBODY ? json_null() : json_integer(entry->owner),
		"history", history_json(entry));
}

const char *kept_ago(int64_t then_ns, char text[32])
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = { { 86400, "days" }, { 3600, "hours" }, { 60, "minutes" }, { 1, "seconds" } };
	int64_t seconds = time(NULL) - then_ns / BILLION;

	if (seconds <= -2 * 60)
		return "in the future";
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (seconds < 2 * units[i].seconds)
			continue;
		snprintf(text, 32, "%" PRId64 " %s ago", seconds / units[i].seconds, units[i].name);
		return text;
	}
	return "now";
}

static void print_plan(const struct npumem_plan_info *info)
{
	printf("  arena      %s, lower bound %s\n", size_text(info->arena_size).s,
	       size_text(info->lower_bound).s);
	if (info->host_size)
		printf("  traffic    %s\n", size_text(info->spill_bytes + info->fill_bytes).s);
}

/* What was kept before, oldest first, and last the plan of now. */
static void print_history(const struct plancache_entry *entry)
{
	for (uint32_t i = 0; i < entry->past_count; i++) {
		const struct plancache_past *past = &entry->past[i];
		const time_t seconds = past->made_ns / BILLION;
		char when[64] = "?";
		struct tm tm;

		if (gmtime_r(&seconds, &tm))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
		printf("  %-9s  %s UTC, %s in %.3g s: %s%s\n", i ? "" : "history", when,
		       maker_name(past->maker), 1e-6 * (double)past->took_us,
		       size_text(past->cost).s, plancache_counted(counts_of(entry)));
	}
}

static void print_entry(const char *name, const struct plancache_file *file,
			const struct plancache_entry *entry)
{
	char when[32], *planner = plain_text(entry->planner, false);
	char *version = plain_text(entry->version, false);

	printf("%s\n", name);
	printf("  request    graph of %s, planner %s, objective %s", size_text(entry->graph_size).s,
	       planner, objective_name(entry->objective));
	if (entry->arena_budget)
		printf(", arena budget %s", size_text(entry->arena_budget).s);
	puts("");
	printf("  plan       %s", size_text(entry->size - entry->head).s);
	if (entry->head)
		printf(", of another graph of %s", size_text(entry->head).s);
	puts("");
	printf("  search     %s\n",
	       entry->final ? "ended by itself" : "ended by its deadline or its memory");
	printf("  made by    npumem %s\n", version);
	if (entry->owner != PLANCACHE_NOBODY)
		printf("  counts as  user %" PRIu32 "'s\n", entry->owner);
	printf("  used       %s\n", kept_ago(file->used_ns, when));
	free(planner);
	free(version);
}

void kept_print(const struct plancache_file *file, const struct plancache_entry *entry,
		const struct npumem_plan_info *info)
{
	char name[PLANCACHE_NAME_SIZE];

	plancache_key_name(&file->key, name);
	print_entry(name, file, entry);
	print_plan(info);
	print_history(entry);
}
