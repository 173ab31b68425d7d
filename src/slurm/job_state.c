/* States and reasons: our words on the left, Slurm's on the right. */
#include "slurm/job_state.h"

#include <stdbool.h>
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

void slurm_status_find(const char *state, const char *reason, struct slurm_status *ret_status)
{
	size_t i = 0;

	while (rows[i].state &&
	       !(state && strcmp(rows[i].state, state) == 0 &&
		 (!rows[i].reason || (reason && strcmp(rows[i].reason, reason) == 0))))
		i++;
	*ret_status = (struct slurm_status){
		.state = slurm_state_find(rows[i].code, strlen(rows[i].code)),
		.reason = rows[i].word,
	};
}
