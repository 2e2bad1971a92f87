/* SPDX-License-Identifier: MIT */
/*
 * Structs whose size the caller says, so that a program and a library of different versions
 * understand each other. The rule is that of the kernel's copy_struct_from_user(): what the
 * shorter side does not have counts as zero, and zero means what was before.
 *
 * Header only; used by libnpumem, libnpuplan and libnpuimport.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/**
 * sized_take() - make the library's own copy of a struct that a caller gave
 * @own: out: @own_size bytes, as this version of the library has the struct
 * @own_size: see @own
 * @given: the caller's, of @size bytes; NULL counts as all zero
 * @size: see @given
 *
 * False: the caller is newer, and asks for what this version does not know.
 */
static inline bool sized_take(void *own, size_t own_size, const void *given, size_t size)
{
	const unsigned char *bytes = given;

	memset(own, 0, own_size);
	if (!given)
		return true;
	memcpy(own, given, size < own_size ? size : own_size);
	for (size_t i = own_size; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/**
 * sized_give() - fill a caller's struct from the library's own
 * @theirs: out: @size bytes, as the caller's header has the struct
 * @size: see @theirs
 * @own: the library's, of @own_size bytes
 * @own_size: see @own
 */
static inline void sized_give(void *theirs, size_t size, const void *own, size_t own_size)
{
	memset(theirs, 0, size);
	memcpy(theirs, own, size < own_size ? size : own_size);
}
