// SPDX-License-Identifier: MIT
/*
 * Time of verification: nanoseconds of CPU for each tile access, of graphs of growing
 * size in one run, and how much more an access costs in the larger ones. Growth
 * must stay near linear.
 *
 * usage: bench_verify
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "blob_build.h"
#include "cpu_seconds.h"
#include "verify/verify.h"

#define BAND 64

/*
 * A network in row bands: each layer's step reads a band of the layer before
 * with a halo of half a band on both sides, and writes a band. Two layers share
 * the arena in turn. Three accesses a step, all staged.
 */
static void bands(struct build *b, uint32_t accesses)
{
	uint32_t layers = 20, rows = accesses / 3 / layers, weights = 0, t, i;
	uint64_t size = (uint64_t)rows * BAND;

	build_tensor(b, NPUMEM_TENSOR_INPUT, size, NULL);
	weights = build_whole(b, build_tensor(b, NPUMEM_TENSOR_PARAMETER, 1024, NULL));
	for (t = 0; t < layers; t++) {
		uint32_t from = t ? t + 1 : 0;
		uint32_t to = build_tensor(
			b, t + 1 < layers ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT, size,
			NULL);

		for (i = 0; i < rows; i++) {
			uint64_t first = (uint64_t)i * BAND, begin = i ? first - BAND / 2 : 0;
			uint64_t end = i + 1 < rows ? first + BAND + BAND / 2 : size;

			build_step(b, NPUMEM_STEP_STAGED, NULL);
			build_access(b, build_tile(b, from, build_region(begin, end - begin)),
				     NPUMEM_ACCESS_READ);
			build_access(b, weights, NPUMEM_ACCESS_READ);
			build_access(b, build_tile(b, to, build_region(first, BAND)),
				     NPUMEM_ACCESS_WRITE);
		}
	}
	build_finish(b);
	build_place(b, 0, 0);
	for (t = 0; t < layers; t++)
		build_place(b, t + 2, t % 2 ? 0 : size);
}

/* One tensor of many tiny tiles, written in any order, read whole at the end. */
static void tiny_tiles(struct build *b, uint32_t accesses)
{
	uint32_t i, t = build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, accesses, NULL);

	for (i = 0; i < accesses - 1; i++) {
		/* 7919 is prime: every tile once. */
		uint64_t at = (uint64_t)i * 7919 % accesses;

		at = accesses % 7919 ? at : i;
		build_step(b, 0, NULL);
		build_access(b, build_tile(b, t, build_region(at, 1)), NPUMEM_ACCESS_WRITE);
	}
	build_step(b, 0, NULL);
	build_access(b, build_tile(b, t, build_region(0, 1)), NPUMEM_ACCESS_READ);
	build_finish(b);
	build_place(b, t, 0);
}

/* One tensor written whole, and read whole again and again. */
static void whole_reads(struct build *b, uint32_t accesses)
{
	uint32_t i, t = build_whole(b, build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 1 << 20, NULL));

	build_step(b, 0, NULL);
	build_access(b, t, NPUMEM_ACCESS_WRITE);
	for (i = 1; i < accesses; i++) {
		build_step(b, 0, NULL);
		build_access(b, t, NPUMEM_ACCESS_READ);
	}
	build_finish(b);
	build_place(b, 0, 0);
}

/* Reads like roof tiles, each half over the next: as many cells as reads. */
static void overlaps(struct build *b, uint32_t accesses)
{
	uint32_t i, t = build_tensor(b, NPUMEM_TENSOR_INPUT, 8ull * accesses + 64, NULL);

	for (i = 0; i < accesses; i++) {
		build_step(b, 0, NULL);
		build_access(b, build_tile(b, t, build_region(8ull * i, 16)), NPUMEM_ACCESS_READ);
	}
	build_finish(b);
	build_place(b, t, 0);
}

/* Updates in place of one strided tile, version after version. */
static void updates(struct build *b, uint32_t accesses)
{
	uint32_t t = build_tensor(b, NPUMEM_TENSOR_STATE, 64, NULL), i;
	uint32_t tile = build_tile(b, t, build_strided(0, 1, 16, 4));

	for (i = 0; i < accesses; i++) {
		build_step(b, 0, NULL);
		build_access(b, tile, NPUMEM_ACCESS_UPDATE);
	}
	build_finish(b);
	build_place(b, t, 0);
}

/* Tensors that take each other's bytes in turn, each a little further on. */
static void chain_of_overwrites(struct build *b, uint32_t accesses)
{
	uint32_t steps = accesses / 2, i;

	for (i = 0; i < steps; i++) {
		build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 48, NULL);
		build_step(b, NPUMEM_STEP_STAGED, NULL);
		if (i)
			build_access(b, i - 1, NPUMEM_ACCESS_READ);
		build_access(b, build_whole(b, i), NPUMEM_ACCESS_WRITE);
	}
	build_finish(b);
	for (i = 0; i < steps; i++)
		build_place(b, i, (uint64_t)i * 40 % 4096);
}

/* A transfer of a whole tensor at the next position, to or from a placement. */
static void transfer(struct build *b, uint32_t kind, uint32_t tensor, uint32_t placement)
{
	struct npumem_position *p = build_add(&b->positions, 1);

	p->kind = kind;
	p->index = tensor;
	p->placement = placement;
	p->length = build_tensor_at(b, tensor)->size;
	p->host_offset = 64ull * tensor;
	if (p->host_offset + p->length > b->info.host_size)
		b->info.host_size = p->host_offset + p->length;
}

