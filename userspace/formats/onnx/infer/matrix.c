/* SPDX-License-Identifier: MIT */
/* Products of matrices, and networks that are made of them. */
#include "infer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void infer_gemm(struct onnx_reader *r, struct onnx_node *n)
{
	bool left = onnx_attr_int(r, n, "transA", 0), right = onnx_attr_int(r, n, "transB", 0);
	const int64_t *a, *b;
	struct onnx_shape shape = { .known = true, .rank = 2 };

	if (r->err || !infer_rank(r, n, 0, 2, 2) || !infer_rank(r, n, 1, 2, 2))
		return;
	a = n->inputs[0]->shape.dims;
	b = n->inputs[1]->shape.dims;
	if (a[!left] != b[right])
		onnx_fail(r, -EINVAL, "%s: matrices of %s and %s have no product",
			  onnx_node_text(n).s, onnx_shape_text(&n->inputs[0]->shape).s,
			  onnx_shape_text(&n->inputs[1]->shape).s);
	shape.dims[0] = a[left];
	shape.dims[1] = b[!right];
	infer_set(n, 0, n->inputs[0]->type, &shape);
	/* Which dimension of square weights makes the outputs nobody could tell. */
	if (left || (right && b[0] == b[1]) || !n->inputs[1]->is_constant)
		snprintf(n->type, sizeof(n->type), "gemm");
	/* A column is added to each of the product's; tiles take it for a number of each column. */
	if (infer_input(n, 2))
		n->attrs.whole = n->inputs[2]->shape.rank == 2 && n->inputs[2]->shape.dims[0] > 1 &&
				 n->inputs[2]->shape.dims[1] == 1;
}

/* As numpy has it: vectors are matrices of one row or column, whose dimension falls away again. */
static void product(struct onnx_reader *r, struct onnx_node *n, uint32_t left, uint32_t right,
		    uint32_t type)
{
	struct onnx_shape a, b, out;
	bool is_row, is_column;

	if (!infer_rank(r, n, left, 1, NPUPLAN_MAX_DIMS) ||
	    !infer_rank(r, n, right, 1, NPUPLAN_MAX_DIMS))
		return;
	a = n->inputs[left]->shape;
	b = n->inputs[right]->shape;
	is_row = a.rank == 1;
	is_column = b.rank == 1;
	if (is_row)
		a = (struct onnx_shape){ true, 2, { 1, a.dims[0] } };
	if (is_column)
		b = (struct onnx_shape){ true, 2, { b.dims[0], 1 } };
	if (a.dims[a.rank - 1] != b.dims[b.rank - 2])
		onnx_fail(r, -EINVAL, "%s: matrices of %s and %s have no product",
			  onnx_node_text(n).s, onnx_shape_text(&n->inputs[left]->shape).s,
			  onnx_shape_text(&n->inputs[right]->shape).s);
	out = a;
	out.rank -= 2;
	b.rank -= 2;
	infer_broadcast(r, n, &out, &b);
	if (r->err)
		return;
	if (!is_row)
		out.dims[out.rank++] = a.dims[a.rank - 2];
	if (!is_column)
		out.dims[out.rank++] = b.dims[b.rank + 1];
	infer_set(n, 0, type, &out);
	/* A vector has a number for each element that is summed up. */
	n->attrs.whole = is_row || is_column;
}

void infer_matmul(struct onnx_reader *r, struct onnx_node *n)
{
	product(r, n, 0, 1, n->inputs[0]->type);
}

void infer_matmul_integer(struct onnx_reader *r, struct onnx_node *n)
{
	product(r, n, 0, 1, ONNX_INT32);
	/* The zero points of the left side are of its rows. */
	infer_not_last(n, 2);
}

/* Inputs: a, its scale and zero point, b, its, those of y. Those of a and y may be of rows. */
void infer_qlinear_matmul(struct onnx_reader *r, struct onnx_node *n)
{
	static const uint32_t of_rows[] = { 1, 2, 6, 7 };

	product(r, n, 0, 3, n->inputs[7]->type);
	for (size_t i = 0; i < sizeof(of_rows) / sizeof(*of_rows); i++)
		infer_not_last(n, of_rows[i]);
}

