/*
 * The trace and its lanes. A lane of a trace that lives in memory has a ring (trace_ring.c), which strata_trace_write writes out; one of a trace
 * that was opened on a sink writes each event at once. Whoever adds events need not know which.
 *
 * The list of lanes has a lock; adding a lane and writing a file are rare.
 */
#include "core/trace_int.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

struct strata_trace_lane {
	struct trace_ring ring; /* of a trace in memory */
	struct trace_out *out;  /* of one with a sink: the trace's; NULL: of none */
	uint32_t pid, tid;
	char *name, *process_name;      /* owned; NULL: none, or written already */
	struct strata_trace_lane *next; /* under the trace's lock */
};

struct strata_trace {
	struct strata_memory *memory; /* borrowed; used under the lock */
	pthread_mutex_t lock;
	struct strata_trace_lane *first, *last; /* oldest first; owned */
	size_t lane_count;
	struct strata_trace_conf conf; /* its names are owned */
	struct trace_out *out;         /* owned; NULL: no sink */
	struct strata_trace_sink sink;
};

/* ---- traces ---- */

static char *copy_text(struct strata_memory *memory, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = strata_memory_get(memory, size);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

static void free_text(struct strata_memory *memory, const char *text)
{
	if (text)
		strata_memory_put(memory, (char *)(uintptr_t)text, strlen(text) + 1);
}

int strata_trace_new(struct strata_memory *memory, const struct strata_trace_conf *conf,
		     struct strata_trace **ret_trace, struct strata_error *err)
{
	if (!conf->process_name || !conf->clock_name)
		return strata_fail(err, -EINVAL, "a trace has no %s name; expected one",
				   conf->process_name ? "clock" : "process");
	struct strata_trace *trace = strata_memory_get(memory, sizeof(*trace));

	if (!trace)
		return strata_fail_memory(err);
	trace->memory = memory;
	trace->conf = *conf;
	pthread_mutex_init(&trace->lock, NULL);
	trace->conf.process_name = copy_text(memory, conf->process_name);
	trace->conf.clock_name = copy_text(memory, conf->clock_name);
	if (!trace->conf.process_name || !trace->conf.clock_name) {
		strata_trace_free(trace);
		return strata_fail_memory(err);
	}
	*ret_trace = trace;
	return 0;
}

static void free_lane(struct strata_memory *memory, struct strata_trace_lane *lane)
{
	trace_ring_fini(&lane->ring, memory);
	free_text(memory, lane->name);
	free_text(memory, lane->process_name);
	strata_memory_put(memory, lane, sizeof(*lane));
}

void strata_trace_free(struct strata_trace *trace)
{
	if (!trace)
		return;
	for (struct strata_trace_lane *lane = trace->first, *next; lane; lane = next) {
		next = lane->next;
		free_lane(trace->memory, lane);
	}
	free_text(trace->memory, trace->conf.process_name);
	free_text(trace->memory, trace->conf.clock_name);
	strata_memory_put(trace->memory, trace->out, trace->out ? sizeof(*trace->out) : 0);
	pthread_mutex_destroy(&trace->lock);
	strata_memory_put(trace->memory, trace, sizeof(*trace));
}

int strata_trace_open(struct strata_memory *memory, const struct strata_trace_conf *conf,
		      const struct strata_trace_sink *sink, struct strata_trace **ret_trace,
		      struct strata_error *err)
{
	struct strata_trace *trace;
	int rc = strata_trace_new(memory, conf, &trace, err);

	if (rc)
		return rc;
	trace->out = strata_memory_get(memory, sizeof(*trace->out));
	if (!trace->out) {
		strata_trace_free(trace);
		return strata_fail_memory(err);
	}
	trace->sink = *sink;
	trace_out_init(trace->out, &trace->sink);
	trace_out_head(trace->out, &trace->conf, 0);
	*ret_trace = trace;
	return 0;
}

int strata_trace_close(struct strata_trace *trace, struct strata_error *err)
{
	if (!trace)
		return 0;
	assert(trace->out);
	trace_out_tail(trace->out);
	int rc = trace_out_finish(trace->out, err);

	strata_trace_free(trace);
	return rc;
}

/* ---- lanes ---- */

/* What a ring is written with later. */
static int init_kept(struct strata_trace_lane *lane, struct strata_memory *memory,
		     const struct strata_trace_lane_conf *conf)
{
	lane->name = conf->name ? copy_text(memory, conf->name) : NULL;
	lane->process_name = conf->process_name ? copy_text(memory, conf->process_name) : NULL;
	if (!lane->name != !conf->name || !lane->process_name != !conf->process_name)
		return -1;
	return trace_ring_init(&lane->ring, memory, conf->event_count);
}

static int new_lane(struct strata_trace *trace, const struct strata_trace_lane_conf *conf,
		    struct strata_trace_lane **ret_lane, struct strata_error *err)
{
	struct strata_trace_lane *lane = strata_memory_get(trace->memory, sizeof(*lane));

	if (!lane)
		return strata_fail_memory(err);
	lane->pid = conf->pid ? conf->pid : trace->conf.pid;
	lane->tid = conf->tid;
	lane->out = trace->out;
	if (trace->out) {
		trace_out_names(trace->out, lane->pid, lane->tid, conf->process_name, conf->name);
	} else if (init_kept(lane, trace->memory, conf)) {
		free_lane(trace->memory, lane);
		return strata_fail_memory(err);
	}
	*ret_lane = lane;
	return 0;
}

/* Rings are few, and large; each is of a thread. */
static int check_ring(const struct strata_trace *trace, const struct strata_trace_lane_conf *conf,
		      struct strata_error *err)
{
	uint32_t pid = conf->pid ? conf->pid : trace->conf.pid;

	if (conf->event_count < 1 || conf->event_count > STRATA_TRACE_LANE_EVENTS_MAX)
		return strata_fail(err, -EINVAL, "a trace lane of %zu events; expected 1 to %d",
				   conf->event_count, STRATA_TRACE_LANE_EVENTS_MAX);
	if (trace->lane_count == STRATA_TRACE_LANE_COUNT_MAX)
		return strata_fail(err, -E2BIG,
				   "the trace has %d lanes; expected at most that many",
				   STRATA_TRACE_LANE_COUNT_MAX);
	for (struct strata_trace_lane *lane = trace->first; lane; lane = lane->next)
		if (lane->pid == pid && lane->tid == conf->tid)
			return strata_fail(err, -EEXIST, "thread %u has a trace lane already (%s)",
					   conf->tid, lane->name ? lane->name : "without a name");
	return 0;
}

static int add_lane_locked(struct strata_trace *trace, const struct strata_trace_lane_conf *conf,
			   struct strata_trace_lane **ret_lane, struct strata_error *err)
{
	int rc = trace->out ? 0 : check_ring(trace, conf, err);

	if (rc == 0)
		rc = new_lane(trace, conf, ret_lane, err);
	if (rc < 0)
		return rc;
	if (trace->last)
		trace->last->next = *ret_lane;
	else
		trace->first = *ret_lane;
	trace->last = *ret_lane;
	trace->lane_count++;
	return 0;
}

int strata_trace_add_lane(struct strata_trace *trace, const struct strata_trace_lane_conf *conf,
			  struct strata_trace_lane **ret_lane, struct strata_error *err)
{
	pthread_mutex_lock(&trace->lock);
	int rc = add_lane_locked(trace, conf, ret_lane, err);

	pthread_mutex_unlock(&trace->lock);
	return rc;
}

void strata_trace_add(struct strata_trace_lane *lane, const struct strata_trace_event *event)
{
	assert(event->name || event->kind == STRATA_TRACE_END || event->kind == STRATA_TRACE_FLOW);
	assert(event->arg_count <= STRATA_TRACE_ARG_COUNT_MAX);
	if (lane->out)
		trace_out_event(lane->out, event, event->flow_first, lane->pid, lane->tid);
	else
		trace_ring_add(&lane->ring, event);
}

/* ---- for the writer ---- */

static int snapshot_locked(const struct strata_trace *trace, struct strata_arena *arena,
			   struct trace_snapshot *snapshots, struct strata_error *err)
{
	for (const struct strata_trace_lane *lane = trace->first; lane; lane = lane->next) {
		if (trace_ring_copy(&lane->ring, arena, snapshots))
			return strata_fail_memory(err);
		snapshots->pid = lane->pid;
		snapshots->tid = lane->tid;
		snapshots->name = lane->name;
		snapshots->process_name = lane->process_name;
		snapshots++;
	}
	return 0;
}

int trace_snapshot(struct strata_trace *trace, struct strata_arena *arena,
		   struct trace_snapshot **ret_snapshots, size_t *ret_count,
		   struct strata_error *err)
{
	int rc;

	assert(!trace->out);
	pthread_mutex_lock(&trace->lock);
	size_t count = trace->lane_count;
	struct trace_snapshot *snapshots =
		strata_arena_array(arena, count, sizeof(struct trace_snapshot));

	rc = snapshots ? snapshot_locked(trace, arena, snapshots, err) : strata_fail_memory(err);
	pthread_mutex_unlock(&trace->lock);
	if (rc < 0)
		return rc;
	*ret_snapshots = snapshots;
	*ret_count = count;
	return 0;
}

const struct strata_trace_conf *trace_conf(const struct strata_trace *trace)
{
	return &trace->conf;
}
