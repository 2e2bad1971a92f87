// SPDX-License-Identifier: MIT
/*
 * Operators of npumem-engine beside XNNPACK's, on shapes of real networks, one thread.
 *
 * Both compute the same problem in turns; the figures are medians of CPU time. The engine's time
 * is that of engine_execute(), which is what a task costs: a command has no state, so weights are
 * laid out anew each time, while XNNPACK does that once, before it is measured.
 *
 * Exits with an error if the two do not agree: XNNPACK rounds integers once, TensorFlow Lite's
 * reference kernels twice, which is a difference of 1 at most.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_build.h"
#include "cpu_seconds.h"
#include "fixed.h"
#include "random.h"
#ifdef BENCH_XNNPACK
#include <xnnpack.h>
#endif

#define ROUNDS	   15
/* CPU seconds that one side computes in one round, at least. */
#define ROUND_TIME 0.02
/* XNNPACK may read so many bytes behind its operands. */
#define SLACK	   64
#define INPUT_ZERO (-7)
#define OUT_ZERO   3
/* Relative, of a float that is the sum of thousands. */
#define TOLERANCE  1e-4

enum kind { CONV, DEPTHWISE, LINEAR };

/*
 * struct shape - a layer
 * @network: whose it is, and its name there
 * @kernel, @stride: of both directions
 */
struct shape {
	const char *network;
	unsigned int type;
	enum kind kind;
	uint32_t height;
	uint32_t width;
	uint32_t in;
	uint32_t out;
	uint32_t kernel;
	uint32_t stride;
};

#define INT8  NPUMEM_COMMAND_INT8
#define FLOAT NPUMEM_COMMAND_FLOAT32

static const struct shape shapes[] = {
	{ "mobilenet_v2 features.0.0", INT8, CONV, 224, 224, 3, 32, 3, 2 },
	{ "mobilenet_v2 features.3.conv.0.0", INT8, CONV, 56, 56, 24, 144, 1, 1 },
	{ "mobilenet_v2 features.12.conv.2", INT8, CONV, 14, 14, 576, 96, 1, 1 },
	{ "kws conv2d_1", INT8, CONV, 25, 5, 64, 64, 1, 1 },
	{ "mobilenet_v2 features.3.conv.1.0", INT8, DEPTHWISE, 56, 56, 144, 144, 3, 1 },
	{ "mobilenet_v2 features.8.conv.1.0", INT8, DEPTHWISE, 14, 14, 384, 384, 3, 1 },
	{ "kws depthwise_conv2d", INT8, DEPTHWISE, 25, 5, 64, 64, 3, 1 },
	{ "mobilenet_v2 classifier.1", INT8, LINEAR, 1, 1, 1280, 1000, 1, 1 },
	{ "mobilenet_v2 features.0.0", FLOAT, CONV, 224, 224, 3, 32, 3, 2 },
	{ "face detector conv2d", FLOAT, CONV, 128, 128, 3, 24, 5, 2 },
	{ "face detector conv2d_1", FLOAT, CONV, 64, 64, 24, 24, 1, 1 },
	{ "face detector conv2d_13", FLOAT, CONV, 8, 8, 96, 96, 1, 1 },
	{ "face detector depthwise_conv2d", FLOAT, DEPTHWISE, 64, 64, 24, 24, 3, 1 },
	{ "face detector depthwise_conv2d_10", FLOAT, DEPTHWISE, 16, 16, 80, 80, 3, 1 },
};

/*
 * struct problem - a layer with its data
 * @dims: of output, input, weights and bias
 * @pad: before and after, of H and W
 * @engine, @xnnpack: outputs
 * @weight_scales: one, or of integers one for each channel
 */
struct problem {
	const struct shape *shape;
	uint32_t dims[4][4];
	uint32_t pad[2][2];
	double macs;
	void *input;
	void *weights;
	void *bias;
	void *engine;
	void *xnnpack;
	float input_scale;
	float output_scale;
	float *weight_scales;
	float *bias_scales;
	uint32_t scale_count;
};

static const char *const kinds[] = { "conv", "depthwise", "linear" };

static void *allocate(size_t size)
{
	void *bytes = calloc(1, size + SLACK);

	if (!bytes) {
		fprintf(stderr, "bench_engine: out of memory\n");
		exit(1);
	}
	return bytes;
}

