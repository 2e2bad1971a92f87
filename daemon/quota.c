// SPDX-License-Identifier: MIT
#include "quota.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../userspace/grow/grow.h"
#include "../userspace/lines/lines.h"
#include "log.h"
#include "policy.h"

/* So many are kept, and no more are read. */
#define MAX_KEPT  4096
/* The file is written when so much has been charged: one that is killed forgets no more. */
#define KEEP_US	  100000
/* First words of a file: what it is, its version. */
#define FILE_HEAD "npumemd-quotas 1"

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

/*
 * struct quotas - all accounts
 * @period_us: each holds what comes in so many microseconds
 * @fd: of the file that they are kept in; -1: none
 * @unkept_us: what was charged since they were written
 * @told: the log says that they cannot be
 */
struct quotas {
	uint64_t period_us;
	struct account *accounts;
	size_t count;
	int fd;
	uint64_t unkept_us;
	bool told;
};

/* -------------------------------------------------------------------- the file */

static int write_accounts(const struct quotas *quotas, FILE *out)
{
	size_t count = quotas->count < MAX_KEPT ? quotas->count : MAX_KEPT;

	fprintf(out, FILE_HEAD " %zu\n", count);
	for (size_t i = 0; i < count; i++) {
		const struct account *account = &quotas->accounts[i];

		fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", account->owed,
			account->looked, account->per_cent, account->then, account->name);
	}
	return ferror(out) ? -EIO : 0;
}

/* A daemon that is killed between the two steps leaves more lines than the first one says. */
static int write_file(const struct quotas *quotas)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ssize_t written;
	int err;

	if (!out)
		return -ENOMEM;
	err = write_accounts(quotas, out);
	if (fclose(out))
		err = -ENOMEM;
	written = err ? 0 : pwrite(quotas->fd, text, size, 0);
	if (written < 0 || (!err && ftruncate(quotas->fd, written)))
		err = -errno;
	else if (!err && written != (ssize_t)size)
		err = -ENOSPC;
	free(text);
	return err;
}

static void keep(struct quotas *quotas)
{
	int err = quotas->fd >= 0 ? write_file(quotas) : 0;

	quotas->unkept_us = 0;
	if (err && !quotas->told)
		log_warning("who has used up planning time is forgotten at a restart: %s",
			    strerror(-err));
	quotas->told = err != 0;
}

/* A number up to @most and the byte behind it; false: there is none. */
static bool take_number(const char **at, char behind, uint64_t most, uint64_t *number)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*number = strtoull(*at, &end, 10);
	if (errno || *number > most || *end != behind)
		return false;
	*at = end + 1;
	return true;
}

static bool take_account(const char *at, uint64_t now, struct account *account)
{
	size_t length;

	if (!take_number(&at, ' ', UINT64_MAX / 2, &account->owed) ||
	    !take_number(&at, ' ', account->owed, &account->looked) ||
	    !take_number(&at, ' ', POLICY_MAX_CPU_QUOTA, &account->per_cent) ||
	    !take_number(&at, ' ', UINT64_MAX, &account->then))
		return false;
	length = strcspn(at, "\n");
	if (!length || length >= sizeof(account->name) || at[length] != '\n' || at[length + 1])
		return false;
	memcpy(account->name, at, length);
	account->name[length] = '\0';
	/* Time that has not come yet is of another clock. */
	if (account->then > now)
		account->then = now;
	return true;
}

/* @left: accounts that are still to come, of which the first line tells. */
static bool take_line(struct quotas *quotas, const struct lines *lines, uint64_t now,
		      uint64_t *left)
{
	const char *at = lines->text + strlen(FILE_HEAD " ");

	if (strlen(lines->text) != lines->length)
		return false;
	if (lines->number == 1)
		return !strncmp(lines->text, FILE_HEAD " ", strlen(FILE_HEAD " ")) &&
		       take_number(&at, '\n', MAX_KEPT, left) && !*at;
	if (!*left || !take_account(lines->text, now, &quotas->accounts[quotas->count]))
		return false;
	quotas->count++;
	--*left;
	return true;
}

