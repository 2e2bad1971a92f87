// SPDX-License-Identifier: MIT
#include "held_kill.h"

#include <signal.h>

#include "unit.h"

static bool held;
static pid_t told_to_die;

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);

int __wrap_kill(pid_t pid, int number)
{
	if (!held)
		return __real_kill(pid, number);
	assert_int_equal(number, SIGKILL);
	told_to_die = pid;
	return 0;
}

void hold_kills(void)
{
	held = true;
	told_to_die = 0;
}

pid_t release_kills(void)
{
	held = false;
	if (told_to_die)
		assert_int_equal(__real_kill(told_to_die, SIGKILL), 0);
	return told_to_die;
}
