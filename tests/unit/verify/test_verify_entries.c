// SPDX-License-Identifier: MIT
/*
 * Records of plans of several blocks: instances, edges, entry states, views.
 */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>

#define V1 NPUMEM_RULE_V1_BOUNDS
#define V2 NPUMEM_RULE_V2_ORDER
#define V3 NPUMEM_RULE_V3_READ
#define V6 NPUMEM_RULE_V6_EDGE

/* Spoil struct npumem_plan_block i of instance 1, body A. */
#define INSTANCE(spoil, flaw)                                                      \
	REFUSE_LOOP(struct npumem_plan_block *i = build_plan_block_at(&b, BODY_A); \
		    spoil, EINVAL, V2, "V2 order: block 1 of the plan: " flaw)

TEST(instances)
{
	struct npumem_verdict v;
	struct build b;

	INSTANCE(i->block = 3, "its block is not in the graph");
	INSTANCE(i->first_position = 2, "its positions do not follow those of the block before");
	INSTANCE(i->position_count = 5, "its positions are not all there");
	INSTANCE(i->first_entry = 0, "its entries do not follow those of the block before");
	INSTANCE(i->entry_count = 5, "its entries are not all there");
	INSTANCE(i->pad = 1, "its pad is not zero");
	REFUSE_LOOP(build_plan_block_at(&b, HEAD0)->block = 1, EINVAL, V2,
		    "V2 order: block 0 of the plan: an inference begins there, but it is not of "
		    "block 0");
	loop(&b);
	build_add(&b.positions, 1);
	v = refuse_plan(&b, EINVAL, V2, "V2 order: position 5 belongs to no block of the plan");
	assert_int_equal(v.position, 5);
	REFUSE_LOOP(build_add(&b.entries, 1), EINVAL, V2,
		    "V2 order: entry 5 belongs to no block of the plan");
	/* Steps of other blocks, steps missing. */
	loop(&b);
	build_position_at(&b, 1)->index = OUT;
	v = refuse_plan(&b, EINVAL, V2,
			"V2 order: position 1, step 2 'out': the step is not of the block that it "
			"stands in");
	assert_int_equal(v.position, 1);
	assert_int_equal(v.step, OUT);
	loop(&b);
	build_plan_block_at(&b, TAIL_B)->position_count = 0;
	b.positions.count--;
	v = refuse_plan(&b, EINVAL, V2,
			"V2 order: step 2 'out' is not in block 4 of the plan (block 2 'tail')");
	assert_int_equal(v.step, OUT);
}

/* A plan of one block has no use for entries. */
TEST(flat)
{
	struct build b;

	REFUSE_PLAN(build_add(&b.entries, 1), EINVAL, V2,
		    "V2 order: entry 0 belongs to no block of the plan");
	REFUSE_PLAN(build_add(&b.entries, 1);
		    build_plan_block_at(&b, 0)->entry_count = 1, EINVAL, V2,
		    "V2 order: block 0 of the plan is not the whole schedule of block 0, without "
		    "entries");
}

#define EDGE(spoil, flaw)                                                       \
	REFUSE_LOOP(struct npumem_plan_edge *e = build_plan_edge_at(&b, A_OUT); \
		    spoil, EINVAL, V6, "V6 edge: edge 2 of the plan: " flaw)

TEST(edges)
{
	struct build b;

	EDGE(e->from = 5, "from is not a block of the plan");
	EDGE(e->to = 5, "to is not a block of the plan");
	EDGE(e->edge = 4, "its edge is not in the graph");
	EDGE(e->edge = NPUMEM_NONE, "its edge is not in the graph");
	EDGE(e->pad = 1, "its pad is not zero");
	EDGE(e->from = TAIL_A, "from is not of the block that the graph's edge is from");
	EDGE(e->to = BODY_B, "to is not of the block that the graph's edge is to");
	EDGE(e->to = NPUMEM_NONE, "to is not of the block that the graph's edge is to");
	REFUSE_LOOP(build_plan_edge_at(&b, EXIT_A)->to = TAIL_B, EINVAL, V6,
		    "V6 edge: edge 5 of the plan: to is not of the block that the graph's edge is "
		    "to");
	/* Every way out, once. */
	REFUSE_LOOP(b.plan_edges.count--, EINVAL, V6,
		    "V6 edge: block 4 of the plan (block 2 'tail') has no edge for edge 3 of the "
		    "graph");
	REFUSE_LOOP(build_plan_edge_at(&b, A_OUT)->from = BODY_B;
		    build_plan_edge_at(&b, A_OUT)->to = TAIL_B, EINVAL, V6,
		    "V6 edge: block 1 of the plan (block 1 'body') has no edge for edge 2 of the "
		    "graph");
	REFUSE_LOOP(build_plan_edge(&b, BODY_A, TAIL_B, 2), EINVAL, V6,
		    "V6 edge: block 1 of the plan (block 1 'body') has more than one edge for "
		    "edge 2 of the graph");
}

