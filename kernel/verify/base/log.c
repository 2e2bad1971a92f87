// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Refusals: the log's text, the verdict, and the bound on work.
 */
#include "base.h"

const struct npuv_limits npuv_default_limits = {
	.max_blob = NPUMEM_BLOB_MAX_BYTES,
	.max_accesses = 1u << 20,
	.max_chunks = 1u << 22,
	.max_visits = 1u << 24,
};

void npuv_log_init(struct npuv_log *log, u32 level, char *buf, u32 size)
{
	log->buf = buf;
	log->size = buf ? size : 0;
	log->used = 0;
	log->level = level;
	if (log->size)
		buf[0] = '\0';
}

static __printf(2, 0) void log_append(struct npuv_log *log, const char *fmt, va_list args)
{
	u32 room = log->used < log->size ? log->size - log->used : 0;
	int n = vsnprintf(room ? log->buf + log->used : NULL, room, fmt, args);

	if (n > 0 && check_add_overflow(log->used, (u32)n, &log->used))
		log->used = U32_MAX;
}

static __printf(2, 3) void log_text(struct npuv_log *log, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_append(log, fmt, args);
	va_end(args);
}

static __printf(2, 0) void log_line(struct npuv_log *log, const char *fmt, va_list args)
{
	if (!log || !log->level)
		return;
	log_append(log, fmt, args);
	log_text(log, "\n");
}

void npuv_log(struct npuv_log *log, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line(log, fmt, args);
	va_end(args);
}

void npuv_verdict_clear(struct npumem_verdict *verdict)
{
	memset(verdict, 0, sizeof(*verdict));
	verdict->position = NPUMEM_NONE;
	verdict->step = NPUMEM_NONE;
	verdict->tile = NPUMEM_NONE;
	verdict->tensor = NPUMEM_NONE;
	verdict->other_step = NPUMEM_NONE;
	verdict->other_tile = NPUMEM_NONE;
	verdict->other_tensor = NPUMEM_NONE;
}

void npuv_verdict_access(struct npumem_verdict *verdict, const struct npuv_graph *g, u32 access)
{
	verdict->step = g->access_step[access];
	verdict->tile = npuv_access(g, access)->tile;
	verdict->tensor = npuv_tile(g, verdict->tile)->tensor;
}

void npuv_verdict_other(struct npumem_verdict *verdict, const struct npuv_graph *g, u32 access)
{
	verdict->other_step = g->access_step[access];
	verdict->other_tile = npuv_access(g, access)->tile;
	verdict->other_tensor = npuv_tile(g, verdict->other_tile)->tensor;
}

/* A step as the client numbers it, NPUMEM_NONE for a transfer. */
static u32 client_step(const struct npuv_graph *g, u32 step)
{
	if (!npuv_is_planned(g, step))
		return step;
	return npuv_is_transfer(g, step) ? NPUMEM_NONE : (u32)npuv_step(g, step)->cookie;
}

static void map_step(const struct npuv_graph *g, u32 *step, u32 *tile)
{
	if (*step == NPUMEM_NONE || !npuv_is_planned(g, *step))
		return;
	if (npuv_is_transfer(g, *step))
		*tile = NPUMEM_NONE;
	*step = client_step(g, *step);
}

void npuv_verdict_map(const struct npuv_graph *g, struct npumem_verdict *verdict)
{
	map_step(g, &verdict->step, &verdict->tile);
	map_step(g, &verdict->other_step, &verdict->other_tile);
	if (verdict->tensor != NPUMEM_NONE)
		verdict->tensor = npuv_base_tensor(g, verdict->tensor);
	if (verdict->other_tensor != NPUMEM_NONE)
		verdict->other_tensor = npuv_base_tensor(g, verdict->other_tensor);
}

void npuv_verdict_at(struct npuv_work *w, const void *at, u64 size)
{
	w->verdict->first = (u64)((const u8 *)at - (const u8 *)w->blob);
	w->verdict->length = size;
}

int npuv_refuse(struct npuv_work *w, int err, u32 rule, const char *fmt, ...)
{
	va_list args;

	w->verdict->rule = rule;
	va_start(args, fmt);
	log_line(w->log, fmt, args);
	va_end(args);
	return err;
}

