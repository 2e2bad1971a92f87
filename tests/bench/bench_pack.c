// SPDX-License-Identifier: MIT
/*
 * The packing core on MiniMalloc's instances and on synthetic ones.
 *
 * usage: bench_pack fit CAPACITY FILE...     time to a packing within CAPACITY
 *        bench_pack minimise SECONDS FILE... best packing, proof, anytime curve
 *        bench_pack greedy FILE...           every other packer against the bound
 *        bench_pack grow                     1000 to 100,000 synthetic items, after 1
 *                                            and after 10 seconds
 *
 * Seconds of fit, minimise and grow's exact are CPU time.
 */
#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_seconds.h"
#include "model/pack_csv.h"
#include "random.h"

/* Seconds at which the anytime curve is read. */
static const double instants[] = { 0.001, 0.01, 0.1, 1 };
#define INSTANTS (sizeof(instants) / sizeof(instants[0]))

/*
 * struct curve - best top at each instant
 * @started, @limit: CPU seconds
 * @best_at: seconds at which the last better packing came
 */
struct curve {
	double started;
	double limit;
	uint64_t top[INSTANTS];
	uint64_t last;
	double best_at;
};

static int follow(void *context, const struct npuplan_pack_progress *progress)
{
	struct curve *curve = context;
	double seconds = cpu_seconds() - curve->started;

	if (progress->top == curve->last)
		return seconds > curve->limit;
	for (size_t i = 0; i < INSTANTS; i++)
		if (seconds <= instants[i] || !curve->top[i])
			curve->top[i] = progress->top;
	curve->last = progress->top;
	curve->best_at = seconds;
	return 0;
}

static bool load(struct pack_csv *csv, const char *path)
{
	FILE *in = fopen(path, "r");
	struct npuplan_error error;
	int err = -1;

	if (!in) {
		perror(path);
		return false;
	}
	err = pack_csv_read(csv, in, &error);
	fclose(in);
	if (err)
		fprintf(stderr, "bench_pack: %s: %s\n", path, error.text);
	return !err;
}

static bool pack(const struct npuplan_pack_problem *problem,
		 const struct npuplan_pack_options *options, struct npuplan_pack_result *result)
{
	uint64_t *offsets = calloc((size_t)problem->item_count + 1, sizeof(*offsets));
	struct npuplan_error error;
	int err = offsets ? npuplan_pack(problem, options, offsets, result, &error) : -1;

	if (err)
		fprintf(stderr, "bench_pack: %s\n", offsets ? error.text : "out of memory");
	else if (result->top == UINT64_MAX)
		err = fprintf(stderr, "bench_pack: no packing was found\n");
	free(offsets);
	return !err;
}

/* The shortest of three runs: what else the machine does only adds to it. */
static int fit(uint64_t capacity, char **paths)
{
	double total = 0;
	int failed = 0;

	for (; *paths; paths++) {
		struct npuplan_pack_result result = { 0 };
		struct pack_csv csv = { 0 };
		double seconds = 0, started;
		bool ok = load(&csv, *paths);

		for (int run = 0; run < 3 && ok; run++) {
			struct npuplan_pack_problem problem = {
				.items = csv.items,
				.item_count = csv.count,
				.capacity = capacity,
			};

			started = cpu_seconds();
			ok = pack(&problem, NULL, &result);
			if (!run || cpu_seconds() - started < seconds)
				seconds = cpu_seconds() - started;
		}
		if (ok)
			printf("%-16s %6u top %9" PRIu64 " %-10s %9.6f s work %12" PRIu64 "\n",
			       basename(*paths), csv.count, result.top,
			       npuplan_status_name(result.status), seconds, result.work);
		failed |= !ok || result.top > capacity;
		total += seconds;
		pack_csv_fini(&csv);
	}
	printf("within %" PRIu64 ", total %40.6f s\n", capacity, total);
	return failed;
}

