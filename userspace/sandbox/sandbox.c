// SPDX-License-Identifier: MIT
#include "sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/*
 * A worker may ask for memory and the time, write its result, and die (abort() raises a
 * signal). It may not open a file or socket, fork, execute, trace, or send a signal to
 * others: tgkill reaches only threads of this process, since no other may be named.
 */
static const int allowed[] = {
	SCMP_SYS(brk),		 SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_gettime64),
	SCMP_SYS(close),	 SCMP_SYS(exit),
	SCMP_SYS(exit_group),	 SCMP_SYS(fstat),
	SCMP_SYS(futex),	 SCMP_SYS(getpid),
	SCMP_SYS(getrandom),	 SCMP_SYS(getrusage),
	SCMP_SYS(gettid),	 SCMP_SYS(gettimeofday),
	SCMP_SYS(lseek),	 SCMP_SYS(madvise),
	SCMP_SYS(mremap),	 SCMP_SYS(munmap),
	SCMP_SYS(rt_sigaction),	 SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),	 SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),	 SCMP_SYS(sigaltstack),
	SCMP_SYS(sysinfo), /* qsort() asks how much memory there is */
	SCMP_SYS(write),	 SCMP_SYS(writev),
};

static int limit(int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit rlimit = { .rlim_cur = soft, .rlim_max = hard };

	return setrlimit(resource, &rlimit) ? -errno : 0;
}

static int set_limits(const struct sandbox_limits *limits)
{
	int err = limit(RLIMIT_CORE, 0, 0);

	/* Descriptors that are open stay open, but no more can be opened. */
	if (!err)
		err = limit(RLIMIT_NOFILE, 0, 0);
	if (!err && limits->memory)
		err = limit(RLIMIT_AS, limits->memory, limits->memory);
	/* SIGXCPU, at the soft limit, can be told from the SIGKILL at the deadline. */
	if (!err && limits->cpu_seconds)
		err = limit(RLIMIT_CPU, limits->cpu_seconds, limits->cpu_seconds + 1);
	if (!err && limits->file_bytes)
		err = limit(RLIMIT_FSIZE, limits->file_bytes, limits->file_bytes);
	return err;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* Allow mmap or mprotect, unless the call would make memory executable. */
static int allow_data_only(scmp_filter_ctx filter, int call)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

/*
 * Make the call fail by which the C library's streams ask for a descriptor's kind before
 * they first write to it. It could be used to look at any path; the streams do without it.
 */
static int refuse_stat(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(newfstatat), 0);
}

static int allow_calls(scmp_filter_ctx filter, const struct sandbox_calls *calls)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < calls->request_count; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 2,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)calls->fd),
				       SCMP_A1(SCMP_CMP_EQ, calls->requests[i]));
	if (!err && calls->timer)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setitimer), 1,
				       SCMP_A0(SCMP_CMP_EQ, ITIMER_REAL));
	return err;
}

static int set_filter(const struct sandbox_calls *calls)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err = 0;

	if (!filter)
		return -ENOMEM;
	for (size_t i = 0; !err && i < sizeof(allowed) / sizeof(allowed[0]); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	if (!err)
		err = allow_data_only(filter, SCMP_SYS(mmap));
	if (!err)
		err = allow_data_only(filter, SCMP_SYS(mprotect));
	if (!err)
		err = refuse_stat(filter);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	if (!err && calls)
		err = allow_calls(filter, calls);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

int sandbox_enter(const struct sandbox_limits *limits, const struct sandbox_calls *calls,
		  const char **what)
{
	int err;

	*what = "no new privileges";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	*what = "not dumpable";
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	*what = "no capabilities";
	err = drop_capabilities();
	if (err)
		return err;
	*what = "resource limits";
	err = set_limits(limits);
	if (err || !limits->seccomp)
		return err;
	*what = "system call filter";
	return set_filter(calls);
}
