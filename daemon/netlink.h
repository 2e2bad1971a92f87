/* SPDX-License-Identifier: MIT */
/*
 * The driver's generic netlink family (uapi/npumem.yaml), from the daemon's side.
 *
 * Two sockets. Commands go out on one and wait for their answer, which the
 * kernel has ready when sendmsg() returns; that socket is the registered one,
 * and its closing is how the driver knows of the daemon's death. The other one
 * listens, in the event loop: to "requests" of the family and to "notify" of
 * nlctrl, which tells when the family comes and goes with the module.
 *
 * States: detached (no family; waiting for nlctrl) and attached (registered).
 * What cannot be mended by waiting ends the daemon: see struct netlink_events.
 */
#pragma once

#include <systemd/sd-event.h>

#include "transport.h"

/**
 * struct netlink_events - called from the event loop, or from netlink_start()
 * @absent: the driver is not loaded; it is waited for
 * @attached: registered with the driver; requests may already wait
 * @ready: requests wait to be accepted
 * @detached: the driver is gone, and all requests with it
 * @refused: the driver will not have this daemon: -EBUSY another one is
 *	registered, -EPERM no CAP_NET_ADMIN, -EPROTONOSUPPORT other version
 */
struct netlink_events {
	void (*absent)(void *userdata);
	void (*attached)(void *userdata);
	void (*ready)(void *userdata);
	void (*detached)(void *userdata);
	void (*refused)(int err, void *userdata);
};

struct netlink;

/** netlink_open() - sockets; a negative errno if there is no netlink */
int netlink_open(sd_event *event, const struct netlink_events *events, void *userdata,
		 struct netlink **out);
/** netlink_start() - first try to register; if there is no driver yet, wait for it */
void netlink_start(struct netlink *netlink);
void netlink_close(struct netlink *netlink);

/* @data is the struct netlink. */
extern const struct transport_ops netlink_transport_ops;
