// SPDX-License-Identifier: MIT
#include "policy.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npuplan.h"
#include "transport.h"
#include "value.h"

#define MAX_POLICIES 64
/* Members of a group are asked for when the file is read: a group of more is refused. */
#define MAX_MEMBERS  1024

enum kind { UNIT, USER, GROUP, OTHERS, KINDS };

/* What the name of a section begins with. */
static const char *const prefixes[KINDS] = { "unit ", "user ", "group ", "others" };

/*
 * struct clients - a policy and whose it is
 * @kind: what @policy.name names
 * @id: number of the user or the group
 * @members: users that are in the group by the system's list, @member_count of them
 * @nobody: there is no such user or group: the policy is nobody's
 * @seen: bit i: keys[i] was given in the file that is being read
 */
struct clients {
	struct policy policy;
	enum kind kind;
	uint32_t id;
	uint32_t *members;
	size_t member_count;
	bool nobody;
	uint32_t seen;
};

struct policies {
	struct clients clients[MAX_POLICIES];
	size_t count;
};

const struct policy policy_none = { .plans = true, .improve = true };

void policies_free(struct policies *policies)
{
	if (!policies)
		return;
	for (size_t i = 0; i < policies->count; i++)
		free(policies->clients[i].members);
	free(policies);
}

void policies_next_file(struct policies *policies)
{
	for (size_t i = 0; policies && i < policies->count; i++)
		policies->clients[i].seen = 0;
}

__attribute__((format(printf, 4, 5))) static int fail(int err, char *wrong, size_t size,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(wrong, size, format, args);
	va_end(args);
	return err;
}

/* -------------------------------------------------------------------- sections */

static enum kind kind_of(const char *section)
{
	enum kind kind = 0;

	while (kind < OTHERS && strncmp(section, prefixes[kind], strlen(prefixes[kind])) != 0)
		kind++;
	return kind < OTHERS || !strcmp(section, prefixes[OTHERS]) ? kind : KINDS;
}

bool policy_is_section(const char *section)
{
	return kind_of(section) != KINDS;
}

bool policy_lacks_name(const char *section)
{
	for (enum kind kind = 0; kind < OTHERS; kind++) {
		size_t length = strlen(prefixes[kind]) - 1;

		if (!strncmp(section, prefixes[kind], length) && !section[length])
			return true;
	}
	return false;
}

static bool parse_id(const char *text, uint32_t *id)
{
	static const struct value_range range = { .most = UINT32_MAX - 1, .sentence = "" };
	uint64_t number;

	if (value_number(text, &range, &number))
		return false;
	*id = (uint32_t)number;
	return true;
}

/* Whether the system could not tell; getpwnam(3) says what it says of those that are not found. */
static bool cannot_tell(int err)
{
	return err && err != ENOENT && err != ESRCH && err != EBADF && err != EPERM;
}

/*
 * Whether the system's list broke off: the errors that getpwent(3) has, since what it leaves of the
 * sources that it asked in vain may be anything.
 */
static bool breaks_off(int err)
{
	return err == EINTR || err == EIO || err == EMFILE || err == ENFILE || err == ENOMEM ||
	       err == ERANGE;
}

/*
 * A name that the system does not know. A user or group that was deleted is no reason to plan for
 * nobody any more; where the system cannot tell, who is meant may well be there.
 */
static int not_found(struct clients *clients, const char *kind, const char *name, char *wrong,
		     size_t size)
{
	int err = errno;

	if (cannot_tell(err))
		return fail(-EAGAIN, wrong, size, "the %s \"%s\" cannot be looked up: %s", kind,
			    name, strerror(err));
	/* What is a number, or nothing, is never a name. */
	if (!name[strspn(name, "0123456789")])
		return fail(-EINVAL, wrong, size, "there is no %s \"%s\"", kind, name);
	clients->nobody = true;
	return 0;
}

static int find_user(struct clients *clients, const char *user, char *wrong, size_t size)
{
	const struct passwd *entry;

	if (parse_id(user, &clients->id))
		return 0;
	errno = 0;
	entry = getpwnam(user);
	if (!entry)
		return not_found(clients, "user", user, wrong, size);
	clients->id = entry->pw_uid;
	return 0;
}

static int add_member(struct clients *clients, uint32_t uid, char *wrong, size_t size)
{
	uint32_t *more = clients->members;

	if (clients->member_count == MAX_MEMBERS)
		return fail(-EINVAL, wrong, size, "the group has more than %d members",
			    MAX_MEMBERS);
	if (!more)
		more = malloc(MAX_MEMBERS * sizeof(*more));
	if (!more)
		return fail(-ENOMEM, wrong, size, "out of memory");
	clients->members = more;
	more[clients->member_count++] = uid;
	return 0;
}

