// SPDX-License-Identifier: MIT
/* Operators cut into tiles of their outputs: what a tiling says, checked and carried out. */
#include "join.h"
#include "patches.h"

#include <stdlib.h>
#include <string.h>

const char *npuplan_layout_name(unsigned int layout)
{
	static const char *const names[] = { "nhwc", "nchw", "nc32hw" };

	return layout < sizeof(names) / sizeof(names[0]) ? names[layout] : NULL;
}

/* Check the depth that a tiling says of one operator. */
static int check_depth(const struct npuplan_partition *p, uint32_t depth,
		       struct npuplan_error *error)
{
	int64_t granule, all = npuplan_depth(p, &granule);

	if (!all)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: it does not add up channels of its input, so "
				    "that no depth can be cut",
				    p->op->name);
	if (depth > all)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: tiles of depth %u, its inputs have %lld channels",
				    p->op->name, depth, (long long)all);
	if (depth % granule && depth != all)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: tiles of depth %u, in %s they are multiples of "
				    "%lld",
				    p->op->name, depth, npuplan_layout_name(p->output.layout),
				    (long long)granule);
	return 0;
}

/* Check the rows, channels, columns and depth that a tiling says of one operator. */
static int check_choice(const struct npuplan_graph *graph, const struct npuplan_tile_choice *choice,
			struct npuplan_error *error)
{
	const struct npuplan_op *op = &graph->ops[choice->op];
	struct npuplan_partition p;
	bool parted = npuplan_partition_init(&p, graph, choice->op, 0);
	const struct npuplan_spatial *output = &p.output;
	long long granule = parted ? npuplan_granule(output) : 1;

	if (choice->order != NPUPLAN_ROWS_OUTER && choice->order != NPUPLAN_CHANNELS_OUTER)
		return npuplan_fail(error, -EINVAL, "operator %s: there is no order %u of tiles",
				    op->name, choice->order);
	if (!choice->rows && !choice->channels && !choice->columns && !choice->depth)
		return 0;
	if (op->attrs.whole)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: it is planned whole, since what a part of it "
				    "needs is not known",
				    op->name);
	if (!parted)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: its outputs have no rows and channels in common "
				    "that could be cut",
				    op->name);
	if (choice->rows > output->rows)
		return npuplan_fail(error, -EINVAL, "operator %s: tiles of %u rows, it has %lld",
				    op->name, choice->rows, (long long)output->rows);
	if (choice->channels > output->channels)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: tiles of %u channels, it has %lld", op->name,
				    choice->channels, (long long)output->channels);
	if (choice->channels % granule && choice->channels != output->channels)
		return npuplan_fail(
			error, -EINVAL,
			"operator %s: tiles of %u channels, in %s they are multiples of %lld",
			op->name, choice->channels, npuplan_layout_name(output->layout), granule);
	if (choice->columns && !npuplan_has_columns(&p))
		return npuplan_fail(
			error, -EINVAL,
			"operator %s: its outputs are no images, or it needs whole rows "
			"of its inputs, so that no columns can be cut",
			op->name);
	if (choice->columns > output->row)
		return npuplan_fail(error, -EINVAL, "operator %s: tiles of %u columns, it has %lld",
				    op->name, choice->columns, (long long)output->row);
	return choice->depth ? check_depth(&p, choice->depth, error) : 0;
}

