/* SPDX-License-Identifier: MIT */
/*
 * A cover counts the bytes of an address space that are in at least one range, while ranges come
 * and go.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * struct cover - a binary tree over addresses
 * @at: @count boundaries, ascending; leaf i is the bytes from at[i] to at[i + 1]
 * @ranges: per node, number of ranges that take all of it, but not all of the node above
 * @bytes: per node, bytes of it that are in any range
 * @leaves: number of leaves, a power of two
 */
struct cover {
	uint64_t *at;
	uint32_t *ranges;
	uint64_t *bytes;
	uint32_t count;
	uint32_t leaves;
};

/* cover_init() - begin without any range
 * @at: the addresses at which ranges may begin and end, @count of them in any order, which may
 *	repeat. cover_fini() frees the array, whatever this returns. NULL: the caller is out of
 *	memory
 *
 * Returns 0 or -ENOMEM.
 */
int cover_init(struct cover *cover, uint64_t *at, size_t count);
void cover_fini(struct cover *cover);

/* Add a range [@begin, @end), or remove one. */
void cover_add(struct cover *cover, uint64_t begin, uint64_t end);
void cover_remove(struct cover *cover, uint64_t begin, uint64_t end);

/* The bytes that are in at least one range. */
uint64_t cover_bytes(const struct cover *cover);
