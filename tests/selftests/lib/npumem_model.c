// SPDX-License-Identifier: MIT
#include "npumem_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob.h"

/* Room for one more record: arrays grow when their count is a power of two. */
static void *grow(void *array, uint32_t *count, size_t size)
{
	if (!(*count & (*count - 1)))
		array = realloc(array, (*count ? *count * 2 : 1) * size);
	if (!array) {
		fprintf(stderr, "# no memory\n");
		exit(1);
	}
	memset((uint8_t *)array + *count * size, 0, size);
	(*count)++;
	return array;
}

/* Append a zeroed record to the array @list, whose count is @count. */
#define APPEND(list, count) ((list) = grow((list), &(count), sizeof(*(list))), &(list)[(count) - 1])

uint32_t model_tensor(struct model *m, uint32_t kind, uint64_t size)
{
	struct npumem_tensor *tensor = APPEND(m->tensors, m->tensor_count);

	*tensor = (struct npumem_tensor){
		.size = size,
		.align = 1,
		.kind = kind,
		.alias_of = NPUMEM_NONE,
		.name = NPUMEM_NONE,
	};
	return m->tensor_count - 1;
}

uint32_t model_tile(struct model *m, uint32_t tensor, uint64_t offset, uint64_t length)
{
	struct npumem_tile *tile = APPEND(m->tiles, m->tile_count);

	*tile = (struct npumem_tile){
		.tensor = tensor,
		.region = { .offset = offset, .length = length, .count = { 1, 1, 1 } },
	};
	return m->tile_count - 1;
}

uint32_t model_whole(struct model *m, uint32_t tensor)
{
	return model_tile(m, tensor, 0, m->tensors[tensor].size);
}

uint32_t model_step(struct model *m, uint32_t flags)
{
	struct npumem_step *step = APPEND(m->steps, m->step_count);

	*step = (struct npumem_step){
		.first_access = m->access_count,
		.flags = flags,
		.name = NPUMEM_NONE,
	};
	return m->step_count - 1;
}

uint32_t model_access(struct model *m, uint32_t tile, uint32_t mode)
{
	struct npumem_access *access = APPEND(m->accesses, m->access_count);

	*access = (struct npumem_access){ .tile = tile, .mode = mode, .inplace = NPUMEM_NONE };
	return m->steps[m->step_count - 1].access_count++;
}

uint32_t model_step_rw(struct model *m, uint32_t from, uint32_t to)
{
	uint32_t step = model_step(m, 0);

	if (from != NPUMEM_NONE)
		model_access(m, from, NPUMEM_ACCESS_READ);
	model_access(m, to, NPUMEM_ACCESS_WRITE);
	return step;
}

uint32_t model_place(struct model *m, uint32_t tensor, uint64_t offset)
{
	struct npumem_placement *placement = APPEND(m->placements, m->placement_count);
	uint64_t size = m->tensors[tensor].size;

	*placement = (struct npumem_placement){
		.tensor = tensor,
		.to = m->step_count ? m->step_count - 1 : 0,
		.offset = offset,
		.region = { .length = size, .count = { 1, 1, 1 } },
	};
	if (m->info.arena_size < offset + size)
		m->info.arena_size = offset + size;
	return m->placement_count - 1;
}

void model_schedule(struct model *m)
{
	struct npumem_block *block = APPEND(m->blocks, m->block_count);

	*block = (struct npumem_block){ .step_count = m->step_count, .name = NPUMEM_NONE };
	model_instance(m, m->block_count - 1);
}

uint32_t model_block(struct model *m)
{
	struct npumem_block *block = APPEND(m->blocks, m->block_count);

	*block = (struct npumem_block){ .first_step = m->step_count, .name = NPUMEM_NONE };
	return m->block_count - 1;
}

uint32_t model_edge(struct model *m, uint32_t from, uint32_t to)
{
	struct npumem_edge *edge = APPEND(m->edges, m->edge_count);

	*edge = (struct npumem_edge){ .from = from, .to = to, .first_carry = m->carry_count };
	return m->edge_count - 1;
}

void model_carry(struct model *m, uint32_t from, uint32_t to)
{
	struct npumem_carry *carry = APPEND(m->carries, m->carry_count);

	*carry = (struct npumem_carry){ .from = from, .to = to };
	m->edges[m->edge_count - 1].carry_count++;
}

