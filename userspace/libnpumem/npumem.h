/* SPDX-License-Identifier: MIT */
/*
 * libnpumem: client library of the npumem driver, for inference runtimes.
 *
 * One trip: open a device; build a graph of tensors, tiles and steps; give it
 * to the driver; get a plan, from the daemon (npumem_plan_request()) or from a
 * file (npumem_plan_load()); make a run of it; submit its positions as jobs.
 * The library knows nothing of planning; it carries blobs. npumem_builder.h, which this header
 * includes, builds graphs; npumem_layout.h says where a plan puts the bytes of tensors;
 * npumem_serve.h is for engines in a process.
 *
 * Conventions. Sizes and offsets are bytes, indices zero-based, NPUMEM_NONE
 * means none. Times are absolute CLOCK_MONOTONIC nanoseconds, see
 * npumem_deadline(). Functions that can fail return 0 or a negative errno, and
 * take a struct npumem_error, which may be NULL, for the reason. Arguments that
 * cannot be right (NULL objects, unknown flags) are -EINVAL with a reason and
 * never reach the driver. Every call that asks the driver can also end with -ENODEV:
 * the device is gone; its objects can only be freed then.
 *
 * Objects keep what they were made from: a run its plan, a plan its graph, all
 * of them their device; they may be freed in any order, and freeing NULL
 * does nothing.
 *
 * Threads. Nothing is global. A device may be used from several threads at once,
 * different objects of it too. One builder, BO, plan or run may be used by one
 * thread at a time; freeing an object that another thread uses is the
 * caller's mistake. A device must not be used after fork() by both processes.
 *
 * Versions. Calls that take or fill a struct of the caller's are inline, and hand its size to
 * the function of the same name with _sized behind it, which callers through a foreign function
 * interface call. A struct may so get more fields at its end: what the older side does not have
 * is zero and means what was before; what an older library cannot do is -E2BIG.
 *
 * Signals. Calls interrupted by a signal are restarted with their arguments as
 * they were; see ioctl.c for which and why.
 */
#ifndef NPUMEM_H
#define NPUMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "npumem_drm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPUMEM_EXPORT __attribute__((visibility("default")))

struct npumem_device;
struct npumem_bo;
struct npumem_builder;
struct npumem_graph;
struct npumem_plan;
struct npumem_run;

/**
 * struct npumem_error - why a call failed
 * @code: the negative errno that the call returned
 * @verdict: rule, step, tile, bytes; @verdict.rule is NPUMEM_RULE_NONE unless a
 *	graph, plan or job was refused
 * @text: one or more sentences without final newline; says what was refused,
 *	where, and where possible what to do
 * @reserved: room for later versions; zero
 *
 * Written by calls that fail, left alone by calls that succeed.
 */
struct npumem_error {
	int code;
	struct npumem_verdict verdict;
	char text[1024];
	uint64_t reserved[4];
};

/**
 * struct npumem_log - verifier log wanted by the caller
 * @text: receives NUL-terminated text, cut short to @size
 * @size: bytes at @text
 * @level: 1 the reason of a refusal, 2 also statistics of success
 * @true_size: out: bytes that the whole log has, its NUL included
 * @reserved: room for later versions; zero
 */
struct npumem_log {
	char *text;
	uint32_t size;
	uint32_t level;
	uint32_t true_size;
	uint64_t reserved[4];
};

/**
 * npumem_version() - version of the library, as "major.minor.patch"
 *
 * The text is the library's.
 */
NPUMEM_EXPORT const char *npumem_version(void);

/**
 * npumem_rule_name() - name of a rule that a verdict cites
 * @rule: enum npumem_rule, as in struct npumem_verdict
 *
 * "V4 write" and so on; "unknown rule" of any other number. The text is the library's.
 */
NPUMEM_EXPORT const char *npumem_rule_name(uint32_t rule);

/**
 * npumem_verdict_space() - what the bytes are counted in that a verdict cites
 * @verdict: as the driver has given it, not NULL
 *
 * "arena", "blob", "copy of the tile" or "engine's window". The text is the library's.
 */
NPUMEM_EXPORT const char *npumem_verdict_space(const struct npumem_verdict *verdict);

/**
 * npumem_deadline() - absolute time that lies so long from now
 * @nanoseconds: how long; below 0: before now
 *
 * Returns CLOCK_MONOTONIC nanoseconds, from 0 to INT64_MAX. Cannot fail: it saturates.
 */
