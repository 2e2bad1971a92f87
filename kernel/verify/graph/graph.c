// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Structure of a graph: checks that every record is well formed and points at others that
 * are there. cells.c looks at the bytes that steps access.
 */
#include "graph.h"

static_assert(sizeof(struct npumem_region) == 56);
static_assert(sizeof(struct npumem_tensor) == 48);
static_assert(sizeof(struct npumem_tile) == 64);
static_assert(sizeof(struct npumem_access) == 16);
static_assert(sizeof(struct npumem_step) == 24);
static_assert(sizeof(struct npumem_block) == 16);
static_assert(sizeof(struct npumem_edge) == 24);
static_assert(sizeof(struct npumem_carry) == 8);

#define NPUMEM_MAX_ALIGN 65536u

static int check_sections(struct npuv_work *w, struct npuv_graph *g)
{
	const struct npuv_section_rule rules[] = {
		{ NPUMEM_GRAPH_SECTION_TENSORS, sizeof(struct npumem_tensor), 8, true, "tensors",
		  &g->tensors },
		{ NPUMEM_GRAPH_SECTION_TILES, sizeof(struct npumem_tile), 8, true, "tiles",
		  &g->tiles },
		{ NPUMEM_GRAPH_SECTION_ACCESSES, sizeof(struct npumem_access), 8, true, "accesses",
		  &g->accesses },
		{ NPUMEM_GRAPH_SECTION_STEPS, sizeof(struct npumem_step), 8, true, "steps",
		  &g->steps },
		{ NPUMEM_GRAPH_SECTION_BLOCKS, sizeof(struct npumem_block), 8, true, "blocks",
		  &g->blocks },
		{ NPUMEM_GRAPH_SECTION_EDGES, sizeof(struct npumem_edge), 8, false, "edges",
		  &g->edges },
		{ NPUMEM_GRAPH_SECTION_CARRIES, sizeof(struct npumem_carry), 8, false, "carries",
		  &g->carries },
		{ NPUMEM_GRAPH_SECTION_STRINGS, 1, 1, false, "strings", &g->strings },
	};
	const struct npuv_section *s = &g->strings;
	int err;

	err = npuv_blob_check(w, g->size, NPUMEM_GRAPH_MAGIC, rules,
			      sizeof(rules) / sizeof(rules[0]));
	if (!err && s->count && s->base[s->count - 1])
		return npuv_refuse_at(w, -EINVAL, s->base + s->count - 1, 1,
				      "format: section strings does not end with a NUL");
	return err;
}

static bool name_ok(const struct npuv_graph *g, u32 name)
{
	return name == NPUMEM_NONE || name < g->strings.count;
}

/* NULL, or what is wrong. */
static const char *tensor_flaw(const struct npuv_graph *g, const struct npumem_tensor *t)
{
	u64 end;

	if (!name_ok(g, t->name))
		return "its name lies outside section strings";
	if (!t->size)
		return "its size is zero";
	if (!t->align || (t->align & (t->align - 1)) || t->align > NPUMEM_MAX_ALIGN)
		return "its align is not a power of two up to 65536";
	if (t->kind > NPUMEM_TENSOR_STATE)
		return "its kind is unknown";
	if (t->flags & ~NPUMEM_TENSOR_FLAGS)
		return "it has unknown flags";
	if (t->pad)
		return "its pad is not zero";
	if ((t->flags & NPUMEM_TENSOR_FLAG_EXTERNAL) &&
	    (t->flags & (NPUMEM_TENSOR_FLAG_FIXED | NPUMEM_TENSOR_FLAG_ALIAS)))
		return "EXTERNAL excludes FIXED and ALIAS";
	if ((t->flags & NPUMEM_TENSOR_FLAG_ALIAS) && (t->flags & NPUMEM_TENSOR_FLAG_FIXED))
		return "ALIAS excludes FIXED";
	if ((t->flags & NPUMEM_TENSOR_FLAG_HOST) && t->kind != NPUMEM_TENSOR_INPUT &&
	    t->kind != NPUMEM_TENSOR_PARAMETER)
		return "HOST is for inputs and parameters";
	if (t->flags & NPUMEM_TENSOR_FLAG_FIXED) {
		if (t->fixed_offset % t->align)
			return "its fixed_offset is not a multiple of its align";
		if (check_add_overflow(t->fixed_offset, t->size, &end))
			return "its fixed_offset is too large";
	} else if (t->fixed_offset) {
		return "fixed_offset without FIXED";
	}
	if (!(t->flags & NPUMEM_TENSOR_FLAG_ALIAS)) {
		if (t->alias_of != NPUMEM_NONE || t->alias_offset)
			return "alias_of or alias_offset without ALIAS";
		return NULL;
	}
	if (t->alias_of >= g->tensors.count)
		return "alias_of is not a tensor";
	if (npuv_tensor(g, t->alias_of)->flags & NPUMEM_TENSOR_FLAG_ALIAS)
		return "alias_of is an alias itself";
	if (check_add_overflow(t->alias_offset, t->size, &end) ||
	    end > npuv_tensor(g, t->alias_of)->size)
		return "it ends beyond the tensor that it is an alias of";
	return NULL;
}

