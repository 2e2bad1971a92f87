/* SPDX-License-Identifier: MIT */
/* userspace/npumemctl/options.c, messages.c: sizes in, sizes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "npumemctl.h"

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "1572864", 1572864 },
		{ "1572864B", 1572864 },
		{ "1536KiB", 1572864 },
		{ "1536K", 1572864 },
		{ "1536 kB", 1572864 },
		{ "1.5MiB", 1572864 },
		{ "1.5 m", 1572864 },
		{ "2GiB", 2147483648 },
		{ "1T", 1099511627776 },
		{ "9007199254740992", 9007199254740992 },
	};
	static const char *const bad[] = {
		"",	  "MiB",    "-1",    "+1",
		" 1",	  "1.5",    "1.3K",  "1XiB",
		"1iB",	  "1KiBx",  "1KB/s", "0x10",
		"1e3",	  "inf",    "nan",   "9007199254740994",
		"99999T", "1.5.5K", "1e999", "1  KiB extra",
	};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		bytes = 77;
		if (!parse_size(good[i].text, &bytes))
			fail_msg("'%s' was refused", good[i].text);
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (parse_size(bad[i], &bytes))
			fail_msg("'%s' was taken for %llu", bad[i], (unsigned long long)bytes);
	}
}

static void test_size_text(void **state)
{
	assert_string_equal(size_text(0).s, "0 bytes");
	assert_string_equal(size_text(1023).s, "1023 bytes");
	assert_string_equal(size_text(1024).s, "1024 bytes (1.0 KiB)");
	assert_string_equal(size_text(1505280).s, "1505280 bytes (1.4 MiB)");
	assert_string_equal(size_text(3ull << 40).s, "3298534883328 bytes (3.0 TiB)");
	assert_string_equal(size_text(5000ull << 40).s, "5497558138880000 bytes (5000.0 TiB)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_size_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
