/* SPDX-License-Identifier: MIT */
/* What a plan request asks for beyond its ioctl's fields, as the daemon reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "npumem.h"

/* Whether a request has the daemon make another graph. */
bool npumem_options_cut(const struct npumem_request *request);

/*
 * npumem_options_write() - options of a request (npumem_options.h)
 * @out: out: free() it; NULL if there is nothing to say
 * @size: out: bytes at @out
 *
 * -EINVAL: a factor that is none; -E2BIG: more than the driver takes; -ENOMEM.
 */
int npumem_options_write(const struct npumem_request *request, void **out, size_t *size,
			 struct npumem_error *error);
