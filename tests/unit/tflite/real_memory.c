// SPDX-License-Identifier: MIT
/*
 * A machine without memory: of what the delegate, and the libraries that it uses, allocate and map,
 * the n-th fails, or the n-th and all after it. What the runtime allocates does not: it ends the
 * program by itself where there is none.
 *
 * usage: real_memory RUNTIME DELEGATE STRIDE MODEL... [-- KEY=VALUE...]
 *
 * For each model and each n, from 1 on in steps of STRIDE, as far as there are allocations, a
 * process makes a delegate and an interpreter, runs two inferences, and then, with memory again,
 * two more, and the same anew. Nothing may crash or hang; each inference fails, or computes what it
 * does where there is memory; what is made anew does not fail; in the end the delegate has freed
 * what it has allocated. Prints a line for each attempt where that is not so. Exit 1: there was
 * one.
 */
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tflite/real_child.h"
#include "tflite/real_plugin.h"

#define INFERENCES 2
#define RANGES	   64
#define BLOCKS	   (1u << 16)
#define PUBLIC	   __attribute__((visibility("default")))

/* ------------------------------------------------------------------- allocations */

/* struct range - where code of a library lies; @ours: of the delegate or of npumem's libraries */
struct range {
	uintptr_t first, end;
	bool ours;
};

/*
 * struct heap - what is to fail
 * @ranges: libraries whose allocations count, @range_count
 * @armed: they do now
 * @count: of them so far
 * @nth: the one that fails; 0: none
 * @rest: all after it do, too
 * @blocks: what is allocated by npumem's own; @lost: there was no room to note one
 */
static struct {
	struct range ranges[RANGES];
	size_t range_count;
	bool armed;
	uint64_t count, nth;
	bool rest;
	void *blocks[BLOCKS];
	bool lost;
} heap;

/* They stand before the C library's. */
PUBLIC void *own_malloc(size_t size) __asm__("malloc");
PUBLIC void *own_calloc(size_t count, size_t size) __asm__("calloc");
PUBLIC void *own_realloc(void *block, size_t size) __asm__("realloc");
PUBLIC void *own_aligned_alloc(size_t alignment, size_t size) __asm__("aligned_alloc");
PUBLIC void own_free(void *block) __asm__("free");
PUBLIC void *own_mmap(void *address, size_t length, int protection, int flags, int fd,
		      off_t offset) __asm__("mmap");

