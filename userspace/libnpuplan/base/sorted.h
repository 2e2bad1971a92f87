/* SPDX-License-Identifier: MIT */
/* Putting things in order, and finding them in what is in order. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* -1, 0 or 1, for two numbers of any type. */
#define npuplan_compare(A, B) (((A) > (B)) - ((A) < (B)))

/*
 * For NPUPLAN_ORDER(), whose function names the two elements a and b. NPUPLAN_BY_3(x, y, z) is
 * a chain that ends at the first member that differs:
 *
 *	npuplan_compare(a->x, b->x) ?: npuplan_compare(a->y, b->y) ?: npuplan_compare(a->z, b->z)
 *
 * NPUPLAN_BY_COUNT() picks the macro for as many members as there are. In front of the numbers
 * 6 to 1, each member moves them on by one place, so that N becomes the count of members; the
 * empty argument at the end is there because the dots have to stand for one.
 */
#define NPUPLAN_BY_1(F)	     npuplan_compare(a->F, b->F)
#define NPUPLAN_BY_2(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_1(__VA_ARGS__)
#define NPUPLAN_BY_3(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_2(__VA_ARGS__)
#define NPUPLAN_BY_4(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_3(__VA_ARGS__)
#define NPUPLAN_BY_5(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_4(__VA_ARGS__)
#define NPUPLAN_BY_6(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_5(__VA_ARGS__)

#define NPUPLAN_BY_COUNT(A, B, C, D, E, F, N, ...) NPUPLAN_BY_##N

/* NPUPLAN_ORDER() - define a comparator for qsort()
 * @NAME: what it is called
 * @TYPE: of the elements
 * @...: up to six of its members: what counts first comes first, and lower before higher
 */
#define NPUPLAN_ORDER(NAME, TYPE, ...)                                                 \
	static int NAME(const void *left, const void *right)                           \
	{                                                                              \
		const TYPE *a = left, *b = right;                                      \
                                                                                       \
		return NPUPLAN_BY_COUNT(__VA_ARGS__, 6, 5, 4, 3, 2, 1, )(__VA_ARGS__); \
	}

/**
 * struct npuplan_keyed - an item, and what it is put in order by
 * @key: what counts first; greatest first is the order of ~key
 * @second: what counts among those of the same @key
 * @third: then this
 * @item: then the lower one comes first
 */
struct npuplan_keyed {
	unsigned __int128 key;
	uint64_t second;
	uint32_t third;
	uint32_t item;
};

/** npuplan_sort_keyed() - put @count items in ascending order of their keys */
void npuplan_sort_keyed(struct npuplan_keyed *keyed, size_t count);

/** npuplan_sort_items() - the same; @items: out: @count of them in that order */
void npuplan_sort_items(struct npuplan_keyed *keyed, uint32_t count, uint32_t *items);

/** npuplan_sort_once() - put numbers in ascending order, each once; returns how many are left */
uint32_t npuplan_sort_once(uint64_t *numbers, uint32_t count);
/** npuplan_sort_once32() - the same for numbers of 32 bits */
uint32_t npuplan_sort_once32(uint32_t *numbers, uint32_t count);

/* npuplan_bisect() - number of the first that does not come before what is looked for
 * @AT: name of a variable for @BEFORE: the number of the one at hand
 * @LOW, @HIGH: looked at are those of [@LOW, @HIGH); @HIGH: all of them come before
 * @BEFORE: true of all up to some number, and of none from there on
 */
#define npuplan_bisect(AT, LOW, HIGH, BEFORE)                  \
	({                                                     \
		size_t low_ = (LOW), high_ = (HIGH);           \
                                                               \
		while (low_ < high_) {                         \
			size_t AT = low_ + (high_ - low_) / 2; \
                                                               \
			if (BEFORE)                            \
				low_ = AT + 1;                 \
			else                                   \
				high_ = AT;                    \
		}                                              \
		low_;                                          \
	})

/* npuplan_counting_sort() - numbers of records by a 32-bit key of each, in order where it is equal
 * @records: @count of them, of @size bytes
 * @key_offset: where a record has its key; a record whose key is @keys or more is passed over
 * @first: @keys + 2 zeros; out: of key k sorted[first[k] .. first[k + 1])
 * @sorted: out: room for @count numbers
 */
void npuplan_counting_sort(const void *records, uint32_t count, size_t size, size_t key_offset,
			   uint32_t keys, uint32_t *first, uint32_t *sorted);
