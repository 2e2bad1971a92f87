/* SPDX-License-Identifier: MIT */
/*
 * Where requests come from and go back to: the driver's netlink family
 * (netlink.c), or a stand-in in tests.
 */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#define TRANSPORT_MESSAGE_SIZE 4096

/**
 * struct accepted - plan request that the daemon has accepted (uapi/npumem.yaml, accept)
 * @id: its number
 * @fd: mmap() shows the graph, write() takes the plan; the daemon closes it
 * @graph_size: bytes of the graph
 * @planner: name of a planner, or "" for the daemon's choice
 * @objective: enum drm_npumem_objective
 * @arena_budget: bytes, 0 = any
 * @deadline_ns: CLOCK_MONOTONIC
 */
struct accepted {
	uint64_t id;
	int fd;
	uint64_t graph_size;
	char planner[32];
	uint32_t objective;
	uint64_t arena_budget;
	int64_t deadline_ns;
};

/**
 * struct outcome - how a request ended
 * @status: positive errno that it ended with, or zero
 * @message: the verifier's log or another reason, or ""
 */
struct outcome {
	uint32_t status;
	char message[TRANSPORT_MESSAGE_SIZE];
};

/**
 * struct transport_ops - functions of a transport; all return 0 or a negative errno
 * @accept: take the next request; -ENOENT if none waits
 * @done: answer an accepted one; -ENOENT if it was settled before. With status zero
 *	the plan is being verified from now on
 * @watch: have a handler called when an accepted request has been settled, by the
 *	answer or by anything else, until the source is disabled
 * @outcome: read the outcome of a request that was settled
 */
struct transport_ops {
	int (*accept)(void *data, struct accepted *accepted);
	int (*done)(void *data, uint64_t id, uint32_t status, const char *message);
	int (*watch)(void *data, int fd, sd_event *event, sd_event_io_handler_t handler,
		     void *userdata, sd_event_source **source);
	int (*outcome)(void *data, int fd, struct outcome *outcome);
};

struct transport {
	const struct transport_ops *ops;
	void *data;
};
