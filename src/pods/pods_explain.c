/*
 * Why a pod waits, in a sentence: how many nodes cannot take it and what stands in the way, and
 * what the cluster level says of its turn. Nothing in it changes from round to round while nothing
 * happens, so that a pod's condition is not written again and again; the time at which it should
 * start is given to the minute.
 */
#include "pods/pods_round.h"

#include "core/buf.h"

#include <strata/text.h>

#include <stdio.h>
#include <string.h>

enum obstacle {
	NONE,
	NOT_READY,
	CORDONED,
	SELECTOR,
	TAINT,
	OTHER,
	GPUS,
	CPUS,
	MEMORY,
	OBSTACLE_COUNT,
};

static const char *const words[OBSTACLE_COUNT] = {
	[NOT_READY] = "not ready",
	[CORDONED] = "cordoned",
	[SELECTOR] = "not selected by its node selector or affinity",
	[TAINT] = "tainted, and it does not tolerate that",
	[OTHER] = "without room for its other resources, ports or one more pod",
	[GPUS] = "short of GPUs",
	[CPUS] = "short of CPU",
	[MEMORY] = "short of memory",
};

static int64_t whole_gpus(const struct strata_room *room, int64_t count)
{
	int64_t whole = 0;

	for (int64_t i = 0; i < count; i++)
		whole += room->gpu_milli[i] == 1000;
	return whole;
}

/* What is in the way on a node; NONE: nothing. empty: were nothing else there. */
static enum obstacle obstacle_on(const struct pods_round *round, const struct pod *pod,
				 const struct pods_constraint *constraint, uint32_t at, bool empty)
{
	const struct node *node = round->rows[at].node;
	struct strata_room room;

	if (!node->ready || node->cordoned)
		return !node->ready ? NOT_READY : CORDONED;
	if (constraint->fits[at] != PODS_FITS)
		return constraint->fits[at] == PODS_FIT_SELECTOR ? SELECTOR
		       : constraint->fits[at] == PODS_FIT_TAINT  ? TAINT
								 : OTHER;
	if (strata_cluster_room(round->cluster, at, &room))
		return NONE;
	int64_t gpus = empty ? node->amounts.gpus : whole_gpus(&room, node->amounts.gpus);

	if (pod->amounts.gpus > gpus)
		return GPUS;
	if (pod->amounts.cpu_milli > (empty ? node->amounts.cpu_milli : room.cpu_milli))
		return CPUS;
	return pod->amounts.memory_bytes > (empty ? node->amounts.memory_bytes : room.memory_bytes)
		       ? MEMORY
		       : NONE;
}

static void add_obstacles(const struct pods_round *round, const struct pod *pod,
			  const struct pods_constraint *constraint, bool empty, struct buf *buf)
{
	size_t counts[OBSTACLE_COUNT] = { 0 };
	const char *between = "";

	for (uint32_t i = 0; i < round->row_count; i++)
		counts[obstacle_on(round, pod, constraint, i, empty)]++;
	buf_printf(buf, "%zu of %zu nodes %s: ", counts[NONE], round->row_count,
		   empty ? "could take it even if they were empty" : "have room for it now");
	for (int i = NONE + 1; i < OBSTACLE_COUNT; i++)
		if (counts[i]) {
			buf_printf(buf, "%s%zu %s %s", between, counts[i],
				   counts[i] == 1 ? "is" : "are", words[i]);
			between = ", ";
		}
	if (!*between)
		buf->text[buf->length -= 2] = '\0'; /* no colon then */
}

static void add_start(const struct pods_round *round, const struct strata_forecast *forecast,
		      struct buf *buf)
{
	char time[STRATA_FORM_BYTES];

	if (!forecast || forecast->start_ns <= round->now_ns)
		return;
	strata_time_print((forecast->start_ns + STRATA_MINUTE_NS - 1) / STRATA_MINUTE_NS *
				  STRATA_MINUTE_NS,
			  time);
	buf_printf(buf, "; it should start by %s", time);
}

const char *pods_explain(struct pods_round *round, size_t index,
			 const struct strata_forecast *forecast)
{
	const struct pod *pod = round->pods[index];
	const struct pods_constraint *constraint = pods_rows_constraint(round, pod);
	struct strata_job_view view;
	const char *sentence = NULL;
	struct buf buf;

	if (!constraint || strata_cluster_job(round->cluster, index + 1, &view, NULL))
		return NULL;
	buf_init(&buf, round->mirror->memory, 0);
	if (view.reason == STRATA_REASON_IMPOSSIBLE && round->row_count == 0) {
		buf_add(&buf, "the cluster has no nodes");
	} else if (view.reason == STRATA_REASON_IMPOSSIBLE) {
		add_obstacles(round, pod, constraint, true, &buf);
		if (pod->gang)
			buf_add(&buf, "; its whole gang must find room at once");
	} else {
		buf_printf(&buf, "%s; ", strata_reason_words(view.reason));
		add_obstacles(round, pod, constraint, false, &buf);
		add_start(round, forecast, &buf);
	}
	if (!buf.failed)
		sentence = strata_arena_text(round->arena, buf.text, buf.length);
	buf_fini(&buf);
	return sentence;
}
