/* SPDX-License-Identifier: MIT */
/* Texts that the user sees: errors, warnings, sizes, JSON on standard output. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* @what, @id: of which it is the name, for what has none. */
static void rename_plain(char **name, const char *what, int64_t id)
{
	char *plain = plain_text(*name, false);

	if (!*plain) {
		free(plain);
		if (asprintf(&plain, "%s %" PRId64, what, id) < 0)
			abort();
	}
	free(*name);
	*name = plain;
}

static void rename_step(const struct npuplan_graph *graph, uint32_t index)
{
	struct npuplan_step *step = &graph->steps[index];
	bool known = step->op < graph->op_count;

	rename_plain(&step->name, known ? "operator" : "step",
		     known ? graph->ops[step->op].id : index);
}

void plain_names(struct npuplan_graph *graph)
{
	char *name = plain_text(*graph->name ? graph->name : "(no name)", false);

	free(graph->name);
	graph->name = name;
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		rename_plain(&graph->tensors[i].name, "tensor", graph->tensors[i].id);
	for (uint32_t i = 0; i < graph->op_count; i++) {
		char *type = plain_text(graph->ops[i].type, false);

		rename_plain(&graph->ops[i].name, "operator", graph->ops[i].id);
		free(graph->ops[i].type);
		graph->ops[i].type = type;
	}
	for (uint32_t i = 0; i < graph->step_count; i++)
		rename_step(graph, i);
}

struct short_text short_text(const char *text)
{
	struct short_text cut;
	size_t length = strlen(text);

	if (length <= SHORT_NAME) {
		memcpy(cut.s, text, length + 1);
		return cut;
	}
	length = SHORT_NAME - 3;
	/* No character is cut in two. */
	while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	memcpy(cut.s, text, length);
	memcpy(cut.s + length, "...", 4);
	return cut;
}

static char *last_failure;

/* "npumemctl: WHERE: KINDTEXT" on standard error; returns the text as it was given, malloc'ed. */
__attribute__((format(printf, 3, 0))) static char *say(const char *where, const char *kind,
						       const char *fmt, va_list args)
{
	char *text, *plain, *place;

	if (vasprintf(&text, fmt, args) < 0)
		abort();
	plain = plain_text(text, false);
	place = plain_text(where, false);
	fprintf(stderr, "npumemctl: %s: %s%s\n", place, kind, plain);
	free(place);
	free(plain);
	return text;
}

void warning(const char *where, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	free(say(where, "warning: ", fmt, args));
	va_end(args);
}

const char *failure_text(void)
{
	return last_failure ? last_failure : "";
}

int failure(const char *where, const char *fmt, ...)
{
	char *text;
	va_list args;

	/* Results printed before come first where both go to one terminal. */
	fflush(stdout);
	va_start(args, fmt);
	text = say(where, "", fmt, args);
	va_end(args);
	free(last_failure);
	last_failure = text;
	return EXIT_FAILED;
}

struct size_text short_size(uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	struct size_text text;
	double value = (double)bytes;
	int unit = -1;

	while (value >= 1024 && unit < 3) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(text.s, sizeof(text.s), "%" PRIu64 " bytes", bytes);
	else
		snprintf(text.s, sizeof(text.s), "%.1f %s", value, units[unit]);
	return text;
}

struct size_text size_text(uint64_t bytes)
{
	struct size_text text;

	if (bytes < 1024)
		return short_size(bytes);
	snprintf(text.s, sizeof(text.s), "%" PRIu64 " bytes (%.24s)", bytes, short_size(bytes).s);
	return text;
}

void text_begin(struct text *text)
{
	*text = (struct text){ 0 };
	text->out = open_memstream(&text->bytes, &text->size);
	if (!text->out)
		abort();
}

void text_drop(struct text *text)
{
	fclose(text->out);
	free(text->bytes);
}

static int print_all(const void *bytes, size_t size)
{
	if (fwrite(bytes, 1, size, stdout) != size || fflush(stdout))
		return failure("standard output", "%s", strerror(errno));
	return EXIT_OK;
}

int text_end(struct text *text)
{
	int status;

	if (fclose(text->out))
		abort();
	status = print_all(text->bytes, text->size);
	free(text->bytes);
	return status;
}

int text_end_cut(struct text *text, unsigned int width)
{
	struct text cut;

	if (!width)
		return text_end(text);
	if (fclose(text->out))
		abort();
	text_begin(&cut);
	print_cut(cut.out, text->bytes, width);
	free(text->bytes);
	return text_end(&cut);
}

int print_json(json_t *object)
{
	return print_json_digits(object, 6);
}

int print_json_digits(json_t *object, int digits)
{
	char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(digits)) : NULL;
	int status;

	json_decref(object);
	if (!text)
		return failure("JSON", "cannot be written: a name is not UTF-8, or out of memory");
	status = print_all(text, strlen(text));
	if (status == EXIT_OK)
		status = print_all("\n", 1);
	free(text);
	return status;
}
