/*
 * Standard Task Graphs and RGPOS: numbers only. STG: how many tasks, then for each its number, time, how many it needs and which; the count may leave
 * out the two dummies at either end. RGPOS: tasks, edges and processors, all times, then the edges.
 */
#include "formats/graph_reader.h"

#include <errno.h>
#include <stdio.h>

enum { PROCESSORS_MAX = STRATA_PLACE_DEVICES_MAX };

/* One task's line. Tasks come in order, and need only earlier ones. */
static int read_task(struct graph_reader *reader, struct graph_words *words, size_t index)
{
	size_t number = 0, needs = 0, need = 0;
	double time = 0;
	uint32_t op = 0;
	char name[24];
	int rc = graph_next_count(reader, words, STRATA_GRAPH_OPS_MAX, &number);

	if (rc == 0 && number != index)
		return strata_fail(reader->err, -EINVAL, "line %zu: task %zu; expected %zu",
				   words->line, number, index);
	if (rc == 0)
		rc = graph_next_number(reader, words, GRAPH_AMOUNT_MAX, &time);
	if (rc == 0)
		rc = graph_next_count(reader, words, index, &needs);
	snprintf(name, sizeof(name), "%zu", index);
	if (rc == 0)
		rc = graph_add_task(reader, name, time, &op);
	for (size_t i = 0; i < needs && rc == 0; i++) {
		rc = graph_next_count(reader, words, index - 1, &need);
		if (rc == 0)
			rc = strata_graph_add_edge(reader->into->graph, (uint32_t)need, op, 0, 0,
						   reader->err);
	}
	return rc;
}

int graph_read_stg(struct graph_reader *reader, const char *text, size_t length)
{
	struct graph_words words = { text, text + length, 1 };
	size_t tasks = 0, index = 0;
	int rc = graph_next_count(reader, &words, STRATA_GRAPH_OPS_MAX, &tasks);

	reader->into->form = GRAPH_STG;
	for (;; index++) {
		struct graph_words ahead = words;
		const char *word;
		size_t size;

		if (rc || !graph_next_word(&ahead, &word, &size))
			break;
		rc = read_task(reader, &words, index);
	}
	if (rc == 0 && index != tasks && index != tasks + 2)
		return strata_fail(
			reader->err, -EINVAL,
			"%zu tasks where the first line says %zu; expected as many or two more",
			index, tasks);
	return rc;
}

int graph_read_rgpos(struct graph_reader *reader, const char *text, size_t length)
{
	struct graph_words words = { text, text + length, 1 };
	size_t tasks = 0, edges = 0, from = 0, to = 0;
	const char *word;
	size_t size;
	int rc = graph_next_count(reader, &words, STRATA_GRAPH_OPS_MAX, &tasks);

	reader->into->form = GRAPH_RGPOS;
	if (rc == 0)
		rc = graph_next_count(reader, &words, STRATA_GRAPH_EDGES_MAX, &edges);
	if (rc == 0)
		rc = graph_next_count(reader, &words, PROCESSORS_MAX, &reader->into->processors);
	for (size_t i = 0; i < tasks && rc == 0; i++) {
		double time = 0;
		char name[24];

		snprintf(name, sizeof(name), "%zu", i);
		rc = graph_next_number(reader, &words, GRAPH_AMOUNT_MAX, &time);
		if (rc == 0)
			rc = graph_add_task(reader, name, time, NULL);
	}
	for (size_t i = 0; i < edges && rc == 0; i++) {
		rc = graph_next_count(reader, &words, STRATA_GRAPH_OPS_MAX, &from);
		if (rc == 0)
			rc = graph_next_count(reader, &words, STRATA_GRAPH_OPS_MAX, &to);
		if (rc == 0)
			rc = strata_graph_add_edge(reader->into->graph, (uint32_t)from,
						   (uint32_t)to, 0, 0, reader->err);
	}
	if (rc == 0 && graph_next_word(&words, &word, &size))
		return strata_fail(reader->err, -EINVAL,
				   "line %zu: more than the %zu edges announced", words.line,
				   edges);
	return rc;
}
