/*
 * Finishing a graph: edges from tensors, an order in which every op stands behind what it needs, who reads what. Nothing here recurses, so a
 * chain of a million ops is like any other graph; a cycle is found by walking back from an op that never became ready.
 */
#include "place/graph_int.h"

#include "core/buf.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { CYCLE_NAMES_MAX = 8 };

/* ---- edges ---- */

static uint32_t maker_of(const struct strata_graph *graph, const struct strata_op *op, size_t input)
{
	uint32_t tensor = op->inputs[input];

	return tensor == STRATA_NONE ? STRATA_NONE : graph->tensors[tensor].producer;
}

/* Counts into first[i + 1], then sums up. */
static void sum_up(uint32_t *first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		first[i + 1] += first[i];
}

static int count_edges(const struct strata_graph *graph, size_t *ret_count,
		       struct strata_error *err)
{
	size_t count = graph->inside->extra_count;

	for (size_t i = 0; i < graph->op_count; i++)
		for (size_t j = 0; j < graph->ops[i].input_count; j++)
			count += maker_of(graph, &graph->ops[i], j) != STRATA_NONE;
	if (count > STRATA_GRAPH_EDGES_MAX)
		return strata_fail(err, -E2BIG, "the graph has %zu edges; at most %d", count,
				   STRATA_GRAPH_EDGES_MAX);
	*ret_count = count;
	return 0;
}

typedef void each_edge(const struct strata_edge *edge, void *context);

/* All of them, by the op that reads, then those without a tensor. */
static void walk_edges(const struct strata_graph *graph, each_edge *each, void *context)
{
	for (size_t i = 0; i < graph->op_count; i++) {
		const struct strata_op *op = &graph->ops[i];

		for (size_t j = 0; j < op->input_count; j++) {
			uint32_t maker = maker_of(graph, op, j);

			if (maker == STRATA_NONE)
				continue;
			each(&(struct strata_edge){ maker, (uint32_t)i, op->inputs[j],
						    graph->tensors[op->inputs[j]].bytes, -1 },
			     context);
		}
	}
	for (size_t i = 0; i < graph->inside->extra_count; i++)
		each(&graph->inside->extra[i], context);
}

struct sorter {
	uint32_t *out_first, *at;
	struct strata_edge *edges;
};

static void count_one(const struct strata_edge *edge, void *context)
{
	((struct sorter *)context)->out_first[edge->from + 1]++;
}

static void put_one(const struct strata_edge *edge, void *context)
{
	struct sorter *sorter = context;

	sorter->edges[sorter->at[edge->from]++] = *edge;
}

static int make_edges(struct strata_graph *graph, struct strata_arena *scratch,
		      struct strata_error *err)
{
	struct strata_arena *arena = &graph->inside->arena;
	size_t n = graph->op_count, count = 0;
	int rc = count_edges(graph, &count, err);

	if (rc)
		return rc;
	struct sorter sorter = { strata_arena_array(arena, n + 1, sizeof(uint32_t)),
				 strata_arena_array(scratch, n + 1, sizeof(uint32_t)),
				 strata_arena_array(arena, count, sizeof(struct strata_edge)) };
	uint32_t *in_first = strata_arena_array(arena, n + 1, sizeof(*in_first));
	uint32_t *in_edges = strata_arena_array(arena, count, sizeof(*in_edges));

	if (!sorter.out_first || !sorter.at || !sorter.edges || !in_first || !in_edges)
		return strata_fail_memory(err);
	walk_edges(graph, count_one, &sorter);
	sum_up(sorter.out_first, n);
	memcpy(sorter.at, sorter.out_first, (n + 1) * sizeof(*sorter.at));
	walk_edges(graph, put_one, &sorter);
	for (size_t i = 0; i < count; i++)
		in_first[sorter.edges[i].to + 1]++;
	sum_up(in_first, n);
	memcpy(sorter.at, in_first, (n + 1) * sizeof(*sorter.at));
	for (size_t i = 0; i < count; i++)
		in_edges[sorter.at[sorter.edges[i].to]++] = (uint32_t)i;
	graph->edges = sorter.edges;
	graph->edge_count = count;
	graph->out_first = sorter.out_first;
	graph->in_first = in_first;
	graph->in_edges = in_edges;
	return 0;
}

static int make_readers(struct strata_graph *graph, struct strata_arena *scratch,
			struct strata_error *err)
{
	size_t n = graph->tensor_count, count = 0;
	uint32_t *first = strata_arena_array(&graph->inside->arena, n + 1, sizeof(*first));
	uint32_t *at = strata_arena_array(scratch, n + 1, sizeof(*at));

