/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * All parts of the verifier use this: refusals and the bound on work, arrays, framing of blobs.
 */
#ifndef NPUMEM_VERIFY_BASE_H
#define NPUMEM_VERIFY_BASE_H

#include "verify/verify.h"

/**
 * struct npuv_work - state of one call of npuv_*_create()
 * @blob: blob that verdicts of NPUMEM_RULE_FORMAT point into
 * @limits: the caller's
 * @log: see @limits
 * @verdict: see @limits
 * @visits: units of work done, at most @limits->max_visits
 * @ticks: units since npuv_interrupted() was asked
 * @spare: room to sort @spare_count values, grown and freed by npuv_sort() and
 *	npuv_work_fini()
 * @spare_count: see @spare
 */
struct npuv_work {
	const void *blob;
	const struct npuv_limits *limits;
	struct npuv_log *log;
	struct npumem_verdict *verdict;
	u64 visits;
	u32 ticks;
	u64 *spare;
	u32 spare_count;
};

/* log.c */

/* Translate a verdict about a graph with transfers into numbers of the client's graph. */
void npuv_verdict_map(const struct npuv_graph *g, struct npumem_verdict *verdict);
/* Let a verdict name an access, as the one that is refused or as the other one of two. */
void npuv_verdict_access(struct npumem_verdict *verdict, const struct npuv_graph *g, u32 access);
void npuv_verdict_other(struct npumem_verdict *verdict, const struct npuv_graph *g, u32 access);
/* Let the verdict name the @size bytes at a place in the blob. */
void npuv_verdict_at(struct npuv_work *w, const void *at, u64 size);
/* Refuse: log the line, name the rule, return @err. The caller sets other fields before. */
__printf(4, 5) int npuv_refuse(struct npuv_work *w, int err, u32 rule, const char *fmt, ...);
/* Refuse a blob for the size bytes at a place in it. */
__printf(5, 6) int npuv_refuse_at(struct npuv_work *w, int err, const void *at, u64 size,
				  const char *fmt, ...);
/* Count n units of work: 0, -E2BIG or -EINTR. */
int npuv_visit(struct npuv_work *w, u64 n);

/* "load", "spill", "fill", "drop" or "store", for enum npumem_position_kind. */
const char *npuv_kind_name(u32 kind);

/*
 * Texts that name a step, tensor or block: "step 12 'conv_3'", "tensor 5 'conv_3/out'",
 * "block 0". They are short and printable. In a graph with transfers they may be "fill at
 * position 4" and "the host copy of tensor 5".
 */
struct npuv_text {
	char s[112];
};

const char *npuv_text_step(const struct npuv_graph *g, u32 step, struct npuv_text *text);
const char *npuv_text_tensor(const struct npuv_graph *g, u32 tensor, struct npuv_text *text);
const char *npuv_text_block(const struct npuv_graph *g, u32 block, struct npuv_text *text);
/* The text for an instance: "block 2 of the plan (block 1 'body')"; "the exit" for NPUMEM_NONE. */
const char *npuv_text_instance(const struct npuv_plan *p, u32 instance, struct npuv_text *text);

static inline u32 npuv_transfer_kind(const struct npuv_graph *g, u32 step)
{
	return (u32)(npuv_step(g, step)->cookie >> 32);
}

/* The position that a step of a graph with transfers stands for. */
static inline u32 npuv_planned_position(const struct npuv_graph *g, u32 step)
{
	return step - g->source->steps.count;
}

/* array.c */

/* Sort ascending, interruptibly. */
int npuv_sort(struct npuv_work *w, u64 *values, u32 count);
/* The same, and drop repeated values; count: in and out. */
int npuv_sort_unique(struct npuv_work *w, u64 *values, u32 *count);
static inline void npuv_work_fini(struct npuv_work *w)
{
	npuv_free(w->spare);
}

/* Number of values of a sorted array that are <= value. */
u32 npuv_upper_bound(const u64 *values, u32 count, u64 value);

/**
 * struct npuv_vector - array that grows, its memory always zeroed past @count
 * @data: @capacity records of @size bytes
 * @count: records that are used
 * @capacity: records that there is memory for
 * @size: bytes of a record
 */
struct npuv_vector {
	void *data;
	u32 count;
	u32 capacity;
	u32 size;
};

/* Append n records, zeroed. Returns the first one, or NULL for lack of memory. */
void *npuv_vector_add(struct npuv_vector *v, u32 n);
/* Forget all records, keep their memory. */
void npuv_vector_clear(struct npuv_vector *v);
/* Take the records, in memory of just their size, and empty v. NULL for lack of memory. */
void *npuv_vector_take(struct npuv_vector *v);

/* (key, value) pairs to be grouped by key, order within a key kept. */
struct npuv_pair {
	u32 key;
	u32 value;
};

/* Append a pair to a vector of them: 0 or -ENOMEM. */
int npuv_pair_add(struct npuv_vector *pairs, u32 key, u32 value);
/*
 * Group pairs, or other records of u32 that begin with their key, by key. The values of a
 * key are values[start[key]] to values[start[key + 1] - 1]. @err is the error of the code
 * that gathered the pairs: if it is not zero it is returned, and nothing is grouped. The
 * pairs are freed in any case.
 */
int npuv_group(struct npuv_work *w, int err, struct npuv_vector *pairs, u32 keys, u32 **start,
	       void *values);

/* size.c */

/* Bytes of @count arrays, each of which may be NULL; they are freed if @give_back is set. */
u64 npuv_arrays(void *const *array, u32 count, bool give_back);
#define NPUV_ARRAYS(give_back, ...)                 \
	npuv_arrays((void *const[]){ __VA_ARGS__ }, \
		    sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *), give_back)
#define npuv_free_all(...) NPUV_ARRAYS(true, __VA_ARGS__)

/* blob.c */

/**
 * struct npuv_section_rule - a kind of section that a blob may have
 * @kind: its kind in the section table
 * @record: bytes of its records; a file may have longer ones if @align > 1
 * @align: the stride has to be a multiple of this
 * @required: the section must be there, with at least one record
 * @name: its name in the log
 * @out: where the section is stored; all zero when it is absent
 */
struct npuv_section_rule {
	u32 kind;
	u32 record;
	u32 align;
	bool required;
	const char *name;
	struct npuv_section *out;
};

int npuv_blob_check(struct npuv_work *w, u64 size, u32 magic, const struct npuv_section_rule *rules,
		    u32 rule_count);

#endif /* NPUMEM_VERIFY_BASE_H */
