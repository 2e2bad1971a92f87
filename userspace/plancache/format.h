/* SPDX-License-Identifier: MIT */
/* A file of the cache: a header, what the request is answered with, and what was before. */
#pragma once

#include "npumem_graph.h"
#include "plancache.h"

#define PLANCACHE_MAGIC	  0x33686361636e706eull /* version 3 */
/* Version 2 is the same without history. It is read, and written no more. */
#define PLANCACHE_MAGIC_2 0x32686361636e706eull
#define PLANCACHE_DIGEST  32
/* Bytes that a request is answered with, at most: a graph and a plan. */
#define PLANCACHE_MOST	  (2 * NPUMEM_BLOB_MAX_BYTES)

/*
 * struct plancache_header - the first bytes of a file
 *
 * Numbers have this machine's byte order: with another one the magic is none.
 * @digest: SHA-256 of the header with zeros here, and of the data
 */
struct plancache_header {
	uint64_t magic;
	uint8_t key[PLANCACHE_KEY_SIZE];
	char version[32];
	char planner[32];
	uint64_t arena_budget;
	uint64_t graph_size;
	uint64_t cost;
	uint64_t given_us;
	uint64_t size;
	uint64_t head;
	uint32_t objective;
	uint32_t final;
	uint32_t owner;
	uint32_t pad;
	char text[PLANCACHE_TEXT_SIZE];
	uint8_t digest[PLANCACHE_DIGEST];
};

/*
 * struct plancache_history - what may follow the data in a file of version 3
 *
 * It has a digest of its own: if it is damaged, the plan is as good as before.
 * @digest: SHA-256 of the header's digest, and of this with zeros here
 */
struct plancache_history {
	uint32_t count;
	uint32_t pad;
	struct plancache_past past[PLANCACHE_HISTORY];
	uint8_t digest[PLANCACHE_DIGEST];
};

/* What is to be written before the entry's data. */
void plancache_encode(const struct plancache_key *key, const struct plancache_entry *entry,
		      struct plancache_header *header);

/*
 * What is to be written behind the entry's data, whose header is sealed. Returns its bytes: none if
 * nothing is known of any plan.
 */
size_t plancache_encode_history(const struct plancache_header *header,
				const struct plancache_entry *entry,
				struct plancache_history *history);

/* Write the digest, as the header and its data are now; and that of the history behind them. */
void plancache_seal(struct plancache_header *header, const void *data);
void plancache_seal_history(const struct plancache_header *header,
			    struct plancache_history *history);

/* Whether it is the beginning of a file of the cache, of a version that is read. */
bool plancache_is_header(const struct plancache_header *header);

/*
 * plancache_is_sound() - whether a header makes sense for a plan of that key, but for its digest
 * @size: bytes of the file: neither more nor less than it says
 */
bool plancache_is_sound(const struct plancache_header *header, const struct plancache_key *key,
			size_t size);

/*
 * plancache_decode() - what a file says, if it is whole and of that key
 * @file: all of it
 * @entry: out: all but the data
 *
 * Returns 0 or -EBADMSG.
 */
int plancache_decode(const struct plancache_key *key, const void *file, size_t size,
		     struct plancache_entry *entry);
