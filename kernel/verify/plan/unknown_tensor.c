// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Refuses records of a plan that name a tensor which its graph does not have. Errno and text
 * are here alone.
 */
#include "plan.h"

int npuv_refuse_unknown_tensor(struct npuv_work *w, u32 rule, u32 tensor, const char *fmt, ...)
{
	char record[192];
	va_list args;

	va_start(args, fmt);
	vsnprintf(record, sizeof(record), fmt, args);
	va_end(args);
	return npuv_refuse(w, -EINVAL, rule, "%s: tensor %u is not there", record, tensor);
}
