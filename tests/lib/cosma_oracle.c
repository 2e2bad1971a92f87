// SPDX-License-Identifier: MIT
/* Executing plans of npuplan_cosma(). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cosma_oracle.h"

/*
 * struct world - while the plan runs
 * @at: per tensor, the placement that holds it now, or NPUMEM_NONE
 * @gone: per tensor: its last placement ended without a word, and it is to be dropped
 * @valid: per tensor: its bytes on chip are its bytes
 * @host: per tensor: the host has them
 * @loaded: per tensor: it has been on chip before
 * @ran: per operator
 * @active: placements now
 * @first: per position, the first placement that begins there, or NPUMEM_NONE; the next one that
 *	does is behind each placement in @next
 */
struct world {
	const struct npuplan_graph *graph;
	const struct cosma_settings *options;
	const struct npuplan_cosma_plan *plan;
	struct cosma_oracle *oracle;
	uint32_t *at;
	bool *valid;
	bool *host;
	bool *loaded;
	bool *gone;
	bool *ran;
	uint32_t *active;
	uint32_t *first;
	uint32_t *next;
	uint32_t active_count;
	uint32_t done;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct world *world, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(world->oracle->why, sizeof(world->oracle->why), format, args);
	va_end(args);
	return false;
}

static uint64_t size_of(const struct world *world, uint32_t placement)
{
	return world->graph->tensors[world->plan->placements[placement].tensor].size;
}

/*
 * Whether the one may lie on the other's bytes: at @p an operator runs that makes the one,
 * and with which the other one ends, an input that is read by then. Unless the operator is
 * staged, each byte has to be where its like was.
 */
static bool may_share(const struct world *world, uint32_t p, uint32_t i, uint32_t k)
{
	const struct npumem_placement *new = &world->plan->placements[i];
	const struct npumem_placement *old = &world->plan->placements[k];
	const struct npumem_position *at = &world->plan->positions[p];
	const struct npuplan_op *op = &world->graph->ops[at->index];
	bool reads = false, writes = false;

	if (at->kind != NPUMEM_POSITION_STEP || new->from != p || old->to != p)
		return false;
	for (uint32_t j = 0; j < op->input_count; j++)
		reads |= op->inputs[j] == old->tensor;
	for (uint32_t j = 0; j < op->output_count; j++)
		writes |= op->outputs[j] == new->tensor;
	if (!reads || !writes)
		return false;
	return cosma_is_staged(world->options, at->index) ||
	       (new->offset == old->offset &&cosma_may_take(world->graph, world->options, at->index,
							    old->tensor, new->tensor));
}

/* Whether a placement is where its tensor must be, and where nothing is kept. */
static bool may_lie(const struct world *world, const struct npumem_placement *it, uint64_t end)
{
	const struct npuplan_tensor *tensor = &world->graph->tensors[it->tensor];
	const struct cosma_settings *options = world->options;

	for (uint32_t i = 0; i < options->kept_count; i++)
		if (it->offset < options->kept[i].offset + options->kept[i].size &&
		    options->kept[i].offset < end)
			return false;
	return !(tensor->flags & NPUMEM_TENSOR_FLAG_FIXED) || it->offset == tensor->fixed_offset;
}

/* A placement begins: it is in nobody's way. */
static bool begin(struct world *world, uint32_t p, uint32_t i)
{
	const struct npumem_placement *it = &world->plan->placements[i];
	uint64_t end = it->offset + size_of(world, i);
	uint32_t align = world->graph->tensors[it->tensor].align;

	if (it->to < it->from)
		return fail(world, "placement %u ends before it begins", i);
	if (it->offset % align || it->offset % (world->options->common.alignment ?: 1))
		return fail(world, "placement %u: %llu is not aligned", i, it->offset);
	if (world->options->common.objective != NPUPLAN_OBJECTIVE_PEAK &&
	    end > world->options->common.arena_budget + cosma_kept_bytes(world->options))
		return fail(world, "placement %u ends at %" PRIu64 ", beyond the budget", i, end);
	if (!may_lie(world, it, end))
		return fail(world, "placement %u: at %llu it must not be", i, it->offset);
	if (world->at[it->tensor] != NPUMEM_NONE)
		return fail(world, "position %u: tensor %u is on chip twice", p, it->tensor);
	for (uint32_t k = 0; k < world->active_count; k++) {
		const struct npumem_placement *other = &world->plan->placements[world->active[k]];

		if (it->offset < other->offset + size_of(world, world->active[k]) &&
		    other->offset < end && !may_share(world, p, i, world->active[k]) &&
		    !may_share(world, p, world->active[k], i))
			return fail(world, "position %u: tensors %u and %u overlap", p, it->tensor,
				    other->tensor);
	}
	world->active[world->active_count++] = i;
	world->at[it->tensor] = i;
	world->valid[it->tensor] = false;
	world->oracle->top = end > world->oracle->top ? end : world->oracle->top;
	return true;
}

