/* SPDX-License-Identifier: MIT */
/*
 * What the parts of an open cache share: plancache.c has the folder and its files, index.c knows
 * what is in it, and room.c lets plans go.
 */
#pragma once

#include "plancache.h"

#define SUFFIX ".plan"
#define BLOCK  4096ull

typedef char file_name[PLANCACHE_NAME_SIZE + sizeof(SUFFIX)];

/**
 * struct plancache_held - a file, and whose it is
 * @file: the file
 * @owner: as its header says
 * @has_owner: that is known: a file is opened only to learn it
 * @turn: of files with the same time, the one with the greatest was used last; 0: before those that
 *	this process has used
 */
struct plancache_held {
	struct plancache_file file;
	uint32_t owner;
	bool has_owner;
	uint64_t turn;
};

/*
 * struct plancache_index - all files of a folder, for who puts plans into it
 * @held: @count of them, by key
 * @total: bytes that they count
 * @turns: the last one that was given
 * @known: it is what was there when the folder was looked at last
 * @watch: inotify's descriptor, by which changes are followed; -1: they cannot be
 * @looked_ns: when all files were looked at, CLOCK_MONOTONIC nanoseconds
 */
struct plancache_index {
	struct plancache_held *held;
	size_t count;
	uint64_t total;
	uint64_t turns;
	bool known;
	int watch;
	int64_t looked_ns;
};

/**
 * struct plancache_steps - steps by which times go on while the clock is behind them
 * @ns: the least one that the disk keeps, nanoseconds, as far as is known
 * @left_ns: so much longer may steps be in all
 * @given_ns: when that was given, CLOCK_MONOTONIC nanoseconds
 */
struct plancache_steps {
	int64_t ns;
	int64_t left_ns;
	int64_t given_ns;
};

/**
 * struct plancache - an open folder
 * @folder: its path
 * @dir: descriptor of it
 * @limit: bytes that all files together may count
 * @newest: time of modification of the file that was used last, by this process or, as far as it
 *	has seen, another one, nanoseconds
 * @steps: from that to the next
 * @made: files that this process has begun to write
 * @writes: whether plans are put into it: who only looks removes nothing
 * @hurries: nobody waits for the disk
 * @was_full: plans have gone for want of room on the disk
 * @index: of who puts plans into it
 */
struct plancache {
	char *folder;
	int dir;
	uint64_t limit;
	int64_t newest;
	struct plancache_steps steps;
	unsigned int made;
	bool writes;
	bool hurries;
	bool was_full;
	struct plancache_index index;
};

/* What a file of so many bytes counts. */
static inline uint64_t plancache_blocks(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

/* What is used from now on is used later than a file that was used then, perhaps by others. */
static inline void plancache_seen(struct plancache *cache, int64_t used_ns)
{
	if (used_ns > cache->newest)
		cache->newest = used_ns;
}

/* ---------------------------------------------------------------- plancache.c */

void plancache_name_of(const struct plancache_key *key, file_name name);
/* Whether a name is that of a plan's file, and of which. */
bool plancache_key_of(const char *name, struct plancache_key *key);

/*
 * What a file of the folder is; false: none of the cache's. One that its writer did not finish
 * goes, if the cache writes.
 */
bool plancache_look_at(const struct plancache *cache, const char *name,
		       struct plancache_file *file);

/* The file of a plan, or a negative errno. */
int plancache_open_file(const struct plancache *cache, const struct plancache_key *key);
int plancache_read_all(int fd, void *data, size_t size);

/* Order of struct plancache_file: the one used last comes first. */
int plancache_by_use(const void *a, const void *b);

/* -------------------------------------------------------------------- index.c */

/*
 * plancache_index_look() - know what is in the folder now
 *
 * What this process does to it is known by the calls below, what others do by inotify. All files
 * are looked at where that cannot be, and now and then in any case: folders of other machines say
 * nothing. Returns 0, -ENOMEM or the errno of reading the folder.
 */
int plancache_index_look(struct plancache *cache);
/* Look at all files the next time. */
void plancache_index_forget(struct plancache *cache);
void plancache_index_fini(struct plancache *cache);

/*
 * A plan was put, used, or has gone; its file has this time then. Of a folder that nobody has
 * looked at nothing need be told.
 */
void plancache_index_add(struct plancache *cache, const struct plancache_key *key, uint64_t bytes,
			 uint32_t owner, int64_t used_ns);
void plancache_index_used(struct plancache *cache, const struct plancache_key *key,
			  int64_t used_ns);
void plancache_index_remove(struct plancache *cache, const struct plancache_key *key);

/* Order of what is known: as plancache_by_use(), but of files with the same time by their turns. */
int plancache_held_by_use(const struct plancache_held *a, const struct plancache_held *b);

/*
 * plancache_index_owners() - learn of files whose they are
 * @bytes: what a newcomer counts
 *
 * That is a file to open for each, which takes a card of 64 MiB of small plans half a minute. Who
 * hurries learns it of those used longest ago, of twice as many as a newcomer lets go, or of as
 * many bytes, and of the next ones with the next newcomer; the others do not go before, and count
 * for nobody: for some plans after a start others may give than who has the most. Returns 0 or
 * -ENOMEM.
 */
int plancache_index_owners(struct plancache *cache, uint64_t bytes);

/* --------------------------------------------------------------------- room.c */

/**
 * struct plancache_newcomer - a plan that is being written, or was
 * @key: what has it already is not asked to go, and does not count
 * @owner: whose it counts as
 * @bytes: that it counts
 */
struct plancache_newcomer {
	const struct plancache_key *key;
	uint32_t owner;
	uint64_t bytes;
};

/*
 * plancache_keep_to_limit() - the plan is there: others go until all are within the limit
 *
 * Who cannot do that leaves it to the next one who writes. Who hurries leaves what is more than so
 * many files and twice what the plan has brought: so there is never more than before, and soon no
 * more than the limit.
 */
void plancache_keep_to_limit(struct plancache *cache, const struct plancache_newcomer *newcomer);

/*
 * plancache_make_room() - make room on a full disk
 * @size: bytes of the file
 * @full: errno, negative, that says that the disk is full
 *
 * Those who would go first at the limit, if there is one, go now, if the file is sure to fit then,
 * as far as the filesystem knows. False: it is not, and all are still there. Files of writers who
 * were killed go in any case, which may be enough.
 */
bool plancache_make_room(struct plancache *cache, const struct plancache_newcomer *newcomer,
			 size_t size, int full);
