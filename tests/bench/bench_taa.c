// SPDX-License-Identifier: MIT
/*
 * TAA against what it is compared with: bytes of intermediate tensors in layer
 * order, each model cut by the tiler for so much on-chip memory (docs/tiling.md). Times
 * are of allocation alone: from live ranges to addresses that have been checked;
 * the least of several runs. With -s, too, tile scheduling of one row a tile: the arena
 * with inputs and outputs outside, how many times over weights are fetched (half of
 * what is on chip is for them), halos read again of all reads, and the peak that needs
 * each weight only once.
 *
 * With -j concats are joined, otherwise they copy.
 *
 * usage: bench_taa [-m ON-CHIP-BYTES] [-b BANDS] [-l nhwc|nchw|nc32hw] [-d] [-j] [-s] [-w WORK]
 *                 MODEL...
 *        bench_taa -g		growth, on chains of convolutions, of tile scheduling too
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "npuimport.h"
#include "base/clock.h"
#include "graph/checked.h"
#include "planners/planners.h"

/* Times are the least of so many runs, or of what half a second has room for. */
#define RUNS	      50
/* Of tile scheduling, for playing segments and for packing each. */
#define SCHEDULE_WORK 100000000ull

struct settings {
	uint64_t on_chip;
	uint32_t bands;
	enum npuplan_layout layout;
	uint64_t work;
	bool double_buffer;
	bool join;
	bool schedule;
};

/** struct outcome - what one planner needs, and how long it takes; bytes 0: gave up */
struct outcome {
	uint64_t bytes;
	double seconds;
};

/* Cut by the tiler for what is on chip, or into bands if these are asked for. */
static int load(const char *path, const struct settings *settings, struct npuplan_graph **graph,
		struct npuplan_error *error)
{
	struct npuplan_tiling tiling = {
		.layout = settings->layout,
		.bands = settings->bands,
		.onchip = settings->bands ? 0 : settings->on_chip,
		.double_buffer = settings->double_buffer,
		.concat = settings->join ? NPUPLAN_CONCAT_JOIN : NPUPLAN_CONCAT_COPY,
	};
	int err = npuimport_file(path, NULL, graph, NULL, error);

	return err ? err : npuplan_graph_tile(*graph, &tiling, error);
}

/* What the paper counts: intermediate tensors. */
static int problem_of(struct npuplan_problem *problem, const struct npuv_graph *cells,
		      struct npuplan_error *error)
{
	struct npuplan_liveness *live = &problem->live;
	uint32_t kept = 0;
	int err = npuplan_liveness_init(live, cells);

	if (err)
		return npuplan_fail(error, err, "live ranges: %s", strerror(-err));
	for (uint32_t i = 0; i < live->atom_count; i++)
		if (problem->graph->tensors[live->atoms[i].tensor].kind ==
		    NPUMEM_TENSOR_INTERMEDIATE)
			live->atoms[kept++] = live->atoms[i];
	live->atom_count = kept;
	err = npuplan_make_items(problem, error);
	if (!err)
		err = npuplan_lower_bound(live, &problem->lower_bound, &problem->peak_instant);
	if (!err)
		err = npuplan_conflicts_whole(&problem->conflicts, problem->items,
					      problem->item_count);
	return err;
}

/* The kernel's verifier takes the addresses, inputs and outputs above them all. */
static int verify(const struct npuplan_problem *problem, const struct npuplan_plan *whole,
		  const struct npuplan_packing *packing, struct npuplan_error *error)
{
	uint64_t top = packing->top;
	struct npuplan_plan plan = *whole;
	int err;

	plan.placements = malloc(whole->placement_count * sizeof(*plan.placements) + 1);
	if (!plan.placements)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	memcpy(plan.placements, whole->placements,
	       whole->placement_count * sizeof(*plan.placements));
	for (uint32_t i = 0, item = 0; i < plan.placement_count; i++) {
		struct npumem_placement *p = &plan.placements[i];
		const struct npuplan_tensor *tensor = &problem->graph->tensors[p->tensor];

		if (item < problem->item_count && problem->items[item].tensor == p->tensor) {
			p->offset = packing->offsets[item++];
			continue;
		}
		p->offset = (top + tensor->align - 1) & -(uint64_t)tensor->align;
		top = p->offset + tensor->size;
	}
	plan.info.arena_size = top;
	err = npuplan_verify_plan(problem->graph, &plan, NULL, error);
	free(plan.placements);
	return err;
}

