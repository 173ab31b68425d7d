/* The virtual clock around the cluster level: see replay.h. */
#include "sim/replay.h"

#include "core/container.h"
#include "core/heap.h"
#include "sim/fragments.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RUN_BYTES_MAX (1 << 30) /* scratch of one pass */
#define MIX_COVER 0.95  /* typical jobs are the most common ones that make up so much of all */
#define NEVER INT64_MIN /* start of a job that no node can take */

struct ending {
	struct heap_node by_end;
	size_t index;       /* of the arrival */
	int64_t begun_ns;   /* this run, or where it went on */
	int64_t carried_ns; /* work it had done by then */
	int64_t saved_ns;   /* work that is in a checkpoint */
	int64_t ran_ns;     /* all that it ran, lost or not */
	bool shown;         /* a slice of it is in the timeline */
	bool stopping;      /* the next time it is due it stops, unless it has done its work */
	/* where it runs, when somebody wants to know; the replay's memory */
	struct strata_piece *pieces;
	size_t piece_count;
};

struct replay {
	const struct replay_conf *conf;
	struct strata_memory memory;
	struct strata_cluster *cluster;
	struct strata_arena scratch;
	struct heap ends;         /* of running jobs, by time */
	struct ending *endings;   /* one per arrival */
	struct metrics_job *jobs; /* one per arrival */
	struct strata_mix mix;
	struct fragments fragments;
	size_t arrived, ended, impossible, cancelled;
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
	const struct machine *machine = replay->conf->machine;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < machine->node_count; i++)
		rc = strata_cluster_add_node(replay->cluster, &machine->nodes[i], NULL, err);
	return rc;
}

static struct strata_job_request request_of(const struct replay_conf *conf, size_t index)
{
	return machine_request(conf->machine, &conf->arrivals[index],
			       conf->demands ? conf->demands[index] : NULL);
}

/* Takes a job that no node could ever take out again. */
static int set_aside(struct replay *replay, uint64_t id, struct strata_error *err)
{
	int rc = strata_cluster_cancel(replay->cluster, id, replay->now_ns, err);

	replay->jobs[id - 1].start_ns = NEVER;
	replay->impossible++;
	return rc ? rc : strata_cluster_forget(replay->cluster, id, err);
}

static int submit(struct replay *replay, struct strata_error *err)
{
	size_t index = replay->arrived++;
	struct strata_job_request request = request_of(replay->conf, index);
	struct strata_job_view view;
	char user[32];

	snprintf(user, sizeof(user), "u%" PRId64, replay->conf->arrivals[index].user);
	request.id = index + 1;
	request.user = user;
	if (replay->conf->bands)
		request.band = replay->conf->bands[index];
	request.preemptible = replay->conf->cluster.victims.cls != NULL;
	request.requeue = true;
	request.checkpoint_ns = replay->conf->checkpoint_ns;
	replay->jobs[index].procs = machine_size(replay->conf->machine, &request);
	int rc = strata_cluster_submit(replay->cluster, &request, replay->now_ns, err);

	if (rc == 0)
		rc = strata_cluster_job(replay->cluster, request.id, &view, err);
	if (rc == 0 && view.reason == STRATA_REASON_IMPOSSIBLE)
		rc = set_aside(replay, request.id, err);
	return rc;
}

/* ---- those who look on ---- */

static struct gantt_job gantt_job(const struct replay *replay, const struct ending *ending)
{
	const struct strata_swf_arrival *arrival = &replay->conf->arrivals[ending->index];

	return (struct gantt_job){
		.id = ending->index + 1,
		.number = arrival->number,
		.user = arrival->user,
		.submit_ns = arrival->submit_ns,
		.start_ns = replay->jobs[ending->index].start_ns,
		.again = ending->shown,
		.pieces = ending->pieces,
		.piece_count = ending->piece_count,
	};
}