static size_t count_of(const uint32_t dims[4])
{
	return (size_t)dims[0] * dims[1] * dims[2] * dims[3];
}

/* As TensorFlow pads so that the output is the input divided by the stride, rounded up. */
static uint32_t pad_same(uint32_t size, const struct shape *s, uint32_t pad[2])
{
	uint32_t out = (size + s->stride - 1) / s->stride;
	uint32_t needed = (out - 1) * s->stride + s->kernel;
	uint32_t all = needed > size ? needed - size : 0;

	pad[0] = all / 2;
	pad[1] = all - all / 2;
	return out;
}

static void set_dims(struct problem *p)
{
	const struct shape *s = p->shape;
	bool depthwise = s->kind == DEPTHWISE;
	uint32_t out_height = pad_same(s->height, s, p->pad[0]);
	uint32_t out_width = pad_same(s->width, s, p->pad[1]);
	const uint32_t dims[4][4] = {
		{ 1, out_height, out_width, s->out },
		{ 1, s->height, s->width, s->in },
		{ depthwise ? 1 : s->out, s->kernel, s->kernel, depthwise ? s->out : s->in },
		{ 1, 1, 1, s->out },
	};

	memcpy(p->dims, dims, sizeof(p->dims));
	p->macs = (double)count_of(p->dims[0]) * s->kernel * s->kernel * (depthwise ? 1 : s->in);
}

/* Elements of any value; sums of them spread over the output's range. */
static void draw_integers(struct problem *p, uint64_t *seed)
{
	size_t inputs = count_of(p->dims[1]), weights = count_of(p->dims[2]);
	uint32_t out = p->shape->out;
	double terms = p->macs / (double)count_of(p->dims[0]);

	p->scale_count = p->shape->kind == LINEAR ? 1 : out;
	p->weight_scales = allocate(p->scale_count * sizeof(float));
	p->bias_scales = allocate(p->scale_count * sizeof(float));
	for (size_t i = 0; i < inputs; i++)
		((int8_t *)p->input)[i] = (int8_t)(random_next(seed) % 256 - 128);
	for (size_t i = 0; i < weights; i++)
		((int8_t *)p->weights)[i] = (int8_t)(random_next(seed) % 255 - 127);
	for (uint32_t i = 0; i < out; i++)
		((int32_t *)p->bias)[i] = (int32_t)(random_next(seed) % 8192) - 4096;
	p->input_scale = 0.0235f;
	p->output_scale = 0.0471f;
	for (uint32_t i = 0; i < p->scale_count; i++) {
		double spread = 0.5 + (double)(random_next(seed) % 1024) / 1024;

		/* Uniform bytes have a deviation of 74, outputs one of about 40. */
		p->weight_scales[i] = (float)(spread * 40 / (74 * 74 * sqrt(terms)) *
					      p->output_scale / p->input_scale);
		p->bias_scales[i] = p->input_scale * p->weight_scales[i];
	}
}

static float draw_float(uint64_t *seed)
{
	return (float)(random_next(seed) % 65536) / 32768 - 1;
}

static void draw_floats(struct problem *p, uint64_t *seed)
{
	size_t inputs = count_of(p->dims[1]), weights = count_of(p->dims[2]);

	for (size_t i = 0; i < inputs; i++)
		((float *)p->input)[i] = draw_float(seed);
	for (size_t i = 0; i < weights; i++)
		((float *)p->weights)[i] = draw_float(seed);
	for (uint32_t i = 0; i < p->shape->out; i++)
		((float *)p->bias)[i] = draw_float(seed);
}

static void problem_init(struct problem *p, const struct shape *shape, uint64_t *seed)
{
	size_t elem = engine_type_size(shape->type);

	*p = (struct problem){ .shape = shape };
	set_dims(p);
	p->engine = allocate(count_of(p->dims[0]) * elem);
	p->xnnpack = allocate(count_of(p->dims[0]) * elem);
	p->input = allocate(count_of(p->dims[1]) * elem);
	p->weights = allocate(count_of(p->dims[2]) * elem);
	p->bias = allocate(count_of(p->dims[3]) * sizeof(int32_t));
	if (shape->type == INT8)
		draw_integers(p, seed);
	else
		draw_floats(p, seed);
}

