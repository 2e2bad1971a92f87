// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Residency, rule V5: which bytes of a tensor are in the arena, and which have a valid copy
 * in host memory, at each position of a plan with transfers.
 *
 * Bytes are in the arena if their class has a cell, and have a valid copy if their class
 * has a cell of the host copy. A transfer reads the one cell and makes a new one of the
 * other kind. A step that writes the bytes makes the copy invalid.
 *
 * Where there are edges that is so within one instance. What is not moved away may have come
 * with the entry state, whether or not the class has a cell yet, and no copy is valid when a
 * block is entered.
 */
#include "cells.h"

/* Refuse a transfer for the bytes of a class. */
static int refuse(struct npuv_finding *f, u32 access, u32 class, const char *flaw)
{
	const struct npuv_segment *s = npuv_class_segment(&f->classes, class);
	u32 step = f->g->access_step[access], tensor = f->classes.tensor;
	struct npuv_text transfer, text;

	f->w->verdict->position = npuv_planned_position(f->g, step);
	f->w->verdict->tensor = tensor;
	return npuv_refuse(f->w, -EINVAL, NPUMEM_RULE_V5_SPILL,
			   "V5 spill: %s of %s: bytes [%llu, %llu) %s",
			   npuv_text_step(f->g, step, &transfer),
			   npuv_text_tensor(f->g, tensor, &text), s->first, s->first + s->length,
			   flaw);
}

int npuv_refuse_evicted_read(struct npuv_finding *f, u32 access, u32 class)
{
	const struct npuv_segment *s = npuv_class_segment(&f->classes, class);
	u32 step = f->g->access_step[access], evictor = f->evictor[class];
	struct npumem_verdict *v = f->w->verdict;
	struct npuv_text text, tensor, transfer;

	v->position = npuv_planned_position(f->g, step);
	npuv_verdict_access(v, f->g, access);
	npuv_text_step(f->g, step, &text);
	npuv_text_tensor(f->g, v->tensor, &tensor);
	if (evictor == NPUMEM_NONE)
		return npuv_refuse(f->w, -EINVAL, NPUMEM_RULE_V5_SPILL,
				   "V5 spill: %s reads tile %u of %s at position %u, whose bytes "
				   "[%llu, %llu) are not loaded yet",
				   text.s, v->tile, tensor.s, v->position, s->first,
				   s->first + s->length);
	return npuv_refuse(f->w, -EINVAL, NPUMEM_RULE_V5_SPILL,
			   "V5 spill: %s reads tile %u of %s at position %u, whose bytes "
			   "[%llu, %llu) the %s has evicted",
			   text.s, v->tile, tensor.s, v->position, s->first, s->first + s->length,
			   npuv_text_step(f->g, evictor, &transfer));
}

bool npuv_residency_entered(const struct npuv_finding *f, u32 class)
{
	return !npuv_is_flat(f->g) && f->evictor[class] == NPUMEM_NONE;
}

/*
 * HOST tensors have a copy and are not in the arena, others that are valid are. In a graph with
 * edges the entry states say what is there.
 */
int npuv_residency_begin(struct npuv_finding *f)
{
	u32 tensor = f->classes.tensor, copy = f->g->host_copy[tensor];
	bool host = npuv_tensor(f->g, tensor)->flags & NPUMEM_TENSOR_FLAG_HOST;
	int err = 0;
	u32 c;

	for (c = 0; !err && c < f->classes.class_count; c++) {
		f->host[c] = NPUMEM_NONE;
		f->evictor[c] = NPUMEM_NONE;
		if (!f->classes.members[c] || !npuv_is_flat(f->g))
			continue;
		if (!host && f->roles[c] & NPUV_ROLE_VALID)
			err = npuv_cell_add(f, c, tensor, NPUMEM_NONE, &f->cell[c]);
		else if (host && copy != NPUMEM_NONE)
			err = npuv_cell_add(f, c, copy, NPUMEM_NONE, &f->host[c]);
	}
	return err;
}

/* A load or fill: bytes of a class get from host memory into the arena. */
static int bring(struct npuv_finding *f, u32 access, u32 class, bool load)
{
	u32 first = npuv_step(f->g, f->g->access_step[access])->first_access;
	bool been = f->cell[class] != NPUMEM_NONE || f->evictor[class] != NPUMEM_NONE ||
		    npuv_residency_entered(f, class);
	int err;

	if (load && been)
		return refuse(f, access, class, "have been in the arena before, which is for fill");
	if (!load && !been)
		return refuse(f, access, class,
			      "have never been in the arena, there is nothing to bring back");
	if (f->host[class] == NPUMEM_NONE)
		return refuse(f, access, class, "have no valid copy in host memory");
	err = npuv_cell_read(f, first, f->host[class]);
	if (err)
		return err;
	return npuv_cell_add(f, class, f->classes.tensor, first + 1, &f->cell[class]);
}

/* A store, spill or drop: the bytes of a class get a valid copy, or leave the arena. */
static int put(struct npuv_finding *f, u32 access, u32 class, bool evict)
{
	u32 step = f->g->access_step[access], first = npuv_step(f->g, step)->first_access;
	int err = 0;

	if (f->cell[class] == NPUMEM_NONE && !npuv_residency_entered(f, class))
		return refuse(f, access, class, "are not in the arena");
	if (f->cell[class] == NPUMEM_NONE)
		err = npuv_cell_add(f, class, f->classes.tensor, NPUMEM_NONE, &f->cell[class]);
	if (!err)
		err = npuv_cell_read(f, first, f->cell[class]);
	if (err)
		return err;
	if (evict) {
		f->cell[class] = NPUMEM_NONE;
		f->evictor[class] = step;
	}
	return npuv_cell_add(f, class, f->g->host_copy[f->classes.tensor], first + 1,
			     &f->host[class]);
}

static int drop(struct npuv_finding *f, u32 access, u32 class)
{
	if (f->cell[class] == NPUMEM_NONE && !npuv_residency_entered(f, class))
		return refuse(f, access, class, "are not in the arena");
	if (f->host[class] == NPUMEM_NONE)
		return refuse(f, access, class, "have no valid copy in host memory");
	f->cell[class] = NPUMEM_NONE;
	f->evictor[class] = f->g->access_step[access];
	return 0;
}

int npuv_residency_transfer(struct npuv_finding *f, u32 access)
{
	u32 step = f->g->access_step[access], kind = npuv_transfer_kind(f->g, step), i;
	struct npumem_region region;
	struct npuv_text text, tensor;
	int err;

	npuv_access_region(f->g, access, &region);
	err = npuv_classes_touch(&f->classes, &region);
	for (i = 0; !err && i < f->classes.touched_count; i++) {
		u32 c = f->classes.touched[i];

		if (f->roles[c] & NPUV_ROLE_STATE) {
			f->w->verdict->position = npuv_planned_position(f->g, step);
			f->w->verdict->tensor = f->classes.tensor;
			return npuv_refuse(f->w, -EOPNOTSUPP, NPUMEM_RULE_NONE,
					   "not supported: state is moved, %s of %s",
					   npuv_text_step(f->g, step, &text),
					   npuv_text_tensor(f->g, f->classes.tensor, &tensor));
		}
		if (kind == NPUMEM_POSITION_LOAD || kind == NPUMEM_POSITION_FILL)
			err = bring(f, access, c, kind == NPUMEM_POSITION_LOAD);
		else if (kind == NPUMEM_POSITION_DROP)
			err = drop(f, access, c);
		else
			err = put(f, access, c, kind == NPUMEM_POSITION_SPILL);
	}
	return err;
}
