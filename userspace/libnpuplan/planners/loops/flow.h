/* SPDX-License-Identifier: MIT */
/*
 * Planning of loops and branches: blocks joined by edges, no copy ever.
 *
 * A value that is carried along an edge keeps its bytes, so names that are
 * joined by carries must take turns: y = f(x), x <- y needs two colours, and x
 * has one of them in even iterations, in the other one in odd ones. Each block
 * is therefore planned in as many *instances* as there are ways to find the
 * names' values in colours on entering it. A loop that is unrolled R times is a
 * cycle of R instances; a first iteration of its own and copies of what follows
 * a loop come out in the same way.
 *
 *   planners/loops/names.c      which tensors live when, block by block (data flow)
 *   planners/loops/unroll.c     instances, and the edges between them
 *   planners/loops/webs.c       what must have one address, and what is in whose way
 *   planners/loops/plan.c       packing, and the plan
 *   planners/loops/views.c      multi-view tensors
 *
 * Time in a block of n steps is that of liveness.h: 0 the entry, 2p + 1 the loads
 * and 2p + 2 the stores of its p-th step, 2n + 1 the exit.
 */
#pragma once

#include "planners/planner.h"

/* More instances, or names of all instances together, are refused. */
#define NPUPLAN_MAX_INSTANCES 4096u
#define NPUPLAN_MAX_NODES     (1u << 18)
/* Positions of the schedule: the verifier's limit. */
#define NPUPLAN_MAX_POSITIONS (1u << 20)

/*
 * struct npuplan_name - one tensor in one block: it holds a value there
 * @tensor: index; never an alias, an external tensor or one outside the arena
 * @start, @end: instants of the block, inclusive
 * @sure_start, @sure_end: when all of its bytes live; none if start > end
 * @update: instant at which it is first updated in place; UINT32_MAX for never
 * @live_in: it has its value on entry
 * @live_out: somebody needs the value after the block
 * @accessed: by a step of the block
 */
struct npuplan_name {
	uint32_t tensor;
	uint32_t start;
	uint32_t end;
	uint32_t sure_start;
	uint32_t sure_end;
	uint32_t update;
	bool live_in;
	bool live_out;
	bool accessed;
};

/* struct npuplan_reuse - @write may take the bytes of @read, at equal addresses
 * @read, @write: names, counted in the whole array
 */
struct npuplan_reuse {
	uint32_t read;
	uint32_t write;
};

/*
 * struct npuplan_instance - block of the graph in one state of its entry
 * @colours: per name that is live on entry, in order: which of its group's it has
 * @first_node: its names' number in the webs
 * @first_position: in the schedule of the plan
 * @first_edge: of its plan edges, one for each edge of the graph that leaves
 *	the block, in their order
 */
struct npuplan_instance {
	uint32_t *colours;
	uint32_t block;
	uint32_t first_node;
	uint32_t first_position;
	uint32_t first_edge;
};

/*
 * struct npuplan_node - name of an instance; those of an instance are numbered like its block's
 * @colour: which of its group's it has; NONE if the value neither comes in nor goes out
 */
struct npuplan_node {
	uint32_t name;
	uint32_t instance;
	uint32_t colour;
};

/*
 * struct npuplan_flow - a graph's control flow
 * @pool: of the arrays that do not grow
 * @carries: those of the graph, of each edge ascending by where to
 * @bases: per tensor the one whose bytes it is of: itself, unless it is an alias
 * @groups: per tensor a representative of those joined to it by carries
 * @names: of block b names[first_name[b] .. first_name[b + 1]), by tensor
 * @reuses: of block b reuses[first_reuse[b] .. first_reuse[b + 1])
 * @out_edges: of block b out_edges[first_out[b] .. first_out[b + 1]), ascending
 * @successors: per plan edge the instance that it leads to, or NPUMEM_NONE
 */
struct npuplan_flow {
	const struct npuplan_graph *graph;
	struct npuplan_pool pool;
	struct npumem_carry *carries;
	uint32_t *bases;
	uint32_t *groups;
	struct npuplan_name *names;
	uint32_t *first_name;
	struct npuplan_reuse *reuses;
	uint32_t *first_reuse;
	uint32_t *out_edges;
	uint32_t *first_out;
	struct npuplan_instance *instances;
	struct npuplan_node *nodes;
	uint32_t *successors;
	uint32_t instance_count;
	uint32_t node_count;
	uint32_t edge_count;
	uint32_t position_count;
};

/* npuplan_flow_names() - live ranges of all blocks
 *
 * -EINVAL: a tensor is needed on a path on which nothing defines it.
 * -EOPNOTSUPP: a tensor is written in part in one block and needed in another,
 * read before the same block writes it, or carried while external. -E2BIG.
 * The error names tensor and block.
 */
int npuplan_flow_names(struct npuplan_flow *flow, const struct npuplan_graph *graph,
		       struct npuplan_error *error);

