/* SPDX-License-Identifier: MIT */
/* A delegate, its partitions, and what the parts that make them share. */
#pragma once

#include "bound.h"
#include "enforcer.h"
#include "memory.h"
#include "npumem_tflite.h"
#include "tflite_abi.h"

/* enum holding - whose memory a tensor of the model has */
enum holding {
	HOLDING_NOT = 0,     /* the runtime's, or of whoever else */
	HOLDING_PLANNED = 1, /* a partition's arena */
	HOLDING_KEPT = 2,    /* a partition's, beside its arena: what kernels compute only once */
};

/*
 * struct op - a borrowed kernel
 * @node: the runtime's node, copied, but for its temporaries: kernels free and replace these
 * @prepare, @invoke: the kernel's; @prepare may be NULL
 * @code: builtin code
 * @index: number of the node in the model
 * @step: of the graph; NPUMEM_NONE: no planned tensor is accessed
 * @name: for messages
 */
struct op {
	struct tfl_node node;
	int (*prepare)(struct tfl_context *context, struct tfl_node *node);
	int (*invoke)(struct tfl_context *context, struct tfl_node *node);
	int32_t code;
	int index;
	uint32_t step;
	char name[64];
};

/**
 * struct planned - a tensor of the graph
 * @index: of the tensor in the model
 * @bytes: its size
 * @kind: enum npumem_tensor_kind
 * @external: it has no place in the arena: an input that is bound
 */
struct planned {
	int index;
	uint64_t bytes;
	uint32_t kind;
	bool external;
};

/* struct kept - a tensor that is filled in once, in aligned @memory; @used: by this graph */
struct kept {
	int index;
	bool used;
	uint64_t bytes;
	void *memory;
};

/* struct copy - bytes of the runtime's @tensor, from @first on, that are at @memory in a plan */
struct copy {
	int tensor;
	uint64_t first;
	uint64_t length;
	void *memory;
};

struct copies {
	struct copy *list;
	uint32_t count;
};

struct delegate;

/*
 * struct partition - operators that run one after the other, in one plan
 * @delegate: whose it is
 * @next: of the delegate's partitions
 * @ops: @op_count of them, in the runtime's order
 * @outputs: tensors that others need after the partition; @output_count
 * @planned: tensors of the graph, by their numbers there; @planned_count
 * @number_of: per tensor of the model its number in the graph, or NPUMEM_NONE; @tensor_count
 * @kept: @kept_count of them
 * @bounds: inputs of the model that are bound, @bound_count
 * @op_of: per step of the graph, its operator
 * @step_count: number of @op_of
 * @swaps: plans that took the place of others
 * @memory: plan and arena; NULL: nothing is planned
 * @variables: an operator has tensors that last from one inference to the next
 * @empty: of ENGINE_COMPUTE: no operator writes a byte
 * @program: what npumem's engine computes of the operators; NULL: nothing
 * @in, @out: what is copied before and after an inference of @program
 */
struct partition {
	struct delegate *delegate;
	struct partition *next;
	struct op *ops;
	uint32_t op_count;
	int *outputs;
	uint32_t output_count;
	struct planned *planned;
	uint32_t planned_count;
	uint32_t *number_of;
	size_t tensor_count;
	struct kept *kept;
	uint32_t kept_count;
	struct bound *bounds;
	uint32_t bound_count;
	uint32_t *op_of;
	uint32_t step_count;
	uint32_t swaps;
	struct memory *memory;
	bool variables;
	bool empty;
	struct program *program;
	struct copies in;
	struct copies out;
};

/*
 * struct delegate - what tflite_plugin_create_delegate() makes
 * @tfl: what the runtime sees; the first field
 * @options: as given
 * @enforcer: NULL: claim nothing
 * @context: of the graph that nodes were claimed of; only one has planned memory
 * @partitions: list
 * @produced: per tensor: an operator of the model writes it; @tensor_count
 * @holder: per tensor, whose @holding it is
 * @holding: enum holding, per tensor
 * @capacity: tensors that the runtime's vector has room for, as far as it is known
 * @operators: number of the model's
 * @claimed: number of those that are a partition's
 * @unsettled: a tensor's size is known only when something has run: the runtime prepares operators
 *	behind it only then, when a program has written inputs already
 * @destroyed: it is retired with its last partition
 * @next: of those that are retired
 */
struct delegate {
	struct tfl_delegate tfl;
	struct options options;
	struct enforcer *enforcer;
	struct tfl_context *context;
	struct partition *partitions;
	bool *produced;
	struct partition **holder;
	uint8_t *holding;
	size_t tensor_count;
	size_t capacity;
	uint32_t operators;
	uint32_t claimed;
	bool unsettled;
	bool destroyed;
	struct delegate *next;
};

/* ------------------------------------------------------------------ delegate.c */

