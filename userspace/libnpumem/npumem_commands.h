/* SPDX-License-Identifier: MIT */
/*
 * libnpumem: commands of a job, for engines whose commands have addresses in them.
 *
 * A client neither knows addresses nor may say them. It leaves 8 bytes where one belongs, and a
 * relocation (struct drm_npumem_relocation) that names a byte of one of the job's accesses: the
 * engine puts there where that byte is. npumem_layout_find_access() tells which access has
 * a byte of a tensor. docs/runtime.md walks through the calls. The conventions are those of
 * npumem.h; one struct npumem_commands may be used by one thread at a time.
 */
#ifndef NPUMEM_COMMANDS_H
#define NPUMEM_COMMANDS_H

#include "npumem.h"
#include "npumem_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npumem_commands;

/**
 * npumem_commands_new() - commands without a byte, to be appended to
 *
 * Needs no device. NULL: out of memory.
 */
NPUMEM_EXPORT struct npumem_commands *npumem_commands_new(void);
/**
 * npumem_commands_free() - give up commands
 * @commands: may be NULL
 */
NPUMEM_EXPORT void npumem_commands_free(struct npumem_commands *commands);
/**
 * npumem_commands_append() - append bytes, from the next multiple of 8 on
 * @commands: the commands
 * @bytes: what the engine is told, in its own format; copied; NULL: zeros
 * @size: number of @bytes, > 0
 * @error: filled in if the call fails; may be NULL
 *
 * Returns where the first one is. -EINVAL: NULL argument, or no bytes; -E2BIG: more than 4 GiB;
 * -ENOMEM.
 */
NPUMEM_EXPORT int64_t npumem_commands_append(struct npumem_commands *commands, const void *bytes,
					     size_t size, struct npumem_error *error);
/**
 * npumem_commands_relocate() - say which byte's address belongs into the commands
 * @commands: the commands
 * @offset: of the 8 bytes that it takes, which have been appended; a multiple of 8
 * @position: number within the job, from 0
 * @access: number within the position's step; of a transfer 0 is what it reads, 1 what it writes
 * @delta: byte of the access, in the order of its region
 * @error: filled in if the call fails; may be NULL
 *
 * Whether there is such an access SUBMIT says. -EINVAL: NULL argument, no such 8 bytes, or one that
 * has a relocation; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_commands_relocate(struct npumem_commands *commands, uint64_t offset,
					   uint32_t position, uint32_t access, uint64_t delta,
					   struct npumem_error *error);
/**
 * npumem_commands_relocate_tensor() - the same, of a byte of a tensor
 * @commands: the commands
 * @offset: of the 8 bytes that it takes, which have been appended; a multiple of 8
 * @layout: of the plan
 * @first: the job's first position in the schedule
 * @position: of the schedule, that accesses the byte
 * @tensor: index in the graph, or an alias that has the byte, too
 * @byte: of the tensor
 * @mode: NPUMEM_ACCESS_READ or NPUMEM_ACCESS_WRITE: the access that does it
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: as of npumem_commands_relocate(), and @position is before @first. Errors as of
 * npumem_layout_find_access(), too.
 */
NPUMEM_EXPORT int npumem_commands_relocate_tensor(struct npumem_commands *commands, uint64_t offset,
						  const struct npumem_layout *layout,
						  uint32_t first, uint32_t position,
						  uint32_t tensor, uint64_t byte, uint32_t mode,
						  struct npumem_error *error);
/**
 * npumem_commands_job() - job that runs positions of the plan's schedule with these commands
 * @commands: the commands; they stay as they are until npumem_run_submit() has read them
 * @engine: index
 * @first: position
 * @count: >= 1, all of one plan block
 */
NPUMEM_EXPORT struct drm_npumem_job npumem_commands_job(const struct npumem_commands *commands,
							uint32_t engine, uint32_t first,
							uint32_t count);

#ifdef __cplusplus
}
#endif

#endif /* NPUMEM_COMMANDS_H */
