// SPDX-License-Identifier: MIT
/* Commands: checked, their operands found and gathered, and given to a kernel. */
#include "command.h"

#include <errno.h>
#include <string.h>

#include "kernels/kernel.h"

#define SCRATCH_ALIGN 64u

static const struct engine_kernel *const kernels[] = {
	[NPUMEM_COMMAND_COPY] = &engine_copy,
	[NPUMEM_COMMAND_CONVERT] = &engine_convert,
	[NPUMEM_COMMAND_ADD] = &engine_add,
	[NPUMEM_COMMAND_MUL] = &engine_mul,
	[NPUMEM_COMMAND_CONV] = &engine_conv,
	[NPUMEM_COMMAND_DEPTHWISE] = &engine_depthwise,
	[NPUMEM_COMMAND_AVERAGE_POOL] = &engine_average_pool,
	[NPUMEM_COMMAND_MAX_POOL] = &engine_max_pool,
	[NPUMEM_COMMAND_SOFTMAX] = &engine_softmax,
	[NPUMEM_COMMAND_LOGISTIC] = &engine_logistic,
	[NPUMEM_COMMAND_TANH] = &engine_tanh,
	[NPUMEM_COMMAND_PAD] = &engine_pad,
	[NPUMEM_COMMAND_CONCATENATION] = &engine_concatenation,
	[NPUMEM_COMMAND_RESIZE_BILINEAR] = &engine_resize_bilinear,
	[NPUMEM_COMMAND_RESIZE_NEAREST] = &engine_resize_nearest,
	[NPUMEM_COMMAND_LSTM] = &engine_lstm,
	[NPUMEM_COMMAND_SLICE] = &engine_slice,
	[NPUMEM_COMMAND_SPLIT] = &engine_split,
};

/*
 * struct parsed - a command that has been checked
 * @scratch: bytes for all operands' tiles and for the kernel
 */
struct parsed {
	const struct npumem_command *head;
	const struct npumem_command_operand *operands;
	const struct npumem_command_piece *pieces;
	const struct engine_kernel *kernel;
	struct engine_tile tiles[NPUMEM_COMMAND_MAX_OPERANDS];
	struct engine_call call;
	uint64_t scratch;
};

const char *engine_operator_name(unsigned int operation)
{
	return operation < sizeof(kernels) / sizeof(*kernels) && kernels[operation] ?
		       kernels[operation]->name :
		       NULL;
}

unsigned int engine_type_size(unsigned int type)
{
	static const uint8_t sizes[] = {
		[NPUMEM_COMMAND_FLOAT32] = 4, [NPUMEM_COMMAND_FLOAT16] = 2,
		[NPUMEM_COMMAND_INT8] = 1,    [NPUMEM_COMMAND_UINT8] = 1,
		[NPUMEM_COMMAND_INT16] = 2,   [NPUMEM_COMMAND_INT32] = 4,
	};

	return type < sizeof(sizes) ? sizes[type] : 0;
}

