// SPDX-License-Identifier: MIT
/* Plan JSON: the text by the byte, round trips, and every refusal. */
#include "npuplan_build.h"
#include "text.h"

#include <errno.h>

#include "plan_json/plan_json.h"

/* conv 3x3 of 4 rows x 2 columns x 1 channel, then relu; ids 100.. and 1000.. */
#define ASSERT_CONTAINS(text, part)                                   \
	do {                                                          \
		if (!strstr(text, part))                              \
			fail_msg("no \"%s\" in\n%s", (part), (text)); \
	} while (0)

static struct npuplan_graph *model(uint32_t bands)
{
	struct npuplan_graph *graph = npuplan_graph_new("model");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 4, 2, 1);
	uint32_t mid = build_spatial(graph, "mid", NPUMEM_TENSOR_INTERMEDIATE, 1, 4, 2, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 4, 2, 1);

	build_window(build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, mid), 3, 1, 1, 1);
	build_op(graph, "relu", mid, NPUMEM_NONE, NPUMEM_NONE, out);
	assert_int_equal(npuplan_graph_tile_bands(graph, bands, false, NULL), 0);
	return graph;
}

/* Not inline: gcc 12 for arm64 then takes the text for the variable. */
__attribute__((noinline)) static char *json_of(const struct npuplan_graph *graph,
					       const struct npuplan_plan *plan)
{
	struct npuplan_error error;
	char *text = NULL;
	int err = npuplan_plan_to_json(graph, plan, &text, &error);

	if (err)
		fail_msg("writing failed: %s", error.text);
	return text;
}

static const char whole_text[] =
	"{\n"
	"\"graph\": \"model\",\n"
	"\"digest\": \"sha256:8fb3f61e86a7c150ae3db7e191cfc7a6bb07249f63fea5559013b12cc0f74aaa\",\n"
	"\"planner\": \"auto\",\n"
	"\"status\": \"optimal\",\n"
	"\"arena\": 16,\n"
	"\"alignment\": 1,\n"
	"\"lower_bound\": 16,\n"
	"\"traffic\": {\"spill\":0,\"fill\":0,\"compulsory\":0,\"lower_bound\":0},\n"
	"\"work\": 5,\n"
	"\"tiling\": {\"bands\":1,\"parameters\":false},\n"
	"\"schedule\": [\n"
	"{\"op\":1000},\n"
	"{\"op\":1001}\n"
	"],\n"
	"\"placements\": [\n"
	"{\"tensor\":100,\"offset\":0,\"from\":0,\"to\":0},\n"
	"{\"tensor\":101,\"offset\":8,\"from\":0,\"to\":1},\n"
	"{\"tensor\":102,\"offset\":0,\"from\":1,\"to\":1}\n"
	"],\n"
	"\"external\": []\n"
	"}\n";

TEST(text)
{
	AUTO_GRAPH struct npuplan_graph *graph = model(1);
	AUTO_PLAN struct npuplan_plan *plan = build_plan_of(graph, NULL);
	AUTO_TEXT char *text = json_of(graph, plan);

	assert_string_equal(text, whole_text);
}

/* Band 0 of two reads rows 0..2, band 1 rows 1..3. */
TEST(bands_text)
{
	AUTO_GRAPH struct npuplan_graph *graph = model(2);
	AUTO_PLAN struct npuplan_plan *plan = build_plan_of(graph, NULL);
	AUTO_TEXT char *text = json_of(graph, plan);

	assert_non_null(strstr(text, "\"tiling\": {\"bands\":2,\"parameters\":false}"));
	assert_non_null(strstr(
		text,
		"{\"op\":1000,\"tile\":0,\"reads\":[{\"tensor\":100,\"rows\":[0,3]}],\"writes\":[{\"tensor\":101,\"rows\":[0,2]}]},\n"
		"{\"op\":1000,\"tile\":1,\"reads\":[{\"tensor\":100,\"rows\":[1,3]}],\"writes\":[{\"tensor\":101,\"rows\":[2,2]}]},\n"));
}

/* Write a plan as JSON, read that, and check that both plans are the same bytes as blobs. */
static void round_trip(const struct npuplan_graph *graph, struct npuplan_plan *plan)
{
	AUTO_TEXT char *text = json_of(graph, plan), *again = NULL;
	struct npuplan_plan *read = NULL;
	struct npuplan_error error;
	void *blobs[2];
	size_t sizes[2];
	int err;

	err = npuplan_plan_from_json(graph, text, strlen(text), &read, &error);
	if (err)
		fail_msg("reading failed: %s\n%s", error.text, text);
	again = json_of(graph, read);
	assert_string_equal(again, text);
	assert_int_equal(npuplan_plan_write(plan, &blobs[0], &sizes[0], NULL), 0);
	assert_int_equal(npuplan_plan_write(read, &blobs[1], &sizes[1], NULL), 0);
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(blobs[0], blobs[1], sizes[0]);
	free(blobs[0]);
	free(blobs[1]);
	npuplan_plan_free(read);
}

