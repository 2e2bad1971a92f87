// SPDX-License-Identifier: MIT
#include "options.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MILLION 1000000

/**
 * struct kind - what the value of an option is
 * @name: for people
 * @size: bytes of the value, or of each record of it if there may be several
 * @many: there may be several
 * @least: of a number
 * @most: of a number; 0: the value is none
 */
struct kind {
	const char *name;
	uint32_t size;
	bool many;
	uint64_t least, most;
};

#define NUMBER(TYPE, NAME, LEAST, MOST) \
	[NPUMEM_OPTION_##TYPE] = { .name = (NAME), .size = 8, .least = (LEAST), .most = (MOST) }

static const struct kind kinds[OPTIONS_END] = {
	NUMBER(ALIGNMENT, "alignment", 1, 65536),
	NUMBER(SCHEDULE, "schedule", NPUMEM_SCHEDULE_GIVEN, NPUMEM_SCHEDULE_TILED),
	NUMBER(BUDGET, "budget", NPUMEM_BUDGET_NEEDED, NPUMEM_BUDGET_PEAK),
	NUMBER(WORK_LIMIT, "work limit", 1, UINT64_MAX - 1),
	NUMBER(MEMORY_LIMIT, "memory limit", 1, UINT64_MAX),
	[NPUMEM_OPTION_BANKS] = { .name = "banks",
				  .size = NPUPLAN_BANKS * sizeof(struct npumem_option_bank) },
	NUMBER(TRAFFIC_FACTOR, "traffic factor", MILLION, UINT64_MAX),
	NUMBER(WEIGHTS_ON_CHIP, "weights on chip", 1, UINT64_MAX),
	NUMBER(LAYOUT, "layout", NPUMEM_LAYOUT_NHWC, NPUMEM_LAYOUT_NC32HW32),
	NUMBER(RECOMPUTE, "recompute", 0, UINT32_MAX),
	NUMBER(BANDS, "bands", 1, 65536),
	NUMBER(ROWS, "rows", 1, UINT32_MAX),
	NUMBER(ON_CHIP, "on chip", 1, UINT64_MAX),
	[NPUMEM_OPTION_DOUBLE_BUFFER] = { .name = "double buffer" },
	[NPUMEM_OPTION_TILES] = { .name = "tiles",
				  .size = sizeof(struct npumem_option_tile),
				  .many = true },
	NUMBER(CARRY_COPIES, "carry copies", NPUMEM_COPIES_NEEDED, NPUMEM_COPIES_SMALLER),
	NUMBER(INSTANCES, "instances", 1, 4096),
	NUMBER(COLUMNS, "columns", 1, UINT32_MAX),
};

int options_fail(struct npuplan_error *error, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return err;
}

static uint64_t read_u64(const unsigned char *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return le64toh(number);
}

bool asked_cut(const struct asked *asked)
{
	return asked_for(asked, NPUMEM_OPTION_RECOMPUTE) || asked_for(asked, NPUMEM_OPTION_BANDS) ||
	       asked_for(asked, NPUMEM_OPTION_ROWS) || asked_for(asked, NPUMEM_OPTION_ON_CHIP) ||
	       asked_for(asked, NPUMEM_OPTION_TILES) ||
	       asked_for(asked, NPUMEM_OPTION_CARRY_COPIES);
}

struct npumem_option_tile asked_tile(const struct asked *asked, uint32_t i)
{
	struct npumem_option_tile tile;

	memcpy(&tile, asked->tiles + i * sizeof(tile), sizeof(tile));
	tile.op = le64toh(tile.op);
	tile.rows = le32toh(tile.rows);
	tile.channels = le32toh(tile.channels);
	tile.order = le32toh(tile.order);
	tile.columns = le32toh(tile.columns);
	return tile;
}

/* ------------------------------------------------------------------- values */

static int read_number(struct asked *asked, uint32_t type, const unsigned char *value,
		       struct npuplan_error *error)
{
	const struct kind *kind = &kinds[type];
	uint64_t number = read_u64(value);

	if (number < kind->least || number > kind->most)
		return options_fail(error, -EINVAL,
				    "option %u (%s): %" PRIu64 " is not from %" PRIu64
				    " to %" PRIu64,
				    type, kind->name, number, kind->least, kind->most);
	if (type == NPUMEM_OPTION_ALIGNMENT && number & (number - 1))
		return options_fail(error, -EINVAL,
				    "option %u (%s): %" PRIu64 " is no power of two", type,
				    kind->name, number);
	asked->numbers[type] = number;
	return 0;
}

static void read_banks(struct asked *asked, const unsigned char *value)
{
	for (int i = 0; i < NPUPLAN_BANKS; i++)
		asked->banks[i] = (struct npuplan_bank){
			.size = read_u64(value + (size_t)i * 16),
			.bandwidth = read_u64(value + (size_t)i * 16 + 8),
		};
}

static int read_tiles(struct asked *asked, const unsigned char *value, uint32_t count,
		      struct npuplan_error *error)
{
	uint64_t before = 0;

	asked->tiles = value;
	asked->tile_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct npumem_option_tile tile = asked_tile(asked, i);

		if (tile.order > NPUMEM_ORDER_CHANNELS)
			return options_fail(error, -EINVAL,
					    "option %d (tiles): record %" PRIu32 ": order %" PRIu32,
					    NPUMEM_OPTION_TILES, i, tile.order);
		if (tile.op > INT64_MAX || (i && tile.op <= before))
			return options_fail(error, -EINVAL,
					    "option %d (tiles): record %" PRIu32
					    ": operator %" PRIu64 ": ids ascend, and have 63 bits",
					    NPUMEM_OPTION_TILES, i, (uint64_t)tile.op);
		before = tile.op;
	}
	return 0;
}

