// SPDX-License-Identifier: MIT
#include "compute.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "command.h"

static sigjmp_buf too_long;

/*
 * Commands allocate nothing and hold nothing, so they can be left wherever they are: what they
 * have written is in the window, and is not taken from there.
 */
static void on_alarm(int number)
{
	siglongjmp(too_long, 1);
}

static int set_alarm(uint32_t ms)
{
	struct itimerval timer = {
		.it_value = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 },
	};

	return setitimer(ITIMER_REAL, &timer, NULL) ? -errno : 0;
}

int compute_init(struct compute *compute, uint64_t scratch_size, uint32_t limit_ms)
{
	struct sigaction action = { .sa_handler = on_alarm };
	int err;

	*compute = (struct compute){ .scratch_size = scratch_size, .limit_ms = limit_ms };
	compute->scratch = mmap(NULL, scratch_size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (compute->scratch == MAP_FAILED)
		return -errno;
	compute->accesses = calloc(COMPUTE_MAX_ACCESSES, sizeof(*compute->accesses));
	err = compute->accesses ? 0 : -ENOMEM;
	if (!err && sigaction(SIGALRM, &action, NULL))
		err = -errno;
	if (err)
		compute_fini(compute);
	return err;
}

void compute_fini(struct compute *compute)
{
	free(compute->accesses);
	munmap(compute->scratch, compute->scratch_size);
}

static int execute(struct compute *compute, const struct npumem_engine_task *task, const char **why)
{
	if (task->access_count > COMPUTE_MAX_ACCESSES) {
		*why = "the step has too many accesses";
		return -E2BIG;
	}
	for (uint32_t i = 0; i < task->access_count; i++) {
		const struct npumem_engine_access *a = &task->accesses[i];

		compute->accesses[i] = (struct engine_access){
			.data = (char *)task->window + a->offset,
			.size = a->size,
			.writable = a->flags & NPUMEM_ENGINE_ACCESS_WRITE,
		};
	}
	return engine_execute(task->commands, task->commands_size, compute->accesses,
			      task->access_count, compute->scratch, compute->scratch_size, why);
}

int compute_task(struct compute *compute, const struct npumem_engine_task *task, const char **why)
{
	volatile int err;

	/* The mask is put back: the signal was blocked while it was handled. */
	if (sigsetjmp(too_long, 1)) {
		*why = "it takes too long";
		return -ETIME;
	}
	err = set_alarm(compute->limit_ms);
	if (!err)
		err = execute(compute, task, why);
	set_alarm(0);
	return err;
}
