// SPDX-License-Identifier: MIT
#include "cache_folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "keep.h"
#include "log.h"

/*
 * struct cache_folder - see the header
 * @again: event source that tries once more, or looks whether the folder is still the one
 * @wrong: errno of the last try, which the log has
 */
struct cache_folder {
	const struct config *config;
	struct plancache **cache;
	uint64_t retry_us;
	sd_event_source *again;
	int wrong;
};

/* Whether another folder stands there by now: this one was moved, or a disk is mounted over it. */
static bool was_replaced(const struct cache_folder *folder)
{
	const struct config *config = folder->config;

	return *folder->cache &&
	       !plancache_is_of(*folder->cache, config->cache_folder, config->cache_limit);
}

/* @anew: who has changed the configuration wants to know, whatever was said before. */
static void try_to_open(struct cache_folder *folder, bool anew)
{
	const char *path = folder->config->cache_folder;
	bool replaced = !anew && was_replaced(folder);
	int err = keep_open(folder->config, folder->cache), before = folder->wrong;

	folder->wrong = err;
	sd_event_source_set_enabled(folder->again, SD_EVENT_OFF);
	if (err && (anew || err != before))
		log_notice("plans are not kept: %s: %s; tried again every %" PRIu64 " s", path,
			   strerror(-err), folder->retry_us / 1000000);
	else if (replaced && *folder->cache)
		log_notice("another folder is at %s: plans are kept there now", path);
	else if (before && *folder->cache)
		log_notice("plans are kept in %s now", path);
	if (!err && !*folder->cache)
		return;
	if (sd_event_source_set_time_relative(folder->again, folder->retry_us) < 0 ||
	    sd_event_source_set_enabled(folder->again, SD_EVENT_ONESHOT) < 0)
		log_warning("%s is not looked at again", path);
}

static int on_again(sd_event_source *source, uint64_t usec, void *data)
{
	try_to_open(data, false);
	return 0;
}

int cache_folder_new(sd_event *event, const struct config *config, struct plancache **cache,
		     uint64_t retry_us, struct cache_folder **out)
{
	struct cache_folder *folder = calloc(1, sizeof(*folder));
	int err;

	if (!folder)
		return -ENOMEM;
	folder->config = config;
	folder->cache = cache;
	folder->retry_us = retry_us;
	/* It is there from the beginning: later there may be no descriptor left for the clock. */
	err = sd_event_add_time_relative(event, &folder->again, CLOCK_MONOTONIC, 0, 0, on_again,
					 folder);
	if (err >= 0)
		err = sd_event_source_set_enabled(folder->again, SD_EVENT_OFF);
	if (err < 0) {
		cache_folder_free(folder);
		return err;
	}
	*out = folder;
	return 0;
}

void cache_folder_open(struct cache_folder *folder)
{
	try_to_open(folder, true);
}

void cache_folder_free(struct cache_folder *folder)
{
	if (!folder)
		return;
	sd_event_source_disable_unref(folder->again);
	free(folder);
}
