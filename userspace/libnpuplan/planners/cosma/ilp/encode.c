// SPDX-License-Identifier: MIT
/*
 * The paper's equations: each is a function that makes rows of the program, and the columns that
 * only that equation has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"

/* ------------------------------ Eq. 1 to 8: what may happen to a tensor, and when */

static void eq1_one_action(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_cell *at = ilp_at(encoding, a, t);

	ilp_row(&encoding->program, "eq1", a, ILP_NONE, t, ILP_MIN, 1);
	ilp_terms(&encoding->program, { at->c, 1 }, { at->p, 1 }, { at->r, 1 });
	if (encoding->spill_steps) {
		ilp_terms(&encoding->program, { at->s, 1 });
	} else if (at->s != ILP_NONE) {
		ilp_row(&encoding->program, "eq1s", a, ILP_NONE, t, ILP_MIN, 1);
		ilp_terms(&encoding->program, { at->c, 1 }, { at->p, 1 }, { at->s, 1 });
	}
}

static void eq2_preserve(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_cell *at = ilp_at(encoding, a, t);

	if (at->p == ILP_NONE)
		return;
	ilp_row(&encoding->program, "eq2", a, ILP_NONE, t, ILP_MIN, 0);
	ilp_terms(&encoding->program, { at->p, 1 }, { at[-1].c, -1 }, { at[-1].p, -1 },
		  { at[-1].r, -1 });
}

static void eq3_spill(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_cell *at = ilp_at(encoding, a, t);

	if (at->s == ILP_NONE)
		return;
	ilp_row(&encoding->program, "eq3", a, ILP_NONE, t, ILP_MIN, 0);
	ilp_terms(&encoding->program, { at->s, 1 }, { at[-1].c, -1 }, { at[-1].p, -1 });
}

static void eq4_retrieve(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_tensor *tensor = &encoding->tensor[a];

	if (ilp_at(encoding, a, t)->r == ILP_NONE)
		return;
	ilp_row(&encoding->program, "eq4", a, ILP_NONE, t, ILP_MIN, 0);
	ilp_terms(&encoding->program, { ilp_at(encoding, a, t)->r, 1 });
	for (uint32_t k = tensor->first; k <= t; k++)
		ilp_terms(&encoding->program, { ilp_at(encoding, a, k)->s, -1 });
	/* The host has a copy since the tensor was created. */
	for (uint32_t k = tensor->first; tensor->host && k < t; k++)
		ilp_terms(&encoding->program, { ilp_at(encoding, a, k)->c, -1 });
}

/* The row is made for the first output of each operator; Eq. 6 then says it for all of them. */
static void eq5_dependencies(struct ilp_encoding *encoding)
{
	const struct cosma_model *model = encoding->model;

	for (uint32_t v = 0; v < model->op_count; v++)
		for (uint32_t t = encoding->op[v].early; t <= encoding->op[v].late; t++)
			cosma_for_each(k, model->inputs, v) {
				uint32_t a = encoding->op[v].output, b = model->inputs.item[k];
				const struct ilp_cell *at = ilp_at(encoding, b, t);
				bool made = encoding->tensor[b].producer != NPUMEM_NONE;

				ilp_row(&encoding->program, "eq5", a, b, t, ILP_MIN, 0);
				ilp_terms(&encoding->program, { ilp_at(encoding, a, t)->c, 1 },
					  { at->p, -1 }, { at->r, -1 }, { at->c, made ? 0 : -1 });
			}
}

static void eq6_siblings(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_tensor *tensor = &encoding->tensor[a];
	uint32_t b = tensor->producer == NPUMEM_NONE ? a : encoding->op[tensor->producer].output;

	if (a == b || t > tensor->created)
		return;
	ilp_row(&encoding->program, "eq6", a, b, t, 0, 0);
	ilp_terms(&encoding->program, { ilp_at(encoding, a, t)->c, 1 },
		  { ilp_at(encoding, b, t)->c, -1 });
}

