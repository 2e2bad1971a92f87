// SPDX-License-Identifier: MIT
/*
 * npumemd: options of plan requests, as libnpumem writes them and npumemd reads them, and each
 * way in which they are none.
 */
#include "options.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan_options.h"
#include "unit.h"

static struct npuplan_error why;
static struct asked asked;

/* ------------------------------------------------------------ there and back */

static void read_request(const struct npumem_request *request)
{
	struct npumem_error error = { 0 };
	size_t size;
	void *data;

	memset(&why, 0, sizeof(why));
	assert_int_equal(npumem_options_write(request, &data, &size, &error), 0);
	assert_int_equal(options_read(data, size, &asked, &why), 0);
	assert_string_equal(why.text, "");
	/* The tiles are the bytes'. */
	assert_null(asked.tiles);
	free(data);
}

TEST(nothing)
{
	read_request(&(struct npumem_request){ .planner = "auto", .arena_budget = 7 });
	assert_int_equal(asked.given, 0);
	assert_false(asked_cut(&asked));
}

TEST(everything_but_what_cuts)
{
	static const struct npumem_option_bank banks[] = { { 1000, 8000 }, { 1ull << 40, 9 } };

	read_request(&(struct npumem_request){
		.alignment = 64,
		.schedule = NPUMEM_SCHEDULE_LEAST_PEAK,
		.layout = NPUMEM_LAYOUT_NC32HW32,
		.work_limit = UINT64_MAX - 1,
		.memory_limit = 1ull << 33,
		.banks = banks,
		.traffic_factor = 1.37,
		.weights_on_chip = 262144,
	});
	assert_int_equal(asked.given, 0x3f6);
	assert_int_equal(asked.numbers[NPUMEM_OPTION_ALIGNMENT], 64);
	assert_int_equal(asked.numbers[NPUMEM_OPTION_SCHEDULE], NPUMEM_SCHEDULE_LEAST_PEAK);
	assert_int_equal(asked.numbers[NPUMEM_OPTION_LAYOUT], NPUMEM_LAYOUT_NC32HW32);
	assert_int_equal(asked.numbers[NPUMEM_OPTION_WORK_LIMIT], UINT64_MAX - 1);
	assert_int_equal(asked.numbers[NPUMEM_OPTION_MEMORY_LIMIT], 1ull << 33);
	assert_int_equal(asked.banks[0].size, 1000);
	assert_int_equal(asked.banks[0].bandwidth, 8000);
	assert_int_equal(asked.banks[1].size, 1ull << 40);
	assert_int_equal(asked.banks[1].bandwidth, 9);
	assert_int_equal(asked.numbers[NPUMEM_OPTION_TRAFFIC_FACTOR], 1370000);
	assert_int_equal(asked.numbers[NPUMEM_OPTION_WEIGHTS_ON_CHIP], 262144);
	assert_false(asked_cut(&asked));
}

TEST(what_cuts)
{
	read_request(&(struct npumem_request){ .recompute = 1, .budget = NPUMEM_BUDGET_PEAK });
	assert_true(asked_cut(&asked));
	assert_true(asked_for(&asked, NPUMEM_OPTION_RECOMPUTE));
	assert_int_equal(asked.numbers[NPUMEM_OPTION_RECOMPUTE], 0);
	assert_int_equal(asked.numbers[NPUMEM_OPTION_BUDGET], NPUMEM_BUDGET_PEAK);
	read_request(&(struct npumem_request){ .recompute = 1, .recompute_limit = 3 });
	assert_int_equal(asked.numbers[NPUMEM_OPTION_RECOMPUTE], 3);
	read_request(&(struct npumem_request){ .bands = 65536 });
	assert_true(asked_cut(&asked));
	assert_int_equal(asked.numbers[NPUMEM_OPTION_BANDS], 65536);
	read_request(&(struct npumem_request){ .rows = UINT32_MAX });
	assert_true(asked_cut(&asked));
	assert_int_equal(asked.numbers[NPUMEM_OPTION_ROWS], UINT32_MAX);
	read_request(&(struct npumem_request){ .on_chip = 4096, .double_buffer = 1 });
	assert_true(asked_cut(&asked));
	assert_int_equal(asked.numbers[NPUMEM_OPTION_ON_CHIP], 4096);
	assert_true(asked_for(&asked, NPUMEM_OPTION_DOUBLE_BUFFER));
	read_request(&(struct npumem_request){ .rows = 2, .carry_copies = NPUMEM_COPIES_NEEDED });
	assert_int_equal(asked.numbers[NPUMEM_OPTION_CARRY_COPIES], NPUMEM_COPIES_NEEDED);
	read_request(&(struct npumem_request){ .carry_copies = NPUMEM_COPIES_SMALLER,
					       .instances = 4096 });
	assert_true(asked_cut(&asked));
	assert_int_equal(asked.numbers[NPUMEM_OPTION_CARRY_COPIES], NPUMEM_COPIES_SMALLER);
	assert_int_equal(asked.numbers[NPUMEM_OPTION_INSTANCES], 4096);
}