TEST(round_trip)
{
	for (uint32_t bands = 1; bands < 5; bands++) {
		AUTO_GRAPH struct npuplan_graph *graph = model(bands);
		AUTO_PLAN struct npuplan_plan *plan = build_plan_of(graph, NULL);

		round_trip(graph, plan);
	}
}

/* In a graph without operators, steps are told apart by their numbers. */
TEST(round_trip_of_blob_graph)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	AUTO_PLAN struct npuplan_plan *plan = build_plan_of(graph, NULL);
	char *text = json_of(graph, plan);

	assert_non_null(strstr(text, "{\"step\":2}"));
	assert_null(strstr(text, "tiling"));
	free(text);
	round_trip(graph, plan);
}

/* Pieces, rings and transfers: the format has them before any planner does. */
TEST(round_trip_of_pieces)
{
	AUTO_GRAPH struct npuplan_graph *graph = model(1);
	AUTO_PLAN struct npuplan_plan *plan = build_plan_of(graph, NULL);
	struct npumem_placement *p = plan->placements;
	struct npumem_position *positions = calloc(NPUMEM_POSITION_STORE + 1, sizeof(*positions));
	char *text;

	/* Rows 1 and 2: 4 bytes from byte 2. */
	p[0].region.offset = 2;
	p[0].region.length = 4;
	/* A ring of two rows, 3 apart. */
	p[1].region.length = 2;
	p[1].region.count[2] = 4;
	p[1].region.stride[2] = 2;
	p[1].stride[2] = 3;
	p[1].ring = 2;
	/* Three bytes, no rows at all. */
	p[2].region.offset = 1;
	p[2].region.length = 3;
	memcpy(positions, plan->positions, sizeof(*positions));
	for (uint32_t kind = 1; kind <= NPUMEM_POSITION_STORE; kind++)
		positions[kind] = (struct npumem_position){
			.kind = kind,
			.index = 1,
			.placement = kind == NPUMEM_POSITION_DROP ? NPUMEM_NONE : 1,
			.first = 2,
			.length = 4,
			.host_offset = 64,
		};
	free(plan->positions);
	plan->positions = positions;
	plan->position_count = NPUMEM_POSITION_STORE + 1;
	plan->blocks[0].position_count = plan->position_count;
	plan->info.host_size = 68;
	plan->info.spill_bytes = 4;
	text = json_of(graph, plan);
	assert_non_null(strstr(text, "\"rows\":[1,2]"));
	assert_non_null(strstr(text, "\"rows\":[0,4],\"row_stride\":3,\"ring\":2"));
	assert_non_null(strstr(text, "\"region\":{\"offset\":1,\"length\":3,"));
	assert_non_null(strstr(
		text,
		"{\"spill\":101,\"placement\":1,\"first\":2,\"length\":4,\"host_offset\":64}"));
	assert_non_null(strstr(text, "{\"store\":101,\"placement\":1,"));
	free(text);
	round_trip(graph, plan);
}

/* {"spill": TENSOR} alone moves all of it, from where it is, to a place of its own. */
TEST(transfer_defaults)
{
	static const char text[] =
		"{\"graph\":\"model\",\"arena\":16,"
		"\"schedule\":[{\"op\":1000},{\"spill\":101},{\"fill\":101},{\"store\":102},{\"op\":1001},"
		"{\"drop\":101,\"first\":2}],"
		"\"placements\":[{\"tensor\":101,\"offset\":8,\"from\":0,\"to\":1},"
		"{\"tensor\":101,\"offset\":0,\"from\":2,\"to\":4},"
		"{\"tensor\":102,\"offset\":8,\"from\":3,\"to\":4}]}";
	AUTO_GRAPH struct npuplan_graph *graph = model(1);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	assert_int_equal(npuplan_plan_from_json(graph, text, sizeof(text) - 1, &plan, NULL), 0);
	assert_int_equal(plan->positions[1].kind, NPUMEM_POSITION_SPILL);
	assert_int_equal(plan->positions[1].placement, 0);
	assert_int_equal(plan->positions[1].length, 8);
	assert_int_equal(plan->positions[2].placement, 1);
	assert_int_equal(plan->positions[2].host_offset, 0);
	assert_int_equal(plan->positions[3].kind, NPUMEM_POSITION_STORE);
	assert_int_equal(plan->positions[3].host_offset, 64);
	assert_int_equal(plan->positions[5].kind, NPUMEM_POSITION_DROP);
	assert_int_equal(plan->positions[5].placement, NPUMEM_NONE);
	assert_int_equal(plan->positions[5].first, 2);
	assert_int_equal(plan->positions[5].length, 6);
	assert_int_equal(plan->positions[5].host_offset, 0);
	assert_int_equal(plan->info.host_size, 72);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_UNKNOWN);
	assert_int_equal(plan->info.alignment, 1);
}

