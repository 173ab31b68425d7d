/* sstat: what the steps of running jobs use. Of processes on this machine it is what the kernel
 * says of them now; they are known by the job's file, which is among their variables. */
#include "cli/slurm/jobs.h"
#include "cli/slurm/listing.h"

#include "cli/service.h"
#include "slurm/output_field.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "sstat"
#define FIELDS                                                                                \
	"jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask," \
	"averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,"    \
	"avecpu,ntasks,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,consumedenergy,"  \
	"maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,"               \
	"maxdiskwritenode,maxdiskwritetask,avediskwrite"
#define FIELDS_PIDS "jobid,nodelist,pids"

/* A step, and what its processes use together. */
struct used {
	const struct slurm_job *job;
	const char *step; /* "batch", "0" */
	const char *node; /* the first */
	const char *nodes;
	int64_t tasks, rss_bytes, rss_max_bytes, vm_bytes, vm_max_bytes, cpu_ms, cpu_min_ms;
	int64_t pages, read_bytes, write_bytes, processes;
	char pids[512];
	char unit;
};

#define FIELD_ROW const struct used *used = row

static int64_t each(const struct used *used, int64_t sum)
{
	return used->processes ? sum / used->processes : 0;
}

static void add_size(struct buf *buf, const struct used *used, int64_t bytes)
{
	if (used->unit)
		slurm_size_in(buf, bytes, used->unit);
	else if (bytes)
		buf_printf(buf, "%" PRId64 "K", bytes >> 10);
	else
		buf_add_char(buf, '0');
}

#define SIZE_FIELD(name, value)                            \
	static void name(struct buf *buf, const void *row) \
	{                                                  \
		FIELD_ROW;                                 \
		add_size(buf, used, value);                \
	}
#define CLOCK_FIELD(name, value)                           \
	static void name(struct buf *buf, const void *row) \
	{                                                  \
		FIELD_ROW;                                 \
		slurm_clock(buf, (value) / 1000);          \
	}

SIZE_FIELD(rss_max, used->rss_max_bytes)
SIZE_FIELD(rss_each, each(used, used->rss_bytes))
SIZE_FIELD(vm_max, used->vm_max_bytes)
SIZE_FIELD(vm_each, each(used, used->vm_bytes))
SIZE_FIELD(read_all, used->read_bytes)
SIZE_FIELD(read_each, each(used, used->read_bytes))
SIZE_FIELD(write_sum, used->write_bytes)
SIZE_FIELD(write_each, each(used, used->write_bytes))
CLOCK_FIELD(cpu_each, each(used, used->cpu_ms))
CLOCK_FIELD(cpu_min, used->cpu_min_ms)
NUMBER_FIELD(tasks, used->tasks)
NUMBER_FIELD(pages, used->pages)
NUMBER_FIELD(pages_each, each(used, used->pages))
TEXT_FIELD(node, used->node)
TEXT_FIELD(nodes, used->nodes)
TEXT_FIELD(pids, used->pids)
CONSTANT_FIELD(zero, "0")
CONSTANT_FIELD(nothing, "")

static void id(struct buf *buf, const void *row)
{
	FIELD_ROW;

	buf_printf(buf, "%s.%s", used->job->id_text, used->step);
}

