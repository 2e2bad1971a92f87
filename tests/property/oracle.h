/* SPDX-License-Identifier: MIT */
/*
 * What a plan does, byte by byte: the verifier's judge.
 *
 * Written from npumem_graph.h, npumem_plan.h and DESIGN's rules alone, shares
 * no code and no idea with kernel/verify. It executes the schedule on an arena
 * whose bytes carry tags (tensor, byte, version); a plan is good if every read
 * and the exit find the tags that the graph says. Small cases only.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>

#include "../unit/blob_build.h"

#define ORACLE_TENSORS	16
#define ORACLE_BYTES	64 /* of a tensor */
#define ORACLE_STEPS	40
#define ORACLE_ACCESSES 160
#define ORACLE_ARENA	2048

/** struct oracle_home - where a byte lies at a position */
struct oracle_home {
	unsigned char holders; /* placements that cover it there */
	unsigned char placement;
	unsigned short address;
};

/** struct oracle - one graph and plan under judgement */
struct oracle {
	const struct build *b;
	/* Per access: bytes of its tile in linear order. */
	unsigned char bytes[ORACLE_ACCESSES][ORACLE_BYTES];
	unsigned char byte_count[ORACLE_ACCESSES];
	/* Per access and byte: version read, version written (1 for the first). */
	unsigned char reads[ORACLE_ACCESSES][ORACLE_BYTES];
	unsigned char writes[ORACLE_ACCESSES][ORACLE_BYTES];
	unsigned char last_version[ORACLE_TENSORS][ORACLE_BYTES];
	unsigned char step_of[ORACLE_ACCESSES];
	unsigned char position_of[ORACLE_STEPS];
	struct oracle_home home[ORACLE_TENSORS][ORACLE_BYTES][ORACLE_STEPS];
	bool placed[ORACLE_TENSORS];
	/* Arena: tag of each byte, 0 for none. */
	unsigned int tags[ORACLE_ARENA];
};

/* NULL if the graph keeps the rules, else a word on which it breaks. */
const char *oracle_graph(struct oracle *o, const struct build *b);
/* The same for its plan; after oracle_graph() accepted. */
const char *oracle_plan(struct oracle *o);

/* Execution of an accepted plan, in any order of positions. */
void oracle_begin(struct oracle *o);
const char *oracle_step(struct oracle *o, unsigned int position);
const char *oracle_end(struct oracle *o);

#endif /* ORACLE_H */