/* The text with one part replaced is refused, and the error names the field. */
static void refused(uint32_t bands, const char *from, const char *to, int want, const char *why)
{
	AUTO_GRAPH struct npuplan_graph *graph = model(bands);
	struct npuplan_plan *plan = build_plan_of(graph, NULL), *read = NULL;
	struct npuplan_error error = { "" };
	AUTO_TEXT char *text = json_of(graph, plan), *changed = text_edit(text, from, to);

	assert_non_null(changed);
	assert_int_equal(npuplan_plan_from_json(graph, changed, strlen(changed), &read, &error),
			 want);
	assert_null(read);
	ASSERT_TEXT(error, why);
	npuplan_plan_free(plan);
}

TEST(refused_fields)
{
	refused(1, "{\n", "", -EBADMSG, "not JSON: line 1");
	refused(1, "\"graph\"", "\"graf\"", -EINVAL, "graf: unknown field");
	refused(1, "\"work\"", "\"arena\"", -EBADMSG, "not JSON");
	refused(1, "\"graph\": \"model\",", "", -EINVAL, "graph: missing");
	refused(1, "\"model\"", "7", -EINVAL, "graph: must be a string");
	refused(1, "\"digest\": \"sha256:", "\"digest\": \"md5:", -EINVAL,
		"digest: must be \"sha256:\" and 64 small hexadecimal digits");
	refused(1, "\"digest\": \"", "\"digest\": 7, \"x\": \"", -EINVAL, "x: unknown field");
	refused(1, "\"auto\"", "\"a-name-of-more-than-thirty-one-bytes\"", -EINVAL,
		"planner: must be a string of at most 31 bytes");
	refused(1, "\"optimal\"", "\"best\"", -EINVAL,
		"status: must be unknown, feasible, optimal or infeasible");
	refused(1, "\"optimal\"", "1", -EINVAL,
		"status: must be unknown, feasible, optimal or infeasible");
	refused(1, "\"arena\": 16,", "", -EINVAL, "arena: missing");
	refused(1, "\"arena\": 16", "\"arena\": -1", -EINVAL,
		"arena: must be an integer from 0 to ");
	refused(1, "\"arena\": 16", "\"arena\": 1.5", -EINVAL, "arena: must be an integer");
	refused(1, "\"alignment\": 1", "\"alignment\": 3", -EINVAL,
		"alignment: 3 is not a power of two");
	refused(1, "\"alignment\": 1", "\"alignment\": 0", -EINVAL, "alignment: 0 is not");
	refused(1, "\"alignment\": 1", "\"alignment\": 131072", -EINVAL,
		"alignment: must be an integer from 0 to 65536");
	refused(1, "\"lower_bound\": 16", "\"lower_bound\": \"16\"", -EINVAL, "lower_bound:");
	refused(1, "\"work\": 5", "\"work\": null", -EINVAL, "work: must be an integer");
	refused(1, "\"spill\":0", "\"spil\":0", -EINVAL, "traffic.spil: unknown field");
	refused(1, "\"fill\":0", "\"fill\":-5", -EINVAL,
		"traffic.fill: must be an integer from 0 to 9223372036854775807");
	refused(1, "\"external\": []", "\"external\": 1", -EINVAL, "external: must be a list");
	refused(1, "\"external\": []", "\"external\": [100]", -EINVAL,
		"external: graph model has 0 external tensors");
	refused(1, "\"external\": []", "\"views\": [1]", -EINVAL, "views[0]: must be an object");
	refused(1, "\"external\": []", "\"blocks\": [1]", -EINVAL, "blocks[0]: must be an object");
	refused(1, "\"external\": []", "\"blocks\": {}", -EINVAL, "blocks: must be a list");
	refused(1, "\"external\": []", "\"seconds\": -1", -EINVAL, "seconds: must be a number");
	refused(1, "\"external\": []", "\"host\": \"x\"", -EINVAL, "host: must be an integer");
}

