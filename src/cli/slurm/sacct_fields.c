/* The fields of sacct. What is not measured here is empty, as it is in Slurm where nothing measures it. */
#include "cli/slurm/sacct.h"

#include "cli/service.h"

#include <grp.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define FIELD(name) static void name(struct buf *buf, const struct sacct_line *line)

FIELD(nothing)
{
	(void)buf, (void)line;
}

FIELD(account)
{
	buf_add(buf, line->job->account);
}

FIELD(job_id)
{
	buf_add(buf, line->job->id_text);
	if (line->step)
		buf_printf(buf, ".%s", line->step);
}

FIELD(job_id_raw)
{
	buf_printf(buf, "%" PRId64, line->job->id);
	if (line->step)
		buf_printf(buf, ".%s", line->step);
}

FIELD(job_name)
{
	buf_add(buf, line->step ? line->name : line->job->name);
}

FIELD(partition)
{
	if (!line->step)
		buf_add(buf, line->job->partition);
}

FIELD(cluster)
{
	(void)line;
	buf_add(buf, "strata");
}

FIELD(cpus)
{
	buf_printf(buf, "%" PRId64, line->cpus);
}

FIELD(allocated_cpus)
{
	buf_printf(buf, "%" PRId64, line->job->pending ? 0 : line->cpus);
}

FIELD(nodes)
{
	buf_printf(buf, "%" PRId64, line->nodes);
}

FIELD(allocated_nodes)
{
	buf_printf(buf, "%" PRId64, line->job->pending ? 0 : line->nodes);
}

/* By name; only the job has a bill. */
FIELD(tres)
{
	if (!line->step)
		buf_printf(buf, "billing=%" PRId64 ",", line->cpus);
	buf_printf(buf, "cpu=%" PRId64 ",", line->cpus);
	if (line->job->gpus)
		buf_printf(buf, "gres/gpu=%" PRId64 ",", line->job->gpus);
	if (line->memory_bytes) {
		buf_add(buf, "mem=");
		slurm_size(buf, line->memory_bytes);
		buf_add_char(buf, ',');
	}
	buf_printf(buf, "node=%" PRId64, line->nodes);
}

FIELD(allocated_tres)
{
	if (!line->job->pending)
		tres(buf, line);
}

FIELD(requested_tres)
{
	if (!line->step)
		tres(buf, line);
}

FIELD(comment)
{
	if (!line->step)
		buf_add(buf, grid_or(json_object_get(line->job->json, "comment"), ""));
}

FIELD(constraints)
{
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
	slurm_clock(buf, elapsed_s(line));
}

FIELD(elapsed_raw)
{
	buf_printf(buf, "%" PRId64, elapsed_s(line));
}

FIELD(cpu_time)
{
	slurm_clock(buf, elapsed_s(line) * line->cpus);
}

FIELD(cpu_time_raw)
{
	buf_printf(buf, "%" PRId64, elapsed_s(line) * line->cpus);
}

FIELD(start)
{
	slurm_date(buf, line->start_ns, "Unknown");
}

FIELD(end)
{
	slurm_date(buf, line->end_ns, "Unknown");
}

FIELD(submit)
{
	slurm_date(buf, line->step ? line->start_ns : line->job->submit_ns, "Unknown");
}

FIELD(eligible)
{
	slurm_date(buf, line->step ? line->start_ns : line->job->eligible_ns, "Unknown");
}

FIELD(exit_code)
{
	buf_printf(buf, "%" PRId64 ":%" PRId64, line->exit_code, line->exit_signal);
}

FIELD(derived_exit_code)
{
	if (!line->step)
		buf_add(buf, "0:0");
}

FIELD(gid)
{
	if (!line->step)
		buf_printf(buf, "%" PRId64, line->job->gid);
}

FIELD(group)
{
	const struct group *entry = line->step ? NULL : getgrgid((gid_t)line->job->gid);

	buf_add(buf, entry ? entry->gr_name : "");
}

FIELD(uid)
{
	if (!line->step)
		buf_printf(buf, "%" PRId64, line->job->uid);
}

FIELD(user)
{
	if (!line->step)
		buf_add(buf, line->job->user);
}

FIELD(node_list)
{
	buf_add(buf, *line->node_list ? line->node_list : "None assigned");
}

FIELD(tasks)
{
	if (line->step)
		buf_printf(buf, "%" PRId64, line->tasks);
}

FIELD(priority)
{
	if (!line->step)
		buf_printf(buf, "%" PRId64, line->job->priority);
}

FIELD(qos)
{
	if (!line->step)
		buf_add(buf, line->job->qos);
}

FIELD(reason)
{
	if (!line->step)
		buf_add(buf, line->job->reason);
}

FIELD(requested_memory)
{
	if (!line->step)
		slurm_size(buf, line->job->memory_node_bytes);
}

FIELD(state)
{
	buf_add(buf, line->state);
}

FIELD(time_limit)
{
	if (!line->step)
		slurm_clock(buf, line->job->limit_s);
}

FIELD(time_limit_raw)
{
	if (!line->step)
		buf_printf(buf, "%" PRId64, line->job->limit_s / 60);
}

FIELD(waited)
{
	int64_t until_ns = line->start_ns ? line->start_ns : when_now_ns();

	if (!line->step)
		slurm_clock(buf, (until_ns - line->job->eligible_ns) / STRATA_SECOND_NS);
}

/* "1234K" */
FIELD(max_rss)
{
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
	write_cpu_ms(buf, used_ms(line, "cpu_user_ms"));
}

FIELD(system_cpu)
{
	write_cpu_ms(buf, used_ms(line, "cpu_system_ms"));
}

