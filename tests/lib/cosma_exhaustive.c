// SPDX-License-Identifier: MIT
/* Trying everything, cheapest first (Dijkstra over states with addresses). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cosma_exhaustive.h"
#include "cosma_oracle.h"

#define OFF	 255
#define MAX_COST 4096
/* Positions that are remembered, at most: some seconds. */
#define MAX_SEEN 400000
/* Positions that were reached, the same ones again among them. */
#define MAX_PUT	 8000000

/*
 * struct position - all that decides what can come
 * @at: per tensor its address, or OFF
 * @ran, @host, @loaded: bits
 */
struct position {
	uint8_t at[EXHAUSTIVE_TENSORS];
	uint32_t ran;
	uint32_t host;
	uint32_t loaded;
};

/** struct bag - positions of one cost */
struct bag {
	struct position *position;
	size_t count;
	size_t room;
};

/*
 * struct exhaustive
 * @reads, @writes: per operator, bits of tensors
 * @takes: per operator and tensor that it writes, the tensors whose place it may take
 * @updates: per operator and tensor that it writes, the tensors whose place it must take
 * @alone: per operator, parameters that only it reads
 */
struct exhaustive {
	const struct npuplan_graph *graph;
	const struct cosma_settings *options;
	bool addresses;
	uint32_t reads[EXHAUSTIVE_OPS];
	uint32_t writes[EXHAUSTIVE_OPS];
	uint32_t alone[EXHAUSTIVE_OPS];
	uint32_t takes[EXHAUSTIVE_OPS][EXHAUSTIVE_TENSORS];
	uint32_t updates[EXHAUSTIVE_OPS][EXHAUSTIVE_TENSORS];
	uint32_t outputs;
	struct bag *bag;
	struct position *seen;
	size_t seen_count;
	size_t seen_room;
	size_t put_count;
};

static void *must(void *memory)
{
	if (!memory) {
		fputs("out of memory\n", stderr);
		exit(2);
	}
	return memory;
}

static uint64_t hash_of(const struct position *position)
{
	const uint8_t *bytes = (const uint8_t *)position;
	uint64_t hash = 14695981039346656037ull;

	for (size_t i = 0; i < sizeof(*position); i++)
		hash = (hash ^ bytes[i]) * 1099511628211ull;
	return hash ^ hash >> 29;
}

static bool see(struct exhaustive *all, const struct position *position);

static void grow_seen(struct exhaustive *all)
{
	struct position *old = all->seen;
	size_t room = all->seen_room;

	all->seen_room = room ? room * 2 : 1024;
	all->seen = must(malloc(all->seen_room * sizeof(*all->seen)));
	memset(all->seen, 0xff, all->seen_room * sizeof(*all->seen));
	all->seen_count = 0;
	for (size_t i = 0; i < room; i++)
		if (old[i].ran != UINT32_MAX)
			see(all, &old[i]);
	free(old);
}

/* Whether the position is new; it is not any more. */
static bool see(struct exhaustive *all, const struct position *position)
{
	size_t at;

	if (2 * all->seen_count >= all->seen_room)
		grow_seen(all);
	at = hash_of(position) & (all->seen_room - 1);
	while (all->seen[at].ran != UINT32_MAX) {
		if (!memcmp(&all->seen[at], position, sizeof(*position)))
			return false;
		at = (at + 1) & (all->seen_room - 1);
	}
	all->seen[at] = *position;
	all->seen_count++;
	return true;
}

static void put(struct exhaustive *all, const struct position *position, uint64_t cost)
{
	struct bag *bag;

	if (cost >= MAX_COST) {
		fputs("cost out of range\n", stderr);
		exit(2);
	}
	bag = &all->bag[cost];
	if (bag->count == bag->room) {
		bag->room = bag->room ? 2 * bag->room : 64;
		bag->position = must(realloc(bag->position, bag->room * sizeof(*bag->position)));
	}
	bag->position[bag->count++] = *position;
	all->put_count++;
}

static uint64_t size_of(const struct exhaustive *all, uint32_t t)
{
	return all->graph->tensors[t].size;
}