TEST(placements)
{
	struct build b;

	REFUSE_LOOP(build_placement_at(&b, 2)->block = 5, EINVAL, V1,
		    "V1 bounds: placement 2 of tensor 1 'h': its block is not in the plan");
	REFUSE_LOOP(build_placement_at(&b, 2)->to = 2, EINVAL, V1,
		    "V1 bounds: placement 2 of tensor 1 'h': its span is not within its block");
	REFUSE_LOOP(build_placement_at(&b, 2)->from = 0, EINVAL, V1,
		    "V1 bounds: placement 2 of tensor 1 'h': its span is not within its block");
}

/* Entry 1: all of h, at body A. */
#define ENTRY(spoil, flaw)                                      \
	REFUSE_LOOP(                                            \
		struct npumem_entry *e = build_entry_at(&b, 1); \
		spoil, EINVAL, V6,                              \
		"V6 edge: entry 1 of block 1 of the plan (block 1 'body'), tensor 1 'h': " flaw)

TEST(entries)
{
	struct npumem_verdict v;
	struct build b;

	REFUSE_LOOP(build_entry_at(&b, 1)->tensor = 4, EINVAL, V6,
		    "V6 edge: entry 1 of block 1 of the plan (block 1 'body'): tensor 4 is not "
		    "there");
	ENTRY(e->pad = 1, "its pad is not zero");
	ENTRY(e->length = 0, "its length is zero");
	ENTRY(e->first = 1, "it ends beyond the tensor");
	ENTRY(e->first = ~0ull, "it ends beyond the tensor");
	ENTRY(e->host_offset = 8, "its host_offset is not zero, but it is not in host memory");
	ENTRY(e->flags = 0, "its flags are not RESIDENT alone");
	ENTRY(e->flags |= 4, "its flags are not RESIDENT alone");
	ENTRY(e->placement = NPUMEM_NONE, "its placement is not there");
	ENTRY(e->placement = 3, "its placement is of another tensor");
	ENTRY(e->placement = 4, "its placement is of another block of the plan");
	/* The host's copy is another version's. */
	loop(&b);
	build_entry_at(&b, 1)->flags = NPUMEM_ENTRY_HOST;
	v = refuse_plan(&b, EOPNOTSUPP, NPUMEM_RULE_NONE,
			"not supported: entry state in host memory, at entry 1 of block 1 of the "
			"plan (block 1 'body'), tensor 1 'h'");
	assert_int_equal(v.tensor, LH);
	/* An alias has no place of its own. */
	REFUSE_LOOP(build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 8, "view");
		    build_tensor_at(&b, 4)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
		    build_tensor_at(&b, 4)->alias_of = LH;
		    build_entry_at(&b, 1)->tensor = 4, EINVAL, V6,
		    "V6 edge: entry 1 of block 1 of the plan (block 1 'body'), tensor 4 'view': it "
		    "is of an alias");
}

/* A block of two steps, so that a placement may come into force in its middle. */
static void two_steps(struct build *b)
{
	build_init(b);
	add_tensor(b, NPUMEM_TENSOR_INPUT, "x");
	add_tensor(b, NPUMEM_TENSOR_OUTPUT, "y");
	build_block(b, "head");
	build_step(b, 0, "look");
	build_access(b, 0, NPUMEM_ACCESS_READ);
	add_step(b, "copy", 0, NPUMEM_NONE, 1);
	build_block(b, "tail");
	build_edge(b, 0, 1);
	build_edge(b, 1, NPUMEM_NONE);
	build_instance(b, 0);
	build_enter(b, 0, 0);
	build_instance(b, 1);
	build_enter(b, 0, 0);
	build_place_here(b, 1, 8);
	build_plan_edge(b, 0, 1, 0);
	build_plan_edge(b, 1, NPUMEM_NONE, 1);
}