static void problem_fini(struct problem *p)
{
	free(p->engine);
	free(p->xnnpack);
	free(p->input);
	free(p->weights);
	free(p->bias);
	free(p->weight_scales);
	free(p->bias_scales);
}

/* ---------------------------------------------------------------------------- npumem-engine */

/* struct engine_side - a command, and memory to execute it */
struct engine_side {
	struct command_build command;
	struct engine_access accesses[4];
	void *scratch;
	uint64_t scratch_size;
};

static void add_scales(struct command_build *b, const struct problem *p)
{
	for (uint32_t i = 0; i < p->scale_count; i++) {
		int32_t multiplier, shift;

		fixed_quantize((double)p->input_scale * p->weight_scales[i] / p->output_scale,
			       &multiplier, &shift);
		command_scale(b, multiplier, shift);
	}
}

static bool engine_init(struct engine_side *side, struct problem *p)
{
	const struct shape *s = p->shape;
	bool integer = s->type == INT8;
	struct command_build *b = &side->command;
	void *data[4] = { p->engine, p->input, p->weights, p->bias };
	const char *why = NULL;

	command_begin(b, s->kind == DEPTHWISE ? NPUMEM_COMMAND_DEPTHWISE : NPUMEM_COMMAND_CONV);
	for (int i = 0; i < 4; i++) {
		unsigned int type = i == 3 && integer ? NPUMEM_COMMAND_INT32 : s->type;
		struct npumem_command_operand *o = command_operand(b, type, p->dims[i]);

		if (integer && i < 2)
			o->zero_point = i ? INPUT_ZERO : OUT_ZERO;
		side->accesses[i] = (struct engine_access){
			.data = data[i],
			.size = count_of(p->dims[i]) * engine_type_size(type),
			.writable = !i,
		};
	}
	add_scales(b, p);
	for (int d = 0; d < 2; d++) {
		b->attributes[NPUMEM_COMMAND_STRIDE_H + d] = (int32_t)s->stride;
		b->attributes[NPUMEM_COMMAND_DILATION_H + d] = 1;
		b->attributes[NPUMEM_COMMAND_PAD_TOP + d] = (int32_t)p->pad[d][0];
		b->attributes[NPUMEM_COMMAND_KERNEL_H + d] = (int32_t)s->kernel;
	}
	command_range(b, NPUMEM_COMMAND_WINDOW_MIN);
	b->head.attribute_count = NPUMEM_COMMAND_WINDOW_ATTRIBUTES;
	command_finish(b);
	if (engine_check(b->bytes, b->size, &side->scratch_size, &why)) {
		fprintf(stderr, "bench_engine: %s: %s\n", s->network, why);
		return false;
	}
	side->scratch = allocate(side->scratch_size);
	return true;
}

static bool engine_run(void *context)
{
	struct engine_side *side = context;

	return !engine_execute(side->command.bytes, side->command.size, side->accesses, 4,
			       side->scratch, side->scratch_size, NULL);
}

/* ---------------------------------------------------------------------------------- XNNPACK */

#ifdef BENCH_XNNPACK

enum { VALUE_INPUT, VALUE_OUTPUT, EXTERNAL_VALUES };

