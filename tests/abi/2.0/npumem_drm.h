/* SPDX-License-Identifier: MIT */
/*
 * npumem: ioctls of the npumem DRM driver.
 *
 * Device node: /dev/accel/accelN where the kernel has CONFIG_DRM_ACCEL, else
 * /dev/dri/renderDN (the card node that the latter comes with cannot be opened:
 * EOPNOTSUPP); drmGetVersion() names the driver "npumem".
 *
 * Rules. Structs have fixed-size types, explicit padding and sizes that are
 * multiples of 8. Every flag that is not defined and every pad must be zero
 * (EINVAL). Arrays carry their stride, so records can grow: a smaller stride
 * than this header's is EINVAL, a larger one is accepted while the bytes
 * beyond are zero (E2BIG otherwise). Bytes go by struct drm_npumem_buffer. Handles
 * belong to one open file. Times are absolute CLOCK_MONOTONIC nanoseconds.
 *
 * Errors, the same for all: ENOENT no such handle; EINVAL a rule is broken;
 * EBADMSG a blob is not well formed; E2BIG over a limit of NPUMEM_QUERY_INFO;
 * EFAULT memory not mapped; ENOSPC the carveout is full, or the user's share of
 * it; ENOMEM system memory is; EDQUOT the user's share of kernel memory is;
 * ENODEV the device is gone; EOPNOTSUPP not supported (yet); ETIMEDOUT the
 * deadline passed; ENOTCONN no daemon is there; ECANCELED the request was given
 * up; ECONNRESET the daemon went away with it; EBUSY in use; EMFILE too many
 * handles of one kind, or BOs bound; ENOLCK it is not the run's turn; EACCES of RUN_BIND,
 * RUN_CREATE, DEV_QUERY and mmap(), EPERM, ENXIO and EIO of SUBMIT, EALREADY of RUN_TURN as
 * said there. Never EAGAIN: libdrm's drmIoctl() would spin on it.
 *
 * Structs are copied back, and verdicts and logs written, on failure too.
 *
 * Shares. A user (who opened the file; his files have it together) without
 * CAP_SYS_RESOURCE may have half of each carveout bank and, for what graphs, plans and
 * runs keep, an eighth of the machine's memory; root may say otherwise (parameters
 * carveout_share and memory_mib of the module). Where the kernel has the dmem cgroup
 * controller, limits for region "drm/DEVICE/bankINDEX" hold as well.
 */
#ifndef NPUMEM_DRM_H
#define NPUMEM_DRM_H

#include "drm.h"

#include "npumem_graph.h"
#include "npumem_options.h"
#include "npumem_plan.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define NPUMEM_DRIVER_NAME "npumem"
#define NPUMEM_UAPI_MAJOR  2 /* 1: jobs had operators instead of their engine's commands */
#define NPUMEM_UAPI_MINOR  0

enum drm_npumem_ioctl {
	DRM_NPUMEM_DEV_QUERY = 0x00,
	DRM_NPUMEM_BO_CREATE = 0x01,
	DRM_NPUMEM_BO_MMAP_OFFSET = 0x02,
	DRM_NPUMEM_BO_WAIT = 0x03,
	DRM_NPUMEM_GRAPH_CREATE = 0x04,
	DRM_NPUMEM_GRAPH_DESTROY = 0x05,
	DRM_NPUMEM_PLAN_REQUEST = 0x06,
	DRM_NPUMEM_PLAN_LOAD = 0x07,
	DRM_NPUMEM_PLAN_READ = 0x08,
	DRM_NPUMEM_PLAN_DESTROY = 0x09,
	DRM_NPUMEM_RUN_CREATE = 0x0a,
	DRM_NPUMEM_RUN_BIND = 0x0b,
	DRM_NPUMEM_RUN_RESET = 0x0c,
	DRM_NPUMEM_RUN_DESTROY = 0x0d,
	DRM_NPUMEM_SUBMIT = 0x0e,
	DRM_NPUMEM_RUN_QUERY = 0x0f,
	DRM_NPUMEM_ENGINE_ATTACH = 0x10,
	DRM_NPUMEM_RUN_TURN = 0x11,
};

/**
 * struct drm_npumem_array - array in user memory whose records may grow
 * @stride: bytes of one record, a multiple of 8, at most 4096
 * @count: records
 * @ptr: user address, 8-byte aligned; zero only if @count is zero
 *
 * All zero is an array of nothing, too.
 */
struct drm_npumem_array {
	__u32 stride;
	__u32 count;
	__u64 ptr;
};

/* Bytes that a struct or record in user memory has at most. */
#define NPUMEM_MAX_RECORD 4096

/**
 * struct drm_npumem_buffer - bytes in user memory
 * @ptr: user address; zero: the driver says the size and writes nothing
 * @size: in: bytes at @ptr. If @ptr is zero, what the driver reads has no bytes (EINVAL),
 *	and what it writes has none whatever this says; out: bytes that the driver has,
 *	whatever of them had room. What the driver only reads is left alone
 *
 * So whoever makes a call again with room for less than there is sets @size again before.
 *
 * Of what the driver writes, a shorter buffer gets the beginning, and a text its NUL
 * as well; what is behind it in a longer one is filled with zeros. E2BIG: a buffer for a
 * struct is larger than NPUMEM_MAX_RECORD, for a text than max_log_bytes of
 * NPUMEM_QUERY_INFO, anything else than max_blob_bytes.
 */
