/* scontrol show job. */
#include "cli/slurm/scontrol.h"

#include "cli/service.h"
#include "cli/slurm/json.h"

#include <grp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *or_null(const char *text)
{
	return text ? text : "(null)";
}

static void add_date(struct buf *buf, const char *key, int64_t ns, const char *otherwise)
{
	buf_add(buf, key);
	slurm_date(buf, ns, otherwise);
}

static void add_who(struct buf *buf, const struct slurm_job *job, const char *gap)
{
	const struct group *group = getgrgid((gid_t)job->gid);

	buf_printf(buf, "JobId=%" PRId64 " ", job->id);
	if (job->array_id) {
		buf_printf(buf, "ArrayJobId=%" PRId64 " ArrayTaskId=", job->array_id);
		if (job->array_tasks)
			buf_add(buf, job->array_tasks);
		else
			buf_printf(buf, "%" PRId64, job->array_index);
		if (job->array_limit)
			buf_printf(buf, " ArrayTaskThrottle=%" PRId64, job->array_limit);
		buf_add_char(buf, ' ');
	}
	buf_printf(buf, "JobName=%s%s", job->name, gap);
	buf_printf(buf, "UserId=%s(%" PRId64 ") GroupId=%s(%" PRId64 ") MCS_label=N/A%s", job->user,
		   job->uid, group ? group->gr_name : "?", job->gid, gap);
	buf_printf(buf, "Priority=%" PRId64 " Nice=%" PRId64 " Account=%s QOS=%s%s", job->priority,
		   grid_int(job->json, "nice"), job->account, job->qos, gap);
	buf_printf(buf, "JobState=%s Reason=%s Dependency=%s%s", job->state->name, job->reason,
		   or_null(job->dependency), gap);
	buf_printf(buf,
		   "Requeue=%d Restarts=%" PRId64 " BatchFlag=1 Reboot=0 ExitCode=%" PRId64
		   ":%" PRId64 "%s",
		   !json_is_false(json_object_get(job->request, "requeue")), job->restarts,
		   job->exit_code, job->exit_signal, gap);
}

static void add_times(struct buf *buf, const struct slurm_job *job, const char *gap)
{
	buf_add(buf, "RunTime=");
	slurm_clock(buf, job->run_s);
	buf_add(buf, " TimeLimit=");
	slurm_clock(buf, job->limit_s);
	buf_printf(buf, " TimeMin=N/A%s", gap);
	add_date(buf, "SubmitTime=", job->submit_ns, "Unknown");
	add_date(buf, " EligibleTime=", job->eligible_ns, "Unknown");
	buf_add(buf, gap);
	add_date(buf, "AccrueTime=", job->eligible_ns, "Unknown");
	buf_add(buf, gap);
	add_date(buf, "StartTime=", job->start_ns, "Unknown");
	add_date(buf, " EndTime=", job->end_ns, "Unknown");
	add_date(buf, " Deadline=", when_json(job->request, "deadline"), "N/A");
	buf_add(buf, gap);
	if (!job->pending) {
		add_date(buf, "PreemptEligibleTime=", job->start_ns, "Unknown");
		buf_printf(buf, " PreemptTime=None%s", gap);
	}
	add_date(buf, "SuspendTime=None SecsPreSuspend=0 LastSchedEval=",
		 job->pending ? when_now_ns() : job->start_ns, "Unknown");
	buf_printf(buf, " Scheduler=Main%s", gap);
}

static void add_place(struct buf *buf, const struct slurm_job *job, const char *gap)
{
	int64_t asked = grid_int(job->request, "nodes");
	char host[256] = "localhost";

	gethostname(host, sizeof(host) - 1);
	buf_printf(buf, "Partition=%s AllocNode:Sid=%s:0%s", job->partition, host, gap);
	buf_printf(buf, "ReqNodeList=%s ExcNodeList=%s%s",
		   or_null(grid_string(job->request, "node_list")),
		   or_null(grid_string(job->request, "node_exclude")), gap);
	buf_printf(buf, "NodeList=%s%s", job->node_list, gap);
	if (*job->first_node)
		buf_printf(buf, "BatchHost=%s%s", job->first_node, gap);
	buf_printf(buf, "NumNodes=%" PRId64, job->nodes);
	if (job->pending && asked)
		buf_printf(buf, "-%" PRId64, asked);
	buf_printf(buf,
		   " NumCPUs=%" PRId64 " NumTasks=%" PRId64 " CPUs/Task=%" PRId64
		   " ReqB:S:C:T=0:0:*:*%sTRES=",
		   job->cpus, job->tasks, job->cpus_per_task, gap);
	slurm_tres(buf, job);
	buf_printf(buf, "%sSocks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*%s", gap, gap);
}

/* "gpu:a100:2(IDX:0-1)" */
static void add_indexes(struct buf *buf, int64_t mask)
{
	bool first = true;

	for (int i = 0; i < 64; i++) {
		int last = i;

		if (!(mask >> i & 1))
			continue;
		while (last + 1 < 64 && mask >> (last + 1) & 1)
			last++;
		buf_printf(buf, last > i ? "%s%d-%d" : "%s%d", first ? "" : ",", i, last);
		first = false;
		i = last;
	}
}

