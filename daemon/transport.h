/* SPDX-License-Identifier: MIT */
/*
 * Where requests come from and go back to: the driver's netlink family
 * (netlink.c), or a stand-in in tests.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#define TRANSPORT_MESSAGE_SIZE 4096
#define TRANSPORT_CGROUP_SIZE  512

/**
 * struct client - who opened the file that a request came by
 * @known: the driver says so; an older one does not
 * @uid: effective user
 * @gid: effective group
 * @pid: process; 0: an older driver does not say
 * @cgroup: path of the control group, or ""
 */
struct client {
	bool known;
	uint32_t uid;
	uint32_t gid;
	uint32_t pid;
	char cgroup[TRANSPORT_CGROUP_SIZE];
};

/* A client's user as one number; all of whom the driver does not tell are one user. */
static inline uint64_t client_user(const struct client *client)
{
	return client->known ? client->uid : UINT64_MAX;
}

/**
 * struct accepted - plan request that the daemon has accepted (uapi/npumem.yaml, accept)
 * @id: its number
 * @fd: mmap() shows the graph, write() takes the plan; the daemon closes it
 * @graph_size: bytes of the graph
 * @planner: name of a planner, or "" for the daemon's choice
 * @objective: enum drm_npumem_objective
 * @arena_budget: bytes, 0 = any
 * @deadline_ns: CLOCK_MONOTONIC
 * @options_size: bytes of the options, which mmap() shows from the page behind the graph on; 0 =
 * 	none
 * @cut: the plan may be of another graph, which is written before it
 * @client: whose request it is
 * @arena_limit: most bytes of the arena, which a policy of the daemon's sets; 0 = any
 */
struct accepted {
	uint64_t id;
	int fd;
	uint64_t graph_size;
	char planner[32];
	uint32_t objective;
	uint64_t arena_budget;
	int64_t deadline_ns;
	uint64_t options_size;
	bool cut;
	struct client client;
	uint64_t arena_limit;
};

/**
 * struct answer - what the daemon says to a request
 * @status: positive errno, or zero: the plan was written
 * @graph_size: bytes of the graph that was written before the plan; 0 = none
 * @message: reason for a status that is not zero
 */
struct answer {
	uint32_t status;
	uint64_t graph_size;
	const char *message;
};

/**
 * struct outcome - how a request ended
 * @status: positive errno that it ended with, or zero
 * @refused: the plan itself was refused, and would be again, whoever asks for it; else a status
 *	says what the client had not, or what came in between
 * @message: the verifier's log or another reason, or ""
 */
struct outcome {
	uint32_t status;
	bool refused;
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
	int (*done)(void *data, uint64_t id, const struct answer *answer);
	int (*watch)(void *data, int fd, sd_event *event, sd_event_io_handler_t handler,
		     void *userdata, sd_event_source **source);
	int (*outcome)(void *data, int fd, struct outcome *outcome);
};

struct transport {
	const struct transport_ops *ops;
	void *data;
};