struct drm_npumem_buffer {
	__u64 ptr;
	__u64 size;
};

/* ------------------------------------------------------------------ query */

enum drm_npumem_query_type {
	NPUMEM_QUERY_INFO = 1,	  /* one struct drm_npumem_info */
	NPUMEM_QUERY_BANKS = 2,	  /* struct drm_npumem_bank */
	NPUMEM_QUERY_ENGINES = 3, /* struct drm_npumem_engine */
	NPUMEM_QUERY_PLANS = 4,	  /* struct drm_npumem_plan_record, of this file */
	NPUMEM_QUERY_RUNS = 5,	  /* struct drm_npumem_run_record, of this file */
	NPUMEM_QUERY_HOLDERS = 6, /* struct drm_npumem_holder, of all files; EACCES */
};

/**
 * struct drm_npumem_dev_query - DRM_IOCTL_NPUMEM_DEV_QUERY
 * @type: enum drm_npumem_query_type
 * @stride: bytes of one record of the answer, as the caller knows it: a multiple of 8,
 *	at most NPUMEM_MAX_RECORD. Of a longer record the beginning is given, a shorter
 *	one is continued by zeros
 * @first: zero, or @next of the call before: where to go on
 * @next: out: where there is more to be asked for; zero: nowhere
 * @answer: records, @stride bytes each; size out: of those that this call has found.
 *	Whole records are given, as many as fit
 *
 * One call looks at no more than 256 objects. So it may find nothing and still have a
 * @next. What comes and goes between two calls may or may not be among the records, and
 * what stays is there exactly once.
 *
 * NPUMEM_QUERY_HOLDERS needs CAP_SYS_ADMIN, as everything of DRM that is root's alone.
 */
struct drm_npumem_dev_query {
	__u32 type;
	__u32 stride;
	__u64 first;
	__u64 next;
	struct drm_npumem_buffer answer;
};

/**
 * struct drm_npumem_info - versions, features and limits
 * @uapi_major: NPUMEM_UAPI_*
 * @uapi_minor: see @uapi_major
 * @features: NPUMEM_FEATURE_* (npumem_plan.h)
 * @max_blob_bytes: largest graph or plan blob
 * @max_log_bytes: largest verifier log
 * @max_accesses: tile accesses of one graph
 * @max_chunks: contiguous chunks that all accesses of a graph may have together
 * @max_jobs: jobs of one SUBMIT
 * @max_syncs: in-syncs, and out-syncs, of one SUBMIT
 * @max_requests: plan requests that one open file may have under way
 * @bank_count: carveout banks
 * @engine_count: engines
 * @daemon: 1 while a daemon is registered
 * @max_submit_work: units of work of one SUBMIT, see there
 * @max_queued_jobs: jobs of one open file that have not ended; all files of a user
 *	together may have twice as many
 * @max_commands: bytes that one job may have as commands
 * @max_submit_commands: bytes that all jobs of one SUBMIT may have together
 */
struct drm_npumem_info {
	__u32 uapi_major;
	__u32 uapi_minor;
	__u64 features;
	__u64 max_blob_bytes;
	__u64 max_log_bytes;
	__u64 max_accesses;
	__u64 max_chunks;
	__u32 max_jobs;
	__u32 max_syncs;
	__u32 max_requests;
	__u32 bank_count;
	__u32 engine_count;
	__u32 daemon;
	__u64 max_submit_work;
	__u32 max_queued_jobs;
	__u32 max_commands;
	__u64 max_submit_commands;
};

/**
 * struct drm_npumem_bank - one carveout bank
 * @size: bytes
 * @free: bytes not allocated at this moment
 * @largest_free: bytes of the largest contiguous free range at this moment
 * @alignment: bytes; every arena and BO starts at a multiple of it
 * @index: of the bank
 * @name: NUL-terminated
 */
struct drm_npumem_bank {
	__u64 size;
	__u64 free;
	__u64 largest_free;
	__u32 alignment;
	__u32 index;
	char name[32];
};

/* The engine carries out transfers. Without it there are no jobs of runs that have any. */
#define NPUMEM_ENGINE_TRANSFERS (1u << 0)
/* A slot: processes attach to it (ENGINE_ATTACH). */
#define NPUMEM_ENGINE_PROCESS	(1u << 1)
/* To this slot one is attached that serves the runs of this open file. */
#define NPUMEM_ENGINE_ATTACHED	(1u << 2)

/**
 * struct drm_npumem_engine - one engine
 * @index: of the engine
 * @flags: NPUMEM_ENGINE_*
 * @version: of the format of its commands
 * @pad: zero
 * @name: NUL-terminated: what kind of engine it is, and so whose commands it takes
 *
 * Of a slot @version and @name are those of the process that is attached at this moment and
 * serves this open file; without, 0 and "process".
 */
struct drm_npumem_engine {
	__u32 index;
	__u32 flags;
	__u32 version;
	__u32 pad;
	char name[32];
};

/**
 * struct drm_npumem_plan_record - a plan of this file
 * @handle: of the plan
 * @graph: handle of its graph, zero if that has been destroyed
 * @state: enum drm_npumem_plan_state
 * @error: zero, or the positive errno that the request ended with
 * @created_ns: when the handle was made
 * @arena_size: of a READY plan, else zero
 * @host_size: see @arena_size
 * @memory_bytes: of the user's share of kernel memory
 */
