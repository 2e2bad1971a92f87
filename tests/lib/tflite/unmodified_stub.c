// SPDX-License-Identifier: MIT
/*
 * What the unmodified program is linked with where no TensorFlow Lite is: the same functions. The
 * real ones come before them when it runs. With a VERSION it is a TensorFlow Lite of that version.
 */
#define STUB(name)        \
	void *name(void); \
	void *name(void)  \
	{                 \
		return 0; \
	}

#pragma GCC visibility push(default)
/* A model, so that the program goes on to an interpreter. */
const void *TfLiteModelCreateFromFile(const char *path);
const void *TfLiteModelCreateFromFile(const char *path)
{
	return path;
}

STUB(TfLiteModelDelete)
STUB(TfLiteInterpreterOptionsCreate)
STUB(TfLiteInterpreterOptionsSetNumThreads)
STUB(TfLiteInterpreterOptionsAddDelegate)
STUB(TfLiteInterpreterOptionsDelete)
STUB(TfLiteInterpreterCreate)
STUB(TfLiteInterpreterDelete)
STUB(TfLiteInterpreterResizeInputTensor)
STUB(TfLiteInterpreterAllocateTensors)
STUB(TfLiteInterpreterInvoke)
STUB(TfLiteInterpreterGetInputTensor)
STUB(TfLiteInterpreterGetOutputTensor)
STUB(TfLiteTensorNumDims)
STUB(TfLiteTensorDim)
STUB(TfLiteTensorData)
STUB(TfLiteTensorByteSize)

#ifdef VERSION
const char *TfLiteVersion(void);
const char *TfLiteVersion(void)
{
	return VERSION;
}
#endif
