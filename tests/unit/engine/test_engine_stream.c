// SPDX-License-Identifier: MIT
/*
 * A model with state, hundreds of inferences one after the other in one arena: each output is what
 * plain C makes of the same inputs, whole and cut, by whatever planner. And a plan that puts a
 * tensor onto the state: the verifier says which, and where nobody asks it the outputs are wrong.
 */
#include <errno.h>
#include <string.h>

#include "auto.h"
#include "engine_run.h"
#include "npuimport.h"
#include "random.h"
#include "stream_model.h"
#include "unit.h"

#define SEED  20261126
#define STEPS 300

/* struct world - the model and its graph, cut */
struct world {
	void *file;
	size_t size;
	struct npuplan_graph *graph;
};

static struct world open_world(const struct npuplan_tiling *tiling)
{
	struct tb_model model = stream_model();
	struct npuplan_error error;
	struct world w = { 0 };

	w.file = tb_exact(&model, &w.size);
	if (npuimport_tflite(w.file, w.size, "stream", NULL, &w.graph, NULL, &error) ||
	    npuplan_graph_tile(w.graph, tiling, &error))
		fail_msg("%s", error.text);
	return w;
}

static void close_world(struct world *w)
{
	npuplan_graph_free(w->graph);
	free(w->file);
}

static struct npuplan_plan *plan_of(const struct npuplan_graph *graph, const char *planner)
{
	const struct npuplan_options options = { .planner = planner, .work_limit = 20000 };
	struct npuplan_plan *plan;
	struct npuplan_error error;

	if (npuplan_plan(graph, &options, &plan, &error) ||
	    npuplan_verify_plan(graph, plan, NULL, &error))
		fail_msg("%s: %s", planner, error.text);
	return plan;
}

static uint32_t tensor_of(const struct npuplan_graph *graph, uint32_t kind)
{
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].kind == kind)
			return t;
	fail_msg("no tensor of kind %u", kind);
	return 0;
}

/* How many inferences in a row have the right outputs, all in one arena; STEPS at most. */
static unsigned int right_steps(const struct world *w, const struct npuplan_plan *plan)
{
	uint64_t size = plan->info.arena_size + plan->info.host_size, seed = SEED;
	uint32_t in = tensor_of(w->graph, NPUMEM_TENSOR_INPUT);
	uint32_t out = tensor_of(w->graph, NPUMEM_TENSOR_OUTPUT);
	uint8_t *arena = malloc(size + 1);
	_Alignas(float) uint8_t expected[STREAM_OUTPUTS * sizeof(float)];
	struct engine_net net;
	struct stream stream;
	unsigned int step;

	memset(arena, 0xc3, size);
	stream_begin(&stream);
	if (!engine_net_init(&net, w->file, w->size, w->graph))
		fail_msg("%s", net.text);
	for (step = 0; step < STEPS; step++) {
		engine_draw_inputs(&net, &seed);
		stream_step(&stream, (const float *)(const void *)net.values[in],
			    (float *)(void *)expected);
		if (!engine_run_arena(&net, plan, arena, !step))
			fail_msg("%s", net.text);
		if (memcmp(net.values[out], expected, sizeof(expected)) != 0)
			break;
	}
	engine_net_fini(&net);
	free(arena);
	return step;
}

static const struct npuplan_tiling whole = { .bands = 1, .with_parameters = true },
				   bands = { .bands = 4, .with_parameters = true },
				   rows = { .rows = 1, .with_parameters = true };

/* struct way - how the model is cut, and who plans */
struct way {
	const struct npuplan_tiling *tiling;
	const char *planner;
};

static void check_steps(void **state)
{
	const struct way *way = *state;
	struct world w = open_world(way->tiling);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(w.graph, way->planner);

	print_message("# %u steps, arena %u bytes, bound %u\n", w.graph->step_count,
		      (unsigned int)plan->info.arena_size, (unsigned int)plan->info.lower_bound);
	assert_int_equal(right_steps(&w, plan), STEPS);
	close_world(&w);
}

TEST_CASE(whole, check_steps, NULL, NULL, struct way, &whole, "auto")
TEST_CASE(whole_greedy, check_steps, NULL, NULL, struct way, &whole, "greedy")
TEST_CASE(bands, check_steps, NULL, NULL, struct way, &bands, "auto")
TEST_CASE(rows, check_steps, NULL, NULL, struct way, &rows, "auto")
TEST_CASE(tile_scheduled, check_steps, NULL, NULL, struct way, &rows, "tile-scheduled")

