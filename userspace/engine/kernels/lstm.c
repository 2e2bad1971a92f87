// SPDX-License-Identifier: MIT
/*
 * Long short-term memory of 8-bit integers with a cell state of 16 bits, without peepholes,
 * projection and normalization; whole sequences, batch by batch.
 *
 * Operands: output and input (batch, time, 1, elements); the gates' weights for the input, then
 * for the hidden state (1, cells, 1, elements), then their biases (1, 1, 1, cells): each of the
 * input gate, forget gate, cell, output gate; the hidden and the cell state (batch, 1, 1, cells),
 * which are updated. Scales: of the gates for the input, then for the hidden state, to 12 bits
 * behind the point; of the product of output gate and cell, to the hidden state.
 */
#include <string.h>

#include "../fixed.h"
#include "kernel.h"

enum { OUT, IN, INPUT_WEIGHTS, HIDDEN_WEIGHTS = 6, BIASES = 10, HIDDEN = 14, CELL, TILES };
enum { INPUT_GATE, FORGET_GATE, CELL_GATE, OUTPUT_GATE, GATES };
enum { INPUT_SCALES, HIDDEN_SCALES = 4, OUTPUT_SCALE = 8, SCALES };

/* Bits before the point of what gates are made of. */
#define GATE_BITS 3

static bool has_shape(const struct engine_tile *tile, uint8_t type, int64_t n, int64_t h, int64_t c)
{
	return tile->type == type && tile->dims[DIM_N] == n && tile->dims[DIM_H] == h &&
	       tile->dims[DIM_W] == 1 && tile->dims[DIM_C] == c &&
	       !memcmp(tile->dims, tile->shape, sizeof(tile->dims));
}

static int check(struct engine_call *call)
{
	const struct engine_tile *t = call->tiles;
	int64_t batches = t[IN].dims[DIM_N], inputs = t[IN].dims[DIM_C];
	int64_t cells = t[OUT].dims[DIM_C], time = t[IN].dims[DIM_H];
	int32_t shift = call->attributes[NPUMEM_COMMAND_LSTM_CELL_SHIFT];
	int32_t zero = call->attributes[NPUMEM_COMMAND_LSTM_HIDDEN_ZERO];
	bool good = has_shape(&t[OUT], NPUMEM_COMMAND_INT8, batches, time, cells) &&
		    has_shape(&t[IN], NPUMEM_COMMAND_INT8, batches, time, inputs) &&
		    has_shape(&t[HIDDEN], NPUMEM_COMMAND_INT8, batches, 1, cells) &&
		    has_shape(&t[CELL], NPUMEM_COMMAND_INT16, batches, 1, cells);

	for (int g = 0; g < GATES; g++)
		good = good &&
		       has_shape(&t[INPUT_WEIGHTS + g], NPUMEM_COMMAND_INT8, 1, cells, inputs) &&
		       has_shape(&t[HIDDEN_WEIGHTS + g], NPUMEM_COMMAND_INT8, 1, cells, cells) &&
		       has_shape(&t[BIASES + g], NPUMEM_COMMAND_INT32, 1, 1, cells) &&
		       !t[INPUT_WEIGHTS + g].zero_point && !t[HIDDEN_WEIGHTS + g].zero_point &&
		       !t[BIASES + g].zero_point;
	if (!good || !t[IN].count || t[CELL].zero_point)
		return engine_refuse(call, -EINVAL, "operands are not those of one network");
	/* The cell state has 15 + shift bits before the point. */
	if (call->scale_count != SCALES || shift < -15 || shift > -9 ||
	    call->attributes[NPUMEM_COMMAND_LSTM_CELL_CLIP] < 0 || zero < INT8_MIN ||
	    zero > INT8_MAX)
		return engine_refuse(call, -EINVAL, "a scale or attribute is out of range");
	return 0;
}

static uint64_t scratch(const struct engine_call *call)
{
	uint64_t cells = (uint64_t)call->tiles[OUT].dims[DIM_C];

	/* The gates; input and hidden state without their zero points. */
	return (GATES * cells + cells + (uint64_t)call->tiles[IN].dims[DIM_C]) * sizeof(int16_t);
}

/* struct state - of one batch, at one time */
struct state {
	const int16_t *input;
	const int16_t *hidden;
	int16_t *gates[GATES];
	int8_t *hidden_state;
	int16_t *cell;
	int64_t inputs;
	int64_t cells;
};

