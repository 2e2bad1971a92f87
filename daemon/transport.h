/* SPDX-License-Identifier: MIT */
/*
 * Where requests come from and go back to: the driver's netlink family
 * (netlink.c), or a stand-in in tests.
 */
#ifndef NPUMEMD_TRANSPORT_H
#define NPUMEMD_TRANSPORT_H

#include <stdint.h>

#define TRANSPORT_MESSAGE_SIZE 4096

/**
 * struct accepted - plan request that is ours now (uapi/npumem.yaml, accept)
 * @id: its number
 * @fd: mmap() shows the graph, write() takes the plan; ours to close
 * @graph_size: bytes
 * @planner: name, or "" for the daemon's choice
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
 * struct outcome - what the driver said to DONE
 * @status: positive errno that the request ended with, or zero
 * @message: the verifier's log, or ""
 */
struct outcome {
	uint32_t status;
	char message[TRANSPORT_MESSAGE_SIZE];
};

/**
 * struct transport_ops - all return 0 or a negative errno
 * @accept: take the oldest request; -ENOENT if none waits
 * @done: settle an accepted one; -ENOENT if it was settled before
 */
struct transport_ops {
	int (*accept)(void *data, struct accepted *accepted);
	int (*done)(void *data, uint64_t id, uint32_t status, const char *message,
		    struct outcome *outcome);
};

struct transport {
	const struct transport_ops *ops;
	void *data;
};

#endif /* NPUMEMD_TRANSPORT_H */
