// SPDX-License-Identifier: MIT
/*
 * What is in the folder. To look at all files takes tens of milliseconds where there are thousands,
 * and those who put plans into a folder have others to answer meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../grow/grow.h"
#include "../monotonic/monotonic.h"
#include "cache.h"
#include "format.h"

/* Looked at in any case after so long; nanoseconds. */
#define LOOK_NS (600 * 1000000000ll)
/* That a file was used is told by this process alone: to follow it would fill inotify's queue. */
#define CHANGES (IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)

static int compare(const struct plancache_key *a, const struct plancache_key *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static int by_key(const void *a, const void *b)
{
	const struct plancache_held *x = a, *y = b;

	return compare(&x->file.key, &y->file.key);
}

/* Where a file is, or would be. */
static size_t place_of(const struct plancache_index *index, const struct plancache_key *key)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&index->held[middle].file.key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct plancache_held *find(const struct plancache_index *index,
				   const struct plancache_key *key)
{
	size_t at = place_of(index, key);

	if (at == index->count || compare(&index->held[at].file.key, key) != 0)
		return NULL;
	return &index->held[at];
}

/* Without memory for it all files are looked at the next time. */
static void set(struct plancache_index *index, const struct plancache_held *held)
{
	struct plancache_held *there = find(index, &held->file.key), *grown;
	size_t at;

	if (there) {
		index->total += held->file.bytes - there->file.bytes;
		*there = *held;
		return;
	}
	grown = grow_by_one(index->held, index->count, sizeof(*index->held));
	if (!grown) {
		index->known = false;
		return;
	}
	index->held = grown;
	at = place_of(index, &held->file.key);
	memmove(&grown[at + 1], &grown[at], (index->count - at) * sizeof(*grown));
	grown[at] = *held;
	index->count++;
	index->total += held->file.bytes;
}

void plancache_index_add(struct plancache *cache, const struct plancache_key *key, uint64_t bytes,
			 uint32_t owner, int64_t used_ns)
{
	const struct plancache_held held = {
		.file = { .key = *key, .bytes = bytes, .used_ns = used_ns },
		.owner = owner,
		.has_owner = true,
		.turn = ++cache->index.turns,
	};

	if (cache->index.known)
		set(&cache->index, &held);
}

void plancache_index_used(struct plancache *cache, const struct plancache_key *key, int64_t used_ns)
{
	struct plancache_held *held = find(&cache->index, key);

	if (!held)
		return;
	held->file.used_ns = used_ns;
	held->turn = ++cache->index.turns;
}

void plancache_index_remove(struct plancache *cache, const struct plancache_key *key)
{
	struct plancache_index *index = &cache->index;
	struct plancache_held *held = find(index, key);

	if (!held)
		return;
	index->total -= held->file.bytes;
	index->count--;
	memmove(held, held + 1, (size_t)(index->held + index->count - held) * sizeof(*held));
}

int plancache_held_by_use(const struct plancache_held *a, const struct plancache_held *b)
{
	if (a->file.used_ns == b->file.used_ns && a->turn != b->turn)
		return a->turn < b->turn ? 1 : -1;
	return plancache_by_use(&a->file, &b->file);
}

/* ------------------------------------------------------------------- changes */

static void lose(struct plancache *cache, const char *name)
{
	struct plancache_key key;

	if (plancache_key_of(name, &key))
		plancache_index_remove(cache, &key);
}

/* A file of this name has come, or become another; it may have gone meanwhile. */
static void renew(struct plancache *cache, const char *name)
{
	struct plancache_held held = { 0 };
	const struct plancache_held *there;

	if (!plancache_look_at(cache, name, &held.file)) {
		lose(cache, name);
		return;
	}
	plancache_seen(cache, held.file.used_ns);
	there = find(&cache->index, &held.file.key);
	/* As after what this process did itself. */
	if (there && there->file.bytes == held.file.bytes &&
	    there->file.used_ns == held.file.used_ns)
		return;
	set(&cache->index, &held);
}

static void stop_watching(struct plancache_index *index)
{
	if (index->watch >= 0)
		close(index->watch);
	index->watch = -1;
	index->known = false;
}

static void follow(struct plancache *cache, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		cache->index.known = false;
	else if (!(event->mask & CHANGES))
		/* The folder itself has gone. */
		stop_watching(&cache->index);
	else if (event->len && event->mask & (IN_DELETE | IN_MOVED_FROM))
		lose(cache, event->name);
	else if (event->len)
		renew(cache, event->name);
}

static void follow_all(struct plancache *cache)
{
	union {
		struct inotify_event event;
		char bytes[4096];
	} read_to;
	const struct inotify_event *event;
	ssize_t size;

	while (cache->index.known) {
		size = read(cache->index.watch, &read_to, sizeof(read_to));
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 && errno != EAGAIN)
			stop_watching(&cache->index);
		if (size <= 0)
			break;
		for (ssize_t at = 0; at < size && cache->index.known;
		     at += (ssize_t)(sizeof(*event) + event->len)) {
			event = (const struct inotify_event *)(read_to.bytes + at);
			follow(cache, event);
		}
	}
}

