// SPDX-License-Identifier: MIT
/*
 * Each operator is computed whole, then in random tiles from the smallest boxes of its inputs
 * that have what the tile needs; one row, column or channel less is refused.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "command_build.h"
#include "engine_problem.h"
#include "random.h"
#include "unit.h"

#define SEED	 20261123
#define PROBLEMS 150
#define TILES	 6

/* ---------------------------------------------------------------------------------- tiles */

/*
 * struct tiles - of all operands: what a command is of
 * @data: their bytes, dense
 */
struct tiles {
	uint32_t origin[OPERANDS][4];
	uint32_t dims[OPERANDS][4];
	_Alignas(8) uint8_t data[OPERANDS][MAX_COUNT * 4];
};

/* What of the inputs the elements of a box of the output need. */
static void find_needed(struct problem *p, struct tiles *t)
{
	uint32_t at[4], end[4];

	memset(p->low, 0xff, sizeof(p->low));
	memset(p->high, 0, sizeof(p->high));
	for (int d = 0; d < 4; d++)
		end[d] = t->origin[0][d] + t->dims[0][d];
	for (at[0] = t->origin[0][0]; at[0] < end[0]; at[0]++)
		for (at[1] = t->origin[0][1]; at[1] < end[1]; at[1]++)
			for (at[2] = t->origin[0][2]; at[2] < end[2]; at[2]++)
				for (at[3] = t->origin[0][3]; at[3] < end[3]; at[3]++)
					p->element(p, at);
	for (uint32_t o = 1; o < p->operand_count; o++)
		for (int d = 0; d < 4; d++) {
			bool none = p->low[o][0] == UINT32_MAX;

			t->origin[o][d] = none ? 0 : p->low[o][d];
			t->dims[o][d] = none ? 0 : p->high[o][d] - p->low[o][d] + 1;
		}
}

/* The bytes of the boxes. */
static void cut(const struct problem *p, struct tiles *t)
{
	for (uint32_t o = 1; o < p->operand_count; o++) {
		unsigned int elem = engine_type_size(p->types[o]);
		uint8_t *to = t->data[o];

		for (uint32_t i = 0; i < count_of(t->dims[o]); i++, to += elem) {
			uint32_t rest = i, at[4];

			for (int d = 4; d-- > 0; rest /= t->dims[o][d])
				at[d] = t->origin[o][d] + rest % t->dims[o][d];
			memcpy(to, &p->data[o][index_of(p->shape[o], at) * elem], elem);
		}
	}
}

static int run(const struct problem *p, struct tiles *t, const char **why)
{
	bool by_channel = is_conv(p) && p->scale_count > 1;
	struct engine_access accesses[OPERANDS];
	static struct command_build b;

	command_begin(&b, p->operation);
	for (uint32_t o = 0; o < p->operand_count; o++) {
		struct npumem_command_operand *operand =
			command_operand(&b, p->types[o], p->shape[o]);

		operand->zero_point = p->zero[o];
		command_tile(&b, o, t->origin[o], t->dims[o]);
		if (!t->dims[o][0]) {
			/* Nothing is needed: there is no access of it. */
			operand->piece_count = 0;
			b.head.piece_count--;
		}
		accesses[o] = (struct engine_access){
			.data = t->data[o],
			.size = (uint64_t)count_of(t->dims[o]) * engine_type_size(p->types[o]),
			.writable = !o,
		};
	}
	for (uint32_t i = 0; i < (by_channel ? t->dims[0][3] : p->scale_count); i++) {
		uint32_t scale = (by_channel ? t->origin[0][3] : 0) + i;

		command_scale(&b, p->multiplier[scale], p->shift[scale]);
	}
	memcpy(b.attributes, p->attributes, sizeof(b.attributes));
	b.head.attribute_count = p->attribute_count;
	command_finish(&b);
	memset(t->data[0], 0x77, sizeof(t->data[0]));
	return command_run(&b, accesses, p->operand_count, why);
}

