/* SPDX-License-Identifier: MIT */
/*
 * Plans that were made before, kept in a folder, a file each. npumemd and npumemctl use it.
 *
 * A file's name is the SHA-256 of all that a plan is made from: the graph's bytes, planner,
 * objective, budget and options of the request, and the version of npumem. Nothing that a file
 * says is believed: a digest over all of it finds what power loss, a full disk or a bad
 * block did, and who uses the plan has it verified like any other. So files are not flushed to
 * the disk: one that was lost is a plan to be made again.
 *
 * The folder is bounded. Where there is no room, the owner who has the most gives some: what of his
 * was used longest ago goes first, so nobody can push out more of another one's plans than brings
 * both to the same. The order is kept in the files' times of modification, but never goes back,
 * whatever becomes of the clock. Several programs may use one folder at a time. Files in it that
 * have other names are left alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLANCACHE_KEY_SIZE  32
#define PLANCACHE_TEXT_SIZE 256
#define PLANCACHE_NOBODY    UINT32_MAX

/*
 * struct plancache_request - all that a plan is made from
 * @graph, @graph_size: the graph as the client gave it
 * @options, @options_size: of the request (npumem_options.h); 0 bytes = none
 * @planner: its name, never empty
 * @objective: enum drm_npumem_objective
 * @arena_budget: bytes, 0 = any
 * @arena_limit: bytes that a plan has to keep to though nobody asks for it, 0 = any
 * @cut: the plan may be of another graph
 */
struct plancache_request {
	const void *graph;
	size_t graph_size;
	const void *options;
	size_t options_size;
	const char *planner;
	uint32_t objective;
	uint64_t arena_budget;
	uint64_t arena_limit;
	bool cut;
};

struct plancache_key {
	uint8_t bytes[PLANCACHE_KEY_SIZE];
};

/*
 * struct plancache_entry - a plan, and what is known of it
 * @planner, @objective, @arena_budget, @graph_size: of the request it answers
 * @version: of the npumem that made it
 * @cost: what the objective counts, in bytes: the less the better
 * @given_us: how long planning could have taken, microseconds; 0 = as long as it liked
 * @final: more time would not have made a better one
 * @owner: whose it counts as, a user's number; PLANCACHE_NOBODY: it is not known
 * @text: one line about the plan, for people
 * @data: what the request is answered with
 * @size: bytes of @data
 * @head: of these, the graph that stands before the plan; 0 = none
 */
struct plancache_entry {
	char planner[32];
	uint32_t objective;
	uint64_t arena_budget;
	uint64_t graph_size;
	char version[32];
	uint64_t cost;
	uint64_t given_us;
	bool final;
	uint32_t owner;
	char text[PLANCACHE_TEXT_SIZE];
	void *data;
	size_t size;
	size_t head;
};

struct plancache;

void plancache_key(const struct plancache_request *request, struct plancache_key *key);
/* What of an entry the request says. */
void plancache_entry_init(struct plancache_entry *entry, const struct plancache_request *request);

/*
 * plancache_open() - use a folder, which is made if only it is missing
 * @limit: most bytes of all files together, in blocks of 4 KiB; above 0
 *
 * Returns 0, -ENOMEM, or the errno of making or opening the folder.
 */
int plancache_open(const char *folder, uint64_t limit, struct plancache **cache);
/* The same for who only looks: no folder is made, and a file of any size is read. */
int plancache_open_existing(const char *folder, struct plancache **cache);
/* NULL is fine. */
void plancache_close(struct plancache *cache);

/*
 * plancache_get() - the plan of a request
 * @entry: out: @entry->data is to be freed by the caller; nothing on failure
 *
 * Returns 0; -ENOENT: there is none; -EBADMSG: there was one, which was damaged and is gone;
 * -ENOMEM or the errno of reading it.
 */
int plancache_get(struct plancache *cache, const struct plancache_key *key,
		  struct plancache_entry *entry);

/*
 * plancache_peek() - the same for who only looks: nothing is used now, and nothing removed
 */
int plancache_peek(struct plancache *cache, const struct plancache_key *key,
		   struct plancache_entry *entry);

/*
 * plancache_put() - keep a plan, in place of one with the same key
 *
 * Others see all of it or nothing. A folder that was removed is made again. Returns 0; -EFBIG: it
 * is larger than all of the cache may be; -ENOMEM; or the errno of writing it, and then the one
 * before is still there.
 */
int plancache_put(struct plancache *cache, const struct plancache_key *key,
		  const struct plancache_entry *entry);

/* Forget a plan. 0, -ENOENT, or the errno of removing it. */
int plancache_drop(struct plancache *cache, const struct plancache_key *key);

/**
 * struct plancache_file - a file of the folder, for lists
 * @key: of its plan
 * @bytes: that it counts
 * @used_ns: when it was used last, by the clock of then, nanoseconds since 1970
 */
struct plancache_file {
	struct plancache_key key;
	uint64_t bytes;
	int64_t used_ns;
};

/*
 * plancache_list() - all files, the one used last first
 * @files: out: to be freed by the caller; NULL if there are none
 */
int plancache_list(struct plancache *cache, struct plancache_file **files, size_t *count);

/* The key in hexadecimal digits. */
#define PLANCACHE_NAME_SIZE (2 * PLANCACHE_KEY_SIZE + 1)
void plancache_key_name(const struct plancache_key *key, char name[PLANCACHE_NAME_SIZE]);
