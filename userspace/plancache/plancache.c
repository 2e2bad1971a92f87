// SPDX-License-Identifier: MIT
#include "plancache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../grow/grow.h"
#include "format.h"

#define SUFFIX	    ".plan"
#define UNFINISHED  ".npumem-" /* PID-NUMBER */
#define BLOCK	    4096ull
#define BILLION	    1000000000ll
#define NAME_TRIES  100
#define FOLDER_MODE 0755
/* Years from now, with room behind them for what is used after that; nanoseconds. */
#define FAR_FUTURE  (INT64_MAX / BILLION / 2 * BILLION)

typedef char file_name[PLANCACHE_NAME_SIZE + sizeof(SUFFIX)];

/**
 * struct plancache - an open folder
 * @folder: its path
 * @dir: descriptor of it
 * @limit: bytes that all files together may count
 * @newest: time of modification of the file that was used last, nanoseconds
 * @made: files that this process has begun to write
 * @writes: whether plans are put into it: who only looks removes nothing
 * @hurries: nobody waits for the disk
 */
struct plancache {
	char *folder;
	int dir;
	uint64_t limit;
	int64_t newest;
	unsigned int made;
	bool writes;
	bool hurries;
};

static void name_of(const struct plancache_key *key, file_name name)
{
	plancache_key_name(key, name);
	memcpy(name + PLANCACHE_NAME_SIZE - 1, SUFFIX, sizeof(SUFFIX));
}

