/* SPDX-License-Identifier: MIT */
/* How models are read, and what of them was not understood. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* Options without a letter. */
enum { OPTION_DIM = 0x600 };

static const struct command_option options[] = {
	{ "strict", 0, VALUE_FLAG, NULL,
	  "Refuse a model of which something is not understood, instead of warning of it",
	  offsetof(struct model_reading, strict) },
	{ "dim", OPTION_DIM, VALUE_OTHER, "NAME=SIZE",
	  "Elements of a dimension for which an ONNX model has a name only (again and again)" },
	{ 0 },
};

/* "NAME=SIZE"; @size: out. Where the name ends, or NULL if it is none. */
static const char *parse_dim(const char *text, int64_t *size)
{
	const char *equals = strrchr(text, '=');
	char *end;

	if (!equals || equals == text || !isdigit((unsigned char)equals[1]))
		return NULL;
	errno = 0;
	*size = strtoll(equals + 1, &end, 10);
	return errno || *end || *size < 1 || *size > NPUIMPORT_MAX_DIM ? NULL : equals;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct model_reading *reading = state->input;
	int64_t size;

	if (key != OPTION_DIM)
		return ARGP_ERR_UNKNOWN;
	if (!parse_dim(arg, &size))
		usage_error(state, "--dim: '%s' is not NAME=SIZE, with a size from 1 to %d", arg,
			    NPUIMPORT_MAX_DIM);
	option_texts_add(&reading->dims, arg);
	return 0;
}

const struct command reading_command = { .options = options, .parse = parse };

struct npuimport_dim *dims_of(const struct model_reading *reading)
{
	struct npuimport_dim *dims = calloc(reading->dims.count + 1, sizeof(*dims));

	if (!dims)
		abort();
	for (size_t i = 0; i < reading->dims.count; i++) {
		const char *text = reading->dims.list[i];
		const char *end = parse_dim(text, &dims[i].size);

		dims[i].name = strndup(text, end ? (size_t)(end - text) : 0);
		if (!dims[i].name)
			abort();
	}
	return dims;
}

void dims_free(struct npuimport_dim *dims, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((char *)(uintptr_t)dims[i].name);
	free(dims);
}

void reading_fini(struct model_reading *reading)
{
	free(reading->dims.list);
	*reading = (struct model_reading){ 0 };
}

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
