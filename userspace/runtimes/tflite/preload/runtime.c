// SPDX-License-Identifier: MIT
#include "runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions' names, and where a runtime has them. */
static const struct {
	const char *name;
	size_t at;
} functions[] = {
	{ "TfLiteInterpreterOptionsCreate", offsetof(struct runtime, options_create) },
	{ "TfLiteInterpreterCreate", offsetof(struct runtime, create) },
	{ "TfLiteInterpreterDelete", offsetof(struct runtime, delete) },
	{ "TfLiteInterpreterOptionsDelete", offsetof(struct runtime, options_delete) },
	{ "TfLiteInterpreterOptionsAddDelegate", offsetof(struct runtime, add_delegate) },
	{ "TfLiteVersion", offsetof(struct runtime, version) },
};

dlsym_function real_dlsym(void)
{
	static dlsym_function real;
	dlsym_function found = __atomic_load_n(&real, __ATOMIC_RELAXED);

	if (found)
		return found;
	*(void **)&found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!found) {
		fputs("npumem: no dlsym() of glibc 2.34 or later\n", stderr);
		abort();
	}
	__atomic_store_n(&real, found, __ATOMIC_RELAXED);
	return found;
}

/* Where the library begins that has the function; NULL: nowhere. */
static const void *library_of(const void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

bool runtime_load(struct runtime *runtime, void *handle, const char *name)
{
	dlsym_function find = real_dlsym();
	void *wanted = find(handle, name);
	const void *library = library_of(wanted);

	memset(runtime, 0, sizeof(*runtime));
	if (!library || library == library_of((const void *)runtime_load))
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *found = find(handle, functions[i].name);

		if (library_of(found) == library)
			*(void **)((char *)runtime + functions[i].at) = found;
	}
	return true;
}

static bool load_file(struct runtime *runtime, const char *file, const char *name)
{
	void *handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
	bool found = handle && runtime_load(runtime, handle, name);

	if (handle)
		dlclose(handle);
	return found;
}

bool runtime_in_scope(struct runtime *runtime, const char *name, const void *caller)
{
	Dl_info info;

	/* Where all libraries look first; then what only the caller's own looks in. */
	if (runtime_load(runtime, RTLD_NEXT, name))
		return true;
	return dladdr(caller, &info) && info.dli_fname && load_file(runtime, info.dli_fname, name);
}

/* struct nth - @left: libraries to pass over; @file: the one after them */
struct nth {
	size_t left;
	char *file;
};

static int take_nth(struct dl_phdr_info *info, size_t size, void *data)
{
	struct nth *nth = data;

	if (nth->left--)
		return 0;
	nth->file = strdup(info->dlpi_name);
	return 1;
}

bool runtime_linked(struct runtime *runtime, const char *name, const void *caller)
{
	bool found = runtime_in_scope(runtime, name, caller);

	/* Nothing can be loaded while the loader counts, so it counts anew for each. */
	for (size_t i = 0; !found; i++) {
		struct nth nth = { .left = i };

		if (!dl_iterate_phdr(take_nth, &nth))
			break;
		found = nth.file && *nth.file && load_file(runtime, nth.file, name);
		free(nth.file);
	}
	return found;
}

bool runtime_is_whole(const struct runtime *runtime)
{
	return runtime->options_create && runtime->create && runtime->delete &&
	       runtime->options_delete && runtime->add_delegate;
}

bool runtime_is_loaded(const struct runtime *runtime)
{
	Dl_info info;

	return runtime->create && dladdr((const void *)runtime->create, &info) &&
	       info.dli_saddr == (const void *)runtime->create;
}