/* clang-format off */
static const struct slurm_field fields[] = {
	{ 0, "AveCPU", "AveCPU", cpu_each, .width = 10 },
	{ 0, "AveCPUFreq", "AveCPUFreq", zero, .width = 10 },
	{ 0, "AveDiskRead", "AveDiskRead", read_each, .width = 12 },
	{ 0, "AveDiskWrite", "AveDiskWrite", write_each, .width = 12 },
	{ 0, "AvePages", "AvePages", pages_each, .width = 10 },
	{ 0, "AveRSS", "AveRSS", rss_each, .width = 10 },
	{ 0, "AveVMSize", "AveVMSize", vm_each, .width = 10 },
	{ 0, "ConsumedEnergy", "ConsumedEnergy", zero, .width = 14 },
	{ 0, "ConsumedEnergyRaw", "ConsumedEnergyRaw", zero, .width = 17 },
	{ 0, "JobID", "JobID", id, .width = -12 },
	{ 0, "MaxDiskRead", "MaxDiskRead", read_all, .width = 12 },
	{ 0, "MaxDiskReadNode", "MaxDiskReadNode", node, .width = 15 },
	{ 0, "MaxDiskReadTask", "MaxDiskReadTask", zero, .width = 15 },
	{ 0, "MaxDiskWrite", "MaxDiskWrite", write_sum, .width = 12 },
	{ 0, "MaxDiskWriteNode", "MaxDiskWriteNode", node, .width = 16 },
	{ 0, "MaxDiskWriteTask", "MaxDiskWriteTask", zero, .width = 16 },
	{ 0, "MaxPages", "MaxPages", pages, .width = 8 },
	{ 0, "MaxPagesNode", "MaxPagesNode", node, .width = 12 },
	{ 0, "MaxPagesTask", "MaxPagesTask", zero, .width = 14 },
	{ 0, "MaxRSS", "MaxRSS", rss_max, .width = 10 },
	{ 0, "MaxRSSNode", "MaxRSSNode", node, .width = 10 },
	{ 0, "MaxRSSTask", "MaxRSSTask", zero, .width = 10 },
	{ 0, "MaxVMSize", "MaxVMSize", vm_max, .width = 10 },
	{ 0, "MaxVMSizeNode", "MaxVMSizeNode", node, .width = 14 },
	{ 0, "MaxVMSizeTask", "MaxVMSizeTask", zero, .width = 14 },
	{ 0, "MinCPU", "MinCPU", cpu_min, .width = 10 },
	{ 0, "MinCPUNode", "MinCPUNode", node, .width = 10 },
	{ 0, "MinCPUTask", "MinCPUTask", zero, .width = 10 },
	{ 0, "Nodelist", "Nodelist", nodes, .width = 20 },
	{ 0, "NTasks", "NTasks", tasks, .width = 8 },
	{ 0, "Pids", "Pids", pids, .width = 20 },
	{ 0, "ReqCPUFreq", "ReqCPUFreq", zero, .width = 13 },
	{ 0, "ReqCPUFreqGov", "ReqCPUFreqGov", zero, .width = 13 },
	{ 0, "ReqCPUFreqMax", "ReqCPUFreqMax", zero, .width = 13 },
	{ 0, "ReqCPUFreqMin", "ReqCPUFreqMin", zero, .width = 13 },
	{ 0, "TRESUsageInAve", "TRESUsageInAve", nothing, .width = 14 },
	{ 0, "TRESUsageInMax", "TRESUsageInMax", nothing, .width = 14 },
	{ 0, "TRESUsageInTot", "TRESUsageInTot", nothing, .width = 14 },
	{ 0, "TRESUsageOutAve", "TRESUsageOutAve", nothing, .width = 15 },
	{ 0, "TRESUsageOutMax", "TRESUsageOutMax", nothing, .width = 15 },
	{ 0, "TRESUsageOutTot", "TRESUsageOutTot", nothing, .width = 15 },
	{ .write = NULL },
};
/* clang-format on */

struct sstat {
	const char *jobs, *names;
	bool all_steps, own_units, pids;
	int64_t verbose;
	struct listing listing;
};

/* -p and -P: a delimiter between columns; of -p also behind the last. */
static int read_parsable(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	struct sstat *sstat = reading->into;

	(void)value, (void)err;
	sstat->listing.delimiter = "|";
	sstat->listing.delimiter_last = row->option.letter == 'p';
	return 0;
}

