/* SPDX-License-Identifier: MIT */
/*
 * An order in which all that arrives comes as early as there is room for it, while steps still run
 * that use other bytes: buffers of two steps and more at once.
 */
#pragma once

#include "moves.h"

/* cosma_ahead_order() - put the events in another order
 * @moves: as the plan has them; steps keep their order
 * @room: bytes of the arena that are taken at most while something comes before it has to; 0: all
 *	lies where the plan has it, but for what comes early, which is given other addresses that are
 *	free as long
 * @arrangement: out: the order; its times are the caller's to find. Its addresses: in: the plan's;
 *	out: the same, or, without @room, the new ones, which are free if each stay is used by a step
 * @spans: out: per item, its instants in that order, longer where something is to begin while
 *	others still run: what has addresses for these does not wait for bytes
 * @work: units are added
 *
 * -ENOMEM.
 */
int cosma_ahead_order(const struct cosma_moves *moves, uint64_t room,
		      struct cosma_arrangement *arrangement, struct npuplan_item *spans,
		      uint64_t *work);
