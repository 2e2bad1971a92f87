// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sound.h"

/* Bytes of a RIFF chunk's name and size, of the file's head, and of a PCM format. */
#define CHUNK_HEAD 8
#define FILE_HEAD  12
#define PCM_FORMAT 16
#define PCM	   1

/* struct bytes - what is left of the file */
struct bytes {
	const unsigned char *at;
	size_t left;
};

static uint32_t get16(const unsigned char *at)
{
	return at[0] | (uint32_t)at[1] << 8;
}

static uint32_t get32(const unsigned char *at)
{
	return get16(at) | get16(at + 2) << 16;
}

/* The body of the next chunk; chunks begin at even places. */
static int next_chunk(struct bytes *file, char name[5], struct bytes *body, struct refusal *why)
{
	uint32_t size, padded;

	if (file->left < CHUNK_HEAD)
		return refuse(why, -EINVAL, "damaged WAV file: it ends in a chunk's head");
	memcpy(name, file->at, 4);
	name[4] = '\0';
	size = get32(file->at + 4);
	if (size > file->left - CHUNK_HEAD) {
		char plain[5];

		return refuse(why, -EINVAL,
			      "damaged WAV file: chunk '%s' has %u bytes, and the file %zu more",
			      plain_line(plain, sizeof(plain), name), size,
			      file->left - CHUNK_HEAD);
	}
	body->at = file->at + CHUNK_HEAD;
	body->left = size;
	padded = size + (size & 1 && size < file->left - CHUNK_HEAD);
	file->at += CHUNK_HEAD + padded;
	file->left -= CHUNK_HEAD + padded;
	return 0;
}

static int check_format(const struct bytes *format, struct refusal *why)
{
	uint32_t kind, channels, bits;

	if (format->left < PCM_FORMAT)
		return refuse(why, -EINVAL, "damaged WAV file: its format has %zu bytes, not %d",
			      format->left, PCM_FORMAT);
	kind = get16(format->at);
	channels = get16(format->at + 2);
	bits = get16(format->at + 14);
	if (kind != PCM || channels != 1 || bits != 16)
		return refuse(why, -EOPNOTSUPP,
			      "a WAV file of format %u, %u channels and %u bits; 1 (PCM), 1 and 16 "
			      "are what is read",
			      kind, channels, bits);
	return 0;
}

/* The samples: the body of "data", which "fmt " stands before. */
static int find_samples(struct bytes file, struct bytes *samples, struct refusal *why)
{
	bool format = false;
	char name[5];
	int err;

	if (file.left < FILE_HEAD || memcmp(file.at, "RIFF", 4) || memcmp(file.at + 8, "WAVE", 4))
		return refuse(why, -EINVAL, "not a WAV file");
	file.at += FILE_HEAD;
	file.left -= FILE_HEAD;
	while (file.left) {
		err = next_chunk(&file, name, samples, why);
		if (!err && !strcmp(name, "fmt ")) {
			err = check_format(samples, why);
			format = true;
		}
		if (err)
			return err;
		if (strcmp(name, "data") != 0)
			continue;
		if (!format)
			return refuse(why, -EINVAL, "damaged WAV file: samples before a format");
		if (samples->left % 2)
			return refuse(why, -EINVAL, "damaged WAV file: half a sample at its end");
		return 0;
	}
	return refuse(why, -EINVAL, "damaged WAV file: no samples");
}

static int check_shape(const struct shape *shape, struct refusal *why)
{
	if (shape->type != TFL_FLOAT32 && shape->type != TFL_INT16 && shape->type != TFL_INT8 &&
	    shape->type != TFL_UINT8)
		return refuse(why, -EOPNOTSUPP,
			      "the model takes no sound, which is float32, int16, int8 or uint8, "
			      "but %s",
			      shape_text(shape).s);
	return 0;
}

int sound_fill(const void *file, size_t size, const struct shape *shape, void *data,
	       size_t *samples, struct refusal *why)
{
	struct shape integers = { .type = TFL_INT16 };
	bool raw = shape->type == TFL_INT16;
	struct bytes found = { 0 };
	int err;

	err = check_shape(shape, why);
	if (!err)
		err = find_samples((struct bytes){ file, size }, &found, why);
	if (err)
		return err;
	*samples = found.left / 2;
	for (size_t i = 0; i < shape_values(shape); i++) {
		int16_t sample = i < *samples ? (int16_t)get16(found.at + 2 * i) : 0;

		value_put(raw ? &integers : shape, data, i, raw ? sample : sample / 32768.0);
	}
	return 0;
}
