/* SPDX-License-Identifier: MIT */
/*
 * What the journal gets while a test runs, in place of the system's: for programs that are linked
 * with --wrap=access, --wrap=connect and --wrap=sd_journal_sendv. Until journal_socket() it has no
 * socket.
 */
#pragma once

#include <stdbool.h>

/*
 * journal_socket() - be what sockets connect to that look for the journal's; close() it
 * journal_connect() - connect one
 */
int journal_socket(void);
int journal_connect(int fd);

/* Whether there is one, where log_setup() looks. */
extern bool has_journal;
/* Fields of the last message that it got, a line each. */
extern char journal[16384];

/*
 * journal_wait_for() - keep a message that will come, if it has these words in it
 * journal_came() - its fields, a line each; fails where none has come
 */
void journal_wait_for(const char *words);
const char *journal_came(void);
