/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Finding the cells of a graph: what cells.c and residency.c share.
 */
#ifndef NPUMEM_VERIFY_CELLS_H
#define NPUMEM_VERIFY_CELLS_H

#include "classes.h"

/* What a class' bytes are, by the tensor's kind or by that of aliases. */
#define NPUV_ROLE_VALID	    (1u << 0) /* before the first step */
#define NPUV_ROLE_OUTPUT    (1u << 1)
#define NPUV_ROLE_STATE	    (1u << 2)
#define NPUV_ROLE_READ_ONLY (1u << 3)

/**
 * struct npuv_finding - of the cells of a graph, block by block and tensor by tensor
 * @w: under way
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
 * @cells: found, of all blocks
 * @touches: found, of all blocks of a graph with edges
 * @live_outs: see @touches
 * @reads: runs of cells of accesses, found
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

/* A new cell of a class' bytes, of a tensor that has the class; its number is put in out. */
int npuv_cell_add(struct npuv_finding *f, u32 class, u32 tensor, u32 writer, u32 *out);
/* An access reads a cell. Cells that follow each other take the least memory. */
int npuv_cell_read(struct npuv_finding *f, u32 access, u32 cell);

/* residency.c */

/* What of the current tensor is where when the schedule begins. */
int npuv_residency_begin(struct npuv_finding *f);
/* A transfer; the access is that of the current tensor. */
int npuv_residency_transfer(struct npuv_finding *f, u32 access);
/* A step reads bytes of a class that are not in the arena. */
int npuv_refuse_evicted_read(struct npuv_finding *f, u32 access, u32 class);

#endif /* NPUMEM_VERIFY_CELLS_H */
