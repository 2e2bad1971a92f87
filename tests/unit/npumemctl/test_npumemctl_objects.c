/* SPDX-License-Identifier: MIT */
/* What npumemctl graph, plan and run list and show, of made-up records of the driver. */
#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "live/objects.h"
#include "unit.h"

static const struct live_client one = { .file.client = 4,
					.pid = 100,
					.uid = 7,
					.command.s = "a\033[2J" };
static const struct live_client other = { .file.client = 12, .pid = 90, .command.s = "b" };
static const struct drm_npumem_plan_record plans[] = {
	{ .handle = 3,
	  .graph = 2,
	  .state = NPUMEM_PLAN_STATE_READY,
	  .created_ns = 5000000000,
	  .arena_size = 1 << 20,
	  .memory_bytes = 4096 },
	{ .handle = 1, .graph = 2, .state = NPUMEM_PLAN_STATE_PENDING },
	{ .handle = 2, .graph = 0, .state = NPUMEM_PLAN_STATE_FAILED, .error = ENOSPC },
};
static const struct drm_npumem_run_record runs[] = {
	{ .handle = 1,
	  .plan = 3,
	  .graph = 2,
	  .bank = 1,
	  .flags = NPUMEM_RUN_BUSY,
	  .created_ns = 5000000000,
	  .arena_size = 1 << 20,
	  .submitted = 12,
	  .load_bytes = 1,
	  .spill_bytes = 2,
	  .store_bytes = 3,
	  .fill_bytes = 4 },
	{ .handle = 2, .graph = 1, .flags = NPUMEM_RUN_SHARED | NPUMEM_RUN_IN_TURN },
	{ .handle = 3, .error = EIO },
};

/* Of two clients, the first of which is found last. */
static struct object_list list_of(enum object_kind kind)
{
	struct object_list list = { .kind = kind, .device = "/dev/dri/renderD128" };

	assert_int_equal(objects_add(&list, &other, plans, 1, runs, 1), 0);
	assert_int_equal(objects_add(&list, &one, plans, 3, runs, 3), 0);
	return list;
}

static char *printed(const struct object_list *list, const struct object *object)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (object)
		object_print(out, object, 8000000000);
	else
		objects_print(out, list);
	assert_int_equal(fclose(out), 0);
	return text;
}

struct expected {
	enum object_kind kind;
	uint32_t hidden;
	const char *text;
};

static void lists(void **state)
{
	const struct expected *expected = *state;
	struct object_list list = list_of(expected->kind);
	AUTO_TEXT char *text = NULL;

	list.hidden = expected->hidden;
	text = printed(&list, NULL);
	assert_string_equal(text, expected->text);
	objects_free(&list);
}

TEST_CASE(graphs, lists, NULL, NULL, struct expected, OBJECT_GRAPH, 0,
	  "        ID DEVICE         PID  PLANS   RUNS COMMAND\n"
	  "       4:1 renderD128     100      0      1 a\\x1b[2J\n"
	  "       4:2 renderD128     100      2      1 a\\x1b[2J\n"
	  "      12:2 renderD128      90      1      1 b\n")
TEST_CASE(plans, lists, NULL, NULL, struct expected, OBJECT_PLAN, 0,
	  "        ID DEVICE         PID      GRAPH STATE         ARENA COMMAND\n"
	  "       4:1 renderD128     100        4:2 pending     0 bytes a\\x1b[2J\n"
	  "       4:2 renderD128     100          - failed      0 bytes a\\x1b[2J\n"
	  "       4:3 renderD128     100        4:2 ready       1.0 MiB a\\x1b[2J\n"
	  "      12:3 renderD128      90       12:2 ready       1.0 MiB b\n")
TEST_CASE(
	runs, lists, NULL, NULL, struct expected, OBJECT_RUN, 3,
	"        ID DEVICE         PID      GRAPH       PLAN STATE         ARENA  SUBMITTED COMMAND\n"
	"       4:1 renderD128     100        4:2        4:3 busy        1.0 MiB         12 a\\x1b[2J\n"
	"       4:2 renderD128     100        4:1          - idle        0 bytes          0 a\\x1b[2J\n"
	"       4:3 renderD128     100          -          - lost        0 bytes          0 a\\x1b[2J\n"
	"      12:1 renderD128      90       12:2       12:3 busy        1.0 MiB         12 b\n"
	"processes that this user may not look into: 3\n")

struct one_expected {
	enum object_kind kind;
	const char *name;
	const char *text;
};

