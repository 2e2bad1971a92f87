/* SPDX-License-Identifier: MIT */
/* A verdict as members of a JSON object, for all commands that print one. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "npumem_plan.h"

/*
 * verdict_places() - where a plan or a job was refused: position, step, tile, tensor, the others of
 * the same, and bytes
 * @sparse: what the verdict does not name is left out; else it is null, and bytes are 0
 */
void verdict_places(json_t *object, const struct npumem_verdict *verdict, bool sparse);
