// SPDX-License-Identifier: MIT
/*
 * Inputs of npumem-tflite: what pictures, sounds and random numbers become, and that damaged files
 * are refused. Usage: test_npumem_tflite_inputs [SEED]
 */
#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "random.h"
#include "sound.h"
#include "unit.h"

#define MUTANTS 4000

static uint64_t seed = 20261125;

static struct shape picture_shape(int type, int32_t height, int32_t width, int32_t channels)
{
	struct shape shape = {
		.type = type,
		.dim_count = 4,
		.dims = { 1, height, width, channels },
	};

	shape.bytes = (size_t)(height * width * channels) * type_bytes(type);
	return shape;
}

static struct shape sound_shape(int type, int32_t samples)
{
	struct shape shape = { .type = type, .dim_count = 2, .dims = { 1, samples } };

	shape.bytes = (size_t)samples * type_bytes(type);
	return shape;
}

/* struct made - a file in memory */
struct made {
	unsigned char bytes[4096];
	size_t size;
};

static struct made make_png(uint32_t width, uint32_t height, uint32_t format, const void *pixels)
{
	png_image image = {
		.version = PNG_IMAGE_VERSION,
		.width = width,
		.height = height,
		.format = format,
	};
	struct made made = { .size = sizeof(made.bytes) };

	assert_true(png_image_write_to_memory(&image, made.bytes, &made.size, 0, pixels, 0, NULL));
	return made;
}

static void put16(struct made *made, uint32_t value)
{
	made->bytes[made->size++] = (unsigned char)value;
	made->bytes[made->size++] = (unsigned char)(value >> 8);
}

static void put_name(struct made *made, const char *name, uint32_t size)
{
	memcpy(made->bytes + made->size, name, 4);
	made->size += 4;
	put16(made, size);
	put16(made, size >> 16);
}

/* A chunk of one byte that none knows, padded, stands before the samples. */
static struct made make_wav(const int16_t *samples, uint32_t count)
{
	struct made made = { 0 };

	put_name(&made, "RIFF", 46 + 2 * count);
	memcpy(made.bytes + made.size, "WAVE", 4);
	made.size += 4;
	put_name(&made, "fmt ", 16);
	put16(&made, 1);
	put16(&made, 1);
	made.size += 10;
	put16(&made, 16);
	put_name(&made, "LIST", 1);
	put16(&made, 0);
	put_name(&made, "data", 2 * count);
	for (uint32_t i = 0; i < count; i++)
		put16(&made, (uint16_t)samples[i]);
	return made;
}

/* ----------------------------------------------------------------------- pictures */

static const unsigned char ramp[4] = { 0, 51, 204, 255 };