static int check_tensors(struct npuv_work *w, struct npuv_graph *g)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < g->tensors.count; i++) {
		const struct npumem_tensor *t = npuv_tensor(g, i);
		const char *flaw = tensor_flaw(g, t);
		struct npuv_text text;

		if (flaw) {
			w->verdict->tensor = i;
			return npuv_refuse_at(w, -EINVAL, t, sizeof(*t), "format: %s: %s",
					      npuv_text_tensor(g, i, &text), flaw);
		}
		if (t->flags & NPUMEM_TENSOR_FLAG_ALIAS)
			g->features |= NPUMEM_FEATURE_ALIAS;
		if (t->flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
			g->features |= NPUMEM_FEATURE_EXTERNAL;
		if (t->flags & NPUMEM_TENSOR_FLAG_HOST)
			g->features |= NPUMEM_FEATURE_SPILL;
		err = npuv_visit(w, 1);
	}
	return err;
}

/* Group, by base tensor, the aliases that give their bytes another role than the base does. */
static int group_aliases(struct npuv_work *w, struct npuv_graph *g)
{
	struct npuv_vector pairs = { .size = sizeof(struct npuv_pair) };
	int err = 0;
	u32 i;

	for (i = 0; !err && i < g->tensors.count; i++) {
		const struct npumem_tensor *t = npuv_tensor(g, i);

		if (t->flags & NPUMEM_TENSOR_FLAG_ALIAS && t->kind != NPUMEM_TENSOR_INTERMEDIATE)
			err = npuv_pair_add(&pairs, t->alias_of, i);
	}
	return npuv_group(w, err, &pairs, g->tensors.count, &g->alias_start, &g->aliases);
}

/* The first step that accesses a tile, or NPUMEM_NONE. No step has been checked yet. */
static u32 step_of_tile(const struct npuv_graph *g, u32 tile)
{
	u32 access = 0, i;

	while (access < g->accesses.count && npuv_access(g, access)->tile != tile)
		access++;
	for (i = 0; access < g->accesses.count && i < g->steps.count; i++) {
		const struct npumem_step *s = npuv_step(g, i);

		if (access >= s->first_access && access - s->first_access < s->access_count)
			return i;
	}
	return NPUMEM_NONE;
}

static int refuse_tile(struct npuv_work *w, const struct npuv_graph *g, u32 tile, const char *flaw)
{
	const struct npumem_tile *t = npuv_tile(g, tile);
	u32 step = step_of_tile(g, tile);
	struct npuv_text text, user;

	w->verdict->step = step;
	npuv_text_tensor(g, t->tensor, &text);
	if (step == NPUMEM_NONE)
		return npuv_refuse_at(w, -EINVAL, t, sizeof(*t), "format: tile %u of %s: %s", tile,
				      text.s, flaw);
	return npuv_refuse_at(w, -EINVAL, t, sizeof(*t), "format: tile %u of %s: %s (used by %s)",
			      tile, text.s, flaw, npuv_text_step(g, step, &user));
}

static int check_tiles(struct npuv_work *w, struct npuv_graph *g)
{
	u32 i;
	int err;

	for (i = 0; i < g->tiles.count; i++) {
		const struct npumem_tile *t = npuv_tile(g, i);
		const char *flaw = NULL;

		w->verdict->tile = i;
		if (t->tensor >= g->tensors.count)
			return npuv_refuse_at(w, -EINVAL, t, sizeof(*t),
					      "format: tile %u: tensor %u is not there", i,
					      t->tensor);
		w->verdict->tensor = t->tensor;
		if (t->flags)
			flaw = "it has unknown flags";
		else
			flaw = npuv_region_check(&t->region, npuv_tensor(g, t->tensor)->size);
		if (flaw)
			return refuse_tile(w, g, i, flaw);
		err = npuv_visit(w, 1);
		if (err)
			return err;
	}
	npuv_verdict_clear(w->verdict);
	return 0;
}

