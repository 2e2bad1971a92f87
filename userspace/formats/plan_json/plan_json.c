// SPDX-License-Identifier: MIT
#include "plan_json.h"

#include <stdlib.h>
#include <string.h>

#include "graph/shape.h"

const char *const npuplan_status_names[4] = { "unknown", "feasible", "optimal", "infeasible" };
const char *const npuplan_transfer_names[NPUMEM_POSITION_STORE + 1] = { NULL,	"load", "spill",
									"fill", "drop", "store" };

static int by_id(const void *left, const void *right)
{
	const struct npuplan_id *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->tile < b->tile ? -1 : a->tile > b->tile;
}

int npuplan_ids_init(struct npuplan_ids *ids, const struct npuplan_graph *graph,
		     struct npuplan_error *error)
{
	*ids = (struct npuplan_ids){ 0 };
	ids->tensors = malloc((size_t)graph->tensor_count * sizeof(*ids->tensors) + 1);
	ids->steps = malloc((size_t)graph->step_count * sizeof(*ids->steps) + 1);
	if (!ids->tensors || !ids->steps) {
		npuplan_ids_fini(ids);
		return npuplan_fail(error, -ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		ids->tensors[ids->tensor_count++] =
			(struct npuplan_id){ .id = graph->tensors[i].id, .index = i };
	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct npuplan_step *step = &graph->steps[i];

		if (step->op < graph->op_count)
			ids->steps[ids->step_count++] = (struct npuplan_id){
				.id = graph->ops[step->op].id,
				.tile = step->tile_index,
				.index = i,
			};
	}
	if (ids->tensor_count)
		qsort(ids->tensors, ids->tensor_count, sizeof(*ids->tensors), by_id);
	if (ids->step_count)
		qsort(ids->steps, ids->step_count, sizeof(*ids->steps), by_id);
	for (uint32_t i = 1; i < ids->tensor_count; i++)
		if (!by_id(&ids->tensors[i - 1], &ids->tensors[i])) {
			int64_t id = ids->tensors[i].id;

			npuplan_ids_fini(ids);
			return npuplan_fail(error, -EINVAL, "graph %s: two tensors have id %lld",
					    graph->name, (long long)id);
		}
	for (uint32_t i = 1; i < ids->step_count; i++)
		if (!by_id(&ids->steps[i - 1], &ids->steps[i])) {
			int64_t id = ids->steps[i].id;

			npuplan_ids_fini(ids);
			return npuplan_fail(error, -EINVAL, "graph %s: two operators have id %lld",
					    graph->name, (long long)id);
		}
	return 0;
}

void npuplan_ids_fini(struct npuplan_ids *ids)
{
	free(ids->tensors);
	free(ids->steps);
	*ids = (struct npuplan_ids){ 0 };
}

static uint32_t find(const struct npuplan_id *ids, uint32_t count, int64_t id, uint32_t tile)
{
	struct npuplan_id key = { .id = id, .tile = tile };
	const struct npuplan_id *found = count ? bsearch(&key, ids, count, sizeof(*ids), by_id) :
						 NULL;

	return found ? found->index : NPUMEM_NONE;
}

uint32_t npuplan_ids_tensor(const struct npuplan_ids *ids, int64_t id)
{
	return find(ids->tensors, ids->tensor_count, id, 0);
}

uint32_t npuplan_ids_step(const struct npuplan_ids *ids, int64_t op, uint32_t tile)
{
	return find(ids->steps, ids->step_count, op, tile);
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

json_t *npuplan_json_region(const struct npumem_region *region)
{
	return json_pack("{sIsIs[III]s[III]}", "offset", (json_int_t)region->offset, "length",
			 (json_int_t)region->length, "count", (json_int_t)region->count[0],
			 (json_int_t)region->count[1], (json_int_t)region->count[2], "stride",
			 (json_int_t)region->stride[0], (json_int_t)region->stride[1],
			 (json_int_t)region->stride[2]);
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
		    npuplan_region_part(&spatial, &tile->region, &part)) {
			json_object_set_new(entry, "rows",
					    json_pack("[II]", (json_int_t)part.rows.first,
						      (json_int_t)part.rows.count));
			if (part.channels.count != spatial.channels)
				json_object_set_new(entry, "channels",
						    json_pack("[II]",
							      (json_int_t)part.channels.first,
							      (json_int_t)part.channels.count));
		} else {
			json_object_set_new(entry, "region", npuplan_json_region(&tile->region));
		}
		json_array_append_new(list, entry);
	}
	return list;
}
