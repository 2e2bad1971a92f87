/* SPDX-License-Identifier: MIT */
/*
 * Inputs of the model that lie in a dma-buf: of a camera, or of another process. No byte of
 * them is copied; the kernels read where whoever fills it has written.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "why.h"

/* What kernels rely on, as of all tensors. */
#define BOUND_ALIGNMENT 64

/*
 * struct bound - an input of the model, and what it is bound to
 * @index: of the tensor in the model
 * @number: of the tensor in the graph
 * @bytes: its size
 * @fd: the dma-buf, a descriptor of one's own; -1: bound to nothing
 * @map, @map_size: its pages, read-only
 * @address: of the tensor's first byte; NULL: bound to nothing
 */
struct bound {
	int index;
	uint32_t number;
	uint64_t bytes;
	int fd;
	void *map;
	size_t map_size;
	void *address;
};

/*
 * bound_map() - map a dma-buf for an input that is bound to nothing
 * @dma_buf: stays the caller's
 * @offset: of the tensor's first byte in it
 *
 * -EINVAL: @offset is no multiple of BOUND_ALIGNMENT; -ERANGE: the dma-buf ends before the tensor
 * does; -EBADF: no descriptor that has a size; what mmap() says. Nothing is bound then.
 */
int bound_map(struct bound *bound, int dma_buf, uint64_t offset, struct why *why);
/* Bind it to nothing. */
void bound_unmap(struct bound *bound);

/*
 * The kernels begin, or have ended, reading: who fills the dma-buf is waited for, and caches are
 * seen to. A descriptor that is no dma-buf has none of that. The errno of what failed.
 */
int bound_begin(const struct bound *bound, struct why *why);
int bound_end(const struct bound *bound, struct why *why);
