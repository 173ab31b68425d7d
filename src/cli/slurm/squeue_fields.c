/* The columns of squeue: letters of -o and names of -O. */
#include "cli/slurm/squeue.h"

#include "cli/service.h"
#include "slurm/output_field.h"

#include <strata/slurm.h>

#include <ctype.h>
#include <grp.h>
#include <inttypes.h>
#include <stdlib.h>
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
DATE_FIELD(eligible, strncmp(job->reason, "JobHeld", 7) == 0 ? 0 : job->eligible_ns)
DATE_FIELD(last_look, job->pending ? when_now_ns() : job->start_ns)
CONSTANT_FIELD(null, "(null)")
CONSTANT_FIELD(zero, "0")
CONSTANT_FIELD(stars, "*:*:*")
CONSTANT_FIELD(na, "N/A")
CONSTANT_FIELD(nothing, "")
CONSTANT_FIELD(cluster, "strata")
CONSTANT_FIELD(not_federated, "NA")
CONSTANT_FIELD(no_boot, "0:00")

/* Options that decide nothing here are shown as they were given. */
#define NOTE_FIELD(name, option, otherwise) \
	TEXT_FIELD(name, slurm_job_note(job, option) ? slurm_job_note(job, option) : otherwise)

NOTE_FIELD(burst_buffer, "bb", "(null)")
NOTE_FIELD(cluster_features, "cluster-constraint", "(null)")
NOTE_FIELD(container, "container", "(null)")
NOTE_FIELD(contiguous, "contiguous", "0")
NOTE_FIELD(core_spec, "core-spec", "N/A")
NOTE_FIELD(cores, "cores-per-socket", "*")
NOTE_FIELD(licenses, "licenses", "(null)")
NOTE_FIELD(mcs_label, "mcs-label", "(null)")
NOTE_FIELD(network, "network", "(null)")
NOTE_FIELD(tasks_per_core, "ntasks-per-core", "N/A")
NOTE_FIELD(tasks_per_node, "ntasks-per-node", "0")
NOTE_FIELD(tasks_per_socket, "ntasks-per-socket", "N/A")
NOTE_FIELD(prefer, "prefer", "(null)")
NOTE_FIELD(reboot, "reboot", "0")
NOTE_FIELD(sockets, "sockets-per-node", "*")
NOTE_FIELD(threads, "threads-per-core", "*")
NOTE_FIELD(wckey, "wckey", "(null)")
NUMBER_FIELD(batch_flag, grid_string(job->request, "script_name") != NULL)
NUMBER_FIELD(cpus_per_task, job->cpus_per_task)
NUMBER_FIELD(max_cpus, job->cpus)
NUMBER_FIELD(pending_time,
	     ((job->pending ? when_now_ns() : job->start_ns) - job->submit_ns) / STRATA_SECOND_NS)
NUMBER_FIELD(requeue, !json_is_false(json_object_get(job->request, "requeue")))
TEXT_FIELD(reservation, grid_string(job->request, "reservation"))
DATE_FIELD(deadline, when_json(job->request, "deadline"))

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

	slurm_size_in(buf, job->memory_node_bytes, job->unit);
}

static void tres(struct buf *buf, const void *row)
{
	slurm_tres(buf, row);
}

/* "gres:gpu:2" of a number or text that was asked for each GPU, task or job; "N/A" where it was
 * not. */
static void add_tres(struct buf *buf, const char *text)
{
	buf_printf(buf, text ? "gres:gpu:%s" : "N/A", text);
}

static void add_tres_count(struct buf *buf, const struct slurm_job *job, const char *field)
{
	const char *type = grid_string(job->request, "gpu_type");
	int64_t count = grid_int(job->request, field);

	if (count)
		buf_printf(buf, "gres:gpu:%s%s%" PRId64, type ? type : "", type ? ":" : "", count);
	else
		buf_add(buf, "N/A");
}

static void tres_per_job(struct buf *buf, const void *row)
{
	add_tres_count(buf, row, "gpus");
}

static void tres_per_task(struct buf *buf, const void *row)
{
	add_tres_count(buf, row, "gpus_per_task");
}

static void tres_per_socket(struct buf *buf, const void *row)
{
	add_tres(buf, slurm_job_note(row, "gpus-per-socket"));
}

static void cpus_per_tres(struct buf *buf, const void *row)
{
	add_tres(buf, slurm_job_note(row, "cpus-per-gpu"));
}

static void mem_per_tres(struct buf *buf, const void *row)
{
	add_tres(buf, slurm_job_note(row, "mem-per-gpu"));
}

static void tres_bind(struct buf *buf, const void *row)
{
	const char *text = slurm_job_note(row, "gpu-bind");

	buf_printf(buf, text ? "gpu:%s" : "N/A", text);
}

static void tres_freq(struct buf *buf, const void *row)
{
	const char *text = slurm_job_note(row, "gpu-freq");

	buf_printf(buf, text ? "gpu:%s" : "N/A", text);
}

