// SPDX-License-Identifier: MIT
#include "format.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert(PLANCACHE_KEY_SIZE == SHA256_DIGEST_SIZE, "a key is a SHA-256");
_Static_assert(PLANCACHE_DIGEST == SHA256_DIGEST_SIZE, "a digest is a SHA-256");
_Static_assert(sizeof(struct plancache_header) % 8 == 0, "the data is aligned");
_Static_assert(sizeof(struct plancache_past) == 32, "all of it is hashed, so it has no gaps");

#define BILLION 1000000000ll

/* Bytes with their length before them, so that what follows cannot be taken for a part of them. */
static void add(struct sha256_ctx *hash, const void *data, size_t size)
{
	uint64_t length = size;

	sha256_update(hash, sizeof(length), (const uint8_t *)&length);
	if (size)
		sha256_update(hash, size, data);
}

static void add_text(struct sha256_ctx *hash, const char *text)
{
	add(hash, text, strlen(text));
}

void plancache_key(const struct plancache_request *request, struct plancache_key *key)
{
	const uint64_t numbers[] = { request->objective, request->arena_budget, request->cut,
				     request->arena_limit };
	struct sha256_ctx hash;

	sha256_init(&hash);
	add_text(&hash, "npumem plan " NPUMEM_PACKAGE_VERSION);
	add_text(&hash, request->planner);
	add(&hash, numbers, sizeof(numbers));
	add(&hash, request->options, request->options_size);
	add(&hash, request->graph, request->graph_size);
	sha256_digest(&hash, sizeof(key->bytes), key->bytes);
}

void plancache_key_name(const struct plancache_key *key, char name[PLANCACHE_NAME_SIZE])
{
	for (size_t i = 0; i < sizeof(key->bytes); i++)
		snprintf(name + 2 * i, 3, "%02x", key->bytes[i]);
}

void plancache_entry_init(struct plancache_entry *entry, const struct plancache_request *request)
{
	*entry = (struct plancache_entry){
		.objective = request->objective,
		.arena_budget = request->arena_budget,
		.graph_size = request->graph_size,
		.version = NPUMEM_PACKAGE_VERSION,
		.owner = PLANCACHE_NOBODY,
	};
	snprintf(entry->planner, sizeof(entry->planner), "%s", request->planner);
}

void plancache_entry_made(struct plancache_entry *entry, const struct plancache_entry *before,
			  enum plancache_maker maker, uint64_t took_us)
{
	uint32_t kept = before ? before->past_count : 0, gone = kept == PLANCACHE_HISTORY;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	kept -= gone;
	if (kept)
		memcpy(entry->past, before->past + gone, kept * sizeof(entry->past[0]));
	entry->past[kept] = (struct plancache_past){
		.made_ns = now.tv_sec * BILLION + now.tv_nsec,
		.cost = entry->cost,
		.took_us = took_us,
		.maker = maker,
	};
	entry->past_count = kept + 1;
}

static void digest_of(const struct plancache_header *header, const void *data,
		      uint8_t digest[PLANCACHE_DIGEST])
{
	struct plancache_header blank = *header;
	struct sha256_ctx hash;

	memset(blank.digest, 0, sizeof(blank.digest));
	sha256_init(&hash);
	sha256_update(&hash, sizeof(blank), (const uint8_t *)&blank);
	sha256_update(&hash, header->size, data);
	sha256_digest(&hash, PLANCACHE_DIGEST, digest);
}

void plancache_seal(struct plancache_header *header, const void *data)
{
	digest_of(header, data, header->digest);
}

static void digest_of_history(const struct plancache_header *header,
			      const struct plancache_history *history,
			      uint8_t digest[PLANCACHE_DIGEST])
{
	struct plancache_history blank = *history;
	struct sha256_ctx hash;

	memset(blank.digest, 0, sizeof(blank.digest));
	sha256_init(&hash);
	/* That of another plan is none of this one. */
	sha256_update(&hash, sizeof(header->digest), header->digest);
	sha256_update(&hash, sizeof(blank), (const uint8_t *)&blank);
	sha256_digest(&hash, PLANCACHE_DIGEST, digest);
}

void plancache_seal_history(const struct plancache_header *header,
			    struct plancache_history *history)
{
	digest_of_history(header, history, history->digest);
}