static void end(struct world *world, uint32_t p)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < world->active_count; k++) {
		uint32_t i = world->active[k];

		if (world->plan->placements[i].to == p) {
			uint32_t t = world->plan->placements[i].tensor;

			world->at[t] = NPUMEM_NONE;
			world->valid[t] = false;
			world->gone[t] = world->plan->positions[p].kind == NPUMEM_POSITION_STEP;
		} else {
			world->active[kept++] = i;
		}
	}
	world->active_count = kept;
}

/* Whether what an operator updates lies where it lay, and all that were to run before it have. */
static bool are_updated(struct world *world, uint32_t p, uint32_t v)
{
	const struct cosma_settings *options = world->options;

	for (uint32_t i = 0; i < options->takeover_count; i++) {
		const struct npuplan_cosma_takeover *takeover = &options->takeovers[i];
		const struct npumem_placement *placements = world->plan->placements;

		if (takeover->bound && takeover->op == v &&
		    placements[world->at[takeover->input]].offset !=
			    placements[world->at[takeover->output]].offset)
			return fail(world, "position %u: tensor %u is not where tensor %u was", p,
				    takeover->output, takeover->input);
	}
	for (uint32_t i = 0; i < options->pair_count; i++)
		if (options->pairs[i].after == v && !world->ran[options->pairs[i].before])
			return fail(world, "position %u: operator %u runs before %u", p, v,
				    options->pairs[i].before);
	return true;
}

static bool run_op(struct world *world, uint32_t p, uint32_t v)
{
	const struct npuplan_graph *graph = world->graph;
	const struct npuplan_op *op;

	if (v >= graph->op_count || world->ran[v])
		return fail(world, "position %u: operator %u runs twice, or there is none", p, v);
	if (world->options->order && world->options->order[world->done] != v)
		return fail(world, "position %u: operator %u is not the one asked for", p, v);
	if (world->options->common.schedule != NPUPLAN_SCHEDULE_FREE && !world->options->order &&
	    world->done != v)
		return fail(world, "position %u: operator %u is not the next", p, v);
	op = &graph->ops[v];
	for (uint32_t k = 0; k < op->input_count; k++) {
		uint32_t t = op->inputs[k];

		if (graph->tensors[t].kind == NPUMEM_TENSOR_PARAMETER &&
		    !world->options->with_parameters)
			continue;
		if (world->at[t] == NPUMEM_NONE || !world->valid[t])
			return fail(world, "position %u: input %u of operator %u is not there", p,
				    t, v);
	}
	for (uint32_t k = 0; k < op->output_count; k++) {
		uint32_t t = op->outputs[k];

		if (world->at[t] == NPUMEM_NONE || world->plan->placements[world->at[t]].from > p)
			return fail(world, "position %u: output %u has no place", p, t);
		if (world->loaded[t])
			return fail(world, "position %u: output %u was there before", p, t);
		world->valid[t] = true;
		world->loaded[t] = true;
	}
	if (!are_updated(world, p, v))
		return false;
	world->ran[v] = true;
	world->done++;
	return true;
}

static bool move(struct world *world, uint32_t p, const struct npumem_position *at)
{
	const struct npuplan_graph *graph = world->graph;
	struct cosma_oracle *oracle = world->oracle;
	uint32_t t = at->index, i;
	uint64_t size;

	/* Whose bytes an operator's output took is dropped right behind that. */
	if (t < graph->tensor_count && world->gone[t] && world->host[t] &&
	    at->kind == NPUMEM_POSITION_DROP) {
		world->gone[t] = false;
		return true;
	}
	if (t >= graph->tensor_count || world->at[t] == NPUMEM_NONE || world->gone[t])
		return fail(world, "position %u: tensor %u is not on chip", p, t);
	i = world->at[t];
	size = graph->tensors[t].size;
	switch (at->kind) {
	case NPUMEM_POSITION_LOAD:
		if (world->loaded[t] || !world->host[t] || world->plan->placements[i].from != p)
			return fail(world, "position %u: load of tensor %u", p, t);
		oracle->compulsory += size;
		world->valid[t] = true;
		world->loaded[t] = true;
		return true;
	case NPUMEM_POSITION_FILL:
		if (!world->loaded[t] || !world->host[t] || world->plan->placements[i].from != p)
			return fail(world, "position %u: fill of tensor %u", p, t);
		oracle->fill += size;
		world->valid[t] = true;
		return true;
	case NPUMEM_POSITION_STORE:
		if (!world->valid[t] || world->host[t])
			return fail(world, "position %u: store of tensor %u", p, t);
		if (graph->tensors[t].kind == NPUMEM_TENSOR_OUTPUT)
			oracle->compulsory += size;
		else
			oracle->spill += size;
		world->host[t] = true;
		return true;
	case NPUMEM_POSITION_SPILL:
		if (!world->valid[t] || world->host[t] || world->plan->placements[i].to != p)
			return fail(world, "position %u: spill of tensor %u", p, t);
		oracle->spill += size;
		world->host[t] = true;
		return true;
	case NPUMEM_POSITION_DROP:
		if (!world->host[t] || world->plan->placements[i].to != p)
			return fail(world, "position %u: drop of tensor %u", p, t);
		return true;
	default:
		return fail(world, "position %u: unknown kind", p);
	}
}

