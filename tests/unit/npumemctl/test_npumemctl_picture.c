// SPDX-License-Identifier: MIT
/* Pictures of plans: which boxes there are, where the peak is, and what is written. */
#include "npuplan_build.h"

#include <errno.h>

#include "picture/picture.h"

/* input -> a -> output, 8 rows of 4 bytes each, element-wise in @bands. */
static struct npuplan_graph *element_wise(const char *name, uint32_t bands)
{
	struct npuplan_graph *graph = npuplan_graph_new(name);
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 8, 2, 2);
	uint32_t a = build_spatial(graph, "a<b&\"c\"", NPUMEM_TENSOR_INTERMEDIATE, 1, 8, 2, 2);
	uint32_t out = build_spatial(graph, "", NPUMEM_TENSOR_OUTPUT, 1, 8, 2, 2);
	struct npuplan_error error;

	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "relu", a, NPUMEM_NONE, NPUMEM_NONE, out);
	assert_int_equal(npuplan_graph_tile_bands(graph, bands, false, &error), 0);
	return graph;
}

static struct npuplan_plan *plan_of(const struct npuplan_graph *graph, const char *planner)
{
	struct npuplan_options options = { .planner = planner };
	struct npuplan_error error = { "" };
	struct npuplan_plan *plan;

	if (npuplan_plan(graph, &options, &plan, &error))
		fail_msg("%s", error.text);
	return plan;
}

/* Not by strstr(): under AddressSanitizer each call goes through all that is left of the text. */
static unsigned int count_of(const char *text, const char *part)
{
	size_t length = strlen(part);
	unsigned int count = 0;

	for (; *text; text++)
		count += *text == *part && !strncmp(text, part, length);
	return count;
}

static void write_page(FILE *out, struct picture *pictures, unsigned int count)
{
	const struct picture_page page = { .pictures = pictures, .count = count };

	picture_write_html(out, &page);
}

static char *written(struct picture *pictures, unsigned int count,
		     void (*write)(FILE *, struct picture *, unsigned int))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	write(out, pictures, count);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Four bands of each: step k of the first operator is position k, of the second 4 + k. */
TEST(boxes)
{
	AUTO_GRAPH struct npuplan_graph *graph = element_wise("rows", 4);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, "taa");
	struct picture picture;

	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	assert_int_equal(plan->info.arena_size, 32);
	assert_int_equal(picture.height, 32);
	assert_int_equal(picture.placement_count, 3);
	assert_int_equal(picture.box_count, 12);
	for (uint32_t t = 0; t < 3; t++) {
		const struct picture_placement *drawn = &picture.placements[t];

		assert_int_equal(drawn->tensor, t);
		assert_int_equal(drawn->box_count, 4);
		for (uint32_t k = 0; k < 4; k++) {
			const struct picture_box *box = &picture.boxes[drawn->first_box + k];

			assert_int_equal(box->first, drawn->hull.first + 8 * k);
			assert_int_equal(box->length, 8);
			/* Stored in the second half of a step, last loaded in the first. */
			assert_int_equal(box->start, t == 0 ? 0 : t == 1 ? 2 * k + 1 : 9 + 2 * k);
			assert_int_equal(box->end, t == 0 ? 2 * k : t == 1 ? 8 + 2 * k : 15);
		}
	}
	assert_int_equal(picture.peak, 0);
	assert_int_equal(picture.peak_bytes, 32);
	/* Each tile takes the bytes of one that has been read. */
	for (uint32_t half = 0; half < 16; half++)
		assert_int_equal(picture.live[half], 32);
	assert_int_equal(picture.placements[0].peak_bytes, 32);
	assert_int_equal(picture.placements[1].peak_bytes, 0);
	assert_int_equal(picture.placements[2].peak_bytes, 0);
	picture_fini(&picture);
}

