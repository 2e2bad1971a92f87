// SPDX-License-Identifier: MIT
/*
 * Plans that are right, and that borrowed kernels cannot run in: they are refused, each time that
 * memory is allocated; in the cache they are made anew.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "delegate.h"
#include "tflite/fake_runtime.h"
#include "npuplan.h"
#include "plancache.h"
#include "plugin.h"
#include "said.h"
#include "unit.h"

#define BYTES 256

enum { CONV = 3 };

/* Two operators that do not wait for each other; with a variable their order is fixed. */
static struct fake *make_pair(bool variable)
{
	struct fake *fake = fake_new(9);

	for (int t = 0; t < 4; t++)
		fake_tensor(fake, BYTES, t == 1 && variable ? TFL_ARENA_PERSISTENT : TFL_ARENA);
	fake_at(fake, 1)->is_variable = variable;
	fake_add(fake,
		 &(struct fake_op){ CONV, variable ? FAKE_COUNTS : 0, { 0, 1, -2 }, { 2, -2 } });
	fake_add(fake, &(struct fake_op){ CONV, 0, { 0, -2 }, { 3, -2 } });
	fake->outputs[0] = 2;
	fake->outputs[1] = 3;
	fake->outputs[2] = -2;
	return fake;
}

static struct delegate *make_delegate(char *cache)
{
	char device[] = "device", none[] = "none", key[] = "cache";
	char *keys[] = { device, key }, *values[] = { none, cache };
	struct delegate *d = plugin_create(keys, values, cache ? 2 : 1, NULL);

	assert_non_null(d);
	return d;
}

/* --------------------------------------------------------------------- refusals */

static const struct enforcer_ops *good;
static void (*change)(struct npuplan_plan *plan);

static int plan_changed(struct enforcer *enforcer, struct blobs *blobs, struct why *why)
{
	struct npuplan_error error;
	struct npuplan_plan *plan;

	assert_int_equal(good->plan(enforcer, blobs, why), 0);
	assert_int_equal(npuplan_plan_read(blobs->plan, blobs->plan_size, &plan, &error), 0);
	free(blobs->plan);
	change(plan);
	assert_int_equal(npuplan_plan_write(plan, &blobs->plan, &blobs->plan_size, &error), 0);
	npuplan_plan_free(plan);
	return 0;
}

static void refused(struct fake *fake, const char *why)
{
	struct delegate *d = make_delegate(NULL);
	struct enforcer_ops bad = *d->enforcer->ops;

	good = d->enforcer->ops;
	bad.plan = plan_changed;
	d->enforcer->ops = &bad;
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	/* What was refused once is not taken the second time. */
	for (int i = 0; i < 2; i++) {
		fake->error[0] = '\0';
		assert_int_equal(fake_allocate(fake), TFL_DELEGATE_ERROR);
		assert_string_equal(fake->error, why);
	}
	fake_free(fake);
	d->enforcer->ops = good;
	delegate_free(d);
}

static void swap_steps(struct npuplan_plan *plan)
{
	uint32_t first = plan->positions[0].index;

	assert_int_equal(plan->position_count, 2);
	plan->positions[0].index = plan->positions[1].index;
	plan->positions[1].index = first;
	/* Outputs live from their steps on. */
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		plan->placements[i].from = 0;
		plan->placements[i].to = 1;
	}
}

TEST(another_order)
{
	change = swap_steps;
	refused(make_pair(true), "npumem: the plan has another order, which variables do not allow "
				 "(option \"planner\")");
}

TEST(another_order_without_variables)
{
	struct fake *fake = make_pair(false);
	struct delegate *d = make_delegate(NULL);
	struct enforcer_ops other = *d->enforcer->ops;

	good = d->enforcer->ops;
	other.plan = plan_changed;
	change = swap_steps;
	d->enforcer->ops = &other;
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	memset(fake_at(fake, 0)->data.raw, 3, BYTES);
	memset(fake_at(fake, 1)->data.raw, 5, BYTES);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	assert_int_equal(*(uint8_t *)fake_at(fake, 2)->data.raw, 1 + 3 + 10);
	assert_int_equal(*(uint8_t *)fake_at(fake, 3)->data.raw, 1 + 3);
	fake_free(fake);
	d->enforcer->ops = good;
	delegate_free(d);
}

