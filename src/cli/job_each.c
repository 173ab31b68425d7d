/* The same done to several jobs, one after the other. */
#include "cli/service.h"

#include <errno.h>
#include <inttypes.h>

/* What went wrong with one of several is said at once; the first failure gives the exit code. */
static int keep_going(struct cli *cli, int rc, int *first_exit)
{
	if (rc < 0) {
		cli_flush(cli);
		cli_say(cli, "%s", cli->err.text);
		if (*first_exit == 0)
			*first_exit = strata_error_kind(rc)->exit_code;
	}
	return service_away(rc) ? *first_exit : 0;
}

int job_each(struct cli *cli, char *const *ids, size_t count, job_action *act, const void *context,
	     job_printer *print)
{
	json_t *all = cli->globals.json && count > 1 ? json_array() : NULL;
	int first_exit = 0, rc = 0;

	for (size_t i = 0; i < count; i++) {
		json_t *json = NULL;

		rc = act(cli, ids[i], context, &json);
		if (rc == 0 && all)
			json_array_append(all, json);
		else if (rc == 0 && cli->globals.json)
			rc = cli_print_json(cli, json_incref(json));
		else if (rc == 0)
			rc = print(cli, ids[i], json);
		json_decref(json);
		if (count == 1)
			return rc;
		if (rc && keep_going(cli, rc, &first_exit))
			break;
	}
	if (all)
		cli_print_json(cli, all);
	return first_exit;
}

static int change(struct cli *cli, const char *id, const void *context, json_t **ret_json)
{
	struct buf path;

	job_path(cli, &path, id);
	return service_ask(cli, "PATCH", &path, json_incref((json_t *)(uintptr_t)context),
			   ret_json);
}

int job_print_sentence(struct cli *cli, const char *id, const json_t *job)
{
	(void)id;
	job_sentence(job, when_now_ns(), &cli->out);
	cli_print(cli, "\n");
	return 0;
}

/* The first of several, and how many are like it. */
static int print_changed(struct cli *cli, const char *id, const json_t *job)
{
	int64_t count = grid_int(job, "jobs"), left = grid_int(job, "left");

	job_print_sentence(cli, id, job);
	if (count + left < 2)
		return 0;
	cli_printf(cli, "array %" PRId64 ": %" PRId64 " %s so", grid_int(job, "array_id"), count,
		   count == 1 ? "job is" : "jobs are");
	if (left)
		cli_printf(cli, ", %" PRId64 " left as before", left);
	cli_print(cli, "\n");
	return 0;
}

int job_change(struct cli *cli, char *const *ids, size_t count, json_t *body)
{
	int rc = body ? job_each(cli, ids, count, change, body, print_changed)
		      : strata_fail_memory(&cli->err);

	json_decref(body);
	return rc;
}
