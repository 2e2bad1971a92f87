// SPDX-License-Identifier: MIT
/* Records of a graph, and what its steps may do to bytes. */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT NPUMEM_RULE_FORMAT
#define TENSOR(spoil, flaw)                                            \
	REFUSE_GRAPH(struct npumem_tensor *t = build_tensor_at(&b, A); \
		     spoil, EINVAL, FORMAT, "format: tensor 1 'a': " flaw)
#define TILE(spoil, flaw)                                           \
	REFUSE_GRAPH(struct npumem_tile *t = build_tile_at(&b, A);  \
		     struct npumem_region *r = &t->region; (void)r; \
		     spoil, EINVAL, FORMAT,                         \
		     "format: tile 1 of tensor 1 'a': " flaw " (used by step 0 'copy')")
#define ACCESS(spoil, flaw)                                            \
	REFUSE_GRAPH(struct npumem_access *a = build_access_at(&b, 3); \
		     spoil, EINVAL, FORMAT, "format: access 1 of step 1 'mix': " flaw)
#define STEP(spoil, flaw)                                            \
	REFUSE_GRAPH(struct npumem_step *s = build_step_at(&b, MIX); \
		     spoil, EINVAL, FORMAT, "format: step 1: " flaw)

static struct npuv_graph *accept(struct build *b, struct build_blob *blob)
{
	struct npuv_graph *graph = NULL;
	struct npumem_verdict verdict;

	*blob = build_graph(b);
	assert_int_equal(npuv_graph_create(blob->data, blob->size, &npuv_default_limits, NULL,
					   &verdict, &graph),
			 0);
	build_free(b);
	return graph;
}

static uint64_t features_of(struct build *b)
{
	struct build_blob blob;
	struct npuv_graph *graph = accept(b, &blob);
	uint64_t features = graph->features;

	npuv_graph_destroy(graph);
	free(blob.data);
	return features;
}

TEST(chain)
{
	struct build b;

	chain(&b);
	assert_int_equal(features_of(&b), 0);
}

/* What a verdict speaks of has names; what the graph lacks is left out, and what is too long. */
TEST(verdict_text)
{
	struct build b;
	struct build_blob blob;
	struct npuv_graph *graph;
	struct npumem_verdict v;
	char text[100], shorter[16];

	chain(&b);
	graph = accept(&b, &blob);
	npuv_verdict_clear(&v);
	npuv_verdict_text(graph, &v, text, sizeof(text));
	assert_string_equal(text, "");
	v.step = MIX;
	v.tensor = Y;
	v.other_step = COPY;
	v.other_tensor = A;
	npuv_verdict_text(graph, &v, text, sizeof(text));
	assert_string_equal(text, "step 1 'mix', tensor 2 'y'; step 0 'copy', tensor 1 'a'");
	npuv_verdict_text(graph, &v, shorter, sizeof(shorter));
	assert_string_equal(shorter, "step 1 'mix', t");
	v.step = 2;
	v.tensor = NPUMEM_NONE;
	v.other_step = NPUMEM_NONE;
	npuv_verdict_text(graph, &v, text, sizeof(text));
	assert_string_equal(text, "tensor 1 'a'");
	npuv_graph_destroy(graph);
	free(blob.data);
}