static void min_time(struct buf *buf, const void *row)
{
	const char *text = slurm_job_note(row, "time-min");
	int64_t ns = 0;

	if (text)
		strata_slurm_time_parse(text, STRATA_TEXT_NUL, &ns, NULL);
	slurm_span(buf, ns / STRATA_SECOND_NS);
}

static void min_disk(struct buf *buf, const void *row)
{
	JOB;
	const char *text = slurm_job_note(job, "tmp");

	slurm_size_in(buf, text ? strtoll(text, NULL, 10) << 20 : 0, job->unit);
}

static void max_nodes(struct buf *buf, const void *row)
{
	JOB;
	const char *text = slurm_job_note(job, "nodes-max");

	if (text && job->pending)
		buf_add(buf, text);
	else
		buf_printf(buf, "%" PRId64, job->pending ? 0 : job->nodes);
}

static void profile(struct buf *buf, const void *row)
{
	const char *text = slurm_job_note(row, "profile");

	if (text && *text)
		buf_printf(buf, "%c%s", toupper((unsigned char)text[0]), text + 1);
	else
		buf_add(buf, "NotSet");
}

static void std_in(struct buf *buf, const void *row)
{
	JOB;
	const char *input = grid_string(job->request, "input");

	buf_add(buf, input ? input : "/dev/null");
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

/* Of a job that waits the pattern, as in Slurm. */
static void add_file(struct buf *buf, const struct slurm_job *job, const char *which)
{
	const char *pattern = grid_string(job->request, which),
		   *dir = grid_string(job->json, "working_dir");

	if (job->pending && pattern)
		buf_printf(buf, "%s%s%s", *pattern == '/' || !dir ? "" : dir,
			   *pattern == '/' || !dir ? "" : "/", pattern);
	else
		slurm_job_output(buf, job, which);
}

static void std_out(struct buf *buf, const void *row)
{
	JOB;

	add_file(buf, job, "output");
}

static void std_err(struct buf *buf, const void *row)
{
	JOB;

	add_file(buf, job, "error");
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
	{ 'd', "mintmpdisk", "MIN_TMP_DISK", min_disk },
	{ 'D', "numnodes", "NODES", nodes },
	{ 'e', "endtime", "END_TIME", end },
	{ 'E', "dependency", "DEPENDENCY", dependency },
	{ 'f', "feature", "FEATURES", features },
	{ 'F', "arrayjobid", "ARRAY_JOB_ID", array_job },
	{ 'g', "groupname", "GROUP", group },
	{ 'G', "groupid", "GROUP", gid },
	{ 'h', "oversubscribe", "OVER_SUBSCRIBE", share },
	{ 'H', "sockets", "SOCKETS_PER_NODE", sockets },
	{ 'i', "jobarrayid", "JOBID", id },
	{ 'I', "cores", "CORES_PER_SOCKET", cores },
	{ 'j', "name", "NAME", name },
	{ 'J', "threads", "THREADS_PER_CORE", threads },
	{ 'k', "comment", "COMMENT", comment },
	{ 'K', "arraytaskid", "ARRAY_TASK_ID", task },
	{ 'l', "timelimit", "TIME_LIMIT", limit, .whole = true },
	{ 'L', "timeleft", "TIME_LEFT", left, .whole = true },
	{ 'm', "minmemory", "MIN_MEMORY", memory },
	{ 'M', "timeused", "TIME", used, .whole = true },
	{ 'n', "reqnodes", "REQ_NODES", req_nodes },
	{ 'N', "nodelist", "NODELIST", node_list },
	{ 'o', "command", "COMMAND", command },
	{ 'O', "contiguous", "CONTIGUOUS", contiguous },
	{ 'p', "priority", "PRIORITY", priority_share },
	{ 'P', "partition", "PARTITION", partition },
	{ 'q', "qos", "QOS", qos },
	{ 'Q', "prioritylong", "PRIORITY", priority_number },
	{ 'r', "reason", "REASON", reason },
	{ 'R', "reasonlist", "NODELIST(REASON)", where },
	{ 's', "selectjobinfo", "", nothing },
	{ 'S', "starttime", "START_TIME", start },
	{ 't', "statecompact", "ST", code },
	{ 'T', "state", "STATE", state },
	{ 'u', "username", "USER", user },
	{ 'U', "userid", "UID", uid },
	{ 'v', "reservation", "RESERVATION", reservation },
	{ 'V', "submittime", "SUBMIT_TIME", submit },
	{ 'w', "wckey", "WCKEY", wckey },
	{ 'W', "licenses", "LICENSES", licenses },
	{ 'x', "exc_nodes", "EXC_NODES", exc_nodes },
	{ 'X', "corespec", "CORE_SPEC", core_spec },
	{ 'y', "nice", "NICE", nice },
	{ 'Y', "schednodes", "SCHEDNODES", null },
	{ 'z', "sct", "S:C:T", stars },
	{ 'Z', "workdir", "WORK_DIR", work_dir },
	{ 0, "accruetime", "ACCRUE_TIME", eligible },
	{ 0, "admin_comment", "ADMIN_COMMENT", null },
	{ 0, "allocnodes", "ALLOC_NODES", null },
	{ 0, "allocsid", "ALLOC_SID", zero },
	{ 0, "associd", "ASSOC_ID", zero },
	{ 0, "batchflag", "BATCH_FLAG", batch_flag },
	{ 0, "boardspernode", "BOARDS_PER_NODE", zero },
	{ 0, "burstbuffer", "BURST_BUFFER", burst_buffer },
	{ 0, "burstbufferstate", "BURST_BUFFER_STATE", null },
	{ 0, "clusterfeature", "CLUSTER_FEATURES", cluster_features },
	{ 0, "container", "CONTAINER", container },
	{ 0, "cpus-per-task", "CPUS_PER_TASK", cpus_per_task },
	{ 0, "cpus-per-tres", "CPUS_PER_TRES", cpus_per_tres },
	{ 0, "deadline", "DEADLINE", deadline },
	{ 0, "delayboot", "DELAY_BOOT", no_boot },
	{ 0, "derivedec", "DERIVED_EC", zero },
	{ 0, "hetjobid", "HET_JOB_ID", na },
	{ 0, "hetjobidset", "HET_JOB_ID_SET", na },
	{ 0, "hetjoboffset", "HET_JOB_OFFSET", na },
	{ 0, "lastschedeval", "LAST_SCHED_EVAL", last_look },
	{ 0, "mcslabel", "MCSLABEL", mcs_label },
	{ 0, "mem-per-tres", "MEM_PER_TRES", mem_per_tres },
	{ 0, "mintime", "TIME_MIN", min_time, .whole = true },
	{ 0, "network", "NETWORK", network },
	{ 0, "ntperboard", "NTASKS_PER_BOARD", zero },
	{ 0, "ntpercore", "NTASKS_PER_CORE", tasks_per_core },
	{ 0, "ntpernode", "NTASKS_PER_NODE", tasks_per_node },
	{ 0, "ntpersocket", "NTASKS_PER_SOCKET", tasks_per_socket },
	{ 0, "origin", "ORIGIN", not_federated },
	{ 0, "originraw", "ORIGIN_RAW", not_federated },
	{ 0, "pendingtime", "PENDING_TIME", pending_time },
	{ 0, "preempttime", "PREEMPT_TIME", na },
	{ 0, "prefer", "PREFER", prefer },
	{ 0, "profile", "PROFILE", profile },
	{ 0, "reboot", "REBOOT", reboot },
	{ 0, "reqswitch", "REQ_SWITCH", zero },
	{ 0, "requeue", "REQUEUE", requeue },
	{ 0, "resizetime", "RESIZE_TIME", na },
	{ 0, "siblingsactive", "ACTIVE_SIBLINGS", not_federated },
	{ 0, "siblingsactiveraw", "ACTIVE_SIBLINGS_RAW", not_federated },
	{ 0, "siblingsviable", "VIABLE_SIBLINGS", not_federated },
	{ 0, "siblingsviableraw", "VIALBLE_SIBLINGS_RAW", not_federated },
	{ 0, "sperboard", "SOCKETS_PER_BOARD", zero },
	{ 0, "stdin", "STDIN", std_in },
	{ 0, "system_comment", "SYSTEM_COMMENT", null },
	{ 0, "tres-bind", "TRES_BIND", tres_bind },
	{ 0, "tres-freq", "TRES_FREQ", tres_freq },
	{ 0, "tres-per-socket", "TRES_PER_SOCKET", tres_per_socket },
	{ 0, "cluster", "CLUSTER", cluster },
	{ 0, "eligibletime", "ELIGIBLE_TIME", eligible },
	{ 0, "exit_code", "EXIT_CODE", exit_code },
	{ 0, "numtasks", "TASKS", tasks },
	{ 0, "maxcpus", "MAX_CPUS", max_cpus },
	{ 0, "maxnodes", "MAX_NODES", max_nodes },
	{ 0, "preemptionmode", "PREEMPTION_MODE", nothing },
	{ 0, "restartcnt", "RESTART_COUNT", restarts },
	{ 0, "stderr", "STDERR", std_err },
	{ 0, "stdout", "STDOUT", std_out },
	{ 0, "tres-alloc", "TRES_ALLOC", tres },
	{ 0, "tres", "TRES_ALLOC", tres },
	{ 0, "tres-per-job", "TRES_PER_JOB", tres_per_job },
	{ 0, "tres-per-task", "TRES_PER_TASK", tres_per_task },
	{ 0, "wordir", "WORK_DIR", work_dir },
	{ .write = NULL },
};
/* clang-format on */
