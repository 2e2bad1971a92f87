/* SPDX-License-Identifier: MIT */
/*
 * Policies: what clients may ask for, by user, group or unit, npumemd.conf(5).
 *
 * The driver says who opened the client's file (uapi/npumem.yaml, request). One policy at most is
 * of a client: that of its unit, else of its user, else of the first of its groups in the order of
 * the file, else that of the others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct accepted;

/* Bytes of a policy's name, such as "user camera", with its NUL: what inih keeps of a section's. */
#define POLICY_NAME_SIZE     50
/* Per cent of one processor. */
#define POLICY_MAX_CPU_QUOTA 6400

/*
 * struct policy - what some clients may ask for
 * @name: as the section says
 * @plans: they may ask for plans at all
 * @planners: bit i: for that of npuplan_planner_name(i); 0 = all
 * @arena_limit: most bytes of an arena; 0 = any
 * @cpu_limit, @time_limit: as in struct config, if that is less; 0 = only that
 * @nice: of their planning processes
 * @cpu_quota: processor time of planning, in hundredths of one processor's; 0 = no limit
 * @improve: their plans may be improved later
 */
struct policy {
	char name[POLICY_NAME_SIZE];
	bool plans;
	uint64_t planners;
	uint64_t arena_limit;
	uint64_t cpu_limit;
	uint64_t time_limit;
	uint64_t nice;
	uint64_t cpu_quota;
	bool improve;
};

/* What is so where no policy says anything. */
extern const struct policy policy_none;

/* struct policies - all of a configuration; NULL is allowed where one is read: there are none */
struct policies;

void policies_free(struct policies *policies);

/* Whether a section of the file is a policy's. */
bool policy_is_section(const char *section);
/* Whether it would be one if a name stood behind it: "user". */
bool policy_lacks_name(const char *section);

/* The next keys are of another file, where a key may be given again. */
void policies_next_file(struct policies *policies);

/*
 * policies_add() - a policy's section begins
 * @policies: allocated where it is NULL
 * @wrong: on failure what is wrong, no newline
 *
 * One that is there already goes on. -EINVAL, -ENOMEM.
 */
int policies_add(struct policies **policies, const char *section, char *wrong, size_t size);

/*
 * policies_warning() - what is no mistake, and worth a warning: a policy of a user or group that
 * the system does not have
 * @i: from 0 on
 *
 * False: there are no so many.
 */
bool policies_warning(const struct policies *policies, size_t i, char *text, size_t size);

/*
 * policies_set() - what a key of a policy's section says
 * @section: of one that was added
 * @wrong: on failure what is wrong, no newline
 *
 * -EINVAL.
 */
int policies_set(struct policies *policies, const char *section, const char *name,
		 const char *value, char *wrong, size_t size);

/*
 * policy_of() - the policy that a request's client has
 *
 * NULL: the driver, an older one, does not say who that is, and there are policies; or the kernel
 * has no control groups of version 2, and there are policies of units.
 */
const struct policy *policy_of(const struct policies *policies, const struct accepted *accepted);

/*
 * policy_planner() - hold a request's planner against a policy
 * @default_planner: for requests that name none
 * @moves: the planner has to move tensors
 * @planner: in and out: the one asked for, may be empty
 * @wrong: on failure the reason
 *
 * Where the request names none and the default is not allowed, it is the first that is. -EACCES.
 */
int policy_planner(const struct policy *policy, const char *default_planner, bool moves,
		   char planner[32], char *wrong, size_t size);

/*
 * policy_account() - whose account a request's planning time goes to
 *
 * That of the unit, if the policy is a unit's, and else that of the user.
 */
void policy_account(const struct policy *policy, const struct accepted *accepted,
		    char account[POLICY_NAME_SIZE]);
