// SPDX-License-Identifier: MIT
/* What several operators need. */
#include "kernel.h"

/* Strides, dilations, kernels and padding. */
#define MAX_WINDOW 65535

void engine_range(uint8_t type, int32_t *min, int32_t *max)
{
	switch (type) {
	case NPUMEM_COMMAND_INT8:
		*min = INT8_MIN;
		*max = INT8_MAX;
		break;
	case NPUMEM_COMMAND_UINT8:
		*min = 0;
		*max = UINT8_MAX;
		break;
	case NPUMEM_COMMAND_INT16:
		*min = INT16_MIN;
		*max = INT16_MAX;
		break;
	case NPUMEM_COMMAND_INT32:
		*min = INT32_MIN;
		*max = INT32_MAX;
		break;
	default:
		*min = *max = 0;
	}
}

void engine_store(const struct engine_tile *tile, uint64_t index, int32_t value, int32_t min,
		  int32_t max)
{
	value = engine_clamp(value, min, max);
	if (tile->elem == 1)
		((uint8_t *)tile->data)[index] = (uint8_t)value;
	else if (tile->elem == 2)
		((int16_t *)tile->data)[index] = (int16_t)value;
	else
		((int32_t *)tile->data)[index] = value;
}

int engine_check_clamp(struct engine_call *call, const int32_t *attributes)
{
	const struct engine_tile *out = &call->tiles[0];
	int32_t min, max;

	if (is_float(out))
		return engine_float(attributes[0]) <= engine_float(attributes[1]) ?
			       0 :
			       engine_refuse(call, -EINVAL, "the output's range is none");
	engine_range(out->type, &min, &max);
	if (attributes[0] < min || attributes[1] > max || attributes[0] > attributes[1])
		return engine_refuse(call, -EINVAL, "the output's range is none of its type");
	return 0;
}

bool engine_same_box(const struct engine_tile *a, const struct engine_tile *b)
{
	return !memcmp(a->dims, b->dims, sizeof(a->dims)) &&
	       !memcmp(a->shape, b->shape, sizeof(a->shape)) &&
	       !memcmp(a->origin, b->origin, sizeof(a->origin));
}

/*
 * Rows or columns that the output's windows read: whether all of them are in the input's tile.
 * What lies between them need not be, with dilation: the smallest range that holds them is enough.
 * @reads: out: there is one at all
 */
static bool window_fits(const struct engine_call *call, const struct engine_window *window, int d,
			bool *reads)
{
	const struct engine_tile *output = &call->tiles[0], *input = &call->tiles[1];
	bool fits = true;

	*reads = false;
	for (int64_t o = 0; o < output->dims[1 + d]; o++) {
		struct engine_taps taps = engine_taps(window, input, output, d, o);

		if (taps.first >= taps.end)
			continue;
		*reads = true;
		fits = fits && taps.at + taps.first * window->dilation[d] >= 0 &&
		       taps.at + (taps.end - 1) * window->dilation[d] < input->dims[1 + d];
	}
	return fits;
}

int engine_window(struct engine_call *call, struct engine_window *window)
{
	const struct engine_tile *output = &call->tiles[0], *input = &call->tiles[1];
	bool fits[2], reads[2];

	for (int d = 0; d < 2; d++) {
		window->stride[d] = call->attributes[NPUMEM_COMMAND_STRIDE_H + d];
		window->dilation[d] = call->attributes[NPUMEM_COMMAND_DILATION_H + d];
		window->pad[d] = call->attributes[NPUMEM_COMMAND_PAD_TOP + d];
		window->kernel[d] = call->attributes[NPUMEM_COMMAND_KERNEL_H + d];
		if (window->stride[d] < 1 || window->dilation[d] < 1 || window->kernel[d] < 1 ||
		    window->pad[d] < 0 || window->stride[d] > MAX_WINDOW ||
		    window->dilation[d] > MAX_WINDOW || window->kernel[d] > MAX_WINDOW ||
		    window->pad[d] > MAX_WINDOW)
			return engine_refuse(call, -EINVAL, "a window's number is out of range");
	}
	fits[0] = window_fits(call, window, 0, &reads[0]);
	fits[1] = window_fits(call, window, 1, &reads[1]);
	if (!input->count) {
		if (reads[0] && reads[1])
			return engine_refuse(call, -EINVAL,
					     "a window needs what is not in the input's tile");
		return 0;
	}
	if (input->shape[DIM_N] != output->shape[DIM_N] ||
	    input->origin[DIM_N] != output->origin[DIM_N] ||
	    input->dims[DIM_N] != output->dims[DIM_N])
		return engine_refuse(call, -EINVAL, "input and output are of other batches");
	if (!fits[0] || !fits[1])
		return engine_refuse(call, -EINVAL,
				     "a window needs what is not in the input's tile");
	return 0;
}
