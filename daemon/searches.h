/* SPDX-License-Identifier: MIT */
/*
 * The requests whose plans are to be improved, in the order in which that is done: users take
 * turns, and of one those that were asked for first come first. What waits is bounded, in places
 * and in bytes: where there is no room, users who have more of what lacks give some of theirs, the
 * last ones first, but only if that makes room.
 */
#pragma once

#include "plancache.h"
#include "transport.h"

/* So many requests wait at most, and so many bytes of their graphs and options. */
#define SEARCHES_MAX	     32
#define SEARCHES_MAX_BYTES   (64ull << 20)
/* But no more than this part of the memory that daemon and workers may have together. */
#define SEARCHES_MEMORY_PART 8

/**
 * struct search - a plan that is to be improved
 * @accepted: the request; its descriptor is a memfd with the graph and the options
 * @bytes: of that
 * @key: of what is kept
 */
struct search {
	struct accepted accepted;
	uint64_t bytes;
	struct plancache_key key;
};

/*
 * struct searches - all zero: none
 * @waiting: @count of them, the first one is the next, or runs
 * @bytes: that they have together
 * @running: the first one runs, and gives its place to nobody
 */
struct searches {
	struct search waiting[SEARCHES_MAX];
	size_t count;
	uint64_t bytes;
	bool running;
};

/* Bytes that one may have at most, where daemon and workers may have @memory bytes together. */
uint64_t searches_most(uint64_t memory);

/* Whether what is kept by this key is to be improved already. */
bool searches_have(const struct searches *searches, const struct plancache_key *key);

/*
 * Whether there is room for a search, for which users give some of theirs. Who has the most gives
 * his last one, but for one that runs, as long as he has more than the search's user would then
 * have: of bytes, as long as these lack, else of places. If there is no room, nobody has given any.
 * @memory: bytes that daemon and workers may have together
 */
bool searches_make_room(struct searches *searches, const struct search *search, uint64_t memory);

/* Puts a search, for which there is a place, behind all others, and takes its descriptor over. */
void searches_add(struct searches *searches, const struct search *search);

/* Drops the one at @i, and closes its descriptor. */
void searches_drop(struct searches *searches, size_t i);

/* The first has its turn: what else its user waits for comes behind what all others wait for. */
void searches_take_turn(struct searches *searches);