#define FIELD(name) offsetof(struct sstat, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	{ { "allsteps", 'a', .help = "all steps of the jobs" }, slurm_read_flag, FIELD(all_steps) },
	{ { "fields", 0, VALUE, .help = "columns: jobid,maxrss" }, slurm_read_text, FIELD(names) },
	{ { "format", 'o', VALUE, .env = "SSTAT_FORMAT", .help = "columns: jobid,maxrss" }, slurm_read_text, FIELD(names) },
	SLURM_ROW_HELP('h'),
	{ { "helpformat", 'e', .help = "list the columns" }, slurm_read_end, 0 },
	{ { "jobs", 'j', VALUE, .help = "these jobs or steps: 7, 7.0, 7.batch" }, slurm_read_text, FIELD(jobs) },
	{ { "noconvert", 0, .help = "sizes in megabytes" }, slurm_read_flag, FIELD(own_units) },
	{ { "noheader", 'n', .help = "no titles" }, slurm_read_flag, FIELD(listing.headless) },
	{ { "parsable", 'p', .help = "columns between bars, one behind the last" }, read_parsable, 0 },
	{ { "parsable2", 'P', .help = "columns between bars" }, read_parsable, 0 },
	{ { "pidformat", 'i', .help = "numbers of the processes" }, slurm_read_flag, FIELD(pids) },
	SLURM_ROW_USAGE(0),
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

/* ---- processes ---- */

static size_t read_proc(const char *pid, const char *file, char *text, size_t room)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, room - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

static bool has_variable(const char *text, size_t length, const char *name, const char *value)
{
	size_t span = strlen(name);

	for (const char *at = text; at < text + length; at += strlen(at) + 1)
		if (strncmp(at, name, span) == 0 && at[span] == '=')
			return strcmp(at + span + 1, value) == 0;
	return false;
}

static int64_t after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

static void add_process(struct used *used, const char *pid, char *text, size_t room)
{
	int64_t ticks = sysconf(_SC_CLK_TCK), user = 0, system = 0, faults = 0;

	read_proc(pid, "status", text, room);
	int64_t rss = after(text, "VmHWM:") << 10, vm = after(text, "VmPeak:") << 10;

	used->rss_bytes += rss;
	used->vm_bytes += vm;
	used->rss_max_bytes = rss > used->rss_max_bytes ? rss : used->rss_max_bytes;
	used->vm_max_bytes = vm > used->vm_max_bytes ? vm : used->vm_max_bytes;
	read_proc(pid, "stat", text, room);
	const char *rest = strrchr(text, ')');

	if (rest)
		sscanf(rest,
		       ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %" SCNd64 " %*u %" SCNd64 " %" SCNd64,
		       &faults, &user, &system);
	int64_t ms = (user + system) * 1000 / (ticks > 0 ? ticks : 100);

	used->cpu_ms += ms;
	used->cpu_min_ms = used->processes && used->cpu_min_ms < ms ? used->cpu_min_ms : ms;
	used->pages += faults;
	read_proc(pid, "io", text, room);
	used->read_bytes += after(text, "read_bytes:");
	used->write_bytes += after(text, "\nwrite_bytes:");
	used->processes++;
	size_t length = strlen(used->pids);

	snprintf(used->pids + length, sizeof(used->pids) - length, "%s%s", length ? "," : "", pid);
}

/* Those of the job that are of this step; of the script: of none. */
static void add_processes(struct used *used)
{
	enum { ROOM = 1 << 20 };
	DIR *dir = opendir("/proc");
	char *text = malloc(ROOM), number[24];
	const struct dirent *entry;

	snprintf(number, sizeof(number), "%" PRId64, grid_int(used->job->json, "id"));
	while (dir && text && (entry = readdir(dir))) {
		if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name))
			continue;
		size_t length = read_proc(entry->d_name, "environ", text, ROOM);
		bool ours = has_variable(text, length, "SLURM_JOB_ID", number) &&
			    has_variable(text, length, "STRATA_JOB_ID", number);
		bool script = strcmp(used->step, "batch") == 0;
		bool in_step = has_variable(text, length, "SLURM_STEP_ID", used->step);

		if (script)
			in_step = !memmem(text, length, "\0SLURM_STEP_ID=", 15);
		if (ours && in_step)
			add_process(used, entry->d_name, text, ROOM);
	}
	if (dir)
		closedir(dir);
	free(text);
}

