/* SPDX-License-Identifier: MIT */
/*
 * Whether a message is taken at once by whom it is for. Everybody waits for the daemon, so it waits
 * for nobody who writes its log: journald may be stopped, or wait for a full disk itself.
 */
#pragma once

#include <stdbool.h>

/**
 * log_fd_has_room() - whether something can be written to a descriptor without waiting
 * @fd: of any file; a pipe has room where it has a page of it
 */
bool log_fd_has_room(int fd);

/**
 * log_journal_has_room() - whether the journal takes a message without waiting
 * @path: its socket
 *
 * True, too, where there is none, or nobody to ask: sending does not wait then either.
 */
bool log_journal_has_room(const char *path);
