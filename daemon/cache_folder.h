/* SPDX-License-Identifier: MIT */
/*
 * The folder that plans are kept in, which need not be there yet: a disk may be mounted after the
 * daemon has started, over a folder that it uses, or be away when the configuration is read again.
 */
#pragma once

#include <systemd/sd-event.h>

#include "config.h"
#include "plancache.h"

/*
 * Microseconds until a folder is tried again that could not be opened, or one that could is looked
 * for at its path.
 */
#define CACHE_FOLDER_RETRY_US 30000000

struct cache_folder;

/*
 * cache_folder_new() - nothing is open yet
 * @config: read whenever the folder is opened
 * @cache: stays the caller's, who closes it; replaced by cache_folder_open(), and later
 * @retry_us: CACHE_FOLDER_RETRY_US, or a test's
 *
 * -ENOMEM, or what the event loop has no clock for.
 */
int cache_folder_new(sd_event *event, const struct config *config, struct plancache **cache,
		     uint64_t retry_us, struct cache_folder **out);

/*
 * cache_folder_open() - open what the configuration names now
 *
 * What cannot be opened is tried again by itself. The log says why, once, and when it is there; and
 * when another folder has taken its place.
 */
void cache_folder_open(struct cache_folder *folder);

/* Nothing is looked at again. NULL is fine. */
void cache_folder_free(struct cache_folder *folder);
