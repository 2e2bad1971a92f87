/* SPDX-License-Identifier: MIT */
/*
 * What the journal gets while a test runs, in place of the system's: for programs that are linked
 * with --wrap=access and --wrap=log_journal_send.
 */
#pragma once

#include <stdbool.h>
#include <sys/uio.h>

/* As the daemon has it. */
int __real_log_journal_send(const char *path, const struct iovec *fields, int count);

/* Whether there is one, where log_setup() looks. */
extern bool has_journal;
/* So many more messages it takes; below 0: as many as come. */
extern int journal_room;
/* Fields of the last message that it got, a line each. */
extern char journal[16384];

/*
 * journal_wait_for() - keep a message that will come, if it has these words in it
 * journal_came() - its fields, a line each; fails where none has come
 */
void journal_wait_for(const char *words);
const char *journal_came(void);
