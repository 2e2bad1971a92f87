/* SPDX-License-Identifier: MIT */
/* How many bytes of an address space are in at least one range, while ranges come and go. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * struct cover - a binary tree over addresses
 * @at: @count boundaries, ascending; leaf i is the bytes from at[i] to at[i + 1]
 * @ranges: per node, ranges that take all of it, but not of the node above
 * @bytes: per node, bytes that are in a range
 * @leaves: a power of two
 */
struct cover {
	uint64_t *at;
	uint32_t *ranges;
	uint64_t *bytes;
	uint32_t count;
	uint32_t leaves;
};

/* cover_init() - without any range yet
 * @at: where ranges may begin and end, @count of them in any order, one more than once,
 *	too; cover_fini() frees it, whatever this returns. NULL: out of memory
 *
 * 0 or -ENOMEM.
 */
int cover_init(struct cover *cover, uint64_t *at, size_t count);
void cover_fini(struct cover *cover);

/* One more range of [@begin, @end), or one less. */
void cover_add(struct cover *cover, uint64_t begin, uint64_t end);
void cover_remove(struct cover *cover, uint64_t begin, uint64_t end);

/* Bytes in at least one. */
uint64_t cover_bytes(const struct cover *cover);
