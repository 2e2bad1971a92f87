// SPDX-License-Identifier: MIT
#include "real_plugin.h"

#include <dlfcn.h>
#include <err.h>
#include <string.h>

struct real_plugin plugin;

void real_load(const char *runtime, const char *delegate)
{
	void *d;

	tfl_load(runtime);
	if (strcmp(delegate, "-") == 0)
		return;
	d = dlopen(delegate, RTLD_NOW | RTLD_LOCAL);
	if (!d)
		errx(2, "%s", dlerror());
	tfl_find(d, "tflite_plugin_create_delegate", &plugin.create);
	tfl_find(d, "tflite_plugin_destroy_delegate", &plugin.destroy);
	tfl_find(d, "npumem_tflite_get_stats", &plugin.stats);
}

static void take_option(struct real_given *given, char *word)
{
	char *equals = strchr(word, '=');

	if (!equals || given->option_count == REAL_OPTIONS)
		errx(2, "%s: not KEY=VALUE, or one too many", word);
	*equals = '\0';
	given->keys[given->option_count] = word;
	given->values[given->option_count++] = equals + 1;
}

void real_take(struct real_given *given, int argc, char **argv)
{
	int at = 0;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		if (given->count == REAL_MODELS)
			errx(2, "more than %d models", REAL_MODELS);
		given->paths[given->count] = argv[at];
		given->models[given->count] = tfl.model_new(argv[at]);
		if (!given->models[given->count++])
			errx(2, "%s: not a model", argv[at]);
	}
	for (at++; at < argc; at++)
		take_option(given, argv[at]);
}

void real_give_up(struct real_given *given)
{
	for (size_t i = 0; i < given->count; i++)
		tfl.model_free(given->models[i]);
}

void *real_delegate(struct real_given *given)
{
	void *delegate = plugin.create(given->keys, given->values, given->option_count, NULL);

	if (!delegate)
		errx(2, "there is no delegate with these options");
	return delegate;
}

/* FNV-1a. Outputs may be no tensors, or have no memory. */