static uint64_t scratch_bytes(uint64_t bytes)
{
	return (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
}

/* The sections have to be all that there is. */
static int parse_head(struct parsed *p, const void *command, size_t size)
{
	const struct npumem_command *head = command;
	uint64_t end;

	if ((uintptr_t)command % 8)
		return engine_refuse(&p->call, -EBADMSG, "the command is not aligned to 8 bytes");
	if (size < sizeof(*head) || head->magic != NPUMEM_COMMAND_MAGIC)
		return engine_refuse(&p->call, -EBADMSG, "it is not a command");
	if (head->version != NPUMEM_COMMAND_VERSION)
		return engine_refuse(&p->call, -EOPNOTSUPP, "its version is not known here");
	if (size > NPUMEM_COMMAND_MAX_BYTES || head->operand_count > NPUMEM_COMMAND_MAX_OPERANDS ||
	    head->piece_count > NPUMEM_COMMAND_MAX_PIECES)
		return engine_refuse(&p->call, -E2BIG,
				     "it has more bytes, operands or pieces than a command may");
	p->head = head;
	p->operands = (const struct npumem_command_operand *)(head + 1);
	/* An operand has 60 bytes: what follows is at a multiple of 8. */
	end = sizeof(*head) + (uint64_t)head->operand_count * sizeof(*p->operands);
	end = (end + 7) / 8 * 8;
	p->pieces = (const void *)((const char *)command + end);
	end += head->piece_count * sizeof(*p->pieces);
	p->call.scales = (const void *)((const char *)command + end);
	end += (uint64_t)head->scale_count * sizeof(*p->call.scales);
	p->call.attributes = (const void *)((const char *)command + end);
	end += ((uint64_t)head->attribute_count + 1) / 2 * 8;
	if (head->size != size || end != size)
		return engine_refuse(&p->call, -EBADMSG,
				     "its size is not that of the sections that it says it has");
	if (!engine_operator_name(head->operation))
		return engine_refuse(&p->call, -EOPNOTSUPP, "its operator is not known here");
	p->kernel = kernels[head->operation];
	p->call.scale_count = head->scale_count;
	if (head->operand_count < p->kernel->min_tiles ||
	    head->operand_count > p->kernel->max_tiles ||
	    head->attribute_count != p->kernel->attributes)
		return engine_refuse(&p->call, -EINVAL,
				     "it has not the operands and attributes of its operator");
	return 0;
}

static int parse_scales(struct parsed *p)
{
	for (uint32_t i = 0; i < p->call.scale_count; i++)
		if (p->call.scales[i].multiplier < 0 || p->call.scales[i].shift < -31 ||
		    p->call.scales[i].shift > 30)
			return engine_refuse(&p->call, -EINVAL, "a scale is out of range");
	return 0;
}

static int parse_shape(struct parsed *p, const struct npumem_command_operand *o,
		       struct engine_tile *tile)
{
	bool empty = !o->dims[0];

	tile->count = 1;
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++) {
		if (!o->shape[d] || o->shape[d] > NPUMEM_COMMAND_MAX_DIM)
			return engine_refuse(&p->call, -E2BIG, "a dimension is 0 or too large");
		if (!o->dims[d] != empty || o->dims[d] > o->shape[d] ||
		    o->origin[d] > o->shape[d] - o->dims[d])
			return engine_refuse(&p->call, -EINVAL, "a tile is not in its tensor");
		tile->dims[d] = o->dims[d];
		tile->shape[d] = o->shape[d];
		tile->origin[d] = o->origin[d];
		/* Both below 2^31. */
		tile->count *= o->dims[d];
		if (tile->count * tile->elem > NPUMEM_COMMAND_MAX_TILE)
			return engine_refuse(&p->call, -E2BIG, "a tile is too large");
	}
	return 0;
}

/* Rows of pieces, one behind the other, are those of the tile. */
static int parse_pieces(struct parsed *p, const struct npumem_command_operand *o, uint32_t *next)
{
	uint64_t rows = 0;

	if (o->first_piece != *next || o->piece_count > p->head->piece_count - *next)
		return engine_refuse(&p->call, -EBADMSG, "an operand's pieces are not its own");
	*next += o->piece_count;
	for (uint32_t i = 0; i < o->piece_count; i++) {
		if (!p->pieces[o->first_piece + i].rows)
			return engine_refuse(&p->call, -EINVAL, "a piece has no rows");
		rows += p->pieces[o->first_piece + i].rows;
	}
	if (rows != o->dims[DIM_H])
		return engine_refuse(&p->call, -EINVAL, "an operand's pieces are not its tile");
	return 0;
}

/* What the operator does with an operand. */
static unsigned int mode_of(const struct parsed *p, uint32_t index)
{
	if (!index || (p->kernel->splits && index + 1 < p->head->operand_count))
		return NPUMEM_COMMAND_WRITE;
	return p->kernel->updates & (1u << index) ? NPUMEM_COMMAND_UPDATE : NPUMEM_COMMAND_READ;
}