/* A placement more, a copy of the last one. */
static struct npumem_placement *add_placement(struct npuplan_plan *plan)
{
	uint32_t count = plan->placement_count;

	plan->placements =
		reallocarray(plan->placements, count + (size_t)1, sizeof(*plan->placements));
	assert_non_null(plan->placements);
	plan->placements[count] = plan->placements[count - 1];
	plan->placement_count++;
	return &plan->placements[count];
}

static void cut_in_two(struct npuplan_plan *plan)
{
	struct npumem_placement *second = add_placement(plan), *first = second - 1;

	first->region.length = BYTES / 2;
	second->region.length = BYTES / 2;
	second->region.offset = BYTES / 2;
	second->offset = first->offset + BYTES / 2;
}

TEST(pieces)
{
	change = cut_in_two;
	refused(make_pair(false),
		"npumem: the plan has tensor 3 in pieces, which no borrowed kernel "
		"can take (option \"planner\")");
}

/* The output of the second step has another place before that, where nobody asks for it. */
static void move_it(struct npuplan_plan *plan)
{
	struct npumem_placement *second = add_placement(plan), *first = second - 1;

	first->from = 0;
	first->to = 0;
	first->offset = plan->info.arena_size;
	second->from = 1;
	plan->info.arena_size += BYTES;
}

TEST(moved)
{
	change = move_it;
	refused(make_pair(false),
		"npumem: the plan moves tensor 3, which no borrowed kernel can take "
		"(option \"planner\")");
}

/* ------------------------------------------------------------------------- cache */

static char folder[] = "/tmp/npumem-plans-XXXXXX";

/* An inference with the cache, whose outputs are right; how many plans came from the cache. */
static unsigned int cached(bool variable, char **text)
{
	struct npumem_tflite_stats stats = { .size = sizeof(stats) };
	struct fake *fake = make_pair(variable);
	struct delegate *d = make_delegate(folder);
	struct said said;

	said_begin(&said);
	assert_int_equal(fake_delegate(fake, d), TFL_OK);
	assert_int_equal(fake_allocate(fake), TFL_OK);
	*text = said_end(&said);
	memset(fake_at(fake, 0)->data.raw, 3, BYTES);
	memset(fake_at(fake, 1)->data.raw, 5, BYTES);
	assert_int_equal(fake_invoke(fake), TFL_OK);
	assert_int_equal(*(uint8_t *)fake_at(fake, 2)->data.raw, 1 + 3 + 10);
	assert_int_equal(*(uint8_t *)fake_at(fake, 3)->data.raw, 1 + 3);
	assert_int_equal(plugin_stats(d, &stats), 0);
	fake_free(fake);
	delegate_free(d);
	return stats.cached;
}

static unsigned int cached_quietly(void)
{
	unsigned int count;
	char *text;

	count = cached(false, &text);
	free(text);
	return count;
}

/* The path of the folder's only file. */
static void only_file(char *path, size_t size)
{
	struct dirent *entry;
	DIR *dir = opendir(folder);

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			snprintf(path, size, "%s/%s", folder, entry->d_name);
	closedir(dir);
}

static struct blobs take_file(const char *path)
{
	struct blobs blobs = { 0 };
	FILE *file = fopen(path, "rb");
	struct stat status;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	blobs.plan_size = (size_t)status.st_size;
	blobs.plan = malloc(blobs.plan_size);
	assert_int_equal(fread(blobs.plan, 1, blobs.plan_size, file), blobs.plan_size);
	fclose(file);
	return blobs;
}

