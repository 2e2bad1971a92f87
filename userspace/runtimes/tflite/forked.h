/* SPDX-License-Identifier: MIT */
/*
 * After fork() a child would have the device and its memory in common with its parent, and each
 * would write into what the other has planned. So a child has neither: its descriptor is of
 * nothing, and its mappings are memory of its own, with what they had.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* struct forked_map - memory that is mapped of a device; @size: whole pages */
struct forked_map {
	struct forked_map *next;
	void *address;
	size_t size;
};

/*
 * struct forked - a device that is open
 * @fd: its descriptor
 * @maps: list
 * @gone: this process is a child of the one that has opened it
 */
struct forked {
	struct forked *next;
	struct forked_map *maps;
	int fd;
	bool gone;
};

/* From now on, as far as forked_remove(), a child has neither @fd nor the maps. */
void forked_add(struct forked *forked, int fd);
void forked_remove(struct forked *forked);
/* Memory of a device, before and after it is mapped: @map is the caller's. */
void forked_add_map(struct forked *forked, struct forked_map *map, void *address, size_t size);
void forked_remove_map(struct forked *forked, struct forked_map *map);
