/* SPDX-License-Identifier: MIT */
/* The delegate beside a real TensorFlow Lite, loaded as programs load it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npumem_tflite.h"
#include "tflite_runtime.h"

/* struct real_plugin - what the delegate's library has; all NULL: none was loaded */
struct real_plugin {
	void *(*create)(char **keys, char **values, size_t count, void (*report)(const char *text));
	void (*destroy)(void *delegate);
	int (*stats)(void *delegate, struct npumem_tflite_stats *stats);
};
extern struct real_plugin plugin;

#define REAL_MODELS  32
#define REAL_OPTIONS 16

/*
 * struct real_given - models and options of the command line: MODEL... [-- KEY=VALUE...]
 * @paths, @models: of @count files
 * @keys, @values: of @option_count options
 */
struct real_given {
	const char *paths[REAL_MODELS];
	void *models[REAL_MODELS];
	size_t count;
	char *keys[REAL_OPTIONS + 1], *values[REAL_OPTIONS + 1];
	size_t option_count;
};

/* Load both libraries; @delegate "-": only the runtime. Ends the program if there is none. */
void real_load(const char *runtime, const char *delegate);
/* Take the command line, and load its models; ends the program if one of them is none. */
void real_take(struct real_given *given, int argc, char **argv);
void real_give_up(struct real_given *given);
/* A delegate with these options; ends the program if there is none. */
void *real_delegate(struct real_given *given);
