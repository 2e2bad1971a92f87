// SPDX-License-Identifier: MIT
/*
 * A plan as text, in the style of TensorFlow Lite Micro's PrintMemoryPlan(): a line for each step,
 * with a character for each column of the arena.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../chunks/chunks.h"
#include "base/region.h"
#include "base/sorted.h"
#include "print_line.h"

/*
 * Whether a placement lies within its tensor. A plan that was not verified may say otherwise, and
 * would have too many ranges to draw.
 */
static bool fits(const struct npuplan_graph *graph, const struct npumem_placement *placement)
{
	uint64_t bytes = placement->region.length, size;

	if (placement->tensor >= graph->tensor_count)
		return false;
	size = graph->tensors[placement->tensor].size;
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		uint64_t count = placement->region.count[d];

		if (!bytes || !count || bytes > size / count)
			return false;
		bytes *= count;
	}
	return true;
}

static void print_head(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       unsigned int columns, FILE *out)
{
	char arena[32], bound[32];

	npuplan_format_bytes(plan->info.arena_size, arena);
	npuplan_format_bytes(plan->info.lower_bound, bound);
	fprintf(out,
		"%s: planner %s\narena %llu (%s), lower bound %llu (%s), %u columns of %llu bytes\n",
		graph->name, plan->info.planner, (unsigned long long)plan->info.arena_size, arena,
		(unsigned long long)plan->info.lower_bound, bound, columns,
		(unsigned long long)((plan->info.arena_size + columns - 1) / columns));
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];
		long long id = graph->tensors[placement->tensor].id;
		char label[96];

		fprintf(out, "%c (id=%lld): offset %llu, %llu bytes, positions %u to %u: %s\n",
			npuplan_symbol(placement->tensor), id,
			(unsigned long long)placement->offset,
			(unsigned long long)chunks_hull(placement), placement->from, placement->to,
			npuplan_tensor_label(graph, placement->tensor, label));
	}
}

/* Print the tensors that have no placement of their own: aliases and external ones. */
static void print_others(const struct npuplan_graph *graph, FILE *out)
{
	char label[96], base[96];

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
			fprintf(out, "  (id=%lld): bytes %llu to %llu of %s: %s\n",
				(long long)tensor->id, (unsigned long long)tensor->alias_offset,
				(unsigned long long)(tensor->alias_offset + tensor->size - 1),
				npuplan_tensor_label(graph, tensor->alias_of, base),
				npuplan_tensor_label(graph, i, label));
		else if (tensor->flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
			fprintf(out, "  (id=%lld): external, %llu bytes: %s\n",
				(long long)tensor->id, (unsigned long long)tensor->size,
				npuplan_tensor_label(graph, i, label));
	}
}

static void print_position(const struct npuplan_graph *graph,
			   const struct npumem_position *position, FILE *out)
{
	const char *transfer = npuplan_transfer_name(position->kind);
	char label[96];

	if (position->kind == NPUMEM_POSITION_STEP)
		fprintf(out, "%s", npuplan_step_label(graph, position->index, label));
	else
		fprintf(out, "%s %s", transfer ? transfer : "?",
			npuplan_tensor_label(graph, position->index, label));
}

/*
 * Print the heading of an instance, "instance 2 of block 1: then 1 or the exit"; a plan of one
 * block has none.
 */
static void print_instance(const struct npuplan_plan *plan, uint32_t instance, FILE *out)
{
	const char *separator = ": then ";

	if (!plan->edge_count)
		return;
	fprintf(out, "instance %u of block %u", instance, plan->blocks[instance].block);
	for (uint32_t i = 0; i < plan->edge_count; i++) {
		if (plan->edges[i].from != instance)
			continue;
		if (plan->edges[i].to == NPUMEM_NONE)
			fprintf(out, "%sthe exit", separator);
		else
			fprintf(out, "%s%u", separator, plan->edges[i].to);
		separator = " or ";
	}
	fputc('\n', out);
}

static uint32_t base_tensor(const struct npuplan_graph *graph, uint32_t tile)
{
	return npuplan_base_of(graph, graph->tiles[tile].tensor);
}

/*
 * struct printing - the plan that is printed, with its placements sorted
 * @entered: per placement, whether it is in the entry state of its instance; tensors that enter
 *	with the same value may share its bytes, which are drawn once
 * @of_tensor: placements by tensor: those of tensor t are of_tensor[first_of_tensor[t] ..
 *	first_of_tensor[t + 1])
 * @verified: the verifier accepts the plan
 */
struct printing {
	const struct npuplan_graph *graph;
	const struct npuplan_plan *plan;
	struct npuplan_pool pool;
	bool *entered;
	uint32_t *of_tensor;
	uint32_t *first_of_tensor;
	bool verified;
	unsigned int columns;
};

/*
 * List the placements by the 32-bit member at offset @key: those with value k begin at
 * list[first[k]].
 */