TEST(whole)
{
	AUTO_GRAPH struct npuplan_graph *graph = element_wise("whole", 1);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, "greedy");
	struct picture picture;

	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	assert_int_equal(picture.box_count, 3);
	/* Not staged: loads last until the stores are done. */
	assert_int_equal(picture.boxes[0].end, 1);
	assert_int_equal(picture.boxes[1].start, 1);
	assert_int_equal(picture.boxes[1].end, 3);
	assert_int_equal(picture.peak_bytes, 64);
	assert_int_equal(picture.live[0], 32);
	assert_int_equal(picture.live[1], 64);
	assert_int_equal(picture.live[2], 32);
	assert_int_equal(picture.live[3], 64);
	picture_fini(&picture);

	/* What does not fit its graph. */
	plan->placements[1].to = 2;
	assert_int_equal(picture_init(&picture, "p", graph, plan), -EINVAL);
	plan->placements[1].to = 1;
	plan->placements[1].tensor = 3;
	assert_int_equal(picture_init(&picture, "p", graph, plan), -EINVAL);
	plan->placements[1].tensor = 1;
	plan->placements[1].region.count[2] = UINT32_MAX;
	assert_int_equal(picture_init(&picture, "p", graph, plan), -EINVAL);
	plan->placements[1].region.count[2] = 1;
	plan->positions[0].index = 2;
	assert_int_equal(picture_init(&picture, "p", graph, plan), -EINVAL);
}

/* Row by row, each read as soon as it is there: two slots, a row apart from each other. */
TEST(ring)
{
	AUTO_GRAPH struct npuplan_graph *graph = element_wise("ring", 8);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, "greedy");
	struct npumem_placement *ring = &plan->placements[1];
	struct picture picture;

	for (uint32_t p = 0; p < 16; p++)
		plan->positions[p].index = p / 2 + p % 2 * 8;
	assert_int_equal(ring->tensor, 1);
	ring->region = (struct npumem_region){ 0, 4, { 1, 1, 8 }, 0, { 0, 0, 4 } };
	ring->stride[2] = 8;
	ring->ring = 2;
	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	assert_int_equal(picture.placements[1].hull.length, 12);
	assert_int_equal(picture.placements[1].box_count, 8);
	for (uint32_t i = 0; i < 8; i++) {
		const struct picture_box *box = &picture.boxes[picture.placements[1].first_box + i];
		/* By slot, then by time. */
		uint32_t slot = i / 4, row = i % 4 * 2 + slot;

		assert_int_equal(box->first, ring->offset + 8 * slot);
		assert_int_equal(box->length, 4);
		assert_int_equal(box->start, 4 * row + 1);
		assert_int_equal(box->end, 4 * row + 2);
	}
	/* Of the input all rows, or those left and one of what they become. */
	assert_int_equal(picture.peak, 0);
	assert_int_equal(picture.peak_bytes, 32);
	picture_fini(&picture);

	/* Every other row: what is between them is no part of the piece. */
	ring->ring = 0;
	ring->region = (struct npumem_region){ 0, 4, { 1, 1, 4 }, 0, { 0, 0, 8 } };
	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	assert_int_equal(picture.placements[1].hull.length, 28);
	assert_int_equal(picture.placements[1].box_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct picture_box *box = &picture.boxes[picture.placements[1].first_box + i];

		assert_int_equal(box->first, ring->offset + 8 * i);
		assert_int_equal(box->length, 4);
		assert_int_equal(box->start, 8 * i + 1);
		assert_int_equal(box->end, 8 * i + 2);
	}
	picture_fini(&picture);
}