uint32_t model_instance(struct model *m, uint32_t block)
{
	struct npumem_plan_block *instance = APPEND(m->instances, m->instance_count);
	const struct npumem_block *of = &m->blocks[block];
	struct npumem_position *position;
	uint32_t i;

	*instance = (struct npumem_plan_block){
		.block = block,
		.first_position = m->position_count,
		.position_count = of->step_count,
		.first_entry = m->entry_count,
	};
	for (i = 0; i < of->step_count; i++) {
		position = APPEND(m->positions, m->position_count);
		*position = (struct npumem_position){
			.kind = NPUMEM_POSITION_STEP,
			.index = of->first_step + i,
			.placement = NPUMEM_NONE,
		};
	}
	m->info.alignment = 1;
	m->info.status = NPUMEM_PLAN_STATUS_FEASIBLE;
	strcpy(m->info.planner, "test");
	return m->instance_count - 1;
}

uint32_t model_place_in(struct model *m, uint32_t instance, uint32_t tensor, uint64_t offset)
{
	const struct npumem_plan_block *in = &m->instances[instance];
	uint32_t i = model_place(m, tensor, offset);

	m->placements[i].block = instance;
	m->placements[i].from = in->first_position;
	m->placements[i].to = in->first_position;
	if (in->position_count)
		m->placements[i].to += in->position_count - 1;
	return i;
}

void model_enter(struct model *m, uint32_t instance, uint32_t tensor, uint64_t offset)
{
	uint32_t placement = model_place_in(m, instance, tensor, offset);
	struct npumem_entry *entry = APPEND(m->entries, m->entry_count);

	*entry = (struct npumem_entry){
		.tensor = tensor,
		.placement = placement,
		.flags = NPUMEM_ENTRY_RESIDENT,
		.length = m->tensors[tensor].size,
	};
	m->instances[instance].entry_count++;
}

uint32_t model_plan_edge(struct model *m, uint32_t from, uint32_t to, uint32_t edge)
{
	struct npumem_plan_edge *e = APPEND(m->plan_edges, m->plan_edge_count);

	*e = (struct npumem_plan_edge){ .from = from, .to = to, .edge = edge };
	return m->plan_edge_count - 1;
}

void model_position(struct model *m, struct npumem_position position)
{
	*APPEND(m->positions, m->position_count) = position;
}

void model_store(struct model *m, uint32_t placement, uint64_t host_offset)
{
	const struct npumem_placement *of = &m->placements[placement];
	struct npumem_position *position = APPEND(m->positions, m->position_count);

	*position = (struct npumem_position){
		.kind = NPUMEM_POSITION_STORE,
		.index = of->tensor,
		.placement = placement,
		.first = of->region.offset,
		.length = of->region.length,
		.host_offset = host_offset,
	};
	m->instances[0].position_count = m->position_count;
}

/* Of the @all sections, those after the first @count are left out if empty. */
static struct blob write_blob(uint32_t magic, struct npublob_section *sections, uint32_t count,
			      uint32_t all)
{
	uint32_t i;
	struct blob blob;
	void *data;

	for (i = count; i < all; i++)
		if (sections[i].count)
			sections[count++] = sections[i];
	if (npublob_write(magic, sections, count, &data, &blob.size)) {
		fprintf(stderr, "# blob cannot be written\n");
		exit(1);
	}
	blob.data = data;
	return blob;
}

#define SECTION(kind, records, n) { kind, sizeof((records)[0]), n, records }

struct blob model_graph(const struct model *m)
{
	struct npublob_section sections[] = {
		SECTION(NPUMEM_GRAPH_SECTION_TENSORS, m->tensors, m->tensor_count),
		SECTION(NPUMEM_GRAPH_SECTION_TILES, m->tiles, m->tile_count),
		SECTION(NPUMEM_GRAPH_SECTION_ACCESSES, m->accesses, m->access_count),
		SECTION(NPUMEM_GRAPH_SECTION_STEPS, m->steps, m->step_count),
		SECTION(NPUMEM_GRAPH_SECTION_BLOCKS, m->blocks, m->block_count),
		SECTION(NPUMEM_GRAPH_SECTION_EDGES, m->edges, m->edge_count),
		SECTION(NPUMEM_GRAPH_SECTION_CARRIES, m->carries, m->carry_count),
	};

	return write_blob(NPUMEM_GRAPH_MAGIC, sections, 5, 7);
}

struct blob model_plan(const struct model *m)
{
	struct npublob_section sections[] = {
		SECTION(NPUMEM_PLAN_SECTION_INFO, &m->info, 1),
		SECTION(NPUMEM_PLAN_SECTION_PLACEMENTS, m->placements, m->placement_count),
		SECTION(NPUMEM_PLAN_SECTION_SCHEDULE, m->positions, m->position_count),
		SECTION(NPUMEM_PLAN_SECTION_BLOCKS, m->instances, m->instance_count),
		SECTION(NPUMEM_PLAN_SECTION_ENTRIES, m->entries, m->entry_count),
		SECTION(NPUMEM_PLAN_SECTION_EDGES, m->plan_edges, m->plan_edge_count),
	};

