/* SPDX-License-Identifier: MIT */
/*
 * Graphs and plans of the tests: arrays of the uapi's own records, which a test
 * may spoil as it likes before they are written as blobs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npumem_graph.h"
#include "npumem_plan.h"

/*
 * struct model - graph, and a plan for it
 * @instances: plan blocks
 *
 * All arrays are malloc'ed; counts beside them. model_free() it.
 */
struct model {
	struct npumem_tensor *tensors;
	struct npumem_tile *tiles;
	struct npumem_access *accesses;
	struct npumem_step *steps;
	struct npumem_block *blocks;
	struct npumem_edge *edges;
	struct npumem_carry *carries;
	struct npumem_plan_info info;
	struct npumem_placement *placements;
	struct npumem_position *positions;
	struct npumem_plan_block *instances;
	struct npumem_entry *entries;
	struct npumem_plan_edge *plan_edges;
	uint32_t tensor_count;
	uint32_t tile_count;
	uint32_t access_count;
	uint32_t step_count;
	uint32_t block_count;
	uint32_t edge_count;
	uint32_t carry_count;
	uint32_t placement_count;
	uint32_t position_count;
	uint32_t instance_count;
	uint32_t entry_count;
	uint32_t plan_edge_count;
};

/*
 * struct blob - written blob
 * @data: malloc'ed, 8-byte aligned; blob_free() it
 */
struct blob {
	uint8_t *data;
	size_t size;
};

/* Records are appended and their index returned; memory exhaustion exits. */
uint32_t model_tensor(struct model *m, uint32_t kind, uint64_t size);
uint32_t model_tile(struct model *m, uint32_t tensor, uint64_t offset, uint64_t length);
uint32_t model_whole(struct model *m, uint32_t tensor);		      /* tile of all of it */
uint32_t model_step(struct model *m, uint32_t flags);		      /* with no access yet */
uint32_t model_access(struct model *m, uint32_t tile, uint32_t mode); /* of the last step */
/* Step that reads tile @from (unless NPUMEM_NONE) and writes tile @to. */
uint32_t model_step_rw(struct model *m, uint32_t from, uint32_t to);

/* All of a tensor at @offset over the whole schedule; extends the arena. */
uint32_t model_place(struct model *m, uint32_t tensor, uint64_t offset);
/* One block, and its schedule: the steps in their order. Call after the last step. */
void model_schedule(struct model *m);

/* Control flow: steps added from now on are in this block. Instead of model_schedule(): */
uint32_t model_block(struct model *m);
uint32_t model_edge(struct model *m, uint32_t from, uint32_t to);
void model_carry(struct model *m, uint32_t from, uint32_t to); /* of the last edge */
/*
 * An instance of a block that is complete, its steps in their order; in it a
 * placement of all of a tensor, and the same valid at the instance's entry.
 * Placements and entries of an instance come before the next instance.
 */
uint32_t model_instance(struct model *m, uint32_t block);
uint32_t model_place_in(struct model *m, uint32_t instance, uint32_t tensor, uint64_t offset);
void model_enter(struct model *m, uint32_t instance, uint32_t tensor, uint64_t offset);
uint32_t model_plan_edge(struct model *m, uint32_t from, uint32_t to, uint32_t edge);
/* Append a position to the schedule, for an instance whose position_count the caller sets. */
void model_position(struct model *m, struct npumem_position position);
/* Store, at the end of the schedule of a graph of one block, all that a placement has. */
void model_store(struct model *m, uint32_t placement, uint64_t host_offset);

struct blob model_graph(const struct model *m);
struct blob model_plan(const struct model *m);
void model_free(struct model *m);
void blob_free(struct blob *blob);

/* Header, table entry and first record of a section of a written blob. */
struct npumem_blob_header *blob_header(const struct blob *blob);
struct npumem_blob_section *blob_section(const struct blob *blob, uint32_t kind);
void *blob_records(const struct blob *blob, uint32_t kind);

/**
 * struct blob_edit - one field of a written blob made wrong
 * @what: for the test's output
 * @section: kind of the section whose first records are meant; 0 the header
 * @entry: the section's entry in the table is meant, not its records
 * @offset: byte within the record, or from the first of several
 * @size: bytes of the field, up to 8
 * @value: new value
 * @err: negative errno that the blob is refused with
 * @rule: of the verdict
 * @log: how the verifier's log begins
 */
struct blob_edit {
	const char *what;
	uint32_t section;
	bool entry;
	size_t offset;
	size_t size;
	uint64_t value;
	int err;
	uint32_t rule;
	const char *log;
};

