// SPDX-License-Identifier: MIT
/* Better plans that npumemd has found meanwhile, taken between two inferences. */
#include <inttypes.h>

#include "delegate.h"

static void say_swap(const struct partition *p, uint64_t arena, uint64_t spilled)
{
	const struct npumem_plan_info *info = &p->memory->info;

	say("a better plan: arena %" PRIu64 " bytes and no longer %" PRIu64 ", spilled %" PRIu64
	    " and no longer %" PRIu64,
	    (uint64_t)info->arena_size, arena, (uint64_t)info->spill_bytes, spilled);
}

void improve(struct partition *p)
{
	const struct options *options = &p->delegate->options;
	struct memory *better = NULL;
	struct why why;
	uint64_t arena, spilled;
	int err;

	if (!options->follow || !p->memory || !p->memory->enforcer->ops->improved)
		return;
	arena = p->memory->info.arena_size;
	spilled = p->memory->info.spill_bytes;
	err = memory_better(p->memory, p->program, &better, &why);
	if (!err && better) {
		err = p->program ? engine_take(p, better, &why) : partition_take(p, better, &why);
		if (err)
			memory_free(better);
		else
			p->swaps++;
	}
	if (err && options->verbose)
		say("no better plan, the old one goes on: %s", why.text);
	else if (!err && better && options->verbose)
		say_swap(p, arena, spilled);
}