/*
 * The members are looked up now, since asking the system for them may take long where a directory
 * in the network is asked: those that the group lists, and those whose first group it is, who may
 * leave it for another one (newgrp(1)). Users who have left the system's list are passed over; one
 * of whom the system cannot tell would have no limits, or those of others.
 */
static int find_members(struct clients *clients, char *const *names, char *wrong, size_t size)
{
	const struct passwd *entry;
	int err = 0;

	for (size_t i = 0; names[i] && !err; i++) {
		errno = 0;
		entry = getpwnam(names[i]);
		if (entry)
			err = add_member(clients, entry->pw_uid, wrong, size);
		else if (cannot_tell(errno))
			err = fail(-EAGAIN, wrong, size,
				   "the group's user \"%s\" cannot be looked up: %s", names[i],
				   strerror(errno));
	}
	setpwent();
	errno = 0;
	while (!err && (entry = getpwent())) {
		if (entry->pw_gid == clients->id)
			err = add_member(clients, entry->pw_uid, wrong, size);
		errno = 0;
	}
	if (!err && breaks_off(errno))
		err = fail(-EAGAIN, wrong, size, "the users of the group cannot be listed: %s",
			   strerror(errno));
	endpwent();
	return err;
}

/* Names of members are copied: a look-up of a user may overwrite what that of the group gave. */
static char **copy_names(char *const *names)
{
	size_t count = 0, bytes = 0;
	char **copy, *at;

	for (; names[count]; count++)
		bytes += strlen(names[count]) + 1;
	copy = malloc((count + 1) * sizeof(*copy) + bytes);
	if (!copy)
		return NULL;
	at = (char *)(copy + count + 1);
	for (size_t i = 0; i < count; i++) {
		copy[i] = at;
		at = stpcpy(at, names[i]) + 1;
	}
	copy[count] = NULL;
	return copy;
}

static int find_group(struct clients *clients, const char *group, char *wrong, size_t size)
{
	const struct group *entry;
	char **names;
	int err;

	errno = 0;
	entry = parse_id(group, &clients->id) ? getgrgid(clients->id) : getgrnam(group);
	/* A number that nobody has named yet is a group, too. */
	if (!entry && !cannot_tell(errno) && parse_id(group, &clients->id))
		return find_members(clients, (char *const[]){ NULL }, wrong, size);
	if (!entry)
		return not_found(clients, "group", group, wrong, size);
	clients->id = entry->gr_gid;
	names = copy_names(entry->gr_mem);
	if (!names)
		return fail(-ENOMEM, wrong, size, "out of memory");
	err = find_members(clients, names, wrong, size);
	free(names);
	return err;
}

static bool ends(const char *text, const char *suffix)
{
	size_t length = strlen(text), part = strlen(suffix);

	return length > part && !strcmp(text + length - part, suffix);
}

static int check_unit(const char *unit, char *wrong, size_t size)
{
	if (!strpbrk(unit, "/ ") && (ends(unit, ".service") || ends(unit, ".scope")))
		return 0;
	return fail(-EINVAL, wrong, size, "\"%s\" is no unit that ends in .service or .scope",
		    unit);
}

static int find_clients(struct clients *clients, char *wrong, size_t size)
{
	const char *who = clients->policy.name + strlen(prefixes[clients->kind]);
	size_t length = strlen(who);

	/* It would be nobody's name, where somebody is meant to be limited. */
	if (length && clients->kind != UNIT &&
	    (who[0] == ' ' || who[0] == '\t' || who[length - 1] == ' ' || who[length - 1] == '\t'))
		return fail(-EINVAL, wrong, size, "the name \"%s\" begins or ends with a blank",
			    who);
	switch (clients->kind) {
	case USER:
		return find_user(clients, who, wrong, size);
	case GROUP:
		return find_group(clients, who, wrong, size);
	case UNIT:
		return check_unit(who, wrong, size);
	default:
		return 0;
	}
}

static int add(struct policies *policies, const char *section, char *wrong, size_t size)
{
	struct clients *clients = &policies->clients[policies->count];
	int err;

	if (policies->count == MAX_POLICIES)
		return fail(-EINVAL, wrong, size, "there are more than %d policies", MAX_POLICIES);
	/* inih cuts longer ones. */
	if (strlen(section) >= POLICY_NAME_SIZE - 1)
		return fail(-EINVAL, wrong, size, "the section's name is longer than %d bytes",
			    POLICY_NAME_SIZE - 2);
	*clients = (struct clients){ .policy = policy_none, .kind = kind_of(section) };
	snprintf(clients->policy.name, sizeof(clients->policy.name), "%s", section);
	err = find_clients(clients, wrong, size);
	for (size_t i = 0; i < policies->count && !err; i++)
		if (clients->kind != UNIT && policies->clients[i].kind == clients->kind &&
		    !clients->nobody && !policies->clients[i].nobody &&
		    policies->clients[i].id == clients->id)
			err = fail(-EINVAL, wrong, size, "[%s] is the same as [%s]", section,
				   policies->clients[i].policy.name);
	if (err) {
		free(clients->members);
		return err;
	}
	policies->count++;
	return 0;
}

