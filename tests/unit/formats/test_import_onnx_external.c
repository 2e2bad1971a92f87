/* SPDX-License-Identifier: MIT */
/* ONNX models whose constants' data is in other files. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx_check.h"

/* --------------------------------------------------------------- what the model says of it */

static Onnx__StringStringEntryProto *entry(struct onnx_model *model, const char *key,
					   const char *value)
{
	Onnx__StringStringEntryProto *made = onnx_model_take(model, sizeof(*made));

	onnx__string_string_entry_proto__init(made);
	made->key = memcpy(onnx_model_take(model, strlen(key) + 1), key, strlen(key));
	made->value = memcpy(onnx_model_take(model, strlen(value) + 1), value, strlen(value));
	return made;
}

/*
 * struct place - where the data of an initializer is said to be; NULL: nothing is said
 * @initializer: its number
 */
struct place {
	unsigned int initializer;
	const char *location, *offset, *length;
};

static void externalize(struct onnx_model *model, const struct place *place)
{
	Onnx__TensorProto *data = model->graph.initializer[place->initializer];

	data->has_raw_data = 0;
	data->n_int64_data = 0;
	data->has_data_location = 1;
	data->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	data->external_data = onnx_model_take(model, 3 * sizeof(*data->external_data));
	if (place->location)
		data->external_data[data->n_external_data++] =
			entry(model, "location", place->location);
	if (place->offset)
		data->external_data[data->n_external_data++] =
			entry(model, "offset", place->offset);
	if (place->length)
		data->external_data[data->n_external_data++] =
			entry(model, "length", place->length);
}

/* Weights and a shape: initializers 0 and 1. */
static struct onnx_model *new_model(void)
{
	return onnx_model_new("in x float 2x3; init w float 2x3; ints s 3,-1; node a:Add x,w -> z; "
			      "node b:Reshape z,s -> y; out y");
}

static void refuse_place(const char *location, const char *offset, const char *length,
			 const char *message)
{
	const struct place place = { 0, location, offset, length };
	AUTO_ONNX struct onnx_model *model = new_model();

	externalize(model, &place);
	onnx_refuse_model(model, NULL, -EINVAL, message);
}

TEST(places_refused)
{
	refuse_place("w.bin", "-1", NULL,
		     "tensor 'w': the offset of its external data, '-1', is no number");
	refuse_place(NULL, NULL, NULL, "tensor 'w': its data is external, and no file is named");
	refuse_place("weights/../../secret", NULL, NULL,
		     "tensor 'w': its external data is in 'weights/../../secret', which is not "
		     "below the model's folder");
	refuse_place("/etc/passwd", NULL, NULL,
		     "tensor 'w': its external data is in '/etc/passwd', which is not below the "
		     "model's folder");
	refuse_place("w.bin", NULL, "23",
		     "tensor 'w': its external data has 23 bytes, but shape and type make 24");
	refuse_place("w.bin", NULL, "24x",
		     "tensor 'w': the length of its external data, '24x', is no number");
}

/* Of weights the size is enough: nobody looks for the file. */
TEST(weights)
{
	const struct place place = { 0, "deep/..w.bin", "8", "24" };
	const struct npuimport_options options = { .strict = true, .folder = "/nowhere" };
	AUTO_ONNX struct onnx_model *model = new_model();
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	externalize(model, &place);
	graph = onnx_accept_model(model, &options, NULL);
	assert_string_equal(onnx_shape_in(graph, "w"), "2x3");
	assert_string_equal(onnx_shape_in(graph, "y"), "3x2");
}

/* ------------------------------------------------------------------------- what is read */

static char folder[64], file[96], model_path[96];

static int folder_setup(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/npumem-onnx-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof(file), "%s/s.bin", folder);
	snprintf(model_path, sizeof(model_path), "%s/model.onnx", folder);
	return 0;
}

