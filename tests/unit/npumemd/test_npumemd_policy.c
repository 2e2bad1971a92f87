// SPDX-License-Identifier: MIT
/* npumemd: policies, from the sections of npumemd.conf to what becomes of requests. */
#include "npumemd_request.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "journal.h"
#include "log.h"
#include "npuplan.h"
#include "policy.h"
#include "quota.h"
#include "said.h"

/* ------------------------------------------------- the system's users and groups */

/* In place of the C library's, so that the test is the same everywhere. */
struct passwd *getpwnam(const char *name)
{
	static struct passwd camera = { .pw_uid = 1001 }, radio = { .pw_uid = 1002 };

	if (!strcmp(name, "unreachable"))
		errno = ETIMEDOUT;
	return !strcmp(name, "camera") ? &camera : !strcmp(name, "radio") ? &radio : NULL;
}

/* The system's list, in which somebody has the group as the first one. */
static unsigned int listed;
static bool list_breaks_off;

void setpwent(void)
{
	listed = 0;
}

struct passwd *getpwent(void)
{
	static struct passwd all[] = { { .pw_uid = 1001, .pw_gid = 1001 },
				       { .pw_uid = 1003, .pw_gid = 44 } };

	if (listed == 1 && list_breaks_off)
		errno = EIO;
	else if (listed < 2)
		return &all[listed++];
	return NULL;
}

void endpwent(void)
{
}

struct group *getgrnam(const char *name)
{
	static char camera[] = "camera", gone[] = "gone", radio[] = "radio";
	static char unreachable[] = "unreachable";
	static char *members[] = { camera, gone, radio, NULL };
	static char *far_members[] = { camera, unreachable, NULL };
	static struct group sensors = { .gr_gid = 44, .gr_mem = members };
	static struct group far = { .gr_gid = 45, .gr_mem = far_members };

	if (!strcmp(name, "unreachable"))
		errno = ETIMEDOUT;
	return !strcmp(name, "sensors") ? &sensors : !strcmp(name, "far") ? &far : NULL;
}

struct group *getgrgid(gid_t gid)
{
	if (gid == 46)
		errno = ETIMEDOUT;
	return gid == 44 ? getgrnam("sensors") : NULL;
}

/* -------------------------------------------------------------- configurations */

static char path[64];

