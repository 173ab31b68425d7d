/* strata jobs: the history, live jobs included. */
#include "cli/service.h"

#include "core/option.h"
#include "core/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct jobs_conf {
	bool me;
	const char *user, *account, *partition, *state, *name, *since, *until, *format;
	int sort;
	bool reverse;
	int64_t limit, array;
};

enum sort {
	SORT_ID,
	SORT_SUBMITTED,
	SORT_STARTED,
	SORT_ENDED,
	SORT_ELAPSED,
	SORT_MEMORY,
	SORT_GPUS
};
static const struct strata_choice sorts[] = {
	{ "id", SORT_ID, NULL },           { "submitted", SORT_SUBMITTED, NULL },
	{ "started", SORT_STARTED, NULL }, { "ended", SORT_ENDED, NULL },
	{ "elapsed", SORT_ELAPSED, NULL }, { "memory", SORT_MEMORY, NULL },
	{ "gpus", SORT_GPUS, NULL },       { 0 },
};

#define OFFSET(field) offsetof(struct jobs_conf, field)
static const struct strata_option rows[] = {
	{ "me", STRATA_BOOL, OFFSET(me), .help = "only your own" },
	{ "user", STRATA_TEXT, OFFSET(user), .letter = 'u', .value = "NAME",
	  .help = "only this user's" },
	{ "account", STRATA_TEXT, OFFSET(account), .letter = 'A', .value = "NAME",
	  .help = "only this account's" },
	{ "partition", STRATA_TEXT, OFFSET(partition), .letter = 'p', .value = "NAME",
	  .help = "only of this partition" },
	{ "state", STRATA_TEXT, OFFSET(state), .letter = 's', .value = "STATE,…",
	  .help = "only in these states: queued, running, completed, failed, cancelled …" },
	{ "name", STRATA_TEXT, OFFSET(name), .value = "PATTERN",
	  .help = "only of this name, in any case; * stands for any text" },
	{ "array", STRATA_INT, OFFSET(array), .integer = { 0, 0, INT64_MAX }, .value = "ID",
	  .help = "only elements of this array" },
	{ "since", STRATA_TEXT, OFFSET(since), .letter = 'S', .value = "TIME",
	  .help = "submitted since: 7d (ago), or a time" },
	{ "until", STRATA_TEXT, OFFSET(until), .letter = 'E', .value = "TIME",
	  .help = "submitted before: 1d (ago), or a time" },
	{ "sort", STRATA_ENUM, OFFSET(sort), .choice = { sorts, SORT_ID },
	  .help = "the largest or latest of all come first" },
	{ "reverse", STRATA_BOOL, OFFSET(reverse), .letter = 'r', .help = "the other way round" },
	{ "format", STRATA_TEXT, OFFSET(format), .letter = 'o', .value = "COLUMN,…",
	  .help = "which columns; `strata help jobs` names them" },
	{ "limit", STRATA_INT, OFFSET(limit), .letter = 'n', .integer = { 25, 0, 1000000 },
	  .help = "so many at most, of the newest; 0: all" },
	{ 0 }
};
static const struct strata_schema schema = { "jobs", NULL, sizeof(struct jobs_conf), rows };

/* ---- columns ---- */

static const struct grid_column columns[] = {
	{ { .title = "ID", .right = true, .style = CLI_BOLD }, job_id_cell, "id" },
	{ { .title = "NAME", .flexible = true }, grid_text, "name" },
	{ { .title = "USER" }, grid_text, "user" },
	{ { .title = "STATE" }, job_state_cell, NULL },
	{ { .title = "SUBMITTED" }, grid_time, "submitted_at" },
	{ { .title = "STARTED" }, grid_time, "started_at" },
	{ { .title = "ENDED" }, grid_time, "ended_at" },
	{ { .title = "ELAPSED", .right = true }, job_elapsed_cell, NULL },
	{ { .title = "GPUS", .right = true }, grid_text, "gpus" },
	{ { .title = "CPUS", .right = true }, grid_text, "cpus" },
	{ { .title = "MEMORY", .right = true }, grid_size, "memory_bytes" },
	{ { .title = "CPU", .right = true }, job_cpu_cell, NULL },
	{ { .title = "PEAK", .right = true }, job_peak_cell, NULL },
	{ { .title = "EXIT", .right = true }, job_exit_cell, NULL },
	{ { .title = "ACCOUNT" }, grid_text, "account" },
	{ { .title = "PARTITION" }, grid_text, "partition" },
	{ { .title = "QOS" }, grid_text, "qos" },
	{ { .title = "NODES" }, grid_text, "node_names" },
	{ { .title = "ATTEMPT", .right = true }, grid_text, "attempt" },
	{ { .title = "REASON", .flexible = true }, grid_text, "reason_text" },
	{ { .title = "COMMENT", .flexible = true }, grid_text, "comment" },
};
enum { COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]) };
#define USUAL "id,name,user,state,started,elapsed,gpus,cpu,peak,exit"

