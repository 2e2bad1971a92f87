// SPDX-License-Identifier: MIT
/*
 * Plan JSON, written: the fields one a line, and one line for each entry of the
 * schedule and each placement, so that plans can be compared with diff.
 */
#include <stdlib.h>
#include <string.h>

#include "output/names.h"
#include "output/piece.h"
#include "graph/shape.h"
#include "plan_json.h"

struct npuplan_digest_text npuplan_digest_text(const struct npuplan_graph *graph)
{
	struct npuplan_digest_text text = { "sha256:" };
	uint8_t digest[NPUPLAN_DIGEST_SIZE];
	char *at = text.s + strlen(text.s);

	npuplan_graph_digest(graph, digest);
	for (int i = 0; i < NPUPLAN_DIGEST_SIZE; i++, at += 2)
		snprintf(at, 3, "%02x", digest[i]);
	return text;
}

/* One number a dimension of a region. */
static json_t *dims_json(uint64_t first, uint64_t second, uint64_t third)
{
	return json_pack("[III]", (json_int_t)first, (json_int_t)second, (json_int_t)third);
}

static json_t *strides_json(const __u64 strides[NPUMEM_REGION_DIMS])
{
	return dims_json(strides[0], strides[1], strides[2]);
}

static json_t *region_json(const struct npumem_region *region)
{
	json_t *object = json_object();

	npujson_set_int(&object, "offset", region->offset);
	npujson_set_int(&object, "length", region->length);
	npujson_set(&object, "count",
		    dims_json(region->count[0], region->count[1], region->count[2]));
	npujson_set(&object, "stride", strides_json(region->stride));
	return object;
}

static json_t *rows_json(const struct npuplan_rows *rows)
{
	return json_pack("[II]", (json_int_t)rows->first, (json_int_t)rows->count);
}

/* "rows", and "channels" where they are not all that the tensor has. */
static void add_part(json_t **object, const struct npuplan_spatial *spatial,
		     const struct npuplan_rows *rows, const struct npuplan_rows *channels)
{
	npujson_set(object, "rows", rows_json(rows));
	if (channels->count != spatial->channels)
		npujson_set(object, "channels", rows_json(channels));
}

/* Whether bytes of a tensor are all of it. */
static bool is_whole(const struct npumem_region *region, const struct npuplan_tensor *tensor)
{
	return !region->offset && region->length == tensor->size;
}

static json_t *tile_json(const struct npuplan_graph *graph, const struct npumem_tile *tile)
{
	const struct npuplan_tensor *tensor = &graph->tensors[tile->tensor];
	json_t *entry = json_object();
	struct npuplan_spatial spatial;
	struct npuplan_part part;

	npujson_set_int(&entry, "tensor", tensor->id);
	if (is_whole(&tile->region, tensor))
		return entry;
	if (npuplan_spatial(graph, tile->tensor, &spatial) &&
	    npuplan_region_part(&spatial, &tile->region, &part))
		add_part(&entry, &spatial, &part.rows, &part.channels);
	else
		npujson_set(&entry, "region", region_json(&tile->region));
	return entry;
}

json_t *npuplan_json_accesses(const struct npuplan_graph *graph, uint32_t step, uint32_t mode)
{
	const struct npuplan_step *s = &graph->steps[step];
	const struct npumem_access *access = &graph->accesses[s->first_access];
	json_t *list = json_array();

	for (uint32_t i = 0; i < s->access_count; i++)
		if (access[i].mode & mode)
			npujson_append(&list, tile_json(graph, &graph->tiles[access[i].tile]));
	return list;
}

static json_t *position_json(const struct npuplan_graph *graph,
			     const struct npumem_position *position)
{
	uint32_t index = position->index;
	json_t *entry = json_object();

	if (position->kind != NPUMEM_POSITION_STEP) {
		npujson_set_int(&entry, npuplan_transfer_names[position->kind],
				graph->tensors[index].id);
		npujson_set_int(
			&entry, "placement",
			position->placement == NPUMEM_NONE ? -1 : (json_int_t)position->placement);
		npujson_set_int(&entry, "first", position->first);
		npujson_set_int(&entry, "length", position->length);
		npujson_set_int(&entry, "host_offset", position->host_offset);
		return entry;
	}
	if (graph->steps[index].op >= graph->op_count) {
		npujson_set_int(&entry, "step", index);
		return entry;
	}
	npujson_set_int(&entry, "op", graph->ops[graph->steps[index].op].id);
	/* What is left of a concat that is joined may be several steps of a whole operator. */
	if (graph->tiling.bands != 1 || graph->tiling.op_count || graph->tiling.patch_count ||
	    graph->steps[index].tile_index) {
		npujson_set_int(&entry, "tile", graph->steps[index].tile_index);
		npujson_set(&entry, "reads",
			    npuplan_json_accesses(graph, index, NPUMEM_ACCESS_READ));
		npujson_set(&entry, "writes",
			    npuplan_json_accesses(graph, index, NPUMEM_ACCESS_WRITE));
	}
	return entry;
}