struct drm_npumem_plan_record {
	__u32 handle;
	__u32 graph;
	__u32 state;
	__u32 error;
	__s64 created_ns;
	__u64 arena_size;
	__u64 host_size;
	__u64 memory_bytes;
};

/* Jobs of the run have been submitted and have not ended, or a call is at work on it. */
#define NPUMEM_RUN_BUSY	   (1u << 0)
/* Its arena is a shared one. */
#define NPUMEM_RUN_SHARED  (1u << 1)
/* It has the turn. */
#define NPUMEM_RUN_IN_TURN (1u << 2)

/**
 * struct drm_npumem_run_record - a run of this file
 * @handle: of the run
 * @plan: handle of its plan, zero if that has been destroyed
 * @graph: handle of its graph, zero likewise
 * @bank: carveout bank that the arena is in
 * @flags: NPUMEM_RUN_*
 * @error: positive errno that the run was lost with, or zero
 * @created_ns: when it was made
 * @arena_size: bytes that it takes of the bank: none with NPUMEM_RUN_SHARED, as the shared
 *	arena has taken them, once for all its runs
 * @submitted: positions submitted since RUN_CREATE or the last RUN_RESET
 * @load_bytes: bytes of the transfers of each kind carried out since then
 * @spill_bytes: see @load_bytes
 * @store_bytes: see @load_bytes
 * @fill_bytes: see @load_bytes
 */
struct drm_npumem_run_record {
	__u32 handle;
	__u32 plan;
	__u32 graph;
	__u32 bank;
	__u32 flags;
	__u32 error;
	__s64 created_ns;
	__u64 arena_size;
	__u64 submitted;
	__u64 load_bytes;
	__u64 spill_bytes;
	__u64 store_bytes;
	__u64 fill_bytes;
};

/**
 * struct drm_npumem_holder - what an open file holds of one carveout bank
 * @client: number of the open file; no other one has it while the module is loaded,
 *	before 2^32 have been opened
 * @bytes: of arenas and BOs that it has made in the bank, even if others use them, too;
 *	each counts whole units of the bank's alignment
 * @memory_bytes: that its graphs, plans and runs take of kernel memory, whatever the bank
 * @since_ns: since when it has held any of the bank
 * @uid: user who opened it, as the caller's user namespace calls him
 * @pid: process that opened it, as the caller's pid namespace calls it; zero if that has
 *	no number for it, or if it has ended
 * @bank: index
 * @pad: zero
 * @comm: name of the process when it opened the file, NUL-terminated
 *
 * A file that is closed is listed while its jobs keep an arena.
 */
struct drm_npumem_holder {
	__u64 client;
	__u64 bytes;
	__u64 memory_bytes;
	__s64 since_ns;
	__u32 uid;
	__u32 pid;
	__u32 bank;
	__u32 pad;
	char comm[16];
};

/* --------------------------------------------------------------- buffers */

#define NPUMEM_BO_CARVEOUT (1u << 0) /* in carveout bank @bank */
#define NPUMEM_BO_SYSTEM   (1u << 1) /* in system memory */
#define NPUMEM_BO_SHARED   (1u << 2) /* in carveout bank @bank, for runs that take turns with it */

/**
 * struct drm_npumem_bo_create - DRM_IOCTL_NPUMEM_BO_CREATE
 * @size: bytes, > 0; out: rounded up to whole pages
 * @flags: exactly one of NPUMEM_BO_*
 * @bank: index if NPUMEM_BO_CARVEOUT or NPUMEM_BO_SHARED, else zero
 * @handle: out: GEM handle, closed with DRM_IOCTL_GEM_CLOSE
 * @pad: zero
 *
 * The bytes are zero. ENOSPC: the bank has no such contiguous range free, or the user's
 * or cgroup's share of it has not so much left.
 *
 * NPUMEM_BO_SHARED makes a shared arena. Runs of this file, and of those that import its
 * dma-buf, have it as their arena, one at a time (NPUMEM_RUN_CREATE_SHARED,
 * RUN_TURN): models that the carveout cannot hold together. It is charged to this file, once.
 * It may be mapped at any time, but to touch it is a SIGBUS unless a run of the
 * mapping's file has the turn. It is nothing else: to be host BO, window or bound to a tensor
 * is EINVAL.
 */
struct drm_npumem_bo_create {
	__u64 size;
	__u32 flags;
	__u32 bank;
	__u32 handle;
	__u32 pad;
};

/**
 * struct drm_npumem_bo_mmap_offset - DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET
 * @handle: GEM handle
 * @pad: zero
 * @offset: out: for mmap() on the device file
 */
struct drm_npumem_bo_mmap_offset {
	__u32 handle;
	__u32 pad;
	__u64 offset;
};

/**
 * struct drm_npumem_bo_wait - DRM_IOCTL_NPUMEM_BO_WAIT
 * @handle: GEM handle
 * @pad: zero
 * @deadline_ns: absolute; a past time polls. ETIMEDOUT if jobs still use it
 *
 * If the BO is an imported dma-buf, its exporter has been told of the end of the jobs'
 * access, too: other devices see what the jobs wrote.
 * Of a shared arena it waits for jobs of the run whose turn it is, and for no other fence.
 */
struct drm_npumem_bo_wait {
	__u32 handle;
	__u32 pad;
	__s64 deadline_ns;
};

/* ------------------------------------------------------------------- log */

