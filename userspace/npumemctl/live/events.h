/* SPDX-License-Identifier: MIT */
/* What the driver tells of refusals and failures, by netlink (npumem(4)). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "npumem.h"

/**
 * struct live_event - an event
 * @is_fault: a job was refused, or failed; else a plan was refused
 * @device: minor number of the device
 * @pid: process whose call was refused; 0: a job failed
 * @run: number of the run, of a fault
 * @verdict: what was refused, and where
 * @message: for people; "" if there is none
 */
struct live_event {
	bool is_fault;
	uint32_t device;
	uint32_t pid;
	uint64_t run;
	struct npumem_verdict verdict;
	char message[512];
};

/**
 * struct live_tell - who is told what
 * @event: of each event
 * @driver: when the driver has gone, and when it is there again
 */
struct live_tell {
	void (*event)(void *context, const struct live_event *event);
	void (*driver)(void *context, bool there);
};

struct live_listener;

/**
 * live_listen() - begin to listen
 * @listener: out: live_listen_end() it
 * @error: out: a sentence
 *
 * Negative errno: -EPERM without CAP_NET_ADMIN; -ENOENT: the driver is not loaded; -ENOMEM; -EIO.
 */
int live_listen(struct live_listener **listener, struct npumem_error *error);
/** live_listen_fd() - it can be read when there is an event */
int live_listen_fd(const struct live_listener *listener);
/*
 * live_next() - read what there is
 * @tell: its functions are called with @context
 *
 * A driver that goes and comes again is listened to again. Negative errno: -ENOBUFS: events have
 * been lost, and it goes on; others end it.
 */
int live_next(struct live_listener *listener, const struct live_tell *tell, void *context);
void live_listen_end(struct live_listener *listener);
