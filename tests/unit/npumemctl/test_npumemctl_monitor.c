/* SPDX-License-Identifier: MIT */
/* What npumemctl monitor prints of an event, whatever a client calls itself and its tensors. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "live/event_text.h"
#include "unit.h"

static char *printed(const struct live_event *event, const char *process, bool json)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	if (json)
		assert_int_equal(event_print_json(out, event, process, 3661.25), 0);
	else
		event_print(out, event, process, 3661.25);
	assert_int_equal(fclose(out), 0);
	return text;
}

static struct live_event refused_job(void)
{
	return (struct live_event){
		.is_fault = true,
		.device = 3,
		.pid = 100,
		.run = 7,
		.verdict = { .rule = NPUMEM_RULE_ENFORCE_READ,
			     .position = 5,
			     .step = 2,
			     .tile = NPUMEM_NONE,
			     .tensor = 4,
			     .other_step = NPUMEM_NONE,
			     .other_tile = NPUMEM_NONE,
			     .other_tensor = NPUMEM_NONE,
			     .first = 64,
			     .length = 32 },
		.message = "step 2 'mix', tensor 4 'b'",
	};
}

TEST(job)
{
	struct live_event event = refused_job();
	AUTO_TEXT char *text = printed(&event, "client", false);
	AUTO_TEXT char *json = printed(&event, "client", true);

	assert_string_equal(text, "01:01:01 device 3, run 7, pid 100 (client): job refused: "
				  "read of a tile that is not live: step 2 'mix', tensor 4 'b', "
				  "position 5, bytes [64, 96) of the arena\n");
	assert_string_equal(json, "{\"time\":3661.25,\"event\":\"job\",\"device\":3,\"pid\":100,"
				  "\"command\":\"client\",\"rule\":\"read of a tile that is not "
				  "live\",\"message\":\"step 2 'mix', tensor 4 'b'\",\"run\":7,"
				  "\"position\":5,\"step\":2,\"tensor\":4,\"first\":64,"
				  "\"length\":32}\n");
}

TEST(plan)
{
	struct live_event event = refused_job();
	AUTO_TEXT char *text = NULL;

	event.is_fault = false;
	event.verdict.rule = NPUMEM_RULE_V4_WRITE;
	strcpy(event.message, "V4 write: step 0 writes tensor 1");
	text = printed(&event, "", false);
	assert_string_equal(text, "01:01:01 device 3, pid 100 (): plan refused: V4 write: step 0 "
				  "writes tensor 1\n");
}

/*
 * Names that are no text, or end within a character, as the driver cuts long ones: a line stays
 * a line that does a terminal no harm, and JSON stays JSON.
 */
struct name {
	const char *bytes;
	const char *safe;
};

static void hostile(void **state)
{
	const struct name *name = *state;
	struct live_event event = refused_job();
	AUTO_TEXT char *text = NULL;
	AUTO_TEXT char *json = NULL;
	json_t *object;

	snprintf(event.message, sizeof(event.message), "%s", name->bytes);
	text = printed(&event, name->bytes, false);
	json = printed(&event, name->bytes, true);
	assert_non_null(strstr(text, name->safe));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_null(strchr(text, '\033'));
	object = json_loads(json, 0, NULL);
	assert_non_null(object);
	assert_string_equal(json_string_value(json_object_get(object, "message")), name->safe);
	assert_string_equal(json_string_value(json_object_get(object, "command")), name->safe);
	json_decref(object);
}

TEST_CASE(escape, hostile, NULL, NULL, struct name, "a\033[2J\nb", "a\\x1b[2J\\x0ab")
TEST_CASE(no_text, hostile, NULL, NULL, struct name, "a\xff\xc3(", "a\\xff\\xc3(")
TEST_CASE(cut, hostile, NULL, NULL, struct name, "na\xc3", "na\\xc3")
TEST_CASE(surrogate, hostile, NULL, NULL, struct name, "\xed\xa0\x80", "\\xed\\xa0\\x80")
TEST_CASE(beyond, hostile, NULL, NULL, struct name, "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80")
TEST_CASE(last_of_all, hostile, NULL, NULL, struct name, "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf")
TEST_CASE(umlaut, hostile, NULL, NULL, struct name, "\xc3\xa4", "\xc3\xa4")
