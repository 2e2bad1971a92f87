/* SPDX-License-Identifier: MIT */
/* Text from outside, such as names of models and lines of files, as a terminal may have it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** utf8_character() - how many bytes the character at @text has, and which it is; 0: it is none */
size_t utf8_character(const char *text, uint32_t *character);

/*
 * plain_text() - a copy of a text that does a terminal no harm; free() it
 * @lines: ends of lines stay as they are
 *
 * Control characters, characters that change the direction of text or end lines, and bytes that are
 * no UTF-8 become "\xNN": names are a model's, and must not move the cursor of whoever looks.
 * Without memory the program ends.
 */
char *plain_text(const char *text, bool lines);
