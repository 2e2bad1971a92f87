/* SPDX-License-Identifier: MIT */
/*
 * Plans that were made before, kept in a folder, a file each. npumemd and npumemctl use it.
 *
 * A file's name is the SHA-256 of all that a plan is made from: the graph's bytes, planner,
 * objective, budget and options of the request, and the version of npumem. Nothing that a file
 * says is believed: a digest over all of it finds what power loss, a full disk or a bad
 * block did, and who uses the plan has it verified like any other. A file is flushed to the disk
 * before it takes its name, so that loss of power leaves the plan before, or the new one; who may
 * not wait for the disk (plancache_hurry()) may lose both, and makes a plan again.
 *
 * The folder is bounded. Where there is no room, the owner who has the most gives some: what of his
 * was used longest ago goes first, so nobody can push out more of another one's plans than brings
 * both to the same. They go when the new plan is there: until then the folder may have more than
 * its limit, by that one plan for each program that writes one. The order is kept in the files'
 * times of modification, but never goes back, whatever becomes of the clock. Where a disk keeps
 * whole seconds, the order of what was used within one is known to the process that used it alone.
 * Several programs may use one folder at a time. Files in it that have other names are left alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLANCACHE_KEY_SIZE  32
#define PLANCACHE_TEXT_SIZE 256
#define PLANCACHE_HISTORY   8
#define PLANCACHE_NOBODY    UINT32_MAX
#define PLANCACHE_NO_LIMIT  UINT64_MAX

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

/** enum plancache_maker - what a plan was made for */
enum plancache_maker {
	PLANCACHE_BY_UNKNOWN,
	PLANCACHE_BY_ANSWER, /* a request, which waited for it */
	PLANCACHE_BY_SEARCH, /* the next request, by a search when nothing else was to be done */
	PLANCACHE_BY_WARM,   /* requests to come, by npumemctl cache warm */
	PLANCACHE_MAKERS,
};

/**
 * struct plancache_past - a plan that an entry has or had, for people
 * @made_ns: when, by the clock of then, nanoseconds since 1970
 * @cost: as of struct plancache_entry
 * @took_us: how long planning took, microseconds; npumemd counts a processor's time
 * @maker: enum plancache_maker
 * @pad: 0
 */
struct plancache_past {
	int64_t made_ns;
	uint64_t cost;
	uint64_t took_us;
	uint32_t maker;
	uint32_t pad;
};

/* Of a plan whose maker does not know how good it is: any other is better. */
#define PLANCACHE_COST_UNKNOWN UINT64_MAX
/* Planning could take as long as it liked. */
#define PLANCACHE_NO_DEADLINE  UINT64_MAX

/*
 * struct plancache_entry - a plan, and what is known of it
 * @planner, @objective, @arena_budget, @graph_size: of the request it answers
 * @version: of the npumem that made it
 * @cost: what the objective counts, in bytes: the less the better; or PLANCACHE_COST_UNKNOWN
 * @given_us: how long planning could have taken, microseconds; or PLANCACHE_NO_DEADLINE
 * @final: more time would not have made a better one
 * @owner: whose it counts as, a user's number; PLANCACHE_NOBODY: it is not known
 * @text: one line about the plan, for people
 * @past: the last plans of this request, @past_count of them, and this one behind them. Nobody
 *	decides anything by it, and where it was damaged there is none
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
	uint32_t past_count;
	struct plancache_past past[PLANCACHE_HISTORY];
	void *data;
	size_t size;
	size_t head;
};

struct plancache;

void plancache_key(const struct plancache_request *request, struct plancache_key *key);
/* What of an entry the request says. */
void plancache_entry_init(struct plancache_entry *entry, const struct plancache_request *request);

/*
 * plancache_entry_made() - write down that an entry's plan was made now
 * @entry: whose cost is known
 * @before: the entry in whose place it comes; NULL if there is none
 * @took_us: how long planning took
 */
void plancache_entry_made(struct plancache_entry *entry, const struct plancache_entry *before,
			  enum plancache_maker maker, uint64_t took_us);

/*
 * plancache_open() - use a folder, which is made if only it is missing
 * @limit: most bytes of all files together, in blocks of 4 KiB; above 0. PLANCACHE_NO_LIMIT: no
 *	plan goes for another, not on a full disk either
 *
 * Returns 0, -ENOMEM, or the errno of making or opening the folder.
 */
int plancache_open(const char *folder, uint64_t limit, struct plancache **cache);
/* The same for who only looks: no folder is made, and any plan is read, however large. */
int plancache_open_existing(const char *folder, struct plancache **cache);
/*
 * Have plancache_put() wait for no disk from now on: for who has others to answer meanwhile. Where
 * a folder has much more than its limit, which was lowered, say, each plan then lets
 * PLANCACHE_HURRY others go, or twice its bytes, if that is more, until the limit is reached.
 * Whose plans are is learned as slowly, after a start, of those used longest ago first.
 */
#define PLANCACHE_HURRY 256
void plancache_hurry(struct plancache *cache);
/* NULL is fine. */
void plancache_close(struct plancache *cache);
/* Whether it is open for this limit, and on what the path names now: it may be another folder. */
bool plancache_is_of(const struct plancache *cache, const char *folder, uint64_t limit);

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
 * Others see all of it or nothing, and when this returns 0 it is on the disk, for which the caller
 * waits, unless it hurries. A folder that was removed is made again. Where the disk is full, of
 * blocks or of files, or the user's quota on it used up, those plans go that would go first at the
 * limit, if there is one, and if the filesystem says that this one will fit then; else none goes.
 * Returns 0; -EFBIG: it is larger than all of the cache may be, or than any plan is; -EAGAIN:
 * others took each file that was begun for one whose writer was killed; -ENOMEM; or the errno of
 * writing it. On failure the one before is still there.
 */
int plancache_put(struct plancache *cache, const struct plancache_key *key,
		  const struct plancache_entry *entry);

/* Whether plancache_put() has let plans go because the disk was full. */
bool plancache_was_full(const struct plancache *cache);

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
