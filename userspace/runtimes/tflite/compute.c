// SPDX-License-Identifier: MIT
#include "compute.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../chunks/chunks.h"
#include "../../grow/grow.h"
#include "command.h"

/* Elements are aligned where tiles are copied to. */
#define ALIGNMENT 16

/* struct span - bytes of an access that follow one another in memory, too */
struct span {
	uint8_t *memory;
	uint64_t length;
};

/*
 * struct tile - an access of a position
 * @first, @count: of the spans; if it is only one, the kernel works there
 * @size: bytes
 * @reads, @writes: what the step does with them
 */
struct tile {
	uint32_t first;
	uint32_t count;
	uint64_t size;
	bool reads;
	bool writes;
};

/* struct place - @first, @count: of a position's tiles, or of a transfer's spans; @index: step */
struct place {
	struct npumem_position position;
	uint32_t first;
	uint32_t count;
};

/*
 * struct compute - a plan's positions
 * @places: per position
 * @tiles, @spans: of all of them
 * @accesses: room for those of a step
 * @buffer: room for all tiles of a step that are copied
 * @scratch: for kernels, @scratch_size bytes
 */
struct compute {
	const struct program *program;
	const struct npumem_layout *layout;
	struct npumem_maps maps;
	struct place *places;
	struct tile *tiles;
	uint32_t tile_count;
	struct span *spans;
	uint32_t span_count;
	struct engine_access *accesses;
	uint8_t *buffer;
	void *scratch;
	uint64_t scratch_size;
};

void compute_free(struct compute *compute)
{
	if (!compute)
		return;
	free(compute->places);
	free(compute->tiles);
	free(compute->spans);
	free(compute->accesses);
	free(compute->buffer);
	free(compute->scratch);
	free(compute);
}

