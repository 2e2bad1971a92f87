/* SPDX-License-Identifier: MIT */
/* Words for what a tensor is. */
#pragma once

#include "npuplan.h"

/* kind_name() - a tensor's kind, NPUMEM_TENSOR_..., in a word; the graph has been checked */
static inline const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[NPUMEM_TENSOR_INTERMEDIATE] = "intermediate",
		[NPUMEM_TENSOR_INPUT] = "input",
		[NPUMEM_TENSOR_OUTPUT] = "output",
		[NPUMEM_TENSOR_PARAMETER] = "parameter",
		[NPUMEM_TENSOR_STATE] = "state",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "tensor";
}