/**
 * struct drm_npumem_log - verifier log, as in BPF
 * @level: 0 none, 1 the reason of a refusal, 2 also statistics of success
 * @pad: zero
 * @text: room for a NUL-terminated text, none if @level is zero
 *
 * A log cut short changes neither verdict nor errno. EFAULT of a log, as of a verdict, is
 * said only by a call that would have succeeded, and does nothing then.
 */
struct drm_npumem_log {
	__u32 level;
	__u32 pad;
	struct drm_npumem_buffer text;
};

/* -------------------------------------------------------- graphs and plans */

/**
 * struct drm_npumem_graph_create - DRM_IOCTL_NPUMEM_GRAPH_CREATE
 * @blob: the graph blob; read once
 * @handle: out
 * @flags: none defined, zero
 * @log: of the structure check
 * @verdict: room for struct npumem_verdict
 */
struct drm_npumem_graph_create {
	struct drm_npumem_buffer blob;
	__u32 handle;
	__u32 flags;
	struct drm_npumem_log log;
	struct drm_npumem_buffer verdict;
};

/**
 * struct drm_npumem_handle - GRAPH_DESTROY, PLAN_DESTROY, RUN_RESET, RUN_DESTROY
 * @handle: of the object's kind
 * @pad: zero
 *
 * Plans keep their graph and runs their plan; handles can go in any order.
 * RUN_RESET: next inference. ENOLCK: the arena is shared, and it is not the run's turn. The
 * run is at plan block 0 again, every tile EMPTY,
 * inputs LIVE; what is bound stays bound; RUN_QUERY counts from zero. Bytes of arena
 * and host BO stay as they are. EBUSY while jobs are in flight. Only fatal signals interrupt
 * it; if one does, the run is lost, as by a SUBMIT that is killed.
 */
struct drm_npumem_handle {
	__u32 handle;
	__u32 pad;
};

enum drm_npumem_objective {
	NPUMEM_OBJECTIVE_ARENA = 0,   /* smallest arena */
	NPUMEM_OBJECTIVE_TRAFFIC = 1, /* least spill and fill within the budget */
	NPUMEM_OBJECTIVE_PEAK = 2,    /* least peak of any order of steps, nothing spilled */
};

/* Farthest deadline of a plan request: an hour from now, in nanoseconds. */
#define NPUMEM_MAX_REQUEST_NS (3600ll * 1000000000)

/* The daemon may cut the graph anew: the plan may be of a graph that it makes. */
#define NPUMEM_PLAN_REQUEST_CUT (1u << 0)

/**
 * struct drm_npumem_plan_request - DRM_IOCTL_NPUMEM_PLAN_REQUEST
 * @graph: handle
 * @objective: enum drm_npumem_objective
 * @arena_budget: bytes the plan may need; zero = any
 * @deadline_ns: absolute; the request ends with ETIMEDOUT when it passes. EINVAL if
 *	it is more than NPUMEM_MAX_REQUEST_NS away
 * @out_sync: syncobj that gets a fence when the request is settled, or zero
 * @flags: NPUMEM_PLAN_REQUEST_CUT or zero
 * @out_point: of a timeline @out_sync, else zero
 * @handle: out: plan handle, pending
 * @pad: zero
 * @planner: name, NUL-terminated; empty = the daemon's choice
 * @options: what else is asked for (npumem_options.h), read once and carried to the
 *	daemon as it is; no bytes = nothing. E2BIG: more than NPUMEM_OPTIONS_MAX_BYTES
 *
 * With NPUMEM_PLAN_REQUEST_CUT the daemon may answer with a graph of its own beside the
 * plan, whose steps are parts of those of @graph. It is checked as that of a GRAPH_CREATE
 * is and charged to the requester; PLAN_READ gives it, and runs of the plan are runs of
 * it. That it computes the same is the daemon's word: the driver knows of no operators.
 *
 * ENOTCONN: no daemon is registered. EBUSY: this file, or all files of its user
 * together, have as many requests under way as they may; one that has none is
 * never told so. A request is settled exactly once; PLAN_READ tells how.
 *
 * @out_sync has no fence until then, as nobody knows when that will be: an earlier
 * one is taken from a binary syncobj. Wait for it with
 * DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT; SUBMIT and the export of a sync file find
 * none, EINVAL. The fence that it gets is signalled already, with the request's
 * error.
 */
struct drm_npumem_plan_request {
	__u32 graph;
	__u32 objective;
	__u64 arena_budget;
	__s64 deadline_ns;
	__u32 out_sync;
	__u32 flags;
	__u64 out_point;
	__u32 handle;
	__u32 pad;
	char planner[32];
	struct drm_npumem_buffer options;
};

/**
 * struct drm_npumem_plan_load - DRM_IOCTL_NPUMEM_PLAN_LOAD
 * @graph: handle
 * @flags: none defined, zero
 * @blob: the plan blob; read once
 * @handle: out: plan handle, verified
 * @pad: zero
 * @log: of the verifier
 * @verdict: room for struct npumem_verdict
 *
 * EINVAL with a verdict: a rule is broken. No daemon is needed.
 */
struct drm_npumem_plan_load {
	__u32 graph;
	__u32 flags;
	struct drm_npumem_buffer blob;
	__u32 handle;
	__u32 pad;
	struct drm_npumem_log log;
	struct drm_npumem_buffer verdict;
};

enum drm_npumem_plan_state {
	NPUMEM_PLAN_STATE_PENDING = 0,
	NPUMEM_PLAN_STATE_READY = 1,
	NPUMEM_PLAN_STATE_FAILED = 2,
};