/* The digest decides, the name is for people; without a digest the name has to do. */
TEST(digest)
{
	AUTO_GRAPH struct npuplan_graph *graph = model(1), *other = model(1);
	struct npuplan_plan *plan = build_plan_of(graph, NULL), *read = NULL;
	uint8_t digest[NPUPLAN_DIGEST_SIZE], again[NPUPLAN_DIGEST_SIZE];
	struct npuplan_error error = { "" };
	char *text = json_of(graph, plan), *old, *line;

	npuplan_graph_digest(graph, digest);
	free(other->name);
	other->name = strdup("other");
	free(other->tensors[0].name);
	other->tensors[0].name = strdup("renamed");
	npuplan_graph_digest(other, again);
	assert_memory_equal(digest, again, sizeof(digest));
	assert_int_equal(npuplan_plan_from_json(other, text, strlen(text), &read, &error), 0);
	assert_false(read->unbound);
	npuplan_plan_free(read);
	/* Fixed and external are what the command line says. */
	other->tensors[0].flags |= NPUMEM_TENSOR_FLAG_FIXED;
	other->tensors[0].fixed_offset = 64;
	npuplan_graph_digest(other, again);
	assert_memory_equal(digest, again, sizeof(digest));
	other->tensors[0].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	npuplan_graph_digest(other, again);
	assert_memory_equal(digest, again, sizeof(digest));
	other->tensors[0].flags = 0;
	/* One byte more, and it is another graph. */
	other->tensors[0].size++;
	npuplan_graph_digest(other, again);
	assert_memory_not_equal(digest, again, sizeof(digest));
	read = NULL;
	assert_int_equal(npuplan_plan_from_json(other, text, strlen(text), &read, &error), -EINVAL);
	assert_null(read);
	ASSERT_TEXT(error, "digest: the plan is for model, sha256:");
	ASSERT_TEXT(error, ", the graph at hand is other, sha256:");
	other->tensors[0].size--;

	line = strstr(text, "\"digest\"");
	assert_true(asprintf(&old, "%.*s%s", (int)(line - text), text, strchr(line, '\n') + 1) > 0);
	assert_int_equal(npuplan_plan_from_json(graph, old, strlen(old), &read, &error), 0);
	assert_true(read->unbound);
	npuplan_plan_free(read);
	read = NULL;
	assert_int_equal(npuplan_plan_from_json(other, old, strlen(old), &read, &error), -EINVAL);
	assert_null(read);
	ASSERT_TEXT(error, "graph: the plan is for model, the graph is other, and the plan has no "
			   "digest that says more than names");
	free(old);
	free(text);
	npuplan_plan_free(plan);
}

TEST(refused_tiling)
{
	refused(2, "{\"bands\":2", "{\"bands\":3", -EINVAL,
		"tiling: the plan is for 3 bands without parameters, the graph has 2 without");
	refused(2, "\"parameters\":false", "\"parameters\":true", -EINVAL,
		"tiling: the plan is for 2 bands with parameters");
	refused(2, "\"parameters\":false", "\"parameters\":0", -EINVAL,
		"tiling.parameters: must be true or false");
	refused(2, ",\"parameters\":false", "", -EINVAL, "tiling.parameters: missing");
	refused(2, "\"bands\":2,", "", -EINVAL, "tiling.bands: missing");
	refused(2, "{\"bands\":2,\"parameters\":false}", "7", -EINVAL, "tiling: must be an object");
}

TEST(refused_schedule)
{
	refused(1, "\"schedule\": [\n{\"op\":1000},\n{\"op\":1001}\n]", "\"schedule\": 1", -EINVAL,
		"schedule: must be a list");
	refused(1, "{\"op\":1001}", "7", -EINVAL, "schedule[1]: must be an object");
	refused(1, "{\"op\":1001}", "{}", -EINVAL, "schedule[1].step: missing");
	refused(1, "{\"op\":1001}", "{\"op\":\"relu\"}", -EINVAL,
		"schedule[1].op: must be an integer");
	refused(1, "{\"op\":1001}", "{\"op\":7}", -EINVAL,
		"schedule[1].op: graph model has no tile 0 of an operator with id 7");
	refused(1, "{\"op\":1001}", "{\"op\":1001,\"tile\":1}", -EINVAL,
		"schedule[1].op: graph model has no tile 1");
	refused(1, "{\"op\":1001}", "{\"op\":1001,\"tile\":-1}", -EINVAL, "schedule[1].tile:");
	refused(1, "{\"op\":1001}", "{\"op\":1001,\"row\":1}", -EINVAL,
		"schedule[1].row: unknown field");
	refused(1, "{\"op\":1001}", "{\"step\":2}", -EINVAL,
		"schedule[1].step: graph model has 2 steps");
	refused(1, "{\"op\":1001}", "{\"step\":1,\"tile\":1}", -EINVAL,
		"schedule[1].tile: unknown field");
	refused(2, "[{\"tensor\":100,\"rows\":[1,3]}]", "[{\"tensor\":100,\"rows\":[2,2]}]",
		-EINVAL, "schedule[1].reads: not what the graph's step accesses");
	refused(2, "[{\"tensor\":101,\"rows\":[2,2]}]", "[]", -EINVAL, "schedule[1].writes: not");
}

TEST(refused_transfers)
{
	const char *op = "{\"op\":1001}";

	refused(1, op, "{\"load\":7}", -EINVAL,
		"schedule[1].load: graph model has no tensor with id 7");
	refused(1, op, "{\"load\":\"in\"}", -EINVAL, "schedule[1].load: must be an integer");
	refused(1, op, "{\"spill\":101,\"size\":4}", -EINVAL, "schedule[1].size: unknown field");
	refused(1, op, "{\"spill\":101,\"placement\":3}", -EINVAL,
		"schedule[1].placement: must be an integer from -1 to 2");
	refused(1, op, "{\"fill\":100}", -EINVAL,
		"schedule[1].placement: missing, and none of the tensor holds at position 1");
	refused(1, op, "{\"drop\":101,\"first\":-1}", -EINVAL, "schedule[1].first:");
	refused(1, op, "{\"drop\":101,\"length\":\"\"}", -EINVAL, "schedule[1].length:");
	refused(1, op, "{\"drop\":101,\"host_offset\":[]}", -EINVAL, "schedule[1].host_offset:");
	refused(1, op, "{\"drop\":101,\"host_offset\":9223372036854775807}", -EINVAL,
		"schedule[1].host_offset: beyond 2^63 bytes");
	refused(1, "{\"op\":1001}\n],", "{\"spill\":101,\"host_offset\":64}\n],\"host\":71,",
		-EINVAL, "host: transfers need 72 bytes");
}

