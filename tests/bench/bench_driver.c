// SPDX-License-Identifier: MIT
/*
 * bench_driver - what the driver costs, in the machine it runs on.
 *
 *   submit  SUBMIT of a job with 1, 16 and 256 tile accesses, beside the same without
 *           checks, which only the module that scripts/bench builds can do, and as ratios to
 *           a null ioctl (DRM_IOCTL_VERSION). The job is a NOP: no engine's time is in it
 *   verify  PLAN_LOAD of plans with 1k, 10k and 100k tile accesses: the time
 *           that the driver says verification took, per access
 *   bind    an input of 9216 bytes: copied into the arena, or read where it lies after RUN_BIND
 *
 * Absolute times of an emulated machine mean little; ratios in one run do. Each
 * figure is a median, and what is compared is measured in turns.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "npumem_world.h"

#define STEPS  256 /* jobs of one inference */
#define ROUNDS 8   /* inferences: STEPS * ROUNDS samples of each */
#define TILE   64

static void fail(const char *what, int err)
{
	fprintf(stderr, "bench_driver: %s: %s\n", what, strerror(-err));
	exit(1);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static double median(int64_t *samples, unsigned int count)
{
	qsort(samples, count, sizeof(*samples), compare);
	return samples[count / 2];
}

/*
 * @steps steps with @accesses tile accesses each: one write of its own tile of
 * the output, and reads of as many tiles of the input as are left.
 */
static struct model fan_in(uint32_t steps, uint32_t accesses)
{
	struct model m = { 0 };
	uint32_t reads = accesses - 1, step, i;

	if (reads)
		model_tensor(&m, NPUMEM_TENSOR_INPUT, (uint64_t)reads * TILE);
	model_tensor(&m, NPUMEM_TENSOR_OUTPUT, (uint64_t)steps * TILE);
	for (i = 0; i < reads; i++)
		model_tile(&m, 0, (uint64_t)i * TILE, TILE);
	for (step = 0; step < steps; step++) {
		model_step(&m, 0);
		for (i = 0; i < reads; i++)
			model_access(&m, i, NPUMEM_ACCESS_READ);
		model_access(&m, model_tile(&m, !!reads, (uint64_t)step * TILE, TILE),
			     NPUMEM_ACCESS_WRITE);
	}
	if (reads)
		model_place(&m, 0, 0);
	model_place(&m, !!reads, (uint64_t)reads * TILE);
	model_schedule(&m);
	return m;
}

static int64_t time_null(int fd)
{
	struct drm_version version = { 0 };
	int64_t start = npu_now();

	if (ioctl(fd, DRM_IOCTL_VERSION, &version))
		fail("DRM_IOCTL_VERSION", -errno);
	return npu_now() - start;
}

static int64_t time_submit(struct world *w, uint32_t position)
{
	struct drm_npumem_job job = world_job(w, position, NPUMEM_SIM_NOP, 0);
	struct drm_npumem_submit args = { .run = w->run, .jobs = NPU_ARRAY(&job, 1) };
	int64_t start = npu_now();
	int err = npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);

	start = npu_now() - start;
	if (err)
		fail("SUBMIT", err);
	/* What the engine does afterwards is not the next call's time. */
	if (world_wait(w))
		fail("BO_WAIT", -ETIMEDOUT);
	return start;
}

/* Whether jobs are checked from now on; false if this module always checks them. */
static bool set_unchecked(bool unchecked)
{
	FILE *f = fopen("/sys/module/npumem/parameters/unchecked", "w");
	bool done = f && fputs(unchecked ? "1" : "0", f) >= 0;

	return (f && fclose(f)) ? false : done;
}