TEST(tiles)
{
	static const struct npumem_option_tile tiles[] = {
		{ .op = 0, .rows = 4, .columns = 3 },
		{ .op = INT64_MAX, .channels = 8, .order = NPUMEM_ORDER_CHANNELS },
	};
	const struct npumem_request request = { .tiles = tiles, .tile_count = 2, .rows = 1 };
	struct npumem_option_tile tile;
	size_t size;
	void *data;

	assert_int_equal(npumem_options_write(&request, &data, &size, NULL), 0);
	assert_int_equal(options_read(data, size, &asked, &why), 0);
	assert_true(asked_cut(&asked));
	assert_int_equal(asked.tile_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		tile = asked_tile(&asked, i);
		assert_memory_equal(&tile, &tiles[i], sizeof(tile));
	}
	free(data);
}

/* As many as there may be; with one more they are not even written. */
TEST(tiles_without_end)
{
	const uint32_t most = (NPUMEM_OPTIONS_MAX_BYTES - 512) / sizeof(struct npumem_option_tile);
	struct npumem_option_tile *tiles = calloc(most + 1, sizeof(*tiles));
	struct npumem_request request = { .tiles = tiles, .tile_count = most };
	struct npumem_error error = { 0 };
	size_t size;
	void *data;

	assert_non_null(tiles);
	for (uint32_t i = 0; i <= most; i++)
		tiles[i].op = i;
	assert_int_equal(npumem_options_write(&request, &data, &size, NULL), 0);
	assert_in_range(size, 1, NPUMEM_OPTIONS_MAX_BYTES);
	assert_int_equal(options_read(data, size, &asked, &why), 0);
	assert_int_equal(asked.tile_count, most);
	free(data);
	request.tile_count++;
	assert_int_equal(npumem_options_write(&request, &data, &size, &error), -E2BIG);
	assert_string_equal(error.text,
			    "tiles of 2710 operators are more than options may have: 65536 bytes");
	assert_null(data);
	free(tiles);
}

TEST(requests_that_are_none)
{
	static const double factors[] = { 0.5, -1, 1e13, INFINITY };
	struct npumem_request request = { 0 };
	struct npumem_error error = { 0 };
	size_t size;
	void *data;

	for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
		request.traffic_factor = factors[i];
		assert_int_equal(npumem_options_write(&request, &data, &size, &error), -EINVAL);
	}
	assert_string_equal(error.text, "a factor of traffic is 1 or more, not inf");
	request = (struct npumem_request){ .tile_count = 1 };
	assert_int_equal(npumem_options_write(&request, &data, &size, &error), -EINVAL);
	assert_string_equal(error.text, "npumem_plan_request: NULL argument");
}

/* ------------------------------------------------------------------- refusals */

/*
 * struct refusal - options that are refused
 * @words: their bytes, as little-endian words of 32 bits, @count of them
 * @cut: bytes that are missing at the end
 */
struct refusal {
	uint32_t words[16];
	uint32_t count;
	uint32_t cut;
	int err;
	const char *message;
};

static void refused(void **state)
{
	const struct refusal *row = *state;
	size_t size = row->count * sizeof(uint32_t) - row->cut;
	unsigned char *data = malloc(size);

	assert_non_null(data);
	for (size_t i = 0; i < size; i++)
		data[i] = (unsigned char)(row->words[i / 4] >> 8 * (i % 4));
	assert_int_equal(options_read(data, size, &asked, &why), row->err);
	assert_string_equal(why.text, row->message);
	free(data);
}

#define WORDS(...)                \
	.words = { __VA_ARGS__ }, \
	.count = sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)
#define BAD_OPTIONS(name, errno, text, ...)                                                \
	TEST_CASE(name, refused, NULL, NULL, struct refusal, __VA_ARGS__, .err = -(errno), \
		  .message = (text))

/* The list. */
BAD_OPTIONS(head_cut_short, EBADMSG, "the options' last 4 bytes, at byte 16, are no option",
	    WORDS(1, 8, 64, 0, 2))
BAD_OPTIONS(one_byte, EBADMSG, "the options' last 1 bytes, at byte 0, are no option", WORDS(1),
	    .cut = 3)
BAD_OPTIONS(value_cut_short, EBADMSG, "option 1: its 8 bytes end behind the options' 12",
	    WORDS(1, 8, 64))
