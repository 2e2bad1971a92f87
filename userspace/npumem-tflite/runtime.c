// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "runtime.h"

/* As TensorFlow's own build calls it, and as Debian does. */
static const char *const names[] = { "libtensorflowlite_c.so", "libtensorflow-lite.so.2.14.1" };

/* A delegate finds the library's version among what all see. */
static void *load(const char *file)
{
	return dlopen(file, RTLD_NOW | RTLD_GLOBAL);
}

static int find_functions(struct tflite *tflite, struct refusal *why)
{
	const char *missing = NULL;

	/* dlsym() gives functions as the address of an object, as POSIX wants it. */
#define FIND(type, name, parameters)                             \
	*(void **)&tflite->name = dlsym(tflite->library, #name); \
	if (!tflite->name)                                       \
		missing = #name;
	TFLITE_FUNCTIONS(FIND)
#undef FIND
	if (missing)
		return refuse(why, -ENOSYS, "the runtime has no %s()", missing);
	return 0;
}

int runtime_open(const char *file, struct tflite *tflite, struct refusal *why)
{
	tflite->library = NULL;
	if (file) {
		tflite->library = load(file);
		if (!tflite->library)
			return refuse(why, -ENOENT, "no TensorFlow Lite: %s", dlerror());
		return find_functions(tflite, why);
	}
	for (size_t i = 0; !tflite->library && i < sizeof(names) / sizeof(names[0]); i++)
		tflite->library = load(names[i]);
	if (!tflite->library)
		return refuse(why, -ENOENT,
			      "no TensorFlow Lite is installed as %s or %s; "
			      "--runtime says where it is",
			      names[0], names[1]);
	return find_functions(tflite, why);
}

/* What the delegate last complained of: the callback is told nothing but the text. */
static char complaint[256];

static void complain(const char *text)
{
	plain_line(complaint, sizeof(complaint), text);
}

int addition_open(struct addition *addition, const char *file, char **keys, char **values,
		  size_t count, struct refusal *why)
{
	struct tfl_delegate *(*create)(char **keys, char **values, size_t count,
				       void (*report)(const char *text));
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return refuse(why, -ENOENT, "no delegate: %s", dlerror());
	*(void **)&create = dlsym(library, "tflite_plugin_create_delegate");
	*(void **)&addition->destroy = dlsym(library, "tflite_plugin_destroy_delegate");
	*(void **)&addition->get_stats = dlsym(library, "npumem_tflite_get_stats");
	if (!create || !addition->destroy)
		return refuse(why, -ENOSYS, "the library is not of a delegate: no %s()",
			      create ? "tflite_plugin_destroy_delegate" :
				       "tflite_plugin_create_delegate");
	addition->delegate = create(keys, values, count, complain);
	if (!addition->delegate)
		return refuse(why, -EINVAL, "the delegate does not begin: %s",
			      *complaint ? complaint : "it does not say why");
	return 0;
}

void addition_close(struct addition *addition)
{
	if (addition->delegate)
		addition->destroy(addition->delegate);
	addition->delegate = NULL;
}