static void shows(void **state)
{
	const struct one_expected *expected = *state;
	struct object_list list = list_of(expected->kind);
	uint32_t count;
	const struct object *object = object_find(&list, expected->name, &count);
	AUTO_TEXT char *text = NULL;

	assert_non_null(object);
	text = printed(NULL, object);
	assert_string_equal(text, expected->text);
	objects_free(&list);
}

TEST_CASE(graph, shows, NULL, NULL, struct one_expected, OBJECT_GRAPH, "4:2",
	  "graph 4:2\n  device     /dev/dri/renderD128\n"
	  "  client     pid 100 (a\\x1b[2J), uid 7\n  plans      2\n  runs       1\n")
TEST_CASE(plan, shows, NULL, NULL, struct one_expected, OBJECT_PLAN, "4:3",
	  "plan 4:3\n  device     /dev/dri/renderD128\n"
	  "  client     pid 100 (a\\x1b[2J), uid 7\n  graph      4:2\n"
	  "  state      ready\n  planner    -\n  arena      1048576 bytes (1.0 MiB)\n"
	  "  bound      -\n  host       0 bytes\n"
	  "  kernel     4096 bytes (4.0 KiB)\n  for        3 s\n")
TEST_CASE(failed_plan, shows, NULL, NULL, struct one_expected, OBJECT_PLAN, "4:2",
	  "plan 4:2\n  device     /dev/dri/renderD128\n"
	  "  client     pid 100 (a\\x1b[2J), uid 7\n  graph      -\n"
	  "  state      failed: No space left on device\n  planner    -\n  arena      0 bytes\n"
	  "  bound      -\n  host       0 bytes\n  kernel     0 bytes\n  for        8 s\n")
TEST_CASE(run, shows, NULL, NULL, struct one_expected, OBJECT_RUN, "12:1",
	  "run 12:1\n  device     /dev/dri/renderD128\n"
	  "  client     pid 90 (b), uid 0\n  graph      12:2\n  plan       12:3\n"
	  "  state      busy\n  bank       1\n  arena      1048576 bytes (1.0 MiB)\n"
	  "  submitted  12 positions\n  moved      load 1, spill 2, store 3, fill 4 bytes\n"
	  "  for        3 s\n")
TEST_CASE(shared_run, shows, NULL, NULL, struct one_expected, OBJECT_RUN, "4:2",
	  "run 4:2\n  device     /dev/dri/renderD128\n"
	  "  client     pid 100 (a\\x1b[2J), uid 7\n  graph      4:1\n  plan       -\n"
	  "  state      idle\n  bank       0\n  arena      shared, and it has the turn\n"
	  "  submitted  0 positions\n  moved      load 0, spill 0, store 0, fill 0 bytes\n"
	  "  for        8 s\n")

TEST(no_such_name)
{
	static const char *const names[] = { "4:9", "4", "4:", ":1", "04:1", "4:1 ", "-", "" };
	struct object_list list = list_of(OBJECT_RUN);
	uint32_t count;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(object_find(&list, names[i], &count));
	objects_free(&list);
}

/* Clients are numbered on each device anew. */
TEST(two_devices)
{
	struct object_list list = list_of(OBJECT_GRAPH);
	const struct object *object;
	AUTO_TEXT char *text = NULL;
	uint32_t count;
	json_t *json;

	list.device = "/dev/accel/accel0\n";
	list.number++;
	assert_int_equal(objects_add(&list, &other, plans, 1, runs, 0), 0);
	text = printed(&list, NULL);
	assert_string_equal(text, "        ID DEVICE         PID  PLANS   RUNS COMMAND\n"
				  "       4:1 renderD128     100      0      1 a\\x1b[2J\n"
				  "       4:2 renderD128     100      2      1 a\\x1b[2J\n"
				  "      12:2 renderD128      90      1      1 b\n"
				  "      12:2 accel0\\x0a      90      1      0 b\n");
	object = object_find(&list, "12:2", &count);
	assert_int_equal(count, 2);
	json = object_json(object + 1);
	assert_string_equal(json_string_value(json_object_get(json, "device")),
			    "/dev/accel/accel0\\x0a");
	json_decref(json);
	assert_non_null(object_find(&list, "4:2", &count));
	assert_int_equal(count, 1);
	objects_free(&list);
}