static bool define(xnn_subgraph_t graph, const struct problem *p, int operand, const void *data,
		   uint32_t *id)
{
	/* Fully connected: matrices; a bias is a vector. */
	bool linear = p->shape->kind == LINEAR, bias = operand == 3;
	const uint32_t *d = p->dims[operand];
	const size_t dims[4] = { d[0], linear || bias ? d[3] : d[1], d[2], d[3] };
	const size_t *begin = bias ? dims + 3 : dims;
	size_t count = bias ? 1 : linear ? 2 : 4;
	uint32_t flags = data	      ? 0 :
			 operand == 1 ? XNN_VALUE_FLAG_EXTERNAL_INPUT :
					XNN_VALUE_FLAG_EXTERNAL_OUTPUT;
	uint32_t external = data ? XNN_INVALID_VALUE_ID : operand == 1 ? VALUE_INPUT : VALUE_OUTPUT;
	enum xnn_status status;

	if (p->shape->type == FLOAT)
		status = xnn_define_tensor_value(graph, xnn_datatype_fp32, count, begin, data,
						 external, flags, id);
	else if (operand < 2)
		status = xnn_define_quantized_tensor_value(
			graph, xnn_datatype_qint8, operand ? INPUT_ZERO : OUT_ZERO,
			operand ? p->input_scale : p->output_scale, count, begin, NULL, external,
			flags, id);
	else if (linear)
		status = xnn_define_quantized_tensor_value(
			graph, bias ? xnn_datatype_qint32 : xnn_datatype_qint8, 0,
			bias ? *p->bias_scales : *p->weight_scales, count, begin, data, external,
			flags, id);
	else
		status = xnn_define_channelwise_quantized_tensor_value(
			graph, bias ? xnn_datatype_qcint32 : xnn_datatype_qcint8,
			bias ? p->bias_scales : p->weight_scales, count,
			!bias && p->shape->kind == DEPTHWISE ? 3 : 0, begin, data, external, flags,
			id);
	return status == xnn_status_success;
}

static bool define_node(xnn_subgraph_t graph, const struct problem *p, const uint32_t ids[4])
{
	const struct shape *s = p->shape;
	enum xnn_status status;

	switch (s->kind) {
	case CONV:
		status = xnn_define_convolution_2d(graph, p->pad[0][0], p->pad[1][1], p->pad[0][1],
						   p->pad[1][0], s->kernel, s->kernel, s->stride,
						   s->stride, 1, 1, 1, s->in, s->out, -INFINITY,
						   INFINITY, ids[1], ids[2], ids[3], ids[0], 0);
		break;
	case DEPTHWISE:
		status = xnn_define_depthwise_convolution_2d(graph, p->pad[0][0], p->pad[1][1],
							     p->pad[0][1], p->pad[1][0], s->kernel,
							     s->kernel, s->stride, s->stride, 1, 1,
							     1, s->in, -INFINITY, INFINITY, ids[1],
							     ids[2], ids[3], ids[0], 0);
		break;
	default:
		status = xnn_define_fully_connected(graph, -INFINITY, INFINITY, ids[1], ids[2],
						    ids[3], ids[0], 0);
	}
	return status == xnn_status_success;
}

/* A network of one layer; NULL if XNNPACK refuses it. */
static xnn_runtime_t xnnpack_new(struct problem *p)
{
	const void *data[4] = { NULL, NULL, p->weights, p->bias };
	const struct xnn_external_value values[] = {
		{ VALUE_INPUT, p->input },
		{ VALUE_OUTPUT, p->xnnpack },
	};
	xnn_runtime_t runtime = NULL;
	xnn_subgraph_t graph = NULL;
	uint32_t ids[4];
	bool ok = xnn_initialize(NULL) == xnn_status_success &&
		  xnn_create_subgraph(EXTERNAL_VALUES, 0, &graph) == xnn_status_success;

	for (int i = 0; i < 4; i++)
		ok = ok && define(graph, p, i, data[i], &ids[i]);
	ok = ok && define_node(graph, p, ids) &&
	     xnn_create_runtime_v2(graph, NULL, 0, &runtime) == xnn_status_success &&
	     xnn_setup_runtime(runtime, EXTERNAL_VALUES, values) == xnn_status_success;
	if (graph)
		xnn_delete_subgraph(graph);
	if (!ok) {
		fprintf(stderr, "bench_engine: %s: XNNPACK refuses it\n", p->shape->network);
		if (runtime)
			xnn_delete_runtime(runtime);
		return NULL;
	}
	return runtime;
}

static bool xnnpack_run(void *context)
{
	return xnn_invoke_runtime(context) == xnn_status_success;
}

#endif

/* -------------------------------------------------------------------------------- measuring */

/* struct side - who computes, and how long: CPU seconds of one call in each round */
struct side {
	bool (*run)(void *context);
	void *context;
	unsigned int calls;
	double seconds[ROUNDS];
};

/* Seconds of @calls calls; negative if one fails. */
static double measure(const struct side *side, unsigned int calls)
{
	double started = cpu_seconds();

	for (unsigned int i = 0; i < calls; i++)
		if (!side->run(side->context))
			return -1;
	return cpu_seconds() - started;
}

