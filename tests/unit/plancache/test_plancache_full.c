// SPDX-License-Identifier: MIT
/*
 * The cache of plans on a disk that is full, and what it does in which order so that loss of power
 * costs nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "folder.h"

/* ---------------------------------------------------------------- a disk that fails */

/*
 * struct disk - what the filesystem does for the cache
 * @small: it has room for @room bytes; else it is the real one
 * @liar: it says that it has much more
 * @quota: it has much more, and @room is what the user may have of it
 * @inodes: files that it may have; 0: as many as it likes
 * @fsync_err: of files, not folders
 * @meanwhile: what others do just before a lock of the kind @lock is taken
 * @done: what was done: 'f' a file flushed, 'n' given its name, 'd' the folder flushed, 'u' a file
 *	removed
 */
static struct {
	bool small;
	bool liar;
	bool quota;
	size_t room;
	size_t inodes;
	int fsync_err;
	int lock;
	void (*meanwhile)(void);
	char done[32];
} disk;

static void note(char what)
{
	size_t n = strlen(disk.done);

	if (n < sizeof(disk.done) - 1)
		disk.done[n] = what;
}

static size_t disk_files(void)
{
	DIR *list = opendir(folder_name);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(list)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(list);
	return count;
}

static size_t disk_used(void)
{
	DIR *list = opendir(folder_name);
	struct dirent *entry;
	struct stat file;
	size_t used = 0;

	while ((entry = readdir(list)))
		if (!fstatat(dirfd(list), entry->d_name, &file, 0) && S_ISREG(file.st_mode))
			used += (size_t)file.st_blocks * 512;
	closedir(list);
	return used;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	struct stat file;

	assert_int_equal(fstat(fd, &file), 0);
	note(S_ISDIR(file.st_mode) ? 'd' : 'f');
	if (disk.fsync_err && !S_ISDIR(file.st_mode)) {
		errno = disk.fsync_err;
		return -1;
	}
	return 0;
}

int __real_renameat(int from, const char *old, int to, const char *name);
int __wrap_renameat(int from, const char *old, int to, const char *name);
int __wrap_renameat(int from, const char *old, int to, const char *name)
{
	note('n');
	return __real_renameat(from, old, to, name);
}

int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags)
{
	note('u');
	return __real_unlinkat(dir, name, flags);
}

ssize_t __real_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
	size_t used = disk.small ? disk_used() : 0, room;
	struct iovec first[8];

	if (!disk.small)
		return __real_writev(fd, parts, count);
	if (used >= disk.room) {
		errno = disk.quota ? EDQUOT : ENOSPC;
		return -1;
	}
	/* What there is room for comes to the disk. */
	room = disk.room - used;
	assert_in_range(count, 1, 8);
	for (int i = 0; i < count; i++) {
		first[i] = parts[i];
		if (first[i].iov_len > room)
			first[i].iov_len = room;
		room -= first[i].iov_len;
	}
	return __real_writev(fd, first, count);
}

/* Files are made with these; "64" is what openat is called where sizes of files have 64 bits. */
int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, mode_t mode);
int __wrap_openat64(int dir, const char *name, int flags, mode_t mode);

int __wrap_openat(int dir, const char *name, int flags, mode_t mode)
{
	if (flags & O_CREAT && disk.inodes && disk_files() >= disk.inodes) {
		errno = disk.quota ? EDQUOT : ENOSPC;
		return -1;
	}
	return __real_openat(dir, name, flags, mode);
}

int __wrap_openat64(int dir, const char *name, int flags, mode_t mode)
{
	return __wrap_openat(dir, name, flags, mode);
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
	if (disk.meanwhile && operation & disk.lock)
		disk.meanwhile();
	return __real_flock(fd, operation);
}

int __wrap_fstatvfs(int fd, struct statvfs *stat);
int __wrap_fstatvfs64(int fd, struct statvfs *stat);

