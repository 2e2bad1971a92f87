/* SPDX-License-Identifier: MIT */
/*
 * Plans that the daemon keeps (plancache.h): answers to requests that are like one before.
 *
 * A graph is not read for that, its bytes are hashed. A plan that is kept was accepted by the
 * driver once, is of this very graph, and is verified by the driver again.
 */
#pragma once

#include "config.h"
#include "plancache.h"
#include "transport.h"

/*
 * keep_open() - the cache that the configuration names
 * @cache: replaced, unless it is that one already; NULL if there is to be none, or on failure
 *
 * Returns 0, or what plancache_open() does. cache_folder.h tries again.
 */
int keep_open(const struct config *config, struct plancache **cache);

/**
 * struct kept - what is known of a request that the cache may answer
 * @hashed: it has a @key; else it has nothing to do with the cache
 * @key: of the request
 * @entry: what the cache has, @entry.data is NULL if nothing
 */
struct kept {
	bool hashed;
	struct plancache_key key;
	struct plancache_entry entry;
};

/*
 * keep_find() - look a request up, whose planner is named
 * @cache: NULL: none
 */
void keep_find(struct kept *kept, struct plancache *cache, const struct accepted *accepted);

/* Its bytes are of no use for some time: what is kept then is looked up by its key. */
void keep_let_go(struct kept *kept);
void keep_find_again(struct kept *kept, struct plancache *cache, const struct accepted *accepted);

/*
 * keep_answers() - whether what is kept is as good an answer as planning anew would be
 * @given_us: how long that could take
 * @limit: most bytes of an answer
 */
bool keep_answers(const struct kept *kept, uint64_t given_us, uint64_t limit);

/* Whether planning could take that long already, or about that long. */
bool keep_had(const struct plancache_entry *entry, uint64_t given_us);

struct worker_result;

/* Whether what is kept is at least as good as what was made anew, and of @limit bytes at most. */
bool keep_no_worse(const struct kept *kept, const struct worker_result *made, uint64_t limit);

/*
 * keep_plan() - keep the better one of a plan that was made anew and what is kept
 * @kept: as keep_find() had it. What the cache has by now takes its place; what the cache has no
 *	more is as good as ever
 * @cache: it may be another one than keep_find() had, or none
 * @made: the new one
 * @maker: what it was made for
 * @given_us: how long planning could take
 *
 * @kept says then what is kept, but for its bytes. False: nothing could be kept. All other requests
 * wait for this: it comes after the answer, and is not flushed to the disk.
 */
bool keep_plan(struct kept *kept, struct plancache *cache, const struct accepted *accepted,
	       const struct worker_result *made, enum plancache_maker maker, uint64_t given_us);

/* The driver has refused what the cache said, which is no plan for anybody. */
void keep_not(const struct kept *kept, struct plancache *cache);

void keep_free(struct kept *kept);
