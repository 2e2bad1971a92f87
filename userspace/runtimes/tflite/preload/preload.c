// SPDX-License-Identifier: MIT
/*
 * libnpumem-tflite-preload.so: the delegate for programs that know nothing of it. In LD_PRELOAD, it
 * stands before the functions of TensorFlow Lite's C interface that make and give up interpreters.
 *
 * All options get one delegate more, which only opens the door: each interpreter that is made with
 * them finds a delegate of its own behind it. Options may so be used again, and by many.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../npumem_tflite.h"
#include "../tflite_abi.h"
#include "../version.h"
#include "runtime.h"

#define EXPORT	    __attribute__((visibility("default")))
#define OPTIONS	    "NPUMEM_TFLITE_OPTIONS"
#define MAX_OPTIONS 32

EXPORT void *TfLiteInterpreterOptionsCreate(void);
EXPORT void *TfLiteInterpreterCreate(const void *model, const void *options);
EXPORT void TfLiteInterpreterDelete(void *interpreter);

/* ---------------------------------------------------------------------- delegates */

/*
 * struct given - a delegate that an interpreter was given
 * @interpreter: NULL: it is being made
 * @delete: the runtime's function that gives it up
 * @asked: the runtime has opened the door
 */
struct given {
	struct given *next;
	void *interpreter;
	void *delegate;
	void (*delete)(void *interpreter);
	bool asked;
};

/* struct graph - a graph of an interpreter: what the runtime opens the door with */
struct graph {
	struct graph *next;
	const struct tfl_context *context;
	struct given *given;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct given *all;
static struct graph *graphs;
/* Of the interpreter that this thread is making. */
static _Thread_local struct given *current;

/* Whose graph is it? The lock is held. */
static struct given *find_given(const struct tfl_context *context)
{
	for (struct graph *graph = graphs; graph; graph = graph->next)
		if (graph->context == context)
			return graph->given;
	return NULL;
}

/* The newest comes first: what was there at the same address is gone. The lock is held. */
static bool add_graph(const struct tfl_context *context, struct given *given)
{
	struct graph *graph = malloc(sizeof(*graph));

	if (!graph)
		return false;
	*graph = (struct graph){ .next = graphs, .context = context, .given = given };
	graphs = graph;
	return true;
}

/*
 * It is opened while an interpreter is made, and again when inputs are resized, if another delegate
 * makes the runtime undo all of them.
 */
static int open_door(struct tfl_context *context, struct tfl_delegate *door)
{
	struct tfl_delegate *delegate = NULL;
	struct given *given;
	bool added = true;

	pthread_mutex_lock(&lock);
	given = find_given(context);
	if (current && given != current) {
		given = current;
		added = add_graph(context, given);
	}
	if (given) {
		given->asked = true;
		delegate = given->delegate;
	}
	pthread_mutex_unlock(&lock);
	if (!added) {
		fputs("npumem: out of memory\n", stderr);
		return TFL_DELEGATE_ERROR;
	}
	if (!delegate) {
		fputs("npumem: an interpreter has no delegate: it was made by another function than "
		      "TfLiteInterpreterCreate()\n",
		      stderr);
		return TFL_OK;
	}
	return delegate->prepare(context, delegate);
}

static struct tfl_delegate door = { .prepare = open_door, .flags = TFL_DELEGATE_ALLOW_DYNAMIC };

/* "KEY:VALUE;KEY:VALUE", as benchmark_model has it; NULL: a bad one, which a line names. */
static struct tfl_delegate *new_delegate(void)
{
	const char *value = getenv(OPTIONS);
	char *text = strdup(value ? value : ""), *rest = text, *word;
	char *keys[MAX_OPTIONS], *values[MAX_OPTIONS];
	struct tfl_delegate *delegate = NULL;
	bool bound = false;
	size_t count = 0;