int __wrap_fstatvfs(int fd, struct statvfs *stat)
{
	size_t used = disk_used();

	if (!disk.small && !disk.inodes)
		return statvfs(folder_name, stat);
	*stat = (struct statvfs){ .f_bsize = 4096, .f_frsize = 1, .f_files = disk.inodes };
	if (disk.inodes > disk_files())
		stat->f_favail = disk.inodes - disk_files();
	stat->f_bavail = !disk.small || disk.liar || disk.quota ? 1 << 30 :
			 used < disk.room			? disk.room - used :
								  0;
	return 0;
}

/* Its name where sizes of files have 64 bits. */
int __wrap_fstatvfs64(int fd, struct statvfs *stat)
{
	return __wrap_fstatvfs(fd, stat);
}

static int disk_setup(void **state)
{
	memset(&disk, 0, sizeof(disk));
	return folder_make(state);
}

#define DISK_TEST(name) TEST_WITH(name, disk_setup, folder_remove)

/* ---------------------------------------------------------------------- a full disk */

/* A cache that has just what it may have. */
static struct plancache_key full_keys[4];

static void fill_to_limit(void)
{
	for (uint64_t i = 0; i < 4; i++)
		full_keys[i] = folder_key_number(i);
	folder_reopen(3 * 4096);
	for (int i = 0; i < 3; i++)
		folder_put(&full_keys[i], 50, (char)('0' + i));
}

static void all_are_there(void)
{
	DIR *list = opendir(folder_name);
	size_t count = 0;

	while (readdir(list))
		count++;
	closedir(list);
	assert_int_equal(count, 3 + 2);
	for (int i = 0; i < 3; i++)
		folder_has(&full_keys[i], 50, (char)('0' + i));
}

/* No file can have more than so many bytes: the plans before are still there, and nothing else. */
DISK_TEST(full_at_every_byte)
{
	struct rlimit limit, before;
	char data[100] = "new";
	struct plancache_entry entry = folder_entry_past(data, sizeof(data), 3);
	size_t size =
		sizeof(struct plancache_header) + sizeof(data) + sizeof(struct plancache_history);

	fill_to_limit();
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	for (size_t n = 0; n < 2 * size; n++) {
		int err;

		limit = before;
		limit.rlim_cur = n / 2;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		err = plancache_put(folder_cache, &full_keys[n % 2 ? 3 : 0], &entry);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		assert_int_equal(err, -EFBIG);
		all_are_there();
	}
	assert_int_equal(plancache_put(folder_cache, &full_keys[0], &entry), 0);
	signal(SIGXFSZ, SIG_DFL);
}

/* The disk is full after so many bytes, and nobody knows whether it helps if a plan goes. */
DISK_TEST(disk_full_at_every_byte)
{
	char data[100] = "new";
	struct plancache_entry entry = folder_entry_past(data, sizeof(data), 3);
	size_t size =
		sizeof(struct plancache_header) + sizeof(data) + sizeof(struct plancache_history);

	fill_to_limit();
	disk.small = true;
	disk.liar = true;
	for (size_t n = 0; n < 2 * size; n++) {
		disk.room = disk_used() + n / 2;
		assert_int_equal(plancache_put(folder_cache, &full_keys[n % 2 ? 3 : 0], &entry),
				 -ENOSPC);
		all_are_there();
	}
	disk.room++;
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), 0);
	disk.small = false;
	folder_has_not(&full_keys[0], -ENOENT);
	assert_int_equal(folder_files(), 3);
}

/* Others go for one that fits then, and no more of them than have to. */
DISK_TEST(room_on_a_full_disk)
{
	static char data[5000];
	struct plancache_entry entry = folder_entry(data, sizeof(data));

	fill_to_limit();
	folder_reopen(PLENTY);
	disk.small = true;
	disk.room = disk_used();
	folder_put(&full_keys[3], 50, '3');
	folder_has_not(&full_keys[0], -ENOENT);
	folder_has(&full_keys[1], 50, '1');
	folder_has(&full_keys[2], 50, '2');
	folder_has(&full_keys[3], 50, '3');
	/* Two have to go for it. It does not go itself, though it is the one used first. */
	assert_int_equal(plancache_put(folder_cache, &full_keys[1], &entry), 0);
	folder_has_not(&full_keys[2], -ENOENT);
	folder_has_not(&full_keys[3], -ENOENT);
	assert_int_equal(folder_files(), 1);
}

