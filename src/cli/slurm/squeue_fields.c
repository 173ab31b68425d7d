/* The columns of squeue: letters of -o and names of -O. */
#include "cli/slurm/squeue.h"

#include "cli/service.h"
#include "slurm/output_field.h"

#include <grp.h>
#include <inttypes.h>
#include <string.h>

#define JOB const struct slurm_job *job = row
#define FIELD_ROW JOB

#define DATE_FIELD(name, value)                            \
	static void name(struct buf *buf, const void *row) \
	{                                                  \
		JOB;                                       \
		slurm_date(buf, value, "N/A");             \
	}

TEXT_FIELD(account, job->account)
TEXT_FIELD(id, job->id_text)
NUMBER_FIELD(number, job->id)
NUMBER_FIELD(array_job, job->array_id ? job->array_id : job->id)
TEXT_FIELD(name, job->name)
TEXT_FIELD(partition, job->partition)
TEXT_FIELD(qos, job->qos)
TEXT_FIELD(user, job->user)
NUMBER_FIELD(uid, job->uid)
NUMBER_FIELD(gid, job->gid)
TEXT_FIELD(state, job->state->name)
TEXT_FIELD(code, job->state->code)
TEXT_FIELD(reason, job->reason)
TEXT_FIELD(gres, job->gres ? job->gres : "N/A")
TEXT_FIELD(batch_host, *job->first_node ? job->first_node : "n/a")
NUMBER_FIELD(min_cpus, job->cpus_per_task)
NUMBER_FIELD(cpus, job->cpus)
NUMBER_FIELD(nodes, job->nodes)
NUMBER_FIELD(tasks, job->tasks)
NUMBER_FIELD(nice, grid_int(job->json, "nice"))
NUMBER_FIELD(priority_number, job->priority)
NUMBER_FIELD(restarts, job->restarts)
TEXT_FIELD(dependency, job->dependency)
TEXT_FIELD(features, grid_string(job->request, "features"))
TEXT_FIELD(comment, grid_string(job->json, "comment"))
TEXT_FIELD(req_nodes,
	   grid_string(job->request, "node_list") ? grid_string(job->request, "node_list") : "")
TEXT_FIELD(exc_nodes, grid_string(job->request, "node_exclude")
			      ? grid_string(job->request, "node_exclude")
			      : "")
TEXT_FIELD(node_list, job->node_list)
TEXT_FIELD(work_dir, grid_string(job->json, "working_dir"))
TEXT_FIELD(share, json_is_true(json_object_get(job->request, "exclusive")) ? "NO" : "OK")
DATE_FIELD(start, job->start_ns)
DATE_FIELD(end, job->end_ns)
DATE_FIELD(submit, job->submit_ns)
DATE_FIELD(eligible, job->eligible_ns)
CONSTANT_FIELD(null, "(null)")
CONSTANT_FIELD(zero, "0")
CONSTANT_FIELD(star, "*")
CONSTANT_FIELD(stars, "*:*:*")
CONSTANT_FIELD(na, "N/A")
CONSTANT_FIELD(nothing, "")
CONSTANT_FIELD(cluster, "strata")

static void group(struct buf *buf, const void *row)
{
	JOB;
	const struct group *entry = getgrgid((gid_t)job->gid);

	if (entry)
		buf_add(buf, entry->gr_name);
	else
		buf_printf(buf, "%" PRId64, job->gid);
}

static void used(struct buf *buf, const void *row)
{
	JOB;

	slurm_span(buf, job->run_s);
}

static void limit(struct buf *buf, const void *row)
{
	JOB;

	slurm_span(buf, job->limit_s);
}

static void left(struct buf *buf, const void *row)
{
	JOB;

	slurm_span(buf, job->limit_s > job->run_s ? job->limit_s - job->run_s : 0);
}

static void memory(struct buf *buf, const void *row)
{
	JOB;

	slurm_size(buf, job->memory_node_bytes);
}

static void tres(struct buf *buf, const void *row)
{
	slurm_tres(buf, row);
}

/* Slurm's %p is a share of the largest number there can be. */
static void priority_share(struct buf *buf, const void *row)
{
	JOB;

	buf_printf(buf, "%.14f", (double)job->priority / 4294967295.0);
}

static void task(struct buf *buf, const void *row)
{
	JOB;

	if (job->array_tasks)
		buf_add(buf, job->array_tasks);
	else if (job->array_id)
		buf_printf(buf, "%" PRId64, job->array_index);
	else
		buf_add(buf, "N/A");
}

static void where(struct buf *buf, const void *row)
{
	JOB;
	bool why = job->pending || (job->ended && strcmp(job->state->code, "CD") != 0 &&
				    strcmp(job->state->code, "CA") != 0);

	if (why)
		buf_printf(buf, "(%s)", job->reason);
	else
		buf_add(buf, job->node_list);
}

static void command(struct buf *buf, const void *row)
{
	JOB;

	slurm_job_command(buf, job);
}

static void exit_code(struct buf *buf, const void *row)
{
	JOB;

	buf_printf(buf, "%" PRId64, job->exit_code);
}

static void std_out(struct buf *buf, const void *row)
{
	JOB;

	slurm_job_output(buf, job, "output");
}

static void std_err(struct buf *buf, const void *row)
{
	JOB;

	slurm_job_output(buf, job, "error");
}