TEST(entry_places)
{
	struct npumem_verdict v;
	struct build b;

	two_steps(&b);
	free_plan(accept_plan(&b));
	build_free(&b);
	two_steps(&b);
	build_placement_at(&b, 1)->from = 1;
	refuse_plan(&b, EINVAL, V6,
		    "V6 edge: entry 1 of block 1 of the plan (block 1 'tail'), tensor 0 'x': its "
		    "placement is not yet in force when the block is entered");
	/* Half of it is not where the record says. */
	two_steps(&b);
	build_placement_at(&b, 1)->region.length = 4;
	v = refuse_plan(
		&b, EINVAL, V6,
		"V6 edge: entry 1, tensor 0 'x': its bytes [4, 8) are not in its placement");
	assert_int_equal(v.tensor, 0);
	/* Twice at once. */
	two_steps(&b);
	build_placement_at(&b, build_place_here(&b, 0, 16))->to = 0;
	refuse_plan(&b, EINVAL, V6,
		    "V6 edge: entry 1, tensor 0 'x': its bytes [0, 8) are in another placement, "
		    "too, when the block is entered");
	two_steps(&b);
	*(struct npumem_entry *)build_add(&b.entries, 1) = *build_entry_at(&b, 1);
	build_entry_at(&b, 2)->first = 2;
	build_entry_at(&b, 2)->length = 3;
	build_plan_block_at(&b, 1)->entry_count = 2;
	refuse_plan(&b, EINVAL, V6,
		    "V6 edge: entry 2, tensor 0 'x': its bytes [2, 5) are in another entry, too");
	/* In parts, and in any order, is as good. */
	two_steps(&b);
	*(struct npumem_entry *)build_add(&b.entries, 1) = *build_entry_at(&b, 1);
	build_entry_at(&b, 1)->first = 3;
	build_entry_at(&b, 1)->length = 5;
	build_entry_at(&b, 2)->length = 3;
	build_plan_block_at(&b, 1)->entry_count = 2;
	free_plan(accept_plan(&b));
	build_free(&b);
	/* What is read must be listed. */
	two_steps(&b);
	build_entry_at(&b, 1)->length = 7;
	v = refuse_plan(&b, EINVAL, V3,
			"V3 read: step 1 'copy' reads tile 0 of tensor 0 'x', whose bytes [7, 8) "
			"are not in the entry state of block 1 of the plan (block 1 'tail')");
	assert_int_equal(v.position, 1);
	assert_int_equal(v.step, 1);
	assert_int_equal(v.tile, 0);
	assert_int_equal(v.tensor, 0);
}

/* What is there when an inference begins: inputs, apart from each other. */
TEST(beginning)
{
	struct npumem_verdict v;
	struct build b;

	two_steps(&b);
	build_tensor_at(&b, 0)->kind = NPUMEM_TENSOR_INTERMEDIATE;
	v = refuse_plan(&b, EINVAL, V6,
			"V6 edge: entry 0 of block 0 of the plan (block 0 'head'), tensor 0 'x': "
			"byte 0 is not there when an inference begins");
	assert_int_equal(v.tensor, 0);
	/* Half of it is an input by another name. */
	two_steps(&b);
	build_tensor_at(&b, 0)->kind = NPUMEM_TENSOR_INTERMEDIATE;
	build_tensor(&b, NPUMEM_TENSOR_INPUT, 4, "half");
	build_tensor_at(&b, 2)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(&b, 2)->alias_of = 0;
	refuse_plan(&b, EINVAL, V6,
		    "V6 edge: entry 0 of block 0 of the plan (block 0 'head'), tensor 0 'x': "
		    "byte 4 is not there when an inference begins");
	/* Two inputs in one place; in later blocks two names for one value may be. */
	two_steps(&b);
	build_tensor(&b, NPUMEM_TENSOR_INPUT, 8, "z");
	build_placement_at(&b, build_place_region(&b, 2, 0, 0, 4, build_region(0, 8)))->block = 0;
	build_add(&b.entries, 1);
	*build_entry_at(&b, 2) = *build_entry_at(&b, 1);
	*build_entry_at(&b, 1) = *build_entry_at(&b, 0);
	build_entry_at(&b, 1)->tensor = 2;
	build_entry_at(&b, 1)->placement = 3;
	build_plan_block_at(&b, 0)->entry_count = 2;
	build_plan_block_at(&b, 1)->first_entry = 2;
	v = refuse_plan(&b, EINVAL, V6,
			"V6 edge: tensor 2 'z' and tensor 0 'x' are both at bytes [4, 8) of the "
			"arena when block 0 of the plan (block 0 'head') is entered, where an "
			"inference begins");
	assert_int_equal(v.tensor, 2);
	assert_int_equal(v.other_tensor, 0);
	assert_int_equal(v.first, 4);
	assert_int_equal(v.length, 4);
	/* One tensor in less room than it has bytes. */
	two_steps(&b);
	build_placement_at(&b, 1)->region = build_region(0, 4);
	build_placement_at(&b, 1)->region.count[2] = 2;
	build_placement_at(&b, 1)->region.stride[2] = 4;
	build_placement_at(&b, 1)->stride[2] = 4;
	build_placement_at(&b, 1)->ring = 1;
	v = refuse_plan(&b, EINVAL, V6,
			"V6 edge: two parts of tensor 0 'x' are both at bytes [0, 4) of the arena "
			"when block 1 of the plan (block 1 'tail') is entered");
	assert_int_equal(v.first, 0);
	assert_int_equal(v.length, 4);
}

