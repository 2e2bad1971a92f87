/* SPDX-License-Identifier: MIT */
/*
 * What this program needs of TensorFlow Lite's C API, versions 2.9 and later: declared here, so
 * that none of its headers is needed to build, and looked up in the library when it is loaded.
 *
 * Of structs that the library shares with its clients only the first fields are here, which are
 * the same in all these versions.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct TfLiteModel;
struct TfLiteInterpreterOptions;
struct TfLiteInterpreter;

/* enum tflite_status - what calls return; any other value is an error of some kind, too */
enum tflite_status {
	TFLITE_OK = 0,
	TFLITE_ERROR = 1,
};

/* enum tflite_type - type of a tensor's values */
enum tflite_type {
	TFLITE_FLOAT32 = 1,
	TFLITE_INT32 = 2,
	TFLITE_UINT8 = 3,
	TFLITE_INT64 = 4,
	TFLITE_STRING = 5,
	TFLITE_BOOL = 6,
	TFLITE_INT16 = 7,
	TFLITE_COMPLEX64 = 8,
	TFLITE_INT8 = 9,
	TFLITE_FLOAT16 = 10,
	TFLITE_FLOAT64 = 11,
	TFLITE_COMPLEX128 = 12,
	TFLITE_UINT64 = 13,
	TFLITE_RESOURCE = 14,
	TFLITE_VARIANT = 15,
	TFLITE_UINT32 = 16,
	TFLITE_UINT16 = 17,
};

/* enum tflite_allocation - who has a tensor's memory */
enum tflite_allocation {
	TFLITE_ARENA = 2,
};

/* struct tflite_quantization - what an integer stands for: @scale * (it - @zero_point) */
struct tflite_quantization {
	float scale;
	int32_t zero_point;
};

struct tflite_int_array {
	int size;
	int data[];
};

/* struct TfLiteTensor - a tensor; passed by pointer, and part of an array in the context */
struct TfLiteTensor {
	int type;
	void *data;
	struct tflite_int_array *dims;
	struct tflite_quantization params;
	int allocation;
	size_t bytes;
	const void *allocated;
	const char *name;
	void *delegate;
	int buffer_handle;
	bool data_is_stale;
	bool is_variable;
	int quantization_type;
	void *quantization;
	void *sparsity;
	const struct tflite_int_array *signature;
};

_Static_assert(offsetof(struct TfLiteTensor, allocation) == 32, "where the library has it");
_Static_assert(offsetof(struct TfLiteTensor, bytes) == 40, "where the library has it");
_Static_assert(sizeof(struct TfLiteTensor) == 112, "the library's array has this stride");

/* struct TfLiteContext - the beginning of what a delegate is shown of the interpreter */
struct TfLiteContext {
	size_t tensor_count;
	int (*get_execution_plan)(struct TfLiteContext *context, struct tflite_int_array **plan);
	struct TfLiteTensor *tensors;
};

/* A delegate's flag: it takes graphs with tensors whose size is known only when they run. */
#define TFLITE_ALLOW_DYNAMIC 1

/* struct TfLiteDelegate - a delegate; zeros are what later versions have at its end */
struct TfLiteDelegate {
	void *data;
	int (*prepare)(struct TfLiteContext *context, struct TfLiteDelegate *delegate);
	void *copy_from_handle;
	void *copy_to_handle;
	void *free_handle;
	int64_t flags;
	unsigned char later[128];
};

typedef void (*tflite_reporter)(void *user, const char *format, va_list arguments);

/* All functions: F(what it returns, its name, its parameters) */
#define TFLITE_FUNCTIONS(F)                                                                  \
	F(const char *, TfLiteVersion, (void))                                               \
	F(struct TfLiteModel *, TfLiteModelCreateFromFile, (const char *path))               \
	F(void, TfLiteModelDelete, (struct TfLiteModel * model))                             \
	F(struct TfLiteInterpreterOptions *, TfLiteInterpreterOptionsCreate, (void))         \
	F(void, TfLiteInterpreterOptionsDelete, (struct TfLiteInterpreterOptions * options)) \
	F(void, TfLiteInterpreterOptionsSetNumThreads,                                       \
	  (struct TfLiteInterpreterOptions * options, int32_t threads))                      \
	F(void, TfLiteInterpreterOptionsAddDelegate,                                         \
	  (struct TfLiteInterpreterOptions * options, struct TfLiteDelegate * delegate))     \
	F(void, TfLiteInterpreterOptionsSetErrorReporter,                                    \
	  (struct TfLiteInterpreterOptions * options, tflite_reporter reporter, void *user)) \
	F(struct TfLiteInterpreter *, TfLiteInterpreterCreate,                               \
	  (const struct TfLiteModel *model, const struct TfLiteInterpreterOptions *options)) \
	F(void, TfLiteInterpreterDelete, (struct TfLiteInterpreter * interpreter))           \
	F(int, TfLiteInterpreterAllocateTensors, (struct TfLiteInterpreter * interpreter))   \
	F(int, TfLiteInterpreterInvoke, (struct TfLiteInterpreter * interpreter))            \
	F(int32_t, TfLiteInterpreterGetInputTensorCount,                                     \
	  (const struct TfLiteInterpreter *interpreter))                                     \
	F(struct TfLiteTensor *, TfLiteInterpreterGetInputTensor,                            \
	  (const struct TfLiteInterpreter *interpreter, int32_t index))                      \
	F(int32_t, TfLiteInterpreterGetOutputTensorCount,                                    \
	  (const struct TfLiteInterpreter *interpreter))                                     \
	F(const struct TfLiteTensor *, TfLiteInterpreterGetOutputTensor,                     \
	  (const struct TfLiteInterpreter *interpreter, int32_t index))                      \
	F(int, TfLiteTensorType, (const struct TfLiteTensor *tensor))                        \
	F(int32_t, TfLiteTensorNumDims, (const struct TfLiteTensor *tensor))                 \
	F(int32_t, TfLiteTensorDim, (const struct TfLiteTensor *tensor, int32_t index))      \
	F(size_t, TfLiteTensorByteSize, (const struct TfLiteTensor *tensor))                 \
	F(void *, TfLiteTensorData, (const struct TfLiteTensor *tensor))                     \
	F(const char *, TfLiteTensorName, (const struct TfLiteTensor *tensor))               \
	F(struct tflite_quantization, TfLiteTensorQuantizationParams,                        \
	  (const struct TfLiteTensor *tensor))                                               \
	F(int, TfLiteTensorCopyFromBuffer,                                                   \
	  (struct TfLiteTensor * tensor, const void *data, size_t bytes))                    \
	F(int, TfLiteTensorCopyToBuffer,                                                     \
	  (const struct TfLiteTensor *tensor, void *data, size_t bytes))

struct reference;

/*
 * struct tflite - a TensorFlow Lite library that was loaded: its functions, by their names
 * @reference: the kernels that interpreters have; NULL: those that the runtime gives them
 */
struct tflite {
	void *library;
	struct reference *reference;
#define MEMBER(type, name, parameters) type(*name) parameters;
	TFLITE_FUNCTIONS(MEMBER)
#undef MEMBER
};
