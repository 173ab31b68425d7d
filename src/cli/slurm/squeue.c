/* squeue: what runs and what waits, as Slurm shows it. */
#include "cli/slurm/squeue.h"

#include "cli/service.h"
#include "cli/slurm/json.h"

#include <strata/slurm.h>

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
	const char *format, *format_names, *sort;
	long every_s; /* 0: once */
	bool head, each, detailed, start, by_step, json, wants_jobs;
};

/* ---- options ---- */

enum { ME = 256, START, JSON, NOTHING, HELP, USAGE };

static const struct option options[] = {
	{ "account", required_argument, NULL, 'A' },
	{ "accounts", required_argument, NULL, 'A' },
	{ "all", no_argument, NULL, NOTHING },
	{ "array", no_argument, NULL, 'r' },
	{ "array-unique", no_argument, NULL, 'r' },
	{ "clusters", required_argument, NULL, NOTHING },
	{ "cluster", required_argument, NULL, NOTHING },
	{ "federation", no_argument, NULL, NOTHING },
	{ "format", required_argument, NULL, 'o' },
	{ "Format", required_argument, NULL, 'O' },
	{ "help", no_argument, NULL, HELP },
	{ "hide", no_argument, NULL, NOTHING },
	{ "iterate", required_argument, NULL, 'i' },
	{ "jobs", optional_argument, NULL, 'j' },
	{ "json", no_argument, NULL, JSON },
	{ "licenses", required_argument, NULL, NOTHING },
	{ "local", no_argument, NULL, NOTHING },
	{ "long", no_argument, NULL, 'l' },
	{ "me", no_argument, NULL, ME },
	{ "name", required_argument, NULL, 'n' },
	{ "noconvert", no_argument, NULL, NOTHING },
	{ "nodelist", required_argument, NULL, 'w' },
	{ "nodes", required_argument, NULL, 'w' },
	{ "noheader", no_argument, NULL, 'h' },
	{ "partition", required_argument, NULL, 'p' },
	{ "partitions", required_argument, NULL, 'p' },
	{ "priority", no_argument, NULL, NOTHING },
	{ "qos", required_argument, NULL, 'q' },
	{ "reservation", required_argument, NULL, NOTHING },
	{ "sibling", no_argument, NULL, NOTHING },
	{ "sort", required_argument, NULL, 'S' },
	{ "start", no_argument, NULL, START },
	{ "state", required_argument, NULL, 't' },
	{ "states", required_argument, NULL, 't' },
	{ "steps", optional_argument, NULL, 's' },
	{ "usage", no_argument, NULL, USAGE },
	{ "user", required_argument, NULL, 'u' },
	{ "users", required_argument, NULL, 'u' },
	{ "verbose", no_argument, NULL, NOTHING },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static void read_variables(struct squeue *squeue)
{
	*squeue =
		(struct squeue){ .head = true,
				 .accounts = getenv("SQUEUE_ACCOUNT"),
				 .names = getenv("SQUEUE_NAMES"),
				 .partitions = getenv("SQUEUE_PARTITION"),
				 .qos = getenv("SQUEUE_QOS"),
				 .states = getenv("SQUEUE_STATES"),
				 .users = getenv("SQUEUE_USERS"),
				 .format = getenv("SQUEUE_FORMAT"),
				 .format_names = getenv("SQUEUE_FORMAT2"),
				 .sort = getenv("SQUEUE_SORT"),
				 .each = getenv("SQUEUE_ARRAY") || getenv("SQUEUE_ARRAY_UNIQUE") };
}

/* -1, or the exit code of an option that ends it. */
static int take_option(struct cli *cli, struct squeue *squeue, int letter)
{
	char *end;

	switch (letter) {
	case 'A':
		squeue->accounts = optarg;
		break;
	case 'h':
		squeue->head = false;
		break;
	case 'i':
		squeue->every_s = strtol(optarg, &end, 10);
		if (squeue->every_s <= 0 || *end) {
			slurm_say(cli, "Error: --iterate=%s", optarg);
			return 1;
		}
		break;
	case 'j':
		squeue->wants_jobs = true;
		squeue->jobs = optarg ? optarg : squeue->jobs;
		break;
	case 'l':
		squeue->detailed = true;
		squeue->format = squeue->format_names = NULL;
		break;
	case 'n':
		squeue->names = optarg;
		break;
	case 'o':
		squeue->format = optarg;
		squeue->format_names = NULL;
		break;
	case 'O':
		squeue->format_names = optarg;
		break;
	case 'p':
		squeue->partitions = optarg;
		break;
	case 'q':
		squeue->qos = optarg;
		break;
	case 'r':
		squeue->each = true;
		break;
	case 's':
		squeue->by_step = true;
		squeue->steps = optarg;
		break;
	case 'S':
		squeue->sort = optarg;
		break;
	case 't':
		squeue->states = optarg;
		break;
	case 'u':
		squeue->users = optarg;
		break;
	case 'w':
		squeue->nodes = optarg;
		break;
	case ME:
		squeue->users = service_own_name(cli);
		break;
	case START:
		squeue->start = true;
		break;
	case JSON:
		squeue->json = true;
		break;
	case 'V':
		return slurm_version(cli);
	case HELP:
		slurm_help(cli, &slurm_squeue, options, NOTHING);
		return 0;
	case USAGE:
		slurm_help(cli, &slurm_squeue, options, NOTHING);
		return 0;
	case '?':
		return 1;
	}
	return -1;
}

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

/* "40", "40_4", "40_[1-3]" */
static bool job_named(const char *list, const struct slurm_job *job)
{
	for (const char *at = list; at && *at;) {
		char *end;
		int64_t id = strtoll(at, &end, 10);
		size_t span = strcspn(at, ",");
		bool same = id == job->id || id == job->array_id;

		if (same && *end == '_' && end[1] != '[')
			same = id == job->array_id &&
			       strtoll(end + 1, &end, 10) == job->array_index;
		if (same)
			return true;
		at += span + (at[span] == ',');
	}
	return false;
}

static bool on_nodes(const struct squeue *squeue, struct cli *cli, const struct slurm_job *job)
{
	const json_t *place = json_object_get(job->json, "place"), *piece;
	const char **list;
	size_t count, index;

	if (strata_hostlist_expand(squeue->nodes, STRATA_TEXT_NUL, &cli->arena, &list, &count,
				   NULL))
		return false;
	json_array_foreach(place, index, piece)
	{
		for (size_t i = 0; i < count; i++)
			if (strcmp(list[i], grid_or(json_object_get(piece, "node"), "")) == 0)
				return true;
	}
	return false;
}

static bool wanted(struct cli *cli, const struct squeue *squeue, const struct slurm_job *job)
{
	return state_wanted(squeue, job) && (!squeue->jobs || job_named(squeue->jobs, job)) &&
	       (!squeue->users || slurm_listed(squeue->users, job->user)) &&
	       (!squeue->accounts || slurm_listed(squeue->accounts, job->account)) &&
	       (!squeue->partitions || slurm_listed(squeue->partitions, job->partition)) &&
	       (!squeue->names || slurm_listed(squeue->names, job->name)) &&
	       (!squeue->qos || slurm_listed(squeue->qos, job->qos)) &&
	       (!squeue->nodes || on_nodes(squeue, cli, job));
}

/* One job that is asked for by its number has to be there; of several some may be missing. */
static bool known(const struct squeue *squeue, const struct slurm_jobs *jobs)
{
	if (!squeue->jobs || strchr(squeue->jobs, ','))
		return true;
	for (size_t i = 0; i < jobs->count; i++)
		if (job_named(squeue->jobs, &jobs->list[i]))
			return true;
	return false;
}

static void pick(struct cli *cli, const struct squeue *squeue, struct slurm_jobs *jobs)
{
	size_t kept = 0;

	for (size_t i = 0; i < jobs->count; i++)
		if (wanted(cli, squeue, &jobs->list[i]))
			jobs->list[kept++] = jobs->list[i];
	jobs->count = kept;
}

/* ---- printing ---- */

static int print_json(struct cli *cli, const struct slurm_jobs *jobs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < jobs->count; i++)
		json_array_append_new(list, slurm_job_json(&jobs->list[i]));
	return slurm_print_json(cli, "jobs", list);
}

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

	if (squeue->format_names)
		return slurm_format_read_names(cli, NAME, what, fields, squeue->format_names,
					       ret_format);
	return slurm_format_read(cli, NAME, what, fields, squeue->format ? squeue->format : usual,
				 ret_format);
}

