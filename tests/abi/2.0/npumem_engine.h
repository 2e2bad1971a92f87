/* SPDX-License-Identifier: MIT */
/*
 * npumem: engines in a process. What a process does with the descriptor that
 * DRM_IOCTL_NPUMEM_ENGINE_ATTACH (npumem_drm.h) gave it.
 *
 * A job's steps come to the engine one after the other, each as a *task*: copies of the
 * tiles, in the window, and the job's commands. The engine computes in the window and
 * commits; then the driver copies what the step writes to its place. The engine sees no
 * other byte of the client and changes no other.
 *
 * The window, a BO of the engine's own, has for each task, from its first byte on:
 *
 *   struct npumem_engine_access, one for each access of the step, in the step's order
 *   the job's commands, at commands_offset
 *   the bytes of each access, at its offset: by linear index (npumem_graph.h), without gaps
 *
 * Where the commands have a relocation (struct drm_npumem_relocation) the window has the offset of
 * the byte that it names, or NPUMEM_ENGINE_NOWHERE if that is another position's.
 *
 * Commands and accesses begin at multiples of NPUMEM_ENGINE_ALIGN. Behind each of the three, and
 * behind each access, are at least NPUMEM_ENGINE_GUARD bytes that are nobody's. An engine that has
 * changed one of them when it commits has written where it had no business: nothing of the task is
 * taken, and the job fails with EPROTO and a verdict, NPUMEM_RULE_ENFORCE_BESIDE, that says behind
 * which tile. What a step only writes is zero at first. From the commit until the next task is
 * fetched the window is the driver's: what is written there meanwhile may spoil the engine's own
 * results, or is lost.
 *
 * A task has to be fetched within the engine's hang limit, and committed that long after that or
 * the last NPUMEM_IOCTL_ENGINE_ALIVE, and all of a job within NPUMEM_ENGINE_JOB_MS. If it is not,
 * the job has failed, and to commit it is ESTALE. The next task comes once the engine is back for
 * it; one that is not within NPUMEM_ENGINE_JOB_MS more is detached.
 *
 * poll() says POLLIN while a task can be fetched, POLLHUP once the engine is detached: the
 * device is gone, or the engine has not come back. Closing the descriptor, with all its
 * copies, detaches, too. Jobs that were submitted to the engine and have not ended fail then
 * (ENODEV).
 */
#ifndef NPUMEM_ENGINE_UAPI_H
#define NPUMEM_ENGINE_UAPI_H

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define NPUMEM_ENGINE_ALIGN  64
#define NPUMEM_ENGINE_GUARD  64
#define NPUMEM_ENGINE_JOB_MS 10000

/* As the offset of a byte: it is not in the window. */
#define NPUMEM_ENGINE_NOWHERE (~(__u64)0)

/* Of an access: the bytes are those that the step reads; what is there is written back. */
#define NPUMEM_ENGINE_ACCESS_READ  (1u << 0)
#define NPUMEM_ENGINE_ACCESS_WRITE (1u << 1)

/**
 * struct npumem_engine_access - one access of a task's step
 * @offset: of its first byte in the window
 * @size: bytes; zero for a parameter that the plan has no place for
 * @flags: NPUMEM_ENGINE_ACCESS_READ, NPUMEM_ENGINE_ACCESS_WRITE, or both
 * @tile: of the graph
 */
struct npumem_engine_access {
	__u64 offset;
	__u64 size;
	__u32 flags;
	__u32 tile;
};

/* Of NEXT: take no further task. An engine that ends so leaves none unfinished. */
#define NPUMEM_NEXT_COMMIT_ONLY (1u << 0)

/**
 * struct npumem_engine_next - NPUMEM_IOCTL_ENGINE_NEXT: commit a task, fetch the next one
 * @commit: in: task that is done, or zero; out: zero once that is taken, on failure, too
 * @deadline_ns: absolute CLOCK_MONOTONIC; a past time takes what is there, and does not wait
 * @status: in: zero, or a positive errno: the engine has not done @commit, and the job fails
 *	with EIO; out: zero once @commit is taken
 * @flags: zero, or NPUMEM_NEXT_COMMIT_ONLY, with a @commit
 * @task: out: what is to be done; zero only if the call fails, or NPUMEM_NEXT_COMMIT_ONLY is set
 * @commands_offset: out: of the job's commands in the window
 * @commands_size: out: bytes; zero if the job has none
 * @access_count: out: of the step
 * @step: out: of the graph
 * @position: out: of the plan's schedule
 * @first_position: out: of the job
 * @position_count: out: of the job, in all
 *
 * ETIMEDOUT: no task came in time. EINTR: a signal came first. ESTALE: @commit is no task in
 * the engine's hands: it is committed already, or its job has failed meanwhile. ENODEV: the
 * engine is detached. EINVAL: @flags, or @status is no errno. EFAULT. Whatever fails, @commit
 * tells whether it was taken.
 */
struct npumem_engine_next {
	__u64 commit;
	__s64 deadline_ns;
	__u32 status;
	__u32 flags;
	__u64 task;
	__u64 commands_offset;
	__u32 commands_size;
	__u32 access_count;
	__u32 step;
	__u32 position;
	__u32 first_position;
	__u32 position_count;
};

/**
 * struct npumem_engine_alive - NPUMEM_IOCTL_ENGINE_ALIVE: the task takes its time, but goes on
 * @task: in the engine's hands
 *
 * ESTALE, ENODEV: as for NPUMEM_IOCTL_ENGINE_NEXT. What is ESTALE need not be gone on with.
 */
struct npumem_engine_alive {
	__u64 task;
};

#define NPUMEM_IOCTL_ENGINE_NEXT  _IOWR('N', 0xe0, struct npumem_engine_next)
#define NPUMEM_IOCTL_ENGINE_ALIVE _IOW('N', 0xe1, struct npumem_engine_alive)

#if defined(__cplusplus)
}
#endif

#endif /* NPUMEM_ENGINE_UAPI_H */
