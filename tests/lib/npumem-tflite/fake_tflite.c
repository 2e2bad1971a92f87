// SPDX-License-Identifier: MIT
/*
 * A library with the C API of TensorFlow Lite that computes nothing: its one operator copies the
 * input to the output. Models are text:
 *
 *	fake TYPE SCALE ZERO-POINT FAULT DIM...
 *
 * FAULT is "ok", or the call that fails: "create", "allocate", "invoke", "silent" (invoke, without
 * a word), "input", "output"; or "string": the input has no fixed size; or "dynamic": another
 * tensor has none, which the delegate has to take. The fake delegate's other flags say which byte
 * of the output an inference with it spoils.
 *
 * WITH_REFERENCE: it has reference kernels, too, whose operator turns all bits of the input round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shape.h"
#include "tflite_api.h"

/* What a delegate sets to have the first byte of outputs spoilt; 2: the second one, and so on. */
#define SPOIL(delegate) ((delegate)->flags / 2)

struct TfLiteModel {
	int type;
	struct tfl_quantization quantization;
	char fault[16];
	int dims[SHAPE_DIMS];
	int dim_count;
};

struct TfLiteInterpreterOptions {
	unsigned char turned;
	struct tfl_delegate *delegates[2];
	unsigned int delegate_count;
	tflite_reporter reporter;
	void *user;
};

/* The input, and the output. */
struct TfLiteInterpreter {
	struct TfLiteModel model;
	struct TfLiteInterpreterOptions options;
	struct tfl_context context;
	struct tfl_tensor tensors[2];
};

#define PUBLIC				__attribute__((visibility("default")))
#define DECLARE(type, name, parameters) PUBLIC type name parameters;
TFLITE_FUNCTIONS(DECLARE)

const char *TfLiteVersion(void)
{
	return "2.9.0-fake";
}

struct TfLiteModel *TfLiteModelCreateFromFile(const char *path)
{
	struct TfLiteModel *model = calloc(1, sizeof(*model));
	FILE *file = fopen(path, "re");
	int fields = 0;

	if (model && file) {
		fields = fscanf(file, "fake %d %f %d %15s", &model->type,
				&model->quantization.scale, &model->quantization.zero_point,
				model->fault);
		while (fields == 4 && model->dim_count < SHAPE_DIMS &&
		       fscanf(file, "%d", &model->dims[model->dim_count]) == 1)
			model->dim_count++;
	}
	if (file)
		fclose(file);
	if (fields == 4)
		return model;
	free(model);
	return NULL;
}

void TfLiteModelDelete(struct TfLiteModel *model)
{
	free(model);
}

struct TfLiteInterpreterOptions *TfLiteInterpreterOptionsCreate(void)
{
	return calloc(1, sizeof(struct TfLiteInterpreterOptions));
}

void TfLiteInterpreterOptionsDelete(struct TfLiteInterpreterOptions *options)
{
	free(options);
}

void TfLiteInterpreterOptionsSetNumThreads(struct TfLiteInterpreterOptions *options,
					   int32_t threads)
{
}

void TfLiteInterpreterOptionsAddDelegate(struct TfLiteInterpreterOptions *options,
					 struct tfl_delegate *delegate)
{
	options->delegates[options->delegate_count++] = delegate;
}

void TfLiteInterpreterOptionsSetErrorReporter(struct TfLiteInterpreterOptions *options,
					      tflite_reporter reporter, void *user)
{
	options->reporter = reporter;
	options->user = user;
}

#ifdef WITH_REFERENCE
/* As a library in C++ has them. What a resolver begins with is the operator's. */
PUBLIC void
construct(unsigned char *resolver) __asm__("_ZN6tflite3ops7builtin20BuiltinRefOpResolverC1Ev");
PUBLIC const void *
find_builtin(const void *resolver, int code,
	     int version) __asm__("_ZNK6tflite17MutableOpResolver6FindOpENS_15BuiltinOperatorEi");
