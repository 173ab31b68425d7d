/* The virtual clock around the cluster level: see replay.h. */
#include "sim/replay.h"

#include "core/container.h"
#include "core/heap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { RUN_BYTES_MAX = 1 << 30 }; /* scratch of one pass */

struct ending {
	struct heap_node by_end;
	size_t index; /* of the arrival */
};

struct replay {
	const struct replay_conf *conf;
	struct strata_memory memory;
	struct strata_cluster *cluster;
	struct strata_arena scratch;
	struct heap ends;       /* of running jobs, by time */
	struct ending *endings; /* one per arrival */
	struct metrics_job *jobs;
	size_t arrived, ended;
	int64_t now_ns;
	uint64_t passes;
};

static int compare_endings(const struct heap_node *a, const struct heap_node *b, void *context)
{
	const struct ending *left = container_of(a, struct ending, by_end),
			    *right = container_of(b, struct ending, by_end);

	(void)context;
	return left->index < right->index ? -1 : left->index > right->index;
}

static int add_nodes(struct replay *replay, struct strata_error *err)
{
	const struct replay_machine *machine = replay->conf->machine;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < machine->node_count; i++)
		rc = strata_cluster_add_node(replay->cluster, &machine->nodes[i], NULL, err);
	return rc;
}

static int submit(struct replay *replay, struct strata_error *err)
{
	const struct strata_swf_arrival *arrival = &replay->conf->arrivals[replay->arrived];
	bool flat = replay->conf->machine->flat,
	     gpus = replay->conf->machine->nodes[0].gpu_count > 0;
	char user[32];
	struct strata_job_view view;
	struct strata_job_request request = {
		.id = replay->arrived + 1,
		.user = user,
		.band = STRATA_BAND_NORMAL,
		.tasks = flat ? 1 : (uint32_t)arrival->procs,
		.cpu_milli = flat   ? arrival->procs * 1000
			     : gpus ? 0
				    : 1000,
		.gpus = !flat && gpus ? 1 : 0,
		.time_limit_ns = arrival->requested_ns > arrival->run_ns ? arrival->requested_ns
									 : arrival->run_ns,
	};

	if (request.time_limit_ns < 1)
		request.time_limit_ns = 1;
	snprintf(user, sizeof(user), "u%" PRId64, arrival->user);
	int rc = strata_cluster_submit(replay->cluster, &request, replay->now_ns, err);

	if (rc == 0)
		rc = strata_cluster_job(replay->cluster, request.id, &view, err);
	if (rc == 0 && view.reason == STRATA_REASON_IMPOSSIBLE)
		return strata_fail(
			err, -EINVAL,
			"job %" PRId64 " asks for %" PRId64 " processors; the machine has %" PRId64,
			arrival->number, arrival->procs, replay->conf->machine->capacity);
	replay->arrived++;
	return rc;
}

static int end(struct replay *replay, struct strata_error *err)
{
	struct ending *ending = container_of(heap_pop(&replay->ends), struct ending, by_end);
	uint64_t id = ending->index + 1;
	int rc = strata_cluster_ended(replay->cluster, id, STRATA_OUTCOME_COMPLETED, replay->now_ns,
				      err);

	replay->ended++;
	return rc ? rc : strata_cluster_forget(replay->cluster, id, err);
}

static int64_t next_end_ns(const struct replay *replay)
{
	struct heap_node *top = heap_top(&replay->ends);

	return top ? (int64_t)(heap_key(&replay->ends, top) ^ 1ull << 63) : INT64_MAX;
}

