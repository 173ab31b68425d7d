/* The chart of pool_gantt.h. A worker is a process of the trace, its places are threads: as many as
 * a batch may hold. */
#include "sim/pool_gantt.h"

#include "core/trace_stream.h"

#include <stdio.h>

enum { POOL_PID = 1, FIRST_WORKER_PID = 2, NAME_BYTES = 64 };

struct place {
	bool taken;
	struct pool_gantt_task task;
	int64_t start_ns;
};

struct pool_gantt {
	struct strata_memory *memory;
	struct place (*places)[STRATA_BATCH_MAX]; /* of each worker */
	size_t worker_count;
	int64_t pending, running; /* as last written; -1: not yet */
	struct trace_stream stream;
};

int pool_gantt_open(struct strata_memory *memory, size_t worker_count,
		    const struct strata_trace_sink *sink, struct pool_gantt **ret_gantt,
		    struct strata_error *err)
{
	static const struct strata_trace_conf conf = { POOL_PID, "pool", "virtual" };
	struct pool_gantt *gantt = strata_memory_get(memory, sizeof(*gantt));
	char name[NAME_BYTES];

	if (!gantt)
		return strata_fail_memory(err);
	gantt->memory = memory;
	gantt->worker_count = worker_count;
	gantt->pending = gantt->running = -1;
	gantt->places = strata_memory_get(memory, worker_count * sizeof(gantt->places[0]));
	if (!gantt->places) {
		strata_memory_put(memory, gantt, sizeof(*gantt));
		return strata_fail_memory(err);
	}
	trace_stream_begin(&gantt->stream, &conf, sink);
	for (size_t i = 0; i < worker_count; i++) {
		snprintf(name, sizeof(name), "worker %zu", i + 1);
		trace_stream_name_process(&gantt->stream, (uint32_t)(FIRST_WORKER_PID + i), name);
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
	trace_stream_slice(&gantt->stream,
			   &(struct trace_slice){ .pid = (uint32_t)(FIRST_WORKER_PID + worker),
						  .tid = (uint32_t)at + 1,
						  .start_ns = place->start_ns,
						  .end_ns = now_ns,
						  .name = name,
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
		*free = (struct place){ true, *task, now_ns };
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
	trace_stream_counter(&gantt->stream, POOL_PID, now_ns, "tasks", counts, 2);
}

int pool_gantt_close(struct pool_gantt *gantt, struct strata_error *err)
{
	if (!gantt)
		return 0;
	int rc = trace_stream_end(&gantt->stream, err);

	strata_memory_put(gantt->memory, gantt->places,
			  gantt->worker_count * sizeof(gantt->places[0]));
	strata_memory_put(gantt->memory, gantt, sizeof(*gantt));
	return rc;
}
