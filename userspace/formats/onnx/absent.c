/* SPDX-License-Identifier: MIT */
/* Instead of the ONNX reader, in a build that found no protobuf-c or no schema of ONNX. */
#include <errno.h>

#include "../check.h"

int npuimport_onnx_sized(const void *data, size_t size, const char *name,
			 const struct npuimport_options *options, size_t options_size,
			 struct npuplan_graph **out, struct npuimport_info *info,
			 struct npuplan_error *error)
{
	*out = NULL;
	return import_fail(error, -EOPNOTSUPP,
			   "this is an ONNX model, and this build reads none: it was made without "
			   "protobuf-c or without ONNX's schema (meson's option onnx)");
}
