// SPDX-License-Identifier: MIT
/* Graph builder: records appended in memory, written as a blob at the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "device.h"

/* Array of records of one size that grows. */
struct record_array {
	void *data;
	uint32_t count;
	uint32_t capacity;
};

struct npumem_builder {
	struct record_array tensors;
	struct record_array tiles;
	struct record_array accesses;
	struct record_array steps;
	struct record_array blocks;
	struct record_array edges;
	struct record_array carries;
	struct npublob_strings strings;
	void *model;
	size_t model_size;
};

/* Room for @count more records, zeroed; NULL if there is no memory or no index left. */
static void *append(struct record_array *records, size_t size, uint32_t count)
{
	uint8_t *at;

	/* NPUMEM_NONE is not an index. */
	if (count > NPUMEM_NONE - records->count)
		return NULL;
	if (records->count + count > records->capacity) {
		uint64_t capacity = ((uint64_t)records->count + count) * 2;
		void *data;

		if (capacity > UINT32_MAX)
			capacity = UINT32_MAX;
		data = reallocarray(records->data, capacity, size);
		if (!data)
			return NULL;
		records->data = data;
		records->capacity = capacity;
	}
	at = (uint8_t *)records->data + records->count * size;
	memset(at, 0, count * size);
	records->count += count;
	return at;
}

static int no_memory(struct npumem_error *error)
{
	return npumem_fail_errno(error, -ENOMEM, "add to a graph");
}

static int add_name(struct npumem_builder *b, const char *name, uint32_t *offset,
		    struct npumem_error *error)
{
	int err = npublob_strings_add(&b->strings, name, offset);

	return err ? npumem_fail_errno(error, err, "add a name to a graph") : 0;
}

struct npumem_builder *npumem_builder_new(void)
{
	return calloc(1, sizeof(struct npumem_builder));
}

void npumem_builder_free(struct npumem_builder *b)
{
	if (!b)
		return;
	free(b->tensors.data);
	free(b->tiles.data);
	free(b->accesses.data);
	free(b->steps.data);
	free(b->blocks.data);
	free(b->edges.data);
	free(b->carries.data);
	npublob_strings_free(&b->strings);
	free(b->model);
	free(b);
}

int64_t npumem_builder_add_tensor(struct npumem_builder *b, const struct npumem_tensor_args *args,
				  struct npumem_error *error)
{
	struct npumem_tensor *tensor;
	uint32_t name;
	int err;

	if (!b || !args)
		return npumem_fail(error, -EINVAL, "npumem_builder_add_tensor: NULL argument");
	if ((args->flags & NPUMEM_TENSOR_FLAG_ALIAS) && args->alias_of >= b->tensors.count)
		return npumem_fail(error, -EINVAL,
				   "tensor %u is an alias of tensor %u, which has not been added",
				   b->tensors.count, args->alias_of);
	err = add_name(b, args->name, &name, error);
	if (err)
		return err;
	tensor = append(&b->tensors, sizeof(*tensor), 1);
	if (!tensor)
		return no_memory(error);
	tensor->size = args->size;
	tensor->fixed_offset = args->fixed_offset;
	tensor->alias_offset = args->alias_offset;
	tensor->align = args->align ? args->align : 1;
	tensor->kind = args->kind;
	tensor->flags = args->flags;
	tensor->alias_of = args->flags & NPUMEM_TENSOR_FLAG_ALIAS ? args->alias_of : NPUMEM_NONE;
	tensor->name = name;
	return b->tensors.count - 1;
}

int64_t npumem_builder_add_tile(struct npumem_builder *b, uint32_t tensor,
				const struct npumem_region *region, struct npumem_error *error)
{
	struct npumem_tile *tile;

	if (!b || !region)
		return npumem_fail(error, -EINVAL, "npumem_builder_add_tile: NULL argument");
	if (tensor >= b->tensors.count)
		return npumem_fail(error, -EINVAL,
				   "tile %u is of tensor %u, which has not been added",
				   b->tiles.count, tensor);
	tile = append(&b->tiles, sizeof(*tile), 1);
	if (!tile)
		return no_memory(error);
	tile->tensor = tensor;
	tile->region = *region;
	return b->tiles.count - 1;
}

int64_t npumem_builder_add_block(struct npumem_builder *b, const char *name,
				 struct npumem_error *error)
{
	struct npumem_block *block;
	uint32_t offset;
	int err;

	if (!b)
		return npumem_fail(error, -EINVAL, "npumem_builder_add_block: NULL argument");
	err = add_name(b, name, &offset, error);
	if (err)
		return err;
	block = append(&b->blocks, sizeof(*block), 1);
	if (!block)
		return no_memory(error);
	block->first_step = b->steps.count;
	block->name = offset;
	return b->blocks.count - 1;
}

