// SPDX-License-Identifier: MIT
/*
 * Plan JSON, written: the fields one a line, and one line for each entry of the
 * schedule and each placement, so that plans can be compared with diff.
 */
#include <stdlib.h>
#include <string.h>

#include "output/piece.h"
#include "graph/shape.h"
#include "plan_json.h"

const char *const npuplan_status_names[] = { "unknown", "feasible", "optimal", "infeasible", NULL };
const char *const npuplan_transfer_names[NPUMEM_POSITION_STORE + 1] = { NULL,	"load", "spill",
									"fill", "drop", "store" };

#define TEXT_FLAGS (JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY)

/* One value on the file's line; takes the reference. */
static int put(FILE *out, json_t *value)
{
	int err = value ? json_dumpf(value, out, TEXT_FLAGS) : -1;

	json_decref(value);
	return err ? -ENOMEM : 0;
}

/* Text of a value, malloc'ed; takes the reference. */
static char *json_dumps_owned(json_t *value)
{
	char *text = value ? json_dumps(value, TEXT_FLAGS) : NULL;

	json_decref(value);
	return text;
}

static int put_field(FILE *out, const char *name, json_t *value)
{
	fprintf(out, ",\n\"%s\": ", name);
	return put(out, value);
}

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

/* Strides of a region or placement. */
static json_t *strides_json(const __u64 strides[NPUMEM_REGION_DIMS])
{
	return json_pack("[III]", (json_int_t)strides[0], (json_int_t)strides[1],
			 (json_int_t)strides[2]);
}

static json_t *region_json(const struct npumem_region *region)
{
	return json_pack("{sIsIs[III]so}", "offset", (json_int_t)region->offset, "length",
			 (json_int_t)region->length, "count", (json_int_t)region->count[0],
			 (json_int_t)region->count[1], (json_int_t)region->count[2], "stride",
			 strides_json(region->stride));
}

static json_t *rows_json(const struct npuplan_rows *rows)
{
	return json_pack("[II]", (json_int_t)rows->first, (json_int_t)rows->count);
}

/* "rows", and "channels" where they are not all that the tensor has. */
static void add_part(json_t *object, const struct npuplan_spatial *spatial,
		     const struct npuplan_rows *rows, const struct npuplan_rows *channels)
{
	json_object_set_new(object, "rows", rows_json(rows));
	if (channels->count != spatial->channels)
		json_object_set_new(object, "channels", rows_json(channels));
}

json_t *npuplan_json_accesses(const struct npuplan_graph *graph, uint32_t step, uint32_t mode)
{
	const struct npuplan_step *s = &graph->steps[step];
	json_t *list = json_array();

	for (uint32_t i = s->first_access; i < s->first_access + s->access_count; i++) {
		const struct npumem_tile *tile = &graph->tiles[graph->accesses[i].tile];
		const struct npuplan_tensor *tensor = &graph->tensors[tile->tensor];
		struct npuplan_spatial spatial;
		struct npuplan_part part;
		json_t *entry;

		if (!(graph->accesses[i].mode & mode))
			continue;
		entry = json_pack("{sI}", "tensor", (json_int_t)tensor->id);
		if (!tile->region.offset && tile->region.length == tensor->size) {
			json_array_append_new(list, entry);
			continue;
		}
		if (npuplan_spatial(graph, tile->tensor, &spatial) &&
		    npuplan_region_part(&spatial, &tile->region, &part))
			add_part(entry, &spatial, &part.rows, &part.channels);
		else
			json_object_set_new(entry, "region", region_json(&tile->region));
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *position_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			     const struct npumem_position *position)
{
	const struct npuplan_step *step;
	json_t *entry;

	if (position->kind != NPUMEM_POSITION_STEP)
		return json_pack("{sIsIsIsIsI}", npuplan_transfer_names[position->kind],
				 (json_int_t)graph->tensors[position->index].id, "placement",
				 position->placement == NPUMEM_NONE ?
					 (json_int_t)-1 :
					 (json_int_t)position->placement,
				 "first", (json_int_t)position->first, "length",
				 (json_int_t)position->length, "host_offset",
				 (json_int_t)position->host_offset);
	step = &graph->steps[position->index];
	if (step->op >= graph->op_count)
		return json_pack("{sI}", "step", (json_int_t)position->index);
	entry = json_pack("{sI}", "op", (json_int_t)graph->ops[step->op].id);
	if (graph->tiling.bands != 1 || graph->tiling.op_count) {
		json_object_set_new(entry, "tile", json_integer(step->tile_index));
		json_object_set_new(entry, "reads",
				    npuplan_json_accesses(graph, position->index,
							  NPUMEM_ACCESS_READ));
		json_object_set_new(entry, "writes",
				    npuplan_json_accesses(graph, position->index,
							  NPUMEM_ACCESS_WRITE));
	}
	return entry;
}

/* The part of a placement that a whole tensor at one offset does without. */
static void add_piece(const struct npuplan_graph *graph, const struct npumem_placement *placement,
		      json_t *entry)
{
	const struct npumem_region *region = &placement->region;
	struct npuplan_spatial spatial;
	struct npuplan_piece piece;

	if (!region->offset && region->length == graph->tensors[placement->tensor].size &&
	    !placement->ring)
		return;
	if (npuplan_spatial(graph, placement->tensor, &spatial) &&
	    npuplan_piece_get(&spatial, placement, &piece)) {
		add_part(entry, &spatial, &piece.rows, &piece.channels);
		if (piece.row_stride)
			json_object_set_new(entry, "row_stride", json_integer(piece.row_stride));
	} else {
		json_object_set_new(entry, "region", region_json(region));
		json_object_set_new(entry, "stride", strides_json(placement->stride));
	}
	if (placement->ring)
		json_object_set_new(entry, "ring", json_integer(placement->ring));
}

/* Whether the plan is more than one straight run. */
static bool has_flow(const struct npuplan_plan *plan)
{
	return plan->block_count > 1 || plan->edge_count || plan->entry_count;
}

static json_t *placement_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			      const struct npumem_placement *placement)
{
	json_t *entry = json_pack("{sIsIsIsI}", "tensor",
				  (json_int_t)graph->tensors[placement->tensor].id, "offset",
				  (json_int_t)placement->offset, "from",
				  (json_int_t)placement->from, "to", (json_int_t)placement->to);

	if (entry && has_flow(plan))
		json_object_set_new(entry, "block", json_integer(placement->block));
	if (entry)
		add_piece(graph, placement, entry);
	return entry;
}

