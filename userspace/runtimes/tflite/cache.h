/* SPDX-License-Identifier: MIT */
/* Plans kept in a folder, which npumemd and npumemctl keep theirs in, too (plancache.h). */
#pragma once

#include "enforcer.h"

/*
 * cache_read() - the plan of a graph, if there is one
 * @blobs: @blobs->plan is set; free() it
 *
 * -ENOENT: there is none; -EBADMSG: there was one, which was damaged. Others: the folder or the
 * file cannot be read.
 */
int cache_read(const struct options *options, struct blobs *blobs, struct why *why);
/* Keep the plan. Other programs see all of the file or nothing. */
int cache_write(const struct options *options, const struct blobs *blobs, struct why *why);