/* All elements of the output's box; floats that the whole had, too: @whole may be NULL. */
static void compare(struct problem *p, const struct tiles *t, const struct tiles *whole)
{
	for (uint32_t i = 0; i < count_of(t->dims[0]); i++) {
		uint32_t rest = i, at[4], index;
		long double exact, got;

		for (int d = 4; d-- > 0; rest /= t->dims[0][d])
			at[d] = t->origin[0][d] + rest % t->dims[0][d];
		index = index_of(p->shape[0], at);
		p->sum = 0;
		exact = p->element(p, at);
		if (of_floats(p)) {
			float value, unit;

			memcpy(&value, &t->data[0][i * 4], sizeof(value));
			unit = nextafterf(fabsf((float)exact), INFINITY) - fabsf((float)exact);
			got = value;
			/* One unit in the last place, and what cancels in double precision. */
			if (fabsl(got - exact) > unit + p->sum * 0x1p-48)
				fail_msg("%s: element %u is %.9Lg, must be %.9Lg",
					 engine_operator_name(p->operation), index, got, exact);
			if (whole)
				assert_memory_equal(&t->data[0][i * 4], &whole->data[0][index * 4],
						    4);
			continue;
		}
		got = p->type == NPUMEM_COMMAND_INT8 ? (int8_t)t->data[0][i] : t->data[0][i];
		if (got != exact)
			fail_msg("%s: element %u is %d, must be %d",
				 engine_operator_name(p->operation), index, (int)got, (int)exact);
	}
}

/* One element less of an input, along each dimension in which it has two. */
static unsigned int refuse_less(const struct problem *p, struct tiles *t)
{
	unsigned int refused = 0;

	for (uint32_t o = 1; o < p->operand_count; o++)
		for (int d = 0; d < 4; d++) {
			const char *why = NULL;

			if (t->dims[o][d] < 2)
				continue;
			t->dims[o][d]--;
			cut(p, t);
			if (run(p, t, &why) != -EINVAL)
				fail_msg("%s: input %u without all of dimension %d is taken",
					 engine_operator_name(p->operation), o, d);
			assert_non_null(why);
			assert_int_equal(t->data[0][0], 0x77);
			t->dims[o][d]++;
			refused++;
		}
	return refused;
}

static void check_problem(struct problem *p, uint64_t *seed, unsigned int *tiles,
			  unsigned int *refused)
{
	static struct tiles whole, t;
	const char *why = "";

	memset(&whole, 0, sizeof(whole));
	memcpy(whole.dims, p->shape, sizeof(whole.dims));
	memcpy(whole.data, p->data, sizeof(whole.data));
	if (run(p, &whole, &why))
		fail_msg("%s: %s", engine_operator_name(p->operation), why);
	compare(p, &whole, NULL);
	for (int i = 0; i < TILES; i++) {
		memset(&t, 0, sizeof(t));
		for (int d = 0; d < 4; d++) {
			uint32_t size = p->shape[0][d];

			t.origin[0][d] = random_range(seed, 0, size - 1);
			t.dims[0][d] = random_range(seed, 1, size - t.origin[0][d]);
		}
		find_needed(p, &t);
		/* A softmax has all channels, and weights and the like are never empty. */
		if (p->operation == NPUMEM_COMMAND_SOFTMAX) {
			t.origin[0][3] = 0;
			t.dims[0][3] = p->shape[0][3];
			find_needed(p, &t);
		}
		for (uint32_t o = 2; o < p->operand_count && is_conv(p); o++)
			if (o > 2 || !t.dims[o][0] || t.dims[o][1] < p->shape[o][1] ||
			    t.dims[o][2] < p->shape[o][2]) {
				memset(t.origin[o], 0, sizeof(t.origin[o]));
				memcpy(t.dims[o], p->shape[o], sizeof(t.dims[o]));
			}
		cut(p, &t);
		if (run(p, &t, &why))
			fail_msg("%s, tile %d: %s", engine_operator_name(p->operation), i, why);
		compare(p, &t, &whole);
		(*tiles)++;
		/* Of weights that are there whole more than the tile's channels is not needed. */
		if (!is_conv(p))
			*refused += refuse_less(p, &t);
	}
}

