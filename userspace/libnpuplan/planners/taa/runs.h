/* SPDX-License-Identifier: MIT */
/*
 * Runs: a tensor's bytes cut so that two tensors' forbidden displacements come
 * out of a walk with two pointers.
 *
 * A run is a maximal sequence of atoms (liveness.h), each beginning where the
 * one before ends, whose starts and ends do not fall along the addresses. Row
 * bands that are written and read from top to bottom are one run in NHWC, and a
 * run a channel (or block of 32 channels) in NCHW and NC/32HW32: equal runs at
 * equal distances are kept once, with how often they repeat.
 */
#pragma once

#include "problem/conflicts.h"
#include "problem/liveness.h"

/*
 * struct npuplan_run - atoms one after another in addresses and in time
 * @first_atom, @atom_count: in npuplan_runs.atoms
 * @repeat: how often it stands in the tensor, >= 1
 * @stride: bytes from one to the next; 0 if it stands there once
 */
struct npuplan_run {
	uint32_t first_atom;
	uint32_t atom_count;
	uint32_t repeat;
	uint64_t stride;
};

/*
 * struct npuplan_runs - of the tensors of some items
 * @atoms: run by run
 * @runs: of item i runs[run_start[i] .. run_start[i + 1])
 */
struct npuplan_runs {
	struct npuplan_atom *atoms;
	struct npuplan_run *runs;
	uint32_t *run_start;
	uint32_t atom_count;
	uint32_t run_count;
	struct npuplan_pool pool;
};

/* npuplan_runs_init() - cut the atoms of the items' tensors into runs
 * @live: atoms by tensor, then by first byte, then by start. Several atoms may
 *	be of the same bytes (versions) if they do not live at once
 * @items: ascending by tensor, each of another one
 *
 * Cost O(atoms); O(atoms log atoms) where versions are cut differently.
 * npuplan_runs_fini() in any case. -ENOMEM.
 */
int npuplan_runs_init(struct npuplan_runs *runs, const struct npuplan_liveness *live,
		      const struct npuplan_item *items, uint32_t item_count);
void npuplan_runs_fini(struct npuplan_runs *runs);
