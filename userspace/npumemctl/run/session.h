/* SPDX-License-Identifier: MIT */
/*
 * One model on one device: a graph, its plan, and a run of it that executes
 * inferences with operator "mix" beside the reference.
 */
#pragma once

#include "npumem.h"
#include "npumem_sim.h"
#include "asking.h"
#include "compute.h"
#include "model/model.h"
#include "path.h"
#include "reference.h"
#include "transfers.h"

/**
 * struct session_args - how a model is to be run
 * @device: path of the device's node; NULL: the first npumem device
 * @engine: name of the engine that computes the steps; NULL: "sim", with operator "mix". Another
 *	one computes the model
 * @seed: what the inputs that such a one computes with are made from
 * @asking: what npumemd is asked for
 * @timeout: seconds that planning may take, and each inference
 * @carveout: external tensors are bound to a BO in the carveout, not in system memory
 * @one_engine: transfers go to the steps' engine, even if there is another one for them
 */
struct session_args {
	const char *device;
	const char *engine;
	uint64_t seed;
	struct asking asking;
	double timeout;
	bool carveout;
	bool one_engine;
};

/*
 * struct session - a model on a device, from session_open() to session_close()
 * @args: what was asked for; the caller's
 * @model, @file: the model, and a plan of it: the caller loads them. @file.plan is NULL until the
 *	daemon has made one; @model.graph is the daemon's then if it was asked to cut
 * @host: host BO of the run; NULL: the plan needs none
 * @external: BO that all external tensors are bound to; NULL: there are none
 * @external_offset: per tensor, where it is in @external, in bytes
 * @arena, @host_bytes, @external_bytes: the mappings of arena, @host and @external
 * @engine, @transfer_engine: numbers of the engines that steps and transfers go to
 * @computes: @engine computes the model, by @compute, instead of operator "mix"
 * @command: what "sim" is told to do with each step
 * @sync: syncobj of the last job
 * @plan_seconds, @run_seconds: how long planning, and all inferences, have taken
 * @jobs: how many jobs have been submitted
 * @blocks: how many plan blocks have been executed
 * @traffic: bytes that the driver has moved in the last inference, by kind
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
	uint32_t transfer_engine;
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

/*
 * The functions from session_open() to session_reset() are called in the order in which they stand
 * here; each says what is wrong and returns an exit code.
 */

/*
 * session_open() - make the commands, if the engine takes some; then open the device, and load the
 * plan of @file, or have the daemon make one
 */
int session_open(struct session *s);
/** session_start() - create the run, with host memory and bindings, and the reference's buffers */
int session_start(struct session *s);
/*
 * session_infer() - execute one inference on the device, and by the reference
 * @seed: what the bytes of the inputs are made from; it is the operator's key, too
 * @first: it is the first inference, for which bytes of state are made up, too
 *
 * It also fails if the driver has not moved what the plan says.
 */
int session_infer(struct session *s, const struct path *path, uint64_t seed, bool first);
/* Copy the bytes that a tensor has after an inference to @bytes, which has room for all of them. */
int session_result(struct session *s, const struct path *path, uint32_t tensor, uint8_t *bytes);
/** session_reset() - make the run ready for another inference */
int session_reset(struct session *s);

/* The device's path for messages, as far as it is known. */
const char *session_device(const struct session *s);
/* Give back all that a session has. It may be called at any time, and more than once. */
void session_close(struct session *s);