static const struct grid_column *find_column(const char *word, size_t length)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (strlen(columns[i].look.title) == length &&
		    strncasecmp(columns[i].look.title, word, length) == 0)
			return &columns[i];
	return NULL;
}

static int unknown_column(struct cli *cli, const char *word, size_t length)
{
	struct text_closest closest;

	text_closest_init(&closest, word, length);
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		text_closest_offer(&closest, columns[i].look.title);
	return strata_fail_at(&cli->err, -EINVAL, "format",
			      "--format has '%.*s', which is no column; %s%s%s", (int)length, word,
			      closest.best ? "did you mean " : "`strata help jobs` names them",
			      closest.best ? closest.best : "", closest.best ? "?" : "");
}

static int choose_columns(struct cli *cli, const char *text,
			  struct grid_column chosen[COLUMN_COUNT], size_t *ret_count)
{
	*ret_count = 0;
	for (const char *at = text; *at;) {
		size_t length = strcspn(at, ",");
		const struct grid_column *column = find_column(at, length);

		if (!column)
			return unknown_column(cli, at, length);
		if (*ret_count == COLUMN_COUNT)
			return strata_fail_at(&cli->err, -EINVAL, "format",
					      "--format has more than %d columns", COLUMN_COUNT);
		chosen[(*ret_count)++] = *column;
		at += length + (at[length] == ',');
	}
	return *ret_count ? 0
			  : strata_fail_at(&cli->err, -EINVAL, "format", "--format has no column");
}

/* ---- rows ---- */

struct asked {
	const struct jobs_conf *conf;
	const char *user;
	char since[STRATA_FORM_BYTES], until[STRATA_FORM_BYTES];
};

static int get_page(struct cli *cli, const struct asked *asked, json_int_t after, size_t limit,
		    json_t **ret_json)
{
	const struct jobs_conf *conf = asked->conf;
	char text[24], count[24], array[24];
	struct buf path;

	snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, after);
	snprintf(count, sizeof(count), "%zu", limit);
	service_path(cli, &path, "jobs", NULL, NULL);
	client_query(&path, "limit", count);
	client_query(&path, "user", asked->user);
	client_query(&path, "account", conf->account);
	client_query(&path, "partition", conf->partition);
	client_query(&path, "state", conf->state);
	client_query(&path, "name", conf->name);
	snprintf(array, sizeof(array), "%" PRId64, conf->array);
	client_query(&path, "array", conf->array ? array : NULL);
	client_query(&path, "since", conf->since ? asked->since : NULL);
	client_query(&path, "until", conf->until ? asked->until : NULL);
	client_query(&path, "after", after ? text : NULL);
	return service_get(cli, &path, ret_json);
}

/* As many as wanted, newest first; all of them where another order says which those are. */
static int get_jobs(struct cli *cli, const struct asked *asked, json_t *jobs)
{
	bool first = asked->conf->limit && asked->conf->sort == SORT_ID;
	size_t wanted = first ? (size_t)asked->conf->limit : SIZE_MAX;
	json_int_t after = 0;
	int rc = 0;

	do {
		size_t left = wanted - json_array_size(jobs);
		json_t *json;

		rc = get_page(cli, asked, after, left < 1000 ? left : 1000, &json);
		if (rc)
			return rc;
		if (json_array_extend(jobs, json_object_get(json, "jobs")))
			rc = strata_fail_memory(&cli->err);
		after = json_integer_value(json_object_get(json, "next"));
		json_decref(json);
	} while (rc == 0 && after > 0 && json_array_size(jobs) < wanted);
	return rc;
}

struct item {
	json_t *job;
	int64_t key;
	size_t place; /* where it was: equal ones stay in order */
};