static int check_tiling(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			struct npuplan_error *error)
{
	int said = !!tiling->bands + !!tiling->rows + !!tiling->onchip, err = 0;

	if (tiling->inputs > NPUPLAN_INPUTS_RESIDENT)
		return npuplan_fail(error, -EINVAL, "inputs: there is no place %u", tiling->inputs);
	if (tiling->concat > NPUPLAN_CONCAT_FIT)
		return npuplan_fail(error, -EINVAL, "concats: there is no way %u to do them",
				    tiling->concat);
	if (said > 1)
		return npuplan_fail(error, -EINVAL,
				    "bands, rows and on-chip memory exclude each other");
	if (tiling->columns && !tiling->rows)
		return npuplan_fail(error, -EINVAL, "columns of tiles need their rows");
	if (tiling->double_buffer && !tiling->onchip)
		return npuplan_fail(error, -EINVAL,
				    "double buffering is of a tiling for on-chip memory");
	if (tiling->partial_sums && !tiling->onchip)
		return npuplan_fail(error, -EINVAL,
				    "partial sums are of a tiling for on-chip memory");
	if (tiling->patch_count &&
	    (tiling->clone_count || tiling->carry_copy_count || tiling->link_copy_count))
		return npuplan_fail(error, -EINVAL,
				    "where operators run in patches, none is added");
	if (tiling->clone_count && (tiling->op_count || tiling->onchip))
		return npuplan_fail(error, -EINVAL,
				    "where operators run again, none is cut in a way of its own");
	if (tiling->carry_copy_count && (tiling->op_count || tiling->onchip || tiling->clone_count))
		return npuplan_fail(error, -EINVAL,
				    "where what edges carry is copied, no operator is cut in a way "
				    "of its own, or runs again");
	if (tiling->link_copy_count &&
	    (tiling->op_count || tiling->onchip || tiling->clone_count || tiling->carry_copy_count))
		return npuplan_fail(error, -EINVAL,
				    "where what other cores read is copied, no operator is cut in "
				    "a way of its own, or runs again, and no carry is copied");
	for (uint32_t i = 0; i < tiling->op_count && !err; i++) {
		if (tiling->ops[i].op >= graph->op_count)
			return npuplan_fail(error, -EINVAL, "graph %s has no operator %u",
					    graph->name, tiling->ops[i].op);
		if (i && tiling->ops[i].op <= tiling->ops[i - 1].op)
			return npuplan_fail(
				error, -EINVAL,
				"operator %s: its tiling is said twice, or not in order",
				graph->ops[tiling->ops[i].op].name);
		err = check_choice(graph, &tiling->ops[i], error);
	}
	return err ? err : npuplan_check_patches(graph, tiling, error);
}

/* A copy of @bytes, which the caller frees; NULL: out of memory. */
static void *copied(const void *from, size_t bytes)
{
	void *copy = malloc(bytes + 1);

	return copy && bytes ? memcpy(copy, from, bytes) : copy;
}

static int copy_clones(struct npuplan_tiling *to, const struct npuplan_tiling *from,
		       struct npuplan_error *error)
{
	bool failed;

	to->clones = calloc((size_t)from->clone_count + 1, sizeof(*to->clones));
	failed = !to->clones;
	for (uint32_t i = 0; i < from->clone_count && !failed; i++) {
		struct npuplan_clone *copy = &to->clones[to->clone_count++];

		*copy = from->clones[i];
		copy->readers = copied(copy->readers, copy->reader_count * sizeof(*copy->readers));
		failed = !copy->readers;
	}
	return failed ? npuplan_fail(error, -ENOMEM, "out of memory") : 0;
}

static int copy_link_copies(struct npuplan_tiling *to, const struct npuplan_tiling *from,
			    struct npuplan_error *error)
{
	bool failed;

	to->link_copies = calloc((size_t)from->link_copy_count + 1, sizeof(*to->link_copies));
	failed = !to->link_copies;
	for (uint32_t i = 0; i < from->link_copy_count && !failed; i++) {
		struct npuplan_link_copy *copy = &to->link_copies[to->link_copy_count++];

		*copy = from->link_copies[i];
		copy->readers = copied(copy->readers, copy->reader_count * sizeof(*copy->readers));
		failed = !copy->readers;
	}
	return failed ? npuplan_fail(error, -ENOMEM, "out of memory") : 0;
}

/* A copy of a tiling that adds no operators; what it owns is its own. */
static int copy_tiling(struct npuplan_tiling *to, const struct npuplan_tiling *from,
		       struct npuplan_error *error)
{
	bool failed;

	*to = *from;
	to->clones = NULL;
	to->carry_copies = NULL;
	to->link_copies = NULL;
	to->ops = from->op_count ? copied(from->ops, from->op_count * sizeof(*to->ops)) : NULL;
	to->patches = from->patch_count ?
			      copied(from->patches, from->patch_count * sizeof(*to->patches)) :
			      NULL;
	failed = (from->op_count && !to->ops) || (from->patch_count && !to->patches);
	return failed ? npuplan_fail(error, -ENOMEM, "out of memory") : 0;
}

/* Flag the tensors that are in host memory at first, so that a plan has to load them. */
static void flag_host(struct npuplan_graph *graph, const struct npuplan_tiling *tiling)
{
	for (uint32_t t = 0; t < graph->tensor_count && tiling->inputs; t++) {
		struct npuplan_tensor *tensor = &graph->tensors[t];
		bool loaded = tensor->kind == NPUMEM_TENSOR_PARAMETER ?
				      tiling->with_parameters :
				      tensor->kind == NPUMEM_TENSOR_INPUT &&
					      tiling->inputs == NPUPLAN_INPUTS_HOST;

		if (loaded &&
		    !(tensor->flags & (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL)))
			tensor->flags |= NPUMEM_TENSOR_FLAG_HOST;
	}
}

