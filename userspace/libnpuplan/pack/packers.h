/* SPDX-License-Identifier: MIT */
/* Packers by name. */
#ifndef NPUPLAN_PACKERS_H
#define NPUPLAN_PACKERS_H

#include "pack/base/run.h"

/** struct npuplan_packer - named packer; @argument tells those of one function apart */
struct npuplan_packer {
	const char *name;
	int argument;
	int (*pack)(struct npuplan_pack *run, int argument);
};

const struct npuplan_packer *npuplan_packer_find(const char *name);

/* exact.c: all of the above, then the search that suits the conflicts. */
int npuplan_pack_exact(struct npuplan_pack *run, int unused);

#endif /* NPUPLAN_PACKERS_H */
