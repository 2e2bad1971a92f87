// SPDX-License-Identifier: MIT
/* The verifier's log on its way back: to the caller's buffer, or to the error. */
#include "device.h"

void npumem_log_begin(struct npumem_log_use *use, struct npumem_log *user,
		      struct drm_npumem_log *log)
{
	use->user = user;
	use->own[0] = '\0';
	if (user && user->level) {
		if (user->size)
			user->text[0] = '\0';
		log->level = user->level;
		log->text = buffer_of(user->text, user->size);
	} else {
		log->level = 1;
		log->text = buffer_of(use->own, sizeof(use->own));
	}
}

const char *npumem_log_end(struct npumem_log_use *use, const struct drm_npumem_log *log)
{
	if (!use->user)
		return use->own;
	use->user->true_size = use->user->level ? (uint32_t)log->text.size : 0;
	return use->user->level && use->user->size ? use->user->text : use->own;
}
