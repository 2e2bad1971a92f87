// SPDX-License-Identifier: MIT
#include "maker.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "fixed.h"
#include "reader.h"
#include "region.h"
#include "schema.h"
#include "../../grow/grow.h"

int maker_fail(struct command_maker *m, int err, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return flatbuf_fail(m->fb, err, "%s: %s", import_op_text(m->op).s, text);
}

/* ------------------------------------------------------------------------------ the file */

static struct flatbuf_table tensor_table(struct command_maker *m, uint32_t tensor)
{
	return flatbuf_vector_table(m->fb, &m->all->tensors,
				    (uint32_t)m->graph->tensors[tensor].id);
}

uint8_t maker_tensor_type(struct command_maker *m, uint32_t tensor)
{
	struct flatbuf_table table = tensor_table(m, tensor);

	return flatbuf_u8(m->fb, &table, TENSOR_TYPE, TYPE_FLOAT32);
}

struct quantization maker_file_quantization(struct flatbuf *fb, const struct flatbuf_table *tensor)
{
	struct flatbuf_table table = flatbuf_table(fb, tensor, TENSOR_QUANTIZATION);

	return (struct quantization){
		.scales = flatbuf_vector(fb, &table, QUANTIZATION_SCALE, 4),
		.zero_points = flatbuf_vector(fb, &table, QUANTIZATION_ZERO_POINT, 8),
	};
}

struct quantization maker_quantization_of(struct command_maker *m, uint32_t tensor)
{
	struct flatbuf_table table = tensor_table(m, tensor);

	return maker_file_quantization(m->fb, &table);
}

/* A scale of a tensor; one that has none, or none that is positive, is refused. */
float maker_scale_at(struct command_maker *m, uint32_t tensor, uint32_t index)
{
	struct quantization q = maker_quantization_of(m, tensor);
	float scale = 0;

	if (index < q.scales.count)
		scale = engine_float(flatbuf_vector_i32(m->fb, &q.scales, index));
	if (!(scale > 0 && isfinite(scale)))
		maker_fail(m, -EINVAL, "%s has no scale",
			   import_tensor_text(&m->graph->tensors[tensor]).s);
	return scale;
}

float maker_scale_of(struct command_maker *m, uint32_t tensor)
{
	return maker_scale_at(m, tensor, 0);
}

/* Index in the graph of the operator's n-th input in the file; NPUMEM_NONE if it has none. */
uint32_t maker_input_at(struct command_maker *m, uint32_t n)
{
	int32_t number = n < m->inputs.count ? flatbuf_vector_i32(m->fb, &m->inputs, n) : -1;

	/* Numbers have been checked as the graph was read. */
	return number >= 0 && (uint32_t)number < m->all->tensors.count ? m->all->index[number] :
									 NPUMEM_NONE;
}

/* Constant data of a tensor. */
struct flatbuf_vector maker_data_of(struct command_maker *m, uint32_t tensor)
{
	struct flatbuf_table table = tensor_table(m, tensor);

	return tflite_buffer(m->fb, &m->all->buffers, flatbuf_u32(m->fb, &table, TENSOR_BUFFER, 0));
}

/* ------------------------------------------------------------------------- parts of commands */

static uint8_t command_type(uint8_t type)
{
	switch (type) {
	case TYPE_FLOAT32:
		return NPUMEM_COMMAND_FLOAT32;
	case TYPE_FLOAT16:
		return NPUMEM_COMMAND_FLOAT16;
	case TYPE_INT8:
		return NPUMEM_COMMAND_INT8;
	case TYPE_UINT8:
		return NPUMEM_COMMAND_UINT8;
	case TYPE_INT16:
		return NPUMEM_COMMAND_INT16;
	case TYPE_INT32:
		return NPUMEM_COMMAND_INT32;
	default:
		return 0;
	}
}

bool maker_is_float_type(uint8_t type)
{
	return type == TYPE_FLOAT32 || type == TYPE_FLOAT16;
}

/* Elements along all dimensions from @first to before @end. */
static uint32_t product(const struct npuplan_tensor *tensor, uint32_t first, uint32_t end)
{
	uint64_t elements = 1;

	for (uint32_t d = first; d < end; d++)
		elements *= (uint64_t)tensor->shape[d];
	return elements <= NPUMEM_COMMAND_MAX_DIM ? (uint32_t)elements : 0;
}

