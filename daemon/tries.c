// SPDX-License-Identifier: MIT
#include "tries.h"

#include <string.h>

#define FIRST_WAIT_US (60ull * 1000000)
#define MOST_WAIT_US  (3600ull * 1000000)

static int find(const struct tries *tries, const struct plancache_key *key)
{
	for (int i = 0; i < TRIES_MAX; i++)
		if (tries->all[i].wait_us && !memcmp(&tries->all[i].key, key, sizeof(*key)))
			return i;
	return -1;
}

/* A place that is free, or that of the plan which may be tried soonest. */
static struct try *place(struct tries *tries)
{
	struct try *soonest = &tries->all[0];

	for (int i = 0; i < TRIES_MAX; i++) {
		if (!tries->all[i].wait_us)
			return &tries->all[i];
		if (tries->all[i].again_us < soonest->again_us)
			soonest = &tries->all[i];
	}
	return soonest;
}

uint64_t tries_wait_us(const struct tries *tries, const struct plancache_key *key, uint64_t now_us)
{
	int i = find(tries, key);

	return i >= 0 && tries->all[i].again_us > now_us ? tries->all[i].again_us - now_us : 0;
}

bool tries_know(const struct tries *tries, const struct plancache_key *key)
{
	return find(tries, key) >= 0;
}

uint64_t tries_in_vain(struct tries *tries, const struct plancache_key *key, uint64_t now_us)
{
	int i = find(tries, key);
	struct try *try = i >= 0 ? &tries->all[i] : place(tries);

	if (i < 0)
		*try = (struct try){ .key = *key, .wait_us = FIRST_WAIT_US };
	else
		try->wait_us = 2 * try->wait_us < MOST_WAIT_US ? 2 * try->wait_us : MOST_WAIT_US;
	try->again_us = now_us + try->wait_us;
	return try->wait_us;
}

void tries_forget(struct tries *tries, const struct plancache_key *key)
{
	int i = find(tries, key);

	if (i >= 0)
		tries->all[i].wait_us = 0;
}
