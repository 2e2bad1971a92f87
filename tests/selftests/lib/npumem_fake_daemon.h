/* SPDX-License-Identifier: MIT */
/*
 * A planning daemon that does exactly what a test tells it, right or wrong:
 * one generic netlink socket, one call a command (uapi/npumem.yaml).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npumem_drm.h"
#include "npumem_netlink.h"
#include "npumem_request.h"

struct nl_sock;

#define FAKE_ACCEPTED 128 /* requests accepted last that DONE may be said of */

/*
 * struct fake_daemon - socket of the family npumem
 * @ready: READY messages seen while waiting for other things
 * @accepted: requests and their descriptors; @accepts is where the next one goes
 */
struct fake_daemon {
	struct nl_sock *sock;
	int family;
	unsigned int ready;
	struct {
		uint64_t id;
		int fd;
	} accepted[FAKE_ACCEPTED];
	unsigned int accepts;
};

/*
 * struct fake_request - what ACCEPT hands over
 * @fd: the request's; -1 if none
 * @planner: empty if the message had none
 * @options_size: bytes of the options, which the descriptor shows; zero if the message had none
 * @cut: the daemon may answer with a graph
 * @uid, @gid, @pid: of who opened the client's file; -1 if the message had none
 * @cgroup: path of his control group; empty if the message had none
 */
struct fake_request {
	uint64_t id;
	int fd;
	uint64_t graph_size;
	uint64_t arena_budget;
	int64_t deadline;
	uint32_t objective;
	char planner[32];
	uint64_t options_size;
	bool cut;
	uint32_t uid, gid, pid;
	char cgroup[NPUMEM_MAX_CGROUP + 1];
};

/*
 * struct fake_settled - what the request's descriptor says after DONE
 * @has_verdict: the verifier has refused the plan
 */
struct fake_settled {
	uint32_t status;
	bool has_verdict;
	struct npumem_verdict verdict;
	char message[8192];
};

/*
 * struct fake_event - message of the group "events"
 * @cmd: NPUMEM_CMD_VERDICT or NPUMEM_CMD_FAULT
 */
struct fake_event {
	uint8_t cmd;
	uint32_t pid;
	uint64_t run;
	struct npumem_verdict verdict;
	char message[512];
};

/* All: 0 or a negative errno, the kernel's own where it answered. */
int fake_open(struct fake_daemon *daemon);
/* With a portid of its own; -ENOENT while another socket has it. */
int fake_open_port(struct fake_daemon *daemon, uint32_t port);
void fake_close(struct fake_daemon *daemon);
int fake_join(struct fake_daemon *daemon, const char *group);
/* A version or a name that is missing: pass 0 or NULL. */
int fake_register(struct fake_daemon *daemon, uint32_t version, const char *name);
int fake_accept(struct fake_daemon *daemon, struct fake_request *request);
/*
 * PLAN_REQUEST on fd with a deadline ns ahead, and ACCEPT before that passes: where the
 * machine is slower, again with one twice as far away, which ns says then.
 */
#define FAKE_SOON_NS (500ll * 1000 * 1000)
int fake_accept_before(struct fake_daemon *daemon, int fd, struct drm_npumem_plan_request *args,
		       int64_t *ns, struct fake_request *request);
/* DONE, and then wait for what became of it; the descriptor must be open still. */
int fake_done(struct fake_daemon *daemon, uint64_t id, uint32_t status, const char *message,
	      struct fake_settled *settled);
/* The same with a graph of that size before the plan. */
int fake_done_cut(struct fake_daemon *daemon, uint64_t id, uint32_t status, uint64_t graph_size,
		  struct fake_settled *settled);
/* DONE with a plan, and no more. */
int fake_done_only(struct fake_daemon *daemon, uint64_t id);
/* Wait for a request to be settled, NPU_PATIENCE_NS at most, and read how. */
int fake_outcome(int fd, struct npumem_request_outcome *outcome);
/* DONE with attributes as given, for what is malformed. */
int fake_done_without(struct fake_daemon *daemon, const uint64_t *id, const uint32_t *status);
/* Wait for one message of a group, NPU_PATIENCE_NS at most: -ETIMEDOUT. */
int fake_wait_ready(struct fake_daemon *daemon);
int fake_wait_event(struct fake_daemon *daemon, struct fake_event *event);
