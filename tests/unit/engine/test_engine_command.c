// SPDX-License-Identifier: MIT
/* Commands: what is refused, and where operands lie. */
#include <errno.h>
#include <string.h>

#include "command_build.h"
#include "unit.h"

static const uint32_t shape[4] = { 1, 3, 2, 4 };
#define COUNT 24

/* A copy of 24 bytes from access 1 to access 0. */
static void begin_copy(struct command_build *b)
{
	command_begin(b, NPUMEM_COMMAND_COPY);
	command_operand(b, NPUMEM_COMMAND_INT8, shape);
	command_operand(b, NPUMEM_COMMAND_INT8, shape);
}

static int8_t out[64], in[64];

static const struct engine_access accesses[2] = {
	{ .data = out, .size = COUNT, .writable = true },
	{ .data = in, .size = COUNT },
};

static void fill(void)
{
	memset(out, -1, sizeof(out));
	for (int i = 0; i < 64; i++)
		in[i] = (int8_t)i;
}

/* The command, or what has been made of its bytes, is refused, and nothing is written. */
static void refuse(const struct command_build *b, int err, const char *why)
{
	const char *said = NULL;

	fill();
	assert_int_equal(command_run(b, accesses, 2, &said), err);
	assert_string_equal(said, why);
	for (int i = 0; i < 64; i++)
		assert_int_equal(out[i], -1);
}

/* One change of a copy that is valid otherwise. */
#define REFUSE(change, err, why)        \
	do {                            \
		struct command_build b; \
                                        \
		begin_copy(&b);         \
		change;                 \
		command_finish(&b);     \
		refuse(&b, err, why);   \
	} while (0)

TEST(copies)
{
	struct command_build b;
	const char *why = "";

	begin_copy(&b);
	command_finish(&b);
	fill();
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	assert_memory_equal(out, in, COUNT);
	assert_int_equal(out[COUNT], -1);
}

TEST(not_well_formed)
{
	REFUSE(b.head.magic++, -EBADMSG, "it is not a command");
	REFUSE(b.head.version++, -EOPNOTSUPP, "its version is not known here");
	REFUSE(b.head.operation = 99, -EOPNOTSUPP, "its operator is not known here");
	REFUSE(b.head.operation = 0, -EOPNOTSUPP, "its operator is not known here");
	REFUSE(b.head.operand_count = NPUMEM_COMMAND_MAX_OPERANDS + 1, -E2BIG,
	       "it has more bytes, operands or pieces than a command may");
	REFUSE(b.head.piece_count = 3, -EBADMSG, "a piece is of no operand");
	REFUSE(b.head.operand_count = 1, -EINVAL,
	       "it has not the operands and attributes of its operator");
	REFUSE(b.head.attribute_count = 1, -EINVAL,
	       "it has not the operands and attributes of its operator");
	REFUSE(b.operands[1].first_piece = 0, -EBADMSG, "an operand's pieces are not its own");
	REFUSE(b.operands[1].piece_count = 2, -EBADMSG, "an operand's pieces are not its own");
	REFUSE(b.operands[1].reserved = 1, -EBADMSG, "a reserved field is not zero");
}

/* Sizes that are not those of the sections. */
TEST(sizes)
{
	struct command_build b;

	begin_copy(&b);
	command_finish(&b);
	b.size -= 8;
	refuse(&b, -EBADMSG, "its size is not that of the sections that it says it has");
	b.size += 16;
	refuse(&b, -EBADMSG, "its size is not that of the sections that it says it has");
	b.size = 8;
	refuse(&b, -EBADMSG, "it is not a command");
	b.size = NPUMEM_COMMAND_MAX_BYTES + 1;
	refuse(&b, -E2BIG, "it has more bytes, operands or pieces than a command may");
}

TEST(not_aligned)
{
	struct command_build b;
	const char *why = NULL;

	begin_copy(&b);
	command_finish(&b);
	memmove(b.bytes + 4, b.bytes, b.size);
	assert_int_equal(engine_check(b.bytes + 4, b.size, NULL, &why), -EBADMSG);
	assert_string_equal(why, "the command is not aligned to 8 bytes");
}

TEST(operands)
{
	REFUSE(b.operands[1].type = 77, -EOPNOTSUPP, "an operand's type is not known here");
	REFUSE(b.operands[1].mode = NPUMEM_COMMAND_WRITE, -EINVAL,
	       "an operand is not accessed as its operator does");
	REFUSE(b.operands[0].mode = NPUMEM_COMMAND_READ, -EINVAL,
	       "an operand is not accessed as its operator does");
	REFUSE(b.operands[0].mode = NPUMEM_COMMAND_UPDATE, -EINVAL,
	       "an operand is not accessed as its operator does");
	REFUSE(b.operands[1].zero_point = 128, -EINVAL, "a zero point is not of its type");
	REFUSE(b.operands[1].shape[2] = 0, -E2BIG, "a dimension is 0 or too large");
	REFUSE(b.operands[1].shape[2] = NPUMEM_COMMAND_MAX_DIM + 1, -E2BIG,
	       "a dimension is 0 or too large");
	REFUSE(b.operands[1].dims[2]++, -EINVAL, "a tile is not in its tensor");
	REFUSE(b.operands[1].dims[2] = 0, -EINVAL, "a tile is not in its tensor");
	REFUSE(b.operands[1].origin[2]++, -EINVAL, "a tile is not in its tensor");
	REFUSE(b.operands[1].origin[0] = UINT32_MAX, -EINVAL, "a tile is not in its tensor");
	REFUSE((b.operands[1].shape[0] = b.operands[1].dims[0] = 1 << 30), -E2BIG,
	       "a tile is too large");
	REFUSE(memset(b.operands[0].dims, 0, sizeof(shape)), -EINVAL, "the output is empty");
	REFUSE(b.pieces[1].rows--, -EINVAL, "an operand's pieces are not its tile");
	REFUSE(b.pieces[1].rows = 0, -EINVAL, "a piece has no rows");
}

