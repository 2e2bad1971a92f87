/* SPDX-License-Identifier: MIT */
/* npumemctl cache: the plans that npumemd keeps, and plans made for it ahead of time. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "keeping.h"
#include "kept.h"
#include "model/model.h"
#include "plancache.h"
#include "rate.h"

#define FOLDER	  "/var/cache/npumemd"
#define SHORT_KEY 12 /* digits of a key in a list */
#define LEAST_KEY 4  /* digits that a key on the command line has at least */

/*
 * struct arguments - what the command line says
 * @action: index in actions[]
 * @words: what follows the action
 */
struct arguments {
	struct tiling tiling;
	struct model_reading reading;
	const char *folder;
	uint64_t limit;
	bool json;
	bool all;
	const char *planner;
	uint64_t budget;
	uint32_t objective;
	double deadline;
	size_t action;
	bool has_action;
	struct option_texts words;
};

static int list(const struct arguments *args, struct plancache *cache);
static int show(const struct arguments *args, struct plancache *cache);
static int warm(const struct arguments *args, struct plancache *cache);
static int export(const struct arguments *args, struct plancache *cache);
static int drop(const struct arguments *args, struct plancache *cache);

enum { LIST, SHOW, WARM, EXPORT, DROP, ACTIONS };

/* A bit of struct command_option.actions. */
#define OF(action) (1u << (action))

/*
 * @least, @most: words that may follow
 * @what: these words, for messages
 * @purpose: what completion says of it
 */
static const struct {
	const char *name;
	int (*run)(const struct arguments *args, struct plancache *cache);
	size_t least, most;
	const char *what;
	const char *purpose;
} actions[ACTIONS] = {
	[LIST] = { "list", list, 0, 0, "nothing", "all plans, a line each" },
	[SHOW] = { "show", show, 1, SIZE_MAX, "KEY...", "all that is known of a plan" },
	[WARM] = { "warm", warm, 1, SIZE_MAX, "MODEL..., or folders of them",
		   "plan models ahead of time" },
	[EXPORT] = { "export", export, 1, SIZE_MAX, "FOLDER [KEY...]",
		     "copy plans to another cache" },
	[DROP] = { "drop", drop, 0, SIZE_MAX, "KEY..., or --all", "forget plans" },
};

#define FIELD(name) offsetof(struct arguments, name)

static const struct command_option options[] = {
	{ "folder", 0, VALUE_TEXT, "FOLDER", "Cache to look at, instead of " FOLDER, FIELD(folder),
	  .actions = OF(ACTIONS) - 1 },
	{ "size-limit", 0, VALUE_SIZE, "BYTES",
	  "Most bytes of the cache that \"warm\" or \"export\" writes to; those used longest ago go "
	  "first. By default none go: npumemd keeps to its own limit",
	  FIELD(limit), .actions = OF(WARM) | OF(EXPORT) },
	{ "all", 'a', VALUE_FLAG, NULL, "Drop all", FIELD(all), .actions = OF(DROP) },
	{ "json", 'j', VALUE_FLAG, NULL, "Print all as one JSON object", FIELD(json),
	  .actions = OF(LIST) | OF(SHOW) | OF(WARM) | OF(EXPORT) },
	{ .doc = "Of the requests that plans are made for, by \"warm\":" },
	{ "planner", 0, VALUE_TEXT, "NAME",
	  "Planner that is asked for, or npumemd's default for its objective (\"auto\", or \"cosma\" "
	  "for the other two, if nothing else is configured)",
	  FIELD(planner), .list = npuplan_planner_name },
	{ "arena-budget", 0, VALUE_SIZE, "BYTES", "Largest arena that is asked for",
	  FIELD(budget) },
	{ "objective", 0, VALUE_CHOICE, "WHAT",
	  "What is to be kept small: the \"%s\" (default), or, within the budget, the \"%s\" with "
	  "host memory, or the \"%s\" of any order of steps; the last two need a planner that "
	  "moves tensors",
	  FIELD(objective), 0, 0, kept_objectives },
	{ "deadline", 0, VALUE_SECONDS, "SECONDS", "Longest that planning of a model may take",
	  FIELD(deadline) },
	{ 0 },
};