NPUMEM_EXPORT int64_t npumem_deadline(int64_t nanoseconds);

/* ---------------------------------------------------------------- devices */

/**
 * npumem_device_list() - paths of all npumem device nodes
 * @paths: array of @count strings, one allocation: free() it. /dev/accel/accel*
 *	first, then /dev/dri/renderD*, each by number. Nodes that may not be
 *	opened are left out
 * @count: out: number of @paths
 * @error: filled in if the call fails; may be NULL
 *
 * No device is not an error: @count is 0. -EINVAL: NULL argument; -ENOMEM; otherwise what
 * reading the folders below /dev gives.
 */
NPUMEM_EXPORT int npumem_device_list(char ***paths, uint32_t *count, struct npumem_error *error);

/**
 * npumem_device_open() - open a device
 * @path: of its node; NULL for the first of npumem_device_list()
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * -ENOENT no such node; -ENODEV no npumem device (or not one at @path); -EACCES
 * nodes are there but may not be opened; -EPROTONOSUPPORT the driver speaks
 * another major version of the uapi.
 */
NPUMEM_EXPORT int npumem_device_open(const char *path, struct npumem_device **out,
				     struct npumem_error *error);

/**
 * npumem_device_from_fd() - device of a file descriptor opened elsewhere
 * @fd: file descriptor of a device node
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * The descriptor is the device's from then on, unless the call fails. For runtimes that are
 * handed an open device, in a sandbox say. -EINVAL: not a descriptor, or NULL argument;
 * -ENODEV: no npumem device; -EPROTONOSUPPORT: as of npumem_device_open(); -ENOMEM.
 */
NPUMEM_EXPORT int npumem_device_from_fd(int fd, struct npumem_device **out,
					struct npumem_error *error);
/**
 * npumem_device_close() - give up the device
 * @device: may be NULL. Objects made of it keep what they need until they are freed
 */
NPUMEM_EXPORT void npumem_device_close(struct npumem_device *device);
/**
 * npumem_device_fd() - file descriptor of the device, for what this library does not do
 * @device: the device
 *
 * DRM's own calls take it (syncobjs as files, handles of other drivers' buffers), with handles
 * that npumem_bo_handle() and npumem_sync_new() give. It stays the device's: do not close() it.
 * Cannot fail.
 */
NPUMEM_EXPORT int npumem_device_fd(const struct npumem_device *device);
/**
 * npumem_device_path() - path of the device's node
 * @device: the device
 *
 * "" if it was made from a descriptor. The text is the device's.
 */
NPUMEM_EXPORT const char *npumem_device_path(const struct npumem_device *device);

NPUMEM_EXPORT int npumem_device_info_sized(struct npumem_device *device,
					   struct drm_npumem_info *info, size_t info_size,
					   struct npumem_error *error);
/**
 * npumem_device_info() - versions, features and limits of the driver, as they are now
 * @device: the device
 * @info: out: what the driver says; fields that an older one does not have are zero
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument; -ENODEV; -ENOMEM; -EPROTO: the driver's answer makes no sense.
 */
static inline int npumem_device_info(struct npumem_device *device, struct drm_npumem_info *info,
				     struct npumem_error *error)
{
	return npumem_device_info_sized(device, info, sizeof(*info), error);
}
/**
 * npumem_device_query() - all records of one kind that the driver has, as they are now
 * @device: the device
 * @type: enum drm_npumem_query_type
 * @record_size: bytes of one record as the caller's npumem_drm.h has it. Of longer ones
 *	the beginnings are given, and shorter ones are continued by zeros
 * @records: out: array of @count records, one allocation: free() it
 * @count: out: number of @records
 * @error: filled in if the call fails; may be NULL
 *
 * Functions for each type follow. -EINVAL: NULL argument, no such type, or @record_size is
 * no multiple of 8 or more than NPUMEM_MAX_RECORD; -EACCES: NPUMEM_QUERY_HOLDERS without
 * CAP_SYS_ADMIN; -ENODEV; -ENOMEM; -EPROTO: the driver's answer makes no sense.
 */
NPUMEM_EXPORT int npumem_device_query(struct npumem_device *device, uint32_t type,
				      size_t record_size, void **records, uint32_t *count,
				      struct npumem_error *error);

