// SPDX-License-Identifier: MIT
/* libnpumem: commands of jobs with relocations. */
#include <errno.h>
#include <string.h>

/* First: npumem_fake.h has a variable by the name of its arguments. */
#include "npumem_commands.h"

#include "layout_build.h"
#include "npumem_fake.h"
#include "unit.h"

TEST_WITH(commands, transfers_setup, layout_teardown)
{
	struct npumem_commands *c = npumem_commands_new();
	const struct drm_npumem_relocation *r;
	struct drm_npumem_job job;

	assert_non_null(c);
	job = npumem_commands_job(c, 1, 2, 3);
	assert_int_equal(job.engine, 1);
	assert_int_equal(job.first_position, 2);
	assert_int_equal(job.position_count, 3);
	assert_int_equal(job.commands.ptr, 0);
	assert_int_equal(job.relocations.stride, 0);
	assert_int_equal(npumem_commands_append(c, "abc", 3, &error), 0);
	assert_int_equal(npumem_commands_append(c, NULL, 100, &error), 8);
	assert_int_equal(npumem_commands_relocate(c, 8, 7, 6, 5, &error), 0);
	assert_int_equal(npumem_commands_relocate_tensor(c, 96, *state, 2, 5, MIDDLE, 91,
							 NPUMEM_ACCESS_READ, &error),
			 0);
	job = npumem_commands_job(c, 0, 2, 6);
	assert_int_equal(job.commands.size, 108);
	assert_memory_equal((void *)(uintptr_t)job.commands.ptr, "abc\0\0\0\0\0\0", 9);
	assert_int_equal(job.relocations.stride, sizeof(*r));
	assert_int_equal(job.relocations.count, 2);
	r = (const void *)(uintptr_t)job.relocations.ptr;
	assert_true(r[0].offset == 8 && r[0].position == 7 && r[0].access == 6 && r[0].delta == 5);
	assert_true(r[1].offset == 96 && r[1].position == 3 && !r[1].access && r[1].delta == 1);
	assert_true(!r[0].pad && !r[1].pad);

	assert_error(npumem_commands_relocate(c, 8, 0, 0, 0, &error), -EINVAL,
		     "byte 8 of the commands has a relocation");
	assert_error(npumem_commands_relocate(c, 12, 0, 0, 0, &error), -EINVAL,
		     "byte 12 of commands of 108 bytes does not begin 8 bytes");
	assert_error(npumem_commands_relocate(c, 104, 0, 0, 0, &error), -EINVAL,
		     "byte 104 of commands of 108 bytes does not begin 8 bytes");
	assert_error(npumem_commands_relocate(c, 112, 0, 0, 0, &error), -EINVAL,
		     "byte 112 of commands of 108 bytes does not begin 8 bytes");
	assert_error(npumem_commands_relocate(NULL, 0, 0, 0, 0, &error), -EINVAL,
		     "npumem_commands_relocate: NULL argument");
	assert_error(npumem_commands_relocate_tensor(c, 16, *state, 3, 2, IN, 0, NPUMEM_ACCESS_READ,
						     &error),
		     -EINVAL, "position 2 is before the job's first, 3");
	assert_error(npumem_commands_relocate_tensor(c, 16, *state, 2, 2, OUT, 0,
						     NPUMEM_ACCESS_READ, &error),
		     -ENOENT, "position 2 does not read byte 0 of tensor 2");
	assert_error((int)npumem_commands_append(c, "", 0, &error), -EINVAL,
		     "npumem_commands_append: NULL argument");
	assert_error((int)npumem_commands_append(NULL, "", 1, &error), -EINVAL,
		     "npumem_commands_append: NULL argument");
	assert_error((int)npumem_commands_append(c, "", UINT32_MAX, &error), -E2BIG,
		     "commands cannot have more than 4 GiB");
	npumem_commands_free(c);
	c = npumem_commands_new();
	assert_non_null(c);
	job = npumem_commands_job(c, 0, 0, 1);
	assert_int_equal(job.commands.size, 0);
	assert_int_equal(job.relocations.count, 0);
	assert_int_equal(npumem_commands_append(c, NULL, 8, &error), 0);
	/* As many as there are words, and the words are found again. */
	for (uint64_t i = 0; i < 100; i++) {
		npumem_commands_append(c, NULL, 8, &error);
		assert_int_equal(npumem_commands_relocate(c, 8 * i, 0, 0, i, &error), 0);
	}
	job = npumem_commands_job(c, 0, 0, 1);
	r = (const void *)(uintptr_t)job.relocations.ptr;
	assert_int_equal(job.relocations.count, 100);
	for (uint64_t i = 0; i < 100; i++)
		assert_true(r[i].offset == 8 * i && r[i].delta == i);
	npumem_commands_free(c);
	npumem_commands_free(NULL);
}
