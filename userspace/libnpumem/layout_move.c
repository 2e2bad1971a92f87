// SPDX-License-Identifier: MIT
/* Inputs written by the CPU where an inference expects them, outputs read where it left them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"

int npumem_run_map(struct npumem_run *run, struct npumem_bo *host, struct npumem_maps *maps,
		   struct npumem_error *error)
{
	struct npumem_maps found = { 0 };
	int err;

	if (!run || !maps)
		return npumem_fail(error, -EINVAL, "npumem_run_map: NULL argument");
	err = npumem_bo_map(npumem_run_arena(run), &found.arena, error);
	if (!err && host)
		err = npumem_bo_map(host, &found.host, error);
	if (!err)
		*maps = found;
	return err;
}

static int check_bytes(const struct npumem_layout *l, uint32_t tensor, size_t size,
		       struct npumem_error *error)
{
	if (tensor >= l->tensor_count)
		return npumem_fail(error, -ENOENT, "the graph has no tensor %u", tensor);
	if (size != l->tensors[tensor].size)
		return npumem_fail(error, -EINVAL, "tensor %u has %llu bytes, %zu were given",
				   tensor, (unsigned long long)l->tensors[tensor].size, size);
	if (l->tensors[layout_base(l, tensor)].flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
		return npumem_fail(error, -EOPNOTSUPP,
				   "tensor %u is external: its bytes are where it is bound",
				   tensor);
	return 0;
}

static int check_maps(const struct npumem_range *ranges, uint32_t count,
		      const struct npumem_maps *maps, struct npumem_error *error)
{
	for (uint32_t i = 0; i < count; i++)
		if (!npumem_range_address(&ranges[i], maps))
			return npumem_fail(error, -EINVAL,
					   "tensor %u lies in %s, which is not mapped",
					   ranges[i].tensor,
					   ranges[i].memory == NPUMEM_MEMORY_ARENA ? "the arena" :
										     "host memory");
	return 0;
}

int npumem_layout_write(const struct npumem_layout *layout, uint32_t tensor,
			const struct npumem_maps *maps, const void *data, size_t size,
			struct npumem_error *error)
{
	struct npumem_range *ranges;
	uint32_t count;
	int err;

	if (!layout || !maps || !data)
		return npumem_fail(error, -EINVAL, "npumem_layout_write: NULL argument");
	err = check_bytes(layout, tensor, size, error);
	if (!err)
		err = npumem_layout_entry(layout, 0, tensor, &ranges, &count, error);
	if (err)
		return err;
	err = check_maps(ranges, count, maps, error);
	for (uint32_t i = 0; !err && i < count; i++)
		memcpy(npumem_range_address(&ranges[i], maps), (const char *)data + ranges[i].first,
		       ranges[i].length);
	free(ranges);
	return err;
}

int npumem_layout_read(const struct npumem_layout *layout, uint32_t block, uint32_t tensor,
		       const struct npumem_maps *maps, void *data, size_t size,
		       struct npumem_error *error)
{
	struct npumem_range *ranges;
	uint64_t known = 0;
	uint32_t count;
	int err;

	if (!layout || !maps || !data)
		return npumem_fail(error, -EINVAL, "npumem_layout_read: NULL argument");
	err = check_bytes(layout, tensor, size, error);
	if (!err)
		err = npumem_layout_exit(layout, block, tensor, &ranges, &count, error);
	if (err)
		return err;
	err = check_maps(ranges, count, maps, error);
	for (uint32_t i = 0; i < count && known == ranges[i].first; i++)
		known += ranges[i].length;
	if (!err && known != size)
		err = npumem_fail(error, -ENOENT,
				  "byte %llu of tensor %u is nowhere at the end of block %u",
				  (unsigned long long)known, tensor, block);
	for (uint32_t i = 0; !err && i < count; i++)
		memcpy((char *)data + ranges[i].first, npumem_range_address(&ranges[i], maps),
		       ranges[i].length);
	free(ranges);
	return err;
}
