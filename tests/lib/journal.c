// SPDX-License-Identifier: MIT
#include "journal.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "unit.h"

bool has_journal;
int journal_room = -1;
char journal[16384];
static char came[sizeof(journal)];
static const char *wanted;

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

int __wrap_log_journal_send(const char *path, const struct iovec *fields, int count);
int __wrap_log_journal_send(const char *path, const struct iovec *fields, int count)
{
	size_t used = 0;

	assert_string_equal(path, "/run/systemd/journal/socket");
	if (!journal_room)
		return -EAGAIN;
	journal_room--;
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
