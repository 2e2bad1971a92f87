// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "times.h"

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t quantile(const struct times *times, size_t percent)
{
	return times->list[(times->count * percent + 99) / 100 - 1];
}

struct times_summary times_summary(struct times *times)
{
	struct times_summary summary = { 0 };

	if (!times->count)
		return summary;
	summary.first = times->list[0];
	qsort(times->list, times->count, sizeof(*times->list), compare);
	summary.median = quantile(times, 50);
	summary.p99 = quantile(times, 99);
	return summary;
}
