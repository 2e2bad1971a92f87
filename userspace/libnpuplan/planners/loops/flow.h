/* SPDX-License-Identifier: MIT */
/*
 * Planning of loops and branches: of graphs whose blocks are joined by edges. No plan copies bytes.
 *
 * A value that is carried along an edge keeps its bytes, so names that are joined by carries have
 * to take turns. The loop y = f(x), x <- y needs two colours, which are places for a value: x has
 * one of them in even iterations and the other one in odd ones. Each block is therefore planned in
 * as many *instances* as there are ways in which the names' values may be in colours when it is
 * entered. A loop that is unrolled R times is a cycle of R instances. A first iteration of its own,
 * and copies of what follows a loop, come out in the same way.
 *
 *   planners/loops/names.c      live ranges of tensors, block by block (data flow)
 *   planners/loops/unroll.c     instances, and the edges between them
 *   planners/loops/webs.c       which nodes have one address, and which are in each other's way
 *   planners/loops/tiles.c      which are so byte by byte, for taa
 *   planners/loops/plan.c       packing, and the plan
 *   planners/loops/views.c      multi-view tensors
 *
 * Time in a block of n steps is counted as in liveness.h: instant 0 is the entry, 2p + 1 and 2p + 2
 * are the loads and stores of its p-th step, and 2n + 1 is the exit.
 */
#pragma once

#include "planners/planner.h"

/*
 * The most instances, and the most names of all instances together; graphs that need more are
 * refused.
 */
#define NPUPLAN_MAX_INSTANCES 4096u
#define NPUPLAN_MAX_NODES     (1u << 18)
/* The most positions of a schedule, which is the verifier's limit. */
#define NPUPLAN_MAX_POSITIONS (1u << 20)

/*
 * struct npuplan_name - one tensor in one block in which it holds a value
 * @tensor: index of the tensor, which is in the arena and no alias
 * @start, @end: first and last instant of the block at which bytes of it live
 * @sure_start, @sure_end: first and last instant at which all of its bytes live; there is none if
 *	start > end
 * @update: instant at which it is first updated in place; UINT32_MAX: never
 * @live_in: it has its value when the block is entered
 * @live_out: its value is needed after the block
 * @accessed: a step of the block accesses it
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
 * @read, @write: numbers of names, counted over all blocks
 */
struct npuplan_reuse {
	uint32_t read;
	uint32_t write;
};

/*
 * struct npuplan_instance - a block of the graph with one of its entry states
 * @colours: per name that is live on entry, in order: its colour, among those of its group
 * @first_node: number of the node of its first name
 * @first_position: number of its first position in the plan's schedule
 * @first_edge: number of its first plan edge; there is one for each edge of the graph that leaves
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
 * struct npuplan_node - a name in one instance; nodes of an instance are in the order of its
 * block's names
 * @colour: its colour, among those of its group; NPUMEM_NONE: the value neither enters nor leaves
 *	the instance
 */
struct npuplan_node {
	uint32_t name;
	uint32_t instance;
	uint32_t colour;
};

/*
 * struct npuplan_flow - a graph's control flow, and its instances
 * @pool: memory of the arrays that do not grow
 * @carries: carries of the graph; those of an edge are sorted by the tensor carried to
 * @bases: per tensor, its base, which has its bytes: itself, unless it is an alias
 * @groups: per tensor, the lowest of those that carries join it to, itself included
 * @names: names of block b are names[first_name[b] .. first_name[b + 1]), by tensor
 * @reuses: reuses of block b are reuses[first_reuse[b] .. first_reuse[b + 1])
 * @out_edges: edges that leave block b are out_edges[first_out[b] .. first_out[b + 1]), ascending
 * @successors: per plan edge, the instance that it leads to; NPUMEM_NONE: the exit
 * @most_instances: a graph that needs more is refused; up to NPUPLAN_MAX_INSTANCES
 * @tracked: per tensor, whether carries of its group make instances; of others it is not looked at
 *	where their values lie, so that nothing can be planned. NULL: all are
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
	const bool *tracked;
	uint32_t instance_count;
	uint32_t node_count;
	uint32_t edge_count;
	uint32_t position_count;
	uint32_t most_instances;
};

/* npuplan_flow_names() - find the names, with their live ranges, of all blocks
 *
 * -EINVAL: a tensor is needed on a path on which nothing defines it.
 * -EOPNOTSUPP: a tensor is written in part in one block and needed in another,
 * read before the same block writes it, or carried while external. -E2BIG.
 * The error names tensor and block.
 */
int npuplan_flow_names(struct npuplan_flow *flow, const struct npuplan_graph *graph,
		       struct npuplan_error *error);

