// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>

#include "refusal.h"

int refuse(struct refusal *why, int err, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(why->text, sizeof(why->text), format, list);
	va_end(list);
	return err;
}

const char *plain_line(char *line, size_t size, const char *text)
{
	size_t i = 0;

	for (; text[i] && i + 1 < size; i++)
		line[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	line[i] = '\0';
	return line;
}
