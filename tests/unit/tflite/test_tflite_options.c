// SPDX-License-Identifier: MIT
/* Options, and the ways in which no delegate is made. */
#include <errno.h>

#include "delegate.h"
#include "options.h"
#include "plugin.h"
#include "said.h"
#include "unit.h"

/* The runtime's version, as the library looks for it in the program. */
const char *TfLiteVersion(void);
static const char *version = "2.9.0";

__attribute__((visibility("default"))) const char *TfLiteVersion(void)
{
	return version;
}

static char reported[2048];

static void report(const char *text)
{
	snprintf(reported, sizeof(reported), "%s", text);
}

static void *create(const char *key, const char *value)
{
	char *keys[] = { strdup("device"), key ? strdup(key) : NULL };
	char *values[] = { strdup("none"), value ? strdup(value) : NULL };
	void *delegate;

	reported[0] = '\0';
	delegate = plugin_create(keys, values, key ? 2 : 1, report);
	for (int i = 0; i < 2; i++) {
		free(keys[i]);
		free(values[i]);
	}
	return delegate;
}

struct refusal {
	const char *key, *value, *text;
};

static void refused(void **state)
{
	const struct refusal *r = *state;

	assert_null(create(r->key, r->value));
	assert_string_equal(reported, r->text);
}

#define REFUSED(name, key, value, text) \
	TEST_CASE(name, refused, NULL, NULL, struct refusal, key, value, text)

REFUSED(unknown_key, "tiling", "1", "npumem: there is no option \"tiling\"")
/* Operators are cut into bands, into rows, and to fit on chip (docs/tiling.md). */
REFUSED(patches, "patches", "0..1=2", "npumem: there is no option \"patches\"")
REFUSED(partial_sums, "partial-sums", "1", "npumem: there is no option \"partial-sums\"")
REFUSED(one_tile, "tile", "0=1", "npumem: there is no option \"tile\"")
REFUSED(columns, "columns", "1", "npumem: there is no option \"columns\"")
REFUSED(concats, "concat", "join", "npumem: there is no option \"concat\"")
REFUSED(twice, "device", "auto", "npumem: option \"device\" is there twice")
REFUSED(bad_fallback, "fallback", "never",
	"npumem: option \"fallback\" is \"never\", which is not \"process\", \"aside\" or \"error\"")
REFUSED(bad_planner, "planner", "best",
	"npumem: option \"planner\" is \"best\", which is not a planner of \"npumemctl plan "
	"--list-planners\"")
REFUSED(no_budget, "budget", "0",
	"npumem: option \"budget\" is \"0\", which is not a number of bytes, as 64KiB")
REFUSED(bad_budget, "budget", "much",
	"npumem: option \"budget\" is \"much\", which is not a number of bytes, as 64KiB")
REFUSED(bad_cache, "cache", "", "npumem: option \"cache\" is \"\", which is not a folder")
REFUSED(bad_engine, "engine", "sim",
	"npumem: option \"engine\" is \"sim\", which is not \"borrow\" or \"engine\"")
REFUSED(bad_bands, "bands", "65537",
	"npumem: option \"bands\" is \"65537\", which is not a number from 1 to 65536")
REFUSED(no_band, "bands", "0",
	"npumem: option \"bands\" is \"0\", which is not a number from 1 to 65536")
REFUSED(bad_rows, "rows", "2x",
	"npumem: option \"rows\" is \"2x\", which is not a number from 1 to 4294967295")
REFUSED(negative_rows, "rows", "-1",
	"npumem: option \"rows\" is \"-1\", which is not a number from 1 to 4294967295")
REFUSED(bad_onchip, "onchip", "0",
	"npumem: option \"onchip\" is \"0\", which is not a number of bytes, as 64KiB")
REFUSED(bands_of_borrowed, "bands", "4",
	"npumem: option \"bands\" cuts operators, which takes engine=engine: the runtime's kernels "
	"compute them whole")
REFUSED(rows_of_borrowed, "rows", "4",
	"npumem: option \"rows\" cuts operators, which takes engine=engine: the runtime's kernels "
	"compute them whole")
REFUSED(onchip_of_borrowed, "onchip", "4k",
	"npumem: option \"onchip\" cuts operators, which takes engine=engine: the runtime's kernels "
	"compute them whole")
