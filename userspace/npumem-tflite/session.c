// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../monotonic/monotonic.h"
#include "reference.h"
#include "session.h"

/* Lines go where TensorFlow Lite writes them itself; the first one is the cause of a failure. */
static void reported(void *user, const char *format, va_list arguments)
{
	struct session *session = user;
	char line[512], plain[512];

	vsnprintf(line, sizeof(line), format, arguments);
	plain_line(plain, sizeof(plain), line);
	fprintf(stderr, "%s\n", plain);
	if (!*session->said)
		plain_line(session->said, sizeof(session->said), plain);
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

static int failed(struct session *session, const char *what, struct why *why)
{
	return refuse(why, -EINVAL, "TensorFlow Lite %s: %s", what,
		      *session->said ? session->said : "it does not say why");
}

static int set_options(struct session *session, uint32_t threads, struct tfl_delegate *delegate,
		       struct why *why)
{
	const struct tflite *t = session->tflite;

	session->options = t->TfLiteInterpreterOptionsCreate();
	if (!session->options)
		return refuse(why, -ENOMEM, "no memory for an interpreter");
	t->TfLiteInterpreterOptionsSetNumThreads(session->options, (int32_t)threads);
	t->TfLiteInterpreterOptionsSetErrorReporter(session->options, reported, session);
	if (t->reference)
		reference_set(t->reference, session->options);
	session->observer.delegate.data = &session->observer;
	session->observer.delegate.prepare = observe;
	session->observer.delegate.flags = TFL_DELEGATE_ALLOW_DYNAMIC;
	t->TfLiteInterpreterOptionsAddDelegate(session->options, &session->observer.delegate);
	if (delegate)
		t->TfLiteInterpreterOptionsAddDelegate(session->options, delegate);
	return 0;
}

int session_open(struct session *session, const struct tflite *tflite,
		 const struct TfLiteModel *model, uint32_t threads, struct tfl_delegate *delegate,
		 struct why *why)
{
	int64_t start;
	int err;

	*session = (struct session){ .tflite = tflite };
	err = set_options(session, threads, delegate, why);
	if (err)
		return err;
	start = monotonic_ns();
	session->interpreter = tflite->TfLiteInterpreterCreate(model, session->options);
	if (!session->interpreter)
		return failed(session,
			      delegate ? "does not take the model with the delegate" :
					 "does not take the model",
			      why);
	if (tflite->TfLiteInterpreterAllocateTensors(session->interpreter) != TFL_OK)
		return failed(session, "does not get memory for the model's tensors", why);
	session->prepare = monotonic_ns() - start;
	return 0;
}

void session_close(struct session *session)
{
	if (session->interpreter)
		session->tflite->TfLiteInterpreterDelete(session->interpreter);
	if (session->options)
		session->tflite->TfLiteInterpreterOptionsDelete(session->options);
	session->interpreter = NULL;
	session->options = NULL;
}

int session_invoke(struct session *session, struct why *why)
{
	int64_t start;
	int status;

	*session->said = '\0';
	start = monotonic_ns();
	status = session->tflite->TfLiteInterpreterInvoke(session->interpreter);
	session->times.list[session->times.count] = monotonic_ns() - start;
	if (status != TFL_OK)
		return refuse(why, -EIO, "the inference fails: %s",
			      *session->said ? session->said : "TensorFlow Lite does not say why");
	session->times.count++;
	return 0;
}

struct arena session_arena(const struct session *session)
{
	const struct tfl_context *context = session->observer.context;
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

struct shape session_shape(const struct tflite *tflite, const struct tfl_tensor *tensor)
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
