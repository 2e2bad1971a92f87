/* SPDX-License-Identifier: MIT */
/* How models are read, and what of them was not understood. */
#include <stdlib.h>

#include "model.h"

static const struct command_option options[] = {
	{ "strict", 0, VALUE_FLAG, NULL,
	  "Refuse a model of which something is not understood, instead of warning of it",
	  offsetof(struct model_reading, strict) },
	{ 0 },
};

const struct command reading_command = { .options = options };

void warnings_print(const char *path, const struct npuimport_warnings *warnings)
{
	char line[1024];

	for (uint32_t i = 0; i < warnings->count; i++) {
		npuimport_warning_text(&warnings->list[i], line, sizeof(line));
		warning(path, "%s", line);
	}
	if (warnings->unlisted)
		warning(path, "%llu more of other kinds are not listed",
			(unsigned long long)warnings->unlisted);
}

json_t *warnings_json(const struct npuimport_warnings *warnings)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < warnings->count; i++) {
		const struct npuimport_warning *w = &warnings->list[i];
		json_t *places = json_array();

		for (uint32_t k = 0; k < NPUIMPORT_PLACES && k < w->count; k++)
			json_array_append_new(places, json_string(w->places[k]));
		json_array_append_new(list, json_pack("{ss ss sI ss so}", "kind",
						      npuimport_doubt_name(w->kind), "what",
						      w->what, "count", (json_int_t)w->count,
						      "text", w->text, "places", places));
	}
	return json_pack("{sI sI so}", "total", (json_int_t)warnings->total, "unlisted",
			 (json_int_t)warnings->unlisted, "list", list);
}