int64_t npumem_builder_add_step(struct npumem_builder *b, const char *name, uint32_t flags,
				uint64_t cookie, const struct npumem_access *accesses,
				uint32_t access_count, struct npumem_error *error)
{
	struct npumem_access *to;
	struct npumem_step *step;
	uint32_t offset;
	int64_t err;

	if (!b || !accesses)
		return npumem_fail(error, -EINVAL, "npumem_builder_add_step: NULL argument");
	if (!access_count)
		return npumem_fail(error, -EINVAL, "step %u has no accesses", b->steps.count);
	for (uint32_t i = 0; i < access_count; i++)
		if (accesses[i].tile >= b->tiles.count)
			return npumem_fail(error, -EINVAL,
					   "access %u of step %u is of tile %u, which has not "
					   "been added",
					   i, b->steps.count, accesses[i].tile);
	if (!b->blocks.count) {
		err = npumem_builder_add_block(b, NULL, error);
		if (err < 0)
			return err;
	}
	err = add_name(b, name, &offset, error);
	if (err)
		return err;
	/* The step first: taking back what was appended last is easy. */
	step = append(&b->steps, sizeof(*step), 1);
	if (!step)
		return no_memory(error);
	to = append(&b->accesses, sizeof(*to), access_count);
	if (!to) {
		b->steps.count--;
		return no_memory(error);
	}
	memcpy(to, accesses, access_count * sizeof(*to));
	step->first_access = b->accesses.count - access_count;
	step->access_count = access_count;
	step->flags = flags;
	step->name = offset;
	step->cookie = cookie;
	((struct npumem_block *)b->blocks.data)[b->blocks.count - 1].step_count++;
	return b->steps.count - 1;
}

int64_t npumem_builder_add_edge(struct npumem_builder *b, uint32_t from, uint32_t to,
				const struct npumem_carry *carries, uint32_t carry_count,
				struct npumem_error *error)
{
	struct npumem_edge *edge;
	struct npumem_carry *copy = NULL;

	if (!b || (carry_count && !carries))
		return npumem_fail(error, -EINVAL, "npumem_builder_add_edge: NULL argument");
	for (uint32_t i = 0; i < carry_count; i++)
		if (carries[i].from >= b->tensors.count || carries[i].to >= b->tensors.count)
			return npumem_fail(error, -EINVAL,
					   "carry %u of edge %u is from tensor %u to tensor %u, of "
					   "%u added",
					   i, b->edges.count, carries[i].from, carries[i].to,
					   b->tensors.count);
	edge = append(&b->edges, sizeof(*edge), 1);
	if (!edge)
		return no_memory(error);
	if (carry_count) {
		copy = append(&b->carries, sizeof(*copy), carry_count);
		if (!copy) {
			b->edges.count--;
			return no_memory(error);
		}
		memcpy(copy, carries, carry_count * sizeof(*copy));
	}
	edge->from = from;
	edge->to = to;
	edge->first_carry = b->carries.count - carry_count;
	edge->carry_count = carry_count;
	return b->edges.count - 1;
}

int npumem_builder_set_model(struct npumem_builder *b, const void *text, size_t size,
			     struct npumem_error *error)
{
	void *copy = NULL;

	if (!b || (size && !text))
		return npumem_fail(error, -EINVAL, "npumem_builder_set_model: NULL argument");
	if (size) {
		copy = malloc(size);
		if (!copy)
			return no_memory(error);
		memcpy(copy, text, size);
	}
	free(b->model);
	b->model = copy;
	b->model_size = size;
	return 0;
}

static int check_edges(const struct npumem_builder *b, struct npumem_error *error)
{
	const struct npumem_edge *edges = b->edges.data;

	for (uint32_t i = 0; i < b->edges.count; i++)
		if (edges[i].from >= b->blocks.count ||
		    (edges[i].to != NPUMEM_NONE && edges[i].to >= b->blocks.count))
			return npumem_fail(error, -EINVAL,
					   "edge %u is from block %u to block %u, of %u added", i,
					   edges[i].from, edges[i].to, b->blocks.count);
	return 0;
}

int npumem_builder_finish(const struct npumem_builder *b, void **blob, size_t *size,
			  struct npumem_error *error)
{
	int err;

	if (!b || !blob || !size)
		return npumem_fail(error, -EINVAL, "npumem_builder_finish: NULL argument");
	if (!b->steps.count)
		return npumem_fail(error, -EINVAL, "the graph has no step");
	err = check_edges(b, error);
	if (err)
		return err;

	const struct npublob_section all[] = {
		{ NPUMEM_GRAPH_SECTION_TENSORS, sizeof(struct npumem_tensor), b->tensors.count,
		  b->tensors.data },
		{ NPUMEM_GRAPH_SECTION_TILES, sizeof(struct npumem_tile), b->tiles.count,
		  b->tiles.data },
		{ NPUMEM_GRAPH_SECTION_ACCESSES, sizeof(struct npumem_access), b->accesses.count,
		  b->accesses.data },
		{ NPUMEM_GRAPH_SECTION_STEPS, sizeof(struct npumem_step), b->steps.count,
		  b->steps.data },
		{ NPUMEM_GRAPH_SECTION_BLOCKS, sizeof(struct npumem_block), b->blocks.count,
		  b->blocks.data },
		{ NPUMEM_GRAPH_SECTION_EDGES, sizeof(struct npumem_edge), b->edges.count,
		  b->edges.data },
		{ NPUMEM_GRAPH_SECTION_CARRIES, sizeof(struct npumem_carry), b->carries.count,
		  b->carries.data },
		{ NPUMEM_GRAPH_SECTION_STRINGS, 1, b->strings.size, b->strings.bytes },
		{ NPUMEM_GRAPH_SECTION_MODEL, 1, b->model_size, b->model },
	};
	struct npublob_section present[sizeof(all) / sizeof(all[0])];
	uint32_t count = 0;

	/* The first five are never empty here; of the others absent means none. */
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].count)
			present[count++] = all[i];
	err = npublob_write(NPUMEM_GRAPH_MAGIC, present, count, blob, size);
	return err ? npumem_fail_errno(error, err, "write a graph blob") : 0;
}
