/* SPDX-License-Identifier: MIT */
/* Names of tensors and operators, which may be anything in a file. */
#include "reader.h"

/* Name as clean UTF-8, cut short to TFLITE_MAX_NAME; bytes that are none become '?'. */
struct tflite_name tflite_name_of(struct flatbuf *fb, const struct flatbuf_table *table,
				  unsigned int field)
{
	struct flatbuf_vector text = flatbuf_vector(fb, table, field, 1);
	struct tflite_name name;

	import_clean_name(name.s, sizeof(name.s), (const char *)fb->data + text.pos, text.count);
	return name;
}