TEST(tensors)
{
	struct build b;

	TENSOR(t->size = 0, "its size is zero");
	TENSOR(t->align = 0, "its align is not a power of two up to 65536");
	TENSOR(t->align = 3, "its align is not a power of two up to 65536");
	TENSOR(t->align = 1u << 17, "its align is not a power of two up to 65536");
	TENSOR(t->kind = 5, "its kind is unknown");
	TENSOR(t->flags = 16, "it has unknown flags");
	TENSOR(t->pad = 1, "its pad is not zero");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_EXTERNAL | NPUMEM_TENSOR_FLAG_FIXED,
	       "EXTERNAL excludes FIXED and ALIAS");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_EXTERNAL | NPUMEM_TENSOR_FLAG_ALIAS;
	       t->alias_of = X, "EXTERNAL excludes FIXED and ALIAS");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_FIXED | NPUMEM_TENSOR_FLAG_ALIAS;
	       t->alias_of = X, "ALIAS excludes FIXED");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_HOST, "HOST is for inputs and parameters");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_FIXED; t->align = 4;
	       t->fixed_offset = 2, "its fixed_offset is not a multiple of its align");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_FIXED;
	       t->fixed_offset = ~0ull, "its fixed_offset is too large");
	TENSOR(t->fixed_offset = 8, "fixed_offset without FIXED");
	TENSOR(t->alias_of = X, "alias_of or alias_offset without ALIAS");
	TENSOR(t->alias_offset = 1, "alias_of or alias_offset without ALIAS");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_ALIAS; t->alias_of = 3, "alias_of is not a tensor");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_ALIAS; t->alias_of = A, "alias_of is an alias itself");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_ALIAS; t->alias_of = Y;
	       build_tensor_at(&b, Y)->flags = NPUMEM_TENSOR_FLAG_ALIAS,
	       "alias_of is an alias itself");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_ALIAS; t->alias_of = X;
	       t->alias_offset = 1, "it ends beyond the tensor that it is an alias of");
	TENSOR(t->flags = NPUMEM_TENSOR_FLAG_ALIAS; t->alias_of = X;
	       t->alias_offset = ~0ull, "it ends beyond the tensor that it is an alias of");
	REFUSE_GRAPH(build_tensor_at(&b, A)->name = b.strings.count, EINVAL, FORMAT,
		     "format: tensor 1: its name lies outside section strings");
}

TEST(tensor_verdict)
{
	struct npumem_verdict v;
	struct build b;

	chain(&b);
	build_tensor_at(&b, A)->size = 0;
	v = refuse_graph(&b, EINVAL, FORMAT, "format: tensor 1 'a': its size is zero");
	assert_int_equal(v.tensor, A);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.first, 32 + 6 * 32 + 48);
	assert_int_equal(v.length, 48);
}

TEST(tiles)
{
	struct build b;

	REFUSE_GRAPH(build_tile_at(&b, A)->tensor = 3, EINVAL, FORMAT,
		     "format: tile 1: tensor 3 is not there");
	TILE(t->flags = 1, "it has unknown flags");
	TILE(r->length = 0, "its length is zero");
	TILE(r->pad = 1, "its pad is not zero");
	TILE(r->count[1] = 0, "a count is zero");
	TILE(r->stride[2] = 8, "a stride is not zero where the count is 1");
	TILE(r->length = 9, "it ends beyond the tensor");
	TILE(r->offset = 1, "it ends beyond the tensor");
	TILE(r->offset = ~0ull, "it ends beyond the tensor");
	TILE(*r = build_strided(0, 2, 3, 1), "a stride is too small, repetitions overlap");
	TILE(*r = build_strided(0, 2, 3, 4), "it ends beyond the tensor");
	TILE(*r = build_strided(0, 2, 0xffffffff, 1ull << 60), "it ends beyond the tensor");
	TILE(*r = build_strided(0, 1, 2, ~0ull), "it ends beyond the tensor");
	/* Two rows of two chunks: the second row may begin only after the first. */
	TILE(*r = build_strided(0, 1, 2, 3); r->count[1] = 2;
	     r->stride[1] = 3, "a stride is too small, repetitions overlap");
}