static int folder_teardown(void **state)
{
	remove(file);
	remove(model_path);
	return rmdir(folder);
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *stream = fopen(path, "wb");

	assert_non_null(stream);
	assert_int_equal(fwrite(data, 1, size, stream), size);
	assert_int_equal(fclose(stream), 0);
}

/* The shape's data is behind 8 other bytes of the file. */
static struct onnx_model *model_of_file(void)
{
	const struct place place = { 1, "s.bin", "8", "16" };
	struct onnx_model *model = new_model();

	externalize(model, &place);
	return model;
}

static void write_shape(void)
{
	const int64_t shape[] = { 99, 3, -1 };

	write_file(file, shape, sizeof(shape));
}

static void refuse_file(int err, const char *message)
{
	const struct npuimport_options options = { .strict = true, .folder = folder };
	AUTO_ONNX struct onnx_model *model = model_of_file();

	onnx_refuse_model(model, &options, err, message);
}

#define NOT_READ                                                                                       \
	"node 1 'b' (Reshape): values decide how large tensor 'y' is, and those of tensor 's' are in " \
	"another file, which could not be read"

TEST_WITH(shape, folder_setup, folder_teardown)
{
	const struct npuimport_options options = { .strict = true, .folder = folder };
	AUTO_ONNX struct onnx_model *model = model_of_file();
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	write_shape();
	graph = onnx_accept_model(model, &options, NULL);
	assert_string_equal(onnx_shape_in(graph, "y"), "3x2");
	/* Who names no folder wants no file read. */
	onnx_refuse_model(model, NULL, -EOPNOTSUPP, NOT_READ);
}

/* npuimport_file() looks beside the model. */
TEST_WITH(beside_the_model, folder_setup, folder_teardown)
{
	AUTO_ONNX struct onnx_model *model = model_of_file();
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { 0 };
	size_t size;
	void *bytes = onnx_model_pack(model, &size);

	write_file(model_path, bytes, size);
	free(bytes);
	assert_int_equal(npuimport_file(model_path, NULL, &graph, NULL, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, NOT_READ);
	write_shape();
	assert_int_equal(npuimport_file(model_path, NULL, &graph, NULL, &error), 0);
	assert_string_equal(onnx_shape_in(graph, "y"), "3x2");
	npuplan_graph_free(graph);
}

/* Without options files are read strictly, as buffers are. */
TEST_WITH(strict_without_options, folder_setup, folder_teardown)
{
	static const char text[] = "{\"name\":\"g\",\"odd\":1,\"tensors\":[],\"ops\":[]}";
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { 0 };

	write_file(model_path, text, sizeof(text) - 1);
	assert_int_equal(npuimport_file(model_path, NULL, &graph, NULL, &error), -EINVAL);
	assert_non_null(strstr(error.text, "odd"));
}

TEST_WITH(files_refused, folder_setup, folder_teardown)
{
	const int64_t shape[] = { 99, 3 };

	refuse_file(-EOPNOTSUPP, NOT_READ);
	/* Neither a folder nor what somebody else would have to write to first. */
	assert_int_equal(mkdir(file, 0700), 0);
	refuse_file(-EOPNOTSUPP, NOT_READ);
	assert_int_equal(rmdir(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	refuse_file(-EOPNOTSUPP, NOT_READ);
	assert_int_equal(unlink(file), 0);
	write_file(file, shape, sizeof(shape));
	refuse_file(-EINVAL,
		    "tensor 's': its external data, 16 bytes from 8 on, is not in 's.bin'");
}

TEST_WITH(offset_refused, folder_setup, folder_teardown)
{
	const struct place place = { 1, "s.bin", "18446744073709551615", NULL };
	const struct npuimport_options options = { .strict = true, .folder = folder };
	AUTO_ONNX struct onnx_model *model = new_model();

	write_shape();
	externalize(model, &place);
	onnx_refuse_model(
		model, &options, -EINVAL,
		"tensor 's': its external data, 16 bytes from 18446744073709551615 on, is "
		"not in 's.bin'");
}
