// SPDX-License-Identifier: MIT
#include "net.h"

#include <errno.h>
#include <string.h>

#include "npumem_graph.h"

int npuplan_net_init(struct npuplan_net *net, uint32_t nodes, uint32_t edges)
{
	*net = (struct npuplan_net){ 0 };
	net->edges = npuplan_pool_take(&net->pool, 2 * (size_t)edges, sizeof(*net->edges));
	net->first = npuplan_pool_take(&net->pool, nodes, sizeof(*net->first));
	net->level = npuplan_pool_take(&net->pool, nodes, sizeof(*net->level));
	net->at = npuplan_pool_take(&net->pool, nodes, sizeof(*net->at));
	net->queue = npuplan_pool_take(&net->pool, nodes, sizeof(*net->queue));
	net->path = npuplan_pool_take(&net->pool, nodes, sizeof(*net->path));
	if (net->pool.failed)
		return -ENOMEM;
	npuplan_net_clear(net, nodes);
	return 0;
}

void npuplan_net_clear(struct npuplan_net *net, uint32_t nodes)
{
	net->node_count = nodes;
	net->edge_count = 0;
	memset(net->first, 0xff, nodes * sizeof(*net->first));
}

uint32_t npuplan_net_add(struct npuplan_net *net, uint32_t from, uint32_t to, uint64_t most,
			 uint64_t back)
{
	uint32_t edge = net->edge_count;

	net->edges[edge] = (struct npuplan_net_edge){ to, net->first[from], most };
	net->first[from] = edge;
	net->edges[edge + 1] = (struct npuplan_net_edge){ from, net->first[to], back };
	net->first[to] = edge + 1;
	net->edge_count += 2;
	return edge;
}

/* Find the distances from the source; whether the sink is reached. */
static bool find_levels(struct npuplan_net *net, uint32_t source, uint32_t sink)
{
	uint32_t begin = 0, end = 0;

	memset(net->level, 0xff, net->node_count * sizeof(*net->level));
	net->level[source] = 0;
	net->queue[end++] = source;
	while (begin < end && net->level[sink] == NPUMEM_NONE) {
		uint32_t node = net->queue[begin++];

		for (uint32_t e = net->first[node]; e != NPUMEM_NONE; e = net->edges[e].next) {
			uint32_t to = net->edges[e].to;

			net->looked++;
			if (!net->edges[e].left || net->level[to] != NPUMEM_NONE)
				continue;
			net->level[to] = net->level[node] + 1;
			net->queue[end++] = to;
		}
	}
	return net->level[sink] != NPUMEM_NONE;
}

/* Let flow what a path has room for, and return it; *@depth: out: the first edge that is full. */
static uint64_t send(struct npuplan_net *net, uint32_t *depth)
{
	uint64_t most = UINT64_MAX;
	uint32_t count = *depth;

	for (uint32_t i = 0; i < count; i++)
		if (net->edges[net->path[i]].left < most)
			most = net->edges[net->path[i]].left;
	for (uint32_t i = count; i-- > 0;) {
		net->edges[net->path[i]].left -= most;
		net->edges[net->path[i] ^ 1].left += most;
		if (!net->edges[net->path[i]].left)
			*depth = i;
	}
	net->looked += count;
	return most;
}

/* Let flow what can by edges that go from one level to the next one. */
static uint64_t send_all(struct npuplan_net *net, uint32_t source, uint32_t sink, uint64_t looks)
{
	uint32_t depth = 0, node = source;
	uint64_t sum = 0;

	memcpy(net->at, net->first, net->node_count * sizeof(*net->at));
	while (net->looked < looks) {
		uint32_t e = net->at[node];

		if (node == sink) {
			sum += send(net, &depth);
			node = net->edges[net->path[depth] ^ 1].to;
		} else if (e == NPUMEM_NONE) {
			if (!depth)
				break;
			/* From here nothing goes on; its edge is not tried again. */
			node = net->edges[net->path[--depth] ^ 1].to;
			net->at[node] = net->edges[net->at[node]].next;
		} else if (net->edges[e].left &&
			   net->level[net->edges[e].to] == net->level[node] + 1) {
			net->path[depth++] = e;
			node = net->edges[e].to;
			net->looked++;
		} else {
			net->at[node] = net->edges[e].next;
			net->looked++;
		}
	}
	return sum;
}

uint64_t npuplan_net_flow(struct npuplan_net *net, uint32_t source, uint32_t sink, uint64_t looks)
{
	uint64_t end = looks < UINT64_MAX - net->looked ? net->looked + looks : UINT64_MAX;
	uint64_t sum = 0;

	while (net->looked < end && find_levels(net, source, sink))
		sum += send_all(net, source, sink, end);
	return sum;
}