static int by_key(const void *a_any, const void *b_any)
{
	const struct item *a = a_any, *b = b_any;

	if (a->key != b->key)
		return a->key > b->key ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

static int64_t key_of(const json_t *job, enum sort sort, int64_t now_ns)
{
	switch (sort) {
	case SORT_SUBMITTED:
		return when_json(job, "submitted_at");
	case SORT_STARTED:
		return when_json(job, "started_at");
	case SORT_ENDED:
		return when_json(job, "ended_at");
	case SORT_ELAPSED:
		return job_elapsed_ns(job, now_ns);
	case SORT_MEMORY:
		return grid_int(job, "memory_peak_bytes");
	case SORT_GPUS:
		return grid_int(job, "gpus");
	case SORT_ID:
		break;
	}
	return grid_int(job, "id");
}

/* As many of the jobs as wanted, in order; NULL: no memory. */
static json_t *sorted(struct cli *cli, const json_t *jobs, const struct jobs_conf *conf)
{
	size_t count = json_array_size(jobs), limit = conf->limit ? (size_t)conf->limit : SIZE_MAX;
	struct item *items = strata_arena_array(&cli->arena, count ? count : 1, sizeof(*items));
	json_t *list = items ? json_array() : NULL;
	int64_t now_ns = when_now_ns();

	for (size_t i = 0; list && i < count; i++) {
		json_t *job = json_array_get(jobs, i);

		items[i] = (struct item){ job, key_of(job, (enum sort)conf->sort, now_ns), i };
	}
	if (list && count)
		qsort(items, count, sizeof(*items), by_key);
	for (size_t i = 0; list && i < count && i < limit; i++)
		if (json_array_append(list, items[conf->reverse ? count - 1 - i : i].job)) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static int print(struct cli *cli, const struct asked *asked, const json_t *jobs,
		 const struct grid_column *chosen, size_t count, size_t all)
{
	const struct jobs_conf *conf = asked->conf;
	bool narrowed = asked->user || conf->account || conf->partition || conf->state ||
			conf->name || conf->since || conf->until;
	int rc = 0;

	if (json_array_size(jobs) == 0)
		cli_note(cli, "%s",
			 narrowed ? "there is no such job; `strata jobs` shows the newest of all"
				  : "there is no job yet; `strata submit -- COMMAND` adds one");
	else
		rc = grid_print(cli, chosen, count, jobs, 0);
	if (rc || !conf->limit)
		return rc;
	if (conf->sort != SORT_ID && all > (size_t)conf->limit)
		cli_note(cli, "these are the first %" PRId64 " of %zu; --limit 0 shows all",
			 conf->limit, all);
	else if (conf->sort == SORT_ID && json_array_size(jobs) == (size_t)conf->limit)
		cli_note(cli, "these are the newest %" PRId64 "; --limit 0 shows all", conf->limit);
	return 0;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct jobs_conf *conf = conf_any;
	struct asked asked = { .conf = conf,
			       .user = conf->me ? service_own_name(cli) : conf->user };
	struct grid_column chosen[COLUMN_COUNT];
	size_t count;
	int rc = choose_columns(cli, conf->format ? conf->format : USUAL, chosen, &count);

	(void)operands, (void)operand_count;
	if (rc == 0 && conf->me && conf->user)
		rc = strata_fail(&cli->err, -EINVAL, "--me and --user do not go together");
	if (rc == 0 && conf->since)
		rc = when_since(cli, conf->since, asked.since);
	if (rc == 0 && conf->until)
		rc = when_since(cli, conf->until, asked.until);
	if (rc)
		return rc;
	json_t *jobs = json_array(), *list = NULL;
	size_t all = 0;

	rc = jobs ? get_jobs(cli, &asked, jobs) : strata_fail_memory(&cli->err);
	if (rc == 0) {
		all = json_array_size(jobs);
		list = sorted(cli, jobs, conf);
		rc = list ? 0 : strata_fail_memory(&cli->err);
	}
	json_decref(jobs);
	if (rc)
		return rc;
	if (cli->globals.json) {
		service_printed(cli, json_pack("{s:o}", "jobs", list), &rc);
		return rc;
	}
	rc = print(cli, &asked, list, chosen, count, all);
	json_decref(list);
	return rc;
}

const struct cli_command cli_jobs = {
	.name = "jobs",
	.summary = "show jobs that have ended, and those that have not",
	.about =
		"The newest come first. CPU is how busy the job's cores were, PEAK the most memory "
		"it had, and how much of\n"
		"what it asked for that is; both are known when it has ended. Columns of --format: "
		"id, name, user, state,\n"
		"submitted, started, ended, elapsed, gpus, cpus, memory, cpu, peak, exit, account, "
		"partition, qos, nodes,\n"
		"attempt, reason, comment.",
	.examples = "  strata jobs --me --since 7d\n"
		    "  strata jobs --state failed --sort ended\n"
		    "  strata jobs --name 'train*' --sort elapsed --limit 10\n"
		    "  strata jobs --since 30d --limit 0 --format id,user,elapsed,cpu,peak",
	.options = &schema,
	.run = run,
};
