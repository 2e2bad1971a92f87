/* SPDX-License-Identifier: MIT */
/* Addresses that are multiples of something. */
#pragma once

#include <stdint.h>

/* npuplan_align_up() - the first multiple of @align, a power of two, from @address on */
static inline uint64_t npuplan_align_up(uint64_t address, uint64_t align)
{
	return (address + align - 1) & -align;
}
