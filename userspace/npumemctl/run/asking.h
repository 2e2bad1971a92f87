/* SPDX-License-Identifier: MIT */
/* What npumemd is asked for: the options of "npumemctl plan", as a plan request has them. */
#pragma once

#include "npumem.h"
#include "model/model.h"

/**
 * struct asking - what the command line says of the plan that npumemd is to make
 * @request: without a deadline; asking_cut() adds how the graph is cut
 * @banks: of @request
 * @tiles: of @request; asking_fini() frees them
 * @objective: 1 more than the enum drm_npumem_objective; 0: none was given
 * @cuts: npumemd cuts the graph, and not npumemctl
 */
struct asking {
	struct npumem_request request;
	struct npumem_option_bank banks[2];
	struct npumem_option_tile *tiles;
	uint32_t objective;
	bool cuts;
};

/* The options: a child of a command, whose input is a struct asking. */
extern const struct command asking_command;

/* An option that was given, as it is typed, or NULL: none was. */
const char *asking_said(const struct asking *asking);

/* The option that has npumemd make another graph of the model, as it is typed; NULL: none. */
const char *asking_cuts(const struct asking *asking);

/*
 * asking_model() - the model as it is given to the driver
 * @tiling: what is said of cutting: done here, or asked for
 *
 * Takes the place of model_tile(). Says what is wrong and returns false if it fails.
 */
bool asking_model(struct asking *asking, struct model *model, const struct tiling *tiling);

void asking_fini(struct asking *asking);
