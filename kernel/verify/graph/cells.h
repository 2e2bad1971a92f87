/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Finding the cells of a graph: cells.c and residency.c share this.
 */
#ifndef NPUMEM_VERIFY_CELLS_H
#define NPUMEM_VERIFY_CELLS_H

#include "classes.h"

/* Roles of a class' bytes, by the kind of the tensor or of its aliases. */
#define NPUV_ROLE_VALID	    (1u << 0) /* before the first step */
#define NPUV_ROLE_OUTPUT    (1u << 1)
#define NPUV_ROLE_STATE	    (1u << 2)
#define NPUV_ROLE_READ_ONLY (1u << 3)

/**
 * struct npuv_finding - state of finding a graph's cells, block by block, tensor by tensor
 * @w: the call that this is part of
 * @g: see @w
 * @p: plan whose transfers @g has, NULL if it is a client's own graph
 * @classes: of the current tensor in the current block
 * @order: accesses by block and base tensor, each tensor's in the order of the
 *	graph, or of @p
 * @cell: per class, current cell or NPUMEM_NONE
 * @write: per class, the access of mode WRITE that wrote it or NPUMEM_NONE
 * @roles: per class, NPUV_ROLE_*
 * @host: per class, cell that is its valid copy in host memory or NPUMEM_NONE; as
 *	what follows, only with @p
 * @evictor: per class, step that evicted it last, or NPUMEM_NONE if it has never
 *	been in the arena
 * @cells: cells found, of all blocks
 * @touches: touches found, of all blocks of a graph with edges
 * @live_outs: see @touches
 * @reads: runs of cells that accesses read, as far as they are found
 * @writes: see @reads
 * @keys: room to sort the cells of an access
 */
struct npuv_finding {
	struct npuv_work *w;
	struct npuv_graph *g;
	const struct npuv_plan *p;
	struct npuv_classes classes;
	u32 *order, *cell, *write, *roles;
	u32 *host, *evictor;
	u64 *keys;
	struct npuv_vector cells, touches, live_outs, reads, writes;
};

static inline struct npuv_cell *npuv_cell_at(const struct npuv_finding *f, u32 cell)
{
	return (struct npuv_cell *)f->cells.data + cell;
}

/* Add a cell of the bytes of a class, which belong to @tensor; @out gets its number. */
int npuv_cell_add(struct npuv_finding *f, u32 class, u32 tensor, u32 writer, u32 *out);
/* Note that an access reads a cell. Cells that follow each other take the least memory. */
int npuv_cell_read(struct npuv_finding *f, u32 access, u32 cell);

/* residency.c */

/* Set which bytes of the current tensor are in the arena or the host when a schedule begins. */
int npuv_residency_begin(struct npuv_finding *f);
/*
 * Whether bytes of a class that have no cell may have come with the entry state: there are edges,
 * and no transfer has moved them away.
 */
bool npuv_residency_entered(const struct npuv_finding *f, u32 class);
/* Go through a transfer, by its access of the current tensor. */
int npuv_residency_transfer(struct npuv_finding *f, u32 access);
/* Refuse that a step reads bytes of a class that are not in the arena. */
int npuv_refuse_evicted_read(struct npuv_finding *f, u32 access, u32 class);

#endif /* NPUMEM_VERIFY_CELLS_H */
