// SPDX-License-Identifier: MIT
#include "plan_json.h"

#include <stdlib.h>
#include <string.h>

const char *const npuplan_status_names[4] = { "unknown", "feasible", "optimal", "infeasible" };
const char *const npuplan_transfer_names[NPUMEM_POSITION_STORE + 1] = { NULL,	"load", "spill",
									"fill", "drop", "store" };

int npuplan_ids_init(struct npuplan_ids *ids, const struct npuplan_graph *graph,
		     struct npuplan_error *error)
{
	const struct npujson_id *twice;
	const char *what = "tensors";

	*ids = (struct npuplan_ids){ 0 };
	ids->tensors = malloc((size_t)graph->tensor_count * sizeof(*ids->tensors) + 1);
	ids->steps = malloc((size_t)graph->step_count * sizeof(*ids->steps) + 1);
	if (!ids->tensors || !ids->steps) {
		npuplan_ids_fini(ids);
		return npuplan_fail(error, -ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		ids->tensors[ids->tensor_count++] =
			(struct npujson_id){ .id = graph->tensors[i].id, .index = i };
	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct npuplan_step *step = &graph->steps[i];

		if (step->op < graph->op_count)
			ids->steps[ids->step_count++] = (struct npujson_id){
				.id = graph->ops[step->op].id,
				.tile = step->tile_index,
				.index = i,
			};
	}
	twice = npujson_sort_ids(ids->tensors, ids->tensor_count);
	if (!twice) {
		what = "operators";
		twice = npujson_sort_ids(ids->steps, ids->step_count);
	}
	if (twice) {
		npuplan_fail(error, -EINVAL, "graph %s: two %s have id %lld", graph->name, what,
			     (long long)twice->id);
		npuplan_ids_fini(ids);
		return -EINVAL;
	}
	return 0;
}

void npuplan_ids_fini(struct npuplan_ids *ids)
{
	free(ids->tensors);
	free(ids->steps);
	*ids = (struct npuplan_ids){ 0 };
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

json_t *npuplan_json_strides(const __u64 strides[NPUMEM_REGION_DIMS])
{
	return json_pack("[III]", (json_int_t)strides[0], (json_int_t)strides[1],
			 (json_int_t)strides[2]);
}

json_t *npuplan_json_region(const struct npumem_region *region)
{
	return json_pack("{sIsIs[III]so}", "offset", (json_int_t)region->offset, "length",
			 (json_int_t)region->length, "count", (json_int_t)region->count[0],
			 (json_int_t)region->count[1], (json_int_t)region->count[2], "stride",
			 npuplan_json_strides(region->stride));
}

static json_t *rows_json(const struct npuplan_rows *rows)
{
	return json_pack("[II]", (json_int_t)rows->first, (json_int_t)rows->count);
}

void npuplan_json_part(json_t *object, const struct npuplan_spatial *spatial,
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
			npuplan_json_part(entry, &spatial, &part.rows, &part.channels);
		else
			json_object_set_new(entry, "region", npuplan_json_region(&tile->region));
		json_array_append_new(list, entry);
	}
	return list;
}
