// SPDX-License-Identifier: MIT
#include "quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../userspace/grow/grow.h"
#include "policy.h"

/* An account holds what comes in so many microseconds. */
#define PERIOD_US 60000000ull

/*
 * struct account - one that has been charged, until it is full again
 * @per_cent: its quota at the last call
 * @owed: what is missing to a full one, in hundredths of microseconds of processor time
 * @looked: what would be if only looking for plans that are kept counted; at most @owed
 * @then: of the last call, CLOCK_MONOTONIC microseconds
 */
struct account {
	char name[POLICY_NAME_SIZE];
	uint64_t per_cent;
	uint64_t owed;
	uint64_t looked;
	uint64_t then;
};

struct quotas {
	struct account *accounts;
	size_t count;
};

struct quotas *quotas_new(void)
{
	return calloc(1, sizeof(struct quotas));
}

void quotas_free(struct quotas *quotas)
{
	if (quotas)
		free(quotas->accounts);
	free(quotas);
}

/* What has come since the last call; those that are full then are forgotten. */
static void refill(struct quotas *quotas, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < quotas->count; i++) {
		struct account *account = &quotas->accounts[i];
		uint64_t come = (now - account->then) * account->per_cent;

		account->then = now;
		account->owed -= come < account->owed ? come : account->owed;
		account->looked -= come < account->looked ? come : account->looked;
		if (account->owed)
			quotas->accounts[kept++] = *account;
	}
	quotas->count = kept;
}

static struct account *find(struct quotas *quotas, const char *name)
{
	for (size_t i = 0; i < quotas->count; i++)
		if (!strcmp(quotas->accounts[i].name, name))
			return &quotas->accounts[i];
	return NULL;
}

/* An account as it is now; NULL: it is full. */
static const struct account *look_at(struct quotas *quotas, const char *name, uint64_t per_cent,
				     uint64_t now)
{
	struct account *found;

	if (!quotas || !per_cent)
		return NULL;
	refill(quotas, now);
	found = find(quotas, name);
	/* The configuration may have changed its mind. */
	if (found)
		found->per_cent = per_cent;
	return found;
}

static uint64_t wait_us(uint64_t owed, uint64_t per_cent)
{
	uint64_t full = PERIOD_US * per_cent;

	return owed < full ? 0 : (owed - full) / per_cent + 1;
}

uint64_t quotas_wait_us(struct quotas *quotas, const char *account, uint64_t per_cent, uint64_t now)
{
	const struct account *found = look_at(quotas, account, per_cent, now);

	return found ? wait_us(found->owed, per_cent) : 0;
}

uint64_t quotas_look_wait_us(struct quotas *quotas, const char *account, uint64_t per_cent,
			     uint64_t now)
{
	const struct account *found = look_at(quotas, account, per_cent, now);

	return found ? wait_us(found->looked, per_cent) : 0;
}

static struct account *add(struct quotas *quotas, const char *name, uint64_t now)
{
	struct account *account;

	account = grow_by_one(quotas->accounts, quotas->count, sizeof(*account));
	if (!account)
		return NULL;
	quotas->accounts = account;
	account += quotas->count++;
	*account = (struct account){ .then = now };
	snprintf(account->name, sizeof(account->name), "%s", name);
	return account;
}

/* The account, which owes so much more now; NULL: nothing is noted. */
static struct account *charge(struct quotas *quotas, const char *name, uint64_t per_cent,
			      uint64_t cpu_us, uint64_t now)
{
	struct account *found;

	if (!quotas || !per_cent || !cpu_us)
		return NULL;
	refill(quotas, now);
	found = find(quotas, name);
	if (!found)
		found = add(quotas, name, now);
	if (!found)
		return NULL;
	found->per_cent = per_cent;
	found->owed += 100 * cpu_us;
	return found;
}

void quotas_charge(struct quotas *quotas, const char *account, uint64_t per_cent, uint64_t cpu_us,
		   uint64_t now)
{
	charge(quotas, account, per_cent, cpu_us, now);
}

void quotas_charge_look(struct quotas *quotas, const char *account, uint64_t per_cent,
			uint64_t cpu_us, uint64_t now)
{
	struct account *charged = charge(quotas, account, per_cent, cpu_us, now);

	if (charged)
		charged->looked += 100 * cpu_us;
}
