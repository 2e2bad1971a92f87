// SPDX-License-Identifier: MIT
/*
 * Open a device, build a graph, have it planned by the daemon, run it, read the output. The engine
 * copies what a step reads to what it writes, so each word goes in and comes out again.
 * usage: run_graph WORD...
 * cc run_graph.c $(pkg-config --cflags --libs libnpumem)
 */
#include <err.h>
#include <npumem.h>
#include <npumem_layout.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND 1000000000ll
enum { IN, MIDDLE, OUT, TENSORS, BYTES = 64 };

static struct npumem_error error;

static void must(int64_t result)
{
	if (result < 0)
		errx(1, "%s", error.text);
}

/* in -> middle -> out; each tensor has one tile, all of it. */
static void build(void **blob, size_t *size)
{
	static const uint32_t kinds[TENSORS] = { NPUMEM_TENSOR_INPUT, NPUMEM_TENSOR_INTERMEDIATE,
						 NPUMEM_TENSOR_OUTPUT };
	const struct npumem_region whole = npumem_region_whole(BYTES);
	struct npumem_builder *builder = npumem_builder_new();

	for (uint32_t t = 0; t < TENSORS; t++) {
		const struct npumem_tensor_args tensor = { .size = BYTES, .kind = kinds[t] };

		must(npumem_builder_add_tensor(builder, &tensor, &error));
		must(npumem_builder_add_tile(builder, t, &whole, &error));
	}
	for (uint32_t t = IN; t < OUT; t++) {
		const struct npumem_access accesses[] = {
			{ .tile = t, .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
			{ .tile = t + 1, .mode = NPUMEM_ACCESS_WRITE, .inplace = NPUMEM_NONE },
		};

		must(npumem_builder_add_step(builder, NULL, 0, 0, accesses, 2, &error));
	}
	must(npumem_builder_finish(builder, blob, size, &error));
	npumem_builder_free(builder);
}

int main(int argc, char **argv)
{
	/* What the engine is told is in its own format; this is sim's, where 1 is to copy. */
	const uint64_t copy[] = { 1, 0 };
	const struct npumem_request request = { .deadline = npumem_deadline(60 * SECOND) };
	struct npumem_device *device;
	struct npumem_layout *layout;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_maps maps;
	struct npumem_run *run;
	size_t size;
	void *blob;

	must(npumem_device_open(NULL, &device, &error));
	build(&blob, &size);
	must(npumem_graph_new(device, blob, size, NULL, &graph, &error));
	must(npumem_plan_request(graph, &request, &plan, &error));
	must(npumem_plan_wait(plan, request.deadline, &error));
	must(npumem_plan_layout(plan, &layout, &error));
	must(npumem_run_new(plan, 0, NULL, &run, &error));
	must(npumem_run_map(run, NULL, &maps, &error));
	/* All positions of the schedule are one job of engine 0. */
	const uint32_t count = npumem_layout_count(layout, NPUMEM_PLAN_SECTION_SCHEDULE);
	const struct drm_npumem_job job = npumem_job_positions(0, 0, count, copy, sizeof(copy));
	struct npumem_submit submit = { .jobs = &job, .job_count = 1 };
	for (int i = 1; i < argc; i++) {
		char bytes[BYTES] = "";

		snprintf(bytes, sizeof(bytes), "%s", argv[i]);
		must(npumem_layout_write(layout, IN, &maps, bytes, BYTES, &error));
		must(npumem_run_submit(run, &submit, &error));
		must(npumem_run_wait(run, npumem_deadline(10 * SECOND), &error));
		must(npumem_layout_read(layout, 0, OUT, &maps, bytes, BYTES, &error));
		puts(bytes);
		must(npumem_run_reset(run, &error));
	}
	npumem_run_free(run);
	npumem_layout_free(layout);
	npumem_plan_free(plan);
	npumem_graph_free(graph);
	npumem_device_close(device);
	free(blob);
	return 0;
}
