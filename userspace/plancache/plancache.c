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
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../grow/grow.h"
#include "../monotonic/monotonic.h"
#include "cache.h"
#include "format.h"

#define UNFINISHED  ".npumem-" /* PID-NUMBER */
#define BILLION	    1000000000ll
#define NAME_TRIES  100
#define FOLDER_MODE 0755
/* Years from now, with room behind them for what is used after that; nanoseconds. */
#define FAR_FUTURE  (INT64_MAX / BILLION / 2 * BILLION)
/* No disk keeps coarser times than FAT. */
#define COARSEST_NS (2 * BILLION)
/* By so much do times run ahead, at most, before they wait for time to go by. */
#define STEPS_NS    (60 * BILLION)

void plancache_name_of(const struct plancache_key *key, file_name name)
{
	plancache_key_name(key, name);
	memcpy(name + PLANCACHE_NAME_SIZE - 1, SUFFIX, sizeof(SUFFIX));
}

/* ------------------------------------------------------------------ the folder */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool plancache_key_of(const char *name, struct plancache_key *key)
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

static bool has_name(const struct plancache *cache, int fd, const char *name)
{
	struct stat opened, named;

	return !fstat(fd, &opened) && !fstatat(cache->dir, name, &named, AT_SYMLINK_NOFOLLOW) &&
	       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/*
 * Remove a file that its writer did not finish. One who still writes holds a lock; one who is
 * about to take it finds the file gone, and begins another.
 */
static void remove_unfinished(const struct plancache *cache, const char *name)
{
	int fd = openat(cache->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return;
	/* It may be finished by now, and its name that of the writer's next one. */
	if (!flock(fd, LOCK_EX | LOCK_NB) && has_name(cache, fd, name))
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

bool plancache_look_at(const struct plancache *cache, const char *name, struct plancache_file *file)
{
	struct stat stat;

	if (is_unfinished(name)) {
		if (cache->writes)
			remove_unfinished(cache, name);
		return false;
	}
	if (!plancache_key_of(name, &file->key) ||
	    fstatat(cache->dir, name, &stat, AT_SYMLINK_NOFOLLOW) || !S_ISREG(stat.st_mode))
		return false;
	file->bytes = plancache_blocks((uint64_t)stat.st_size);
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

int plancache_by_use(const void *a, const void *b)
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
		if (!plancache_look_at(cache, entry->d_name, &file))
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
		qsort(all, n, sizeof(*all), plancache_by_use);
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
	cache->index.watch = -1;
	cache->steps = (struct plancache_steps){ 1, STEPS_NS, monotonic_ns() };
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

bool plancache_was_full(const struct plancache *cache)
{
	return cache->was_full;
}

int plancache_open_existing(const char *folder, struct plancache **cache)
{
	return open_folder(folder, PLANCACHE_NO_LIMIT, false, cache);
}

void plancache_close(struct plancache *cache)
{
	if (!cache)
		return;
	if (cache->dir >= 0)
		close(cache->dir);
	plancache_index_fini(cache);
	free(cache->folder);
	free(cache);
}

bool plancache_is_of(const struct plancache *cache, const char *folder, uint64_t limit)
{
	struct stat open, named;

	return cache->limit == limit && !strcmp(cache->folder, folder) &&
	       !fstat(cache->dir, &open) && !stat(folder, &named) && open.st_dev == named.st_dev &&
	       open.st_ino == named.st_ino;
}

/* ---------------------------------------------------------------- times of use */

/* Give a file a time. What the disk keeps of it, or kept before, is what @kept says. */
static int set_time(int fd, int64_t ns, int64_t *kept)
{
	const struct timespec time = { .tv_sec = ns / BILLION, .tv_nsec = ns % BILLION };
	const struct timespec times[2] = { time, time };
	int err = futimens(fd, times) ? -errno : 0;
	struct stat stat;

	*kept = fstat(fd, &stat) ? ns : nanoseconds(&stat.st_mtim);
	return err;
}

/*
 * Whether another step may be made of those that the disk keeps. A few are made at once, which is
 * the order that another process finds, as after a restart. If each use were a step of a second, a
 * folder that is in use would run ahead of any clock, to the last time that the disk has: 2038
 * where times are that coarse. Half of the time that goes by lets the clock catch up.
 */
static bool may_step(struct plancache_steps *steps)
{
	int64_t now = monotonic_ns();

	steps->left_ns += (now - steps->given_ns) / 2;
	if (steps->left_ns > STEPS_NS)
		steps->left_ns = STEPS_NS;
	steps->given_ns = now;
	if (steps->left_ns < steps->ns)
		return false;
	steps->left_ns -= steps->ns;
	return true;
}

/*
 * Give a file a time behind the newest, which the clock has not reached. Where the disk keeps no
 * nanoseconds (ext4 with small inodes, jffs2, FAT), that is not always a later one: the index knows
 * the order of files with the same time.
 */
static int step(struct plancache *cache, int fd, int64_t *kept)
{
	struct plancache_steps *steps = &cache->steps;
	int64_t longer = 0, last;
	int err;

	if (steps->ns == 1) {
		err = set_time(fd, cache->newest + 1, kept);
		if (err || *kept > cache->newest)
			return err;
		/* What is cut off of the last nanosecond before a step says how long steps are. */
		last = *kept + COARSEST_NS - 1;
		err = set_time(fd, last, kept);
		if (err)
			return err;
		steps->ns = last + 1 - *kept;
	}
	if (may_step(steps))
		longer = steps->ns;
	err = set_time(fd, cache->newest + longer, kept);
	/* Another process gave it a time meanwhile, or the disk has no later one. */
	if (steps->ns < 1 || steps->ns > COARSEST_NS || (longer && *kept <= cache->newest))
		steps->ns = COARSEST_NS;
	return err;
}

/*
 * Write down that a file is used now. If that cannot be, it goes sooner than it should. Returns the
 * time that it has.
 *
 * Where the clock is right, what is used within a second has the same time on a disk of whole
 * seconds: times that run ahead of the clock would be no times of use, and in a busy folder there
 * would be no end to that.
 */
static int64_t touch(struct plancache *cache, const struct plancache_key *key, int fd)
{
	struct timespec clock;
	int64_t now, kept;
	int err;

	clock_gettime(CLOCK_REALTIME, &clock);
	now = nanoseconds(&clock);
	/* Devices without a clock of their own begin anew in 1970. */
	err = now > cache->newest ? set_time(fd, now, &kept) : step(cache, fd, &kept);
	plancache_seen(cache, kept);
	if (!err)
		plancache_index_used(cache, key, kept);
	return kept;
}

/* ------------------------------------------------------------------- a file */

int plancache_read_all(int fd, void *data, size_t size)
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
	plancache_seen(cache, nanoseconds(&stat.st_mtim));
	/* Nothing is read of a file whose size is not what it says, as of one with a hole. */
	err = plancache_read_all(fd, &header, sizeof(header));
	if (!err && !plancache_is_sound(&header, key, (size_t)stat.st_size))
		err = -EBADMSG;
	if (err)
		return err;
	file = malloc((size_t)stat.st_size);
	if (!file)
		return -ENOMEM;
	memcpy(file, &header, sizeof(header));
	err = plancache_read_all(fd, file + sizeof(header), (size_t)stat.st_size - sizeof(header));
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

int plancache_open_file(const struct plancache *cache, const struct plancache_key *key)
{
	file_name name;
	int fd;

	plancache_name_of(key, name);
	/* A pipe, which somebody may have put there, is not waited for. */
	fd = openat(cache->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	return fd;
}

int plancache_peek(struct plancache *cache, const struct plancache_key *key,
		   struct plancache_entry *entry)
{
	int fd = plancache_open_file(cache, key);
	int err = fd < 0 ? fd : read_file(cache, fd, key, entry);

	if (fd >= 0)
		close(fd);
	return err;
}

int plancache_get(struct plancache *cache, const struct plancache_key *key,
		  struct plancache_entry *entry)
{
	int fd = plancache_open_file(cache, key);
	int err = fd < 0 ? fd : read_file(cache, fd, key, entry);

	if (err == -EBADMSG)
		plancache_drop(cache, key);
	else if (!err)
		touch(cache, key, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

int plancache_drop(struct plancache *cache, const struct plancache_key *key)
{
	file_name name;
	int err = 0;

	plancache_name_of(key, name);
	if (unlinkat(cache->dir, name, 0))
		err = -errno;
	if (!err || err == -ENOENT)
		plancache_index_remove(cache, key);
	return err;
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
	/* It may be on another disk. */
	cache->steps.ns = 1;
	/* It is watched by another number. */
	plancache_index_fini(cache);
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

/*
 * Tell others that the writer of a new file lives. False: before that, somebody has taken it for
 * one that nobody finishes.
 */
static bool lock_file(int fd)
{
	struct stat file;

	/* Where files have no locks nobody has the one that removing them takes. */
	if (flock(fd, LOCK_SH | LOCK_NB))
		return errno != EWOULDBLOCK;
	return fstat(fd, &file) || file.st_nlink;
}

/* A file of a name that nobody has. */
static int begin_file(struct plancache *cache, char *name, size_t size)
{
	int fd, err = 0;

	for (int i = 0; i < NAME_TRIES; i++) {
		snprintf(name, size, UNFINISHED "%ld-%u", (long)getpid(), cache->made++);
		fd = openat(cache->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd >= 0 && lock_file(fd)) {
			give_to_owner(cache, fd);
			return fd;
		}
		err = fd < 0 ? -errno : -EAGAIN;
		if (fd >= 0)
			close(fd);
		else if (err != -EEXIST)
			break;
	}
	return err;
}

/*
 * Write a file, flush it, and give it its name. All of it is there then, or what was before.
 * @used_ns: out: the time that it has
 */
static int write_file(struct plancache *cache, const struct plancache_key *key, struct iovec *parts,
		      int count, int64_t *used_ns)
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
	plancache_name_of(key, name);
	if (!err) {
		*used_ns = touch(cache, key, fd);
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
	const struct plancache_newcomer newcomer = { key, entry->owner, plancache_blocks(size) };
	int64_t used_ns = 0;
	int err = 0;

	if (newcomer.bytes > cache->limit || entry->size > PLANCACHE_MOST)
		return -EFBIG;
	plancache_encode(key, entry, &header);
	plancache_encode_history(&header, entry, &history);
	for (int tries = 0; tries < 2; tries++) {
		struct iovec parts[] = {
			{ .iov_base = &header, .iov_len = sizeof(header) },
			{ .iov_base = entry->data, .iov_len = entry->size },
			{ .iov_base = &history, .iov_len = behind },
		};

		if (tries && !plancache_make_room(cache, &newcomer, size, err))
			break;
		err = write_file(cache, key, parts, 3, &used_ns);
		if (err != -ENOSPC && err != -EDQUOT)
			break;
	}
	if (err)
		return err;
	plancache_index_add(cache, key, newcomer.bytes, newcomer.owner, used_ns);
	plancache_keep_to_limit(cache, &newcomer);
	return 0;
}
