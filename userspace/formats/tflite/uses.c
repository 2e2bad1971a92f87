/* SPDX-License-Identifier: MIT */
/* What of a model uses which tensor. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>

/* @what: "input" or "output": the operator's, or the model's if @operator_number is NPUMEM_NONE */
static void note_uses(struct tflite_reader *r, const struct tflite_tables *model,
		      const struct flatbuf_vector *numbers, int32_t min, uint8_t use,
		      const char *what, uint32_t operator_number)
{
	char of[32] = "subgraph 0";

	if (operator_number != NPUMEM_NONE)
		snprintf(of, sizeof(of), "operator %" PRIu32, operator_number);
	for (uint32_t i = 0; i < numbers->count; i++) {
		int32_t number = flatbuf_vector_i32(&r->fb, numbers, i);

		if (number == -1 && min == -1)
			continue;
		if (number >= 0 && (uint32_t)number < model->tensors.count)
			model->uses[number] |= use;
		else
			flatbuf_fail(&r->fb, -EINVAL,
				     "%s %" PRIu32 " of %s is tensor %" PRId32
				     ", but there are only %" PRIu32,
				     what, i, of, number, model->tensors.count);
	}
}

/* The uses of each tensor are counted, and all numbers of tensors are checked here. */
void tflite_count_uses(struct tflite_reader *r, struct tflite_tables *model)
{
	uint64_t references = 0;

	note_uses(r, model, &model->inputs, 0, USE_INPUT, "input", NPUMEM_NONE);
	note_uses(r, model, &model->outputs, 0, USE_OUTPUT, "output", NPUMEM_NONE);
	for (uint32_t i = 0; !r->fb.err && i < model->operators.count; i++) {
		struct flatbuf_table table = flatbuf_vector_table(&r->fb, &model->operators, i);
		struct flatbuf_vector inputs = flatbuf_vector(&r->fb, &table, OPERATOR_INPUTS, 4);
		struct flatbuf_vector outputs = flatbuf_vector(&r->fb, &table, OPERATOR_OUTPUTS, 4);

		/* Vectors may overlap: a small file could stand for a huge graph. */
		references += (uint64_t)inputs.count + outputs.count;
		if (references > NPUIMPORT_MAX_REFERENCES) {
			flatbuf_fail(&r->fb, -E2BIG,
				     "operators have more than %u inputs and outputs together",
				     NPUIMPORT_MAX_REFERENCES);
			return;
		}
		note_uses(r, model, &inputs, -1, USE_READ, "input", i);
		note_uses(r, model, &outputs, -1, USE_WRITTEN, "output", i);
	}
	for (uint32_t i = 0; !r->fb.err && i < model->tensors.count; i++) {
		struct flatbuf_table table = flatbuf_vector_table(&r->fb, &model->tensors, i);

		if (flatbuf_u8(&r->fb, &table, TENSOR_IS_VARIABLE, 0) && model->uses[i])
			model->uses[i] |= USE_VARIABLE;
	}
}
