// SPDX-License-Identifier: MIT
#include "real_child.h"

#include <err.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Damaged models ask for any size; what has not got it by then does not end. */
#define MEMORY	(4ull << 30)
#define SECONDS 20

static void be_quiet(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
}

static _Noreturn void child(const struct real_attempt *a, int to)
{
	const struct rlimit memory = { MEMORY, MEMORY }, core = { 0, 0 };

	if (!a->loud)
		be_quiet();
	setrlimit(RLIMIT_CORE, &core);
	if (!REAL_SANITIZED)
		setrlimit(RLIMIT_AS, &memory);
	mallopt(M_PERTURB, a->fill);
	alarm(SECONDS);
	a->run(a->user, a->answer);
	fflush(NULL);
	_exit(write(to, a->answer, a->size) == (ssize_t)a->size ? 0 : 1);
}

enum real_end real_try(const struct real_attempt *a)
{
	int ends[2], status = 0;
	bool said;
	pid_t pid;

	memset(a->answer, 0, a->size);
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC))
		err(2, "pipe");
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (!pid)
		child(a, ends[1]);
	close(ends[1]);
	said = read(ends[0], a->answer, a->size) == (ssize_t)a->size;
	close(ends[0]);
	if (waitpid(pid, &status, 0) != pid)
		err(2, "waitpid");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return REAL_HUNG;
	return said && WIFEXITED(status) && !WEXITSTATUS(status) ? REAL_ENDED : REAL_CRASHED;
}