TEST(tile_verdict)
{
	struct npumem_verdict v;
	struct build b;

	chain(&b);
	build_tile_at(&b, Y)->region.offset = 1;
	v = refuse_graph(
		&b, EINVAL, FORMAT,
		"format: tile 2 of tensor 2 'y': it ends beyond the tensor (used by step 1 "
		"'mix')");
	assert_int_equal(v.tensor, Y);
	assert_int_equal(v.tile, Y);
	assert_int_equal(v.step, MIX);
	/* One that nobody uses; and steps whose accesses are not there. */
	chain(&b);
	build_tile(&b, Y, build_region(4, 5));
	v = refuse_graph(&b, EINVAL, FORMAT,
			 "format: tile 3 of tensor 2 'y': it ends beyond the tensor");
	assert_int_equal(v.step, NPUMEM_NONE);
	REFUSE_GRAPH(build_tile_at(&b, Y)->region.offset = 1;
		     build_step_at(&b, MIX)->first_access = 0xffffffff, EINVAL, FORMAT,
		     "format: tile 2 of tensor 2 'y': it ends beyond the tensor");
}

TEST(accesses)
{
	struct build b;

	ACCESS(a->tile = 3, "its tile is not there");
	ACCESS(a->mode = 0, "its mode is unknown");
	ACCESS(a->mode = 4, "its mode is unknown");
	ACCESS(a->flags = 1, "it has unknown flags");
	ACCESS(a->inplace = 2, "inplace is not an access of its step");
	ACCESS(a->inplace = 1, "inplace is not a read");
	ACCESS(a->inplace = 0;
	       build_access_at(&b, 2)->mode = NPUMEM_ACCESS_UPDATE, "inplace is not a read");
	ACCESS(a->inplace = 0;
	       build_tile_at(&b, A)->region.length = 4, "inplace has another number of bytes");
	REFUSE_GRAPH(build_access_at(&b, 2)->inplace = 0, EINVAL, FORMAT,
		     "format: access 0 of step 1 'mix': inplace is for writes");
}

TEST(steps)
{
	struct build b;

	STEP(s->first_access = 1, "its accesses do not follow those of the step before");
	STEP(s->access_count = 0, "it has no access");
	STEP(s->access_count = 3, "its accesses are not all there");
	STEP(s->access_count = 0xffffffff, "its accesses are not all there");
	STEP(s->flags = 2, "it has unknown flags");
	STEP(s->name = 1000, "its name lies outside section strings");
}

TEST(leftovers)
{
	struct build b;

	REFUSE_GRAPH(build_step_at(&b, MIX)->access_count = 1, EINVAL, FORMAT,
		     "format: access 3 belongs to no step");
	REFUSE_GRAPH(build_block_at(&b, 0)->step_count = 1, EINVAL, FORMAT,
		     "format: step 1 belongs to no block");
	REFUSE_GRAPH(build_add(&b.carries, 1), EINVAL, FORMAT,
		     "format: carry 0 belongs to no edge");
}

TEST(blocks)
{
	struct build b;

	REFUSE_GRAPH(build_block_at(&b, 0)->first_step = 1, EINVAL, FORMAT,
		     "format: block 0: its steps do not follow those of the block before");
	REFUSE_GRAPH(build_block_at(&b, 0)->step_count = 3, EINVAL, FORMAT,
		     "format: block 0: its steps are not all there");
	REFUSE_GRAPH(build_block_at(&b, 0)->flags = 1, EINVAL, FORMAT,
		     "format: block 0: it has unknown flags");
	REFUSE_GRAPH(build_block_at(&b, 0)->name = 99, EINVAL, FORMAT,
		     "format: block 0: its name lies outside section strings");
}

/* An edge from block 0 to the exit that carries x to a. */
static struct npumem_edge *edge(struct build *b)
{
	struct npumem_edge *e = build_add(&b->edges, 1);
	struct npumem_carry *c = build_add(&b->carries, 1);

	e->to = NPUMEM_NONE;
	e->carry_count = 1;
	c->from = X;
	c->to = A;
	return e;
}

