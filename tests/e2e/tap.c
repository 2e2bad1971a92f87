// SPDX-License-Identifier: MIT
/*
 * tap - a copy of a model whose output is what its last fully connected layer reads: that says more
 * of a model than how sure it is of a word, which is nearly always 0.
 *
 * usage: npumem_tap MODEL COPY
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "npuimport.h"
#include "tflite/flatbuf.h"
#include "tflite/initial.h"
#include "tflite/schema.h"

/* What the last such operator of the first subgraph reads; -1: there is none. */
static int32_t last_read(struct flatbuf *fb, const struct flatbuf_table *root,
			 const struct flatbuf_table *subgraph)
{
	struct flatbuf_vector codes = flatbuf_vector(fb, root, MODEL_OPERATOR_CODES, 4);
	struct flatbuf_vector operators = flatbuf_vector(fb, subgraph, SUBGRAPH_OPERATORS, 4);

	for (uint32_t i = operators.count; i-- > 0;) {
		struct flatbuf_table operation = flatbuf_vector_table(fb, &operators, i);
		struct flatbuf_vector inputs = flatbuf_vector(fb, &operation, OPERATOR_INPUTS, 4);

		if (tflite_builtin(fb, &codes, &operation) == BUILTIN_FULLY_CONNECTED &&
		    inputs.count)
			return flatbuf_vector_i32(fb, &inputs, 0);
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct flatbuf_vector subgraphs, outputs;
	struct npuplan_error error = { .text = "" };
	struct flatbuf_table root, subgraph;
	struct flatbuf fb = { .error = &error };
	void *data = NULL;
	int32_t tensor;
	size_t size;
	FILE *copy;

	if (argc != 3)
		errx(2, "usage: npumem_tap MODEL COPY");
	if (npuimport_read_file(argv[1], &data, &size, &error))
		errx(1, "%s", error.text);
	fb.data = data;
	fb.size = size;
	root = flatbuf_root(&fb, TFLITE_IDENTIFIER);
	subgraphs = flatbuf_vector(&fb, &root, MODEL_SUBGRAPHS, 4);
	subgraph = flatbuf_vector_table(&fb, &subgraphs, 0);
	outputs = flatbuf_vector(&fb, &subgraph, SUBGRAPH_OUTPUTS, 4);
	tensor = last_read(&fb, &root, &subgraph);
	if (fb.err || tensor < 0 || outputs.count != 1)
		errx(1, "%s: no output to replace: %s", argv[1], error.text);
	for (int i = 0; i < 4; i++)
		((uint8_t *)data)[outputs.pos + (uint64_t)i] = (uint8_t)((uint32_t)tensor >> 8 * i);
	copy = fopen(argv[2], "w");
	if (!copy || fwrite(data, size, 1, copy) != 1 || fclose(copy))
		err(1, "%s", argv[2]);
	free(data);
	return 0;
}
