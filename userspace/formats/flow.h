/* SPDX-License-Identifier: MIT */
/*
 * Branches and loops of models, as blocks, edges and carries of the graph. Internal to the
 * importer: the readers of TFLite and ONNX share it.
 *
 * A branch is a block an arm, and one in which they meet. A loop is a block before each iteration
 * (its head), from whose end the loop is left, too, and a body. The runtime decides on the way
 * after a block's last step: that writes the condition, so that nothing has taken its bytes yet.
 */
#pragma once

#include "check.h"

/**
 * struct import_flow_ops - what a reader of a format does for it
 * @is_written: whether a tensor has a value by now; NULL: the reader has seen to that
 * @add_tensor: a tensor like that of index @like, but for what @tensor says; its index, or
 *	NPUMEM_NONE after an error
 * @add_op: an operator, whose block is set here
 */
struct import_flow_ops {
	bool (*is_written)(const void *reader, uint32_t tensor);
	uint32_t (*add_tensor)(void *reader, const struct npuplan_tensor *tensor, uint32_t like);
	void (*add_op)(void *reader, struct npuplan_op *op);
};

/**
 * struct import_flow - blocks in the making
 * @ops: the reader's
 * @reader: handed to them
 * @graph: the graph
 * @error: sentence of the first failure
 * @err: the reader's, kept there: 0, or the negative errno of that
 * @block: that operators go to
 * @made: operators and tensors so far that are not in the file
 * @branches: number of branches so far
 * @loops: number of loops so far
 */
struct import_flow {
	const struct import_flow_ops *ops;
	void *reader;
	struct npuplan_graph *graph;
	struct npuplan_error *error;
	int *err;
	uint32_t block;
	uint32_t made;
	uint32_t branches;
	uint32_t loops;
};

/**
 * struct import_carries - of one edge, in the making
 * @list: the carries; an edge takes them over
 * @count: number of them
 */
struct import_carries {
	struct npumem_carry *list;
	uint32_t count;
};

/**
 * import_copy() - add an operator that copies
 * @flow: blocks in the making
 * @from: tensor
 * @to: tensor, or NPUMEM_NONE: one is made for it
 *
 * Returns @to; NPUMEM_NONE after an error.
 */
uint32_t import_copy(struct import_flow *flow, uint32_t from, uint32_t to);

/** import_made_id() - a number for what is not in the file, until import_number_made() */
int64_t import_made_id(struct import_flow *flow);

/**
 * import_number_made() - numbers of what is not in the file: above those of the file
 * @graph: the graph
 * @tensors: first number of tensors
 * @ops: first number of operators
 */
void import_number_made(struct npuplan_graph *graph, int64_t tensors, int64_t ops);

/** import_new_carries() - room for @most carries, of which there are none yet */
struct import_carries import_new_carries(struct import_flow *flow, uint32_t most);

/**
 * import_carry() - let @to take on the value of @from along an edge
 * @flow: blocks in the making; a value without bytes to hand on is copied at their end
 * @carries: of the edge
 * @from: tensor, or its alias
 * @to: tensor; if it is @from it keeps its value
 */
void import_carry(struct import_flow *flow, struct import_carries *carries, uint32_t from,
		  uint32_t to);

/**
 * import_decide() - see to it that the last operator of the block writes a condition
 * @flow: blocks in the making; a copy is added if the last operator writes something else
 * @condition: tensor that says which way control goes
 */
void import_decide(struct import_flow *flow, uint32_t condition);

/**
 * import_begin_arm() - a block that control may pass to from the end of block @from
 * @flow: blocks in the making; operators go to the new one
 * @from: block
 */
void import_begin_arm(struct import_flow *flow, uint32_t from);

/** import_end_arm() - the edge that leads from the arm's end to where the arms meet */
uint32_t import_end_arm(struct import_flow *flow, struct import_carries *carries);

/**
 * import_join() - the block in which the arms of a branch meet
 * @flow: blocks in the making; operators go to the new one
 * @edges: those of import_end_arm(), one an arm
 * @count: number of arms
 */
void import_join(struct import_flow *flow, const uint32_t *edges, uint32_t count);

/**
 * import_begin_loop() - the block before each iteration, and after the last one
 * @flow: blocks in the making; operators go to the new one
 * @carries: what the loop's variables begin with
 *
 * Returns the new block.
 */
uint32_t import_begin_loop(struct import_flow *flow, struct import_carries *carries);

/** import_begin_body() - end what comes before each iteration; returns its last block */
uint32_t import_begin_body(struct import_flow *flow);

/**
 * import_end_loop() - end the body, and go on behind the loop
 * @flow: blocks in the making; operators go to a new one
 * @head: import_begin_loop()'s
 * @last: import_begin_body()'s
 * @carries: what the loop's variables have in the next iteration
 */
void import_end_loop(struct import_flow *flow, uint32_t head, uint32_t last,
		     struct import_carries *carries);

/** import_end_flow() - the exit is where the last block ends */
void import_end_flow(struct import_flow *flow);