	return write_blob(NPUMEM_PLAN_MAGIC, sections, 4, 6);
}

void model_free(struct model *m)
{
	free(m->tensors);
	free(m->tiles);
	free(m->accesses);
	free(m->steps);
	free(m->blocks);
	free(m->edges);
	free(m->carries);
	free(m->placements);
	free(m->positions);
	free(m->instances);
	free(m->entries);
	free(m->plan_edges);
	memset(m, 0, sizeof(*m));
}

void blob_free(struct blob *blob)
{
	free(blob->data);
	memset(blob, 0, sizeof(*blob));
}

struct npumem_blob_header *blob_header(const struct blob *blob)
{
	return (struct npumem_blob_header *)blob->data;
}

struct npumem_blob_section *blob_section(const struct blob *blob, uint32_t kind)
{
	struct npumem_blob_section *table = (struct npumem_blob_section *)(blob_header(blob) + 1);
	uint32_t i;

	for (i = 0; i < blob_header(blob)->section_count; i++)
		if (table[i].kind == kind)
			return &table[i];
	fprintf(stderr, "# blob has no section %u\n", kind);
	exit(1);
}

void *blob_records(const struct blob *blob, uint32_t kind)
{
	return blob->data + blob_section(blob, kind)->offset;
}

void blob_apply(const struct blob *blob, const struct blob_edit *edit)
{
	uint8_t *record = blob->data;

	if (edit->entry)
		record = (uint8_t *)blob_section(blob, edit->section);
	else if (edit->section)
		record = blob_records(blob, edit->section);
	memcpy(record + edit->offset, &edit->value, edit->size);
}

struct model model_chain(void)
{
	struct model m = { 0 };
	uint32_t i;

	model_tensor(&m, NPUMEM_TENSOR_INPUT, CHAIN_SIZE);
	model_tensor(&m, NPUMEM_TENSOR_INTERMEDIATE, CHAIN_SIZE);
	model_tensor(&m, NPUMEM_TENSOR_INTERMEDIATE, CHAIN_SIZE);
	model_tensor(&m, NPUMEM_TENSOR_OUTPUT, CHAIN_SIZE);
	for (i = 0; i < CHAIN_TENSORS; i++)
		model_whole(&m, i);
	for (i = 0; i < CHAIN_STEPS; i++)
		model_step_rw(&m, i, i + 1);
	for (i = 0; i < CHAIN_TENSORS; i++)
		model_place(&m, i, i * CHAIN_SIZE);
	model_schedule(&m);
	return m;
}

struct model model_external(void)
{
	static const uint32_t kinds[EXTERNAL_TENSORS] = {
		NPUMEM_TENSOR_INPUT,	    NPUMEM_TENSOR_PARAMETER, NPUMEM_TENSOR_INTERMEDIATE,
		NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_OUTPUT,
	};
	struct model m = { 0 };
	uint32_t i;

	for (i = 0; i < EXTERNAL_TENSORS; i++) {
		model_tensor(&m, kinds[i], EXTERNAL_SIZE);
		if (i != EXTERNAL_A)
			m.tensors[i].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
		model_whole(&m, i);
	}
	m.tensors[EXTERNAL_Y].align = EXTERNAL_ALIGN;
	model_step(&m, 0);
	model_access(&m, EXTERNAL_X, NPUMEM_ACCESS_READ);
	model_access(&m, EXTERNAL_P, NPUMEM_ACCESS_READ);
	model_access(&m, EXTERNAL_A, NPUMEM_ACCESS_WRITE);
	model_step_rw(&m, EXTERNAL_A, EXTERNAL_E);
	model_step_rw(&m, EXTERNAL_E, EXTERNAL_Y);
	model_place(&m, EXTERNAL_A, 0);
	model_schedule(&m);
	return m;
}

/* --------------------------------------------------------------------- spill */

const uint64_t spill_host[SPILL_TENSORS] = {
	[SPILL_X] = 16,
	[SPILL_P] = 6000,
	[SPILL_A] = 12000,
	[SPILL_Y] = SPILL_HOST_SIZE - SPILL_SIZE,
};

static uint32_t place_span(struct model *m, uint32_t tensor, uint64_t offset, uint32_t from,
			   uint32_t to)
{
	uint32_t i = model_place(m, tensor, offset);

	m->placements[i].from = from;
	m->placements[i].to = to;
	return i;
}

static void at_step(struct model *m, uint32_t step)
{
	struct npumem_position *position = APPEND(m->positions, m->position_count);

	*position = (struct npumem_position){ .index = step, .placement = NPUMEM_NONE };
}

