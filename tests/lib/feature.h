/* SPDX-License-Identifier: MIT */
/*
 * Features of random cases of the verifier. Each two features have to meet in one case, so they are
 * counted in pairs: in cases that were accepted, and in cases that were refused.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "blob_build.h"

enum feature {
	FEATURE_BLOCKS,	  /* several */
	FEATURE_LOOP,	  /* an edge of the plan back to an instance before it, or to itself */
	FEATURE_CARRY,	  /* along an edge */
	FEATURE_ENTRIES,  /* several entries of one tensor in one instance */
	FEATURE_PASS,	  /* a tensor carried through a block that does not use it */
	FEATURE_RING,	  /* placement in fewer slots than repetitions */
	FEATURE_RING2,	  /* of repetitions in another dimension, too */
	FEATURE_INPLACE,  /* a write that may take a read's bytes */
	FEATURE_COMB,	  /* the same, of tiles of several chunks */
	FEATURE_SQUARE,	  /* the same, of a tile that the step reads twice */
	FEATURE_UPDATE,	  /* an access */
	FEATURE_STATE,	  /* a tensor, not an alias */
	FEATURE_ALIAS,	  /* of any kind */
	FEATURE_ROLE,	  /* an alias that says what its bytes are */
	FEATURE_EXTERNAL, /* a tensor */
	FEATURE_FIXED,	  /* a tensor */
	FEATURE_STAGED,	  /* a step */
	FEATURE_AGAIN,	  /* bytes that have two placements in one instance */
	FEATURE_MIXED,	  /* placements of one tensor, not in the order of their spans */
	FEATURE_TRANSFER, /* at a position */
	FEATURE_GAP,	  /* moved bytes of a tensor, and in between some that are not */
	FEATURE_STORED,	  /* a tensor is stored, and written or updated later */
	FEATURES
};

/** struct feature_pairs - cases with both of two features, the smaller one first */
struct feature_pairs {
	uint64_t accepted[FEATURES][FEATURES];
	uint64_t refused[FEATURES][FEATURES];
};

/* The features of a case, as bits (1 << feature). */
uint32_t features_of(const struct build *b);
/* Counts a case with these features. */
void features_count(struct feature_pairs *pairs, uint32_t has, bool accepted);
/* The two features, as bits, that met least often; @turn breaks ties. */
uint32_t features_rare(const struct feature_pairs *pairs, uint64_t turn);
/* Prints the table; returns how many pairs that can exist never met, accepted or refused. */
uint32_t features_print(const struct feature_pairs *pairs);
