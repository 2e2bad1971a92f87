// SPDX-License-Identifier: MIT
/*
 * A program that knows nothing of TensorFlow Lite either: it loads a library that is linked with
 * it, where no other library sees that, as Python does with its extensions.
 *
 * usage: unmodified_host LIBRARY ARGUMENT...
 */
#include <dlfcn.h>
#include <err.h>
#include <stddef.h>

int main(int argc, char **argv)
{
	int (*run)(int, char **) = NULL;
	void *library;

	if (argc < 2)
		errx(2, "usage: unmodified_host LIBRARY ARGUMENT...");
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&run = dlsym(library, "main");
	if (!run)
		errx(2, "%s", dlerror());
	return run(argc - 1, argv + 1);
}