TEST(operators)
{
	static struct problem p;
	uint64_t seed = SEED;

	for (unsigned int k = 0; k < problem_kinds; k++) {
		unsigned int tiles = 0, refused = 0;

		for (int i = 0; i < PROBLEMS; i++) {
			draw_problem(&p, k, &seed);
			check_problem(&p, &seed, &tiles, &refused);
		}
		print_message("# %s: %u tiles, %u refused\n", engine_operator_name(p.operation),
			      tiles, refused);
		assert_int_equal(tiles, PROBLEMS * TILES);
		if (!is_conv(&p))
			assert_true(refused > PROBLEMS);
	}
}

/* Of a convolution's input all is needed that its windows reach. */
TEST(windows_reach)
{
	static struct problem p;
	static struct tiles t;
	uint64_t seed = SEED;
	unsigned int refused = 0;

	for (int i = 0; i < PROBLEMS; i++) {
		uint32_t operands;

		draw_problem(&p, i % 2, &seed);
		memset(&t, 0, sizeof(t));
		memcpy(t.dims, p.shape, sizeof(t.dims));
		find_needed(&p, &t);
		for (uint32_t o = 2; o < p.operand_count; o++) {
			memset(t.origin[o], 0, sizeof(t.origin[o]));
			memcpy(t.dims[o], p.shape[o], sizeof(t.dims[o]));
		}
		operands = p.operand_count;
		for (int d = 0; d < 4; d++) {
			const char *why = NULL;

			if (t.dims[1][d] < 2)
				continue;
			t.dims[1][d]--;
			cut(&p, &t);
			assert_int_equal(run(&p, &t, &why), -EINVAL);
			t.dims[1][d]++;
			refused++;
		}
		assert_int_equal(operands, p.operand_count);
	}
	assert_true(refused > PROBLEMS);
}

/* ------------------------------------------------------------------ softmax and logistic */

/* One integer for each of all inputs: within one of what the math library says. */
TEST(integer_curves)
{
	static const uint32_t shape[4] = { 1, 1, 1, 256 };
	int8_t in[256], out[256];
	const struct engine_access accesses[2] = {
		{ .data = out, .size = 256, .writable = true },
		{ .data = in, .size = 256 },
	};
	const double scale = 0.05;
	struct command_build b;
	const char *why = "";
	double sum = 0;

	for (int i = 0; i < 256; i++) {
		in[i] = (int8_t)(i - 128);
		sum += exp((in[i] - 127) * scale);
	}
	command_begin(&b, NPUMEM_COMMAND_LOGISTIC);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape)->zero_point = 5;
	b.head.attribute_count = NPUMEM_COMMAND_LOGISTIC_ATTRIBUTES;
	b.operands[0].zero_point = -128;
	b.attributes[NPUMEM_COMMAND_LOGISTIC_FACTOR] = bits_of((float)scale);
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	for (int i = 0; i < 256; i++)
		assert_true(fabs(256 / (1 + exp(-(in[i] - 5) * scale)) - 128 - out[i]) <=
			    (out[i] == 127 ? 1 : 0.5001));

	command_begin(&b, NPUMEM_COMMAND_SOFTMAX);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape);
	b.head.attribute_count = NPUMEM_COMMAND_SOFTMAX_ATTRIBUTES;
	command_scale(&b, (int32_t)(scale * 16 * 0x1p31), 22);
	b.attributes[NPUMEM_COMMAND_SOFTMAX_DIFF_MIN] = -INT32_MAX;
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	for (int i = 0; i < 256; i++)
		assert_true(fabs(256 * exp((in[i] - 127) * scale) / sum - 128 - out[i]) <= 1);
}

