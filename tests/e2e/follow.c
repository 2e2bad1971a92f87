// SPDX-License-Identifier: MIT
/*
 * follow - a runtime that runs one model again and again, and takes its plan's better successors,
 * or does not.
 *
 * usage: npumem_follow [-f MS] [-r RUNS] [-s SWAPS] [-w FILE] [-p PLANNER] [-b] [-g GRAPH-BLOB]
 *        DIGESTS
 *
 *   -f MS       follow: ask for a better plan after so many milliseconds, at least
 *   -r RUNS     inferences, at least (1)
 *   -s SWAPS    go on until so many better plans were taken, and RUNS inferences made after that
 *   -w FILE     go on until FILE is there
 *   -p PLANNER  by name; the daemon's choice by default
 *   -b          within the least budget that there is
 *   -g FILE     of this graph; a random one with a state in its arena by default
 *
 * Engine "sim" mixes all bytes that a step reads into those that it writes. DIGESTS gets 8 bytes
 * for each inference, a digest of all outputs. Prints what was run as JSON.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "npumem_follow.h"
#include "npumem_options.h"
#include "npumem_sim.h"
#include "npuplan.h"

#define SECOND	 1000000000ll
/* Of a hang. */
#define PATIENCE (300 * SECOND)
#define SEED	 1
#define STEPS	 100
#define STATE	 STEPS
#define STATE_AT (STEPS / 2)
#define REACH	 24

static struct npumem_error error;

static void must(int64_t result)
{
	if (result < 0)
		errx(1, "%s", error.text);
}

/* ------------------------------------------------------------------------ model */

/*
 * A tensor for each step, which reads up to three that were made not long before; the one in the
 * middle also updates a state, on which so everything after it depends.
 */
static void build(void **blob, size_t *size)
{
	struct npumem_builder *builder = npumem_builder_new();

	srandom(SEED);
	for (uint32_t t = 0; t <= STATE; t++) {
		const uint64_t bytes = t == STATE ? 64 : 16 + (uint64_t)(random() % 32) * 16;
		const struct npumem_tensor_args tensor = {
			.size = bytes,
			.align = 16,
			.kind = t == STATE     ? NPUMEM_TENSOR_STATE :
				!t	       ? NPUMEM_TENSOR_INPUT :
				t == STEPS - 1 ? NPUMEM_TENSOR_OUTPUT :
						 NPUMEM_TENSOR_INTERMEDIATE,
		};
		const struct npumem_region whole = npumem_region_whole(bytes);

		must(npumem_builder_add_tensor(builder, &tensor, &error));
		must(npumem_builder_add_tile(builder, t, &whole, &error));
	}
	for (uint32_t t = 1; t < STEPS; t++) {
		struct npumem_access accesses[5];
		uint32_t count = 0, reach = t < REACH ? t : REACH;

		for (uint32_t i = 0; i < 3; i++) {
			uint32_t from = i ? t - 1 - (uint32_t)(random() % reach) : t - 1, k = 0;

			while (k < count && accesses[k].tile != from)
				k++;
			if (k == count)
				accesses[count++] =
					(struct npumem_access){ .tile = from,
								.mode = NPUMEM_ACCESS_READ,
								.inplace = NPUMEM_NONE };
		}
		if (t == STATE_AT)
			accesses[count++] = (struct npumem_access){ .tile = STATE,
								    .mode = NPUMEM_ACCESS_UPDATE,
								    .inplace = NPUMEM_NONE };
		accesses[count++] = (struct npumem_access){ .tile = t,
							    .mode = NPUMEM_ACCESS_WRITE,
							    .inplace = NPUMEM_NONE };
		must(npumem_builder_add_step(builder, NULL, 0, 0, accesses, count, &error));
	}
	must(npumem_builder_finish(builder, blob, size, &error));
	npumem_builder_free(builder);
}

static void read_file(const char *path, void **blob, size_t *size)
{
	FILE *file = fopen(path, "rbe");
	long end = -1;

	if (file && !fseek(file, 0, SEEK_END))
		end = ftell(file);
	*blob = end > 0 ? malloc((size_t)end) : NULL;
	if (!*blob || fseek(file, 0, SEEK_SET) || fread(*blob, 1, (size_t)end, file) != (size_t)end)
		errx(1, "%s cannot be read", path);
	fclose(file);
	*size = (size_t)end;
}

/* -------------------------------------------------------------------- inferences */

