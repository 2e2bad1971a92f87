// SPDX-License-Identifier: MIT
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuplan.h"

static int file_name(const struct options *options, const struct blobs *blobs, char **name,
		     struct why *why)
{
	uint8_t digest[NPUPLAN_DIGEST_SIZE];
	char hex[2 * NPUPLAN_DIGEST_SIZE + 1];
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph;
	int err;

	err = npuplan_graph_read(blobs->graph, blobs->graph_size, &graph, &error);
	if (err)
		return why_fail(why, err, "%s", error.text);
	npuplan_graph_digest(graph, digest);
	npuplan_graph_free(graph);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	if (asprintf(name, "%s/%s-%s-%" PRIu64 "-%s.plan", options->cache, hex,
		     options->planner ? options->planner : "auto", options->budget,
		     npuplan_version()) < 0)
		return why_fail(why, -ENOMEM, "out of memory");
	return 0;
}

/* A plan is small; a file that is too large for a blob is none. */
static int read_all(FILE *file, struct blobs *blobs)
{
	struct stat status;

	if (fstat(fileno(file), &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size > (off_t)NPUMEM_BLOB_MAX_BYTES)
		return -EFBIG;
	blobs->plan_size = (size_t)status.st_size;
	blobs->plan = malloc(blobs->plan_size ? blobs->plan_size : 1);
	if (!blobs->plan)
		return -ENOMEM;
	if (fread(blobs->plan, 1, blobs->plan_size, file) != blobs->plan_size) {
		free(blobs->plan);
		blobs->plan = NULL;
		return -EIO;
	}
	return 0;
}

/* A pipe, which somebody may have put there, is not waited for. */
static FILE *open_file(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

int cache_read(const struct options *options, struct blobs *blobs, struct why *why)
{
	char *name = NULL;
	FILE *file;
	int err = file_name(options, blobs, &name, why);

	if (err)
		return err;
	file = open_file(name);
	if (!file) {
		err = why_fail(why, -errno, "%s: %s", name, strerror(errno));
	} else {
		err = read_all(file, blobs);
		if (err)
			why_fail(why, err, "%s: %s", name, strerror(-err));
		fclose(file);
	}
	free(name);
	return err;
}

/* The file has its name when all of it is there. */
static int write_all(const char *name, const struct blobs *blobs)
{
	ssize_t written;
	char *other;
	int fd, err = 0;

	if (asprintf(&other, "%s.XXXXXX", name) < 0)
		return -ENOMEM;
	fd = mkostemp(other, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		free(other);
		return err;
	}
	/* A write that is cut short sets no errno. */
	written = write(fd, blobs->plan, blobs->plan_size);
	if (written != (ssize_t)blobs->plan_size)
		err = written < 0 ? -errno : -ENOSPC;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(other, name))
		err = -errno;
	if (err)
		unlink(other);
	free(other);
	return err;
}

int cache_write(const struct options *options, const struct blobs *blobs, struct why *why)
{
	char *name = NULL;
	int err = file_name(options, blobs, &name, why);

	if (err)
		return err;
	err = write_all(name, blobs);
	if (err)
		why_fail(why, err, "%s: %s", name, strerror(-err));
	free(name);
	return err;
}
