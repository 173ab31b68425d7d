/* The fields of sacct. What is not measured here is empty, as it is in Slurm where nothing measures
 * it. */
#include "cli/slurm/sacct.h"

#include "cli/service.h"

#include <grp.h>
#include <inttypes.h>
#include <string.h>

#define LINE const struct sacct_line *line = row
#define FIELD(name) static void name(struct buf *buf, const void *row)

FIELD(nothing)
{
	(void)buf, (void)row;
}

FIELD(account)
{
	LINE;

	buf_add(buf, line->job->account);
}

FIELD(job_id)
{
	LINE;

	buf_add(buf, line->job->id_text);
	if (line->step)
		buf_printf(buf, ".%s", line->step);
}

FIELD(job_id_raw)
{
	LINE;

	buf_printf(buf, "%" PRId64, line->job->id);
	if (line->step)
		buf_printf(buf, ".%s", line->step);
}

FIELD(job_name)
{
	LINE;

	buf_add(buf, line->step ? line->name : line->job->name);
}

FIELD(partition)
{
	LINE;

	if (!line->step)
		buf_add(buf, line->job->partition);
}

FIELD(cluster)
{
	(void)row;
	buf_add(buf, "strata");
}

FIELD(cpus)
{
	LINE;

	buf_printf(buf, "%" PRId64, line->cpus);
}

FIELD(allocated_cpus)
{
	LINE;

	buf_printf(buf, "%" PRId64, line->job->pending ? 0 : line->cpus);
}

FIELD(nodes)
{
	LINE;

	buf_printf(buf, "%" PRId64, line->nodes);
}

FIELD(allocated_nodes)
{
	LINE;

	buf_printf(buf, "%" PRId64, line->job->pending ? 0 : line->nodes);
}

/* By name; only the job has a bill. */
FIELD(tres)
{
	LINE;

	if (!line->step)
		buf_printf(buf, "billing=%" PRId64 ",", line->cpus);
	buf_printf(buf, "cpu=%" PRId64 ",", line->cpus);
	if (line->job->gpus)
		buf_printf(buf, "gres/gpu=%" PRId64 ",", line->job->gpus);
	if (line->memory_bytes) {
		buf_add(buf, "mem=");
		slurm_size_in(buf, line->memory_bytes, line->job->unit);
		buf_add_char(buf, ',');
	}
	buf_printf(buf, "node=%" PRId64, line->nodes);
}

FIELD(allocated_tres)
{
	LINE;

	if (!line->job->pending)
		tres(buf, line);
}

FIELD(requested_tres)
{
	LINE;

	if (!line->step)
		tres(buf, line);
}

FIELD(comment)
{
	LINE;

	if (!line->step)
		buf_add(buf, grid_or(json_object_get(line->job->json, "comment"), ""));
}

FIELD(constraints)
{
	LINE;

	if (!line->step)
		buf_add(buf, grid_or(json_object_get(line->job->request, "features"), ""));
}

static int64_t elapsed_s(const struct sacct_line *line)
{
	int64_t end_ns = line->end_ns ? line->end_ns : when_now_ns();

	return line->start_ns && end_ns > line->start_ns
		       ? (end_ns - line->start_ns) / STRATA_SECOND_NS
		       : 0;
}

FIELD(elapsed)
{
	LINE;

	slurm_clock(buf, elapsed_s(line));
}

FIELD(elapsed_raw)
{
	LINE;

	buf_printf(buf, "%" PRId64, elapsed_s(line));
}

FIELD(cpu_time)
{
	LINE;

	slurm_clock(buf, elapsed_s(line) * line->cpus);
}

FIELD(cpu_time_raw)
{
	LINE;

	buf_printf(buf, "%" PRId64, elapsed_s(line) * line->cpus);
}

FIELD(start)
{
	LINE;

	slurm_date(buf, line->start_ns, "Unknown");
}

FIELD(end)
{
	LINE;

	slurm_date(buf, line->end_ns, "Unknown");
}

FIELD(submit)
{
	LINE;

	slurm_date(buf, line->step ? line->start_ns : line->job->submit_ns, "Unknown");
}