/* Whether placement @k ends with the operator at @p to make room for what that makes. */
static bool makes_room(const struct world *world, uint32_t p, uint32_t k)
{
	const struct npuplan_cosma_plan *plan = world->plan;
	const struct npumem_placement *old = &plan->placements[k];
	uint32_t v = plan->positions[p].index;
	const struct npuplan_op *op = &world->graph->ops[v];
	bool reads = false, room = cosma_is_staged(world->options, v);

	for (uint32_t j = 0; j < op->input_count; j++)
		reads |= op->inputs[j] == old->tensor;
	for (uint32_t j = 0; j < op->output_count && !room; j++)
		room = !(world->graph->tensors[op->outputs[j]].flags &
			 NPUMEM_TENSOR_FLAG_EXTERNAL) &&
		       cosma_may_take(world->graph, world->options, v, old->tensor, op->outputs[j]);
	return reads && room && old->to == p;
}

/* Bytes that must be on chip at once: what may be shared counts once, shared or not. */
static uint64_t needed_at(const struct world *world, uint32_t p)
{
	const struct npuplan_cosma_plan *plan = world->plan;
	bool runs = plan->positions[p].kind == NPUMEM_POSITION_STEP;
	uint64_t loads = 0, stores = 0;

	for (uint32_t k = 0; k < world->active_count; k++) {
		const struct npumem_placement *it = &plan->placements[world->active[k]];
		const struct npuplan_op *op = runs ? &world->graph->ops[plan->positions[p].index] :
						     NULL;
		bool made = false;

		for (uint32_t j = 0; op && j < op->output_count; j++)
			made |= op->outputs[j] == it->tensor;
		loads += made ? 0 : size_of(world, world->active[k]);
		stores += runs && makes_room(world, p, world->active[k]) ?
				  0 :
				  size_of(world, world->active[k]);
	}
	return loads > stores ? loads : stores;
}

/* Placements behind the last position begin nowhere. */
static void list_placements(struct world *world)
{
	const struct npuplan_cosma_plan *plan = world->plan;

	for (uint32_t p = 0; p < plan->position_count; p++)
		world->first[p] = NPUMEM_NONE;
	for (uint32_t i = plan->placement_count; i-- > 0;) {
		uint32_t from = plan->placements[i].from;

		if (from >= plan->position_count)
			continue;
		world->next[i] = world->first[from];
		world->first[from] = i;
	}
}

static bool execute(struct world *world)
{
	const struct npuplan_cosma_plan *plan = world->plan;

	list_placements(world);
	for (uint32_t p = 0; p < plan->position_count; p++) {
		uint64_t bytes;

		for (uint32_t i = world->first[p]; i != NPUMEM_NONE; i = world->next[i])
			if (!begin(world, p, i))
				return false;
		for (uint32_t k = 0; k < world->active_count; k++) {
			uint32_t t = plan->placements[world->active[k]].tensor;

			if (p || !cosma_starts_on_chip(&world->graph->tensors[t], world->options))
				continue;
			world->valid[t] = true;
			world->loaded[t] = true;
		}
		bytes = needed_at(world, p);
		world->oracle->peak = bytes > world->oracle->peak ? bytes : world->oracle->peak;
		if (plan->positions[p].kind == NPUMEM_POSITION_STEP ?
			    !run_op(world, p, plan->positions[p].index) :
			    !move(world, p, &plan->positions[p]))
			return false;
		end(world, p);
	}
	return true;
}

