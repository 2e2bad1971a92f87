/* SPDX-License-Identifier: MIT */
/* Packers of more items than a search of all can deal with. */
#pragma once

#include "pack/base/run.h"

/*
 * large.c: from a packing by overlap, for more items than a search of all can deal with. @exact
 * packs a few of them.
 */
int npuplan_pack_large(struct npuplan_pack *run, npuplan_pack_fn *exact);
/* tight.c: some packings by overlap, without fixed offsets, of the @k-th share of tight items. */
int npuplan_pack_tight_first(struct npuplan_pack *run, npuplan_pack_fn *exact,
			     const uint64_t *breadths, unsigned int k);
unsigned int npuplan_pack_tight_shares(void);