static struct clients *find(struct policies *policies, const char *section)
{
	for (size_t i = 0; i < policies->count; i++)
		if (!strcmp(policies->clients[i].policy.name, section))
			return &policies->clients[i];
	return NULL;
}

int policies_add(struct policies **policies, const char *section, char *wrong, size_t size)
{
	if (!*policies)
		*policies = calloc(1, sizeof(**policies));
	if (!*policies)
		return fail(-ENOMEM, wrong, size, "out of memory");
	return find(*policies, section) ? 0 : add(*policies, section, wrong, size);
}

bool policies_warning(const struct policies *policies, size_t i, char *text, size_t size)
{
	for (size_t at = 0; policies && at < policies->count; at++) {
		const struct clients *clients = &policies->clients[at];

		if (!clients->nobody || i--)
			continue;
		snprintf(text, size,
			 "[%s] is nobody's: there is no such %s; names are looked up again by a "
			 "reload",
			 clients->policy.name, clients->kind == USER ? "user" : "group");
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------------ keys */

static const char *set_plans(struct policy *policy, const char *value)
{
	return value_yes(value, &policy->plans);
}

static const char *set_improve(struct policy *policy, const char *value)
{
	return value_yes(value, &policy->improve);
}

/* A list, with commas. */
static const char *set_planners(struct policy *policy, const char *value)
{
	const char *wrong = NULL;
	uint64_t planners = 0;
	char *list = strdup(value), *rest = list, *name;
	size_t length;

	if (!list)
		return "cannot be read: out of memory";
	while (!wrong && (name = strsep(&rest, ","))) {
		unsigned int number;

		name += strspn(name, " \t");
		length = strlen(name);
		while (length && strchr(" \t", name[length - 1]))
			name[--length] = '\0';
		if (value_planner(name, &number))
			wrong = "is no list, with commas, of planners of this npumemd";
		else
			planners |= 1ull << number;
	}
	free(list);
	if (!wrong)
		policy->planners = planners;
	return wrong;
}

/* struct key - a key of these sections; as in config.c */
static const struct key {
	const char *name;
	const char *(*set)(struct policy *policy, const char *value);
	size_t number;
	struct value_range range;
} keys[] = {
	{ "plans", set_plans },
	{ "planners", set_planners },
	{ "arena-limit", .number = offsetof(struct policy, arena_limit),
	  .range = { .bytes = true,
		     .least = 1,
		     .most = UINT64_MAX,
		     .or_zero = true,
		     .sentence = "is too large" } },
	{ "cpu-limit", .number = offsetof(struct policy, cpu_limit),
	  .range = { .most = VALUE_MAX_SECONDS, .sentence = "is more than 30 days in seconds" } },
	{ "time-limit", .number = offsetof(struct policy, time_limit),
	  .range = { .most = VALUE_MAX_SECONDS, .sentence = "is more than 30 days in seconds" } },
	{ "nice", .number = offsetof(struct policy, nice),
	  .range = { .most = 19, .sentence = "is not between 0 and 19" } },
	{ "cpu-quota", .number = offsetof(struct policy, cpu_quota),
	  .range = { .most = POLICY_MAX_CPU_QUOTA, .sentence = "is not between 0 and 6400" } },
	{ "improve", set_improve },
};
#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))
_Static_assert(KEY_COUNT <= 32, "a policy's @seen has a bit for each key");

static int set(struct clients *clients, size_t i, const char *value, char *wrong, size_t size)
{
	const struct key *key = &keys[i];
	const char *what;

	if (clients->seen & 1u << i)
		return fail(-EINVAL, wrong, size, "%s is given twice", key->name);
	clients->seen |= 1u << i;
	what = key->set ? key->set(&clients->policy, value) :
			  value_number(value, &key->range,
				       (uint64_t *)((char *)&clients->policy + key->number));
	return what ? fail(-EINVAL, wrong, size, "%s: \"%s\" %s", key->name, value, what) : 0;
}

int policies_set(struct policies *policies, const char *section, const char *name,
		 const char *value, char *wrong, size_t size)
{
	struct clients *clients = policies ? find(policies, section) : NULL;
	size_t i = 0;

	while (i < KEY_COUNT && strcmp(name, keys[i].name) != 0)
		i++;
	if (i == KEY_COUNT)
		return fail(-EINVAL, wrong, size, "unknown key \"%s\" in section [%s]", name,
			    section);
	/* A section that inih sees, and who adds them has not. */
	if (!clients)
		return fail(-EINVAL, wrong, size, "section [%s] does not begin its line", section);
	return set(clients, i, value, wrong, size);
}

/* -------------------------------------------------------------------- requests */

/*
 * The unit that a control group is of, as systemd names its folders: slices, then the unit, then
 * what the unit makes below. @length: bytes of the name.
 */
static const char *unit_of(const char *cgroup, size_t *length)
{
	static const char slice[] = ".slice";

	for (;; cgroup += *length) {
		cgroup += strspn(cgroup, "/");
		*length = strcspn(cgroup, "/");
		if (*length < sizeof(slice) ||
		    strncmp(cgroup + *length - strlen(slice), slice, strlen(slice)) != 0)
			return cgroup;
	}
}

static bool is_unit(const struct clients *clients, const char *cgroup)
{
	const char *unit = clients->policy.name + strlen(prefixes[UNIT]);
	size_t length;

	cgroup = unit_of(cgroup, &length);
	return length == strlen(unit) && !memcmp(cgroup, unit, length);
}

static bool is_member(const struct clients *clients, const struct client *client)
{
	if (clients->id == client->gid)
		return true;
	for (size_t i = 0; i < clients->member_count; i++)
		if (clients->members[i] == client->uid)
			return true;
	return false;
}

static bool applies(const struct clients *clients, const struct client *client)
{
	if (clients->nobody)
		return false;
	switch (clients->kind) {
	case UNIT:
		return is_unit(clients, client->cgroup);
	case USER:
		return clients->id == client->uid;
	case GROUP:
		return is_member(clients, client);
	default:
		return true;
	}
}

/* Where nobody says what control group a client is in, a unit's policy would not be his. */
static bool needs_cgroup(const struct policies *policies)
{
	for (size_t i = 0; i < policies->count; i++)
		if (policies->clients[i].kind == UNIT)
			return true;
	return false;
}

const struct policy *policy_of(const struct policies *policies, const struct accepted *accepted)
{
	if (!policies)
		return &policy_none;
	if (!accepted->client.known || (!*accepted->client.cgroup && needs_cgroup(policies)))
		return NULL;
	for (enum kind kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < policies->count; i++)
			if (policies->clients[i].kind == kind &&
			    applies(&policies->clients[i], &accepted->client))
				return &policies->clients[i].policy;
	return &policy_none;
}

static bool allows(const struct policy *policy, unsigned int planner)
{
	return !policy->planners || policy->planners >> planner & 1;
}

/* The names of those that a policy allows, with commas; the first ones, if there are many. */
static void list_planners(const struct policy *policy, char *text, size_t size)
{
	const char *name;
	size_t used = 0;

	*text = '\0';
	for (unsigned int i = 0; (name = npuplan_planner_name(i)) && used < size; i++)
		if (allows(policy, i))
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 name);
}

static bool may_be(const struct policy *policy, const char *planner)
{
	unsigned int number;

	/* One that nobody knows is refused where it is looked for. */
	return value_planner(planner, &number) || allows(policy, number);
}

int policy_planner(const struct policy *policy, const char *default_planner, bool moves,
		   char planner[32], char *wrong, size_t size)
{
	char allowed[256];
	const char *name = planner[0] ? planner : default_planner;

	if (!may_be(policy, name) && !planner[0])
		for (unsigned int i = 0; (name = npuplan_planner_name(i)); i++)
			if (allows(policy, i) &&
			    (!moves || npuplan_planner_traits(name) & NPUPLAN_PLANNER_MOVES))
				break;
	if (name && may_be(policy, name)) {
		if (name != planner)
			snprintf(planner, 32, "%s", name);
		return 0;
	}
	list_planners(policy, allowed, sizeof(allowed));
	if (!name)
		return fail(-EACCES, wrong, size,
			    "none of the planners that [%s] of npumemd.conf allows plans for the "
			    "least traffic: %s",
			    policy->name, allowed);
	return fail(-EACCES, wrong, size,
		    "planner %s is none of those that [%s] of npumemd.conf allows: %s", planner,
		    policy->name, allowed);
}

void policy_account(const struct policy *policy, const struct accepted *accepted,
		    char account[POLICY_NAME_SIZE])
{
	if (kind_of(policy->name) == UNIT)
		snprintf(account, POLICY_NAME_SIZE, "%s", policy->name);
	else
		snprintf(account, POLICY_NAME_SIZE, "%s%" PRIu32, prefixes[USER],
			 accepted->client.uid);
}