/* The part of a placement that a whole tensor at one offset does without. */
static void add_piece(const struct npuplan_graph *graph, const struct npumem_placement *placement,
		      json_t **entry)
{
	struct npuplan_spatial spatial;
	struct npuplan_piece piece;

	if (is_whole(&placement->region, &graph->tensors[placement->tensor]) && !placement->ring)
		return;
	if (npuplan_spatial(graph, placement->tensor, &spatial) &&
	    npuplan_piece_get(&spatial, placement, &piece)) {
		add_part(entry, &spatial, &piece.rows, &piece.channels);
		npujson_set_if(entry, "row_stride", piece.row_stride);
	} else {
		npujson_set(entry, "region", region_json(&placement->region));
		npujson_set(entry, "stride", strides_json(placement->stride));
	}
	npujson_set_if(entry, "ring", placement->ring);
}

/* Whether the plan is more than one straight run. */
static bool has_flow(const struct npuplan_plan *plan)
{
	return plan->block_count > 1 || plan->edge_count || plan->entry_count;
}

static json_t *placement_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			      const struct npumem_placement *placement)
{
	json_t *entry = json_object();

	npujson_set_int(&entry, "tensor", graph->tensors[placement->tensor].id);
	npujson_set_int(&entry, "offset", placement->offset);
	npujson_set_int(&entry, "from", placement->from);
	npujson_set_int(&entry, "to", placement->to);
	if (has_flow(plan))
		npujson_set_int(&entry, "block", placement->block);
	add_piece(graph, placement, &entry);
	return entry;
}

/* The choices one a line, within the object. */
static void put_tiling(struct npujson_text *text, const struct npuplan_graph *graph)
{
	const struct npuplan_tiling *tiling = &graph->tiling;
	json_t *object;
	char *fields;

	if (!plan_json_has_tiling(tiling))
		return;
	object = plan_json_tiling(tiling);
	if (tiling->patch_count)
		npujson_set(&object, "patches", plan_json_patches(graph, tiling));
	if (!tiling->op_count) {
		npujson_put(text, ",\n\"tiling\": ", object);
		return;
	}
	fields = object ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	if (!fields) {
		text->err = -ENOMEM;
		return;
	}
	/* Without its closing brace. */
	fprintf(text->out, ",\n\"tiling\": %.*s,\"ops\":[", (int)strlen(fields) - 1, fields);
	free(fields);
	for (uint32_t i = 0; i < tiling->op_count; i++)
		npujson_put_line(text, i, plan_json_choice(graph, &tiling->ops[i]));
	fputs("\n]}", text->out);
}

static json_t *traffic_json(const struct npuplan_plan *plan)
{
	json_t *object = json_object();

	npujson_set_int(&object, "spill", plan->info.spill_bytes);
	npujson_set_int(&object, "fill", plan->info.fill_bytes);
	npujson_set_int(&object, "compulsory", plan->info.load_bytes);
	npujson_set_int(&object, "lower_bound", plan->cosma ? plan->cosma->traffic_bound : 0);
	return object;
}

static json_t *banks_json(const struct npuplan_bank banks[NPUPLAN_BANKS])
{
	json_t *list = json_array();

	for (int b = 0; b < NPUPLAN_BANKS; b++) {
		json_t *bank = json_object();

		npujson_set_int(&bank, "size", banks[b].size);
		npujson_set_int(&bank, "bandwidth", banks[b].bandwidth);
		npujson_append(&list, bank);
	}
	return list;
}

