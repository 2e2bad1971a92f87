/* SPDX-License-Identifier: MIT */
/*
 * Random small graphs with plans, mostly valid, and ways to spoil them.
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
/* Uniform in [0, n). */
uint32_t rng_below(struct rng *r, uint32_t n);
/* True in percent of the cases. */
int rng_chance(struct rng *r, uint32_t percent);
/* The same, but mostly true if a feature is wished for. */
int rng_wish(struct rng *r, uint32_t feature, uint32_t percent);

/* A case within the oracle's limits: one block, or several. */
void random_case(struct rng *r, struct build *b);
/*
 * Tensors of sorts that are rare, with steps of their own, which are added to the
 * block in the making; see random_extra.c.
 */
void random_extra(struct rng *r, struct build *b, bool flat);
/* Place them in an instance of that block, once its positions are there. */
void random_place_extra(struct rng *r, struct build *b, uint32_t instance);
/* Is a tensor one that random_place_extra() places? */
bool random_is_extra(const struct rng *r, uint32_t tensor);
/* Placements of no use, and in another order. */
void random_disorder(struct rng *r, struct build *b);
/* Several blocks: branches, loops, unrolled as needed; see random_flow.c. */
void random_flow(struct rng *r, struct build *b);
/* A plan with transfers for a graph of one block that has its schedule; random_transfer.c. */
void random_transfers(struct rng *r, struct build *b);
/* Change some field of a transfer, or of what begins in host memory. */
void mutate_transfer(struct rng *r, struct build *b);
/* Any region of a tensor: all, a range, or strided in one to three dimensions. */
struct npumem_region random_region(struct rng *r, uint32_t size);
/* Lowest or some address apart from the placements alive at the same time. */
uint64_t random_place(struct rng *r, const struct build *b, uint32_t from, uint32_t to,
		      uint64_t extent, uint32_t align);
/* Change some field of some record so that the case stays within them. */
void mutate_case(struct rng *r, struct build *b);
/* Change some bytes of a blob. */
void mutate_bytes(struct rng *r, struct build_blob *blob);
