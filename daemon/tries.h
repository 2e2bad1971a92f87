/* SPDX-License-Identifier: MIT */
/*
 * Searches for better plans that led to nothing: where the machine gives idle searches no
 * processor, or where they fail, a program that asks again and again would have one begun after
 * each of its requests. What was tried in vain is tried again after a minute, and each time in
 * vain doubles that, up to an hour.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plancache.h"

/* So many plans are remembered; then the one that may be tried soonest is forgotten. */
#define TRIES_MAX 128

/*
 * struct try - a plan whose search led to nothing
 * @wait_us: how long the next one waits, from the end of the last; 0: nothing is remembered here
 * @again_us: when that is, CLOCK_MONOTONIC microseconds
 */
struct
try {
	struct plancache_key key;
	uint64_t wait_us;
	uint64_t again_us;
};

/* All zero: nothing is remembered. */
struct tries {
	struct try all[TRIES_MAX];
};

/* Microseconds until a plan may be searched for; 0: now. */
uint64_t tries_wait_us(const struct tries *tries, const struct plancache_key *key, uint64_t now_us);

/* A search led to nothing; returns for how many microseconds there is to be no other. */
uint64_t tries_in_vain(struct tries *tries, const struct plancache_key *key, uint64_t now_us);

/* Whether a plan is remembered, whenever it may be tried again. */
bool tries_know(const struct tries *tries, const struct plancache_key *key);

/* A search led to something, or its plan was dropped: what was in vain before counts no more. */
void tries_forget(struct tries *tries, const struct plancache_key *key);
