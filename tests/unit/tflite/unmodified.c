// SPDX-License-Identifier: MIT
/*
 * A program that knows nothing of npumem: it runs a model in TensorFlow Lite, twice, and prints the
 * first output's bytes.
 *
 * usage: unmodified MODEL [options]
 *
 * With "options" the interpreters are made with options, the same for both; else with none.
 * It is linked with functions that do nothing, which LD_PRELOAD puts the runtime before.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void *TfLiteModelCreateFromFile(const char *path);
void TfLiteModelDelete(void *model);
void *TfLiteInterpreterOptionsCreate(void);
void TfLiteInterpreterOptionsSetNumThreads(void *options, int32_t count);
void TfLiteInterpreterOptionsDelete(void *options);
void *TfLiteInterpreterCreate(const void *model, const void *options);
void TfLiteInterpreterDelete(void *interpreter);
int TfLiteInterpreterAllocateTensors(void *interpreter);
int TfLiteInterpreterInvoke(void *interpreter);
void *TfLiteInterpreterGetInputTensor(const void *interpreter, int32_t index);
const void *TfLiteInterpreterGetOutputTensor(const void *interpreter, int32_t index);
void *TfLiteTensorData(const void *tensor);
size_t TfLiteTensorByteSize(const void *tensor);

static int infer(void *interpreter, int value)
{
	const unsigned char *bytes;
	const void *output;
	void *input;

	if (!interpreter || TfLiteInterpreterAllocateTensors(interpreter))
		return 1;
	input = TfLiteInterpreterGetInputTensor(interpreter, 0);
	memset(TfLiteTensorData(input), value, TfLiteTensorByteSize(input));
	if (TfLiteInterpreterInvoke(interpreter))
		return 1;
	output = TfLiteInterpreterGetOutputTensor(interpreter, 0);
	bytes = TfLiteTensorData(output);
	for (size_t i = 0; i < TfLiteTensorByteSize(output); i++)
		printf("%02x", bytes[i]);
	puts("");
	return 0;
}

int main(int argc, char **argv)
{
	void *model = argc > 1 ? TfLiteModelCreateFromFile(argv[1]) : NULL;
	void *options = argc > 2 ? TfLiteInterpreterOptionsCreate() : NULL;
	void *both[2] = { NULL, NULL };
	int failed = !model;

	if (options)
		TfLiteInterpreterOptionsSetNumThreads(options, 1);
	for (int i = 0; i < 2 && !failed; i++)
		both[i] = TfLiteInterpreterCreate(model, options);
	for (int i = 0; i < 2 && !failed; i++)
		failed = infer(both[i], 20 + i);
	for (int i = 0; i < 2; i++)
		if (both[i])
			TfLiteInterpreterDelete(both[i]);
	if (options)
		TfLiteInterpreterOptionsDelete(options);
	if (model)
		TfLiteModelDelete(model);
	return failed;
}