/* Four grey pixels in a row, as values of a type. */
static void fill_ramp(int type, enum pixels pixels, double values[4])
{
	struct made png = make_png(4, 1, PNG_FORMAT_GRAY, ramp);
	struct shape shape = picture_shape(type, 1, 4, 1), plain = { .type = type };
	unsigned char data[16];
	struct refusal why = { "" };

	assert_int_equal(picture_fill(png.bytes, png.size, pixels, &shape, data, &why), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(value_get(&plain, data, i, &values[i]), 0);
}

TEST(pixels_of_each_type)
{
	double v[4];

	fill_ramp(TFL_UINT8, PIXELS_SIGNED, v);
	for (size_t i = 0; i < 4; i++)
		assert_true(v[i] == ramp[i]);
	fill_ramp(TFL_INT8, PIXELS_SIGNED, v);
	for (size_t i = 0; i < 4; i++)
		assert_true(v[i] == ramp[i] - 128);
	fill_ramp(TFL_FLOAT32, PIXELS_SIGNED, v);
	assert_true(v[0] == -1 && v[3] == 1);
	assert_float_equal(v[1], -0.6, 1e-6);
	fill_ramp(TFL_FLOAT32, PIXELS_UNSIGNED, v);
	assert_true(v[0] == 0 && v[3] == 1);
	assert_float_equal(v[1], 0.2, 1e-6);
	fill_ramp(TFL_FLOAT32, PIXELS_BYTES, v);
	for (size_t i = 0; i < 4; i++)
		assert_true(v[i] == ramp[i]);
}

/* Channels stay in their order, and rows in theirs. */
TEST(a_picture_of_the_same_size)
{
	unsigned char pixels[2 * 3 * 3], data[sizeof(pixels)];
	struct shape shape = picture_shape(TFL_UINT8, 2, 3, 3);
	struct refusal why = { "" };
	struct made png;

	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (unsigned char)(13 * i);
	png = make_png(3, 2, PNG_FORMAT_RGB, pixels);
	assert_int_equal(picture_fill(png.bytes, png.size, PIXELS_SIGNED, &shape, data, &why), 0);
	assert_memory_equal(data, pixels, sizeof(pixels));
}

TEST(a_picture_is_stretched)
{
	static const unsigned char two[2] = { 0, 100 }, shrunk[1] = { 128 };
	static const unsigned char wanted[4] = { 0, 25, 75, 100 };
	struct made png = make_png(2, 1, PNG_FORMAT_GRAY, two);
	struct shape shape = picture_shape(TFL_UINT8, 3, 4, 1);
	struct refusal why = { "" };
	unsigned char data[12];

	assert_int_equal(picture_fill(png.bytes, png.size, PIXELS_SIGNED, &shape, data, &why), 0);
	for (size_t row = 0; row < 3; row++)
		assert_memory_equal(data + 4 * row, wanted, 4);
	png = make_png(4, 1, PNG_FORMAT_GRAY, ramp);
	shape = picture_shape(TFL_UINT8, 1, 1, 1);
	assert_int_equal(picture_fill(png.bytes, png.size, PIXELS_SIGNED, &shape, data, &why), 0);
	/* Between 51 and 204: 127.5, of which 128 is the even neighbour. */
	assert_memory_equal(data, shrunk, 1);
}

TEST(transparent_pixels_lie_on_black)
{
	static const unsigned char clear[4] = { 200, 100, 50, 0 }, black[3];
	struct made png = make_png(1, 1, PNG_FORMAT_RGBA, clear);
	struct shape shape = picture_shape(TFL_UINT8, 1, 1, 3);
	struct refusal why = { "" };
	unsigned char data[3];

	assert_int_equal(picture_fill(png.bytes, png.size, PIXELS_SIGNED, &shape, data, &why), 0);
	assert_memory_equal(data, black, 3);
}

static void no_picture(struct shape shape)
{
	struct made png = make_png(4, 1, PNG_FORMAT_GRAY, ramp);
	unsigned char data[256];
	struct refusal why = { "" };

	assert_true(shape.bytes <= sizeof(data));
	assert_int_equal(picture_fill(png.bytes, png.size, PIXELS_SIGNED, &shape, data, &why),
			 -EOPNOTSUPP);
	assert_non_null(strstr(why.text, "the model takes no picture"));
}

TEST(tensors_that_are_no_pictures)
{
	struct shape shape = picture_shape(TFL_UINT8, 2, 2, 3);

	no_picture(picture_shape(TFL_UINT8, 2, 2, 2));
	no_picture(picture_shape(TFL_INT16, 2, 2, 3));
	no_picture(picture_shape(TFL_UINT8, 0, 2, 3));
	no_picture(sound_shape(TFL_UINT8, 4));
	shape.dims[0] = 2;
	no_picture(shape);
	shape.dims[0] = 1;
	shape.bytes--;
	no_picture(shape);
}

/* ------------------------------------------------------------------------- sounds */

static const int16_t wave[3] = { -32768, 16384, 32767 };

TEST(samples_of_each_type)
{
	struct made wav = make_wav(wave, 3);
	struct shape shape = sound_shape(TFL_INT16, 4);
	struct refusal why = { "" };
	int16_t integers[4];
	float floats[2];
	int8_t bytes[3];
	size_t samples;

	assert_int_equal(sound_fill(wav.bytes, wav.size, &shape, integers, &samples, &why), 0);
	assert_int_equal(samples, 3);
	assert_memory_equal(integers, wave, sizeof(wave));
	assert_int_equal(integers[3], 0);
	shape = sound_shape(TFL_FLOAT32, 2);
	assert_int_equal(sound_fill(wav.bytes, wav.size, &shape, floats, &samples, &why), 0);
	assert_true(floats[0] == -1 && floats[1] == 0.5F);
	shape = sound_shape(TFL_INT8, 3);
	shape.quantization = (struct tfl_quantization){ .scale = 1.0F / 128, .zero_point = 5 };
	assert_int_equal(sound_fill(wav.bytes, wav.size, &shape, bytes, &samples, &why), 0);
	assert_int_equal(bytes[0], -123);
	assert_int_equal(bytes[1], 69);
	assert_int_equal(bytes[2], 127);
}

/* struct damage - what is spoilt of a file of three samples, and what is said of it */
struct damage {
	size_t size; /* 0: all */
	size_t at;
	uint32_t value;
	int err;
	const char *text;
};

static void refuses_sound(void **state)
{
	const struct damage *damage = *state;
	struct made wav = make_wav(wave, 3), cut;
	struct shape shape = sound_shape(TFL_INT16, 4);
	struct refusal why = { "" };
	int16_t data[4];
	size_t samples;

	cut = (struct made){ .size = damage->at };
	if (damage->at) {
		put16(&cut, damage->value);
		memcpy(wav.bytes + damage->at, cut.bytes + damage->at, 2);
	}
	assert_int_equal(sound_fill(wav.bytes, damage->size ? damage->size : wav.size, &shape, data,
				    &samples, &why),
			 damage->err);
	assert_string_equal(why.text, damage->text);
}

/* The format begins at 20, the chunk LIST at 36, the chunk of samples at 46. */
#define REFUSES(name, ...) TEST_CASE(name, refuses_sound, NULL, NULL, struct damage, __VA_ARGS__)
REFUSES(too_short, 11, 0, 0, -EINVAL, "not a WAV file")
REFUSES(no_riff, 0, 2, 0, -EINVAL, "not a WAV file")
REFUSES(no_wave, 0, 8, 0, -EINVAL, "not a WAV file")
REFUSES(no_samples, 46, 0, 0, -EINVAL, "damaged WAV file: no samples")
REFUSES(half_a_head, 50, 0, 0, -EINVAL, "damaged WAV file: it ends in a chunk's head")
REFUSES(cut_off, 58, 0, 0, -EINVAL,
	"damaged WAV file: chunk 'data' has 6 bytes, and the file 4 more")
REFUSES(half_a_sample, 0, 50, 5, -EINVAL, "damaged WAV file: half a sample at its end")
REFUSES(short_format, 0, 16, 14, -EINVAL, "damaged WAV file: its format has 14 bytes, not 16")
REFUSES(samples_first, 0, 12, 'f' | 'x' << 8, -EINVAL, "damaged WAV file: samples before a format")
REFUSES(floats, 0, 20, 3, -EOPNOTSUPP,
	"a WAV file of format 3, 1 channels and 16 bits; 1 (PCM), 1 and 16 are what is read")
REFUSES(two_channels, 0, 22, 2, -EOPNOTSUPP,
	"a WAV file of format 1, 2 channels and 16 bits; 1 (PCM), 1 and 16 are what is read")
REFUSES(bytes, 0, 34, 8, -EOPNOTSUPP,
	"a WAV file of format 1, 1 channels and 8 bits; 1 (PCM), 1 and 16 are what is read")

TEST(a_tensor_that_is_no_sound)
{
	struct made wav = make_wav(wave, 3);
	struct shape shape = sound_shape(TFL_INT32, 4);
	struct refusal why = { "" };
	int32_t data[4];
	size_t samples;

	assert_int_equal(sound_fill(wav.bytes, wav.size, &shape, data, &samples, &why),
			 -EOPNOTSUPP);
	assert_string_equal(why.text, "the model takes no sound, which is float32, int16, int8 or "
				      "uint8, but int32[1,4]");
}

/* ------------------------------------------------------------------ random values */

TEST(random_values_are_of_their_seed)
{
	struct input inputs[3] = {
		{ .shape = sound_shape(TFL_INT8, 200) },
		{ .shape = sound_shape(TFL_FLOAT32, 200) },
		{ .shape = sound_shape(TFL_INT32, 200) },
	};
	unsigned char first[200];
	struct refusal why;
	bool negative = false;

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(input_read(&inputs[i], NULL, PIXELS_SIGNED, &why), 0);
	input_draw(inputs, 3, 7);
	memcpy(first, inputs[0].data, sizeof(first));
	for (size_t i = 0; i < 200; i++) {
		float f = ((float *)inputs[1].data)[i];
		int32_t n = ((int32_t *)inputs[2].data)[i];

		negative |= f < -0.5F;
		assert_true(f >= -1 && f < 1 && n >= 0 && n < 100);
	}
	assert_true(negative);
	input_draw(inputs, 3, 8);
	assert_memory_not_equal(first, inputs[0].data, sizeof(first));
	input_draw(inputs, 3, 7);
	assert_memory_equal(first, inputs[0].data, sizeof(first));
	/* A file's values stay. */
	inputs[0].path = "file";
	input_draw(inputs, 3, 8);
	assert_memory_equal(first, inputs[0].data, sizeof(first));
	for (size_t i = 0; i < 3; i++)
		input_fini(&inputs[i]);
}

TEST(values_are_rounded_and_kept_in_range)
{
	struct shape shape = { .type = TFL_UINT8, .quantization = { 0.5F, 10 } };
	unsigned char data[4];
	double value;

	assert_int_equal(value_put(&shape, data, 0, 1.3), 0);
	assert_int_equal(value_put(&shape, data, 1, -100), 0);
	assert_int_equal(value_put(&shape, data, 2, 1e9), 0);
	assert_int_equal(value_put(&shape, data, 3, 0.0 / 0.0), 0);
	assert_int_equal(data[0], 13);
	assert_int_equal(data[1], 0);
	assert_int_equal(data[2], 255);
	assert_int_equal(data[3], 0);
	assert_int_equal(value_get(&shape, data, 0, &value), 0);
	assert_true(value == 1.5);
	shape.type = TFL_STRING;
	assert_int_equal(value_put(&shape, data, 0, 1), -EOPNOTSUPP);
	assert_int_equal(value_get(&shape, data, 0, &value), -EOPNOTSUPP);
}

/* ----------------------------------------------------------------- damaged files */

/* struct outcomes - of files that were damaged */
struct outcomes {
	unsigned int taken;
	unsigned int refused;
};

/* Exactly as large as the file, so that a byte beyond is seen. */
static void try_file(const struct made *made, bool sound, struct outcomes *outcomes)
{
	struct shape shape = sound ? sound_shape(TFL_FLOAT32, 64) :
				     picture_shape(TFL_FLOAT32, 5, 7, 3);
	unsigned char *bytes = malloc(made->size ? made->size : 1);
	void *data = malloc(shape.bytes);
	struct refusal why = { "" };
	size_t samples;
	int err;

	assert_true(bytes && data);
	memcpy(bytes, made->bytes, made->size);
	err = sound ? sound_fill(bytes, made->size, &shape, data, &samples, &why) :
		      picture_fill(bytes, made->size, PIXELS_SIGNED, &shape, data, &why);
	free(bytes);
	free(data);
	assert_int_equal(!err, !*why.text);
	outcomes->taken += !err;
	outcomes->refused += !!err;
}

static void try_mutants(const struct made *made, bool sound)
{
	struct outcomes cut = { 0 }, changed = { 0 };
	uint64_t state = seed;

	for (struct made some = *made; some.size--;)
		try_file(&some, sound, &cut);
	for (unsigned int i = 0; i < MUTANTS; i++) {
		struct made mutant = *made;
		uint32_t changes = random_range(&state, 1, 4);

		while (changes--)
			mutant.bytes[random_range(&state, 0, (uint32_t)made->size - 1)] =
				(unsigned char)random_next(&state);
		try_file(&mutant, sound, &changed);
	}
	print_message("seed %llu: %u of %zu cut and %u of %d changed files were refused\n",
		      (unsigned long long)seed, cut.refused, made->size, changed.refused, MUTANTS);
	assert_true(cut.refused > 0 && changed.refused > 0 && changed.taken > 0);
}

TEST(damaged_pictures)
{
	unsigned char pixels[8 * 8 * 3];
	uint64_t random = seed;
	struct made png;

	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (unsigned char)random_range(&random, 0, 15);
	png = make_png(8, 8, PNG_FORMAT_RGB, pixels);
	try_mutants(&png, false);
}

TEST(damaged_sounds)
{
	int16_t samples[40];
	struct made wav;

	for (size_t i = 0; i < 40; i++)
		samples[i] = (int16_t)(1000 * i);
	wav = make_wav(samples, 40);
	try_mutants(&wav, true);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	return unit_run(NULL, NULL);
}