/*
 * The graph with the operators that a tiling adds: clones, copies of what edges carry, or of what
 * other cores read.
 */
static int add_operators(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			 struct npuplan_graph **out, struct npuplan_error *error)
{
	struct npuplan_graph *next;
	int err = 0;

	*out = NULL;
	if (tiling->carry_copy_count)
		return npuplan_graph_copy_carries(graph, tiling->carry_copies,
						  tiling->carry_copy_count, out, error);
	if (tiling->link_copy_count)
		return npuplan_graph_copy_links(graph, tiling->link_copies, tiling->link_copy_count,
						out, error);
	for (uint32_t i = 0; i < tiling->clone_count && !err; i++) {
		err = npuplan_graph_clone_op(*out ? *out : graph, &tiling->clones[i], &next, error);
		npuplan_graph_free(*out);
		*out = next;
	}
	return err;
}

/* Note in the tiling of a graph which operators were added. */
static int note_operators(struct npuplan_tiling *to, const struct npuplan_tiling *from,
			  struct npuplan_error *error)
{
	if (from->clone_count)
		return copy_clones(to, from, error);
	if (from->link_copy_count)
		return copy_link_copies(to, from, error);
	to->carry_copies =
		copied(from->carry_copies, from->carry_copy_count * sizeof(*to->carry_copies));
	if (!to->carry_copies)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	to->carry_copy_count = from->carry_copy_count;
	return 0;
}

/* Tile the graph with what is added to it, which then takes the place of the graph. */
static int tile_more(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		     struct npuplan_error *error)
{
	struct npuplan_tiling rest = *tiling;
	struct npuplan_graph *now = NULL, all;
	int err = check_tiling(graph, tiling, error);

	if (!err)
		err = add_operators(graph, tiling, &now, error);
	rest.clones = NULL;
	rest.clone_count = 0;
	rest.carry_copies = NULL;
	rest.carry_copy_count = 0;
	rest.link_copies = NULL;
	rest.link_copy_count = 0;
	if (!err)
		err = npuplan_graph_tile(now, &rest, error);
	if (!err)
		err = note_operators(&now->tiling, tiling, error);
	if (!err) {
		all = *graph;
		*graph = *now;
		*now = all;
	}
	npuplan_graph_free(now);
	return err;
}

int npuplan_graph_tile(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		       struct npuplan_error *error)
{
	enum npuplan_layout before = graph->layout;
	struct npuplan_tiling done = { 0 };
	int err;

	if (graph->step_count || graph->tile_count)
		return npuplan_fail(error, -EINVAL, "graph %s is tiled already", graph->name);
	for (size_t i = 0; i < sizeof(tiling->reserved) / sizeof(tiling->reserved[0]); i++)
		if (tiling->reserved[i])
			return npuplan_fail_later(error, "tilings");
	if (tiling->clone_count || tiling->carry_copy_count || tiling->link_copy_count)
		return tile_more(graph, tiling, error);
	err = npuplan_graph_set_layout(graph, tiling->layout, error);
	if (err)
		return err;
	err = check_tiling(graph, tiling, error);
	if (!err)
		err = copy_tiling(&done, tiling, error);
	if (!err && !done.bands && !done.rows && !done.onchip)
		done.bands = 1;
	if (!err && done.onchip)
		err = npuplan_choose_tiles(graph, &done, error);
	if (!err)
		err = npuplan_make_steps(graph, &done, error);
	if (!err && done.concat)
		err = npuplan_join_concats(graph, done.concat == NPUPLAN_CONCAT_FIT, error);
	if (err) {
		npuplan_tiling_fini(&done);
		npuplan_graph_set_layout(graph, before, NULL);
		return err;
	}
	flag_host(graph, &done);
	npuplan_tiling_fini(&graph->tiling);
	graph->tiling = done;
	return 0;
}

int npuplan_graph_tile_bands(struct npuplan_graph *graph, uint32_t bands, bool with_parameters,
			     struct npuplan_error *error)
{
	struct npuplan_tiling tiling = {
		.layout = graph->layout,
		.bands = bands,
		.with_parameters = with_parameters,
	};

	if (!bands)
		return npuplan_fail(error, -EINVAL, "bands: 0 is not a number of bands");
	return npuplan_graph_tile(graph, &tiling, error);
}