static void next_step(struct build *b, uint32_t index)
{
	struct npumem_position *p = build_add(&b->positions, 1);

	p->index = index;
	p->placement = NPUMEM_NONE;
}

/* Tensors that are all spilled as soon as they are written, and filled to be read. */
static void spilled_tensors(struct build *b, uint32_t accesses)
{
	uint32_t n = accesses / 6, i;

	for (i = 0; i < 2 * n; i++) {
		if (i < n)
			build_whole(b, build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 64, NULL));
		build_step(b, 0, NULL);
		build_access(b, i % n, i < n ? NPUMEM_ACCESS_WRITE : NPUMEM_ACCESS_READ);
	}
	build_finish(b);
	b->positions.count = 0;
	for (i = 0; i < 2 * n; i++) {
		uint64_t offset = 64ull * (i % 16);
		uint32_t at = b->positions.count;

		build_place_region(b, i % n, at, at + 1, offset, build_region(0, 64));
		if (i < n)
			next_step(b, i);
		transfer(b, i < n ? NPUMEM_POSITION_SPILL : NPUMEM_POSITION_FILL, i % n, i);
		if (i >= n)
			next_step(b, i);
	}
	build_plan_block_at(b, 0)->position_count = b->positions.count;
}

/* One tensor that is filled for each of its reads, and dropped after it. */
static void filled_again(struct build *b, uint32_t accesses)
{
	uint32_t reads = accesses / 3, i;

	build_whole(b, build_tensor(b, NPUMEM_TENSOR_INPUT, 64, NULL));
	build_tensor_at(b, 0)->flags = NPUMEM_TENSOR_FLAG_HOST;
	for (i = 0; i < reads; i++) {
		build_step(b, 0, NULL);
		build_access(b, 0, NPUMEM_ACCESS_READ);
	}
	build_finish(b);
	b->positions.count = 0;
	for (i = 0; i < reads; i++) {
		build_place_region(b, 0, 3 * i, 3 * i + 2, 64ull * (i % 16), build_region(0, 64));
		transfer(b, i ? NPUMEM_POSITION_FILL : NPUMEM_POSITION_LOAD, 0, i);
		next_step(b, i);
		transfer(b, NPUMEM_POSITION_DROP, 0, NPUMEM_NONE);
		build_position_at(b, 3 * i + 2)->host_offset = 0;
	}
	build_plan_block_at(b, 0)->position_count = b->positions.count;
}

/* Verify once: nanoseconds an access; less than zero if it is refused. */
static double once(void (*make)(struct build *, uint32_t), uint32_t accesses)
{
	struct build_blob graph_blob, plan_blob;
	struct npuv_graph *graph = NULL;
	struct npuv_plan *plan = NULL;
	struct npumem_verdict verdict;
	double begin, best = -1;
	struct npuv_log log;
	char text[512] = "";
	struct build b;
	int round, err = 0;

	build_init(&b);
	make(&b, accesses);
	/* A transfer has two. */
	accesses = b.accesses.count + 2 * (b.positions.count - b.steps.count);
	graph_blob = build_graph(&b);
	plan_blob = build_plan(&b);
	build_free(&b);
	for (round = 0; round < 3 && !err; round++) {
		npuv_log_init(&log, 1, text, sizeof(text));
		begin = cpu_seconds();
		err = npuv_graph_create(graph_blob.data, graph_blob.size, &npuv_default_limits,
					&log, &verdict, &graph);
		if (!err)
			err = npuv_plan_create(graph, plan_blob.data, plan_blob.size,
					       &npuv_default_limits, &log, &verdict, &plan);
		begin = (cpu_seconds() - begin) * 1e9 / accesses;
		if (best < 0 || begin < best)
			best = begin;
		npuv_plan_destroy(plan);
		npuv_graph_destroy(graph);
		plan = NULL;
		graph = NULL;
	}
	free(graph_blob.data);
	free(plan_blob.data);
	if (err)
		fprintf(stderr, "%s", text);
	return err ? -1 : best;
}

int main(void)
{
	static const struct {
		const char *name;
		void (*make)(struct build *b, uint32_t accesses);
	} shapes[] = {
		{ "bands with halos", bands },
		{ "one tensor, tiny tiles", tiny_tiles },
		{ "whole reads of one tensor", whole_reads },
		{ "overlapping reads", overlaps },
		{ "updates in place", updates },
		{ "chain of overwrites", chain_of_overwrites },
		{ "spilled and filled", spilled_tensors },
		{ "filled again and again", filled_again },
	};
	static const uint32_t sizes[] = { 1000, 10000, 100000 };
	unsigned int i, k;
	int failed = 0;

	printf("%-28s %10s %10s %10s   %s\n", "verify, ns per tile access", "1k", "10k", "100k",
	       "100k : 1k");
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		double ns[3];

		for (k = 0; k < 3; k++) {
			ns[k] = once(shapes[i].make, sizes[k]);
			failed |= ns[k] < 0;
		}
		printf("%-28s %10.0f %10.0f %10.0f   %.2f\n", shapes[i].name, ns[0], ns[1], ns[2],
		       ns[2] / ns[0]);
	}
	return failed;
}
