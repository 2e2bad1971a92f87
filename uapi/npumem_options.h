/* SPDX-License-Identifier: MIT */
/*
 * npumem options: what a plan request asks the planning daemon for, beyond planner,
 * objective and budget (struct drm_npumem_plan_request).
 *
 * The driver carries options to the daemon and never looks at them. They are a list of
 * struct npumem_option, each followed by its value, which is as long as @size says and is
 * filled up with zeros to a multiple of 8 bytes. All integers are little-endian. The types
 * ascend, so none is there twice; what is not there is the planner's choice.
 *
 * So there is one way to write what is asked for. New types may come at any time, and a type
 * never gets another value or meaning; there is no version beside that. A daemon passes over
 * nothing: the request ends with EOPNOTSUPP for a type that it does not know, EBADMSG for
 * options that are not such a list, and EINVAL for a value that is none, or not beside
 * another, each with a sentence that names the option by its number.
 *
 * Options that cut (NPUMEM_OPTION_RECOMPUTE and those from NPUMEM_OPTION_BANDS on) have the
 * daemon make another graph, which the plan is then of. For that the request needs
 * NPUMEM_PLAN_REQUEST_CUT, and the graph its model (NPUMEM_GRAPH_SECTION_MODEL), of which it
 * is the whole operators: a step an operator, in that order. Tensors of the graph are those
 * of the new one, with their numbers; others may follow. A step of the new graph has the
 * cookie of the step whose operator it is a part of.
 *
 * NPUMEM_OPTION_CARRY_COPIES may add steps that are of no operator, so that loops can be
 * planned: each copies what it reads of one tensor to the same bytes of the one that it
 * writes, which follows behind those of the graph and is as large, and has cookie 0. They stand
 * at the end of a block, or in a block of their own, which follows behind those of the graph.
 */
#ifndef NPUMEM_OPTIONS_H
#define NPUMEM_OPTIONS_H

#include <linux/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Most bytes that the options of a request may have; E2BIG beyond. */
#define NPUMEM_OPTIONS_MAX_BYTES 65536

/**
 * struct npumem_option - the head of an option
 * @type: enum npumem_option_type
 * @size: bytes of the value, which follows
 */
struct npumem_option {
	__u32 type;
	__u32 size;
};

/* What the value is stands behind each type; numbers have 8 bytes. */
enum npumem_option_type {
	NPUMEM_OPTION_ALIGNMENT = 1,	   /* number: of every offset; a power of two */
	NPUMEM_OPTION_SCHEDULE = 2,	   /* number: enum npumem_option_schedule */
	NPUMEM_OPTION_BUDGET = 3,	   /* number: enum npumem_option_budget */
	NPUMEM_OPTION_WORK_LIMIT = 4,	   /* number: units of work of the search, > 0 */
	NPUMEM_OPTION_MEMORY_LIMIT = 5,	   /* number: bytes that the search holds, > 0 */
	NPUMEM_OPTION_BANKS = 6,	   /* two struct npumem_option_bank; no budget */
	NPUMEM_OPTION_TRAFFIC_FACTOR = 7,  /* number: millionths, from 1000000 on */
	NPUMEM_OPTION_WEIGHTS_ON_CHIP = 8, /* number: bytes, > 0 */
	NPUMEM_OPTION_LAYOUT = 9,	   /* number: enum npumem_option_layout, of the graph */
	NPUMEM_OPTION_RECOMPUTE = 10,	   /* number: operators that run again, 0 for any */
	NPUMEM_OPTION_BANDS = 11,	   /* number: of rows, of each operator; 1 to 65536 */
	NPUMEM_OPTION_ROWS = 12,	   /* number: of a tile, of each operator; 1 to 2^32 - 1 */
	NPUMEM_OPTION_ON_CHIP = 13,	   /* number: bytes that a step has to fit into, > 0 */
	NPUMEM_OPTION_DOUBLE_BUFFER = 14,  /* nothing: what changes fits twice; with ON_CHIP */
	NPUMEM_OPTION_TILES = 15,	   /* struct npumem_option_tile, one or more */
	NPUMEM_OPTION_CARRY_COPIES = 16,   /* number: enum npumem_option_copies */
	NPUMEM_OPTION_INSTANCES = 17,	   /* number: of blocks, to 4096; with CARRY_COPIES */
	NPUMEM_OPTION_COLUMNS = 18,	   /* number: of a tile of an image; with ROWS */
};

/* In which order the steps run; else the planner chooses, if it does. */
enum npumem_option_schedule {
	NPUMEM_SCHEDULE_GIVEN = 1,	/* the graph's */
	NPUMEM_SCHEDULE_LEAST_PEAK = 2, /* of least peak footprint, whatever it moves */
	NPUMEM_SCHEDULE_TILED = 3,	/* that of tile scheduling, with the lowest peak */
};

/* Budgets that the daemon finds first, of planners that move tensors; arena_budget is zero then. */
enum npumem_option_budget {
	NPUMEM_BUDGET_NEEDED = 1, /* what the step needs that needs most: less is infeasible */
	NPUMEM_BUDGET_MIDDLE = 2, /* the mean of the two others */
	NPUMEM_BUDGET_PEAK = 3,	  /* the least peak of any order: nothing is spilled */
};

/* Order in which the bytes of the graph's tensors lie. */
enum npumem_option_layout {
	NPUMEM_LAYOUT_NHWC = 0, /* also where the option is not there */
	NPUMEM_LAYOUT_NCHW = 1,
	NPUMEM_LAYOUT_NC32HW32 = 2, /* NC/32HWC32: blocks of 32 channels, the last one padded */
};

/* When values that a loop carries from one iteration to the next are copied. */
enum npumem_option_copies {
	NPUMEM_COPIES_NEEDED = 1,  /* where the graph could not be planned otherwise */
	NPUMEM_COPIES_SMALLER = 2, /* there, and where the arena is smaller for it */
};

/**
 * struct npumem_option_bank - on-chip memory of one speed, a part of the arena
 * @size: bytes, > 0
 * @bandwidth: bytes a microsecond, > 0
 */
struct npumem_option_bank {
	__u64 size;
	__u64 bandwidth;
};

enum npumem_option_order {
	NPUMEM_ORDER_ROWS = 0,	   /* all channels of some rows, then the next rows */
	NPUMEM_ORDER_CHANNELS = 1, /* all rows of some channels, then the next channels */
};

/**
 * struct npumem_option_tile - how one operator is cut, whatever is said of all
 * @op: its id in the model; they ascend
 * @rows: output rows of a tile; 0 for all
 * @channels: output channels of a tile; 0 for all
 * @order: enum npumem_option_order: which tiles come first
 * @columns: columns of each row of a tile; 0 for whole rows
 */
struct npumem_option_tile {
	__u64 op;
	__u32 rows;
	__u32 channels;
	__u32 order;
	__u32 columns;
};

#if defined(__cplusplus)
}
#endif

#endif /* NPUMEM_OPTIONS_H */
