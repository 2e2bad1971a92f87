// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inference.h"

int work_init(struct work *work, const char *const *paths, size_t path_count, enum pixels pixels,
	      const char **where, struct refusal *why)
{
	const struct tflite *t = work->ours->tflite;
	int32_t count = t->TfLiteInterpreterGetInputTensorCount(work->ours->interpreter);
	int err = 0;

	work->input_count = count > 0 ? (size_t)count : 0;
	if (path_count > work->input_count)
		return refuse(why, -EINVAL, "%zu inputs were given, and the model takes %zu",
			      path_count, work->input_count);
	work->inputs = calloc(work->input_count + 1, sizeof(*work->inputs));
	if (!work->inputs)
		return refuse(why, -ENOMEM, "no memory for inputs");
	for (size_t i = 0; !err && i < work->input_count; i++) {
		struct tfl_tensor *tensor =
			t->TfLiteInterpreterGetInputTensor(work->ours->interpreter, (int32_t)i);

		work->inputs[i].shape = runner_shape(t, tensor);
		*where = i < path_count ? paths[i] : *where;
		err = input_read(&work->inputs[i], i < path_count ? paths[i] : NULL, pixels, why);
	}
	return err;
}

static void free_outputs(struct output *outputs, size_t count)
{
	for (size_t i = 0; outputs && i < count; i++)
		free(outputs[i].data);
	free(outputs);
}

void work_fini(struct work *work)
{
	for (size_t i = 0; work->inputs && i < work->input_count; i++)
		input_fini(&work->inputs[i]);
	free(work->inputs);
	free_outputs(work->outputs, work->output_count);
	work->inputs = NULL;
	work->outputs = NULL;
}

static int give_inputs(const struct work *work, const struct runner *runner, struct refusal *why)
{
	const struct tflite *t = runner->tflite;

	for (size_t i = 0; i < work->input_count; i++) {
		struct tfl_tensor *tensor =
			t->TfLiteInterpreterGetInputTensor(runner->interpreter, (int32_t)i);

		/* The runtime would copy to nowhere. */
		if (work->inputs[i].shape.bytes && !t->TfLiteTensorData(tensor))
			return refuse(why, -EDESTADDRREQ,
				      "input '%s' has no memory: inputs=bound is for programs that "
				      "have a dma-buf for it",
				      work->inputs[i].shape.name);
		if (t->TfLiteTensorCopyFromBuffer(tensor, work->inputs[i].data,
						  work->inputs[i].shape.bytes) != TFL_OK)
			return refuse(why, -EIO, "input '%s' cannot be set",
				      work->inputs[i].shape.name);
	}
	return 0;
}

/* Copies of all outputs; their sizes may be another after each inference. */
static int take_outputs(const struct runner *runner, struct output **outputs, size_t *count,
			struct refusal *why)
{
	const struct tflite *t = runner->tflite;
	int32_t wanted = t->TfLiteInterpreterGetOutputTensorCount(runner->interpreter);
	struct output *list = calloc((size_t)wanted + 1, sizeof(*list));

	if (!list)
		return refuse(why, -ENOMEM, "no memory for outputs");
	*outputs = list;
	*count = (size_t)wanted;
	for (size_t i = 0; i < *count; i++) {
		const struct tfl_tensor *tensor =
			t->TfLiteInterpreterGetOutputTensor(runner->interpreter, (int32_t)i);

		list[i].shape = runner_shape(t, tensor);
		list[i].data = malloc(list[i].shape.bytes + 1);
		if (!list[i].data)
			return refuse(why, -ENOMEM, "no memory for output '%s'",
				      list[i].shape.name);
		if (t->TfLiteTensorCopyToBuffer(tensor, list[i].data, list[i].shape.bytes) !=
		    TFL_OK)
			return refuse(why, -EIO, "output '%s' cannot be read", list[i].shape.name);
	}
	return 0;
}

/* The first byte in which an output differs; false: in none. */
static bool differ(const struct output *ours, const struct output *plain, char *text, size_t size)
{
	const unsigned char *a = ours->data, *b = plain->data;
	size_t i = 0;

	if (ours->shape.bytes != plain->shape.bytes) {
		snprintf(text, size, "has %zu bytes, and plain %zu", ours->shape.bytes,
			 plain->shape.bytes);
		return true;
	}
	while (i < ours->shape.bytes && a[i] == b[i])
		i++;
	if (i == ours->shape.bytes)
		return false;
	snprintf(text, size, "byte %zu of %zu is %u, and plain %u", i, ours->shape.bytes, a[i],
		 b[i]);
	return true;
}

static int compare(struct work *work, uint32_t run, struct refusal *why)
{
	struct output *plain = NULL;
	size_t count = 0;
	char text[100];
	int err = take_outputs(work->plain, &plain, &count, why);

	for (size_t i = 0; !err && !*work->difference && i < count; i++)
		if (differ(&work->outputs[i], &plain[i], text, sizeof(text)))
			snprintf(work->difference, sizeof(work->difference),
				 "inference %u, seed %" PRIu64 ": output %zu '%s' differs: %s", run,
				 work->seed + run, i, work->outputs[i].shape.name, text);
	free_outputs(plain, count);
	return err;
}

static int infer(struct work *work, uint32_t run, struct refusal *why)
{
	struct runner *order[] = { work->ours, work->plain };
	int err = 0;

	if (run & 1) {
		order[0] = work->plain;
		order[1] = work->ours;
	}
	input_draw(work->inputs, work->input_count, work->seed + run);
	for (size_t i = 0; !err && i < 2; i++) {
		if (!order[i])
			continue;
		err = give_inputs(work, order[i], why);
		if (!err)
			err = runner_invoke(order[i], why);
	}
	return err;
}

static bool write_outputs(const struct work *work, FILE *file)
{
	bool good = true;

	for (size_t i = 0; good && i < work->output_count; i++)
		good = fwrite(work->outputs[i].data, 1, work->outputs[i].shape.bytes, file) ==
		       work->outputs[i].shape.bytes;
	return good;
}

int work_do(struct work *work, struct refusal *why)
{
	int err = 0;

	for (uint32_t run = 0; !err && run < work->runs && !*work->difference; run++) {
		err = infer(work, run, why);
		free_outputs(work->outputs, work->output_count);
		work->outputs = NULL;
		work->output_count = 0;
		if (!err)
			err = take_outputs(work->ours, &work->outputs, &work->output_count, why);
		if (!err && work->all && !write_outputs(work, work->all))
			err = refuse(why, -EIO, "outputs cannot be written: %s", strerror(errno));
		if (!err && work->plain)
			err = compare(work, run, why);
	}
	return err;
}

int work_write(const struct work *work, const char *path, struct refusal *why)
{
	FILE *file = fopen(path, "wbe");
	int err = file ? 0 : -errno;

	if (file && !write_outputs(work, file))
		err = errno ? -errno : -EIO;
	/* What is buffered is written now, or it is not. */
	if (file && fclose(file) && !err)
		err = -errno;
	return err ? refuse(why, err, "%s", strerror(-err)) : 0;
}
