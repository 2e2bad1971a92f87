// SPDX-License-Identifier: MIT
/*
 * Writes random graphs with plans as seeds for tests/fuzz/fuzz_verify.c.
 *
 * usage: write_corpus FOLDER SEED COUNT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "random_case.h"

int main(int argc, char **argv)
{
	uint64_t seed, i, count;

	if (argc != 4) {
		fprintf(stderr, "usage: write_corpus FOLDER SEED COUNT\n");
		return 2;
	}
	seed = strtoull(argv[2], NULL, 0);
	count = strtoull(argv[3], NULL, 0);
	for (i = 0; i < count; i++) {
		struct rng r = { .state = seed + i };
		struct build_blob g, p;
		uint32_t length;
		char path[4096];
		struct build b;
		FILE *f;

		build_init(&b);
		random_case(&r, &b);
		g = build_graph(&b);
		p = build_plan(&b);
		build_free(&b);
		length = (uint32_t)g.size;
		snprintf(path, sizeof(path), "%s/%" PRIu64, argv[1], seed + i);
		f = fopen(path, "wb");
		if (!f || fwrite(&length, sizeof(length), 1, f) != 1 ||
		    fwrite(g.data, g.size, 1, f) != 1 || fwrite(p.data, p.size, 1, f) != 1 ||
		    fclose(f)) {
			perror(path);
			return 1;
		}
		free(g.data);
		free(p.data);
	}
	return 0;
}