static void view_shape(const struct npuplan_tensor *t, enum view view, uint32_t shape[4])
{
	uint32_t rank = t->dim_count, last = rank ? rank - 1 : 0;

	for (int d = 0; d < 4; d++)
		shape[d] = 1;
	switch (view) {
	case VECTOR:
		shape[3] = product(t, 0, rank);
		return;
	case WEIGHTS:
		shape[0] = product(t, 0, last);
		break;
	case SERIES:
		shape[0] = product(t, 0, rank > 2 ? 1 : 0);
		shape[1] = product(t, rank > 2 ? 1 : 0, last);
		break;
	case BATCHES:
		shape[0] = product(t, 0, last);
		break;
	case NATURAL:
	case ALIGNED:
		if (rank == 4 || view == ALIGNED) {
			for (uint32_t d = 0; d < rank; d++)
				shape[4 - rank + d] = product(t, d, d + 1);
			return;
		}
		shape[1] = product(t, 0, last);
		break;
	}
	if (rank)
		shape[3] = product(t, last, rank);
}

/* Where a tensor lies that is part of another one; NULL: it has bytes of its own. */
static const struct npuplan_joined *joined_of(const struct npuplan_graph *graph, uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->joined_count; i++)
		if (graph->joined[i].tensor == tensor)
			return &graph->joined[i];
	return NULL;
}

/*
 * Which bytes of a part a region of its base is; false: they are not all its own. Steps access
 * boxes of tensors, so what is contiguous in the part is one chunk again.
 */
static bool region_in_part(const struct npuplan_joined *joined, const struct npumem_region *region,
			   struct npumem_region *out)
{
	uint64_t from = region->offset - joined->first, within = from % joined->stride;
	uint64_t end = within + region->length;

	if (region->offset < joined->first || from / joined->stride * joined->run >= joined->size)
		return false;
	*out = *region;
	out->offset = from / joined->stride * joined->run + within;
	for (int d = 0; d < 3; d++) {
		if (out->count[d] <= 1)
			continue;
		if (out->stride[d] % joined->stride)
			end += (out->count[d] - 1) * out->stride[d];
		else
			out->stride[d] = out->stride[d] / joined->stride * joined->run;
	}
	while (out->count[0] > 1 && out->stride[0] == out->length) {
		out->length *= out->count[0];
		memmove(out->count, out->count + 1, 2 * sizeof(*out->count));
		memmove(out->stride, out->stride + 1, 2 * sizeof(*out->stride));
		out->count[2] = 1;
		out->stride[2] = 0;
	}
	return end <= joined->run;
}

/* The region of @tensor that an access is of; false: it is of another tensor. */
static bool access_region(const struct command_maker *m, uint32_t tensor, uint32_t access,
			  struct npumem_region *region)
{
	const struct npumem_tile *tile =
		&m->graph->tiles[m->graph->accesses[m->step->first_access + access].tile];
	const struct npuplan_joined *joined = joined_of(m->graph, tensor);

	*region = tile->region;
	if (!joined)
		return tile->tensor == tensor;
	return tile->tensor == joined->base && region_in_part(joined, &tile->region, region);
}

/* Whether another tensor lies in a tensor. */
static bool has_part(const struct npuplan_graph *graph, uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->joined_count; i++)
		if (graph->joined[i].base == tensor)
			return true;
	return false;
}

/* The tensor that has a tensor's bytes, as far as joining goes. */
static uint32_t base_of(const struct npuplan_graph *graph, uint32_t tensor)
{
	const struct npuplan_joined *joined = joined_of(graph, tensor);

	return joined ? joined->base : tensor;
}

/*
 * Of the operator's inputs, or outputs, how many tensors have their bytes in @base; @before: out:
 * of these how many stand before @tensor.
 */
static uint32_t count_sharers(const struct command_maker *m, uint32_t tensor, uint32_t base,
			      bool write, uint32_t *before)
{
	const uint32_t *list = write ? m->op->outputs : m->op->inputs;
	uint32_t length = write ? m->op->output_count : m->op->input_count, count = 0;

	for (uint32_t i = 0; i < length; i++) {
		bool again = false;

		for (uint32_t k = 0; k < i; k++)
			again |= list[k] == list[i];
		if (list[i] == tensor && !again)
			*before = count;
		count += !again && base_of(m->graph, list[i]) == base;
	}
	return count;
}

