/* SPDX-License-Identifier: MIT */
#include "verdict.h"

#include <stdint.h>

static void set_index(json_t *object, const char *key, uint32_t index, bool sparse)
{
	if (index != NPUMEM_NONE)
		json_object_set_new(object, key, json_integer(index));
	else if (!sparse)
		json_object_set_new(object, key, json_null());
}

void verdict_places(json_t *object, const struct npumem_verdict *verdict, bool sparse)
{
	set_index(object, "position", verdict->position, sparse);
	set_index(object, "step", verdict->step, sparse);
	set_index(object, "tile", verdict->tile, sparse);
	set_index(object, "tensor", verdict->tensor, sparse);
	set_index(object, "other_step", verdict->other_step, sparse);
	set_index(object, "other_tile", verdict->other_tile, sparse);
	set_index(object, "other_tensor", verdict->other_tensor, sparse);
	if (sparse && !verdict->length)
		return;
	json_object_set_new(object, "first", json_integer((json_int_t)verdict->first));
	json_object_set_new(object, "length", json_integer((json_int_t)verdict->length));
}