/* How many calls a round has; the first ones also bring caches and pages in. */
static bool calibrate(struct side *side)
{
	double seconds = 0;

	for (side->calls = 1;; side->calls *= 2) {
		seconds = measure(side, side->calls);
		if (seconds < 0 || seconds >= ROUND_TIME)
			return seconds >= 0;
	}
}

static int compare_seconds(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(const struct side *side)
{
	double sorted[ROUNDS];

	memcpy(sorted, side->seconds, sizeof(sorted));
	qsort(sorted, ROUNDS, sizeof(*sorted), compare_seconds);
	return sorted[ROUNDS / 2];
}

static bool take_turns(struct side *sides, int count)
{
	for (int i = 0; i < count; i++)
		if (!calibrate(&sides[i]))
			return false;
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < count; i++) {
			double seconds = measure(&sides[i], sides[i].calls);

			if (seconds < 0)
				return false;
			sides[i].seconds[round] = seconds / sides[i].calls;
		}
	return true;
}

#ifdef BENCH_XNNPACK

/* How many elements differ; false: by more than rounding explains. */
static bool compare_outputs(const struct problem *p, size_t *differing)
{
	size_t count = count_of(p->dims[0]);
	bool ok = true;

	*differing = 0;
	for (size_t i = 0; i < count; i++)
		if (p->shape->type == INT8) {
			int by = ((const int8_t *)p->engine)[i] - ((const int8_t *)p->xnnpack)[i];

			*differing += by != 0;
			ok = ok && abs(by) <= 1;
		} else {
			float a = ((const float *)p->engine)[i], b = ((const float *)p->xnnpack)[i];

			*differing += !!memcmp((const char *)p->engine + i * sizeof(float),
					       (const char *)p->xnnpack + i * sizeof(float),
					       sizeof(float));
			ok = ok && fabsf(a - b) <= TOLERANCE * (1 + fabsf(a));
		}
	return ok;
}

#endif

static void print_shape(const struct problem *p)
{
	const struct shape *s = p->shape;
	char layer[64];

	snprintf(layer, sizeof(layer), "%s %ux%u %ux%ux%u->%u%s", kinds[s->kind], s->kernel,
		 s->kernel, s->height, s->width, s->in, s->out, s->stride > 1 ? " /2" : "");
	printf("%-7s %-35s %-31s", s->type == INT8 ? "int8" : "float32", s->network, layer);
}

static bool bench(const struct shape *shape, uint64_t *seed)
{
	static struct engine_side engine;
	struct side sides[2] = { { .run = engine_run, .context = &engine } };
	struct problem p;
	int count = 1;
	bool ok;

	problem_init(&p, shape, seed);
	ok = engine_init(&engine, &p);
#ifdef BENCH_XNNPACK
	sides[1] = (struct side){ .run = xnnpack_run, .context = xnnpack_new(&p) };
	ok = ok && sides[1].context;
	count = 2;
#endif
	ok = ok && take_turns(sides, count);
	if (ok) {
		print_shape(&p);
		printf(" %7.2f GMAC/s", p.macs / median(&sides[0]) * 1e-9);
	}
#ifdef BENCH_XNNPACK
	if (ok) {
		size_t differing;

		ok = compare_outputs(&p, &differing);
		printf("  XNNPACK %7.2f GMAC/s, %5.1f times; %zu of %zu elements differ%s",
		       p.macs / median(&sides[1]) * 1e-9, median(&sides[0]) / median(&sides[1]),
		       differing, count_of(p.dims[0]), ok ? "" : ": TOO MUCH");
	}
	if (sides[1].context)
		xnn_delete_runtime(sides[1].context);
#endif
	printf(ok ? "\n" : " FAILED\n");
	fflush(stdout);
	free(engine.scratch);
	engine.scratch = NULL;
	problem_fini(&p);
	return ok;
}

int main(void)
{
	uint64_t seed = 20261124;
	bool ok = true;

#ifndef BENCH_XNNPACK
	fprintf(stderr, "WARNING: built without XNNPACK (libxnnpack-dev, libpthreadpool-dev), so "
			"npumem-engine is measured beside nothing\n");
#endif
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		ok = bench(&shapes[i], &seed) && ok;
	return !ok;
}
