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

enum { JSON = 256, NOTHING, NAMES, DELIMITER, HELP, USAGE };

static const struct option options[] = {
	{ "accounts", required_argument, NULL, 'A' },
	{ "allocations", no_argument, NULL, 'X' },
	{ "allusers", no_argument, NULL, 'a' },
	{ "brief", no_argument, NULL, 'b' },
	{ "cluster", required_argument, NULL, NOTHING },
	{ "clusters", required_argument, NULL, NOTHING },
	{ "completion", no_argument, NULL, NOTHING },
	{ "constraints", required_argument, NULL, NOTHING },
	{ "delimiter", required_argument, NULL, DELIMITER },
	{ "duplicates", no_argument, NULL, NOTHING },
	{ "endtime", required_argument, NULL, 'E' },
	{ "flags", required_argument, NULL, NOTHING },
	{ "format", required_argument, NULL, 'o' },
	{ "gid", required_argument, NULL, NOTHING },
	{ "group", required_argument, NULL, NOTHING },
	{ "help", no_argument, NULL, HELP },
	{ "helpformat", no_argument, NULL, 'e' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "json", no_argument, NULL, JSON },
	{ "local", no_argument, NULL, NOTHING },
	{ "long", no_argument, NULL, 'l' },
	{ "name", required_argument, NULL, NAMES },
	{ "ncpus", required_argument, NULL, NOTHING },
	{ "nnodes", required_argument, NULL, NOTHING },
	{ "noconvert", no_argument, NULL, NOTHING },
	{ "nodelist", required_argument, NULL, 'N' },
	{ "noheader", no_argument, NULL, 'n' },
	{ "parsable", no_argument, NULL, 'p' },
	{ "parsable2", no_argument, NULL, 'P' },
	{ "partition", required_argument, NULL, 'r' },
	{ "qos", required_argument, NULL, 'q' },
	{ "starttime", required_argument, NULL, 'S' },
	{ "state", required_argument, NULL, 's' },
	{ "timelimit-max", required_argument, NULL, NOTHING },
	{ "timelimit-min", required_argument, NULL, NOTHING },
	{ "truncate", no_argument, NULL, NOTHING },
	{ "uid", required_argument, NULL, 'u' },
	{ "units", required_argument, NULL, NOTHING },
	{ "usage", no_argument, NULL, USAGE },
	{ "user", required_argument, NULL, 'u' },
	{ "verbose", no_argument, NULL, NOTHING },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static void print_fields(struct cli *cli)
{
	const struct sacct_field *field;

	for (size_t i = 0; (field = sacct_field_at(i)); i++)
		cli_printf(cli, "%-19s%s", field->name,
			   i % 4 == 3 || !sacct_field_at(i + 1) ? "\n" : " ");
}

/* -1, or the exit code of an option that ends it. */
static int take_option(struct cli *cli, struct sacct *sacct, int letter)
{
	switch (letter) {
	case 'a':
		sacct->users = NULL;
		break;
	case 'A':
		sacct->accounts = optarg;
		break;
	case 'b':
		sacct->fields = FIELDS_BRIEF;
		break;
	case 'e':
		print_fields(cli);
		return 0;
	case 'E':
		sacct->until = optarg;
		break;
	case 'j':
		sacct->jobs = optarg;
		break;
	case 'l':
		sacct->fields = FIELDS_LONG;
		break;
	case 'n':
		sacct->head = false;
		break;
	case 'N':
		sacct->nodes = optarg;
		break;
	case 'o':
		sacct->fields = optarg;
		break;
	case 'p':
	case 'P':
		sacct->delimiter = sacct->delimiter ? sacct->delimiter : "|";
		sacct->delimiter_last = letter == 'p';
		break;
	case 'q':
		sacct->qos = optarg;
		break;
	case 'r':
		sacct->partitions = optarg;
		break;
	case 's':
		sacct->states = optarg;
		break;
	case 'S':
		sacct->from = optarg;
		break;
	case 'u':
		sacct->users = optarg;
		break;
	case 'X':
		sacct->only_jobs = true;
		break;
	case NAMES:
		sacct->names = optarg;
		break;
	case DELIMITER:
		sacct->delimiter = optarg;
		break;
	case JSON:
		sacct->json = true;
		break;
	case 'V':
		return slurm_version(cli);
	case HELP:
	case 'h':
		slurm_help(cli, &slurm_sacct, options, NOTHING);
		return 0;
	case USAGE:
		slurm_help(cli, &slurm_sacct, options, NOTHING);
		return 0;
	case '?':
		return 1;
	}
	return -1;
}

/* "jobid,jobname%20,state%-12" */
static bool read_fields(struct cli *cli, struct sacct *sacct)
{
	const char *text = sacct->fields ? sacct->fields : FIELDS;

	sacct->columns = strata_arena_array(&cli->arena, strlen(text) + 1, sizeof(*sacct->columns));
	for (const char *at = text; sacct->columns && *at;) {
		size_t span = strcspn(at, ","), name = strcspn(at, "%,");
		struct sacct_column column = { .field = sacct_field_find(at, name) };

		if (name == 0) {
			at += span + (at[span] == ',');
			continue;
		}
		if (!column.field) {
			slurm_error(cli, NAME, "Invalid field requested: \"%.*s\"", (int)name, at);
			return false;
		}
		column.width = column.field->width;
		if (name < span) {
			long width = strtol(at + name + 1, NULL, 10);

			if (width && labs(width) < 10000)
				column.width = column.width < 0 && width > 0 ? -(int)width
									     : (int)width;
		}
		sacct->columns[sacct->column_count++] = column;
		at += span + (at[span] == ',');
	}
	return sacct->columns;
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

/* ---- which jobs ---- */

static bool job_named(const char *list, const struct slurm_job *job)
{
	for (const char *at = list; *at;) {
		char *end;
		int64_t id = strtoll(at, &end, 10);
		size_t span = strcspn(at, ",");

		if (*end == '_'
			    ? id == job->array_id && strtoll(end + 1, NULL, 10) == job->array_index
			    : id == job->id || id == job->array_id)
			return true;
		at += span + (at[span] == ',');
	}
	return false;
}

static bool state_named(const char *list, const struct slurm_job *job)
{
	for (const char *at = list; *at;) {
		size_t span = strcspn(at, ",");

		if (slurm_state_find(at, span) == job->state)
			return true;
		at += span + (at[span] == ',');
	}
	return false;
}

static bool ran_on(struct cli *cli, const char *nodes, const struct slurm_job *job)
{
	const json_t *place = json_object_get(job->json, "place"), *piece;
	const char **names;
	size_t count, index;

	if (strata_hostlist_expand(nodes, STRATA_TEXT_NUL, &cli->arena, &names, &count, NULL))
		return false;
	json_array_foreach(place, index, piece)
	{
		for (size_t i = 0; i < count; i++)
			if (strcmp(names[i], grid_or(json_object_get(piece, "node"), "")) == 0)
				return true;
	}
	return false;
}

static bool in_time(const struct sacct *sacct, const struct slurm_job *job)
{
	bool over = job->ended && job->end_ns < sacct->from_ns;

	return !over && (!sacct->until_ns || job->eligible_ns <= sacct->until_ns);
}

static bool wanted(struct cli *cli, const struct sacct *sacct, const struct slurm_job *job)
{
	return in_time(sacct, job) && (!sacct->users || slurm_listed(sacct->users, job->user)) &&
	       (!sacct->jobs || job_named(sacct->jobs, job)) &&
	       (!sacct->states || state_named(sacct->states, job)) &&
	       (!sacct->accounts || slurm_listed(sacct->accounts, job->account)) &&
	       (!sacct->partitions || slurm_listed(sacct->partitions, job->partition)) &&
	       (!sacct->names || slurm_listed(sacct->names, job->name)) &&
	       (!sacct->qos || slurm_listed(sacct->qos, job->qos)) &&
	       (!sacct->nodes || ran_on(cli, sacct->nodes, job));
}

/* ---- all of it ---- */

static int print_json(struct cli *cli, const struct slurm_jobs *jobs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < jobs->count; i++)
		json_array_append_new(list, slurm_job_json(&jobs->list[i]));
	return slurm_print_json(cli, "jobs", list);
}

/* From the first to the last. */
static int compare(const void *left_any, const void *right_any)
{
	const struct slurm_job *left = left_any, *right = right_any;

	return (left->id > right->id) - (left->id < right->id);
}

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
		if (wanted(cli, sacct, &jobs.list[i]))
			jobs.list[kept++] = jobs.list[i];
	jobs.count = kept;
	qsort(jobs.list, jobs.count, sizeof(*jobs.list), compare);
	rc = slurm_jobs_fold(cli, &jobs);
	if (rc == 0 && sacct->json)
		rc = print_json(cli, &jobs);
	else if (rc == 0 && sacct->head)
		sacct_print_head(cli, sacct);
	for (size_t i = 0; rc == 0 && !sacct->json && i < jobs.count; i++)
		sacct_print_job(cli, sacct, &jobs.list[i]);
	slurm_jobs_fini(&jobs);
	return rc ? 1 : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sacct sacct = { .head = true, .fields = getenv("SACCT_FORMAT") };
	int letter, code;

	if (geteuid() != 0)
		sacct.users = service_own_name(cli); /* root sees everybody's */
	while ((letter = slurm_option(argc, argv,
				      "aA:bcC:DeE:F:g:hi:I:j:k:K:lLM:nN:o:pPq:r:s:S:Ttu:UvVW:x:X",
				      options)) >= 0) {
		code = take_option(cli, &sacct, letter);
		if (code >= 0)
			return code;
	}
	if (!read_fields(cli, &sacct) || !read_times(cli, &sacct))
		return 1;
	return print(cli, &sacct);
}

const struct slurm_command slurm_sacct = { NAME, "show what ran and how it ended", run };