static json_t *cores_json(const struct npuplan_cosma_result *found)
{
	json_t *list = json_array();

	for (uint32_t c = 0; c < found->core_count; c++) {
		json_t *core = json_object();

		npujson_set(&core, "name", json_string(found->cores[c].core.name));
		npujson_set_int(&core, "size", found->cores[c].core.size);
		npujson_append(&list, core);
	}
	return list;
}

static json_t *external_json(const struct npuplan_graph *graph)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
			npujson_append(&list, json_integer(graph->tensors[i].id));
	return list;
}

static int write_text(const struct npuplan_graph *graph, const struct npuplan_plan *plan, FILE *out)
{
	const struct npumem_plan_info *info = &plan->info;
	struct npujson_text text = { .out = out };

	npujson_put(&text, "{\n\"graph\": ", json_string(graph->name));
	npujson_put(&text, ",\n\"digest\": ", json_string(npuplan_digest_text(graph).s));
	npujson_put(&text, ",\n\"planner\": ", json_string(info->planner));
	npujson_put(&text, ",\n\"status\": ", json_string(npuplan_status_names[info->status]));
	npujson_put(&text, ",\n\"arena\": ", json_integer(info->arena_size));
	npujson_put(&text, ",\n\"alignment\": ", json_integer(info->alignment));
	npujson_put(&text, ",\n\"lower_bound\": ", json_integer(info->lower_bound));
	npujson_put(&text, ",\n\"traffic\": ", traffic_json(plan));
	npujson_put(&text, ",\n\"work\": ", json_integer(info->work));
	if (info->host_size)
		npujson_put(&text, ",\n\"host\": ", json_integer(info->host_size));
	put_tiling(&text, graph);
	if (plan->cosma && plan->cosma->banks[0].size)
		npujson_put(&text, ",\n\"banks\": ", banks_json(plan->cosma->banks));
	if (plan->cosma && plan->cosma->core_count)
		npujson_put(&text, ",\n\"cores\": ", cores_json(plan->cosma));
	fputs(",\n\"schedule\": [", out);
	for (uint32_t i = 0; i < plan->position_count && !text.err; i++)
		npujson_put_line(&text, i, position_json(graph, &plan->positions[i]));
	fputs("\n],\n\"placements\": [", out);
	for (uint32_t i = 0; i < plan->placement_count && !text.err; i++)
		npujson_put_line(&text, i, placement_json(graph, plan, &plan->placements[i]));
	npujson_put(&text, "\n],\n\"external\": ", external_json(graph));
	if (has_flow(plan))
		plan_json_put_flow(&text, graph, plan);
	fputs("\n}\n", out);
	return text.err;
}

/* A plan that was read may be of any graph, or of none. */
static int check_fit(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		     struct npuplan_error *error)
{
	if (plan->info.status > NPUMEM_PLAN_STATUS_INFEASIBLE)
		return npuplan_fail(error, -EINVAL, "status: %u is none", plan->info.status);
	for (uint32_t i = 0; i < plan->position_count; i++) {
		const struct npumem_position *position = &plan->positions[i];
		bool step = position->kind == NPUMEM_POSITION_STEP;

		if (position->kind > NPUMEM_POSITION_STORE ||
		    position->index >= (step ? graph->step_count : graph->tensor_count))
			return npuplan_fail(error, -EINVAL, "schedule[%u] does not fit graph %s", i,
					    graph->name);
	}
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (plan->placements[i].tensor >= graph->tensor_count)
			return npuplan_fail(error, -EINVAL, "placements[%u] does not fit graph %s",
					    i, graph->name);
	return plan_json_check_flow(graph, plan, error);
}

int npuplan_plan_to_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			 char **text, struct npuplan_error *error)
{
	struct npuplan_ids ids;
	char *buffer = NULL;
	size_t size;
	FILE *out;
	int err;

	err = check_fit(graph, plan, error);
	/* Ids that are not unique would make a file that nobody can read. */
	if (!err)
		err = npuplan_ids_init(&ids, graph, error);
	if (err)
		return err;
	npuplan_ids_fini(&ids);

	out = open_memstream(&buffer, &size);
	if (!out)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	err = write_text(graph, plan, out);
	if (fclose(out) || err) {
		free(buffer);
		/* The one thing that fails but memory: a name that is not UTF-8. */
		return npuplan_fail(
			error, -ENOMEM,
			"cannot write plan JSON: out of memory, or the graph's name is not UTF-8");
	}
	*text = buffer;
	return 0;
}
