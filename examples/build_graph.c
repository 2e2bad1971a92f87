// SPDX-License-Identifier: MIT
/*
 * Make a graph by hand, as a runtime does that has its own form of models, and a plan for
 * it. The two blobs are what npumem_graph_new() and npumem_plan_load() take; the verifier that
 * the driver has says here already whether it will take them.
 *
 * cc build_graph.c $(pkg-config --cflags --libs libnpumem libnpuplan)
 */
#include <err.h>
#include <npumem.h>
#include <npuplan.h>
#include <stdlib.h>

enum { IN, MIDDLE, OUT, TENSORS };

/* One tile a tensor: all of its bytes. */
static void add_tensors(struct npumem_builder *builder)
{
	const struct npumem_tensor_args tensors[TENSORS] = {
		[IN] = { .name = "in", .size = 4096, .kind = NPUMEM_TENSOR_INPUT },
		[MIDDLE] = { .name = "middle", .size = 8192, .align = 64 },
		[OUT] = { .name = "out", .size = 4096, .kind = NPUMEM_TENSOR_OUTPUT },
	};
	struct npumem_error error;

	for (uint32_t i = 0; i < TENSORS; i++) {
		const struct npumem_region all = npumem_region_whole(tensors[i].size);

		if (npumem_builder_add_tensor(builder, &tensors[i], &error) < 0 ||
		    npumem_builder_add_tile(builder, i, &all, &error) < 0)
			errx(1, "%s", error.text);
	}
}

/* A step reads one tensor and writes another. */
static void add_step(struct npumem_builder *builder, const char *name, uint32_t from, uint32_t to)
{
	const struct npumem_access accesses[] = {
		{ .tile = from, .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
		{ .tile = to, .mode = NPUMEM_ACCESS_WRITE, .inplace = NPUMEM_NONE },
	};
	struct npumem_error error;

	if (npumem_builder_add_step(builder, name, 0, 0, accesses, 2, &error) < 0)
		errx(1, "%s", error.text);
}

int main(void)
{
	struct npumem_builder *builder = npumem_builder_new();
	struct npuplan_graph *graph = NULL;
	struct npuplan_plan *plan = NULL;
	void *graph_blob, *plan_blob;
	size_t graph_size, plan_size;
	struct npuplan_error failed;
	struct npumem_error error;

	if (!builder)
		errx(1, "out of memory");
	add_tensors(builder);
	add_step(builder, "expand", IN, MIDDLE);
	add_step(builder, "reduce", MIDDLE, OUT);
	if (npumem_builder_finish(builder, &graph_blob, &graph_size, &error))
		errx(1, "%s", error.text);
	if (npuplan_graph_read(graph_blob, graph_size, &graph, &failed) ||
	    npuplan_plan(graph, NULL, &plan, &failed) ||
	    npuplan_plan_write(plan, &plan_blob, &plan_size, &failed))
		errx(1, "%s", failed.text);
	if (npuplan_verify(graph_blob, graph_size, plan_blob, plan_size, NULL, NULL, 0))
		errx(1, "the driver would refuse this plan");
	printf("graph: %zu bytes, plan: %zu bytes, arena: %llu bytes\n", graph_size, plan_size,
	       (unsigned long long)plan->info.arena_size);
	free(plan_blob);
	free(graph_blob);
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);
	npumem_builder_free(builder);
	return 0;
}
