/* SPDX-License-Identifier: MIT */
/* Packers that place one item after another and move none again. */
#pragma once

#include "pack/base/run.h"

/* greedy.c: first fit in an order (enum npuplan_order); best fit; the best of them all. */
int npuplan_pack_first_fit(struct npuplan_pack *run, int order);
int npuplan_pack_best_fit(struct npuplan_pack *run, int unused);
int npuplan_pack_best_greedy(struct npuplan_pack *run, int unused);
/* npuplan_pack() by first fit in an order, however much work that is. */
int npuplan_pack_in_order(int order, const struct npuplan_pack_problem *problem, uint64_t *offsets,
			  struct npuplan_pack_result *result, struct npuplan_error *error);
/* One first fit (or best fit) in a given order. -EINTR: stopped before there was a packing. */
int npuplan_pack_fit(struct npuplan_pack *run, const uint32_t *order, bool best, uint64_t *offsets);

/* squeaky.c: first fit again and again, @rounds times; a few rounds in a row may be no better. */
int npuplan_pack_squeaky(struct npuplan_pack *run, int rounds);