/* NULL, or what is wrong. */
static const char *inplace_flaw(const struct npuv_graph *g, const struct npumem_step *s,
				const struct npumem_access *a)
{
	const struct npumem_access *source;

	if (a->mode != NPUMEM_ACCESS_WRITE)
		return "inplace is for writes";
	if (a->inplace >= s->access_count)
		return "inplace is not an access of its step";
	source = npuv_access(g, s->first_access + a->inplace);
	if (source->mode != NPUMEM_ACCESS_READ)
		return "inplace is not a read";
	if (source->tile >= g->tiles.count ||
	    npuv_region_bytes(&npuv_tile(g, source->tile)->region) !=
		    npuv_region_bytes(&npuv_tile(g, a->tile)->region))
		return "inplace has another number of bytes";
	return NULL;
}

static const char *access_flaw(const struct npuv_graph *g, const struct npumem_step *s,
			       const struct npumem_access *a)
{
	if (a->tile >= g->tiles.count)
		return "its tile is not there";
	if (a->mode < NPUMEM_ACCESS_READ || a->mode > NPUMEM_ACCESS_UPDATE)
		return "its mode is unknown";
	if (a->flags)
		return "it has unknown flags";
	return a->inplace == NPUMEM_NONE ? NULL : inplace_flaw(g, s, a);
}

static bool read_only(u32 kind)
{
	return kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER;
}

/* Check that a tensor may be written. A write to a read-only one breaks a rule, not the format. */
static int check_writable(struct npuv_work *w, const struct npuv_graph *g, u32 step,
			  const struct npumem_access *a)
{
	u32 tensor = npuv_tile(g, a->tile)->tensor;
	u32 kind = npuv_tensor(g, tensor)->kind;
	struct npuv_text step_text, tensor_text;

	/* An alias may not make read-only bytes writable; the other way round is cells.c's. */
	if (!read_only(kind) && npuv_tensor(g, tensor)->flags & NPUMEM_TENSOR_FLAG_ALIAS)
		kind = npuv_tensor(g, npuv_tensor(g, tensor)->alias_of)->kind;
	if (a->mode == NPUMEM_ACCESS_READ || !read_only(kind))
		return 0;
	w->verdict->step = step;
	w->verdict->tile = a->tile;
	w->verdict->tensor = tensor;
	return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V4_WRITE,
			   "V4 write: %s writes tile %u of %s, %s",
			   npuv_text_step(g, step, &step_text), a->tile,
			   npuv_text_tensor(g, tensor, &tensor_text),
			   kind == NPUMEM_TENSOR_INPUT ? "an input" : "a parameter");
}

static int check_accesses(struct npuv_work *w, struct npuv_graph *g, u32 step)
{
	const struct npumem_step *s = npuv_step(g, step);
	u32 i;
	int err = 0;

	for (i = s->first_access; !err && i < s->first_access + s->access_count; i++) {
		const struct npumem_access *a = npuv_access(g, i);
		const char *flaw = access_flaw(g, s, a);
		struct npuv_text text;

		if (flaw) {
			w->verdict->step = step;
			return npuv_refuse_at(w, -EINVAL, a, sizeof(*a),
					      "format: access %u of %s: %s", i - s->first_access,
					      npuv_text_step(g, step, &text), flaw);
		}
		err = check_writable(w, g, step, a);
		if (err)
			return err;
		if (a->inplace != NPUMEM_NONE)
			g->features |= NPUMEM_FEATURE_INPLACE;
		g->access_step[i] = step;
		err = npuv_visit(w, 1);
	}
	return err;
}

static int check_steps(struct npuv_work *w, struct npuv_graph *g)
{
	u32 i, next = 0;
	int err;

	for (i = 0; i < g->steps.count; i++) {
		const struct npumem_step *s = npuv_step(g, i);
		const char *flaw = NULL;

		if (s->first_access != next)
			flaw = "its accesses do not follow those of the step before";
		else if (!s->access_count)
			flaw = "it has no access";
		else if (s->access_count > g->accesses.count - next)
			flaw = "its accesses are not all there";
		else if (s->flags & ~NPUMEM_STEP_FLAGS)
			flaw = "it has unknown flags";
		else if (!name_ok(g, s->name))
			flaw = "its name lies outside section strings";
		if (flaw) {
			w->verdict->step = i;
			return npuv_refuse_at(w, -EINVAL, s, sizeof(*s), "format: step %u: %s", i,
					      flaw);
		}
		err = check_accesses(w, g, i);
		if (err)
			return err;
		next += s->access_count;
	}
	if (next != g->accesses.count)
		return npuv_refuse_at(w, -EINVAL, npuv_access(g, next),
				      sizeof(struct npumem_access),
				      "format: access %u belongs to no step", next);
	return 0;
}

