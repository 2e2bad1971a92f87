// SPDX-License-Identifier: MIT
#include "log_room.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool log_fd_has_room(int fd)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	/* What is neither full nor ready has gone wrong, which writing to it tells. */
	return poll(&room, 1, 0) != 0;
}

bool log_journal_has_room(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	bool room = true;
	/* Of its own, and anew each time: sd_journal_sendv()'s is not to be had, and waits. */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return true;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		room = log_fd_has_room(fd);
	close(fd);
	return room;
}
