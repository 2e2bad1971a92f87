// SPDX-License-Identifier: MIT
/*
 * What the unmodified program is linked with where no TensorFlow Lite is: the same functions. The
 * real ones come before them when it runs.
 */
#define STUB(name)        \
	void *name(void); \
	void *name(void)  \
	{                 \
		return 0; \
	}

#pragma GCC visibility push(default)
STUB(TfLiteModelCreateFromFile)
STUB(TfLiteModelDelete)
STUB(TfLiteInterpreterOptionsCreate)
STUB(TfLiteInterpreterOptionsSetNumThreads)
STUB(TfLiteInterpreterOptionsDelete)
STUB(TfLiteInterpreterCreate)
STUB(TfLiteInterpreterDelete)
STUB(TfLiteInterpreterAllocateTensors)
STUB(TfLiteInterpreterInvoke)
STUB(TfLiteInterpreterGetInputTensor)
STUB(TfLiteInterpreterGetOutputTensor)
STUB(TfLiteTensorData)
STUB(TfLiteTensorByteSize)
