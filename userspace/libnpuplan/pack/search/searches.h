/* SPDX-License-Identifier: MIT */
/*
 * The packers that search, the valley packer that they begin with, and a bound for listed
 * conflicts.
 */
#pragma once

#include "pack/base/call.h"

/*
 * The valley packer in one mode, or the best of all modes if @mode is NPUPLAN_VALLEY_MODES; it
 * takes no fixed offsets (valley.c).
 */
#define NPUPLAN_VALLEY_AREA  4
#define NPUPLAN_VALLEY_MODES 5
int npuplan_pack_valley(struct npuplan_pack *call, int mode);

/* The portfolio of searches, for conflicts by overlap of live ranges (portfolio.c). */
int npuplan_pack_portfolio(struct npuplan_pack *call);
/* Raise the call's lower bound by what listed conflicts show (clique.c). -ENOMEM. */
int npuplan_pack_clique_bound(struct npuplan_pack *call);
/* The exact search for conflicts of any kind (disjunctive.c). */
int npuplan_pack_disjunctive(struct npuplan_pack *call);