/* Everything that happens at the next instant. */
static int step(struct replay *replay, struct strata_error *err)
{
	const struct replay_conf *conf = replay->conf;
	int64_t next = next_end_ns(replay), due = strata_cluster_next_ns(replay->cluster);
	int rc = 0;

	if (replay->arrived < conf->arrival_count &&
	    conf->arrivals[replay->arrived].submit_ns < next)
		next = conf->arrivals[replay->arrived].submit_ns;
	if (due < next && due > replay->now_ns)
		next = due;
	if (next > replay->now_ns)
		replay->now_ns = next;
	while (rc == 0 && next_end_ns(replay) <= replay->now_ns)
		rc = end(replay, err);
	while (rc == 0 && replay->arrived < conf->arrival_count &&
	       conf->arrivals[replay->arrived].submit_ns <= replay->now_ns)
		rc = submit(replay, err);
	return rc;
}

static int pass(struct replay *replay, struct strata_error *err)
{
	const struct strata_effect *effects;
	size_t count;
	int rc;

	strata_trace_begin(replay->conf->lane, replay->now_ns, "pass", 0, strata_trace_none());
	rc = strata_cluster_pass(replay->cluster, replay->now_ns, &replay->scratch, &effects,
				 &count, err);
	strata_trace_end(replay->conf->lane, replay->now_ns);
	replay->passes++;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		size_t index = (size_t)effects[i].job - 1;
		const struct strata_swf_arrival *arrival = &replay->conf->arrivals[index];

		rc = strata_cluster_started(replay->cluster, effects[i].job, replay->now_ns, err);
		replay->jobs[index].start_ns = replay->now_ns;
		replay->endings[index].index = index;
		if (rc == 0 && heap_push(&replay->ends, &replay->endings[index].by_end,
					 heap_key_time(replay->now_ns + arrival->run_ns)))
			rc = strata_fail_memory(err);
	}
	strata_arena_reset(&replay->scratch);
	return rc;
}

static int run(struct replay *replay, struct strata_error *err)
{
	const struct replay_conf *conf = replay->conf;
	int rc = add_nodes(replay, err);

	while (rc == 0 && replay->ended < conf->arrival_count) {
		uint64_t before = replay->ended + replay->arrived;

		rc = step(replay, err);
		if (rc == 0)
			rc = pass(replay, err);
		if (rc == 0 && conf->progress &&
		    !conf->progress(conf->progress_context, replay->ended, conf->arrival_count))
			return strata_fail(err, -ECANCELED, "stopped");
		if (rc == 0 && before == replay->ended + replay->arrived &&
		    next_end_ns(replay) == INT64_MAX && replay->arrived == conf->arrival_count &&
		    strata_cluster_next_ns(replay->cluster) == INT64_MAX)
			return strata_fail(err, -EIO, "%zu jobs wait and nothing more will happen",
					   conf->arrival_count - replay->ended);
	}
	return rc;
}

int replay_run(const struct replay_conf *conf, struct strata_arena *arena,
	       struct replay_result *ret_result, struct strata_error *err)
{
	struct replay replay = { .conf = conf };
	struct metrics_job *jobs = strata_arena_array(arena, conf->arrival_count, sizeof(*jobs));

	replay.endings = strata_arena_array(arena, conf->arrival_count, sizeof(*replay.endings));
	replay.jobs = jobs;
	if (!jobs || !replay.endings)
		return strata_fail_memory(err);
	for (size_t i = 0; i < conf->arrival_count; i++) {
		const struct strata_swf_arrival *arrival = &conf->arrivals[i];

		jobs[i] = (struct metrics_job){ arrival->submit_ns, 0,
						arrival->run_ns,    arrival->requested_ns,
						arrival->procs,     arrival->user };
	}
	strata_arena_init(&replay.scratch, &replay.memory, RUN_BYTES_MAX);
	heap_init(&replay.ends, &replay.memory, compare_endings, NULL);
	int rc = strata_cluster_new(&conf->cluster, &replay.memory, &replay.cluster, err);

	if (rc == 0)
		rc = run(&replay, err);
	strata_cluster_free(replay.cluster);
	heap_fini(&replay.ends);
	strata_arena_fini(&replay.scratch);
	if (rc == 0)
		*ret_result =
			(struct replay_result){ jobs, replay.passes, replay.memory.peak_bytes };
	return rc;
}