TEST(json)
{
	struct object_list list = list_of(OBJECT_RUN);
	json_t *all = objects_json(&list);
	const json_t *run = json_array_get(json_object_get(all, "runs"), 0);

	assert_int_equal(json_array_size(json_object_get(all, "runs")), 4);
	assert_string_equal(json_string_value(json_object_get(run, "id")), "4:1");
	assert_string_equal(json_string_value(json_object_get(run, "command")), "a\\x1b[2J");
	assert_string_equal(json_string_value(json_object_get(run, "plan")), "4:3");
	assert_true(json_is_false(json_object_get(run, "shared")));
	assert_int_equal(json_integer_value(json_object_get(json_object_get(run, "moved"), "fill")),
			 4);
	run = json_array_get(json_object_get(all, "runs"), 2);
	assert_true(json_is_null(json_object_get(run, "plan")));
	assert_int_equal(json_integer_value(json_object_get(run, "error")), EIO);
	json_decref(all);
	objects_free(&list);
}

/* struct head - the beginning of a plan's blob */
struct head {
	struct npumem_blob_header header;
	struct npumem_blob_section sections[2];
	struct npumem_plan_info info;
};

static struct head head_of_plan(void)
{
	return (struct head){
		.header = { .magic = htole32(NPUMEM_PLAN_MAGIC),
			    .section_count = htole32(2),
			    .section_stride = htole32(sizeof(struct npumem_blob_section)) },
		.sections = { { .kind = htole32(NPUMEM_PLAN_SECTION_PLACEMENTS) },
			      { .kind = htole32(NPUMEM_PLAN_SECTION_INFO),
				.offset = htole64(offsetof(struct head, info)),
				.count = htole64(1) } },
		.info = { .lower_bound = htole64(4096), .planner = "c\033osma" },
	};
}

/* Who made a plan, and what he has proved, are in the plan. */
TEST(plan_that_was_read)
{
	struct object_list list = list_of(OBJECT_PLAN);
	uint32_t count;
	struct object plan = *object_find(&list, "4:3", &count);
	struct head head = head_of_plan();
	AUTO_TEXT char *text = NULL;
	json_t *all;

	assert_int_equal(object_take(&plan, &head, sizeof(head)), 0);
	text = printed(NULL, &plan);
	assert_non_null(strstr(text,
			       "\n  planner    c\\x1bosma\n  arena      1048576 bytes (1.0 MiB)\n"
			       "  bound      4096 bytes (4.0 KiB)\n"));
	all = object_json_all(&plan);
	assert_string_equal(json_string_value(json_object_get(all, "planner")), "c\\x1bosma");
	assert_int_equal(json_integer_value(json_object_get(all, "lower_bound")), 4096);
	json_decref(all);
	plan = *object_find(&list, "4:1", &count);
	all = object_json_all(&plan);
	assert_true(json_is_null(json_object_get(all, "planner")));
	assert_true(json_is_null(json_object_get(all, "lower_bound")));
	json_decref(all);
	objects_free(&list);
}

/* What is no plan, or not in what was read, is not taken for one. */
TEST(no_plan)
{
	struct object plan = { .kind = OBJECT_PLAN };
	struct head head = head_of_plan();

	for (size_t size = 0; size < sizeof(head); size++)
		assert_int_equal(object_take(&plan, &head, size), -EPROTO);
	assert_int_equal(object_take(&plan, &head, sizeof(head)), 0);
	head.header.magic = htole32(NPUMEM_GRAPH_MAGIC);
	assert_int_equal(object_take(&plan, &head, sizeof(head)), -EPROTO);
	head = head_of_plan();
	head.header.section_count = htole32(1);
	assert_int_equal(object_take(&plan, &head, sizeof(head)), -EPROTO);
	head.header.section_count = htole32(NPUMEM_BLOB_MAX_SECTIONS + 1);
	assert_int_equal(object_take(&plan, &head, sizeof(head)), -EPROTO);
	head = head_of_plan();
	head.header.section_stride = htole32(UINT32_MAX);
	assert_int_equal(object_take(&plan, &head, sizeof(head)), -EPROTO);
	head = head_of_plan();
	head.sections[1].offset = htole64(UINT64_MAX);
	assert_int_equal(object_take(&plan, &head, sizeof(head)), -EPROTO);
	head = head_of_plan();
	head.sections[1].count = 0;
	assert_int_equal(object_take(&plan, &head, sizeof(head)), -EPROTO);
}

/* A descriptor that is none, and one that is another's: neither is taken for the client's file. */
TEST(borrow)
{
	struct live_client client = { .file.client = 4, .pid = getpid(), .fd = 1000 };
	struct npumem_device *device = NULL;
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(object_borrow(&client, &device), -ESRCH);
	assert_null(device);
	assert_int_equal(pipe(ends), 0);
	client.fd = ends[0];
	assert_int_equal(object_borrow(&client, &device), -ESRCH);
	assert_null(device);
	/* What it borrowed it has given back. */
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(write(ends[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	close(ends[1]);
}
