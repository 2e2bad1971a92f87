// SPDX-License-Identifier: MIT
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npuplan.h"
#include "size.h"

/* As many as npumemctl and the kernel's verifier take. */
#define MAX_BANDS  65536
/* An hour, as libnpumem has it (NPUMEM_FOLLOW_MAX_NS). */
#define MAX_FOLLOW 3600

/*
 * struct option - one key
 * @key: as programs write it
 * @values: what it may be, for the message
 * @read: -EINVAL if the value is none of these
 */
struct option {
	const char *key;
	const char *values;
	int (*read)(struct options *options, const char *value);
};

static int copy(char **to, const char *value)
{
	if (!value[0])
		return -EINVAL;
	*to = strdup(value);
	return *to ? 0 : -ENOMEM;
}

/* The number of a word in a list that ends with NULL, or -EINVAL. */
static int word(const char *value, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(value, words[i]) == 0)
			return i;
	return -EINVAL;
}

static int read_device(struct options *options, const char *value)
{
	options->none = strcmp(value, "none") == 0;
	if (options->none || strcmp(value, "auto") == 0)
		return 0;
	return copy(&options->device, value);
}

static int read_fallback(struct options *options, const char *value)
{
	static const char *const words[] = { "process", "aside", "error", NULL };
	int i = word(value, words);

	if (i >= 0)
		options->fallback = (enum fallback)i;
	return i < 0 ? i : 0;
}

static int read_planner(struct options *options, const char *value)
{
	const char *name;

	for (unsigned int i = 0; (name = npuplan_planner_name(i)); i++)
		if (strcmp(name, value) == 0)
			return copy(&options->planner, value);
	return -EINVAL;
}

static int read_budget(struct options *options, const char *value)
{
	return npusize_parse(value, &options->budget) || !options->budget ? -EINVAL : 0;
}

static int read_cache(struct options *options, const char *value)
{
	return copy(&options->cache, value);
}

static int read_engine(struct options *options, const char *value)
{
	static const char *const words[] = { "borrow", "engine", NULL };
	int i = word(value, words);

	if (i >= 0)
		options->engine = (enum engine)i;
	return i < 0 ? i : 0;
}

static int read_count(uint32_t *count, const char *value, unsigned long most)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(value, &end, 10);
	if (errno || *value < '0' || *value > '9' || *end || number < 1 || number > most)
		return -EINVAL;
	*count = (uint32_t)number;
	return 0;
}

static int read_bands(struct options *options, const char *value)
{
	return read_count(&options->bands, value, MAX_BANDS);
}

static int read_rows(struct options *options, const char *value)
{
	return read_count(&options->rows, value, UINT32_MAX);
}

static int read_onchip(struct options *options, const char *value)
{
	return npusize_parse(value, &options->onchip) || !options->onchip ? -EINVAL : 0;
}

static int read_follow(struct options *options, const char *value)
{
	return read_count(&options->follow, value, MAX_FOLLOW);
}

static int read_inputs(struct options *options, const char *value)
{
	static const char *const words[] = { "keep", "reuse", "bound", NULL };
	int i = word(value, words);

	options->reuse_inputs = i == 1;
	options->bound_inputs = i == 2;
	return i < 0 ? i : 0;
}

static int read_strict(struct options *options, const char *value)
{
	static const char *const words[] = { "0", "1", NULL };
	int i = word(value, words);

	options->strict = i == 1;
	return i < 0 ? i : 0;
}

static int read_verbose(struct options *options, const char *value)
{
	static const char *const words[] = { "0", "1", "2", NULL };
	int i = word(value, words);

	if (i >= 0)
		options->verbose = (unsigned int)i;
	return i < 0 ? i : 0;
}

static const struct option all[] = {
	{ "bands", "a number from 1 to 65536", read_bands },
	{ "budget", "a number of bytes, as 64KiB", read_budget },
	{ "cache", "a folder", read_cache },
	{ "device", "\"auto\", \"none\", or a path", read_device },
	{ "engine", "\"borrow\" or \"engine\"", read_engine },
	{ "fallback", "\"process\", \"aside\" or \"error\"", read_fallback },
	{ "follow", "a number of seconds from 1 to 3600", read_follow },
	{ "inputs", "\"keep\", \"reuse\" or \"bound\"", read_inputs },
	{ "onchip", "a number of bytes, as 64KiB", read_onchip },
	{ "planner", "a planner of \"npumemctl plan --list-planners\"", read_planner },
	{ "rows", "a number from 1 to 4294967295", read_rows },
	{ "strict", "0 or 1", read_strict },
	{ "verbose", "0, 1 or 2", read_verbose },
};

static const struct option *find(const char *key)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].key, key) == 0)
			return &all[i];
	return NULL;
}

static int read_one(struct options *options, char **keys, char **values, size_t i, struct why *why)
{
	const struct option *option;
	int err;

	if (!keys[i] || !values[i])
		return why_fail(why, -EINVAL, "option %zu has no key or no value", i);
	option = find(keys[i]);
	if (!option)
		return why_fail(why, -EINVAL, "there is no option \"%s\"", keys[i]);
	for (size_t j = 0; j < i; j++)
		if (strcmp(keys[j], keys[i]) == 0)
			return why_fail(why, -EINVAL, "option \"%s\" is there twice", keys[i]);
	err = option->read(options, values[i]);
	if (err == -EINVAL)
		return why_fail(why, err, "option \"%s\" is \"%s\", which is not %s", keys[i],
				values[i], option->values);
	return err ? why_fail(why, err, "out of memory") : 0;
}

static int check_together(const struct options *options, struct why *why)
{
	unsigned int cuts = !!options->bands + !!options->rows + !!options->onchip;

	if (cuts > 1)
		return why_fail(why, -EINVAL,
				"options \"bands\", \"rows\" and \"onchip\" exclude each other");
	if (cuts && options->engine == ENGINE_BORROW)
		return why_fail(why, -EINVAL,
				"option \"%s\" cuts operators, which takes engine=engine: the "
				"runtime's kernels compute them whole",
				options->bands ? "bands" :
				options->rows  ? "rows" :
						 "onchip");
	if ((options->reuse_inputs || options->bound_inputs) && options->engine == ENGINE_COMPUTE)
		return why_fail(why, -EINVAL,
				"option \"inputs\" is of engine=borrow: others copy the inputs");
	if (options->follow && options->none)
		return why_fail(why, -EINVAL,
				"option \"follow\" asks npumemd again, which device=none does not");
	if (options->follow && options->bound_inputs)
		return why_fail(why, -EINVAL,
				"options \"follow\" and \"inputs=bound\" exclude each other: a "
				"dma-buf is of one run");
	return 0;
}

int options_read(struct options *options, char **keys, char **values, size_t count, struct why *why)
{
	int err = 0;

	memset(options, 0, sizeof(*options));
	if (count && (!keys || !values))
		return why_fail(why, -EINVAL, "there are options, but no keys or no values");
	for (size_t i = 0; i < count && !err; i++)
		err = read_one(options, keys, values, i, why);
	return err ? err : check_together(options, why);
}

void options_fini(struct options *options)
{
	free(options->device);
	free(options->planner);
	free(options->cache);
	memset(options, 0, sizeof(*options));
}