/* -d: where it is, node by node. CPUs are not tied to a job here, so they have no numbers. */
static void add_details(struct buf *buf, const struct slurm_job *job, const char *gap)
{
	const json_t *place = json_object_get(job->json, "place"), *piece;
	const char *type = grid_string(job->json, "gpu_type");
	const char *kind = type ? type : "";
	size_t index;

	if (!json_array_size(place))
		return;
	if (job->gpus)
		buf_printf(buf, "JOB_GRES=gpu:%s%s%" PRId64 "%s", kind, *kind ? ":" : "", job->gpus,
			   gap);
	json_array_foreach(place, index, piece)
	{
		int64_t mask = grid_int(piece, "gpu_mask");

		buf_printf(buf, "  Nodes=%s CPU_IDs= Mem=%" PRId64 " GRES=",
			   grid_or(json_object_get(piece, "node"), "?"),
			   grid_int(piece, "memory_bytes") >> 20);
		if (mask) {
			buf_printf(buf, "gpu:%s%s%d(IDX:", kind, *kind ? ":" : "",
				   __builtin_popcountll((unsigned long long)mask));
			add_indexes(buf, mask);
			buf_add_char(buf, ')');
		}
		buf_add(buf, gap);
	}
}

static void add_rest(struct buf *buf, const struct slurm_job *job, const char *gap)
{
	buf_printf(buf, "MinCPUsNode=%" PRId64 " MinMemoryNode=", job->cpus_per_task);
	slurm_size(buf, job->memory_node_bytes);
	buf_printf(buf, " MinTmpDiskNode=0%s", gap);
	buf_printf(buf, "Features=%s DelayBoot=00:00:00%s",
		   or_null(grid_string(job->request, "features")), gap);
	buf_printf(buf, "OverSubscribe=%s Contiguous=0 Licenses=(null) Network=(null)%s",
		   json_is_true(json_object_get(job->request, "exclusive")) ? "NO" : "OK", gap);
	buf_add(buf, "Command=");
	slurm_job_command(buf, job);
	buf_printf(buf, "%sWorkDir=%s%s", gap, or_null(grid_string(job->json, "working_dir")), gap);
	if (grid_string(job->json, "comment"))
		buf_printf(buf, "Comment=%s%s", grid_string(job->json, "comment"), gap);
	buf_add(buf, "StdErr=");
	slurm_job_output(buf, job, "error");
	buf_printf(buf, "%sStdIn=%s%sStdOut=", gap,
		   grid_or(json_object_get(job->request, "input"), "/dev/null"), gap);
	slurm_job_output(buf, job, "output");
	buf_printf(buf, "%sPower=%s", gap, gap);
	if (job->gres)
		buf_printf(buf, "TresPerNode=%s%s", job->gres, gap);
}

static void print_job(struct scontrol *scontrol, const struct slurm_job *job)
{
	struct buf *buf = &scontrol->cli->out;
	const char *gap = scontrol_gap(scontrol);

	add_who(buf, job, gap);
	add_times(buf, job, gap);
	add_place(buf, job, gap);
	if (scontrol->details)
		add_details(buf, job, gap);
	add_rest(buf, job, gap);
	cli_print(scontrol->cli, scontrol->oneline ? "\n" : "\n\n");
}

/* Elements of an array that wait are one record, unless one of them is asked for. */
int scontrol_show_jobs(struct scontrol *scontrol, const char *name)
{
	struct cli *cli = scontrol->cli;
	const char *mark = name ? strchr(name, '_') : NULL;
	int64_t id = name ? strtoll(name, NULL, 10) : 0,
		task = mark ? strtoll(mark + 1, NULL, 10) : 0;
	json_t *list = scontrol->json ? json_array() : NULL;
	struct slurm_jobs jobs;
	size_t shown = 0;
	int code = 0;

	if (slurm_jobs_find(cli, name, &jobs))
		return slurm_unreachable(cli, "slurm_load_jobs");
	if (!mark && slurm_jobs_fold(cli, &jobs)) {
		slurm_jobs_fini(&jobs);
		return 1;
	}
	for (size_t i = 0; i < jobs.count; i++) {
		const struct slurm_job *job = &jobs.list[i];
		bool wanted = !name || (mark ? job->array_id == id && job->array_index == task
					     : job->id == id || job->array_id == id);

		if (!wanted)
			continue;
		shown++;
		if (list)
			json_array_append_new(list, slurm_job_json(job));
		else
			print_job(scontrol, job);
	}
	if (name && !shown) {
		slurm_say(cli, "slurm_load_jobs error: Invalid job id specified");
		json_decref(list);
		code = 1;
	} else if (list) {
		code = slurm_print_json(cli, "jobs", list);
	} else if (!shown) {
		cli_print(cli, "No jobs in the system\n");
	}
	slurm_jobs_fini(&jobs);
	return code;
}
