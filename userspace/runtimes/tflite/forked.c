// SPDX-License-Identifier: MIT
#include "forked.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct forked *all;

static void hold(void)
{
	pthread_mutex_lock(&lock);
}

static void release(void)
{
	pthread_mutex_unlock(&lock);
}

/* The copy takes its place. What cannot be made one's own may not stay: the child ends. */
static void make_own(const struct forked_map *map)
{
	void *copy =
		mmap(NULL, map->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		abort();
	memcpy(copy, map->address, map->size);
	if (mremap(copy, map->size, map->size, MREMAP_MAYMOVE | MREMAP_FIXED, map->address) ==
	    MAP_FAILED)
		abort();
}

/* Only one thread is left, and another may have held any lock: system calls alone are safe. */
static void in_child(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (struct forked *f = all; f; f = f->next) {
		f->gone = true;
		if (nothing < 0 || dup3(nothing, f->fd, O_CLOEXEC) < 0)
			close(f->fd);
		for (const struct forked_map *map = f->maps; map; map = map->next)
			make_own(map);
	}
	if (nothing >= 0)
		close(nothing);
	release();
}

static void watch(void)
{
	pthread_atfork(hold, release, in_child);
}

void forked_add(struct forked *forked, int fd)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
	forked->fd = fd;
	hold();
	forked->next = all;
	all = forked;
	release();
}

void forked_remove(struct forked *forked)
{
	struct forked **at = &all;

	hold();
	while (*at && *at != forked)
		at = &(*at)->next;
	if (*at)
		*at = forked->next;
	release();
}

void forked_add_map(struct forked *forked, struct forked_map *map, void *address, size_t size)
{
	hold();
	*map = (struct forked_map){ .next = forked->maps, .address = address, .size = size };
	forked->maps = map;
	release();
}

void forked_remove_map(struct forked *forked, struct forked_map *map)
{
	struct forked_map **at = &forked->maps;

	hold();
	while (*at && *at != map)
		at = &(*at)->next;
	if (*at)
		*at = map->next;
	release();
}