static int minimise(double seconds, char **paths)
{
	double logs[INSTANTS] = { 0 };
	unsigned int files = 0, optimal = 0;
	int failed = 0;

	for (; *paths; paths++) {
		struct npuplan_pack_result result = { 0 };
		struct curve curve = { .last = UINT64_MAX, .limit = seconds };
		struct npuplan_pack_options options = {
			/* However busy the machine is, it ends. */
			.deadline_seconds = 4 * seconds,
			.work_limit = UINT64_MAX,
			.progress = follow,
			.context = &curve,
		};
		struct npuplan_pack_problem problem;
		struct pack_csv csv = { 0 };
		bool ok = load(&csv, *paths);
		double ended;

		problem = (struct npuplan_pack_problem){
			.items = csv.items,
			.item_count = csv.count,
		};
		curve.started = cpu_seconds();
		ok = ok && pack(&problem, &options, &result);
		ended = cpu_seconds() - curve.started;
		failed |= !ok;
		for (size_t i = 0; i < INSTANTS && ok; i++)
			logs[i] += log((double)curve.top[i] / (double)result.lower_bound);
		if (ok) {
			printf("%-16s %6u bound %9" PRIu64 " top %9" PRIu64
			       " %-10s best at %9.6f s, ended at %9.6f s, work %12" PRIu64 "\n",
			       basename(*paths), csv.count, result.lower_bound, result.top,
			       npuplan_status_name(result.status), curve.best_at, ended,
			       result.work);
			files++;
			optimal += result.status == NPUMEM_PLAN_STATUS_OPTIMAL;
		}
		pack_csv_fini(&csv);
	}
	printf("proved optimal: %u of %u\ngeometric mean of top / bound:", optimal, files);
	for (size_t i = 0; i < INSTANTS && files; i++)
		printf(" %.5f at %g s%s", exp(logs[i] / files), instants[i],
		       i + 1 < INSTANTS ? "," : "\n");
	return failed;
}

static int greedy(char **paths)
{
	int failed = 0;

	for (unsigned int p = 0; npuplan_packer_name(p); p++) {
		struct npuplan_pack_options options = { .packer = npuplan_packer_name(p) };
		double logs = 0, seconds = 0;
		unsigned int files = 0;

		for (char **path = paths; *path && strcmp(options.packer, "exact"); path++) {
			struct npuplan_pack_result result = { 0 };
			struct pack_csv csv = { 0 };
			bool ok = load(&csv, *path);
			struct npuplan_pack_problem problem = {
				.items = csv.items,
				.item_count = csv.count,
			};

			ok = ok && pack(&problem, &options, &result);
			failed |= !ok;
			if (ok) {
				logs += log((double)result.top / (double)result.lower_bound);
				seconds += result.seconds;
				files++;
			}
			pack_csv_fini(&csv);
		}
		if (files)
			printf("%-22s geometric mean of top / bound %.4f, %9.6f s in all\n",
			       options.packer, exp(logs / files), seconds);
	}
	return failed;
}

static void add(struct npuplan_item *items, uint32_t *count, uint32_t max, uint64_t start,
		uint64_t steps, uint64_t size)
{
	if (*count < max)
		items[(*count)++] = (struct npuplan_item){
			.size = 1024 * size,
			.align = 1,
			.start = (uint32_t)start,
			.end = (uint32_t)(start + steps - 1),
		};
}

/* A network, layer by layer: outputs, residuals, workspaces, long skips. */
static void layered(struct npuplan_item *items, uint32_t count)
{
	uint64_t random = 20260303, step = 0;

	for (uint32_t n = 0; n < count; step++) {
		add(items, &n, count, step, 2, 64 + random_next(&random) % 1024);
		if (step % 3 == 0)
			add(items, &n, count, step, 4, 64 + random_next(&random) % 512);
		if (random_next(&random) % 2)
			add(items, &n, count, step, 1, 1 + random_next(&random) % 2048);
		if (random_next(&random) % 50 == 0)
			add(items, &n, count, step, 100 + random_next(&random) % 400,
			    1 + random_next(&random) % 256);
	}
}

/* Live ranges of random lengths, long ones as likely as short ones. */
static void scattered(struct npuplan_item *items, uint32_t count)
{
	uint64_t random = 20260304;

	for (uint32_t n = 0; n < count;) {
		uint64_t start = random_next(&random) % count;
		uint64_t length = 1ull << random_next(&random) % 11;

		length *= 1 + random_next(&random) % 3;
		add(items, &n, count, start, length + 1, 1 + random_next(&random) % 256);
	}
}

