// SPDX-License-Identifier: MIT
/* This file reads a solution of the integer program as a schedule with addresses. */
#include <stdlib.h>

#include "base/sorted.h"
#include "encode.h"

static bool is_set(const double *value, uint32_t column)
{
	return column != ILP_NONE && value[column] > 0.5;
}

/* Returns the timestep at which a tensor is created. */
static uint32_t created_at(const struct ilp_encoding *encoding, const double *value, uint32_t a)
{
	uint32_t t = encoding->tensor[a].first;

	while (t < encoding->tensor[a].created && !is_set(value, ilp_at(encoding, a, t)->c))
		t++;
	return t;
}

void ilp_read_schedule(const struct ilp_encoding *encoding, const double *value,
		       struct cosma_schedule *schedule)
{
	const struct cosma_model *model = encoding->model;

	for (uint32_t v = 0; v < model->op_count; v++)
		schedule->order[created_at(encoding, value, encoding->op[v].output) - 1] = v;
	cosma_schedule_order(schedule);
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		uint32_t t = created_at(encoding, value, x) + 1, use;
		/* A tensor that is loaded for its first use does not return for it. */
		bool loaded = model->producer[x] != NPUMEM_NONE || (model->flags[x] & COSMA_ENTRY);

		cosma_for_each(k, model->consumers, x) {
			use = schedule->position[schedule->uses[k]] + 1;
			for (; t <= use; t++)
				if (loaded && is_set(value, ilp_at(encoding, x, t)->r))
					schedule->away[k] = true;
			loaded = true;
		}
	}
}

/* struct solved_stay - a stay on its way to an address
 * @value: address in the solution, granules
 * @size, @align: bytes
 * @head: the first of the stays that lie there because each takes the bytes of the one before it
 * @stay: its number
 */
struct solved_stay {
	double value;
	uint64_t size;
	uint64_t align;
	uint32_t head;
	uint32_t stay;
};

NPUPLAN_ORDER(by_address, struct solved_stay, value, head, stay)

static struct solved_stay read_stay(const struct ilp_encoding *encoding, const double *value,
				    const struct cosma_stays *stays, uint32_t i)
{
	const struct cosma_stay *stay = &stays->stay[i];
	const struct ilp_tensor *tensor;
	uint32_t a = stay->tensor;

	/* A parameter that one operator uses has a number behind the model's tensors. */
	for (uint32_t b = encoding->model->tensor_count;
	     stay->parameter && b < encoding->tensor_count; b++)
		if (encoding->tensor[b].graph == stay->tensor)
			a = b;
	tensor = &encoding->tensor[a];
	return (struct solved_stay){
		.value = value[ilp_at(encoding, a, stay->to)->l] * (double)tensor->pitch,
		.size = (uint64_t)(tensor->size * encoding->granule),
		.align = (uint64_t)(tensor->pitch * encoding->granule),
		.stay = i,
	};
}

/* Returns the stay whose bytes stay @i takes in the solution; @i itself if it takes none. */
static uint32_t taken_by(const struct ilp_encoding *encoding, const double *value,
			 const struct cosma_stays *stays, uint32_t i)
{
	const struct cosma_stay *stay = &stays->stay[i];
	uint32_t b = stay->tensor, a;

	if (stay->parameter || !stay->made)
		return i;
	a = encoding->tensor[b].source;
	if (a == NPUMEM_NONE || !is_set(value, ilp_at(encoding, b, stay->from)->t))
		return i;
	for (uint32_t k = 0; k < stays->count; k++)
		if (!stays->stay[k].parameter && stays->stay[k].tensor == a &&
		    stays->stay[k].to == stay->from)
			return k;
	return i;
}

/*
 * Returns the end of the highest of the first @count stays that are on chip together with a stay.
 */
static uint64_t end_below(const struct solved_stay *solved, uint32_t count,
			  const struct cosma_stays *stays, const struct cosma_stay *stay)
{
	uint64_t end = 0;

	for (uint32_t j = 0; j < count; j++) {
		const struct cosma_stay *below = &stays->stay[solved[j].stay];
		uint64_t top = below->offset + solved[j].size;

		if (below->from <= stay->to && stay->from <= below->to && top > end)
			end = top;
	}
	return end;
}

/*
 * Gives one address to stays solved[first..end), which take each other's bytes; returns their end.
 */
static uint64_t place_merged(const struct solved_stay *solved, uint32_t first, uint32_t end,
			     struct cosma_stays *stays)
{
	uint64_t align = 1, offset = 0;

	for (uint32_t i = first; i < end; i++) {
		uint64_t below = end_below(solved, first, stays, &stays->stay[solved[i].stay]);

		offset = below > offset ? below : offset;
		align = solved[i].align > align ? solved[i].align : align;
	}
	offset = (offset + align - 1) / align * align;
	for (uint32_t i = first; i < end; i++)
		stays->stay[solved[i].stay].offset = offset;
	return offset + solved[first].size;
}

/*
 * The solver's addresses are right to within its tolerance. What counts is their order: each stay
 * begins where the highest of those below it ends, so that nothing moves up.
 */
int ilp_read_addresses(const struct ilp_encoding *encoding, const double *value,
		       struct cosma_stays *stays)
{
	size_t count = (size_t)stays->count + 1;
	AUTO_HEAP struct solved_stay *solved = npuplan_malloc(count * sizeof(*solved));
	AUTO_HEAP uint32_t *takes = npuplan_malloc(count * sizeof(*takes));
	int err = solved && takes ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < stays->count && !err; i++)
		takes[i] = taken_by(encoding, value, stays, i);
	for (uint32_t i = 0; i < stays->count && !err; i++) {
		uint32_t head = i;

		while (takes[head] != head)
			head = takes[head];
		solved[i] = read_stay(encoding, value, stays, i);
		solved[i].value = read_stay(encoding, value, stays, head).value;
		solved[i].head = head;
	}
	if (!err)
		qsort(solved, stays->count, sizeof(*solved), by_address);
	for (uint32_t first = 0, end = 0; first < stays->count && !err; first = end) {
		while (end < stays->count && solved[end].head == solved[first].head)
			end++;
		if (place_merged(solved, first, end, stays) >
		    encoding->cosma->options->common.arena_budget)
			err = -EIO;
	}
	return err;
}
