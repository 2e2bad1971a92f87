/* SPDX-License-Identifier: MIT */
/*
 * The verifier's unit tests spoil one of these small valid graphs and plans, and compare the whole
 * refusal: errno, rule, log line.
 */
#pragma once

#include "blob_build.h"
#include "unit.h"
#include "verify/verify.h"

/* Tensors, steps and tiles of chain(): tile i is all of tensor i. */
enum { X, A, Y };
enum { COPY, MIX };

/*
 * x (input) --copy--> a --mix--> y (output), 8 bytes each, one after another in
 * an arena of 24 bytes.
 */
void chain(struct build *b);

/* Tensors, steps, instances and edges of the plan of loop(). */
enum { LX, LH, LT, LY };
enum { INIT, BODY, OUT };
enum { HEAD0, BODY_A, BODY_B, TAIL_A, TAIL_B };
enum { INTO, A_TO_B, A_OUT, B_TO_A, B_OUT, EXIT_A, EXIT_B };

/*
 * x (input) --init--> h; then as often as one likes h --body--> t, and t is the
 * next h; then h --out--> y (output). 8 bytes each. Graph edges: 0 head to body,
 * 1 body to body with t -> h, 2 body to tail with t -> h, 3 tail to the exit.
 *
 * Unrolled twice, h and t take turns at bytes 8 and 16: t is at 16 in body A and
 * at 8 in body B; x is at 0 and y is at 0. Tile i is all of tensor i.
 */
void loop(struct build *b);

/* Adds a tensor of 8 bytes and a tile of all of it, which has the tensor's number. */
void add_tensor(struct build *b, uint32_t kind, const char *name);
/* Adds a step that reads tile @read, and @other (or NPUMEM_NONE), and writes tile @write. */
void add_step(struct build *b, const char *name, uint32_t read, uint32_t other, uint32_t write);

/* The verifier accepts both blobs; the caller frees plan and graph by free_plan(). */
struct npuv_plan *accept_plan(struct build *b);
void free_plan(struct npuv_plan *plan);
/* The same of who needs nothing of it: all is freed, the build, too. */
void accept_build(struct build *b);

/* The verifier refuses the blob with exactly this; @text has no newline. Frees the blob. */
struct npumem_verdict refuse_graph_blob(struct build_blob blob, int err, uint32_t rule,
					const char *text);
struct npumem_verdict refuse_plan_blob(const struct build *b, struct build_blob blob, int err,
				       uint32_t rule, const char *text);
/* The same of the blobs of a build, which is freed, too. */
struct npumem_verdict refuse_graph(struct build *b, int err, uint32_t rule, const char *text);
struct npumem_verdict refuse_plan(struct build *b, int err, uint32_t rule, const char *text);

/* Makes struct build b a chain and spoils it by statements: its graph or plan is refused. */
#define REFUSE_GRAPH(spoil, err, rule, text)       \
	do {                                       \
		chain(&b);                         \
		spoil;                             \
		refuse_graph(&b, err, rule, text); \
	} while (0)
#define REFUSE_PLAN(spoil, err, rule, text)       \
	do {                                      \
		chain(&b);                        \
		spoil;                            \
		refuse_plan(&b, err, rule, text); \
	} while (0)

/* The same with a loop. */
#define REFUSE_LOOP(spoil, err, rule, text)       \
	do {                                      \
		loop(&b);                         \
		spoil;                            \
		refuse_plan(&b, err, rule, text); \
	} while (0)
