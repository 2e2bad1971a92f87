/* SPDX-License-Identifier: MIT */
/*
 * What a plan does, byte by byte: the verifier's judge.
 *
 * Written from npumem_graph.h, npumem_plan.h and the table of rules alone, shares
 * no code and no idea with kernel/verify. It executes blocks on an arena whose
 * bytes carry tags: every byte that a step stores gets a new one, a carry along
 * an edge hands the tags of one tensor's bytes to another's by name, and a read,
 * an edge or the exit must find the tags that the program says.
 *
 * Two ways. oracle_plan() judges each instance on its own, from any state that
 * its entry records allow, and each edge from it: what is wrong anywhere is
 * found. oracle_begin(), oracle_step() and oracle_cross() execute the program
 * from its start along one path, in any order of the steps of a block; entry
 * records have no say there. Small cases only.
 */
#pragma once

#include <stdbool.h>

#include "blob_build.h"

#define ORACLE_TENSORS	 16
#define ORACLE_BYTES	 64 /* of a tensor */
#define ORACLE_STEPS	 40
#define ORACLE_ACCESSES	 160
#define ORACLE_VERSIONS	 48 /* of a byte in one block */
#define ORACLE_BLOCKS	 12
#define ORACLE_INSTANCES 16
#define ORACLE_EDGES	 64 /* of a plan */
#define ORACLE_POSITIONS 96
#define ORACLE_ARENA	 2048
#define ORACLE_HOST	 2048
/* External tensors lie beyond the arena, and host memory beyond them. */
#define ORACLE_HOST_AT	 (ORACLE_ARENA + ORACLE_TENSORS * ORACLE_BYTES)
#define ORACLE_MEMORY	 (ORACLE_HOST_AT + ORACLE_HOST)

/** struct oracle_home - where a byte lies at a position */
struct oracle_home {
	unsigned char holders; /* placements that cover it there */
	unsigned char placement;
	unsigned short address;
};

/** struct oracle - one graph and plan under judgement */
struct oracle {
	const struct build *b;
	bool flat; /* one block without edges */
	/* Per access: its tensor, not an alias, and bytes of its tile in linear order. */
	unsigned char tensor_of[ORACLE_ACCESSES];
	unsigned char bytes[ORACLE_ACCESSES][ORACLE_BYTES];
	unsigned char byte_count[ORACLE_ACCESSES];
	/* Per access and byte: version read, version written; 0 is what the block finds. */
	unsigned char reads[ORACLE_ACCESSES][ORACLE_BYTES];
	unsigned char writes[ORACLE_ACCESSES][ORACLE_BYTES];
	unsigned char step_of[ORACLE_ACCESSES];
	unsigned char block_of[ORACLE_STEPS];
	/* Per block and byte: last version, and whether an access touches it. */
	unsigned char last_version[ORACLE_BLOCKS][ORACLE_TENSORS][ORACLE_BYTES];
	bool touched[ORACLE_BLOCKS][ORACLE_TENSORS][ORACLE_BYTES];

	/* Per instance a position that stands for its entry, if it has none. */
	unsigned char first[ORACLE_INSTANCES], last[ORACLE_INSTANCES];
	unsigned char instance_of[ORACLE_POSITIONS];
	struct oracle_home home[ORACLE_TENSORS][ORACLE_BYTES][ORACLE_POSITIONS];
	bool placed[ORACLE_TENSORS];
	/* There are transfers, or tensors that begin in host memory. */
	bool moving;
	/* Where a byte's copy is, -1 for none; the version that a transfer moves. */
	short host_at[ORACLE_TENSORS][ORACLE_BYTES];
	unsigned char moved[ORACLE_POSITIONS][ORACLE_BYTES];
	/* Bytes of outputs that end in host memory. */
	bool stored[ORACLE_TENSORS][ORACLE_BYTES];
	/* Entry states, and the bytes that must outlive the instance. */
	bool entered[ORACLE_INSTANCES][ORACLE_TENSORS][ORACLE_BYTES];
	bool needed[ORACLE_INSTANCES][ORACLE_TENSORS][ORACLE_BYTES];

	/* Execution: the instance, its bytes' versions, and what is in memory. */
	unsigned int instance;
	unsigned int next_tag;
	unsigned int tags[ORACLE_TENSORS][ORACLE_BYTES][ORACLE_VERSIONS];
	unsigned int memory[ORACLE_MEMORY];
};

/* NULL if the graph keeps the rules, else a word on which it breaks. */
const char *oracle_graph(struct oracle *o, const struct build *b);
/* The same for its plan; after oracle_graph() accepted. */
const char *oracle_plan(struct oracle *o);

/*
 * Execution of an accepted plan. Begin an inference: state is what the one
 * before left, if again.
 */
void oracle_begin(struct oracle *o, bool again);
/* A step of the current instance, or a transfer, in any order. */
const char *oracle_step(struct oracle *o, unsigned int position);
/* An edge of the plan, after all steps of the current instance. */
const char *oracle_cross(struct oracle *o, unsigned int edge);
/* The end of a graph of one block without edges. */
const char *oracle_end(struct oracle *o);
/* Address of a byte at a position; false if it has none there. */
bool oracle_address(const struct oracle *o, unsigned int tensor, unsigned int byte,
		    unsigned int position, unsigned int *at);
