// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../monotonic/monotonic.h"
#include "reference.h"
#include "runner.h"

/* Lines go where TensorFlow Lite writes them itself; the first one is the cause of a failure. */
static void reported(void *user, const char *format, va_list arguments)
{
	struct runner *runner = user;
	char line[512], plain[512];

	vsnprintf(line, sizeof(line), format, arguments);
	plain_line(plain, sizeof(plain), line);
	fprintf(stderr, "%s\n", plain);
	if (!*runner->said)
		plain_line(runner->said, sizeof(runner->said), plain);
}

static int observe(struct tfl_context *context, struct tfl_delegate *delegate)
{
	struct observer *observer = delegate->data;
	struct tfl_ints *plan;

	if (context->get_execution_plan(context, &plan) != TFL_OK)
		return TFL_ERROR;
	observer->context = context;
	observer->operators = (uint32_t)plan->size;
	return TFL_OK;
}

static int failed(struct runner *runner, const char *what, struct refusal *why)
{
	return refuse(why, -EINVAL, "TensorFlow Lite %s: %s", what,
		      *runner->said ? runner->said : "it does not say why");
}

static int set_options(struct runner *runner, uint32_t threads, struct tfl_delegate *delegate,
		       struct refusal *why)
{
	const struct tflite *t = runner->tflite;

	runner->options = t->TfLiteInterpreterOptionsCreate();
	if (!runner->options)
		return refuse(why, -ENOMEM, "no memory for an interpreter");
	t->TfLiteInterpreterOptionsSetNumThreads(runner->options, (int32_t)threads);
	t->TfLiteInterpreterOptionsSetErrorReporter(runner->options, reported, runner);
	if (t->reference)
		reference_set(t->reference, runner->options);
	runner->observer.delegate.data = &runner->observer;
	runner->observer.delegate.prepare = observe;
	runner->observer.delegate.flags = TFL_DELEGATE_ALLOW_DYNAMIC;
	t->TfLiteInterpreterOptionsAddDelegate(runner->options, &runner->observer.delegate);
	if (delegate)
		t->TfLiteInterpreterOptionsAddDelegate(runner->options, delegate);
	return 0;
}

int runner_open(struct runner *runner, const struct tflite *tflite, const struct TfLiteModel *model,
		uint32_t threads, struct tfl_delegate *delegate, struct refusal *why)
{
	int64_t start;
	int err;

	*runner = (struct runner){ .tflite = tflite };
	err = set_options(runner, threads, delegate, why);
	if (err)
		return err;
	start = monotonic_ns();
	runner->interpreter = tflite->TfLiteInterpreterCreate(model, runner->options);
	if (!runner->interpreter)
		return failed(runner,
			      delegate ? "does not take the model with the delegate" :
					 "does not take the model",
			      why);
	if (tflite->TfLiteInterpreterAllocateTensors(runner->interpreter) != TFL_OK)
		return failed(runner, "does not get memory for the model's tensors", why);
	runner->prepare = monotonic_ns() - start;
	return 0;
}

void runner_close(struct runner *runner)
{
	if (runner->interpreter)
		runner->tflite->TfLiteInterpreterDelete(runner->interpreter);
	if (runner->options)
		runner->tflite->TfLiteInterpreterOptionsDelete(runner->options);
	runner->interpreter = NULL;
	runner->options = NULL;
}

int runner_invoke(struct runner *runner, struct refusal *why)
{
	int64_t start;
	int status;

	*runner->said = '\0';
	start = monotonic_ns();
	status = runner->tflite->TfLiteInterpreterInvoke(runner->interpreter);
	runner->times.list[runner->times.count] = monotonic_ns() - start;
	if (status != TFL_OK)
		return refuse(why, -EIO, "the inference fails: %s",
			      *runner->said ? runner->said : "TensorFlow Lite does not say why");
	runner->times.count++;
	return 0;
}

struct arena runner_arena(const struct runner *runner)
{
	const struct tfl_context *context = runner->observer.context;
	uintptr_t first = UINTPTR_MAX, end = 0;
	struct arena arena = { 0 };
	bool placeless = false;

	for (size_t i = 0; context && i < context->tensors_size; i++) {
		const struct tfl_tensor *tensor = &context->tensors[i];
		uintptr_t at = (uintptr_t)tensor->data.raw;

		if (tensor->allocation_type != TFL_ARENA || !tensor->bytes)
			continue;
		/* What nothing uses has no place; nothing has if sizes come as it runs. */
		placeless = placeless || !at;
		if (!at)
			continue;
		arena.sum += tensor->bytes;
		first = at < first ? at : first;
		end = at + tensor->bytes > end ? at + tensor->bytes : end;
	}
	arena.bytes = end > first ? end - first : 0;
	arena.known = context && (arena.bytes || !placeless);
	return arena;
}

struct shape runner_shape(const struct tflite *tflite, const struct tfl_tensor *tensor)
{
	struct shape shape = {
		.type = tflite->TfLiteTensorType(tensor),
		.bytes = tflite->TfLiteTensorByteSize(tensor),
		.quantization = tflite->TfLiteTensorQuantizationParams(tensor),
	};
	int32_t dims = tflite->TfLiteTensorNumDims(tensor);
	const char *name = tflite->TfLiteTensorName(tensor);

	plain_line(shape.name, sizeof(shape.name), name ? name : "");
	shape.dim_count = dims < SHAPE_DIMS ? (uint32_t)dims : SHAPE_DIMS;
	for (uint32_t i = 0; i < shape.dim_count; i++)
		shape.dims[i] = tflite->TfLiteTensorDim(tensor, (int32_t)i);
	return shape;
}
