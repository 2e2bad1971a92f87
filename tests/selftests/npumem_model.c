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
	m->info.status = NPUMEM_PLAN_FEASIBLE;
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
		SECTION(NPUMEM_GRAPH_TENSORS, m->tensors, m->tensor_count),
		SECTION(NPUMEM_GRAPH_TILES, m->tiles, m->tile_count),
		SECTION(NPUMEM_GRAPH_ACCESSES, m->accesses, m->access_count),
		SECTION(NPUMEM_GRAPH_STEPS, m->steps, m->step_count),
		SECTION(NPUMEM_GRAPH_BLOCKS, m->blocks, m->block_count),
		SECTION(NPUMEM_GRAPH_EDGES, m->edges, m->edge_count),
		SECTION(NPUMEM_GRAPH_CARRIES, m->carries, m->carry_count),
	};

	return write_blob(NPUMEM_GRAPH_MAGIC, sections, 5, 7);
}

struct blob model_plan(const struct model *m)
{
	struct npublob_section sections[] = {
		SECTION(NPUMEM_PLAN_INFO, &m->info, 1),
		SECTION(NPUMEM_PLAN_PLACEMENTS, m->placements, m->placement_count),
		SECTION(NPUMEM_PLAN_SCHEDULE, m->positions, m->position_count),
		SECTION(NPUMEM_PLAN_BLOCKS, m->instances, m->instance_count),
		SECTION(NPUMEM_PLAN_ENTRIES, m->entries, m->entry_count),
		SECTION(NPUMEM_PLAN_EDGES, m->plan_edges, m->plan_edge_count),
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
			m.tensors[i].flags = NPUMEM_TENSOR_EXTERNAL;
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