/**
 * struct drm_npumem_plan_read - DRM_IOCTL_NPUMEM_PLAN_READ
 * @handle: of a plan
 * @state: out: enum drm_npumem_plan_state
 * @error: out: zero, or the positive errno that the request ended with
 * @pad: zero
 * @blob: room for the plan blob, which only a READY plan has
 * @graph: room for the blob of the graph that it is a plan of: the one that the call named
 *	which made the plan, or the daemon's (NPUMEM_PLAN_REQUEST_CUT); likewise
 * @message: room for the daemon's or verifier's reason, a text in UTF-8
 * @verdict: room for struct npumem_verdict, of a plan refused by the verifier
 * @arena_size: out: of the plan
 * @host_size: see @arena_size
 * @lower_bound: see @arena_size
 * @tile_states: out: state cells that a run of it keeps
 * @verify_ns: out: time that verification took
 */
struct drm_npumem_plan_read {
	__u32 handle;
	__u32 state;
	__u32 error;
	__u32 pad;
	struct drm_npumem_buffer blob;
	struct drm_npumem_buffer graph;
	struct drm_npumem_buffer message;
	struct drm_npumem_buffer verdict;
	__u64 arena_size;
	__u64 host_size;
	__u64 lower_bound;
	__u64 tile_states;
	__u64 verify_ns;
};

/* ------------------------------------------------------------ runs and jobs */

/**
 * enum drm_npumem_priority - whose jobs an engine executes first
 * @NPUMEM_PRIORITY_NORMAL: those of most runs
 * @NPUMEM_PRIORITY_LOW: when none of a higher one wait
 * @NPUMEM_PRIORITY_HIGH: before all others; EACCES without CAP_SYS_NICE
 */
enum drm_npumem_priority {
	NPUMEM_PRIORITY_NORMAL = 0,
	NPUMEM_PRIORITY_LOW = 1,
	NPUMEM_PRIORITY_HIGH = 2,
};

/* The arena is a shared one: @arena_bo is its GEM handle, and nothing is taken of the bank. */
#define NPUMEM_RUN_CREATE_SHARED (1u << 0)

/**
 * struct drm_npumem_run_create - DRM_IOCTL_NPUMEM_RUN_CREATE
 * @plan: handle of a READY plan (EBUSY while pending, ENOEXEC if failed)
 * @bank: carveout bank to take the arena from; zero with NPUMEM_RUN_CREATE_SHARED, whose is
 *	that of the BO
 * @flags: NPUMEM_RUN_CREATE_SHARED or zero
 * @handle: out: run handle
 * @arena_bo: out: GEM handle of the arena, for mmap (inputs, outputs); with
 *	NPUMEM_RUN_CREATE_SHARED in: of an NPUMEM_BO_SHARED of at least the plan's arena_size
 * @host_bo: in: GEM handle of a system BO of at least the plan's host_size, or
 *	zero if that is zero
 * @priority: enum drm_npumem_priority
 * @pad: zero
 *
 * The arena's bytes are zero. Inputs and state are LIVE. ENOSPC: as BO_CREATE says.
 *
 * Transfers of the plan go between the arena and the host BO. The client writes
 * tensors that start in host memory (NPUMEM_TENSOR_FLAG_HOST) there, where the plan's
 * loads take them from, before it submits these, and finds outputs that the plan
 * stores there after the last job. The BO is kept while the run lives, whether or
 * not its handle is closed. Every SUBMIT of the run waits for the fences of the BO
 * and adds its own, so that BO_WAIT on it waits for the copies.
 *
 * EINVAL, of @host_bo: smaller than host_size, or zero; in the carveout; imported
 * from another device; or a BO for a plan without transfers. EACCES: it is shared with
 * this file for reading only. EBUSY: it is the host
 * BO of another run, which would overwrite the copies.
 *
 * With NPUMEM_RUN_CREATE_SHARED, of @arena_bo: EINVAL: not a shared arena, or too small.
 * EACCES: it is shared with this file for reading only. EOPNOTSUPP: the graph has state that
 * is not external: it would have to outlive the turns of others. The run keeps the arena
 * while it lives, whether or not the handle is closed, and takes jobs in its turn only.
 */
struct drm_npumem_run_create {
	__u32 plan;
	__u32 bank;
	__u32 flags;
	__u32 handle;
	__u32 arena_bo;
	__u32 host_bo;
	__u32 priority;
	__u32 pad;
};

