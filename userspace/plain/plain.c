/* SPDX-License-Identifier: MIT */
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t utf8_character(const char *text, uint32_t *character)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *byte = (const unsigned char *)text;
	size_t length = *byte < 0x80 ? 1 :
			*byte < 0xc2 ? 0 :
			*byte < 0xe0 ? 2 :
			*byte < 0xf0 ? 3 :
				       4;

	if (!length || *byte > 0xf4)
		return 0;
	*character = length == 1 ? *byte : *byte & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | (byte[i] & 0x3f);
	}
	/* Halves of pairs of UTF-16 are none, nor is what is beyond the last: JSON has neither. */
	if (*character > 0x10ffff || (*character >= 0xd800 && *character < 0xe000))
		return 0;
	return *character >= least[length] ? length : 0;
}

/*
 * What terminals obey: C0, DEL, C1; and what makes text read otherwise than it is
 * written: marks, embeddings, overrides and isolates of direction, separators of lines
 * and paragraphs. And the two that are no characters, which XML cannot say.
 */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfffe ||
	       c == 0xffff;
}

char *plain_text(const char *text, bool lines)
{
	char *plain = malloc(4 * strlen(text) + 1), *out = plain;

	if (!plain)
		abort();
	while (*text) {
		uint32_t character = 0;
		size_t length = utf8_character(text, &character);
		bool as_it_is = length && (!is_control(character) || (lines && *text == '\n'));

		for (size_t i = 0; i < (length ? length : 1); i++, text++) {
			if (as_it_is)
				*out++ = *text;
			else
				out += sprintf(out, "\\x%02x", (unsigned char)*text);
		}
	}
	*out = '\0';
	return plain;
}