static int parse_operand(struct parsed *p, uint32_t index, uint32_t *next)
{
	const struct npumem_command_operand *o = &p->operands[index];
	struct engine_tile *tile = &p->tiles[index];
	unsigned int mode = mode_of(p, index);
	int32_t min, max;
	int err;

	tile->type = o->type;
	tile->mode = o->mode;
	tile->elem = (uint8_t)engine_type_size(o->type);
	tile->zero_point = o->zero_point;
	if (!tile->elem)
		return engine_refuse(&p->call, -EOPNOTSUPP, "an operand's type is not known here");
	if (o->reserved)
		return engine_refuse(&p->call, -EBADMSG, "a reserved field is not zero");
	if (o->mode != mode)
		return engine_refuse(&p->call, -EINVAL,
				     "an operand is not accessed as its operator does");
	engine_range(o->type, &min, &max);
	if (o->zero_point < min || o->zero_point > max)
		return engine_refuse(&p->call, -EINVAL, "a zero point is not of its type");
	err = parse_shape(p, o, tile);
	if (!err && !index && !tile->count)
		err = engine_refuse(&p->call, -EINVAL, "the output is empty");
	if (!err)
		err = parse_pieces(p, o, next);
	p->scratch += scratch_bytes(tile->count * tile->elem);
	return err;
}

static int parse(struct parsed *p, const void *command, size_t size)
{
	uint32_t next = 0;
	int err;

	memset(p, 0, sizeof(*p));
	err = parse_head(p, command, size);
	if (!err)
		err = parse_scales(p);
	for (uint32_t i = 0; !err && i < p->head->operand_count; i++)
		err = parse_operand(p, i, &next);
	if (err)
		return err;
	if (next != p->head->piece_count)
		return engine_refuse(&p->call, -EBADMSG, "a piece is of no operand");
	p->call.tiles = p->tiles;
	p->call.tile_count = p->head->operand_count;
	err = p->kernel->check(&p->call);
	/* What the operands take is below 2^35. */
	p->scratch += SCRATCH_ALIGN;
	if (!err && p->kernel->scratch &&
	    __builtin_add_overflow(p->scratch, p->kernel->scratch(&p->call), &p->scratch))
		err = engine_refuse(&p->call, -E2BIG, "it needs too much scratch memory");
	return err;
}

int engine_check(const void *command, size_t size, uint64_t *scratch, const char **why)
{
	struct parsed p;
	int err = parse(&p, command, size);

	if (why)
		*why = p.call.why;
	if (scratch)
		*scratch = err ? 0 : p.scratch;
	return err;
}

/* Where the bytes of a piece end; false: beyond what there can be. */
static bool piece_end(const struct engine_tile *tile, const struct npumem_command_piece *piece,
		      uint64_t *end)
{
	*end = piece->offset;
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++) {
		uint64_t last = (d == DIM_H ? piece->rows : (uint64_t)tile->dims[d]) - 1, bytes;

		if (__builtin_mul_overflow(last, piece->stride[d], &bytes) ||
		    __builtin_add_overflow(*end, bytes, end))
			return false;
	}
	return !__builtin_add_overflow(*end, tile->elem, end);
}

static int check_piece(struct parsed *p, const struct engine_tile *tile,
		       const struct npumem_command_piece *piece,
		       const struct engine_access *accesses, uint32_t access_count)
{
	uint64_t end;

	if (piece->access >= access_count)
		return engine_refuse(&p->call, -ENXIO, "the step has no such access");
	if (!piece_end(tile, piece, &end) || end > accesses[piece->access].size)
		return engine_refuse(&p->call, -ERANGE, "an operand is outside its access's bytes");
	if (tile->mode != NPUMEM_COMMAND_READ && !accesses[piece->access].writable)
		return engine_refuse(&p->call, -EACCES, "the step does not write that access");
	return 0;
}

/* Whether the elements of a piece that is the whole tile lie one behind the other. */
static bool is_dense(const struct engine_tile *tile, const struct npumem_command_piece *piece)
{
	uint64_t stride = tile->elem;

	for (int d = NPUMEM_COMMAND_DIMS; d-- > 0; stride *= (uint64_t)tile->dims[d])
		if (tile->dims[d] > 1 && piece->stride[d] != stride)
			return false;
	return true;
}

static bool overlap(const struct engine_access *a, const struct engine_access *b)
{
	uintptr_t first = (uintptr_t)a->data, second = (uintptr_t)b->data;

	return first < second + b->size && second < first + a->size;
}

/* Whether what an operand writes may be another operand's bytes. */
static bool is_shared(const struct parsed *p, uint32_t index, const struct engine_access *accesses)
{
	const struct npumem_command_operand *o = &p->operands[index];
	const struct engine_access *own = &accesses[p->pieces[o->first_piece].access];

	for (uint32_t i = 0; i < p->head->piece_count; i++)
		if (i != o->first_piece && overlap(own, &accesses[p->pieces[i].access]))
			return true;
	return false;
}

