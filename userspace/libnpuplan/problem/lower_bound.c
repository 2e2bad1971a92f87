// SPDX-License-Identifier: MIT
/* Most bytes live at one instant. */
#include <stdlib.h>

#include "liveness.h"

int npuplan_lower_bound(const struct npuplan_liveness *live, uint64_t *bytes, uint32_t *instant)
{
	/* Bytes that begin and cease to live at each instant, summed up. */
	uint64_t *change = calloc((size_t)live->exit + 2, sizeof(*change));
	uint64_t now = 0;

	*bytes = 0;
	*instant = 0;
	if (!change)
		return -ENOMEM;
	for (uint32_t i = 0; i < live->atom_count; i++) {
		const struct npuplan_atom *atom = &live->atoms[i];

		/* Unsigned wrap-around is meant: the running sum is never negative. */
		change[atom->start] += atom->length;
		change[atom->end + 1] -= atom->length;
	}
	/* At most so many bytes are taken over: what writes take they have themselves. */
	for (uint32_t i = 0; i < live->takeover_count; i++) {
		const struct npuplan_takeover *taken = &live->takeovers[i];

		change[taken->instant] -= taken->length;
		change[taken->instant + 1] += taken->length;
	}
	for (uint32_t i = 0; i <= live->exit; i++) {
		now += change[i];
		if (now > *bytes) {
			*bytes = now;
			*instant = i;
		}
	}
	free(change);
	return 0;
}
