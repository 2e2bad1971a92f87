// SPDX-License-Identifier: MIT
/*
 * The paper's baselines: addresses are those of TFLite's SimpleMemoryArena (best fit among what is
 * placed now), and a policy says which tensors leave if nothing fits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/align.h"
#include "baselines.h"

/*
 * struct allocation - bytes that are placed
 * @tensor: of the model; of a parameter of the operator that runs, the number behind them all
 * @pinned: the operator that runs needs it
 * @kept: it is not the planner's, and stays; it is always pinned
 */
struct allocation {
	uint64_t offset;
	uint64_t size;
	uint32_t tensor;
	bool pinned;
	bool kept;
};

/*
 * struct placed - address at which a stay, or a parameter, begins
 * @tensor: as struct allocation has it
 * @graph: the graph's tensor
 */
struct placed {
	uint32_t tensor;
	uint32_t graph;
	uint64_t offset;
};

/*
 * struct linear - the arena while operators run
 * @allocation: by offset
 * @placed: in the order they begin
 * @next: per tensor, the number of its next use (index of schedule->uses)
 * @host: per tensor: it has a host copy
 * @offset: per tensor, that of its allocation; UINT64_MAX: it is away
 * @reader: per tensor, the last operator that has run, or runs, and reads it
 * @sparing: inputs of the operator that runs leave with it if that makes room
 * @parameter: the tensor that stands for a parameter which one operator uses
 */
struct linear {
	const struct npuplan_graph *graph;
	const struct cosma_model *model;
	struct cosma_schedule *schedule;
	enum npuplan_cosma_policy policy;
	uint64_t budget;
	uint32_t alignment;
	struct allocation *allocation;
	struct placed *placed;
	uint32_t *next;
	bool *host;
	uint64_t *offset;
	uint32_t *reader;
	bool sparing;
	uint32_t allocation_count;
	uint32_t placed_count;
	uint32_t parameter;
};

/*
 * Returns the smallest gap between allocations that holds the bytes, the first of several; behind
 * all allocations if there is none; UINT64_MAX if that is beyond the budget.
 */
static uint64_t best_fit(const struct linear *linear, uint64_t size, uint32_t align)
{
	uint64_t end = 0, best = UINT64_MAX, waste = UINT64_MAX;

	for (uint32_t i = 0; i < linear->allocation_count; i++) {
		uint64_t limit = linear->allocation[i].offset, at = npuplan_align_up(end, align);

		if (limit >= at && limit - at >= size && limit - end - size < waste) {
			best = at;
			waste = limit - end - size;
		}
		end = linear->allocation[i].offset + linear->allocation[i].size;
	}
	if (best == UINT64_MAX && npuplan_align_up(end, align) + size <= linear->budget)
		best = npuplan_align_up(end, align);
	return best;
}

static int put(struct linear *linear, struct allocation allocation)
{
	uint32_t at = linear->allocation_count;
	int err = npuplan_append(&linear->allocation, &linear->allocation_count, &allocation, 1);

	if (err)
		return err;
	while (at && linear->allocation[at - 1].offset > allocation.offset)
		at--;
	memmove(&linear->allocation[at + 1], &linear->allocation[at],
		(linear->allocation_count - 1 - at) * sizeof(*linear->allocation));
	linear->allocation[at] = allocation;
	if (allocation.tensor < linear->parameter)
		linear->offset[allocation.tensor] = allocation.offset;
	return 0;
}

static void take(struct linear *linear, uint32_t at)
{
	uint32_t x = linear->allocation[at].tensor;

	if (x < linear->parameter)
		linear->offset[x] = UINT64_MAX;
	linear->allocation_count--;
	memmove(&linear->allocation[at], &linear->allocation[at + 1],
		(linear->allocation_count - at) * sizeof(*linear->allocation));
}

/* The tensor of allocation @at leaves the chip, and comes back for its next use. */
static void evict(struct linear *linear, uint32_t at)
{
	uint32_t x = linear->allocation[at].tensor;

	linear->schedule->away[linear->next[x]] = true;
	linear->host[x] = true;
	take(linear, at);
}

