// SPDX-License-Identifier: MIT
/* Eq. 9 to 11: addresses. */
#include "encode.h"

uint32_t ilp_taken(const struct ilp_encoding *encoding, uint32_t a, uint32_t b, uint32_t t)
{
	if (encoding->tensor[b].source == a)
		return encoding->t[ilp_at(encoding, b, t)];
	return encoding->tensor[a].source == b ? encoding->t[ilp_at(encoding, a, t)] : ILP_NONE;
}

void ilp_take(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;

	for (uint32_t b = 0; b < encoding->tensor_count; b++) {
		const struct ilp_tensor *tensor = &encoding->tensor[b];

		for (uint32_t t = tensor->first;
		     tensor->source != NPUMEM_NONE && t <= tensor->created; t++) {
			uint32_t taken = encoding->t[ilp_at(encoding, b, t)];

			if (taken == ILP_NONE)
				continue;
			ilp_row(program, (struct ilp_name){ "take", b, tensor->source, t }, ILP_MIN,
				0);
			ilp_term(program, taken, 1);
			ilp_term(program, encoding->c[ilp_at(encoding, b, t)], -1);
			if (t + 1 == encoding->steps)
				continue;
			ilp_row(program, (struct ilp_name){ "yield", b, tensor->source, t },
				ILP_MIN, 1);
			ilp_term(program, taken, 1);
			ilp_term(program, encoding->p[ilp_at(encoding, tensor->source, t + 1)], 1);
		}
	}
}

void ilp_take_address(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;
	int64_t most = encoding->budget;

	for (uint32_t b = 0; b < encoding->tensor_count; b++) {
		const struct ilp_tensor *tensor = &encoding->tensor[b];
		uint32_t a = tensor->source;

		for (uint32_t t = tensor->first; a != NPUMEM_NONE && t <= tensor->created; t++) {
			uint32_t taken = encoding->t[ilp_at(encoding, b, t)];

			for (int sign = -1; sign <= 1 && taken != ILP_NONE; sign += 2) {
				ilp_row(program,
					(struct ilp_name){ sign < 0 ? "takea" : "takeb", b, a, t },
					ILP_MIN, most);
				ilp_term(program, encoding->l[ilp_at(encoding, a, t)],
					 sign * encoding->tensor[a].step);
				ilp_term(program, encoding->l[ilp_at(encoding, b, t)],
					 -sign * tensor->step);
				ilp_term(program, taken, most);
			}
		}
	}
}

/* Also makes the columns L: they are the only ones with this bound. */
void ilp_eq9_within_budget(struct ilp_encoding *encoding)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		const struct ilp_tensor *tensor = &encoding->tensor[a];

		/*
		 * Where steps are single units, whole addresses come by themselves: once
		 * the binary columns are set, only differences of two addresses are left.
		 */
		for (uint32_t t = tensor->first; t <= tensor->last; t++)
			encoding->l[ilp_at(encoding, a, t)] = ilp_column(
				&encoding->program, (struct ilp_name){ "L", a, ILP_NONE, t },
				(encoding->budget - tensor->size) / tensor->step, tensor->step > 1);
	}
}

/* Rows: C + P + R, of both tensors or one; factor times each. */
static void add_resident(struct ilp_encoding *encoding, uint32_t a, uint32_t t, int64_t factor)
{
	size_t at = ilp_at(encoding, a, t);

	ilp_term(&encoding->program, encoding->c[at], factor);
	ilp_term(&encoding->program, encoding->p[at], factor);
	ilp_term(&encoding->program, encoding->r[at], factor);
}

/* @order = 1: @a ends where @b begins, or below. */
static void add_order(struct ilp_encoding *encoding, const char *kind, uint32_t a, uint32_t b,
		      uint32_t t, uint32_t order)
{
	struct ilp_program *program = &encoding->program;
	int64_t most = encoding->budget;

	ilp_row(program, (struct ilp_name){ kind, a, b, t }, ILP_MIN,
		most - encoding->tensor[a].size);
	ilp_term(program, encoding->l[ilp_at(encoding, a, t)], encoding->tensor[a].step);
	ilp_term(program, encoding->l[ilp_at(encoding, b, t)], -encoding->tensor[b].step);
	ilp_term(program, order, most);
}

static void no_overlap(struct ilp_encoding *encoding, uint32_t a, uint32_t b, uint32_t t)
{
	struct ilp_program *program = &encoding->program;
	uint32_t above, below, taken = ilp_taken(encoding, a, b, t);

	/* Never both: no question of addresses. */
	if (encoding->tensor[a].size + encoding->tensor[b].size > encoding->budget) {
		ilp_row(program, (struct ilp_name){ "eq10x", a, b, t }, ILP_MIN, 1);
		add_resident(encoding, a, t, 1);
		add_resident(encoding, b, t, 1);
		ilp_term(program, taken, -1);
		return;
	}
	above = ilp_column(program, (struct ilp_name){ "u", a, b, t }, 1, true);
	below = ilp_column(program, (struct ilp_name){ "d", a, b, t }, 1, true);
	ilp_row(program, (struct ilp_name){ "eq10a", a, b, t }, ILP_MIN, 1);
	ilp_term(program, above, 1);
	ilp_term(program, below, 1);
	ilp_row(program, (struct ilp_name){ "eq10b", a, b, t }, -1, ILP_MAX);
	ilp_term(program, above, 1);
	ilp_term(program, below, 1);
	add_resident(encoding, a, t, -1);
	add_resident(encoding, b, t, -1);
	ilp_term(program, taken, 1);
	add_order(encoding, "eq10c", a, b, t, below);
	add_order(encoding, "eq10d", b, a, t, above);
}

void ilp_eq10_no_overlap(struct ilp_encoding *encoding)
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

/* With P for V. */
void ilp_eq11_same_address(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;

	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		const struct ilp_tensor *tensor = &encoding->tensor[a];
		int64_t most = (encoding->budget - tensor->size) / tensor->step;

		for (uint32_t t = tensor->first + 1; t <= tensor->last; t++) {
			size_t at = ilp_at(encoding, a, t);

			if (encoding->p[at] == ILP_NONE)
				continue;
			for (int sign = -1; sign <= 1; sign += 2) {
				ilp_row(program,
					(struct ilp_name){ sign < 0 ? "eq11a" : "eq11b", a,
							   ILP_NONE, t },
					ILP_MIN, most);
				ilp_term(program, encoding->l[at], sign);
				ilp_term(program, encoding->l[at - 1], -sign);
				ilp_term(program, encoding->p[at], most);
			}
		}
	}
}
