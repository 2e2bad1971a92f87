/* SPDX-License-Identifier: MIT */
/*
 * Files that are written: none over what is read, no two into one, and each whole or
 * not at all: what is there stays until what replaces it is on the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* The kernel follows as many symbolic links. */
#define MAX_LINKS 40

/* ---------------------------------------------------------- which file a path names */

static char *copy(const char *text, size_t length)
{
	char *copied = strndup(text, length);

	if (!copied)
		abort();
	return copied;
}

/* Folder of a path, for paths of files beside it. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? copy(path, (size_t)(slash - path) + 1) : copy("./", 2);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Where a symbolic link at @path leads, one step; NULL: there is none. */
static char *followed(const char *path)
{
	char target[PATH_MAX], *folder, *next;
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	if (length < 0)
		return NULL;
	target[length] = '\0';
	if (*target == '/')
		return copy(target, (size_t)length);
	folder = folder_of(path);
	if (asprintf(&next, "%s%s", folder, target) < 0)
		abort();
	free(folder);
	return next;
}

/* The path behind all symbolic links in its last part, whether a file is there or not. */
static char *resolved(const char *path)
{
	char *at = copy(path, strlen(path)), *next;

	for (int links = 0; links < MAX_LINKS && (next = followed(at)); links++) {
		free(at);
		at = next;
	}
	return at;
}

/*
 * struct identity - what two paths have in common if they name one file
 * @known: false: it is nothing that can be told apart, or its folder is not there
 * @mode: st_mode, 0 if there is no file yet
 * @name: of a file that is not there yet, in the folder that @device and @inode are of
 */
struct identity {
	bool known;
	mode_t mode;
	dev_t device;
	ino_t inode;
	char *name;
};

static struct identity identify(const char *path, int standard)
{
	struct identity id = { 0 };
	struct stat st;
	char *file, *folder;

	if (!strcmp(path, "-") ? !fstat(standard, &st) : !stat(path, &st))
		return (struct identity){ true, st.st_mode, st.st_dev, st.st_ino, NULL };
	if (!strcmp(path, "-"))
		return id;
	file = resolved(path);
	folder = folder_of(file);
	if (!stat(folder, &st))
		id = (struct identity){ true, 0, st.st_dev, st.st_ino,
					copy(name_of(file), strlen(name_of(file))) };
	free(folder);
	free(file);
	return id;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	if (!a->known || !b->known || a->device != b->device || a->inode != b->inode)
		return false;
	if (a->name || b->name)
		return a->name && b->name && !strcmp(a->name, b->name);
	return true;
}

/* Whether a file keeps what is written to it; a device like /dev/null does not. */
static bool keeps(const struct identity *id)
{
	return id->known && !S_ISCHR(id->mode);
}

bool is_stdout(const char *path)
{
	struct identity standard, id;
	bool same;

	if (!path)
		return false;
	if (!strcmp(path, "-"))
		return true;
	standard = identify("-", STDOUT_FILENO);
	id = identify(path, STDOUT_FILENO);
	same = is_same(&standard, &id) && (keeps(&id) || isatty(STDOUT_FILENO));
	free(id.name);
	return same;
}

/* "A between B after", of options and paths, which may be other people's. */
static void refuse(const struct argp_state *state, const struct named_path *a, const char *between,
		   const struct named_path *b, const char *after)
{
	char *first = plain_text(a->path, false), *second = plain_text(b->path, false);

	usage_error(state, "%s %s %s %s %s%s", a->option, first, between, b->option, second, after);
	free(first);
	free(second);
}

void outputs_check(const struct argp_state *state, const struct named_path *inputs,
		   const struct named_path *outputs)
{
	for (const struct named_path *out = outputs; out->option; out++) {
		struct identity id;

		if (!out->path)
			continue;
		id = identify(out->path, STDOUT_FILENO);
		for (const struct named_path *in = inputs; in->option; in++) {
			struct identity other = { 0 };

			if (in->path)
				other = identify(in->path, STDIN_FILENO);
			/* A terminal, or a pipe, may well be both. */
			if (is_same(&id, &other) &&
			    (S_ISREG(id.mode) || S_ISBLK(id.mode) || S_ISDIR(id.mode)))
				refuse(state, out, "would overwrite", in, "");
			free(other.name);
		}
		for (const struct named_path *before = outputs; before < out; before++) {
			struct identity other = { 0 };

			if (before->path)
				other = identify(before->path, STDOUT_FILENO);
			if (is_same(&id, &other) && keeps(&id))
				refuse(state, before, "and", out, " are the same file");
			free(other.name);
		}
		free(id.name);
	}
}

