// SPDX-License-Identifier: MIT
/* Eq. 1 to 8: what may happen to a tensor, and when. */
#include "encode.h"

static struct ilp_name name(const char *kind, uint32_t a, uint32_t t)
{
	return (struct ilp_name){ .kind = kind, .a = a, .b = ILP_NONE, .t = t };
}

void ilp_eq1_one_action(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	struct ilp_program *program = &encoding->program;
	size_t at = ilp_at(encoding, a, t);

	ilp_row(program, name("eq1", a, t), ILP_MIN, 1);
	ilp_term(program, encoding->c[at], 1);
	ilp_term(program, encoding->p[at], 1);
	ilp_term(program, encoding->r[at], 1);
	if (encoding->source.spill_steps) {
		ilp_term(program, encoding->s[at], 1);
		return;
	}
	if (encoding->s[at] == ILP_NONE)
		return;
	ilp_row(program, name("eq1s", a, t), ILP_MIN, 1);
	ilp_term(program, encoding->c[at], 1);
	ilp_term(program, encoding->p[at], 1);
	ilp_term(program, encoding->s[at], 1);
}

void ilp_eq2_preserve(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	struct ilp_program *program = &encoding->program;
	size_t at = ilp_at(encoding, a, t);

	if (encoding->p[at] == ILP_NONE)
		return;
	ilp_row(program, name("eq2", a, t), ILP_MIN, 0);
	ilp_term(program, encoding->p[at], 1);
	ilp_term(program, encoding->c[at - 1], -1);
	ilp_term(program, encoding->p[at - 1], -1);
	ilp_term(program, encoding->r[at - 1], -1);
}

void ilp_eq3_spill(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	struct ilp_program *program = &encoding->program;
	size_t at = ilp_at(encoding, a, t);

	if (encoding->s[at] == ILP_NONE)
		return;
	ilp_row(program, name("eq3", a, t), ILP_MIN, 0);
	ilp_term(program, encoding->s[at], 1);
	ilp_term(program, encoding->c[at - 1], -1);
	ilp_term(program, encoding->p[at - 1], -1);
}

void ilp_eq4_retrieve(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	struct ilp_program *program = &encoding->program;
	const struct ilp_tensor *tensor = &encoding->tensor[a];
	size_t at = ilp_at(encoding, a, t);

	if (encoding->r[at] == ILP_NONE)
		return;
	ilp_row(program, name("eq4", a, t), ILP_MIN, 0);
	ilp_term(program, encoding->r[at], 1);
	for (uint32_t k = tensor->first; k <= t; k++)
		ilp_term(program, encoding->s[ilp_at(encoding, a, k)], -1);
	/* The host has it since it was created. */
	for (uint32_t k = tensor->first; tensor->host && k < t; k++)
		ilp_term(program, encoding->c[ilp_at(encoding, a, k)], -1);
}

/* For the first output of each operator; by Eq. 6 that says it for all of them. */
void ilp_eq5_dependencies(struct ilp_encoding *encoding)
{
	const struct cosma_model *model = encoding->source.model;
	struct ilp_program *program = &encoding->program;

	for (uint32_t v = 0; v < model->op_count; v++)
		for (uint32_t t = encoding->early[v]; t <= encoding->late[v]; t++)
			cosma_for_each(k, model->inputs, v) {
				uint32_t b = model->inputs.item[k];
				size_t at = ilp_at(encoding, b, t);

				ilp_row(program,
					(struct ilp_name){ "eq5", encoding->output[v], b, t },
					ILP_MIN, 0);
				ilp_term(program,
					 encoding->c[ilp_at(encoding, encoding->output[v], t)], 1);
				ilp_term(program, encoding->p[at], -1);
				ilp_term(program, encoding->r[at], -1);
				if (encoding->tensor[b].producer == NPUMEM_NONE)
					ilp_term(program, encoding->c[at], -1);
			}
}

void ilp_eq6_siblings(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;

	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		const struct ilp_tensor *tensor = &encoding->tensor[a];
		uint32_t b;

		if (tensor->producer == NPUMEM_NONE || encoding->output[tensor->producer] == a)
			continue;
		b = encoding->output[tensor->producer];
		for (uint32_t t = tensor->first; t <= tensor->created; t++) {
			ilp_row(program, (struct ilp_name){ "eq6", a, b, t }, 0, 0);
			ilp_term(program, encoding->c[ilp_at(encoding, a, t)], 1);
			ilp_term(program, encoding->c[ilp_at(encoding, b, t)], -1);
		}
	}
}

void ilp_eq7_one_creation(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;

	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		const struct ilp_tensor *tensor = &encoding->tensor[a];

		ilp_row(program, name("eq7", a, ILP_NONE), 1, 1);
		for (uint32_t t = tensor->first; t <= tensor->created; t++)
			ilp_term(program, encoding->c[ilp_at(encoding, a, t)], 1);
	}
}

void ilp_eq8_one_spill(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;

	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		const struct ilp_tensor *tensor = &encoding->tensor[a];

		ilp_row(program, name("eq8", a, ILP_NONE), ILP_MIN, 1);
		for (uint32_t t = tensor->first; t <= tensor->last; t++)
			ilp_term(program, encoding->s[ilp_at(encoding, a, t)], 1);
	}
}

void ilp_one_operator(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;

	for (uint32_t t = 1; t < encoding->steps; t++) {
		ilp_row(program, name("step", ILP_NONE, t), 1, 1);
		for (uint32_t v = 0; v < encoding->source.model->op_count; v++)
			ilp_term(program, encoding->c[ilp_at(encoding, encoding->output[v], t)], 1);
	}
}
