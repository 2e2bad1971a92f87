/* SPDX-License-Identifier: MIT */
/*
 * Messages to the journal that wait for nobody. Everybody waits for the daemon, and journald may be
 * stopped, or wait for a full disk itself: sd_journal_sendv(3) would wait with it.
 */
#pragma once

#include <sys/uio.h>

/**
 * log_journal_send() - send one message (systemd.io, Native Journal Protocol)
 * @path: the journal's socket
 * @fields: "NAME=value", without end of line and with none inside; at most 16
 * @count: of them
 *
 * 0; -EAGAIN: it is not taken now; or the negative errno of sending it.
 */
int log_journal_send(const char *path, const struct iovec *fields, int count);
