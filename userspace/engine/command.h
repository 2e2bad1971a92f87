/* SPDX-License-Identifier: MIT */
/*
 * Commands executed: the computing half of a process engine.
 *
 * A command comes from a client that may be hostile. Whatever its bytes are, these functions
 * read and write nothing but the accesses' bytes and the scratch memory that they are given.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npumem_command.h"

/**
 * struct engine_access - the bytes of one access of the job's step
 * @data: @size bytes
 * @size: see @data
 * @writable: the step writes or updates them
 *
 * Accesses may have bytes in common: all is read before anything is written.
 */
struct engine_access {
	void *data;
	uint64_t size;
	bool writable;
};

/**
 * engine_check() - whether a command is one, whatever its accesses are
 * @command: its bytes, aligned to 8; not changed by others meanwhile
 * @size: of them
 * @scratch: out: bytes of scratch memory that engine_execute() needs; may be NULL
 * @why: out: a sentence that says what was refused; may be NULL
 *
 * -EBADMSG: it is not well formed. -E2BIG: beyond a limit of npumem_command.h.
 * -EOPNOTSUPP: version, operator or types that are not known here. -EINVAL: what it says
 * is not possible.
 */
int engine_check(const void *command, size_t size, uint64_t *scratch, const char **why);

/**
 * engine_execute() - compute
 * @command: as for engine_check()
 * @size: as for engine_check()
 * @accesses: of the job's step, in its order
 * @access_count: number of @accesses
 * @scratch: memory to work with
 * @scratch_size: bytes at @scratch
 * @why: as for engine_check()
 *
 * Nothing is written if it fails. What engine_check() says, and -ENXIO: an operand is of an
 * access that the step has not. -ERANGE: it is not within its access's bytes. -EACCES: it
 * writes what the step does not. -ENOSPC: too little scratch memory.
 */
int engine_execute(const void *command, size_t size, const struct engine_access *accesses,
		   uint32_t access_count, void *scratch, uint64_t scratch_size, const char **why);

/** engine_operator_name() - "conv", "add", ...; NULL if there is none such */
const char *engine_operator_name(unsigned int operation);

/** engine_type_size() - bytes of an element; 0 if there is no such type */
unsigned int engine_type_size(unsigned int type);