/* Returns the position of a tensor's next use. */
static uint32_t next_use(const struct linear *linear, uint32_t x)
{
	return linear->schedule->position[linear->schedule->uses[linear->next[x]]];
}

/* Evicts all that overlaps [at, at + size), none of which is pinned. */
static void clear(struct linear *linear, uint64_t at, uint64_t size)
{
	for (uint32_t i = linear->allocation_count; i-- > 0;)
		if (linear->allocation[i].offset < at + size &&
		    linear->allocation[i].offset + linear->allocation[i].size > at)
			evict(linear, i);
}

/* Evicts the tensor that is used furthest in the future (Belady); false if there is none. */
static bool evict_furthest(struct linear *linear)
{
	uint32_t worst = NPUMEM_NONE;

	for (uint32_t i = 0; i < linear->allocation_count; i++)
		if (!linear->allocation[i].pinned &&
		    (worst == NPUMEM_NONE ||
		     next_use(linear, linear->allocation[i].tensor) >
			     next_use(linear, linear->allocation[worst].tensor)))
			worst = i;
	if (worst != NPUMEM_NONE)
		evict(linear, worst);
	return worst != NPUMEM_NONE;
}

/*
 * Returns what leaving and coming back costs a tensor: its bytes, twice without a host copy;
 * nothing of what is pinned, which does not leave, and may be a parameter that has no number of its
 * own.
 */
static uint64_t eviction_price(const struct linear *linear, const struct allocation *allocation)
{
	if (allocation->pinned)
		return 0;
	return linear->host[allocation->tensor] ? allocation->size : 2 * allocation->size;
}

/* Returns what it costs to clear [at, at + size); UINT64_MAX if something pinned is there. */
static uint64_t price_of(const struct linear *linear, uint64_t at, uint64_t size)
{
	uint64_t price = 0;

	for (uint32_t i = 0; i < linear->allocation_count; i++) {
		const struct allocation *allocation = &linear->allocation[i];

		if (allocation->offset >= at + size || allocation->offset + allocation->size <= at)
			continue;
		if (allocation->pinned)
			return UINT64_MAX;
		price += eviction_price(linear, allocation);
	}
	return price;
}

/*
 * struct window - a gap of @size bytes that moves up through the arena
 * @first, @end: allocations that overlap it
 * @price: what it costs to clear, but for what is pinned
 * @pinned: of these allocations
 * @best, @best_at: the least price of a gap so far, and the lowest of these gaps; UINT64_MAX: none
 */
struct window {
	const struct linear *linear;
	uint64_t size;
	uint32_t first;
	uint32_t end;
	uint64_t price;
	uint32_t pinned;
	uint64_t best;
	uint64_t best_at;
};

/* Begins at the bottom once more. */
static void restart(struct window *window)
{
	window->first = window->end = window->pinned = 0;
	window->price = 0;
}

/* Moves the gap up to begin at @at, and keeps it if it is the best one so far. */
static void consider(struct window *window, uint64_t at)
{
	const struct linear *linear = window->linear;
	const struct allocation *allocation = linear->allocation;

	if (at + window->size > linear->budget)
		return;
	for (; window->end < linear->allocation_count &&
	       allocation[window->end].offset < at + window->size;
	     window->end++) {
		window->price += eviction_price(linear, &allocation[window->end]);
		window->pinned += allocation[window->end].pinned;
	}
	for (; window->first < window->end &&
	       allocation[window->first].offset + allocation[window->first].size <= at;
	     window->first++) {
		window->price -= eviction_price(linear, &allocation[window->first]);
		window->pinned -= allocation[window->first].pinned;
	}
	if (window->pinned)
		return;
	if (window->price < window->best ||
	    (window->price == window->best && at < window->best_at)) {
		window->best = window->price;
		window->best_at = at;
	}
}

/*
 * Makes one gap for the least traffic. It may start at the end of an allocation that stays, or
 * end at the start of one.
 */