static int read_value(struct asked *asked, uint32_t type, const unsigned char *value, uint32_t size,
		      struct npuplan_error *error)
{
	const struct kind *kind = &kinds[type];

	if (kind->many ? !size || size % kind->size : size != kind->size)
		return options_fail(error, -EINVAL, "option %u (%s) has %u bytes, not %s%u", type,
				    kind->name, size, kind->many ? "a multiple of " : "",
				    kind->size);
	asked->given |= 1u << type;
	if (kind->most)
		return read_number(asked, type, value, error);
	if (type == NPUMEM_OPTION_BANKS)
		read_banks(asked, value);
	if (type == NPUMEM_OPTION_TILES)
		return read_tiles(asked, value, size / kind->size, error);
	return 0;
}

/* -------------------------------------------------------------- what excludes */

/*
 * Copies of what edges carry come before the graph is cut: operators are alike for them, and
 * whether an arena is smaller is a question of one budget.
 */
static int check_copies(const struct asked *asked, struct npuplan_error *error)
{
	static const enum npumem_option_type others[] = {
		NPUMEM_OPTION_RECOMPUTE,
		NPUMEM_OPTION_ON_CHIP,
		NPUMEM_OPTION_TILES,
	};

	if (asked_for(asked, NPUMEM_OPTION_INSTANCES) &&
	    !asked_for(asked, NPUMEM_OPTION_CARRY_COPIES))
		return options_fail(error, -EINVAL, "option %d (instances) needs %d (carry copies)",
				    NPUMEM_OPTION_INSTANCES, NPUMEM_OPTION_CARRY_COPIES);
	if (!asked_for(asked, NPUMEM_OPTION_CARRY_COPIES))
		return 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (asked_for(asked, others[i]))
			return options_fail(
				error, -EINVAL,
				"options %d (%s) and %d (carry copies) exclude each other",
				others[i], kinds[others[i]].name, NPUMEM_OPTION_CARRY_COPIES);
	if (asked->numbers[NPUMEM_OPTION_CARRY_COPIES] == NPUMEM_COPIES_SMALLER &&
	    asked_for(asked, NPUMEM_OPTION_BUDGET))
		return options_fail(error, -EINVAL,
				    "option %d (carry copies) for a smaller arena and %d (budget) "
				    "exclude each other",
				    NPUMEM_OPTION_CARRY_COPIES, NPUMEM_OPTION_BUDGET);
	return 0;
}