static int measure(const struct npuplan_problem *problem, const struct npuplan_plan *whole,
		   const char *name, struct outcome *outcome, struct npuplan_error *error)
{
	const struct npuplan_planner *planner = npuplan_planner_find(name);
	double spent = 0;
	int err = 0;

	*outcome = (struct outcome){ .seconds = 1e9 };
	for (int run = 0; run < RUNS && !err; run++) {
		struct npuplan_packing packing = {
			.offsets = calloc((size_t)problem->item_count + 1, sizeof(uint64_t)),
			.lower_bound = problem->lower_bound,
		};
		double started = npuplan_now(), seconds;

		if (!packing.offsets)
			return npuplan_fail(error, -ENOMEM, "out of memory");
		err = planner->pack(problem, planner->argument, &packing, error);
		seconds = npuplan_now() - started;
		if (seconds < outcome->seconds)
			outcome->seconds = seconds;
		if (!err)
			outcome->bytes = packing.top;
		if (!err && !run)
			err = verify(problem, whole, &packing, error);
		free(packing.offsets);
		/* Long enough to be told from noise. */
		spent += seconds;
		if (spent > 0.5)
			break;
	}
	if (err == -E2BIG) {
		fprintf(stderr, "bench_taa: %s\n", error->text);
		outcome->bytes = 0;
		err = 0;
	}
	return err;
}

static void print(char *path, const struct npuplan_problem *problem,
		  const struct outcome outcomes[4])
{
	const struct outcome *shared = &outcomes[0], *fit = &outcomes[1], *paper = &outcomes[2];
	const struct outcome *exact = &outcomes[3];

	printf("%-30s %6u %10llu %10llu %10llu %10llu %10llu  %6.2f %6.2f %6.2f  %8.3f %8.3f %8.3f %6.2f",
	       basename(path), problem->graph->step_count, (unsigned long long)shared->bytes,
	       (unsigned long long)fit->bytes, (unsigned long long)paper->bytes,
	       (unsigned long long)exact->bytes, (unsigned long long)problem->lower_bound,
	       /* 0 bytes: it gave up. */
	       paper->bytes ? 100 - 100 * (double)paper->bytes / (double)shared->bytes : 0,
	       100 - 100 * (double)exact->bytes / (double)shared->bytes,
	       100 - 100 * (double)exact->bytes / (double)fit->bytes, 1e3 * shared->seconds,
	       1e3 * paper->seconds, 1e3 * exact->seconds, exact->seconds / shared->seconds);
}

/* One row a tile, in the order that peaks lowest. Ends the line. */
static int schedule(const char *path, const struct settings *settings, uint64_t shared,
		    struct npuplan_error *error)
{
	struct npuplan_tiling tiling = {
		.layout = settings->layout,
		.rows = 1,
		.concat = settings->join ? NPUPLAN_CONCAT_JOIN : NPUPLAN_CONCAT_COPY,
	};
	const struct npuplan_tilesched_options own = { sizeof(own),
						       .weights_on_chip = settings->on_chip / 2 };
	struct npuplan_options options = {
		.planner = "tile-scheduled",
		.tilesched = &own,
		.work_limit = SCHEDULE_WORK,
	};
	struct npuplan_front *front = NULL;
	struct npuplan_graph *graph = NULL;
	struct npuplan_plan *plan = NULL;
	uint32_t once = 0;
	int err = npuimport_file(path, NULL, &graph, NULL, error);