static bool evict_cheapest(struct linear *linear, uint64_t size, uint32_t align)
{
	struct window window = { .linear = linear, .size = size, .best = UINT64_MAX };

	consider(&window, 0);
	for (uint32_t i = 0; i < linear->allocation_count; i++) {
		const struct allocation *allocation = &linear->allocation[i];

		consider(&window, npuplan_align_up(allocation->offset + allocation->size, align));
	}
	restart(&window);
	for (uint32_t i = 0; i < linear->allocation_count; i++)
		if (linear->allocation[i].offset >= size)
			consider(&window, (linear->allocation[i].offset - size) / align * align);
	if (linear->budget >= size)
		consider(&window, (linear->budget - size) / align * align);
	if (window.best == UINT64_MAX)
		return false;
	clear(linear, window.best_at, size);
	return true;
}

/* Places an allocation of tensor @t of the graph, and notes where its stay begins. */
static int put_stay(struct linear *linear, struct allocation allocation, uint32_t t)
{
	struct placed placed = {
		.tensor = allocation.tensor,
		.graph = t,
		.offset = allocation.offset,
	};
	int err = put(linear, allocation);

	return err ? err : npuplan_append(&linear->placed, &linear->placed_count, &placed, 1);
}

/* Places bytes for the operator that runs. -ENOSPC: pinned allocations are in the way. */
static int place(struct linear *linear, uint32_t number, uint32_t t)
{
	const struct npuplan_tensor *tensor = &linear->graph->tensors[t];
	uint64_t size = tensor->size;
	uint32_t align = tensor->align;
	struct allocation allocation = { .size = size, .tensor = number, .pinned = true };

	align = align > linear->alignment ? align : linear->alignment;
	allocation.offset = best_fit(linear, size, align);
	while (allocation.offset == UINT64_MAX) {
		bool more = linear->policy == NPUPLAN_COSMA_BELADY ?
				    evict_furthest(linear) :
				    evict_cheapest(linear, size, align);

		if (!more)
			return -ENOSPC;
		allocation.offset = best_fit(linear, size, align);
	}
	return put_stay(linear, allocation, t);
}

/*
 * Places a tensor's bytes for the operator that runs: where they are fixed, from which others go,
 * or anywhere. @number: that stands for it
 */
static int place_tensor(struct linear *linear, uint32_t number, uint32_t t)
{
	const struct npuplan_tensor *tensor = &linear->graph->tensors[t];
	struct allocation fixed = {
		.offset = tensor->fixed_offset,
		.size = tensor->size,
		.tensor = number,
		.pinned = true,
	};

	if (!(tensor->flags & NPUMEM_TENSOR_FLAG_FIXED))
		return place(linear, number, t);
	if (fixed.offset + fixed.size > linear->budget ||
	    price_of(linear, fixed.offset, fixed.size) == UINT64_MAX)
		return -ENOSPC;
	clear(linear, fixed.offset, fixed.size);
	return put_stay(linear, fixed, t);
}

/* Returns the graph's tensor that is tensor @x of the model. */
static const struct npuplan_tensor *tensor_of(const struct linear *linear, uint32_t x)
{
	return &linear->graph->tensors[linear->model->tensor_of[x]];
}

static bool is_fixed(const struct linear *linear, uint32_t x)
{
	return tensor_of(linear, x)->flags & NPUMEM_TENSOR_FLAG_FIXED;
}

/* Whether the operator that runs reads the tensor. */
static bool reads(const struct linear *linear, uint32_t v, uint32_t x)
{
	return linear->reader[x] == v;
}

/* Where a tensor's allocation is among all; NPUMEM_NONE: it is away. */
static uint32_t find(const struct linear *linear, uint32_t x)
{
	uint32_t at = 0, end = linear->allocation_count;

	if (linear->offset[x] == UINT64_MAX)
		return NPUMEM_NONE;
	while (at < end) {
		uint32_t middle = at + (end - at) / 2;

		if (linear->allocation[middle].offset < linear->offset[x])
			at = middle + 1;
		else
			end = middle;
	}
	/* What has no bytes lies where others do. */
	while (linear->allocation[at].tensor != x)
		at++;
	return at;
}

/* Whether the operator that runs uses the tensor last, or the tensor leaves with it. */
static bool ends_with(const struct linear *linear, uint32_t x)
{
	return linear->sparing || linear->next[x] + 1 == linear->model->consumers.first[x + 1];
}

