// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Enforcement: the states of a run's cells are checked and changed at every submission.
 *
 * A step's reads are counted before its writes are looked at. If the step is not staged
 * that makes no difference: the verifier has let none of its writes take bytes that it
 * reads, but by an update in place.
 */
#include "../plan/plan.h"

#define NPUV_LONG_BITS (8 * sizeof(unsigned long))

int npuv_states_create(const struct npuv_plan *plan, struct npuv_states **out)
{
	struct npuv_states *s = npuv_alloc_array(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->plan = plan;
	s->cells = npuv_alloc_array(plan->graph->cell_count, sizeof(*s->cells));
	s->submitted = npuv_alloc_array(plan->graph->steps.count / NPUV_LONG_BITS + 1,
					sizeof(*s->submitted));
	err = s->cells && s->submitted ? npuv_states_reset(s) : -ENOMEM;
	if (err) {
		npuv_states_destroy(s);
		return err;
	}
	*out = s;
	return 0;
}

/* Count n units of work: 0, or -EINTR if a fatal signal is pending. */
static int tick(struct npuv_states *s, u32 n)
{
	return npuv_tick(&s->ticks, n);
}

static bool is_submitted(const struct npuv_states *s, u32 step)
{
	return s->submitted[step / NPUV_LONG_BITS] >> (step % NPUV_LONG_BITS) & 1;
}

static void set_submitted(struct npuv_states *s, u32 step, bool on)
{
	unsigned long bit = 1ul << (step % NPUV_LONG_BITS);

	if (on)
		s->submitted[step / NPUV_LONG_BITS] |= bit;
	else
		s->submitted[step / NPUV_LONG_BITS] &= ~bit;
}

/* Make an instance current, with all of its steps submitted or none. -EINTR: it is half done. */
static int enter(struct npuv_states *s, u32 instance, bool all)
{
	const struct npuv_plan *p = s->plan;
	const struct npuv_graph *g = p->graph;
	u32 b = npuv_block_of(p, instance);
	const struct npumem_block *block = npuv_block(g, b);
	u32 c, i;

	s->block = instance;
	s->left = all ? 0 : block->step_count;
	for (i = 0; i < block->step_count; i++) {
		if (tick(s, 1))
			return -EINTR;
		set_submitted(s, block->first_step + i, all);
	}
	for (c = g->cell_start[b]; c < g->cell_start[b + 1]; c++) {
		u32 uses = p->uses[npuv_plan_cell(p, instance, c)];

		if (tick(s, 1))
			return -EINTR;
		if (all)
			s->cells[c] = uses - g->cells[c].reads;
		else
			s->cells[c] = g->cells[c].writer == NPUMEM_NONE ? uses : NPUV_EMPTY;
	}
	return 0;
}

int npuv_states_reset(struct npuv_states *s)
{
	u32 i;

	for (i = 0; i < s->plan->graph->cell_count; i++) {
		if (tick(s, 1))
			return -EINTR;
		s->cells[i] = NPUV_EMPTY;
	}
	return enter(s, 0, false);
}

/* The number of cells that count_reads() visits for a step. */
static u64 read_work(const struct npuv_graph *g, u32 index, u32 *ticks)
{
	const struct npumem_step *step = npuv_step(g, index);
	u32 i, end = g->merged_start[index + 1];
	u64 work = 0;

	for (i = g->merged_start[index]; i < end; i++) {
		work += g->merged[i].count;
		if (npuv_tick(ticks, 1))
			return work;
	}
	if (g->merged_start[index] < end)
		return work;
	end = g->read_start[step->first_access + step->access_count];
	for (i = g->read_start[step->first_access]; i < end; i++) {
		work += g->read_runs[i].count;
		if (npuv_tick(ticks, 1))
			return work;
	}
	return work;
}

u64 npuv_states_work(const struct npuv_plan *p, u32 position, u32 *ticks)
{
	const struct npuv_graph *g = p->graph;
	u32 index = npuv_step_at(p, position), instance = npuv_instance_at(p, position);
	const struct npumem_step *step = npuv_step(g, index);
	u64 work = 1 + (u64)step->access_count + read_work(g, index, ticks);
	struct npuv_cells it;
	u32 a, c;

	for (a = step->first_access; a < step->first_access + step->access_count; a++) {
		if (npuv_tick(ticks, 1))
			return work;
		npuv_for_each_write(it, g, a)
		{
			c = npuv_plan_cell(p, instance, it.cell);
			work += 1 + (u64)p->pred_start[c + 1] - p->pred_start[c];
			if (npuv_tick(ticks, 1))
				return work;
		}
	}
	return work;
}

u64 npuv_states_cross_work(const struct npuv_plan *p, u32 plan_edge)
{
	const struct npuv_graph *g = p->graph;
	u32 instance = npuv_plan_edge(p, plan_edge)->to;
	const struct npumem_block *block;
	u32 b;

	if (instance == NPUMEM_NONE)
		return 1;
	b = npuv_block_of(p, instance);
	block = npuv_block(g, b);
	return 1 + (u64)block->step_count + g->cell_start[b + 1] - g->cell_start[b];
}

static void set_where(const struct npuv_states *s, struct npumem_verdict *v, u32 cell, u32 position)
{
	const struct npuv_cell *c = &s->plan->graph->cells[cell];
	const struct npuv_segment *segment = &s->plan->graph->segments[c->first_segment];
	const struct npuv_extent *e;

	e = npuv_location_find_at(s->plan, npuv_location_of(s->plan, s->block, c->tensor),
				  segment->first, position);
	if (!e)
		return;
	v->first = e->placement == NPUMEM_NONE ? segment->first :
						 e->arena + (segment->first - e->first);
	if (npuv_is_host_copy(s->plan->graph, c->tensor))
		v->first -= s->plan->info->arena_size;
	v->length = e->length - (segment->first - e->first);
	if (v->length > segment->length)
		v->length = segment->length;
}

static int refuse_read(const struct npuv_states *s, struct npumem_verdict *v, u32 access, u32 cell)
{
	const struct npuv_graph *g = s->plan->graph;
	u32 writer = g->cells[cell].writer;
	u32 over = s->plan->overwriter[npuv_plan_cell(s->plan, s->block, cell)];

	v->rule = NPUMEM_RULE_ENFORCE_READ;
	npuv_verdict_access(v, g, access);
	set_where(s, v, cell, v->position);
	if (s->cells[cell] != NPUV_EMPTY)
		writer = over == NPUMEM_NONE ? NPUMEM_NONE : g->cells[over].writer;
	if (writer != NPUMEM_NONE)
		npuv_verdict_other(v, g, writer);
	return -EPERM;
}

static int refuse_write(const struct npuv_states *s, struct npumem_verdict *v, u32 access, u32 cell,
			u32 pred)
{
	const struct npuv_graph *g = s->plan->graph;
	const struct npuv_cell *c = &g->cells[pred];
	u32 use = s->plan->last_use[npuv_plan_cell(s->plan, s->block, pred)];

	v->rule = NPUMEM_RULE_ENFORCE_WRITE;
	npuv_verdict_access(v, g, access);
	set_where(s, v, cell, v->position);
	v->other_tensor = c->tensor;
	if (s->cells[pred] == NPUV_EMPTY || use == NPUMEM_NONE || g->access_step[use] == v->step ||
	    is_submitted(s, g->access_step[use]))
		use = c->writer;
	if (use != NPUMEM_NONE)
		npuv_verdict_other(v, g, use);
	return -EPERM;
}

static int add_uses(struct npuv_states *s, u32 first, u32 count, u32 uses)
{
	u32 i;

	for (i = first; i < first + count; i++) {
		if (tick(s, 1))
			return -EINTR;
		s->cells[i] += uses;
	}
	return 0;
}

/* Count a step's reads as uses of their cells, or undo that. */
static int count_reads(struct npuv_states *s, u32 index, bool back)
{
	const struct npuv_graph *g = s->plan->graph;
	const struct npumem_step *step = npuv_step(g, index);
	u32 i, end = g->merged_start[index + 1];
	int err = 0;

	for (i = g->merged_start[index]; !err && i < end; i++)
		err = add_uses(s, g->merged[i].first, g->merged[i].count,
			       back ? g->merged[i].times : -g->merged[i].times);
	if (g->merged_start[index] < end)
		return err;
	end = g->read_start[step->first_access + step->access_count];
	for (i = g->read_start[step->first_access]; !err && i < end; i++)
		err = add_uses(s, g->read_runs[i].first, g->read_runs[i].count, back ? 1 : -1u);
	return err;
}

/* Make all cells that a step writes LIVE, or EMPTY again. */
static int count_writes(struct npuv_states *s, const struct npumem_step *step, bool back)
{
	const struct npuv_plan *p = s->plan;
	struct npuv_cells it;
	u32 a;

	for (a = step->first_access; a < step->first_access + step->access_count; a++) {
		if (tick(s, 1))
			return -EINTR;
		npuv_for_each_write(it, p->graph, a)
		{
			if (tick(s, 1))
				return -EINTR;
			s->cells[it.cell] = back ? NPUV_EMPTY :
						   p->uses[npuv_plan_cell(p, s->block, it.cell)];
		}
	}
	return 0;
}

/* Find the first cell of a run that is not LIVE, or the run's end: 0 or -EINTR. */
static int find_dead(struct npuv_states *s, u32 first, u32 count, u32 *dead)
{
	u32 i = first;

	while (i < first + count && s->cells[i] != NPUV_EMPTY && s->cells[i] != NPUV_RETIRED) {
		if (tick(s, 1))
			return -EINTR;
		i++;
	}
	*dead = i;
	return 0;
}

/* Whether all cells that a step reads again and again are LIVE: 1, 0 or -EINTR. */
static int merged_live(struct npuv_states *s, u32 index)
{
	const struct npuv_graph *g = s->plan->graph;
	u32 i, dead;

	for (i = g->merged_start[index]; i < g->merged_start[index + 1]; i++) {
		if (find_dead(s, g->merged[i].first, g->merged[i].count, &dead))
			return -EINTR;
		if (dead != g->merged[i].first + g->merged[i].count)
			return 0;
	}
	return g->merged_start[index] < g->merged_start[index + 1];
}

static int check_reads(struct npuv_states *s, u32 index, struct npumem_verdict *v)
{
	const struct npuv_graph *g = s->plan->graph;
	const struct npumem_step *step = npuv_step(g, index);
	int live = merged_live(s, index);
	u32 a, i, cell;

	if (live)
		return live < 0 ? live : 0;
	for (a = step->first_access; a < step->first_access + step->access_count; a++) {
		if (tick(s, 1))
			return -EINTR;
		for (i = g->read_start[a]; i < g->read_start[a + 1]; i++) {
			const struct npuv_run *run = &g->read_runs[i];

			if (find_dead(s, run->first, run->count, &cell))
				return -EINTR;
			if (cell != run->first + run->count)
				return refuse_read(s, v, a, cell);
		}
	}
	return 0;
}

static int check_writes(struct npuv_states *s, const struct npumem_step *step,
			struct npumem_verdict *v)
{
	const struct npuv_plan *p = s->plan;
	const struct npuv_graph *g = p->graph;
	struct npuv_cells it;
	u32 a, k;

	for (a = step->first_access; a < step->first_access + step->access_count; a++) {
		if (tick(s, 1))
			return -EINTR;
		npuv_for_each_write(it, g, a)
		{
			u32 c = npuv_plan_cell(p, s->block, it.cell);

			if (tick(s, 1))
				return -EINTR;
			for (k = p->pred_start[c]; k < p->pred_start[c + 1]; k++) {
				if (tick(s, 1))
					return -EINTR;
				if (s->cells[p->pred_cells[k]] != NPUV_RETIRED)
					return refuse_write(s, v, a, it.cell, p->pred_cells[k]);
			}
		}
	}
	return 0;
}

/* Whether a position belongs to the current instance. */
static bool is_here(const struct npuv_states *s, u32 position)
{
	const struct npumem_plan_block *b;

	if (s->block == NPUMEM_NONE)
		return false;
	b = npuv_plan_block(s->plan, s->block);
	return position >= b->first_position && position - b->first_position < b->position_count;
}

static int submit(struct npuv_states *s, u32 position, struct npumem_verdict *v)
{
	const struct npuv_graph *g = s->plan->graph;
	u32 index = npuv_step_at(s->plan, position);
	const struct npumem_step *step = npuv_step(g, index);
	int err;

	npuv_verdict_clear(v);
	v->position = position;
	v->step = index;

	if (!is_here(s, position)) {
		v->rule = NPUMEM_RULE_ENFORCE_EDGE;
		return -EPERM;
	}
	err = check_reads(s, index, v);
	if (err)
		return err;
	if (is_submitted(s, index)) {
		v->rule = NPUMEM_RULE_ENFORCE_TWICE;
		return -EPERM;
	}
	err = count_reads(s, index, false);
	if (err)
		return err;
	err = check_writes(s, step, v);
	if (err == -EPERM && count_reads(s, index, true))
		err = -EINTR;
	if (!err)
		err = count_writes(s, step, false);
	if (err)
		return err;
	set_submitted(s, index, true);
	s->left--;
	return 0;
}

int npuv_states_submit(struct npuv_states *s, u32 position, struct npumem_verdict *v)
{
	int err = submit(s, position, v);

	npuv_verdict_map(s->plan->graph, v);
	return err;
}

int npuv_states_undo(struct npuv_states *s, u32 position)
{
	const struct npuv_graph *g = s->plan->graph;
	u32 index = npuv_step_at(s->plan, position);
	const struct npumem_step *step = npuv_step(g, index);
	int err = count_writes(s, step, true);

	if (!err)
		err = count_reads(s, index, true);
	set_submitted(s, index, false);
	s->left++;
	return err;
}

int npuv_states_cross(struct npuv_states *s, u32 plan_edge, struct npumem_verdict *v)
{
	const struct npuv_graph *g = s->plan->graph;
	const struct npumem_plan_edge *e = npuv_plan_edge(s->plan, plan_edge);
	const struct npumem_block *block;
	u32 i;

	npuv_verdict_clear(v);
	v->rule = NPUMEM_RULE_ENFORCE_EDGE;
	if (!g->edges.count || e->from != s->block)
		return -EPERM;
	if (s->left) {
		block = npuv_block(g, npuv_block_of(s->plan, s->block));
		for (i = 0; is_submitted(s, block->first_step + i); i++)
			if (tick(s, 1))
				return -EINTR;
		v->other_step = block->first_step + i;
		if (npuv_is_transfer(g, v->other_step))
			v->position = npuv_planned_position(g, v->other_step);
		npuv_verdict_map(g, v);
		return -EPERM;
	}
	v->rule = NPUMEM_RULE_NONE;
	if (e->to != NPUMEM_NONE)
		return enter(s, e->to, false);
	s->block = NPUMEM_NONE;
	return 0;
}

int npuv_states_uncross(struct npuv_states *s, u32 plan_edge)
{
	return enter(s, npuv_plan_edge(s->plan, plan_edge)->from, true);
}
