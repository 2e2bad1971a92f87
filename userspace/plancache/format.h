/* SPDX-License-Identifier: MIT */
/* A file of the cache: a header, and what the request is answered with. */
#pragma once

#include "plancache.h"

#define PLANCACHE_MAGIC	 0x32686361636e706eull
#define PLANCACHE_DIGEST 32

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

/* What is to be written before the entry's data. */
void plancache_encode(const struct plancache_key *key, const struct plancache_entry *entry,
		      struct plancache_header *header);

/* Write the digest, as the header and its data are now. */
void plancache_seal(struct plancache_header *header, const void *data);

/*
 * plancache_decode() - what a file says, if it is whole and of that key
 * @file: all of it
 * @entry: out: all but the data
 *
 * Returns 0 or -EBADMSG.
 */
int plancache_decode(const struct plancache_key *key, const void *file, size_t size,
		     struct plancache_entry *entry);