static void parse_word(struct arguments *args, char *word, struct argp_state *state)
{
	if (args->has_action) {
		option_texts_add(&args->words, word);
		return;
	}
	for (args->action = 0; args->action < ACTIONS; args->action++)
		if (!strcmp(actions[args->action].name, word))
			break;
	if (args->action == ACTIONS)
		usage_error(state, "'%s' is not list, show, warm, export or drop", word);
	args->has_action = true;
}

/*
 * Of the options that were given the first that the action would not look at; NULL: there is none.
 * Those that say nothing of actions are of models, and only "warm" has these.
 */
static const struct command_option *strange_option(const struct arguments *args)
{
	const struct command_option *option;

	for (size_t i = 0; (option = command_given(i)); i++)
		if (!((option->actions ? option->actions : OF(WARM)) & OF(args->action)))
			return option;
	return NULL;
}

static void check(const struct arguments *args, struct argp_state *state)
{
	const struct command_option *strange;
	size_t action = args->action;

	if (!args->has_action)
		usage_error(state, "one of list, show, warm, export, drop is needed");
	strange = strange_option(args);
	if (strange)
		usage_error(state, "%s does not take --%s", actions[action].name, strange->name);
	if (action == DROP && args->all == !!args->words.count)
		usage_error(state, "drop: either keys or --all");
	if (args->words.count < actions[action].least || args->words.count > actions[action].most)
		usage_error(state, "%s takes %s", actions[action].name, actions[action].what);
	if (action == EXPORT) {
		const struct named_path from[] = { { "--folder", args->folder }, { 0 } };
		const struct named_path to[] = { { "FOLDER", args->words.list[0] }, { 0 } };

		outputs_check(state, from, to);
	}
	if (args->objective && args->planner &&
	    !(npuplan_planner_traits(args->planner) & NPUPLAN_PLANNER_MOVES))
		usage_error(state, "--objective %s needs a planner that moves tensors, like cosma",
			    kept_objectives[args->objective]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		parse_word(state->input, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(state->input, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void complete(const char *const *words, size_t count, const char *typed);

static const struct command command = {
	.options = options,
	.parse = parse,
	.complete = complete,
	.args_doc =
		"list\nshow KEY...\nwarm MODEL|FOLDER...\nexport FOLDER [KEY...]\ndrop KEY...|--all",
	.doc = "Look at the plans that npumemd keeps, and make some before they are asked for. No "
	       "device is needed.\n"
	       "\"warm\" plans models, or all of a folder, for requests as npumemctl run makes them; "
	       "\"export\" copies plans to another cache, a device's, say. A KEY may be cut short.",
	.shared = { SHARED_WITH_MODELS(struct arguments) },
};

/* ---------------------------------------------------------------------- keys */

/* struct listing - all plans of a cache, the one used last first */
struct listing {
	struct plancache_file *files;
	size_t count;
};

static bool list_all(const struct arguments *args, struct plancache *cache, struct listing *all)
{
	int err = plancache_list(cache, &all->files, &all->count);

	if (err)
		failure(args->folder, "%s", strerror(-err));
	return !err;
}

/* The one plan whose key begins so; NULL, and a message, if there is none, or several. */
static const struct plancache_file *find(const struct listing *all, const char *typed)
{
	const struct plancache_file *found = NULL;
	char name[PLANCACHE_NAME_SIZE];
	size_t length = strlen(typed);

	if (length < LEAST_KEY) {
		failure(typed, "a key has at least %d digits here", LEAST_KEY);
		return NULL;
	}
	for (size_t i = 0; i < all->count; i++) {
		plancache_key_name(&all->files[i].key, name);
		if (strncmp(name, typed, length) != 0)
			continue;
		if (found) {
			failure(typed, "several plans have keys that begin so");
			return NULL;
		}
		found = &all->files[i];
	}
	if (!found)
		failure(typed, "no plan has such a key");
	return found;
}

typedef int plan_action(const struct arguments *args, struct plancache *cache,
			const struct plancache_file *file, void *context);

/* Of a list by use: the one used longest ago first. */
static int by_age(const void *a, const void *b)
{
	const struct plancache_file *x = *(const struct plancache_file *const *)a;
	const struct plancache_file *y = *(const struct plancache_file *const *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The plans that are named from the @first word on, in this order, or all. Returns how many. */
static size_t choose(const struct arguments *args, const struct listing *all, size_t first,
		     const struct plancache_file **chosen, int *status)
{
	size_t count = 0;

	for (size_t i = 0; first >= args->words.count && i < all->count; i++)
		chosen[count++] = &all->files[i];
	/* One that is not there does not keep the others from it. */
	for (size_t i = first; i < args->words.count; i++) {
		chosen[count] = find(all, args->words.list[i]);
		if (chosen[count])
			count++;
		else
			*status = EXIT_FAILED;
	}
	return count;
}

/*
 * Do something with each plan that is named from the @first word on, or with all. @oldest_first:
 * those used longest ago come first, and none comes twice.
 */
static int for_each(const struct arguments *args, struct plancache *cache, size_t first,
		    bool oldest_first, plan_action *action, void *context)
{
	const struct plancache_file **chosen;
	struct listing all = { 0 };
	int status = EXIT_OK;
	size_t count;

	if (!list_all(args, cache, &all))
		return EXIT_FAILED;
	chosen = calloc(all.count + args->words.count + 1, sizeof(*chosen));
	if (!chosen)
		abort();
	count = choose(args, &all, first, chosen, &status);
	if (oldest_first && count)
		qsort(chosen, count, sizeof(chosen[0]), by_age);
	for (size_t i = 0; i < count; i++) {
		if (oldest_first && i && chosen[i] == chosen[i - 1])
			continue;
		if (action(args, cache, chosen[i], context) != EXIT_OK)
			status = EXIT_FAILED;
	}
	free(chosen);
	free(all.files);
	return status;
}

/* Whether it went after it was listed, as plans do meanwhile. Who has named it hears that. */
static bool is_gone(int err, size_t first, const struct arguments *args)
{
	return err == -ENOENT && first >= args->words.count;
}

/*
 * Read a plan of for_each(args, cache, first). False: there is none, and @status says whether that
 * is wrong.
 */
static bool read_entry(const struct arguments *args, struct plancache *cache, size_t first,
		       const struct plancache_file *file, struct plancache_entry *entry,
		       int *status)
{
	char name[PLANCACHE_NAME_SIZE];
	int err = plancache_peek(cache, &file->key, entry);

	*status = EXIT_OK;
	if (err && !is_gone(err, first, args)) {
		plancache_key_name(&file->key, name);
		*status = failure(name, "%s",
				  err == -EBADMSG ? "the file is damaged" : strerror(-err));
	}
	return !err;
}

/* ----------------------------------------------------------------- list, show */

static int list_one(const struct arguments *args, struct plancache *cache,
		    const struct plancache_file *file, void *context)
{
	char name[PLANCACHE_NAME_SIZE], when[32], *text;
	struct plancache_entry entry;
	json_t *array = context;
	int status;

	if (!read_entry(args, cache, 0, file, &entry, &status))
		return status;
	free(entry.data);
	if (array) {
		json_t *object = kept_json(file, &entry);

		json_object_set_new(object, "text", kept_text_json(entry.text));
		json_array_append_new(array, object);
		return EXIT_OK;
	}
	plancache_key_name(&file->key, name);
	text = plain_text(entry.text, false);
	printf("%.*s  %-9s  %-14s  %s%s\n", SHORT_KEY, name, short_size(file->bytes).s,
	       kept_ago(file->used_ns, when), text,
	       strcmp(entry.version, NPUMEM_PACKAGE_VERSION) ? "; of another npumem" : "");
	free(text);
	return EXIT_OK;
}

static int list(const struct arguments *args, struct plancache *cache)
{
	json_t *array = args->json ? json_array() : NULL;
	int status = for_each(args, cache, 0, false, list_one, array);

	if (array && print_json(json_pack("{so so}", "folder", kept_text_json(args->folder),
					  "plans", array)) != EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

static int show_one(const struct arguments *args, struct plancache *cache,
		    const struct plancache_file *file, void *context)
{
	struct npuplan_error error = { 0 };
	char name[PLANCACHE_NAME_SIZE];
	struct plancache_entry entry;
	struct npuplan_plan *plan;
	json_t *array = context;
	int err, status;

	if (!read_entry(args, cache, 0, file, &entry, &status))
		return status;
	plancache_key_name(&file->key, name);
	err = npuplan_plan_read((char *)entry.data + entry.head, entry.size - entry.head, &plan,
				&error);
	free(entry.data);
	if (err)
		return failure(name, "%s", error.text);
	if (array) {
		json_t *object = kept_json(file, &entry);

		json_object_set_new(object, "arena_bytes",
				    json_integer((json_int_t)plan->info.arena_size));
		json_object_set_new(object, "lower_bound",
				    json_integer((json_int_t)plan->info.lower_bound));
		json_array_append_new(array, object);
	} else {
		kept_print(file, &entry, &plan->info);
	}
	npuplan_plan_free(plan);
	return EXIT_OK;
}

static int show(const struct arguments *args, struct plancache *cache)
{
	json_t *array = args->json ? json_array() : NULL;
	int status = for_each(args, cache, 0, false, show_one, array);

	if (array && print_json(json_pack("{so so}", "folder", kept_text_json(args->folder),
					  "plans", array)) != EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

/* --------------------------------------------------------------- export, drop */

static int export_one(const struct arguments *args, struct plancache *cache,
		      const struct plancache_file *file, void *context)
{
	/* One there that is damaged, or that is not there, is no plan. */
	struct plancache_entry entry, there = { 0 };
	struct keeping *keeping = context;
	char name[PLANCACHE_NAME_SIZE];
	const struct plancache_entry *better;
	bool stays, was_better, fits;
	json_t *object = NULL;
	int status;

	if (!read_entry(args, cache, 1, file, &entry, &status))
		return status;
	(void)!plancache_peek(keeping->to, &file->key, &there);
	better = plancache_better(&there, &entry);
	stays = better == &there;
	was_better = stays && there.cost < entry.cost;
	plancache_key_name(&file->key, name);
	if (keeping->array)
		object = json_pack("{ss ss}", "key", name, "kept", stays ? "before" : "new");
	status = keeping_put(keeping, &file->key, better, stays, name, object, &fits);
	free(entry.data);
	free(there.data);
	if (status == EXIT_OK && was_better && !args->json)
		printf("%s: a better plan is there, and stays\n", name);
	return status;
}

static int export(const struct arguments *args, struct plancache *cache)
{
	struct keeping keeping = { .folder = args->words.list[0], .limit = args->limit };
	int err = plancache_open(keeping.folder, args->limit, &keeping.to);
	int status;

	if (err)
		return failure(keeping.folder, "%s", strerror(-err));
	if (args->json)
		keeping.array = json_array();
	/* In this order copies are used in the order of the plans, and what does not fit is old. */
	status = for_each(args, cache, 1, true, export_one, &keeping);
	if (keeping_end(&keeping) != EXIT_OK)
		status = EXIT_FAILED;
	plancache_close(keeping.to);
	if (keeping.array &&
	    print_json(json_pack("{so so}", "folder", kept_text_json(keeping.folder), "plans",
				 keeping.array)) != EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

static int drop_one(const struct arguments *args, struct plancache *cache,
		    const struct plancache_file *file, void *context)
{
	char name[PLANCACHE_NAME_SIZE];
	int err = plancache_drop(cache, &file->key);

	plancache_key_name(&file->key, name);
	return err && !is_gone(err, 0, args) ? failure(name, "%s", strerror(-err)) : EXIT_OK;
}

static int drop(const struct arguments *args, struct plancache *cache)
{
	return for_each(args, cache, 0, false, drop_one, NULL);
}

/* ---------------------------------------------------------------------- warm */

/* Of a model: which plan is kept, the one before or the new one. */
static void say_kept(const struct arguments *args, const struct model *model,
		     const struct plancache_entry *kept, bool is_new)
{
	char *path, *text;

	if (args->json)
		return;
	path = plain_text(model->path, false);
	text = plain_text(kept->text, false);
	printf("%s: %s%s\n", path, text,
	       is_new ? "" : "; kept from before: the new one is no better");
	free(path);
	free(text);
}

static json_t *model_json(const struct arguments *args, const char *path,
			  const struct plancache_entry *kept, const struct npuplan_plan *plan,
			  bool is_new)
{
	return json_pack("{so sI sI ss sI so sb}", "model", kept_text_json(path), "arena_bytes",
			 (json_int_t)plan->info.arena_size, "lower_bound",
			 (json_int_t)plan->info.lower_bound, "kept", is_new ? "new" : "before",
			 "cost", kept_int_json(kept->cost), "counts",
			 kept_counts_json(plancache_counts(args->planner, args->objective)),
			 "final", kept->final);
}

/* Put what is kept of a model into the cache, and say what it is. */
static int put(const struct arguments *args, struct keeping *keeping, const struct model *model,
	       const struct plancache_key *key, const struct plancache_entry *kept, bool is_new,
	       json_t *object)
{
	char *what;
	bool fits;
	int status;

	if (asprintf(&what, "plan of %s", model->path) < 0)
		abort();
	status = keeping_put(keeping, key, kept, !is_new, what, object, &fits);
	free(what);
	if (status == EXIT_OK && fits)
		say_kept(args, model, kept, is_new);
	return status;
}

/*
 * Keep the plan of a model, as npumemd would after a request like that: the one before, if it is no
 * worse. @path: as it was given.
 */
static int keep(const struct arguments *args, struct keeping *keeping, const struct model *model,
		const char *path, const struct npuplan_plan *plan)
{
	const struct plancache_request request = {
		.graph = model->blob,
		.graph_size = model->blob_size,
		.planner = args->planner,
		.objective = args->objective,
		.arena_budget = args->budget,
	};
	struct plancache_entry entry, before = { 0 };
	const struct plancache_entry *kept;
	struct npuplan_error error = { 0 };
	struct plancache_key key;
	json_t *object = NULL;
	int err, status;

	plancache_key(&request, &key);
	plancache_entry_init(&entry, &request);
	err = npuplan_plan_write(plan, &entry.data, &entry.size, &error);
	if (err)
		return failure(model->path, "%s", error.text);
	entry.owner = geteuid();
	entry.cost = plancache_cost(args->planner, args->objective, &plan->info);
	entry.final = plancache_final(plan, args->deadline, plan->seconds);
	entry.given_us = args->deadline ? (uint64_t)(1e6 * args->deadline) : PLANCACHE_NO_DEADLINE;
	plancache_summary(model->graph, plan, entry.text, sizeof(entry.text));
	/* One that is damaged, or that is not there, is no plan and has no history. */
	err = plancache_peek(keeping->to, &key, &before);
	plancache_entry_made(&entry, err ? NULL : &before, PLANCACHE_BY_WARM,
			     (uint64_t)(1e6 * plan->seconds));
	kept = plancache_better(&before, &entry);
	if (keeping->array)
		object = model_json(args, path, kept, plan, kept == &entry);
	status = put(args, keeping, model, &key, kept, kept == &entry, object);
	free(entry.data);
	free(before.data);
	return status;
}

static int warm_model(const struct arguments *args, struct keeping *keeping, const char *path)
{
	const struct npuplan_options asked = {
		.planner = args->planner,
		.arena_budget = args->budget,
		.objective = args->objective,
		.deadline_seconds = args->deadline,
	};
	struct npuplan_error error = { 0 };
	struct npuplan_plan *plan = NULL;
	struct model model = { 0 };
	int status = EXIT_FAILED;

	if (!model_import(&model, path, &args->reading) || !model_tile(&model, &args->tiling))
		goto out;
	if (npuplan_plan(model.graph, &asked, &plan, &error))
		failure(path, "%s", error.text);
	else
		status = keep(args, keeping, &model, path, plan);
out:
	npuplan_plan_free(plan);
	model_fini(&model);
	return status;
}

/* A pipe would be waited for, and a device has no end. */
static int is_model(const struct dirent *entry)
{
	static const char *const ends[] = { ".tflite", ".onnx", ".json" };
	const char *name = entry->d_name;
	size_t length = strlen(name);

	if (name[0] == '.')
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (length > strlen(ends[i]) && !strcmp(name + length - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

static int warm_folder(const struct arguments *args, struct keeping *keeping, const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_model, alphasort);
	int status = EXIT_OK, found = 0;
	struct stat file;

	if (count < 0)
		return failure(folder, "%s", strerror(errno));
	for (int i = 0; i < count; i++) {
		char *path = NULL;

		if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
			abort();
		if (!stat(path, &file) && !S_ISREG(file.st_mode)) {
			status = failure(path, "is no regular file");
		} else {
			found++;
			if (warm_model(args, keeping, path) != EXIT_OK)
				status = EXIT_FAILED;
		}
		free(path);
		free(entries[i]);
	}
	free(entries);
	return found ? status : failure(folder, "no file here ends in .tflite, .onnx or .json");
}

static bool is_folder(const char *path)
{
	struct stat stat_of;

	return !stat(path, &stat_of) && S_ISDIR(stat_of.st_mode);
}

static int warm(const struct arguments *args, struct plancache *cache)
{
	struct keeping keeping = { .to = cache, .folder = args->folder, .limit = args->limit };
	int status = EXIT_OK;

	if (args->json)
		keeping.array = json_array();
	/* A model that cannot be planned does not keep the others from it. */
	for (size_t i = 0; i < args->words.count; i++) {
		const char *path = args->words.list[i];
		int one = is_folder(path) ? warm_folder(args, &keeping, path) :
					    warm_model(args, &keeping, path);

		if (one != EXIT_OK)
			status = EXIT_FAILED;
	}
	if (keeping_end(&keeping) != EXIT_OK)
		status = EXIT_FAILED;
	if (keeping.array && print_json(json_pack("{so so}", "folder", kept_text_json(args->folder),
						  "models", keeping.array)) != EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

/* ----------------------------------------------------------------------------- */

static void offer_keys(const char *folder, const char *typed)
{
	struct plancache_entry entry;
	struct plancache_file *files;
	struct plancache *cache;
	size_t count;

	if (plancache_open_existing(folder, &cache))
		return;
	if (!plancache_list(cache, &files, &count)) {
		for (size_t i = 0; i < count; i++) {
			char name[PLANCACHE_NAME_SIZE], *text;

			plancache_key_name(&files[i].key, name);
			if (strncmp(name, typed, strlen(typed)) != 0)
				continue;
			entry = (struct plancache_entry){ 0 };
			if (!plancache_peek(cache, &files[i].key, &entry))
				free(entry.data);
			text = plain_text(entry.text, false);
			complete_word(name, typed, text);
			free(text);
		}
		free(files);
	}
	plancache_close(cache);
}

/* The words of an action: files, folders, or keys of the folder that the line names. */
static void complete(const char *const *words, size_t count, const char *typed)
{
	const char *folder = complete_value_of("folder");
	size_t action = 0;

	if (!count) {
		for (size_t i = 0; i < ACTIONS; i++)
			complete_word(actions[i].name, typed, actions[i].purpose);
		return;
	}
	while (action < ACTIONS && strcmp(actions[action].name, words[0]) != 0)
		action++;
	if (action == ACTIONS || action == LIST)
		return;
	if (action == WARM || (action == EXPORT && count == 1))
		puts(":files");
	else
		offer_keys(folder ? folder : FOLDER, typed);
}

int cmd_cache(int argc, char **argv)
{
	struct arguments args = { .folder = FOLDER, .limit = PLANCACHE_NO_LIMIT };
	struct plancache *cache;
	int err, status = EXIT_FAILED;

	command_parse(&command, argc, argv, &args);
	/* As run does, so that requests are the same. */
	if (args.action == WARM)
		tiling_for_planner(&args.tiling, args.planner);
	/* npumemd's defaults. */
	if (!args.planner)
		args.planner = args.objective ? "cosma" : "auto";
	err = args.action == WARM ? plancache_open(args.folder, args.limit, &cache) :
				    plancache_open_existing(args.folder, &cache);
	if (err) {
		failure(args.folder, "%s", strerror(-err));
	} else {
		status = actions[args.action].run(&args, cache);
		plancache_close(cache);
	}
	free(args.words.list);
	tiling_fini(&args.tiling);
	reading_fini(&args.reading);
	return status;
}
