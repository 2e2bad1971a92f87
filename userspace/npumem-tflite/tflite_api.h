/* SPDX-License-Identifier: MIT */
/*
 * What this program needs of TensorFlow Lite's C API, versions 2.9 and later: declared here, so
 * that none of its headers is needed to build, and looked up in the library when it is loaded.
 * Structs that the library shares with its clients are those of tflite_abi.h.
 */
#pragma once

#include <stdarg.h>

#include "../runtimes/tflite/tflite_abi.h"

struct TfLiteModel;
struct TfLiteInterpreterOptions;
struct TfLiteInterpreter;

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
	  (struct TfLiteInterpreterOptions * options, struct tfl_delegate * delegate))       \
	F(void, TfLiteInterpreterOptionsSetErrorReporter,                                    \
	  (struct TfLiteInterpreterOptions * options, tflite_reporter reporter, void *user)) \
	F(struct TfLiteInterpreter *, TfLiteInterpreterCreate,                               \
	  (const struct TfLiteModel *model, const struct TfLiteInterpreterOptions *options)) \
	F(void, TfLiteInterpreterDelete, (struct TfLiteInterpreter * interpreter))           \
	F(int, TfLiteInterpreterAllocateTensors, (struct TfLiteInterpreter * interpreter))   \
	F(int, TfLiteInterpreterInvoke, (struct TfLiteInterpreter * interpreter))            \
	F(int32_t, TfLiteInterpreterGetInputTensorCount,                                     \
	  (const struct TfLiteInterpreter *interpreter))                                     \
	F(struct tfl_tensor *, TfLiteInterpreterGetInputTensor,                              \
	  (const struct TfLiteInterpreter *interpreter, int32_t index))                      \
	F(int32_t, TfLiteInterpreterGetOutputTensorCount,                                    \
	  (const struct TfLiteInterpreter *interpreter))                                     \
	F(const struct tfl_tensor *, TfLiteInterpreterGetOutputTensor,                       \
	  (const struct TfLiteInterpreter *interpreter, int32_t index))                      \
	F(int, TfLiteTensorType, (const struct tfl_tensor *tensor))                          \
	F(int32_t, TfLiteTensorNumDims, (const struct tfl_tensor *tensor))                   \
	F(int32_t, TfLiteTensorDim, (const struct tfl_tensor *tensor, int32_t index))        \
	F(size_t, TfLiteTensorByteSize, (const struct tfl_tensor *tensor))                   \
	F(void *, TfLiteTensorData, (const struct tfl_tensor *tensor))                       \
	F(const char *, TfLiteTensorName, (const struct tfl_tensor *tensor))                 \
	F(struct tfl_quantization, TfLiteTensorQuantizationParams,                           \
	  (const struct tfl_tensor *tensor))                                                 \
	F(int, TfLiteTensorCopyFromBuffer,                                                   \
	  (struct tfl_tensor * tensor, const void *data, size_t bytes))                      \
	F(int, TfLiteTensorCopyToBuffer,                                                     \
	  (const struct tfl_tensor *tensor, void *data, size_t bytes))

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
