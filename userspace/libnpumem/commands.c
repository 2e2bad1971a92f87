// SPDX-License-Identifier: MIT
/* Commands of jobs, and the relocations in them. */
#include "npumem_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../grow/grow.h"
#include "device.h"

/* Bytes that an address takes, and that everything begins at a multiple of. */
#define WORD 8

/**
 * struct npumem_commands - commands of one job
 * @bytes: the commands
 * @relocations: where addresses belong in them
 * @size: of @bytes, in use
 * @room: of @bytes
 * @count: of @relocations, in use
 */
struct npumem_commands {
	uint8_t *bytes;
	struct drm_npumem_relocation *relocations;
	size_t size;
	size_t room;
	uint32_t count;
};

struct npumem_commands *npumem_commands_new(void)
{
	return calloc(1, sizeof(struct npumem_commands));
}

void npumem_commands_free(struct npumem_commands *c)
{
	if (!c)
		return;
	free(c->bytes);
	free(c->relocations);
	free(c);
}

int64_t npumem_commands_append(struct npumem_commands *c, const void *bytes, size_t size,
			       struct npumem_error *error)
{
	size_t first, room;
	void *more;

	if (!c || !size)
		return npumem_fail(error, -EINVAL, "npumem_commands_append: NULL argument");
	first = (c->size + WORD - 1) & ~(size_t)(WORD - 1);
	if (size > UINT32_MAX - first)
		return npumem_fail(error, -E2BIG, "commands cannot have more than 4 GiB");
	if (first + size > c->room) {
		room = 2 * (first + size);
		more = realloc(c->bytes, room);
		if (!more)
			return npumem_fail_errno(error, -ENOMEM, "append to commands");
		c->bytes = more;
		c->room = room;
	}
	memset(c->bytes + c->size, 0, first - c->size);
	if (bytes)
		memcpy(c->bytes + first, bytes, size);
	else
		memset(c->bytes + first, 0, size);
	c->size = first + size;
	return (int64_t)first;
}

int npumem_commands_relocate(struct npumem_commands *c, uint64_t offset, uint32_t position,
			     uint32_t access, uint64_t delta, struct npumem_error *error)
{
	void *more;

	if (!c)
		return npumem_fail(error, -EINVAL, "npumem_commands_relocate: NULL argument");
	if (offset % WORD || offset > c->size || c->size - offset < WORD)
		return npumem_fail(error, -EINVAL,
				   "byte %llu of commands of %zu bytes does not begin 8 bytes",
				   (unsigned long long)offset, c->size);
	/* The last one first: commands are mostly made from their beginning on. */
	for (uint32_t i = c->count; i-- > 0;)
		if (c->relocations[i].offset == offset)
			return npumem_fail(error, -EINVAL,
					   "byte %llu of the commands has a relocation",
					   (unsigned long long)offset);
	more = grow_by_one(c->relocations, c->count, sizeof(*c->relocations));
	if (!more)
		return npumem_fail_errno(error, -ENOMEM, "relocate commands");
	c->relocations = more;
	c->relocations[c->count++] = (struct drm_npumem_relocation){
		.offset = (uint32_t)offset,
		.position = position,
		.access = access,
		.delta = delta,
	};
	return 0;
}

int npumem_commands_relocate_tensor(struct npumem_commands *c, uint64_t offset,
				    const struct npumem_layout *layout, uint32_t first,
				    uint32_t position, uint32_t tensor, uint64_t byte,
				    uint32_t mode, struct npumem_error *error)
{
	uint32_t access;
	uint64_t delta;
	int err;

	if (position < first)
		return npumem_fail(error, -EINVAL, "position %u is before the job's first, %u",
				   position, first);
	err = npumem_layout_find_access(layout, position, tensor, byte, mode, &access, &delta,
					error);
	return err ? err :
		     npumem_commands_relocate(c, offset, position - first, access, delta, error);
}

struct drm_npumem_job npumem_commands_job(const struct npumem_commands *c, uint32_t engine,
					  uint32_t first, uint32_t count)
{
	struct drm_npumem_job job =
		npumem_job_positions(engine, first, count, c->size ? c->bytes : NULL, c->size);

	if (!c->count)
		return job;
	job.relocations.ptr = (uintptr_t)c->relocations;
	job.relocations.stride = sizeof(*c->relocations);
	job.relocations.count = c->count;
	return job;
}