#define EDIT_HEADER(member, value, err, log)                \
	{ "header." #member "=" #value,                     \
	  0,                                                \
	  false,                                            \
	  offsetof(struct npumem_blob_header, member),      \
	  sizeof(((struct npumem_blob_header *)0)->member), \
	  value,                                            \
	  err,                                              \
	  NPUMEM_RULE_FORMAT,                               \
	  log }
#define EDIT_ENTRY(kind, member, value, err, rule, log)      \
	{ #kind "." #member "=" #value,                      \
	  kind,                                              \
	  true,                                              \
	  offsetof(struct npumem_blob_section, member),      \
	  sizeof(((struct npumem_blob_section *)0)->member), \
	  value,                                             \
	  err,                                               \
	  rule,                                              \
	  log }
#define EDIT(kind, type, index, member, value, err, rule, log)           \
	{ #type "[" #index "]." #member "=" #value,                      \
	  kind,                                                          \
	  false,                                                         \
	  (index) * sizeof(struct type) + offsetof(struct type, member), \
	  sizeof(((struct type *)0)->member),                            \
	  value,                                                         \
	  err,                                                           \
	  rule,                                                          \
	  log }

void blob_apply(const struct blob *blob, const struct blob_edit *edit);

/*
 * enum chain - indices in model_chain()'s graph
 *
 *   X (input) --COPY--> A --MIX--> B --LAST--> Y (output)
 *
 * One step each, CHAIN_SIZE bytes each tensor, tile i is all of tensor i.
 */
enum chain {
	CHAIN_X,
	CHAIN_A,
	CHAIN_B,
	CHAIN_Y,
	CHAIN_TENSORS,
	CHAIN_COPY = 0,
	CHAIN_MIX,
	CHAIN_LAST,
	CHAIN_STEPS,
	CHAIN_SIZE = 256,
};

/* Placed without any overlap, tensor i at i * CHAIN_SIZE. */
struct model model_chain(void);

/*
 * enum external - indices in model_external()'s graph
 *
 *   X (input), P (parameter) --LOAD--> A --MIX--> E --STORE--> Y (output)
 *
 * All but A are external. EXTERNAL_SIZE bytes each tensor, tile i is all of
 * tensor i; Y wants to be aligned to EXTERNAL_ALIGN.
 */
enum external {
	EXTERNAL_X,
	EXTERNAL_P,
	EXTERNAL_A,
	EXTERNAL_E,
	EXTERNAL_Y,
	EXTERNAL_TENSORS,
	EXTERNAL_LOAD = 0,
	EXTERNAL_MIX,
	EXTERNAL_STORE,
	EXTERNAL_STEPS,
	EXTERNAL_SIZE = 256,
	EXTERNAL_ALIGN = 64,
};

struct model model_external(void);

/*
 * enum spill - indices in model_spill()'s graph, and positions of its plan
 *
 *   X --A--> A ---------.
 *   P --B--> B --C--> C -+--Y--> Y (output)
 *    `-------------------'
 *
 * SPILL_SIZE bytes each tensor, tile i is all of tensor i. X (input) and P
 * (parameter) start in host memory. The arena has room for four tensors: A is
 * spilled in two pieces and filled in one, P dropped and filled again; Y is stored.
 * Copies are from spill_host[tensor] on. Placement i is tensor i's first.
 */
enum spill {
	SPILL_X,
	SPILL_P,
	SPILL_A,
	SPILL_B,
	SPILL_C,
	SPILL_Y,
	SPILL_TENSORS,
	SPILL_STEP_A = 0,
	SPILL_STEP_B,
	SPILL_STEP_C,
	SPILL_STEP_Y,
	SPILL_STEPS,
	SPILL_AT_LOAD_X = 0,
	SPILL_AT_A,
	SPILL_AT_SPILL_1,
	SPILL_AT_SPILL_2,
	SPILL_AT_LOAD_P,
	SPILL_AT_B,
	SPILL_AT_C,
	SPILL_AT_DROP_P,
	SPILL_AT_FILL_A,
	SPILL_AT_FILL_P,
	SPILL_AT_Y,
	SPILL_AT_STORE_Y,
	SPILL_POSITIONS,
	SPILL_SIZE = 5000,
	SPILL_CUT = 1777, /* between the pieces of A */
	SPILL_HOST_SIZE = 23001,
};

extern const uint64_t spill_host[SPILL_TENSORS];

struct model model_spill(void);