	while (text && count < MAX_OPTIONS && (word = strsep(&rest, ";"))) {
		if (!*word)
			continue;
		keys[count] = strsep(&word, ":");
		values[count++] = word;
		bound = bound ||
			(word && !strcmp(keys[count - 1], "inputs") && !strcmp(word, "bound"));
	}
	if (bound)
		fprintf(stderr,
			"npumem: %s: inputs:bound is for programs that bind them, and this one "
			"knows nothing of it\n",
			OPTIONS);
	else if (rest)
		fprintf(stderr, "npumem: %s has more than %d options\n", OPTIONS, MAX_OPTIONS);
	else if (text)
		delegate = tflite_plugin_create_delegate(keys, values, count, NULL);
	free(text);
	return delegate;
}

static void remember(struct given *given, void *interpreter)
{
	pthread_mutex_lock(&lock);
	given->interpreter = interpreter;
	given->next = all;
	all = given;
	pthread_mutex_unlock(&lock);
}

/* The graphs of what is given up. The lock is held. */
static void forget_graphs(const struct given *given)
{
	for (struct graph **at = &graphs, *graph; (graph = *at);) {
		if (graph->given != given) {
			at = &graph->next;
			continue;
		}
		*at = graph->next;
		free(graph);
	}
}

static struct given *forget(const void *interpreter)
{
	struct given **at = &all, *given;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->interpreter != interpreter)
		at = &(*at)->next;
	given = *at;
	if (given) {
		*at = given->next;
		forget_graphs(given);
	}
	pthread_mutex_unlock(&lock);
	return given;
}

static void give_up(struct given *given)
{
	if (!given)
		return;
	pthread_mutex_lock(&lock);
	forget_graphs(given);
	pthread_mutex_unlock(&lock);
	tflite_plugin_destroy_delegate(given->delegate);
	free(given);
}

static struct given *new_given(const struct runtime *runtime)
{
	struct given *given = calloc(1, sizeof(*given));

	if (!given)
		return NULL;
	given->delete = runtime->delete;
	given->delegate = new_delegate();
	if (given->delegate)
		return given;
	free(given);
	return NULL;
}

/* ------------------------------------------------------------------ of a runtime */

static const char *version_of(const struct runtime *runtime)
{
	return runtime->version ? runtime->version() : NULL;
}

static void *create_options(const struct runtime *runtime)
{
	void *options = runtime->options_create();

	if (options && runtime_is_whole(runtime) && tfl_version_is_known(version_of(runtime)))
		runtime->add_delegate(options, &door);
	return options;
}

/* An interpreter with the delegate, if its options have the door. */
static void *create_given(const struct runtime *runtime, struct given *given, const void *model,
			  const void *options)
{
	struct given *outer = current;
	void *interpreter;

	current = given;
	interpreter = runtime->create(model, options);
	current = outer;
	if (interpreter && !given->asked)
		fputs("npumem: an interpreter has no delegate: its options were made by another "
		      "function than TfLiteInterpreterOptionsCreate()\n",
		      stderr);
	return interpreter;
}

static void *create(const struct runtime *runtime, const void *model, const void *options)
{
	void *mine = NULL, *interpreter = NULL;
	struct given *given;

	if (!runtime_is_whole(runtime)) {
		fputs("npumem: an interpreter has no delegate: its TensorFlow Lite takes none\n",
		      stderr);
		return runtime->create(model, options);
	}
	if (!tfl_version_is_known(version_of(runtime))) {
		fprintf(stderr, "npumem: " TFL_OTHER_VERSION "\n", version_of(runtime),
			TFL_OLDEST_MINOR);
		return NULL;
	}
	given = new_given(runtime);
	if (given && !options)
		options = mine = create_options(runtime);
	if (given && options)
		interpreter = create_given(runtime, given, model, options);
	if (interpreter)
		remember(given, interpreter);
	else
		give_up(given);
	if (mine)
		runtime->options_delete(mine);
	return interpreter;
}

/* @delete: for one that was made by another function; NULL: there is none, which a line says */
static void delete_interpreter(void (*delete)(void *), void *interpreter)
{
	struct given *given = interpreter ? forget(interpreter) : NULL;

	if (given)
		delete = given->delete;
	if (delete)
		delete (interpreter);
	give_up(given);
}

/* ------------------------------------------------------- what dlsym() has found */

/* The runtime that dlsym() has found first. The lock is held for it. */
static struct runtime looked_up;

static struct runtime get_looked_up(void)
{
	struct runtime runtime;

	pthread_mutex_lock(&lock);
	runtime = looked_up;
	pthread_mutex_unlock(&lock);
	return runtime;
}

static void *found_options_create(void)
{
	struct runtime runtime = get_looked_up();

	return create_options(&runtime);
}

