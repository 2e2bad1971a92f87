// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "file.h"
#include "input.h"
#include "sound.h"

static bool ends_in(const char *path, const char *end)
{
	size_t length = strlen(path), tail = strlen(end);

	return length > tail && !strcasecmp(path + length - tail, end);
}

static int take_file(struct input *input, const struct file *file, enum pixels pixels,
		     struct refusal *why)
{
	if (ends_in(input->path, ".png"))
		return picture_fill(file->data, file->size, pixels, &input->shape, input->data,
				    why);
	if (ends_in(input->path, ".wav"))
		return sound_fill(file->data, file->size, &input->shape, input->data,
				  &input->samples, why);
	if (file->size != input->shape.bytes)
		return refuse(why, -EINVAL, "%zu bytes, and input '%s' takes %zu, %s", file->size,
			      input->shape.name, input->shape.bytes, shape_text(&input->shape).s);
	memcpy(input->data, file->data, file->size);
	return 0;
}

int input_read(struct input *input, const char *path, enum pixels pixels, struct refusal *why)
{
	struct file file;
	int err;

	if (!shape_values(&input->shape))
		return refuse(why, -EOPNOTSUPP, "input '%s' has no fixed size: %s",
			      input->shape.name, shape_text(&input->shape).s);
	input->path = path;
	input->data = calloc(1, input->shape.bytes);
	if (!input->data)
		return refuse(why, -ENOMEM, "no memory for input '%s'", input->shape.name);
	if (!path)
		return 0;
	err = file_read(path, &file, why);
	if (err)
		return err;
	err = take_file(input, &file, pixels, why);
	file_fini(&file);
	return err;
}

void input_fini(struct input *input)
{
	free(input->data);
	input->data = NULL;
}

/* The next number of SplitMix64. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void draw(struct input *input, uint64_t *state)
{
	struct shape plain = { .type = input->shape.type };
	size_t bytes = type_bytes(plain.type);

	for (size_t i = 0; i < shape_values(&input->shape); i++) {
		uint64_t bits = next(state);

		/* 53 bits: what a double holds. */
		if (plain.type == TFL_FLOAT32 || plain.type == TFL_FLOAT64) {
			value_put(&plain, input->data, i, (double)(bits >> 11) / 0x1p52 - 1);
			continue;
		}
		if (plain.type == TFL_BOOL)
			bits &= 1;
		else if (bytes > 2)
			bits %= 100;
		/* Little-endian machines are all that the library is built for. */
		memcpy((char *)input->data + i * bytes, &bits, bytes < 8 ? bytes : 8);
	}
}

void input_draw(struct input *inputs, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++)
		if (!inputs[i].path)
			draw(&inputs[i], &seed);
}