/* Any size and any length as likely as another: the share of the large ones is great. */
static void uniform(struct npuplan_item *items, uint32_t count)
{
	uint64_t random = 20260305;

	for (uint32_t n = 0; n < count;) {
		uint64_t start = random_next(&random) % count;
		uint64_t length = 1 + random_next(&random) % 600;

		add(items, &n, count, start, length, 1 + random_next(&random) % 100003);
	}
}

/*
 * The same, with one buffer in 300 where it has to be: one that lives always at the bottom, as
 * state does, and others anywhere, for any time.
 */
static void layered_fixed(struct npuplan_item *items, uint32_t count)
{
	uint32_t fixed = count / 300, others = count - fixed, last;
	uint64_t random = 20260306, steps;

	layered(items, others);
	steps = items[others - 1].start + 1ull;
	add(items, &others, count, 0, steps, 200);
	items[others - 1].fixed = true;
	while (others < count) {
		static const uint32_t lengths[] = { 3, 30, 300 };
		uint64_t start = random_next(&random) % steps;
		uint64_t size = 16 + random_next(&random) % 128;
		struct npuplan_item *item = &items[others];

		last = others;
		add(items, &others, count, start, lengths[random_next(&random) % 3], size);
		item->fixed = true;
		item->fixed_offset = 1024 * (200 + random_next(&random) % 1200);
		/* Not where another one is: another try. */
		for (uint32_t i = count - fixed; i < last; i++)
			if (items[i].start <= item->end && item->start <= items[i].end &&
			    items[i].fixed_offset < item->fixed_offset + item->size &&
			    item->fixed_offset < items[i].fixed_offset + items[i].size)
				others = last;
	}
}

static int grow_one(const char *name, void (*make)(struct npuplan_item *, uint32_t), uint32_t count)
{
	static const double limits[] = { 1, 10 };
	struct npuplan_item *items = calloc(count, sizeof(*items));
	static const char *const others[] = { "valley", "greedy-size", "greedy" };
	struct npuplan_pack_problem problem = { .items = items, .item_count = count };
	struct npuplan_pack_result result = { 0 };
	bool ok = items != NULL;

	if (ok)
		make(items, count);
	printf("%-8s %6u", name, count);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && ok; i++) {
		struct npuplan_pack_options options = { .packer = others[i] };

		ok = pack(&problem, &options, &result);
		printf("  %s %.5f %.3f s", others[i],
		       (double)result.top / (double)result.lower_bound, result.seconds);
	}
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && ok; i++) {
		struct curve curve = { .last = UINT64_MAX, .limit = limits[i] };
		struct npuplan_pack_options options = {
			.work_limit = UINT64_MAX,
			.progress = follow,
			.context = &curve,
		};

		curve.started = cpu_seconds();
		ok = pack(&problem, &options, &result);
		printf("  exact %.5f %.1f s %s", (double)result.top / (double)result.lower_bound,
		       cpu_seconds() - curve.started, npuplan_status_name(result.status));
		if (result.status == NPUMEM_PLAN_STATUS_OPTIMAL)
			break;
	}
	putchar('\n');
	fflush(stdout);
	free(items);
	return !ok;
}

static int grow(void)
{
	static const uint32_t randoms[] = { 1000, 3000, 10000, 18692, 100000 };
	static const uint32_t uniforms[] = { 3000, 20000, 30000, 100000 };
	int failed = 0;

	for (uint32_t count = 1000; count <= 100000; count *= 10)
		failed |= grow_one("layered", layered, count);
	for (uint32_t count = 1000; count <= 100000; count *= 10)
		failed |= grow_one("fixed", layered_fixed, count);
	for (size_t i = 0; i < sizeof(randoms) / sizeof(randoms[0]); i++)
		failed |= grow_one("random", scattered, randoms[i]);
	for (size_t i = 0; i < sizeof(uniforms) / sizeof(uniforms[0]); i++)
		failed |= grow_one("uniform", uniform, uniforms[i]);
	return failed;
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "fit"))
		return fit(strtoull(argv[2], NULL, 10), argv + 3);
	if (argc > 3 && !strcmp(argv[1], "minimise"))
		return minimise(strtod(argv[2], NULL), argv + 3);
	if (argc > 2 && !strcmp(argv[1], "greedy"))
		return greedy(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "grow"))
		return grow();
	fprintf(stderr, "usage: bench_pack fit CAPACITY FILE... | minimise SECONDS FILE... | "
			"greedy FILE... | grow\n");
	return 2;
}