	if (!first || !at)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->op_count; i++)
		for (size_t j = 0; j < graph->ops[i].input_count; j++)
			if (graph->ops[i].inputs[j] != STRATA_NONE) {
				first[graph->ops[i].inputs[j] + 1]++;
				if (++count > STRATA_GRAPH_EDGES_MAX)
					return strata_fail(err, -E2BIG,
							   "tensors are read more than %d times",
							   STRATA_GRAPH_EDGES_MAX);
			}
	sum_up(first, n);
	memcpy(at, first, (n + 1) * sizeof(*at));
	uint32_t *readers = strata_arena_array(&graph->inside->arena, count, sizeof(*readers));

	if (!readers)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->op_count; i++)
		for (size_t j = 0; j < graph->ops[i].input_count; j++)
			if (graph->ops[i].inputs[j] != STRATA_NONE)
				readers[at[graph->ops[i].inputs[j]]++] = (uint32_t)i;
	graph->reader_first = first;
	graph->readers = readers;
	return 0;
}

/* ---- the order ---- */

/* A binary heap of indexes: the lowest first. */
static void push(uint32_t *heap, size_t *count, uint32_t value)
{
	size_t at = (*count)++;

	for (; at && heap[(at - 1) / 2] > value; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = value;
}

static uint32_t pop(uint32_t *heap, size_t *count)
{
	uint32_t top = heap[0], last = heap[--*count];
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < *count; at = child) {
		if (child + 1 < *count && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= last)
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	return top;
}

static void add_name(struct buf *buf, const struct strata_graph *graph, uint32_t op)
{
	if (*graph->ops[op].name)
		buf_printf(buf, "%.40s", graph->ops[op].name);
	else
		buf_printf(buf, "#%u", op);
}

/* An op that waits has one that waits among those it needs: going back so far enough, one comes again. */
static int fail_cycle(const struct strata_graph *graph, const uint32_t *waits, uint32_t *seen,
		      struct strata_memory *memory, struct strata_error *err)
{
	uint32_t op = 0, length = 0, step = 1;
	struct buf buf;

	while (!waits[op])
		op++;
	for (; !seen[op]; step++) {
		seen[op] = step;
		for (uint32_t e = graph->in_first[op]; e < graph->in_first[op + 1]; e++) {
			uint32_t from = graph->edges[graph->in_edges[e]].from;

			if (waits[from]) {
				op = from;
				break;
			}
		}
	}
	length = step - seen[op];
	buf_init(&buf, memory, 0);
	add_name(&buf, graph, op);
	for (uint32_t left = length; left && left + CYCLE_NAMES_MAX > length; left--) {
		uint32_t next = op;

		for (uint32_t i = graph->out_first[op]; i < graph->out_first[op + 1]; i++) {
			uint32_t to = graph->edges[i].to;
			/* against the walk: the one that was seen one step before */
			if (seen[to] && (seen[to] + 1 == seen[op] ||
					 (seen[to] == step - 1 && seen[op] == step - length)))
				next = to;
		}
		buf_add(&buf, " → ");
		add_name(&buf, graph, op = next);
	}
	if (length > CYCLE_NAMES_MAX)
		buf_add(&buf, " → …");
	int rc = buf.failed ? strata_fail_memory(err)
			    : strata_fail(err, -EINVAL, "the graph has a cycle of %u ops: %s",
					  length, buf.text);

	buf_fini(&buf);
	return rc;
}

static int make_order(struct strata_graph *graph, struct strata_arena *scratch,
		      struct strata_error *err)
{
	size_t n = graph->op_count, ready_count = 0, done = 0;
	uint32_t *order = strata_arena_array(&graph->inside->arena, n, sizeof(*order));
	uint32_t *waits = strata_arena_array(scratch, n, sizeof(*waits));
	uint32_t *ready = strata_arena_array(scratch, n, sizeof(*ready));

	if (!order || !waits || !ready)
		return strata_fail_memory(err);
	for (size_t i = 0; i < n; i++) {
		waits[i] = graph->in_first[i + 1] - graph->in_first[i];
		if (!waits[i])
			push(ready, &ready_count, (uint32_t)i);
	}
	while (ready_count) {
		uint32_t op = pop(ready, &ready_count);

		order[done++] = op;
		for (uint32_t e = graph->out_first[op]; e < graph->out_first[op + 1]; e++)
			if (--waits[graph->edges[e].to] == 0)
				push(ready, &ready_count, graph->edges[e].to);
	}
	graph->order = order;
	if (done == n)
		return 0;
	memset(ready, 0, n * sizeof(*ready));
	return fail_cycle(graph, waits, ready, graph->inside->memory, err);
}

int strata_graph_finish(struct strata_graph *graph, struct strata_error *err)
{
	struct strata_arena scratch;
	int rc;

	assert(!graph->inside->finished);
	if (graph->op_count == 0)
		return strata_fail(err, -EINVAL, "the graph has no ops");
	strata_arena_init(&scratch, graph->inside->memory, 0);
	rc = make_edges(graph, &scratch, err);
	if (rc == 0)
		rc = make_order(graph, &scratch, err);
	if (rc == 0)
		rc = make_readers(graph, &scratch, err);
	strata_arena_fini(&scratch);
	graph->inside->finished = rc == 0;
	return rc;
}