TEST(refused_placements)
{
	const char *first = "\"tensor\":101,\"offset\":8,\"from\":0,\"to\":1";

	refused(1, "\"placements\": [", "\"placements\": 5, \"views\": [", -EINVAL,
		"placements: must be a list");
	refused(1, "{\"tensor\":100,\"offset\":0,\"from\":0,\"to\":0}", "[]", -EINVAL,
		"placements[0]: must be an object");
	refused(1, first, "\"offset\":8,\"from\":0,\"to\":1", -EINVAL,
		"placements[1].tensor: missing");
	refused(1, first, "\"tensor\":9,\"offset\":8,\"from\":0,\"to\":1", -EINVAL,
		"placements[1].tensor: graph model has no tensor with id 9");
	refused(1, first, "\"tensor\":101,\"from\":0,\"to\":1", -EINVAL,
		"placements[1].offset: missing");
	refused(1, first, "\"tensor\":101,\"offset\":8,\"to\":1", -EINVAL,
		"placements[1].from: missing");
	refused(1, first, "\"tensor\":101,\"offset\":8,\"from\":0", -EINVAL,
		"placements[1].to: missing");
	refused(1, first, "\"tensor\":101,\"offset\":8,\"from\":0,\"to\":2", -EINVAL,
		"placements[1].to: must be an integer from 0 to 1");
	refused(1, first, "\"tensor\":101,\"offset\":8,\"from\":1,\"to\":0", -EINVAL,
		"placements[1].from: 1 is after to, 0");
	refused(1, first, "\"tensor\":101,\"offset\":8,\"from\":0,\"to\":1,\"size\":8", -EINVAL,
		"placements[1].size: unknown field");
}

TEST(refused_pieces)
{
	const char *first = "\"from\":0,\"to\":1";

	refused(1, first, "\"from\":0,\"to\":1,\"rows\":[0]", -EINVAL,
		"placements[1].rows: must have 2 entries, not");
	refused(1, first, "\"from\":0,\"to\":1,\"rows\":[3,2]", -EINVAL,
		"placements[1].rows: not in the tensor");
	refused(1, first, "\"from\":0,\"to\":1,\"channels\":[0,2]", -EINVAL,
		"placements[1].rows: not in the tensor");
	refused(1, first, "\"from\":0,\"to\":1,\"rows\":[0,2],\"row_stride\":1", -EINVAL,
		"row_stride is less than a row");
	refused(1, first, "\"from\":0,\"to\":1,\"ring\":-2", -EINVAL, "placements[1].ring:");
	refused(1, first, "\"from\":0,\"to\":1,\"stride\":[0,0,0]", -EINVAL,
		"placements[1].stride: without a region");
	refused(1, first, "\"from\":0,\"to\":1,\"region\":{}", -EINVAL, "placements[1].stride:");
	refused(1, first, "\"from\":0,\"to\":1,\"stride\":[0,0,0],\"region\":{\"offset\":0}",
		-EINVAL, "placements[1].region.length: missing");
	refused(1, first,
		"\"from\":0,\"to\":1,\"stride\":[0,0,0],\"region\":{\"offset\":0,\"length\":1,\"count\":[1,1],\"stride\":[0,0,0]}",
		-EINVAL, "placements[1].region.count: must have 3 entries, not");
	refused(1, first,
		"\"from\":0,\"to\":1,\"rows\":[0,1],\"stride\":[0,0,0],\"region\":{\"offset\":0,\"length\":1,\"count\":[1,1,1],\"stride\":[0,0,0]}",
		-EINVAL, "placements[1].region: and rows or channels exclude each other");
}

TEST(tiling)
{
	struct npuplan_graph *graph = model(1);
	struct npuplan_tiling tiling;
	struct npuplan_error error;

	assert_int_equal(
		npuplan_json_tiling(graph, whole_text, sizeof(whole_text) - 1, &tiling, &error), 0);
	assert_int_equal(tiling.bands, 1);
	assert_false(tiling.with_parameters);
	assert_int_equal(npuplan_json_tiling(graph, "{}", 2, &tiling, &error), 0);
	assert_int_equal(tiling.bands, 0);
	assert_int_equal(npuplan_json_tiling(graph, "[]", 2, &tiling, &error), -EINVAL);
	ASSERT_TEXT(error, "must be an object");
	assert_int_equal(npuplan_json_tiling(graph, "{", 1, &tiling, &error), -EBADMSG);
	ASSERT_TEXT(error, "not JSON");
	assert_int_equal(npuplan_json_tiling(graph, "{\"tiling\":{}}", 13, &tiling, &error),
			 -EINVAL);
	npuplan_graph_free(graph);
	ASSERT_TEXT(error, "tiling.bands: missing");
}

