// SPDX-License-Identifier: MIT
#include "log_share.h"

#include <stddef.h>

static bool has_ended(const struct log_share *share, uint64_t now)
{
	return !share->messages || now - share->began >= LOG_SHARE_PERIOD_US;
}

/* The share of a user; else one that he can have, or that of all others. */
static struct log_share *share_of(struct log_shares *shares, uint64_t user, uint64_t now)
{
	struct log_share *ended = NULL;

	for (size_t i = 0; i < LOG_SHARE_USERS; i++) {
		struct log_share *share = &shares->of[i];

		if (share->messages && share->user == user)
			return share;
		if (!ended && has_ended(share, now))
			ended = share;
	}
	return ended ? ended : &shares->of[LOG_SHARE_USERS];
}

struct log_verdict log_share_take(struct log_shares *shares, uint64_t user, uint64_t now)
{
	struct log_share *share = share_of(shares, user, now);
	struct log_verdict verdict = { 0 };

	if (has_ended(share, now)) {
		if (share->messages > LOG_SHARE_MESSAGES) {
			verdict.user = share->user;
			verdict.left_out = share->messages - LOG_SHARE_MESSAGES;
		}
		*share = (struct log_share){
			.user = share == &shares->of[LOG_SHARE_USERS] ? LOG_SHARE_OTHERS : user,
			.began = now,
		};
	}
	share->messages++;
	verdict.tell = share->messages <= LOG_SHARE_MESSAGES;
	verdict.last = share->messages == LOG_SHARE_MESSAGES;
	verdict.share = share->user;
	return verdict;
}
