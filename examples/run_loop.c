// SPDX-License-Identifier: MIT
/*
 * Run a loop whose value takes turns between two places, so that nothing is copied between
 * iterations: the plan has the loop unrolled, and the runtime follows its blocks. Each iteration
 * turns the text by one character.
 *
 * usage: run_loop TEXT ITERATIONS
 *
 * cc run_loop.c $(pkg-config --cflags --libs libnpumem)
 */
#include <err.h>
#include <npumem.h>
#include <npumem_layout.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND 1000000000ll

enum { IN, VALUE, NEXT, TENSORS }; /* the tensors; the tile of each, all of it, has its number */
enum { REST = TENSORS, FIRST };	   /* and those of all but its first byte, and of that */
enum { ENTER, AGAIN, LEAVE };	   /* the edges */

static struct npumem_error error;

static void must(int64_t result)
{
	if (result < 0)
		errx(1, "%s", error.text);
}

static void build(struct npumem_builder *builder, uint64_t bytes)
{
	const uint32_t kinds[] = { NPUMEM_TENSOR_INPUT, NPUMEM_TENSOR_INTERMEDIATE,
				   NPUMEM_TENSOR_OUTPUT };
	const struct npumem_carry enter = { .from = IN, .to = VALUE };
	const struct npumem_carry again = { .from = NEXT, .to = VALUE };
	const struct npumem_access accesses[] = {
		{ .tile = REST, .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
		{ .tile = FIRST, .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
		{ .tile = NEXT, .mode = NPUMEM_ACCESS_WRITE, .inplace = NPUMEM_NONE },
	};
	struct npumem_region region = npumem_region_whole(bytes);

	for (uint32_t t = 0; t < TENSORS; t++) {
		const struct npumem_tensor_args tensor = { .size = bytes, .kind = kinds[t] };

		must(npumem_builder_add_tensor(builder, &tensor, &error));
		must(npumem_builder_add_tile(builder, t, &region, &error));
	}
	region = npumem_region_whole(bytes - 1);
	region.offset = 1;
	must(npumem_builder_add_tile(builder, VALUE, &region, &error));
	region = npumem_region_whole(1);
	must(npumem_builder_add_tile(builder, VALUE, &region, &error));
	must(npumem_builder_add_block(builder, "before", &error));
	must(npumem_builder_add_block(builder, "body", &error));
	must(npumem_builder_add_step(builder, "turn", 0, 0, accesses, 3, &error));
	must(npumem_builder_add_edge(builder, 0, 1, &enter, 1, &error));
	must(npumem_builder_add_edge(builder, 1, 1, &again, 1, &error));
	must(npumem_builder_add_edge(builder, 1, NPUMEM_NONE, NULL, 0, &error));
}

/* Cross an edge, and run the block that it leads to; returns that. */
static uint32_t go(struct npumem_run *run, const struct npumem_layout *layout, uint32_t block,
		   uint32_t edge)
{
	const uint64_t copy[] = { 1, 0 }; /* sim's command, as in run_graph.c */
	struct npumem_submit submit = { .job_count = 1 };
	struct npumem_plan_block to;
	struct drm_npumem_job jobs[2];
	uint32_t plan_edge, next;

	must(npumem_layout_next(layout, block, edge, &plan_edge, &next, &error));
	jobs[0] = npumem_job_edge(plan_edge);
	if (next != NPUMEM_NONE) {
		must(npumem_layout_block(layout, next, &to, &error));
		jobs[1] = npumem_job_positions(0, to.first_position, to.position_count, copy,
					       sizeof(copy));
		submit.job_count = 2;
	}
	submit.jobs = jobs;
	must(npumem_run_submit(run, &submit, &error));
	return next;
}

int main(int argc, char **argv)
{
	const struct npumem_request request = { .deadline = npumem_deadline(60 * SECOND) };
	struct npumem_builder *builder = npumem_builder_new();
	size_t bytes = argc > 1 ? strlen(argv[1]) : 0, size;
	long iterations = argc > 2 ? atol(argv[2]) : 0;
	struct npumem_device *device;
	struct npumem_layout *layout;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_maps maps;
	struct npumem_run *run;
	uint32_t block = 0;
	void *blob;

	if (bytes < 2 || iterations < 1 || !builder)
		errx(2, "usage: run_loop TEXT ITERATIONS");
	build(builder, bytes);
	must(npumem_builder_finish(builder, &blob, &size, &error));
	must(npumem_device_open(NULL, &device, &error));
	must(npumem_graph_new(device, blob, size, NULL, &graph, &error));
	must(npumem_plan_request(graph, &request, &plan, &error));
	must(npumem_plan_wait(plan, request.deadline, &error));
	must(npumem_plan_layout(plan, &layout, &error));
	must(npumem_run_new(plan, 0, NULL, &run, &error));
	must(npumem_run_map(run, NULL, &maps, &error));
	must(npumem_layout_write(layout, IN, &maps, argv[1], bytes, &error));
	for (long i = 0; i < iterations; i++) {
		struct npumem_range *value;
		uint32_t ranges;

		block = go(run, layout, block, i ? AGAIN : ENTER);
		must(npumem_layout_entry(layout, block, VALUE, &value, &ranges, &error));
		printf("iteration %ld: block %u, value from byte %llu on\n", i, block,
		       (unsigned long long)value->offset);
		free(value);
	}
	go(run, layout, block, LEAVE);
	must(npumem_run_wait(run, npumem_deadline(10 * SECOND), &error));
	must(npumem_layout_read(layout, block, NEXT, &maps, argv[1], bytes, &error));
	puts(argv[1]);
	npumem_run_free(run);
	npumem_layout_free(layout);
	npumem_plan_free(plan);
	npumem_graph_free(graph);
	npumem_device_close(device);
	npumem_builder_free(builder);
	free(blob);
	return 0;
}
