/*
 * The chart of gantt.h. A group is a process of the trace, its tracks are threads: as many as it ever had jobs at once, a job
 * taking the first that is free. So slices of a track never overlap, and busy nodes look busy.
 */
#include "sim/gantt.h"

#include "core/map.h"
#include "core/trace_stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { CLUSTER_PID = 1, FIRST_GROUP_PID = 2, NAME_BYTES = 160, ARGS_MAX = 6 };

struct group {
	uint32_t pid;   /* 0: nothing has run there yet */
	uint64_t *jobs; /* on each track; 0: none */
	size_t track_count;
};

struct gantt {
	struct strata_memory *memory;
	const struct machine *machine;
	struct group *groups; /* of nodes, when not flat */
	struct map_u64 users; /* struct group *, when flat */
	uint32_t next_pid;
	int64_t waiting, running, in_use; /* as last written; -1: not yet */
	struct trace_stream stream;
};

int gantt_open(struct strata_memory *memory, const struct machine *machine,
	       const struct strata_trace_sink *sink, struct gantt **ret_gantt,
	       struct strata_error *err)
{
	static const struct strata_trace_conf conf = { CLUSTER_PID, "cluster", "virtual" };
	struct gantt *gantt = strata_memory_get(memory, sizeof(*gantt));

	if (!gantt)
		return strata_fail_memory(err);
	gantt->memory = memory;
	gantt->machine = machine;
	gantt->next_pid = FIRST_GROUP_PID;
	gantt->waiting = gantt->running = gantt->in_use = -1;
	map_u64_init(&gantt->users, memory);
	if (!machine->flat) {
		gantt->groups =
			strata_memory_get(memory, machine->node_count * sizeof(struct group));
		if (!gantt->groups) {
			strata_memory_put(memory, gantt, sizeof(*gantt));
			return strata_fail_memory(err);
		}
	}
	trace_stream_begin(&gantt->stream, &conf, sink);
	*ret_gantt = gantt;
	return 0;
}

/* ---- groups and tracks ---- */

/* The group that a piece of the job runs in; NULL: out of memory. */
static struct group *group_of(struct gantt *gantt, const struct gantt_job *job,
			      const struct strata_piece *piece)
{
	struct group *group;

	if (!gantt->machine->flat)
		return &gantt->groups[piece->node];
	group = map_u64_get(&gantt->users, (uint64_t)job->user);
	if (group)
		return group;
	group = strata_memory_get(gantt->memory, sizeof(*group));
	if (group && map_u64_put(&gantt->users, (uint64_t)job->user, group, NULL)) {
		strata_memory_put(gantt->memory, group, sizeof(*group));
		return NULL;
	}
	return group;
}

static void name_group(struct gantt *gantt, struct group *group, const struct gantt_job *job,
		       const struct strata_piece *piece)
{
	const struct strata_node_conf *node = &gantt->machine->nodes[piece->node];
	char name[NAME_BYTES];

	if (gantt->machine->flat)
		snprintf(name, sizeof(name), "user %" PRId64, job->user);
	else if (node->gpu_count)
		snprintf(name, sizeof(name), "%.100s (%" PRIu32 " x %.40s)", node->name,
			 node->gpu_count,
			 node->gpu_type && *node->gpu_type ? node->gpu_type : "GPU");
	else
		snprintf(name, sizeof(name), "%.100s", node->name);
	group->pid = gantt->next_pid++;
	trace_stream_name_process(&gantt->stream, group->pid, name);
}

static int take_track(struct gantt *gantt, struct group *group, uint64_t id)
{
	size_t track = 0;

	while (track < group->track_count && group->jobs[track])
		track++;
	if (track == group->track_count) {
		char name[NAME_BYTES];
		uint64_t *jobs = strata_memory_resize(gantt->memory, group->jobs,
						      track * sizeof(*jobs),
						      (track + 1) * sizeof(*jobs));

		if (!jobs)
			return -1;
		group->jobs = jobs;
		group->track_count++;
		snprintf(name, sizeof(name), "track %zu", group->track_count);
		trace_stream_name_thread(&gantt->stream, group->pid, (uint32_t)group->track_count,
					 name);
	}
	group->jobs[track] = id;
	return 0;
}

static uint32_t leave_track(struct group *group, uint64_t id)
{
	size_t track = 0;

	while (track < group->track_count && group->jobs[track] != id)
		track++;
	assert(track < group->track_count);
	group->jobs[track] = 0;
	return (uint32_t)track + 1;
}