/**
 * struct drm_npumem_run_bind - DRM_IOCTL_NPUMEM_RUN_BIND
 * @run: handle
 * @tensor: EXTERNAL tensor of the graph
 * @bo: GEM handle, of an imported dma-buf too; zero to bind to nothing
 * @flags: none defined, zero
 * @offset: first byte within the BO, a multiple of the tensor's alignment; zero
 *	if @bo is
 *
 * From then on steps find the tensor's bytes there. Takes the place of an earlier
 * binding. The BO is kept while it is bound, whether or not its handle is closed.
 * While it is, every SUBMIT of the run waits for the fences of the BO (those of
 * its writers only, if no step writes the tensor) and adds its own: implicit
 * synchronisation with whoever shares the buffer.
 *
 * While a dma-buf of another device is bound, and engines are the CPU, SUBMIT announces its access
 * to the exporter, for reading only if no step writes the tensor. It waits itself, then, for the
 * buffer's fences and for its in-syncs, instead of leaving it to the engine. The access ends after
 * the last job; BO_WAIT of the BO waits for that. What the exporter says if it refuses that is
 * SUBMIT's errno, but EREMOTEIO for one that has another meaning (EPERM, ENXIO, EIO, ESTALE), and
 * EBUSY for EAGAIN.
 *
 * EINVAL: the tensor is not EXTERNAL; it reaches beyond the BO; @offset is
 * misaligned; the BO is an arena, or this run's host BO; or the bytes overlap
 * those of another tensor of the run and steps write one of the two. EACCES:
 * steps write the tensor, and the BO is shared with this file for reading only: it was
 * imported from a dma-buf that was exported without DRM_RDWR. EBUSY: jobs of the run are
 * in flight; or the inference relies on the tensor's bytes: steps are yet to read what
 * others wrote there, or what others have read (RUN_RESET ends it; in a graph of several
 * blocks: of any tensor that steps write). EMFILE: the run has 1024 BOs bound.
 * EOPNOTSUPP: the engines cannot reach such a dma-buf, as it has no kernel mapping or
 * one of I/O memory, and engines are the CPU; or some are and some do DMA. With engines that
 * do DMA, also what its exporter says if it refuses to map it, as SUBMIT tells it (see
 * above), and EINVAL if it maps less than there is.
 */
struct drm_npumem_run_bind {
	__u32 run;
	__u32 tensor;
	__u32 bo;
	__u32 flags;
	__u64 offset;
};

/**
 * struct drm_npumem_sync - syncobj and point
 * @handle: of a syncobj
 * @pad: zero
 * @point: of a timeline, or zero for a binary syncobj
 */
struct drm_npumem_sync {
	__u32 handle;
	__u32 pad;
	__u64 point;
};

/**
 * struct drm_npumem_relocation - a place in a job's commands that an address belongs to
 * @offset: of 8 bytes of the commands, a multiple of 8. What they say is the engine's to
 *	say: most take any value, and replace it
 * @position: number within the job, from 0
 * @access: number within the step; of a transfer 0 is what it reads, 1 what it writes
 * @pad: zero
 * @delta: byte within the access, less than it has: counted in the order of its region
 *
 * The engine puts there, in its own copy of the commands, where that byte is: an address
 * of its device, or an offset in what it sees of memory. User space is told neither.
 */
struct drm_npumem_relocation {
	__u32 offset;
	__u32 position;
	__u32 access;
	__u32 pad;
	__u64 delta;
};

/* The job is no work but a step of control flow: an edge of the plan is crossed. */
#define NPUMEM_JOB_EDGE (1u << 0)

/**
 * struct drm_npumem_job - positions of the plan's schedule put on an engine
 * @first_position: in the schedule; with NPUMEM_JOB_EDGE: number of a plan edge
 * @position_count: >= 1; a range runs in order; with NPUMEM_JOB_EDGE: zero
 * @engine: index
 * @flags: NPUMEM_JOB_EDGE
 * @commands: what the engine is to do with the steps, in its own format
 *	(&drm_npumem_engine.name); copied once, by SUBMIT; at most
 *	&drm_npumem_info.max_commands bytes (E2BIG). None: nothing. Transfers among
 *	the positions are carried out whatever it is; a drop touches no memory
 * @relocations: array of struct drm_npumem_relocation: where addresses belong in @commands. At
 *	most one for each 8 bytes
 *
 * Commands name tiles by their place in the graph, or by relocations, never by an address:
 * where they lie is the plan's, and the driver's, to say. What is wrong with them is EINVAL,
 * what an engine does not do EOPNOTSUPP; both before anything of the SUBMIT has gone.
 *
 * A run is in one block of its plan at a time: in plan block 0 at first. Positions
 * of others are refused. Once all steps of its block have been submitted, a job
 * with NPUMEM_JOB_EDGE, all of whose other fields are zero, takes it to the block
 * that the edge leads to, or past the exit, where there is nothing more to submit
 * until RUN_RESET. The client decides which edge it is: the plan has room for any
 * path. A graph of one block without edges has none to cross.
 */
struct drm_npumem_job {
	__u32 first_position;
	__u32 position_count;
	__u32 engine;
	__u32 flags;
	struct drm_npumem_buffer commands;
	struct drm_npumem_array relocations;
};

