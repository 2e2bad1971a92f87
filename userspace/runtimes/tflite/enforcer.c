// SPDX-License-Identifier: MIT
#include "enforcer.h"

#include <errno.h>

int enforcer_open(const struct options *options, struct enforcer **out, struct why *why)
{
	int err;

	*out = NULL;
	if (options->none)
		return process_open(options, out, why);
	err = device_open(options, out, why);
	if (err != -ENOENT && err != -ENOTCONN)
		return err;
	switch (options->fallback) {
	case FALLBACK_ERROR:
		return err;
	case FALLBACK_ASIDE:
		say("%s: nothing is claimed", why->text);
		return 0;
	case FALLBACK_PROCESS:
		break;
	}
	say("%s: planned%s enforced%s in this process", why->text,
	    options->engine == ENGINE_COMPUTE ? "," : " and",
	    options->engine == ENGINE_COMPUTE ? " and computed" : "");
	return process_open(options, out, why);
}

int enforcer_end(const struct enforcer *enforcer, struct enforced *enforced, struct why *why)
{
	return enforcer->ops->end ? enforcer->ops->end(enforced, why) : 0;
}