BAD_OPTIONS(value_without_end, EBADMSG,
	    "option 15: its 4294967295 bytes end behind the options' 16",
	    WORDS(15, UINT32_MAX, 0, 0))
BAD_OPTIONS(filling_cut_short, EBADMSG, "option 15: its 1 bytes end behind the options' 12",
	    WORDS(15, 1, 0))
BAD_OPTIONS(filling, EBADMSG, "option 15: what fills its 1 bytes up is not zero",
	    WORDS(15, 1, 0, 1u << 24))
BAD_OPTIONS(type_zero, EBADMSG,
	    "option 0 does not stand in order: they ascend from 1 on, and none is there twice",
	    WORDS(0, 0))
BAD_OPTIONS(twice, EBADMSG,
	    "option 4 does not stand in order: they ascend from 1 on, and none is there twice",
	    WORDS(4, 8, 1, 0, 4, 8, 1, 0))
BAD_OPTIONS(descending, EBADMSG,
	    "option 4 does not stand in order: they ascend from 1 on, and none is there twice",
	    WORDS(5, 8, 1, 0, 4, 8, 1, 0))
BAD_OPTIONS(unknown, EOPNOTSUPP, "option 19 is not known to this npumemd", WORDS(19, 0))
BAD_OPTIONS(unknown_far, EOPNOTSUPP, "option 4294967295 is not known to this npumemd",
	    WORDS(4, 8, 1, 0, UINT32_MAX, 8, 0, 0))

/* Values. */
BAD_OPTIONS(short_number, EINVAL, "option 4 (work limit) has 4 bytes, not 8", WORDS(4, 4, 1, 0))
BAD_OPTIONS(long_number, EINVAL, "option 4 (work limit) has 16 bytes, not 8",
	    WORDS(4, 16, 1, 0, 0, 0))
BAD_OPTIONS(flag_with_a_value, EINVAL, "option 14 (double buffer) has 8 bytes, not 0",
	    WORDS(14, 8, 1, 0))
BAD_OPTIONS(one_bank, EINVAL, "option 6 (banks) has 16 bytes, not 32", WORDS(6, 16, 1, 0, 1, 0))
BAD_OPTIONS(no_tiles, EINVAL, "option 15 (tiles) has 0 bytes, not a multiple of 24", WORDS(15, 0))
BAD_OPTIONS(part_of_a_tile, EINVAL, "option 15 (tiles) has 8 bytes, not a multiple of 24",
	    WORDS(15, 8, 0, 0))
BAD_OPTIONS(alignment_none, EINVAL, "option 1 (alignment): 0 is not from 1 to 65536",
	    WORDS(1, 8, 0, 0))
BAD_OPTIONS(alignment_large, EINVAL, "option 1 (alignment): 131072 is not from 1 to 65536",
	    WORDS(1, 8, 131072, 0))
BAD_OPTIONS(alignment_odd, EINVAL, "option 1 (alignment): 48 is no power of two",
	    WORDS(1, 8, 48, 0))
BAD_OPTIONS(schedule_none, EINVAL, "option 2 (schedule): 0 is not from 1 to 3", WORDS(2, 8, 0, 0))
BAD_OPTIONS(schedule_other, EINVAL, "option 2 (schedule): 4294967297 is not from 1 to 3",
	    WORDS(2, 8, 1, 1))
BAD_OPTIONS(schedule_later, EINVAL, "option 2 (schedule): 4 is not from 1 to 3", WORDS(2, 8, 4, 0))
BAD_OPTIONS(budget_other, EINVAL, "option 3 (budget): 4 is not from 1 to 3", WORDS(3, 8, 4, 0))
BAD_OPTIONS(no_work, EINVAL, "option 4 (work limit): 0 is not from 1 to 18446744073709551614",
	    WORDS(4, 8, 0, 0))
BAD_OPTIONS(no_memory, EINVAL, "option 5 (memory limit): 0 is not from 1 to 18446744073709551615",
	    WORDS(5, 8, 0, 0))
BAD_OPTIONS(factor_below_one, EINVAL,
	    "option 7 (traffic factor): 999999 is not from 1000000 to 18446744073709551615",
	    WORDS(7, 8, 999999, 0))
BAD_OPTIONS(no_weights, EINVAL,
	    "option 8 (weights on chip): 0 is not from 1 to 18446744073709551615",
	    WORDS(8, 8, 0, 0))
BAD_OPTIONS(layout_other, EINVAL, "option 9 (layout): 3 is not from 0 to 2", WORDS(9, 8, 3, 0))
BAD_OPTIONS(recompute_many, EINVAL, "option 10 (recompute): 4294967296 is not from 0 to 4294967295",
	    WORDS(10, 8, 0, 1))