/* in (8 rows x 2 places x 8 channels) -> relu -> out, tiled as asked for, planned. */
static struct npuplan_graph *tiled_as(const struct npuplan_tiling *tiling,
				      struct npuplan_plan **plan)
{
	struct npuplan_graph *graph = npuplan_graph_new("tiles");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 8, 2, 8);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 8, 2, 8);
	struct npuplan_error error = { "" };

	graph->source_layout = NPUPLAN_NHWC;
	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, out);
	if (tiling && npuplan_graph_tile(graph, tiling, &error))
		fail_msg("%s", error.text);
	if (plan)
		*plan = build_plan_of(graph, NULL);
	return graph;
}

/* Written, read by a graph that is tiled as the text says, and written again. */
TEST(tilings_round_trip)
{
	static struct npuplan_tile_choice told = { 0, 3, 4, NPUPLAN_CHANNELS_OUTER, 0 };
	static struct npuplan_tile_choice columns = { .rows = 3, .columns = 2 };
	static struct npuplan_patches patches = { .rows = 3, .columns = 1 };
	static const struct {
		struct npuplan_tiling tiling;
		const char *text;
	} cases[] = {
		{ { .patches = &patches, .patch_count = 1, .rows = 2 },
		  "\"tiling\": {\"rows\":2,\"parameters\":false,\"patches\":[{\"first\":1000,"
		  "\"last\":1000,\"rows\":3,\"columns\":1}]},\n" },
		{ { .rows = 3 }, "\"tiling\": {\"rows\":3,\"parameters\":false},\n" },
		{ { .bands = 3, .layout = NPUPLAN_NCHW },
		  "\"tiling\": {\"bands\":3,\"layout\":\"nchw\",\"parameters\":false},\n" },
		{ { .ops = &told, .op_count = 1, .with_parameters = true },
		  "\"tiling\": {\"bands\":1,\"parameters\":true,\"ops\":[\n"
		  "{\"op\":1000,\"rows\":3,\"channels\":4,\"outer\":\"channels\"}\n]},\n" },
		{ { .ops = &columns, .op_count = 1 },
		  "\"tiling\": {\"bands\":1,\"parameters\":false,\"ops\":[\n"
		  "{\"op\":1000,\"rows\":3,\"columns\":2}\n]},\n" },
		{ { .onchip = 64, .double_buffer = true, .layout = NPUPLAN_NCHW },
		  "\"tiling\": {\"onchip\":64,\"layout\":\"nchw\",\"double_buffer\":true,"
		  "\"parameters\":false,\"ops\":[\n{\"op\":1000,\"channels\":1}\n]},\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct npuplan_plan *plan, *read = NULL;
		AUTO_GRAPH struct npuplan_graph *graph = tiled_as(&cases[i].tiling, &plan),
						*again = NULL;
		struct npuplan_tiling tiling;
		struct npuplan_error error = { "" };
		AUTO_TEXT char *text = NULL, *second = NULL;

		assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), 0);
		ASSERT_CONTAINS(text, cases[i].text);
		again = tiled_as(NULL, NULL);
		assert_int_equal(npuplan_json_tiling(again, text, strlen(text), &tiling, &error),
				 0);
		if (npuplan_graph_tile(again, &tiling, &error) ||
		    npuplan_plan_from_json(again, text, strlen(text), &read, &error))
			fail_msg("case %zu: %s", i, error.text);
		assert_int_equal(npuplan_plan_to_json(again, read, &second, &error), 0);
		assert_string_equal(text, second);
		npuplan_tiling_fini(&tiling);
		npuplan_plan_free(plan);
		npuplan_plan_free(read);
	}
}

/* 1x1 convolution of 8 x 2 places, 8 channels to 8, tiled as asked for. */
static struct npuplan_graph *summed_as(const struct npuplan_tiling *tiling)
{
	struct npuplan_graph *graph = npuplan_graph_new("sums");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 8, 2, 8);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 8, 2, 8);
	struct npuplan_error error = { "" };

	build_window(build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, out), 1, 1, 1, 0);
	graph->ops[0].attrs.groups = 1;
	if (tiling && npuplan_graph_tile(graph, tiling, &error))
		fail_msg("%s", error.text);
	return graph;
}

