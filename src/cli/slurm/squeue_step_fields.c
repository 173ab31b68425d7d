/* The columns of squeue --steps: letters of -o and names of -O. */
#include "cli/slurm/squeue.h"

#include "slurm/output_field.h"

#include <inttypes.h>

#define STEP const struct squeue_step *step = row
#define FIELD_ROW STEP

TEXT_FIELD(title, step->title)
TEXT_FIELD(nodes, step->nodes)
TEXT_FIELD(partition, step->job->partition)
TEXT_FIELD(user, step->job->user)
TEXT_FIELD(job_name, step->job->id_text)
NUMBER_FIELD(uid, step->job->uid)
NUMBER_FIELD(number, step->job->id)
NUMBER_FIELD(array, step->job->array_id ? step->job->array_id : step->job->id)
NUMBER_FIELD(tasks, step->tasks)
CONSTANT_FIELD(running, "RUNNING")
CONSTANT_FIELD(unlimited, "UNLIMITED")
CONSTANT_FIELD(na, "N/A")
CONSTANT_FIELD(null, "(null)")
CONSTANT_FIELD(cluster, "strata")

static void id(struct buf *buf, const void *row)
{
	STEP;

	buf_printf(buf, "%s.%s", step->job->id_text, step->name ? step->name : "batch");
}

static void element(struct buf *buf, const void *row)
{
	STEP;

	if (step->job->array_id)
		buf_printf(buf, "%" PRId64, step->job->array_index);
	else
		buf_add(buf, "N/A");
}

static void used(struct buf *buf, const void *row)
{
	STEP;

	slurm_span(buf, step->run_s);
}

static void start(struct buf *buf, const void *row)
{
	STEP;

	slurm_date(buf, step->start_ns, "N/A");
}

/* clang-format off */
const struct slurm_field squeue_step_fields[] = {
	{ 'A', "numtasks", "TASKS", tasks },
	{ 'i', "stepid", "STEPID", id },
	{ 'j', "stepname", "NAME", title },
	{ 'l', "timelimit", "TIME_LIMIT", unlimited },
	{ 'M', "timeused", "TIME", used, .whole = true },
	{ 'N', "nodes", "NODELIST", nodes },
	{ 'P', "partition", "PARTITION", partition },
	{ 'S', "starttime", "START_TIME", start },
	{ 'u', "username", "USER", user },
	{ 'U', "userid", "UID", uid },
	{ 0, "arrayjobid", "ARRAY_JOB_ID", array },
	{ 0, "arraytaskid", "ARRAY_TASK_ID", element },
	{ 0, "cluster", "CLUSTER", cluster },
	{ 0, "cpufreq", "CPU_FREQ", na },
	{ 0, "jobarrayid", "JOBID", job_name },
	{ 0, "jobid", "JOBID", number },
	{ 0, "network", "NETWORK", null },
	{ 0, "stepstate", "STATE", running },
	{ 0, "tres-per-step", "TRES_PER_STEP", na },
	{ .write = NULL },
};
/* clang-format on */
