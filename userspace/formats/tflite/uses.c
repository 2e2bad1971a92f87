/* SPDX-License-Identifier: MIT */
/* Subgraphs of the file, and what of each uses which of its tensors. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * struct users - whose references are noted
 * @what: "input" or "output"
 * @of: the subgraph itself or one of its operators
 * @min: -1 if references may be left out
 */
struct users {
	const char *what;
	struct import_text of;
	int32_t min;
	uint8_t use;
	uint32_t operator_number;
};

static struct import_text subgraph_text(const struct tflite_subgraph *sub)
{
	struct import_text text;

	snprintf(text.s, sizeof(text.s), "subgraph %" PRIu32, sub->number);
	return text;
}

static void note_uses(struct tflite_reader *r, struct tflite_subgraph *sub,
		      const struct flatbuf_vector *numbers, const struct users *users)
{
	for (uint32_t i = 0; i < numbers->count; i++) {
		int32_t number = flatbuf_vector_i32(&r->fb, numbers, i);

		if (number == -1 && users->min == -1)
			continue;
		if (number < 0 || (uint32_t)number >= sub->tensors.count) {
			flatbuf_fail(&r->fb, -EINVAL,
				     "%s %" PRIu32 " of %s is tensor %" PRId32
				     ", but there are only %" PRIu32,
				     users->what, i, users->of.s, number, sub->tensors.count);
			return;
		}
		sub->uses[number] |= users->use;
		if (users->use == USE_READ)
			sub->last_read[number] = users->operator_number;
	}
}

/* Vectors may overlap, and subgraphs run often: a small file could stand for a huge graph. */
static void count_references(struct tflite_reader *r, uint64_t count)
{
	r->references += count;
	if (r->references > NPUIMPORT_MAX_REFERENCES)
		flatbuf_fail(&r->fb, -E2BIG,
			     "operators have more than %u inputs and outputs together",
			     NPUIMPORT_MAX_REFERENCES);
}

static void note_operators(struct tflite_reader *r, struct tflite_subgraph *sub)
{
	const struct tflite_scope scope = { .sub = sub };

	for (uint32_t i = 0; !r->fb.err && i < sub->operators.count; i++) {
		struct flatbuf_table table = flatbuf_vector_table(&r->fb, &sub->operators, i);
		struct flatbuf_vector inputs = flatbuf_vector(&r->fb, &table, OPERATOR_INPUTS, 4);
		struct flatbuf_vector outputs = flatbuf_vector(&r->fb, &table, OPERATOR_OUTPUTS, 4);
		struct users users = { "input", tflite_place(&scope, i), -1, USE_READ, i };

		count_references(r, (uint64_t)inputs.count + outputs.count);
		if (r->fb.err)
			return;
		note_uses(r, sub, &inputs, &users);
		users.what = "output";
		users.use = USE_WRITTEN;
		note_uses(r, sub, &outputs, &users);
	}
}

/* Another instance: what it refers to is known, but it counts once more. */
static void count_again(struct tflite_reader *r, const struct tflite_subgraph *sub)
{
	for (uint32_t i = 0; !r->fb.err && i < sub->operators.count; i++) {
		struct flatbuf_table table = flatbuf_vector_table(&r->fb, &sub->operators, i);

		count_references(
			r, (uint64_t)1 + flatbuf_vector(&r->fb, &table, OPERATOR_INPUTS, 4).count +
				   flatbuf_vector(&r->fb, &table, OPERATOR_OUTPUTS, 4).count);
	}
}

static bool take_memory(struct tflite_reader *r, struct tflite_subgraph *sub)
{
	size_t count = (size_t)sub->tensors.count + 1;

	sub->uses = calloc(count, 1);
	sub->data = calloc(count, sizeof(*sub->data));
	sub->kept = malloc(count * sizeof(*sub->kept));
	sub->last_read = malloc(count * sizeof(*sub->last_read));
	if (!sub->uses || !sub->data || !sub->kept || !sub->last_read) {
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
		return false;
	}
	memset(sub->kept, 0xff, count * sizeof(*sub->kept));
	memset(sub->last_read, 0xff, count * sizeof(*sub->last_read));
	return true;
}

void tflite_count_uses(struct tflite_reader *r, struct tflite_subgraph *sub)
{
	struct users users = { "input", subgraph_text(sub), 0, USE_INPUT, NPUMEM_NONE };

	/* Instances of subgraphs but the first have arrays of their own, of all tensors. */
	if (sub->number)
		count_references(r, sub->tensors.count);
	if (sub->uses || r->fb.err) {
		count_again(r, sub);
		return;
	}
	if (!take_memory(r, sub))
		return;
	note_uses(r, sub, &sub->inputs, &users);
	users.what = "output";
	users.use = USE_OUTPUT;
	note_uses(r, sub, &sub->outputs, &users);
	note_operators(r, sub);
	for (uint32_t i = 0; !r->fb.err && i < sub->tensors.count; i++) {
		struct flatbuf_table table = flatbuf_vector_table(&r->fb, &sub->tensors, i);

		if (flatbuf_u8(&r->fb, &table, TENSOR_IS_VARIABLE, 0) && sub->uses[i])
			sub->uses[i] |= USE_VARIABLE;
	}
}

void tflite_subgraphs(struct tflite_reader *r)
{
	struct flatbuf *fb = &r->fb;
	struct flatbuf_vector all = flatbuf_vector(fb, &r->root, MODEL_SUBGRAPHS, 4);

	if (!all.count) {
		flatbuf_fail(fb, -EINVAL, "the model has no subgraph");
		return;
	}
	r->subgraphs = calloc(all.count, sizeof(*r->subgraphs));
	if (!r->subgraphs) {
		flatbuf_fail(fb, -ENOMEM, "out of memory");
		return;
	}
	r->subgraph_count = all.count;
	for (uint32_t i = 0; i < all.count && !fb->err; i++) {
		struct flatbuf_table table = flatbuf_vector_table(fb, &all, i);
		struct tflite_subgraph *sub = &r->subgraphs[i];

		*sub = (struct tflite_subgraph){
			.number = i,
			.tensors = flatbuf_vector(fb, &table, SUBGRAPH_TENSORS, 4),
			.operators = flatbuf_vector(fb, &table, SUBGRAPH_OPERATORS, 4),
			.inputs = flatbuf_vector(fb, &table, SUBGRAPH_INPUTS, 4),
			.outputs = flatbuf_vector(fb, &table, SUBGRAPH_OUTPUTS, 4),
			.first_tensor = r->tensor_total,
			.first_operator = r->operator_total,
		};
		r->tensor_total += sub->tensors.count;
		r->operator_total += sub->operators.count;
	}
}

void tflite_subgraphs_free(struct tflite_reader *r)
{
	for (uint32_t i = 0; i < r->subgraph_count; i++) {
		free(r->subgraphs[i].uses);
		free(r->subgraphs[i].last_read);
		free(r->subgraphs[i].data);
		free(r->subgraphs[i].kept);
	}
	free(r->subgraphs);
}