TEST(svg)
{
	AUTO_GRAPH struct npuplan_graph *graph = element_wise("two > one", 4);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, "taa");
	struct picture picture;
	AUTO_TEXT char *text = NULL, *again = NULL;

	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	text = written(&picture, 1, picture_write_svg);
	assert_int_equal(strncmp(text, "<svg ", 5), 0);
	assert_int_equal(count_of(text, "class=\"hull\""), 3);
	assert_int_equal(count_of(text, "class=\"tile\""), 12);
	/* In the first half of eight steps, at the bottom: 8 of 32 bytes. */
	assert_non_null(strstr(text,
			       "<rect class=\"tile\" x=\"90.00\" y=\"425.00\" width=\"55.62\" "
			       "height=\"125.00\">"));
	assert_non_null(strstr(text, "two &gt; one, taa"));
	assert_non_null(strstr(text, "<title>a&lt;b&amp;&quot;c&quot;\n"
				     "intermediate, 1 x 8 x 2 x 2, 32 bytes\noffset 0 to 32\n"
				     "from step 0 relu[0/4]\nto step 7 relu[3/4]</title>"));
	assert_non_null(strstr(text, "<title>tensor 2\noutput"));
	assert_non_null(strstr(text, "peak: 32 bytes live at step 0 relu[0/4]"));
	/* Nothing is fetched. */
	assert_int_equal(count_of(text, "http"), 1);
	assert_null(strstr(text, "url("));
	again = written(&picture, 1, picture_write_svg);
	assert_string_equal(text, again);
	picture_fini(&picture);
}

TEST(html)
{
	struct npuplan_graph *graphs[2] = { element_wise("net", 4), element_wise("net", 1) };
	struct npuplan_plan *plans[2];
	struct picture pictures[2];
	char *text;

	for (int i = 0; i < 2; i++) {
		plans[i] = plan_of(graphs[i], i ? "shared-objects" : "taa");
		assert_int_equal(picture_init(&pictures[i], i ? "second" : "first.json", graphs[i],
					      plans[i]),
				 0);
	}
	text = written(pictures, 2, write_page);
	/* One scale of bytes: the second needs 64. */
	assert_int_equal(pictures[0].height, 64);
	assert_int_equal(count_of(text, "class=\"plan\""), 2);
	/* What is zoomed, and axes that stay. */
	assert_int_equal(count_of(text, "<svg class=\"view\""), 2);
	assert_int_equal(count_of(text, "<g class=\"axes\">"), 2);
	assert_int_equal(count_of(text, "class=\"hull\""), 6);
	assert_int_equal(count_of(text, "class=\"tile\""), 15);
	assert_int_equal(count_of(text, "class=\"peak-table\""), 2);
	assert_non_null(strstr(text, "<h2>first.json</h2>"));
	assert_non_null(strstr(text,
			       "<tr><td>32</td><td>in</td></tr>\n"
			       "<tr><td>32</td><td>a&lt;b&amp;&quot;c&quot;</td></tr>\n</tbody>"));
	assert_non_null(strstr(text, "prefers-color-scheme: dark"));
	/* Only names of formats: nothing is fetched. */
	assert_int_equal(count_of(text, "http"),
			 count_of(text, "http://www.w3.org/2000/svg") +
				 count_of(text, "http://www.w3.org/1999/xhtml"));
	assert_null(strstr(text, "src="));
	assert_null(strstr(text, "@import"));
	/* What the script knows: no name ends its string, or the element. Each graph once. */
	assert_non_null(strstr(text, "[\"a\\u003cb\\u0026\\u0022c\\u0022\",\"intermediate\","
				     "\"1 x 8 x 2 x 2\",32,-1,0,0]"));
	assert_non_null(strstr(text, "[\"relu[1/4]\",0,1,[0,1,8,8,1,2,8,8]]"));
	assert_non_null(strstr(text, "[\"relu\",0,0,[0,1,0,32,1,2,0,32]]"));
	assert_non_null(strstr(text,
			       "\"positions\":[0,0,0,0,1,0],\n\"blocks\":[0,2],\n\"edges\":[],\n"
			       "\"inPlace\":[],\n"
			       "\"placements\":[0,0,32,0,0,1,32,32,0,1,2,0,32,1,1],\n"
			       "\"live\":[32,64,32,64]}"));
	assert_int_equal(count_of(text, "\"tensors\":["), 2);
	free(text);
	text = written(pictures, 1, write_page);
	assert_int_equal(count_of(text, "\"tensors\":["), 1);
	free(text);
	text = written((struct picture[]){ pictures[0], pictures[0] }, 2, write_page);
	assert_int_equal(count_of(text, "\"tensors\":["), 1);
	assert_int_equal(count_of(text, ",\"graph\":0,"), 2);
	free(text);
	for (int i = 0; i < 2; i++) {
		picture_fini(&pictures[i]);
		npuplan_plan_free(plans[i]);
		npuplan_graph_free(graphs[i]);
	}
}

