/*
 * The chart of gantt.h. A group is a process of the trace, its tracks are threads: as many as it ever had jobs at once, a job
 * taking the first that is free. So slices of a track never overlap, and busy nodes look busy.
 */
#include "sim/gantt.h"

#include "core/map.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { CLUSTER_PID = 1, FIRST_GROUP_PID = 2, NAME_BYTES = 160, ARGS_MAX = 6 };

struct track {
	uint64_t job; /* that runs on it; 0: none */
	struct strata_trace_lane *lane;
};

struct group {
	uint32_t pid; /* 0: nothing has run there yet */
	struct track *tracks;
	size_t track_count;
};

struct gantt {
	struct strata_memory *memory;
	const struct machine *machine;
	struct group *groups; /* of nodes, when not flat */
	struct map_u64 users; /* struct group *, when flat */
	uint32_t next_pid;
	int64_t waiting, running, in_use; /* as last written; -1: not yet */
	struct strata_trace *trace;
	struct strata_trace_lane *curves;
};

static int open_trace(struct gantt *gantt, const struct strata_trace_sink *sink,
		      struct strata_error *err)
{
	static const struct strata_trace_conf conf = { .pid = CLUSTER_PID,
						       .process_name = "cluster",
						       .clock_name = "virtual" };
	static const struct strata_trace_lane_conf curves = { .tid = 0 };
	int rc = strata_trace_open(gantt->memory, &conf, sink, &gantt->trace, err);

	return rc ? rc : strata_trace_add_lane(gantt->trace, &curves, &gantt->curves, err);
}

static void free_gantt(struct gantt *gantt)
{
	strata_memory_put(gantt->memory, gantt->groups,
			  gantt->groups ? gantt->machine->node_count * sizeof(struct group) : 0);
	map_u64_fini(&gantt->users);
	strata_memory_put(gantt->memory, gantt, sizeof(*gantt));
}

int gantt_open(struct strata_memory *memory, const struct machine *machine,
	       const struct strata_trace_sink *sink, struct gantt **ret_gantt,
	       struct strata_error *err)
{
	struct gantt *gantt = strata_memory_get(memory, sizeof(*gantt));
	int rc = 0;

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
		rc = gantt->groups ? 0 : strata_fail_memory(err);
	}
	if (rc == 0)
		rc = open_trace(gantt, sink, err);
	if (rc) {
		strata_trace_free(gantt->trace);
		free_gantt(gantt);
		return rc;
	}
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

static void name_group(const struct gantt *gantt, const struct gantt_job *job,
		       const struct strata_piece *piece, char name[NAME_BYTES])
{
	const struct strata_node_conf *node = &gantt->machine->nodes[piece->node];

	if (gantt->machine->flat)
		snprintf(name, NAME_BYTES, "user %" PRId64, job->user);
	else if (node->gpu_count)
		snprintf(name, NAME_BYTES, "%.100s (%" PRIu32 " x %.40s)", node->name,
			 node->gpu_count,
			 node->gpu_type && *node->gpu_type ? node->gpu_type : "GPU");
	else
		snprintf(name, NAME_BYTES, "%.100s", node->name);
}

/* One more track; the first has the group's name with it. */
static int add_track(struct gantt *gantt, struct group *group, const char *group_name,
		     struct strata_error *err)
{
	char name[NAME_BYTES];
	size_t count = group->track_count;
	struct track *tracks = strata_memory_resize(gantt->memory, group->tracks,
						    count * sizeof(*tracks),
						    (count + 1) * sizeof(*tracks));

	if (!tracks)
		return strata_fail_memory(err);
	group->tracks = tracks;
	group->track_count++;
	if (!group->pid)
		group->pid = gantt->next_pid++;
	snprintf(name, sizeof(name), "track %zu", group->track_count);
	return strata_trace_add_lane(
		gantt->trace,
		&(struct strata_trace_lane_conf){ .pid = group->pid,
						  .tid = (uint32_t)group->track_count,
						  .name = name,
						  .process_name = count ? NULL : group_name },
		&tracks[count].lane, err);
}

static int take_track(struct gantt *gantt, struct group *group, const struct gantt_job *job,
		      const struct strata_piece *piece, struct strata_error *err)
{
	size_t track = 0;

	while (track < group->track_count && group->tracks[track].job)
		track++;
	if (track == group->track_count) {
		char name[NAME_BYTES];

		name_group(gantt, job, piece, name);
		int rc = add_track(gantt, group, name, err);

		if (rc)
			return rc;
	}
	group->tracks[track].job = job->id;
	return 0;
}

static struct strata_trace_lane *leave_track(struct group *group, uint64_t id)
{
	size_t track = 0;

	while (track < group->track_count && group->tracks[track].job != id)
		track++;
	assert(track < group->track_count);
	group->tracks[track].job = 0;
	return group->tracks[track].lane;
}

/* ---- jobs ---- */

int gantt_start(struct gantt *gantt, const struct gantt_job *job, struct strata_error *err)
{
	for (size_t i = 0; i < job->piece_count; i++) {
		struct group *group = group_of(gantt, job, &job->pieces[i]);

		if (!group)
			return strata_fail_memory(err);
		int rc = take_track(gantt, group, job, &job->pieces[i], err);

		if (rc)
			return rc;
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
		strata_trace_slice(leave_track(group, job->id),
				   (struct strata_trace_event){
					   .time_ns = job->start_ns,
					   .end_ns = now_ns,
					   .name = name,
					   .copy_name = true,
					   .flow = job->number > 0 ? (uint64_t)job->number : 0,
					   .flow_first = i == 0 && !job->again,
					   .args = args,
					   .arg_count = describe(gantt, job, &job->pieces[i], args),
				   });
	}
}

void gantt_count(struct gantt *gantt, const struct strata_cluster_metrics *stats, int64_t now_ns)
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

		strata_trace_counters(gantt->curves, now_ns, "jobs", counts, 2);
	}
	if (in_use != gantt->in_use)
		strata_trace_counter(
			gantt->curves, now_ns, "in use",
			strata_trace_real(gpus ? "gpus" : "cpus", (double)in_use / 1000));
	gantt->waiting = waiting;
	gantt->running = running;
	gantt->in_use = in_use;
}

static void fini_group(struct gantt *gantt, struct group *group)
{
	strata_memory_put(gantt->memory, group->tracks,
			  group->track_count * sizeof(*group->tracks));
}

int gantt_close(struct gantt *gantt, struct strata_error *err)
{
	if (!gantt)
		return 0;
	int rc = strata_trace_close(gantt->trace, err);

	for (size_t i = 0; gantt->groups && i < gantt->machine->node_count; i++)
		fini_group(gantt, &gantt->groups[i]);
	for (const struct map_u64_entry *at = NULL; (at = map_u64_next(&gantt->users, at));) {
		fini_group(gantt, at->value);
		strata_memory_put(gantt->memory, at->value, sizeof(struct group));
	}
	free_gantt(gantt);
	return rc;
}