static int read_lines(struct quotas *quotas, struct lines *lines, uint64_t now)
{
	uint64_t left = 0;
	int got = 0, err = 0;

	while (!err && (got = lines_next(lines)) > 0) {
		struct account *room = grow_by_one(quotas->accounts, quotas->count, sizeof(*room));

		if (room)
			quotas->accounts = room;
		err = !room ? -ENOMEM : take_line(quotas, lines, now, &left) ? 0 : -EBADMSG;
	}
	if (got < 0)
		err = got == -E2BIG ? -EBADMSG : got;
	/* One that was cut has fewer than it says. */
	return err ? err : left || lines->number == 1 ? -EBADMSG : 0;
}

int quotas_read(struct quotas *quotas, const char *file, uint64_t now, char *wrong, size_t size)
{
	struct lines lines = { .in = fopen(file, "re"), .most = 256 };
	int err = lines.in ? read_lines(quotas, &lines, now) : -errno;

	if (err == -EBADMSG)
		snprintf(wrong, size, "%s:%lu: the file is damaged", file, lines.number);
	else if (err)
		snprintf(wrong, size, "%s: %s", file, strerror(-err));
	if (err)
		quotas->count = 0;
	if (lines.in)
		fclose(lines.in);
	lines_free(&lines);
	return err;
}

void quotas_keep(struct quotas *quotas, int fd, uint64_t now)
{
	char file[32], wrong[128];
	struct stat status;

	quotas->fd = fd;
	/* A new one is empty. */
	if (fd < 0 || (!fstat(fd, &status) && !status.st_size))
		return;
	/* Read from its beginning, wherever the daemon before has left off. */
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	if (quotas_read(quotas, file, now, wrong, sizeof(wrong)))
		log_warning("who has used up planning time is forgotten: %s", wrong);
}

/* -------------------------------------------------------------------- accounts */

struct quotas *quotas_new(uint64_t period_us)
{
	struct quotas *quotas = calloc(1, sizeof(*quotas));

	if (!quotas)
		return NULL;
	quotas->period_us = period_us;
	quotas->fd = -1;
	return quotas;
}

void quotas_free(struct quotas *quotas)
{
	if (!quotas)
		return;
	if (quotas->unkept_us)
		keep(quotas);
	if (quotas->fd >= 0)
		close(quotas->fd);
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

static uint64_t wait_us(const struct quotas *quotas, uint64_t owed, uint64_t per_cent)
{
	uint64_t full = quotas->period_us * per_cent;

	return owed < full ? 0 : (owed - full) / per_cent + 1;
}

uint64_t quotas_wait_us(struct quotas *quotas, const char *account, uint64_t per_cent, uint64_t now)
{
	const struct account *found = look_at(quotas, account, per_cent, now);

	return found ? wait_us(quotas, found->owed, per_cent) : 0;
}

uint64_t quotas_look_wait_us(struct quotas *quotas, const char *account, uint64_t per_cent,
			     uint64_t now)
{
	const struct account *found = look_at(quotas, account, per_cent, now);

	return found ? wait_us(quotas, found->looked, per_cent) : 0;
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
	quotas->unkept_us += cpu_us;
	return found;
}

void quotas_charge(struct quotas *quotas, const char *account, uint64_t per_cent, uint64_t cpu_us,
		   uint64_t now)
{
	if (charge(quotas, account, per_cent, cpu_us, now) && quotas->unkept_us >= KEEP_US)
		keep(quotas);
}

void quotas_charge_look(struct quotas *quotas, const char *account, uint64_t per_cent,
			uint64_t cpu_us, uint64_t now)
{
	struct account *charged = charge(quotas, account, per_cent, cpu_us, now);

	if (!charged)
		return;
	charged->looked += 100 * cpu_us;
	if (quotas->unkept_us >= KEEP_US)
		keep(quotas);
}
