/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The verifier's surroundings: types, memory and interruption. This is the only file here
 * that knows whether it is built into the driver or into libnpuplan.
 */
#ifndef NPUMEM_VERIFY_ENV_H
#define NPUMEM_VERIFY_ENV_H

#ifdef __KERNEL__

#include <linux/bits.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <linux/types.h>

#ifdef __BIG_ENDIAN
#error "blobs are little-endian and read as they are"
#endif

/* Bytes before each array, which hold its size, since kvmalloc() does not tell it. */
#define NPUV_ALLOC_HEADER 16

/*
 * Allocate a zeroed array, charged to the caller's cgroup; NULL if there is no memory. The
 * size comes from a user: there is no warning for one that kvmalloc() never gives, and no
 * process is killed to make room for it.
 */
static inline void *npuv_alloc_array(u64 count, size_t size)
{
	size_t bytes;
	u8 *p;

	if (check_mul_overflow(count, (u64)size, &bytes) || bytes > INT_MAX - NPUV_ALLOC_HEADER)
		return NULL;
	bytes += NPUV_ALLOC_HEADER;
	p = kvzalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!p)
		return NULL;
	*(u64 *)p = bytes;
	return p + NPUV_ALLOC_HEADER;
}

static inline void npuv_free(void *p)
{
	if (p)
		kvfree((u8 *)p - NPUV_ALLOC_HEADER);
}

/* Bytes of memory that an array takes, or 0 for NULL. */
static inline u64 npuv_allocated(const void *p)
{
	return p ? *(const u64 *)((const u8 *)p - NPUV_ALLOC_HEADER) : 0;
}

/*
 * Whether to give up: -EINTR or 0. Called every few thousand units of work. Only a fatal
 * signal interrupts: a periodic one must not keep a long verification from ever ending.
 */
static inline int npuv_interrupted(void)
{
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

static inline u32 npuv_lowest_bit(u64 word)
{
	return (u32)__ffs64(word);
}

static inline u32 npuv_highest_bit(u64 word)
{
	return (u32)fls64(word) - 1;
}

#else /* !__KERNEL__ */

#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "blobs are little-endian and read as they are"
#endif

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64; /* unsigned long long, as in the kernel: %llu prints it */

#ifndef __printf
#define __printf(fmt, args) __attribute__((format(printf, fmt, args)))
#endif
#ifndef U32_MAX
#define U32_MAX ((u32)~0u)
#endif
#ifndef static_assert
#define static_assert(expr) _Static_assert(expr, #expr)
#endif

#define check_add_overflow(a, b, out) __builtin_add_overflow(a, b, out)
#define check_mul_overflow(a, b, out) __builtin_mul_overflow(a, b, out)

/* Allocate a zeroed array; NULL if there is no memory. It has the kernel's limit of size, too. */
static inline void *npuv_alloc_array(u64 count, size_t size)
{
	size_t bytes;

	if (check_mul_overflow(count, size, &bytes) || bytes > INT_MAX)
		return NULL;
	return calloc(bytes ? bytes : 1, 1);
}

static inline void npuv_free(void *p)
{
	free(p);
}

static inline u64 npuv_allocated(const void *p)
{
	return malloc_usable_size((void *)(uintptr_t)p);
}

/* A library is not interrupted. Tests define NPUV_INTERRUPTED to a function of their own. */
#ifdef NPUV_INTERRUPTED
int NPUV_INTERRUPTED(void);
#define npuv_interrupted() NPUV_INTERRUPTED()
#else
static inline int npuv_interrupted(void)
{
	return 0;
}
#endif

static inline u32 npuv_lowest_bit(u64 word)
{
	return (u32)__builtin_ctzll(word);
}

static inline u32 npuv_highest_bit(u64 word)
{
	return 63u - (u32)__builtin_clzll(word);
}

#endif /* __KERNEL__ */

#endif /* NPUMEM_VERIFY_ENV_H */
