// SPDX-License-Identifier: MIT
#include "plan_options.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

/* A factor of traffic goes as so many millionths. */
#define MILLION	   1000000
#define MAX_FACTOR 1e12

/* All options but tiles are a number or two banks. */
#define FEW_BYTES 512

/**
 * struct options - options in the making
 * @bytes: they stand here; there is room for FEW_BYTES and the tiles
 * @size: bytes used
 */
struct options {
	unsigned char *bytes;
	size_t size;
};

/* Values have a multiple of 8 bytes, all of them. */
static void *put(struct options *options, uint32_t type, uint32_t size)
{
	const struct npumem_option head = { .type = htole32(type), .size = htole32(size) };
	void *value = options->bytes + options->size + sizeof(head);

	memcpy(options->bytes + options->size, &head, sizeof(head));
	options->size += sizeof(head) + size;
	return value;
}

static void put_number(struct options *options, uint32_t type, uint64_t number)
{
	number = htole64(number);
	memcpy(put(options, type, sizeof(number)), &number, sizeof(number));
}

/* A number of which zero says nothing. */
static void put_given(struct options *options, uint32_t type, uint64_t number)
{
	if (number)
		put_number(options, type, number);
}

static void put_banks(struct options *options, const struct npumem_option_bank *banks)
{
	struct npumem_option_bank to[2];

	if (!banks)
		return;
	for (int i = 0; i < 2; i++)
		to[i] = (struct npumem_option_bank){ .size = htole64(banks[i].size),
						     .bandwidth = htole64(banks[i].bandwidth) };
	memcpy(put(options, NPUMEM_OPTION_BANKS, sizeof(to)), to, sizeof(to));
}

static void put_tiles(struct options *options, const struct npumem_option_tile *tiles,
		      uint32_t count)
{
	unsigned char *value;

	if (!count)
		return;
	value = put(options, NPUMEM_OPTION_TILES, count * (uint32_t)sizeof(*tiles));
	for (uint32_t i = 0; i < count; i++) {
		const struct npumem_option_tile to = {
			.op = htole64(tiles[i].op),
			.rows = htole32(tiles[i].rows),
			.channels = htole32(tiles[i].channels),
			.order = htole32(tiles[i].order),
			.columns = htole32(tiles[i].columns),
		};

		memcpy(value + i * sizeof(to), &to, sizeof(to));
	}
}

bool npumem_options_cut(const struct npumem_request *request)
{
	return request->recompute || request->bands || request->rows || request->on_chip ||
	       request->tile_count || request->carry_copies;
}

/* In the order of the types. */
static void put_all(struct options *options, const struct npumem_request *request)
{
	put_given(options, NPUMEM_OPTION_ALIGNMENT, request->alignment);
	put_given(options, NPUMEM_OPTION_SCHEDULE, request->schedule);
	put_given(options, NPUMEM_OPTION_BUDGET, request->budget);
	put_given(options, NPUMEM_OPTION_WORK_LIMIT, request->work_limit);
	put_given(options, NPUMEM_OPTION_MEMORY_LIMIT, request->memory_limit);
	put_banks(options, request->banks);
	put_given(options, NPUMEM_OPTION_TRAFFIC_FACTOR,
		  (uint64_t)(request->traffic_factor * MILLION + 0.5));
	put_given(options, NPUMEM_OPTION_WEIGHTS_ON_CHIP, request->weights_on_chip);
	put_given(options, NPUMEM_OPTION_LAYOUT, request->layout);
	if (request->recompute)
		put_number(options, NPUMEM_OPTION_RECOMPUTE, request->recompute_limit);
	put_given(options, NPUMEM_OPTION_BANDS, request->bands);
	put_given(options, NPUMEM_OPTION_ROWS, request->rows);
	put_given(options, NPUMEM_OPTION_ON_CHIP, request->on_chip);
	if (request->double_buffer)
		put(options, NPUMEM_OPTION_DOUBLE_BUFFER, 0);
	put_tiles(options, request->tiles, request->tile_count);
	put_given(options, NPUMEM_OPTION_CARRY_COPIES, request->carry_copies);
	put_given(options, NPUMEM_OPTION_INSTANCES, request->instances);
	put_given(options, NPUMEM_OPTION_COLUMNS, request->columns);
}

int npumem_options_write(const struct npumem_request *request, void **out, size_t *size,
			 struct npumem_error *error)
{
	struct options options = { 0 };
	double factor = request->traffic_factor;

	*out = NULL;
	*size = 0;
	/* Also what is no number is neither. */
	if (!(factor == 0 || (factor >= 1 && factor <= MAX_FACTOR)))
		return npumem_fail(error, -EINVAL, "a factor of traffic is 1 or more, not %g",
				   factor);
	if (request->tile_count && !request->tiles)
		return npumem_fail(error, -EINVAL, "npumem_plan_request: NULL argument");
	if (request->tile_count > (NPUMEM_OPTIONS_MAX_BYTES - FEW_BYTES) / sizeof(*request->tiles))
		return npumem_fail(error, -E2BIG,
				   "tiles of %u operators are more than options may have: %d bytes",
				   request->tile_count, NPUMEM_OPTIONS_MAX_BYTES);
	options.bytes = malloc(FEW_BYTES + request->tile_count * sizeof(*request->tiles));
	if (!options.bytes)
		return npumem_fail_errno(error, -ENOMEM, "request a plan");
	put_all(&options, request);
	if (options.size) {
		*out = options.bytes;
		*size = options.size;
	} else {
		free(options.bytes);
	}
	return 0;
}
