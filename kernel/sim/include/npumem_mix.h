/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * NPUMEM_SIM_MIX: the test operator of engine "sim".
 *
 * It reads every byte of a step's read and update tiles, in the order of the
 * step's accesses and each in linear index order, into one 64-bit digest, and
 * writes every byte of its write and update tiles as a function of that digest,
 * the access's number and the byte's linear index. So any byte clobbered
 * anywhere changes all that is computed from it. The same code serves the
 * engine and the reference computed without memory reuse.
 */
#ifndef NPUMEM_MIX_H
#define NPUMEM_MIX_H

#include <linux/types.h>

#define NPUMEM_MIX_PRIME 0x9e3779b97f4a7c15ull

static inline __u64 npumem_mix_scramble(__u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* Digest before the first byte; @step is the step's index in the graph. */
static inline __u64 npumem_mix_begin(__u64 key, __u32 step)
{
	return npumem_mix_scramble(key ^ ((__u64)step * NPUMEM_MIX_PRIME));
}

/* Begin a read access, @access being its number within the step; returns the new digest. */
static inline __u64 npumem_mix_access(__u64 digest, __u32 access)
{
	return npumem_mix_scramble(digest + access + 1);
}

/* Take one byte of a read access into the digest. */
static inline __u64 npumem_mix_read(__u64 digest, __u8 byte)
{
	return (digest ^ byte) * 0x100000001b3ull;
}

/*
 * Eight bytes that a write access writes. The linear index of the first is 8 * @word; byte
 * i of them is (result >> (8 * i)) & 0xff.
 */
static inline __u64 npumem_mix_write(__u64 digest, __u32 access, __u64 word)
{
	return npumem_mix_scramble(digest ^ ((word << 16 | access) * NPUMEM_MIX_PRIME));
}

#endif /* NPUMEM_MIX_H */