/* It would not fit if all went: none goes. */
DISK_TEST(no_room_on_a_full_disk)
{
	static char data[3 * 4096];
	struct plancache_entry entry = folder_entry(data, sizeof(data));
	char path[256], other[256];

	fill_to_limit();
	folder_reopen(PLENTY);
	disk.small = true;
	disk.room = disk_used();
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), -ENOSPC);
	all_are_there();
	/* Nor if what goes stays on the disk by another name. */
	entry = folder_entry(data, 4096);
	for (int i = 0; i < 2; i++) {
		folder_path(&full_keys[i], path);
		snprintf(other, sizeof(other), "%s/.other-%d", folder_name, i);
		assert_int_equal(link(path, other), 0);
	}
	disk.room = disk_used();
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), -ENOSPC);
	for (int i = 0; i < 3; i++)
		folder_has(&full_keys[i], 50, (char)('0' + i));
}

/* Without a limit none goes; what a killed writer left does. */
DISK_TEST(no_limit)
{
	char data[50] = "new", path[256];
	struct plancache_entry entry = folder_entry(data, sizeof(data));

	fill_to_limit();
	folder_reopen(PLANCACHE_NO_LIMIT);
	disk.small = true;
	disk.room = disk_used();
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), -ENOSPC);
	all_are_there();
	disk.inodes = 3;
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), -ENOSPC);
	disk.inodes = 0;
	disk.quota = true;
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), -EDQUOT);
	all_are_there();
	disk.quota = false;
	snprintf(path, sizeof(path), "%s/.npumem-1-0", folder_name);
	folder_write(path, "part", 4);
	/* With the block beside the data. */
	disk.room = disk_used() + 4096;
	folder_write(path, data, sizeof(data));
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), 0);
	assert_int_equal(folder_files(), 4);
}

/* The disk has blocks, and no file more: one goes, and no more than one. */
DISK_TEST(no_inode_is_free)
{
	fill_to_limit();
	folder_reopen(PLENTY);
	disk.inodes = 3;
	folder_put(&full_keys[3], 50, '3');
	folder_has_not(&full_keys[0], -ENOENT);
	folder_has(&full_keys[1], 50, '1');
	folder_has(&full_keys[2], 50, '2');
	folder_has(&full_keys[3], 50, '3');
}

/* Other files have them all, or a name of somebody's holds that of a plan. */
DISK_TEST(no_inode_will_be_free)
{
	char data[50] = "new", path[256], other[256];
	struct plancache_entry entry = folder_entry(data, sizeof(data));

	disk.inodes = 1;
	snprintf(path, sizeof(path), "%s/README", folder_name);
	folder_write(path, "mine", 4);
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), -ENOSPC);
	assert_int_equal(unlink(path), 0);
	disk.inodes = 0;
	full_keys[0] = folder_key_number(0);
	folder_put(&full_keys[0], 50, '0');
	folder_path(&full_keys[0], path);
	snprintf(other, sizeof(other), "%s/.other", folder_name);
	assert_int_equal(link(path, other), 0);
	disk.inodes = 2;
	full_keys[3] = folder_key_number(3);
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), -ENOSPC);
	folder_has(&full_keys[0], 50, '0');
}

/* The disk says that it has much, of which this user may have no more: bytes, or files. */
DISK_TEST(quota_is_used_up)
{
	fill_to_limit();
	folder_reopen(PLENTY);
	disk.small = true;
	disk.quota = true;
	disk.room = disk_used();
	folder_put(&full_keys[3], 50, '3');
	disk.small = false;
	folder_has_not(&full_keys[0], -ENOENT);
	folder_has(&full_keys[2], 50, '2');
	folder_has(&full_keys[3], 50, '3');
	disk.inodes = disk_files();
	folder_put(&full_keys[0], 50, '0');
	folder_has(&full_keys[3], 50, '3');
	folder_has(&full_keys[0], 50, '0');
}