/* With checks and without: a run of each, since states know only of jobs that were checked. */
static void bench_submit(int fd)
{
	static const uint32_t accesses[] = { 1, 16, 256 };
	static int64_t null[ROUNDS * STEPS], submit[2][3][ROUNDS * STEPS];
	uint32_t k, u, round, step, n = 0;
	double base, time, free_time;
	struct world w[2][3];
	int err;

	if (!set_unchecked(false))
		fail("no parameter unchecked: scripts/bench builds the module that has it",
		     -ENOENT);
	for (k = 0; k < 3; k++) {
		struct model m = fan_in(STEPS, accesses[k]);

		for (u = 0; u < 2; u++) {
			err = world_open(&w[u][k], fd, &m);
			if (err)
				fail("run", err);
		}
		model_free(&m);
	}
	for (round = 0; round < ROUNDS; round++) {
		for (step = 0; step < STEPS; step++, n++) {
			null[n] = time_null(fd);
			for (u = 0; u < 2; u++) {
				set_unchecked(u);
				for (k = 0; k < 3; k++)
					submit[u][k][n] = time_submit(&w[u][k], step);
			}
		}
		for (k = 0; k < 3; k++)
			for (u = 0; u < 2; u++) {
				err = world_reset(&w[u][k]);
				if (err)
					fail("RUN_RESET", err);
			}
	}
	set_unchecked(false);
	base = median(null, n);
	printf("SUBMIT of one job, and the same without checks (%u samples each, medians)\n", n);
	printf("%-28s %12s %12s %10s %14s\n", "call", "ns", "unchecked", "ratio", "null ioctls");
	printf("%-28s %12.0f\n", "DRM_IOCTL_VERSION", base);
	for (k = 0; k < 3; k++) {
		char name[32];

		snprintf(name, sizeof(name), "SUBMIT, %u accesses", accesses[k]);
		time = median(submit[0][k], n);
		free_time = median(submit[1][k], n);
		printf("%-28s %12.0f %12.0f %10.3f %14.1f\n", name, time, free_time,
		       time / free_time, time / base);
		for (u = 0; u < 2; u++)
			world_close(&w[u][k]);
	}
	printf("\n");
}

/*
 * A chain of tensors, each cut into 8 tiles, each step reading two of them and
 * writing one; two arenas' worth of bytes used in turns, so that every write
 * takes another tensor's bytes.
 */
static struct model chain(uint32_t accesses)
{
	enum { TILES = 8 };
	struct model m = { 0 };
	uint32_t layers = accesses / (3 * TILES) + 1, layer, i;

	for (layer = 0; layer <= layers; layer++) {
		model_tensor(&m,
			     layer == 0	     ? NPUMEM_TENSOR_INPUT :
			     layer == layers ? NPUMEM_TENSOR_OUTPUT :
					       NPUMEM_TENSOR_INTERMEDIATE,
			     TILES * TILE);
		for (i = 0; i < TILES; i++)
			model_tile(&m, layer, i * TILE, TILE);
	}
	for (layer = 0; layer < layers; layer++) {
		for (i = 0; i < TILES; i++) {
			model_step(&m, 0);
			model_access(&m, layer * TILES + i, NPUMEM_ACCESS_READ);
			model_access(&m, layer * TILES + (i + 1) % TILES, NPUMEM_ACCESS_READ);
			model_access(&m, (layer + 1) * TILES + i, NPUMEM_ACCESS_WRITE);
		}
	}
	for (layer = 0; layer <= layers; layer++)
		model_place(&m, layer, layer % 2 * TILES * TILE);
	model_schedule(&m);
	/* At home while they live only: there are two of them at any time. */
	for (layer = 0; layer <= layers; layer++) {
		m.placements[layer].from = layer ? (layer - 1) * TILES : 0;
		m.placements[layer].to = layer == layers ? m.position_count - 1 :
							   (layer + 1) * TILES - 1;
	}
	return m;
}

/* Time that the driver takes to verify a plan, in nanoseconds. */
static int64_t time_verify(int fd, uint32_t graph, const struct blob *blob)
{
	struct drm_npumem_plan_read read = { 0 };
	uint32_t plan;
	int err;

	err = world_plan(fd, graph, blob, &plan);
	if (err)
		fail("PLAN_LOAD", err);
	read.handle = plan;
	err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read);
	if (err)
		fail("PLAN_READ", err);
	world_destroy(fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, plan);
	return read.verify_ns;
}

/* The sizes in turn, so that a slow moment of the machine is slow for all. */
static void bench_verify(int fd)
{
	static const uint32_t accesses[] = { 1000, 10000, 100000 };
	enum { SIZES = 3, SAMPLES = 9 };
	int64_t samples[SIZES][SAMPLES];
	struct blob graphs[SIZES], plans[SIZES];
	struct model m[SIZES];
	uint32_t handles[SIZES], k, i;
	double time, first = 0;
	int err;

	for (k = 0; k < SIZES; k++) {
		m[k] = chain(accesses[k]);
		graphs[k] = model_graph(&m[k]);
		plans[k] = model_plan(&m[k]);
		err = world_graph(fd, &graphs[k], &handles[k]);
		if (err)
			fail("GRAPH_CREATE", err);
		/* Once for nothing: caches, pages, and the first of anything. */
		time_verify(fd, handles[k], &plans[k]);
	}
	for (i = 0; i < SAMPLES; i++)
		for (k = 0; k < SIZES; k++)
			samples[k][i] = time_verify(fd, handles[k], &plans[k]);

	printf("PLAN_LOAD: verification (%d samples each, medians)\n", SAMPLES);
	printf("%-28s %12s %10s %12s\n", "accesses", "ms", "ratio", "ns/access");
	for (k = 0; k < SIZES; k++) {
		time = median(samples[k], SAMPLES) / m[k].access_count;
		first = k ? first : time;
		printf("%-28u %12.3f %10.2f %12.1f\n", m[k].access_count,
		       time * m[k].access_count / 1e6, time / first, time);
		world_destroy(fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, handles[k]);
		blob_free(&graphs[k]);
		blob_free(&plans[k]);
		model_free(&m[k]);
	}
	printf("\n");
}