REFUSED(bad_follow, "follow", "3601",
	"npumem: option \"follow\" is \"3601\", which is not a number of seconds from 1 to 3600")
REFUSED(no_follow, "follow", "0",
	"npumem: option \"follow\" is \"0\", which is not a number of seconds from 1 to 3600")
REFUSED(follow_in_process, "follow", "10",
	"npumem: option \"follow\" asks npumemd again, which device=none does not")
REFUSED(bad_inputs, "inputs", "lose",
	"npumem: option \"inputs\" is \"lose\", which is not \"keep\", "
	"\"reuse\" or \"bound\"")
REFUSED(bad_strict, "strict", "2", "npumem: option \"strict\" is \"2\", which is not 0 or 1")
REFUSED(bad_verbose, "verbose", "3", "npumem: option \"verbose\" is \"3\", which is not 0, 1 or 2")
REFUSED(no_value, "verbose", NULL, "npumem: option 1 has no key or no value")

TEST(bad_device)
{
	char *key = strdup("device"), *value = strdup("");

	assert_null(plugin_create(&key, &value, 1, report));
	assert_string_equal(reported, "npumem: option \"device\" is \"\", which is not \"auto\", "
				      "\"none\", or a path");
	free(key);
	free(value);
}

TEST(no_keys)
{
	assert_null(plugin_create(NULL, NULL, 1, report));
	assert_string_equal(reported, "npumem: there are options, but no keys or no values");
}

TEST(said_without_callback)
{
	char *key = strdup("colour"), *value = strdup("red");
	struct said said;
	char *text;

	said_begin(&said);
	assert_null(plugin_create(&key, &value, 1, NULL));
	text = said_end(&said);
	assert_string_equal(text, "npumem: there is no option \"colour\"\n");
	free(text);
	free(key);
	free(value);
}

static void all_values(void **state)
{
	const struct refusal *r = *state;
	void *delegate = create(r->key, r->value);

	assert_string_equal(reported, "");
	assert_non_null(delegate);
	delegate_free(delegate);
}

TEST_CASE(good_fallback, all_values, NULL, NULL, struct refusal, "fallback", "aside")
TEST_CASE(good_planner, all_values, NULL, NULL, struct refusal, "planner", "greedy")
TEST_CASE(good_budget, all_values, NULL, NULL, struct refusal, "budget", "64KiB")
TEST_CASE(good_cache, all_values, NULL, NULL, struct refusal, "cache", "/tmp")
TEST_CASE(good_engine, all_values, NULL, NULL, struct refusal, "engine", "borrow")
TEST_CASE(other_engine, all_values, NULL, NULL, struct refusal, "engine", "engine")
TEST_CASE(good_inputs, all_values, NULL, NULL, struct refusal, "inputs", "reuse")
TEST_CASE(bound_inputs, all_values, NULL, NULL, struct refusal, "inputs", "bound")
TEST_CASE(good_strict, all_values, NULL, NULL, struct refusal, "strict", "1")
TEST_CASE(good_verbose, all_values, NULL, NULL, struct refusal, "verbose", "2")

static void inputs_of_engine(const char *inputs)
{
	char *keys[] = { strdup("inputs"), strdup("engine") };
	char *values[] = { strdup(inputs), strdup("engine") };

	assert_null(plugin_create(keys, values, 2, report));
	assert_string_equal(
		reported, "npumem: option \"inputs\" is of engine=borrow: others copy the inputs");
	for (int i = 0; i < 2; i++) {
		free(keys[i]);
		free(values[i]);
	}
}

TEST(inputs_are_of_borrow)
{
	inputs_of_engine("reuse");
	inputs_of_engine("bound");
}

TEST(bound_inputs_do_not_follow)
{
	char *keys[] = { strdup("inputs"), strdup("follow") };
	char *values[] = { strdup("bound"), strdup("1") };

	assert_null(plugin_create(keys, values, 2, report));
	assert_string_equal(reported,
			    "npumem: options \"follow\" and \"inputs=bound\" exclude each "
			    "other: a dma-buf is of one run");
	for (int i = 0; i < 2; i++) {
		free(keys[i]);
		free(values[i]);
	}
}