/* Between integers and floats, halves of a unit away from zero; half precision is exact. */
TEST(conversions)
{
	static const uint32_t shape[4] = { 1, 1, 1, 6 };
	const float floats[6] = { -0.25f, 0.25f, 1.0f, 1000.0f, -1000.0f, NAN };
	const uint16_t halves[6] = { 0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0xfc00 };
	const float expected[6] = { 1, -2, 0x1p-24f, 65504, -0.0f, -INFINITY };
	float wide[6];
	int8_t narrow[6];
	struct engine_access accesses[2] = {
		{ .data = narrow, .size = 6, .writable = true },
		{ .data = (void *)(uintptr_t)floats, .size = sizeof(floats) },
	};
	struct command_build b;
	const char *why = "";

	command_begin(&b, NPUMEM_COMMAND_CONVERT);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape)->zero_point = 3;
	command_operand(&b, NPUMEM_COMMAND_FLOAT32, shape);
	b.head.attribute_count = NPUMEM_COMMAND_CONVERT_ATTRIBUTES;
	command_range(&b, 0);
	b.attributes[NPUMEM_COMMAND_CONVERT_FACTOR] = bits_of(0.5f);
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	assert_memory_equal(narrow, ((const int8_t[6]){ 2, 4, 5, 127, -128, -128 }), 6);

	accesses[1] = accesses[0];
	accesses[0] = (struct engine_access){ wide, sizeof(wide), true };
	command_begin(&b, NPUMEM_COMMAND_CONVERT);
	command_operand(&b, NPUMEM_COMMAND_FLOAT32, shape);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape)->zero_point = 3;
	b.head.attribute_count = NPUMEM_COMMAND_CONVERT_ATTRIBUTES;
	command_range(&b, 0);
	b.attributes[NPUMEM_COMMAND_CONVERT_FACTOR] = bits_of(0.5f);
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	for (int i = 0; i < 6; i++)
		assert_true(wide[i] == 0.5f * (float)(narrow[i] - 3));

	accesses[1] = (struct engine_access){ (void *)(uintptr_t)halves, sizeof(halves), false };
	b.operands[1].type = NPUMEM_COMMAND_FLOAT16;
	b.operands[1].zero_point = 0;
	command_tile(&b, 1, b.operands[1].origin, shape);
	b.attributes[NPUMEM_COMMAND_CONVERT_FACTOR] = 0;
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	assert_memory_equal(wide, expected, sizeof(wide));
}

/* ---------------------------------------------------------------------------------- split */

#define PARTS 3

/*
 * struct parts - what is split along @axis, and the parts; the input's tile has one element less
 * along dimension @lacks, unless that is -1
 */
struct parts {
	uint32_t axis;
	uint32_t whole[4];
	uint32_t shape[PARTS][4];
	int lacks;
	uint8_t in[MAX_COUNT];
	uint8_t out[PARTS][MAX_COUNT];
};

static struct parts draw_parts(uint64_t *seed)
{
	struct parts p = { .axis = random_range(seed, 0, 3), .lacks = -1 };

	for (int d = 0; d < 4; d++)
		p.whole[d] = random_range(seed, 1, 4);
	p.whole[p.axis] = 0;
	for (int i = 0; i < PARTS; i++) {
		memcpy(p.shape[i], p.whole, sizeof(p.whole));
		p.shape[i][p.axis] = random_range(seed, 1, 3);
	}
	for (int i = 0; i < PARTS; i++)
		p.whole[p.axis] += p.shape[i][p.axis];
	for (uint32_t i = 0; i < count_of(p.whole); i++)
		p.in[i] = (uint8_t)random_next(seed);
	return p;
}