/* Depths that are told, and that are chosen; and the same steps come out of what is read. */
TEST(partial_sums_round_trip)
{
	static struct npuplan_tile_choice told = { .rows = 3, .depth = 5 };
	static const struct {
		struct npuplan_tiling tiling;
		const char *text;
	} cases[] = {
		{ { .ops = &told, .op_count = 1 },
		  "\"tiling\": {\"bands\":1,\"parameters\":false,\"ops\":[\n"
		  "{\"op\":1000,\"rows\":3,\"depth\":5}\n]},\n" },
		{ { .onchip = 8, .partial_sums = true },
		  "\"tiling\": {\"onchip\":8,\"partial_sums\":true,\"parameters\":false,\"ops\":[\n"
		  "{\"op\":1000,\"rows\":1,\"channels\":1,\"columns\":1,\"depth\":2}\n]},\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = summed_as(&cases[i].tiling), *again = NULL;
		AUTO_PLAN struct npuplan_plan *plan = build_plan_of(graph, NULL), *read = NULL;
		AUTO_TEXT char *text = NULL, *second = NULL;
		struct npuplan_error error = { "" };
		struct npuplan_tiling tiling;

		assert_true(graph->added_count > 0);
		assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), 0);
		ASSERT_CONTAINS(text, cases[i].text);
		again = summed_as(NULL);
		assert_int_equal(npuplan_json_tiling(again, text, strlen(text), &tiling, &error),
				 0);
		if (npuplan_graph_tile(again, &tiling, &error) ||
		    npuplan_plan_from_json(again, text, strlen(text), &read, &error))
			fail_msg("case %zu: %s", i, error.text);
		assert_int_equal(npuplan_plan_to_json(again, read, &second, &error), 0);
		assert_string_equal(text, second);
		npuplan_tiling_fini(&tiling);
	}
}

/* Steps of channel tiles say rows and channels. */
TEST(channels_of_steps)
{
	struct npuplan_tile_choice told = { 0, 3, 4, NPUPLAN_ROWS_OUTER };
	struct npuplan_tiling tiling = { .ops = &told, .op_count = 1 };
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	AUTO_GRAPH struct npuplan_graph *graph = tiled_as(&tiling, &plan);
	AUTO_TEXT char *text = NULL;

	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, NULL), 0);
	ASSERT_CONTAINS(text, "{\"op\":1000,\"tile\":3,"
			      "\"reads\":[{\"tensor\":100,\"rows\":[3,3],\"channels\":[4,4]}],"
			      "\"writes\":[{\"tensor\":101,\"rows\":[3,3],\"channels\":[4,4]}]}");
}

static void tiling_refused(const char *tiling, int want, const char *why)
{
	AUTO_GRAPH struct npuplan_graph *graph = tiled_as(NULL, NULL);
	struct npuplan_error error = { "" };
	struct npuplan_tiling out;
	char text[256];

	snprintf(text, sizeof(text), "{\"tiling\":%s}", tiling);
	assert_int_equal(npuplan_json_tiling(graph, text, strlen(text), &out, &error), want);
	assert_string_equal(error.text, why);
	assert_null(out.ops);
	assert_null(out.patches);
}

TEST(tilings_refused)
{
	struct npuplan_tile_choice told = { 0, 3, 0, 0 };
	struct npuplan_tiling tiling = { .ops = &told, .op_count = 1 };
	struct npuplan_graph *graph;
	struct npuplan_plan *plan, *read;
	struct npuplan_error error = { "" };
	AUTO_TEXT char *text = NULL;

	tiling_refused("{\"parameters\":false}", -EINVAL,
		       "tiling.bands: missing, and neither rows nor onchip");
	tiling_refused("{\"bands\":0,\"parameters\":false}", -EINVAL,
		       "tiling.bands: 0 is not a number of bands");
	tiling_refused("{\"rows\":0,\"parameters\":false}", -EINVAL,
		       "tiling.rows: 0 is not a number of rows");
	tiling_refused("{\"onchip\":0,\"parameters\":false}", -EINVAL,
		       "tiling.onchip: 0 is not a number of bytes");
	tiling_refused("{\"bands\":1}", -EINVAL, "tiling.parameters: missing");
	tiling_refused("{\"bands\":1,\"parameters\":0}", -EINVAL,
		       "tiling.parameters: must be true or false");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"layout\":\"hwcn\"}", -EINVAL,
		       "tiling.layout: must be nhwc, nchw or nc32hw");
	tiling_refused("{\"onchip\":1,\"parameters\":false,\"double_buffer\":1}", -EINVAL,
		       "tiling.double_buffer: must be true or false");
	tiling_refused("{\"onchip\":1,\"parameters\":false,\"partial_sums\":1}", -EINVAL,
		       "tiling.partial_sums: must be true or false");
	tiling_refused("{\"rows\":4294967296,\"parameters\":false}", -EINVAL,
		       "tiling.rows: must be an integer from 0 to 4294967295");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"ops\":{}}", -EINVAL,
		       "tiling.ops: must be a list");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"ops\":[{}]}", -EINVAL,
		       "tiling.ops[0].op: missing");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"ops\":[{\"op\":7}]}", -EINVAL,
		       "tiling.ops[0].op: graph tiles has no operator with id 7");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"ops\":[{\"op\":1000,\"outer\":1}]}",
		       -EINVAL, "tiling.ops[0].outer: must be rows or channels");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"ops\":[{\"op\":1000,\"columns\":-1}]}",
		       -EINVAL, "tiling.ops[0].columns: must be an integer from 0 to 4294967295");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"ops\":[{\"op\":1000,\"depth\":-1}]}",
		       -EINVAL, "tiling.ops[0].depth: must be an integer from 0 to 4294967295");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"ops\":[{\"op\":1000,\"places\":1}]}",
		       -EINVAL, "tiling.ops[0].places: unknown field");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"patches\":{}}", -EINVAL,
		       "tiling.patches: must be a list");
	tiling_refused("{\"bands\":1,\"parameters\":false,\"patches\":[{\"last\":1000}]}", -EINVAL,
		       "tiling.patches[0].first: missing");
	tiling_refused("{\"bands\":1,\"parameters\":false,"
		       "\"patches\":[{\"first\":1000,\"last\":7}]}",
		       -EINVAL, "tiling.patches[0].last: graph tiles has no operator with id 7");
	tiling_refused("{\"bands\":1,\"parameters\":false,"
		       "\"patches\":[{\"first\":1000,\"last\":1000,\"rows\":-1}]}",
		       -EINVAL, "tiling.patches[0].rows: must be an integer from 0 to 4294967295");
	tiling_refused("{\"bands\":1,\"parameters\":false,"
		       "\"patches\":[{\"first\":1000,\"last\":1000,\"places\":1}]}",
		       -EINVAL, "tiling.patches[0].places: unknown field");

	/* A plan of a graph that was tiled otherwise. */
	graph = tiled_as(&tiling, &plan);
	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, NULL), 0);
	npuplan_graph_free(graph);
	npuplan_plan_free(plan);
	told.rows = 4;
	graph = tiled_as(&tiling, NULL);
	assert_int_equal(npuplan_plan_from_json(graph, text, strlen(text), &read, &error), -EINVAL);
	assert_string_equal(error.text, "tiling: the graph was tiled with other ops");
	npuplan_graph_free(graph);
}

