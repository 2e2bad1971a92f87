// SPDX-License-Identifier: MIT
#include "weights.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Between parameters; no tensor's alignment is larger. */
#define ALIGNMENT 64

/*
 * struct shared - bytes that are on a device
 * @next: of the list
 * @device: path
 * @fd: dma-buf of the BO
 * @size: of all parameters together
 * @users: list
 */
struct shared {
	struct shared *next;
	char *device;
	int fd;
	uint64_t size;
	struct weights *users;
};

/*
 * struct weights - one who uses them
 * @next: of the users of @shared
 * @bo: the BO, as @device has it
 * @offsets: per tensor of the program, where in it; UINT64_MAX: it is no parameter
 */
struct weights {
	struct weights *next;
	struct shared *shared;
	struct npumem_device *device;
	struct npumem_bo *bo;
	uint64_t *offsets;
	uint32_t tensor_count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared *all;

/* Where each is; returns the bytes of all, 0 if there are none. */
static uint64_t lay_out(const struct program *program, uint64_t *offsets)
{
	uint64_t size = 0;

	for (uint32_t t = 0; t < program->graph->tensor_count; t++) {
		offsets[t] = UINT64_MAX;
		if (!program->bytes[t])
			continue;
		offsets[t] = size;
		size += (program->graph->tensors[t].size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	}
	return size;
}

static int fail(struct why *why, int err, const struct npumem_error *error)
{
	return why_fail(why, err, "weights: %s", error->text);
}

/* The gaps between parameters are nobody's. */
static bool are_there(const struct weights *w, const struct program *program, const char *bytes)
{
	for (uint32_t t = 0; t < w->tensor_count; t++)
		if (w->offsets[t] != UINT64_MAX && memcmp(bytes + w->offsets[t], program->bytes[t],
							  program->graph->tensors[t].size) != 0)
			return false;
	return true;
}

/* One device object has one handle for a BO, and so no second one for it. */
static bool has_user(const struct shared *shared, const struct npumem_device *device)
{
	for (const struct weights *w = shared->users; w; w = w->next)
		if (w->device == device)
			return true;
	return false;
}

static void add_user(struct shared *shared, struct weights *w)
{
	w->shared = shared;
	w->next = shared->users;
	shared->users = w;
}

/* -ENOENT: nobody has these bytes on that device. */
static int find(struct weights *w, const struct program *program, uint64_t size)
{
	for (struct shared *s = all; s; s = s->next) {
		struct npumem_bo *bo = NULL;
		void *bytes;

		if (s->size != size || strcmp(s->device, npumem_device_path(w->device)) != 0 ||
		    has_user(s, w->device))
			continue;
		if (!npumem_bo_import(w->device, s->fd, &bo, NULL) &&
		    !npumem_bo_map(bo, &bytes, NULL) && are_there(w, program, bytes)) {
			w->bo = bo;
			add_user(s, w);
			return 0;
		}
		npumem_bo_free(bo);
	}
	return -ENOENT;
}

static int share(struct weights *w, uint64_t size, struct why *why)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	struct npumem_error error = { .text = "out of memory" };
	int err = -ENOMEM;

	if (shared) {
		shared->size = size;
		shared->device = strdup(npumem_device_path(w->device));
		if (shared->device)
			err = npumem_bo_export(w->bo, true, &shared->fd, &error);
		if (!err) {
			shared->next = all;
			all = shared;
			add_user(shared, w);
			return 0;
		}
		free(shared->device);
	}
	free(shared);
	return fail(why, err, &error);
}

static int make(struct weights *w, const struct program *program, uint64_t size, struct why *why)
{
	struct npumem_error error = { 0 };
	void *bytes;
	int err;

	err = npumem_bo_new(w->device, size, NPUMEM_BO_SYSTEM, 0, &w->bo, &error);
	if (!err)
		err = npumem_bo_map(w->bo, &bytes, &error);
	if (err)
		return fail(why, err, &error);
	for (uint32_t t = 0; t < w->tensor_count; t++)
		if (w->offsets[t] != UINT64_MAX)
			memcpy((char *)bytes + w->offsets[t], program->bytes[t],
			       program->graph->tensors[t].size);
	return share(w, size, why);
}

int weights_new(struct npumem_device *device, const struct program *program, struct weights **out,
		struct why *why)
{
	struct weights *w = calloc(1, sizeof(*w));
	uint64_t size;
	int err = 0;

	*out = NULL;
	if (w) {
		w->device = device;
		w->tensor_count = program->graph->tensor_count;
		w->offsets = calloc((size_t)w->tensor_count + 1, sizeof(*w->offsets));
	}
	if (!w || !w->offsets) {
		free(w);
		return why_fail(why, -ENOMEM, "out of memory");
	}
	size = lay_out(program, w->offsets);
	pthread_mutex_lock(&lock);
	if (size && find(w, program, size))
		err = make(w, program, size, why);
	pthread_mutex_unlock(&lock);
	if (err || !size) {
		weights_free(w);
		return err;
	}
	*out = w;
	return 0;
}

/* The last one closes the dma-buf. */
static void leave(struct weights *w)
{
	struct shared *shared = w->shared, **at = &all;
	struct weights **user = &shared->users;

	while (*user != w)
		user = &(*user)->next;
	*user = w->next;
	if (shared->users)
		return;
	while (*at != shared)
		at = &(*at)->next;
	*at = shared->next;
	close(shared->fd);
	free(shared->device);
	free(shared);
}

void weights_free(struct weights *weights)
{
	if (!weights)
		return;
	pthread_mutex_lock(&lock);
	if (weights->shared)
		leave(weights);
	pthread_mutex_unlock(&lock);
	npumem_bo_free(weights->bo);
	free(weights->offsets);
	free(weights);
}

int weights_bind(const struct weights *weights, struct npumem_run *run, struct why *why)
{
	struct npumem_error error = { 0 };
	int err = 0;

	for (uint32_t t = 0; t < weights->tensor_count && !err; t++)
		if (weights->offsets[t] != UINT64_MAX)
			err = npumem_run_bind(run, t, weights->bo, weights->offsets[t], &error);
	return err ? fail(why, err, &error) : 0;
}