	/* The paper counts intermediate tensors. */
	for (uint32_t i = 0; !err && i < graph->tensor_count; i++)
		if (graph->tensors[i].kind == NPUMEM_TENSOR_INPUT ||
		    graph->tensors[i].kind == NPUMEM_TENSOR_OUTPUT)
			graph->tensors[i].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
	err = err ? err : npuplan_graph_tile(graph, &tiling, error);
	err = err ? err : npuplan_plan(graph, &options, &plan, error);
	err = err ? err : npuplan_front_find(graph, &options, &front, error);
	if (!err) {
		while (front->points[once].weights > front->all_weights)
			once++;
		printf("  %9llu %9llu %7.2f %6.2f %6.2f %9llu %6.2f",
		       (unsigned long long)plan->info.arena_size,
		       (unsigned long long)plan->info.lower_bound,
		       (double)shared / (double)plan->info.arena_size,
		       (double)plan->tilesched->cost.weights / (double)plan->tilesched->all_weights,
		       100 * (double)plan->tilesched->cost.halos /
			       (double)plan->tilesched->all_reads,
		       (unsigned long long)front->points[once].peak, plan->seconds);
	}
	npuplan_front_free(front);
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);
	return err;
}

static int bench(char *path, const struct settings *settings)
{
	static const char *const planners[] = { "shared-objects", "greedy", "taa-paper", "taa" };
	struct npuplan_graph *graph = NULL;
	const struct npuplan_options asked = { .work_limit = settings->work };
	struct npuplan_problem problem = { .options = &asked, .alignment = 1 };
	struct npuplan_checked checked = { 0 };
	struct npuplan_error error = { "" };
	struct npuplan_plan *whole = NULL;
	struct outcome outcomes[4];
	int err = load(path, settings, &graph, &error);

	problem.graph = graph;
	if (!err)
		err = npuplan_plan(graph, NULL, &whole, &error);
	if (!err)
		err = npuplan_checked_init(&checked, graph, &error);
	if (!err)
		err = problem_of(&problem, checked.cells, &error);
	for (int i = 0; i < 4 && !err; i++)
		err = measure(&problem, whole, planners[i], &outcomes[i], &error);
	if (!err)
		print(path, &problem, outcomes);
	if (!err && settings->schedule)
		err = schedule(path, settings, outcomes[0].bytes, &error);
	putchar('\n');
	if (err)
		fprintf(stderr, "bench_taa: %s: %s\n", path, error.text);
	npuplan_conflicts_fini(&problem.conflicts);
	npuplan_liveness_fini(&problem.live);
	free(problem.items);
	npuplan_checked_fini(&checked);
	npuplan_plan_free(whole);
	npuplan_graph_free(graph);
	return err;
}

/* Convolutions 3x3, one after another, each of @rows rows and one step a row. */
static struct npuplan_graph *chain(uint32_t ops, uint32_t rows, struct npuplan_error *error)
{
	struct npuplan_graph *graph = npuplan_graph_new("chain");
	int64_t err = graph ? 0 : -ENOMEM;

