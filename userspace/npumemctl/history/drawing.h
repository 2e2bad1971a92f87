/* SPDX-License-Identifier: MIT */
/* A recording drawn: who held how much of the carveout, whose jobs ran, what was refused. */
#pragma once

#include <stdio.h>

#include "recording.h"

/* history_write_svg() - a picture that is a document of its own; the same bytes for the same input
 *
 * Time goes across, and bytes of the carveout up, a band for each client. Below are jobs a second,
 * and a mark for each thing that was refused or failed. 0 or -ENOMEM.
 */
int history_write_svg(FILE *out, const struct history *history);
/** history_write_html() - a page with the picture, and with lists of clients and marks; -ENOMEM */
int history_write_html(FILE *out, const struct history *history);
