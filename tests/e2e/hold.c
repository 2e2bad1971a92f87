// SPDX-License-Identifier: MIT
/*
 * hold - take all of the carveout that is free, say so, and keep it until killed.
 *
 * usage: npumem_hold
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "npumem.h"

/* The largest piece of a bank, again and again; nobody else may be quicker. */
static uint64_t fill(struct npumem_device *device, uint32_t bank)
{
	struct drm_npumem_bank *banks;
	struct npumem_error error;
	uint64_t taken = 0, piece;
	struct npumem_bo *bo;
	uint32_t count;

	for (;;) {
		if (npumem_device_banks(device, &banks, &count, &error))
			errx(1, "%s", error.text);
		piece = bank < count ? banks[bank].largest_free : 0;
		free(banks);
		if (!piece)
			return taken;
		if (npumem_bo_new(device, piece, NPUMEM_BO_CARVEOUT, bank, &bo, &error))
			errx(1, "%s", error.text);
		taken += piece;
	}
}

int main(void)
{
	struct drm_npumem_bank *banks;
	struct npumem_device *device;
	struct npumem_error error;
	uint64_t taken = 0;
	uint32_t count;

	if (npumem_device_open(NULL, &device, &error) ||
	    npumem_device_banks(device, &banks, &count, &error))
		errx(1, "%s", error.text);
	free(banks);
	for (uint32_t i = 0; i < count; i++)
		taken += fill(device, i);
	printf("%" PRIu64 " bytes are held\n", taken);
	fflush(stdout);
	pause();
	return 0;
}
