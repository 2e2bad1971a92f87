// SPDX-License-Identifier: MIT
/*
 * face - where MediaPipe's short-range face detector has found a face, from its outputs.
 *
 * usage: npumem_face OUTPUTS
 *
 * OUTPUTS is what npumem-tflite --output writes: for each of 896 anchors a box and six points, 16
 * floats, then for each a score. Prints the best box, in parts of the picture; exit 1: there is
 * no face.
 */
#include <err.h>
#include <math.h>
#include <stdio.h>

#define ANCHORS	   896
#define VALUES	   16
#define SIZE	   128.0 /* pixels of the model's input, in which boxes are told */
#define LEAST_SURE 0.75

/* struct anchor - the centre of the square that a box is told from, in parts of the picture */
struct anchor {
	double x;
	double y;
};

/* Two for each square of 16 x 16, then six for each of 8 x 8. */
static struct anchor anchor_of(int number)
{
	int side = number < 512 ? 16 : 8;
	int square = number < 512 ? number / 2 : (number - 512) / 6;
	int column = square % side, row = square / side;

	return (struct anchor){ (column + 0.5) / side, (row + 0.5) / side };
}

int main(int argc, char **argv)
{
	static float boxes[ANCHORS][VALUES], scores[ANCHORS];
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	struct anchor anchor;
	const float *box;
	int best = 0;
	double sure;

	if (!file)
		errx(2, "usage: npumem_face OUTPUTS");
	if (fread(boxes, sizeof(boxes), 1, file) != 1 ||
	    fread(scores, sizeof(scores), 1, file) != 1 || getc(file) != EOF)
		errx(2, "%s: not the outputs of the face detector", argv[1]);
	fclose(file);
	for (int i = 1; i < ANCHORS; i++)
		if (scores[i] > scores[best])
			best = i;
	sure = 1 / (1 + exp(-scores[best]));
	if (!(sure >= LEAST_SURE)) {
		printf("no face: the best place is one with %.0f %%\n", 100 * sure);
		return 1;
	}
	anchor = anchor_of(best);
	box = boxes[best];
	printf("a face, %.0f %% sure: centre %.0f %% from the left, %.0f %% from the top; %.0f %% wide\n",
	       100 * sure, 100 * (anchor.x + box[0] / SIZE), 100 * (anchor.y + box[1] / SIZE),
	       100 * box[2] / SIZE);
	return 0;
}