/* npuplan_flow_instances() - find the instances of the blocks, and the plan's edges
 *
 * A new value takes the colour that leads to an instance that is there already, so that cycles
 * close soon, or else the lowest one that is free. A group needs no more colours than it has values
 * that live at once.
 *
 * -E2BIG: more than @flow->most_instances, or NPUPLAN_MAX_POSITIONS or _NODES. -ETIMEDOUT: the
 * deadline passed before there was anything to pack. -EOPNOTSUPP: the graph would need a copy,
 * since a value is updated in place while another name of it is needed, or since a state ends in
 * other bytes than those it began in.
 */
int npuplan_flow_instances(struct npuplan_flow *flow, const struct npuplan_effort *effort,
			   struct npuplan_error *error);

/* enum npuplan_web_merge - which nodes get one address though they need not
 * @NPUPLAN_WEBS_FINE: none: only nodes that have to share an address do
 * @NPUPLAN_WEBS_COLOURS: all nodes of one colour of a group
 * @NPUPLAN_WEBS_TENSORS: those, and the nodes of a tensor that lives in one block alone, in all its
 *	instances: this makes the fewest items and views
 */
enum npuplan_web_merge {
	NPUPLAN_WEBS_TENSORS,
	NPUPLAN_WEBS_COLOURS,
	NPUPLAN_WEBS_FINE,
	NPUPLAN_WEBS_COUNT,
};

/*
 * struct npuplan_webs - the nodes of a flow, in sets (webs) that share an address
 * @web_of: per node, its web
 * @items: one item for each web; its start and end are instants of the whole schedule
 */
struct npuplan_webs {
	uint32_t *web_of;
	struct npuplan_item *items;
	struct npuplan_conflicts conflicts;
	uint32_t web_count;
};

struct npuplan_flow_tiles;

/* npuplan_webs_init() - find the webs of a flow, and their conflicts
 * @tiles: conflicts are those of single bytes (tiles.h); NULL: those of whole tensors
 * @memory_limit: bytes that pairs may take while they are listed; 0: as many as 2^26 pairs take
 *
 * -EINVAL: fixed offsets collide. -E2BIG: there are more pairs than @memory_limit allows. -ENOMEM.
 */
int npuplan_webs_init(struct npuplan_webs *webs, const struct npuplan_flow *flow,
		      const struct npuplan_flow_tiles *tiles, enum npuplan_web_merge merge,
		      uint64_t memory_limit, struct npuplan_error *error);
void npuplan_webs_fini(struct npuplan_webs *webs);

/* npuplan_flow_bound() - find the most bytes that live at any instant of any instance
 * @tiles: count single bytes, as far as they are sure to be needed; NULL: count names, as long as
 *	all their bytes live
 * @instance, @instant: out: the first instance and instant with so many; the instant is counted in
 *	the block
 *
 * No plan without copies needs less: every path through the instances can be taken, and names share
 * bytes in them only if they have the same value.
 */
int npuplan_flow_bound(const struct npuplan_flow *flow, const struct npuplan_webs *webs,
		       const struct npuplan_flow_tiles *tiles, uint64_t *bytes, uint32_t *instance,
		       uint32_t *instant);

/* npuplan_flow_views() - add multi-view tensors to a plan of the flow
 *
 * A loop's counter tells the addresses if the path within an iteration does not decide in which
 * instance the next one begins. Then each tensor that is accessed in the loop and has several
 * addresses gets a view. -ENOMEM.
 */
int npuplan_flow_views(const struct npuplan_flow *flow, struct npuplan_plan *plan);

/* npuplan_flow_plan() - plan a graph with edges, as npuplan_plan() does
 * @problem: its graph, options, alignment and effort are filled in
 */
int npuplan_flow_plan(struct npuplan_problem *problem, const struct npuplan_planner *planner,
		      struct npuplan_plan **plan, struct npuplan_error *error);

void npuplan_flow_fini(struct npuplan_flow *flow);

/* The tensor whose value @tensor has after @edge: itself, unless a carry gives it another one's. */
uint32_t npuplan_carried(const struct npuplan_flow *flow, uint32_t edge, uint32_t tensor);

/* The name of @tensor in @block; NPUMEM_NONE: it has none. */
uint32_t npuplan_name_of(const struct npuplan_flow *flow, uint32_t block, uint32_t tensor);

/* The node of a name in an instance of its block. */
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

/* Whether an operator of the block lets name @write take the bytes of name @read. */
bool npuplan_may_reuse(const struct npuplan_flow *flow, uint32_t block, uint32_t read,
		       uint32_t write);

/*
 * Union-find: find the lowest number of i's set, which stands for it, and join the sets of two
 * numbers.
 */
uint32_t npuplan_root(uint32_t *parents, uint32_t i);
void npuplan_join(uint32_t *parents, uint32_t a, uint32_t b);

/*
 * How messages call a block: "block 3 (name of its first step)"; written into @text, which is
 * returned.
 */
const char *npuplan_block_label(const struct npuplan_graph *graph, uint32_t block, char text[128]);
