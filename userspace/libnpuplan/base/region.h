/* SPDX-License-Identifier: MIT */
/*
 * Bytes of tensors: of which tensor the bytes of an alias are, and whether those of an output are
 * its inputs'; chunks.h has how many a region has. The importer has this header, too.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "../../chunks/chunks.h"
#include "npuplan.h"

/** npuplan_base_offset() - where a tensor begins in its base (npuplan_base_of()), in bytes */
static inline uint64_t npuplan_base_offset(const struct npuplan_tensor *tensor)
{
	return tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS ? tensor->alias_offset : 0;
}

/*
 * npuplan_base_of() - base of a tensor: the one that has its bytes, which is itself unless it is an
 * alias
 */
static inline uint32_t npuplan_base_of(const struct npuplan_graph *graph, uint32_t tensor)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];

	return t->flags & NPUMEM_TENSOR_FLAG_ALIAS ? t->alias_of : tensor;
}

/** npuplan_is_concat() - whether an operator's output is its inputs one after another */
static inline bool npuplan_is_concat(const struct npuplan_op *op)
{
	return !strcmp(op->type, "cat") || !strcmp(op->type, "concat");
}

/** npuplan_is_slice() - whether an operator's output is a part of its input */
static inline bool npuplan_is_slice(const struct npuplan_op *op)
{
	return !strcmp(op->type, "slice") || !strcmp(op->type, "strided_slice");
}

/** npuplan_set_slice() - say of a slice that it begins with element @first along @axis */
static inline void npuplan_set_slice(struct npuplan_attrs *attrs, uint32_t axis, int64_t first)
{
	attrs->axis = (int32_t)axis;
	attrs->stride[0] = 1;
	attrs->pad_begin[0] = (int32_t)-first;
}

/** npuplan_slice_first() - the element that a slice begins with; -1: it is not known */
static inline int64_t npuplan_slice_first(const struct npuplan_attrs *attrs)
{
	return attrs->axis >= 0 && attrs->stride[0] == 1 ? -(int64_t)attrs->pad_begin[0] : -1;
}

/** npuplan_is_split() - whether an operator's outputs, one after another, are its input */
static inline bool npuplan_is_split(const struct npuplan_op *op)
{
	return !strcmp(op->type, "split") || !strcmp(op->type, "split_v");
}
