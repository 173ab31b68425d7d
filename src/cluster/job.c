/* The states of a job, which may follow which, and what they are called. */
#include "cluster/cluster_int.h"

#include <assert.h>

/* May a job go from the state of the row to that of the bit? */
#define TO(state) (1u << STRATA_JOB_##state)
static const unsigned next_states[STRATA_JOB_STATE_COUNT] = {
	[STRATA_JOB_QUEUED] = TO(SCHEDULED) | TO(FAILED) | TO(CANCELLED),
	[STRATA_JOB_SCHEDULED] = TO(RUNNING) | TO(QUEUED) | TO(PREEMPTED) | TO(COMPLETED) |
				 TO(FAILED) | TO(CANCELLED),
	[STRATA_JOB_RUNNING] = TO(QUEUED) | TO(PREEMPTED) | TO(COMPLETED) | TO(FAILED) |
			       TO(CANCELLED),
	[STRATA_JOB_PREEMPTED] = TO(QUEUED) | TO(SCHEDULED) | TO(COMPLETED) | TO(FAILED) |
				 TO(CANCELLED),
};

bool strata_job_may(enum strata_job_state from, enum strata_job_state to)
{
	return (unsigned)from < STRATA_JOB_STATE_COUNT && (unsigned)to < STRATA_JOB_STATE_COUNT &&
	       (next_states[from] >> to & 1);
}

bool strata_job_ended(enum strata_job_state state)
{
	return state >= STRATA_JOB_COMPLETED;
}

const char *strata_job_state_name(enum strata_job_state state)
{
	static const char *const names[STRATA_JOB_STATE_COUNT] = {
		[STRATA_JOB_QUEUED] = "queued",       [STRATA_JOB_SCHEDULED] = "scheduled",
		[STRATA_JOB_RUNNING] = "running",     [STRATA_JOB_PREEMPTED] = "preempted",
		[STRATA_JOB_COMPLETED] = "completed", [STRATA_JOB_FAILED] = "failed",
		[STRATA_JOB_CANCELLED] = "cancelled",
	};

	return (unsigned)state < STRATA_JOB_STATE_COUNT ? names[state] : "unknown";
}

static const struct {
	const char *name, *words;
} reasons[STRATA_REASON_COUNT] = {
	[STRATA_REASON_NONE] = { "none", "" },
	[STRATA_REASON_PRIORITY] = { "priority", "others are before it" },
	[STRATA_REASON_RESOURCES] = { "resources", "it is next; what it needs is not free" },
	[STRATA_REASON_BEGIN_TIME] = { "begin_time", "it asked to start later" },
	[STRATA_REASON_HELD] = { "held", "held by its owner or an operator" },
	[STRATA_REASON_IMPOSSIBLE] = { "impossible", "no node could take it, however empty" },
	[STRATA_REASON_NODE_DOWN] = { "node_down",
				      "the nodes that could take it are down or drained" },
	[STRATA_REASON_TIME_LIMIT] = { "time_limit", "it ran past its time limit" },
	[STRATA_REASON_NODE_FAILURE] = { "node_failure", "its node failed" },
	[STRATA_REASON_EXIT_CODE] = { "exit_code", "its exit status was not 0" },
	[STRATA_REASON_DEPENDENCY] = { "dependency", "it waits for other jobs" },
	[STRATA_REASON_DEPENDENCY_NEVER] = { "dependency_never",
					     "what it waits for can never happen" },
	[STRATA_REASON_USER_LIMIT] = { "user_limit", "its user has as much as is allowed" },
	[STRATA_REASON_ACCOUNT_LIMIT] = { "account_limit",
					  "its account has as much as is allowed" },
	[STRATA_REASON_QOS_LIMIT] = { "qos_limit",
				      "its quality of service has as much as is allowed" },
	[STRATA_REASON_SERVICE_LIMIT] = { "service_limit",
					  "as many jobs run as the service can look after" },
	[STRATA_REASON_PARTITION_DOWN] = { "partition_down", "its partition is down or inactive" },
	[STRATA_REASON_ARRAY_LIMIT] = { "array_limit",
					"as many of its array run as were asked for" },
	[STRATA_REASON_GANG] = { "gang", "it starts together with others that cannot start yet" },
	[STRATA_REASON_PREEMPTED] = { "preempted", "it gave up its place for another job" },
	[STRATA_REASON_SUSPENDED] = { "suspended", "it is frozen where it is" },
	[STRATA_REASON_REQUEUED] = { "requeued", "it was sent back to the queue" },
	[STRATA_REASON_START_FAILED] = { "start_failed", "it could not be started" },
	[STRATA_REASON_OUT_OF_MEMORY] = { "out_of_memory",
					  "it used more memory than it asked for" },
	[STRATA_REASON_RESERVED] = { "reserved",
				     "what is free is reserved for others before it would end" },
};

const char *strata_reason_name(enum strata_reason reason)
{
	return (unsigned)reason < STRATA_REASON_COUNT ? reasons[reason].name : "unknown";
}

const char *strata_reason_words(enum strata_reason reason)
{
	return (unsigned)reason < STRATA_REASON_COUNT ? reasons[reason].words : "";
}

const char *strata_band_name(enum strata_band band)
{
	static const char *const names[STRATA_BAND_COUNT] = { "low", "normal", "high" };

	return (unsigned)band < STRATA_BAND_COUNT ? names[band] : "unknown";
}

void job_set_state(struct strata_cluster *cluster, struct job *job, enum strata_job_state state,
		   enum strata_reason reason)
{
	bool waited = job_waits(job);

	assert(strata_job_may(job->state, state));
	cluster->metrics.jobs[job->state] -= job->elements;
	cluster->metrics.jobs[state] += job->elements;
	job->state = state;
	job->reason = reason;
	if (waited != job_waits(job))
		entity_count_waiting(job->association,
				     waited ? -(int64_t)job->elements : (int64_t)job->elements);
	if (strata_job_ended(state)) {
		gang_leave(cluster, job);
		array_ended(cluster, job);
		depend_ended(cluster, job);
	}
}

struct strata_run job_run(const struct job *job)
{
	return (struct strata_run){ .user = job->association->user->number,
				    .name = job->name,
				    .size = job->resources->size,
				    .submit_ns = job->submit_ns,
				    .requested_ns = job->limit_ns };
}
