/* sacct: what ran, and how it ended, from the service's history. */
#include "cli/slurm/sacct.h"

#include "cli/service.h"
#include "cli/slurm/json.h"

#include <strata/slurm.h>

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
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

/* -p and -P: a delimiter between columns; of -p also behind the last. */
static int read_parsable(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	struct sacct *sacct = reading->into;

	(void)value, (void)err;
	sacct->listing.delimiter = sacct->listing.delimiter ? sacct->listing.delimiter : "|";
	sacct->listing.delimiter_last = row->option.letter == 'p';
	return 0;
}

static int read_own_units(struct slurm_reading *reading, const struct slurm_row *row,
			  const char *value, struct strata_error *err)
{
	(void)row, (void)value, (void)err;
	((struct sacct *)reading->into)->unit = SLURM_UNIT_OWN;
	return 0;
}

static int read_unit(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		     struct strata_error *err)
{
	char unit = (char)toupper((unsigned char)value[0]);

	(void)row;
	if (!unit || value[1] || !strchr("KMGTP", unit))
		return strata_fail(err, -EINVAL, "Invalid unit type: %.20s", value);
	((struct sacct *)reading->into)->unit = unit;
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
	{ { "batch-script", 'B', .help = "the script of each job" }, slurm_read_flag, FIELD(script) },
	{ { "brief", 'b', .help = "number, state and exit code" }, slurm_read_text, FIELD(fields), FIELDS_BRIEF },
	{ { "cluster", 0, VALUE, .help = "jobs of these clusters" }, slurm_read_text, FIELD(clusters) },
	{ { "clusters", 'M', VALUE, .help = "jobs of these clusters" }, slurm_read_text, FIELD(clusters) },
	SLURM_ROW_IGNORED("completion", 'c', STRATA_SLURM_NONE, "from the log of ended jobs"),
	{ { "constraints", 'C', VALUE, .help = "jobs that ask for these features" }, slurm_read_text, FIELD(features) },
	{ { "delimiter", 0, VALUE, .help = "what stands between columns of -p and -P" }, slurm_read_text, FIELD(listing.delimiter) },
	SLURM_ROW_HOLDS("duplicates", 'D', "every record of a job, of which there is one"),
	{ { "endtime", 'E', VALUE, .help = "jobs until then" }, slurm_read_text, FIELD(until) },
	{ { "env-vars", 0, .help = "the variables of each job" }, slurm_read_flag, FIELD(variables) },
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
	{ { "noconvert", 0, .help = "sizes in megabytes: 2048M stays so" }, read_own_units, 0 },
	{ { "nodelist", 'N', VALUE, .help = "jobs on these nodes" }, slurm_read_text, FIELD(nodes) },
	{ { "noheader", 'n', .help = "no titles" }, slurm_read_flag, FIELD(listing.headless) },
	{ { "parsable", 'p', .help = "columns between delimiters, one behind the last" }, read_parsable, 0 },
	{ { "parsable2", 'P', .help = "columns between delimiters" }, read_parsable, 0 },
	{ { "partition", 'r', VALUE, .help = "jobs of these partitions" }, slurm_read_text, FIELD(partitions) },
	{ { "qos", 'q', VALUE, .help = "jobs of these qualities of service" }, slurm_read_text, FIELD(qos) },
	{ { "reason", 'R', VALUE, .help = "jobs that wait, or ended, for these reasons" }, slurm_read_text, FIELD(reasons) },
	{ { "starttime", 'S', VALUE, .help = "jobs since then" }, slurm_read_text, FIELD(from) },
	{ { "state", 's', VALUE, .help = "jobs in these states: F,CD" }, slurm_read_text, FIELD(states) },
	{ { "timelimit-max", 'K', VALUE, .help = "with --timelimit-min, jobs of a time limit up to this" }, sacct_read_limit, FIELD(limit_most_s) },
	{ { "timelimit-min", 'k', VALUE, .help = "jobs of this time limit; with --timelimit-max, of at least this" }, sacct_read_limit, FIELD(limit_least_s) },
	{ { "truncate", 'T', .help = "times cut to what was asked for" }, slurm_read_flag, FIELD(truncate) },
	{ { "uid", 0, VALUE, .help = "jobs of these users" }, slurm_read_text, FIELD(users) },
	{ { "units", 0, VALUE, .help = "the unit of sizes: K, M, G, T, P" }, read_unit, 0 },
	SLURM_ROW_USAGE('U'),
	SLURM_ROW_HOLDS("use-local-uid", 0, "users by their numbers here"),
	{ { "user", 'u', VALUE, .help = "jobs of these users" }, slurm_read_text, FIELD(users) },
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
	SLURM_ROW_VERSION,
	{ { "wckeys", 'W', VALUE, .help = "jobs of these labels" }, slurm_read_text, FIELD(wckeys) },
	{ { "whole-hetjob", 0, STRATA_SLURM_OPTIONAL, 0, NULL, STRATA_SLURM_HOLDS, "all parts of heterogeneous jobs, of which there are none" }, NULL, 0 },
	{ { "yaml", 0, .help = "as YAML" }, slurm_read_flag, FIELD(yaml) },
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

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
		if (sacct_wants(cli, sacct, &jobs.list[i])) {
			jobs.list[i].unit = sacct->unit;
			jobs.list[kept++] = jobs.list[i];
		}
	jobs.count = kept;
	for (size_t i = 0; sacct->truncate && i < kept; i++)
		sacct_truncate(sacct, &jobs.list[i]);
	qsort(jobs.list, jobs.count, sizeof(*jobs.list), slurm_job_compare);
	rc = slurm_jobs_fold(cli, &jobs);
	bool written = sacct->script || sacct->variables, object = sacct->json || sacct->yaml;

	if (rc == 0 && object)
		rc = slurm_print_jobs_as(cli, &jobs, sacct->yaml);
	else if (rc == 0 && !written)
		listing_head(cli, &sacct->listing);
	for (size_t i = 0; rc == 0 && !object && i < jobs.count; i++)
		if (written)
			sacct_print_text(cli, &jobs.list[i], sacct->variables);
		else
			sacct_print_job(cli, sacct, &jobs.list[i]);
	slurm_jobs_fini(&jobs);
	return rc ? 1 : 0;
}