/* Bytes of the arena, with those that are kept. */
static uint64_t arena_of(const struct exhaustive *all)
{
	return all->options->common.arena_budget + cosma_kept_bytes(all->options);
}

/* Whether tensor @t may be at byte @at, whatever else is there. */
static bool may_lie(const struct exhaustive *all, uint32_t t, uint64_t at)
{
	const struct npuplan_tensor *tensor = &all->graph->tensors[t];
	bool may = !(tensor->flags & NPUMEM_TENSOR_FLAG_FIXED) || tensor->fixed_offset == at;

	for (uint32_t i = 0; i < all->options->kept_count; i++) {
		const struct cosma_state *kept = &all->options->kept[i];

		may &= at >= kept->offset + kept->size || kept->offset >= at + tensor->size;
	}
	return may || !all->addresses;
}

static uint64_t bytes_of(const struct exhaustive *all, uint32_t tensors)
{
	uint64_t bytes = 0;

	for (uint32_t t = 0; t < all->graph->tensor_count; t++)
		bytes += tensors >> t & 1 ? size_of(all, t) : 0;
	return bytes;
}

static uint32_t on_chip(const struct exhaustive *all, const struct position *position)
{
	uint32_t on = 0;

	for (uint32_t t = 0; t < all->graph->tensor_count; t++)
		on |= position->at[t] != OFF ? 1u << t : 0;
	return on;
}

/* Tensors that operators besides @v are still to read, if those in @ran have run. */
static uint32_t wanted_after(const struct exhaustive *all, uint32_t ran, uint32_t v)
{
	uint32_t wanted = 0;

	for (uint32_t u = 0; u < all->graph->op_count; u++)
		if (u != v && !(ran >> u & 1))
			wanted |= all->reads[u];
	return wanted;
}

/* The operator has run: the dead go, what is an output is with the host. */
static void finish(struct exhaustive *all, struct position *position, uint32_t v, uint64_t cost)
{
	uint32_t wanted = wanted_after(all, position->ran, v);

	position->ran |= 1u << v;
	position->loaded |= all->writes[v] | all->reads[v];
	position->host |= all->writes[v] & all->outputs;
	for (uint32_t t = 0; t < EXHAUSTIVE_TENSORS; t++) {
		if (wanted >> t & 1)
			continue;
		position->at[t] = OFF;
		position->host &= ~(1u << t);
	}
	put(all, position, cost);
}

/*
 * Whether tensor @t at byte @at is in the way of tensor @u. What operator @v writes is not
 * in the way of what it reads for the last time, or what leaves with it: if the operator
 * has read all before it writes; or each byte is where its like was read.
 */
static bool in_the_way(const struct exhaustive *all, const struct position *position, uint32_t v,
		       uint32_t leaving, uint32_t t, uint64_t at, uint32_t u)
{
	uint32_t writes = all->writes[v];
	bool t_new = writes >> t & 1 && !(writes >> u & 1) && leaving >> u & 1;
	bool u_new = writes >> u & 1 && !(writes >> t & 1) && leaving >> t & 1;

	if (position->at[u] == OFF || position->at[u] >= at + size_of(all, t) ||
	    at >= position->at[u] + size_of(all, u))
		return false;
	if ((t_new || u_new) && cosma_is_staged(all->options, v))
		return false;
	if (at != position->at[u])
		return true;
	return !(t_new && all->takes[v][t] >> u & 1) && !(u_new && all->takes[v][u] >> t & 1);
}

/* Whether tensor @t, which operator @v writes, is an update of one that is not at byte @at. */
static bool is_elsewhere(const struct exhaustive *all, const struct position *position, uint32_t v,
			 uint32_t t, uint64_t at)
{
	bool elsewhere = false;

	for (uint32_t u = 0; u < all->graph->tensor_count; u++)
		elsewhere |= all->updates[v][t] >> u & 1 && position->at[u] != at;
	return elsewhere && all->addresses;
}