FIELD(eligible)
{
	LINE;

	slurm_date(buf, line->step ? line->start_ns : line->job->eligible_ns, "Unknown");
}

FIELD(exit_code)
{
	LINE;

	buf_printf(buf, "%" PRId64 ":%" PRId64, line->exit_code, line->exit_signal);
}

FIELD(derived_exit_code)
{
	LINE;

	if (!line->step)
		buf_add(buf, "0:0");
}

FIELD(gid)
{
	LINE;

	if (!line->step)
		buf_printf(buf, "%" PRId64, line->job->gid);
}

FIELD(group)
{
	LINE;
	const struct group *entry = line->step ? NULL : getgrgid((gid_t)line->job->gid);

	buf_add(buf, entry ? entry->gr_name : "");
}

FIELD(uid)
{
	LINE;

	if (!line->step)
		buf_printf(buf, "%" PRId64, line->job->uid);
}

FIELD(user)
{
	LINE;

	if (!line->step)
		buf_add(buf, line->job->user);
}

FIELD(node_list)
{
	LINE;

	buf_add(buf, *line->node_list ? line->node_list : "None assigned");
}

FIELD(tasks)
{
	LINE;

	if (line->step)
		buf_printf(buf, "%" PRId64, line->tasks);
}

FIELD(priority)
{
	LINE;

	if (!line->step)
		buf_printf(buf, "%" PRId64, line->job->priority);
}

FIELD(qos)
{
	LINE;

	if (!line->step)
		buf_add(buf, line->job->qos);
}

FIELD(reason)
{
	LINE;

	if (!line->step)
		buf_add(buf, line->job->reason);
}

FIELD(requested_memory)
{
	LINE;

	if (!line->step)
		slurm_size_in(buf, line->job->memory_node_bytes, line->job->unit);
}

FIELD(state)
{
	LINE;

	buf_add(buf, line->state);
}

FIELD(time_limit)
{
	LINE;

	if (!line->step)
		slurm_clock(buf, line->job->limit_s);
}

FIELD(time_limit_raw)
{
	LINE;

	if (!line->step)
		buf_printf(buf, "%" PRId64, line->job->limit_s / 60);
}

FIELD(waited)
{
	LINE;
	int64_t until_ns = line->start_ns ? line->start_ns : when_now_ns();

	if (!line->step)
		slurm_clock(buf, (until_ns - line->job->eligible_ns) / STRATA_SECOND_NS);
}

/* "1234K" */
FIELD(max_rss)
{
	LINE;
	int64_t bytes = line->step ? grid_int(line->used, "memory_peak_bytes") : 0;

	if (bytes > 0)
		buf_printf(buf, "%" PRId64 "K", (bytes + 1023) / 1024);
}

/* "00:01.250"; with hours "01:00:01"; with days "1-01:00:01". */
static void write_cpu_ms(struct buf *buf, int64_t ms)
{
	if (ms < 3600000)
		buf_printf(buf, "%02" PRId64 ":%02" PRId64 ".%03" PRId64, ms / 60000,
			   ms / 1000 % 60, ms % 1000);
	else
		slurm_clock(buf, ms / 1000);
}

static int64_t used_ms(const struct sacct_line *line, const char *key)
{
	int64_t ms = grid_int(line->used, key);

	return ms > 0 ? ms : 0;
}

FIELD(user_cpu)
{
	LINE;

	write_cpu_ms(buf, used_ms(line, "cpu_user_ms"));
}

FIELD(system_cpu)
{
	LINE;

	write_cpu_ms(buf, used_ms(line, "cpu_system_ms"));
}

FIELD(total_cpu)
{
	LINE;

	write_cpu_ms(buf, used_ms(line, "cpu_user_ms") + used_ms(line, "cpu_system_ms"));
}

FIELD(zero)
{
	(void)row;
	buf_add(buf, "00:00:00");
}

FIELD(work_dir)
{
	LINE;

	if (!line->step)
		buf_add(buf, grid_or(json_object_get(line->job->json, "working_dir"), ""));
}