/* ------------------------------------------------------------------------- writing */

/* All bytes are written, however many calls that takes; 0 or -errno. */
static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t written = write(fd, data, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		data += written;
		size -= (size_t)written;
	}
	return 0;
}

/* A pipe or a device cannot be replaced by a file, so that it is written to at once. */
static int write_through(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY), err;

	if (fd < 0)
		return failure(path, "%s", strerror(errno));
	err = write_all(fd, data, size);
	if (close(fd) && !err)
		err = -errno;
	return err ? failure(path, "%s", strerror(-err)) : EXIT_OK;
}

/*
 * The mode is that of @old, the file to be replaced; without one it is what open() would have
 * given.
 */
static int set_mode(int fd, const struct stat *old)
{
	mode_t mask;

	if (!old) {
		mask = umask(0);
		umask(mask);
		return fchmod(fd, 0666 & ~mask) ? -errno : 0;
	}
	/* Only root may; who may not keeps what is his. */
	if (fchown(fd, old->st_uid, old->st_gid) && errno != EPERM)
		return -errno;
	return fchmod(fd, old->st_mode & 07777) ? -errno : 0;
}

/* Into @temporary, whose last characters are made up here; 0 or -errno. */
static int write_beside(char *temporary, const struct stat *old, const void *data, size_t size)
{
	int fd = mkostemp(temporary, O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = set_mode(fd, old);
	if (!err)
		err = write_all(fd, data, size);
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlink(temporary);
	return err;
}

static void hold_signals(sigset_t *before)
{
	sigset_t set;

	/* Who interrupts is not to find temporary files. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, before);
}

static int add_pending(struct outputs *outputs, const char *path, const struct stat *old,
		       const void *data, size_t size)
{
	struct pending *file = &outputs->files[outputs->count];
	char *folder;
	int err = 0;

	if (outputs->count == OUTPUTS)
		abort();
	/* A link stays one: what it leads to is replaced. */
	file->path = resolved(path);
	folder = folder_of(file->path);
	if (asprintf(&file->temporary, "%s.npumemctl-XXXXXX", folder) < 0)
		abort();
	free(folder);
	if (!outputs->count++)
		hold_signals(&outputs->signals);
	/* Replacing asks nobody for leave to write to the old file. */
	if (old && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
		err = -errno;
	if (!err)
		err = write_beside(file->temporary, old, data, size);
	if (!err)
		return EXIT_OK;
	*file->temporary = '\0';
	return failure(path, "%s%s", strerror(-err), old ? "; what was there is still there" : "");
}

int outputs_add(struct outputs *outputs, const char *path, const void *data, size_t size)
{
	struct stat st;
	bool bad;

	if (is_stdout(path)) {
		bad = fwrite(data, 1, size, stdout) != size || fflush(stdout);
		return bad ? failure("standard output", "%s", strerror(errno)) : EXIT_OK;
	}
	if (!stat(path, &st))
		return S_ISREG(st.st_mode) ? add_pending(outputs, path, &st, data, size) :
					     write_through(path, data, size);
	return errno == ENOENT ? add_pending(outputs, path, NULL, data, size) :
				 failure(path, "%s", strerror(errno));
}

/* A rename is on the disk when its folder is. */
static void sync_folder(const char *path)
{
	char *folder = folder_of(path);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(folder);
}

int outputs_end(struct outputs *outputs, int status)
{
	bool held = outputs->count;

	for (size_t i = 0; i < outputs->count; i++) {
		struct pending *file = &outputs->files[i];

		if (status == EXIT_OK && rename(file->temporary, file->path))
			status = failure(file->path, "%s", strerror(errno));
		else if (status == EXIT_OK)
			*file->temporary = '\0';
		if (*file->temporary)
			unlink(file->temporary);
		else if (status == EXIT_OK)
			sync_folder(file->path);
		free(file->temporary);
		free(file->path);
	}
	outputs->count = 0;
	if (held)
		sigprocmask(SIG_SETMASK, &outputs->signals, NULL);
	return status;
}

int write_file(const char *path, const void *data, size_t size)
{
	struct outputs outputs = { 0 };

	return outputs_end(&outputs, outputs_add(&outputs, path, data, size));
}

int text_write(struct text *text, const char *path)
{
	bool bad = ferror(text->out);
	int status = fclose(text->out) || bad ? failure(path, "%s", strerror(errno)) :
						write_file(path, text->bytes, text->size);

	free(text->bytes);
	return status;
}