/* A job starts where the effect says. */
static int show_start(struct replay *replay, struct ending *ending,
		      const struct strata_effect *effect, struct strata_error *err)
{
	size_t bytes = effect->piece_count * sizeof(*effect->pieces);

	if (!replay->fragments.nodes && !replay->conf->gantt)
		return 0;
	ending->pieces = strata_memory_get(&replay->memory, bytes);
	if (!ending->pieces)
		return strata_fail_memory(err);
	memcpy(ending->pieces, effect->pieces, bytes);
	ending->piece_count = effect->piece_count;
	if (replay->fragments.nodes)
		fragments_start(&replay->fragments, ending->pieces, ending->piece_count,
				replay->now_ns);
	if (!replay->conf->gantt)
		return 0;
	struct gantt_job job = gantt_job(replay, ending);

	return gantt_start(replay->conf->gantt, &job, err);
}

static void forget_pieces(struct replay *replay, struct ending *ending)
{
	strata_memory_put(&replay->memory, ending->pieces,
			  ending->piece_count * sizeof(*ending->pieces));
	ending->pieces = NULL;
	ending->piece_count = 0;
}

static void show_end(struct replay *replay, struct ending *ending)
{
	if (replay->fragments.nodes)
		fragments_end(&replay->fragments, ending->pieces, ending->piece_count,
			      replay->now_ns);
	if (replay->conf->gantt) {
		struct gantt_job job = gantt_job(replay, ending);

		gantt_end(replay->conf->gantt, &job, replay->now_ns);
		ending->shown = true;
	}
	forget_pieces(replay, ending);
}

/* ---- what happens ---- */

static int64_t work_of(const struct replay *replay, const struct ending *ending)
{
	return replay->conf->arrivals[ending->index].run_ns;
}

/* The work it has done by now, this run and before. */
static int64_t done_ns(const struct replay *replay, const struct ending *ending)
{
	return ending->carried_ns + replay->now_ns - ending->begun_ns;
}

/* It has done its work. To the measures, all that was not work was waiting. */
static int complete(struct replay *replay, struct ending *ending, struct strata_error *err)
{
	uint64_t id = ending->index + 1;
	int rc = strata_cluster_ended(replay->cluster, id, STRATA_OUTCOME_COMPLETED, replay->now_ns,
				      err);

	ending->ran_ns += replay->now_ns - ending->begun_ns;
	replay->jobs[ending->index].start_ns = replay->now_ns - work_of(replay, ending);
	replay->ended++;
	return rc ? rc : strata_cluster_forget(replay->cluster, id, err);
}

/* It stops for another: what it can save it does, if jobs of this trace write checkpoints. */
static int stop(struct replay *replay, struct ending *ending, struct strata_error *err)
{
	uint64_t id = ending->index + 1;
	struct strata_job_view view;
	int rc = strata_cluster_ended(replay->cluster, id, STRATA_OUTCOME_STOPPED, replay->now_ns,
				      err);

	if (rc == 0)
		rc = strata_cluster_job(replay->cluster, id, &view, err);
	if (rc)
		return rc;
	ending->stopping = false;
	ending->ran_ns += replay->now_ns - ending->begun_ns;
	if (view.reason == STRATA_REASON_SUSPENDED || replay->conf->checkpoint_ns)
		ending->saved_ns = done_ns(replay, ending);
	ending->carried_ns = ending->saved_ns;
	if (!strata_job_ended(view.state))
		return 0;
	replay->jobs[ending->index].start_ns = NEVER;
	replay->cancelled++;
	return strata_cluster_forget(replay->cluster, id, err);
}

