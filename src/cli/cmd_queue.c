/* strata queue: what runs and what waits, in the order in which it will start. */
#include "cli/service.h"

struct queue_conf {
	bool me, elements;
	const char *user, *state;
	int64_t limit;
};

static const struct strata_option queue_options[] = {
	{ "me", STRATA_BOOL, offsetof(struct queue_conf, me), .help = "only your own jobs" },
	{ "user", STRATA_TEXT, offsetof(struct queue_conf, user), .letter = 'u', .value = "NAME",
	  .help = "only this user's jobs" },
	{ "state", STRATA_TEXT, offsetof(struct queue_conf, state), .value = "STATE,…",
	  .help = "only jobs in these states: queued, running …" },
	{ "limit", STRATA_INT, offsetof(struct queue_conf, limit), .integer = { 0, 0, INT64_MAX },
	  .letter = 'n', .help = "so many at most (0: all)" },
	{ "elements", STRATA_BOOL, offsetof(struct queue_conf, elements),
	  .help = "a row for each element of an array, also of those that wait alike" },
	{ 0 }
};
static const struct strata_schema queue_schema = { "queue", NULL, sizeof(struct queue_conf),
						   queue_options };

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct queue_conf *conf = conf_any;
	const char *user = conf->me ? service_own_name(cli) : conf->user;
	char limit[24];
	struct buf path;

	(void)operands, (void)operand_count;
	service_path(cli, &path, "queue", NULL, NULL);
	client_query(&path, "user", user);
	client_query(&path, "state", conf->state);
	snprintf(limit, sizeof(limit), "%lld", (long long)conf->limit);
	client_query(&path, "limit", conf->limit ? limit : NULL);
	client_query(&path, "collapse", cli->globals.json || conf->elements ? NULL : "1");
	if (!cli->globals.json) /* what the table shows, which is a fifth of all */
		client_query(&path, "fields",
			     "id,name,array_id,array_index,elements,index_step,user,state,reason,reason_text,node_names,gpus,"
			     "started_at,ended_at,time_limit_s,expected_start_at,promised");
	return grid_collection(
		cli, &path, "jobs", job_columns, job_column_count,
		user || conf->state ? "no such job is queued or running; `strata queue` shows all"
				    : "nothing is queued or running; `strata submit -- COMMAND` "
				      "adds a job");
}

const struct cli_command cli_queue = {
	.name = "queue",
	.summary = "show what runs and what waits, and why",
	.about =
		"Running jobs come first, then the waiting ones in the order in which they are "
		"considered. A start\n"
		"with ≈ is expected, one with \"by\" promised: nothing that comes later delays it. "
		"Elements of an\n"
		"array that wait alike are one row; --elements and --json have each of them.",
	.examples = "  strata queue --me\n"
		    "  strata queue --state running --json",
	.options = &queue_schema,
	.run = run,
};
