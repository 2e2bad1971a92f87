// SPDX-License-Identifier: MIT
/*
 * Pack buffers whose live ranges are known into as few bytes as can be.
 *
 * cc pack_buffers.c $(pkg-config --cflags --libs libnpuplan)
 */
#include <err.h>
#include <inttypes.h>
#include <npuplan.h>

int main(void)
{
	const struct npuplan_item items[] = {
		{ .size = 4096, .align = 64, .start = 0, .end = 1 },
		{ .size = 1024, .align = 64, .start = 1, .end = 2 },
		{ .size = 3072, .align = 64, .start = 2, .end = 3 },
	};
	const struct npuplan_pack_problem problem = { .items = items, .item_count = 3 };
	struct npuplan_pack_result result;
	struct npuplan_error error;
	uint64_t offsets[3];

	if (npuplan_pack(&problem, NULL, offsets, &result, &error))
		errx(1, "%s", error.text);
	if (result.top == UINT64_MAX)
		errx(1, "no packing was found");
	for (int i = 0; i < 3; i++)
		printf("buffer %d: byte %" PRIu64 "\n", i, offsets[i]);
	printf("arena: %" PRIu64 " bytes\n", result.top);
	return 0;
}
