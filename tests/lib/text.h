/* SPDX-License-Identifier: MIT */
/* Texts that are changed in one place, and reasons that are kept. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy of @text with the first @find replaced by @with; the caller frees it. NULL: not found. */
static inline char *text_edit(const char *text, const char *find, const char *with)
{
	const char *at = strstr(text, find);
	char *out;

	if (!at || asprintf(&out, "%.*s%s%s", (int)(at - text), text, with, at + strlen(find)) < 0)
		return NULL;
	return out;
}

/* Keeps a reason in @text unless an earlier one is there; false, for the caller to return. */
__attribute__((format(printf, 3, 4))) static inline bool text_reason(char *text, size_t size,
								     const char *format, ...)
{
	va_list args;

	if (text[0])
		return false;
	va_start(args, format);
	vsnprintf(text, size, format, args);
	va_end(args);
	return false;
}
