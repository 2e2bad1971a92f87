// SPDX-License-Identifier: MIT
#include "array.h"

#include <errno.h>
#include <string.h>

#include "heap.h"

/* Make the array as large as @bytes. */
static int resize(void *array, size_t bytes)
{
	void *items, *grown;

	memcpy(&items, array, sizeof(items));
	grown = npuplan_realloc(items, bytes);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	return 0;
}

int npuplan_grow(void *array, uint32_t count, size_t size)
{
	size_t bytes;

	if (count & (count - 1))
		return 0;
	if (count >= 1u << 31 ||
	    __builtin_mul_overflow(count ? 2 * (size_t)count : 1, size, &bytes))
		return -E2BIG;
	return resize(array, bytes);
}

int npuplan_append_sized(void *array, uint32_t *count, size_t size, const void *records,
			 uint32_t more)
{
	int err = 0;
	char *items;

	for (uint32_t i = 0; i < more && !err; i++) {
		err = npuplan_grow(array, *count + i, size);
		memcpy(&items, array, sizeof(items));
		if (!err)
			memcpy(items + (*count + i) * size, (const char *)records + i * size, size);
	}
	*count += err ? 0 : more;
	return err;
}

int npuplan_reserve(void *array, uint32_t *capacity, size_t count, size_t size)
{
	size_t bytes;
	int err;

	if (count <= *capacity)
		return 0;
	if (count > UINT32_MAX / 2 || __builtin_mul_overflow(2 * count, size, &bytes))
		return -ENOMEM;
	err = resize(array, bytes);
	if (!err)
		*capacity = 2 * count;
	return err;
}
