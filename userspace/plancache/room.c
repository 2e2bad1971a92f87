// SPDX-License-Identifier: MIT
/* Which plans go where there is no room, by the cache's limit or on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cache.h"

/**
 * struct share - what an owner has
 * @next: in struct holding.held: of those that do not go, the one used longest ago
 * @end: in the same: behind the last of his
 * @bytes: of these, with the newcomer's
 */
struct share {
	size_t next;
	size_t end;
	uint64_t bytes;
};

/*
 * struct holding - all files whose owners are known, but the newcomer's
 * @held: @count of them, by owner, the one used longest ago first
 * @shares: of owners with files that do not go, a heap: who gives first is at its top
 * @owners: of @shares
 */
struct holding {
	struct plancache_held *held;
	size_t count;
	struct share *shares;
	size_t owners;
};

static int by_owner(const void *a, const void *b)
{
	const struct plancache_held *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	/* Of an owner's that which was used longest ago comes first. */
	return plancache_held_by_use(y, x);
}

/* Who has the most gives first; of those who have as much, the one whose file was used before. */
static bool gives_before(const struct holding *holding, const struct share *a,
			 const struct share *b)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes;
	return plancache_held_by_use(&holding->held[a->next], &holding->held[b->next]) > 0;
}

/* Put a share of the heap where it belongs among those below it. */
static void sift_down(struct holding *holding, size_t at)
{
	struct share *shares = holding->shares, moved = shares[at];

	for (size_t child; (child = 2 * at + 1) < holding->owners; at = child) {
		if (child + 1 < holding->owners &&
		    gives_before(holding, &shares[child + 1], &shares[child]))
			child++;
		if (!gives_before(holding, &shares[child], &moved))
			break;
		shares[at] = shares[child];
	}
	shares[at] = moved;
}

/* What is in the folder is known. Those whose owner is not, yet, are left out. */
static int find_owners(struct plancache *cache, const struct plancache_newcomer *newcomer,
		       struct holding *holding)
{
	const struct plancache_index *index = &cache->index;
	struct plancache_held *held = calloc(index->count + 1, sizeof(*held));
	struct share *share = NULL;

	*holding = (struct holding){
		.held = held,
		.shares = calloc(index->count + 1, sizeof(*holding->shares)),
	};
	if (!held || !holding->shares)
		return -ENOMEM;
	if (plancache_index_owners(cache, newcomer->bytes))
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++)
		if (index->held[i].has_owner &&
		    memcmp(&index->held[i].file.key, newcomer->key, sizeof(*newcomer->key)) != 0)
			held[holding->count++] = index->held[i];
	qsort(held, holding->count, sizeof(*held), by_owner);
	for (size_t i = 0; i < holding->count; i++) {
		if (!i || held[i].owner != held[i - 1].owner) {
			share = &holding->shares[holding->owners++];
			share->next = i;
			share->bytes = held[i].owner == newcomer->owner ? newcomer->bytes : 0;
		}
		share->end = i + 1;
		share->bytes += held[i].file.bytes;
	}
	for (size_t i = holding->owners / 2; i; i--)
		sift_down(holding, i - 1);
	return 0;
}

static void free_holding(struct holding *holding)
{
	free(holding->held);
	free(holding->shares);
}

/*
 * Say that one more goes: of the owner who has the most, that which was used longest ago. NULL: all
 * go already.
 */
static const struct plancache_file *choose(struct holding *holding)
{
	struct share *first = holding->shares;
	const struct plancache_file *file;

	if (!holding->owners)
		return NULL;
	file = &holding->held[first->next++].file;
	first->bytes -= file->bytes;
	if (first->next == first->end)
		*first = holding->shares[--holding->owners];
	if (holding->owners)
		sift_down(holding, 0);
	return file;
}

void plancache_keep_to_limit(struct plancache *cache, const struct plancache_newcomer *newcomer)
{
	size_t most = cache->hurries ? PLANCACHE_HURRY : SIZE_MAX;
	const struct plancache_file *next;
	struct holding holding;
	uint64_t total, gone = 0;
	int err;

	if (plancache_index_look(cache))
		return;
	total = cache->index.total;
	if (total <= cache->limit)
		return;
	err = find_owners(cache, newcomer, &holding);
	for (size_t i = 0; !err && total - gone > cache->limit; i++) {
		if (i >= most && gone >= 2 * newcomer->bytes)
			break;
		next = choose(&holding);
		if (!next)
			break;
		plancache_drop(cache, &next->key);
		gone += next->bytes;
	}
	free_holding(&holding);
}

/**
 * struct wanting - what a full disk has not got for a file
 * @bytes: of blocks
 * @files: inodes
 * @of_user: a quota is used up, which says nothing of itself: only what this user's files give back
 *	is sure to help
 */
struct wanting {
	uint64_t bytes;
	uint64_t files;
	bool of_user;
};

static int find_wanting(const struct plancache *cache, size_t size, int full,
			struct wanting *wanting)
{
	struct statvfs disk;
	uint64_t room;

	if (fstatvfs(cache->dir, &disk))
		return -errno;
	if (!disk.f_frsize)
		return -EIO;
	/* A block for what filesystems write beside the data. */
	wanting->bytes = ((size + disk.f_frsize - 1) / disk.f_frsize + 1) * disk.f_frsize;
	wanting->of_user = full == -EDQUOT;
	if (wanting->of_user) {
		wanting->files = 1;
		return 0;
	}
	room = disk.f_bavail * disk.f_frsize;
	wanting->bytes = wanting->bytes > room ? wanting->bytes - room : 0;
	/* Filesystems that have as many as they like say that they have none at all. */
	wanting->files = disk.f_files && !disk.f_favail;
	return 0;
}

/* What the disk has again when a file is removed is wanted no more; one with other names stays. */
static void give_back(const struct plancache *cache, const struct plancache_key *key,
		      struct wanting *wanting)
{
	struct stat stat;
	file_name name;
	uint64_t bytes;

	plancache_name_of(key, name);
	if (fstatat(cache->dir, name, &stat, AT_SYMLINK_NOFOLLOW) || stat.st_nlink != 1 ||
	    (wanting->of_user && stat.st_uid != geteuid()))
		return;
	bytes = (uint64_t)stat.st_blocks * 512;
	wanting->bytes -= bytes < wanting->bytes ? bytes : wanting->bytes;
	wanting->files -= !!wanting->files;
}

bool plancache_make_room(struct plancache *cache, const struct plancache_newcomer *newcomer,
			 size_t size, int full)
{
	struct holding holding = { 0 };
	const struct plancache_file **chosen = NULL, *next;
	struct wanting wanting = { 0 };
	size_t count = 0;
	bool fits = false;

	/* What others did not finish, and what inotify does not tell, may be all that is needed. */
	plancache_index_forget(cache);
	if (plancache_index_look(cache) || find_owners(cache, newcomer, &holding) ||
	    find_wanting(cache, size, full, &wanting))
		goto out;
	chosen = calloc(holding.count + 1, sizeof(*chosen));
	if (!chosen)
		goto out;
	/* Of a folder without a limit nobody has said that any may go. */
	while (cache->limit != PLANCACHE_NO_LIMIT && (wanting.bytes || wanting.files) &&
	       (next = choose(&holding))) {
		give_back(cache, &next->key, &wanting);
		chosen[count++] = next;
	}
	fits = !wanting.bytes && !wanting.files;
	for (size_t i = 0; fits && i < count; i++)
		plancache_drop(cache, &chosen[i]->key);
	cache->was_full |= fits && count;
out:
	free(chosen);
	free_holding(&holding);
	return fits;
}
