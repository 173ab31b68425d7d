/* squeue: what runs and what waits, as Slurm shows it. */
#include "cli/slurm/squeue.h"

#include "cli/service.h"
#include "cli/slurm/json.h"

#include <strata/slurm.h>

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME "squeue"
#define FORMAT "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define FORMAT_LONG "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define FORMAT_START "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
#define FORMAT_STEPS "%.15i %.8j %.9P %.8u %.9M %N"

struct squeue {
	const char *accounts, *jobs, *names, *partitions, *qos, *states, *users, *nodes, *steps;
	const char *format, *format_names, *sort, *clusters, *licenses, *reservation;
	int64_t every_s; /* 0: once */
	int64_t verbose;
	bool own_units, headless, each, detailed, start, by_step, json, wants_jobs;
};

/* ---- options ---- */

/* -j may come with its list behind a blank, where it is an operand to getopt. */
static int read_jobs(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		     struct strata_error *err)
{
	struct squeue *squeue = reading->into;

	squeue->wants_jobs = true;
	return value ? slurm_read_text(reading, row, value, err) : 0;
}

static int read_steps(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		      struct strata_error *err)
{
	struct squeue *squeue = reading->into;

	squeue->by_step = true;
	return slurm_read_text(reading, row, value, err);
}

/* The last of -l, -o and -O counts, but for -O before -l or -o. */
static int read_format_text(struct slurm_reading *reading, const struct slurm_row *row,
			    const char *value, struct strata_error *err)
{
	struct squeue *squeue = reading->into;

	squeue->format_names = NULL;
	return slurm_read_text(reading, row, value, err);
}

static int read_long(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		     struct strata_error *err)
{
	struct squeue *squeue = reading->into;

	squeue->format = squeue->format_names = NULL;
	return slurm_read_flag(reading, row, value, err);
}

static int read_interval(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	if (slurm_interval_parse(value, slurm_row_field(reading, row)))
		return 0;
	slurm_say((struct cli *)reading->context, "Error: --iterate=%s", value);
	return -ECANCELED;
}

#define FIELD(name) offsetof(struct squeue, name)
#define VALUE STRATA_SLURM_REQUIRED
#define MAYBE STRATA_SLURM_OPTIONAL

