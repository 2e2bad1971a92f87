/* SPDX-License-Identifier: MIT */
#include "transfers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../chunks/chunks.h"

static __attribute__((format(printf, 2, 3))) int refuse(struct npuplan_error *error,
							const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -EINVAL;
}

static void add_position(struct traffic *t, const struct npumem_position *p)
{
	switch (p->kind) {
	case NPUMEM_POSITION_LOAD:
		t->load += p->length;
		break;
	case NPUMEM_POSITION_SPILL:
		t->spill += p->length;
		break;
	case NPUMEM_POSITION_STORE:
		t->store += p->length;
		break;
	case NPUMEM_POSITION_FILL:
		t->fill += p->length;
		break;
	default:
		break;
	}
}

struct traffic transfers_traffic(const struct npuplan_plan *plan, const struct path *path)
{
	struct traffic t = { 0 };

	for (uint32_t i = 0; i < path->count; i++) {
		const struct npumem_plan_block *block = &plan->blocks[path->visits[i].instance];

		for (uint32_t k = 0; k < block->position_count; k++)
			add_position(&t, &plan->positions[block->first_position + k]);
	}
	return t;
}

int transfers_check(const struct npuplan_plan *plan, const struct path *path,
		    const struct traffic *moved, struct npuplan_error *error)
{
	const struct npumem_plan_info *info = &plan->info;
	struct traffic t = transfers_traffic(plan, path);
	uint64_t others = moved->load + moved->spill + moved->store;

	if (t.load != moved->load || t.spill != moved->spill || t.store != moved->store ||
	    t.fill != moved->fill)
		return refuse(error,
			      "the driver moved %" PRIu64 " bytes by loads, %" PRIu64
			      " by spills, %" PRIu64 " by stores and %" PRIu64
			      " by fills; the plan's schedule has %" PRIu64 ", %" PRIu64
			      ", %" PRIu64 " and %" PRIu64,
			      moved->load, moved->spill, moved->store, moved->fill, t.load, t.spill,
			      t.store, t.fill);
	/* What a plan with edges claims is of its instances, each once. */
	if (plan->edge_count)
		return 0;
	if (info->fill_bytes != moved->fill || info->spill_bytes + info->load_bytes != others)
		return refuse(error,
			      "the driver moved %" PRIu64 " bytes by fills and %" PRIu64
			      " by all else; the plan's traffic is %" PRIu64 " and %" PRIu64,
			      moved->fill, others, (uint64_t)info->fill_bytes,
			      (uint64_t)(info->spill_bytes + info->load_bytes));
	return 0;
}

static bool within(const struct npuplan_graph *graph, const struct npumem_position *p,
		   uint64_t host_size)
{
	uint64_t size = p->index < graph->tensor_count ? graph->tensors[p->index].size : 0;

	return p->first <= size && p->length <= size - p->first && p->host_offset <= host_size &&
	       p->length <= host_size - p->host_offset;
}

int transfers_put(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		  uint8_t *const *bytes, uint8_t *host, uint64_t host_size)
{
	for (uint32_t i = 0; i < plan->position_count; i++) {
		const struct npumem_position *p = &plan->positions[i];

		if (p->kind != NPUMEM_POSITION_LOAD)
			continue;
		if (!within(graph, p, host_size) || !bytes[p->index])
			return -EINVAL;
		memcpy(host + p->host_offset, bytes[p->index] + p->first, p->length);
	}
	return 0;
}

/* A step writes bytes of a tensor, under any name: copies of them are out of date. */
static void forget_written(const struct npuplan_graph *graph, uint32_t step, uint32_t tensor,
			   bool *valid)
{
	const struct npuplan_step *s = &graph->steps[step];

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		const struct npumem_tile *tile = &graph->tiles[graph->accesses[a].tile];
		const struct npuplan_tensor *t = &graph->tensors[tile->tensor];
		struct chunks walk = chunks_of_region(&tile->region);
		bool alias = t->flags & NPUMEM_TENSOR_FLAG_ALIAS;

		if (graph->accesses[a].mode == NPUMEM_ACCESS_READ ||
		    (alias ? t->alias_of : tile->tensor) != tensor)
			continue;
		while (chunks_next(&walk))
			memset(valid + (alias ? t->alias_offset : 0) + walk.byte, false,
			       tile->region.length);
	}
}

int transfers_get(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		  uint32_t tensor, uint8_t *bytes, const uint8_t *host, uint64_t host_size)
{
	uint64_t size = graph->tensors[tensor].size;
	uint8_t *copy;
	bool *valid;
	int err;

	/* A block's copies are gone at its end. */
	if (plan->edge_count)
		return 0;
	valid = calloc(size, sizeof(*valid));
	copy = malloc(size);
	err = valid && copy ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < plan->position_count; i++) {
		const struct npumem_position *p = &plan->positions[i];

		if (p->kind == NPUMEM_POSITION_STEP) {
			forget_written(graph, p->index, tensor, valid);
		} else if (p->index == tensor &&
			   (p->kind == NPUMEM_POSITION_SPILL || p->kind == NPUMEM_POSITION_STORE)) {
			if (!within(graph, p, host_size)) {
				err = -EINVAL;
				break;
			}
			memcpy(copy + p->first, host + p->host_offset, p->length);
			memset(valid + p->first, true, p->length);
		}
	}
	for (uint64_t i = 0; !err && i < size; i++)
		if (valid[i])
			bytes[i] = copy[i];
	free(valid);
	free(copy);
	return err;
}