static void *found_create(const void *model, const void *options)
{
	struct runtime runtime = get_looked_up();

	return create(&runtime, model, options);
}

static void found_delete(void *interpreter)
{
	delete_interpreter(get_looked_up().delete, interpreter);
}

/*
 * struct before - a function that this library stands before
 * @linked: what programs and libraries that are linked with it come to
 * @found: what dlsym() gives: it does not say whose it is when it is called, so one runtime has it
 */
static const struct before {
	const char *name;
	void *linked;
	void *found;
} functions[] = {
	{ "TfLiteInterpreterOptionsCreate", (void *)TfLiteInterpreterOptionsCreate,
	  (void *)found_options_create },
	{ "TfLiteInterpreterCreate", (void *)TfLiteInterpreterCreate, (void *)found_create },
	{ "TfLiteInterpreterDelete", (void *)TfLiteInterpreterDelete, (void *)found_delete },
};

/* Is it the runtime that is stood before? Others are left alone, with a line. */
static bool take(const struct runtime *runtime)
{
	static bool said;
	bool same, say;

	if (!runtime_is_whole(runtime))
		return false;
	pthread_mutex_lock(&lock);
	if (!runtime_is_loaded(&looked_up))
		looked_up = *runtime;
	same = looked_up.create == runtime->create;
	say = !same && !said;
	said |= say;
	pthread_mutex_unlock(&lock);
	if (say)
		fputs("npumem: a second TensorFlow Lite was loaded: its interpreters have no "
		      "delegate\n",
		      stderr);
	return same;
}

/*
 * dlsym() of a function that this library stands before. What dlerror() says then is of what was
 * asked for, not of what else was looked up on the way.
 */
static void *find(void *handle, const struct before *before, const void *caller)
{
	void *found = handle == RTLD_DEFAULT ? before->linked : real_dlsym()(handle, before->name);
	struct runtime runtime;

	if (!found)
		return NULL;
	/* It is this library's own; without this library it would be found only if there is one. */
	if (found == before->linked) {
		if (!runtime_in_scope(&runtime, before->name, caller) &&
		    !real_dlsym()(RTLD_NEXT, before->name))
			return NULL;
	} else if (runtime_load(&runtime, handle, before->name) && take(&runtime)) {
		found = before->found;
	}
	dlerror();
	return found;
}

/* ----------------------------------------------------------------------- exported */

/*
 * Which library is the next one depends on who asks, so dlsym() passes that question on as a jump,
 * which compilers otherwise make of a call only when they optimize.
 */
#if defined(__has_attribute) && __has_attribute(musttail)
#define JUMPS
#define JUMP __attribute__((musttail)) return
#else
#define JUMPS \
	__attribute__((optimize("O2", "optimize-sibling-calls"), no_profile_instrument_function))
#define JUMP return
#endif

/* What loads the runtime by itself, as Python's ctypes does, asks for its functions by name. */
EXPORT JUMPS void *dlsym(void *handle, const char *name)
{
	if (handle != RTLD_NEXT && strncmp(name, "TfLite", 6) == 0)
		for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
			if (strcmp(functions[i].name, name) == 0)
				return find(handle, &functions[i], __builtin_return_address(0));
	JUMP real_dlsym()(handle, name);
}

/* The runtime of whoever has called; if there is none a line says so. */
static bool find_linked(struct runtime *runtime, const char *name, const void *caller)
{
	if (runtime_linked(runtime, name, caller))
		return true;
	fprintf(stderr, "npumem: no TensorFlow Lite has %s\n", name);
	return false;
}

void *TfLiteInterpreterOptionsCreate(void)
{
	struct runtime runtime;

	return find_linked(&runtime, __func__, __builtin_return_address(0)) ?
		       create_options(&runtime) :
		       NULL;
}

void *TfLiteInterpreterCreate(const void *model, const void *options)
{
	struct runtime runtime;

	return find_linked(&runtime, __func__, __builtin_return_address(0)) ?
		       create(&runtime, model, options) :
		       NULL;
}

void TfLiteInterpreterDelete(void *interpreter)
{
	struct runtime runtime;

	find_linked(&runtime, __func__, __builtin_return_address(0));
	delete_interpreter(runtime.delete, interpreter);
}
