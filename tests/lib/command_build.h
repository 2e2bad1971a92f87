/* SPDX-License-Identifier: MIT */
/*
 * Commands of a process engine for tests. Nothing is checked: they may be wrong.
 *
 * Tests fill the parts in, by hand where they are to be wrong; command_finish() writes them
 * one behind the other.
 */
#pragma once

#include <stddef.h>

#include "command.h"

#define COMMAND_BUILD_SCALES 512

/* struct command_build - the parts; @bytes: once finished */
struct command_build {
	struct npumem_command head;
	struct npumem_command_operand operands[NPUMEM_COMMAND_MAX_OPERANDS];
	struct npumem_command_piece pieces[NPUMEM_COMMAND_MAX_PIECES];
	struct npumem_command_scale scales[COMMAND_BUILD_SCALES];
	int32_t attributes[16];
	_Alignas(8) unsigned char bytes[32768];
	size_t size;
};

/** command_begin() - no operands yet */
void command_begin(struct command_build *b, unsigned int operation);

/* command_operand() - the next operand: a whole tensor, alone in the access of its number
 *
 * The first one is written, the others are read.
 */
struct npumem_command_operand *command_operand(struct command_build *b, unsigned int type,
					       const uint32_t shape[4]);

/* command_tile() - make an operand of one piece a part of its tensor, dense in its access */
void command_tile(struct command_build *b, uint32_t operand, const uint32_t origin[4],
		  const uint32_t dims[4]);

void command_scale(struct command_build *b, int32_t multiplier, int32_t shift);

/* command_range() - two attributes that let all values of the output's type pass */
void command_range(struct command_build *b, uint32_t first);

/** command_finish() - the bytes; may be done again after a change */
void command_finish(struct command_build *b);

/** command_run() - check, and execute with as much scratch memory as it needs; 0 or an errno */
int command_run(const struct command_build *b, const struct engine_access *accesses,
		uint32_t access_count, const char **why);
