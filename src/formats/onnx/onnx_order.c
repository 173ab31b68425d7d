/*
 * The order of nodes. The format wants each behind what it reads, and almost every file keeps to that; one that does not is sorted here, and
 * one that cannot be sorted is refused with the cycle named. Nothing recurses: a chain of a million nodes is as good as any.
 */
#include "formats/onnx/onnx_scope.h"

#include "core/buf.h"

#include <errno.h>
#include <string.h>

struct sorter {
	const struct onnx_graph *graph;
	struct map_text makers; /* of a name: index of the node + 1 */
	uint32_t *waits;        /* of a node: how many of its inputs are not made yet */
	uint32_t *first, *next; /* readers of a node's outputs: first[maker], then by edge */
	uint32_t *reader;       /* of an edge */
	uint32_t *order;
	size_t done;
};

/* The node that makes an input of another, as index + 1; 0: it is given, or nothing makes it. */
static size_t maker_of(const struct sorter *sorter, const char *name)
{
	return name[0] ? (size_t)map_text_get(&sorter->makers, name, strlen(name)) : 0;
}

static int find_makers(struct sorter *sorter, bool *ret_sorted, size_t *ret_edges,
		       struct strata_error *err)
{
	const struct onnx_graph *graph = sorter->graph;

	*ret_sorted = true;
	*ret_edges = 0;
	for (size_t i = 0; i < graph->node_count; i++)
		for (size_t k = 0; k < graph->nodes[i].output_count; k++)
			if (map_text_put(&sorter->makers, graph->nodes[i].outputs[k],
					 strlen(graph->nodes[i].outputs[k]), (void *)(i + 1), NULL))
				return strata_fail_memory(err);
	for (size_t i = 0; i < graph->node_count; i++)
		for (size_t k = 0; k < graph->nodes[i].input_count; k++) {
			size_t maker = maker_of(sorter, graph->nodes[i].inputs[k]);

			*ret_edges += maker > 0;
			*ret_sorted &= maker <= i;
		}
	return 0;
}

static int make_room(struct sorter *sorter, size_t edges, struct strata_arena *arena,
		     struct strata_error *err)
{
	size_t nodes = sorter->graph->node_count;

	if (edges >= UINT32_MAX)
		return strata_fail(err, -E2BIG, "the nodes have too many inputs");
	sorter->waits = strata_arena_array(arena, nodes, sizeof(uint32_t));
	sorter->first = strata_arena_array(arena, nodes, sizeof(uint32_t));
	sorter->order = strata_arena_array(arena, nodes, sizeof(uint32_t));
	sorter->next = strata_arena_array(arena, edges + 1, sizeof(uint32_t));
	sorter->reader = strata_arena_array(arena, edges + 1, sizeof(uint32_t));
	return sorter->waits && sorter->first && sorter->order && sorter->next && sorter->reader
		       ? 0
		       : strata_fail_memory(err);
}

static void sort(struct sorter *sorter)
{
	const struct onnx_graph *graph = sorter->graph;
	uint32_t edge = 0;

	for (size_t i = 0; i < graph->node_count; i++)
		for (size_t k = 0; k < graph->nodes[i].input_count; k++) {
			size_t maker = maker_of(sorter, graph->nodes[i].inputs[k]);

			if (!maker)
				continue;
			sorter->waits[i]++;
			sorter->reader[++edge] = (uint32_t)i;
			sorter->next[edge] = sorter->first[maker - 1];
			sorter->first[maker - 1] = edge;
		}
	for (uint32_t i = 0; i < graph->node_count; i++)
		if (!sorter->waits[i])
			sorter->order[sorter->done++] = i;
	for (size_t at = 0; at < sorter->done; at++)
		for (uint32_t e = sorter->first[sorter->order[at]]; e; e = sorter->next[e])
			if (--sorter->waits[sorter->reader[e]] == 0)
				sorter->order[sorter->done++] = sorter->reader[e];
}

/* A node that still waits for this one's inputs; there is one. */
static size_t waiting_maker(const struct sorter *sorter, size_t node)
{
	const struct onnx_node *own = &sorter->graph->nodes[node];

	for (size_t k = 0; k < own->input_count; k++) {
		size_t maker = maker_of(sorter, own->inputs[k]);

		if (maker && sorter->waits[maker - 1])
			return maker - 1;
	}
	return node;
}

static const char *label(const struct onnx_node *node)
{
	return node->name[0] ? node->name : node->output_count ? node->outputs[0] : node->kind;
}

/* Going back from a node that waits leads into a cycle; once round it names it, in the order of the data. */
static int name_cycle(struct sorter *sorter, struct strata_arena *arena, struct strata_error *err)
{
	enum { NAMED_MAX = 8 };
	size_t node = 0, back[NAMED_MAX], count = 0;
	struct buf text;

	while (!sorter->waits[node])
		node++;
	for (size_t i = 0; i < sorter->graph->node_count; i++)
		node = waiting_maker(sorter, node);
	const char *start = label(&sorter->graph->nodes[node]);
	size_t at = node;

	while ((at = waiting_maker(sorter, at)) != node && count < NAMED_MAX)
		back[count++] = at;
	buf_init(&text, arena->memory, STRATA_ERROR_TEXT_BYTES);
	buf_printf(&text, "%.32s → %s", start, at != node ? "… → " : "");
	while (count-- > 0)
		buf_printf(&text, "%.32s → ", label(&sorter->graph->nodes[back[count]]));
	int rc = strata_fail(err, -EINVAL, "the nodes form a cycle: %s%.32s", text.text, start);

	buf_fini(&text);
	return rc;
}

int onnx_sort_nodes(const struct onnx_graph *graph, struct strata_arena *arena,
		    const uint32_t **ret_order, struct strata_error *err)
{
	struct sorter sorter = { .graph = graph };
	bool sorted;
	size_t edges;

	map_text_init(&sorter.makers, arena->memory);
	int rc = find_makers(&sorter, &sorted, &edges, err);

	if (rc == 0 && sorted)
		*ret_order = NULL;
	if (rc == 0 && !sorted)
		rc = make_room(&sorter, edges, arena, err);
	if (rc == 0 && !sorted) {
		sort(&sorter);
		if (sorter.done < graph->node_count)
			rc = name_cycle(&sorter, arena, err);
		else
			*ret_order = sorter.order;
	}
	map_text_fini(&sorter.makers);
	return rc;
}