static int sort_placements(struct printing *printing, size_t key, uint32_t keys, uint32_t **first,
			   uint32_t **list)
{
	const struct npuplan_plan *plan = printing->plan;

	*first = npuplan_pool_take(&printing->pool, (size_t)keys + 2, sizeof(**first));
	*list = npuplan_pool_take(&printing->pool, plan->placement_count, sizeof(**list));
	if (printing->pool.failed)
		return -ENOMEM;
	npuplan_counting_sort(plan->placements, plan->placement_count, sizeof(*plan->placements),
			      key, keys, *first, *list);
	return 0;
}

/*
 * Whether an in-place operator takes a placement's bytes at its last position. They are the
 * output's then, so that the overlap is no conflict.
 */
static bool is_taken(const struct printing *printing, uint32_t placement)
{
	const struct npuplan_graph *graph = printing->graph;
	const struct npuplan_plan *plan = printing->plan;
	const struct npumem_placement *at = &plan->placements[placement];
	const struct npumem_position *entry = &plan->positions[at->to];
	const struct npuplan_step *step;

	if (entry->kind != NPUMEM_POSITION_STEP || entry->index >= graph->step_count)
		return false;
	step = &graph->steps[entry->index];
	for (uint32_t a = step->first_access; a < step->first_access + step->access_count; a++) {
		const struct npumem_access *write = &graph->accesses[a];
		const uint32_t *first;

		if (write->inplace == NPUMEM_NONE ||
		    base_tensor(graph, graph->accesses[step->first_access + write->inplace].tile) !=
			    at->tensor)
			continue;
		first = &printing->first_of_tensor[base_tensor(graph, write->tile)];
		for (uint32_t i = first[0]; i < first[1]; i++) {
			const struct npumem_placement *other =
				&plan->placements[printing->of_tensor[i]];

			if (other->from <= at->to && other->to >= at->to &&
			    other->offset < at->offset + chunks_hull(at) &&
			    at->offset < other->offset + chunks_hull(other))
				return true;
		}
	}
	return false;
}

/*
 * struct scene - one instance as it is drawn, position by position
 * @list: its placements, in ascending order; @count of them
 * @coming, @going: numbers in @list, by first and by last position
 * @twins: numbers in @list of those that are in the entry state, sorted so that those of the same
 *	bytes follow each other, in the order of @list
 * @twin_at: per number in @list, where it is in @twins; NPUMEM_NONE: it is not there
 * @alive: per number in @list, whether it lives at this position
 */
struct scene {
	const struct printing *printing;
	const uint32_t *list;
	struct npuplan_pool pool;
	struct npuplan_line line;
	uint32_t *coming;
	uint32_t *going;
	uint32_t *twins;
	uint32_t *twin_at;
	bool *alive;
	uint32_t count;
	uint32_t twin_count;
	uint32_t come;
	uint32_t gone;
};

static const struct npumem_placement *placement_at(const struct scene *scene, uint32_t k)
{
	return &scene->printing->plan->placements[scene->list[k]];
}

static bool are_twins(const struct scene *scene, uint32_t a, uint32_t b)
{
	const struct npumem_placement *left = placement_at(scene, a);
	const struct npumem_placement *right = placement_at(scene, b);

	return left->offset == right->offset && chunks_hull(left) == chunks_hull(right);
}

static int scene_init(struct scene *scene, const struct printing *printing, const uint32_t *list,
		      uint32_t count)
{
	struct npuplan_keyed *coming, *going, *twins;

	*scene = (struct scene){ .printing = printing, .list = list, .count = count };
	scene->coming = npuplan_pool_take(&scene->pool, count, sizeof(uint32_t));
	scene->going = npuplan_pool_take(&scene->pool, count, sizeof(uint32_t));
	scene->twins = npuplan_pool_take(&scene->pool, count, sizeof(uint32_t));
	scene->twin_at = npuplan_pool_take(&scene->pool, count, sizeof(uint32_t));
	scene->alive = npuplan_pool_take(&scene->pool, count, sizeof(bool));
	coming = npuplan_pool_take(&scene->pool, count, sizeof(*coming));
	going = npuplan_pool_take(&scene->pool, count, sizeof(*going));
	twins = npuplan_pool_take(&scene->pool, count, sizeof(*twins));
	if (scene->pool.failed)
		return -ENOMEM;
	for (uint32_t k = 0; k < count; k++) {
		const struct npumem_placement *at = placement_at(scene, k);
		uint64_t bytes = chunks_hull(at);

		coming[k] = (struct npuplan_keyed){ .key = at->from, .item = k };
		going[k] = (struct npuplan_keyed){ .key = at->to, .item = k };
		scene->twin_at[k] = NPUMEM_NONE;
		if (printing->entered[list[k]])
			twins[scene->twin_count++] =
				(struct npuplan_keyed){ at->offset, bytes, .item = k };
	}
	npuplan_sort_items(coming, count, scene->coming);
	npuplan_sort_items(going, count, scene->going);
	npuplan_sort_items(twins, scene->twin_count, scene->twins);
	for (uint32_t t = 0; t < scene->twin_count; t++)
		scene->twin_at[scene->twins[t]] = t;
	return npuplan_line_init(&scene->line, printing->plan, list, count, printing->columns);
}

