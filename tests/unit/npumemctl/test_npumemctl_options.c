/* SPDX-License-Identifier: MIT */
/* userspace/npumemctl: sizes in, sizes out, texts that fit. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "cli/progress.h"
#include "unit.h"

TEST(sizes)
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
		{ "1536 kB", 1536000 },
		{ "1.5MB", 1500000 },
		{ "1.5MiB", 1572864 },
		{ "1.5Mi", 1572864 },
		{ "1.1MB", 1100000 },
		{ "0.001kB", 1 },
		{ "1gb", 1000000000 },
		{ "2TB", 2000000000000 },
		{ "1.5000 KiB", 1536 },
		{ "1.5MiB", 1572864 },
		{ "1.5 m", 1572864 },
		{ "2GiB", 2147483648 },
		{ "1T", 1099511627776 },
		{ "9007199254740992", 9007199254740992 },
	};
	static const char *const bad[] = {
		"",
		"MiB",
		"-1",
		"+1",
		" 1",
		"1.5",
		"1.3K",
		"1XiB",
		"1.0001kB",
		"0.3MiB",
		"1..5K",
		"1MBs",
		"1BB",
		".5K",
		"1.50000000000000000000000000000 KiB",
		"99999999999999999999999999999999999999999999999999",
		"18446744073709551616",
		"1iB",
		"1KiBx",
		"1KB/s",
		"0x10",
		"1e3",
		"inf",
		"nan",
		"9007199254740994",
		"99999T",
		"1.5.5K",
		"1e999",
		"1  KiB extra",
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

TEST(size_text)
{
	assert_string_equal(size_text(0).s, "0 bytes");
	assert_string_equal(size_text(1023).s, "1023 bytes");
	assert_string_equal(size_text(1024).s, "1024 bytes (1.0 KiB)");
	assert_string_equal(size_text(1505280).s, "1505280 bytes (1.4 MiB)");
	assert_string_equal(size_text(3ull << 40).s, "3298534883328 bytes (3.0 TiB)");
	assert_string_equal(size_text(5000ull << 40).s, "5497558138880000 bytes (5000.0 TiB)");
}

TEST(progress_text)
{
	static const struct {
		struct npuplan_pack_progress now;
		double limit;
		const char *text;
	} cases[] = {
		{ { .top = UINT64_MAX, .seconds = 0.3 }, 0, "no packing yet, 0.3 s" },
		{ { .top = UINT64_MAX, .seconds = 0.3, .traffic = true }, 0, "no plan yet, 0.3 s" },
		{ { .top = UINT64_MAX, .lower_bound = 2048, .seconds = 1 },
		  4,
		  "no packing yet, bound 2.0 KiB, 1.0 s, at most 3.0 s left" },
		{ { .top = 4096, .seconds = 1 }, 0, "arena 4.0 KiB, 1.0 s" },
		{ { .top = 4096, .lower_bound = 2048, .gap = 0.5, .seconds = 1 },
		  0.5,
		  "arena 4.0 KiB, bound 2.0 KiB, gap 50.00 %, 1.0 s, at most 0.0 s left" },
		{ { .top = 4096, .gap = 1, .seconds = 1, .traffic = true },
		  0,
		  "traffic 4.0 KiB, bound 0 bytes, gap 100.00 %, 1.0 s" },
	};
	char text[160];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		progress_text(&cases[i].now, cases[i].limit, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
		assert_true(strlen(text) < 80);
	}
}

TEST(cut)
{
	static const struct {
		const char *text;
		unsigned int width;
		const char *cut;
	} cases[] = {
		{ "", 5, "" },
		{ "12345\n", 5, "12345\n" },
		{ "123456\n\nab", 5, "12...\n\nab" },
		/* Two bytes, one place; three bytes, two places. */
		{ "ééééé", 5, "ééééé" },
		{ "éééééé", 5, "éé..." },
		{ "漢漢漢", 5, "漢..." },
		{ "漢漢", 4, "漢漢" },
		{ "123456", 2, "12" },
		{ "123456", 0, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		assert_non_null(out);
		print_cut(out, cases[i].text, cases[i].width);
		fclose(out);
		assert_string_equal(text, cases[i].cut);
		free(text);
	}
	assert_string_equal(short_text("short").s, "short");
	assert_string_equal(short_text("1234567890123456789012345678901234567890").s,
			    "1234567890123456789012345678901234567890");
	assert_string_equal(short_text("12345678901234567890123456789012345678901").s,
			    "1234567890123456789012345678901234567...");
	/* No character is cut in two. */
	assert_string_equal(short_text("123456789012345678901234567890123456éééééé").s,
			    "123456789012345678901234567890123456...");
}
