/* SPDX-License-Identifier: MIT */
/*
 * How much processor time planning for somebody has taken, and when he may have more: npumemd.conf,
 * cpu-quota, and share of [improve]. Each account fills at its quota's rate, up to what comes in a
 * period, and begins full.
 * Who has anything left may ask; planning that takes more than is left makes a debt, and what it
 * asks for next waits longer.
 *
 * The daemon itself works for a client, too, where it looks for a plan that is kept: it reads all
 * of the graph. That counts as planning does, but who has planned for his quota may still be
 * answered so, until looking alone has used it up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* struct quotas - all accounts; where one is used NULL is fine: nobody is charged */
struct quotas;

/* A minute, as cpu-quota has it. */
#define QUOTA_MINUTE_US 60000000ull

/*
 * quotas_new() - nobody has taken anything
 * @period_us: an account holds what comes in so many microseconds, at most a day
 *
 * NULL: out of memory.
 */
struct quotas *quotas_new(uint64_t period_us);
/* What is owed is written first, where quotas_keep() said so. */
void quotas_free(struct quotas *quotas);

/*
 * quotas_keep() - whoever owes something owes it to the next daemon, too
 * @fd: of a file that is read now, if it is not empty, and written as time is charged; taken; -1:
 *	none
 * @now: CLOCK_MONOTONIC microseconds, which go on from one daemon to the next: the file is one
 *	that does not outlive the system, such as memory that the service manager keeps
 *
 * A file that cannot be read is a warning in the log, and nobody owes anything; likewise one that
 * cannot be written.
 */
void quotas_keep(struct quotas *quotas, int fd, uint64_t now);
/*
 * quotas_read() - take what a file says
 * @quotas: new ones
 * @wrong: out: a sentence, if it fails
 *
 * 0; -ENOENT: there is no file; or another negative errno, and nobody owes anything.
 */
int quotas_read(struct quotas *quotas, const char *file, uint64_t now, char *wrong, size_t size);

/*
 * quotas_wait_us() - how long an account has to wait until it may plan again
 * @per_cent: its quota, in hundredths of one processor's time; 0 = no limit
 * @now: CLOCK_MONOTONIC microseconds; never less than in an earlier call
 */
uint64_t quotas_wait_us(struct quotas *quotas, const char *account, uint64_t per_cent,
			uint64_t now);

/* quotas_look_wait_us() - the same until the daemon may look for a plan again that is kept */
uint64_t quotas_look_wait_us(struct quotas *quotas, const char *account, uint64_t per_cent,
			     uint64_t now);

/*
 * quotas_charge() - planning for an account has taken some time
 *
 * Where there is no memory to note it, nothing is noted.
 */
void quotas_charge(struct quotas *quotas, const char *account, uint64_t per_cent, uint64_t cpu_us,
		   uint64_t now);
/* quotas_charge_look() - looking for a plan that is kept has */
void quotas_charge_look(struct quotas *quotas, const char *account, uint64_t per_cent,
			uint64_t cpu_us, uint64_t now);
