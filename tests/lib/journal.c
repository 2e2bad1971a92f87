// SPDX-License-Identifier: MIT
#include "journal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"

bool has_journal;
char journal[16384];
static char came[sizeof(journal)];
static const char *wanted;

/* Without a name nobody else finds it. */
static struct sockaddr_un address;
static socklen_t address_size;

int __real_connect(int fd, const struct sockaddr *to, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t size)
{
	const struct sockaddr_un *named = (const struct sockaddr_un *)to;

	if (to->sa_family != AF_UNIX || strcmp(named->sun_path, "/run/systemd/journal/socket") != 0)
		return __real_connect(fd, to, size);
	return journal_connect(fd);
}

int journal_connect(int fd)
{
	if (!address_size) {
		errno = ENOENT;
		return -1;
	}
	return __real_connect(fd, (struct sockaddr *)&address, address_size);
}

int journal_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	address.sun_family = AF_UNIX;
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address.sun_family)), 0);
	address_size = sizeof(address);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &address_size), 0);
	return fd;
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	if (strcmp(path, "/run/systemd/journal/socket") != 0)
		return __real_access(path, mode);
	assert_int_equal(mode, W_OK);
	if (has_journal)
		return 0;
	errno = ENOENT;
	return -1;
}

int __wrap_sd_journal_sendv(const struct iovec *fields, int count);
int __wrap_sd_journal_sendv(const struct iovec *fields, int count)
{
	size_t used = 0;

	for (int i = 0; i < count; i++) {
		assert_true(fields[i].iov_len + 2 <= sizeof(journal) - used);
		memcpy(journal + used, fields[i].iov_base, fields[i].iov_len);
		used += fields[i].iov_len;
		journal[used++] = '\n';
	}
	journal[used] = '\0';
	if (wanted && !*came && strstr(journal, wanted))
		strcpy(came, journal);
	return 0;
}

void journal_wait_for(const char *words)
{
	wanted = words;
	*came = '\0';
}

const char *journal_came(void)
{
	if (!*came)
		fail_msg("the journal has no \"%s\"", wanted);
	return came;
}
