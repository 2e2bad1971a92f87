// SPDX-License-Identifier: MIT
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_TESTS 64

static struct CMUnitTest tests[MAX_TESTS];
static size_t count;

void unit_add(const char *name, CMUnitTestFunction test, CMFixtureFunction setup,
	      CMFixtureFunction teardown, void *argument)
{
	if (count == MAX_TESTS) {
		fprintf(stderr, "unit: more than %d tests\n", MAX_TESTS);
		abort();
	}
	tests[count++] = (struct CMUnitTest){
		.name = name,
		.test_func = test,
		.setup_func = setup,
		.teardown_func = teardown,
		.initial_state = argument,
	};
}

int unit_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	/* Of a program without tests nobody could tell that it has passed. */
	if (!count) {
		fprintf(stderr, "unit: there is no test\n");
		return 1;
	}
	return _cmocka_run_group_tests("tests", tests, count, setup, teardown);
}

void unit_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}
