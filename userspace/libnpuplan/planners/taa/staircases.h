/* SPDX-License-Identifier: MIT */
/*
 * Staircases: a tensor's bytes, cut so that the forbidden displacements of two tensors are found by
 * walking along both at once.
 *
 * A staircase is a sequence of atoms (liveness.h), each of which begins where the one before ends,
 * and whose starts and ends do not fall along the addresses. Bands of rows that are written and
 * read from top to bottom are one staircase in NHWC. In NCHW and NC/32HWC32 they are a staircase
 * for each channel, or block of 32 channels. Equal staircases at equal distances are kept once,
 * with the number of times that they repeat.
 */
#pragma once

#include "problem/conflicts.h"
#include "problem/liveness.h"

/*
 * struct npuplan_staircase - atoms that follow each other in addresses and in time
 * @first_atom, @atom_count: its atoms, in npuplan_staircases.atoms
 * @repeat: number of times that the tensor has it, at least 1
 * @stride: bytes from one repetition to the next; 0 if there is one only
 */
struct npuplan_staircase {
	uint32_t first_atom;
	uint32_t atom_count;
	uint32_t repeat;
	uint64_t stride;
};

/*
 * struct npuplan_staircases - the staircases of the tensors of some items
 * @atoms: atoms of all staircases, staircase by staircase
 * @staircases: staircases of item i are staircases[staircase_start[i] .. staircase_start[i + 1])
 */
struct npuplan_staircases {
	struct npuplan_atom *atoms;
	struct npuplan_staircase *staircases;
	uint32_t *staircase_start;
	uint32_t atom_count;
	uint32_t staircase_count;
	struct npuplan_pool pool;
};

/* npuplan_staircases_init() - cut the atoms of the items' tensors into staircases
 * @live: atoms, sorted by tensor, then by first byte, then by start. Several atoms may have the
 *	same bytes (versions) if they do not live at once
 * @items: sorted by tensor, one item for each
 *
 * Takes O(atoms) time, or O(atoms log atoms) where versions are cut differently. The caller calls
 * npuplan_staircases_fini() in any case. -ENOMEM.
 */
int npuplan_staircases_init(struct npuplan_staircases *staircases,
			    const struct npuplan_liveness *live, const struct npuplan_item *items,
			    uint32_t item_count);
void npuplan_staircases_fini(struct npuplan_staircases *staircases);