static int policy_setup(void **state)
{
	int fd;

	strcpy(path, "/tmp/npumemd-policy-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	return request_setup(state);
}

static int policy_teardown(void **state)
{
	config_free(&f.config);
	quotas_free(f.env.quotas);
	return unlink(path) || request_teardown(state) ? -1 : 0;
}

#define POLICY_TEST(name) TEST_WITH(name, policy_setup, policy_teardown)

/* The fixture's configuration is this one. */
static void configure(const char *text)
{
	char reason[512];

	config_free(&f.config);
	unit_write(path, text);
	if (config_read(path, false, &f.config, reason, sizeof(reason)))
		fail_msg("%s", reason);
	f.config.memory_limit = 0; /* sanitizers */
}

static void refuse_with(int err, const char *text, const char *reason)
{
	struct config config;
	char got[512];

	unit_write(path, text);
	assert_int_equal(config_read(path, false, &config, got, sizeof(got)), err);
	assert_memory_equal(got, path, strlen(path));
	assert_string_equal(got + strlen(path), reason);
}

static void refuse(const char *text, const char *reason)
{
	refuse_with(-EINVAL, text, reason);
}

/* What is right may be so the next time: who asks is told that it is no mistake. */
POLICY_TEST(the_system_cannot_tell)
{
	refuse_with(-EAGAIN, "[user unreachable]\n",
		    ":1: the user \"unreachable\" cannot be looked up: Connection timed out");
	refuse_with(-EAGAIN, "[user unreachable]\nplanz = no\n",
		    ":1: the user \"unreachable\" cannot be looked up: Connection timed out");
	refuse_with(-EAGAIN, "[group unreachable]\n",
		    ":1: the group \"unreachable\" cannot be looked up: Connection timed out");
	refuse_with(-EAGAIN, "[group 46]\n",
		    ":1: the group \"46\" cannot be looked up: Connection timed out");
	refuse_with(-EAGAIN, "[group far]\n",
		    ":1: the group's user \"unreachable\" cannot be looked up: Connection timed "
		    "out");
	list_breaks_off = true;
	refuse_with(-EAGAIN, "[group sensors]\n",
		    ":1: the users of the group cannot be listed: Input/output error");
	list_breaks_off = false;
}

POLICY_TEST(refusals_of_the_file)
{
	char many[65 * 32] = "", *at = many;

	refuse("[user 4294967295]\nplans = no\n", ":1: there is no user \"4294967295\"");
	refuse("[group 4294967295]\nplans = no\n", ":1: there is no group \"4294967295\"");
	refuse("[user  camera]\n", ":1: the name \" camera\" begins or ends with a blank");
	refuse("[user camera ]\n", ":1: the name \"camera \" begins or ends with a blank");
	refuse("[group sensors\t]\n", ":1: the name \"sensors\\x09\" begins or ends with a blank");
	refuse("[user ]\nplans = no\n", ":1: there is no user \"\"");
	refuse("[unit camera]\nplans = no\n",
	       ":1: \"camera\" is no unit that ends in .service or .scope");
	refuse("[unit .service]\nplans = no\n",
	       ":1: \".service\" is no unit that ends in .service or .scope");
	refuse("[unit a/b.service]\nplans = no\n",
	       ":1: \"a/b.service\" is no unit that ends in .service or .scope");
	refuse("[others] plans = no\n", ":1: something stands behind the section's name");
	refuse("[user camera]]\n", ":1: something stands behind the section's name");
	refuse("[user ]\n", ":1: there is no user \"\"");
	refuse("[users camera]\nplans = no\n", ":1: unknown section [users camera]");
	refuse("[others too]\nplans = no\n", ":1: unknown section [others too]");
	refuse("[user]\nplans = no\n", ":1: section [user] does not say which: [user NAME]");
	refuse("[group]\n", ":1: section [group] does not say which: [group NAME]");
	refuse("[unit] # camera\n", ":1: section [unit] does not say which: [unit NAME]");
	refuse(" [others]\nplans = no\n", ":1: section [others] does not begin its line");
	refuse("[unit xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.service]\nplans = no\n",
	       ":1: the section's name is longer than 48 bytes");
	refuse("[unit  a.service]\n",
	       ":1: \" a.service\" is no unit that ends in .service or .scope");
	refuse("[user camera]\n[user 1001]\n", ":2: [user 1001] is the same as [user camera]");
	refuse("[user camera]\nplan = no\n", ":2: unknown key \"plan\" in section [user camera]");
	refuse("[user camera]\nplans = never\n", ":2: plans: \"never\" is not one of yes, no");
	refuse("[user camera]\nimprove = 1\n", ":2: improve: \"1\" is not one of yes, no");
	refuse("[user camera]\nplanners = auto, best\n",
	       ":2: planners: \"auto, best\" is no list, with commas, of planners of this npumemd");
	refuse("[user camera]\nplanners = auto nnc\n",
	       ":2: planners: \"auto nnc\" is no list, with commas, of planners of this npumemd");
	refuse("[user camera]\nplanners = auto,\n",
	       ":2: planners: \"auto,\" is no list, with commas, of planners of this npumemd");
	refuse("[user camera]\narena-limit = much\n",
	       ":2: arena-limit: \"much\" is not a number of bytes");
	refuse("[user camera]\ncpu-limit = 2592001\n",
	       ":2: cpu-limit: \"2592001\" is more than 30 days in seconds");
	refuse("[user camera]\ntime-limit = 2592001\n",
	       ":2: time-limit: \"2592001\" is more than 30 days in seconds");
	refuse("[user camera]\nnice = 20\n", ":2: nice: \"20\" is not between 0 and 19");
	refuse("[user camera]\ncpu-quota = 6401\n",
	       ":2: cpu-quota: \"6401\" is not between 0 and 6400");
	refuse("[user camera]\nnice = 1\nnice = 1\n", ":3: nice is given twice");
	refuse("[user camera]\nnice = 1\n[others]\nnice = 2\n[user camera]\nnice = 1\n",
	       ":6: nice is given twice");
	for (int i = 0; i < 65; i++)
		at += sprintf(at, "[user %d]\nnice = 1\n", i);
	refuse(many, ":129: there are more than 64 policies");
}

/* What a client's policy is called; "" for none. */
static const char *policy_name(uint32_t uid, uint32_t gid, const char *cgroup)
{
	struct accepted accepted = { .client = { .known = true, .uid = uid, .gid = gid } };

	strcpy(accepted.client.cgroup, cgroup);
	return policy_of(f.config.policies, &accepted)->name;
}

POLICY_TEST(whose_policy_it_is)
{
	configure("[others]\nnice = 1\n"
		  "[group sensors]\nnice = 2\n"
		  "[group 50]\nnice = 3\n"
		  "[user radio]\nnice = 4\n"
		  "[user 7]\nnice = 5\n"
		  "[unit words.service]\nnice = 6\n"
		  "[unit session-1.scope]\nnice = 7\n");
	assert_string_equal(policy_name(1, 1, "/"), "others");
	/* By the system's list, and by the group that the process has. */
	assert_string_equal(policy_name(1001, 1, "/"), "group sensors");
	assert_string_equal(policy_name(1, 44, "/"), "group sensors");
	assert_string_equal(policy_name(1003, 1, "/"), "group sensors");
	assert_string_equal(policy_name(1, 50, "/"), "group 50");
	assert_string_equal(policy_name(1001, 50, "/"), "group sensors");
	assert_string_equal(policy_name(1002, 44, "/"), "user radio");
	assert_string_equal(policy_name(7, 1, "/"), "user 7");
	assert_string_equal(policy_name(7, 44, "/system.slice/words.service"),
			    "unit words.service");
	assert_string_equal(policy_name(1, 1, "/system.slice/system-a.slice/words.service/child"),
			    "unit words.service");
	assert_string_equal(policy_name(1, 1, "/words.service"), "unit words.service");
	assert_string_equal(policy_name(1, 1, "/user.slice/user-1.slice/session-1.scope"),
			    "unit session-1.scope");
	/* What a user's own manager, or a service, calls its parts is no unit of the system. */
	assert_string_equal(policy_name(1, 1,
					"/user.slice/user-1.slice/user@1.service/app.slice/"
					"words.service"),
			    "others");
	assert_string_equal(policy_name(1, 1, "/system.slice/mywords.service"), "others");
	assert_string_equal(policy_name(1, 1, "/system.slice/words.service2"), "others");
	assert_string_equal(policy_name(1, 1, "/.slice/words.service"), "others");
	configure("[user 7]\nplans = no\n");
	assert_string_equal(policy_name(1, 1, "/"), "");
	/* One without keys is one. */
	configure("[others]\nplans = no\n[user 7] ; but for him\n");
	assert_string_equal(policy_name(7, 1, "/"), "user 7");
	configure("");
	assert_null(f.config.policies);
	assert_string_equal(policy_name(1, 1, "/"), "");
}

/* Somebody was deleted: his section is nobody's, which is said, and all others are as they were. */
POLICY_TEST(gone)
{
	char text[256] = "";

	configure("[user gone]\nplans = no\n[group left]\n[user away]\n[user gone]\nnice = 1\n"
		  "[user 0]\n[user camera]\n[group 0]\n[others]\n");
	assert_true(policies_warning(f.config.policies, 0, text, sizeof(text)));
	assert_string_equal(text,
			    "[user gone] is nobody's: there is no such user; names are looked "
			    "up again by a reload");
	assert_true(policies_warning(f.config.policies, 1, text, sizeof(text)));
	assert_string_equal(text, "[group left] is nobody's: there is no such group; names are "
				  "looked up again by a reload");
	assert_true(policies_warning(f.config.policies, 2, text, sizeof(text)));
	assert_false(policies_warning(f.config.policies, 3, text, sizeof(text)));
	assert_false(policies_warning(NULL, 0, text, sizeof(text)));
	assert_string_equal(policy_name(0, 7, "/"), "user 0");
	assert_string_equal(policy_name(1001, 7, "/"), "user camera");
	assert_string_equal(policy_name(7, 0, "/"), "group 0");
	assert_string_equal(policy_name(7, 7, "/"), "others");
	/* Nor do they match anybody where there is nothing else. */
	configure("[user gone]\nplans = no\n[group left]\nplans = no\n");
	assert_string_equal(policy_name(0, 0, "/"), "");
}

/* Files of the folder beside the configuration add to it, and take the place of keys. */
POLICY_TEST(drop_ins)
{
	struct accepted accepted = { .client = { .known = true, .uid = 7 } };
	const struct policy *policy;
	char folder[80], file[96], reason[512];
	FILE *stream;

	snprintf(folder, sizeof(folder), "%s.d", path);
	snprintf(file, sizeof(file), "%s/10.conf", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	stream = fopen(file, "w");
	assert_non_null(stream);
	fputs("[user 7]\nnice = 9\nplanners = auto\n", stream);
	fclose(stream);
	unit_write(path, "[user 7]\nnice = 3\narena-limit = 4K\n");
	assert_int_equal(config_read(path, false, &f.config, reason, sizeof(reason)), 0);
	policy = policy_of(f.config.policies, &accepted);
	assert_int_equal(policy->nice, 9);
	assert_int_equal(policy->arena_limit, 4096);
	assert_true(policy->planners);
	assert_true(policy->plans && policy->improve);
	config_free(&f.config);
	/* A mistake in the second file: nothing of the first one stays. */
	stream = fopen(file, "w");
	fputs("[user 7]\nnice = no\n", stream);
	fclose(stream);
	assert_int_equal(config_read(path, false, &f.config, reason, sizeof(reason)), -EINVAL);
	assert_null(f.config.policies);
	unlink(file);
	rmdir(folder);
}

/* -------------------------------------------------------------------- requests */

/* The nice value of a planning process is its plan's text. */
static int plan_nice(const struct worker_input *input, struct worker_reply *reply)
{
	snprintf(reply->text, sizeof(reply->text), "nice %d", getpriority(PRIO_PROCESS, 0));
	return -ECANCELED;
}

/* Planning that takes a fifth of a second of processor time, and says it took none. */
static int plan_long(const struct worker_input *input, struct worker_reply *reply)
{
	struct rusage usage;

	do
		getrusage(RUSAGE_SELF, &usage);
	while (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec < 1 &&
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec < 200000);
	strcpy(reply->text, "no plan after all");
	return -ECANCELED;
}

static int plan_never(const struct worker_input *input, struct worker_reply *reply)
{
	strcpy(reply->text, "planned");
	return -ECANCELED;
}

const struct worker_job replacements[] = {
	{ "plan_nice", plan_nice },
	{ "plan_long", plan_long },
	{ "plan_never", plan_never },
	{ "plan_spin", plan_spin },
	{ 0 },
};

static struct accepted by_user(uint32_t uid)
{
	struct accepted accepted = next_request();

	accepted.client = (struct client){ .known = true, .uid = uid, .gid = uid };
	return accepted;
}

static void refused(struct accepted accepted, uint32_t status, const char *message)
{
	run_again(&accepted);
	assert_failed(status, message);
	close(f.fd);
	f.fd = -1;
}

static void asks_with(struct accepted *accepted, const char *planner, uint32_t objective,
		      uint64_t budget)
{
	strcpy(accepted->planner, planner);
	accepted->objective = objective;
	accepted->arena_budget = budget;
}

/* A policy that an older driver would make worthless is none that is passed over. */
POLICY_TEST(driver_that_does_not_say_who_asks)
{
	configure("[user 7]\nplans = no\n");
	refused(accept_good(), EPERM,
		"npumemd.conf says who may ask for what, and the driver does not say who asks: it is "
		"of an older version, or there are no control groups of version 2");
	/* Nor is that of a unit where nobody says what control group a client is in. */
	configure("[unit a.service]\nplans = no\n");
	refused(by_user(8), EPERM,
		"npumemd.conf says who may ask for what, and the driver does not say who asks: it is "
		"of an older version, or there are no control groups of version 2");
	configure("");
	setenv(REPLACED_PLAN, "plan_never", 1);
	refused(accept_good(), ECANCELED, "planned");
}

POLICY_TEST(no_plans)
{
	configure("[user 7]\nplans = no\n");
	refused(by_user(7), EACCES, "[user 7] of npumemd.conf allows no plans");
	setenv(REPLACED_PLAN, "plan_never", 1);
	refused(by_user(8), ECANCELED, "planned");
}

/* The policy is many people's: the journal says which of them asked. */
POLICY_TEST(who_was_refused)
{
	const char *entry;

	configure("[others]\nplans = no\n");
	has_journal = true;
	log_setup(false, LOG_INFO);
	journal_wait_for("[others] of npumemd.conf allows no plans");
	refused(by_user(7), EACCES, "[others] of npumemd.conf allows no plans");
	entry = journal_came();
	assert_non_null(strstr(entry, "\nNPUMEM_REQUEST=77\nNPUMEM_UID=7\n"));
	assert_non_null(strstr(entry, "\nERRNO=13\n"));
	assert_non_null(strstr(entry, "\nMESSAGE=request 77 failed after "));
	assert_non_null(
		strstr(entry, " ms for user 7: [others] of npumemd.conf allows no plans\n"));
	log_setup(true, LOG_ERR);
}

POLICY_TEST(planners)
{
	struct accepted accepted;

	configure("[user 7]\nplanners = greedy-size , nnc\n[user 8]\nplanners = nnc, cosma\n");
	accepted = by_user(7);
	asks_with(&accepted, "cosma", NPUMEM_OBJECTIVE_ARENA, 0);
	refused(accepted, EACCES,
		"planner cosma is none of those that [user 7] of npumemd.conf allows: greedy-size, "
		"nnc");
	accepted = by_user(7);
	asks_with(&accepted, "", NPUMEM_OBJECTIVE_TRAFFIC, 300);
	refused(accepted, EACCES,
		"none of the planners that [user 7] of npumemd.conf allows plans for the least "
		"traffic: greedy-size, nnc");
	/* One that nobody knows is told so, as to everybody. */
	accepted = by_user(7);
	asks_with(&accepted, "best", NPUMEM_OBJECTIVE_ARENA, 0);
	run_again(&accepted);
	assert_int_equal(f.status, EOPNOTSUPP);
	assert_says("best");
	close(f.fd);
}

/* What the request's planner is then. */
static void expect_planner(const char *policies, uint32_t uid, const char *asked, bool moves,
			   const char *expected)
{
	struct accepted accepted = { .client = { .known = true, .uid = uid } };
	char planner[32], wrong[256];

	configure(policies);
	strcpy(planner, asked);
	assert_int_equal(policy_planner(policy_of(f.config.policies, &accepted),
					moves ? f.config.traffic_planner : f.config.planner, moves,
					planner, wrong, sizeof(wrong)),
			 0);
	assert_string_equal(planner, expected);
}

POLICY_TEST(planner_of_who_names_none)
{
	static const char policies[] = "[user 7]\nplanners = nnc, greedy-size\n"
				       "[user 8]\nplanners = auto, nnc\n"
				       "[user 9]\nplanners = nnc, cosma\n";

	expect_planner(policies, 6, "", false, "auto");
	expect_planner(policies, 6, "", true, "cosma");
	expect_planner(policies, 7, "", false, "greedy-size");
	expect_planner(policies, 7, "nnc", false, "nnc");
	expect_planner(policies, 8, "", false, "auto");
	expect_planner(policies, 9, "", true, "cosma");
}

POLICY_TEST(arena_limit)
{
	struct accepted accepted;

	configure("[user 7]\narena-limit = 400\n");
	refused(by_user(7), ENOSPC,
		"auto: needs 500 B, budget 400 B, lower bound 500 B, peak at step 1: c + b; no plan "
		"in this order fits ([user 7] of npumemd.conf allows 400 bytes)");
	/* The client's own is less. */
	accepted = by_user(7);
	asks_with(&accepted, "", NPUMEM_OBJECTIVE_ARENA, 300);
	run_again(&accepted);
	assert_int_equal(f.status, ENOSPC);
	assert_string_equal(f.message,
			    "auto: needs 500 B, budget 300 B, lower bound 500 B, peak at "
			    "step 1: c + b; no plan in this order fits");
	close(f.fd);
	/* Others have no limit. */
	accepted = by_user(8);
	run_again(&accepted);
	assert_int_equal(f.status, 0);
}

/* A limit that suffices is no budget: planners of the least peak have no other aim then. */
POLICY_TEST(arena_limit_that_suffices)
{
	static unsigned char plans[2][4096];
	struct accepted accepted;

	configure("[user 7]\narena-limit = 1M\n");
	for (uint32_t i = 0; i < 2; i++) {
		accepted = by_user(7 + i);
		asks_with(&accepted, "cosma", NPUMEM_OBJECTIVE_TRAFFIC, 0);
		run_again(&accepted);
		assert_int_equal(f.status, 0);
		assert_true(pread(f.fd, plans[i], sizeof(plans[i]), (off_t)f.answer_at) > 0);
		close(f.fd);
	}
	f.fd = -1;
	assert_memory_equal(plans[0], plans[1], sizeof(plans[0]));
}

/* What has no number of the client's to be lowered is refused by the arena that it got. */
POLICY_TEST(arena_limit_of_a_budget_by_name)
{
	const struct npumem_request asks = { .budget = NPUMEM_BUDGET_PEAK };
	struct accepted accepted;

	configure("[user 7]\narena-limit = 400\n");
	accepted = by_user(7);
	asks_with(&accepted, "", NPUMEM_OBJECTIVE_TRAFFIC, 0);
	asking(&accepted, &asks);
	run_again(&accepted);
	assert_int_equal(f.status, ENOSPC);
	assert_says("planner cosma made a plan that [user 7] of npumemd.conf forbids: it has an "
		    "arena of ");
	assert_says(" bytes, and 400 are allowed");
}

POLICY_TEST(time_limits)
{
	configure("[worker]\ncpu-limit = 1\n[user 7]\ncpu-limit = 30\n[user 8]\ntime-limit = 1\n"
		  "[user 9]\ncpu-limit = 1\n");
	setenv(REPLACED_PLAN, "plan_spin", 1);
	refused(by_user(7), ETIMEDOUT,
		"planning was stopped after 1 s of processor time, the cpu-limit of npumemd.conf");
	f.config.cpu_limit = 60;
	refused(by_user(8), ETIMEDOUT, "planning was stopped at the deadline");
	refused(by_user(9), ETIMEDOUT,
		"planning was stopped after 1 s of processor time, the cpu-limit of npumemd.conf");
}

POLICY_TEST(nice_value)
{
	int own = getpriority(PRIO_PROCESS, 0);
	char expected[32];

	/* It looks at itself by a call that the sandbox forbids. */
	configure("[worker]\nseccomp = no\n[user 7]\nnice = 3\n");
	setenv(REPLACED_PLAN, "plan_nice", 1);
	snprintf(expected, sizeof(expected), "nice %d", own + 3 < 19 ? own + 3 : 19);
	refused(by_user(7), ECANCELED, expected);
	snprintf(expected, sizeof(expected), "nice %d", own);
	refused(by_user(8), ECANCELED, expected);
}

/* Two hundredths of a processor are 1.2 s a minute: 0.2 s six times, and then no more. */
POLICY_TEST(cpu_quota)
{
	struct accepted accepted;
	int planned = 0;

	configure("[user 7]\ncpu-quota = 2\n");
	f.env.quotas = quotas_new(QUOTA_MINUTE_US);
	setenv(REPLACED_PLAN, "plan_long", 1);
	do {
		accepted = by_user(7);
		run_again(&accepted);
		close(f.fd);
	} while (f.status == ECANCELED && planned++ < 20);
	assert_int_equal(f.status, EDQUOT);
	assert_says("planning for user 7 has used up its 2 % of a processor, the cpu-quota of "
		    "[user 7] of npumemd.conf: again in ");
	assert_in_range(planned, 3, 7);
	/* That is nobody else's. */
	refused(by_user(8), ECANCELED, "no plan after all");
}

/* Others of the same user were planned while this one waited. */
POLICY_TEST(cpu_quota_while_it_waits)
{
	struct accepted accepted = by_user(7);
	struct request *request;

	configure("[user 7]\ncpu-quota = 2\n");
	f.env.quotas = quotas_new(QUOTA_MINUTE_US);
	request = request_start(&f.env, &accepted);
	assert_non_null(request);
	assert_true(request_waits(request));
	request_wait(request);
	quotas_charge(f.env.quotas, "user 7", 2, 10000000, now_us());
	request_plan(request);
	assert_int_equal(f.ended, 1);
	assert_int_equal(f.status, EDQUOT);
	assert_says("planning for user 7 has used up its 2 % of a processor");
}
