/* SPDX-License-Identifier: MIT */
/*
 * Children that die slowly: while signals are held, kill() sends none, and knows to whom it was.
 * For programs that are linked with held_kill_link_args.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Hold SIGKILL from now on. */
void hold_kills(void);
/* Send what was held, once, and hold no more. Returns to whom that was; 0: to nobody. */
pid_t release_kills(void);
