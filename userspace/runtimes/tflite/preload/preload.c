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

#define EXPORT	    __attribute__((visibility("default")))
#define OPTIONS	    "NPUMEM_TFLITE_OPTIONS"
#define MAX_OPTIONS 32

EXPORT void *TfLiteInterpreterOptionsCreate(void);
EXPORT void *TfLiteInterpreterCreate(const void *model, const void *options);
EXPORT void TfLiteInterpreterDelete(void *interpreter);

/* ------------------------------------------------------------- the runtime's own */

/* enum own - functions that this library stands before, and others that it calls */
enum own { OPTIONS_CREATE, CREATE, DELETE, OPTIONS_DELETE, ADD_DELEGATE, OWN };

/* struct function - @before: what is found instead; @found: in a library that was asked for it */
static struct function {
	const char *name;
	void *before;
	void *found;
} functions[OWN] = {
	{ .name = "TfLiteInterpreterOptionsCreate",
	  .before = (void *)TfLiteInterpreterOptionsCreate },
	{ .name = "TfLiteInterpreterCreate", .before = (void *)TfLiteInterpreterCreate },
	{ .name = "TfLiteInterpreterDelete", .before = (void *)TfLiteInterpreterDelete },
	{ .name = "TfLiteInterpreterOptionsDelete" },
	{ .name = "TfLiteInterpreterOptionsAddDelegate" },
};

typedef void *(*dlsym_function)(void *handle, const char *name);

/* The C library's dlsym(), as its version 2.34 and later have it. */
static dlsym_function real_dlsym(void)
{
	static dlsym_function real;

	if (!real)
		*(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	return real;
}

/* The runtime whose functions were looked up last, or the one that the program is linked with. */
static void *own(enum own number)
{
	struct function *f = &functions[number];
	void *found = __atomic_load_n(&f->found, __ATOMIC_ACQUIRE);

	if (!found)
		found = real_dlsym()(RTLD_NEXT, f->name);
	if (!found) {
		fprintf(stderr, "npumem: no TensorFlow Lite has %s\n", f->name);
		abort();
	}
	return found;
}

/* Functions of the same library as the one that was found. */
static void find_others(void *handle)
{
	for (int i = 0; i < OWN; i++) {
		void *found = real_dlsym()(handle, functions[i].name);

		if (found && found != functions[i].before)
			__atomic_store_n(&functions[i].found, found, __ATOMIC_RELEASE);
	}
}

/*
 * What loads the runtime by itself, as Python's ctypes does, asks for its functions by name. Which
 * library is the next one depends on who asks, so that question is passed on as a jump.
 */
EXPORT __attribute__((optimize("optimize-sibling-calls"))) void *dlsym(void *handle,
								       const char *name)
{
	if (handle != RTLD_NEXT && handle != RTLD_DEFAULT && strncmp(name, "TfLite", 6) == 0)
		for (int i = 0; i < OWN; i++)
			if (functions[i].before && strcmp(functions[i].name, name) == 0) {
				find_others(handle);
				return real_dlsym()(handle, name) ? functions[i].before : NULL;
			}
	return real_dlsym()(handle, name);
}

/* ---------------------------------------------------------------------- delegates */

/* struct given - an interpreter, and the delegate that it was given */
struct given {
	struct given *next;
	void *interpreter;
	void *delegate;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct given *all;
/* Of the interpreter that this thread is making. */
static _Thread_local struct tfl_delegate *current;

static int open_door(struct tfl_context *context, struct tfl_delegate *door)
{
	return current ? current->prepare(context, current) : TFL_OK;
}

static struct tfl_delegate door = { .prepare = open_door, .flags = TFL_DELEGATE_ALLOW_DYNAMIC };

/* "KEY:VALUE;KEY:VALUE", as benchmark_model has it; NULL: a bad one, which a line names. */
static struct tfl_delegate *new_delegate(void)
{
	const char *value = getenv(OPTIONS);
	char *text = strdup(value ? value : ""), *rest = text, *word;
	char *keys[MAX_OPTIONS], *values[MAX_OPTIONS];
	struct tfl_delegate *delegate = NULL;
	size_t count = 0;

	while (text && count < MAX_OPTIONS && (word = strsep(&rest, ";"))) {
		if (!*word)
			continue;
		keys[count] = strsep(&word, ":");
		values[count++] = word;
	}
	if (rest)
		fprintf(stderr, "npumem: %s has more than %d options\n", OPTIONS, MAX_OPTIONS);
	else if (text)
		delegate = tflite_plugin_create_delegate(keys, values, count, NULL);
	free(text);
	return delegate;
}

static void remember(struct given *given, void *interpreter, void *delegate)
{
	*given = (struct given){ .interpreter = interpreter, .delegate = delegate };
	pthread_mutex_lock(&lock);
	given->next = all;
	all = given;
	pthread_mutex_unlock(&lock);
}

static struct given *forget(const void *interpreter)
{
	struct given **at = &all, *given;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->interpreter != interpreter)
		at = &(*at)->next;
	given = *at;
	if (given)
		*at = given->next;
	pthread_mutex_unlock(&lock);
	return given;
}

/* ----------------------------------------------------------------------- exported */

void *TfLiteInterpreterOptionsCreate(void)
{
	void *(*create)(void) = (void *(*)(void))own(OPTIONS_CREATE);
	void (*add)(void *, void *) = (void (*)(void *, void *))own(ADD_DELEGATE);
	void *options = create();

	if (options)
		add(options, &door);
	return options;
}

void *TfLiteInterpreterCreate(const void *model, const void *options)
{
	void *(*create)(const void *, const void *) =
		(void *(*)(const void *, const void *))own(CREATE);
	void (*delete)(void *) = (void (*)(void *))own(OPTIONS_DELETE);
	void *mine = options ? NULL : TfLiteInterpreterOptionsCreate(), *interpreter = NULL;
	struct given *given = malloc(sizeof(*given));
	struct tfl_delegate *delegate = given ? new_delegate() : NULL;

	if (delegate) {
		current = delegate;
		interpreter = create(model, options ? options : mine);
		current = NULL;
	}
	if (interpreter) {
		remember(given, interpreter, delegate);
	} else {
		tflite_plugin_destroy_delegate(delegate);
		free(given);
	}
	if (mine)
		delete (mine);
	return interpreter;
}

void TfLiteInterpreterDelete(void *interpreter)
{
	void (*delete)(void *) = (void (*)(void *))own(DELETE);
	struct given *given = interpreter ? forget(interpreter) : NULL;

	delete (interpreter);
	if (given)
		tflite_plugin_destroy_delegate(given->delegate);
	free(given);
}
