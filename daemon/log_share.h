/* SPDX-License-Identifier: MIT */
/*
 * How much of the log each user's requests may take. A request is refused, or answered from the
 * cache, within microseconds, and each has its line: who asks in a loop would wear a small
 * device's storage, and, once the journal limits the daemon for it, take away what the daemon
 * has to say of everybody else's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* So many messages in so many microseconds of each user. */
#define LOG_SHARE_MESSAGES  1000
#define LOG_SHARE_PERIOD_US 600000000ull
#define LOG_SHARE_USERS	    64
/* Of all whom the driver does not name. */
#define LOG_SHARE_NOBODY    UINT64_MAX
/* Of all for whom there is no share: who has many users has no more by that. */
#define LOG_SHARE_OTHERS    (UINT64_MAX - 1)

/**
 * struct log_share - one user's period
 * @user: user ID, LOG_SHARE_NOBODY or LOG_SHARE_OTHERS
 * @began: when the first message of the period came, CLOCK_MONOTONIC microseconds
 * @messages: that came in it; 0: the share is nobody's
 */
struct log_share {
	uint64_t user;
	uint64_t began;
	uint64_t messages;
};

/* struct log_shares - of users, and the last one of all others; zeroed is empty */
struct log_shares {
	struct log_share of[LOG_SHARE_USERS + 1];
};

/**
 * struct log_verdict - what becomes of a message
 * @tell: it is told
 * @last: it is the last one that is told of its share in this period
 * @share: whose share it takes of
 * @user: whose period has ended with this message, if some were left out in it
 * @left_out: so many of his were
 */
struct log_verdict {
	bool tell;
	bool last;
	uint64_t share;
	uint64_t user;
	uint64_t left_out;
};

/**
 * log_share_take() - a message about a request comes
 * @shares: of all
 * @user: who made the request: a user ID, or LOG_SHARE_NOBODY
 * @now: CLOCK_MONOTONIC microseconds; never less than in an earlier call
 *
 * Where there are more users than shares, those whose periods have ended give theirs, and who finds
 * none is one of the others.
 */
struct log_verdict log_share_take(struct log_shares *shares, uint64_t user, uint64_t now);