static int end(struct replay *replay, struct strata_error *err)
{
	struct ending *ending = container_of(heap_pop(&replay->ends), struct ending, by_end);

	show_end(replay, ending);
	if (ending->stopping && done_ns(replay, ending) < work_of(replay, ending))
		return stop(replay, ending, err);
	return complete(replay, ending, err);
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

static int start(struct replay *replay, const struct strata_effect *effect,
		 struct strata_error *err)
{
	size_t index = (size_t)effect->job - 1;
	struct ending *ending = &replay->endings[index];
	int rc = strata_cluster_started(replay->cluster, effect->job, replay->now_ns, err);

	ending->index = index;
	ending->begun_ns = replay->now_ns;
	replay->jobs[index].start_ns = replay->now_ns;
	int64_t end_ns = replay->now_ns + work_of(replay, ending) - ending->carried_ns;

	if (rc == 0)
		rc = show_start(replay, ending, effect, err);
	if (rc == 0 && heap_push(&replay->ends, &ending->by_end, heap_key_time(end_ns)))
		rc = strata_fail_memory(err);
	return rc;
}

/* It is asked to stop: it does after the grace, frozen at once. */
static void ask_to_stop(struct replay *replay, const struct strata_effect *effect)
{
	struct ending *ending = &replay->endings[effect->job - 1];
	int64_t grace_ns = effect->mode == STRATA_STOP_SUSPEND ? 0 : effect->grace_ns;
	uint64_t key = heap_key_time(replay->now_ns + grace_ns);

	ending->stopping = true;
	if (key < heap_key(&replay->ends, &ending->by_end))
		heap_update(&replay->ends, &ending->by_end, key);
}

static int save(struct replay *replay, const struct strata_effect *effect, struct strata_error *err)
{
	struct ending *ending = &replay->endings[effect->job - 1];
	struct strata_checkpoint checkpoint = { "checkpoint", 0, replay->now_ns, -1 };

	ending->saved_ns = done_ns(replay, ending);
	return strata_cluster_checkpoint(replay->cluster, effect->job, &checkpoint, replay->now_ns,
					 err);
}

static int carry_out(struct replay *replay, const struct strata_effect *effect,
		     struct strata_error *err)
{
	switch (effect->kind) {
	case STRATA_EFFECT_START:
	case STRATA_EFFECT_RESUME:
		return start(replay, effect, err);
	case STRATA_EFFECT_STOP:
		ask_to_stop(replay, effect);
		return 0;
	case STRATA_EFFECT_CHECKPOINT:
		return save(replay, effect, err);
	default:
		return 0;
	}
}

static int pass(struct replay *replay, struct strata_error *err)
{
	const struct strata_effect *effects;
	size_t count;
	int rc = strata_cluster_pass(replay->cluster, replay->now_ns, &replay->scratch, &effects,
				     &count, err);

	replay->passes++;
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = carry_out(replay, &effects[i], err);
	if (rc == 0 && replay->conf->gantt) {
		struct strata_cluster_metrics stats;

		strata_cluster_metrics(replay->cluster, &stats);
		gantt_count(replay->conf->gantt, &stats, replay->now_ns);
	}
	strata_arena_reset(&replay->scratch);
	return rc;
}

static int run(struct replay *replay, struct strata_error *err)
{
	const struct replay_conf *conf = replay->conf;
	int rc = add_nodes(replay, err);

	while (rc == 0 &&
	       replay->ended + replay->impossible + replay->cancelled < conf->arrival_count) {
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
					   conf->arrival_count - replay->ended -
						   replay->impossible);
	}
	return rc;
}

/* ---- before and after ---- */

/* What the jobs of this trace usually ask for, and the measure that is taken by it. */
static int know_jobs(struct replay *replay, struct strata_arena *arena, struct strata_error *err)
{
	const struct replay_conf *conf = replay->conf;
	size_t count = conf->arrival_count;
	struct strata_need *needs = strata_arena_array(&replay->scratch, count, sizeof(*needs));
	const char **types = strata_arena_array(&replay->scratch, count, sizeof(*types));

	if (!needs || !types)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		struct strata_job_request request = request_of(conf, i);

		needs[i] = (struct strata_need){ request.cpu_milli, request.memory_bytes,
						 request.gpus, request.gpu_milli };
		types[i] = request.gpu_type;
	}
	int rc = strata_mix_make(needs, types, count, MIX_COVER, arena, &replay->mix, err);

	if (rc == 0)
		rc = fragments_init(&replay->fragments, conf->machine, &replay->mix,
				    conf->arrivals[0].submit_ns, arena, err);
	strata_arena_reset(&replay->scratch);
	return rc;
}

