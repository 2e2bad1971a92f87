/* SPDX-License-Identifier: MIT */
/* Which TensorFlow Lite's functions are behind those that the preloaded library stands before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* struct runtime - what one library has of the C interface; NULL: it has no such function */
struct runtime {
	void *(*options_create)(void);
	void *(*create)(const void *model, const void *options);
	void (*delete)(void *interpreter);
	void (*options_delete)(void *options);
	void (*add_delegate)(void *options, void *delegate);
	const char *(*version)(void);
};

typedef void *(*dlsym_function)(void *handle, const char *name);

/* The C library's dlsym(), as its version 2.34 and later have it. */
dlsym_function real_dlsym(void);

/*
 * The library which dlsym() of that handle has function @name from, if that is another library than
 * this one. RTLD_DEFAULT is not for it.
 */
bool runtime_load(struct runtime *runtime, void *handle, const char *name);
/* The library that @caller, an address in a program or in a library, is linked with. */
bool runtime_in_scope(struct runtime *runtime, const char *name, const void *caller);
/*
 * The same; if there is none, any that is loaded: a caller whose last deed is the call is not seen,
 * but only the one before it.
 */
bool runtime_linked(struct runtime *runtime, const char *name, const void *caller);
/* Has it all that a delegate needs? */
bool runtime_is_whole(const struct runtime *runtime);
/* Is it still loaded? */
bool runtime_is_loaded(const struct runtime *runtime);
