/* SPDX-License-Identifier: MIT */
/* What a model is given: values of a random number generator, or a file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "picture.h"
#include "refusal.h"
#include "shape.h"

/**
 * struct input - one input of the model; input_fini() frees it
 * @shape: what it takes
 * @data: its values, @shape.bytes of them
 * @path: the file they are from; NULL: they are random
 * @samples: of a sound, how many the file has; otherwise 0
 */
struct input {
	struct shape shape;
	void *data;
	const char *path;
	size_t samples;
};

/*
 * input_read() - take memory for an input, and its values from a file if @path is not NULL
 *
 * A file whose name ends in .png is a picture, one in .wav a sound, and any other one has the bytes
 * as they are. The errnos are those of file_read(), picture_fill() and sound_fill(); -EINVAL, too,
 * if there are more or fewer bytes than the input takes; -EOPNOTSUPP, too, if it has no fixed size.
 */
int input_read(struct input *input, const char *path, enum pixels pixels, struct refusal *why);
void input_fini(struct input *input);

/*
 * input_draw() - fill inputs with random values, those that files fill left as they are
 *
 * The same @seed gives the same values on every machine: any bytes for integers of 8 and 16 bits, 0
 * to 99 for wider ones (they are indices, mostly), -1 to 1 for floats.
 */
void input_draw(struct input *inputs, size_t count, uint64_t seed);