static void eq7_one_creation(struct ilp_encoding *encoding)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		ilp_row(&encoding->program, "eq7", a, ILP_NONE, ILP_NONE, 1, 1);
		for (uint32_t t = encoding->tensor[a].first; t <= encoding->tensor[a].created; t++)
			ilp_terms(&encoding->program, { ilp_at(encoding, a, t)->c, 1 });
	}
}

static void eq8_one_spill(struct ilp_encoding *encoding)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		ilp_row(&encoding->program, "eq8", a, ILP_NONE, ILP_NONE, ILP_MIN, 1);
		for (uint32_t t = encoding->tensor[a].first; t <= encoding->tensor[a].last; t++)
			ilp_terms(&encoding->program, { ilp_at(encoding, a, t)->s, 1 });
	}
}

static void one_operator(struct ilp_encoding *encoding)
{
	for (uint32_t t = 1; t < encoding->steps; t++) {
		ilp_row(&encoding->program, "step", ILP_NONE, ILP_NONE, t, 1, 1);
		for (uint32_t v = 0; v < encoding->model->op_count; v++)
			ilp_terms(&encoding->program,
				  { ilp_at(encoding, encoding->op[v].output, t)->c, 1 });
	}
}

/* ------------------------------------------------------- Eq. 9 to 11: addresses */

/* Makes two rows, named @kind: where column @when is 1, the two addresses are the same. */
static void same_address(struct ilp_encoding *encoding, const char *const kind[2], uint32_t a,
			 uint32_t b, uint32_t t, const struct ilp_term address[2], uint32_t when,
			 int64_t most)
{
	for (int sign = -1; sign <= 1; sign += 2) {
		ilp_row(&encoding->program, kind[sign > 0], a, b, t, ILP_MIN, most);
		ilp_terms(&encoding->program, { address[0].column, sign * address[0].factor },
			  { address[1].column, -sign * address[1].factor }, { when, most });
	}
}

/*
 * Rows that say when output @b may take its input's bytes: when it is created, and the input is not
 * kept.
 */
static void take(struct ilp_encoding *encoding, uint32_t b, uint32_t t)
{
	const struct ilp_cell *at = ilp_at(encoding, b, t);
	uint32_t a = encoding->tensor[b].source;

	if (at->t == ILP_NONE)
		return;
	ilp_row(&encoding->program, "take", b, a, t, ILP_MIN, 0);
	ilp_terms(&encoding->program, { at->t, 1 }, { at->c, -1 });
	if (t + 1 == encoding->steps)
		return;
	ilp_row(&encoding->program, "yield", b, a, t, ILP_MIN, 1);
	ilp_terms(&encoding->program, { at->t, 1 }, { ilp_at(encoding, a, t + 1)->p, 1 });
}

/* Rows that say that the two have one address then. */
static void take_address(struct ilp_encoding *encoding, uint32_t b, uint32_t t)
{
	const struct ilp_cell *at = ilp_at(encoding, b, t);
	uint32_t a = encoding->tensor[b].source;

	if (at->t != ILP_NONE)
		same_address(encoding, (const char *const[]){ "takea", "takeb" }, b, a, t,
			     (const struct ilp_term[]){
				     { ilp_at(encoding, a, t)->l, encoding->tensor[a].pitch },
				     { at->l, encoding->tensor[b].pitch } },
			     at->t, encoding->budget);
}

/*
 * This also makes the columns L, since only they have this bound. Where steps are single granules,
 * whole addresses come by themselves: once the binary columns are set, only differences of two
 * addresses are left.
 */
static void eq9_within_budget(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_tensor *tensor = &encoding->tensor[a];

	ilp_at(encoding, a, t)->l = ilp_column(&encoding->program, "L", a, ILP_NONE, t,
					       (encoding->budget - tensor->size) / tensor->pitch,
					       tensor->pitch > 1);
}

