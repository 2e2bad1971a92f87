/* SPDX-License-Identifier: MIT */
/*
 * The packers that search, the valley packer that they begin with, and a bound for listed
 * conflicts.
 */
#pragma once

#include "pack/base/call.h"

/*
 * The valley packer in one mode, or the best of all modes if @mode is NPUPLAN_VALLEY_MODES
 * (valley.c).
 */
#define NPUPLAN_VALLEY_AREA  4
#define NPUPLAN_VALLEY_MODES 5
int npuplan_pack_valley(struct npuplan_pack *call, int mode);

/* The portfolio of searches, for conflicts by overlap of live ranges (portfolio.c). */
int npuplan_pack_portfolio(struct npuplan_pack *call);

/* npuplan_portfolio_new() - prepare the portfolio, and raise the call's bound to that in granules
 *
 * -ENOMEM; -E2BIG: the problem is too large to be searched.
 */
struct npuplan_portfolio;
int npuplan_portfolio_new(struct npuplan_portfolio **portfolio, struct npuplan_pack *call);
void npuplan_portfolio_free(struct npuplan_portfolio *portfolio);
/*
 * Search until the call, or its share, is over. The next run goes on where this one ended. -ENOMEM.
 */
int npuplan_portfolio_run(struct npuplan_portfolio *portfolio);

/* Raise the call's lower bound by what listed conflicts show (clique.c). -ENOMEM. */
int npuplan_pack_clique_bound(struct npuplan_pack *call);
/* The exact search for conflicts of any kind (disjunctive.c). */
int npuplan_pack_disjunctive(struct npuplan_pack *call);