/* ------------------------------------------------------------------ the folder */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool key_of(const char *name, struct plancache_key *key)
{
	if (strlen(name) != PLANCACHE_NAME_SIZE - 1 + strlen(SUFFIX) ||
	    strcmp(name + PLANCACHE_NAME_SIZE - 1, SUFFIX) != 0)
		return false;
	for (size_t i = 0; i < PLANCACHE_KEY_SIZE; i++) {
		int high = hex_digit(name[2 * i]), low = hex_digit(name[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		key->bytes[i] = (uint8_t)(16 * high + low);
	}
	return true;
}

static uint64_t blocks(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

/* Whether begin_file() gives files such names. Others in the folder are somebody's. */
static bool is_unfinished(const char *name)
{
	static const char digits[] = "0123456789";
	size_t pid, number;

	if (strncmp(name, UNFINISHED, strlen(UNFINISHED)) != 0)
		return false;
	name += strlen(UNFINISHED);
	pid = strspn(name, digits);
	if (!pid || name[pid] != '-')
		return false;
	number = strspn(name + pid + 1, digits);
	return number && !name[pid + 1 + number];
}

/*
 * Remove a file that its writer did not finish. One who still writes holds a lock; one who is
 * about to take it finds the file gone, and keeps no plan this time.
 */
static void remove_unfinished(const struct plancache *cache, const char *name)
{
	int fd = openat(cache->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(cache->dir, name, 0);
	close(fd);
}

/* A time, which somebody may have set to any year. */
static int64_t nanoseconds(const struct timespec *time)
{
	const int64_t most = INT64_MAX / BILLION;

	if (time->tv_sec >= most)
		return FAR_FUTURE;
	return (time->tv_sec <= -most ? 1 - most : time->tv_sec) * BILLION + time->tv_nsec;
}

/* What a file of the folder is; false: none of the cache's. */
static bool look_at(const struct plancache *cache, const char *name, struct plancache_file *file)
{
	struct stat stat;

	if (is_unfinished(name)) {
		if (cache->writes)
			remove_unfinished(cache, name);
		return false;
	}
	if (!key_of(name, &file->key) || fstatat(cache->dir, name, &stat, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(stat.st_mode))
		return false;
	file->bytes = blocks((uint64_t)stat.st_size);
	file->used_ns = nanoseconds(&stat.st_mtim);
	return true;
}

static DIR *open_list(const struct plancache *cache)
{
	int fd = openat(cache->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !list)
		close(fd);
	return list;
}

static int by_use(const void *a, const void *b)
{
	const struct plancache_file *x = a, *y = b;

	if (x->used_ns != y->used_ns)
		return x->used_ns < y->used_ns ? 1 : -1;
	return memcmp(x->key.bytes, y->key.bytes, sizeof(x->key.bytes));
}

int plancache_list(struct plancache *cache, struct plancache_file **files, size_t *count)
{
	struct plancache_file *all = NULL, *grown, file;
	size_t n = 0;
	DIR *list = open_list(cache);
	int err = list ? 0 : -errno;

	while (!err) {
		const struct dirent *entry = readdir(list);

		if (!entry)
			break;
		if (!look_at(cache, entry->d_name, &file))
			continue;
		grown = grow_by_one(all, n, sizeof(*all));
		if (!grown) {
			err = -ENOMEM;
			break;
		}
		all = grown;
		all[n++] = file;
	}
	if (list)
		closedir(list);
	if (err) {
		free(all);
		return err;
	}
	if (n)
		qsort(all, n, sizeof(*all), by_use);
	*files = all;
	*count = n;
	return 0;
}

static int open_folder(const char *folder, uint64_t limit, bool writes, struct plancache **out)
{
	struct plancache *cache = calloc(1, sizeof(*cache));
	struct plancache_file *files;
	size_t count;
	int err;

	if (!cache)
		return -ENOMEM;
	cache->folder = strdup(folder);
	if (!cache->folder) {
		free(cache);
		return -ENOMEM;
	}
	cache->limit = limit;
	cache->writes = writes;
	cache->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = cache->dir < 0 ? -errno : plancache_list(cache, &files, &count);
	if (err) {
		plancache_close(cache);
		return err;
	}
	if (count)
		cache->newest = files[0].used_ns;
	free(files);
	*out = cache;
	return 0;
}

int plancache_open(const char *folder, uint64_t limit, struct plancache **cache)
{
	if (mkdir(folder, FOLDER_MODE) && errno != EEXIST)
		return -errno;
	return open_folder(folder, limit, true, cache);
}

void plancache_hurry(struct plancache *cache)
{
	cache->hurries = true;
}

int plancache_open_existing(const char *folder, struct plancache **cache)
{
	return open_folder(folder, UINT64_MAX, false, cache);
}

void plancache_close(struct plancache *cache)
{
	if (!cache)
		return;
	if (cache->dir >= 0)
		close(cache->dir);
	free(cache->folder);
	free(cache);
}

/* ------------------------------------------------------------------- a file */

/* Write down that a file is used now. If that cannot be, it goes sooner than it should. */
static void touch(struct plancache *cache, int fd)
{
	struct timespec times[2];
	int64_t now;

	clock_gettime(CLOCK_REALTIME, &times[1]);
	now = nanoseconds(&times[1]);
	/* Devices without a clock of their own begin anew in 1970. */
	cache->newest = now > cache->newest ? now : cache->newest + 1;
	times[1] = (struct timespec){ .tv_sec = cache->newest / BILLION,
				      .tv_nsec = cache->newest % BILLION };
	times[0] = times[1];
	(void)!futimens(fd, times);
}

static int read_all(int fd, void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t n = read(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		/* Somebody has made it shorter meanwhile. */
		if (n <= 0)
			return n ? -errno : -EBADMSG;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int read_file(struct plancache *cache, int fd, const struct plancache_key *key,
		     struct plancache_entry *entry)
{
	struct plancache_header header;
	struct stat stat;
	char *file;
	int err;

	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode) || stat.st_size < (off_t)sizeof(struct plancache_header) ||
	    (uint64_t)stat.st_size > cache->limit)
		return -EBADMSG;
	/* Nothing is read of a file whose size is not what it says, as of one with a hole. */
	err = read_all(fd, &header, sizeof(header));
	if (!err && !plancache_is_sound(&header, key, (size_t)stat.st_size))
		err = -EBADMSG;
	if (err)
		return err;
	file = malloc((size_t)stat.st_size);
	if (!file)
		return -ENOMEM;
	memcpy(file, &header, sizeof(header));
	err = read_all(fd, file + sizeof(header), (size_t)stat.st_size - sizeof(header));
	if (!err)
		err = plancache_decode(key, file, (size_t)stat.st_size, entry);
	if (err) {
		free(file);
		return err;
	}
	memmove(file, file + sizeof(struct plancache_header), entry->size);
	entry->data = file;
	return 0;
}

/* The file of a plan, or a negative errno. */
static int open_file(const struct plancache *cache, const struct plancache_key *key)
{
	file_name name;
	int fd;

	name_of(key, name);
	/* A pipe, which somebody may have put there, is not waited for. */
	fd = openat(cache->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	return fd;
}

int plancache_peek(struct plancache *cache, const struct plancache_key *key,
		   struct plancache_entry *entry)
{
	int fd = open_file(cache, key);
	int err = fd < 0 ? fd : read_file(cache, fd, key, entry);

	if (fd >= 0)
		close(fd);
	return err;
}

int plancache_get(struct plancache *cache, const struct plancache_key *key,
		  struct plancache_entry *entry)
{
	int fd = open_file(cache, key);
	int err = fd < 0 ? fd : read_file(cache, fd, key, entry);

	if (err == -EBADMSG)
		plancache_drop(cache, key);
	else if (!err)
		touch(cache, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

int plancache_drop(struct plancache *cache, const struct plancache_key *key)
{
	file_name name;

	name_of(key, name);
	return unlinkat(cache->dir, name, 0) ? -errno : 0;
}

/* ------------------------------------------------------------------------ room */

/**
 * struct newcomer - a plan that is being written, or was
 * @key: what has it already is not asked to go, and does not count
 * @owner: whose it counts as
 * @bytes: that it counts
 */
struct newcomer {
	const struct plancache_key *key;
	uint32_t owner;
	uint64_t bytes;
};

/* struct held - a file, and whose it is, as its header says */
struct held {
	const struct plancache_file *file;
	uint32_t owner;
};

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

/**
 * struct holding - all files but the newcomer's
 * @files: by use
 * @count: of them
 * @total: bytes that they count
 * @held: of each of them, by owner, the one used longest ago first; NULL before find_owners()
 * @shares: of owners with files that do not go, a heap: who gives first is at its top
 * @owners: of @shares
 */
struct holding {
	struct plancache_file *files;
	size_t count;
	uint64_t total;
	struct held *held;
	struct share *shares;
	size_t owners;
};

static uint32_t owner_of(const struct plancache *cache, const struct plancache_key *key)
{
	struct plancache_header header;
	int fd = open_file(cache, key);
	uint32_t owner = PLANCACHE_NOBODY;

	if (fd < 0)
		return owner;
	if (!read_all(fd, &header, sizeof(header)) && plancache_is_header(&header))
		owner = header.owner;
	close(fd);
	return owner;
}

static int by_owner(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	/* Of an owner's that which was used longest ago comes first. */
	return x->file < y->file ? 1 : -1;
}

static int find_files(struct plancache *cache, const struct newcomer *newcomer,
		      struct holding *holding)
{
	size_t count;
	int err;

	*holding = (struct holding){ 0 };
	err = plancache_list(cache, &holding->files, &count);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		if (!memcmp(&holding->files[i].key, newcomer->key, sizeof(*newcomer->key)))
			continue;
		holding->total += holding->files[i].bytes;
		holding->files[holding->count++] = holding->files[i];
	}
	return 0;
}

/* Who has the most gives first; of those who have as much, the one whose file was used before. */
static bool gives_before(const struct holding *holding, const struct share *a,
			 const struct share *b)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes;
	return holding->held[a->next].file > holding->held[b->next].file;
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

static int find_owners(const struct plancache *cache, const struct newcomer *newcomer,
		       struct holding *holding)
{
	size_t count = holding->count;
	struct held *held = calloc(count + 1, sizeof(*held));
	struct share *share = NULL;

	holding->held = held;
	holding->shares = calloc(count + 1, sizeof(*holding->shares));
	if (!held || !holding->shares)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		held[i].file = &holding->files[i];
		held[i].owner = owner_of(cache, &holding->files[i].key);
	}
	qsort(held, count, sizeof(*held), by_owner);
	for (size_t i = 0; i < count; i++) {
		if (!i || held[i].owner != held[i - 1].owner) {
			share = &holding->shares[holding->owners++];
			share->next = i;
			share->bytes = held[i].owner == newcomer->owner ? newcomer->bytes : 0;
		}
		share->end = i + 1;
		share->bytes += held[i].file->bytes;
	}
	for (size_t i = holding->owners / 2; i; i--)
		sift_down(holding, i - 1);
	return 0;
}

static void free_holding(struct holding *holding)
{
	free(holding->files);
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
	file = holding->held[first->next++].file;
	first->bytes -= file->bytes;
	if (first->next == first->end)
		*first = holding->shares[--holding->owners];
	if (holding->owners)
		sift_down(holding, 0);
	return file;
}

/*
 * The plan is there: others go until all are within the limit. Who cannot do that leaves it to the
 * next one who writes. Who hurries leaves what is more than so many files and twice what the plan
 * has brought: so there is never more than before, and soon no more than the limit.
 */
static void keep_to_limit(struct plancache *cache, const struct newcomer *newcomer)
{
	size_t most = cache->hurries ? PLANCACHE_HURRY : SIZE_MAX;
	const struct plancache_file *next;
	struct holding holding;
	uint64_t total, gone = 0;
	int err = find_files(cache, newcomer, &holding);

	if (err)
		return;
	total = holding.total + newcomer->bytes;
	if (total > cache->limit)
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

	name_of(key, name);
	if (fstatat(cache->dir, name, &stat, AT_SYMLINK_NOFOLLOW) || stat.st_nlink != 1 ||
	    (wanting->of_user && stat.st_uid != geteuid()))
		return;
	bytes = (uint64_t)stat.st_blocks * 512;
	wanting->bytes -= bytes < wanting->bytes ? bytes : wanting->bytes;
	wanting->files -= !!wanting->files;
}

/*
 * The disk is @full, as this errno says: those who would go first at the limit go now, if a file of
 * @size bytes is sure to fit then, as far as the filesystem knows. False: it is not, and all are
 * still there.
 *
 * Files of writers who were killed go in any case, which may be enough.
 */
static bool make_room_on_disk(struct plancache *cache, const struct newcomer *newcomer, size_t size,
			      int full)
{
	struct holding holding = { 0 };
	const struct plancache_file **chosen = NULL, *next;
	struct wanting wanting;
	size_t count = 0;
	bool fits = false;

	if (find_files(cache, newcomer, &holding) || find_owners(cache, newcomer, &holding) ||
	    find_wanting(cache, size, full, &wanting))
		goto out;
	chosen = calloc(holding.count + 1, sizeof(*chosen));
	if (!chosen)
		goto out;
	while ((wanting.bytes || wanting.files) && (next = choose(&holding))) {
		give_back(cache, &next->key, &wanting);
		chosen[count++] = next;
	}
	fits = !wanting.bytes && !wanting.files;
	for (size_t i = 0; fits && i < count; i++)
		plancache_drop(cache, &chosen[i]->key);
out:
	free(chosen);
	free_holding(&holding);
	return fits;
}

/* ---------------------------------------------------------------------- writing */

static int write_all(int fd, struct iovec *parts, int count)
{
	while (count) {
		ssize_t n = writev(fd, parts, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		for (; count && (size_t)n >= parts->iov_len; count--, parts++)
			n -= (ssize_t)parts->iov_len;
		if (count) {
			parts->iov_base = (char *)parts->iov_base + n;
			parts->iov_len -= (size_t)n;
		}
	}
	return 0;
}

/* The folder was removed, as folders of caches may be, or another one stands in its place. */
static int reopen(struct plancache *cache)
{
	int dir;

	if (mkdir(cache->folder, FOLDER_MODE) && errno != EEXIST)
		return -errno;
	dir = open(cache->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	close(cache->dir);
	cache->dir = dir;
	return 0;
}

/*
 * What root puts into the folder of a service is the service's: it could not mark it as used, and
 * let it go first.
 */
static void give_to_owner(const struct plancache *cache, int fd)
{
	struct stat folder;

	if (!geteuid() && !fstat(cache->dir, &folder) && folder.st_uid)
		(void)!fchown(fd, folder.st_uid, folder.st_gid);
}

/* A file of a name that nobody has. The lock tells others that its writer lives. */
static int begin_file(struct plancache *cache, char *name, size_t size)
{
	int fd = -1;

	for (int i = 0; i < NAME_TRIES && fd < 0; i++) {
		snprintf(name, size, UNFINISHED "%ld-%u", (long)getpid(), cache->made++);
		fd = openat(cache->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return -errno;
	(void)!flock(fd, LOCK_SH | LOCK_NB);
	give_to_owner(cache, fd);
	return fd;
}

/* Write a file, flush it, and give it its name. All of it is there then, or what was before. */
static int write_file(struct plancache *cache, const struct plancache_key *key, struct iovec *parts,
		      int count)
{
	char unfinished[64];
	file_name name;
	int fd, err;

	fd = begin_file(cache, unfinished, sizeof(unfinished));
	if (fd == -ENOENT && !reopen(cache))
		fd = begin_file(cache, unfinished, sizeof(unfinished));
	if (fd < 0)
		return fd;
	err = write_all(fd, parts, count);
	name_of(key, name);
	if (!err) {
		touch(cache, fd);
		if ((!cache->hurries && fsync(fd)) ||
		    renameat(cache->dir, unfinished, cache->dir, name))
			err = -errno;
	}
	if (err)
		unlinkat(cache->dir, unfinished, 0);
	else if (!cache->hurries)
		/* What goes for it is not gone before it is there. Without, either of both is. */
		(void)!fsync(cache->dir);
	close(fd);
	return err;
}

int plancache_put(struct plancache *cache, const struct plancache_key *key,
		  const struct plancache_entry *entry)
{
	struct plancache_header header;
	struct plancache_history history;
	const size_t behind = entry->past_count ? sizeof(history) : 0;
	const size_t size = sizeof(header) + entry->size + behind;
	const struct newcomer newcomer = { key, entry->owner, blocks(size) };
	int err = 0;

	if (newcomer.bytes > cache->limit)
		return -EFBIG;
	plancache_encode(key, entry, &header);
	plancache_encode_history(&header, entry, &history);
	for (int tries = 0; tries < 2; tries++) {
		struct iovec parts[] = {
			{ .iov_base = &header, .iov_len = sizeof(header) },
			{ .iov_base = entry->data, .iov_len = entry->size },
			{ .iov_base = &history, .iov_len = behind },
		};

		if (tries && !make_room_on_disk(cache, &newcomer, size, err))
			break;
		err = write_file(cache, key, parts, 3);
		if (err != -ENOSPC && err != -EDQUOT)
			break;
	}
	if (!err)
		keep_to_limit(cache, &newcomer);
	return err;
}