/* Adds C + P + R of a tensor to the last row, @factor times each. */
static void add_resident(struct ilp_encoding *encoding, uint32_t a, uint32_t t, int64_t factor)
{
	const struct ilp_cell *at = ilp_at(encoding, a, t);

	ilp_terms(&encoding->program, { at->c, factor }, { at->p, factor }, { at->r, factor });
}

/* A row that says: if column @order is 1, @a ends where @b begins, or below. */
static void add_order(struct ilp_encoding *encoding, const char *kind, uint32_t a, uint32_t b,
		      uint32_t t, uint32_t order)
{
	ilp_row(&encoding->program, kind, a, b, t, ILP_MIN,
		encoding->budget - encoding->tensor[a].size);
	ilp_terms(&encoding->program, { ilp_at(encoding, a, t)->l, encoding->tensor[a].pitch },
		  { ilp_at(encoding, b, t)->l, -encoding->tensor[b].pitch },
		  { order, encoding->budget });
}

static void no_overlap(struct ilp_encoding *encoding, uint32_t a, uint32_t b, uint32_t t)
{
	struct ilp_program *program = &encoding->program;
	uint32_t above, below, taken = ILP_NONE;

	/* One of the two may take the other's bytes. */
	if (encoding->tensor[b].source == a)
		taken = ilp_at(encoding, b, t)->t;
	else if (encoding->tensor[a].source == b)
		taken = ilp_at(encoding, a, t)->t;
	/* The two are never on chip together, so that there is no question of addresses. */
	if (encoding->tensor[a].size + encoding->tensor[b].size > encoding->budget) {
		ilp_row(program, "eq10x", a, b, t, ILP_MIN, 1);
		add_resident(encoding, a, t, 1);
		add_resident(encoding, b, t, 1);
		ilp_terms(program, { taken, -1 });
		return;
	}
	above = ilp_column(program, "u", a, b, t, 1, true);
	below = ilp_column(program, "d", a, b, t, 1, true);
	ilp_row(program, "eq10a", a, b, t, ILP_MIN, 1);
	ilp_terms(program, { above, 1 }, { below, 1 });
	ilp_row(program, "eq10b", a, b, t, -1, ILP_MAX);
	ilp_terms(program, { above, 1 }, { below, 1 });
	add_resident(encoding, a, t, -1);
	add_resident(encoding, b, t, -1);
	ilp_terms(program, { taken, 1 });
	add_order(encoding, "eq10c", a, b, t, below);
	add_order(encoding, "eq10d", b, a, t, above);
}

static void eq10_no_overlap(struct ilp_encoding *encoding)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		for (uint32_t b = a + 1; b < encoding->tensor_count; b++) {
			const struct ilp_tensor *one = &encoding->tensor[a];
			const struct ilp_tensor *other = &encoding->tensor[b];

			if (!one->size || !other->size || !ilp_may_meet(encoding, a, b))
				continue;
			for (uint32_t t = one->first > other->first ? one->first : other->first;
			     t <= one->last && t <= other->last; t++)
				no_overlap(encoding, a, b, t);
		}
}

/* P stands for V here. */
static void eq11_same_address(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_tensor *tensor = &encoding->tensor[a];
	const struct ilp_cell *at = ilp_at(encoding, a, t);

	if (at->p != ILP_NONE)
		same_address(encoding, (const char *const[]){ "eq11a", "eq11b" }, a, ILP_NONE, t,
			     (const struct ilp_term[]){ { at->l, 1 }, { at[-1].l, 1 } }, at->p,
			     (encoding->budget - tensor->size) / tensor->pitch);
}

/* -------------------- Eq. 12 to 17: what is minimised, and what goes with it */

static void set_cost(struct ilp_encoding *encoding, uint32_t column, int64_t cost)
{
	if (column != ILP_NONE)
		encoding->program.column[column].cost = cost;
}

