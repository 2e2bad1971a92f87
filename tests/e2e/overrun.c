// SPDX-License-Identifier: MIT
/*
 * overrun - an engine that writes too much.
 *
 * usage: npumem_overrun plain MODEL BYTES
 *        npumem_overrun engine BYTES
 *
 *   plain   a model in an arena that the engine can write: behind each tile that it writes it
 *           spoils so many bytes. Says what becomes of the outputs; exit 0: they are wrong
 *   engine  the same fault in a process: an engine as npumem-engine is, for all clients. Says
 *           behind which tiles it has written; ends when it is detached
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "engine_run.h"
#include "npuimport.h"
#include "npumem_command.h"

#define SEED	 20261126
#define WINDOW	 (1ull << 20)
/* Operands that do not lie as kernels want them, and laid out weights. */
#define SCRATCH	 (4 * WINDOW + (16ull << 20))
#define LIMIT_MS (NPUMEM_ENGINE_JOB_MS - 500)

/* ------------------------------------------------------------------------ plain */

/* The values of outputs that have memory of their own: bytes, and of them those that differ. */
static uint64_t differing(const struct engine_net *a, const struct engine_net *b, uint64_t *bytes)
{
	uint64_t count = 0;

	*bytes = 0;
	for (uint32_t t = 0; t < a->graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &a->graph->tensors[t];

		if (tensor->kind != NPUMEM_TENSOR_OUTPUT ||
		    tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
			continue;
		*bytes += tensor->size;
		for (uint64_t i = 0; i < tensor->size; i++)
			count += a->values[t][i] != b->values[t][i];
	}
	return count;
}

/* One inference; @plan: in its arena, NULL: each tensor has memory of its own. */
static void infer(struct engine_net *net, const void *model, size_t size,
		  const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		  uint64_t overrun)
{
	uint64_t seed = SEED;
	bool good = engine_net_init(net, model, size, graph);

	net->overrun = overrun;
	if (good)
		engine_draw_inputs(net, &seed);
	if (!good || !(plan ? engine_run_plan(net, plan) : engine_run_tensors(net)))
		errx(2, "%s", net->text);
}

static int plain(const char *path, uint64_t overrun)
{
	const struct npuplan_options options = { 0 };
	struct engine_net right, planned, wrong;
	struct npuplan_graph *graph;
	struct npuplan_plan *plan;
	struct npuplan_error error;
	uint64_t bytes, differ;
	size_t size;
	void *model;

	if (npuimport_read_file(path, &model, &size, &error) ||
	    npuimport_tflite(model, size, path, NULL, &graph, NULL, &error) ||
	    npuplan_graph_tile_bands(graph, 1, true, &error) ||
	    npuplan_plan(graph, &options, &plan, &error))
		errx(2, "%s", error.text);
	infer(&right, model, size, graph, NULL, 0);
	infer(&planned, model, size, graph, plan, 0);
	infer(&wrong, model, size, graph, plan, overrun);
	if (differing(&right, &planned, &bytes))
		errx(2, "without a fault the outputs are not right");
	differ = differing(&right, &wrong, &bytes);
	printf("an engine writes %" PRIu64 " bytes too many behind each tile, in an arena that it "
	       "can write: no error, and %" PRIu64 " of %" PRIu64 " bytes of the outputs are "
	       "wrong\n",
	       overrun, differ, bytes);
	engine_net_fini(&right);
	engine_net_fini(&planned);
	engine_net_fini(&wrong);
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);
	free(model);
	return differ ? 0 : 1;
}

/* ----------------------------------------------------------------------- engine */

static void spoil(const struct npumem_engine_task *task, uint64_t overrun)
{
	for (uint32_t i = 0; i < task->access_count; i++) {
		const struct npumem_engine_access *a = &task->accesses[i];

		if (!(a->flags & NPUMEM_ENGINE_ACCESS_WRITE))
			continue;
		memset((char *)task->window + a->offset + a->size, 0x3c, overrun);
		printf("step %u: %" PRIu64 " bytes too many behind tile %u\n", task->step, overrun,
		       a->tile);
	}
}

static struct npumem_engine *attach(void)
{
	const struct npumem_engine_args args = {
		.name = "npumem-engine",
		.window_size = WINDOW,
		.any_slot = true,
		.version = NPUMEM_COMMAND_VERSION,
		.shared = true,
	};
	struct npumem_engine *engine;
	struct npumem_device *device;
	struct npumem_error error;

	if (npumem_device_open(NULL, &device, &error) ||
	    npumem_engine_new(device, &args, &engine, &error))
		errx(2, "%s", error.text);
	npumem_device_close(device);
	return engine;
}

static int serve(uint64_t overrun)
{
	struct npumem_engine *engine = attach();
	struct npumem_engine_task task;
	struct npumem_error error;
	struct compute compute;
	int err = compute_init(&compute, SCRATCH, LIMIT_MS);

	if (err)
		errx(2, "memory to compute with: %s", strerror(-err));
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	while (!npumem_engine_fetch(engine, err, INT64_MAX, &task, &error)) {
		const char *why = "";

		err = compute_task(&compute, &task, &why);
		if (err)
			printf("step %u: %s\n", task.step, why);
		else
			spoil(&task, overrun);
	}
	npumem_engine_free(engine);
	compute_fini(&compute);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "plain"))
		return plain(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "engine"))
		return serve(strtoull(argv[2], NULL, 10));
	errx(2, "usage: npumem_overrun plain MODEL BYTES | npumem_overrun engine BYTES");
}
