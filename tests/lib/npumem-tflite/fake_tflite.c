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
	struct tflite_quantization quantization;
	char fault[16];
	int dims[SHAPE_DIMS];
	int dim_count;
};

struct TfLiteInterpreterOptions {
	unsigned char turned;
	struct TfLiteDelegate *delegates[2];
	unsigned int delegate_count;
	tflite_reporter reporter;
	void *user;
};

/* The input, and the output. */
struct TfLiteInterpreter {
	struct TfLiteModel model;
	struct TfLiteInterpreterOptions options;
	struct TfLiteContext context;
	struct TfLiteTensor tensors[2];
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
					 struct TfLiteDelegate *delegate)
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

static int get_plan(struct TfLiteContext *context, struct tflite_int_array **plan)
{
	static struct tflite_int_array one = { .size = 1 };

	*plan = &one;
	return TFLITE_OK;
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
		struct TfLiteTensor *tensor = &interpreter->tensors[i];

		tensor->type = !i && !strcmp(model->fault, "string") ? TFLITE_STRING : model->type;
		tensor->params = model->quantization;
		tensor->allocation = TFLITE_ARENA;
		tensor->name = i ? "out\tput" : "input";
		tensor->bytes = type_bytes(model->type);
		for (int d = 0; d < model->dim_count; d++)
			tensor->bytes *= (size_t)model->dims[d];
	}
	interpreter->context.tensor_count = 2;
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
		struct TfLiteDelegate *delegate = options->delegates[i];

		taken = (strcmp(model->fault, "dynamic") != 0 ||
			 delegate->flags & TFLITE_ALLOW_DYNAMIC) &&
			delegate->prepare(&interpreter->context, delegate) == TFLITE_OK;
	}
	if (!fails(interpreter, "create") && taken)
		return interpreter;
	free(interpreter);
	return NULL;
}

void TfLiteInterpreterDelete(struct TfLiteInterpreter *interpreter)
{
	free(interpreter->tensors[0].data);
	free(interpreter);
}

/* Both tensors lie in one piece. */
int TfLiteInterpreterAllocateTensors(struct TfLiteInterpreter *interpreter)
{
	struct TfLiteTensor *tensors = interpreter->tensors;

	if (fails(interpreter, "allocate"))
		return TFLITE_ERROR;
	tensors[0].data = calloc(2, tensors[0].bytes);
	if (!tensors[0].data)
		return TFLITE_ERROR;
	tensors[1].data = (char *)tensors[0].data + tensors[0].bytes;
	return TFLITE_OK;
}

int TfLiteInterpreterInvoke(struct TfLiteInterpreter *interpreter)
{
	const struct TfLiteTensor *tensors = interpreter->tensors;
	int64_t spoil =
		SPOIL(interpreter->options.delegates[interpreter->options.delegate_count - 1]);

	if (fails(interpreter, "invoke") || !strcmp(interpreter->model.fault, "silent"))
		return TFLITE_ERROR;
	for (size_t i = 0; i < tensors[0].bytes; i++)
		((unsigned char *)tensors[1].data)[i] =
			((const unsigned char *)tensors[0].data)[i] ^ interpreter->options.turned;
	if (spoil)
		((unsigned char *)tensors[1].data)[spoil - 1] ^= 1;
	return TFLITE_OK;
}

int32_t TfLiteInterpreterGetInputTensorCount(const struct TfLiteInterpreter *interpreter)
{
	return 1;
}

struct TfLiteTensor *TfLiteInterpreterGetInputTensor(const struct TfLiteInterpreter *interpreter,
						     int32_t index)
{
	return interpreter->context.tensors;
}

int32_t TfLiteInterpreterGetOutputTensorCount(const struct TfLiteInterpreter *interpreter)
{
	return 1;
}

const struct TfLiteTensor *
TfLiteInterpreterGetOutputTensor(const struct TfLiteInterpreter *interpreter, int32_t index)
{
	return &interpreter->tensors[strcmp(interpreter->model.fault, "through") ? 1 : 0];
}

int TfLiteTensorType(const struct TfLiteTensor *tensor)
{
	return tensor->type;
}

/* The tensor's interpreter: it is the first, or the second of two. */
static const struct TfLiteInterpreter *owner(const struct TfLiteTensor *tensor)
{
	const struct TfLiteTensor *first = strcmp(tensor->name, "input") ? tensor - 1 : tensor;

	return (const void *)((const char *)first - offsetof(struct TfLiteInterpreter, tensors));
}

int32_t TfLiteTensorNumDims(const struct TfLiteTensor *tensor)
{
	return owner(tensor)->model.dim_count;
}

int32_t TfLiteTensorDim(const struct TfLiteTensor *tensor, int32_t index)
{
	return owner(tensor)->model.dims[index];
}

size_t TfLiteTensorByteSize(const struct TfLiteTensor *tensor)
{
	return tensor->bytes;
}

void *TfLiteTensorData(const struct TfLiteTensor *tensor)
{
	return strcmp(owner(tensor)->model.fault, "nowhere") ? tensor->data : NULL;
}

const char *TfLiteTensorName(const struct TfLiteTensor *tensor)
{
	return tensor->name;
}

struct tflite_quantization TfLiteTensorQuantizationParams(const struct TfLiteTensor *tensor)
{
	return tensor->params;
}

int TfLiteTensorCopyFromBuffer(struct TfLiteTensor *tensor, const void *data, size_t bytes)
{
	if (bytes != tensor->bytes || fails(owner(tensor), "input"))
		return TFLITE_ERROR;
	memcpy(tensor->data, data, bytes);
	return TFLITE_OK;
}

int TfLiteTensorCopyToBuffer(const struct TfLiteTensor *tensor, void *data, size_t bytes)
{
	if (bytes != tensor->bytes || fails(owner(tensor), "output"))
		return TFLITE_ERROR;
	memcpy(data, tensor->data, bytes);
	return TFLITE_OK;
}
