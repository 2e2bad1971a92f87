// SPDX-License-Identifier: MIT
/* Rows that windows need, by hand and against the dependencies of every single output row. */
#include "npuplan_build.h"

#include "graph/window.h"
#include "random.h"

#define SEED 20260101u

static struct npuplan_window window(int64_t kernel, int64_t stride, int64_t dilation, int64_t pad,
				    bool transposed)
{
	return (struct npuplan_window){ kernel, stride, dilation, pad, transposed };
}

static void check(const struct npuplan_window *w, int64_t first, int64_t count, int64_t height,
		  int64_t want_first, int64_t want_count)
{
	struct npuplan_rows rows =
		npuplan_window_rows(w, (struct npuplan_rows){ first, count }, height);

	assert_int_equal(rows.first, want_first);
	assert_int_equal(rows.count, want_count);
}

/* 3x3, stride 1, pad 1, on 8 rows: a halo of one row on each inner side. */
TEST(same_padding)
{
	struct npuplan_window w = window(3, 1, 1, 1, false);

	check(&w, 0, 4, 8, 0, 5);
	check(&w, 4, 4, 8, 3, 5);
	check(&w, 3, 1, 8, 2, 3);
}

/* 3x3, stride 2, pad 1, on 8 rows to 4: output row o needs 2o - 1 .. 2o + 1. */
TEST(stride)
{
	struct npuplan_window w = window(3, 2, 1, 1, false);

	check(&w, 0, 2, 8, 0, 4);
	check(&w, 2, 2, 8, 3, 5);
}

/*
 * Kernel 2, dilation 3, pad 2, on 4 rows: output row 1 needs rows -1 and 2. The
 * clipped hull of the window would begin at row 0, which nobody reads.
 */
TEST(dilation_clips_by_kernel_row)
{
	struct npuplan_window w = window(2, 1, 3, 2, false);

	check(&w, 1, 1, 4, 2, 1);
}

/* Kernel 1, pad 2: output rows 0 and 1 are padding alone. */
TEST(padding_alone)
{
	struct npuplan_window w = window(1, 1, 1, 2, false);

	check(&w, 0, 2, 4, 0, 0);
	check(&w, 0, 3, 4, 0, 1);
}

/* A crop of two rows: output row 0 is input row 2. */
TEST(crop)
{
	struct npuplan_window w = window(1, 1, 1, -2, false);

	check(&w, 0, 3, 8, 2, 3);
}

/*
 * FSRCNN's last layer: 9x9 transposed, stride 2, pad 4. Output row 8 takes
 * i with 2i = 8 + 4 - k, k in 0..8: i = 2..6.
 */
TEST(transposed)
{
	struct npuplan_window w = window(9, 2, 1, 4, true);

	check(&w, 8, 1, 512, 2, 5);
	check(&w, 0, 1, 512, 0, 3);
	check(&w, 1023, 1, 512, 510, 2);
}

/* 2x2 transposed, stride 4: output rows 2 and 3 of each four take nothing. */
TEST(transposed_gap)
{
	struct npuplan_window w = window(2, 4, 1, 0, true);

	check(&w, 2, 2, 8, 0, 0);
	check(&w, 2, 3, 8, 1, 1);
}

/* Find the least and the greatest row that any output row of the band depends on. */
static struct npuplan_rows brute(const struct npuplan_window *w, struct npuplan_rows out,
				 int64_t height)
{
	int64_t min = INT64_MAX, max = -1;

	for (int64_t o = out.first; o < out.first + out.count; o++)
		for (int64_t i = 0; i < height; i++)
			for (int64_t k = 0; k < w->kernel; k++) {
				bool needs =
					w->transposed ?
						i * w->stride - w->pad_begin + k * w->dilation ==
							o :
						o * w->stride - w->pad_begin + k * w->dilation == i;

				if (needs && i < min)
					min = i;
				if (needs && i > max)
					max = i;
			}
	return max < 0 ? (struct npuplan_rows){ 0, 0 } :
			 (struct npuplan_rows){ min, max - min + 1 };
}

TEST(against_brute_force)
{
	uint64_t random = SEED;
	uint32_t empty = 0;

	print_message("# seed %u\n", SEED);
	for (int i = 0; i < 20000; i++) {
		struct npuplan_window w = {
			.kernel = random_range(&random, 1, 9),
			.stride = random_range(&random, 1, 4),
			.dilation = random_range(&random, 1, 4),
			.pad_begin = (int64_t)random_range(&random, 0, 10) - 3,
			.transposed = random_range(&random, 0, 1),
		};
		int64_t height = random_range(&random, 1, 24);
		struct npuplan_rows out = { random_range(&random, 0, 30),
					    random_range(&random, 1, 9) };
		struct npuplan_rows want = brute(&w, out, height);

		check(&w, out.first, out.count, height, want.first, want.count);
		empty += !want.count;
	}
	/* The draw must reach both cases. */
	assert_in_range(empty, 100, 10000);
}

TEST(bands_cover)
{
	for (int64_t height = 1; height < 40; height++)
		for (uint32_t n = 1; n <= height; n++) {
			int64_t next = 0;

			for (uint32_t k = 0; k < n; k++) {
				struct npuplan_rows rows = npuplan_band(height, k, n);

				assert_int_equal(rows.first, next);
				assert_in_range(rows.count, height / n, height / n + 1);
				next += rows.count;
			}
			assert_int_equal(next, height);
		}
}

static int64_t half_pixel_floor(int64_t o, int64_t in, int64_t out)
{
	int64_t number = (2 * o + 1) * in - out, by = 2 * out;

	return number < 0 ? -1 : number / by;
}

static void expect_row(struct npuplan_rows rows, int64_t row, int64_t in)
{
	row = row < 0 ? 0 : row >= in ? in - 1 : row;
	assert_in_range(row, rows.first, rows.first + rows.count - 1);
}

/* Rows of nearest and of bilinear, in all three conventions, are all covered. */
TEST(upsample_covers)
{
	for (int64_t in = 1; in < 12; in++)
		for (int64_t out = in; out < 40; out++)
			for (int64_t o = 0; o < out; o++) {
				struct npuplan_rows rows = npuplan_upsample_rows(
					(struct npuplan_rows){ o, 1 }, out, in);
				int64_t half = half_pixel_floor(o, in, out);

				assert_true(rows.first >= 0 && rows.count >= 1);
				assert_true(rows.first + rows.count <= in);
				/* Nearest, and bilinear from o * in / out, as TFLite has it. */
				expect_row(rows, o * in / out, in);
				if (o * in % out)
					expect_row(rows, o * in / out + 1, in);
				expect_row(rows, half, in);
				if (((2 * o + 1) * in - out) % (2 * out))
					expect_row(rows, half + 1, in);
				if (out > 1) {
					int64_t at = o * (in - 1);

					expect_row(rows, at / (out - 1), in);
					if (at % (out - 1))
						expect_row(rows, at / (out - 1) + 1, in);
				}
				/*
				 * It is not much more than needed: four rows at most if the input
				 * is enlarged.
				 */
				if (in > 1 && out > in)
					assert_in_range(rows.count, 1, 4);
			}
}