BAD_OPTIONS(no_bands, EINVAL, "option 11 (bands): 0 is not from 1 to 65536", WORDS(11, 8, 0, 0))
BAD_OPTIONS(many_rows, EINVAL, "option 12 (rows): 4294967296 is not from 1 to 4294967295",
	    WORDS(12, 8, 0, 1))
BAD_OPTIONS(nothing_on_chip, EINVAL, "option 13 (on chip): 0 is not from 1 to 18446744073709551615",
	    WORDS(13, 8, 0, 0))
BAD_OPTIONS(tile_order, EINVAL, "option 15 (tiles): record 0: order 2",
	    WORDS(15, 24, 0, 0, 1, 1, 2, 0))
BAD_OPTIONS(
	tile_id, EINVAL,
	"option 15 (tiles): record 0: operator 9223372036854775808: ids ascend, and have 63 bits",
	WORDS(15, 24, 0, 1u << 31, 1, 1, 0, 0))
BAD_OPTIONS(tile_twice, EINVAL,
	    "option 15 (tiles): record 1: operator 5: ids ascend, and have 63 bits",
	    WORDS(15, 48, 5, 0, 1, 1, 0, 0, 5, 0, 1, 1, 0, 0))
BAD_OPTIONS(no_copies, EINVAL, "option 16 (carry copies): 0 is not from 1 to 2", WORDS(16, 8, 0, 0))
BAD_OPTIONS(many_instances, EINVAL, "option 17 (instances): 4097 is not from 1 to 4096",
	    WORDS(16, 8, 1, 0, 17, 8, 4097, 0))

/* What excludes what. */
BAD_OPTIONS(budget_and_banks, EINVAL, "options 3 (budget) and 6 (banks) exclude each other",
	    WORDS(3, 8, 1, 0, 6, 32, 1, 0, 1, 0, 1, 0, 1, 0))
BAD_OPTIONS(twice_nothing, EINVAL, "option 14 (double buffer) needs 13 (on chip)", WORDS(14, 0))
BAD_OPTIONS(bands_and_rows, EINVAL, "options 11 (bands) and 12 (rows) exclude each other",
	    WORDS(11, 8, 1, 0, 12, 8, 1, 0))
BAD_OPTIONS(rows_and_on_chip, EINVAL, "options 12 (rows) and 13 (on chip) exclude each other",
	    WORDS(12, 8, 1, 0, 13, 8, 1, 0))
BAD_OPTIONS(recompute_and_bands, EINVAL, "options 10 (recompute) and 11 (bands) exclude each other",
	    WORDS(10, 8, 1, 0, 11, 8, 1, 0))
BAD_OPTIONS(recompute_and_tiles, EINVAL, "options 10 (recompute) and 15 (tiles) exclude each other",
	    WORDS(10, 8, 1, 0, 15, 24, 0, 0, 1, 1, 0, 0))
BAD_OPTIONS(no_columns, EINVAL, "option 18 (columns): 0 is not from 1 to 4294967295",
	    WORDS(12, 8, 1, 0, 18, 8, 0, 0))
BAD_OPTIONS(columns_alone, EINVAL, "option 18 (columns) needs 12 (rows)", WORDS(18, 8, 1, 0))
BAD_OPTIONS(instances_alone, EINVAL, "option 17 (instances) needs 16 (carry copies)",
	    WORDS(17, 8, 1, 0))
BAD_OPTIONS(recompute_and_copies, EINVAL,
	    "options 10 (recompute) and 16 (carry copies) exclude each other",
	    WORDS(10, 8, 1, 0, 16, 8, 1, 0))
BAD_OPTIONS(on_chip_and_copies, EINVAL,
	    "options 13 (on chip) and 16 (carry copies) exclude each other",
	    WORDS(13, 8, 1, 0, 16, 8, 1, 0))
BAD_OPTIONS(tiles_and_copies, EINVAL, "options 15 (tiles) and 16 (carry copies) exclude each other",
	    WORDS(15, 24, 0, 0, 1, 1, 0, 0, 16, 8, 1, 0))
BAD_OPTIONS(budget_and_smaller, EINVAL,
	    "option 16 (carry copies) for a smaller arena and 3 (budget) exclude each other",
	    WORDS(3, 8, 1, 0, 16, 8, 2, 0))

TEST(more_than_there_may_be)
{
	unsigned char *data = calloc(NPUMEM_OPTIONS_MAX_BYTES + 1, 1);

	assert_non_null(data);
	assert_int_equal(options_read(data, NPUMEM_OPTIONS_MAX_BYTES + 1, &asked, &why), -E2BIG);
	assert_string_equal(why.text, "options of 65537 bytes: there are at most 65536");
	free(data);
}