/**
 * struct drm_npumem_submit - DRM_IOCTL_NPUMEM_SUBMIT
 * @run: handle
 * @flags: none defined, zero
 * @jobs: array of struct drm_npumem_job
 * @in_syncs: array of struct drm_npumem_sync waited for before the first job
 * @out_syncs: array of struct drm_npumem_sync signalled after the last one
 * @failed_job: out: number of the job refused, or NPUMEM_NONE
 * @pad: zero
 * @verdict: room for struct npumem_verdict: rule, step, tile of a job refused
 *
 * Jobs may be on several engines. Those of a run on one engine execute in their order; between
 * engines one waits for those before it whose bytes it needs or takes, as the plan says, and for
 * no others, so that they run beside each other. @in_syncs are waited for by these jobs
 * and by all that are submitted later; @out_syncs are signalled when these and all that
 * were submitted before have ended.
 *
 * All jobs go or none does, edges included. EPERM: a tile's state forbids the access, or the run is
 * not in the job's block (the verdict says which). ENXIO: a job accesses an external tensor that is
 * bound to nothing: @failed_job and the verdict (NPUMEM_RULE_ENFORCE_BIND) say which. EIO: an
 * earlier job of the run failed (NPUMEM_RULE_ENFORCE_LOST; RUN_QUERY says how). ENOLCK: the arena
 * is shared, and it is not the run's turn. @out_syncs of a SUBMIT of edges alone are signalled when
 * @in_syncs and all earlier jobs of the run are.
 *
 * E2BIG: the jobs are more work for the driver than max_submit_work, and @failed_job
 * is the first one that is beyond it: submit fewer at a time, down to a job of one
 * position, or one edge, which is never refused for that. A position counts 1, 2 for
 * each access, 1 for each cell that these read or write, and 1 for each cell that
 * what is written overwrites; an edge 1, and 1 for each step and each cell of the
 * block that it leads to; commands 1 for each 64 bytes, and a relocation 1. A whole schedule
 * counts about what its verification did. The same if commands have more bytes than
 * max_submit_commands.
 *
 * Of a job for a slot (NPUMEM_ENGINE_PROCESS): EUNATCH: no process is attached to it that
 * serves this file. EMSGSIZE: commands and tiles of a step are more than its window holds.
 * EOPNOTSUPP: a dma-buf of another device is bound: what others wait for it would wait for
 * a process, too. The job fails with EIO if the process says that it has not done it, with
 * EPROTO if it has written beside the tiles, with ETIMEDOUT if it says nothing in time, and
 * with ENODEV if it is detached.
 *
 * EBUSY: the open file has max_queued_jobs jobs that have not ended (a SUBMIT of
 * edges alone counts as one), or all files of its user have twice as many; or jobs
 * of its user wait for 65536 fences of others (parameter waits of the module).
 * Wait for one to end.
 *
 * Signals do not interrupt it, but fatal ones do. If it is killed in the midst, the
 * run is lost, as if a job had failed.
 *
 * Engine time is shared out among users (uids) that have jobs to run at the highest priority
 * at which anybody has, and what a user has among its open files, equally: whose jobs have had
 * least is next. What a file has queued delays nobody else's jobs of that priority by more than
 * those that are in flight: one, or as many as the engine takes at a time. Jobs are not
 * preempted, but one that takes too long (engine sim: 10 s) fails with
 * ETIMEDOUT. Closing the file cancels jobs that have not begun (ECANCELED), at once,
 * whatever they wait for. RUN_DESTROY does not: they go when @in_syncs have signalled.
 */
struct drm_npumem_submit {
	__u32 run;
	__u32 flags;
	struct drm_npumem_array jobs;
	struct drm_npumem_array in_syncs;
	struct drm_npumem_array out_syncs;
	__u32 failed_job;
	__u32 pad;
	struct drm_npumem_buffer verdict;
};

/**
 * struct drm_npumem_run_query - DRM_IOCTL_NPUMEM_RUN_QUERY
 * @run: handle
 * @flags: none defined, zero
 * @block: out: plan block that the run is in, NPUMEM_NONE after the exit
 * @error: out: positive errno that the run was lost with, or zero
 * @submitted: out: positions submitted
 * @load_bytes: out: bytes of the transfers of
 *	each kind that engines have carried out to their ends
 * @spill_bytes: see @load_bytes
 * @store_bytes: see @load_bytes
 * @fill_bytes: see @load_bytes
 * @verdict: room for struct npumem_verdict: of a run that is lost how its first job failed
 *	(NPUMEM_RULE_ENFORCE_LOST with its first position, NPUMEM_RULE_ENFORCE_BESIDE), zero
 *	if it is not lost, or not by a job
 *
 * Counted from RUN_CREATE or the last RUN_RESET on: an inference's traffic is there
 * once its last job is done. While jobs are in flight it says how far they are.
 */
struct drm_npumem_run_query {
	__u32 run;
	__u32 flags;
	__u32 block;
	__u32 error;
	__u64 submitted;
	__u64 load_bytes;
	__u64 spill_bytes;
	__u64 store_bytes;
	__u64 fill_bytes;
	struct drm_npumem_buffer verdict;
};

#define NPUMEM_TURN_BEGIN (1u << 0) /* wait for the turn */
#define NPUMEM_TURN_END	  (1u << 1) /* give the arena to the next one */

/**
 * struct drm_npumem_run_turn - DRM_IOCTL_NPUMEM_RUN_TURN
 * @run: handle, of a run with a shared arena (EINVAL for others)
 * @flags: exactly one of NPUMEM_TURN_*
 * @deadline_ns: absolute, a past time polls; zero with NPUMEM_TURN_END
 *
 * NPUMEM_TURN_BEGIN waits until no other run has the arena, first come first served. Then the
 * run has it, and is as RUN_RESET leaves it: inputs and parameters are to be written
 * anew. The arena is zeroed if another client (open file) had the last turn. If it
 * was a run of this one, what that left is still there, but no tile is LIVE by it.
 * ETIMEDOUT: the deadline passed. EALREADY: the run has the turn. EBUSY: another
 * call waits for it. ECANCELED: the run has been destroyed meanwhile. Only who is killed loses
 * his place: a call that another signal has interrupted leaves the run its place in the
 * line until the call's deadline, and those behind it go first until it is made again.
 *
 * NPUMEM_TURN_END takes away the pages of all mappings of the arena, and the next in the line has
 * it. EBUSY: jobs of the run are in flight. ENOLCK: it is not the run's turn. A run that is
 * lost has the turn until it ends it. The turn also ends when the run is destroyed, or
 * its file closed, after its last job. Nobody else can end it: who shares an arena has to trust
 * the others for the time that they take, though not for bytes.
 *
 * The client is the open file: a process that has inherited it, or was passed it, sees what it
 * sees, in its turns. A page of the arena is in no process when the turn has ended, and cannot
 * be pinned (an IOMMU that a process programs through VFIO is beyond what the driver can see).
 */
