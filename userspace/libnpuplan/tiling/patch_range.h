/* SPDX-License-Identifier: MIT */
/* Operators that run patch by patch: which can, and what a patch needs of each. */
#pragma once

#include "base/pool.h"
#include "partition.h"

/*
 * struct npuplan_tensor_uses - who uses a tensor
 * @first_reader, @last_reader: operators; NPUMEM_NONE, 0: none
 * @writer: an operator
 * @written_twice: another one writes it, too
 * @aliased: it is the base of an alias
 * @carried: an edge hands it on
 */
struct npuplan_tensor_uses {
	uint32_t first_reader;
	uint32_t last_reader;
	uint32_t writer;
	bool written_twice;
	bool aliased;
	bool carried;
};

/* npuplan_uses_find() - who uses each tensor of a graph; NULL: out of memory */
struct npuplan_tensor_uses *npuplan_uses_find(const struct npuplan_graph *graph,
					      struct npuplan_pool *pool);

/* npuplan_check_range() - whether patches number @index of a tiling can be
 *
 * -EINVAL, naming the operator: they cannot.
 */
int npuplan_check_range(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			uint32_t index, const struct npuplan_tensor_uses *uses,
			struct npuplan_error *error);

/*
 * struct npuplan_patch_range - operators that run in patches, counted from the first one on
 * @count: number of them
 * @partitions: of each, into one tile
 * @needs: per operator, the part of its output that the patch at hand needs; without a row: none
 * @writers: per operator and input the operator that writes it, or @count: none of these does;
 *	those of operator i begin at @first_input[i]
 * @parts, @regions: per input of the operator that npuplan_patch_inputs() was asked for last, what
 *	it needs of it, as a part and as bytes
 */
struct npuplan_patch_range {
	const struct npuplan_graph *graph;
	uint32_t count;
	struct npuplan_partition *partitions;
	struct npuplan_part *needs;
	uint32_t *writers;
	uint32_t *first_input;
	struct npuplan_part *parts;
	struct npumem_region *regions;
	struct npuplan_pool pool;
};

/* npuplan_patch_range_init() - operators @first to @last of a graph; -ENOMEM
 *
 * The caller frees @pool in any case.
 */
int npuplan_patch_range_init(struct npuplan_patch_range *range, const struct npuplan_graph *graph,
			     uint32_t first, uint32_t last);

/* The operator that writes input @input of operator @op; @count: none of these. */
static inline uint32_t npuplan_patch_writer(const struct npuplan_patch_range *range, uint32_t op,
					    uint32_t input)
{
	return range->writers[range->first_input[op] + input];
}

/* Set @parts and @regions to what operator @op needs of its inputs for the patch at hand. */
void npuplan_patch_inputs(struct npuplan_patch_range *range, uint32_t op);

/*
 * npuplan_patch_needs() - find out, from the last operator to the first, what a patch needs of each
 * @patch: part of the last one's output; without columns: of whole rows, and so are all needs
 */
void npuplan_patch_needs(struct npuplan_patch_range *range, const struct npuplan_part *patch);
