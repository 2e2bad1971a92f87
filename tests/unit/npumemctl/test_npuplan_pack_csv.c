// SPDX-License-Identifier: MIT
/* CSV of packing problems: what is read, what is refused and in which words. */
#include "npuplan_build.h"

#include <errno.h>

#include "model/pack_csv.h"

static int read_text(const char *text, size_t size, struct pack_csv *csv,
		     struct npuplan_error *error)
{
	FILE *in = tmpfile();
	int err;

	assert_non_null(in);
	assert_int_equal(fwrite(text, 1, size, in), size);
	rewind(in);
	err = pack_csv_read(csv, in, error);
	fclose(in);
	return err;
}

static void refused_bytes(const char *text, size_t size, const char *why)
{
	struct npuplan_error error;
	struct pack_csv csv;

	assert_int_equal(read_text(text, size, &csv, &error), -EBADMSG);
	assert_string_equal(error.text, why);
	pack_csv_fini(&csv);
}

static void refused(const char *text, const char *why)
{
	refused_bytes(text, strlen(text), why);
}

TEST(read)
{
	static const char text[] = "size, upper,id,lower,alignment,offset\r\n"
				   "4,9,b1,3,1,\n"
				   "\n"
				   " 8 ,12,the second,5,64,128";
	struct npuplan_error error;
	struct pack_csv csv;

	assert_int_equal(read_text(text, strlen(text), &csv, &error), 0);
	assert_int_equal(csv.count, 2);
	/* Instants count from the earliest; the upper one is exclusive. */
	assert_int_equal(csv.items[0].size, 4);
	assert_int_equal(csv.items[0].start, 0);
	assert_int_equal(csv.items[0].end, 5);
	assert_int_equal(csv.items[0].align, 1);
	assert_false(csv.items[0].fixed);
	assert_int_equal(csv.items[1].size, 8);
	assert_int_equal(csv.items[1].start, 2);
	assert_int_equal(csv.items[1].end, 8);
	assert_int_equal(csv.items[1].align, 64);
	assert_true(csv.items[1].fixed);
	assert_int_equal(csv.items[1].fixed_offset, 128);
	pack_csv_fini(&csv);
}

/* Instants that do not fit into 32 bits: who overlaps whom is kept. */
TEST(long_times)
{
	static const char text[] = "lower,upper,size\n"
				   "0,6000000000,1\n"
				   "6000000000,9223372036854775807,2\n"
				   "5999999999,6000000001,3\n";
	struct npuplan_error error;
	struct pack_csv csv;

	assert_int_equal(read_text(text, strlen(text), &csv, &error), 0);
	assert_true(csv.items[0].end < csv.items[1].start);
	assert_true(csv.items[2].start <= csv.items[0].end);
	assert_true(csv.items[2].end >= csv.items[1].start);
	pack_csv_fini(&csv);
}

TEST(header)
{
	refused("", "line 1: there is no header");
	refused("\n\n", "line 1: there is no header");
	refused("lower,upper\n", "line 1: there is no column 'size'");
	refused("upper,size\n", "line 1: there is no column 'lower'");
	refused("lower,size\n", "line 1: there is no column 'upper'");
	refused("lower,upper,size,gaps\n",
		"line 1: column 'gaps' is not known; known are id, lower, upper, size, alignment and offset");
	refused("lower,upper,size,\n",
		"line 1: column '' is not known; known are id, lower, upper, size, alignment and offset");
	refused("id,lower,size,upper,lower\n", "line 1: column 'lower' stands there twice");
}

TEST(rows)
{
#define HEADER "id,lower,upper,size,alignment,offset\n"
	refused(HEADER "a,0,1,2,1\n", "line 2: 5 fields, but the header has 6");
	refused(HEADER "a,0,1,2,1,0\na,0,1,2,1,0,0\n", "line 3: 7 fields, but the header has 6");
	refused(HEADER ",,,,,,,,,,,,,,,,,,,,\n", "line 2: 21 fields, but the header has 6");
	refused(HEADER "a,-1,1,2,1,0\n",
		"line 2: lower: '-1' is not a whole number from 0 to 9223372036854775807");
	refused(HEADER "a,0,1.5,2,1,0\n",
		"line 2: upper: '1.5' is not a whole number from 0 to 9223372036854775807");
	refused(HEADER "a,0,9223372036854775808,2,1,0\n",
		"line 2: upper: '9223372036854775808' is not a whole number from 0 to 9223372036854775807");
	refused(HEADER "a,0,99999999999999999999,2,1,0\n",
		"line 2: upper: '99999999999999999999' is not a whole number from 0 to 9223372036854775807");
	refused(HEADER "a,0,1,,1,0\n",
		"line 2: size: '' is not a whole number from 0 to 1152921504606846976");
	refused(HEADER "a,0,1,1152921504606846977,1,0\n",
		"line 2: size: '1152921504606846977' is not a whole number from 0 to 1152921504606846976");
	refused(HEADER "a,0,1,0,1,0\n", "line 2: size is 0");
	refused(HEADER "a,0,1,2,3,0\n", "line 2: alignment 3 is not a power of two");
	refused(HEADER "a,0,1,2,0,0\n", "line 2: alignment 0 is not a power of two");
	refused(HEADER "a,0,1,2,4294967296,0\n",
		"line 2: alignment: '4294967296' is not a whole number from 0 to 2147483648");
	refused(HEADER "a,0,1,2,1,x\n",
		"line 2: offset: 'x' is not a whole number from 0 to 1152921504606846976");
	refused(HEADER "a,0,1,2,4,6\n", "line 2: offset 6 is not a multiple of the alignment 4");
	refused(HEADER "a,5,5,2,1,0\n", "line 2: upper 5 is not above lower 5");
	refused(HEADER "\"a\",0,1,2,1,0\n", "line 2: quotes are not supported");
	refused_bytes(HEADER "a\0,0,1,2,1,0\n", sizeof(HEADER) - 1 + 14,
		      "line 2: there is a NUL character");
#undef HEADER
}

/* A line that does not end is refused before it takes all memory. */
TEST(long_line)
{
	static char text[(1 << 20) + 64] = "lower,upper,size\n";
	struct npuplan_error error;
	struct pack_csv csv;
	char *row = text + strlen(text);

	memset(row, ' ', 1 << 20);
	memcpy(row, "0,1,2", 5);
	assert_int_equal(read_text(text, strlen(text), &csv, &error), 0);
	assert_int_equal(csv.count, 1);
	pack_csv_fini(&csv);
	row[1 << 20] = ' ';
	refused(text, "line 2: the line is longer than 1048576 bytes");
}

TEST(write)
{
	static const char text[] = "id,offset,lower,upper,size\nb1,,0,3,4\nb2,7, 3,9,4\n";
	static const uint64_t offsets[2] = { 123, 7 };
	char *written = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&written, &size);
	struct npuplan_error error;
	struct pack_csv csv;

	assert_non_null(out);
	assert_int_equal(read_text(text, strlen(text), &csv, &error), 0);
	pack_csv_write(&csv, offsets, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(written, "id,lower,upper,size,offset\nb1,0,3,4,123\nb2,3,9,4,7\n");
	free(written);
	pack_csv_fini(&csv);
}

TEST(no_buffers)
{
	struct npuplan_error error;
	struct pack_csv csv;

	assert_int_equal(read_text("lower,upper,size\n", 17, &csv, &error), 0);
	assert_int_equal(csv.count, 0);
	pack_csv_fini(&csv);
}