/* There are more positions than can be tried. */
static bool is_full(const struct exhaustive *all)
{
	return all->seen_count > MAX_SEEN || all->put_count > MAX_PUT;
}

/* Those of some tensors that are placed first: where offsets are fixed there is least to try. */
static uint32_t first_of(const struct exhaustive *all, uint32_t coming)
{
	uint32_t fixed = 0;

	for (uint32_t t = 0; t < all->graph->tensor_count; t++)
		if (all->graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_FIXED)
			fixed |= coming & 1u << t;
	return fixed ? fixed : coming;
}

/* Every address for every tensor that comes; those that are @leaving are gone then. */
static void place(struct exhaustive *all, struct position *position, uint32_t v, uint32_t coming,
		  uint32_t leaving, uint64_t cost)
{
	uint32_t t, align;

	if (!coming) {
		struct position next = *position;

		for (t = 0; t < all->graph->tensor_count; t++)
			if (leaving >> t & 1)
				next.at[t] = OFF;
		finish(all, &next, v, cost);
		return;
	}
	t = (uint32_t)__builtin_ctz(first_of(all, coming)) & (EXHAUSTIVE_TENSORS - 1);
	coming &= ~(1u << t);
	align = all->graph->tensors[t].align;
	if (all->options->common.alignment > align)
		align = all->options->common.alignment;
	for (uint64_t at = 0; at + size_of(all, t) <= arena_of(all) && !is_full(all); at += align) {
		bool clash = !may_lie(all, t, at) || is_elsewhere(all, position, v, t, at);

		for (uint32_t u = 0; u < all->graph->tensor_count && all->addresses; u++)
			clash |= in_the_way(all, position, v, leaving, t, at, u);
		if (clash)
			continue;
		position->at[t] = (uint8_t)at;
		place(all, position, v, coming, leaving, cost);
		position->at[t] = OFF;
		if (!all->addresses)
			return;
	}
}

/* Bytes while operator @v loads or while it stores, the larger; @there: what it does not write. */
static uint64_t bytes_at(const struct exhaustive *all, uint32_t v, uint32_t there, uint32_t leaving)
{
	uint64_t loads = bytes_of(all, there), stores;
	uint32_t gone = 0;

	for (uint32_t t = 0; t < all->graph->tensor_count; t++)
		gone |= all->takes[v][t];
	if (cosma_is_staged(all->options, v))
		gone = UINT32_MAX;
	stores = bytes_of(all, (there & ~(leaving & gone)) | all->writes[v]);
	return loads > stores ? loads : stores;
}

/* What is thrown out is settled: any set of inputs leaves with the operator. */
static void run_with(struct exhaustive *all, const struct position *from, uint32_t v,
		     uint32_t there, uint32_t coming, uint64_t cost)
{
	uint32_t wanted = wanted_after(all, from->ran, v), dead = all->reads[v] & ~wanted;
	uint32_t more = all->reads[v] & wanted;

	for (uint32_t with = more;; with = (with - 1) & more) {
		struct position position = *from;
		uint32_t leaving = dead | with | all->alone[v];
		uint64_t price = cost + bytes_of(all, with & ~position.host);

		position.host |= with;
		if (bytes_at(all, v, there, leaving) <= all->options->common.arena_budget)
			place(all, &position, v, coming, leaving, price);
		if (!with)
			break;
	}
}

/* Everything that can be done before @v runs: throw out any set of tensors. */
static void run(struct exhaustive *all, const struct position *from, uint32_t v, uint64_t cost)
{
	uint32_t on = on_chip(all, from), needed = all->reads[v] | all->writes[v];

	for (uint32_t out = on;; out = (out - 1) & on) {
		struct position position = *from;
		uint64_t price = cost + bytes_of(all, out & ~position.host);
		uint32_t coming = needed & ~(on & ~out);
		uint32_t filled = coming & from->loaded;

		position.host |= out;
		for (uint32_t t = 0; t < all->graph->tensor_count; t++)
			if (out >> t & 1)
				position.at[t] = OFF;
		price += bytes_of(all, filled);
		run_with(all, &position, v, (on & ~out) | all->reads[v] | all->alone[v],
			 coming | all->alone[v], price);
		if (!out)
			break;
	}
}

