// SPDX-License-Identifier: MIT
#include "reference.h"

#include <dlfcn.h>
#include <errno.h>

int reference_open(struct reference *reference, void *library, struct refusal *why)
{
	void (*construct)(void *resolver);
	const char *missing = NULL;

	/* Of a class the compilers of Linux pass the object as the first argument. */
#define FIND(function, name)                          \
	*(void **)&(function) = dlsym(library, name); \
	if (!(function))                              \
		missing = name;
	FIND(construct, "_ZN6tflite3ops7builtin20BuiltinRefOpResolverC1Ev")
	FIND(reference->find_builtin,
	     "_ZNK6tflite17MutableOpResolver6FindOpENS_15BuiltinOperatorEi")
	FIND(reference->find_custom, "_ZNK6tflite17MutableOpResolver6FindOpEPKci")
	FIND(reference->set, "TfLiteInterpreterOptionsSetOpResolver")
#undef FIND
	if (missing)
		return refuse(why, -ENOSYS,
			      "the runtime does not show its reference kernels: no %s", missing);
	construct(reference->resolver);
	return 0;
}

static const void *find_builtin(void *user, int code, int version)
{
	const struct reference *reference = user;

	return reference->find_builtin(reference->resolver, code, version);
}

static const void *find_custom(void *user, const char *name, int version)
{
	const struct reference *reference = user;

	return reference->find_custom(reference->resolver, name, version);
}

void reference_set(struct reference *reference, struct TfLiteInterpreterOptions *options)
{
	reference->set(options, find_builtin, find_custom, reference);
}