TEST(scales)
{
	struct command_build b;
	static const int32_t wrong[][2] = { { -1, 0 }, { 1, -32 }, { 1, 31 } };

	for (int i = 0; i < 3; i++) {
		begin_copy(&b);
		command_scale(&b, wrong[i][0], wrong[i][1]);
		command_finish(&b);
		refuse(&b, -EINVAL, "a scale is out of range");
	}
}

TEST(accesses)
{
	REFUSE(b.pieces[1].access = 2, -ENXIO, "the step has no such access");
	REFUSE(b.pieces[1].offset = 1, -ERANGE, "an operand is outside its access's bytes");
	REFUSE(b.pieces[1].offset = UINT64_MAX, -ERANGE,
	       "an operand is outside its access's bytes");
	REFUSE(b.pieces[1].stride[1]++, -ERANGE, "an operand is outside its access's bytes");
	REFUSE(b.pieces[1].stride[3] = UINT64_MAX, -ERANGE,
	       "an operand is outside its access's bytes");
	REFUSE((b.pieces[0].access = 1, b.pieces[1].access = 0), -EACCES,
	       "the step does not write that access");
}

TEST(scratch_memory)
{
	struct command_build b;
	_Alignas(64) char scratch[512];
	uint64_t needed;
	const char *why = NULL;

	begin_copy(&b);
	command_finish(&b);
	assert_int_equal(engine_check(b.bytes, b.size, &needed, NULL), 0);
	assert_in_range(needed, 2 * COUNT, sizeof(scratch));
	fill();
	assert_int_equal(engine_execute(b.bytes, b.size, accesses, 2, scratch, needed - 1, &why),
			 -ENOSPC);
	assert_string_equal(why, "there is too little scratch memory");
	assert_int_equal(out[0], -1);
	assert_int_equal(engine_execute(b.bytes, b.size, accesses, 2, scratch, needed, NULL), 0);
	assert_memory_equal(out, in, COUNT);
}

/* Columns and rows the other way round, and rows of two accesses. */
TEST(strides_and_pieces)
{
	struct command_build b;
	int8_t more[8] = { 101, 102, 103, 104, 105, 106, 107, 108 };
	const struct engine_access three[3] = {
		accesses[0],
		accesses[1],
		{ .data = more, .size = sizeof(more) },
	};
	const char *why = "";

	begin_copy(&b);
	/* The output is transposed: H innermost. */
	b.pieces[0].stride[1] = 1;
	b.pieces[0].stride[2] = 3;
	b.pieces[0].stride[3] = 6;
	/* Two rows of access 1, from its byte 4 on, then one of access 2. */
	b.head.piece_count = 3;
	b.operands[1].piece_count = 2;
	b.pieces[1].offset = 4;
	b.pieces[1].rows = 2;
	b.pieces[2] = b.pieces[1];
	b.pieces[2].access = 2;
	b.pieces[2].offset = 0;
	b.pieces[2].rows = 1;
	command_finish(&b);
	fill();
	assert_int_equal(command_run(&b, three, 3, &why), 0);
	for (int h = 0; h < 3; h++)
		for (int w = 0; w < 2; w++)
			for (int c = 0; c < 4; c++)
				assert_int_equal(out[h + w * 3 + c * 6],
						 h < 2 ? 4 + h * 8 + w * 4 + c : 101 + w * 4 + c);
}

/* An output on bytes of an input: all of it is read before. */
TEST(shared_bytes)
{
	struct command_build b;
	int8_t both[COUNT + 5];
	const struct engine_access two[2] = {
		{ .data = both + 5, .size = COUNT, .writable = true },
		{ .data = both, .size = COUNT },
	};
	const char *why = "";

	for (int i = 0; i < COUNT + 5; i++)
		both[i] = (int8_t)i;
	begin_copy(&b);
	command_finish(&b);
	assert_int_equal(command_run(&b, two, 2, &why), 0);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(both[i + 5], i);
}

/* Elements of several bytes anywhere. */
TEST(unaligned_elements)
{
	struct command_build b;
	char to[COUNT * 4 + 4], from[COUNT * 4 + 4];
	const struct engine_access two[2] = {
		{ .data = to + 1, .size = COUNT * 4, .writable = true },
		{ .data = from + 3, .size = COUNT * 4 },
	};
	const char *why = "";

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)(i * 7);
	command_begin(&b, NPUMEM_COMMAND_COPY);
	command_operand(&b, NPUMEM_COMMAND_INT32, shape);
	command_operand(&b, NPUMEM_COMMAND_INT32, shape);
	command_finish(&b);
	memset(to, 0, sizeof(to));
	assert_int_equal(command_run(&b, two, 2, &why), 0);
	assert_memory_equal(to + 1, from + 3, COUNT * 4);
	assert_int_equal(to[0], 0);
	assert_int_equal(to[COUNT * 4 + 1], 0);
}

TEST(names)
{
	assert_string_equal(engine_operator_name(NPUMEM_COMMAND_COPY), "copy");
	assert_string_equal(engine_operator_name(NPUMEM_COMMAND_LSTM), "lstm");
	assert_null(engine_operator_name(0));
	assert_null(engine_operator_name(NPUMEM_COMMAND_SPLIT + 1));
	assert_int_equal(engine_type_size(NPUMEM_COMMAND_INT16), 2);
	assert_int_equal(engine_type_size(0), 0);
}
