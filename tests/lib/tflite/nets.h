/* SPDX-License-Identifier: MIT */
/* Small graphs for a runtime that computes nothing real, and inferences of them. */
#pragma once

#include "fake_runtime.h"

enum { ADD = 0, CONV = 3, RELU = 19, WHILE = 119 };

/* struct net - a graph: how many tensors there are, and its nodes; others are made of these */
struct net {
	const char *name;
	int bytes;
	int tensor_count;
	int variable, weight;
	int outputs[3];
	int op_count;
	struct fake_op ops[8];
};

#define ONE(op, flags, in, out)	  { op, flags, { in, -2 }, { out, -2 } }
#define TWO(op, flags, a, b, out) { op, flags, { a, b, -2 }, { out, -2 } }

extern const struct net net_chain;
extern const struct net net_residual;
extern const struct net net_inplace;
extern const struct net net_temporaries;
extern const struct net net_split;
extern const struct net net_variable;
extern const struct net net_lasting;
extern const struct net net_dynamic;

/* An interpreter of a runtime of that minor version that has the graph. */
struct fake *net_make(const struct net *net, int minor);
/* Both have the same bytes in all outputs. */
void assert_same_outputs(struct fake *a, struct fake *b, const struct net *net);
/* Three inferences; the last with the inputs of the one before. */
void net_infer(struct fake *plain, struct fake *ours, const struct net *net);
