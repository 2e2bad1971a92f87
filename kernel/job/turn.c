// SPDX-License-Identifier: GPL-2.0-only
/*
 * RUN_TURN: a run waits for its shared arena, and gives it to the next one. What waits, and who
 * sees which bytes, is in memory/shared.c; here is what that means for the run: it takes
 * jobs in its turn only, and each turn begins with an inference.
 *
 * No lock is held while a call waits. run->in_turn is set last and cleared first, under
 * run->lock, so that whoever submits under that lock has the arena, with its bytes made ready.
 */
#include <drm/drm_print.h>

#include "memory/shared.h"
#include "base/client.h"
#include "turn.h"

static int turn_begin(struct npu_run *run, s64 deadline_ns)
{
	struct npu_shared *shared = run->arena->shared;
	int err;

	err = npumem_shared_begin(shared, &run->place, run->client, deadline_ns);
	if (err)
		return err;
	err = -EINTR;
	if (!mutex_lock_killable(&run->lock)) {
		err = npumem_run_restart(run);
		WRITE_ONCE(run->in_turn, !err);
		mutex_unlock(&run->lock);
	}
	if (err)
		npumem_shared_end(shared, &run->place);
	return err;
}

/* Under run->lock. */
static int turn_end_locked(struct npu_run *run)
{
	if (!run->in_turn)
		return -ENOLCK;
	if (npumem_run_busy(run))
		return -EBUSY;
	WRITE_ONCE(run->in_turn, false);
	return 0;
}

static int turn_end(struct npu_run *run)
{
	int err;

	if (mutex_lock_killable(&run->lock))
		return -EINTR;
	err = turn_end_locked(run);
	mutex_unlock(&run->lock);
	if (!err)
		npumem_shared_end(run->arena->shared, &run->place);
	return err;
}

int npumem_ioctl_run_turn(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_run *run __free(npumem_run_put) = NULL;
	struct drm_npumem_run_turn *args = data;

	if ((args->flags != NPUMEM_TURN_BEGIN && args->flags != NPUMEM_TURN_END) ||
	    (args->flags == NPUMEM_TURN_END && args->deadline_ns))
		return npumem_refuse(drm, -EINVAL, "RUN_TURN: flags %#x, deadline %lld",
				     args->flags, args->deadline_ns);
	run = npumem_run_lookup(file->driver_priv, args->run);
	if (!run)
		return npumem_refuse(drm, -ENOENT, "RUN_TURN: no run %u", args->run);
	if (!run->arena->shared)
		return npumem_refuse(drm, -EINVAL, "RUN_TURN: run %u has an arena of its own",
				     args->run);
	if (args->flags == NPUMEM_TURN_END)
		return turn_end(run);
	return turn_begin(run, args->deadline_ns);
}
