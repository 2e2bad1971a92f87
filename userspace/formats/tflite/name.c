/* SPDX-License-Identifier: MIT */
/* Names of tensors and operators, which may be anything in a file. */
#include "reader.h"

#include <string.h>

/* Length of the UTF-8 sequence at @s of at most @size bytes; 0 if it is none. */
static size_t utf8_length(const uint8_t *s, size_t size)
{
	size_t length = s[0] < 0x80		    ? 1 :
			s[0] >= 0xc2 && s[0] < 0xe0 ? 2 :
			s[0] >= 0xe0 && s[0] < 0xf0 ? 3 :
			s[0] >= 0xf0 && s[0] < 0xf5 ? 4 :
						      0;

	if (!length || length > size)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong, surrogates, beyond the last code point. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

/* Name as clean UTF-8, cut short to TFLITE_MAX_NAME; bytes that are none become '?'. */
struct tflite_name tflite_name_of(struct flatbuf *fb, const struct flatbuf_table *table,
				  unsigned int field)
{
	struct flatbuf_vector text = flatbuf_vector(fb, table, field, 1);
	const uint8_t *bytes = fb->data + text.pos;
	struct tflite_name name;
	size_t used = 0, i = 0;

	while (i < text.count) {
		size_t length = utf8_length(bytes + i, text.count - i);

		if (used + (length ? length : 1) > TFLITE_MAX_NAME)
			break;
		if (length && bytes[i] >= ' ' && bytes[i] != 0x7f) {
			memcpy(name.s + used, bytes + i, length);
			used += length;
			i += length;
		} else {
			name.s[used++] = '?';
			i++;
		}
	}
	name.s[used] = '\0';
	return name;
}
