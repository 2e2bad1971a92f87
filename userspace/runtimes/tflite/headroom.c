// SPDX-License-Identifier: MIT
/*
 * Kernels that add tensors when they are prepared keep pointers to others meanwhile. The runtime
 * sees to it that its vector of tensors has room for as many as a kernel may add, but nobody else
 * can ask it for that. Whoever adds tensors one by one sees the vector move, and knows that it has
 * room for twice as many then: that is how both C++ libraries grow one.
 */
#include <errno.h>

#include "delegate.h"

/* The runtime's own promise to kernels. */
#define HEADROOM 16
/* Room that the runtime reserves at first, beyond which the vector grows by itself. */
#define RESERVED 4096

int headroom_ensure(struct delegate *d, struct tfl_context *context, struct why *why)
{
	size_t limit = 2 * context->tensors_size + RESERVED;

	while (d->capacity < context->tensors_size + HEADROOM) {
		const struct tfl_tensor *before = context->tensors;
		size_t size = context->tensors_size;
		int first;

		if (size > limit || !context->add_tensors ||
		    context->add_tensors(context, 1, &first) != TFL_OK)
			return why_fail(why, -EINVAL,
					"the runtime's tensors do not grow as those of known "
					"versions do");
		if (context->tensors != before)
			d->capacity = 2 * size;
	}
	return 0;
}
