/* sacct: what ran, and how it ended, from the service's history. */
#include "cli/slurm/sacct.h"

#include "cli/service.h"
#include "cli/slurm/json.h"

#include <strata/slurm.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define NAME "sacct"
#define FIELDS "jobid,jobname,partition,account,alloccpus,state,exitcode"
#define FIELDS_BRIEF "jobid,state,exitcode"
#define FIELDS_LONG                                                                         \
	"jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize," \
	"maxrss,maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,"  \
	"mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,"      \
	"avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,"       \
	"maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,"             \
	"maxdiskwritenode,maxdiskwritetask,avediskwrite,reqtres,alloctres"
/* A job may have waited and run for so long before it ended within the time that is asked for. */
#define LONGEST_NS (INT64_C(62) * 86400 * STRATA_SECOND_NS)

static void print_fields(struct cli *cli)
{
	for (size_t i = 0; sacct_fields[i].write; i++)
		cli_printf(cli, "%-19s%s", sacct_fields[i].name,
			   i % 4 == 3 || !sacct_fields[i + 1].write ? "\n" : " ");
}

/* -p and -P: a delimiter between columns; of -p also behind the last. */
static int read_parsable(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	struct sacct *sacct = reading->into;

	(void)value, (void)err;
	sacct->delimiter = sacct->delimiter ? sacct->delimiter : "|";
	sacct->delimiter_last = row->option.letter == 'p';
	return 0;
}

#define FIELD(name) offsetof(struct sacct, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	{ { "accounts", 'A', VALUE, .help = "jobs of these accounts" }, slurm_read_text, FIELD(accounts) },
	SLURM_ROW_HOLDS("allclusters", 'L', "jobs of all clusters"),
	{ { "allocations", 'X', .help = "jobs without their steps" }, slurm_read_flag, FIELD(only_jobs) },
	{ { "allusers", 'a', .help = "jobs of everybody" }, slurm_read_text, FIELD(users) },
	SLURM_ROW_IGNORED("associations", 'x', VALUE, "jobs of these associations"),
	SLURM_ROW_IGNORED("batch-script", 'B', STRATA_SLURM_NONE, "the script, which is not kept for reading"),
	{ { "brief", 'b', .help = "number, state and exit code" }, slurm_read_text, FIELD(fields), FIELDS_BRIEF },
	SLURM_ROW_IGNORED("cluster", 0, VALUE, "jobs of these clusters"),
	SLURM_ROW_IGNORED("clusters", 'M', VALUE, "jobs of these clusters"),
	SLURM_ROW_IGNORED("completion", 'c', STRATA_SLURM_NONE, "from the log of ended jobs"),
	{ { "constraints", 'C', VALUE, .help = "jobs that ask for these features" }, slurm_read_text, FIELD(features) },
	{ { "delimiter", 0, VALUE, .help = "what stands between columns of -p and -P" }, slurm_read_text, FIELD(delimiter) },
	SLURM_ROW_HOLDS("duplicates", 'D', "every record of a job, of which there is one"),
	{ { "endtime", 'E', VALUE, .help = "jobs until then" }, slurm_read_text, FIELD(until) },
	SLURM_ROW_IGNORED("env-vars", 0, STRATA_SLURM_NONE, "the environment, which is not kept for reading"),
	SLURM_ROW_HOLDS("federation", 0, "jobs of the federation, which is this cluster"),
	SLURM_ROW_REFUSED("file", 'f', "a file of an accounting of old"),
	SLURM_ROW_IGNORED("flags", 'F', VALUE, "jobs with these flags"),
	{ { "format", 'o', VALUE, .env = "SACCT_FORMAT", .help = "columns: jobid,jobname%20,state" }, slurm_read_text, FIELD(fields) },
	{ { "gid", 'g', VALUE, .help = "jobs of these groups" }, slurm_read_text, FIELD(groups) },
	{ { "group", 0, VALUE, .help = "jobs of these groups" }, slurm_read_text, FIELD(groups) },
	SLURM_ROW_HELP('h'),
	{ { "helpformat", 'e', .help = "list the columns" }, slurm_read_end, 0 },
	{ { "jobs", 'j', VALUE, .help = "these jobs" }, slurm_read_text, FIELD(jobs) },
	{ { "json", 0, .help = "as JSON" }, slurm_read_flag, FIELD(json) },
	SLURM_ROW_HOLDS("local", 0, "jobs of this cluster only"),
	{ { "long", 'l', .help = "all common columns" }, slurm_read_text, FIELD(fields), FIELDS_LONG },
	{ { "name", 0, VALUE, .help = "jobs of these names" }, slurm_read_text, FIELD(names) },
	{ { "ncpus", 'I', VALUE, .help = "jobs with so many CPUs: 4, 2-8" }, sacct_read_range, FIELD(cpus) },
	{ { "nnodes", 'i', VALUE, .help = "jobs on so many nodes: 1, 2-4" }, sacct_read_range, FIELD(nodes_used) },
	SLURM_ROW_IGNORED("noconvert", 0, STRATA_SLURM_NONE, "sizes in the units they were given in"),
	{ { "nodelist", 'N', VALUE, .help = "jobs on these nodes" }, slurm_read_text, FIELD(nodes) },
	{ { "noheader", 'n', .help = "no titles" }, slurm_read_flag, FIELD(headless) },
	{ { "parsable", 'p', .help = "columns between delimiters, one behind the last" }, read_parsable, 0 },
	{ { "parsable2", 'P', .help = "columns between delimiters" }, read_parsable, 0 },
	{ { "partition", 'r', VALUE, .help = "jobs of these partitions" }, slurm_read_text, FIELD(partitions) },
	{ { "qos", 'q', VALUE, .help = "jobs of these qualities of service" }, slurm_read_text, FIELD(qos) },
	SLURM_ROW_IGNORED("reason", 'R', VALUE, "jobs that waited for these reasons"),
	{ { "starttime", 'S', VALUE, .help = "jobs since then" }, slurm_read_text, FIELD(from) },
	{ { "state", 's', VALUE, .help = "jobs in these states: F,CD" }, slurm_read_text, FIELD(states) },
	{ { "timelimit-max", 'K', VALUE, .help = "with --timelimit-min, jobs of a time limit up to this" }, sacct_read_limit, FIELD(limit_most_s) },
	{ { "timelimit-min", 'k', VALUE, .help = "jobs of this time limit; with --timelimit-max, of at least this" }, sacct_read_limit, FIELD(limit_least_s) },
	{ { "truncate", 'T', .help = "times cut to what was asked for" }, slurm_read_flag, FIELD(truncate) },
	{ { "uid", 0, VALUE, .help = "jobs of these users" }, slurm_read_text, FIELD(users) },
	SLURM_ROW_IGNORED("units", 0, VALUE, "the unit of sizes"),
	SLURM_ROW_USAGE('U'),
	SLURM_ROW_HOLDS("use-local-uid", 0, "users by their numbers here"),
	{ { "user", 'u', VALUE, .help = "jobs of these users" }, slurm_read_text, FIELD(users) },
	SLURM_ROW_IGNORED("verbose", 'v', STRATA_SLURM_NONE, "say more"),
	SLURM_ROW_VERSION,
	SLURM_ROW_IGNORED("wckeys", 'W', VALUE, "jobs of these labels"),
	SLURM_ROW_IGNORED("whole-hetjob", 0, STRATA_SLURM_OPTIONAL, "all parts of heterogeneous jobs"),
	SLURM_ROW_IGNORED("yaml", 0, STRATA_SLURM_NONE, "as YAML"),
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