static struct npumem_view *view(struct build *b)
{
	struct npumem_view *view = build_add(&b->views, 1);
	uint32_t *slots = build_add(&b->slots, 2);

	view->tensor = LH;
	view->type = NPUMEM_VIEW_CYCLIC;
	view->repeat = 2;
	view->loop = 1;
	view->first_slot = b->slots.count - 2;
	view->slot_count = 2;
	slots[0] = 2;
	slots[1] = 4;
	return view;
}

#define VIEW(spoil, flaw)                             \
	REFUSE_LOOP(struct npumem_view *i = view(&b); \
		    spoil, EINVAL, NPUMEM_RULE_FORMAT, "format: view 0 of tensor 1 'h': " flaw)

TEST(views)
{
	struct npuv_plan *plan;
	struct build b;

	loop(&b);
	view(&b);
	plan = accept_plan(&b);
	assert_int_equal(npuv_view(plan, 0)->tensor, LH);
	assert_int_equal(npuv_view_slot(plan, 1), 4);
	free_plan(plan);
	/* One more slot for the first iteration. */
	view(&b);
	build_view_at(&b, 1)->type = NPUMEM_VIEW_FIRST_CYCLIC;
	build_view_at(&b, 1)->repeat = 1;
	/* And one in the other. */
	((uint32_t *)b.slots.data)[3] = NPUMEM_VIEW_SLOT_NESTED | 0;
	free_plan(accept_plan(&b));
	build_free(&b);

	REFUSE_LOOP(view(&b)->tensor = 4, EINVAL, NPUMEM_RULE_FORMAT,
		    "format: view 0: tensor 4 is not there");
	VIEW(i->type = 3, "its type is unknown");
	VIEW(i->repeat = 0, "its repeat is zero");
	VIEW(i->loop = 4, "its loop is not an edge of the graph");
	VIEW(i->first_slot = 1, "its slots do not follow those of the view before");
	VIEW(i->slot_count = 3, "its slots are not all there");
	VIEW(i->repeat = 1, "it does not have as many slots as it needs");
	VIEW(i->type = NPUMEM_VIEW_FIRST_CYCLIC, "it does not have as many slots as it needs");
	VIEW((void)i;
	     ((uint32_t *)b.slots.data)[1] = 10, "a placement in one of its slots is not there");
	VIEW((void)i; ((uint32_t *)b.slots.data)[1] = 3,
		      "a placement in one of its slots is of another tensor");
	VIEW((void)i; ((uint32_t *)b.slots.data)[1] = NPUMEM_VIEW_SLOT_NESTED | 1,
		      "a view in one of its slots is not there");
	VIEW(i = view(&b); i->tensor = LX; ((uint32_t *)b.slots.data)[2] = 0;
	     ((uint32_t *)b.slots.data)[3] = 0;
	     ((uint32_t *)b.slots.data)[0] = NPUMEM_VIEW_SLOT_NESTED | 1,
	     "a view in one of its slots is of another tensor");
	VIEW((void)i; ((uint32_t *)b.slots.data)[1] = NPUMEM_VIEW_SLOT_NESTED | 0,
		      "it is in itself, or in one that is");
	VIEW(i->repeat = 2; view(&b); ((uint32_t *)b.slots.data)[0] = NPUMEM_VIEW_SLOT_NESTED | 1;
	     ((uint32_t *)b.slots.data)[2] = NPUMEM_VIEW_SLOT_NESTED | 0,
	     "it is in itself, or in one that is");
	REFUSE_LOOP(view(&b); build_add(&b.slots, 1), EINVAL, NPUMEM_RULE_FORMAT,
			      "format: view slot 2 belongs to no view");
}