/* npuplan_flow_instances() - instances of the blocks, and the plan's edges
 *
 * A new value takes the colour that leads to an instance that is there already,
 * so that cycles close soon; else the lowest that is free. As many colours as
 * values of the group live at once are enough.
 *
 * -E2BIG: more than NPUPLAN_MAX_INSTANCES, _POSITIONS or _NODES. -ETIMEDOUT: the
 * deadline passed before there was anything to pack. -EOPNOTSUPP: only a copy would do: a
 * value is updated in place while another name of it is needed, or a state ends
 * in other bytes than those it began in.
 */
int npuplan_flow_instances(struct npuplan_flow *flow, const struct npuplan_effort *effort,
			   struct npuplan_error *error);

/* enum npuplan_web_merge - names that get one address though they need not
 * @NPUPLAN_WEBS_FINE: only what must; the packer has all freedom
 * @NPUPLAN_WEBS_COLOURS: all values of one colour of a group, too
 * @NPUPLAN_WEBS_TENSORS: and a tensor that lives in one block alone, in all
 *	instances of it: fewest items, fewest views
 */
enum npuplan_web_merge {
	NPUPLAN_WEBS_TENSORS,
	NPUPLAN_WEBS_COLOURS,
	NPUPLAN_WEBS_FINE,
	NPUPLAN_WEBS_COUNT,
};

/*
 * struct npuplan_webs - names of instances that share an address
 * @web_of: per node
 * @items: one a web; start and end are instants of the whole schedule
 */
struct npuplan_webs {
	uint32_t *web_of;
	struct npuplan_item *items;
	struct npuplan_conflicts conflicts;
	uint32_t web_count;
};

/* npuplan_webs_init() - webs of a flow, and which of them are in each other's way
 * @memory_limit: bytes that pairs may take while they are listed; 0 = 2^26 pairs
 *
 * -EINVAL: fixed offsets collide. -E2BIG: there are more pairs than that. -ENOMEM.
 */
int npuplan_webs_init(struct npuplan_webs *webs, const struct npuplan_flow *flow,
		      enum npuplan_web_merge merge, uint64_t memory_limit,
		      struct npuplan_error *error);
void npuplan_webs_fini(struct npuplan_webs *webs);

/* npuplan_flow_bound() - most bytes live at any instant of any instance
 * @instance, @instant: out: the first such, the instant counted in the block
 *
 * No plan without copies needs less, for every path through the instances can
 * be taken, and names that share bytes in them have the same value.
 */
int npuplan_flow_bound(const struct npuplan_flow *flow, const struct npuplan_webs *webs,
		       uint64_t *bytes, uint32_t *instance, uint32_t *instant);

/* npuplan_flow_views() - add multi-view tensors to a plan of the flow
 *
 * A loop's counter tells the addresses if the instances that its iterations go
 * through do not depend on the path within: then each tensor accessed in the
 * loop that has several addresses gets a view.
 */
int npuplan_flow_views(const struct npuplan_flow *flow, struct npuplan_plan *plan);

/* npuplan_flow_plan() - plan a graph with edges; as npuplan_plan()
 * @problem: graph, options, alignment and effort are filled in
 */
int npuplan_flow_plan(struct npuplan_problem *problem, const struct npuplan_planner *planner,
		      struct npuplan_plan **plan, struct npuplan_error *error);

void npuplan_flow_fini(struct npuplan_flow *flow);

/* Tensor whose value @tensor has after @edge: itself, unless it is carried to. */
uint32_t npuplan_carried(const struct npuplan_flow *flow, uint32_t edge, uint32_t tensor);

/* Name of @tensor in @block, or NPUMEM_NONE. */
uint32_t npuplan_name_of(const struct npuplan_flow *flow, uint32_t block, uint32_t tensor);

/* Node of a name in an instance of its block. */
static inline uint32_t npuplan_node_of(const struct npuplan_flow *flow, uint32_t instance,
				       uint32_t name)
{
	const struct npuplan_instance *at = &flow->instances[instance];

	return at->first_node + (name - flow->first_name[at->block]);
}

static inline uint32_t npuplan_name_count(const struct npuplan_flow *flow, uint32_t block)
{
	return flow->first_name[block + 1] - flow->first_name[block];
}

static inline uint32_t npuplan_out_count(const struct npuplan_flow *flow, uint32_t block)
{
	return flow->first_out[block + 1] - flow->first_out[block];
}

/* Whether an operator of the block lets @write take the bytes of @read. */
bool npuplan_may_reuse(const struct npuplan_flow *flow, uint32_t block, uint32_t read,
		       uint32_t write);

/* Union-find: the lowest of a set stands for it. */
uint32_t npuplan_root(uint32_t *parents, uint32_t i);
void npuplan_join(uint32_t *parents, uint32_t a, uint32_t b);

/* "block 3 (name of its first step)" */
const char *npuplan_block_label(const struct npuplan_graph *graph, uint32_t block, char text[128]);
