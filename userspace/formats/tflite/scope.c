/* SPDX-License-Identifier: MIT */
/* Instances of subgraphs: their tensors, and their operators one after another. */
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void tflite_scope_free(struct tflite_scope *scope)
{
	if (!scope)
		return;
	free(scope->values);
	free(scope->bound);
	free(scope->until);
	free(scope);
}

struct tflite_scope *tflite_scope_new(struct tflite_reader *r, struct tflite_subgraph *sub)
{
	size_t count = (size_t)sub->tensors.count + 1;
	struct tflite_scope *scope;

	tflite_count_uses(r, sub);
	if (r->fb.err)
		return NULL;
	scope = calloc(1, sizeof(*scope));
	if (scope) {
		scope->values = malloc(count * sizeof(*scope->values));
		scope->bound = calloc(count, sizeof(*scope->bound));
	}
	if (!scope || !scope->values || !scope->bound) {
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
		tflite_scope_free(scope);
		return NULL;
	}
	/* NPUMEM_NONE all over. */
	memset(scope->values, 0xff, count * sizeof(*scope->values));
	scope->sub = sub;
	scope->instance = sub->instances++;
	return scope;
}

void tflite_scope_run(struct tflite_reader *r, struct tflite_scope *scope)
{
	struct tflite_subgraph *sub = scope->sub;

	sub->active = true;
	tflite_variables_ahead(r);
	for (uint32_t i = 0; i < sub->tensors.count && !r->fb.err; i++)
		tflite_tensor(r, i);
	if (!sub->number && !r->fb.err)
		tflite_offline(r);
	for (uint32_t i = 0; i < sub->operators.count && !r->fb.err; i++)
		tflite_operator(r, i);
	sub->active = false;
}