/* ---- steps ---- */

static void print_step(struct cli *cli, const struct sstat *sstat, struct used used)
{
	used.unit = sstat->own_units ? SLURM_UNIT_OWN : 0;
	add_processes(&used);
	listing_row(cli, &sstat->listing, &used);
}

/* `step` NULL: the last one, as in Slurm, or all. */
static void print_job(struct cli *cli, const struct sstat *sstat, const struct slurm_job *job,
		      const char *step)
{
	json_t *steps = slurm_steps(cli, job), *row;
	struct used batch = { .job = job,
			      .step = "batch",
			      .node = job->first_node,
			      .nodes = job->first_node,
			      .tasks = 1 };
	size_t index;

	if (step ? strcmp(step, "batch") == 0 : sstat->all_steps)
		print_step(cli, sstat, batch);
	json_array_foreach(steps, index, row)
	{
		const char *number =
			strata_arena_printf(&cli->arena, "%" PRId64, grid_int(row, "number"));
		struct used used = { .job = job,
				     .step = number ? number : "?",
				     .node = job->first_node,
				     .nodes = job->node_list,
				     .tasks = grid_int(row, "tasks") };

		if (!when_json(row, "ended_at") && (!step || strcmp(step, used.step) == 0))
			print_step(cli, sstat, used);
	}
	json_decref(steps);
}

static int print_all(struct cli *cli, const struct sstat *sstat, const char *list)
{
	struct slurm_jobs jobs;
	char *copy = strata_arena_printf(&cli->arena, "%s", list), *rest;

	if (slurm_jobs_load(cli, false, &jobs))
		return slurm_unreachable(cli, "slurm_load_jobs");
	listing_head(cli, &sstat->listing);
	for (char *at = copy ? strtok_r(copy, ",", &rest) : NULL; at;
	     at = strtok_r(NULL, ",", &rest)) {
		char *step = strchr(at, '.');
		bool known = false;

		if (step)
			*step++ = '\0';
		for (size_t i = 0; i < jobs.count; i++) {
			const struct slurm_job *job = &jobs.list[i];

			if (!slurm_job_named(job, at) || job->pending || job->ended)
				continue;
			known = true;
			print_job(cli, sstat, job, step);
		}
		if (!known)
			slurm_error(cli, NAME, "couldn't get steps for job %s", at);
	}
	slurm_jobs_fini(&jobs);
	return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sstat sstat = { 0 };
	struct slurm_reading reading;
	int code = slurm_options(cli, &slurm_sstat, argc, argv, &sstat, &reading);

	if (code >= 0)
		return code;
	if (reading.ended) {
		listing_names(cli, fields);
		return 0;
	}
	const char *list = sstat.jobs              ? sstat.jobs
			   : reading.operand_count ? reading.operands[0]
						   : NULL;

	if (!list) {
		slurm_error(cli, NAME, "You didn't give me any jobs to stat.");
		return 1;
	}
	if (!listing_read(cli, NAME, fields,
			  sstat.names  ? sstat.names
			  : sstat.pids ? FIELDS_PIDS
				       : FIELDS,
			  &sstat.listing))
		return 1;
	if (sstat.verbose)
		slurm_say(cli, "sstat: looking at %s", list);
	return print_all(cli, &sstat, list);
}

static const struct slurm_field_table tables[] = { { "steps", fields }, { 0 } };

const struct slurm_command slurm_sstat = { .name = NAME,
					   .summary = "show what running steps use",
					   .operands = "[JOB[.STEP]…]",
					   .syntax = &syntax,
					   .fields = tables,
					   .run = run };