/* clang-format off */
const struct slurm_field squeue_fields[] = {
	{ 'a', "account", "ACCOUNT", account },
	{ 'A', "jobid", "JOBID", number },
	{ 'b', "tres-per-node", "TRES_PER_NODE", gres },
	{ 0, "gres", "TRES_PER_NODE", gres },
	{ 'B', "batchhost", "EXEC_HOST", batch_host },
	{ 'c', "mincpus", "MIN_CPUS", min_cpus },
	{ 'C', "numcpus", "CPUS", cpus },
	{ 'd', "mintmpdisk", "MIN_TMP_DISK", zero },
	{ 'D', "numnodes", "NODES", nodes },
	{ 'e', "endtime", "END_TIME", end },
	{ 'E', "dependency", "DEPENDENCY", dependency },
	{ 'f', "feature", "FEATURES", features },
	{ 'F', "arrayjobid", "ARRAY_JOB_ID", array_job },
	{ 'g', "groupname", "GROUP", group },
	{ 'G', "groupid", "GROUP", gid },
	{ 'h', "oversubscribe", "OVER_SUBSCRIBE", share },
	{ 'H', "sockets", "SOCKETS_PER_NODE", star },
	{ 'i', "jobarrayid", "JOBID", id },
	{ 'I', "cores", "CORES_PER_SOCKET", star },
	{ 'j', "name", "NAME", name },
	{ 'J', "threads", "THREADS_PER_CORE", star },
	{ 'k', "comment", "COMMENT", comment },
	{ 'K', "arraytaskid", "ARRAY_TASK_ID", task },
	{ 'l', "timelimit", "TIME_LIMIT", limit, .whole = true },
	{ 'L', "timeleft", "TIME_LEFT", left, .whole = true },
	{ 'm', "minmemory", "MIN_MEMORY", memory },
	{ 'M', "timeused", "TIME", used, .whole = true },
	{ 'n', "reqnodes", "REQ_NODES", req_nodes },
	{ 'N', "nodelist", "NODELIST", node_list },
	{ 'o', "command", "COMMAND", command },
	{ 'O', "contiguous", "CONTIGUOUS", zero },
	{ 'p', "priority", "PRIORITY", priority_share },
	{ 'P', "partition", "PARTITION", partition },
	{ 'q', "qos", "QOS", qos },
	{ 'Q', "prioritylong", "PRIORITY", priority_number },
	{ 'r', "reason", "REASON", reason },
	{ 'R', "reasonlist", "NODELIST(REASON)", where },
	{ 's', "selectjobinfo", "SELECT_JOBINFO", nothing },
	{ 'S', "starttime", "START_TIME", start },
	{ 't', "statecompact", "ST", code },
	{ 'T', "state", "STATE", state },
	{ 'u', "username", "USER", user },
	{ 'U', "userid", "USER", uid },
	{ 'v', "reservation", "RESERVATION", null },
	{ 'V', "submittime", "SUBMIT_TIME", submit },
	{ 'w', "wckey", "WCKEY", null },
	{ 'W', "licenses", "LICENSES", null },
	{ 'x', "exc_nodes", "EXC_NODES", exc_nodes },
	{ 'X', "corespec", "CORE_SPEC", na },
	{ 'y', "nice", "NICE", nice },
	{ 'Y', "schednodes", "SCHEDNODES", null },
	{ 'z', "sct", "S:C:T", stars },
	{ 'Z', "workdir", "WORK_DIR", work_dir },
	{ 0, "accruetime", "ACCRUE_TIME", eligible },
	{ 0, "allocnodes", "ALLOC_NODES", null },
	{ 0, "cluster", "CLUSTER", cluster },
	{ 0, "eligibletime", "ELIGIBLE_TIME", eligible },
	{ 0, "exit_code", "EXIT_CODE", exit_code },
	{ 0, "numtasks", "TASKS", tasks },
	{ 0, "maxcpus", "MAX_CPUS", zero },
	{ 0, "maxnodes", "MAX_NODES", zero },
	{ 0, "preemptionmode", "PREEMPTION_MODE", nothing },
	{ 0, "restartcnt", "RESTART_COUNT", restarts },
	{ 0, "stderr", "STDERR", std_err },
	{ 0, "stdout", "STDOUT", std_out },
	{ 0, "tres-alloc", "TRES_ALLOC", tres },
	{ 0, "tres", "TRES_ALLOC", tres },
	{ 0, "tres-per-job", "TRES_PER_JOB", na },
	{ 0, "tres-per-task", "TRES_PER_TASK", na },
	{ 0, "wordir", "WORK_DIR", work_dir },
	{ .write = NULL },
};

/* Of steps. */
static void step_id(struct buf *buf, const void *row)
{
	const struct squeue_step *step = row;

	buf_printf(buf, "%s.%s", step->job->id_text, step->name ? step->name : "batch");
}

static void step_name(struct buf *buf, const void *row)
{
	const struct squeue_step *step = row;

	buf_add(buf, step->title);
}

static void step_time(struct buf *buf, const void *row)
{
	const struct squeue_step *step = row;

	slurm_span(buf, step->run_s);
}

static void step_nodes(struct buf *buf, const void *row)
{
	const struct squeue_step *step = row;

	buf_add(buf, step->nodes);
}

static void step_partition(struct buf *buf, const void *row)
{
	const struct squeue_step *step = row;

	buf_add(buf, step->job->partition);
}

static void step_user(struct buf *buf, const void *row)
{
	const struct squeue_step *step = row;

	buf_add(buf, step->job->user);
}

static void step_start(struct buf *buf, const void *row)
{
	const struct squeue_step *step = row;

	slurm_date(buf, step->start_ns, "N/A");
}

const struct slurm_field squeue_step_fields[] = {
	{ 'i', "stepid", "STEPID", step_id },
	{ 'j', "stepname", "NAME", step_name },
	{ 'M', "timeused", "TIME", step_time, .whole = true },
	{ 'N', "nodes", "NODELIST", step_nodes },
	{ 'P', "partition", "PARTITION", step_partition },
	{ 'S', "starttime", "START_TIME", step_start },
	{ 'u', "username", "USER", step_user },
	{ .write = NULL },
};
/* clang-format on */
