/* SPDX-License-Identifier: MIT */
/*
 * Parameters where the driver's engines see them: in a BO, which all delegates of this process that
 * have the same bytes on the same device share.
 */
#pragma once

#include "npumem.h"
#include "program.h"

struct weights;

/*
 * weights_new() - the parameters of a program, in a BO that was there, or in one made for them
 * @out: out: weights_free() it; NULL if there are no parameters
 *
 * Errors as of npumem_bo_new(), npumem_bo_map(), npumem_bo_export() and npumem_bo_import().
 */
int weights_new(struct npumem_device *device, const struct program *program, struct weights **out,
		struct why *why);
void weights_free(struct weights *weights);

/* weights_bind() - have a run find them */
int weights_bind(const struct weights *weights, struct npumem_run *run, struct why *why);
