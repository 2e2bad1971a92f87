// SPDX-License-Identifier: MIT
/*
 * word - what the keyword spotting model of MLPerf Tiny hears, from a recording.
 *
 * usage: npumem_word SOUND MS
 *
 * SOUND is a WAV file of 48 kHz, one channel and 16 bits; what it has from millisecond MS on stands
 * in one second of silence. Prints the model's input, int8[1,49,10,1]: for each of 49 frames ten
 * mel-frequency cepstral coefficients, quantised. Exit 1: there is nothing to hear.
 *
 * The parameters are those that the reference model was trained with (mlcommons/tiny, keyword
 * spotting, get_dataset.py): the loudest sample is 1; frames of 30 ms each 20 ms under a Hann
 * window; magnitudes of 16 kHz and 512 points in 40 mel bands (HTK's scale) of 20 to 4000 Hz;
 * logarithms of these and 1e-6; a DCT-II times sqrt(2 / 40), as tf.signal has it also for the first
 * coefficient. The model's file has the quantisation.
 */
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "file.h"
#include "sound.h"

/*
 * At three times the rate that the model was trained with, frames and transform have three times
 * the samples. Bins of the transform lie where they did, and only those up to 4 kHz are asked for:
 * nothing has to be resampled.
 */
#define FASTER	   3
#define RATE	   48000
#define FRAME	   1440
#define STRIDE	   960
#define POINTS	   1536
#define FRAMES	   49
#define LOWEST	   20.0
#define HIGHEST	   4000.0
#define BINS	   128 /* of 31.25 Hz each, up to HIGHEST */
#define BANDS	   40
#define VALUES	   10
#define SCALE	   0.5847029089927673
#define ZERO_POINT 83

/* Where the word begins in the second; it has its own silence around it. */
#define BEFORE	(RATE / 5)
/* The longest beginning that is left out. */
#define MOST_MS 10000

static double mel(double hertz)
{
	return 1127 * log(1 + hertz / 700);
}

/* How much of a bin is in a band: a triangle, whose ends are its neighbours' tops. */
static double share(int band, int bin)
{
	double width = (mel(HIGHEST) - mel(LOWEST)) / (BANDS + 1);
	double place = (mel((double)bin * RATE / POINTS) - mel(LOWEST)) / width - band;

	return fmax(0, fmin(place, 2 - place));
}

/* cos(2 pi i / POINTS), computed once: an emulated machine takes long for it. */
static double cosines[POINTS];

/* The magnitude of a bin of a frame that is under its window, as at 16 kHz. */
static double magnitude(const double frame[FRAME], int bin)
{
	double real = 0, imaginary = 0;

	for (int i = 0, at = 0; i < FRAME; i++, at = (at + bin) % POINTS) {
		real += frame[i] * cosines[at];
		/* The sine: the cosine a quarter before. */
		imaginary += frame[i] * cosines[(at + POINTS - POINTS / 4) % POINTS];
	}
	return hypot(real, imaginary) / FASTER;
}

static void hear_frame(const double sound[FRAME], int8_t values[VALUES])
{
	double frame[FRAME], bands[BANDS] = { 0 };

	for (int i = 0; i < FRAME; i++)
		frame[i] = sound[i] * (0.5 - 0.5 * cos(2 * M_PI * i / FRAME));
	for (int bin = 1; bin <= BINS; bin++) {
		double found = magnitude(frame, bin);

		for (int band = 0; band < BANDS; band++)
			bands[band] += share(band, bin) * found;
	}
	for (int value = 0; value < VALUES; value++) {
		double sum = 0;

		for (int band = 0; band < BANDS; band++)
			sum += log(bands[band] + 1e-6) * cos(M_PI * value * (band + 0.5) / BANDS);
		sum = round(sum * sqrt(2.0 / BANDS) / SCALE) + ZERO_POINT;
		values[value] = (int8_t)fmin(fmax(sum, INT8_MIN), INT8_MAX);
	}
}

/* One second, of which the highest sample is 1. */
static void read_second(const char *path, size_t from, double second[RATE])
{
	struct shape shape = { .type = TFL_INT16 };
	size_t count = RATE - BEFORE, samples;
	struct refusal why = { "" };
	struct file file;
	int16_t *sound, top = 0;

	shape.bytes = (from + count) * sizeof(*sound);
	sound = calloc(1, shape.bytes);
	if (!sound)
		errx(1, "no memory");
	if (file_read(path, &file, &why) ||
	    sound_fill(file.data, file.size, &shape, sound, &samples, &why))
		errx(1, "%s: %s", path, why.text);
	file_fini(&file);
	for (size_t i = 0; i < count; i++)
		top = sound[from + i] > top ? sound[from + i] : top;
	if (!top)
		errx(1, "%s: silence from %zu ms on", path, from / (RATE / 1000));
	for (size_t i = 0; i < count; i++)
		second[BEFORE + i] = (double)sound[from + i] / top;
	free(sound);
}

int main(int argc, char **argv)
{
	static double second[RATE];
	int8_t values[FRAMES][VALUES];
	char *end = NULL;
	long from = argc == 3 ? strtol(argv[2], &end, 10) : -1;

	if (!end || end == argv[2] || *end || from < 0 || from > MOST_MS)
		errx(2, "usage: npumem_word SOUND MS, which are 0 to %d", MOST_MS);
	read_second(argv[1], (size_t)from * (RATE / 1000), second);
	for (int i = 0; i < POINTS; i++)
		cosines[i] = cos(2 * M_PI * i / POINTS);
	for (int i = 0; i < FRAMES; i++)
		hear_frame(second + i * STRIDE, values[i]);
	return fwrite(values, sizeof(values), 1, stdout) == 1 && !fflush(stdout) ? 0 : 1;
}