/* How operators are cut, of which there is one way at a time. */
static void *cut(const char *a, const char *b)
{
	char *keys[] = { strdup("device"), strdup("engine"), strdup(a), strdup(b) };
	char *values[] = { strdup("none"), strdup("engine"), strdup("2"), strdup("2") };
	void *delegate;

	reported[0] = '\0';
	delegate = plugin_create(keys, values, strcmp(a, b) ? 4 : 3, report);
	for (int i = 0; i < 4; i++) {
		free(keys[i]);
		free(values[i]);
	}
	return delegate;
}

TEST(cuts)
{
	static const char *const keys[] = { "bands", "rows", "onchip" };

	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++) {
			void *delegate = cut(keys[a], keys[b]);

			assert_int_equal(delegate != NULL, a == b);
			if (a != b)
				assert_string_equal(reported,
						    "npumem: options \"bands\", \"rows\" and "
						    "\"onchip\" exclude each other");
			delegate_free(delegate);
		}
}

/* ------------------------------------------------------------------- versions */

static void with_version(const char *text, const char *refusal)
{
	void *delegate;

	version = text;
	delegate = create(NULL, NULL);
	version = "2.9.0";
	assert_string_equal(reported, refusal);
	assert_int_equal(delegate != NULL, refusal[0] == '\0');
	delegate_free(delegate);
}

TEST(versions)
{
	with_version("2.9.0", "");
	with_version("2.14.1", "");
	with_version(NULL, "");
	with_version("2.8.4", "npumem: TensorFlow Lite 2.8.4 has other structs than 2.9 and later");
	with_version("1.15", "npumem: TensorFlow Lite 1.15 has other structs than 2.9 and later");
	with_version("new", "npumem: TensorFlow Lite new has other structs than 2.9 and later");
}

/* -------------------------------------------------------------- without a device */

static void *without_device(const char *engine, const char *fallback, char **text)
{
	char *keys[] = { strdup("device"), strdup("fallback"), strdup("engine") };
	char *values[] = { strdup("/nowhere/accel0"), strdup(fallback), strdup(engine) };
	struct said said;
	void *delegate;

	reported[0] = '\0';
	said_begin(&said);
	delegate = plugin_create(keys, values, 3, report);
	*text = said_end(&said);
	for (int i = 0; i < 3; i++) {
		free(keys[i]);
		free(values[i]);
	}
	return delegate;
}

TEST(no_device_is_said)
{
	char *text;
	void *delegate = without_device("borrow", "process", &text);

	assert_non_null(delegate);
	assert_string_equal(
		text, "npumem: cannot open /nowhere/accel0: No such file or directory: planned and "
		      "enforced in this process\n");
	delegate_free(delegate);
	free(text);
	delegate = without_device("engine", "process", &text);
	assert_non_null(delegate);
	assert_string_equal(
		text, "npumem: cannot open /nowhere/accel0: No such file or directory: planned, "
		      "enforced and computed in this process\n");
	delegate_free(delegate);
	free(text);
	delegate = without_device("borrow", "aside", &text);
	assert_non_null(delegate);
	assert_string_equal(
		text, "npumem: cannot open /nowhere/accel0: No such file or directory: nothing is "
		      "claimed\n");
	delegate_free(delegate);
	free(text);
	assert_null(without_device("borrow", "error", &text));
	assert_string_equal(reported,
			    "npumem: cannot open /nowhere/accel0: No such file or directory");
	free(text);
}

/* ------------------------------------------------------------------ statistics */

TEST(stats_are_sized)
{
	struct npumem_tflite_stats stats = { .size = sizeof(stats), .claimed = 7 };
	void *delegate = create(NULL, NULL);

	assert_int_equal(plugin_stats(NULL, &stats), -EINVAL);
	assert_int_equal(plugin_stats(delegate, NULL), -EINVAL);
	stats.size = 3;
	assert_int_equal(plugin_stats(delegate, &stats), -EINVAL);
	stats.size = 4;
	assert_int_equal(plugin_stats(delegate, &stats), 0);
	assert_int_equal(stats.claimed, 7);
	stats.size = sizeof(stats);
	assert_int_equal(plugin_stats(delegate, &stats), 0);
	assert_int_equal(stats.claimed, 0);
	assert_int_equal(stats.size, sizeof(stats));
	delegate_free(delegate);
	delegate_free(NULL);
}
