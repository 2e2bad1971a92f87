/* SPDX-License-Identifier: MIT */
/* Plans that a command puts into a cache, one after the other, and which have gone again. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "plancache.h"

/**
 * struct keeping - plans that a command has put into a cache; zeros but for the first four fields
 * @to: where they go
 * @folder: its path, for messages
 * @limit: bytes that it may have, or PLANCACHE_NO_LIMIT
 * @array: an object of each plan, whose "kept" becomes "none" if there was no room for it; NULL:
 *	nobody wants JSON
 * @plans: which they are
 * @count: number of them
 */
struct keeping {
	struct plancache *to;
	const char *folder;
	uint64_t limit;
	json_t *array;
	struct keeping_plan *plans;
	size_t count;
};

/*
 * keeping_put() - keep a plan
 * @stays: it is the one that is there: a full disk, which has no room to write it with what is
 *	known of it by now, loses nothing
 * @what: what it is, for messages
 * @object: of @keeping->array, which takes it; NULL where there is no array
 * @fits: out: false: it is larger than the limit, of which keeping_end() speaks
 *
 * Says why the plan cannot be kept otherwise. Returns an exit code.
 */
int keeping_put(struct keeping *keeping, const struct plancache_key *key,
		const struct plancache_entry *entry, bool stays, const char *what, json_t *object,
		bool *fits);

/*
 * keeping_end() - say which plans have no room, or had to go again for others behind them
 *
 * Frees all but @keeping->to and @keeping->array. Returns EXIT_FAILED if there are any.
 */
int keeping_end(struct keeping *keeping);
