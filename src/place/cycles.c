/* Strongly connected components by Tarjan's way, with a stack of its own instead of recursion. Groups may need each other in a circle although ops do
 * not; what is in one circle stays together. */
#include "place/cut.h"

struct tarjan {
	const uint32_t *first, *leads;
	/* of each node: when it was met, from 1; the earliest it leads back to */
	uint32_t *number, *low;
	uint32_t *component;
	uint32_t *open; /* nodes without a component yet */
	uint32_t *walk; /* the way to the node that is looked at */
	uint32_t *next; /* of each node: the edge to look at next */
	uint32_t met, open_count, walk_count, count;
};

static void enter(struct tarjan *tarjan, uint32_t node)
{
	tarjan->number[node] = tarjan->low[node] = ++tarjan->met;
	tarjan->open[tarjan->open_count++] = node;
	tarjan->walk[tarjan->walk_count++] = node;
	tarjan->next[node] = tarjan->first[node];
}

/* All that a node leads to has been seen: it closes a component, or hands on how far back it leads. */
static void leave(struct tarjan *tarjan, uint32_t node)
{
	tarjan->walk_count--;
	if (tarjan->low[node] == tarjan->number[node]) {
		uint32_t last;

		do {
			last = tarjan->open[--tarjan->open_count];
			tarjan->component[last] = tarjan->count;
		} while (last != node);
		tarjan->count++;
	} else {
		uint32_t before = tarjan->walk[tarjan->walk_count - 1];

		if (tarjan->low[node] < tarjan->low[before])
			tarjan->low[before] = tarjan->low[node];
	}
}

static void visit(struct tarjan *tarjan, uint32_t root)
{
	enter(tarjan, root);
	while (tarjan->walk_count) {
		uint32_t node = tarjan->walk[tarjan->walk_count - 1];

		if (tarjan->next[node] == tarjan->first[node + 1]) {
			leave(tarjan, node);
			continue;
		}
		uint32_t lead = tarjan->leads[tarjan->next[node]++];

		if (!tarjan->number[lead])
			enter(tarjan, lead);
		else if (tarjan->component[lead] == STRATA_NONE &&
			 tarjan->number[lead] < tarjan->low[node])
			tarjan->low[node] = tarjan->number[lead];
	}
}

int cycles_find(size_t node_count, const uint32_t *first, const uint32_t *leads,
		struct strata_arena *arena, uint32_t *ret_component, size_t *ret_count)
{
	struct tarjan tarjan = {
		.first = first,
		.leads = leads,
		.number = strata_arena_array(arena, node_count, sizeof(uint32_t)),
		.low = strata_arena_array(arena, node_count, sizeof(uint32_t)),
		.component = ret_component,
		.open = strata_arena_array(arena, node_count, sizeof(uint32_t)),
		.walk = strata_arena_array(arena, node_count, sizeof(uint32_t)),
		.next = strata_arena_array(arena, node_count, sizeof(uint32_t)),
	};

	if (!tarjan.number || !tarjan.low || !tarjan.open || !tarjan.walk || !tarjan.next)
		return -1;
	for (size_t i = 0; i < node_count; i++)
		ret_component[i] = STRATA_NONE;
	for (uint32_t i = 0; i < node_count; i++)
		if (!tarjan.number[i])
			visit(&tarjan, i);
	*ret_count = tarjan.count;
	return 0;
}