TEST(edges)
{
	struct build b;

	REFUSE_GRAPH(edge(&b)->from = 1, EINVAL, FORMAT, "format: edge 0: from is not a block");
	REFUSE_GRAPH(edge(&b)->to = 1, EINVAL, FORMAT, "format: edge 0: to is not a block");
	REFUSE_GRAPH(edge(&b)->first_carry = 1, EINVAL, FORMAT,
		     "format: edge 0: its carries do not follow those of the edge before");
	REFUSE_GRAPH(edge(&b)->carry_count = 2, EINVAL, FORMAT,
		     "format: edge 0: its carries are not all there");
	REFUSE_GRAPH(edge(&b)->flags = 1, EINVAL, FORMAT,
		     "format: edge 0: it has unknown flags or its pad is not zero");
	REFUSE_GRAPH(edge(&b)->pad = 1, EINVAL, FORMAT,
		     "format: edge 0: it has unknown flags or its pad is not zero");
	REFUSE_GRAPH(edge(&b); build_carry_at(&b, 0)->to = 3, EINVAL, FORMAT,
			       "format: carry 0: its tensors are not there");
	REFUSE_GRAPH(edge(&b); build_carry_at(&b, 0)->from = 3, EINVAL, FORMAT,
			       "format: carry 0: its tensors are not there");
	REFUSE_GRAPH(edge(&b); build_carry_at(&b, 0)->to =
				       build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 9, NULL),
			       EINVAL, FORMAT,
			       "format: carry 0, from tensor 0 'x' to tensor 3: its tensors differ "
			       "in size");
}

TEST(features)
{
	struct build b;

	chain(&b);
	edge(&b);
	assert_int_equal(features_of(&b), NPUMEM_FEATURE_BLOCKS);
	chain(&b);
	build_block_at(&b, 0)->step_count = 1;
	build_add(&b.blocks, 1);
	*build_block_at(&b, 1) = (struct npumem_block){ 1, 1, 0, NPUMEM_NONE };
	build_edge(&b, 0, 1);
	build_edge(&b, 1, NPUMEM_NONE);
	assert_int_equal(features_of(&b), NPUMEM_FEATURE_BLOCKS);
	chain(&b);
	build_tensor_at(&b, X)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(&b, X)->alias_of = build_tensor(&b, NPUMEM_TENSOR_INPUT, 8, NULL);
	assert_int_equal(features_of(&b), NPUMEM_FEATURE_ALIAS);
	chain(&b);
	build_tensor_at(&b, A)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	assert_int_equal(features_of(&b), NPUMEM_FEATURE_EXTERNAL);
	chain(&b);
	build_tensor_at(&b, X)->flags = NPUMEM_TENSOR_FLAG_HOST;
	assert_int_equal(features_of(&b), NPUMEM_FEATURE_SPILL);
	chain(&b);
	build_access_at(&b, 3)->inplace = 0;
	assert_int_equal(features_of(&b), NPUMEM_FEATURE_INPLACE);
}