/* With Eq. 16 this is Eq. 17, too. */
static void eq12_traffic(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_tensor *tensor = &encoding->tensor[a];
	const struct ilp_cell *at = ilp_at(encoding, a, t);

	set_cost(encoding, at->s, tensor->size);
	set_cost(encoding, at->r, tensor->size);
	if (tensor->reloaded)
		set_cost(encoding, at->c, tensor->size);
}

static void eq13_no_transfers(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_cell *at = ilp_at(encoding, a, t);

	if (at->s != ILP_NONE)
		encoding->program.column[at->s].upper = 0;
	if (at->r != ILP_NONE)
		encoding->program.column[at->r].upper = 0;
}

/* Adds the bytes on chip at timestep @t to the last row. */
static void add_bytes(struct ilp_encoding *encoding, uint32_t t)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		const struct ilp_cell *at = ilp_at(encoding, a, t);
		int64_t size = encoding->tensor[a].size;

		/* A tensor that takes another one's bytes has none of its own. */
		ilp_terms(&encoding->program, { at->c, size }, { at->p, size },
			  { at->r, encoding->peak == ILP_NONE ? size : 0 }, { at->t, -size });
	}
}

/* The footprint is also what is minimised (Eq. 15). */
static void eq14_footprint(struct ilp_encoding *encoding)
{
	encoding->peak = ilp_column(&encoding->program, "M_peak", ILP_NONE, ILP_NONE, ILP_NONE,
				    ILP_MAX, true);
	for (uint32_t t = 0; t < encoding->steps; t++) {
		ilp_row(&encoding->program, "eq14", ILP_NONE, ILP_NONE, t, ILP_MIN, 0);
		add_bytes(encoding, t);
		ilp_terms(&encoding->program, { encoding->peak, -1 });
	}
	set_cost(encoding, encoding->peak, 1);
}

static void eq16_fixed_order(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	uint32_t producer = encoding->tensor[a].producer, column = ilp_at(encoding, a, t)->c;

	if (producer != NPUMEM_NONE && column != ILP_NONE &&
	    t == encoding->cosma->rank[producer] + 1)
		encoding->program.column[column].lower = 1;
}

/*
 * Bytes on chip are within the budget. Eq. 9 and 10 say so of every solution, but not of
 * the fractional ones whose cost bounds the search of a solver.
 */
static void capacity(struct ilp_encoding *encoding)
{
	for (uint32_t t = 0; t < encoding->steps; t++) {
		ilp_row(&encoding->program, "bytes", ILP_NONE, ILP_NONE, t, ILP_MIN,
			encoding->budget);
		add_bytes(encoding, t);
	}
}

/*
 * ---------------------------------------------------------------- strengthening
 *
 * These rows follow from Eq. 1 to 7 for whole numbers. They take away no solution, but bound the
 * fractional ones by which a solver searches. Where operators hand on something outside the
 * scratchpad, only "before" orders them.
 */

/* Adds to the last row whether tensor @a has been created by timestep @t, @factor times. */
static void add_created(struct ilp_encoding *encoding, uint32_t a, uint32_t t, int64_t factor)
{
	for (uint32_t k = encoding->tensor[a].first; k <= encoding->tensor[a].created && k <= t;
	     k++)
		ilp_terms(&encoding->program, { ilp_at(encoding, a, k)->c, factor });
}

/* If operator @v has run by timestep t, operator @u, which it depends on, has run by t - 1. */
static void precede(struct ilp_encoding *encoding, uint32_t u, uint32_t v)
{
	uint32_t one = encoding->op[u].output, other = encoding->op[v].output;

	for (uint32_t t = encoding->op[v].early; t < encoding->op[v].late; t++) {
		ilp_row(&encoding->program, "before", one, other, t, ILP_MIN, 0);
		add_created(encoding, other, t, 1);
		add_created(encoding, one, t - 1, -1);
	}
}

