// SPDX-License-Identifier: MIT
/*
 * pty - run a program in a terminal, and press a key some time later.
 *
 * usage: npumem_pty LINES COLUMNS SECONDS KEY COMMAND [ARGUMENT...]
 *
 * Prints what the program writes to its terminal, and exits as it does; 99: it did not end in a
 * minute.
 */
#include <err.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_SECONDS 60

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct winsize size = { 0 };
	double start, press;
	char text[4096];
	ssize_t got = 1;
	int terminal, status;
	pid_t pid;

	if (argc < 6)
		errx(2, "usage: npumem_pty LINES COLUMNS SECONDS KEY COMMAND [ARGUMENT...]");
	size.ws_row = (unsigned short)atoi(argv[1]);
	size.ws_col = (unsigned short)atoi(argv[2]);
	pid = forkpty(&terminal, NULL, NULL, &size);
	if (pid < 0)
		err(2, "forkpty");
	if (!pid) {
		execvp(argv[5], argv + 5);
		err(127, "%s", argv[5]);
	}
	start = now();
	press = start + atof(argv[3]);
	/* EIO: nobody has the other side any more. */
	while (got > 0 && now() < start + MOST_SECONDS) {
		struct pollfd output = { .fd = terminal, .events = POLLIN };

		if (press && now() >= press) {
			if (write(terminal, argv[4], 1) != 1)
				warn("write");
			press = 0;
		}
		if (poll(&output, 1, 100) <= 0)
			continue;
		got = read(terminal, text, sizeof(text));
		if (got > 0 && write(STDOUT_FILENO, text, (size_t)got) != got)
			err(2, "write");
	}
	if (got > 0)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) < 0)
		err(2, "waitpid");
	return got <= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
