// SPDX-License-Identifier: MIT
#include "log_share.h"

#include <stddef.h>

/* The share of a user, or the one that he is given. */
static struct log_share *share_of(struct log_shares *shares, uint64_t user)
{
	struct log_share *oldest = &shares->of[0];

	for (size_t i = 0; i < LOG_SHARE_USERS; i++) {
		struct log_share *share = &shares->of[i];

		if (share->messages && share->user == user)
			return share;
		if (oldest->messages && (!share->messages || share->began < oldest->began))
			oldest = share;
	}
	return oldest;
}

struct log_verdict log_share_take(struct log_shares *shares, uint64_t user, uint64_t now)
{
	struct log_share *share = share_of(shares, user);
	struct log_verdict verdict = { 0 };

	if (!share->messages || share->user != user || now - share->began >= LOG_SHARE_PERIOD_US) {
		if (share->messages > LOG_SHARE_MESSAGES) {
			verdict.user = share->user;
			verdict.left_out = share->messages - LOG_SHARE_MESSAGES;
		}
		*share = (struct log_share){ .user = user, .began = now };
	}
	share->messages++;
	verdict.tell = share->messages <= LOG_SHARE_MESSAGES;
	verdict.last = share->messages == LOG_SHARE_MESSAGES;
	return verdict;
}
