/* SPDX-License-Identifier: MIT */
/* Why something is refused, and lines for people on standard error. */
#pragma once

/* struct why - a sentence without newline */
struct why {
	char text[1536];
};

/* Write the sentence; returns @code. */
__attribute__((format(printf, 3, 4))) int why_fail(struct why *why, int code, const char *format,
						   ...);

/* One line on standard error, with "npumem: " before it. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
