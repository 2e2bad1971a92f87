/* SPDX-License-Identifier: MIT */
/*
 * Unit tests that need no list: a test is written once, as the kernel's kselftest harness has it,
 * and runs in the order in which the file has them.
 *
 *	TEST(adds_up)
 *	{
 *		assert_int_equal(1 + 1, 2);
 *	}
 *
 * cmocka runs it by the name test_adds_up. A program that has no main() of its own gets one.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/*
 * unit_add() - add a test to those that unit_run() runs; TEST() does
 * @argument: what @setup, or the test if there is no setup, has in @state at first
 */
void unit_add(const char *name, CMUnitTestFunction test, CMFixtureFunction setup,
	      CMFixtureFunction teardown, void *argument);

/**
 * unit_run() - run all tests of the program
 * @setup: before the first one; may be NULL
 * @teardown: after the last one; may be NULL
 *
 * What main() returns: the number of tests that have failed.
 */
int unit_run(CMFixtureFunction setup, CMFixtureFunction teardown);

/* unit_write() - a file with exactly this text */
void unit_write(const char *path, const char *text);

/* A test, and one whose @state is made and freed by functions of its own. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, setup, teardown)                                         \
	static void test_##name(void **state);                                   \
	__attribute__((constructor)) static void add_##name(void)                \
	{                                                                        \
		unit_add("test_" #name, test_##name, (setup), (teardown), NULL); \
	}                                                                        \
	static void test_##name(void **state)

/*
 * One row of a table of tests that are the same but for an argument: @function finds in @state
 * the address of a @type with the values that follow.
 */
#define TEST_CASE(name, function, setup, teardown, type, ...)                      \
	__attribute__((constructor)) static void add_##name(void)                  \
	{                                                                          \
		static type argument = { __VA_ARGS__ };                            \
		unit_add("test_" #name, function, (setup), (teardown), &argument); \
	}
