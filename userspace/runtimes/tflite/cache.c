// SPDX-License-Identifier: MIT
#include "cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plancache.h"

/* Plans are small: some thousand models'. */
#define MOST_BYTES (64ull << 20)

static struct plancache_request request_of(const struct options *options, const struct blobs *blobs)
{
	return (struct plancache_request){
		.graph = blobs->graph,
		.graph_size = blobs->graph_size,
		.planner = options->planner ? options->planner : "auto",
		.arena_budget = options->budget,
	};
}

int cache_read(const struct options *options, struct blobs *blobs, struct why *why)
{
	const struct plancache_request request = request_of(options, blobs);
	struct plancache_entry entry;
	struct plancache_key key;
	struct plancache *cache;
	int err = plancache_open(options->cache, MOST_BYTES, &cache);

	if (!err) {
		plancache_key(&request, &key);
		err = plancache_get(cache, &key, &entry);
		plancache_close(cache);
	}
	if (err)
		return why_fail(why, err, "%s: %s", options->cache,
				err == -EBADMSG ? "a file is damaged" : strerror(-err));
	blobs->plan = entry.data;
	blobs->plan_size = entry.size;
	return 0;
}

int cache_write(const struct options *options, const struct blobs *blobs, struct why *why)
{
	const struct plancache_request request = request_of(options, blobs);
	struct plancache_entry entry;
	struct plancache_key key;
	struct plancache *cache;
	int err = plancache_open(options->cache, MOST_BYTES, &cache);

	if (!err) {
		plancache_entry_init(&entry, &request);
		entry.data = blobs->plan;
		entry.size = blobs->plan_size;
		/* What its planner counts only libnpuplan knows. */
		entry.cost = PLANCACHE_COST_UNKNOWN;
		entry.final = true;
		snprintf(entry.text, sizeof(entry.text), "TensorFlow Lite delegate");
		plancache_key(&request, &key);
		err = plancache_put(cache, &key, &entry);
		plancache_close(cache);
	}
	return err ? why_fail(why, err, "%s: %s", options->cache, strerror(-err)) : 0;
}