/* The bytes of a tile, between the pieces and dense memory. */
static void move(const struct parsed *p, uint32_t index, const struct engine_access *accesses,
		 bool gather)
{
	const struct npumem_command_operand *o = &p->operands[index];
	const struct engine_tile *tile = &p->tiles[index];
	uint64_t row = (uint64_t)(tile->dims[DIM_W] * tile->dims[DIM_C]) * tile->elem;
	uint64_t first = 0;

	for (uint32_t i = 0; i < o->piece_count; i++) {
		const struct npumem_command_piece *piece = &p->pieces[o->first_piece + i];
		char *base = (char *)accesses[piece->access].data + piece->offset;

		for (uint64_t at = 0; at < (uint64_t)tile->dims[DIM_N] * piece->rows; at++) {
			uint64_t n = at / piece->rows, h = at % piece->rows;
			char *dense = (char *)tile->data +
				      (n * (uint64_t)tile->dims[DIM_H] + first + h) * row;
			char *strided = base + n * piece->stride[DIM_N] + h * piece->stride[DIM_H];

			for (int64_t w = 0; w < tile->dims[DIM_W]; w++)
				for (int64_t c = 0; c < tile->dims[DIM_C]; c++) {
					char *from = strided + (uint64_t)w * piece->stride[DIM_W] +
						     (uint64_t)c * piece->stride[DIM_C];

					memcpy(gather ? dense : from, gather ? from : dense,
					       tile->elem);
					dense += tile->elem;
				}
		}
		first += piece->rows;
	}
}

/* Where a tile's elements lie; those that do not lie as kernels want them are moved. */
static void *place(struct parsed *p, uint32_t index, const struct engine_access *accesses,
		   char **scratch)
{
	const struct npumem_command_operand *o = &p->operands[index];
	struct engine_tile *tile = &p->tiles[index];
	const struct npumem_command_piece *piece = &p->pieces[o->first_piece];

	if (!o->piece_count)
		return NULL;
	tile->data = (char *)accesses[piece->access].data + piece->offset;
	if (o->piece_count == 1 && is_dense(tile, piece) &&
	    (uintptr_t)tile->data % tile->elem == 0 &&
	    (tile->mode == NPUMEM_COMMAND_READ || !is_shared(p, index, accesses)))
		return NULL;
	tile->data = *scratch;
	*scratch += scratch_bytes(tile->count * tile->elem);
	if (tile->mode != NPUMEM_COMMAND_WRITE)
		move(p, index, accesses, true);
	return tile->data;
}

static int execute(struct parsed *p, const struct engine_access *accesses, uint32_t access_count,
		   void *scratch, uint64_t scratch_size)
{
	void *moved[NPUMEM_COMMAND_MAX_OPERANDS];
	uintptr_t begin = (uintptr_t)scratch;
	char *next = (char *)scratch + (SCRATCH_ALIGN - begin % SCRATCH_ALIGN) % SCRATCH_ALIGN;
	int err = 0;

	for (uint32_t i = 0; !err && i < p->call.tile_count; i++)
		for (uint32_t k = 0; !err && k < p->operands[i].piece_count; k++)
			err = check_piece(p, &p->tiles[i],
					  &p->pieces[p->operands[i].first_piece + k], accesses,
					  access_count);
	if (err)
		return err;
	if (scratch_size < p->scratch)
		return engine_refuse(&p->call, -ENOSPC, "there is too little scratch memory");
	for (uint32_t i = 0; i < p->call.tile_count; i++)
		moved[i] = place(p, i, accesses, &next);
	p->call.scratch = next;
	p->kernel->run(&p->call);
	for (uint32_t i = 0; i < p->call.tile_count; i++)
		if (moved[i] && p->tiles[i].mode != NPUMEM_COMMAND_READ)
			move(p, i, accesses, false);
	return 0;
}

int engine_execute(const void *command, size_t size, const struct engine_access *accesses,
		   uint32_t access_count, void *scratch, uint64_t scratch_size, const char **why)
{
	struct parsed p;
	int err = parse(&p, command, size);

	if (!err)
		err = execute(&p, accesses, access_count, scratch, scratch_size);
	if (why)
		*why = p.call.why;
	return err;
}