static void put_file(const char *path, const struct blobs *blobs, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(blobs->plan, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	return mkdtemp(folder) && cached_quietly() == 0 && cached_quietly() == 1 ? 0 : -1;
}

static int remove_folder(void **state)
{
	char path[600] = "";

	only_file(path, sizeof(path));
	remove(path);
	return rmdir(folder);
}

/* At any length it is made anew, and is there again. */
TEST_WITH(cache_cut_short, make_folder, remove_folder)
{
	char path[600] = "";
	struct blobs blobs;

	only_file(path, sizeof(path));
	blobs = take_file(path);
	for (size_t size = 0; size < blobs.plan_size; size += size < 64 ? 1 : 29) {
		put_file(path, &blobs, size);
		assert_int_equal(cached_quietly(), 0);
	}
	assert_int_equal(cached_quietly(), 1);
	free(blobs.plan);
}

/* The only entry of the folder, and its key. */
static struct plancache *take_entry(struct plancache_key *key, struct plancache_entry *entry)
{
	struct plancache_file *files;
	struct plancache *cache;
	size_t count;

	assert_int_equal(plancache_open_existing(folder, &cache), 0);
	assert_int_equal(plancache_list(cache, &files, &count), 0);
	assert_int_equal(count, 1);
	*key = files[0].key;
	free(files);
	assert_int_equal(plancache_peek(cache, key, entry), 0);
	return cache;
}

/* Whatever plan is in it, the outputs are right: a file may be sound, and its plan not. */
TEST_WITH(cache_of_wrong_plans, make_folder, remove_folder)
{
	struct plancache_entry entry;
	struct plancache_key key;
	struct plancache *cache = take_entry(&key, &entry);

	for (size_t i = 0; i < entry.size; i += 3) {
		uint8_t *byte = (uint8_t *)entry.data + i, before = *byte;

		*byte ^= (uint8_t)(1u << (i % 8));
		assert_int_equal(plancache_put(cache, &key, &entry), 0);
		cached_quietly();
		*byte = before;
	}
	plancache_close(cache);
	free(entry.data);
}

/* Whatever is in the file, the outputs are right. */
TEST_WITH(cache_damaged, make_folder, remove_folder)
{
	char path[600] = "";
	struct blobs blobs;

	only_file(path, sizeof(path));
	blobs = take_file(path);
	for (size_t i = 0; i < blobs.plan_size; i += 3) {
		uint8_t *byte = (uint8_t *)blobs.plan + i, before = *byte;

		*byte ^= (uint8_t)(1u << (i % 8));
		put_file(path, &blobs, blobs.plan_size);
		cached_quietly();
		*byte = before;
	}
	free(blobs.plan);
}

TEST_WITH(cache_is_a_pipe, make_folder, remove_folder)
{
	char path[600] = "";

	only_file(path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(20);
	assert_int_equal(cached_quietly(), 0);
	alarm(0);
	assert_int_equal(cached_quietly(), 1);
}

TEST_WITH(cache_of_another_order, make_folder, remove_folder)
{
	struct plancache_entry entry;
	struct plancache_key key;
	struct npuplan_error error;
	struct npuplan_plan *plan;
	struct plancache *cache;
	char path[600] = "", *text;

	only_file(path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cached(true, &text), 0);
	free(text);
	cache = take_entry(&key, &entry);
	assert_int_equal(npuplan_plan_read(entry.data, entry.size, &plan, &error), 0);
	free(entry.data);
	swap_steps(plan);
	assert_int_equal(npuplan_plan_write(plan, &entry.data, &entry.size, &error), 0);
	npuplan_plan_free(plan);
	assert_int_equal(plancache_put(cache, &key, &entry), 0);
	plancache_close(cache);
	free(entry.data);
	assert_int_equal(cached(true, &text), 0);
	assert_string_equal(text,
			    "npumem: the cached plan is no good, so it is made anew: the plan has "
			    "another order, which variables do not allow (option \"planner\")\n");
	free(text);
	assert_int_equal(cached(true, &text), 1);
	free(text);
}

/* Several processes read it, and make it anew, while it is taken away and spoilt. */
TEST_WITH(cache_of_many, make_folder, remove_folder)
{
	char path[600] = "";
	struct blobs blobs;
	pid_t children[3];

	only_file(path, sizeof(path));
	blobs = take_file(path);
	for (int c = 0; c < 3; c++) {
		children[c] = fork();
		assert_true(children[c] >= 0);
		if (children[c])
			continue;
		for (int i = 0; i < 60; i++)
			cached_quietly();
		_exit(0);
	}
	for (int i = 0; i < 60; i++)
		put_file(path, &blobs, blobs.plan_size / (size_t)(1 + i % 3));
	for (int c = 0; c < 3; c++) {
		int status = -1;

		assert_int_equal(waitpid(children[c], &status, 0), children[c]);
		assert_int_equal(status, 0);
	}
	free(blobs.plan);
}