/*
 * struct client
 * @graph: what is known of the tensors
 * @session: the plan that is run
 * @follow: NULL: the first plan is kept
 * @buffer: room for the largest tensor
 * @runs, @swaps: so far; @last_swap: @runs at the last one
 * @first_arena, @arena: bytes, at first and now; @first_moved, @moved: likewise, by transfers
 * @swap_ns: the longest time that a swap took
 */
struct client {
	struct npuplan_graph *graph;
	struct npumem_session session;
	struct npumem_follow *follow;
	uint8_t *buffer;
	uint64_t runs, swaps, last_swap;
	uint64_t first_arena, arena, first_moved, moved;
	int64_t swap_ns;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static void look_at_plan(struct client *c)
{
	struct npumem_plan_info info;
	struct npumem_plan_stats stats;

	must(npumem_plan_get_stats(c->session.plan, &stats, &error));
	must(npumem_layout_record(c->session.layout, NPUMEM_PLAN_SECTION_INFO, 0, &info,
				  sizeof(info), &error));
	c->arena = stats.arena_size;
	c->moved = info.spill_bytes + info.fill_bytes;
}

/*
 * Inputs are others in each inference. State, and parameters in the arena, are written before the
 * first one and never again; those in host memory each time, as other bytes may take their place.
 */
static bool is_written(const struct client *c, const struct npuplan_tensor *tensor)
{
	if (tensor->flags & (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL))
		return false;
	if (tensor->kind == NPUMEM_TENSOR_PARAMETER)
		return !c->runs || tensor->flags & NPUMEM_TENSOR_FLAG_HOST;
	return tensor->kind == NPUMEM_TENSOR_INPUT ||
	       (tensor->kind == NPUMEM_TENSOR_STATE && !c->runs);
}

static void write_inputs(struct client *c)
{
	for (uint32_t t = 0; t < c->graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &c->graph->tensors[t];
		/* What is there for more than one inference is always the same. */
		uint64_t run = tensor->kind == NPUMEM_TENSOR_INPUT ? c->runs : 0;
		int err;

		if (!is_written(c, tensor))
			continue;
		for (uint64_t i = 0; i < tensor->size; i++)
			c->buffer[i] = (uint8_t)(t + 31 * run + i * (i >> 8 | 1));
		err = npumem_layout_write(c->session.layout, t, &c->session.maps, c->buffer,
					  tensor->size, &error);
		/* A parameter may be outside of all that is planned. */
		if (err != -ENOENT || tensor->kind != NPUMEM_TENSOR_PARAMETER)
			must(err);
	}
}

/* All positions, as many at once as the driver takes. */
static void submit(struct client *c)
{
	const struct npumem_sim_command mix = { .op = NPUMEM_SIM_MIX, .value = SEED };
	uint32_t count = npumem_layout_count(c->session.layout, NPUMEM_PLAN_SECTION_SCHEDULE);
	uint32_t part = count;

	for (uint32_t done = 0; done < count;) {
		uint32_t now = part < count - done ? part : count - done;
		struct drm_npumem_job job = npumem_job_positions(0, done, now, &mix, sizeof(mix));
		struct npumem_submit jobs = { .jobs = &job, .job_count = 1 };
		int err = npumem_run_submit(c->session.run, &jobs, &error);

		if (err == -E2BIG && part > 1) {
			part = (part + 1) / 2;
			continue;
		}
		must(err);
		done += now;
	}
	must(npumem_run_wait(c->session.run, npumem_deadline(PATIENCE), &error));
}

/* FNV-1a. */
static uint64_t digest_outputs(struct client *c)
{
	uint64_t digest = 0xcbf29ce484222325;

	for (uint32_t t = 0; t < c->graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &c->graph->tensors[t];

		if (tensor->kind != NPUMEM_TENSOR_OUTPUT)
			continue;
		must(npumem_layout_read(c->session.layout, 0, t, &c->session.maps, c->buffer,
					tensor->size, &error));
		for (uint64_t i = 0; i < tensor->size; i++)
			digest = (digest ^ c->buffer[i]) * 0x100000001b3;
	}
	return digest;
}

static void infer(struct client *c, FILE *digests)
{
	uint64_t digest;

	write_inputs(c);
	submit(c);
	digest = digest_outputs(c);
	if (fwrite(&digest, sizeof(digest), 1, digests) != 1)
		errx(1, "digests cannot be written");
	must(npumem_run_reset(c->session.run, &error));
	c->runs++;
}

static void improve(struct client *c)
{
	int64_t before = now_ns();
	bool swapped;
	int err = npumem_session_improved(&c->session, c->follow, NULL, NULL, &swapped, &error);

	/* The old plan goes on. */
	if (err)
		warnx("%s", error.text);
	if (!swapped)
		return;
	c->swap_ns = now_ns() - before > c->swap_ns ? now_ns() - before : c->swap_ns;
	c->swaps++;
	c->last_swap = c->runs;
	look_at_plan(c);
}

/* ----------------------------------------------------------------------- program */

struct arguments {
	int64_t follow;
	uint64_t runs, swaps;
	const char *until, *planner, *graph;
	bool budget;
};

static struct arguments parse(int argc, char **argv)
{
	struct arguments args = { .runs = 1 };
	int option;

