/* The chart of pool_gantt.h. A worker is a process of the trace, its places are threads: as many as
 * a batch may hold. */
#include "sim/pool_gantt.h"

#include <stdio.h>

enum { POOL_PID = 1, FIRST_WORKER_PID = 2, NAME_BYTES = 64 };

struct place {
	struct strata_trace_lane *lane;
	bool taken;
	struct pool_gantt_task task;
	int64_t start_ns;
};

struct pool_gantt {
	struct strata_memory *memory;
	struct place (*places)[STRATA_BATCH_MAX]; /* of each worker */
	size_t worker_count;
	int64_t pending, running; /* as last written; -1: not yet */
	struct strata_trace *trace;
	struct strata_trace_lane *curves;
};

/* A lane for each place; the first of a worker has its name with it. */
static int add_lanes(struct pool_gantt *gantt, size_t worker, struct strata_error *err)
{
	char name[NAME_BYTES];
	int rc = 0;

	snprintf(name, sizeof(name), "worker %zu", worker + 1);
	for (size_t at = 0; rc == 0 && at < STRATA_BATCH_MAX; at++)
		rc = strata_trace_add_lane(gantt->trace,
					   &(struct strata_trace_lane_conf){
						   .pid = (uint32_t)(FIRST_WORKER_PID + worker),
						   .tid = (uint32_t)at + 1,
						   .process_name = at ? NULL : name },
					   &gantt->places[worker][at].lane, err);
	return rc;
}

static int open_trace(struct pool_gantt *gantt, const struct strata_trace_sink *sink,
		      struct strata_error *err)
{
	static const struct strata_trace_conf conf = { .pid = POOL_PID,
						       .process_name = "pool",
						       .clock_name = "virtual" };
	static const struct strata_trace_lane_conf curves = { .tid = 0 };
	int rc = strata_trace_open(gantt->memory, &conf, sink, &gantt->trace, err);

	if (rc == 0)
		rc = strata_trace_add_lane(gantt->trace, &curves, &gantt->curves, err);
	for (size_t i = 0; rc == 0 && i < gantt->worker_count; i++)
		rc = add_lanes(gantt, i, err);
	return rc;
}

static void free_gantt(struct pool_gantt *gantt)
{
	strata_memory_put(gantt->memory, gantt->places,
			  gantt->places ? gantt->worker_count * sizeof(gantt->places[0]) : 0);
	strata_memory_put(gantt->memory, gantt, sizeof(*gantt));
}

int pool_gantt_open(struct strata_memory *memory, size_t worker_count,
		    const struct strata_trace_sink *sink, struct pool_gantt **ret_gantt,
		    struct strata_error *err)
{
	struct pool_gantt *gantt = strata_memory_get(memory, sizeof(*gantt));

	if (!gantt)
		return strata_fail_memory(err);
	gantt->memory = memory;
	gantt->worker_count = worker_count;
	gantt->pending = gantt->running = -1;
	gantt->places = strata_memory_get(memory, worker_count * sizeof(gantt->places[0]));
	int rc = gantt->places ? open_trace(gantt, sink, err) : strata_fail_memory(err);

	if (rc) {
		strata_trace_free(gantt->trace);
		free_gantt(gantt);
		return rc;
	}
	*ret_gantt = gantt;
	return 0;
}

static void end_slice(struct pool_gantt *gantt, size_t worker, size_t at, int64_t now_ns)
{
	struct place *place = &gantt->places[worker][at];
	const struct strata_trace_arg args[] = {
		strata_trace_text("user", place->task.user),
		strata_trace_int("from_step", place->task.steps_done),
		strata_trace_int("steps", place->task.steps),
		strata_trace_real("since_arrival_s",
				  (double)(place->start_ns - place->task.arrival_ns) / 1e9),
	};
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "task %u", place->task.number);
	strata_trace_slice(place->lane,
			   (struct strata_trace_event){ .time_ns = place->start_ns,
							.end_ns = now_ns,
							.name = name,
							.copy_name = true,
							.flow = (uint64_t)place->task.number + 1,
							.flow_first = place->task.steps_done == 0,
							.args = args,
							.arg_count = 4 });
	place->taken = false;
}

static bool listed(const struct pool_gantt_task *tasks, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (tasks[i].number == number)
			return true;
	return false;
}

static void begin_slice(struct pool_gantt *gantt, size_t worker, const struct pool_gantt_task *task,
			int64_t now_ns)
{
	struct place *free = NULL;

	for (size_t at = STRATA_BATCH_MAX; at-- > 0;) {
		struct place *place = &gantt->places[worker][at];

		if (place->taken && place->task.number == task->number)
			return; /* it goes on */
		if (!place->taken)
			free = place;
	}
	if (free)
		*free = (struct place){ free->lane, true, *task, now_ns };
}

void pool_gantt_set(struct pool_gantt *gantt, size_t worker, const struct pool_gantt_task *tasks,
		    size_t count, int64_t now_ns)
{
	for (size_t at = 0; at < STRATA_BATCH_MAX; at++) {
		const struct place *place = &gantt->places[worker][at];

		if (place->taken && !listed(tasks, count, place->task.number))
			end_slice(gantt, worker, at, now_ns);
	}
	for (size_t i = 0; i < count; i++)
		begin_slice(gantt, worker, &tasks[i], now_ns);
}

void pool_gantt_count(struct pool_gantt *gantt, size_t pending, size_t running, int64_t now_ns)
{
	const struct strata_trace_arg counts[] = { strata_trace_int("pending", (int64_t)pending),
						   strata_trace_int("running", (int64_t)running) };

	if ((int64_t)pending == gantt->pending && (int64_t)running == gantt->running)
		return;
	gantt->pending = (int64_t)pending;
	gantt->running = (int64_t)running;
	strata_trace_counters(gantt->curves, now_ns, "tasks", counts, 2);
}

int pool_gantt_close(struct pool_gantt *gantt, struct strata_error *err)
{
	if (!gantt)
		return 0;
	int rc = strata_trace_close(gantt->trace, err);

	free_gantt(gantt);
	return rc;
}