int npuv_refuse_at(struct npuv_work *w, int err, const void *at, u64 size, const char *fmt, ...)
{
	va_list args;

	w->verdict->rule = NPUMEM_RULE_FORMAT;
	npuv_verdict_at(w, at, size);
	va_start(args, fmt);
	log_line(w->log, fmt, args);
	va_end(args);
	return err;
}

int npuv_visit(struct npuv_work *w, u64 n)
{
	if (check_add_overflow(w->visits, n, &w->visits) || w->visits > w->limits->max_visits)
		return npuv_refuse(w, -E2BIG, NPUMEM_RULE_NONE,
				   "limit: more than %llu visits of chunks and cells",
				   w->limits->max_visits);
	if (n < NPUV_TICKS && w->ticks + n < NPUV_TICKS) {
		w->ticks += (u32)n;
		return 0;
	}
	w->ticks = 0;
	return npuv_interrupted();
}

const char *npuv_name(const struct npuv_graph *g, u32 name)
{
	return name < g->strings.count ? (const char *)g->strings.base + name : "";
}

/* Format a name. Its bytes are a client's, so it is kept short and without control characters. */
static const char *text(const struct npuv_graph *g, const char *what, u32 index, u32 name,
			struct npuv_text *out)
{
	const char *from = npuv_name(g, name);
	u32 i;

	if (!*from) {
		snprintf(out->s, sizeof(out->s), "%s %u", what, index);
		return out->s;
	}
	snprintf(out->s, sizeof(out->s), "%s %u '%.52s'", what, index, from);
	for (i = 0; out->s[i]; i++)
		if ((u8)out->s[i] < 0x20 || out->s[i] == 0x7f)
			out->s[i] = '?';
	return out->s;
}

const char *npuv_kind_name(u32 kind)
{
	static const char *const names[] = { "step", "load", "spill", "fill", "drop", "store" };

	return names[kind];
}

const char *npuv_text_step(const struct npuv_graph *g, u32 step, struct npuv_text *out)
{
	if (npuv_is_transfer(g, step)) {
		snprintf(out->s, sizeof(out->s), "%s at position %u",
			 npuv_kind_name(npuv_transfer_kind(g, step)),
			 npuv_planned_position(g, step));
		return out->s;
	}
	return text(g, "step", client_step(g, step), npuv_step(g, step)->name, out);
}

const char *npuv_text_tensor(const struct npuv_graph *g, u32 tensor, struct npuv_text *out)
{
	if (npuv_is_host_copy(g, tensor))
		return text(g, "the host copy of tensor", npuv_base_tensor(g, tensor),
			    npuv_tensor(g, tensor)->name, out);
	return text(g, "tensor", tensor, npuv_tensor(g, tensor)->name, out);
}

/* Append a part of a text, behind what separates it from the one before. */
static void join(char *text, u32 size, const char *separator, const char *part)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s", used ? separator : "", part);
}

void npuv_verdict_text(const struct npuv_graph *g, const struct npumem_verdict *v, char *text,
		       u32 size)
{
	const u32 steps[] = { v->step, v->other_step };
	const u32 tensors[] = { v->tensor, v->other_tensor };
	struct npuv_text part;
	const char *separator;
	u32 i;

	text[0] = '\0';
	for (i = 0; i < 2; i++) {
		separator = "; ";
		if (steps[i] < g->steps.count) {
			join(text, size, separator, npuv_text_step(g, steps[i], &part));
			separator = ", ";
		}
		if (tensors[i] < g->tensors.count)
			join(text, size, separator, npuv_text_tensor(g, tensors[i], &part));
	}
}

const char *npuv_text_block(const struct npuv_graph *g, u32 block, struct npuv_text *out)
{
	return text(g, "block", block, npuv_block(g, block)->name, out);
}

const char *npuv_text_instance(const struct npuv_plan *p, u32 instance, struct npuv_text *out)
{
	const struct npuv_graph *g = p->graph->source ? p->graph->source : p->graph;
	struct npuv_text block;

	if (instance == NPUMEM_NONE)
		snprintf(out->s, sizeof(out->s), "the exit");
	else
		snprintf(out->s, sizeof(out->s), "block %u of the plan (%.80s)", instance,
			 npuv_text_block(g, npuv_plan_block(p, instance)->block, &block));
	return out->s;
}
