// SPDX-License-Identifier: MIT
/* npumem-engine: tasks computed in a window, within a time, and what --trace says of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command_build.h"
#include "compute.h"
#include "trace.h"
#include "unit.h"

#define WINDOW (1u << 20)

static _Alignas(64) unsigned char window[WINDOW];
static struct npumem_engine_access accesses[3];
static struct command_build command;

/* A copy of 16 bytes from access 1 to access 0. */
static struct npumem_engine_task copy_task(void)
{
	static const uint32_t shape[4] = { 1, 1, 4, 4 };

	command_begin(&command, NPUMEM_COMMAND_COPY);
	command_operand(&command, NPUMEM_COMMAND_INT8, shape);
	command_operand(&command, NPUMEM_COMMAND_INT8, shape);
	command_finish(&command);
	accesses[0] = (struct npumem_engine_access){ .offset = 64, .size = 16, .flags = 2 };
	accesses[1] = (struct npumem_engine_access){ .offset = 128, .size = 16, .flags = 1 };
	return (struct npumem_engine_task){
		.window = window,
		.accesses = accesses,
		.commands = command.bytes,
		.commands_size = (uint32_t)command.size,
		.access_count = 2,
		.step = 9,
	};
}

/* A convolution of 2^36 products: of one input with itself as weights. */
static struct npumem_engine_task endless_task(void)
{
	static const uint32_t out[4] = { 1, 512, 512, 1 }, in[4] = { 1, 512, 512, 1 },
			      weights[4] = { 1, 512, 512, 1 };
	struct npumem_engine_task task = copy_task();

	command_begin(&command, NPUMEM_COMMAND_CONV);
	command_operand(&command, NPUMEM_COMMAND_INT8, out);
	command_operand(&command, NPUMEM_COMMAND_INT8, in);
	command_operand(&command, NPUMEM_COMMAND_INT8, weights);
	command_scale(&command, 1 << 30, 0);
	command.head.attribute_count = NPUMEM_COMMAND_WINDOW_ATTRIBUTES;
	for (int i = 0; i < 4; i++)
		command.attributes[i] = 1;
	command.attributes[NPUMEM_COMMAND_PAD_TOP] = 256;
	command.attributes[NPUMEM_COMMAND_PAD_LEFT] = 256;
	command.attributes[NPUMEM_COMMAND_KERNEL_H] = 512;
	command.attributes[NPUMEM_COMMAND_KERNEL_W] = 512;
	command.attributes[NPUMEM_COMMAND_WINDOW_MIN] = -128;
	command.attributes[NPUMEM_COMMAND_WINDOW_MAX] = 127;
	command_finish(&command);
	for (unsigned int i = 0; i < 3; i++)
		accesses[i] = (struct npumem_engine_access){ .offset = i * (WINDOW / 4),
							     .size = WINDOW / 4,
							     .flags = i ? 1 : 2 };
	task.access_count = 3;
	task.commands_size = (uint32_t)command.size;
	return task;
}

TEST(computes)
{
	struct npumem_engine_task task = copy_task();
	struct compute compute;
	const char *why = NULL;

	assert_int_equal(compute_init(&compute, 4 * WINDOW, 100000), 0);
	memset(window, 1, sizeof(window));
	memset(window + 128, 7, 16);
	assert_int_equal(compute_task(&compute, &task, &why), 0);
	assert_memory_equal(window + 64, window + 128, 16);
	assert_int_equal(window[63], 1);
	assert_int_equal(window[80], 1);
	compute_fini(&compute);
}

TEST(refuses)
{
	struct npumem_engine_task task = copy_task();
	struct compute compute;
	const char *why = NULL;

	assert_int_equal(compute_init(&compute, 4 * WINDOW, 100000), 0);
	accesses[0].flags = NPUMEM_ENGINE_ACCESS_READ;
	assert_int_equal(compute_task(&compute, &task, &why), -EACCES);
	assert_string_equal(why, "the step does not write that access");
	accesses[0].flags = NPUMEM_ENGINE_ACCESS_WRITE;
	task.access_count = 1;
	assert_int_equal(compute_task(&compute, &task, &why), -ENXIO);
	assert_string_equal(why, "the step has no such access");
	task.commands_size = 8;
	assert_int_equal(compute_task(&compute, &task, &why), -EBADMSG);
	assert_string_equal(why, "it is not a command");
	task.access_count = COMPUTE_MAX_ACCESSES + 1;
	assert_int_equal(compute_task(&compute, &task, &why), -E2BIG);
	assert_string_equal(why, "the step has too many accesses");
	compute_fini(&compute);
	assert_int_equal(compute_init(&compute, 64, 100000), 0);
	task = copy_task();
	assert_int_equal(compute_task(&compute, &task, &why), -ENOSPC);
	assert_string_equal(why, "there is too little scratch memory");
	compute_fini(&compute);
}

/* What would not end is given up, and the next one is computed. */
TEST(takes_too_long)
{
	struct npumem_engine_task task;
	struct compute compute;
	const char *why = NULL;

	assert_int_equal(compute_init(&compute, 16 * WINDOW, 20), 0);
	for (int i = 0; i < 2; i++) {
		task = endless_task();
		assert_int_equal(compute_task(&compute, &task, &why), -ETIME);
		assert_string_equal(why, "it takes too long");
	}
	compute.limit_ms = 100000;
	task = copy_task();
	assert_int_equal(compute_task(&compute, &task, &why), 0);
	compute_fini(&compute);
}

/* What is printed on standard output meanwhile. */
static void traced(const char *expected, const struct npumem_engine_task *task, int err,
		   const char *why)
{
	char text[256] = "";
	int kept, file[2];

	fflush(stdout);
	assert_int_equal(pipe(file), 0);
	kept = dup(1);
	assert_int_equal(dup2(file[1], 1), 1);
	trace_task(task, err, why, 1234567);
	fflush(stdout);
	dup2(kept, 1);
	close(kept);
	close(file[1]);
	assert_true(read(file[0], text, sizeof(text) - 1) > 0);
	close(file[0]);
	assert_string_equal(text, expected);
}

TEST(trace)
{
	struct npumem_engine_task task = copy_task();

	traced("step 9: copy int8 1x1x4x4 <- int8 1x1x4x4, 1234 us\n", &task, 0, NULL);
	traced("step 9: refused: no, 1234 us\n", &task, -EINVAL, "no");
	traced("step 9: refused: EINVAL, 1234 us\n", &task, -EINVAL, NULL);
	traced("step 9: aborted: slow, 1234 us\n", &task, -ETIME, "slow");
}
