// SPDX-License-Identifier: MIT
/*
 * scrape - npumemd's metrics as they come, in the newer format (OpenMetrics).
 *
 * usage: npumem_scrape SOCKET
 *
 * Exit 3: nobody answers. Exit 1: what has come does not begin as an answer does, or does not end
 * with "# EOF": a scraper would take a part for the whole.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define NOBODY	 3
#define MOST	 (1u << 20)
/* For hangs: a busy emulator is slow. */
#define PATIENCE 60

static char text[MOST + 1];

int main(int argc, char **argv)
{
	static const char asks[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
				   "Accept: application/openmetrics-text\r\n\r\n";
	static const char begin[] = "HTTP/1.1 200 ", end[] = "\n# EOF\n";
	const struct timeval patience = { .tv_sec = PATIENCE };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *body;
	size_t used = 0;
	ssize_t got;
	int fd;

	if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path))
		errx(2, "usage: npumem_scrape SOCKET");
	memcpy(address.sun_path, argv[1], strlen(argv[1]) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)))
		err(2, "socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    send(fd, asks, strlen(asks), MSG_NOSIGNAL) != (ssize_t)strlen(asks))
		err(NOBODY, "%s", argv[1]);
	while ((got = recv(fd, text + used, MOST - used, 0)) > 0)
		used += (size_t)got;
	if (got < 0 && !used)
		err(NOBODY, "%s", argv[1]);
	if (!used)
		errx(NOBODY, "%s: it hangs up", argv[1]);
	close(fd);
	body = strstr(text, "\r\n\r\n");
	if (strncmp(text, begin, strlen(begin)) != 0 || !body || strlen(text) != used ||
	    strcmp(text + used - strlen(end), end) != 0)
		errx(1, "%zu bytes that are no whole answer, the last ones \"%s\"", used,
		     used > 80 ? text + used - 80 : text);
	fputs(body + 4, stdout);
	return fflush(stdout) ? 1 : 0;
}