static int check_together(const struct asked *asked, struct npuplan_error *error)
{
	static const enum npumem_option_type cuts[] = {
		NPUMEM_OPTION_BANDS,
		NPUMEM_OPTION_ROWS,
		NPUMEM_OPTION_ON_CHIP,
		NPUMEM_OPTION_TILES,
	};
	enum npumem_option_type first = 0;

	if (asked_for(asked, NPUMEM_OPTION_BUDGET) && asked_for(asked, NPUMEM_OPTION_BANKS))
		return options_fail(error, -EINVAL,
				    "options %d (budget) and %d (banks) exclude each other",
				    NPUMEM_OPTION_BUDGET, NPUMEM_OPTION_BANKS);
	if (asked_for(asked, NPUMEM_OPTION_COLUMNS) && !asked_for(asked, NPUMEM_OPTION_ROWS))
		return options_fail(error, -EINVAL, "option %d (columns) needs %d (rows)",
				    NPUMEM_OPTION_COLUMNS, NPUMEM_OPTION_ROWS);
	if (asked_for(asked, NPUMEM_OPTION_DOUBLE_BUFFER) &&
	    !asked_for(asked, NPUMEM_OPTION_ON_CHIP))
		return options_fail(error, -EINVAL, "option %d (double buffer) needs %d (on chip)",
				    NPUMEM_OPTION_DOUBLE_BUFFER, NPUMEM_OPTION_ON_CHIP);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		if (!asked_for(asked, cuts[i]))
			continue;
		if (asked_for(asked, NPUMEM_OPTION_RECOMPUTE))
			return options_fail(error, -EINVAL,
					    "options %d (recompute) and %d (%s) exclude each other",
					    NPUMEM_OPTION_RECOMPUTE, cuts[i], kinds[cuts[i]].name);
		/* Of single operators something may be said beside what is said of all. */
		if (first && cuts[i] != NPUMEM_OPTION_TILES)
			return options_fail(error, -EINVAL,
					    "options %d (%s) and %d (%s) exclude each other", first,
					    kinds[first].name, cuts[i], kinds[cuts[i]].name);
		first = cuts[i];
	}
	return check_copies(asked, error);
}

/* ------------------------------------------------------------------- the list */

/*
 * struct reader - where the reading is
 * @data: all options
 * @at: first byte that is not read yet
 * @type: of the option before
 */
struct reader {
	const unsigned char *data;
	size_t size;
	size_t at;
	uint32_t type;
};

static bool is_zero(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

static int read_option(struct reader *reader, struct asked *asked, struct npuplan_error *error)
{
	const unsigned char *at = reader->data + reader->at;
	size_t left = reader->size - reader->at, padded;
	struct npumem_option head;

	if (left < sizeof(head))
		return options_fail(error, -EBADMSG,
				    "the options' last %zu bytes, at byte %zu, are no option", left,
				    reader->at);
	memcpy(&head, at, sizeof(head));
	head.type = le32toh(head.type);
	head.size = le32toh(head.size);
	left -= sizeof(head);
	/* 64 bits, as the sum of a 32-bit size may have 33. */
	padded = ((uint64_t)head.size + 7) & ~7ull;
	if (padded > left)
		return options_fail(error, -EBADMSG,
				    "option %u: its %u bytes end behind the options' %zu",
				    head.type, head.size, reader->size);
	if (head.type <= reader->type)
		return options_fail(error, -EBADMSG,
				    "option %u does not stand in order: they ascend from 1 on, and "
				    "none is there twice",
				    head.type);
	if (!is_zero(at + sizeof(head) + head.size, padded - head.size))
		return options_fail(error, -EBADMSG,
				    "option %u: what fills its %u bytes up is not zero", head.type,
				    head.size);
	if (head.type >= OPTIONS_END)
		return options_fail(error, -EOPNOTSUPP, "option %u is not known to this npumemd",
				    head.type);
	reader->type = head.type;
	reader->at += sizeof(head) + padded;
	return read_value(asked, head.type, at + sizeof(head), head.size, error);
}

int options_read(const void *data, size_t size, struct asked *out, struct npuplan_error *error)
{
	struct reader reader = { .data = data, .size = size };
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (size > NPUMEM_OPTIONS_MAX_BYTES)
		return options_fail(error, -E2BIG, "options of %zu bytes: there are at most %d",
				    size, NPUMEM_OPTIONS_MAX_BYTES);
	while (!err && reader.at < reader.size)
		err = read_option(&reader, out, error);
	return err ? err : check_together(out, error);
}