static int check_blocks(struct npuv_work *w, struct npuv_graph *g)
{
	u32 i, next = 0;
	int err;

	for (i = 0; i < g->blocks.count; i++) {
		const struct npumem_block *b = npuv_block(g, i);
		const char *flaw = NULL;

		if (b->first_step != next)
			flaw = "its steps do not follow those of the block before";
		else if (b->step_count > g->steps.count - next)
			flaw = "its steps are not all there";
		else if (b->flags)
			flaw = "it has unknown flags";
		else if (!name_ok(g, b->name))
			flaw = "its name lies outside section strings";
		if (flaw)
			return npuv_refuse_at(w, -EINVAL, b, sizeof(*b), "format: block %u: %s", i,
					      flaw);
		next += b->step_count;
		err = npuv_visit(w, 1);
		if (err)
			return err;
	}
	if (next != g->steps.count)
		return npuv_refuse_at(w, -EINVAL, npuv_step(g, next), sizeof(struct npumem_step),
				      "format: step %u belongs to no block", next);
	if (g->blocks.count > 1 || g->edges.count)
		g->features |= NPUMEM_FEATURE_BLOCKS;
	return 0;
}

static int check_edges(struct npuv_work *w, struct npuv_graph *g)
{
	u32 i, next = 0;
	int err;

	for (i = 0; i < g->edges.count; i++) {
		const struct npumem_edge *e = npuv_edge(g, i);
		const char *flaw = NULL;

		if (e->from >= g->blocks.count)
			flaw = "from is not a block";
		else if (e->to >= g->blocks.count && e->to != NPUMEM_NONE)
			flaw = "to is not a block";
		else if (e->first_carry != next)
			flaw = "its carries do not follow those of the edge before";
		else if (e->carry_count > g->carries.count - next)
			flaw = "its carries are not all there";
		else if (e->flags || e->pad)
			flaw = "it has unknown flags or its pad is not zero";
		if (flaw)
			return npuv_refuse_at(w, -EINVAL, e, sizeof(*e), "format: edge %u: %s", i,
					      flaw);
		next += e->carry_count;
		err = npuv_visit(w, 1);
		if (err)
			return err;
	}
	if (next != g->carries.count)
		return npuv_refuse_at(w, -EINVAL, npuv_carry(g, next), sizeof(struct npumem_carry),
				      "format: carry %u belongs to no edge", next);
	return 0;
}

static int check_records(struct npuv_work *w, struct npuv_graph *g)
{
	int err;

	err = check_sections(w, g);
	if (err)
		return err;
	g->access_step = npuv_alloc_array(g->accesses.count, sizeof(u32));
	if (!g->access_step)
		return -ENOMEM;
	err = check_tensors(w, g);
	if (!err && g->features & NPUMEM_FEATURE_ALIAS)
		err = group_aliases(w, g);
	if (!err)
		err = check_tiles(w, g);
	if (!err)
		err = check_steps(w, g);
	if (!err)
		err = check_blocks(w, g);
	if (!err)
		err = check_edges(w, g);
	if (!err)
		err = npuv_flow_check(w, g);
	return err;
}

int npuv_graph_create(const void *blob, u64 size, const struct npuv_limits *limits,
		      struct npuv_log *log, struct npumem_verdict *verdict, struct npuv_graph **out)
{
	struct npuv_work w = { .blob = blob, .limits = limits, .log = log, .verdict = verdict };
	struct npuv_graph *g;
	int err;

	npuv_verdict_clear(verdict);
	g = npuv_alloc_array(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->blob = blob;
	g->size = size;
	err = check_records(&w, g);
	if (!err)
		err = npuv_cells_find(&w, g, NULL);
	npuv_work_fini(&w);
	if (err) {
		npuv_graph_destroy(g);
		return err;
	}
	if (log && log->level >= 2)
		npuv_log(log, "graph: %u tensors, %u steps, %u accesses, %u cells, %llu visits",
			 g->tensors.count, g->steps.count, g->accesses.count, g->cell_count,
			 w.visits);
	*out = g;
	return 0;
}
