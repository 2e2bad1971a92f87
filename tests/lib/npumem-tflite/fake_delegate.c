// SPDX-License-Identifier: MIT
/*
 * An external delegate that claims nothing. Its options: "spoil" is the byte of outputs that the
 * fake runtime spoils, from 1 on; "refuse" has the text with which it does not begin, or nothing;
 * "prepare" and "stats" let these calls fail.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../userspace/runtimes/tflite/npumem_tflite.h"
#include "tflite_api.h"

static bool stats_fail;

static int prepare(struct tfl_context *context, struct tfl_delegate *delegate)
{
	return TFL_OK;
}

static int prepare_fails(struct tfl_context *context, struct tfl_delegate *delegate)
{
	return TFL_ERROR;
}

void *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
				    void (*report)(const char *text))
{
	struct tfl_delegate *delegate = calloc(1, sizeof(*delegate));

	if (!delegate)
		return NULL;
	delegate->prepare = prepare;
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(keys[i], "spoil"))
			delegate->flags = 2 * strtol(values[i], NULL, 10);
		if (!strcmp(keys[i], "prepare"))
			delegate->prepare = prepare_fails;
		if (!strcmp(keys[i], "stats"))
			stats_fail = true;
		if (strcmp(keys[i], "refuse") != 0)
			continue;
		if (*values[i])
			report(values[i]);
		free(delegate);
		return NULL;
	}
	return delegate;
}

void tflite_plugin_destroy_delegate(void *delegate)
{
	free(delegate);
}

#ifdef WITH_STATS
int npumem_tflite_get_stats(void *delegate, struct npumem_tflite_stats *stats)
{
	if (stats->size != sizeof(*stats))
		return -EINVAL;
	if (stats_fail)
		return -ENODATA;
	stats->claimed = 3;
	stats->operators = 4;
	stats->partitions = 2;
	stats->arena_bytes = 5000;
	stats->lower_bound = 4000;
	stats->tensor_bytes = 6000;
	stats->plan_ns = 7000000;
	stats->spilled_bytes = 80;
	stats->enforced_by = 2;
	stats->cached = 1;
	return 0;
}
#endif
