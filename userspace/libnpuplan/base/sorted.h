/* SPDX-License-Identifier: MIT */
/* Sorting, and searching in what is sorted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Compare two numbers of any type: -1 if the first is less, 0 if they are equal, 1 if it is
 * greater.
 */
#define npuplan_compare(A, B) (((A) > (B)) - ((A) < (B)))

/*
 * What NPUPLAN_ORDER() expands to. Its function has the two elements in a and b, and for the
 * members x, y and z it returns NPUPLAN_BY_3(x, y, z), a chain that ends at the first member that
 * differs:
 *
 *	npuplan_compare(a->x, b->x) ?: npuplan_compare(a->y, b->y) ?: npuplan_compare(a->z, b->z)
 *
 * NPUPLAN_BY_COUNT() picks the macro with that 3: the members stand before the numbers 6 to 1, so
 * each of them moves the numbers on by one place, and N, the seventh argument, becomes the number
 * of members. The 0 behind the numbers is never picked. It is there for the dots, which have to
 * stand for at least one argument, also when there are six members.
 */
#define NPUPLAN_BY_1(F)	     npuplan_compare(a->F, b->F)
#define NPUPLAN_BY_2(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_1(__VA_ARGS__)
#define NPUPLAN_BY_3(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_2(__VA_ARGS__)
#define NPUPLAN_BY_4(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_3(__VA_ARGS__)
#define NPUPLAN_BY_5(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_4(__VA_ARGS__)
#define NPUPLAN_BY_6(F, ...) NPUPLAN_BY_1(F) ?: NPUPLAN_BY_5(__VA_ARGS__)

#define NPUPLAN_BY_COUNT(A, B, C, D, E, F, N, ...) NPUPLAN_BY_##N

/* NPUPLAN_ORDER() - define a comparator for qsort()
 * @NAME: its name
 * @TYPE: type of the elements
 * @...: up to six members of @TYPE by which elements are ordered, ascending: by the first one,
 *	where that is equal by the second one, and so on
 */
#define NPUPLAN_ORDER(NAME, TYPE, ...)                                                  \
	static int NAME(const void *left, const void *right)                            \
	{                                                                               \
		const TYPE *a = left, *b = right;                                       \
                                                                                        \
		return NPUPLAN_BY_COUNT(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)(__VA_ARGS__); \
	}

/**
 * struct npuplan_keyed - an item and the keys that it is sorted by, ascending
 * @key: key that decides first; ~key sorts the greatest first
 * @second: key that decides between those of the same @key
 * @third: key that decides between those of the same @key and @second
 * @item: number of the item, which decides last
 */
struct npuplan_keyed {
	unsigned __int128 key;
	uint64_t second;
	uint32_t third;
	uint32_t item;
};

/** npuplan_sort_keyed() - put @count items in ascending order of their keys */
void npuplan_sort_keyed(struct npuplan_keyed *keyed, size_t count);

/** npuplan_sort_items() - sort likewise, and list the @count items in that order, in @items */
void npuplan_sort_items(struct npuplan_keyed *keyed, uint32_t count, uint32_t *items);

/** npuplan_sort_once() - put numbers in ascending order, each once; returns how many are left */
uint32_t npuplan_sort_once(uint64_t *numbers, uint32_t count);
/** npuplan_sort_once32() - the same for numbers of 32 bits */
uint32_t npuplan_sort_once32(uint32_t *numbers, uint32_t count);

/* npuplan_bisect() - binary search for the first number in [@LOW, @HIGH) of which @BEFORE is false
 * @AT: name of a variable, for @BEFORE: the number that is asked about
 * @LOW, @HIGH: the range to search; the result is @HIGH if @BEFORE is true of all numbers in it
 * @BEFORE: expression that is true of all numbers below some number, and false from there on
 *
 * The verifier has npuv_bisect() of its own: it is compiled into the driver, which sees no header
 * of userspace.
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

/* npuplan_counting_sort() - list the numbers of records by a 32-bit key; equal keys keep their
 * order
 * @records: array of @count records of @size bytes
 * @key_offset: offset of the key in a record; a record whose key is @keys or more is not listed
 * @first: @keys + 2 zeros; out: the records of key k are sorted[first[k] .. first[k + 1])
 * @sorted: out: the numbers of the records; has room for @count
 */
void npuplan_counting_sort(const void *records, uint32_t count, size_t size, size_t key_offset,
			   uint32_t keys, uint32_t *first, uint32_t *sorted);
