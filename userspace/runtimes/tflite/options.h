/* SPDX-License-Identifier: MIT */
/* Options of the delegate: keys and values, as programs hand them to external delegates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "why.h"

/* enum fallback - what to do where the driver or its daemon is missing */
enum fallback {
	FALLBACK_PROCESS, /* plan, and if need be enforce, in this process */
	FALLBACK_ASIDE,	  /* claim nothing: the runtime does all as without the delegate */
	FALLBACK_ERROR,
};

/* enum engine - who computes */
enum engine {
	ENGINE_BORROW,	/* the runtime's own kernels */
	ENGINE_COMPUTE, /* npumem-engine, or its kernels in this process */
};

/*
 * struct options - what the program wants; zero = default
 * @device: path of a device's node; NULL: the first one that there is
 * @none: no device at all: in this process
 * @fallback: see enum fallback
 * @engine: see enum engine
 * @bands, @rows, @onchip: how each operator is cut: into so many bands, tiles of so many rows, or
 *	steps that fit into so many bytes; one of them at most, of ENGINE_COMPUTE
 * @planner: name; NULL: "auto", or the daemon's choice
 * @budget: bytes that an arena may have; 0: any
 * @cache: folder for plans; NULL: none
 * @follow: npumemd is asked for a better plan after so many seconds, at least; 0: never
 * @strict: an operator that is not claimed is an error
 * @reuse_inputs: the memory of the model's inputs is used for others once they are read
 * @bound_inputs: the model's inputs lie in dma-bufs that they are bound to
 * @verbose: 0, 1 or 2
 */
struct options {
	char *device;
	bool none;
	enum fallback fallback;
	enum engine engine;
	uint32_t bands;
	uint32_t rows;
	uint64_t onchip;
	char *planner;
	uint64_t budget;
	char *cache;
	uint32_t follow;
	bool strict;
	bool reuse_inputs;
	bool bound_inputs;
	unsigned int verbose;
};

/*
 * options_read() - take keys and values
 *
 * -EINVAL: a key is unknown or there twice, or has a bad value: @why names it; -ENOMEM.
 * options_fini() in any case.
 */
int options_read(struct options *options, char **keys, char **values, size_t count,
		 struct why *why);
void options_fini(struct options *options);