static bool may_run(const struct exhaustive *all, const struct position *position, uint32_t v)
{
	if (position->ran >> v & 1)
		return false;
	for (uint32_t u = 0; u < all->graph->op_count; u++)
		if (!(position->ran >> u & 1)) {
			if (all->writes[u] & all->reads[v])
				return false;
			if (all->options->common.schedule != NPUPLAN_SCHEDULE_FREE && u < v)
				return false;
		}
	for (uint32_t i = 0; i < all->options->pair_count; i++)
		if (all->options->pairs[i].after == v &&
		    !(position->ran >> all->options->pairs[i].before & 1))
			return false;
	return true;
}

static void describe(struct exhaustive *all)
{
	const struct npuplan_graph *graph = all->graph;
	const struct cosma_settings *options = all->options;
	uint32_t uses[EXHAUSTIVE_TENSORS] = { 0 };

	for (uint32_t i = 0; i < options->takeover_count; i++)
		if (options->takeovers[i].bound)
			all->updates[options->takeovers[i].op][options->takeovers[i].output] |=
				1u << options->takeovers[i].input;

	for (uint32_t v = 0; v < graph->op_count; v++) {
		const struct npuplan_op *op = &graph->ops[v];

		for (uint32_t k = 0; k < op->input_count; k++)
			all->reads[v] |= 1u << op->inputs[k];
		for (uint32_t k = 0; k < op->output_count; k++)
			all->writes[v] |= 1u << op->outputs[k];
		for (uint32_t k = 0; k < op->input_count; k++)
			for (uint32_t j = 0; j < op->output_count; j++)
				if (cosma_may_take(graph, all->options, v, op->inputs[k],
						   op->outputs[j]))
					all->takes[v][op->outputs[j]] |= 1u << op->inputs[k];
		for (uint32_t t = 0; t < graph->tensor_count; t++)
			uses[t] += all->reads[v] >> t & 1;
	}
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		if (graph->tensors[t].kind == NPUMEM_TENSOR_OUTPUT)
			all->outputs |= 1u << t;
		for (uint32_t v = 0; v < graph->op_count; v++) {
			uint32_t bit = all->reads[v] & 1u << t;

			if (graph->tensors[t].kind != NPUMEM_TENSOR_PARAMETER)
				continue;
			if (!all->options->with_parameters || uses[t] == 1)
				all->reads[v] &= ~bit;
			if (all->options->with_parameters && uses[t] == 1)
				all->alone[v] |= bit;
		}
	}
}

/* Entry tensors at every address. */
static void start(struct exhaustive *all, struct position *position, uint32_t t)
{
	const struct npuplan_graph *graph = all->graph;
	uint32_t align, wanted = 0;

	if (t == graph->tensor_count) {
		if (bytes_of(all, on_chip(all, position)) <= all->options->common.arena_budget)
			put(all, position, 0);
		return;
	}
	for (uint32_t v = 0; v < graph->op_count; v++)
		wanted |= all->reads[v];
	if (!cosma_starts_on_chip(&graph->tensors[t], all->options) || !(wanted >> t & 1)) {
		start(all, position, t + 1);
		return;
	}
	position->loaded |= 1u << t;
	align = graph->tensors[t].align;
	if (all->options->common.alignment > align)
		align = all->options->common.alignment;
	for (uint64_t at = 0; at + size_of(all, t) <= arena_of(all) && !is_full(all); at += align) {
		bool clash = !may_lie(all, t, at);

		for (uint32_t u = 0; u < t && all->addresses; u++)
			clash |= position->at[u] != OFF && position->at[u] < at + size_of(all, t) &&
				 at < position->at[u] + size_of(all, u);
		if (clash)
			continue;
		position->at[t] = (uint8_t)at;
		start(all, position, t + 1);
		position->at[t] = OFF;
		if (!all->addresses)
			return;
	}
}