/* Ends a stay before the operator that runs has stored. */
static void yield(struct linear *linear, uint32_t at)
{
	uint32_t x = linear->allocation[at].tensor;

	linear->next[x]++;
	if (linear->next[x] != linear->model->consumers.first[x + 1])
		evict(linear, at);
	else
		take(linear, at);
}

/* Returns where the input lies whose bytes output @y may take; UINT64_MAX: there is none. */
static uint64_t yielded_to(struct linear *linear, uint32_t v, uint32_t y)
{
	const struct cosma_model *model = linear->model;
	uint32_t align = tensor_of(linear, y)->align;
	uint64_t offset;

	cosma_for_each(k, model->inputs, v) {
		uint32_t x = model->inputs.item[k], at = find(linear, x);

		if (model->taker[k] != y || at == NPUMEM_NONE || !ends_with(linear, x) ||
		    (is_fixed(linear, y) ?
			     linear->allocation[at].offset != tensor_of(linear, y)->fixed_offset :
			     linear->allocation[at].offset % align))
			continue;
		offset = linear->allocation[at].offset;
		yield(linear, at);
		return offset;
	}
	return UINT64_MAX;
}

/* Once a staged operator has loaded, its inputs are of no use to it any more. */
static void yield_all(struct linear *linear, uint32_t v)
{
	const struct cosma_model *model = linear->model;

	for (uint32_t i = linear->allocation_count; i-- > 0 && model->staged[v];) {
		uint32_t x = linear->allocation[i].tensor;

		/* That is no tensor's. */
		if (linear->allocation[i].kept)
			continue;
		if (x == linear->parameter)
			take(linear, i);
		else if (reads(linear, v, x) && ends_with(linear, x))
			yield(linear, i);
	}
}

static int try_output(struct linear *linear, uint32_t v, uint32_t y)
{
	uint32_t t = linear->model->tensor_of[y];
	uint64_t offset = linear->model->staged[v] ? UINT64_MAX : yielded_to(linear, v, y);

	if (offset == UINT64_MAX)
		return place_tensor(linear, y, t);
	return put_stay(linear,
			(struct allocation){ .offset = offset,
					     .size = linear->graph->tensors[t].size,
					     .tensor = y,
					     .pinned = true },
			t);
}

/* If there is no room, and no other tensor to evict, inputs leave with the operator. */
static int place_output(struct linear *linear, uint32_t v, uint32_t y)
{
	int err = try_output(linear, v, y);

	if (err != -ENOSPC || linear->sparing)
		return err;
	linear->sparing = true;
	yield_all(linear, v);
	return try_output(linear, v, y);
}

/*
 * Places inputs that are away: those that are fixed, or all others. What is updated comes first: it
 * is there while the operator loads and while it stores, and all else is beside it.
 */
static int place_inputs(struct linear *linear, uint32_t v, bool fixed)
{
	const struct cosma_model *model = linear->model;
	int err = 0;

	for (int bound = 1; bound >= 0; bound--)
		cosma_for_each(k, model->inputs, v) {
			uint32_t x = model->inputs.item[k];

			if (!err && model->bound[k] == bound && is_fixed(linear, x) == fixed &&
			    find(linear, x) == NPUMEM_NONE)
				err = place_tensor(linear, x, linear->model->tensor_of[x]);
		}
	return err;
}

/* Has outputs that are updated inputs lie where these do. */
static int place_updated(struct linear *linear, uint32_t v)
{
	const struct cosma_model *model = linear->model;
	int err = 0;

	cosma_for_each(k, model->inputs, v) {
		uint32_t y = model->taker[k], at = find(linear, model->inputs.item[k]);
		struct allocation allocation;

		if (err || !model->bound[k] || y == NPUMEM_NONE)
			continue;
		allocation = linear->allocation[at];
		allocation.tensor = y;
		yield(linear, at);
		err = put_stay(linear, allocation, model->tensor_of[y]);
	}
	return err;
}

/*
 * Takes the places of fixed outputs before others lie there. Where an input lies, which may make
 * room, they wait.
 */