/* Tensors move to host memory and back; the state does not, and lasts. */
static void check_moving(void **state)
{
	const struct npuplan_tiling *const *cut = *state;
	struct npuplan_options options = { .planner = "cosma", .work_limit = 200000 };
	struct world w = open_world(*cut);
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	uint64_t moved;

	if (npuplan_needed_find(w.graph, &options, &options.arena_budget, &(uint32_t){ 0 },
				&error) ||
	    npuplan_plan(w.graph, &options, &plan, &error))
		fail_msg("%s", error.text);
	moved = plan->info.load_bytes + plan->info.spill_bytes + plan->info.fill_bytes;
	print_message("# arena %u bytes, %u move\n", (unsigned int)plan->info.arena_size,
		      (unsigned int)moved);
	assert_true(moved > 0);
	assert_true(plan->info.arena_size <= options.arena_budget);
	assert_int_equal(right_steps(&w, plan), STEPS);
	close_world(&w);
}

static const struct npuplan_tiling moving = { .bands = 1,
					      .with_parameters = true,
					      .inputs = NPUPLAN_INPUTS_HOST },
				   moving_bands = { .bands = 4,
						    .with_parameters = true,
						    .inputs = NPUPLAN_INPUTS_HOST };

TEST_CASE(moving_whole, check_moving, NULL, NULL, const struct npuplan_tiling *, &moving)
TEST_CASE(moving_in_bands, check_moving, NULL, NULL, const struct npuplan_tiling *, &moving_bands)

/* -------------------------------------------------------------------- a planner's fault */

static uint32_t placement_of(const struct npuplan_plan *plan, uint32_t tensor)
{
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (plan->placements[i].tensor == tensor)
			return i;
	return NPUMEM_NONE;
}

/* What the verifier says of a plan that has @tensor where @state is; 0: it takes it. */
static int put_onto(const struct world *w, struct npuplan_plan *plan, uint32_t tensor,
		    uint32_t state, struct npumem_verdict *verdict, unsigned int *steps)
{
	struct npumem_placement *p = &plan->placements[placement_of(plan, tensor)];
	uint64_t before = p->offset;
	int err;

	p->offset = plan->placements[placement_of(plan, state)].offset;
	err = npuplan_verify_plan(w->graph, plan, verdict, NULL);
	*steps = right_steps(w, plan);
	p->offset = before;
	return err;
}

/*
 * Each tensor onto each state that is no larger: it is refused, by a verdict of the state's bytes.
 * In memory that is merely reused the state is lost, and outputs are wrong.
 */
TEST(onto_state)
{
	struct world w = open_world(&whole);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(w.graph, "auto");
	unsigned int refused = 0, lost = 0;

	for (uint32_t s = 0; s < w.graph->tensor_count; s++)
		for (uint32_t t = 0; t < w.graph->tensor_count; t++) {
			const struct npuplan_tensor *under = &w.graph->tensors[s];
			const struct npuplan_tensor *tensor = &w.graph->tensors[t];
			struct npumem_verdict verdict;
			unsigned int steps;
			uint64_t at;
			int err;

			if (under->kind != NPUMEM_TENSOR_STATE || t == s ||
			    tensor->kind != NPUMEM_TENSOR_INTERMEDIATE ||
			    placement_of(plan, t) == NPUMEM_NONE || tensor->size > under->size)
				continue;
			at = plan->placements[placement_of(plan, s)].offset;
			err = put_onto(&w, plan, t, s, &verdict, &steps);
			if (!err) {
				assert_int_equal(steps, STEPS);
				continue;
			}
			assert_int_equal(err, -EINVAL);
			assert_in_range(verdict.rule, NPUMEM_RULE_V3_READ, NPUMEM_RULE_V7_EXIT);
			assert_in_range(verdict.first, at, at + under->size - 1);
			assert_true(verdict.tensor == s || verdict.tensor == t);
			refused++;
			lost += steps < STEPS;
		}
	print_message("# %u refused, %u of them lose state\n", refused, lost);
	assert_true(refused > 3);
	assert_true(lost > 3);
	close_world(&w);
}
