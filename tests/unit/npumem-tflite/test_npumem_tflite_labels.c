// SPDX-License-Identifier: MIT
/* Labels and times of npumem-tflite. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "labels.h"
#include "times.h"
#include "unit.h"

/* Read a file of these bytes. */
static int read_text(const char *text, size_t size, struct labels *labels, struct refusal *why)
{
	char path[] = "/tmp/labels.XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
	err = labels_read(path, labels, why);
	unlink(path);
	return err;
}

static void check_lines(const char *text)
{
	struct labels labels;
	struct refusal why;

	assert_int_equal(read_text(text, strlen(text), &labels, &why), 0);
	assert_int_equal(labels.count, 3);
	assert_string_equal(labels.names[0], "a cat");
	assert_string_equal(labels.names[1], "");
	assert_string_equal(labels.names[2], "dog");
	labels_fini(&labels);
}

TEST(lines_of_all_systems)
{
	check_lines("a cat\n\ndog\n");
	check_lines("a cat\n\ndog");
	check_lines("a cat\r\n\r\ndog\r\n");
}

TEST(no_lines)
{
	struct labels labels;
	struct refusal why;

	assert_int_equal(read_text("", 0, &labels, &why), -EINVAL);
	assert_string_equal(why.text, "no labels, of which each has a line");
	assert_int_equal(labels_read("/nowhere/at/all", &labels, &why), -ENOENT);
	assert_string_equal(why.text, "No such file or directory");
}

TEST(the_best_come_first)
{
	static const float values[8] = { 0.5F, 3, -1, 7, 3, 9, 2, 8 };
	struct shape shape = { .type = TFL_FLOAT32, .bytes = sizeof(values) };
	static const size_t wanted[LABELS_BEST] = { 5, 7, 3, 1, 4 };
	struct label_score best[LABELS_BEST];
	size_t count;

	assert_int_equal(labels_best(&shape, values, best, &count), 0);
	assert_int_equal(count, LABELS_BEST);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(best[i].index, wanted[i]);
		assert_true(best[i].score == (double)values[wanted[i]]);
	}
	shape.bytes = 2 * sizeof(float);
	assert_int_equal(labels_best(&shape, values, best, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(best[0].index, 1);
	shape.type = TFL_COMPLEX64;
	assert_int_equal(labels_best(&shape, values, best, &count), -EOPNOTSUPP);
	shape.type = TFL_STRING;
	assert_int_equal(labels_best(&shape, values, best, &count), -EOPNOTSUPP);
}

TEST(median_and_99_of_100)
{
	int64_t list[200];
	struct times times = { .list = list };
	struct times_summary summary = times_summary(&times);

	assert_int_equal(summary.median, 0);
	for (size_t i = 0; i < 200; i++)
		list[i] = (int64_t)(200 - i);
	times.count = 200;
	summary = times_summary(&times);
	assert_int_equal(summary.first, 200);
	assert_int_equal(summary.median, 100);
	assert_int_equal(summary.p99, 198);
	list[0] = 5;
	times.count = 1;
	summary = times_summary(&times);
	assert_int_equal(summary.first, 5);
	assert_int_equal(summary.median, 5);
	assert_int_equal(summary.p99, 5);
}