struct drm_npumem_run_turn {
	__u32 run;
	__u32 flags;
	__s64 deadline_ns;
};

/* ------------------------------------------------------ engines in a process */

/* It serves the runs of all open files, not of this one alone. */
#define NPUMEM_ATTACH_SHARED (1u << 0)

/**
 * struct drm_npumem_engine_attach - DRM_IOCTL_NPUMEM_ENGINE_ATTACH
 * @engine: index of a slot (NPUMEM_ENGINE_PROCESS)
 * @flags: NPUMEM_ATTACH_SHARED or zero
 * @window: GEM handle of a system BO, where the process gets copies of tiles
 * @hang_ms: the hang limit: milliseconds, 1 to 10000, in which it gives a sign of life
 * @version: of the format of its commands
 * @fd: out: what it gets its tasks by (npumem_engine.h); to close it is to detach
 * @name: of the kind of engine, NUL-terminated, not empty
 *
 * The caller becomes an engine that computes in a process. From then on SUBMIT takes jobs for
 * the slot: of runs of this open file, or, if it is shared, of all those whose files have no
 * engine of their own there. Which engine a job is for is settled by SUBMIT: what detaches
 * before the job has ended is not replaced, the job fails with ENODEV, and later ones go to
 * the next one that attaches.
 *
 * The window is kept while the engine is attached. It must not be host BO or window already
 * (EBUSY), nor imported or in the carveout (EINVAL), nor shared for reading only (EACCES), and
 * at most 256 MiB (E2BIG).
 *
 * EPERM: shared, without CAP_SYS_ADMIN: such an engine sees everybody's tiles. EBUSY: one is
 * attached that serves the same. EMFILE: the user has 64 engines attached. EDQUOT: the
 * window is more than the user's share of kernel memory has left.
 */
struct drm_npumem_engine_attach {
	__u32 engine;
	__u32 flags;
	__u32 window;
	__u32 hang_ms;
	__u32 version;
	__s32 fd;
	char name[32];
};

#define NPUMEM_IOWR(nr, type) DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUMEM_##nr, type)

#define DRM_IOCTL_NPUMEM_DEV_QUERY NPUMEM_IOWR(DEV_QUERY, struct drm_npumem_dev_query)
#define DRM_IOCTL_NPUMEM_BO_CREATE NPUMEM_IOWR(BO_CREATE, struct drm_npumem_bo_create)
#define DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET \
	NPUMEM_IOWR(BO_MMAP_OFFSET, struct drm_npumem_bo_mmap_offset)
#define DRM_IOCTL_NPUMEM_BO_WAIT       NPUMEM_IOWR(BO_WAIT, struct drm_npumem_bo_wait)
#define DRM_IOCTL_NPUMEM_GRAPH_CREATE  NPUMEM_IOWR(GRAPH_CREATE, struct drm_npumem_graph_create)
#define DRM_IOCTL_NPUMEM_GRAPH_DESTROY NPUMEM_IOWR(GRAPH_DESTROY, struct drm_npumem_handle)
#define DRM_IOCTL_NPUMEM_PLAN_REQUEST  NPUMEM_IOWR(PLAN_REQUEST, struct drm_npumem_plan_request)
#define DRM_IOCTL_NPUMEM_PLAN_LOAD     NPUMEM_IOWR(PLAN_LOAD, struct drm_npumem_plan_load)
#define DRM_IOCTL_NPUMEM_PLAN_READ     NPUMEM_IOWR(PLAN_READ, struct drm_npumem_plan_read)
#define DRM_IOCTL_NPUMEM_PLAN_DESTROY  NPUMEM_IOWR(PLAN_DESTROY, struct drm_npumem_handle)
#define DRM_IOCTL_NPUMEM_RUN_CREATE    NPUMEM_IOWR(RUN_CREATE, struct drm_npumem_run_create)
#define DRM_IOCTL_NPUMEM_RUN_BIND      NPUMEM_IOWR(RUN_BIND, struct drm_npumem_run_bind)
#define DRM_IOCTL_NPUMEM_RUN_RESET     NPUMEM_IOWR(RUN_RESET, struct drm_npumem_handle)
#define DRM_IOCTL_NPUMEM_RUN_DESTROY   NPUMEM_IOWR(RUN_DESTROY, struct drm_npumem_handle)
#define DRM_IOCTL_NPUMEM_SUBMIT	       NPUMEM_IOWR(SUBMIT, struct drm_npumem_submit)
#define DRM_IOCTL_NPUMEM_RUN_QUERY     NPUMEM_IOWR(RUN_QUERY, struct drm_npumem_run_query)
#define DRM_IOCTL_NPUMEM_ENGINE_ATTACH NPUMEM_IOWR(ENGINE_ATTACH, struct drm_npumem_engine_attach)
#define DRM_IOCTL_NPUMEM_RUN_TURN      NPUMEM_IOWR(RUN_TURN, struct drm_npumem_run_turn)

#if defined(__cplusplus)
}
#endif

#endif /* NPUMEM_DRM_H */
