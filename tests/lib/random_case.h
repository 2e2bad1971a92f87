/* SPDX-License-Identifier: MIT */
/*
 * Draws random small graphs with plans, most of them valid, and spoils them.
 */
#pragma once

#include "blob_build.h"
#include "feature.h"

/*
 * struct rng - splitmix64: the same numbers everywhere
 * @wish: bits (1 << enum feature) that the case had better have
 * @rows, @comb, @gap: tensors that random_extra() has added, or NPUMEM_NONE
 */
struct rng {
	uint64_t state;
	uint32_t wish;
	uint32_t rows, comb, gap;
};

uint64_t rng_next(struct rng *r);
/* The next number below n, all of them equally likely. */
uint32_t rng_below(struct rng *r, uint32_t n);
/* True in so many percent of the calls. */
int rng_chance(struct rng *r, uint32_t percent);
/* The same, but mostly true if @r->wish has the feature. */
int rng_wish(struct rng *r, uint32_t feature, uint32_t percent);

/* Draws a case of one block or of several, within the oracle's limits. */
void random_case(struct rng *r, struct build *b);
/*
 * Adds tensors of rare kinds, with steps of their own, to the block that is being drawn; see
 * random_extra.c.
 */
void random_extra(struct rng *r, struct build *b, bool flat);
/* Places these tensors in an instance of that block, whose positions must be there. */
void random_place_extra(struct rng *r, struct build *b, uint32_t instance);
/* True if random_place_extra() places the tensor. */
bool random_is_extra(const struct rng *r, uint32_t tensor);
/* Adds placements that no step needs, and changes the order of all. */
void random_disorder(struct rng *r, struct build *b);
/* Draws a case of several blocks: branches, and loops unrolled as needed; see random_flow.c. */
void random_flow(struct rng *r, struct build *b);
/* Draws a plan with transfers for a graph of one block that has its schedule. */
void random_transfers(struct rng *r, struct build *b);
/* Changes a field of a transfer, or of a tensor that begins in host memory. */
void mutate_transfer(struct rng *r, struct build *b);
/* Draws a region of a tensor: all of it, a range, or one with up to three strides. */
struct npumem_region random_region(struct rng *r, uint32_t size);
/* The lowest address, or another one, that no placement of the same positions overlaps. */
uint64_t random_place(struct rng *r, const struct build *b, uint32_t from, uint32_t to,
		      uint64_t extent, uint32_t align);
/* Changes a field of a record; the case stays within the oracle's limits. */
void mutate_case(struct rng *r, struct build *b);
/* Changes some bytes of a blob. */
void mutate_bytes(struct rng *r, struct build_blob *blob);