static void at_transfer(struct model *m, uint32_t kind, uint32_t tensor, uint32_t placement,
			uint64_t first, uint64_t length)
{
	struct npumem_position *position = APPEND(m->positions, m->position_count);

	*position = (struct npumem_position){
		.kind = kind,
		.index = tensor,
		.placement = placement,
		.first = first,
		.length = length,
		.host_offset = placement == NPUMEM_NONE ? 0 : spill_host[tensor] + first,
	};
}

/* Step Y has all that is there; the others read a tensor and write one. */
static void spill_graph(struct model *m)
{
	static const uint32_t kinds[SPILL_TENSORS] = {
		[SPILL_X] = NPUMEM_TENSOR_INPUT,	[SPILL_P] = NPUMEM_TENSOR_PARAMETER,
		[SPILL_A] = NPUMEM_TENSOR_INTERMEDIATE, [SPILL_B] = NPUMEM_TENSOR_INTERMEDIATE,
		[SPILL_C] = NPUMEM_TENSOR_INTERMEDIATE, [SPILL_Y] = NPUMEM_TENSOR_OUTPUT,
	};
	uint32_t i;

	for (i = 0; i < SPILL_TENSORS; i++)
		model_whole(m, model_tensor(m, kinds[i], SPILL_SIZE));
	m->tensors[SPILL_X].flags = NPUMEM_TENSOR_FLAG_HOST;
	m->tensors[SPILL_P].flags = NPUMEM_TENSOR_FLAG_HOST;
	model_step_rw(m, SPILL_X, SPILL_A);
	model_step_rw(m, SPILL_P, SPILL_B);
	model_step_rw(m, SPILL_B, SPILL_C);
	model_step(m, 0);
	model_access(m, SPILL_A, NPUMEM_ACCESS_READ);
	model_access(m, SPILL_C, NPUMEM_ACCESS_READ);
	model_access(m, SPILL_P, NPUMEM_ACCESS_READ);
	model_access(m, SPILL_Y, NPUMEM_ACCESS_WRITE);
	model_schedule(m);
}

struct model model_spill(void)
{
	const uint64_t slot[] = { 0, SPILL_SIZE, 2 * SPILL_SIZE, 3 * SPILL_SIZE };
	const uint32_t rest = SPILL_SIZE - SPILL_CUT;
	struct model m = { 0 };
	uint32_t a, p;

	spill_graph(&m);
	place_span(&m, SPILL_X, slot[0], SPILL_AT_LOAD_X, SPILL_AT_A);
	place_span(&m, SPILL_P, slot[0], SPILL_AT_LOAD_P, SPILL_AT_B);
	place_span(&m, SPILL_A, slot[1], SPILL_AT_A, SPILL_AT_SPILL_2);
	place_span(&m, SPILL_B, slot[1], SPILL_AT_B, SPILL_AT_C);
	place_span(&m, SPILL_C, slot[2], SPILL_AT_C, SPILL_AT_Y);
	place_span(&m, SPILL_Y, slot[3], SPILL_AT_Y, SPILL_AT_STORE_Y);
	a = place_span(&m, SPILL_A, slot[0], SPILL_AT_FILL_A, SPILL_AT_Y);
	p = place_span(&m, SPILL_P, slot[1], SPILL_AT_FILL_P, SPILL_AT_Y);

	m.position_count = 0;
	at_transfer(&m, NPUMEM_POSITION_LOAD, SPILL_X, SPILL_X, 0, SPILL_SIZE);
	at_step(&m, SPILL_STEP_A);
	at_transfer(&m, NPUMEM_POSITION_SPILL, SPILL_A, SPILL_A, 0, SPILL_CUT);
	at_transfer(&m, NPUMEM_POSITION_SPILL, SPILL_A, SPILL_A, SPILL_CUT, rest);
	at_transfer(&m, NPUMEM_POSITION_LOAD, SPILL_P, SPILL_P, 0, SPILL_SIZE);
	at_step(&m, SPILL_STEP_B);
	at_step(&m, SPILL_STEP_C);
	at_transfer(&m, NPUMEM_POSITION_DROP, SPILL_P, NPUMEM_NONE, 0, SPILL_SIZE);
	at_transfer(&m, NPUMEM_POSITION_FILL, SPILL_A, a, 0, SPILL_SIZE);
	at_transfer(&m, NPUMEM_POSITION_FILL, SPILL_P, p, 0, SPILL_SIZE);
	at_step(&m, SPILL_STEP_Y);
	at_transfer(&m, NPUMEM_POSITION_STORE, SPILL_Y, SPILL_Y, 0, SPILL_SIZE);
	m.instances[0].position_count = m.position_count;
	m.info.host_size = SPILL_HOST_SIZE;
	return m;
}