/*
 * Another folder may stand at the path by now, which is not watched then. Without a watch all is
 * looked at each time.
 */
static void watch(struct plancache *cache)
{
	struct plancache_index *index = &cache->index;
	struct stat at_path, opened;

	stop_watching(index);
	index->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (index->watch < 0)
		return;
	if (inotify_add_watch(index->watch, cache->folder, CHANGES | IN_ONLYDIR) < 0 ||
	    stat(cache->folder, &at_path) || fstat(cache->dir, &opened) ||
	    at_path.st_dev != opened.st_dev || at_path.st_ino != opened.st_ino)
		stop_watching(index);
}

/* ------------------------------------------------------------------- all files */

static int look_at_all(struct plancache *cache)
{
	struct plancache_index *index = &cache->index, old = *index;
	struct plancache_file *files;
	struct plancache_held *held;
	const struct plancache_held *before;
	size_t count, room = 1;
	int err;

	/* First, so that nothing comes in between. */
	watch(cache);
	err = plancache_list(cache, &files, &count);
	if (err)
		return err;
	if (count)
		plancache_seen(cache, files[0].used_ns);
	/* As grow_by_one() has it. */
	while (room < count)
		room *= 2;
	held = calloc(room, sizeof(*held));
	if (!held) {
		free(files);
		return -ENOMEM;
	}
	index->total = 0;
	for (size_t i = 0; i < count; i++) {
		before = find(&old, &files[i].key);
		held[i].file = files[i];
		if (before && before->file.bytes == files[i].bytes &&
		    before->file.used_ns == files[i].used_ns) {
			held[i].owner = before->owner;
			held[i].has_owner = before->has_owner;
			held[i].turn = before->turn;
		}
		index->total += files[i].bytes;
	}
	qsort(held, count, sizeof(*held), by_key);
	free(files);
	free(old.held);
	index->held = held;
	index->count = count;
	index->known = true;
	index->looked_ns = monotonic_ns();
	return 0;
}

int plancache_index_look(struct plancache *cache)
{
	struct plancache_index *index = &cache->index;

	if (index->known && index->watch >= 0 && monotonic_ns() - index->looked_ns < LOOK_NS)
		follow_all(cache);
	else
		index->known = false;
	return index->known ? 0 : look_at_all(cache);
}

void plancache_index_forget(struct plancache *cache)
{
	cache->index.known = false;
}

void plancache_index_fini(struct plancache *cache)
{
	stop_watching(&cache->index);
	free(cache->index.held);
	cache->index = (struct plancache_index){ .watch = -1 };
}

static uint32_t owner_of(const struct plancache *cache, const struct plancache_key *key)
{
	struct plancache_header header;
	int fd = plancache_open_file(cache, key);
	uint32_t owner = PLANCACHE_NOBODY;

	if (fd < 0)
		return owner;
	if (!plancache_read_all(fd, &header, sizeof(header)) && plancache_is_header(&header))
		owner = header.owner;
	close(fd);
	return owner;
}

static int oldest_first(const void *a, const void *b)
{
	const struct plancache_held *const *x = a, *const *y = b;

	return plancache_held_by_use(*y, *x);
}

/* Those whose owner is not known, the one used longest ago first; free() them. */
static int without_owner(struct plancache_index *index, struct plancache_held ***out, size_t *count)
{
	size_t n = 0;

	*count = 0;
	*out = calloc(index->count + 1, sizeof(struct plancache_held *));
	if (!*out)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++)
		if (!index->held[i].has_owner)
			(*out)[n++] = &index->held[i];
	if (n)
		qsort(*out, n, sizeof(**out), oldest_first);
	*count = n;
	return 0;
}

int plancache_index_owners(struct plancache *cache, uint64_t bytes)
{
	size_t most = cache->hurries ? 2 * PLANCACHE_HURRY : SIZE_MAX, count;
	struct plancache_held **unknown;
	uint64_t learned = 0;
	int err = without_owner(&cache->index, &unknown, &count);

	for (size_t i = 0; i < count && (i < most || learned < 2 * bytes); i++) {
		unknown[i]->owner = owner_of(cache, &unknown[i]->file.key);
		unknown[i]->has_owner = true;
		learned += unknown[i]->file.bytes;
	}
	free(unknown);
	return err;
}