PUBLIC const void *find_custom(const void *resolver, const char *name,
			       int version) __asm__("_ZNK6tflite17MutableOpResolver6FindOpEPKci");
PUBLIC void TfLiteInterpreterOptionsSetOpResolver(
	struct TfLiteInterpreterOptions *options,
	const void *(*builtin)(void *user, int code, int version),
	const void *(*custom)(void *user, const char *name, int version), void *user);

void construct(unsigned char *resolver)
{
	resolver[0] = 0xff;
}

const void *find_builtin(const void *resolver, int code, int version)
{
	return code == 3 && version == 2 ? resolver : NULL;
}

const void *find_custom(const void *resolver, const char *name, int version)
{
	return strcmp(name, "own") == 0 && version == 1 ? resolver : NULL;
}

void TfLiteInterpreterOptionsSetOpResolver(
	struct TfLiteInterpreterOptions *options,
	const void *(*builtin)(void *user, int code, int version),
	const void *(*custom)(void *user, const char *name, int version), void *user)
{
	const unsigned char *found = builtin(user, 3, 2);

	if (found && found == custom(user, "own", 1))
		options->turned = *found;
}
#endif

static void report(const struct TfLiteInterpreterOptions *options, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	options->reporter(options->user, format, arguments);
	va_end(arguments);
}

static int get_plan(struct tfl_context *context, struct tfl_ints **plan)
{
	static struct tfl_ints one = { .size = 1 };

	*plan = &one;
	return TFL_OK;
}

/* Whether the call is the one that is to fail. */
static bool fails(const struct TfLiteInterpreter *interpreter, const char *call)
{
	if (strcmp(interpreter->model.fault, call) != 0)
		return false;
	report(&interpreter->options, "fake: %s\tfails", call);
	report(&interpreter->options, "fake: so it ends");
	return true;
}

static void set_tensors(struct TfLiteInterpreter *interpreter)
{
	const struct TfLiteModel *model = &interpreter->model;

	for (int i = 0; i < 2; i++) {
		struct tfl_tensor *tensor = &interpreter->tensors[i];

		tensor->type = !i && !strcmp(model->fault, "string") ? TFL_STRING : model->type;
		tensor->params = model->quantization;
		tensor->allocation_type = TFL_ARENA;
		tensor->name = i ? "out\tput" : "input";
		tensor->bytes = type_bytes(model->type);
		for (int d = 0; d < model->dim_count; d++)
			tensor->bytes *= (size_t)model->dims[d];
	}
	interpreter->context.tensors_size = 2;
	interpreter->context.tensors = interpreter->tensors;
	interpreter->context.get_execution_plan = get_plan;
}

struct TfLiteInterpreter *TfLiteInterpreterCreate(const struct TfLiteModel *model,
						  const struct TfLiteInterpreterOptions *options)
{
	struct TfLiteInterpreter *interpreter = calloc(1, sizeof(*interpreter));
	bool taken = true;

	if (!interpreter)
		return NULL;
	interpreter->model = *model;
	interpreter->options = *options;
	set_tensors(interpreter);
	for (unsigned int i = 0; i < options->delegate_count && taken; i++) {
		struct tfl_delegate *delegate = options->delegates[i];

		taken = (strcmp(model->fault, "dynamic") != 0 ||
			 delegate->flags & TFL_DELEGATE_ALLOW_DYNAMIC) &&
			delegate->prepare(&interpreter->context, delegate) == TFL_OK;
	}
	if (!fails(interpreter, "create") && taken)
		return interpreter;
	free(interpreter);
	return NULL;
}

void TfLiteInterpreterDelete(struct TfLiteInterpreter *interpreter)
{
	free(interpreter->tensors[0].data.raw);
	free(interpreter);
}

