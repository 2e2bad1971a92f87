/* SPDX-License-Identifier: MIT */
/* What a delegate says of its work. */
#pragma once

#include "npumem_tflite.h"
#include "plugin.h"
#include "unit.h"

static inline struct npumem_tflite_stats stats_of(struct delegate *d)
{
	struct npumem_tflite_stats stats = { .size = sizeof(stats) };

	assert_int_equal(plugin_stats(d, &stats), 0);
	return stats;
}