/* A tensor that has been made and that @v is still to use is on chip, or comes back later. */
static void keep_or_return(struct ilp_encoding *encoding, uint32_t b, uint32_t v)
{
	uint32_t output = encoding->op[v].output, late = encoding->op[v].late;

	for (uint32_t t = encoding->tensor[b].first + 1; t <= late; t++) {
		ilp_row(&encoding->program, "live", b, output, t, 0, ILP_MAX);
		/* Created by t - 1 and not used by then: so it is here, or returns. */
		ilp_terms(&encoding->program, { ilp_at(encoding, b, t)->p, 1 });
		for (uint32_t k = t; k <= late; k++)
			ilp_terms(&encoding->program, { ilp_at(encoding, b, k)->r, 1 });
		add_created(encoding, b, t - 1, -1);
		add_created(encoding, output, t - 1, 1);
	}
}

static void strengthen(struct ilp_encoding *encoding)
{
	const struct cosma_model *model = encoding->model;

	for (uint32_t v = 0; v < model->op_count; v++) {
		cosma_for_each(k, model->before, v)
			precede(encoding, model->before.item[k], v);
		cosma_for_each(k, model->inputs, v)
			keep_or_return(encoding, model->inputs.item[k], v);
	}
}

/* ------------------------------------------------- which of them make the program */

/* Makes rows for every tensor and timestep at which it can be of use. */
static void each_use(struct ilp_encoding *encoding,
		     void (*rows)(struct ilp_encoding *encoding, uint32_t a, uint32_t t))
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		for (uint32_t t = encoding->tensor[a].first; t <= encoding->tensor[a].last; t++)
			rows(encoding, a, t);
}

static void add_equations(struct ilp_encoding *encoding, bool peak)
{
	each_use(encoding, eq1_one_action);
	each_use(encoding, eq2_preserve);
	eq5_dependencies(encoding);
	each_use(encoding, eq6_siblings);
	eq7_one_creation(encoding);
	one_operator(encoding);
	each_use(encoding, take);
	if (encoding->cosma->rank)
		each_use(encoding, eq16_fixed_order);
	if (peak) {
		each_use(encoding, eq13_no_transfers);
		eq14_footprint(encoding);
		return;
	}
	each_use(encoding, eq3_spill);
	each_use(encoding, eq4_retrieve);
	eq8_one_spill(encoding);
	each_use(encoding, eq9_within_budget);
	eq10_no_overlap(encoding);
	each_use(encoding, eq11_same_address);
	each_use(encoding, take_address);
	capacity(encoding);
	strengthen(encoding);
	each_use(encoding, eq12_traffic);
}

void ilp_encoding_fini(struct ilp_encoding *encoding)
{
	ilp_fini(&encoding->program);
	npuplan_free_all(encoding->tensor, encoding->op, encoding->cell);
	memset(encoding, 0, sizeof(*encoding));
}

int ilp_encode(struct ilp_encoding *encoding, struct npuplan_error *error)
{
	bool peak = encoding->cosma->options->common.objective == NPUPLAN_OBJECTIVE_PEAK;
	int err = ilp_lifetimes(encoding);

	encoding->peak = ILP_NONE;
	err = err ? err : ilp_check_size(encoding, error);
	err = err ? err : ilp_make_columns(encoding);
	if (!err) {
		snprintf(encoding->program.note, sizeof(encoding->program.note),
			 "COSMA (arXiv 2311.18246): %s, %s, %u operators, %u tensors",
			 peak ? "least peak footprint, Eq. 13-15" : "least traffic, Eq. 1-12",
			 encoding->cosma->rank ? "fixed schedule, Eq. 16-17" : "any schedule",
			 encoding->model->op_count, encoding->tensor_count);
		encoding->program.unit = encoding->granule;
		add_equations(encoding, peak);
		err = ilp_end(&encoding->program);
		if (err == -E2BIG)
			npuplan_fail(error, err,
				     "the integer program is too large: at most %u columns and "
				     "rows together, and %u terms",
				     ILP_LIMIT, ILP_TERMS);
	}
	if (err)
		ilp_encoding_fini(encoding);
	return err;
}
