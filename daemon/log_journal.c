// SPDX-License-Identifier: MIT
#include "log_journal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_FIELDS 16
/* So much may lie in the journal's socket, as sd-journal has it. */
#define ROOM	   (8 << 20)

/* Opened once: later there may be no descriptor left to say so with. */
static int journal_socket(void)
{
	static int fd = -1;
	const int room = ROOM;

	if (fd >= 0)
		return fd;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* With the capability that the daemon has for the driver; else as much as anybody may. */
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return fd;
}

int log_journal_send(const char *path, const struct iovec *fields, int count)
{
	static char end[] = "\n";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct iovec parts[2 * MAX_FIELDS];
	struct msghdr message = {
		.msg_name = &address,
		.msg_namelen = sizeof(address),
		.msg_iov = parts,
	};
	int fd = journal_socket();

	if (fd < 0)
		return -errno;
	if (count > MAX_FIELDS)
		return -E2BIG;
	for (int i = 0; i < count; i++) {
		parts[message.msg_iovlen++] = fields[i];
		parts[message.msg_iovlen++] = (struct iovec){ end, 1 };
	}
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}