/* in -> a -> b, each in the bytes of the one before. */
TEST(in_place)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("in place");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 64);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 64);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_OUTPUT, 64);
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct picture picture;
	uint64_t sum = 0;
	char *text;

	build_step(graph, 0, in, NPUMEM_NONE, a);
	graph->accesses[graph->access_count - 1].inplace = 0;
	build_step(graph, 0, a, NPUMEM_NONE, b);
	graph->accesses[graph->access_count - 1].inplace = 0;
	plan = plan_of(graph, "greedy");
	assert_int_equal(plan->info.arena_size, 64);
	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	assert_int_equal(picture.peak_bytes, 64);
	for (uint32_t i = 0; i < picture.placement_count; i++)
		sum += picture.placements[i].peak_bytes;
	assert_int_equal(sum, 64);
	text = written(&picture, 1, picture_write_svg);
	assert_non_null(strstr(text, "; 64 live at step 0"));
	/* The top of the arena is the bound: one line, that says both. */
	assert_int_equal(count_of(text, "class=\"guide\""), 1);
	assert_non_null(strstr(text, ">top of the arena = lower bound: 64 B<"));
	free(text);
	/* Apart where they are not one. */
	plan->info.arena_size = 96;
	plan->info.lower_bound = 48;
	text = written(&picture, 1, picture_write_svg);
	assert_non_null(strstr(text, ">top of the arena: 96 B<"));
	assert_non_null(strstr(text, ">lower bound: 48 B<"));
	free(text);
	picture_fini(&picture);
}

static void in_place_is(struct picture *picture, const char *list)
{
	AUTO_TEXT char *text = written(picture, 1, write_page);
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "\n\"inPlace\":[%s],\n", list);
	assert_non_null(strstr(text, wanted));
}

/* What a graph permits is not what a plan does: in -> a -> out, 8 rows of 4 bytes in 2 bands. */
TEST(in_place_in_the_plan)
{
	AUTO_GRAPH struct npuplan_graph *graph = element_wise("two", 2);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, "taa");
	struct npumem_placement *in = &plan->placements[0], *a = &plan->placements[1];
	struct npumem_placement *out = &plan->placements[2];
	struct picture picture;

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(plan->placements[i].tensor, i);
	for (uint32_t i = 0; i < graph->access_count; i++)
		if (graph->accesses[i].mode == NPUMEM_ACCESS_WRITE)
			graph->accesses[i].inplace = 0;
	in->from = a->from = out->from = 0;
	in->to = a->to = out->to = 3;
	in->offset = a->offset = out->offset = 0;
	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	in_place_is(&picture, "0,1,1,1,2,1,3,1");
	/* Elsewhere, all or one byte too far. */
	out->offset = 32;
	in_place_is(&picture, "0,1,1,1");
	a->offset = 1;
	in_place_is(&picture, "");
	/* The second band is there at another position only. */
	a->offset = 0;
	a->to = 0;
	in_place_is(&picture, "0,1");
	a->to = 3;
	/* Rows that lie apart, in both or in one of them. */
	in->region = a->region = (struct npumem_region){ 0, 4, { 1, 1, 8 }, 0, { 0, 0, 4 } };
	in->stride[2] = a->stride[2] = 8;
	in_place_is(&picture, "0,1,1,1");
	in->stride[2] = 4;
	in_place_is(&picture, "");
	/* Half a ring: the first band where it is without, the second in the same slots. */
	a->stride[2] = 4;
	a->ring = 4;
	in_place_is(&picture, "0,1");
	in->ring = 4;
	in_place_is(&picture, "0,1,1,1");
	/* Every other row is not all. */
	in->ring = a->ring = 0;
	a->region.count[2] = 4;
	a->region.stride[2] = 8;
	in_place_is(&picture, "");
	picture_fini(&picture);
}