static int prepare(struct replay *replay, struct strata_arena *arena, struct strata_error *err)
{
	const struct replay_conf *conf = replay->conf;
	struct strata_cluster_conf cluster = conf->cluster;
	size_t count = conf->arrival_count;

	replay->endings = strata_arena_array(arena, count, sizeof(*replay->endings));
	replay->jobs = strata_arena_array(arena, count, sizeof(*replay->jobs));
	if (!replay->jobs || !replay->endings)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct strata_swf_arrival *arrival = &conf->arrivals[i];

		replay->jobs[i] = (struct metrics_job){ .submit_ns = arrival->submit_ns,
							.run_ns = arrival->run_ns,
							.requested_ns = arrival->requested_ns,
							.user = arrival->user };
	}
	if (conf->machine->gpu_count && count) {
		int rc = know_jobs(replay, arena, err);

		if (rc)
			return rc;
		if (!cluster.mix)
			cluster.mix = &replay->mix;
	}
	return strata_cluster_new(&cluster, &replay->memory, &replay->cluster, err);
}

/* Those that ran to one side, those that never will to the other. */
static int sort_out(const struct replay *replay, struct strata_arena *arena,
		    struct replay_result *result, struct strata_error *err)
{
	size_t count = replay->conf->arrival_count,
	       left_out = replay->impossible + replay->cancelled;
	double unit = replay->conf->machine->flat ? 1 : 1000; /* as the capacity is counted */

	result->jobs = replay->jobs;
	result->indices = strata_arena_array(arena, count, sizeof(size_t));
	result->impossible = strata_arena_array(arena, left_out, sizeof(size_t));
	if (!result->indices || !result->impossible)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct ending *ending = &replay->endings[i];

		result->lost_hours +=
			(double)(ending->ran_ns -
				 (replay->jobs[i].start_ns == NEVER ? 0 : replay->jobs[i].run_ns)) *
			(double)replay->jobs[i].procs / unit / 3.6e12;
		if (replay->jobs[i].start_ns == NEVER) {
			if (ending->ran_ns == 0)
				result->impossible[result->impossible_count++] = i;
			continue;
		}
		result->jobs[result->job_count] = replay->jobs[i];
		result->indices[result->job_count++] = i;
	}
	return 0;
}

int replay_run(const struct replay_conf *conf, struct strata_arena *arena,
	       struct replay_result *ret_result, struct strata_error *err)
{
	struct replay replay = { .conf = conf };
	struct replay_result result = { .gpu_fragmentation = NAN };

	strata_arena_init(&replay.scratch, &replay.memory, RUN_BYTES_MAX);
	heap_init(&replay.ends, &replay.memory, compare_endings, NULL);
	int rc = prepare(&replay, arena, err);

	if (rc == 0)
		rc = run(&replay, err);
	if (rc == 0)
		rc = sort_out(&replay, arena, &result, err);
	for (size_t i = 0; rc && replay.endings && i < conf->arrival_count; i++)
		forget_pieces(&replay, &replay.endings[i]);
	if (rc == 0) {
		struct strata_cluster_metrics stats;

		strata_cluster_metrics(replay.cluster, &stats);
		result.preemptions = stats.preemptions;
		result.cancelled = replay.cancelled;
	}
	strata_cluster_free(replay.cluster);
	heap_fini(&replay.ends);
	strata_arena_fini(&replay.scratch);
	if (rc)
		return rc;
	result.passes = replay.passes;
	result.peak_bytes = replay.memory.peak_bytes;
	if (replay.fragments.nodes)
		result.gpu_fragmentation = fragments_share(&replay.fragments);
	*ret_result = result;
	return 0;
}
