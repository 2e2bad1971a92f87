/* SPDX-License-Identifier: MIT */
/*
 * Plans kept in a folder, a file each. The name has the graph's digest, planner, budget and
 * version, so another of these is another file. What a file says is believed by nobody: its plan
 * is verified as any other.
 */
#pragma once

#include "enforcer.h"

/*
 * cache_read() - the plan of a graph, if there is one
 * @blobs: @blobs->plan is set; free() it
 *
 * -ENOENT: there is none. Others: the file cannot be read, or the graph is not one.
 */
int cache_read(const struct options *options, struct blobs *blobs, struct why *why);
/* Keep the plan. Other programs see all of the file or nothing. */
int cache_write(const struct options *options, const struct blobs *blobs, struct why *why);