static int run_split(struct parts *p, unsigned int type, int32_t zero, const char **why)
{
	static const uint32_t origin[4];
	struct engine_access accesses[PARTS + 1];
	static struct command_build b;
	uint32_t dims[4];

	memcpy(dims, p->whole, sizeof(dims));
	if (p->lacks >= 0)
		dims[p->lacks]--;
	command_begin(&b, NPUMEM_COMMAND_SPLIT);
	for (uint32_t i = 0; i < PARTS; i++) {
		command_operand(&b, NPUMEM_COMMAND_INT8, p->shape[i])->mode = NPUMEM_COMMAND_WRITE;
		accesses[i] = (struct engine_access){ p->out[i], count_of(p->shape[i]), true };
	}
	command_operand(&b, type, p->whole)->zero_point = zero;
	command_tile(&b, PARTS, origin, dims);
	accesses[PARTS] = (struct engine_access){ p->in, count_of(p->whole), false };
	command_finish(&b);
	memset(p->out, 0x77, sizeof(p->out));
	return command_run(&b, accesses, PARTS + 1, why);
}

static void check_parts(const struct parts *p)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < PARTS; before += p->shape[i][p->axis], i++)
		for (uint32_t e = 0; e < count_of(p->shape[i]); e++) {
			uint32_t rest = e, at[4];

			for (int d = 4; d-- > 0; rest /= p->shape[i][d])
				at[d] = rest % p->shape[i][d];
			at[p->axis] += before;
			assert_int_equal(p->out[i][e], p->in[index_of(p->whole, at)]);
		}
}

TEST(split)
{
	unsigned int refused = 0;
	uint64_t seed = SEED;
	const char *why = "";

	for (int i = 0; i < PROBLEMS; i++) {
		struct parts p = draw_parts(&seed);

		assert_int_equal(run_split(&p, NPUMEM_COMMAND_INT8, 0, &why), 0);
		check_parts(&p);
		for (p.lacks = 0; p.lacks < 4; p.lacks++) {
			if (p.whole[p.lacks] < 2)
				continue;
			assert_int_equal(run_split(&p, NPUMEM_COMMAND_INT8, 0, &why), -EINVAL);
			assert_string_equal(why, "an element of an output is not in the input's "
						 "tile");
			assert_int_equal(p.out[0][0], 0x77);
			refused++;
		}
	}
	assert_true(refused > PROBLEMS);
}

TEST(split_refused)
{
	uint64_t seed = SEED;
	struct parts p = draw_parts(&seed);
	const char *why = "";

	assert_int_equal(run_split(&p, NPUMEM_COMMAND_UINT8, 0, &why), -EOPNOTSUPP);
	assert_string_equal(why, "no split into other types or zero points");
	assert_int_equal(run_split(&p, NPUMEM_COMMAND_INT8, 1, &why), -EOPNOTSUPP);
	assert_string_equal(why, "no split into other types or zero points");
	p.whole[p.axis]++;
	assert_int_equal(run_split(&p, NPUMEM_COMMAND_INT8, 0, &why), -EINVAL);
	assert_string_equal(why, "the outputs are not the input's parts");
}

TEST(slice_refused)
{
	static const uint32_t in[4] = { 1, 4, 1, 2 }, out[4] = { 1, 3, 1, 2 };
	static uint8_t bytes[8], made[6];
	const struct engine_access accesses[2] = { { made, sizeof(made), true },
						   { bytes, sizeof(bytes), false } };
	static struct command_build b;
	const char *why = "";

	command_begin(&b, NPUMEM_COMMAND_SLICE);
	command_operand(&b, NPUMEM_COMMAND_INT8, out);
	command_operand(&b, NPUMEM_COMMAND_INT8, in);
	b.head.attribute_count = NPUMEM_COMMAND_SLICE_ATTRIBUTES;
	b.attributes[NPUMEM_COMMAND_SLICE_FIRST + 1] = 1;
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	b.attributes[NPUMEM_COMMAND_SLICE_FIRST + 1] = 2;
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), -EINVAL);
	assert_string_equal(why, "the slice is not within the input");
	b.attributes[NPUMEM_COMMAND_SLICE_FIRST + 1] = -1;
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), -EINVAL);
	assert_string_equal(why, "the slice is not within the input");
	b.attributes[NPUMEM_COMMAND_SLICE_FIRST + 1] = 1;
	b.operands[1].zero_point = 3;
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), -EOPNOTSUPP);
	assert_string_equal(why, "no slice of another type or zero point");
}