static int reserve_outputs(struct linear *linear, uint32_t v)
{
	const struct cosma_model *model = linear->model;
	int err = 0;

	cosma_for_each(k, model->outputs, v) {
		uint32_t y = model->outputs.item[k];

		if (!err && is_fixed(linear, y))
			err = place_tensor(linear, y, model->tensor_of[y]);
		err = err == -ENOSPC ? 0 : err;
	}
	return err;
}

/* Places parameters that only operator @v uses: those that are fixed, or all others. */
static int place_parameters(struct linear *linear, uint32_t v, bool fixed)
{
	const struct npuplan_op *op = &linear->graph->ops[linear->model->op_of[v]];
	int err = 0;

	for (uint32_t k = 0; k < op->input_count && !err; k++) {
		const struct npuplan_tensor *tensor = &linear->graph->tensors[op->inputs[k]];

		if (!!(tensor->flags & NPUMEM_TENSOR_FLAG_FIXED) == fixed &&
		    cosma_is_own_parameter(linear->model, linear->graph, v, k))
			err = place_tensor(linear, linear->parameter, op->inputs[k]);
	}
	return err;
}

/* Places inputs that are away, parameters and outputs; first what has a place of its own. */
static int place_all(struct linear *linear, uint32_t v)
{
	const struct cosma_model *model = linear->model;
	int err;

	cosma_for_each(k, model->inputs, v) {
		uint32_t at = find(linear, model->inputs.item[k]);

		if (at != NPUMEM_NONE)
			linear->allocation[at].pinned = true;
	}
	err = place_inputs(linear, v, true);
	err = err ? err : place_parameters(linear, v, true);
	err = err ? err : reserve_outputs(linear, v);
	err = err ? err : place_inputs(linear, v, false);
	err = err ? err : place_parameters(linear, v, false);
	err = err ? err : place_updated(linear, v);
	if (!err)
		yield_all(linear, v);
	cosma_for_each(k, model->outputs, v)
		if (!err && find(linear, model->outputs.item[k]) == NPUMEM_NONE)
			err = place_output(linear, v, model->outputs.item[k]);
	return err;
}

/* Starts the operator over: everything leaves, and its own tensors come back packed. */
static int repack(struct linear *linear, uint32_t v, uint32_t placed,
		  const struct allocation *before, uint32_t count, const uint32_t *next)
{
	const struct cosma_list *inputs = &linear->model->inputs;

	linear->placed_count = placed;
	for (uint32_t i = linear->allocation_count; i-- > 0;)
		if (!linear->allocation[i].kept)
			take(linear, i);
	linear->sparing = false;
	/* Tensors that have left with the operator in the first try have not. */
	cosma_for_each(k, *inputs, v) {
		uint32_t x = inputs->item[k], use = next[k - inputs->first[v]];

		linear->next[x] = use;
		if (use + 1 < linear->model->consumers.first[x + 1])
			linear->schedule->away[use + 1] = false;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t x = before[i].tensor;

		if (before[i].kept)
			continue;
		linear->schedule->away[linear->next[x]] = true;
		linear->host[x] = true;
	}
	return place_all(linear, v);
}

static int run(struct linear *linear, uint32_t v)
{
	const struct cosma_model *model = linear->model;
	uint32_t placed = linear->placed_count, count = linear->allocation_count;
	uint32_t first = model->inputs.first[v], inputs = model->inputs.first[v + 1] - first;
	AUTO_HEAP struct allocation *before = npuplan_malloc(((size_t)count + 1) * sizeof(*before));
	AUTO_HEAP uint32_t *next = npuplan_malloc(((size_t)inputs + 1) * sizeof(*next));
	int err;

	if (!before || !next)
		return -ENOMEM;
	for (uint32_t k = 0; k < inputs; k++)
		next[k] = linear->next[model->inputs.item[first + k]];
	cosma_for_each(k, model->inputs, v)
		linear->reader[model->inputs.item[k]] = v;
	linear->sparing = false;
	if (count)
		memcpy(before, linear->allocation, count * sizeof(*before));
	err = place_all(linear, v);
	if (err == -ENOSPC)
		err = repack(linear, v, placed, before, count, next);
	for (uint32_t i = linear->allocation_count; i-- > 0 && !err;) {
		uint32_t x = linear->allocation[i].tensor;

		if (linear->allocation[i].kept)
			continue;
		if (x != linear->parameter && reads(linear, v, x))
			linear->next[x]++;
		if (x == linear->parameter || linear->next[x] == model->consumers.first[x + 1]) {
			take(linear, i);
			continue;
		}
		linear->allocation[i].pinned = false;
		if (model->flags[x] & COSMA_OUTPUT)
			linear->host[x] = true;
	}
	return err;
}