/* A function that gives all records of one type, as npumem_device_query() does. */
#define NPUMEM_DEVICE_QUERY(NAME, TYPE, RECORD)                                                    \
	static inline int npumem_device_##NAME(struct npumem_device *device,                       \
					       struct drm_npumem_##RECORD **NAME, uint32_t *count, \
					       struct npumem_error *error)                         \
	{                                                                                          \
		void *records = NULL;                                                              \
		int err = npumem_device_query(device, TYPE, sizeof(**NAME),                        \
					      NAME ? &records : NULL, count, error);               \
                                                                                                   \
		/* NULL on failure: so no compiler thinks that it may be unset. */                 \
		if (NAME)                                                                          \
			*NAME = (struct drm_npumem_##RECORD *)records;                             \
		return err;                                                                        \
	}

/* The carveout's banks, with what is free; the engines; plans and runs of this open file. */
NPUMEM_DEVICE_QUERY(banks, NPUMEM_QUERY_BANKS, bank)
NPUMEM_DEVICE_QUERY(engines, NPUMEM_QUERY_ENGINES, engine)
NPUMEM_DEVICE_QUERY(plans, NPUMEM_QUERY_PLANS, plan_record)
NPUMEM_DEVICE_QUERY(runs, NPUMEM_QUERY_RUNS, run_record)
/* Who holds how much of the carveout, in all open files; needs CAP_SYS_ADMIN. */
NPUMEM_DEVICE_QUERY(holders, NPUMEM_QUERY_HOLDERS, holder)

/* ---------------------------------------------------------------- buffers */

/**
 * npumem_bo_new() - buffer of zero bytes
 * @device: the device
 * @size: bytes, > 0; rounded up to whole pages, see npumem_bo_size()
 * @flags: NPUMEM_BO_CARVEOUT, NPUMEM_BO_SYSTEM, or NPUMEM_BO_SHARED for npumem_run_new_shared()
 * @bank: index in the carveout, zero for NPUMEM_BO_SYSTEM
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * -ENOSPC: the bank has no such contiguous range free; the error says how much
 * it has. -EINVAL: no bytes, unknown flags, or no such bank; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_bo_new(struct npumem_device *device, uint64_t size, uint32_t flags,
				uint32_t bank, struct npumem_bo **out, struct npumem_error *error);
/**
 * npumem_bo_free() - give up a buffer
 * @bo: may be NULL. Its mapping ends, too; what the driver still needs of it (a job in
 *	flight, a binding) keeps the memory
 */
NPUMEM_EXPORT void npumem_bo_free(struct npumem_bo *bo);
/**
 * npumem_bo_handle() - GEM handle of a buffer
 * @bo: the buffer
 *
 * For DRM's own calls, see npumem_device_fd(). The handle is the BO's.
 */
NPUMEM_EXPORT uint32_t npumem_bo_handle(const struct npumem_bo *bo);
/**
 * npumem_bo_size() - bytes of a buffer
 * @bo: the buffer
 *
 * Whole pages, so perhaps more than were asked for.
 */
NPUMEM_EXPORT uint64_t npumem_bo_size(const struct npumem_bo *bo);
/**
 * npumem_bo_import() - buffer that a dma-buf is, of another device or process
 * @device: the device
 * @fd: dma-buf file descriptor; stays the caller's and may be closed
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * The same dma-buf again is the same buffer to the driver, with one handle, so
 * import it once at a time. -EINVAL: NULL argument, or the descriptor is no dma-buf. -EBADF: it is
 * not open. -ENOSYS: the dma-buf is of a device whose memory this one cannot reach. -ENOMEM. What
 * else its exporter says is passed on.
 */
NPUMEM_EXPORT int npumem_bo_import(struct npumem_device *device, int fd, struct npumem_bo **out,
				   struct npumem_error *error);
/**
 * npumem_bo_export() - dma-buf of a buffer, for another device or process
 * @bo: the buffer
 * @writable: whether its holder may map it, or have a device write it
 * @fd: out: descriptor, close-on-exec; close() it
 * @error: filled in if the call fails; may be NULL
 *
 * The first export decides about @writable as long as the dma-buf lives. -EINVAL: NULL
 * argument; -EMFILE, -ENFILE: no descriptor is left; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_bo_export(struct npumem_bo *bo, bool writable, int *fd,
				   struct npumem_error *error);
/**
 * npumem_bo_map() - map a buffer for reading and writing
 * @bo: the buffer
 * @address: out: of its first byte, the same every time; npumem_bo_free() unmaps it. Of a buffer
 *	without bytes, as the arena of a plan that places nothing, it is not NULL, and of no byte
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument; otherwise what mmap() gives, as -ENOMEM.
 */
NPUMEM_EXPORT int npumem_bo_map(struct npumem_bo *bo, void **address, struct npumem_error *error);
/**
 * npumem_bo_wait() - wait until no job uses a buffer
 * @bo: the buffer
 * @deadline: CLOCK_MONOTONIC nanoseconds, see npumem_deadline()
 * @error: filled in if the call fails; may be NULL
 *
 * How they have ended it does not tell: npumem_run_wait(). -ETIMEDOUT: @deadline has passed;
 * -EINVAL: NULL argument; -ENODEV.
 */
NPUMEM_EXPORT int npumem_bo_wait(struct npumem_bo *bo, int64_t deadline,
				 struct npumem_error *error);

/* ----------------------------------------------------------------- graphs */

/**
 * npumem_graph_new() - give a graph blob to the driver
 * @device: the device
 * @blob: the blob
 * @size: bytes at @blob
 * @log: or NULL; the error's text has the log's beginning in any case
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * -EBADMSG not well formed, -EINVAL a rule of the format is broken, -E2BIG over
 * the device's limits, -EOPNOTSUPP a feature that the driver does not verify.
 */
NPUMEM_EXPORT int npumem_graph_new(struct npumem_device *device, const void *blob, size_t size,
				   struct npumem_log *log, struct npumem_graph **out,
				   struct npumem_error *error);
/**
 * npumem_graph_free() - give up a graph
 * @graph: may be NULL. Plans that were made of it keep what they need
 */
NPUMEM_EXPORT void npumem_graph_free(struct npumem_graph *graph);

/* ------------------------------------------------------------------ plans */

/**
 * npumem_plan_load() - have a plan made elsewhere verified; no daemon is needed
 * @graph: the graph
 * @blob: the blob
 * @size: bytes at @blob
 * @log: or NULL; the error's text has the log's beginning in any case
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL with @error->verdict: a rule is broken.
 */
NPUMEM_EXPORT int npumem_plan_load(struct npumem_graph *graph, const void *blob, size_t size,
				   struct npumem_log *log, struct npumem_plan **out,
				   struct npumem_error *error);

/**
 * struct npumem_request - what to ask the daemon for; zero = default
 * @planner: name of at most 31 bytes; NULL = the daemon's choice
 * @objective: enum drm_npumem_objective
 * @arena_budget: bytes that the plan may need; 0 = any
 * @deadline: absolute; the request ends with -ETIMEDOUT then; must be > 0, and not
 *	more than NPUMEM_MAX_REQUEST_NS (npumem_drm.h) away: -EINVAL
 * @alignment: of every offset, at least; a power of two up to 65536
 * @schedule: enum npumem_option_schedule (npumem_options.h); 0 = the planner's choice
 * @budget: enum npumem_option_budget, which the daemon finds; 0 = @arena_budget
 * @layout: enum npumem_option_layout: how the bytes of the graph's tensors lie; looked at
 *	where the graph is cut anew
 * @work_limit: units of work that the search may spend; the same gives the same plan
 * @memory_limit: bytes that the search may hold; the daemon has a limit of its own, too
 * @banks: two banks, which take the place of a budget; NULL = one bank. Of planner "cosma"
 * @traffic_factor: fetch at most so many times all weights; 1 or more. Of planners
 *	"tile-scheduled..."
 * @weights_on_chip: bytes of weights that stay on chip meanwhile; likewise
 * @recompute: not 0: let operators run again where that saves traffic within the budget
 * @double_buffer: not 0, with @on_chip: what changes from step to step has to fit twice
 * @recompute_limit: of @recompute: operators that run again, at most; 0 = any number
 * @bands: cut each operator into so many row bands
 * @rows: cut each operator into tiles of so many rows
 * @columns: and of so many columns, of operators on images; 0 = of whole rows
 * @tile_count: number of @tiles
 * @on_chip: cut each operator so that its steps fit into so many bytes of on-chip memory
 * @tiles: how single operators are cut, by ascending id; NULL if there are none
 * @carry_copies: enum npumem_option_copies: copy values that loops carry; 0 = copy none
 * @pad: zero
 * @instances: of @carry_copies: copy rather than have more instances of blocks; 1 to 4096; 0 = 4096
 *
 * At most one of @bands, @rows and @on_chip, and none of them nor @tiles beside @recompute.
 * @carry_copies goes with @bands and @rows alone. Any of these six has the daemon make another
 * graph, which the plan is then of: npumem_plan_graph(). The graph that is asked for must have its
 * model for that (npumem_builder_set_model()), and be of its whole operators: npumem_options.h,
 * which also says how a step that copies is told.
 */
struct npumem_request {
	const char *planner;
	uint32_t objective;
	uint64_t arena_budget;
	int64_t deadline;
	uint32_t alignment;
	uint32_t schedule;
	uint32_t budget;
	uint32_t layout;
	uint64_t work_limit;
	uint64_t memory_limit;
	const struct npumem_option_bank *banks;
	double traffic_factor;
	uint64_t weights_on_chip;
	uint32_t recompute;
	uint32_t double_buffer;
	uint32_t recompute_limit;
	uint32_t bands;
	uint32_t rows;
	uint32_t tile_count;
	uint64_t on_chip;
	const struct npumem_option_tile *tiles;
	uint32_t carry_copies;
	uint32_t instances;
	uint32_t columns;
	uint32_t pad;
};

NPUMEM_EXPORT int npumem_plan_request_sized(struct npumem_graph *graph,
					    const struct npumem_request *request,
					    size_t request_size, struct npumem_plan **out,
					    struct npumem_error *error);
/**
 * npumem_plan_request() - ask the daemon for a plan; returns at once
 * @graph: the graph
 * @request: what is asked for
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * The plan is pending: npumem_plan_wait() for it. -ENOTCONN no daemon is
 * registered, -EBUSY this device file, or all of its user's, have as many requests
 * under way as they may; a file that has none is never told so. -EINVAL: NULL argument, a
 * deadline, planner's name or factor that is none; -E2BIG: more @tiles than
 * NPUMEM_OPTIONS_MAX_BYTES (npumem_options.h) take. What else is wrong in the request the
 * daemon finds: the plan fails.
 */
static inline int npumem_plan_request(struct npumem_graph *graph,
				      const struct npumem_request *request,
				      struct npumem_plan **out, struct npumem_error *error)
{
	return npumem_plan_request_sized(graph, request, sizeof(*request), out, error);
}
/**
 * npumem_plan_wait() - until the request is settled
 * @plan: the plan
 * @deadline: absolute
 * @error: filled in if the call fails; may be NULL
 *
 * 0: the plan is verified and ready. -EINPROGRESS: @deadline passed and the
 * request is still pending. Else the errno that the request ended with, with
 * the daemon's or the verifier's reason in @error. A loaded plan is ready.
 */
NPUMEM_EXPORT int npumem_plan_wait(struct npumem_plan *plan, int64_t deadline,
				   struct npumem_error *error);

/**
 * struct npumem_plan_stats - what the driver knows of a plan
 * @state: enum drm_npumem_plan_state
 * @error: zero, or the positive errno that the request ended with
 * @arena_size: bytes of arena that a run takes
 * @host_size: bytes of system memory that a run needs (npumem_run_new())
 * @lower_bound: bytes that no plan for its schedule can go below; 0 = unknown
 * @tile_states: state cells that a run keeps
 * @verify_ns: time that verification took
 * @blob_size: bytes of the plan blob
 */
struct npumem_plan_stats {
	uint32_t state;
	uint32_t error;
	uint64_t arena_size;
	uint64_t host_size;
	uint64_t lower_bound;
	uint64_t tile_states;
	uint64_t verify_ns;
	uint64_t blob_size;
};

NPUMEM_EXPORT int npumem_plan_get_stats_sized(struct npumem_plan *plan,
					      struct npumem_plan_stats *stats, size_t stats_size,
					      struct npumem_error *error);
/**
 * npumem_plan_get_stats() - what the driver knows of a plan, ready or not
 * @plan: the plan
 * @stats: out: what it knows
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument; -ENODEV.
 */
static inline int npumem_plan_get_stats(struct npumem_plan *plan, struct npumem_plan_stats *stats,
					struct npumem_error *error)
{
	return npumem_plan_get_stats_sized(plan, stats, sizeof(*stats), error);
}
/**
 * npumem_plan_read() - plan blob (npumem_plan.h) of a ready plan; free() it
 * @plan: the plan
 * @blob: out: the blob
 * @size: out: bytes at @blob
 * @error: filled in if the call fails; may be NULL
 *
 * -EBUSY while pending, -ENOEXEC if the request failed.
 */
NPUMEM_EXPORT int npumem_plan_read(struct npumem_plan *plan, void **blob, size_t *size,
				   struct npumem_error *error);
/**
 * npumem_plan_graph() - graph blob (npumem_graph.h) that a ready plan is of; free() it
 * @plan: the plan
 * @blob: out: the blob
 * @size: out: bytes at @blob
 * @error: filled in if the call fails; may be NULL
 *
 * The one of the graph that the plan was made for, or that of the daemon's, if the request let
 * it cut (struct npumem_request): steps and tiles of runs of the plan are those of this graph.
 * -EBUSY while pending, -ENOEXEC if the request failed.
 */
NPUMEM_EXPORT int npumem_plan_graph(struct npumem_plan *plan, void **blob, size_t *size,
				    struct npumem_error *error);
/**
 * npumem_plan_free() - give up a plan
 * @plan: may be NULL. A request that is pending is given up; runs keep what they need
 */
NPUMEM_EXPORT void npumem_plan_free(struct npumem_plan *plan);
/**
 * npumem_plan_handle() - the driver's handle of a plan
 * @plan: the plan
 *
 * For ioctls of npumem_drm.h on npumem_device_fd(). The handle is the plan's.
 */
NPUMEM_EXPORT uint32_t npumem_plan_handle(const struct npumem_plan *plan);

/* ----------------------------------------------------------- runs and jobs */

/**
 * npumem_run_new() - take an arena for a ready plan
 * @plan: the plan
 * @bank: carveout bank
 * @host: system BO of at least the plan's host_size; NULL if that is zero. The
 *	driver keeps its memory as long as the run lives
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * A plan with transfers: write tensors that start in host memory (NPUMEM_TENSOR_FLAG_HOST)
 * into @host where the plan's loads take them from, before these are submitted; find
 * stored outputs there (npumem_layout_write() and npumem_layout_read() do both). npumem_bo_wait()
 * for it waits for the copies. -EINVAL: too small, in the carveout, or imported; -EBUSY: the host
 * BO of another run.
 */
NPUMEM_EXPORT int npumem_run_new(struct npumem_plan *plan, uint32_t bank, struct npumem_bo *host,
				 struct npumem_run **out, struct npumem_error *error);
/**
 * npumem_run_new_shared() - make a run that takes turns with others
 * @plan: the plan
 * @arena: shared arena (NPUMEM_BO_SHARED) of at least the plan's arena_size; made with this
 *	device object, or imported by it. It is the caller's, who frees it after the run
 * @host: as for npumem_run_new()
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * Runs of several models, clients and processes have one arena, one at a time. npumem_bo_export()
 * gives it to another process, writable; npumem_bo_import() takes it. A run takes jobs between
 * npumem_run_begin_turn() and npumem_run_end_turn() only, and only then may the CPU
 * touch the arena: at other times that is a SIGBUS. -EINVAL: not a shared arena, too small, or of
 * another device object; -EACCES: it was exported for reading only; -EOPNOTSUPP: the plan has
 * state in the arena, which others would overwrite; of @host as npumem_run_new(); -ENOMEM.
 */
NPUMEM_EXPORT int npumem_run_new_shared(struct npumem_plan *plan, struct npumem_bo *arena,
					struct npumem_bo *host, struct npumem_run **out,
					struct npumem_error *error);
/**
 * npumem_run_begin_turn() - wait until a shared arena is the run's
 * @run: of npumem_run_new_shared()
 * @deadline: CLOCK_MONOTONIC nanoseconds, see npumem_deadline(); a past time polls
 * @error: filled in if the call fails; may be NULL
 *
 * First come first served; signals do not cost the place in the line. The run begins an
 * inference, as by npumem_run_reset(): inputs and parameters are to be written anew. The arena is
 * zero if another client had it last. -ETIMEDOUT: @deadline has passed; -EALREADY: it is the run's
 * turn; -EBUSY: another thread waits for it; -ECANCELED: the run was freed meanwhile; -EINVAL:
 * NULL argument, or the arena is the run's own; -ENODEV.
 */
NPUMEM_EXPORT int npumem_run_begin_turn(struct npumem_run *run, int64_t deadline,
					struct npumem_error *error);
/**
 * npumem_run_end_turn() - give a shared arena to the next one that waits
 * @run: whose turn it is
 * @error: filled in if the call fails; may be NULL
 *
 * Outputs are read before. -EBUSY: jobs are in flight, npumem_run_wait() first; -ENOLCK: it is not
 * its turn; -EINVAL: NULL argument, or the arena is the run's own.
 */
NPUMEM_EXPORT int npumem_run_end_turn(struct npumem_run *run, struct npumem_error *error);
/**
 * npumem_run_free() - give up a run and its arena
 * @run: may be NULL. Its arena is unmapped, too. Jobs in flight still finish
 */
NPUMEM_EXPORT void npumem_run_free(struct npumem_run *run);
/**
 * npumem_run_arena() - arena of a run, for npumem_bo_map()
 * @run: the run
 *
 * The BO is the run's: it ends with it, and npumem_bo_free() is not for it. Of
 * npumem_run_new_shared() it is the one that the caller gave.
 */
NPUMEM_EXPORT struct npumem_bo *npumem_run_arena(struct npumem_run *run);
/**
 * npumem_run_bind() - put an external tensor into a BO
 * @run: the run
 * @tensor: index in the graph
 * @bo: any but an arena; imported ones too. NULL: bind it to nothing. May be
 *	freed while it is bound: the driver keeps the memory
 * @offset: first byte in @bo, a multiple of the tensor's alignment
 * @error: filled in if the call fails; may be NULL
 *
 * Replaces an earlier binding; lasts until the run is freed. While it lasts,
 * the run's jobs wait for the fences of the BO and add theirs. -EINVAL: not an
 * external tensor; outside the BO; misaligned; or bytes of another bound tensor,
 * and one of the two is written. -EACCES: a tensor that is written, a dma-buf
 * of another device that is open for reading only. -EBUSY: jobs of the run are in flight.
 */
NPUMEM_EXPORT int npumem_run_bind(struct npumem_run *run, uint32_t tensor, struct npumem_bo *bo,
				  uint64_t offset, struct npumem_error *error);
/**
 * npumem_run_reset() - next inference, from plan block 0; bindings stay
 * @run: the run
 * @error: filled in if the call fails; may be NULL
 *
 * npumem_run_get_stats() counts from zero. -EBUSY while jobs are in flight.
 */
NPUMEM_EXPORT int npumem_run_reset(struct npumem_run *run, struct npumem_error *error);

/**
 * struct npumem_run_stats - how far an inference is, and what it has moved
 * @block: plan block that the run is in, NPUMEM_NONE after the exit
 * @error: positive errno that the run was lost with, or zero
 * @submitted: positions submitted
 * @load_bytes: bytes of the loads that engines have carried out
 * @spill_bytes: bytes of the spills that they have carried out
 * @store_bytes: bytes of stores, likewise
 * @fill_bytes: bytes of fills, likewise
 * @lost: how the first job that failed did, if the run is lost by one; NPUMEM_RULE_NONE otherwise,
 *	and from a driver that does not say
 */
struct npumem_run_stats {
	uint32_t block;
	uint32_t error;
	uint64_t submitted;
	uint64_t load_bytes;
	uint64_t spill_bytes;
	uint64_t store_bytes;
	uint64_t fill_bytes;
	struct npumem_verdict lost;
};

NPUMEM_EXPORT int npumem_run_get_stats_sized(struct npumem_run *run, struct npumem_run_stats *stats,
					     size_t stats_size, struct npumem_error *error);
/**
 * npumem_run_get_stats() - what the driver has counted since the inference began
 * @run: the run
 * @stats: out: what it has counted
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument; -ENODEV.
 */
static inline int npumem_run_get_stats(struct npumem_run *run, struct npumem_run_stats *stats,
				       struct npumem_error *error)
{
	return npumem_run_get_stats_sized(run, stats, sizeof(*stats), error);
}

/**
 * npumem_run_wait() - wait until all jobs of a run have ended, and see whether it is lost
 * @run: the run
 * @deadline: CLOCK_MONOTONIC nanoseconds, see npumem_deadline()
 * @error: filled in if the call fails; may be NULL
 *
 * -EIO: the run is lost; the error says by which errno of a job, and what rule an engine has
 * broken, as @error and @lost of npumem_run_get_stats() do. Otherwise as npumem_bo_wait() for its
 * arena, which knows nothing of how jobs have ended.
 */
NPUMEM_EXPORT int npumem_run_wait(struct npumem_run *run, int64_t deadline,
				  struct npumem_error *error);
/**
 * npumem_job_positions() - job that runs positions of the plan's schedule
 * @engine: index
 * @first: position
 * @count: >= 1, all of one plan block
 * @commands: what the engine is to do with the steps, in its own format, or NULL; read
 *	by npumem_run_submit()
 * @commands_size: bytes of it
 */
static inline struct drm_npumem_job npumem_job_positions(uint32_t engine, uint32_t first,
							 uint32_t count, const void *commands,
							 size_t commands_size)
{
	struct drm_npumem_job job;

	memset(&job, 0, sizeof(job));
	job.first_position = first;
	job.position_count = count;
	job.engine = engine;
	job.commands.ptr = (uintptr_t)commands;
	job.commands.size = commands_size;
	return job;
}

/**
 * npumem_job_edge() - job that takes the run along an edge of the plan
 * @plan_edge: number in the plan blob's edge section (struct npumem_plan_edge)
 *
 * Loops and branches: a run is in one plan block at a time, at first in block 0.
 * When all positions of it have been submitted, an edge from it leads to the next
 * one, or past the exit. Which edge is the caller's decision. May stand between
 * jobs of the two blocks in one submission.
 */
static inline struct drm_npumem_job npumem_job_edge(uint32_t plan_edge)
{
	struct drm_npumem_job job;

	memset(&job, 0, sizeof(job));
	job.first_position = plan_edge;
	job.flags = NPUMEM_JOB_EDGE;
	return job;
}

/**
 * struct npumem_submit - jobs that go together, or not at all
 * @jobs: @job_count of them, >= 1
 * @in_syncs: @in_count syncobjs waited for before the first job
 * @out_syncs: @out_count syncobjs signalled after the last one
 * @job_count: number of @jobs
 * @in_count: number of @in_syncs
 * @out_count: number of @out_syncs
 * @failed_job: out: number of the job refused, or NPUMEM_NONE
 */
struct npumem_submit {
	const struct drm_npumem_job *jobs;
	const struct drm_npumem_sync *in_syncs;
	const struct drm_npumem_sync *out_syncs;
	uint32_t job_count;
	uint32_t in_count;
	uint32_t out_count;
	uint32_t failed_job;
};

NPUMEM_EXPORT int npumem_run_submit_sized(struct npumem_run *run, struct npumem_submit *submit,
					  size_t submit_size, struct npumem_error *error);
/**
 * npumem_run_submit() - put positions of the plan's schedule on an engine
 * @run: the run
 * @submit: the jobs, and what they wait for and signal
 * @error: filled in if the call fails; may be NULL
 *
 * -EPERM with @error->verdict: the state of a tile forbids an access, or the run
 * is not in the job's block; -ENXIO with @error->verdict: a job accesses an
 * external tensor that is bound to nothing; -E2BIG: more work at once than
 * drm_npumem_info.max_submit_work, or more commands than max_submit_commands, submit
 * fewer positions; -EBUSY: too many jobs of the device file, or of the user, have not
 * ended, or these wait for too many fences, wait for one; -EUNATCH: a job is for a slot that no
 * process is attached to, or no longer, @submit->failed_job says which job. Nothing was submitted
 * then. -EIO: an earlier job of the run failed.
 */
static inline int npumem_run_submit(struct npumem_run *run, struct npumem_submit *submit,
				    struct npumem_error *error)
{
	return npumem_run_submit_sized(run, submit, sizeof(*submit), error);
}

/* --------------------------------------------------------------- syncobjs */

/**
 * npumem_sync_new() - syncobj without a fence
 * @device: the device
 * @handle: out: handle of the syncobj; npumem_sync_free() it
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument; -ENODEV; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_sync_new(struct npumem_device *device, uint32_t *handle,
				  struct npumem_error *error);
/**
 * npumem_sync_free() - give up a syncobj
 * @device: the device
 * @handle: of the syncobj; 0 does nothing. Jobs that wait for it or signal it keep it
 */
NPUMEM_EXPORT void npumem_sync_free(struct npumem_device *device, uint32_t handle);
/**
 * npumem_sync_wait() - until all syncobjs are signalled
 * @device: the device
 * @syncs: @count of them; those without a fence yet are waited for too
 * @count: number of @syncs
 * @deadline: CLOCK_MONOTONIC nanoseconds, see npumem_deadline()
 * @error: filled in if the call fails; may be NULL
 *
 * -ETIMEDOUT: @deadline has passed; -EINVAL: NULL argument; -ENOENT: no such syncobj;
 * -ENOMEM.
 */
NPUMEM_EXPORT int npumem_sync_wait(struct npumem_device *device,
				   const struct drm_npumem_sync *syncs, uint32_t count,
				   int64_t deadline, struct npumem_error *error);

#ifdef __cplusplus
}
#endif

#include "npumem_builder.h"

#endif /* NPUMEM_H */