/* Bytes of the person detector's input: what TensorFlow Lite Micro's RFC reckons with. */
#define INPUT_BYTES 9216

/* A step that reads an input and writes an output of one tile; the input may be external. */
static struct model one_step(bool external)
{
	struct model m = { 0 };

	model_tensor(&m, NPUMEM_TENSOR_INPUT, INPUT_BYTES);
	model_tensor(&m, NPUMEM_TENSOR_OUTPUT, TILE);
	model_whole(&m, 0);
	model_whole(&m, 1);
	model_step(&m, 0);
	model_access(&m, 0, NPUMEM_ACCESS_READ);
	model_access(&m, 1, NPUMEM_ACCESS_WRITE);
	if (external)
		m.tensors[0].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	else
		model_place(&m, 0, 0);
	model_place(&m, 1, external ? 0 : INPUT_BYTES);
	model_schedule(&m);
	return m;
}

/* Two buffers in turns, as a camera fills them: the run is told of the one, or gets a copy. */
static void bench_bind(int fd)
{
	enum { SAMPLES = 1000, BUFFERS = 2 };
	static int64_t null[SAMPLES], copy[SAMPLES], bind[SAMPLES], submit[2][SAMPLES];
	uint8_t *bytes[BUFFERS];
	uint32_t bo[BUFFERS], i, u;
	struct world w[2];
	double base;
	int err;

	for (i = 0; i < BUFFERS; i++) {
		err = npu_bo_create(fd, 3 * 4096, NPUMEM_BO_CARVEOUT, &bo[i]);
		bytes[i] = err ? NULL : npu_bo_map(fd, bo[i], 3 * 4096);
		if (!bytes[i])
			fail("buffer", err ?: -ENOMEM);
		memset(bytes[i], (int)i, INPUT_BYTES);
	}
	for (u = 0; u < 2; u++) {
		struct model m = one_step(u);

		err = world_open(&w[u], fd, &m);
		if (err)
			fail("run", err);
		model_free(&m);
	}
	for (i = 0; i < SAMPLES; i++) {
		int64_t start = npu_now();

		memcpy(w[0].arena, bytes[i % BUFFERS], INPUT_BYTES);
		copy[i] = npu_now() - start;
		start = npu_now();
		err = world_bind(&w[1], 0, bo[i % BUFFERS], 0);
		bind[i] = npu_now() - start;
		if (err)
			fail("RUN_BIND", err);
		null[i] = time_null(fd);
		for (u = 0; u < 2; u++) {
			submit[u][i] = time_submit(&w[u], 0);
			err = world_reset(&w[u]);
			if (err)
				fail("RUN_RESET", err);
		}
	}
	base = median(null, SAMPLES);
	printf("An input of %d bytes (%d samples each, medians)\n", INPUT_BYTES, SAMPLES);
	printf("%-28s %12s %14s\n", "", "ns", "null ioctls");
	printf("%-28s %12.0f %14.1f\n", "copied into the arena", median(copy, SAMPLES),
	       median(copy, SAMPLES) / base);
	printf("%-28s %12.0f %14.1f\n", "bound where it lies", median(bind, SAMPLES),
	       median(bind, SAMPLES) / base);
	printf("%-28s %12.0f %14.1f\n", "SUBMIT after a copy", median(submit[0], SAMPLES),
	       median(submit[0], SAMPLES) / base);
	printf("%-28s %12.0f %14.1f\n\n", "SUBMIT after RUN_BIND", median(submit[1], SAMPLES),
	       median(submit[1], SAMPLES) / base);
	for (u = 0; u < 2; u++)
		world_close(&w[u]);
}

int main(int argc, char **argv)
{
	int fd = npu_open();

	if (fd < 0)
		return 1;
	if (argc < 2 || !strcmp(argv[1], "submit"))
		bench_submit(fd);
	if (argc < 2 || !strcmp(argv[1], "verify"))
		bench_verify(fd);
	if (argc < 2 || !strcmp(argv[1], "bind"))
		bench_bind(fd);
	close(fd);
	return 0;
}