/*
 * Draw the first living one of the placements that have the same bytes as twin @k, and no other.
 * -ENOMEM
 */
static int draw_twins(struct scene *scene, uint32_t k)
{
	uint32_t t = scene->twin_at[k];
	bool drawn = false;
	int err = 0;

	while (t && are_twins(scene, scene->twins[t - 1], k))
		t--;
	for (; t < scene->twin_count && are_twins(scene, scene->twins[t], k) && !err; t++) {
		bool draw = scene->alive[scene->twins[t]] && !drawn;

		err = npuplan_line_draw(&scene->line, scene->twins[t], draw);
		drawn |= draw;
	}
	return err;
}

/* Say whether placement @k lives, and draw it accordingly. -ENOMEM */
static int set_alive(struct scene *scene, uint32_t k, bool alive)
{
	scene->alive[k] = alive;
	if (scene->twin_at[k] != NPUMEM_NONE)
		return draw_twins(scene, k);
	return npuplan_line_draw(&scene->line, k, alive);
}

/* Go from the position before to this one. -ENOMEM */
static int move_to(struct scene *scene, uint32_t position)
{
	int err = 0;

	for (; scene->gone < scene->count && !err; scene->gone++) {
		uint32_t k = scene->going[scene->gone];

		if (placement_at(scene, k)->to >= position)
			break;
		if (scene->alive[k])
			err = set_alive(scene, k, false);
	}
	for (; scene->come < scene->count && !err; scene->come++) {
		uint32_t k = scene->coming[scene->come];

		if (placement_at(scene, k)->from > position)
			break;
		if (placement_at(scene, k)->to >= position)
			err = set_alive(scene, k, true);
	}
	/* A placement whose last position this is may be taken in place from now on. */
	for (uint32_t g = scene->gone; g < scene->count && !err; g++) {
		uint32_t k = scene->going[g];

		if (placement_at(scene, k)->to != position)
			break;
		if (scene->line.drawn[k] && is_taken(scene->printing, scene->list[k]))
			err = npuplan_line_draw(&scene->line, k, false);
	}
	return err;
}

static int print_positions(const struct printing *printing, uint32_t instance, const uint32_t *list,
			   uint32_t count, FILE *out)
{
	const struct npuplan_plan *plan = printing->plan;
	const struct npumem_plan_block *block = &plan->blocks[instance];
	struct scene scene;
	int err = scene_init(&scene, printing, list, count);

	for (uint32_t p = block->first_position;
	     p < block->first_position + block->position_count && p < plan->position_count && !err;
	     p++) {
		err = move_to(&scene, p);
		fprintf(out, "%5u: ", p);
		npuplan_line_print(&scene.line, printing->verified, out);
		fprintf(out, " (%lluk) ",
			(unsigned long long)(cover_bytes(&scene.line.covered) + 1023) / 1024);
		print_position(printing->graph, &plan->positions[p], out);
		fputc('\n', out);
	}
	npuplan_line_fini(&scene.line);
	npuplan_pool_free(&scene.pool);
	return err;
}

/*
 * Print all instances, each with its placements; a placement outside of all instances is not drawn.
 */
static int print_instances(struct printing *printing, FILE *out)
{
	const struct npuplan_plan *plan = printing->plan;
	uint32_t *first, *list;
	int err = sort_placements(printing, offsetof(struct npumem_placement, block),
				  plan->block_count, &first, &list);

	for (uint32_t b = 0; b < plan->block_count && !err; b++) {
		print_instance(plan, b, out);
		err = print_positions(printing, b, list + first[b], first[b + 1] - first[b], out);
	}
	return err;
}

int npuplan_plan_print(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       unsigned int columns, FILE *out)
{
	struct printing printing = { .graph = graph, .plan = plan, .columns = columns };
	struct npuplan_error error;
	int err;

	if (!columns || columns > NPUPLAN_MAX_COLUMNS)
		return -EINVAL;
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (!fits(graph, &plan->placements[i]))
			return -EINVAL;
	err = npuplan_verify_plan(graph, plan, NULL, &error);
	if (err == -ENOMEM)
		return err;
	printing.verified = !err;
	printing.entered = npuplan_pool_take(&printing.pool, plan->placement_count, sizeof(bool));
	err = sort_placements(&printing, offsetof(struct npumem_placement, tensor),
			      graph->tensor_count, &printing.first_of_tensor, &printing.of_tensor);
	for (uint32_t i = 0; i < plan->entry_count && !err; i++)
		if (plan->entries[i].placement < plan->placement_count)
			printing.entered[plan->entries[i].placement] = true;
	if (!err) {
		print_head(graph, plan, columns, out);
		print_others(graph, out);
		err = print_instances(&printing, out);
	}
	npuplan_pool_free(&printing.pool);
	return err ? err : ferror(out) ? -EIO : 0;
}