/* Whether a step's access is a read, or a write, of bytes of a tensor; updates are both. */
static bool is_access_of(const struct command_maker *m, uint32_t access, uint32_t base, bool write)
{
	const struct npumem_access *a = &m->graph->accesses[m->step->first_access + access];

	return a->mode != (write ? NPUMEM_ACCESS_READ : NPUMEM_ACCESS_WRITE) &&
	       m->graph->tiles[a->tile].tensor == base;
}

/*
 * The access of a tensor in whose base others lie, or that lies there itself. Accesses stand in the
 * order of the operands, so if each operand that shares the base has one, it is known which. Else
 * one that is copied has the only access, but parts of a part fit, too: it is the largest that
 * fits.
 */
static uint32_t find_shared(const struct command_maker *m, uint32_t tensor, bool write)
{
	uint32_t base = base_of(m->graph, tensor), found = NPUMEM_NONE, number = 0, before = 0;
	uint32_t sharers = count_sharers(m, tensor, base, write, &before), ordered = NPUMEM_NONE;
	struct npumem_region region;
	uint64_t most = 0;

	for (uint32_t i = 0; i < m->step->access_count; i++) {
		if (!is_access_of(m, i, base, write))
			continue;
		if (number++ == before)
			ordered = i;
		if (!access_region(m, tensor, i, &region) || chunks_bytes(&region) <= most)
			continue;
		found = i;
		most = chunks_bytes(&region);
	}
	return number == sharers && ordered != NPUMEM_NONE &&
			       access_region(m, tensor, ordered, &region) ?
		       ordered :
		       found;
}

/*
 * The step's access of a tensor: the @nth one, the last if there are not as many; NPUMEM_NONE if
 * there is none.
 */
static uint32_t find_access(const struct command_maker *m, uint32_t tensor, bool write,
			    uint32_t nth)
{
	uint32_t found = NPUMEM_NONE;

	if (joined_of(m->graph, tensor) || has_part(m->graph, tensor))
		return find_shared(m, tensor, write);
	for (uint32_t i = 0; i < m->step->access_count; i++) {
		if (!is_access_of(m, i, tensor, write))
			continue;
		found = i;
		if (!nth--)
			break;
	}
	return found;
}

bool maker_writes(const struct command_maker *m, uint32_t tensor)
{
	return find_access(m, tensor, true, 0) != NPUMEM_NONE;
}

/* How many inputs of the operand's tensor stand before it. */
static uint32_t earlier(const struct command_maker *m, uint32_t tensor, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n && i < m->op->input_count; i++)
		count += m->op->inputs[i] == tensor;
	return count;
}

int32_t maker_zero_point(struct command_maker *m, uint32_t tensor)
{
	struct quantization q = maker_quantization_of(m, tensor);
	int64_t zero = q.zero_points.count && !maker_is_float_type(maker_tensor_type(m, tensor)) ?
			       flatbuf_vector_i64(m->fb, &q.zero_points, 0) :
			       0;

	for (uint32_t i = 1; i < q.zero_points.count; i++)
		if (flatbuf_vector_i64(m->fb, &q.zero_points, i) != zero)
			maker_fail(m, -EOPNOTSUPP, "%s has several zero points",
				   import_tensor_text(&m->graph->tensors[tensor]).s);
	if (zero < INT32_MIN || zero > INT32_MAX)
		maker_fail(m, -EINVAL, "%s has zero point %" PRId64,
			   import_tensor_text(&m->graph->tensors[tensor]).s, zero);
	return (int32_t)zero;
}

/* Where the tile of an access lies in its tensor, and its bytes in the access. */
static void set_tile(struct command_maker *m, struct npumem_command_operand *o, uint32_t access,
		     uint32_t tensor)
{
	const struct npuplan_tensor *t = &m->graph->tensors[tensor];
	struct npumem_command_piece *piece = &m->pieces[m->head.piece_count];
	struct npumem_region region;
	struct tflite_box box;
	uint64_t stride = t->elem_size;

	if (!t->elem_size || !o->shape[0] || !o->shape[1] || !o->shape[2] || !o->shape[3] ||
	    !access_region(m, tensor, access, &region) ||
	    !tflite_box(o->shape, t->elem_size, &region, &box)) {
		maker_fail(m, -EOPNOTSUPP,
			   "step %s accesses a part of %s that is no box of its shape",
			   m->step->name, import_tensor_text(t).s);
		return;
	}
	memcpy(o->origin, box.origin, sizeof(o->origin));
	memcpy(o->dims, box.dims, sizeof(o->dims));
	*piece = (struct npumem_command_piece){ .access = access, .rows = box.dims[1] };
	for (int d = 4; d-- > 0; stride *= box.dims[d])
		piece->stride[d] = stride;
	o->piece_count = 1;
	m->head.piece_count++;
}