static void swap(struct cosma_stay *a, struct cosma_stay *b)
{
	struct cosma_stay was = *a;

	*a = *b;
	*b = was;
}

/* Stays come by tensor, then parameters; what was placed came by time. */
static int collect(struct linear *linear, struct cosma_stays *stays)
{
	uint32_t *next = linear->next;
	int err = cosma_stays_init(stays, linear->schedule, linear->graph);

	for (uint32_t i = stays->count; i-- > 0;)
		next[stays->stay[i].parameter ? linear->parameter : stays->stay[i].tensor] = i;
	for (uint32_t i = 0; i < linear->placed_count && !err; i++) {
		const struct placed *placed = &linear->placed[i];
		struct cosma_stay *stay = &stays->stay[next[placed->tensor]++], *own = stay;

		/* An operator's parameters are placed in another order if some are fixed. */
		while (stay->parameter && own->tensor != placed->graph)
			own++;
		swap(stay, own);
		stay->offset = placed->offset;
	}
	return err;
}

/* Places what is on chip from the start. */
static int start(struct linear *linear, const struct cosma_settings *options)
{
	const struct cosma_model *model = linear->model;
	int err = 0;

	for (uint32_t i = 0; i < options->kept_count && !err; i++)
		err = put(linear, (struct allocation){ .offset = options->kept[i].offset,
						       .size = options->kept[i].size,
						       .tensor = linear->parameter + 1,
						       .pinned = true,
						       .kept = true });
	for (int fixed = 1; fixed >= 0; fixed--)
		for (uint32_t x = 0; x < model->tensor_count && !err; x++)
			if (model->flags[x] & COSMA_ENTRY && is_fixed(linear, x) == fixed)
				err = place_tensor(linear, x, model->tensor_of[x]);
	for (uint32_t i = 0; i < linear->allocation_count; i++)
		linear->allocation[i].pinned = linear->allocation[i].kept;
	return err;
}

int cosma_linear(const struct npuplan_graph *graph, struct cosma_schedule *schedule,
		 const struct cosma_settings *options, enum npuplan_cosma_policy policy,
		 struct cosma_stays *stays)
{
	const struct cosma_model *model = schedule->model;
	uint32_t alignment = options->common.alignment;
	struct linear linear = {
		.graph = graph,
		.model = model,
		.schedule = schedule,
		.policy = policy,
		.budget = options->common.arena_budget + cosma_kept_bytes(options),
		.alignment = alignment ? alignment : 1,
		.parameter = model->tensor_count,
		.next = npuplan_malloc(((size_t)model->tensor_count + 1) * sizeof(uint32_t)),
		.host = npuplan_calloc((size_t)model->tensor_count + 1, sizeof(bool)),
		.offset = npuplan_malloc(((size_t)model->tensor_count + 1) * sizeof(uint64_t)),
		.reader = npuplan_malloc(((size_t)model->tensor_count + 1) * sizeof(uint32_t)),
	};
	int err = linear.next && linear.host && linear.offset && linear.reader ? 0 : -ENOMEM;

	cosma_schedule_order(schedule);
	for (uint32_t x = 0; x < model->tensor_count && !err; x++) {
		linear.next[x] = model->consumers.first[x];
		linear.host[x] = model->flags[x] & COSMA_HOST;
		linear.offset[x] = UINT64_MAX;
		linear.reader[x] = NPUMEM_NONE;
	}
	err = err ? err : start(&linear, options);
	for (uint32_t p = 0; p < model->op_count && !err; p++)
		err = run(&linear, schedule->order[p]);
	if (!err)
		err = collect(&linear, stays);
	npuplan_free_all(linear.allocation, linear.placed, linear.next, linear.host, linear.offset,
			 linear.reader);
	return err;
}
