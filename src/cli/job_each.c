/* The same done to several jobs, one after the other. */
#include "cli/service.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

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

static bool is(const json_t *job, const char *key, const char *value)
{
	const char *text = grid_string(job, key);

	return text && strcmp(text, value) == 0;
}

/* A job that was put back into the queue has no reason of its own before the next pass, which is
 * over when the answer comes: so how it is now is asked for. Of several only one is shown, and
 * where this cannot be had the first answer is good enough. */
static int look_again(struct cli *cli, const char *id, json_t **json)
{
	struct strata_error before = cli->err;
	struct buf path;
	json_t *now;

	if (!is(*json, "state", "queued") || !is(*json, "reason", "priority") ||
	    json_object_get(*json, "jobs"))
		return 0;
	service_path(cli, &path, "jobs", id, NULL);
	int rc = service_get(cli, &path, &now);

	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		cli->err = before;
		return 0;
	}
	json_decref(*json);
	*json = now;
	return 0;
}

static int change(struct cli *cli, const char *id, const void *context, json_t **ret_json)
{
	struct buf path;
	json_t *json;

	job_path(cli, &path, id);
	int rc = service_ask(cli, "PATCH", &path, json_incref((json_t *)(uintptr_t)context), &json);

	if (rc)
		return rc;
	rc = look_again(cli, id, &json);
	if (rc)
		json_decref(json);
	else
		*ret_json = json;
	return rc;
}

int job_print_sentence(struct cli *cli, const char *id, const json_t *job)
{
	(void)id;
	job_sentence(job, when_now_ns(), &cli->out);
	cli_print(cli, "\n");
	return 0;
}

/* It is frozen a moment after the answer: "running" would read as if nothing came of it. */
static bool print_being_suspended(struct cli *cli, const json_t *job)
{
	const char *state = grid_string(job, "state"), *reason = grid_string(job, "reason");

	if (strcmp(cli->command->name, "suspend") != 0 || !state || strcmp(state, "running") != 0 ||
	    (reason && strcmp(reason, "suspended") == 0))
		return false;
	cli_print(cli, "job ");
	job_add_id(job, &cli->out);
	cli_print(cli, " is being suspended\n");
	return true;
}

/* The first of several, and how many are like it. */
int job_print_changed(struct cli *cli, const char *id, const json_t *job)
{
	int64_t count = grid_int(job, "jobs"), left = grid_int(job, "left");

	if (!print_being_suspended(cli, job))
		job_print_sentence(cli, id, job);
	if (count + left < 2)
		return 0;
	cli_printf(cli, "array %" PRId64 ": %" PRId64 " job%s changed", grid_int(job, "array_id"),
		   count, cli_plural((size_t)count));
	if (left)
		cli_printf(cli, ", %" PRId64 " left as before", left);
	cli_print(cli, "\n");
	return 0;
}

int job_change_by(struct cli *cli, char *const *ids, size_t count, json_t *body, job_printer *print)
{
	int rc = body ? job_each(cli, ids, count, change, body, print)
		      : strata_fail_memory(&cli->err);

	json_decref(body);
	return rc;
}

int job_change(struct cli *cli, char *const *ids, size_t count, json_t *body)
{
	return job_change_by(cli, ids, count, body, job_print_changed);
}