	for (uint32_t i = 0; i <= ops && err >= 0; i++) {
		struct npuplan_tensor tensor = {
			.kind = !i	 ? NPUMEM_TENSOR_INPUT :
				i == ops ? NPUMEM_TENSOR_OUTPUT :
					   NPUMEM_TENSOR_INTERMEDIATE,
			.align = 1,
			.elem_size = 1,
			.dim_count = 4,
			.shape = { 1, rows, 64, 8 + i % 3 * 4 },
			.id = i,
		};
		static char type[] = "conv2d";
		uint32_t input = i ? i - 1 : 0, output = i;
		struct npuplan_op op = {
			.type = type,
			.inputs = &input,
			.outputs = &output,
			.input_count = 1,
			.output_count = 1,
			.id = i,
			.attrs = { { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 2, 1, -1 },
		};

		tensor.size = (uint64_t)(rows * tensor.shape[2] * tensor.shape[3]);
		err = npuplan_graph_add_tensor(graph, &tensor);
		if (err >= 0 && i)
			err = npuplan_graph_add_op(graph, &op);
	}
	if (err < 0)
		npuplan_fail(error, (int)err, "chain: %s", strerror((int)-err));
	else if (!npuplan_graph_tile_bands(graph, rows, false, error))
		return graph;
	npuplan_graph_free(graph);
	return NULL;
}

static int growth(void)
{
	static const uint32_t ops[] = { 1, 10, 49, 98 };

	printf("%8s %8s %8s %12s %12s %10s %10s %10s %12s %12s %10s\n", "steps", "tiles", "tensors",
	       "TAA exact", "bound", "seconds", "in all", "MiB", "scheduled", "bound", "seconds");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct npuplan_options options = { .planner = "taa" };
		struct npuplan_error error = { "" };
		struct npuplan_graph *graph = chain(ops[i], 1024, &error);
		struct npuplan_problem problem = { .graph = graph,
						   .options = &options,
						   .alignment = 1 };
		struct npuplan_checked checked = { 0 };
		struct npuplan_options scheduling = { .planner = "tile-scheduled" };
		struct npuplan_plan *plan = NULL, *scheduled = NULL;
		struct outcome outcome = { 0 };
		struct rusage usage;
		int err = !graph;

		if (!err)
			err = npuplan_plan(graph, &options, &plan, &error);
		if (!err)
			err = npuplan_checked_init(&checked, graph, &error);
		if (!err)
			err = problem_of(&problem, checked.cells, &error);
		if (!err && problem.item_count)
			err = measure(&problem, plan, "taa", &outcome, &error);
		getrusage(RUSAGE_SELF, &usage);
		if (!err)
			err = npuplan_plan(graph, &scheduling, &scheduled, &error);
		if (!err)
			printf("%8u %8u %8u %12llu %12llu %10.4f %10.3f %10.1f %12llu %12llu %10.3f\n",
			       graph->step_count, graph->tile_count, graph->tensor_count,
			       (unsigned long long)plan->info.arena_size,
			       (unsigned long long)plan->info.lower_bound, outcome.seconds,
			       plan->seconds, (double)usage.ru_maxrss / 1024,
			       (unsigned long long)scheduled->info.arena_size,
			       (unsigned long long)scheduled->info.lower_bound, scheduled->seconds);
		else
			fprintf(stderr, "bench_taa: %s\n", error.text);
		npuplan_conflicts_fini(&problem.conflicts);
		npuplan_liveness_fini(&problem.live);
		free(problem.items);
		npuplan_checked_fini(&checked);
		npuplan_plan_free(scheduled);
		npuplan_plan_free(plan);
		npuplan_graph_free(graph);
		if (err)
			return 1;
	}
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: bench_taa [-m ON-CHIP-BYTES] [-b BANDS] [-l nhwc|nchw|nc32hw] [-d] [-j] "
		"[-s] [-w WORK] MODEL...\n"
		"       bench_taa -g\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct settings settings = { .on_chip = 512 * 1024 };
	unsigned int layout = 0;
	int option, failed = 0;

	while ((option = getopt(argc, argv, "gw:m:b:djl:s")) != -1) {
		switch (option) {
		case 'g':
			return growth();
		case 'm':
			settings.on_chip = strtoull(optarg, NULL, 0);
			break;
		case 'b':
			settings.bands = strtoul(optarg, NULL, 0);
			break;
		case 's':
			settings.schedule = true;
			break;
		case 'w':
			settings.work = strtoull(optarg, NULL, 0);
			break;
		case 'd':
			settings.double_buffer = true;
			break;
		case 'j':
			settings.join = true;
			break;
		case 'l':
			while (npuplan_layout_name(layout) &&
			       strcmp(npuplan_layout_name(layout), optarg) != 0)
				layout++;
			if (!npuplan_layout_name(layout))
				return usage();
			settings.layout = layout;
			break;
		default:
			return usage();
		}
	}
	if (optind == argc)
		return usage();
	printf("%-30s %6s %10s %10s %10s %10s %10s  %6s %6s %6s  %8s %8s %8s %6s", "model", "steps",
	       "shared", "first fit", "TAA paper", "TAA exact", "bound", "-paper", "-exact",
	       "-%fit", "shared", "paper ms", "exact ms", "x");
	if (settings.schedule)
		printf("  %9s %9s %7s %6s %6s %9s %6s", "scheduled", "bound", "/shared", "xweigh",
		       "%halo", "at x1", "s");
	putchar('\n');
	for (int i = optind; i < argc; i++)
		failed += !!bench(argv[i], &settings);
	return failed ? 1 : 0;
}
