/* SPDX-License-Identifier: MIT */
/*
 * A runtime that looks like TensorFlow Lite to a delegate: small graphs of kernels that add bytes.
 * It has the structs of 2.9, or those of 2.14, which are longer; it grows its vector of tensors as
 * a C++ library does, and gives each tensor memory of its own.
 */
#pragma once

#include "tflite_abi.h"

#define FAKE_TENSORS 512
#define FAKE_NODES   32

/* enum fake_flags - what a kernel does beside adding its inputs */
enum fake_flags {
	FAKE_TEMPORARY = 1 << 0, /* goes through a temporary, which it adds when it is prepared */
	FAKE_DYNAMIC = 1 << 1,	 /* its output is dynamic */
	FAKE_COUNTS = 1 << 2,	 /* adds to its last input, a variable, in each inference */
	FAKE_FAILS = 1 << 3,	 /* cannot be prepared */
	FAKE_LASTS = 1 << 4,	 /* computes only once; the output lasts */
	FAKE_FAILS_RUN = 1 << 5, /* cannot be invoked */
};

/* struct fake_state - of a kernel; @temporary: number of its tensor, -1 until it is prepared */
struct fake_state {
	unsigned int flags;
	int temporary;
	bool done;
};

/* struct fake_op - what fake_add() makes a node of: inputs and outputs end with -2 */
struct fake_op {
	int code;
	unsigned int flags;
	int inputs[4];
	int outputs[2];
};

/*
 * struct fake - an interpreter
 * @minor: 9 or 14
 * @capacity: tensors that there is room for; all of them move when it grows
 * @memory: per tensor, what the runtime has allocated
 * @nodes, @registrations: of @node_count; @states: of their kernels
 * @plan: nodes in the order in which they run
 * @outputs: of the model; ends with -2
 * @error: the last one that was reported
 * @clear_temporaries: takes the memory of tensors that no node of the plan has, as 2.14 does
 */
struct fake {
	struct tfl_context context;
	uint8_t later[128];
	int minor;
	size_t capacity;
	void *memory[FAKE_TENSORS];
	struct tfl_node nodes[FAKE_NODES];
	struct tfl_registration_padded registrations[FAKE_NODES];
	struct fake_state *states[FAKE_NODES];
	int node_count;
	struct tfl_ints *plan;
	int outputs[4];
	char error[2048];
	bool clear_temporaries;
};

struct fake *fake_new(int minor);
void fake_free(struct fake *fake);
/* A tensor of so many bytes; its number. */
int fake_tensor(struct fake *fake, int bytes, int allocation);
int fake_add(struct fake *fake, const struct fake_op *op);
/* What TfLiteInterpreterOptionsAddDelegate() comes to. */
int fake_delegate(struct fake *fake, void *delegate);
int fake_allocate(struct fake *fake);
int fake_resize(struct fake *fake, int tensor, int bytes);
int fake_invoke(struct fake *fake);
struct tfl_tensor *fake_at(struct fake *fake, int tensor);
/* Fill an input with bytes that a seed gives. */
void fake_fill(struct fake *fake, int tensor, unsigned int seed);