/* What others have does not count for this user. */
DISK_TEST(quota_of_others)
{
	char data[50] = "new", path[256];
	struct plancache_entry entry = folder_entry(data, sizeof(data));

	if (geteuid())
		skip();
	fill_to_limit();
	folder_reopen(PLENTY);
	for (int i = 0; i < 3; i++) {
		folder_path(&full_keys[i], path);
		assert_int_equal(chown(path, 1234, 1234), 0);
	}
	disk.quota = true;
	disk.inodes = disk_files();
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), -EDQUOT);
	all_are_there();
}

/* What a killed writer left is removed before anything else is. */
DISK_TEST(room_that_was_left)
{
	char path[256];

	fill_to_limit();
	folder_reopen(PLENTY);
	snprintf(path, sizeof(path), "%s/.npumem-1-0", folder_name);
	folder_write(path, "part", 4);
	disk.small = true;
	disk.room = disk_used();
	folder_put(&full_keys[3], 50, '3');
	disk.small = false;
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(folder_files(), 4);
}

/* Power may be lost at any time: the new one is on the disk before an old one goes. */
DISK_TEST(flushed)
{
	struct plancache_key other = folder_key_number(9);

	fill_to_limit();
	memset(disk.done, 0, sizeof(disk.done));
	folder_put(&full_keys[0], 60, 'n');
	assert_string_equal(disk.done, "fnd");
	memset(disk.done, 0, sizeof(disk.done));
	folder_put(&other, 50, 'o');
	assert_string_equal(disk.done, "fndu");
}

/* Who has others to answer waits for no disk. */
DISK_TEST(hurried)
{
	struct plancache_key other = folder_key_number(9);

	fill_to_limit();
	plancache_hurry(folder_cache);
	memset(disk.done, 0, sizeof(disk.done));
	folder_put(&other, 50, 'o');
	assert_string_equal(disk.done, "nu");
}

/* So many of user 7, and one of user 8 that was used before all of them. */
static void fill_with(uint64_t count)
{
	struct plancache_key key = folder_key_number(1000);

	folder_put_of(8, &key, 50, '8');
	for (uint64_t i = 0; i < count; i++) {
		key = folder_key_number(i);
		folder_put_of(7, &key, 50, '7');
	}
	memset(disk.done, 0, sizeof(disk.done));
}

/* The limit is much lower: so many go with each plan, in the order of else, and then no more. */
DISK_TEST(limit_in_a_hurry)
{
	struct plancache_key first, last, other = folder_key_number(1000), new;
	char path[256];

	fill_with(600);
	folder_reopen(4 * 4096);
	plancache_hurry(folder_cache);
	for (uint64_t i = 0; i < 2; i++) {
		new = folder_key_number(2000 + i);
		folder_put_of(7, &new, 50, 'n');
		assert_int_equal(folder_files(), 601 + (i + 1) - PLANCACHE_HURRY * (i + 1));
		first = folder_key_number(PLANCACHE_HURRY * (i + 1) - 1);
		folder_has_not(&first, -ENOENT);
		last = folder_key_number(PLANCACHE_HURRY * (i + 1));
		/* Without using it. */
		folder_path(&last, path);
		assert_int_equal(access(path, F_OK), 0);
	}
	new = folder_key_number(2002);
	folder_put_of(7, &new, 50, 'n');
	assert_int_equal(folder_files(), 4);
	folder_has(&new, 50, 'n');
	folder_has(&other, 50, '8');
}

/* A large one brings more than so many files have: twice that goes. */
DISK_TEST(large_in_a_hurry)
{
	struct plancache_key key = folder_key_number(2000);

	fill_with(600);
	folder_reopen(220 * 4096);
	plancache_hurry(folder_cache);
	/* With its header 151 blocks. */
	folder_put_of(7, &key, 150 * 4096, 'n');
	assert_int_equal(folder_files(), 602 - 302);
	folder_has(&key, 150 * 4096, 'n');
}

/* Who has time reaches the limit at once. */
DISK_TEST(limit_without_hurry)
{
	struct plancache_key key = folder_key_number(2000);

	fill_with(600);
	folder_reopen(4 * 4096);
	folder_put_of(7, &key, 50, 'n');
	assert_int_equal(folder_files(), 4);
}

