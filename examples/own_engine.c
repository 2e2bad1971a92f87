// SPDX-License-Identifier: MIT
/*
 * Be the engine: a thread attaches to a slot of the device and computes what this program, and
 * nobody else, submits. Its command is 16 bytes, a number that is added to each byte, and the
 * offset in the window from which on that is done: a relocation, which the driver fills in.
 *
 * usage: own_engine WORD NUMBER
 *
 * cc own_engine.c $(pkg-config --cflags --libs libnpumem) -pthread
 */
#include <err.h>
#include <npumem.h>
#include <npumem_commands.h>
#include <npumem_layout.h>
#include <npumem_serve.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND 1000000000ll

enum { IN, OUT, BYTES = 64 };

static struct npumem_error error;

static void must(int64_t result)
{
	if (result < 0)
		errx(1, "%s", error.text);
}

/* The engine: one task, of a step that reads one tile and writes another. */
static void *serve(void *attached)
{
	struct npumem_engine *engine = attached;
	struct npumem_engine_task task;
	struct npumem_error failed;

	if (npumem_engine_fetch(engine, 0, npumem_deadline(60 * SECOND), &task, &failed))
		errx(1, "engine: %s", failed.text);
	const uint64_t *command = task.commands;
	const unsigned char *from = (unsigned char *)task.window + command[1];
	unsigned char *to = (unsigned char *)task.window + task.accesses[1].offset;

	for (uint64_t i = 0; i < task.accesses[1].size && from[i]; i++)
		to[i] = (unsigned char)(from[i] + command[0]);
	/* Committed; no further one is fetched. */
	if (npumem_engine_fetch(engine, 0, 0, NULL, &failed))
		errx(1, "engine: %s", failed.text);
	return NULL;
}

static uint32_t find_slot(struct npumem_device *device)
{
	struct drm_npumem_engine *engines;
	uint32_t count, slot = 0;

	must(npumem_device_engines(device, &engines, &count, &error));
	while (slot < count && !(engines[slot].flags & NPUMEM_ENGINE_PROCESS))
		slot++;
	if (slot == count)
		errx(1, "the device has no slot for engines in a process");
	slot = engines[slot].index;
	free(engines);
	return slot;
}

int main(int argc, char **argv)
{
	const struct npumem_request request = { .deadline = npumem_deadline(60 * SECOND) };
	const struct npumem_region whole = npumem_region_whole(BYTES);
	const struct npumem_tensor_args in = { .size = BYTES, .kind = NPUMEM_TENSOR_INPUT };
	const struct npumem_tensor_args out = { .size = BYTES, .kind = NPUMEM_TENSOR_OUTPUT };
	const struct npumem_access accesses[] = {
		{ .tile = IN, .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
		{ .tile = OUT, .mode = NPUMEM_ACCESS_WRITE, .inplace = NPUMEM_NONE },
	};
	const uint64_t command[2] = { argc > 2 ? strtoull(argv[2], NULL, 10) : 0 };
	struct npumem_engine_args adder = { .name = "adder", .window_size = 65536 };
	struct npumem_builder *builder = npumem_builder_new();
	struct npumem_commands *commands = npumem_commands_new();
	struct npumem_device *device;
	struct npumem_engine *engine;
	struct npumem_layout *layout;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_maps maps;
	struct npumem_run *run;
	char bytes[BYTES] = "";
	pthread_t thread;
	size_t size;
	void *blob;

	must(npumem_builder_add_tensor(builder, &in, &error));
	must(npumem_builder_add_tensor(builder, &out, &error));
	must(npumem_builder_add_tile(builder, IN, &whole, &error));
	must(npumem_builder_add_tile(builder, OUT, &whole, &error));
	must(npumem_builder_add_step(builder, "add", 0, 0, accesses, 2, &error));
	must(npumem_builder_finish(builder, &blob, &size, &error));
	must(npumem_device_open(NULL, &device, &error));
	must(npumem_graph_new(device, blob, size, NULL, &graph, &error));
	must(npumem_plan_request(graph, &request, &plan, &error));
	must(npumem_plan_wait(plan, request.deadline, &error));
	must(npumem_plan_layout(plan, &layout, &error));
	must(npumem_run_new(plan, 0, NULL, &run, &error));
	must(npumem_run_map(run, NULL, &maps, &error));

	adder.slot = find_slot(device);
	must(npumem_engine_new(device, &adder, &engine, &error));
	if (pthread_create(&thread, NULL, serve, engine))
		errx(1, "no thread");
	must(npumem_commands_append(commands, command, sizeof(command), &error));
	must(npumem_commands_relocate_tensor(commands, 8, layout, 0, 0, IN, 0, NPUMEM_ACCESS_READ,
					     &error));
	const struct drm_npumem_job job = npumem_commands_job(commands, adder.slot, 0, 1);
	struct npumem_submit submit = { .jobs = &job, .job_count = 1 };

	snprintf(bytes, sizeof(bytes), "%s", argc > 1 ? argv[1] : "");
	must(npumem_layout_write(layout, IN, &maps, bytes, BYTES, &error));
	must(npumem_run_submit(run, &submit, &error));
	must(npumem_run_wait(run, npumem_deadline(30 * SECOND), &error));
	pthread_join(thread, NULL);
	must(npumem_layout_read(layout, 0, OUT, &maps, bytes, BYTES, &error));
	puts(bytes);
	npumem_engine_free(engine);
	npumem_run_free(run);
	npumem_layout_free(layout);
	npumem_plan_free(plan);
	npumem_graph_free(graph);
	npumem_device_close(device);
	npumem_commands_free(commands);
	npumem_builder_free(builder);
	free(blob);
	return 0;
}
