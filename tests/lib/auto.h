/* SPDX-License-Identifier: MIT */
/*
 * What a test makes is freed when its variable goes out of scope, as the kernel's __free() and
 * GLib's g_autoptr() have it:
 *
 *	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
 *
 * A variable so marked is NULL or owns what it points to.
 */
#pragma once

#include <stdlib.h>

#include "npuplan.h"

static inline void auto_graph(struct npuplan_graph **graph)
{
	npuplan_graph_free(*graph);
}

static inline void auto_plan(struct npuplan_plan **plan)
{
	npuplan_plan_free(*plan);
}

static inline void auto_text(char **text)
{
	free(*text);
}

#define AUTO_GRAPH __attribute__((cleanup(auto_graph)))
#define AUTO_PLAN  __attribute__((cleanup(auto_plan)))
#define AUTO_TEXT  __attribute__((cleanup(auto_text)))
