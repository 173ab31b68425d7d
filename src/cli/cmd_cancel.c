/* strata cancel: jobs by their ids, or all those that are of a user, state or name. */
#include "cli/service.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

struct cancel_conf {
	bool me;
	const char *user, *state, *name;
};

static const struct strata_option cancel_options[] = {
	{ "me", STRATA_BOOL, offsetof(struct cancel_conf, me), .help = "all of your own" },
	{ "user", STRATA_TEXT, offsetof(struct cancel_conf, user), .letter = 'u', .value = "NAME",
	  .help = "all of this user's" },
	{ "state", STRATA_TEXT, offsetof(struct cancel_conf, state), .value = "STATE,…",
	  .help = "of these states: queued, running …" },
	{ "name", STRATA_TEXT, offsetof(struct cancel_conf, name), .value = "PATTERN",
	  .help = "of this name, with * and ?" },
	{ 0 }
};
static const struct strata_schema cancel_schema = { "cancel", NULL, sizeof(struct cancel_conf),
						    cancel_options };

static int cancel(struct cli *cli, const char *id, const void *context, json_t **ret_json)
{
	struct buf path;

	(void)context;
	job_path(cli, &path, id);
	return service_ask(cli, "DELETE", &path, NULL, ret_json);
}

static int print(struct cli *cli, const char *id, const json_t *json)
{
	bool stopping = json_is_true(json_object_get(json, "stopping"));
	int64_t count = grid_int(json, "jobs"), cancelled = grid_int(json, "cancelled");

	if (count) { /* of an array */
		cli_printf(cli, "array %" PRId64 ":", grid_int(json, "id"));
		if (cancelled)
			cli_printf(cli, " %" PRId64 " %s cancelled%s", cancelled,
				   cancelled == 1 ? "job is" : "jobs are",
				   cancelled < count ? "," : "");
		if (cancelled < count)
			cli_printf(cli, " %" PRId64 " %s being stopped", count - cancelled,
				   count - cancelled == 1 ? "is" : "are");
		cli_print(cli, "\n");
		return 0;
	}
	cli_printf(cli, "job %s %s\n", id, stopping ? "is being stopped" : "is cancelled");
	return 0;
}

/* Those that the filters mean, as words. */
static int find(struct cli *cli, const struct cancel_conf *conf, char ***ret_ids, size_t *ret_count)
{
	struct buf path;
	json_t *json, *job, *meant = json_array();
	size_t i;

	service_path(cli, &path, "queue", NULL,
		     "?limit=1000000&fields=id,name,array_id,array_index");
	client_query(&path, "user", conf->me ? service_own_name(cli) : conf->user);
	client_query(&path, "state", conf->state);
	if (conf->name && !strpbrk(conf->name, "[\\")) /* the service knows * and ? */
		client_query(&path, "name", conf->name);
	int rc = service_get(cli, &path, &json);

	if (rc) {
		json_decref(meant);
		return rc;
	}
	json_array_foreach(json_object_get(json, "jobs"), i, job)
	{
		const char *name = grid_string(job, "name");

		if (conf->name && (!name || fnmatch(conf->name, name, 0) != 0))
			continue;
		if (json_array_append(meant, job))
			rc = strata_fail_memory(&cli->err);
	}
	if (rc == 0)
		rc = job_words(cli, meant, ret_ids, ret_count);
	json_decref(meant);
	json_decref(json);
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct cancel_conf *conf = conf_any;
	bool filtered = conf->me || conf->user || conf->state || conf->name;

	if (filtered == (operand_count > 0))
		return strata_fail(&cli->err, -EINVAL,
				   "expected ids of jobs, or else one of --me, --user, --state and "
				   "--name");
	if (filtered) {
		int rc = find(cli, conf, &operands, &operand_count);

		if (rc)
			return rc;
		if (operand_count == 0) {
			cli_note(cli, "no such job is queued or running; `strata queue` shows all");
			return 0;
		}
	}
	return job_each(cli, operands, operand_count, cancel, NULL, print);
}

const struct cli_command cli_cancel = {
	.name = "cancel",
	.operands = "[ID…]",
	.summary = "cancel jobs that wait or run",
	.about =
		"A job that waits is gone at once, one that runs is asked to stop and then made "
		"to. The number of\n"
		"an array is all of it, 17_3 and 17_[3-9] are elements. Without ids, --me, --user, "
		"--state and\n"
		"--name say which; several of them must all hold.",
	.examples = "  strata cancel 17 18\n"
		    "  strata cancel 40_[3-9]\n"
		    "  strata cancel --me --state queued\n"
		    "  strata cancel --me --name 'sweep-*'",
	.options = &cancel_schema,
	.operands_max = -1,
	.run = run,
};