	while ((option = getopt(argc, argv, "f:r:s:w:p:bg:")) != -1) {
		switch (option) {
		case 'f':
			args.follow = atoll(optarg) * 1000000;
			break;
		case 'r':
			args.runs = strtoull(optarg, NULL, 10);
			break;
		case 's':
			args.swaps = strtoull(optarg, NULL, 10);
			break;
		case 'w':
			args.until = optarg;
			break;
		case 'p':
			args.planner = optarg;
			break;
		case 'b':
			args.budget = true;
			break;
		case 'g':
			args.graph = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (optind != argc - 1)
		errx(2, "one file for digests is wanted");
	return args;
}

static void open_client(struct client *c, const struct arguments *args)
{
	const struct npumem_request request = {
		.planner = args->planner,
		.budget = args->budget ? NPUMEM_BUDGET_NEEDED : 0,
		.deadline = npumem_deadline(PATIENCE),
	};
	struct npuplan_error why = { 0 };
	struct npumem_device *device;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	uint64_t largest = 1;
	size_t size;
	void *blob;

	if (args->graph)
		read_file(args->graph, &blob, &size);
	else
		build(&blob, &size);
	if (npuplan_graph_read(blob, size, &c->graph, &why))
		errx(1, "%s", why.text);
	for (uint32_t t = 0; t < c->graph->tensor_count; t++)
		if (c->graph->tensors[t].size > largest)
			largest = c->graph->tensors[t].size;
	c->buffer = malloc(largest);
	must(npumem_device_open(NULL, &device, &error));
	must(npumem_graph_new(device, blob, size, NULL, &graph, &error));
	free(blob);
	must(npumem_plan_request(graph, &request, &plan, &error));
	must(npumem_plan_wait(plan, request.deadline, &error));
	must(npumem_session_init(&c->session, plan, 0, &error));
	if (args->follow)
		must(npumem_follow_new(graph, &request, args->follow, &c->follow, &error));
	npumem_graph_free(graph);
	npumem_device_close(device);
	look_at_plan(c);
	c->first_arena = c->arena;
	c->first_moved = c->moved;
}

static bool is_done(const struct client *c, const struct arguments *args)
{
	if (args->until)
		return !access(args->until, F_OK);
	return c->swaps >= args->swaps && c->runs - c->last_swap >= args->runs;
}

int main(int argc, char **argv)
{
	const struct arguments args = parse(argc, argv);
	int64_t end = npumem_deadline(PATIENCE);
	struct client c = { 0 };
	FILE *digests;

	open_client(&c, &args);
	digests = fopen(argv[optind], "wbe");
	if (!digests)
		err(1, "%s", argv[optind]);
	/* Who waits for the first inference sees it. */
	setvbuf(digests, NULL, _IONBF, 0);
	while (!is_done(&c, &args)) {
		if (now_ns() > end)
			errx(1, "after %" PRIu64 " inferences and %" PRIu64 " swaps: too late",
			     c.runs, c.swaps);
		infer(&c, digests);
		if (c.follow)
			improve(&c);
	}
	if (fclose(digests))
		err(1, "%s", argv[optind]);
	printf("{\"runs\":%" PRIu64 ",\"swaps\":%" PRIu64 ",\"first_arena\":%" PRIu64
	       ",\"arena\":%" PRIu64 ",\"first_moved\":%" PRIu64 ",\"moved\":%" PRIu64
	       ",\"before_swap\":%" PRIu64 ",\"swap_us\":%" PRId64 "}\n",
	       c.runs, c.swaps, c.first_arena, c.arena, c.first_moved, c.moved, c.last_swap,
	       c.swap_ns / 1000);
	npumem_follow_free(c.follow);
	npumem_session_fini(&c.session);
	npuplan_graph_free(c.graph);
	free(c.buffer);
	return 0;
}