/* Three users with as much: the one whose plan was used before all others gives, each time. */
DISK_TEST(equal_shares_go_by_use)
{
	struct plancache_key keys[9], new = folder_key_number(2000);

	for (uint64_t i = 0; i < 9; i++) {
		keys[i] = folder_key_number(i);
		folder_put_of(7 + i % 3, &keys[i], 50, (char)('0' + i));
	}
	folder_has(&keys[0], 50, '0');
	folder_reopen(5 * 4096);
	folder_put_of(100, &new, 50, 'n');
	/* 1, 2 and 3 at first, then all have two. Two more go: 4 and 5. */
	for (int i = 1; i < 6; i++)
		folder_has_not(&keys[i], -ENOENT);
	folder_has(&keys[0], 50, '0');
	for (int i = 6; i < 9; i++)
		folder_has(&keys[i], 50, (char)('0' + i));
}

DISK_TEST(not_flushed)
{
	char data[100] = "new";
	struct plancache_entry entry = folder_entry(data, sizeof(data));

	fill_to_limit();
	disk.fsync_err = EIO;
	assert_int_equal(plancache_put(folder_cache, &full_keys[0], &entry), -EIO);
	assert_int_equal(plancache_put(folder_cache, &full_keys[3], &entry), -EIO);
	all_are_there();
}

/* --------------------------------------------------------------- several who write */

/* The file that a writer has begun. */
static void begun_path(char path[256])
{
	DIR *list = opendir(folder_name);
	struct dirent *entry;

	*path = '\0';
	while ((entry = readdir(list)))
		if (!strncmp(entry->d_name, ".npumem-", 8))
			snprintf(path, 256, "%s/%.100s", folder_name, entry->d_name);
	closedir(list);
	assert_true(*path);
}

static void another_opens(void)
{
	struct plancache *another;

	assert_int_equal(plancache_open(folder_name, PLENTY, &another), 0);
	plancache_close(another);
}

static void another_opens_once(void)
{
	disk.meanwhile = NULL;
	another_opens();
}

/* A file that is not locked yet is taken for one that nobody finishes: another one is begun. */
DISK_TEST(removed_before_its_lock)
{
	struct plancache_key key = folder_key_number(0);

	disk.lock = LOCK_SH;
	disk.meanwhile = another_opens_once;
	folder_put(&key, 50, '0');
	folder_has(&key, 50, '0');
}

/* Not for ever, and nothing is left of them. */
DISK_TEST(removed_again_and_again)
{
	char data[50] = "new";
	struct plancache_entry entry = folder_entry(data, sizeof(data));
	struct plancache_key key = folder_key_number(0);

	disk.lock = LOCK_SH;
	disk.meanwhile = another_opens;
	assert_int_equal(plancache_put(folder_cache, &key, &entry), -EAGAIN);
	assert_int_equal(disk_files(), 0);
}

static int remover = -1;
static char to_remove[256];

static void another_is_about_to_remove(void)
{
	disk.meanwhile = NULL;
	begun_path(to_remove);
	remover = open(to_remove, O_RDONLY);
	assert_int_equal(__real_flock(remover, LOCK_EX | LOCK_NB), 0);
}

/* Who is about to remove it has the lock: the file is left to him. */
DISK_TEST(about_to_be_removed)
{
	struct plancache_key key = folder_key_number(0);

	disk.lock = LOCK_SH;
	disk.meanwhile = another_is_about_to_remove;
	folder_put(&key, 50, '0');
	assert_int_equal(unlink(to_remove), 0);
	close(remover);
	folder_has(&key, 50, '0');
}

static void next_is_begun(void)
{
	char path[256], finished[256];

	disk.meanwhile = NULL;
	begun_path(path);
	snprintf(finished, sizeof(finished), "%s/finished", folder_name);
	assert_int_equal(rename(path, finished), 0);
	folder_write(path, "next", 4);
}

/* A writer has finished a file since it was opened, and begun one that has its name. */
DISK_TEST(begun_under_the_same_name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/.npumem-1-0", folder_name);
	folder_write(path, "part", 4);
	disk.lock = LOCK_EX;
	disk.meanwhile = next_is_begun;
	another_opens();
	assert_int_equal(access(path, F_OK), 0);
}
