/* SPDX-License-Identifier: MIT */
/*
 * One model on one device: a graph, its plan, and a run of it that executes
 * inferences with operator "mix" beside the reference.
 */
#pragma once

#include "npumem.h"
#include "npumem_sim.h"
#include "compute.h"
#include "model/model.h"
#include "path.h"
#include "reference.h"
#include "transfers.h"

/*
 * struct session_args - how to run
 * @device: node, or NULL for the first npumem device
 * @engine: its name; NULL: "sim", with operator "mix". Another one computes the model
 * @seed: of the inputs that such a one computes with
 * @planner, @budget, @objective: for npumemd; NULL and 0: as it likes
 * @timeout: seconds, for planning and for each inference
 * @carveout: external tensors are bound to a BO in the carveout, not in system memory
 */
struct session_args {
	const char *device;
	const char *engine;
	uint64_t seed;
	const char *planner;
	uint64_t budget;
	uint32_t objective;
	double timeout;
	bool carveout;
};

/*
 * struct session
 * @args: the caller's
 * @model, @file: the caller loads them; @file.plan is NULL until the daemon made one
 * @external: BO that all external tensors are bound to, or NULL without any
 * @external_offset: per tensor where it is in @external
 * @arena, @host_bytes, @external_bytes: all mapped
 * @jobs, @blocks: submitted, and plan blocks executed, so far
 * @computes: it computes the model, by @compute, instead of operator "mix"
 * @traffic: of the last inference, counted by the driver
 */
struct session {
	const struct session_args *args;
	struct model model;
	struct plan_file file;
	struct npumem_device *device;
	struct drm_npumem_info info;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_plan_stats stats;
	struct npumem_bo *host;
	struct npumem_bo *external;
	uint64_t *external_offset;
	struct npumem_run *run;
	struct reference ref;
	uint8_t *arena;
	uint8_t *host_bytes;
	uint8_t *external_bytes;
	uint32_t engine;
	struct npumem_sim_command command;
	struct compute compute;
	bool computes;
	uint32_t sync;
	double plan_seconds;
	double run_seconds;
	uint64_t jobs;
	uint64_t blocks;
	struct traffic traffic;
};

/* Whether the engine asked for computes what the model says, instead of operator "mix". */
bool session_computes(const struct session_args *args);

/* All of these are called in this order; each says what is wrong and returns an exit code. */

/** session_open() - the device, and on it the plan: @file's, or the daemon's */
int session_open(struct session *s);
/** session_start() - arena, host memory, bindings, and buffers of the reference */
int session_start(struct session *s);
/*
 * session_infer() - one inference, on the device and of the reference
 * @seed: of the inputs' bytes, and key of the operator
 * @first: of the first one: state has to be made up, too
 *
 * Fails, too, if the driver has moved other than what the plan says it would.
 */
int session_infer(struct session *s, const struct path *path, uint64_t seed, bool first);
/* session_result() - bytes of a tensor after it
 * @bytes: as many as the tensor has
 */
int session_result(struct session *s, const struct path *path, uint32_t tensor, uint8_t *bytes);
/** session_reset() - before another one */
int session_reset(struct session *s);

/* The device's path for messages, as far as it is known. */
const char *session_device(const struct session *s);
/* At any time, and more than once. */
void session_release(struct session *s);