/* clang-format off */
const struct slurm_field sacct_fields[] = {
	{ 0, "Account", "Account", account, .chosen = true, .width = 10 },
	{ 0, "AdminComment", "AdminComment", nothing, .width = 19 },
	{ 0, "AllocCPUS", "AllocCPUS", allocated_cpus, .width = 10 },
	{ 0, "AllocNodes", "AllocNodes", allocated_nodes, .width = 10 },
	{ 0, "AllocTRES", "AllocTRES", allocated_tres, .width = 10 },
	{ 0, "AssocID", "AssocID", nothing, .width = 7 },
	{ 0, "AveCPU", "AveCPU", nothing, .width = 10 },
	{ 0, "AveCPUFreq", "AveCPUFreq", nothing, .width = 10 },
	{ 0, "AveDiskRead", "AveDiskRead", nothing, .width = 14 },
	{ 0, "AveDiskWrite", "AveDiskWrite", nothing, .width = 14 },
	{ 0, "AvePages", "AvePages", nothing, .width = 10 },
	{ 0, "AveRSS", "AveRSS", nothing, .width = 10 },
	{ 0, "AveVMSize", "AveVMSize", nothing, .width = 10 },
	{ 0, "BlockID", "BlockID", nothing, .width = 16 },
	{ 0, "Cluster", "Cluster", cluster, .width = 10 },
	{ 0, "Comment", "Comment", comment, .chosen = true, .width = 14 },
	{ 0, "Constraints", "Constraints", constraints, .chosen = true, .width = 19 },
	{ 0, "ConsumedEnergy", "ConsumedEnergy", nothing, .width = 14 },
	{ 0, "ConsumedEnergyRaw", "ConsumedEnergyRaw", nothing, .width = 17 },
	{ 0, "Container", "Container", nothing, .width = 19 },
	{ 0, "CPUTime", "CPUTime", cpu_time, .width = 10 },
	{ 0, "CPUTimeRAW", "CPUTimeRAW", cpu_time_raw, .width = 10 },
	{ 0, "DBIndex", "DBIndex", nothing, .width = 10 },
	{ 0, "DerivedExitCode", "DerivedExitCode", derived_exit_code, .width = 15 },
	{ 0, "Elapsed", "Elapsed", elapsed, .width = 10 },
	{ 0, "ElapsedRaw", "ElapsedRaw", elapsed_raw, .width = 10 },
	{ 0, "Eligible", "Eligible", eligible, .width = 19 },
	{ 0, "End", "End", end, .width = 19 },
	{ 0, "ExitCode", "ExitCode", exit_code, .width = 8 },
	{ 0, "Flags", "Flags", nothing, .width = 20 },
	{ 0, "GID", "GID", gid, .width = 6 },
	{ 0, "Group", "Group", group, .width = 9 },
	{ 0, "JobID", "JobID", job_id, .width = -12 },
	{ 0, "JobIDRaw", "JobIDRaw", job_id_raw, .width = -12 },
	{ 0, "JobName", "JobName", job_name, .chosen = true, .width = 10 },
	{ 0, "Layout", "Layout", nothing, .width = 9 },
	{ 0, "MaxDiskRead", "MaxDiskRead", nothing, .width = 12 },
	{ 0, "MaxDiskReadNode", "MaxDiskReadNode", nothing, .width = 15 },
	{ 0, "MaxDiskReadTask", "MaxDiskReadTask", nothing, .width = 15 },
	{ 0, "MaxDiskWrite", "MaxDiskWrite", nothing, .width = 12 },
	{ 0, "MaxDiskWriteNode", "MaxDiskWriteNode", nothing, .width = 16 },
	{ 0, "MaxDiskWriteTask", "MaxDiskWriteTask", nothing, .width = 16 },
	{ 0, "MaxPages", "MaxPages", nothing, .width = 8 },
	{ 0, "MaxPagesNode", "MaxPagesNode", nothing, .width = 12 },
	{ 0, "MaxPagesTask", "MaxPagesTask", nothing, .width = 14 },
	{ 0, "MaxRSS", "MaxRSS", max_rss, .width = 10 },
	{ 0, "MaxRSSNode", "MaxRSSNode", nothing, .width = 10 },
	{ 0, "MaxRSSTask", "MaxRSSTask", nothing, .width = 10 },
	{ 0, "MaxVMSize", "MaxVMSize", nothing, .width = 10 },
	{ 0, "MaxVMSizeNode", "MaxVMSizeNode", nothing, .width = 14 },
	{ 0, "MaxVMSizeTask", "MaxVMSizeTask", nothing, .width = 14 },
	{ 0, "McsLabel", "McsLabel", nothing, .width = 9 },
	{ 0, "MinCPU", "MinCPU", nothing, .width = 10 },
	{ 0, "MinCPUNode", "MinCPUNode", nothing, .width = 10 },
	{ 0, "MinCPUTask", "MinCPUTask", nothing, .width = 10 },
	{ 0, "NCPUS", "NCPUS", cpus, .width = 10 },
	{ 0, "NNodes", "NNodes", nodes, .width = 8 },
	{ 0, "NodeList", "NodeList", node_list, .width = 15 },
	{ 0, "NTasks", "NTasks", tasks, .width = 8 },
	{ 0, "Partition", "Partition", partition, .chosen = true, .width = 10 },
	{ 0, "Priority", "Priority", priority, .width = 10 },
	{ 0, "QOS", "QOS", qos, .chosen = true, .width = 10 },
	{ 0, "QOSRAW", "QOSRAW", nothing, .width = 6 },
	{ 0, "Reason", "Reason", reason, .width = 22 },
	{ 0, "ReqCPUFreq", "ReqCPUFreq", nothing, .width = 10 },
	{ 0, "ReqCPUFreqGov", "ReqCPUFreqGov", nothing, .width = 13 },
	{ 0, "ReqCPUFreqMax", "ReqCPUFreqMax", nothing, .width = 13 },
	{ 0, "ReqCPUFreqMin", "ReqCPUFreqMin", nothing, .width = 13 },
	{ 0, "ReqCPUS", "ReqCPUS", cpus, .width = 8 },
	{ 0, "ReqMem", "ReqMem", requested_memory, .width = 10 },
	{ 0, "ReqNodes", "ReqNodes", nodes, .width = 8 },
	{ 0, "ReqTRES", "ReqTRES", requested_tres, .width = 10 },
	{ 0, "Reservation", "Reservation", nothing, .width = 20 },
	{ 0, "ReservationId", "ReservationId", nothing, .width = 8 },
	{ 0, "Reserved", "Reserved", waited, .width = 10 },
	{ 0, "ResvCPU", "ResvCPU", nothing, .width = 10 },
	{ 0, "ResvCPURAW", "ResvCPURAW", nothing, .width = 10 },
	{ 0, "Start", "Start", start, .width = 19 },
	{ 0, "State", "State", state, .width = 10 },
	{ 0, "Submit", "Submit", submit, .width = 19 },
	{ 0, "SubmitLine", "SubmitLine", nothing, .width = 20 },
	{ 0, "Suspended", "Suspended", zero, .width = 10 },
	{ 0, "SystemComment", "SystemComment", nothing, .width = 14 },
	{ 0, "SystemCPU", "SystemCPU", system_cpu, .width = 10 },
	{ 0, "Timelimit", "Timelimit", time_limit, .width = 10 },
	{ 0, "TimelimitRaw", "TimelimitRaw", time_limit_raw, .width = 12 },
	{ 0, "TotalCPU", "TotalCPU", total_cpu, .width = 10 },
	{ 0, "TRESUsageInAve", "TRESUsageInAve", nothing, .width = 14 },
	{ 0, "TRESUsageInMax", "TRESUsageInMax", nothing, .width = 14 },
	{ 0, "TRESUsageInTot", "TRESUsageInTot", nothing, .width = 14 },
	{ 0, "TRESUsageOutTot", "TRESUsageOutTot", nothing, .width = 15 },
	{ 0, "UID", "UID", uid, .width = 6 },
	{ 0, "User", "User", user, .chosen = true, .width = 9 },
	{ 0, "UserCPU", "UserCPU", user_cpu, .width = 10 },
	{ 0, "WCKey", "WCKey", nothing, .width = 10 },
	{ 0, "WCKeyID", "WCKeyID", nothing, .width = 8 },
	{ 0, "WorkDir", "WorkDir", work_dir, .chosen = true, .width = 20 },
	{ .write = NULL },
};
/* clang-format on */