/* What lives together and shares nothing is summed, whatever shares elsewhere. */
TEST(peak_of_all)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("peak");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 48);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 48);
	uint32_t kept = build_tensor(graph, "kept", NPUMEM_TENSOR_INTERMEDIATE, 16);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_OUTPUT, 48);
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct picture picture;

	build_step(graph, 0, in, NPUMEM_NONE, kept);
	build_step(graph, 0, in, NPUMEM_NONE, a);
	graph->accesses[graph->access_count - 1].inplace = 0;
	build_step(graph, 0, a, kept, b);
	graph->accesses[graph->access_count - 1].inplace = 0;
	plan = plan_of(graph, "exact");
	assert_int_equal(plan->info.arena_size, 64);
	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	assert_int_equal(picture.peak_bytes, 64);
	assert_int_equal(picture.peak, 1);
	picture_fini(&picture);
}

/* Names where there is room for them, the pale part explained. */
TEST(names)
{
	AUTO_GRAPH struct npuplan_graph *graph = element_wise("whole", 1);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, "greedy");
	struct picture picture;
	AUTO_TEXT char *text = NULL;

	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	text = written(&picture, 1, picture_write_svg);
	/* The third has none. */
	assert_int_equal(count_of(text, "<text class=\"name\""), 2);
	assert_non_null(strstr(text, ">a&lt;b&amp;&quot;c&quot;</text>"));
	assert_non_null(strstr(text, ">has its place, but nothing in it: written in the second "
				     "half of a step</text>"));
	assert_int_equal(count_of(text, "class=\"key\""), 3);
	picture_fini(&picture);
}

/* 3 x 20000 ranges: two neighbours a box, none lost. */
TEST(many)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("many");
	uint32_t tensors[3], none = NPUMEM_NONE;
	struct npuplan_error error;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct picture picture;
	uint64_t bytes = 0;
	AUTO_TEXT char *text = NULL;

	for (int t = 0; t < 3; t++)
		tensors[t] = build_spatial(graph, "t",
					   t == 0 ? NPUMEM_TENSOR_INPUT :
					   t == 1 ? NPUMEM_TENSOR_INTERMEDIATE :
						    NPUMEM_TENSOR_OUTPUT,
					   1, 20000, 1, 1);
	build_op(graph, "relu", tensors[0], none, none, tensors[1]);
	build_op(graph, "relu", tensors[1], none, none, tensors[2]);
	assert_int_equal(npuplan_graph_tile_bands(graph, 20000, false, &error), 0);
	plan = plan_of(graph, "taa");
	assert_int_equal(picture_init(&picture, "p", graph, plan), 0);
	assert_int_equal(picture.box_total, 60000);
	assert_int_equal(picture.box_count, 30000);
	for (uint32_t b = 0; b < picture.box_count; b++)
		bytes += picture.boxes[b].length;
	assert_int_equal(bytes, 60000);
	assert_int_equal(picture.peak_bytes, 20000);
	text = written(&picture, 1, write_page);
	/* Ticks are few, and no stroke hides what it is around; only the tensors are large. */
	assert_true(count_of(text, "<text class=\"x\"") <= 15);
	assert_true(count_of(text, "<text class=\"x\"") >= 5);
	assert_non_null(strstr(text, ">5000</text>"));
	assert_int_equal(count_of(text, "class=\"tile\""), 0);
	assert_int_equal(count_of(text, "class=\"tile thin\""), 30000);
	assert_int_equal(count_of(text, "class=\"hull\""), 3);
	assert_non_null(strstr(text, "60000 ranges of bytes with one live range, neighbours joined "
				     "to 30000 boxes"));
	picture_fini(&picture);
}
