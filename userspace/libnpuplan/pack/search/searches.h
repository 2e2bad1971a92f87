/* SPDX-License-Identifier: MIT */
/* Packers that search, what they begin with, and a bound. */
#pragma once

#include "pack/base/run.h"

/* valley.c: the better of all modes if @mode is NPUPLAN_VALLEY_MODES; no fixed offsets. */
#define NPUPLAN_VALLEY_AREA  4
#define NPUPLAN_VALLEY_MODES 5
int npuplan_pack_valley(struct npuplan_pack *run, int mode);

/* portfolio.c: search.h by overlap of live ranges. */
int npuplan_pack_portfolio(struct npuplan_pack *run);
/* clique.c: a lower bound from listed conflicts. */
int npuplan_pack_clique_bound(struct npuplan_pack *run);
/* disjunctive.c: any conflicts. */
int npuplan_pack_disjunctive(struct npuplan_pack *run);