static int32_t dot(const int16_t *a, const int8_t *w, int64_t count)
{
	int32_t sum = 0;

	for (int64_t i = 0; i < count; i++)
		sum += a[i] * (int16_t)w[i];
	return sum;
}

static int16_t clamp16(int32_t value)
{
	return (int16_t)engine_clamp(value, INT16_MIN, INT16_MAX);
}

ENGINE_CLONES
static void run_gate(const struct engine_call *call, const struct state *s, int gate)
{
	const struct engine_tile *t = call->tiles;
	const struct npumem_command_scale *in = &call->scales[INPUT_SCALES + gate];
	const struct npumem_command_scale *hidden = &call->scales[HIDDEN_SCALES + gate];

	for (int64_t c = 0; c < s->cells; c++) {
		int32_t sum = ((const int32_t *)t[BIASES + gate].data)[c];
		int16_t value;

		sum += dot(s->input, (const int8_t *)t[INPUT_WEIGHTS + gate].data + c * s->inputs,
			   s->inputs);
		value = clamp16(fixed_rescale(sum, in->multiplier, in->shift));
		sum = dot(s->hidden, (const int8_t *)t[HIDDEN_WEIGHTS + gate].data + c * s->cells,
			  s->cells);
		value = clamp16(fixed_rescale(sum, hidden->multiplier, hidden->shift) + value);
		s->gates[gate][c] = (int16_t)(gate == CELL_GATE ?
						      fixed_tanh(16, value, GATE_BITS) :
						      fixed_logistic(16, value, GATE_BITS));
	}
}

/* The new cell and hidden state, which is the output. */
static void run_cells(const struct engine_call *call, const struct state *s, int8_t *out)
{
	int32_t shift = call->attributes[NPUMEM_COMMAND_LSTM_CELL_SHIFT];
	int32_t clip = call->attributes[NPUMEM_COMMAND_LSTM_CELL_CLIP];
	const struct npumem_command_scale *scale = &call->scales[OUTPUT_SCALE];

	for (int64_t c = 0; c < s->cells; c++) {
		int16_t kept = (int16_t)fixed_divide_pot(s->gates[FORGET_GATE][c] * s->cell[c], 15);
		int16_t added = (int16_t)fixed_divide_pot(
			s->gates[INPUT_GATE][c] * s->gates[CELL_GATE][c], 30 + shift);
		int32_t value;

		s->cell[c] = clamp16(kept + added);
		if (clip)
			s->cell[c] = clamp16(engine_clamp(s->cell[c], -clip, clip));
		value = s->gates[OUTPUT_GATE][c] * fixed_tanh(16, s->cell[c], 15 + shift);
		value = fixed_rescale(value, scale->multiplier, scale->shift) +
			call->attributes[NPUMEM_COMMAND_LSTM_HIDDEN_ZERO];
		out[c] = (int8_t)engine_clamp(value, INT8_MIN, INT8_MAX);
	}
	memcpy(s->hidden_state, out, (size_t)s->cells);
}

static void run(const struct engine_call *call)
{
	const struct engine_tile *t = call->tiles;
	int64_t cells = t[OUT].dims[DIM_C], inputs = t[IN].dims[DIM_C], time = t[IN].dims[DIM_H];
	int16_t *memory = call->scratch, *input = memory + GATES * cells, *hidden = input + inputs;
	struct state s = { .input = input, .hidden = hidden, .inputs = inputs, .cells = cells };

	for (int g = 0; g < GATES; g++)
		s.gates[g] = memory + g * cells;
	for (int64_t n = 0; n < t[IN].dims[DIM_N]; n++) {
		s.hidden_state = (int8_t *)t[HIDDEN].data + n * cells;
		s.cell = (int16_t *)t[CELL].data + n * cells;
		for (int64_t i = n * time; i < (n + 1) * time; i++) {
			engine_centered(&t[IN], (uint64_t)(i * inputs), inputs, input);
			engine_centered(&t[HIDDEN], (uint64_t)(n * cells), cells, hidden);
			for (int g = 0; g < GATES; g++)
				run_gate(call, &s, g);
			run_cells(call, &s, (int8_t *)t[OUT].data + i * cells);
		}
	}
}

const struct engine_kernel engine_lstm = {
	.name = "lstm",
	.min_tiles = TILES,
	.max_tiles = TILES,
	.attributes = NPUMEM_COMMAND_LSTM_ATTRIBUTES,
	.updates = 1u << HIDDEN | 1u << CELL,
	.check = check,
	.scratch = scratch,
	.run = run,
};
