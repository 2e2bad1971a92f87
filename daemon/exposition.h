/* SPDX-License-Identifier: MIT */
/*
 * Where monitors get the metrics (metrics.h): from a unix socket, by HTTP, and from a file that is
 * written again and again.
 *
 * The daemon answers GET with one text and closes. Of libraries for that libmicrohttpd is the one
 * to have; Debian's brings GnuTLS and its kin into a process that has CAP_NET_ADMIN, for fifty
 * lines less.
 */
#pragma once

#include <systemd/sd-event.h>

#include "config.h"

/*
 * struct exposition_source - where the text comes from
 * @text: makes it, as metrics_text() does
 */
struct exposition_source {
	char *(*text)(void *data, bool open, size_t *size);
	void *data;
};

struct exposition;

/*
 * exposition_new() - nothing is told yet
 *
 * -ENOMEM, or what the event loop has no clock for.
 */
int exposition_new(sd_event *event, const struct exposition_source *source,
		   struct exposition **out);
/*
 * exposition_set() - tell where the configuration says, and no more where it said before
 *
 * What is there as the configuration has it stays, with those who are being answered. What cannot
 * be had the log says, once, and it is tried again by itself.
 */
void exposition_set(struct exposition *exposition, const struct config *config);
/* Ends all, and removes the socket. NULL is fine. */
void exposition_free(struct exposition *exposition);