static bool read_fields(struct cli *cli, struct sacct *sacct)
{
	const char *text = sacct->fields ? sacct->fields : FIELDS;
	int rc = slurm_format_read_list(sacct_fields, text, &cli->arena, &sacct->format, &cli->err);

	if (rc)
		slurm_error(cli, NAME, "%s", cli->err.text);
	return rc == 0;
}

static int64_t midnight_ns(void)
{
	time_t now = time(NULL);
	struct tm parts;

	localtime_r(&now, &parts);
	parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
	return (int64_t)mktime(&parts) * STRATA_SECOND_NS;
}

static bool read_time(struct cli *cli, const char *text, int64_t *ret_ns)
{
	int64_t now_ns = when_now_ns();

	if (!text || strata_begin_parse(text, STRATA_TEXT_NUL, now_ns, when_zone(now_ns), ret_ns,
					&cli->err) == 0)
		return true;
	slurm_say(cli, "Invalid time specification (pos=0): %s", text);
	return false;
}

/* Of today, unless jobs are named. */
static bool read_times(struct cli *cli, struct sacct *sacct)
{
	if (!read_time(cli, sacct->from, &sacct->from_ns) ||
	    !read_time(cli, sacct->until, &sacct->until_ns))
		return false;
	if (!sacct->from && !sacct->jobs)
		sacct->from_ns = midnight_ns();
	return true;
}

/* ---- all of it ---- */

static int print(struct cli *cli, const struct sacct *sacct)
{
	char since[STRATA_FORM_BYTES];
	struct slurm_jobs jobs;
	size_t kept = 0;
	int64_t since_ns = sacct->from_ns > LONGEST_NS ? sacct->from_ns - LONGEST_NS : 0;
	const char *text = since_ns ? strata_time_print(since_ns, since) : NULL;
	int rc = sacct->jobs ? slurm_jobs_named(cli, sacct->jobs, &jobs)
			     : slurm_jobs_history(cli, text, sacct->users, &jobs);

	if (rc) {
		slurm_error(cli, NAME, "slurmdbd: %s", cli->err.text);
		return 1;
	}
	for (size_t i = 0; i < jobs.count; i++)
		if (sacct_wants(cli, sacct, &jobs.list[i]))
			jobs.list[kept++] = jobs.list[i];
	jobs.count = kept;
	for (size_t i = 0; sacct->truncate && i < kept; i++)
		sacct_truncate(sacct, &jobs.list[i]);
	qsort(jobs.list, jobs.count, sizeof(*jobs.list), slurm_job_compare);
	rc = slurm_jobs_fold(cli, &jobs);
	if (rc == 0 && sacct->json)
		rc = slurm_print_jobs_json(cli, &jobs);
	else if (rc == 0 && !sacct->headless)
		sacct_print_head(cli, sacct);
	for (size_t i = 0; rc == 0 && !sacct->json && i < jobs.count; i++)
		sacct_print_job(cli, sacct, &jobs.list[i]);
	slurm_jobs_fini(&jobs);
	return rc ? 1 : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sacct sacct = { 0 };
	struct slurm_reading reading;

	if (geteuid() != 0)
		sacct.users = service_own_name(cli); /* root sees everybody's */
	int code = slurm_options(cli, &slurm_sacct, argc, argv, &sacct, &reading);

	if (code >= 0)
		return code;
	if (reading.ended) {
		print_fields(cli);
		return 0;
	}
	if (!read_fields(cli, &sacct) || !read_times(cli, &sacct))
		return 1;
	return print(cli, &sacct);
}

static const struct slurm_field_table tables[] = { { "jobs and steps", sacct_fields }, { 0 } };

const struct slurm_command slurm_sacct = { .name = NAME,
					   .summary = "show what ran and how it ended",
					   .syntax = &syntax,
					   .fields = tables,
					   .run = run };