FIELD(total_cpu)
{
	write_cpu_ms(buf, used_ms(line, "cpu_user_ms") + used_ms(line, "cpu_system_ms"));
}

FIELD(zero)
{
	(void)line;
	buf_add(buf, "00:00:00");
}

FIELD(work_dir)
{
	if (!line->step)
		buf_add(buf, grid_or(json_object_get(line->job->json, "working_dir"), ""));
}

/* clang-format off */
static const struct sacct_field fields[] = {
	{ "Account", 10, account, true },
	{ "AdminComment", 19, nothing },
	{ "AllocCPUS", 10, allocated_cpus },
	{ "AllocNodes", 10, allocated_nodes },
	{ "AllocTRES", 10, allocated_tres },
	{ "AssocID", 7, nothing },
	{ "AveCPU", 10, nothing },
	{ "AveCPUFreq", 10, nothing },
	{ "AveDiskRead", 14, nothing },
	{ "AveDiskWrite", 14, nothing },
	{ "AvePages", 10, nothing },
	{ "AveRSS", 10, nothing },
	{ "AveVMSize", 10, nothing },
	{ "BlockID", 16, nothing },
	{ "Cluster", 10, cluster },
	{ "Comment", 14, comment, true },
	{ "Constraints", 19, constraints, true },
	{ "ConsumedEnergy", 14, nothing },
	{ "ConsumedEnergyRaw", 17, nothing },
	{ "Container", 19, nothing },
	{ "CPUTime", 10, cpu_time },
	{ "CPUTimeRAW", 10, cpu_time_raw },
	{ "DBIndex", 10, nothing },
	{ "DerivedExitCode", 15, derived_exit_code },
	{ "Elapsed", 10, elapsed },
	{ "ElapsedRaw", 10, elapsed_raw },
	{ "Eligible", 19, eligible },
	{ "End", 19, end },
	{ "ExitCode", 8, exit_code },
	{ "Flags", 20, nothing },
	{ "GID", 6, gid },
	{ "Group", 9, group },
	{ "JobID", -12, job_id },
	{ "JobIDRaw", -12, job_id_raw },
	{ "JobName", 10, job_name, true },
	{ "Layout", 9, nothing },
	{ "MaxDiskRead", 12, nothing },
	{ "MaxDiskReadNode", 15, nothing },
	{ "MaxDiskReadTask", 15, nothing },
	{ "MaxDiskWrite", 12, nothing },
	{ "MaxDiskWriteNode", 16, nothing },
	{ "MaxDiskWriteTask", 16, nothing },
	{ "MaxPages", 8, nothing },
	{ "MaxPagesNode", 12, nothing },
	{ "MaxPagesTask", 14, nothing },
	{ "MaxRSS", 10, max_rss },
	{ "MaxRSSNode", 10, nothing },
	{ "MaxRSSTask", 10, nothing },
	{ "MaxVMSize", 10, nothing },
	{ "MaxVMSizeNode", 14, nothing },
	{ "MaxVMSizeTask", 14, nothing },
	{ "McsLabel", 9, nothing },
	{ "MinCPU", 10, nothing },
	{ "MinCPUNode", 10, nothing },
	{ "MinCPUTask", 10, nothing },
	{ "NCPUS", 10, cpus },
	{ "NNodes", 8, nodes },
	{ "NodeList", 15, node_list },
	{ "NTasks", 8, tasks },
	{ "Partition", 10, partition, true },
	{ "Priority", 10, priority },
	{ "QOS", 10, qos, true },
	{ "QOSRAW", 6, nothing },
	{ "Reason", 22, reason },
	{ "ReqCPUFreq", 10, nothing },
	{ "ReqCPUFreqGov", 13, nothing },
	{ "ReqCPUFreqMax", 13, nothing },
	{ "ReqCPUFreqMin", 13, nothing },
	{ "ReqCPUS", 8, cpus },
	{ "ReqMem", 10, requested_memory },
	{ "ReqNodes", 8, nodes },
	{ "ReqTRES", 10, requested_tres },
	{ "Reservation", 20, nothing },
	{ "ReservationId", 8, nothing },
	{ "Reserved", 10, waited },
	{ "ResvCPU", 10, nothing },
	{ "ResvCPURAW", 10, nothing },
	{ "Start", 19, start },
	{ "State", 10, state },
	{ "Submit", 19, submit },
	{ "SubmitLine", 20, nothing },
	{ "Suspended", 10, zero },
	{ "SystemComment", 14, nothing },
	{ "SystemCPU", 10, system_cpu },
	{ "Timelimit", 10, time_limit },
	{ "TimelimitRaw", 12, time_limit_raw },
	{ "TotalCPU", 10, total_cpu },
	{ "TRESUsageInAve", 14, nothing },
	{ "TRESUsageInMax", 14, nothing },
	{ "TRESUsageInTot", 14, nothing },
	{ "TRESUsageOutTot", 15, nothing },
	{ "UID", 6, uid },
	{ "User", 9, user, true },
	{ "UserCPU", 10, user_cpu },
	{ "WCKey", 10, nothing },
	{ "WCKeyID", 8, nothing },
	{ "WorkDir", 20, work_dir, true },
};
/* clang-format on */

const struct sacct_field *sacct_field_at(size_t index)
{
	return index < sizeof(fields) / sizeof(fields[0]) ? &fields[index] : NULL;
}

const struct sacct_field *sacct_field_find(const char *name, size_t length)
{
	const struct sacct_field *field;

	for (size_t i = 0; (field = sacct_field_at(i)); i++)
		if (strncasecmp(field->name, name, length) == 0 && !field->name[length])
			return field;
	return NULL;
}
