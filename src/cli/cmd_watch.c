/*
 * strata watch: the queue, or one job, until it ends. On a terminal the queue is drawn over;
 * elsewhere a line is printed for each job whose state has changed.
 */
#include "cli/service.h"

#include <inttypes.h>
#include <string.h>

struct watch_conf {
	int64_t interval_ns, times;
	const char *user;
	bool me;
};

static const struct strata_option watch_options[] = {
	{ "interval", STRATA_DURATION, offsetof(struct watch_conf, interval_ns),
	  .integer = { 2 * STRATA_SECOND_NS, STRATA_MS_NS, STRATA_HOUR_NS },
	  .help = "how often to look" },
	{ "times", STRATA_INT, offsetof(struct watch_conf, times), .integer = { 0, 0, INT64_MAX },
	  .help = "so often, then end (0: until stopped)" },
	{ "me", STRATA_BOOL, offsetof(struct watch_conf, me), .help = "only your own jobs" },
	{ "user", STRATA_TEXT, offsetof(struct watch_conf, user), .letter = 'u', .value = "NAME",
	  .help = "only this user's jobs" },
	{ 0 }
};
static const struct strata_schema watch_schema = { "watch", NULL, sizeof(struct watch_conf),
						   watch_options };

struct watching {
	const char *user;
	json_t *known; /* id as text → state; what was last printed */
};

static int get_queue(struct cli *cli, const char *user, json_t **ret_json)
{
	struct buf path;

	service_path(cli, &path, "queue", NULL, NULL);
	client_query(&path, "user", user);
	return service_get(cli, &path, ret_json);
}

static int draw_screen(struct cli *cli, const json_t *json)
{
	const json_t *jobs = json_object_get(json, "jobs");
	size_t count = json_array_size(jobs), room = cli->rows > 6 ? (size_t)cli->rows - 4 : 0;
	int64_t now_ns = when_now_ns();
	char text[STRATA_FORM_BYTES];

	cli_printf(cli, "%s%zu job%s at %s; ctrl-C ends\n\n", cli_style(cli, CLI_PLAIN), count,
		   cli_plural(count), when_print(now_ns, now_ns, text));
	int rc = grid_print(cli, job_columns, job_column_count, jobs, room);

	if (room && count > room)
		cli_printf(cli, "… and %zu more\n", count - room);
	return rc;
}

/* Prints a job whose state is not the one known. */
static int print_changed(struct cli *cli, struct watching *watching, const json_t *job)
{
	const char *state = grid_string(job, "state");
	char id[24];

	snprintf(id, sizeof(id), "%" PRId64, grid_int(job, "id"));
	const char *known = grid_string(watching->known, id);

	if (!state || (known && strcmp(known, state) == 0))
		return 0;
	if (json_object_set_new(watching->known, id, json_string(state)))
		return strata_fail_memory(&cli->err);
	return job_print_sentence(cli, id, job);
}

/* A job that is no longer in the queue has ended: how, the job itself says. */
static int print_gone(struct cli *cli, struct watching *watching, const json_t *jobs)
{
	json_t *here = json_object(), *value, *job;
	const char *id;
	void *next;
	size_t i;
	int rc = here ? 0 : strata_fail_memory(&cli->err);

	json_array_foreach((json_t *)(uintptr_t)jobs, i, job)
	{
		char text[24];

		snprintf(text, sizeof(text), "%" PRId64, grid_int(job, "id"));
		json_object_set_new(here, text, json_true());
	}
	json_object_foreach_safe(watching->known, next, id, value)
	{
		struct buf path;

		if (rc || json_object_get(here, id))
			continue;
		service_path(cli, &path, "jobs", id, NULL);
		rc = service_get(cli, &path, &job);
		if (rc)
			continue;
		job_print_sentence(cli, id, job);
		json_decref(job);
		json_object_del(watching->known, id);
	}
	json_decref(here);
	return rc;
}

static int draw(struct cli *cli, void *context)
{
	struct watching *watching = context;
	json_t *json, *job;
	size_t i;
	int rc = get_queue(cli, watching->user, &json);

	if (rc)
		return rc;
	if (cli->globals.json) {
		rc = cli_print_json(cli, json_incref(json));
	} else if (cli->rows && cli->color) {
		rc = draw_screen(cli, json);
	} else {
		json_array_foreach(json_object_get(json, "jobs"), i, job) if (rc == 0)
			rc = print_changed(cli, watching, job);
		if (rc == 0)
			rc = print_gone(cli, watching, json_object_get(json, "jobs"));
	}
	json_decref(json);
	return rc;
}

static int watch_job(struct cli *cli, const struct watch_conf *conf, const char *text)
{
	int64_t id;
	struct follow follow = { .ids = &id, .count = 1, .interval_ns = conf->interval_ns };
	int ignored, rc = strata_int_parse(text, STRATA_TEXT_NUL, 1, INT64_MAX, &id, &cli->err);

	return rc ? rc : follow_jobs(cli, &follow, &ignored);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct watch_conf *conf = conf_any;

	if (operand_count)
		return watch_job(cli, conf, operands[0]);
	struct watching watching = { .user = conf->me ? service_own_name(cli) : conf->user,
				     .known = json_object() };
	struct screen screen = { .interval_ns = conf->interval_ns,
				 .times = conf->times,
				 .draw = draw,
				 .context = &watching };
	int rc = watching.known ? screen_run(cli, &screen) : strata_fail_memory(&cli->err);

	json_decref(watching.known);
	return rc;
}

const struct cli_command cli_watch = {
	.name = "watch",
	.operands = "[ID]",
	.summary = "watch the queue, or one job until it ends",
	.about = "Without ID, the queue is shown again and again; where the output is no terminal, "
		 "a line is printed\n"
		 "for each job whose state has changed.",
	.examples = "  strata watch\n"
		    "  strata watch 17",
	.options = &watch_schema,
	.operands_max = 1,
	.run = run,
};
