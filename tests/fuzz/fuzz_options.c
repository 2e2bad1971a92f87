/* SPDX-License-Identifier: MIT */
/*
 * Options of a plan request: whatever they say, npumemd reads no byte that is not theirs, refuses
 * them with a sentence or knows all of them, and libnpumem writes what was read as the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_check.h"
#include "options.h"
#include "plan_options.h"

/* The request that options are of. */
static void ask_again(const struct asked *asked, struct npumem_option_bank *banks,
		      struct npumem_option_tile *tiles, struct npumem_request *request)
{
	const uint64_t *numbers = asked->numbers;

	for (int i = 0; i < NPUPLAN_BANKS; i++)
		banks[i] = (struct npumem_option_bank){ .size = asked->banks[i].size,
							.bandwidth = asked->banks[i].bandwidth };
	for (uint32_t i = 0; i < asked->tile_count; i++)
		tiles[i] = asked_tile(asked, i);
	*request = (struct npumem_request){
		.alignment = (uint32_t)numbers[NPUMEM_OPTION_ALIGNMENT],
		.schedule = (uint32_t)numbers[NPUMEM_OPTION_SCHEDULE],
		.budget = (uint32_t)numbers[NPUMEM_OPTION_BUDGET],
		.layout = (uint32_t)numbers[NPUMEM_OPTION_LAYOUT],
		.work_limit = numbers[NPUMEM_OPTION_WORK_LIMIT],
		.memory_limit = numbers[NPUMEM_OPTION_MEMORY_LIMIT],
		.banks = asked_for(asked, NPUMEM_OPTION_BANKS) ? banks : NULL,
		.traffic_factor = (double)numbers[NPUMEM_OPTION_TRAFFIC_FACTOR] / 1e6,
		.weights_on_chip = numbers[NPUMEM_OPTION_WEIGHTS_ON_CHIP],
		.recompute = asked_for(asked, NPUMEM_OPTION_RECOMPUTE),
		.double_buffer = asked_for(asked, NPUMEM_OPTION_DOUBLE_BUFFER),
		.recompute_limit = (uint32_t)numbers[NPUMEM_OPTION_RECOMPUTE],
		.bands = (uint32_t)numbers[NPUMEM_OPTION_BANDS],
		.rows = (uint32_t)numbers[NPUMEM_OPTION_ROWS],
		.tile_count = asked->tile_count,
		.on_chip = numbers[NPUMEM_OPTION_ON_CHIP],
		.tiles = tiles,
		.carry_copies = (uint32_t)numbers[NPUMEM_OPTION_CARRY_COPIES],
		.instances = (uint32_t)numbers[NPUMEM_OPTION_INSTANCES],
		.columns = (uint32_t)numbers[NPUMEM_OPTION_COLUMNS],
	};
}

/* Options that a runtime can ask for by libnpumem are written as they were read. */
static void check_written(const struct asked *asked, const void *data, size_t size)
{
	struct npumem_option_bank banks[NPUPLAN_BANKS];
	struct npumem_option_tile *tiles = calloc((size_t)asked->tile_count + 1, sizeof(*tiles));
	struct npumem_request request;
	void *written;
	size_t length;
	int err;

	if (!tiles)
		return;
	ask_again(asked, banks, tiles, &request);
	FUZZ_ASSERT(npumem_options_cut(&request) == asked_cut(asked),
		    "both sides know what cuts a graph");
	err = npumem_options_write(&request, &written, &length, NULL);
	/* A double does not tell large factors apart; a layout of 0 is none, which is the same. */
	if (!err && request.traffic_factor < 1e9 &&
	    (request.layout || !asked_for(asked, NPUMEM_OPTION_LAYOUT)))
		FUZZ_ASSERT(length == size && !memcmp(written, data, size),
			    "there is one way to write options");
	free(written);
	free(tiles);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* What is behind the options is not there. */
	uint8_t *copy = calloc(size + !size, 1);
	struct npuplan_error error = { "" };
	struct asked asked;
	int err;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	err = options_read(copy, size, &asked, &error);
	FUZZ_ASSERT(!err == !error.text[0], "a refusal has a reason, and nothing else has");
	if (!err && size)
		check_written(&asked, copy, size);
	free(copy);
	return 0;
}