/* Both tensors lie in one piece. */
int TfLiteInterpreterAllocateTensors(struct TfLiteInterpreter *interpreter)
{
	struct tfl_tensor *tensors = interpreter->tensors;

	if (fails(interpreter, "allocate"))
		return TFL_ERROR;
	tensors[0].data.raw = calloc(2, tensors[0].bytes);
	if (!tensors[0].data.raw)
		return TFL_ERROR;
	tensors[1].data.raw = (char *)tensors[0].data.raw + tensors[0].bytes;
	return TFL_OK;
}

int TfLiteInterpreterInvoke(struct TfLiteInterpreter *interpreter)
{
	const struct tfl_tensor *tensors = interpreter->tensors;
	int64_t spoil =
		SPOIL(interpreter->options.delegates[interpreter->options.delegate_count - 1]);

	if (fails(interpreter, "invoke") || !strcmp(interpreter->model.fault, "silent"))
		return TFL_ERROR;
	for (size_t i = 0; i < tensors[0].bytes; i++)
		((unsigned char *)tensors[1].data.raw)[i] =
			((const unsigned char *)tensors[0].data.raw)[i] ^
			interpreter->options.turned;
	if (spoil)
		((unsigned char *)tensors[1].data.raw)[spoil - 1] ^= 1;
	return TFL_OK;
}

int32_t TfLiteInterpreterGetInputTensorCount(const struct TfLiteInterpreter *interpreter)
{
	return 1;
}

struct tfl_tensor *TfLiteInterpreterGetInputTensor(const struct TfLiteInterpreter *interpreter,
						   int32_t index)
{
	return interpreter->context.tensors;
}

int32_t TfLiteInterpreterGetOutputTensorCount(const struct TfLiteInterpreter *interpreter)
{
	return 1;
}

const struct tfl_tensor *
TfLiteInterpreterGetOutputTensor(const struct TfLiteInterpreter *interpreter, int32_t index)
{
	return &interpreter->tensors[strcmp(interpreter->model.fault, "through") ? 1 : 0];
}

int TfLiteTensorType(const struct tfl_tensor *tensor)
{
	return tensor->type;
}

/* The tensor's interpreter: it is the first, or the second of two. */
static const struct TfLiteInterpreter *owner(const struct tfl_tensor *tensor)
{
	const struct tfl_tensor *first = strcmp(tensor->name, "input") ? tensor - 1 : tensor;

	return (const void *)((const char *)first - offsetof(struct TfLiteInterpreter, tensors));
}

int32_t TfLiteTensorNumDims(const struct tfl_tensor *tensor)
{
	return owner(tensor)->model.dim_count;
}

int32_t TfLiteTensorDim(const struct tfl_tensor *tensor, int32_t index)
{
	return owner(tensor)->model.dims[index];
}

size_t TfLiteTensorByteSize(const struct tfl_tensor *tensor)
{
	return tensor->bytes;
}

void *TfLiteTensorData(const struct tfl_tensor *tensor)
{
	return strcmp(owner(tensor)->model.fault, "nowhere") ? tensor->data.raw : NULL;
}

const char *TfLiteTensorName(const struct tfl_tensor *tensor)
{
	return tensor->name;
}

struct tfl_quantization TfLiteTensorQuantizationParams(const struct tfl_tensor *tensor)
{
	return tensor->params;
}

int TfLiteTensorCopyFromBuffer(struct tfl_tensor *tensor, const void *data, size_t bytes)
{
	if (bytes != tensor->bytes || fails(owner(tensor), "input"))
		return TFL_ERROR;
	memcpy(tensor->data.raw, data, bytes);
	return TFL_OK;
}

int TfLiteTensorCopyToBuffer(const struct tfl_tensor *tensor, void *data, size_t bytes)
{
	if (bytes != tensor->bytes || fails(owner(tensor), "output"))
		return TFL_ERROR;
	memcpy(data, tensor->data.raw, bytes);
	return TFL_OK;
}
