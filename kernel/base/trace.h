/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: one trip of a graph, from the request to the end of its jobs.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM npumem

#if !defined(NPUMEM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NPUMEM_TRACE_H

#include <linux/tracepoint.h>

#include "npumem_plan.h"

/* clang-format takes the macros for C and spoils them. */
/* clang-format off */

/* A plan request is queued for the daemon; later it is settled, with error 0 or negative. */
TRACE_EVENT(npumem_request,
	TP_PROTO(u64 id, u64 graph_size, const char *planner, s64 deadline),
	TP_ARGS(id, graph_size, planner, deadline),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, graph_size)
		__field(s64, deadline)
		__string(planner, planner)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->graph_size = graph_size;
		__entry->deadline = deadline;
		__assign_str(planner);
	),
	TP_printk("id=%llu graph_size=%llu planner=%s deadline=%lld", __entry->id,
		  __entry->graph_size, __get_str(planner), __entry->deadline)
);

TRACE_EVENT(npumem_settle,
	TP_PROTO(u64 id, int error),
	TP_ARGS(id, error),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->error = error;
	),
	TP_printk("id=%llu error=%d", __entry->id, __entry->error)
);

/* A plan was verified, or refused by a rule. */
TRACE_EVENT(npumem_verify,
	TP_PROTO(u64 size, u64 ns, int error, u32 rule),
	TP_ARGS(size, ns, error, rule),
	TP_STRUCT__entry(
		__field(u64, size)
		__field(u64, ns)
		__field(int, error)
		__field(u32, rule)
	),
	TP_fast_assign(
		__entry->size = size;
		__entry->ns = ns;
		__entry->error = error;
		__entry->rule = rule;
	),
	TP_printk("size=%llu ns=%llu error=%d rule=%u", __entry->size, __entry->ns,
		  __entry->error, __entry->rule)
);

/* Bytes have been moved between arena and host BO. */
TRACE_EVENT(npumem_transfer,
	TP_PROTO(u64 run, u32 position, const struct npumem_position *p),
	TP_ARGS(run, position, p),
	TP_STRUCT__entry(
		__field(u64, run)
		__field(u64, first)
		__field(u64, length)
		__field(u64, host_offset)
		__field(u32, position)
		__field(u32, kind)
		__field(u32, tensor)
	),
	TP_fast_assign(
		__entry->run = run;
		__entry->first = p->first;
		__entry->length = p->length;
		__entry->host_offset = p->host_offset;
		__entry->position = position;
		__entry->kind = p->kind;
		__entry->tensor = p->index;
	),
	TP_printk("run=%llu position=%u kind=%u tensor=%u first=%llu length=%llu host_offset=%llu",
		  __entry->run, __entry->position, __entry->kind, __entry->tensor,
		  __entry->first, __entry->length, __entry->host_offset)
);

/* A SUBMIT was accepted, or refused as a whole. */
TRACE_EVENT(npumem_submit,
	TP_PROTO(u64 run, u32 jobs, int error),
	TP_ARGS(run, jobs, error),
	TP_STRUCT__entry(
		__field(u64, run)
		__field(u32, jobs)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->run = run;
		__entry->jobs = jobs;
		__entry->error = error;
	),
	TP_printk("run=%llu jobs=%u error=%d", __entry->run, __entry->jobs, __entry->error)
);

DECLARE_EVENT_CLASS(npumem_job,
	TP_PROTO(u64 run, u32 engine, u32 position, u32 count, u32 commands, int error),
	TP_ARGS(run, engine, position, count, commands, error),
	TP_STRUCT__entry(
		__field(u64, run)
		__field(u32, engine)
		__field(u32, position)
		__field(u32, count)
		__field(u32, commands)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->run = run;
		__entry->engine = engine;
		__entry->position = position;
		__entry->count = count;
		__entry->commands = commands;
		__entry->error = error;
	),
	TP_printk("run=%llu engine=%u position=%u count=%u commands=%u error=%d", __entry->run,
		  __entry->engine, __entry->position, __entry->count, __entry->commands,
		  __entry->error)
);

DEFINE_EVENT(npumem_job, npumem_job_start,
	TP_PROTO(u64 run, u32 engine, u32 position, u32 count, u32 commands, int error),
	TP_ARGS(run, engine, position, count, commands, error));

DEFINE_EVENT(npumem_job, npumem_job_end,
	TP_PROTO(u64 run, u32 engine, u32 position, u32 count, u32 commands, int error),
	TP_ARGS(run, engine, position, count, commands, error));

/* A job was refused by tile states (error -EPERM), or failed on its engine. */
TRACE_EVENT(npumem_fault,
	TP_PROTO(u64 run, int error, const struct npumem_verdict *verdict),
	TP_ARGS(run, error, verdict),
	TP_STRUCT__entry(
		__field(u64, run)
		__field(int, error)
		__field(u32, rule)
		__field(u32, position)
		__field(u32, step)
		__field(u32, tile)
		__field(u32, other_tile)
	),
	TP_fast_assign(
		__entry->run = run;
		__entry->error = error;
		__entry->rule = verdict->rule;
		__entry->position = verdict->position;
		__entry->step = verdict->step;
		__entry->tile = verdict->tile;
		__entry->other_tile = verdict->other_tile;
	),
	TP_printk("run=%llu error=%d rule=%u position=%d step=%d tile=%d other_tile=%d",
		  __entry->run, __entry->error, __entry->rule, __entry->position,
		  __entry->step, __entry->tile, __entry->other_tile)
);

/* clang-format on */

#endif /* NPUMEM_TRACE_H */

/* This file is not in include/trace/events. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
