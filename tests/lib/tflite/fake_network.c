// SPDX-License-Identifier: MIT
#include "fake_network.h"

#include <stdlib.h>
#include <string.h>

enum { ADD = 0, CONV = 3, RELU = 19 };

static const float weights[CHANNELS * CHANNELS] = { 1, -2, 3, 1 };
static const float bias[CHANNELS] = { 5, -7 };
static const float to_many[MANY * CHANNELS] = { 1, 0, -1, 2, 3, 1, 0, -2 };
static const float to_few[CHANNELS * MANY] = { 2, 1, -1, 0, 1, 1, 0, -3 };
/* The runtime's parameters of operators, as 32-bit words: VALID, strides, none, dilations. */
static int conv_params[6] = { 2, 1, 1, 0, 1, 1 };
static int add_params[2];

static const struct fake_op network[NETWORK_OPERATORS] = {
	{ CONV, 0, { IN, WEIGHTS, BIAS, -2 }, { FIRST, -2 } },
	{ RELU, 0, { FIRST, -2 }, { SECOND, -2 } },
	{ CONV, 0, { SECOND, TO_MANY, -1, -2 }, { WIDE, -2 } },
	{ CONV, 0, { WIDE, TO_FEW, BIAS, -2 }, { THIRD, -2 } },
	{ ADD, 0, { THIRD, FIRST, -2 }, { LAST, -2 } },
};

struct tfl_ints *network_ints(int count, const int *values)
{
	struct tfl_ints *list = malloc(sizeof(*list) + sizeof(int) * (size_t)count);

	list->size = count;
	memcpy(list->data, values, sizeof(int) * (size_t)count);
	return list;
}

static size_t bytes_of(int rank, const int *shape)
{
	size_t bytes = sizeof(float);

	for (int d = 0; d < rank; d++)
		bytes *= (size_t)shape[d];
	return bytes;
}

void network_resize(struct tfl_tensor *t, int rank, const int *shape)
{
	free(t->dims);
	t->dims = network_ints(rank, shape);
	t->bytes = bytes_of(rank, shape);
}

int network_shape(int tensor, int rows, int shape[4])
{
	const bool constant = tensor == WEIGHTS || tensor == TO_MANY || tensor == TO_FEW;

	shape[0] = !constant ? 1 : tensor == TO_MANY ? MANY : CHANNELS;
	shape[1] = constant ? 1 : rows;
	shape[2] = constant ? 1 : COLUMNS;
	shape[3] = tensor == WIDE || tensor == TO_FEW ? MANY : CHANNELS;
	if (tensor != BIAS)
		return 4;
	shape[0] = CHANNELS;
	return 1;
}

static void add_tensor(struct fake *fake, int tensor)
{
	static const char *const names[TENSORS] = { "in",     "weights", "bias", "first",
						    "second", "to_many", "wide", "to_few",
						    "third",  "last" };
	static const float *const constants[TENSORS] = {
		[WEIGHTS] = weights, [BIAS] = bias, [TO_MANY] = to_many, [TO_FEW] = to_few
	};
	const float *constant = constants[tensor];
	int shape[4], rank = network_shape(tensor, ROWS, shape);
	int number =
		fake_tensor(fake, (int)bytes_of(rank, shape), constant ? TFL_MMAP_RO : TFL_ARENA);
	struct tfl_tensor *t = fake_at(fake, number);

	t->type = TFL_FLOAT32;
	t->name = names[tensor];
	network_resize(t, rank, shape);
	if (constant)
		memcpy(t->data.raw, constant, t->bytes);
}

/* Kernels have nothing to say of sizes: the tensors have them. */
static int settle(struct tfl_context *context, struct tfl_node *node)
{
	return TFL_OK;
}

static void add_node(struct fake *fake, const struct fake_op *op)
{
	int number = fake_add(fake, op);

	fake->registrations[number].known.prepare = settle;
	if (op->code == CONV)
		fake->nodes[number].builtin_data = conv_params;
	if (op->code == ADD)
		fake->nodes[number].builtin_data = add_params;
}

struct fake *network_new(void)
{
	struct fake *fake = fake_new(9);

	for (int t = 0; t < TENSORS; t++)
		add_tensor(fake, t);
	for (int i = 0; i < NETWORK_OPERATORS; i++)
		add_node(fake, &network[i]);
	fake->outputs[0] = LAST;
	fake->outputs[1] = -2;
	return fake;
}

void network_fill(struct fake *fake, int seed)
{
	float *in = fake_at(fake, IN)->data.raw;

	for (size_t i = 0; i < fake_at(fake, IN)->bytes / sizeof(*in); i++)
		in[i] = (float)((int)(i * 7 + (size_t)seed * 5) % 23 - 11);
}

static void conv(const float *in, int inputs, const float *by, const float *plus, float *out,
		 int outputs)
{
	for (int c = 0; c < outputs; c++) {
		out[c] = plus ? plus[c] : 0;
		for (int i = 0; i < inputs; i++)
			out[c] += by[c * inputs + i] * in[i];
	}
}

void network_compute(const float *in, float *out, int places, bool doubled)
{
	for (int p = 0; p < places; p++, in += CHANNELS, out += CHANNELS) {
		float first[CHANNELS], second[CHANNELS], wide[MANY];

		conv(in, CHANNELS, weights, bias, first, CHANNELS);
		for (int c = 0; c < CHANNELS; c++)
			second[c] = doubled ? 2 * first[c] : first[c] > 0 ? first[c] : 0;
		conv(second, CHANNELS, to_many, NULL, wide, MANY);
		conv(wide, MANY, to_few, bias, out, CHANNELS);
		for (int c = 0; c < CHANNELS; c++)
			out[c] += first[c];
	}
}
