/* SPDX-License-Identifier: MIT */
/*
 * Priority queues: binary heaps in arrays that their users own and grow. A search takes most of
 * its time from these, so they are written for the type of their entries.
 */
#pragma once

#include <stddef.h>

/* NPUPLAN_QUEUE() - define two functions for queues of one kind
 * @NAME: what they are called: NAME_put() and NAME_take()
 * @ENTRY: type of an entry
 * @OWNER: type of the object that @BEFORE needs to compare entries; it is handed on as a pointer
 * @BEFORE: function, bool (const OWNER *owner, const ENTRY *a, const ENTRY *b), that says whether
 *	the first is taken before the second
 *
 * NAME_put() puts an entry into a queue of @count entries, which has room for one more; NAME_take()
 * takes the first entry out of a queue of @count. The caller keeps the count.
 */
#define NPUPLAN_QUEUE(NAME, ENTRY, OWNER, BEFORE)                                            \
	static void NAME##_put(const OWNER *owner, ENTRY *queue, size_t count, ENTRY entry)  \
	{                                                                                    \
		size_t at = count;                                                           \
                                                                                             \
		for (; at && BEFORE(owner, &entry, &queue[(at - 1) / 2]); at = (at - 1) / 2) \
			queue[at] = queue[(at - 1) / 2];                                     \
		queue[at] = entry;                                                           \
	}                                                                                    \
	static ENTRY NAME##_take(const OWNER *owner, ENTRY *queue, size_t count)             \
	{                                                                                    \
		ENTRY first = queue[0], last = queue[count - 1];                             \
		size_t at = 0, child;                                                        \
                                                                                             \
		while ((child = 2 * at + 1) < count - 1) {                                   \
			if (child + 1 < count - 1 &&                                         \
			    BEFORE(owner, &queue[child + 1], &queue[child]))                 \
				child++;                                                     \
			if (!BEFORE(owner, &queue[child], &last))                            \
				break;                                                       \
			queue[at] = queue[child];                                            \
			at = child;                                                          \
		}                                                                            \
		queue[at] = last;                                                            \
		return first;                                                                \
	}