static uint64_t aligned(uint64_t size)
{
	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ------------------------------------------------------------------ where bytes are */

/* One more span of the last tile, or a longer one. @first: that tile's first span */
static int add_span(struct compute *c, uint32_t first, uint8_t *memory, uint64_t length)
{
	struct span *last = c->span_count > first ? &c->spans[c->span_count - 1] : NULL, *spans;

	if (last && last->memory + last->length == memory) {
		last->length += length;
		return 0;
	}
	spans = grow_by_one(c->spans, c->span_count, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	c->spans = spans;
	c->spans[c->span_count++] = (struct span){ memory, length };
	return 0;
}

/* The byte of a range; what is bound is read where the runtime has it. */
static uint8_t *address(const struct compute *c, uint32_t tensor, const struct npumem_range *range)
{
	const void *bytes = c->program->bytes[tensor];

	if (range->memory == NPUMEM_MEMORY_BINDING)
		return bytes ? (uint8_t *)(uintptr_t)bytes + range->offset : NULL;
	return npumem_range_address(range, &c->maps);
}

/* struct found - where a tensor lies at a position */
struct found {
	uint32_t tensor;
	struct npumem_range *ranges;
	uint32_t count;
};

static int add_chunk(struct compute *c, uint32_t first, const struct found *f, uint64_t byte,
		     uint64_t length)
{
	for (uint32_t i = 0; i < f->count && length; i++) {
		const struct npumem_range *r = &f->ranges[i];
		uint64_t skip = byte - r->first, part = r->length - skip;
		uint8_t *memory;

		if (byte < r->first || byte >= r->first + r->length)
			continue;
		part = part < length ? part : length;
		memory = address(c, f->tensor, r);
		if (!memory)
			break;
		if (add_span(c, first, memory + skip, part))
			return -ENOMEM;
		byte += part;
		length -= part;
	}
	return length ? -EINVAL : 0;
}

static int add_tile(struct compute *c, uint32_t position, const struct npumem_access *access,
		    struct why *why)
{
	const struct npuplan_graph *graph = c->program->graph;
	const struct npumem_tile *of = &graph->tiles[access->tile];
	struct tile *tile = &c->tiles[c->tile_count++];
	struct chunks walk = chunks_of_region(&of->region);
	struct found found = { .tensor = of->tensor };
	struct npumem_error error = { 0 };
	int err;

	*tile = (struct tile){ .first = c->span_count,
			       .size = chunks_count(&of->region) * of->region.length,
			       .reads = access->mode != NPUMEM_ACCESS_WRITE,
			       .writes = access->mode != NPUMEM_ACCESS_READ };
	err = npumem_layout_at(c->layout, of->tensor, position, &found.ranges, &found.count,
			       &error);
	if (err)
		return why_fail(why, err, "%s", error.text);
	while (!err && chunks_next(&walk))
		err = add_chunk(c, tile->first, &found, walk.byte, of->region.length);
	free(found.ranges);
	tile->count = c->span_count - tile->first;
	if (err == -EINVAL)
		return why_fail(why, err,
				"position %" PRIu32 ": a byte of tensor \"%.100s\" has no place",
				position, graph->tensors[of->tensor].name);
	return err ? why_fail(why, err, "out of memory") : 0;
}

/* The bytes of a transfer in the arena, which its placement has. */
static int add_transfer(struct compute *c, uint32_t position, struct place *place, struct why *why)
{
	uint64_t from = place->position.first, end = from + place->position.length;
	struct npumem_placement placement;
	struct npumem_error error = { 0 };
	struct chunks walk;
	int err;

	place->first = c->span_count;
	if (place->position.kind == NPUMEM_POSITION_DROP)
		return 0;
	err = npumem_layout_placement(c->layout, place->position.placement, &placement, &error);
	if (err)
		return why_fail(why, err, "position %" PRIu32 ": %s", position, error.text);
	walk = chunks_of_placement(&placement);
	while (!err && chunks_next(&walk)) {
		uint64_t first = walk.byte > from ? walk.byte : from;
		uint64_t last = walk.byte + placement.region.length;

		last = last < end ? last : end;
		if (first < last)
			err = add_span(c, place->first,
				       (uint8_t *)c->maps.arena + walk.address + first - walk.byte,
				       last - first);
	}
	place->count = c->span_count - place->first;
	return err ? why_fail(why, err, "out of memory") : 0;
}

/* ------------------------------------------------------------------------- making it */

static int measure_step(struct compute *c, uint32_t step, struct why *why)
{
	const char *reason = "";
	uint64_t size = 0;
	int err = engine_check(c->program->commands[step], c->program->sizes[step], &size, &reason);

	if (size > c->scratch_size)
		c->scratch_size = size;
	return err ? why_fail(why, err, "step %" PRIu32 ": %s", step, reason) : 0;
}

/* @most: accesses, and bytes, of the steps before */
static int add_step(struct compute *c, uint32_t position, struct place *place, uint64_t most[2],
		    struct why *why)
{
	const struct npuplan_step *step = &c->program->graph->steps[place->position.index];
	uint64_t bytes = 0;
	int err = measure_step(c, place->position.index, why);

	place->first = c->tile_count;
	place->count = step->access_count;
	for (uint32_t i = 0; i < step->access_count && !err; i++) {
		err = add_tile(c, position, &c->program->graph->accesses[step->first_access + i],
			       why);
		bytes += aligned(c->tiles[c->tile_count - 1].size);
	}
	most[0] = step->access_count > most[0] ? step->access_count : most[0];
	most[1] = bytes > most[1] ? bytes : most[1];
	return err;
}

static int add_places(struct compute *c, uint32_t count, uint64_t most[2], struct why *why)
{
	struct npumem_error error = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++) {
		struct place *place = &c->places[i];

		err = npumem_layout_position(c->layout, i, &place->position, &error);
		if (err)
			return why_fail(why, err, "%s", error.text);
		if (place->position.kind != NPUMEM_POSITION_STEP)
			err = add_transfer(c, i, place, why);
		else if (place->position.index < c->program->graph->step_count)
			err = add_step(c, i, place, most, why);
		else
			err = why_fail(why, -EINVAL,
				       "the plan has a step %" PRIu32 ", the graph has not",
				       place->position.index);
	}
	return err;
}

/* Each step runs once, so there are as many tiles as the graph has accesses. */
static int make_room(struct compute *c, uint32_t count)
{
	c->places = calloc(count + (size_t)1, sizeof(*c->places));
	c->tiles = calloc(c->program->graph->access_count + (size_t)1, sizeof(*c->tiles));
	return c->places && c->tiles ? 0 : -ENOMEM;
}

int compute_new(const struct program *program, const struct npumem_layout *layout,
		const struct npumem_maps *maps, struct compute **out, struct why *why)
{
	uint32_t count = npumem_layout_count(layout, NPUMEM_PLAN_SECTION_SCHEDULE);
	struct compute *c = calloc(1, sizeof(*c));
	uint64_t most[2] = { 0 };
	int err = -ENOMEM;

	if (c) {
		*c = (struct compute){ .program = program, .layout = layout, .maps = *maps };
		err = make_room(c, count);
	}
	if (!err) {
		err = add_places(c, count, most, why);
		if (err) {
			compute_free(c);
			return err;
		}
		c->accesses = calloc(most[0] + 1, sizeof(*c->accesses));
		c->buffer = aligned_alloc(ALIGNMENT, most[1] + ALIGNMENT);
		c->scratch = malloc(c->scratch_size + 1);
		err = c->accesses && c->buffer && c->scratch ? 0 : -ENOMEM;
	}
	if (err) {
		compute_free(c);
		return why_fail(why, err, "out of memory");
	}
	*out = c;
	return 0;
}

/* ------------------------------------------------------------------------- computing */

static void copy_spans(const struct span *spans, uint32_t count, uint8_t *bytes, bool out)
{
	for (uint32_t i = 0; i < count; i++) {
		memcpy(out ? bytes : spans[i].memory, out ? spans[i].memory : bytes,
		       spans[i].length);
		bytes += spans[i].length;
	}
}

static void transfer(struct compute *c, const struct place *place)
{
	bool out = place->position.kind == NPUMEM_POSITION_SPILL ||
		   place->position.kind == NPUMEM_POSITION_STORE;

	if (place->count)
		copy_spans(c->spans + place->first, place->count,
			   (uint8_t *)c->maps.host + place->position.host_offset, out);
}

static int run_step(struct compute *c, const struct place *place, struct why *why)
{
	uint32_t step = place->position.index;
	const char *reason = "";
	uint64_t at = 0;
	int err;

	for (uint32_t i = 0; i < place->count; i++) {
		const struct tile *tile = &c->tiles[place->first + i];

		c->accesses[i] =
			(struct engine_access){ .size = tile->size, .writable = tile->writes };
		if (tile->count == 1) {
			c->accesses[i].data = c->spans[tile->first].memory;
			continue;
		}
		c->accesses[i].data = c->buffer + at;
		at += aligned(tile->size);
		if (tile->reads)
			copy_spans(c->spans + tile->first, tile->count, c->accesses[i].data, true);
	}
	err = engine_execute(c->program->commands[step], c->program->sizes[step], c->accesses,
			     place->count, c->scratch, c->scratch_size, &reason);
	if (err)
		return why_fail(why, -EIO, "step %" PRIu32 " \"%.100s\": %s", step,
				c->program->graph->steps[step].name, reason);
	for (uint32_t i = 0; i < place->count; i++) {
		const struct tile *tile = &c->tiles[place->first + i];

		if (tile->writes && tile->count != 1)
			copy_spans(c->spans + tile->first, tile->count, c->accesses[i].data, false);
	}
	return 0;
}

int compute_position(struct compute *c, uint32_t position, struct why *why)
{
	const struct place *place = &c->places[position];

	if (place->position.kind == NPUMEM_POSITION_STEP)
		return run_step(c, place, why);
	transfer(c, place);
	return 0;
}