/* Users that there are, and states that are some. */
static bool check_names(struct cli *cli, const struct sacct *sacct, const char *users)
{
	for (const char *at = users; at && *at;) {
		size_t span = strcspn(at, ",");
		char *name = strata_arena_text(&cli->arena, at, span);
		bool number = name && strspn(name, "0123456789") == span;

		if (name && !number && !getpwnam(name)) {
			slurm_error(cli, NAME, "Invalid user id: %s", name);
			return false;
		}
		at += span + (at[span] == ',');
	}
	for (const char *at = sacct->states; at && *at;) {
		size_t span = strcspn(at, ",");

		if (!slurm_state_find(at, span)) {
			slurm_say(cli, "sacct: fatal: unrecognized job state value '%.*s'",
				  (int)span, at);
			return false;
		}
		at += span + (at[span] == ',');
	}
	return true;
}

static bool is_ours(struct cli *cli, const char *clusters)
{
	json_t *session = NULL;
	bool ours = true;

	if (clusters && service_list(cli, "session", &session) == 0)
		ours = strcasecmp(clusters, "all") == 0 ||
		       slurm_listed(clusters, grid_or(json_object_get(session, "cluster"), ""));
	json_decref(session);
	return ours;
}

/* --verbose: of which time. */
static void tell_window(struct cli *cli, const struct sacct *sacct)
{
	char from[64] = "Epoch 0", until[64] = "Now";
	time_t ends[] = { (time_t)(sacct->from_ns / STRATA_SECOND_NS),
			  (time_t)(sacct->until_ns / STRATA_SECOND_NS) };
	struct tm parts;

	if (ends[0] && localtime_r(&ends[0], &parts))
		strftime(from, sizeof(from), "%a %b %d %H:%M:%S %Y", &parts);
	if (ends[1] && localtime_r(&ends[1], &parts))
		strftime(until, sizeof(until), "%a %b %d %H:%M:%S %Y", &parts);
	slurm_say(cli, "sacct: Jobs Eligible in the time window from %s to %s", from, until);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sacct sacct = { 0 };
	struct slurm_reading reading;

	const char *own = geteuid() != 0 ? service_own_name(cli) : NULL;

	if (own)
		sacct.users = own; /* root sees everybody's */
	int code = slurm_options(cli, &slurm_sacct, argc, argv, &sacct, &reading);

	if (code >= 0)
		return code;
	if (reading.ended) {
		listing_names(cli, sacct_fields);
		return 0;
	}
	if (!listing_read(cli, NAME, sacct_fields, sacct.fields ? sacct.fields : FIELDS,
			  &sacct.listing) ||
	    !read_times(cli, &sacct))
		return 1;
	if (!check_names(cli, &sacct, sacct.users == own ? NULL : sacct.users))
		return 1;
	if (sacct.verbose)
		tell_window(cli, &sacct);
	if (!is_ours(cli, sacct.clusters)) { /* which is no mistake to Slurm */
		listing_head(cli, &sacct.listing);
		return 0;
	}
	return print(cli, &sacct);
}

static const struct slurm_field_table tables[] = { { "jobs and steps", sacct_fields }, { 0 } };

const struct slurm_command slurm_sacct = { .name = NAME,
					   .summary = "show what ran and how it ended",
					   .syntax = &syntax,
					   .fields = tables,
					   .run = run };