uint64_t exhaustive_traffic(const struct npuplan_graph *graph, const struct cosma_settings *options,
			    bool addresses)
{
	struct exhaustive all = { .graph = graph, .options = options, .addresses = addresses };
	uint32_t everything = (1u << graph->op_count) - 1;
	uint64_t best = EXHAUSTIVE_NONE;
	struct position first, position;

	if (graph->tensor_count > EXHAUSTIVE_TENSORS || graph->op_count > EXHAUSTIVE_OPS ||
	    options->common.arena_budget + cosma_kept_bytes(options) >= OFF) {
		fputs("too large to try everything\n", stderr);
		exit(2);
	}
	for (uint32_t i = 0; i < options->kept_count && addresses; i++)
		if (options->kept[i].offset + options->kept[i].size > arena_of(&all))
			return EXHAUSTIVE_NONE;
	describe(&all);
	all.bag = must(calloc(MAX_COST, sizeof(*all.bag)));
	memset(&first, 0, sizeof(first));
	memset(first.at, OFF, sizeof(first.at));
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (cosma_starts_in_host(&graph->tensors[t], options))
			first.host |= 1u << t;
	start(&all, &first, 0);
	for (uint64_t cost = 0; cost < MAX_COST && best == EXHAUSTIVE_NONE; cost++)
		while (all.bag[cost].count && best == EXHAUSTIVE_NONE) {
			position = all.bag[cost].position[--all.bag[cost].count];
			if (!see(&all, &position))
				continue;
			if (position.ran == everything)
				best = cost;
			else if (is_full(&all))
				best = EXHAUSTIVE_TOO_LARGE;
			for (uint32_t v = 0; v < graph->op_count; v++)
				if (best == EXHAUSTIVE_NONE && may_run(&all, &position, v))
					run(&all, &position, v, cost);
		}
	for (uint64_t cost = 0; cost < MAX_COST; cost++)
		free(all.bag[cost].position);
	free(all.bag);
	free(all.seen);
	return best;
}

/* Bytes on chip while @v runs, if those in @ran have run. */
static uint64_t footprint(const struct exhaustive *all, uint32_t ran, uint32_t v)
{
	const struct npuplan_graph *graph = all->graph;
	uint32_t there = all->reads[v] | all->alone[v], written = 0, read = 0;
	uint32_t after = wanted_after(all, ran, v);
	uint32_t wanted = 0;

	for (uint32_t u = 0; u < graph->op_count; u++) {
		if (!(ran >> u & 1)) {
			wanted |= all->reads[u];
			continue;
		}
		written |= all->writes[u];
		read |= all->reads[u];
	}
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (cosma_starts_on_chip(&graph->tensors[t], all->options))
			written |= 1u << t;
	there |= (written | read) & wanted;
	return bytes_at(all, v, there, (all->reads[v] & ~after) | all->alone[v]);
}

uint64_t exhaustive_peak(const struct npuplan_graph *graph, const struct cosma_settings *options)
{
	struct exhaustive all = { .graph = graph, .options = options };
	uint32_t everything = (1u << graph->op_count) - 1;
	uint64_t *best = must(malloc((everything + 1ull) * sizeof(*best))), result, entry = 0;

	describe(&all);
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		bool used = false;

		for (uint32_t v = 0; v < graph->op_count; v++)
			used |= all.reads[v] >> t & 1;
		if (used && cosma_starts_on_chip(&graph->tensors[t], options))
			entry += size_of(&all, t);
	}
	for (uint32_t set = 0; set <= everything; set++)
		best[set] = set ? EXHAUSTIVE_NONE : entry;
	for (uint32_t set = 0; set < everything; set++) {
		struct position position = { .ran = set };

		for (uint32_t v = 0; v < graph->op_count && best[set] != EXHAUSTIVE_NONE; v++) {
			uint64_t bytes;

			if (!may_run(&all, &position, v))
				continue;
			bytes = footprint(&all, set, v);
			bytes = bytes > best[set] ? bytes : best[set];
			if (bytes < best[set | 1u << v])
				best[set | 1u << v] = bytes;
		}
	}
	result = best[everything];
	free(best);
	return result;
}
