/* SPDX-License-Identifier: MIT */
/* Attempts that may crash: each in a process of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A sanitizer has memory of its own, and keeps what was freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REAL_SANITIZED 1
#else
#define REAL_SANITIZED 0
#endif

/* enum real_end - how an attempt ends */
enum real_end { REAL_ENDED, REAL_CRASHED, REAL_HUNG };

/*
 * struct real_attempt - what a child does
 * @run: writes its answer to @answer, which is zeros at first
 * @user: its argument
 * @answer, @size: of the answer, which comes back if it ends by itself
 * @fill: the complement of the byte that fresh memory of malloc() has; 0: any
 * @loud: it may write to standard output and error
 */
struct real_attempt {
	void (*run)(void *user, void *answer);
	void *user;
	void *answer;
	size_t size;
	int fill;
	bool loud;
};

/* It may have 4 GiB, if no sanitizer has more, and 20 seconds. */
enum real_end real_try(const struct real_attempt *attempt);