TEST(other_patches)
{
	struct npuplan_patches patches = { .rows = 3 };
	struct npuplan_tiling tiling = { .patches = &patches, .patch_count = 1 };
	struct npuplan_plan *plan, *read;
	struct npuplan_error error = { "" };
	AUTO_TEXT char *text = NULL;
	struct npuplan_graph *graph = tiled_as(&tiling, &plan);

	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, NULL), 0);
	npuplan_graph_free(graph);
	npuplan_plan_free(plan);
	patches.rows = 4;
	graph = tiled_as(&tiling, NULL);
	assert_int_equal(npuplan_plan_from_json(graph, text, strlen(text), &read, &error), -EINVAL);
	assert_string_equal(error.text, "tiling: the graph was tiled with other patches");
	npuplan_graph_free(graph);
}

/* The writer refuses what could not be read again. */
TEST(writer_refusals)
{
	AUTO_GRAPH struct npuplan_graph *graph = model(1);
	AUTO_PLAN struct npuplan_plan *plan = build_plan_of(graph, NULL);
	struct npuplan_error error;
	char *text = NULL;

	graph->tensors[1].id = graph->tensors[0].id;
	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), -EINVAL);
	ASSERT_TEXT(error, "two tensors have id 100");
	graph->tensors[1].id = 101;
	graph->ops[1].id = graph->ops[0].id;
	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), -EINVAL);
	ASSERT_TEXT(error, "two operators have id 1000");
	graph->ops[1].id = 1001;
	plan->positions[1].index = 2;
	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), -EINVAL);
	ASSERT_TEXT(error, "schedule[1] does not fit graph model");
	plan->positions[1].index = 1;
	plan->placements[2].tensor = 3;
	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), -EINVAL);
	ASSERT_TEXT(error, "placements[2] does not fit graph model");
	plan->placements[2].tensor = 2;
	plan->info.status = 4;
	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), -EINVAL);
	ASSERT_TEXT(error, "status: 4");
	plan->info.status = 1;
	plan->blocks[0].block = 1;
	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), -EINVAL);
	ASSERT_TEXT(error, "blocks[0] does not fit graph model");
	plan->blocks[0].block = 0;
	graph->name[0] = (char)0xff;
	assert_int_not_equal(npuplan_plan_to_json(graph, plan, &text, &error), 0);
	ASSERT_TEXT(error, "not UTF-8");
	assert_null(text);
}

/* No prefix of the text and no text with a byte changed does harm. */
TEST(mutated)
{
	AUTO_GRAPH struct npuplan_graph *graph = model(2);
	struct npuplan_plan *plan = build_plan_of(graph, NULL), *read;
	struct npuplan_error error;
	AUTO_TEXT char *text = json_of(graph, plan);
	size_t size = strlen(text);

	for (size_t i = 0; i < size; i++) {
		static const char changes[] = "09-\"[{x ";
		char kept = text[i];

		if (!npuplan_plan_from_json(graph, text, i, &read, &error))
			npuplan_plan_free(read);
		for (size_t c = 0; c < sizeof(changes) - 1; c++) {
			text[i] = changes[c];
			if (!npuplan_plan_from_json(graph, text, size, &read, &error))
				npuplan_plan_free(read);
			else
				assert_true(error.text[0]);
		}
		text[i] = kept;
	}
	npuplan_plan_free(plan);
}
