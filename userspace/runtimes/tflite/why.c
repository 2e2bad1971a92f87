// SPDX-License-Identifier: MIT
#include "why.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A model's names and a driver's log may have several lines; what is said has one. */
static void make_one_line(char *text)
{
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = c[1] ? ' ' : '\0';
}

int why_fail(struct why *why, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	make_one_line(why->text);
	return code;
}

void say(const char *format, ...)
{
	struct why line;
	va_list args;

	va_start(args, format);
	vsnprintf(line.text, sizeof(line.text), format, args);
	va_end(args);
	make_one_line(line.text);
	fprintf(stderr, "npumem: %s\n", line.text);
}