/* The next operand. @nth: among the step's accesses of that tensor */
void maker_add_operand(struct command_maker *m, uint32_t tensor, enum view view, unsigned int mode,
		       uint32_t nth)
{
	maker_add_stored(m, tensor, tensor, view, mode, nth);
}

void maker_add_stored(struct command_maker *m, uint32_t tensor, uint32_t like, enum view view,
		      unsigned int mode, uint32_t nth)
{
	struct npumem_command_operand *o = &m->operands[m->head.operand_count];
	const struct npuplan_tensor *t = &m->graph->tensors[tensor];
	uint8_t type;
	uint32_t access;

	if (m->fb->err)
		return;
	if (m->head.operand_count == NPUMEM_COMMAND_MAX_OPERANDS) {
		maker_fail(m, -EOPNOTSUPP, "it has more than %d operands",
			   NPUMEM_COMMAND_MAX_OPERANDS);
		return;
	}
	type = maker_tensor_type(m, like);
	access = find_access(m, tensor, mode != NPUMEM_COMMAND_READ, nth);
	*o = (struct npumem_command_operand){
		.type = command_type(type),
		.mode = (uint8_t)mode,
		.first_piece = m->head.piece_count,
		.zero_point = maker_zero_point(m, like),
	};
	view_shape(t, view, o->shape);
	if (!o->type)
		maker_fail(m, -EOPNOTSUPP, "%s has elements of TFLite's type %u",
			   import_tensor_text(t).s, type);
	else if (access != NPUMEM_NONE)
		set_tile(m, o, access, tensor);
	else if (mode != NPUMEM_COMMAND_READ || t->kind == NPUMEM_TENSOR_PARAMETER)
		maker_fail(m, -EINVAL, "step %s does not access %s: parameters have to be planned",
			   m->step->name, import_tensor_text(t).s);
	m->head.operand_count++;
}

/* The operator's n-th input in the file, which it has to have. */
uint32_t maker_add_input(struct command_maker *m, uint32_t n, enum view view)
{
	uint32_t tensor = maker_input_at(m, n);

	if (tensor == NPUMEM_NONE)
		maker_fail(m, -EINVAL, "it has no input %" PRIu32, n);
	else
		maker_add_operand(m, tensor, view, NPUMEM_COMMAND_READ, earlier(m, tensor, n));
	return m->fb->err ? 0 : tensor;
}

uint32_t maker_add_output(struct command_maker *m, enum view view)
{
	if (m->outputs.count != 1)
		maker_fail(m, -EOPNOTSUPP, "it has %" PRIu32 " outputs", m->outputs.count);
	maker_add_operand(m, m->op->outputs[0], view, NPUMEM_COMMAND_WRITE, 0);
	return m->op->outputs[0];
}

/* Of an input that has more than the output's tile, the same part becomes the operand. */
static void take_same_part(struct command_maker *m)
{
	const struct npumem_command_operand *out = &m->operands[0];
	struct npumem_command_operand *in = &m->operands[1];
	struct npumem_command_piece *piece = &m->pieces[1];

	if (m->fb->err || !in->piece_count || memcmp(in->shape, out->shape, sizeof(in->shape)) != 0)
		return;
	for (int d = 0; d < 4; d++)
		if (in->origin[d] > out->origin[d] ||
		    in->origin[d] + in->dims[d] < out->origin[d] + out->dims[d])
			return;
	for (int d = 0; d < 4; d++)
		piece->offset += (uint64_t)(out->origin[d] - in->origin[d]) * piece->stride[d];
	piece->rows = out->dims[1];
	memcpy(in->origin, out->origin, sizeof(in->origin));
	memcpy(in->dims, out->dims, sizeof(in->dims));
}

/*
 * Output and input of an operator that takes element for element. A parameter is accessed whole
 * even where the output is cut.
 */
void maker_add_same(struct command_maker *m)
{
	maker_add_output(m, NATURAL);
	maker_add_input(m, 0, NATURAL);
	take_same_part(m);
}

static uint64_t elements(const uint32_t dims[NPUMEM_COMMAND_DIMS])
{
	return (uint64_t)dims[0] * dims[1] * dims[2] * dims[3];
}