/* ---- jobs ---- */

int gantt_start(struct gantt *gantt, const struct gantt_job *job, struct strata_error *err)
{
	for (size_t i = 0; i < job->piece_count; i++) {
		struct group *group = group_of(gantt, job, &job->pieces[i]);

		if (!group)
			return strata_fail_memory(err);
		if (!group->pid)
			name_group(gantt, group, job, &job->pieces[i]);
		if (take_track(gantt, group, job->id))
			return strata_fail_memory(err);
	}
	return 0;
}

/* What a click on the slice shows. */
static size_t describe(const struct gantt *gantt, const struct gantt_job *job,
		       const struct strata_piece *piece, struct strata_trace_arg *args)
{
	size_t count = 0;

	args[count++] = strata_trace_int("user", job->user);
	if (gantt->machine->flat) {
		args[count++] = strata_trace_int("procs", piece->cpu_milli / 1000);
	} else {
		double gpus = __builtin_popcount(piece->gpu_mask) * (double)piece->gpu_milli / 1000;

		args[count++] = strata_trace_real("cpus", (double)piece->cpu_milli / 1000);
		args[count++] = strata_trace_real("gpus", gpus);
		args[count++] = strata_trace_int("nodes", (int64_t)job->piece_count);
	}
	args[count++] = strata_trace_real("wait_s", (double)(job->start_ns - job->submit_ns) / 1e9);
	return count;
}

void gantt_end(struct gantt *gantt, const struct gantt_job *job, int64_t now_ns)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "job %" PRId64, job->number);
	for (size_t i = 0; i < job->piece_count; i++) {
		struct group *group = group_of(gantt, job, &job->pieces[i]);
		struct strata_trace_arg args[ARGS_MAX];

		assert(group);
		trace_stream_slice(&gantt->stream,
				   &(struct trace_slice){
					   .pid = group->pid,
					   .tid = leave_track(group, job->id),
					   .start_ns = job->start_ns,
					   .end_ns = now_ns,
					   .name = name,
					   .flow = job->number > 0 ? (uint64_t)job->number : 0,
					   .flow_first = i == 0,
					   .args = args,
					   .arg_count = describe(gantt, job, &job->pieces[i], args),
				   });
	}
}

void gantt_count(struct gantt *gantt, const struct strata_cluster_stats *stats, int64_t now_ns)
{
	bool gpus = gantt->machine->gpu_count > 0;
	int64_t waiting = (int64_t)(stats->jobs[STRATA_JOB_QUEUED] +
				    stats->jobs[STRATA_JOB_PREEMPTED]),
		running = (int64_t)stats->jobs[STRATA_JOB_RUNNING],
		in_use = gpus ? stats->gpu_milli - stats->gpu_milli_free
			      : stats->cpu_milli - stats->cpu_milli_free;

	if (waiting != gantt->waiting || running != gantt->running) {
		const struct strata_trace_arg counts[] = { strata_trace_int("waiting", waiting),
							   strata_trace_int("running", running) };

		trace_stream_counter(&gantt->stream, CLUSTER_PID, now_ns, "jobs", counts, 2);
	}
	if (in_use != gantt->in_use) {
		struct strata_trace_arg use =
			strata_trace_real(gpus ? "gpus" : "cpus", (double)in_use / 1000);

		trace_stream_counter(&gantt->stream, CLUSTER_PID, now_ns, "in use", &use, 1);
	}
	gantt->waiting = waiting;
	gantt->running = running;
	gantt->in_use = in_use;
}

static void fini_group(struct gantt *gantt, struct group *group)
{
	strata_memory_put(gantt->memory, group->jobs, group->track_count * sizeof(*group->jobs));
}

int gantt_close(struct gantt *gantt, struct strata_error *err)
{
	if (!gantt)
		return 0;
	int rc = trace_stream_end(&gantt->stream, err);

	for (size_t i = 0; gantt->groups && i < gantt->machine->node_count; i++)
		fini_group(gantt, &gantt->groups[i]);
	strata_memory_put(gantt->memory, gantt->groups,
			  gantt->groups ? gantt->machine->node_count * sizeof(struct group) : 0);
	for (const struct map_u64_entry *at = NULL; (at = map_u64_next(&gantt->users, at));) {
		fini_group(gantt, at->value);
		strata_memory_put(gantt->memory, at->value, sizeof(struct group));
	}
	map_u64_fini(&gantt->users);
	strata_memory_put(gantt->memory, gantt, sizeof(*gantt));
	return rc;
}
