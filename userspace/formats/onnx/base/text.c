/* SPDX-License-Identifier: MIT */
/* What went wrong in an ONNX model, and at which node. */
#include "reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void onnx_fail(struct onnx_reader *r, int err, const char *fmt, ...)
{
	va_list args;

	if (r->err)
		return;
	r->err = err;
	va_start(args, fmt);
	vsnprintf(r->error->text, sizeof(r->error->text), fmt, args);
	va_end(args);
}

struct import_text onnx_node_text(const struct onnx_node *n)
{
	struct import_text text;

	/* Of a name 80 bytes fit beside the rest, and 32 where there is also a place to name. */
	snprintf(text.s, sizeof(text.s), "node %" PRIu32 " '%.*s' (%.40s)%s", n->number,
		 *n->where ? 32 : 80, onnx_text(n->proto->name).s, onnx_text(n->proto->op_type).s,
		 n->where);
	return text;
}
