// SPDX-License-Identifier: MIT
/*
 * Two processes, each with a model that needs more than half of the carveout: there is no room for
 * both. So they share one arena, and take turns with it. Each has its word go through its model
 * twice, and neither ever sees a byte of the other one's.
 *
 * usage: take_turns WORD WORD (as root: others may not have more than half of the carveout)
 *
 * cc take_turns.c $(pkg-config --cflags --libs libnpumem)
 */
#include <err.h>
#include <errno.h>
#include <npumem.h>
#include <npumem_layout.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND 1000000000ll
enum { IN, MIDDLE, OUT, TENSORS };

static struct npumem_error error;

static void must(int64_t result)
{
	if (result < 0)
		errx(1, "%s", error.text);
}

/* in -> middle -> out, as in run_graph.c: an arena of two tensors, of @bytes each. */
static struct npumem_graph *graph_new(struct npumem_device *device, uint64_t bytes)
{
	static const uint32_t kinds[TENSORS] = { NPUMEM_TENSOR_INPUT, NPUMEM_TENSOR_INTERMEDIATE,
						 NPUMEM_TENSOR_OUTPUT };
	const struct npumem_region whole = npumem_region_whole(bytes);
	struct npumem_builder *builder = npumem_builder_new();
	struct npumem_graph *graph;
	size_t size;
	void *blob;

	for (uint32_t t = 0; t < TENSORS; t++) {
		const struct npumem_tensor_args tensor = { .size = bytes, .kind = kinds[t] };

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
	must(npumem_builder_finish(builder, &blob, &size, &error));
	must(npumem_graph_new(device, blob, size, NULL, &graph, &error));
	npumem_builder_free(builder);
	free(blob);
	return graph;
}

/* One turn: inputs are written in it, outputs read; whoever waits goes on when it ends. */
static void infer(struct npumem_run *run, struct npumem_layout *layout, char *bytes, size_t size)
{
	const uint64_t copy[] = { 1, 0 }; /* sim's command, as in run_graph.c */
	const uint32_t count = npumem_layout_count(layout, NPUMEM_PLAN_SECTION_SCHEDULE);
	const struct drm_npumem_job job = npumem_job_positions(0, 0, count, copy, sizeof(copy));
	struct npumem_submit submit = { .jobs = &job, .job_count = 1 };
	struct npumem_maps maps;

	must(npumem_run_map(run, NULL, &maps, &error));
	must(npumem_run_begin_turn(run, npumem_deadline(60 * SECOND), &error));
	must(npumem_layout_write(layout, IN, &maps, bytes, size, &error));
	must(npumem_run_submit(run, &submit, &error));
	must(npumem_run_wait(run, npumem_deadline(60 * SECOND), &error));
	must(npumem_layout_read(layout, 0, OUT, &maps, bytes, size, &error));
	must(npumem_run_end_turn(run, &error));
}

/* A process: its own device file, model and run; the arena is the other one's, too. */
static int process(int arena_fd, uint64_t bytes, const char *word)
{
	const struct npumem_request request = { .deadline = npumem_deadline(60 * SECOND) };
	char *memory = calloc(1, bytes);
	struct npumem_device *device;
	struct npumem_layout *layout;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_bo *arena;
	struct npumem_run *run;

	if (!memory)
		errx(1, "no memory");
	must(npumem_device_open(NULL, &device, &error));
	must(npumem_bo_import(device, arena_fd, &arena, &error));
	graph = graph_new(device, bytes);
	must(npumem_plan_request(graph, &request, &plan, &error));
	must(npumem_plan_wait(plan, request.deadline, &error));
	must(npumem_plan_layout(plan, &layout, &error));
	/* An arena of its own beside the one that there is? */
	if (npumem_run_new(plan, 0, NULL, &run, &error) != -ENOSPC)
		errx(1, "there is room for more than one arena");
	must(npumem_run_new_shared(plan, arena, NULL, &run, &error));
	for (int i = 0; i < 2; i++) {
		snprintf(memory, bytes, "%s, inference %d", word, i);
		infer(run, layout, memory, bytes);
		puts(memory);
		fflush(stdout);
	}
	npumem_run_free(run);
	npumem_layout_free(layout);
	npumem_plan_free(plan);
	npumem_graph_free(graph);
	npumem_bo_free(arena);
	npumem_device_close(device);
	free(memory);
	return 0;
}

int main(int argc, char **argv)
{
	struct npumem_device *device;
	struct drm_npumem_bank *banks;
	struct npumem_bo *arena;
	uint64_t bytes;
	uint32_t count;
	int fd, status, failed = 0;

	must(npumem_device_open(NULL, &device, &error));
	must(npumem_device_banks(device, &banks, &count, &error));
	/* Two of them are a little more than half of the bank. */
	bytes = banks[0].size / 4 + banks[0].alignment;
	must(npumem_bo_new(device, 2 * bytes, NPUMEM_BO_SHARED, 0, &arena, &error));
	must(npumem_bo_export(arena, true, &fd, &error));
	for (int i = 1; i < argc; i++)
		if (fork() == 0)
			return process(fd, bytes, argv[i]);
	while (wait(&status) > 0)
		failed |= status;
	close(fd);
	npumem_bo_free(arena);
	npumem_device_close(device);
	free(banks);
	return failed != 0;
}
