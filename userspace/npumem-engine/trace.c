// SPDX-License-Identifier: MIT
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

static const char *type_name(unsigned int type)
{
	static const char *const names[] = {
		[NPUMEM_COMMAND_FLOAT32] = "float32", [NPUMEM_COMMAND_FLOAT16] = "float16",
		[NPUMEM_COMMAND_INT8] = "int8",	      [NPUMEM_COMMAND_UINT8] = "uint8",
		[NPUMEM_COMMAND_INT16] = "int16",     [NPUMEM_COMMAND_INT32] = "int32",
	};

	return type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "?";
}

static void print_operand(const struct npumem_command_operand *o)
{
	printf("%s ", type_name(o->type));
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++)
		printf("%s%" PRIu32, d ? "x" : "", o->dims[d]);
}

/* Operator and tiles, of a command that has been executed, and so is well formed. */
static void print_command(const void *command)
{
	const struct npumem_command *head = command;
	const struct npumem_command_operand *operands =
		(const void *)((const char *)command + sizeof(*head));

	printf(" %s ", engine_operator_name(head->operation));
	for (uint32_t i = 0; i < head->operand_count; i++) {
		if (i)
			printf("%s", operands[i].mode != NPUMEM_COMMAND_WRITE &&
						     operands[i - 1].mode == NPUMEM_COMMAND_WRITE ?
					     " <- " :
					     ", ");
		print_operand(&operands[i]);
	}
}

void trace_task(const struct npumem_engine_task *task, int err, const char *why,
		int64_t nanoseconds)
{
	printf("step %" PRIu32 ":", task->step);
	if (err)
		printf(" %s: %s", err == -ETIME ? "aborted" : "refused",
		       why ? why : strerrorname_np(-err));
	else
		print_command(task->commands);
	printf(", %" PRId64 " us\n", nanoseconds / 1000);
}