TEST(reads_and_writes)
{
	struct npumem_verdict v;
	struct build b;

	chain(&b);
	build_access_at(&b, 0)->tile = Y;
	v = refuse_graph(&b, EINVAL, NPUMEM_RULE_V3_READ,
			 "V3 read: step 0 'copy' reads tile 2 of tensor 2 'y', whose bytes [0, 8) "
			 "no earlier step writes");
	assert_int_equal(v.step, COPY);
	assert_int_equal(v.tile, Y);
	assert_int_equal(v.tensor, Y);
	/* Half of a is never written. */
	REFUSE_GRAPH(build_access_at(&b, 1)->tile = build_tile(&b, A, build_region(0, 4)), EINVAL,
		     NPUMEM_RULE_V3_READ,
		     "V3 read: step 1 'mix' reads tile 1 of tensor 1 'a', whose bytes [4, 8) no "
		     "earlier step writes");
	/* A step does not see what it writes itself. */
	REFUSE_GRAPH(build_access_at(&b, 0)->tile = A, EINVAL, NPUMEM_RULE_V3_READ,
		     "V3 read: step 0 'copy' reads tile 1 of tensor 1 'a', whose bytes [0, 8) no "
		     "earlier step writes");
	REFUSE_GRAPH(build_access_at(&b, 3)->mode = NPUMEM_ACCESS_UPDATE, EINVAL,
		     NPUMEM_RULE_V3_READ,
		     "V3 read: step 1 'mix' reads tile 2 of tensor 2 'y', whose bytes [0, 8) no "
		     "earlier step writes");
	REFUSE_GRAPH(build_access_at(&b, 1)->tile = X, EINVAL, NPUMEM_RULE_V4_WRITE,
		     "V4 write: step 0 'copy' writes tile 0 of tensor 0 'x', an input");
	REFUSE_GRAPH(build_access_at(&b, 1)->tile = X;
		     build_access_at(&b, 1)->mode = NPUMEM_ACCESS_UPDATE, EINVAL,
		     NPUMEM_RULE_V4_WRITE,
		     "V4 write: step 0 'copy' writes tile 0 of tensor 0 'x', an input");
	REFUSE_GRAPH(build_tensor_at(&b, A)->kind = NPUMEM_TENSOR_PARAMETER, EINVAL,
		     NPUMEM_RULE_V4_WRITE,
		     "V4 write: step 0 'copy' writes tile 1 of tensor 1 'a', a parameter");
	REFUSE_GRAPH(build_access_at(&b, 3)->tile = build_tile(&b, Y, build_region(2, 6)), EINVAL,
		     NPUMEM_RULE_V7_EXIT,
		     "V7 exit: bytes [0, 2) of output tensor 2 'y' are never written");
}

TEST(double_writes)
{
	struct npumem_verdict v;
	struct build b;

	chain(&b);
	build_access(&b, build_tile(&b, A, build_region(6, 2)), NPUMEM_ACCESS_WRITE);
	v = refuse_graph(&b, EINVAL, NPUMEM_RULE_V4_WRITE,
			 "V4 write: step 1 'mix' writes tile 3 of tensor 1 'a', whose bytes [6, 8) "
			 "step 0 'copy' writes too");
	assert_int_equal(v.step, MIX);
	assert_int_equal(v.tile, 3);
	assert_int_equal(v.tensor, A);
	assert_int_equal(v.other_step, COPY);
	assert_int_equal(v.other_tile, A);
	assert_int_equal(v.other_tensor, A);
	/* Twice in one step, even by updates. */
	REFUSE_GRAPH(build_access(&b, A, NPUMEM_ACCESS_UPDATE);
		     build_access(&b, A, NPUMEM_ACCESS_UPDATE), EINVAL, NPUMEM_RULE_V4_WRITE,
		     "V4 write: step 1 'mix' writes tile 1 of tensor 1 'a', whose bytes [0, 8) "
		     "step 1 'mix' writes too");
	/* A state may be written once, its value at entry aside. */
	REFUSE_GRAPH(build_tensor_at(&b, A)->kind = NPUMEM_TENSOR_STATE;
		     build_access(&b, A, NPUMEM_ACCESS_WRITE), EINVAL, NPUMEM_RULE_V4_WRITE,
		     "V4 write: step 1 'mix' writes tile 1 of tensor 1 'a', whose bytes [0, 8) "
		     "step 0 'copy' writes too");
}

/* Names are any bytes: the log stays one line of text. */
TEST(odd_names)
{
	struct build b;

	REFUSE_GRAPH(memcpy((char *)b.strings.data + build_tensor_at(&b, A)->name, "\n", 1);
		     build_tensor_at(&b, A)->size = 0, EINVAL, FORMAT,
		     "format: tensor 1 '?': its size is zero");
	REFUSE_GRAPH(build_tensor_at(&b, A)->size = 0;
		     build_tensor_at(&b, A)->name = b.strings.count;
		     strcpy(build_add(&b.strings, 100), "a name of seventy bytes, which is more "
							"than a line of the log can bear......"),
		     EINVAL, FORMAT,
		     "format: tensor 1 'a name of seventy bytes, which is more than a line o': "
		     "its size is zero");
}
