// SPDX-License-Identifier: MIT
#include "keep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "rate.h"
#include "worker.h"

/* A deadline is counted from when a request comes: a little less time is the same time. */
#define SAME_TIME 0.9

int keep_open(const struct config *config, struct plancache **cache)
{
	int err;

	/* It knows its files, and where there is no descriptor left it has one. */
	if (*cache && config->cache_limit &&
	    plancache_is_of(*cache, config->cache_folder, config->cache_limit))
		return 0;
	plancache_close(*cache);
	*cache = NULL;
	if (!config->cache_limit)
		return 0;
	err = plancache_open(config->cache_folder, config->cache_limit, cache);
	if (!err)
		/* Everybody waits for this process, and a card may take seconds. */
		plancache_hurry(*cache);
	return err;
}

/* ------------------------------------------------------------------ the request */

/*
 * struct shown - the mapping of what the driver shows of a request
 * @size: bytes of it; 0: there is none
 */
struct shown {
	void *map;
	size_t size;
};

static int map_request(const struct accepted *accepted, struct shown *shown)
{
	uint64_t size = accepted->graph_size;

	if (accepted->options_size)
		size = worker_to_page(size) + accepted->options_size;
	shown->map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, accepted->fd, 0);
	if (shown->map == MAP_FAILED)
		return -errno;
	shown->size = size;
	/* Bytes that are not there are an error here; the daemon must not end by touching them. */
	return madvise(shown->map, size, MADV_POPULATE_READ) ? -errno : 0;
}

/* A policy's limit, where the client's budget does not keep to it: he has plans of his own. */
static uint64_t limit_of(const struct accepted *accepted)
{
	uint64_t budget = accepted->arena_budget, limit = accepted->arena_limit;

	return budget && budget <= limit ? 0 : limit;
}

static void describe(const struct accepted *accepted, const char *graph,
		     struct plancache_request *request)
{
	*request = (struct plancache_request){
		.graph = graph,
		.graph_size = accepted->graph_size,
		.planner = accepted->planner,
		.objective = accepted->objective,
		.arena_budget = accepted->arena_budget,
		.arena_limit = limit_of(accepted),
		.cut = accepted->cut,
	};
	if (accepted->options_size) {
		request->options = graph + worker_to_page(accepted->graph_size);
		request->options_size = accepted->options_size;
	}
}

/* @err: what comes of looking, 0 where it was found */
static void not_found(const struct accepted *accepted, int err)
{
	if (err && err != -ENOENT)
		log_accepted(
			LOG_WARNING, accepted,
			"request %" PRIu64 ": the cache of plans cannot be asked: %s", accepted->id,
			err == -EBADMSG ? "a file was damaged, and is removed" : strerror(-err));
}

void keep_find(struct kept *kept, struct plancache *cache, const struct accepted *accepted)
{
	struct plancache_request request;
	struct shown shown = { 0 };
	int err;

	*kept = (struct kept){ 0 };
	if (!cache)
		return;
	err = map_request(accepted, &shown);
	if (!err) {
		kept->hashed = true;
		describe(accepted, shown.map, &request);
		plancache_key(&request, &kept->key);
	}
	if (shown.size)
		munmap(shown.map, shown.size);
	if (!err)
		err = plancache_get(cache, &kept->key, &kept->entry);
	not_found(accepted, err);
}

void keep_let_go(struct kept *kept)
{
	free(kept->entry.data);
	kept->entry = (struct plancache_entry){ 0 };
}

void keep_find_again(struct kept *kept, struct plancache *cache, const struct accepted *accepted)
{
	keep_let_go(kept);
	if (kept->hashed && cache)
		not_found(accepted, plancache_get(cache, &kept->key, &kept->entry));
}

/* ---------------------------------------------------------------------- the answer */

bool keep_had(const struct plancache_entry *entry, uint64_t given_us)
{
	return (double)entry->given_us >= SAME_TIME * (double)given_us;
}

bool keep_answers(const struct kept *kept, uint64_t given_us, uint64_t limit)
{
	const struct plancache_entry *entry = &kept->entry;

	if (!entry->data || entry->size > limit)
		return false;
	return entry->final || keep_had(entry, given_us);
}

bool keep_no_worse(const struct kept *kept, const struct worker_result *made, uint64_t limit)
{
	return kept->entry.size <= limit && plancache_no_worse(&kept->entry, made->cost);
}

static bool not_kept(const struct accepted *accepted, size_t size, int err)
{
	log_accepted(LOG_NOTICE, accepted,
		     "request %" PRIu64 ": its plan of %zu bytes is not kept: %s", accepted->id,
		     size, strerror(-err));
	return false;
}

static bool put(const struct kept *kept, struct plancache *cache, const struct accepted *accepted,
		const struct plancache_entry *entry)
{
	int err = plancache_put(cache, &kept->key, entry);

	return err ? not_kept(accepted, entry->size, err) : true;
}

/*
 * What the cache has now takes the place of what it had before. -ENOENT, or -EBADMSG where it is
 * damaged: it has nothing; else it does not say.
 */
static int look_again(struct kept *kept, struct plancache *cache)
{
	struct plancache_entry now;
	int err = plancache_peek(cache, &kept->key, &now);

	if (err)
		return err;
	free(kept->entry.data);
	kept->entry = now;
	return 0;
}

/* What is kept is the better one; where the cache has it, and nothing new of it, nothing is put. */
static bool put_kept(const struct kept *kept, struct plancache *cache,
		     const struct accepted *accepted, const struct plancache_entry *there)
{
	const struct plancache_entry *entry = &kept->entry;

	return (there->data && there->given_us == entry->given_us &&
		there->final == entry->final) ||
	       put(kept, cache, accepted, entry);
}

bool keep_plan(struct kept *kept, struct plancache *cache, const struct accepted *accepted,
	       const struct worker_result *made, enum plancache_maker maker, uint64_t given_us)
{
	struct plancache_entry entry, there = { 0 };
	struct plancache_request request;
	int err;

	if (!kept->hashed || !cache)
		return false;
	/* Another request, a search or npumemctl may have put a better one while this was made. */
	err = look_again(kept, cache);
	if (!err)
		there = kept->entry;
	else if (err != -ENOENT && err != -EBADMSG)
		return not_kept(accepted, made->size, err);
	describe(accepted, NULL, &request);
	plancache_entry_init(&entry, &request);
	entry.cost = made->cost;
	entry.final = made->final;
	entry.given_us = given_us;
	/* Of a result nothing is written. */
	entry.data = (void *)(uintptr_t)made->data;
	entry.size = made->size;
	entry.head = made->head;
	if (plancache_better(&kept->entry, &entry) != &entry)
		return put_kept(kept, cache, accepted, &there);
	plancache_entry_made(&entry, kept->entry.data ? &kept->entry : NULL, maker, made->cpu_us);
	if (accepted->client.known)
		entry.owner = accepted->client.uid;
	snprintf(entry.text, sizeof(entry.text), "%.*s", PLANCACHE_TEXT_SIZE - 1, made->text);
	return put(kept, cache, accepted, &entry);
}

void keep_not(const struct kept *kept, struct plancache *cache)
{
	if (kept->hashed && cache)
		plancache_drop(cache, &kept->key);
}

void keep_free(struct kept *kept)
{
	keep_let_go(kept);
	*kept = (struct kept){ 0 };
}
