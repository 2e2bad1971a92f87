/* SPDX-License-Identifier: MIT */
/* What is written to standard error while a test runs. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct said {
	FILE *before;
	char *text;
	size_t size;
};

static inline void said_begin(struct said *said)
{
	said->before = stderr;
	said->text = NULL;
	stderr = open_memstream(&said->text, &said->size);
}

/* The text, which said_end() has freed the next time; without times. */
static inline char *said_end(struct said *said)
{
	fclose(stderr);
	stderr = said->before;
	return said->text;
}
