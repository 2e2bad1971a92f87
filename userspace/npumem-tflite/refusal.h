/* SPDX-License-Identifier: MIT */
/* Why something was refused: an errno, and a sentence for whoever asked for it. */
#pragma once

#include <stddef.h>

/* struct refusal - the sentence; empty while nothing was refused */
struct refusal {
	char text[320];
};

/* Write the sentence and return @err, a negative errno. */
__attribute__((format(printf, 3, 4))) int refuse(struct refusal *why, int err, const char *format,
						 ...);

/*
 * plain_line() - copy a text for a terminal: control characters and bytes that are no ASCII become
 * "?", and of what is longer than @size only the beginning is there
 */
const char *plain_line(char *line, size_t size, const char *text);
