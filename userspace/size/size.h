/* SPDX-License-Identifier: MIT */
/* Numbers of bytes as people write them: on command lines and in npumemd.conf. */
#pragma once

#include <stdint.h>

/*
 * npusize_parse() - "4096", "64KiB", "1.5 MiB", "16M", "1.5MB"
 * @bytes: out: how many; left alone if it fails
 *
 * KiB, MiB, GiB and TiB, and K, M, G and T alone, are powers of 2^10; kB, MB, GB and TB
 * those of 10^3. Capitals are as good as small letters. A fraction must make whole bytes.
 *
 * -EINVAL: no number of bytes; -EDOM: a fraction that makes no whole ones; -ERANGE: more than 64
 * bits.
 */
int npusize_parse(const char *text, uint64_t *bytes);
