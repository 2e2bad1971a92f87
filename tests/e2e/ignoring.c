// SPDX-License-Identifier: MIT
/*
 * ignoring - become a program that ignores SIGCHLD, as it is started by one that does.
 *
 * usage: npumem_ignoring PROGRAM [ARGUMENT...]
 */
#include <err.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: npumem_ignoring PROGRAM [ARGUMENT...]");
	if (signal(SIGCHLD, SIG_IGN) == SIG_ERR)
		err(1, "signal");
	execvp(argv[1], argv + 1);
	err(1, "%s", argv[1]);
}
