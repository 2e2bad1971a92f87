/* SPDX-License-Identifier: MIT */
/* Which versions of TensorFlow Lite have the structs of tflite_abi.h. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define TFL_OLDEST_MINOR  9
/* What is said of others: the version as the runtime says it, and the oldest minor version. */
#define TFL_OTHER_VERSION "TensorFlow Lite %s has other structs than 2.%d and later"

/* @version: what TfLiteVersion() says; NULL: nothing, which is taken for a known one */
static inline bool tfl_version_is_known(const char *version)
{
	unsigned int major, minor;

	return !version || (sscanf(version, "%u.%u", &major, &minor) == 2 && major == 2 &&
			    minor >= TFL_OLDEST_MINOR);
}
