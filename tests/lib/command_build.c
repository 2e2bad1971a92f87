// SPDX-License-Identifier: MIT
#include "command_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void command_begin(struct command_build *b, unsigned int operation)
{
	memset(b, 0, sizeof(*b));
	b->head = (struct npumem_command){
		.magic = NPUMEM_COMMAND_MAGIC,
		.version = NPUMEM_COMMAND_VERSION,
		.operation = (uint16_t)operation,
	};
}

struct npumem_command_operand *command_operand(struct command_build *b, unsigned int type,
					       const uint32_t shape[4])
{
	static const uint32_t origin[4] = { 0 };
	uint32_t index = b->head.operand_count++;
	struct npumem_command_operand *o = &b->operands[index];

	o->type = (uint8_t)type;
	o->mode = index ? NPUMEM_COMMAND_READ : NPUMEM_COMMAND_WRITE;
	o->first_piece = b->head.piece_count++;
	o->piece_count = 1;
	memcpy(o->shape, shape, sizeof(o->shape));
	b->pieces[o->first_piece].access = index;
	command_tile(b, index, origin, shape);
	return o;
}

void command_tile(struct command_build *b, uint32_t operand, const uint32_t origin[4],
		  const uint32_t dims[4])
{
	struct npumem_command_operand *o = &b->operands[operand];
	struct npumem_command_piece *piece = &b->pieces[o->first_piece];
	uint64_t stride = engine_type_size(o->type);

	memcpy(o->origin, origin, sizeof(o->origin));
	memcpy(o->dims, dims, sizeof(o->dims));
	piece->rows = dims[1];
	for (int d = 4; d-- > 0; stride *= dims[d])
		piece->stride[d] = stride;
}

void command_scale(struct command_build *b, int32_t multiplier, int32_t shift)
{
	b->scales[b->head.scale_count++] = (struct npumem_command_scale){ multiplier, shift };
}

void command_range(struct command_build *b, uint32_t first)
{
	float infinite = INFINITY, negative = -INFINITY;

	switch (b->operands[0].type) {
	case NPUMEM_COMMAND_INT8:
		b->attributes[first] = INT8_MIN;
		b->attributes[first + 1] = INT8_MAX;
		break;
	case NPUMEM_COMMAND_UINT8:
		b->attributes[first] = 0;
		b->attributes[first + 1] = UINT8_MAX;
		break;
	case NPUMEM_COMMAND_FLOAT32:
		memcpy(&b->attributes[first], &negative, sizeof(negative));
		memcpy(&b->attributes[first + 1], &infinite, sizeof(infinite));
		break;
	}
}

static void put(struct command_build *b, const void *bytes, size_t size)
{
	memcpy(b->bytes + b->size, bytes, size);
	b->size += (size + 7) / 8 * 8;
}

void command_finish(struct command_build *b)
{
	memset(b->bytes, 0, sizeof(b->bytes));
	b->size = 0;
	put(b, &b->head, sizeof(b->head));
	put(b, b->operands, b->head.operand_count * sizeof(*b->operands));
	put(b, b->pieces, b->head.piece_count * sizeof(*b->pieces));
	put(b, b->scales, b->head.scale_count * sizeof(*b->scales));
	put(b, b->attributes, b->head.attribute_count * sizeof(*b->attributes));
	b->head.size = (uint32_t)b->size;
	memcpy(b->bytes, &b->head, sizeof(b->head));
}

int command_run(const struct command_build *b, const struct engine_access *accesses,
		uint32_t access_count, const char **why)
{
	uint64_t needed;
	void *scratch;
	int err = engine_check(b->bytes, b->size, &needed, why);

	if (err)
		return err;
	scratch = malloc(needed);
	err = engine_execute(b->bytes, b->size, accesses, access_count, scratch, needed, why);
	free(scratch);
	return err;
}