void maker_add_copy(struct command_maker *m)
{
	maker_add_output(m, NATURAL);
	maker_add_input(m, 0, NATURAL);
	maker_fit_copy(m);
}

/* A whole tensor's elements have an order, and so any shape of as many. */
void maker_fit_copy(struct command_maker *m)
{
	const struct npumem_command_operand *out = &m->operands[0];
	struct npumem_command_operand *in = &m->operands[1];
	struct npumem_command_piece *piece = &m->pieces[1];
	uint64_t stride;

	if (m->fb->err || !in->piece_count)
		return;
	stride = engine_type_size(in->type);
	if (memcmp(in->dims, in->shape, sizeof(in->dims)) == 0 &&
	    elements(in->shape) == elements(out->shape)) {
		memcpy(in->shape, out->shape, sizeof(in->shape));
		memcpy(in->dims, out->shape, sizeof(in->dims));
		piece->rows = in->dims[1];
		for (int d = NPUMEM_COMMAND_DIMS; d-- > 0; stride *= in->dims[d])
			piece->stride[d] = stride;
	}
	take_same_part(m);
}

void maker_add_scale(struct command_maker *m, double factor)
{
	struct npumem_command_scale *scales =
		grow_by_one(m->scales, m->head.scale_count, sizeof(*scales));

	if (!scales) {
		flatbuf_fail(m->fb, -ENOMEM, "out of memory");
		return;
	}
	m->scales = scales;
	if (!(factor >= 0 && isfinite(factor)))
		maker_fail(m, -EINVAL, "a scale is none");
	else
		fixed_quantize(factor, &scales[m->head.scale_count].multiplier,
			       &scales[m->head.scale_count].shift);
	m->head.scale_count++;
}

static int32_t nearest(struct command_maker *m, float value)
{
	value = roundf(value);
	if (!(value >= -0x1p30f && value <= 0x1p30f)) {
		maker_fail(m, -EINVAL, "a scale is out of range");
		return 0;
	}
	return (int32_t)value;
}

uint8_t maker_activation_at(struct command_maker *m, unsigned int field)
{
	return flatbuf_u8(m->fb, &m->options, field, ACTIVATION_NONE);
}

/*
 * Range of the output that an activation leaves; two attributes from @first on. Fused into an
 * operator of floats, none leaves infinities, as in TensorFlow Lite's CalculateActivationRange().
 */
void maker_set_range(struct command_maker *m, uint8_t activation, uint32_t tensor, uint32_t first)
{
	static const float ranges[][2] = {
		[ACTIVATION_NONE] = { -FLT_MAX, FLT_MAX },
		[ACTIVATION_RELU] = { 0, FLT_MAX },
		[ACTIVATION_RELU_N1_TO_1] = { -1, 1 },
		[ACTIVATION_RELU6] = { 0, 6 },
	};
	uint8_t type = maker_tensor_type(m, tensor);
	int32_t min = type == TYPE_UINT8 ? 0 :
		      type == TYPE_INT8	 ? INT8_MIN :
		      type == TYPE_INT16 ? INT16_MIN :
					   INT32_MIN;
	int32_t max = type == TYPE_UINT8 ? UINT8_MAX :
		      type == TYPE_INT8	 ? INT8_MAX :
		      type == TYPE_INT16 ? INT16_MAX :
					   INT32_MAX;
	int32_t *range = &m->attributes[first];

	if (activation >= sizeof(ranges) / sizeof(*ranges)) {
		maker_fail(m, -EOPNOTSUPP, "it has fused activation %u", activation);
		return;
	}
	for (int i = 0; i < 2 && !m->fb->err; i++) {
		float bound = ranges[activation][i];
		int32_t value;

		if (maker_is_float_type(type)) {
			range[i] = engine_bits(bound);
			continue;
		}
		range[i] = i ? max : min;
		if (fabsf(bound) == FLT_MAX)
			continue;
		value = maker_zero_point(m, tensor) + nearest(m, bound / maker_scale_of(m, tensor));
		if (i ? value < max : value > min)
			range[i] = value;
	}
}

void maker_open_range(struct command_maker *m, uint32_t first)
{
	for (uint32_t i = 0; i < 2; i++)
		if (fabsf(engine_float(m->attributes[first + i])) == FLT_MAX)
			m->attributes[first + i] = engine_bits(i ? INFINITY : -INFINITY);
}