/* The choices one a line, within the object. */
static int put_tiling(FILE *out, const struct npuplan_graph *graph)
{
	const struct npuplan_tiling *tiling = &graph->tiling;
	char *text;
	int err = 0;

	if (!tiling->bands && !tiling->rows && !tiling->onchip)
		return 0;
	if (!tiling->op_count)
		return put_field(out, "tiling", plan_json_tiling(tiling));
	text = json_dumps_owned(plan_json_tiling(tiling));
	if (!text)
		return -ENOMEM;
	/* Without its closing brace. */
	fprintf(out, ",\n\"tiling\": %.*s,\"ops\":[", (int)strlen(text) - 1, text);
	free(text);
	for (uint32_t i = 0; i < tiling->op_count && !err; i++) {
		fputs(i ? ",\n" : "\n", out);
		err = put(out, plan_json_choice(graph, &tiling->ops[i]));
	}
	fputs("\n]}", out);
	return err;
}

static json_t *banks_json(const struct npuplan_plan *plan)
{
	json_t *list = json_array();

	for (int b = 0; b < NPUPLAN_BANKS; b++)
		json_array_append_new(list,
				      json_pack("{sIsI}", "size", (json_int_t)plan->banks[b].size,
						"bandwidth", (json_int_t)plan->banks[b].bandwidth));
	return list;
}

static int write_text(const struct npuplan_graph *graph, const struct npuplan_plan *plan, FILE *out)
{
	const struct npumem_plan_info *info = &plan->info;
	json_t *external = json_array();
	int err = 0;

	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].flags & NPUMEM_TENSOR_EXTERNAL)
			json_array_append_new(external, json_integer(graph->tensors[i].id));

	fputs("{\n\"graph\": ", out);
#define PUT(EXPRESSION) (err = (EXPRESSION) ? -ENOMEM : err)
	PUT(put(out, json_string(graph->name)));
	PUT(put_field(out, "digest", json_string(npuplan_digest_text(graph).s)));
	PUT(put_field(out, "planner", json_string(info->planner)));
	PUT(put_field(out, "status", json_string(npuplan_status_names[info->status])));
	PUT(put_field(out, "arena", json_integer(info->arena_size)));
	PUT(put_field(out, "alignment", json_integer(info->alignment)));
	PUT(put_field(out, "lower_bound", json_integer(info->lower_bound)));
	PUT(put_field(out, "traffic",
		      json_pack("{sIsIsIsI}", "spill", (json_int_t)info->spill_bytes, "fill",
				(json_int_t)info->fill_bytes, "compulsory",
				(json_int_t)info->load_bytes, "lower_bound",
				(json_int_t)plan->traffic_bound)));
	PUT(put_field(out, "work", json_integer(info->work)));
	if (info->host_size)
		PUT(put_field(out, "host", json_integer(info->host_size)));
	PUT(put_tiling(out, graph));
	if (plan->banks[0].size)
		PUT(put_field(out, "banks", banks_json(plan)));
	fputs(",\n\"schedule\": [", out);
	for (uint32_t i = 0; i < plan->position_count && !err; i++) {
		fputs(i ? ",\n" : "\n", out);
		PUT(put(out, position_json(graph, plan, &plan->positions[i])));
	}
	fputs("\n],\n\"placements\": [", out);
	for (uint32_t i = 0; i < plan->placement_count && !err; i++) {
		fputs(i ? ",\n" : "\n", out);
		PUT(put(out, placement_json(graph, plan, &plan->placements[i])));
	}
	fputs("\n]", out);
	PUT(put_field(out, "external", external));
	if (has_flow(plan)) {
		fputs(",\n\"blocks\": [", out);
		for (uint32_t i = 0, edge = 0; i < plan->block_count && !err; i++) {
			fputs(i ? ",\n" : "\n", out);
			PUT(put(out, plan_json_block(graph, plan, i, &edge)));
		}
		fputs("\n],\n\"views\": [", out);
		for (uint32_t i = 0; i < plan->view_count && !err; i++) {
			fputs(i ? ",\n" : "\n", out);
			PUT(put(out, plan_json_view(graph, plan, &plan->views[i])));
		}
		fputs("\n]", out);
	}
#undef PUT
	fputs("\n}\n", out);
	return err;
}

/* A plan that was read may be of any graph, or of none. */
static int check_fit(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		     struct npuplan_error *error)
{
	if (plan->info.status > NPUMEM_PLAN_INFEASIBLE)
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
	if (err)
		return err;
	/* Ids that are not unique would make a file that nobody can read. */
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
			error, err ? err : -ENOMEM,
			"cannot write plan JSON: out of memory, or the graph's name is not UTF-8");
	}
	*text = buffer;
	return 0;
}
