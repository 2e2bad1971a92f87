/* SPDX-License-Identifier: MIT */
/*
 * The driver's generic netlink family (uapi/npumem.yaml), from the daemon's side.
 *
 * It has two sockets. Commands go out on one and wait for their answer, which the
 * kernel has ready when sendmsg() returns. That socket is the registered one: when it is
 * closed, the driver knows that the daemon is dead. The other one listens, in the event
 * loop, to group "requests" of the family and to group "notify" of nlctrl, which tells
 * when the family comes and goes with the module.
 *
 * States: detached (no family, or that of a driver of another version; waiting for nlctrl) and
 * attached (registered).
 * An error that waiting cannot mend ends the daemon: see struct netlink_events.
 */
#pragma once

#include <systemd/sd-event.h>

#include "transport.h"

/**
 * struct netlink_events - handlers, called from the event loop or from netlink_start()
 * @absent: the driver is not loaded; it is waited for
 * @attached: registered with the driver; requests may already wait
 * @ready: requests wait to be accepted
 * @detached: the driver is gone, and all requests with it; also one of another version
 * @refused: the driver will not have this daemon: -EBUSY another one is
 *	registered, -EPERM no CAP_NET_ADMIN; -EPROTONOSUPPORT other version: told once of each that
 *	is loaded, and the next one is waited for
 */
struct netlink_events {
	void (*absent)(void *userdata);
	void (*attached)(void *userdata);
	void (*ready)(void *userdata);
	void (*detached)(void *userdata);
	void (*refused)(int err, void *userdata);
};

struct netlink;

/** netlink_open() - open both sockets; a negative errno if there is no netlink */
int netlink_open(sd_event *event, const struct netlink_events *events, void *userdata,
		 struct netlink **out);
/** netlink_start() - try to register; if there is no driver yet, wait for it */
void netlink_start(struct netlink *netlink);
void netlink_close(struct netlink *netlink);

/* The transport of requests by netlink; its functions get the struct netlink as their data. */
extern const struct transport_ops netlink_transport_ops;