static void print_steps_of(struct cli *cli, const struct slurm_format *format,
			   const struct slurm_job *job)
{
	struct squeue_step batch = { .job = job,
				     .title = "batch",
				     .nodes = job->first_node,
				     .start_ns = job->start_ns,
				     .run_s = job->run_s };
	json_t *steps = slurm_steps(cli, job), *row;
	size_t index;

	slurm_format_row(cli, format, &batch);
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
			.run_s = (when_now_ns() - start_ns) / STRATA_SECOND_NS
		};

		if (!when_json(row, "ended_at"))
			slurm_format_row(cli, format, &step);
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
		rc = print_json(cli, &jobs);
	else if (rc == 0)
		rc = read_format(cli, squeue, &format);
	if (rc == 0 && !squeue->json) {
		if (squeue->every_s || squeue->detailed)
			slurm_print_date(cli);
		if (squeue->head)
			slurm_format_head(cli, &format);
		for (size_t i = 0; i < jobs.count; i++)
			if (!squeue->by_step)
				slurm_format_row(cli, &format, &jobs.list[i]);
			else if (!jobs.list[i].pending && !jobs.list[i].ended)
				print_steps_of(cli, &format, &jobs.list[i]);
	}
	slurm_jobs_fini(&jobs);
	return rc ? 1 : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct squeue squeue;
	int letter, code;

	read_variables(&squeue);
	while ((letter = slurm_option(argc, argv,
				      "A:ahi:j::lL:n:M:O:o:p:Pq:R:rs::S:t:u:vVw:", options)) >= 0) {
		code = take_option(cli, &squeue, letter);
		if (code >= 0)
			return code;
	}
	if (optind < argc && squeue.wants_jobs && !squeue.jobs)
		squeue.jobs = argv[optind++];
	if (optind < argc && squeue.by_step && !squeue.steps)
		squeue.steps = argv[optind++];
	if (optind < argc) {
		slurm_error(cli, NAME, "Unrecognized option: %s", argv[optind]);
		slurm_help(cli, &slurm_squeue, options, NOTHING);
		return 1;
	}
	if (!check_states(cli, &squeue))
		return 1;
	if (squeue.users)
		check_users(cli, &squeue);
	if (squeue.steps && !squeue.jobs)
		squeue.jobs = squeue.steps;
	return slurm_repeat(cli, squeue.every_s, print_once, &squeue);
}

const struct slurm_command slurm_squeue = { NAME, "show jobs that wait and run", run };