/* The next library's. */
#define NEXT(function)                       \
	static __typeof__(&(function)) next; \
	if (!next)                           \
		*(void **)&next = dlsym(RTLD_NEXT, #function);

static const struct range *find_range(const void *caller)
{
	for (size_t i = 0; i < heap.range_count; i++)
		if ((uintptr_t)caller >= heap.ranges[i].first &&
		    (uintptr_t)caller < heap.ranges[i].end)
			return &heap.ranges[i];
	return NULL;
}

static bool fails(const void *caller)
{
	if (!heap.armed || !find_range(caller))
		return false;
	heap.count++;
	if (!heap.nth || heap.count < heap.nth || (!heap.rest && heap.count > heap.nth))
		return false;
	errno = ENOMEM;
	return true;
}

static size_t slot_of(const void *block)
{
	return (size_t)(((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 48) % BLOCKS;
}

static void *note(void *block, const void *caller)
{
	const struct range *range = find_range(caller);
	size_t slot = slot_of(block), i;

	if (!block || !range || !range->ours)
		return block;
	for (i = 0; i < BLOCKS && heap.blocks[slot]; i++)
		slot = (slot + 1) % BLOCKS;
	if (i == BLOCKS)
		heap.lost = true;
	else
		heap.blocks[slot] = block;
	return block;
}

/* What is behind a slot that becomes empty would not be found any more: it moves. */
static void forget(const void *block)
{
	size_t slot = slot_of(block);

	if (!block)
		return;
	while (heap.blocks[slot] && heap.blocks[slot] != block)
		slot = (slot + 1) % BLOCKS;
	if (!heap.blocks[slot])
		return;
	heap.blocks[slot] = NULL;
	for (slot = (slot + 1) % BLOCKS; heap.blocks[slot]; slot = (slot + 1) % BLOCKS) {
		void *moved = heap.blocks[slot];
		size_t to = slot_of(moved);

		heap.blocks[slot] = NULL;
		while (heap.blocks[to])
			to = (to + 1) % BLOCKS;
		heap.blocks[to] = moved;
	}
}

static size_t count_blocks(void)
{
	size_t count = 0;

	for (size_t i = 0; i < BLOCKS; i++)
		count += heap.blocks[i] != NULL;
	return count;
}

void *own_malloc(size_t size)
{
	NEXT(malloc)
	return fails(__builtin_return_address(0)) ? NULL :
						    note(next(size), __builtin_return_address(0));
}

void *own_calloc(size_t count, size_t size)
{
	NEXT(calloc)
	return fails(__builtin_return_address(0)) ?
		       NULL :
		       note(next(count, size), __builtin_return_address(0));
}

void *own_realloc(void *block, size_t size)
{
	void *moved;

	NEXT(realloc)
	if (fails(__builtin_return_address(0)))
		return NULL;
	moved = next(block, size);
	if (moved || !size)
		forget(block);
	return note(moved, __builtin_return_address(0));
}

void *own_aligned_alloc(size_t alignment, size_t size)
{
	NEXT(aligned_alloc)
	return fails(__builtin_return_address(0)) ?
		       NULL :
		       note(next(alignment, size), __builtin_return_address(0));
}

void own_free(void *block)
{
	NEXT(free)
	forget(block);
	next(block);
}

void *own_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	NEXT(mmap)
	return fails(__builtin_return_address(0)) ?
		       MAP_FAILED :
		       next(address, length, protection, flags, fd, offset);
}

/* The runtime is in C++, which is not asked to go on without memory. */
static int add_library(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *name = info->dlpi_name;

	if (!*name || strstr(name, "tensorflow") || strstr(name, "libstdc++") ||
	    strstr(name, "libgcc") || strstr(name, "san.so") || strstr(name, "ld-linux") ||
	    strstr(name, "vdso"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum && heap.range_count < RANGES; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && (part->p_flags & PF_X))
			heap.ranges[heap.range_count++] = (struct range){
				info->dlpi_addr + part->p_vaddr,
				info->dlpi_addr + part->p_vaddr + part->p_memsz,
				strstr(name, "/libnpu") != NULL,
			};
	}
	return 0;
}

/* --------------------------------------------------------------------- attempts */

/*
 * struct attempt - what a child is to do
 * @model: index
 * @nth, @rest: see struct heap
 */
struct attempt {
	size_t model;
	uint64_t nth;
	bool rest;
};

/*
 * struct answer - what came of it
 * @count: allocations that have counted
 * @made: there was an interpreter
 * @hashes: of each inference, without memory, with, and anew; 0: it has failed
 * @left: blocks that the delegate has not freed
 */
struct answer {
	uint64_t count;
	bool made;
	uint64_t hashes[3][INFERENCES];
	size_t left;
};

static struct real_given given;

static void infer(void *interpreter, uint64_t *hashes)
{
	for (uint64_t i = 0; i < INFERENCES; i++) {
		tfl_draw_inputs(interpreter, i + 1);
		if (tfl.invoke(interpreter) == TFL_OK)
			hashes[i] = tfl_hash_outputs(interpreter);
	}
}

static void give_up(void *interpreter, void *delegate)
{
	if (interpreter)
		tfl.interpreter_free(interpreter);
	if (delegate)
		plugin.destroy(delegate);
}

static void run(void *user, void *to)
{
	const struct attempt *attempt = user;
	struct answer *answer = to;
	void *delegate, *interpreter = NULL;

	heap.nth = attempt->nth;
	heap.rest = attempt->rest;
	heap.armed = true;
	delegate = plugin.create(given.keys, given.values, given.option_count, NULL);
	if (delegate)
		interpreter = tfl_interpreter(given.models[attempt->model], delegate);
	answer->made = interpreter != NULL;
	if (interpreter)
		infer(interpreter, answer->hashes[0]);
	heap.armed = false;
	answer->count = heap.count;
	if (interpreter)
		infer(interpreter, answer->hashes[1]);
	give_up(interpreter, delegate);
	delegate = real_delegate(&given);
	interpreter = tfl_interpreter(given.models[attempt->model], delegate);
	if (!interpreter)
		errx(1, "no interpreter anew");
	infer(interpreter, answer->hashes[2]);
	give_up(interpreter, delegate);
	answer->left = heap.lost ? SIZE_MAX : count_blocks();
}

/* struct counts - of attempts: refused, that compute, and wrong ones */
struct counts {
	uint64_t refused, same, wrong;
};

/* What is wrong with it; NULL: nothing. */
static const char *fault(const struct answer *right, const struct answer *answer)
{
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < INFERENCES; j++)
			if (answer->hashes[i][j] != right->hashes[i][j] &&
			    (answer->hashes[i][j] || i == 2))
				return i == 2 ? "wrong anew" : "wrong";
	return answer->left > right->left ? "something is left over" : NULL;
}

/* True: there were so many allocations. */
static bool judge(const struct attempt *attempt, const struct answer *right, struct counts *counts)
{
	static const char *const ends[] = { NULL, "crashes", "hangs" };
	struct answer answer;
	struct attempt copy = *attempt;
	const struct real_attempt real = { run, &copy, &answer, sizeof(answer), 0x5a, false };
	enum real_end end = real_try(&real);
	const char *why = end == REAL_ENDED ? fault(right, &answer) : ends[end];

	if (why) {
		counts->wrong++;
		printf("WRONG %s, allocation %llu%s: %s\n", given.paths[attempt->model],
		       (unsigned long long)attempt->nth, attempt->rest ? " and all after it" : "",
		       why);
	} else if (!answer.made || !answer.hashes[0][INFERENCES - 1]) {
		counts->refused++;
	} else {
		counts->same++;
	}
	return why || answer.count >= attempt->nth;
}

static void sweep(size_t model, uint64_t stride, struct counts *counts)
{
	struct attempt attempt = { .model = model };
	struct answer right;
	const struct real_attempt real = { run, &attempt, &right, sizeof(right), 0x5a, false };

	if (real_try(&real) != REAL_ENDED || !right.hashes[0][0])
		errx(2, "%s: not even with memory", given.paths[model]);
	printf("%s: %llu allocations, %zu blocks stay\n", given.paths[model],
	       (unsigned long long)right.count, right.left);
	for (int rest = 0; rest < 2; rest++) {
		attempt.rest = rest;
		for (attempt.nth = 1; attempt.nth <= right.count; attempt.nth += stride)
			judge(&attempt, &right, counts);
	}
}

int main(int argc, char **argv)
{
	struct counts counts = { 0 };
	uint64_t stride;

	if (argc < 5)
		errx(2, "usage: see the head of real_memory.c");
	real_load(argv[1], argv[2]);
	stride = strtoull(argv[3], NULL, 10);
	if (!plugin.create || !stride)
		errx(2, "usage: see the head of real_memory.c");
	real_take(&given, argc - 4, argv + 4);
	dl_iterate_phdr(add_library, NULL);
	for (size_t i = 0; i < given.count; i++)
		sweep(i, stride, &counts);
	printf("refused %llu, computed the same %llu, wrong %llu\n",
	       (unsigned long long)counts.refused, (unsigned long long)counts.same,
	       (unsigned long long)counts.wrong);
	real_give_up(&given);
	/* Nothing refused is nothing shown. */
	return counts.wrong != 0 || !counts.refused;
}