static bool compare(struct world *world)
{
	const struct npuplan_cosma_plan *plan = world->plan;
	const struct cosma_oracle *oracle = world->oracle;

	if (world->done != world->graph->op_count)
		return fail(world, "%u operators ran", world->done);
	if (world->active_count)
		return fail(world, "placements go on behind the last position");
	for (uint32_t t = 0; t < world->graph->tensor_count; t++)
		if (world->graph->tensors[t].kind == NPUMEM_TENSOR_OUTPUT && !world->host[t])
			return fail(world, "output %u did not reach the host", t);
	if (oracle->spill != plan->spill || oracle->fill != plan->fill ||
	    oracle->compulsory != plan->compulsory || oracle->peak != plan->peak ||
	    oracle->top != plan->top)
		return fail(world,
			    "moved %" PRIu64 " %" PRIu64 " %" PRIu64 " peak %" PRIu64
			    " top %" PRIu64 ", not %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			    " %" PRIu64,
			    oracle->spill, oracle->fill, oracle->compulsory, oracle->peak,
			    oracle->top, plan->spill, plan->fill, plan->compulsory, plan->peak,
			    plan->top);
	if (world->options->common.objective == NPUPLAN_OBJECTIVE_PEAK ?
		    plan->peak < plan->lower_bound || plan->spill + plan->fill :
		    plan->spill + plan->fill < plan->lower_bound)
		return fail(world, "below the lower bound");
	return true;
}

bool cosma_oracle_run(struct cosma_oracle *oracle, const struct npuplan_graph *graph,
		      const struct cosma_settings *options, const struct npuplan_cosma_plan *plan)
{
	size_t tensors = (size_t)graph->tensor_count + 1, ops = (size_t)graph->op_count + 1;
	struct world world = {
		.graph = graph,
		.options = options,
		.plan = plan,
		.oracle = oracle,
		.at = malloc(tensors * sizeof(uint32_t)),
		.valid = calloc(tensors, sizeof(bool)),
		.host = calloc(tensors, sizeof(bool)),
		.loaded = calloc(tensors, sizeof(bool)),
		.gone = calloc(tensors, sizeof(bool)),
		.ran = calloc(ops, sizeof(bool)),
		.active = malloc(((size_t)plan->placement_count + 1) * sizeof(uint32_t)),
		.first = malloc(((size_t)plan->position_count + 1) * sizeof(uint32_t)),
		.next = malloc(((size_t)plan->placement_count + 1) * sizeof(uint32_t)),
	};
	bool ok = world.at && world.valid && world.host && world.loaded && world.gone &&
		  world.ran && world.active && world.first && world.next;

	memset(oracle, 0, sizeof(*oracle));
	for (uint32_t t = 0; t < graph->tensor_count && ok; t++) {
		world.at[t] = NPUMEM_NONE;
		world.host[t] = cosma_starts_in_host(&graph->tensors[t], options);
	}
	ok = ok ? execute(&world) && compare(&world) : fail(&world, "out of memory");
	free(world.at);
	free(world.valid);
	free(world.host);
	free(world.loaded);
	free(world.gone);
	free(world.ran);
	free(world.active);
	free(world.first);
	free(world.next);
	return ok;
}

void cosma_print_case(const struct npuplan_graph *graph, const struct cosma_settings *options)
{
	printf("\n# budget %" PRIu64 "%s%s%s%s alignment %u\n", options->common.arena_budget,
	       options->common.objective == NPUPLAN_OBJECTIVE_PEAK ? " peak" : "",
	       options->common.schedule != NPUPLAN_SCHEDULE_FREE ? " fixed" : "",
	       options->with_parameters ? " with parameters" : "",
	       options->inputs_resident ? " inputs resident" :
	       options->inputs_flagged	? " inputs as flagged" :
					  "",
	       options->common.alignment);
	for (uint32_t i = 0; i < options->kept_count; i++)
		printf("# kept: %" PRIu64 " bytes at %" PRIu64 "\n", options->kept[i].size,
		       options->kept[i].offset);
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		printf("# tensor %u: size %" PRIu64 " align %u kind %u flags %u fixed %" PRIu64
		       "\n",
		       t, graph->tensors[t].size, graph->tensors[t].align, graph->tensors[t].kind,
		       graph->tensors[t].flags, graph->tensors[t].fixed_offset);
	for (uint32_t v = 0; v < graph->op_count; v++) {
		printf("# operator %u%s%s:", v, graph->ops[v].attrs.inplace ? " in place" : "",
		       cosma_is_staged(options, v) ? " staged" : "");
		for (uint32_t k = 0; k < graph->ops[v].input_count; k++)
			printf(" %u", graph->ops[v].inputs[k]);
		printf(" ->");
		for (uint32_t k = 0; k < graph->ops[v].output_count; k++)
			printf(" %u", graph->ops[v].outputs[k]);
		printf("\n");
	}
	for (uint32_t i = 0; i < options->takeover_count; i++)
		printf("# operator %u: tensor %u %s lie where tensor %u does\n",
		       options->takeovers[i].op, options->takeovers[i].output,
		       options->takeovers[i].bound ? "must" : "may", options->takeovers[i].input);
	for (uint32_t i = 0; i < options->pair_count; i++)
		printf("# operator %u runs before operator %u\n", options->pairs[i].before,
		       options->pairs[i].after);
}
