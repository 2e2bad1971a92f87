/* SPDX-License-Identifier: MIT */
/* A cache of plans in a folder of its own, for each test: what goes into it, and what is in it. */
#pragma once

#include "format.h"
#include "plancache.h"
#include "unit.h"

#define PLENTY (64ull << 20)

extern char folder_name[64];
extern struct plancache *folder_cache;

int folder_make(void **state);
int folder_remove(void **state);

#define CACHE_TEST(name) TEST_WITH(name, folder_make, folder_remove)

/* Use the folder with another limit. */
void folder_reopen(uint64_t limit);

/* A request, with a graph that nobody reads; and the key of the n-th of many. */
extern char folder_graph[24];
extern const struct plancache_request folder_request;
struct plancache_key folder_key(const struct plancache_request *request);
struct plancache_key folder_key_number(uint64_t n);

/* An entry with these bytes; and one with so many plans of its past: cost 1000, 999 and so on. */
struct plancache_entry folder_entry(char *data, size_t size);
struct plancache_entry folder_entry_past(char *data, size_t size, uint32_t past);

/* Put a plan of bytes that are all the same. */
void folder_put_of(uint32_t owner, const struct plancache_key *key, size_t size, char fill);
void folder_put(const struct plancache_key *key, size_t size, char fill);

/* It is there, whole, and its bytes are so; or getting it fails so. */
void folder_has(const struct plancache_key *key, size_t size, char fill);
void folder_has_not(const struct plancache_key *key, int err);

/* Files of the folder whose names do not begin with a dot. */
size_t folder_files(void);
void folder_path(const struct plancache_key *key, char path[256]);
size_t folder_read(const char *path, char *bytes, size_t room);
void folder_write(const char *path, const char *bytes, size_t size);