/**
 * delegate_new() - a delegate with an enforcer of its own
 * @options: become the delegate's
 * @enforcer: becomes the delegate's; NULL: it claims nothing
 *
 * NULL: out of memory; both are the caller's then.
 */
struct delegate *delegate_new(const struct options *options, struct enforcer *enforcer);
/* Give it up, or leave it to the last of its partitions. */
void delegate_free(struct delegate *delegate);
/*
 * One that was given up, and has lost its last partition. Its address stays good: an interpreter
 * that goes on applies its delegates again when inputs are resized. It claims nothing then.
 */
void delegate_retire(struct delegate *delegate);
/* Room for what is known of tensors that kernels have added. -ENOMEM. */
int delegate_grow(struct delegate *delegate, size_t tensor_count);

/* --------------------------------------------------------------------- order.c */

/* A node of the model, with its lists of inputs and outputs. -EINVAL: the runtime has none. */
int order_node(struct tfl_context *context, int index, struct tfl_node **node,
	       struct tfl_registration **registration, struct why *why);
/*
 * order_check() - each tensor is written once at most, and before it is read; no output is left
 * out; no variable is taken after it has been assigned
 * @plan: nodes of the model in the order in which they run
 *
 * -EDOM: that is not so; -EINVAL: the runtime does not give a node; -ENOMEM.
 */
int order_check(struct tfl_context *context, const struct tfl_ints *plan, struct why *why);

/* ------------------------------------------------------------------ headroom.c */

/*
 * See to it that a kernel may be prepared: that the tensors it adds move no others
 *
 * -EINVAL: the runtime's tensors do not grow as they are known to.
 */
int headroom_ensure(struct delegate *delegate, struct tfl_context *context, struct why *why);

/* ----------------------------------------------------------------- partition.c */

/* The registration of the node that stands for a partition. */
struct tfl_registration_padded partition_registration(void);
/*
 * What stands at a position of the plan, if it may run now
 * @status: out: what the kernel has returned
 */
int partition_step(struct tfl_context *context, struct partition *p, uint32_t position,
		   struct why *why, int *status);
/*
 * Have an input of the model lie in a dma-buf
 *
 * -ENOENT: no such input is to be bound; what bound_map() and the enforcer say. It is bound to
 * nothing then, if it is one that is to be bound.
 */
int partition_bind(struct delegate *delegate, int index, int dma_buf, uint64_t offset,
		   struct why *why);
/* One inference: the positions of the plan in their order. TFL_OK or an error that was said. */
int partition_invoke(struct tfl_context *context, struct partition *p);

/* Run a better plan from the next inference on. On failure the partition is what it was. */
int partition_take(struct partition *p, struct memory *better, struct why *why);

/* -------------------------------------------------------------------- improve.c */

/*
 * Between two inferences: have a partition run a better plan, if there is one by now and the option
 * "follow" wants it. What fails is said to who wants to know, and the old plan goes on.
 */
void improve(struct partition *p);

/* -------------------------------------------------------------------- engine.c */

/*
 * engine_check_node() - whether npumem's engine computes a node
 *
 * -EOPNOTSUPP, -EINVAL, -ENOSPC and others: it does not, and @why says why.
 */
int engine_check_node(struct tfl_context *context, const struct tfl_node *node, int32_t code,
		      const struct options *options, struct why *why);
/* The program of a partition whose kernels are prepared, and memory; @again: it is another one. */
int engine_plan(struct tfl_context *context, struct partition *p, bool *again, struct why *why);
/* One inference. */
int engine_invoke(struct tfl_context *context, struct partition *p, struct why *why);
/* partition_take() of one that is computed. */
int engine_take(struct partition *p, struct memory *better, struct why *why);
/* Give up what engine_plan() has made. */
void engine_fini(struct partition *p);

/* --------------------------------------------------------------------- claim.c */

/*
 * claim() - which nodes are to run in planned memory
 * @plan: nodes of the model in the order in which they run
 * @claimed: out: free() it
 *
 * What is left to the runtime a line says. -EINVAL: the structs are not those of a known version;
 * -EPERM: option "strict", and a node is left; -ENOMEM.
 */
int claim(struct delegate *delegate, struct tfl_context *context, const struct tfl_ints *plan,
	  struct tfl_ints **claimed, struct why *why);

/* --------------------------------------------------------------------- graph.c */

/*
 * graph_build() - the graph of a partition whose kernels are prepared
 * @blob: out: free() it; NULL: there is nothing to plan
 *
 * Sets @planned, @number_of, @op_of, and the operators' steps. -EOPNOTSUPP: a tensor has become
 * one whose size is known only when it runs.
 */
int graph_build(struct partition *p, struct tfl_context *context, void **blob, size_t *size,
		struct why *why);
