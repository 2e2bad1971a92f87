// SPDX-License-Identifier: MIT
#include "lives.h"

#include "base/region.h"

static void live_at(struct npuplan_lives *lives, uint32_t tensor, uint32_t op)
{
	if (lives->born[tensor] == NPUMEM_NONE || lives->born[tensor] > op)
		lives->born[tensor] = op;
	if (lives->dies[tensor] < op)
		lives->dies[tensor] = op;
}

/* An output may take the bytes of an input that is needed no more, so they count once. */
static void end_taken(struct npuplan_lives *lives, const struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < graph->op_count; i++) {
		const struct npuplan_op *op = &graph->ops[i];
		uint32_t taken;

		if (!op->attrs.inplace || !op->input_count)
			continue;
		taken = npuplan_base_of(graph, op->inputs[0]);
		if (graph->tensors[taken].kind == NPUMEM_TENSOR_INTERMEDIATE &&
		    lives->dies[taken] == i && lives->born[taken] < i)
			lives->dies[taken] = i - 1;
	}
}

int npuplan_lives_init(struct npuplan_lives *lives, const struct npuplan_graph *graph,
		       struct npuplan_pool *pool)
{
	uint32_t last = graph->op_count ? graph->op_count - 1 : 0;

	*lives = (struct npuplan_lives){
		.bytes = npuplan_pool_take(pool, graph->op_count, sizeof(*lives->bytes)),
		.born = npuplan_pool_take(pool, graph->tensor_count, sizeof(*lives->born)),
		.dies = npuplan_pool_take(pool, graph->tensor_count, sizeof(*lives->dies)),
		.size = npuplan_pool_take(pool, graph->tensor_count, sizeof(*lives->size)),
		.op_count = graph->op_count,
	};
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		lives->born[t] = NPUMEM_NONE;
	for (uint32_t i = 0; i < graph->op_count; i++) {
		const struct npuplan_op *op = &graph->ops[i];

		for (uint32_t k = 0; k < op->input_count; k++)
			live_at(lives, npuplan_base_of(graph, op->inputs[k]), i);
		for (uint32_t k = 0; k < op->output_count; k++)
			live_at(lives, npuplan_base_of(graph, op->outputs[k]), i);
	}
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];
		uint32_t base = npuplan_base_of(graph, t);

		if (tensor->kind == NPUMEM_TENSOR_INPUT || tensor->kind == NPUMEM_TENSOR_STATE)
			live_at(lives, base, 0);
		if (tensor->kind == NPUMEM_TENSOR_OUTPUT || tensor->kind == NPUMEM_TENSOR_STATE)
			live_at(lives, base, last);
		if (base == t && tensor->kind != NPUMEM_TENSOR_PARAMETER &&
		    !(tensor->flags & NPUMEM_TENSOR_FLAG_EXTERNAL))
			lives->size[t] = tensor->size;
	}
	end_taken(lives, graph);
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		for (uint32_t i = lives->born[t]; i < graph->op_count && i <= lives->dies[t]; i++)
			lives->bytes[i] += lives->size[t];
	lives->limit = npuplan_lives_most(lives);
	return 0;
}

uint64_t npuplan_lives_most(const struct npuplan_lives *lives)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < lives->op_count; i++)
		if (lives->bytes[i] > most)
			most = lives->bytes[i];
	return most;
}

/* Bytes that live at an operator if the tensor lies in the base. */
static uint64_t joined_bytes(const struct npuplan_lives *lives, uint32_t tensor, uint32_t base,
			     uint32_t op)
{
	bool lived = op >= lives->born[tensor] && op <= lives->dies[tensor];
	bool base_lived = op >= lives->born[base] && op <= lives->dies[base];

	return lives->bytes[op] - (lived ? lives->size[tensor] : 0) +
	       (base_lived ? 0 : lives->size[base]);
}

bool npuplan_lives_join(struct npuplan_lives *lives, uint32_t tensor, uint32_t base)
{
	uint32_t born = lives->born[tensor], dies = lives->dies[tensor];

	if (born > lives->born[base])
		born = lives->born[base];
	if (dies < lives->dies[base])
		dies = lives->dies[base];
	for (uint32_t i = born; i <= dies; i++) {
		uint64_t bytes = joined_bytes(lives, tensor, base, i);

		if (bytes > lives->limit && bytes > lives->bytes[i])
			return false;
	}
	for (uint32_t i = born; i <= dies; i++)
		lives->bytes[i] = joined_bytes(lives, tensor, base, i);
	lives->born[base] = born;
	lives->dies[base] = dies;
	return true;
}
