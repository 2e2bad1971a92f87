// SPDX-License-Identifier: MIT
/*
 * Run on memory that is there already: the input is a dma-buf of another device (here of a
 * second client, which stands for a camera), the output is the program's own memory. Neither
 * is copied where the kernel has udmabuf; the program says whether it was.
 *
 * usage: share_memory WORD
 *
 * cc share_memory.c $(pkg-config --cflags --libs libnpumem)
 */
#include <err.h>
#include <npumem.h>
#include <npumem_memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND 1000000000ll

enum { IN, MIDDLE, OUT, TENSORS, BYTES = 4096 };

static struct npumem_error error;

static void must(int64_t result)
{
	if (result < 0)
		errx(1, "%s", error.text);
}

/* in -> middle -> out, as in run_graph.c, but in and out are external: they are bound. */
static void build(struct npumem_builder *builder)
{
	const struct npumem_tensor_args tensors[TENSORS] = {
		{ .size = BYTES,
		  .kind = NPUMEM_TENSOR_INPUT,
		  .flags = NPUMEM_TENSOR_FLAG_EXTERNAL },
		{ .size = BYTES },
		{ .size = BYTES,
		  .kind = NPUMEM_TENSOR_OUTPUT,
		  .flags = NPUMEM_TENSOR_FLAG_EXTERNAL },
	};
	const struct npumem_region whole = npumem_region_whole(BYTES);

	for (uint32_t t = 0; t < TENSORS; t++) {
		must(npumem_builder_add_tensor(builder, &tensors[t], &error));
		must(npumem_builder_add_tile(builder, t, &whole, &error));
	}
	for (uint32_t t = IN; t < OUT; t++) {
		const struct npumem_access accesses[] = {
			{ .tile = t, .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
			{ .tile = t + 1, .mode = NPUMEM_ACCESS_WRITE, .inplace = NPUMEM_NONE },
		};

		must(npumem_builder_add_step(builder, NULL, 0, 0, accesses, 2, &error));
	}
}

/* The camera: a picture, as a dma-buf. */
static int picture_of(const char *word)
{
	struct npumem_device *camera;
	struct npumem_bo *picture;
	void *bytes;
	int fd;

	must(npumem_device_open(NULL, &camera, &error));
	must(npumem_bo_new(camera, BYTES, NPUMEM_BO_SYSTEM, 0, &picture, &error));
	must(npumem_bo_map(picture, &bytes, &error));
	snprintf(bytes, BYTES, "%s", word);
	must(npumem_bo_export(picture, true, &fd, &error));
	npumem_bo_free(picture);
	npumem_device_close(camera);
	return fd;
}

int main(int argc, char **argv)
{
	const uint64_t copy[] = { 1, 0 }; /* sim's command, as in run_graph.c */
	const struct drm_npumem_job job = npumem_job_positions(0, 0, 2, copy, sizeof(copy));
	const struct npumem_request request = { .deadline = npumem_deadline(60 * SECOND) };
	struct npumem_submit submit = { .jobs = &job, .job_count = 1 };
	int picture = picture_of(argc > 1 ? argv[1] : "");
	struct npumem_builder *builder = npumem_builder_new();
	struct npumem_user_memory memory;
	struct npumem_device *device;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_bo *in, *out;
	struct npumem_run *run;
	size_t size;
	void *blob;

	build(builder);
	must(npumem_builder_finish(builder, &blob, &size, &error));
	must(npumem_device_open(NULL, &device, &error));
	must(npumem_graph_new(device, blob, size, NULL, &graph, &error));
	must(npumem_plan_request(graph, &request, &plan, &error));
	must(npumem_plan_wait(plan, request.deadline, &error));
	must(npumem_run_new(plan, 0, NULL, &run, &error));
	must(npumem_bo_import(device, picture, &in, &error));
	must(npumem_memory_new(BYTES, &memory, &error));
	must(npumem_bo_from_memory(device, &memory, &out, &error));
	must(npumem_run_bind(run, IN, in, 0, &error));
	must(npumem_run_bind(run, OUT, out, 0, &error));
	must(npumem_run_submit(run, &submit, &error));
	must(npumem_run_wait(run, npumem_deadline(10 * SECOND), &error));
	/* Now the memory is the CPU's again: of a copy the bytes come back here. */
	must(npumem_bo_begin_access(out, &error));
	printf("%s: %s\n", npumem_bo_is_shared(out) ? "shared" : "copied", (char *)memory.address);
	must(npumem_bo_end_access(out, &error));
	npumem_run_free(run);
	npumem_bo_free(in);
	npumem_bo_free(out);
	npumem_memory_free(&memory);
	npumem_plan_free(plan);
	npumem_graph_free(graph);
	npumem_device_close(device);
	npumem_builder_free(builder);
	close(picture);
	free(blob);
	return 0;
}