size_t plancache_encode_history(const struct plancache_header *header,
				const struct plancache_entry *entry,
				struct plancache_history *history)
{
	if (!entry->past_count)
		return 0;
	memset(history, 0, sizeof(*history));
	history->count = entry->past_count;
	memcpy(history->past, entry->past, entry->past_count * sizeof(entry->past[0]));
	plancache_seal_history(header, history);
	return sizeof(*history);
}

void plancache_encode(const struct plancache_key *key, const struct plancache_entry *entry,
		      struct plancache_header *header)
{
	/* All of it is hashed and written, what follows the texts as well. */
	memset(header, 0, sizeof(*header));
	header->magic = PLANCACHE_MAGIC;
	header->arena_budget = entry->arena_budget;
	header->graph_size = entry->graph_size;
	header->cost = entry->cost;
	header->given_us = entry->given_us;
	header->size = entry->size;
	header->head = entry->head;
	header->objective = entry->objective;
	header->final = entry->final;
	header->owner = entry->owner;
	memcpy(header->key, key->bytes, sizeof(header->key));
	snprintf(header->version, sizeof(header->version), "%s", entry->version);
	snprintf(header->planner, sizeof(header->planner), "%s", entry->planner);
	snprintf(header->text, sizeof(header->text), "%s", entry->text);
	plancache_seal(header, entry->data);
}

bool plancache_is_header(const struct plancache_header *header)
{
	return header->magic == PLANCACHE_MAGIC || header->magic == PLANCACHE_MAGIC_2;
}

bool plancache_is_sound(const struct plancache_header *header, const struct plancache_key *key,
			size_t size)
{
	size_t behind = size - sizeof(*header);

	/* What is larger answers no request, and is not read at all. */
	if (!plancache_is_header(header) || header->size > behind || header->size > PLANCACHE_MOST)
		return false;
	behind -= header->size;
	return behind <=
		       (header->magic == PLANCACHE_MAGIC ? sizeof(struct plancache_history) : 0) &&
	       !memcmp(header->key, key->bytes, sizeof(header->key)) && header->size &&
	       header->head < header->size && !(header->head % 8) && header->final <= 1 &&
	       !header->version[sizeof(header->version) - 1] &&
	       !header->planner[sizeof(header->planner) - 1] &&
	       !header->text[sizeof(header->text) - 1];
}

/* What stands behind the data, if all of it is there and makes sense. */
static void decode_history(const struct plancache_header *header, const void *behind, size_t size,
			   struct plancache_entry *entry)
{
	struct plancache_history history;
	uint8_t digest[PLANCACHE_DIGEST];

	if (size != sizeof(history))
		return;
	memcpy(&history, behind, sizeof(history));
	digest_of_history(header, &history, digest);
	if (memcmp(digest, history.digest, sizeof(digest)) != 0 ||
	    history.count > PLANCACHE_HISTORY)
		return;
	for (uint32_t i = 0; i < history.count; i++)
		if (history.past[i].maker >= PLANCACHE_MAKERS)
			return;
	entry->past_count = history.count;
	memcpy(entry->past, history.past, history.count * sizeof(entry->past[0]));
}

int plancache_decode(const struct plancache_key *key, const void *file, size_t size,
		     struct plancache_entry *entry)
{
	struct plancache_header header;
	uint8_t digest[PLANCACHE_DIGEST];

	if (size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, file, sizeof(header));
	/* A digest is right for bytes that this program wrote, and for those of who can hash. */
	if (!plancache_is_sound(&header, key, size))
		return -EBADMSG;
	digest_of(&header, (const char *)file + sizeof(header), digest);
	if (memcmp(digest, header.digest, sizeof(digest)) != 0)
		return -EBADMSG;
	*entry = (struct plancache_entry){
		.objective = header.objective,
		.arena_budget = header.arena_budget,
		.graph_size = header.graph_size,
		.cost = header.cost,
		.given_us = header.given_us,
		.final = header.final,
		.owner = header.owner,
		.size = header.size,
		.head = header.head,
	};
	memcpy(entry->planner, header.planner, sizeof(entry->planner));
	memcpy(entry->version, header.version, sizeof(entry->version));
	memcpy(entry->text, header.text, sizeof(entry->text));
	size -= sizeof(header) + header.size;
	decode_history(&header, (const char *)file + sizeof(header) + header.size, size, entry);
	return 0;
}
