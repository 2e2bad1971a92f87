/* SPDX-License-Identifier: MIT */
/*
 * npumem request fd: what the planning daemon gets for a request that it accepts
 * (uapi/npumem.yaml).
 *
 * mmap(), read-only, shows the graph blob, zeros to the end of its last page, and, from the
 * next page on, the options (npumem_options.h) likewise; write() and pwrite() take the
 * plan blob, or a graph blob and, right behind it, the blob of a plan of that. poll()
 * says POLLOUT while the request waits for its answer, POLLIN once it is settled, and
 * POLLHUP with that if it has ended without the daemon's DONE: the requester gave it up,
 * its deadline passed, its device or the daemon's socket is gone. read() gives struct
 * npumem_request_outcome, and waits until there is one (EAGAIN with O_NONBLOCK).
 */
#ifndef NPUMEM_REQUEST_H
#define NPUMEM_REQUEST_H

#include "npumem_graph.h"
#include "npumem_plan.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Text of an outcome with its NUL, rounded up: NPUMEM_MAX_MESSAGE and more. */
#define NPUMEM_OUTCOME_TEXT 4104

/**
 * struct npumem_request_outcome - how a request has ended
 * @status: zero, the plan is verified and ready; else a positive errno
 * @pad: zero
 * @message: reason, UTF-8, NUL-terminated
 * @verdict: its rule is NPUMEM_RULE_NONE unless the verifier refused the plan
 *
 * A read() of fewer bytes gets the first ones, and so the struct can grow.
 */
struct npumem_request_outcome {
	__u32 status;
	__u32 pad;
	char message[NPUMEM_OUTCOME_TEXT];
	struct npumem_verdict verdict;
};

#if defined(__cplusplus)
}
#endif

#endif /* NPUMEM_REQUEST_H */
