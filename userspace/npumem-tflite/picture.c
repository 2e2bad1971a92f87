// SPDX-License-Identifier: MIT
#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

#define MAX_PIXELS (1u << 26)

/* struct picture - pixels as they were read: rows of @width times @channels bytes */
struct picture {
	uint32_t width;
	uint32_t height;
	uint32_t channels;
	unsigned char *pixels;
};

/* Height, width and channels of the tensor; the batch is 1. */
static int check_shape(const struct shape *shape, struct refusal *why)
{
	const int32_t *d = shape->dims;

	if (shape->dim_count != 4 || d[0] != 1 || d[1] < 1 || d[2] < 1 ||
	    (d[3] != 1 && d[3] != 3) ||
	    (shape->type != TFL_FLOAT32 && shape->type != TFL_INT8 && shape->type != TFL_UINT8) ||
	    shape_values(shape) != (size_t)d[1] * (size_t)d[2] * (size_t)d[3])
		return refuse(why, -EOPNOTSUPP,
			      "the model takes no picture, which is [1,height,width,1 or 3] of "
			      "float32, int8 or uint8, but %s",
			      shape_text(shape).s);
	return 0;
}

static int read_pixels(png_image *image, struct picture *picture, struct refusal *why)
{
	static const png_color black = { 0, 0, 0 };

	picture->width = image->width;
	picture->height = image->height;
	/* Before memory is taken for what a few bytes may claim. */
	if ((uint64_t)image->width * image->height > MAX_PIXELS)
		return refuse(why, -EFBIG, "%u x %u pixels are too many, of %u at most",
			      image->width, image->height, MAX_PIXELS);
	image->format = picture->channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
	picture->pixels = malloc(PNG_IMAGE_SIZE(*image));
	if (!picture->pixels)
		return refuse(why, -ENOMEM, "no memory for the picture");
	/* A warning, of a strange colour profile for example, is no failure. */
	if (!png_image_finish_read(image, &black, picture->pixels, 0, NULL))
		return refuse(why, -EINVAL, "damaged PNG file: %s", image->message);
	return 0;
}

static int read_png(const void *file, size_t size, struct picture *picture, struct refusal *why)
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	int err;

	if (size < 8 || png_sig_cmp(file, 0, 8))
		return refuse(why, -EINVAL, "not a PNG file");
	if (!png_image_begin_read_from_memory(&image, file, size))
		return refuse(why, -EINVAL, "damaged PNG file: %s", image.message);
	err = read_pixels(&image, picture, why);
	png_image_free(&image);
	return err;
}

/* struct span - the two pixels that a place lies between, and how near it is to the second */
struct span {
	uint32_t a;
	uint32_t b;
	double part;
};

/* Centres of pixels lie on centres, and the picture goes on at its edges as it ends. */
static struct span span(uint32_t at, uint32_t count, uint32_t pixels)
{
	double place = (at + 0.5) * pixels / count - 0.5;
	struct span s;

	if (place < 0)
		place = 0;
	s.a = (uint32_t)place;
	if (s.a >= pixels)
		s.a = pixels - 1;
	s.b = s.a + 1 < pixels ? s.a + 1 : s.a;
	s.part = place - s.a;
	return s;
}

static double sample(const struct picture *p, const struct span *y, const struct span *x,
		     uint32_t channel)
{
	size_t row = (size_t)p->width * p->channels;
	const unsigned char *upper = p->pixels + y->a * row, *lower = p->pixels + y->b * row;
	size_t left = (size_t)x->a * p->channels + channel;
	size_t right = (size_t)x->b * p->channels + channel;
	double above = upper[left] + x->part * (upper[right] - upper[left]);
	double below = lower[left] + x->part * (lower[right] - lower[left]);

	return above + y->part * (below - above);
}

/* A pixel of 0 to 255 as a value. */
static void put_pixel(const struct shape *shape, enum pixels pixels, void *data, size_t index,
		      double pixel)
{
	struct shape plain = { .type = shape->type };

	if (shape->type == TFL_INT8)
		pixel -= 128;
	else if (shape->type == TFL_FLOAT32 && pixels == PIXELS_SIGNED)
		pixel = pixel / 127.5 - 1;
	else if (shape->type == TFL_FLOAT32 && pixels == PIXELS_UNSIGNED)
		pixel /= 255;
	value_put(&plain, data, index, pixel);
}

int picture_fill(const void *file, size_t size, enum pixels pixels, const struct shape *shape,
		 void *data, struct refusal *why)
{
	struct picture picture = { 0 };
	uint32_t height, width;
	size_t index = 0;
	int err;

	err = check_shape(shape, why);
	if (err)
		return err;
	height = (uint32_t)shape->dims[1];
	width = (uint32_t)shape->dims[2];
	picture.channels = (uint32_t)shape->dims[3];
	err = read_png(file, size, &picture, why);
	for (uint32_t i = 0; !err && i < height; i++) {
		struct span y = span(i, height, picture.height);

		for (uint32_t j = 0; j < width; j++) {
			struct span x = span(j, width, picture.width);

			for (uint32_t c = 0; c < picture.channels; c++)
				put_pixel(shape, pixels, data, index++,
					  sample(&picture, &y, &x, c));
		}
	}
	free(picture.pixels);
	return err;
}
