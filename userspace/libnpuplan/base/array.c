// SPDX-License-Identifier: MIT
#include "array.h"

#include <errno.h>
#include <string.h>

#include "heap.h"

/* Resize the array that @array points to, to @bytes. */
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

/* Elements that an array of so many has room for: the next power of two. */
static uint64_t room_of(uint64_t count)
{
	return count > 1 ? 1ull << (64 - __builtin_clzll(count - 1)) : count;
}

/* Make room for @more behind @count. */
static int grow(void *array, uint32_t count, size_t size, uint32_t more)
{
	uint64_t room = room_of((uint64_t)count + more);
	size_t bytes;

	if (!more || (count && room == room_of(count)))
		return 0;
	if (room > 1u << 31 || __builtin_mul_overflow(room, size, &bytes))
		return -E2BIG;
	return resize(array, bytes);
}

int npuplan_grow(void *array, uint32_t count, size_t size)
{
	return grow(array, count, size, 1);
}

int npuplan_append_sized(void *array, uint32_t *count, size_t size, const void *records,
			 uint32_t more)
{
	int err = grow(array, *count, size, more);
	char *items;

	if (err || !more)
		return err;
	memcpy(&items, array, sizeof(items));
	memcpy(items + *count * size, records, more * size);
	*count += more;
	return 0;
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
