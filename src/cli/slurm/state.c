/* States and reasons: our words on the left, Slurm's on the right. */
#include "cli/slurm/jobs.h"

#include "cli/service.h"

#include <string.h>
#include <strings.h>

/* In Slurm's order, which its messages show. */
static const struct slurm_state states[] = {
	{ "PD", "PENDING" },       { "R", "RUNNING" },      { "S", "SUSPENDED" },
	{ "CD", "COMPLETED" },     { "CA", "CANCELLED" },   { "F", "FAILED" },
	{ "TO", "TIMEOUT" },       { "NF", "NODE_FAIL" },   { "PR", "PREEMPTED" },
	{ "BF", "BOOT_FAIL" },     { "DL", "DEADLINE" },    { "OOM", "OUT_OF_MEMORY" },
	{ "CG", "COMPLETING" },    { "CF", "CONFIGURING" }, { "RS", "RESIZING" },
	{ "RD", "RESV_DEL_HOLD" }, { "RQ", "REQUEUED" },    { "RF", "REQUEUE_FED" },
	{ "RH", "REQUEUE_HOLD" },  { "RV", "REVOKED" },     { "SI", "SIGNALING" },
	{ "SE", "SPECIAL_EXIT" },  { "SO", "STAGE_OUT" },   { "ST", "STOPPED" },
};

const struct slurm_state *slurm_state_at(size_t index)
{
	return index < sizeof(states) / sizeof(states[0]) ? &states[index] : NULL;
}

static bool is(const char *name, const char *word, size_t length)
{
	return strncasecmp(name, word, length) == 0 && name[length] == '\0';
}

const struct slurm_state *slurm_state_find(const char *word, size_t length)
{
	const struct slurm_state *state;

	for (size_t i = 0; (state = slurm_state_at(i)); i++)
		if (is(state->code, word, length) || is(state->name, word, length))
			return state;
	return NULL;
}

/* The first row that fits counts; NULL fits anything. A job that gave up its place waits like any other, and Slurm lets those
 * begin a little later: BeginTime. */
static const struct {
	const char *state, *reason; /* the service's */
	const char *code, *word;    /* Slurm's */
} rows[] = {
	{ "queued", "none", "PD", "None" },
	{ "queued", "priority", "PD", "Priority" },
	{ "queued", "resources", "PD", "Resources" },
	{ "queued", "begin_time", "PD", "BeginTime" },
	{ "queued", "held", "PD", "JobHeldUser" },
	{ "queued", "impossible", "PD", "PartitionConfig" },
	{ "queued", "node_down", "PD", "ReqNodeNotAvail" },
	{ "queued", "dependency", "PD", "Dependency" },
	{ "queued", "dependency_never", "PD", "DependencyNeverSatisfied" },
	{ "queued", "user_limit", "PD", "AssocMaxJobsLimit" },
	{ "queued", "account_limit", "PD", "AssocGrpGRES" },
	{ "queued", "qos_limit", "PD", "QOSGrpGRES" },
	{ "queued", "partition_down", "PD", "PartitionDown" },
	{ "queued", "array_limit", "PD", "JobArrayTaskLimit" },
	{ "queued", "gang", "PD", "Resources" },
	{ "queued", "service_limit", "PD", "Resources" },
	{ "queued", "node_failure", "PD", "BeginTime" },
	{ "queued", NULL, "PD", "BeginTime" },
	{ "preempted", "suspended", "S", "None" },
	{ "preempted", NULL, "PD", "BeginTime" },
	{ "scheduled", NULL, "R", "None" },
	{ "running", NULL, "R", "None" },
	{ "completed", NULL, "CD", "None" },
	{ "cancelled", "dependency_never", "CA", "Dependency" },
	{ "cancelled", NULL, "CA", "None" },
	{ "failed", "time_limit", "TO", "TimeLimit" },
	{ "failed", "node_failure", "NF", "NodeDown" },
	{ "failed", "out_of_memory", "OOM", "OutOfMemory" },
	{ "failed", "start_failed", "F", "JobLaunchFailure" },
	{ "failed", NULL, "F", "NonZeroExitCode" },
	{ NULL, NULL, "PD", "None" },
};

/* How a failed job ended, where the service has one word for it. */
static void read_failure(struct slurm_job *job)
{
	if (!when_json(job->json, "started_at")) {
		job->reason = "JobLaunchFailure";
		job->exit_signal = 53; /* as Slurm reports what could not be started */
	} else if (job->exit_signal) {
		job->reason = "RaisedSignal";
	}
}

void slurm_state_read(struct slurm_job *job)
{
	const char *state = grid_string(job->json, "state"),
		   *reason = grid_string(job->json, "reason");
	size_t i = 0;

	while (rows[i].state &&
	       !(state && strcmp(rows[i].state, state) == 0 &&
		 (!rows[i].reason || (reason && strcmp(rows[i].reason, reason) == 0))))
		i++;
	job->state = slurm_state_find(rows[i].code, strlen(rows[i].code));
	job->reason = rows[i].word;
	job->pending = strcmp(rows[i].code, "PD") == 0;
	job->ended = job_ended(job->json);
	if (strcmp(job->reason, "JobHeldUser") == 0 &&
	    strcmp(grid_or(json_object_get(job->request, "held_by"), ""), "operator") == 0)
		job->reason = "JobHeldAdmin";
	if (strcmp(rows[i].code, "F") == 0)
		read_failure(job);
	if (json_is_true(json_object_get(job->json, "stopping")) && !job->ended)
		job->state = slurm_state_find("CG", 2);
}
