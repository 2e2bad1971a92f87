/* SPDX-License-Identifier: MIT */
/* npumemctl graph, plan list, run show and so on: what is alive in the driver, noun and verb. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npumem.h"
#include "commands.h"
#include "cli/cli.h"
#include "live/objects.h"

#define LIST "list"
#define SHOW "show"

struct arguments {
	const char *device;
	const char *verb;
	const char *name;
	bool json;
};

static const struct command_option options[] = {
	{ "device", 'd', VALUE_TEXT, "PATH", "Only this device node",
	  offsetof(struct arguments, device), .files = DEVICE_NODES },
	{ "json", 'j', VALUE_FLAG, NULL, "Print all as one JSON object",
	  offsetof(struct arguments, json) },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;
	bool shows = args->verb && !strcmp(args->verb, SHOW);

	switch (key) {
	case ARGP_KEY_ARG:
		if (!args->verb && strcmp(arg, LIST) != 0 && strcmp(arg, SHOW) != 0)
			usage_error(state, "'%s' is neither list nor show", arg);
		if (!args->verb)
			args->verb = arg;
		else if (shows && !args->name)
			args->name = arg;
		else
			usage_error(state, "one word too many: %s", arg);
		return 0;
	case ARGP_KEY_END:
		if (!args->verb)
			usage_error(state, "list or show?");
		if (shows && !args->name)
			usage_error(state, "show which ID?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command command = {
	.options = options,
	.parse = parse,
	.args_doc = LIST "\n" SHOW " ID",
	.doc = "List what is alive in the driver, or show one of it. The driver tells of it who has "
	       "the open file, so what other processes have is seen by those who may look into "
	       "them: root, as a rule. An ID is the number of a client and a handle: \"4:1\".",
};

static int find_on(const char *path, struct object_list *list)
{
	struct npumem_error error = { 0 };
	struct npumem_device *device;
	int err;

	/* Any other node has clients, too, that have nothing of the driver. */
	if (npumem_device_open(path, &device, &error))
		return failure(path, "%s", error.text);
	npumem_device_close(device);
	err = objects_find(path, list);
	return err ? failure(path, "%s", strerror(-err)) : EXIT_OK;
}

/* All devices, or the one that was asked for. */
static int find(const struct arguments *args, struct object_list *list)
{
	struct npumem_error error = { 0 };
	char **paths = NULL;
	uint32_t count = 0;
	int status = EXIT_OK;

	if (args->device)
		return find_on(args->device, list);
	if (npumem_device_list(&paths, &count, &error) || !count)
		status = no_device(&error);
	/* One that fails does not hide the others. */
	for (uint32_t i = 0; i < count; i++)
		if (find_on(paths[i], list) != EXIT_OK)
			status = EXIT_FAILED;
	free(paths);
	return status;
}

/* @status: of finding: what was found is printed in any case, and of JSON an empty list, too. */
static int print_list(const struct arguments *args, const struct object_list *list, int status)
{
	if (args->json)
		return print_json(objects_json(list)) == EXIT_OK ? status : EXIT_FAILED;
	if (status == EXIT_OK || list->count)
		objects_print(stdout, list);
	return status;
}

static int print_one(const struct arguments *args, const struct object_list *list, int status)
{
	uint32_t count;
	const struct object *object = object_find(list, args->name, &count);
	struct object one;

	if (!object && status != EXIT_OK)
		return status;
	if (!object)
		return failure(args->name, "there is no such %s, or not for this user to see",
			       object_noun(list->kind));
	if (count > 1)
		return failure(args->name, "%" PRIu32 " devices have such a %s: say which by -d",
			       count, object_noun(list->kind));
	one = *object;
	/* Without, as after its client has ended, the rest is still known. */
	if (one.kind == OBJECT_PLAN && one.plan.state == NPUMEM_PLAN_STATE_READY)
		object_read(&one);
	if (args->json)
		return print_json(object_json_all(&one));
	object_print(stdout, &one, npumem_deadline(0));
	return EXIT_OK;
}

static int objects_command(enum object_kind kind, int argc, char **argv)
{
	struct object_list list = { .kind = kind };
	struct arguments args = { 0 };
	int status;

	command_parse(&command, argc, argv, &args);
	status = find(&args, &list);
	status = args.name ? print_one(&args, &list, status) : print_list(&args, &list, status);
	objects_free(&list);
	return status;
}

bool is_verb(int argc, char **argv)
{
	return argc > 1 && (!strcmp(argv[1], LIST) || !strcmp(argv[1], SHOW));
}

void verbs_complete(const char *typed)
{
	complete_word(LIST, typed, "list what is alive in the driver");
	complete_word(SHOW, typed, "show one of it");
}

int plan_verb(int argc, char **argv)
{
	return objects_command(OBJECT_PLAN, argc, argv);
}

int run_verb(int argc, char **argv)
{
	return objects_command(OBJECT_RUN, argc, argv);
}

int cmd_graph(int argc, char **argv)
{
	return objects_command(OBJECT_GRAPH, argc, argv);
}

static const struct command device_command = {
	.options = options,
	.parse = parse,
	.args_doc = LIST "\n" SHOW " PATH",
	.doc = "List npumem devices, or show one: versions, features, limits, carveout banks, engines. "
	       "It is what the command devices prints.",
};

/* The other spelling of "devices". */
int cmd_device(int argc, char **argv)
{
	struct arguments args = { 0 };

	command_parse(&device_command, argc, argv, &args);
	return devices_print(args.name ? args.name : args.device, args.json);
}