void infer_det(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;

	if (!infer_rank(r, n, 0, 2, NPUPLAN_MAX_DIMS))
		return;
	shape.rank -= 2;
	infer_set(n, 0, n->inputs[0]->type, &shape);
}

/* -------------------------------------------------------------------- einsum */

static bool is_letter(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/*
 * struct einsum - an equation in the making
 * @sizes: per letter, 0 is not met yet
 * @seen: how often each letter stands before the arrow
 * @rest: what "..." stands for
 */
struct einsum {
	int64_t sizes[128];
	unsigned int seen[128];
	struct onnx_shape rest;
};

/* The letters of one input. */
static void einsum_input(struct onnx_reader *r, const struct onnx_node *n, struct einsum *e,
			 const char *text, size_t length, uint32_t k)
{
	const struct onnx_shape *shape = &n->inputs[k]->shape;
	uint32_t letters = 0, d = 0, rest;
	bool fits = true;

	for (size_t i = 0; i < length; i++)
		letters += is_letter((unsigned char)text[i]);
	rest = shape->rank - letters;
	for (size_t i = 0; i < length && fits && letters <= shape->rank; i++) {
		unsigned char c = (unsigned char)text[i];

		if (is_letter(c)) {
			int64_t size = shape->dims[d++];

			fits = !e->seen[c]++ || e->sizes[c] == size || size == 1 ||
			       e->sizes[c] == 1;
			e->sizes[c] = e->seen[c] > 1 && size == 1 ? e->sizes[c] : size;
		} else if (c == '.' && i + 2 < length && text[i + 1] == '.' && text[i + 2] == '.') {
			struct onnx_shape part = { .known = true, .rank = rest };

			memcpy(part.dims, shape->dims + d, rest * sizeof(*part.dims));
			infer_broadcast(r, n, &e->rest, &part);
			d += rest;
			rest = 0;
			i += 2;
		} else {
			fits = c == ' ';
		}
	}
	if (!fits || d != shape->rank || letters > shape->rank)
		onnx_fail(r, -EINVAL, "%s: its equation does not fit input %" PRIu32 " of shape %s",
			  onnx_node_text(n).s, k, onnx_shape_text(shape).s);
}

/* After the arrow, or all letters that stand once, in their order. */
static void einsum_output(struct onnx_reader *r, struct onnx_node *n, const struct einsum *e,
			  const char *text, size_t length, bool is_implicit)
{
	struct onnx_shape out = { .known = true };
	char letters[128];
	size_t count = 0;

	if (is_implicit) {
		if (e->rest.rank)
			out = e->rest;
		for (int c = 'A'; c <= 'z'; c++)
			if (e->seen[c] == 1)
				letters[count++] = (char)c;
		text = letters;
		length = count;
	}
	for (size_t i = 0; i < length && !r->err; i++) {
		unsigned char c = (unsigned char)text[i];

		if (is_letter(c) && e->seen[c] && out.rank < NPUPLAN_MAX_DIMS) {
			out.dims[out.rank++] = e->sizes[c];
		} else if (c == '.' && i + 2 < length &&
			   out.rank + e->rest.rank <= NPUPLAN_MAX_DIMS) {
			memcpy(out.dims + out.rank, e->rest.dims, e->rest.rank * sizeof(*out.dims));
			out.rank += e->rest.rank;
			i += 2;
		} else if (c != ' ') {
			onnx_fail(r, -EINVAL, "%s: the output of its equation is not understood",
				  onnx_node_text(n).s);
		}
	}
	infer_set(n, 0, n->inputs[0]->type, &out);
}

void infer_einsum(struct onnx_reader *r, struct onnx_node *n)
{
	const Onnx__AttributeProto *attr = onnx_attr(n, "equation");
	struct einsum e = { .rest = { .known = true } };
	const char *text, *end, *arrow = NULL;
	uint32_t k = 0;

	if (!attr || !attr->has_s || !attr->s.len) {
		onnx_fail(r, -EINVAL, "%s has no equation", onnx_node_text(n).s);
		return;
	}
	text = (const char *)attr->s.data;
	end = text + attr->s.len;
	for (const char *c = text; c + 1 < end && !arrow; c++)
		if (c[0] == '-' && c[1] == '>')
			arrow = c;
	for (const char *at = text, *stop = arrow ? arrow : end; at <= stop && !r->err; k++) {
		const char *comma = memchr(at, ',', (size_t)(stop - at));
		size_t length = (size_t)((comma ? comma : stop) - at);

		if (k < n->input_count && n->inputs[k])
			einsum_input(r, n, &e, at, length, k);
		at += length + 1;
	}
	if (k != n->input_count)
		onnx_fail(r, -EINVAL, "%s: its equation has not %" PRIu32 " inputs",
			  onnx_node_text(n).s, n->input_count);
	if (!r->err)
		einsum_output(r, n, &e, arrow ? arrow + 2 : end,
			      arrow ? (size_t)(end - arrow - 2) : 0, !arrow);
}

/* ---------------------------------------------------------------- recurrent */

/* Y, the last of the hidden states, and of an LSTM that of the cells. */
void infer_recurrent(struct onnx_reader *r, struct onnx_node *n)
{
	bool is_batch_first = onnx_attr_int(r, n, "layout", 0);
	struct onnx_shape out = { .known = true, .rank = 4 }, last = { .known = true, .rank = 3 };
	int64_t directions, hidden, steps, batch;
	uint32_t type = n->inputs[0]->type;

	if (!infer_rank(r, n, 0, 3, 3) || !infer_rank(r, n, 2, 3, 3))
		return;
	directions = n->inputs[2]->shape.dims[0];
	hidden = n->inputs[2]->shape.dims[2];
	if (onnx_attr_int(r, n, "hidden_size", hidden) != hidden)
		onnx_fail(r, -EINVAL,
			  "%s: its hidden_size is %" PRId64 ", and its weights are of shape %s",
			  onnx_node_text(n).s, onnx_attr_int(r, n, "hidden_size", hidden),
			  onnx_shape_text(&n->inputs[2]->shape).s);
	if (strcmp(onnx_attr_text(r, n, "direction", "forward"), "bidirectional") == 0 ?
		    directions != 2 :
		    directions != 1)
		onnx_fail(r, -EINVAL, "%s: its weights are for %" PRId64 " directions",
			  onnx_node_text(n).s, directions);
	if (r->err)
		return;
	steps = n->inputs[0]->shape.dims[is_batch_first];
	batch = n->inputs[0]->shape.dims[!is_batch_first];
	if (is_batch_first) {
		memcpy(out.dims, (int64_t[]){ batch, steps, directions, hidden },
		       4 * sizeof(*out.dims));
		memcpy(last.dims, (int64_t[]){ batch, directions, hidden }, 3 * sizeof(*last.dims));
	} else {
		memcpy(out.dims, (int64_t[]){ steps, directions, batch, hidden },
		       4 * sizeof(*out.dims));
		memcpy(last.dims, (int64_t[]){ directions, batch, hidden }, 3 * sizeof(*last.dims));
	}
	infer_set(n, 0, type, &out);
	infer_set(n, 1, type, &last);
	infer_set(n, 2, type, &last);
}

/* One number, or one for each place if nothing is summed up. */
void infer_loss(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = { .known = true };

	if (!strcmp(onnx_attr_text(r, n, "reduction", "mean"), "none"))
		shape = n->inputs[1]->shape;
	infer_set(n, 0, n->inputs[0]->type, &shape);
	infer_set(n, 1, n->inputs[0]->type, &n->inputs[0]->shape);
}