/* clang-format off */
static const struct slurm_row rows[] = {
	{ { "account", 'A', VALUE, .env = "SQUEUE_ACCOUNT", .help = "jobs of these accounts" }, slurm_read_text, FIELD(accounts) },
	{ { "accounts", 0, VALUE, .help = "jobs of these accounts" }, slurm_read_text, FIELD(accounts) },
	SLURM_ROW_HOLDS("all", 'a', "jobs of hidden partitions too"),
	{ { "array", 'r', .env = "SQUEUE_ARRAY", .help = "a line for each element of an array" }, slurm_read_flag, FIELD(each) },
	{ { "array-unique", 0, .env = "SQUEUE_ARRAY_UNIQUE", .help = "a line for each element of an array" }, slurm_read_flag, FIELD(each) },
	{ { "cluster", 0, VALUE, .help = "jobs of these clusters" }, slurm_read_text, FIELD(clusters) },
	{ { "clusters", 'M', VALUE, .help = "jobs of these clusters" }, slurm_read_text, FIELD(clusters) },
	SLURM_ROW_HOLDS("federation", 0, "jobs of the federation"),
	{ { "format", 'o', VALUE, .env = "SQUEUE_FORMAT", .help = "columns as letters: %.18i %j" }, read_format_text, FIELD(format) },
	{ { "Format", 'O', VALUE, .env = "SQUEUE_FORMAT2", .help = "columns as names: jobid:10,name" }, slurm_read_text, FIELD(format_names) },
	SLURM_ROW_HELP(0),
	SLURM_ROW_HOLDS("hide", 0, "no jobs of hidden partitions"),
	{ { "iterate", 'i', VALUE, .help = "again every so many seconds" }, read_interval, FIELD(every_s) },
	{ { "jobs", 'j', MAYBE, .help = "these jobs" }, read_jobs, FIELD(jobs) },
	{ { "json", 0, .help = "as JSON" }, slurm_read_flag, FIELD(json) },
	{ { "licenses", 'L', VALUE, .help = "jobs that hold these licenses" }, slurm_read_text, FIELD(licenses) },
	SLURM_ROW_HOLDS("local", 0, "jobs of this cluster only"),
	{ { "long", 'l', .help = "more columns" }, read_long, FIELD(detailed) },
	{ { "me", 0, .help = "my own jobs" }, slurm_read_own_name, FIELD(users) },
	{ { "name", 'n', VALUE, .env = "SQUEUE_NAMES", .help = "jobs of these names" }, slurm_read_text, FIELD(names) },
	{ { "noconvert", 0, .help = "sizes in megabytes: 2048M stays so" }, slurm_read_flag, FIELD(own_units) },
	{ { "nodelist", 'w', VALUE, .help = "jobs on these nodes" }, slurm_read_text, FIELD(nodes) },
	{ { "nodes", 0, VALUE, .help = "jobs on these nodes" }, slurm_read_text, FIELD(nodes) },
	{ { "noheader", 'h', .help = "no titles" }, slurm_read_flag, FIELD(headless) },
	{ { "partition", 'p', VALUE, .env = "SQUEUE_PARTITION", .help = "jobs of these partitions" }, slurm_read_text, FIELD(partitions) },
	{ { "partitions", 0, VALUE, .help = "jobs of these partitions" }, slurm_read_text, FIELD(partitions) },
	SLURM_ROW_HOLDS("priority", 'P', "a line for each partition of a job"),
	{ { "qos", 'q', VALUE, .env = "SQUEUE_QOS", .help = "jobs of these qualities of service" }, slurm_read_text, FIELD(qos) },
	{ { "reservation", 'R', VALUE, .help = "jobs of this reservation" }, slurm_read_text, FIELD(reservation) },
	SLURM_ROW_HOLDS("sibling", 0, "jobs of the federation's other clusters"),
	{ { "sort", 'S', VALUE, .env = "SQUEUE_SORT", .help = "the order, as letters of columns: P,t,-p" }, slurm_read_text, FIELD(sort) },
	{ { "start", 0, .help = "when waiting jobs are expected to start" }, slurm_read_flag, FIELD(start) },
	{ { "state", 0, VALUE, .help = "jobs in these states: PD,R, all" }, slurm_read_text, FIELD(states) },
	{ { "states", 't', VALUE, .env = "SQUEUE_STATES", .help = "jobs in these states: PD,R, all" }, slurm_read_text, FIELD(states) },
	{ { "steps", 's', MAYBE, .help = "steps of running jobs" }, read_steps, FIELD(steps) },
	SLURM_ROW_USAGE(0),
	{ { "user", 'u', VALUE, .env = "SQUEUE_USERS", .help = "jobs of these users" }, slurm_read_text, FIELD(users) },
	{ { "users", 0, VALUE, .help = "jobs of these users" }, slurm_read_text, FIELD(users) },
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

/* The users that there are, of those that are named; numbers are looked up. */
static void check_users(struct cli *cli, struct squeue *squeue)
{
	char *copy = strata_arena_printf(&cli->arena, "%s", squeue->users), *rest;
	const char *good = "";

	for (char *at = copy ? strtok_r(copy, ",", &rest) : NULL; at;
	     at = strtok_r(NULL, ",", &rest)) {
		char *end;
		unsigned long uid = strtoul(at, &end, 10);
		const struct passwd *row = *end ? getpwnam(at) : getpwuid((uid_t)uid);

		if (row) {
			good = strata_arena_printf(&cli->arena, "%s%s%s", good, *good ? "," : "",
						   row->pw_name);
		} else {
			slurm_error(cli, NAME, "Invalid user: %s", at);
			slurm_say(cli, "%s", "");
		}
	}
	squeue->users = good ? good : "";
}

static bool check_states(struct cli *cli, const struct squeue *squeue)
{
	const struct slurm_state *state;
	struct buf all;

	for (const char *at = squeue->states; at && *at;) {
		size_t span = strcspn(at, ",");
		bool every = span == 3 && strncasecmp(at, "all", 3) == 0;

		if (!every && !slurm_state_find(at, span)) {
			buf_init(&all, &cli->memory, 0);
			for (size_t i = 0; (state = slurm_state_at(i)); i++)
				buf_printf(&all, "%s%s", i ? "," : "", state->name);
			slurm_error(cli, NAME, "Invalid job state specified: %.*s", (int)span, at);
			slurm_error(cli, NAME, "Valid job states include: %s", all.text);
			slurm_say(cli, "%s", "");
			buf_fini(&all);
			return false;
		}
		at += span + (at[span] == ',');
	}
	return true;
}

/* ---- which jobs ---- */

static bool state_wanted(const struct squeue *squeue, const struct slurm_job *job)
{
	if (squeue->start)
		return job->pending;
	if (!squeue->states)
		return !job->ended;
	for (const char *at = squeue->states; *at;) {
		size_t span = strcspn(at, ",");

		if ((span == 3 && strncasecmp(at, "all", 3) == 0) ||
		    slurm_state_find(at, span) == job->state)
			return true;
		at += span + (at[span] == ',');
	}
	return false;
}

/* One of those that are named is among the job's, "matlab:2,ansys". */
static bool has_licenses(const char *list, const char *own)
{
	for (const char *at = own; list && at && *at;) {
		char name[64];
		size_t span = strcspn(at, ","), length = strcspn(at, ":,@");

		snprintf(name, sizeof(name), "%.*s", (int)length, at);
		if (slurm_listed(list, name))
			return true;
		at += span + (at[span] == ',');
	}
	return !list;
}

static bool wanted(struct cli *cli, const struct squeue *squeue, const struct slurm_job *job)
{
	return state_wanted(squeue, job) && (!squeue->jobs || slurm_job_named(job, squeue->jobs)) &&
	       (!squeue->users || slurm_listed(squeue->users, job->user)) &&
	       (!squeue->accounts || slurm_listed(squeue->accounts, job->account)) &&
	       (!squeue->partitions || slurm_listed(squeue->partitions, job->partition)) &&
	       (!squeue->names || slurm_listed(squeue->names, job->name)) &&
	       (!squeue->qos || slurm_listed(squeue->qos, job->qos)) &&
	       (!squeue->nodes || slurm_job_on(cli, job, squeue->nodes)) &&
	       has_licenses(squeue->licenses, slurm_job_note(job, "licenses")) &&
	       (!squeue->reservation ||
		slurm_listed(squeue->reservation,
			     grid_or(json_object_get(job->request, "reservation"), "")));
}

/* One job that is asked for by its number has to be there; of several some may be missing. */
static bool known(const struct squeue *squeue, const struct slurm_jobs *jobs)
{
	if (!squeue->jobs || strchr(squeue->jobs, ','))
		return true;
	for (size_t i = 0; i < jobs->count; i++)
		if (slurm_job_named(&jobs->list[i], squeue->jobs))
			return true;
	return false;
}

static void pick(struct cli *cli, const struct squeue *squeue, struct slurm_jobs *jobs)
{
	size_t kept = 0;

	for (size_t i = 0; i < jobs->count; i++)
		if (wanted(cli, squeue, &jobs->list[i])) {
			jobs->list[i].unit = squeue->own_units ? SLURM_UNIT_OWN : 0;
			jobs->list[kept++] = jobs->list[i];
		}
	jobs->count = kept;
}

/* ---- printing ---- */

static int read_format(struct cli *cli, const struct squeue *squeue,
		       struct slurm_format *ret_format)
{
	const struct slurm_field *fields = squeue->by_step ? squeue_step_fields : squeue_fields;
	const char *what = squeue->by_step ? "job step format specification"
					   : "job format specification";
	const char *usual = squeue->by_step    ? FORMAT_STEPS
			    : squeue->start    ? FORMAT_START
			    : squeue->detailed ? FORMAT_LONG
					       : FORMAT;

	return slurm_columns_read(cli, NAME, what, fields, squeue->format ? squeue->format : usual,
				  squeue->format_names, ret_format);
}

static void print_steps_of(struct cli *cli, const struct slurm_format *format,
			   const struct slurm_job *job)
{
	struct squeue_step batch = { .job = job,
				     .title = "batch",
				     .nodes = job->first_node,
				     .start_ns = job->start_ns,
				     .run_s = job->run_s,
				     .tasks = 1 };
	json_t *steps = slurm_steps(cli, job), *row;
	size_t index;

	slurm_columns_row(cli, format, &batch);
	json_array_foreach(steps, index, row)
	{
		int64_t start_ns = when_json(row, "started_at");
		struct squeue_step step = {
			.job = job,
			.name = strata_arena_printf(&cli->arena, "%lld",
						    (long long)grid_int(row, "number")),
			.title = grid_or(json_object_get(row, "name"), ""),
			.nodes = job->node_list,
			.start_ns = start_ns,
			.run_s = (when_now_ns() - start_ns) / STRATA_SECOND_NS,
			.tasks = grid_int(row, "tasks"),
		};

		if (!when_json(row, "ended_at"))
			slurm_columns_row(cli, format, &step);
	}
	json_decref(steps);
}

static int print_once(struct cli *cli, const void *context)
{
	const struct squeue *squeue = context;
	struct slurm_format format;
	struct slurm_jobs jobs;
	int rc = squeue->jobs ? slurm_jobs_find(cli, squeue->jobs, &jobs)
			      : slurm_jobs_load(cli, squeue->states, &jobs);

	if (rc)
		return slurm_unreachable(cli, "slurm_load_jobs");
	if (!known(squeue, &jobs)) {
		slurm_say(cli, "slurm_load_jobs error: Invalid job id specified");
		slurm_jobs_fini(&jobs);
		return 1;
	}
	pick(cli, squeue, &jobs);
	if (!squeue->each)
		rc = slurm_jobs_fold(cli, &jobs);
	squeue_sort(cli, &jobs, squeue->sort ? squeue->sort : squeue->start ? "S" : "P,t,-p");
	if (rc == 0 && squeue->json)
		rc = slurm_print_jobs_json(cli, &jobs);
	else if (rc == 0)
		rc = read_format(cli, squeue, &format);
	if (rc == 0 && !squeue->json) {
		slurm_print_cluster(cli, squeue->headless ? NULL : squeue->clusters);
		if (squeue->every_s || squeue->detailed || squeue->verbose)
			slurm_print_date(cli);
		if (!squeue->headless)
			slurm_columns_head(cli, &format);
		for (size_t i = 0; i < jobs.count; i++)
			if (!squeue->by_step)
				slurm_columns_row(cli, &format, &jobs.list[i]);
			else if (!jobs.list[i].pending && !jobs.list[i].ended)
				print_steps_of(cli, &format, &jobs.list[i]);
	}
	slurm_jobs_fini(&jobs);
	return rc ? 1 : 0;
}

#define YES(flag) ((flag) ? "true" : "false")

static void tell(struct cli *cli, const struct squeue *squeue)
{
	char every[24], verbose[24];

	snprintf(every, sizeof(every), "%lld", (long long)squeue->every_s);
	snprintf(verbose, sizeof(verbose), "%lld", (long long)squeue->verbose);
	const struct slurm_setting settings[] = {
		{ "all", "false" },
		{ "array", YES(squeue->each) },
		{ "federation", "false" },
		{ "format", squeue->format },
		{ "iterate", every },
		{ "job_flag", squeue->wants_jobs ? "1" : "0" },
		{ "jobs", squeue->jobs },
		{ "licenses", squeue->licenses },
		{ "local", "false" },
		{ "names", squeue->names },
		{ "nodes", squeue->nodes ? squeue->nodes : "" },
		{ "partitions", squeue->partitions },
		{ "priority", "false" },
		{ "reservation", squeue->reservation },
		{ "sibling", "false" },
		{ "sort", squeue->sort },
		{ "start_flag", squeue->start ? "1" : "0" },
		{ "states", squeue->states },
		{ "step_flag", squeue->by_step ? "1" : "0" },
		{ "steps", squeue->steps },
		{ "users", squeue->users },
		{ "verbose", verbose },
	};

	slurm_print_settings(cli, settings, sizeof(settings) / sizeof(settings[0]), 11);
	cli_print(cli, "\n\n");
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct squeue squeue = { 0 };
	struct slurm_reading reading;
	int code = slurm_options(cli, &slurm_squeue, argc, argv, &squeue, &reading);
	size_t at = 0;

	if (code >= 0)
		return code;
	if (at < reading.operand_count && squeue.wants_jobs && !squeue.jobs)
		squeue.jobs = reading.operands[at++];
	if (at < reading.operand_count && squeue.by_step && !squeue.steps)
		squeue.steps = reading.operands[at++];
	if (at < reading.operand_count) {
		slurm_error(cli, NAME, "Unrecognized option: %s", reading.operands[at]);
		slurm_help(cli, &slurm_squeue);
		return 1;
	}
	if (!check_states(cli, &squeue))
		return 1;
	if (squeue.users)
		check_users(cli, &squeue);
	if (squeue.steps && !squeue.jobs)
		squeue.jobs = squeue.steps;
	if (!slurm_cluster_known(cli, NAME, squeue.clusters))
		return 1;
	if (squeue.verbose)
		tell(cli, &squeue);
	return slurm_repeat(cli, squeue.every_s, print_once, &squeue);
}

static const struct slurm_field_table tables[] = { { "jobs", squeue_fields },
						   { "steps", squeue_step_fields },
						   { 0 } };

const struct slurm_command slurm_squeue = { .name = NAME,
					    .summary = "show jobs that wait and run",
					    .syntax = &syntax,
					    .fields = tables,
					    .run = run };
