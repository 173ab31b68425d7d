/* Users and accounts: the table of them, and the change of one. */
#include "cli/people.h"

#include <strata/limits.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define OFFSET(field) offsetof(struct people_conf, field)

static const struct strata_option options[] = {
	{ "weight", STRATA_REAL, OFFSET(weight),
	  .real = { 1, STRATA_SHARE_WEIGHT_MIN, STRATA_SHARE_WEIGHT_MAX },
	  .help = "its share beside the others'" },
	{ "account", STRATA_TEXT, OFFSET(account), .help = "the account it belongs to" },
	{ "max_gpus", STRATA_INT, OFFSET(max_gpus), .integer = { 0, 0, INT64_MAX },
	  .help = "GPUs at once (0: any number)" },
	{ "max_jobs", STRATA_INT, OFFSET(max_jobs), .integer = { 0, 0, INT64_MAX },
	  .help = "jobs that run at once (0: any number)" },
	{ "max_waiting", STRATA_INT, OFFSET(max_waiting), .integer = { 0, 0, INT64_MAX },
	  .help = "jobs that wait (0: any number)" },
	{ "max_gpu_hours", STRATA_REAL, OFFSET(gpu_hours), .real = { 0, 0, 1e12 },
	  .help = "GPU hours to use up (0: any number)" },
	{ 0 }
};
const struct strata_schema people_schema = { "person", NULL, sizeof(struct people_conf), options };

/* Flags of limits, and what the API calls them within "limits". */
static const struct {
	const char *flag, *limit;
} limits[] = {
	{ "max_gpus", "gpus" },
	{ "max_jobs", "jobs" },
	{ "max_waiting", "waiting" },
	{ "max_gpu_hours", "gpu_hours" },
};

static const char *limit_name(const char *flag)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strcmp(limits[i].flag, flag) == 0)
			return limits[i].limit;
	return NULL;
}

/* "4 GPUs, 10 jobs"; 0 is no limit. */
static void limits_cell(const struct grid_cell *cell)
{
	static const char *const words[] = { "GPUs", "jobs", "waiting", "GPU hours" };
	const json_t *object = json_object_get(cell->row, "limits");
	char text[STRATA_FORM_BYTES];
	struct buf buf;

	buf_init(&buf, &cell->cli->memory, 0);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		double limit = json_number_value(json_object_get(object, limits[i].limit));

		if (limit > 0)
			buf_printf(&buf, "%s%s %s", buf.length ? ", " : "",
				   strata_real_print(limit, text), words[i]);
	}
	cli_table_add(cell->table, "%s", buf.length ? buf.text : "-");
	buf_fini(&buf);
}

static void factor_cell(const struct grid_cell *cell)
{
	const json_t *value = json_object_get(cell->row, cell->key);

	if (json_is_number(value))
		cli_table_add(cell->table, "%.3g", json_number_value(value));
	else
		cli_table_add(cell->table, "-");
}

static const struct grid_column columns[] = {
	{ { .title = "NAME", .style = CLI_BOLD }, grid_text, "name" },
	{ { .title = "ACCOUNT" }, grid_text, "account" },
	{ { .title = "WEIGHT", .right = true }, factor_cell, "weight" },
	{ { .title = "FAIR SHARE", .right = true }, factor_cell, "factor" },
	{ { .title = "RUNNING", .right = true }, grid_text, "running" },
	{ { .title = "WAITING", .right = true }, grid_text, "waiting" },
	{ { .title = "GPUS", .right = true }, grid_text, "gpus" },
	{ { .title = "GPU HOURS", .right = true }, grid_hours, "gpu_hours" },
	{ { .title = "AT MOST", .flexible = true }, limits_cell, NULL },
};

int people_show(struct cli *cli, const char *collection, const char *empty)
{
	struct buf path;

	service_path(cli, &path, collection, NULL, NULL);
	return grid_collection(cli, &path, collection, columns,
			       sizeof(columns) / sizeof(columns[0]), empty);
}

/* The body of the change: what was given, limits in an object of their own. */
static int make_body(struct cli *cli, const struct people_conf *conf, json_t **ret_body)
{
	json_t *body = json_object(), *inner = json_object();
	bool failed = !body || !inner;

	for (const struct strata_option *option = options; option->name && !failed; option++) {
		const char *limit = limit_name(option->name);

		if (origins_find(&cli->given, option->name))
			failed = json_object_set_new(
				limit ? inner : body, limit ? limit : option->name,
				option_value_json(option, (const char *)conf + option->offset));
	}
	if (!failed && json_object_size(inner))
		failed = json_object_set(body, "limits", inner);
	json_decref(inner);
	if (!failed && json_object_size(body)) {
		*ret_body = body;
		return 0;
	}
	json_decref(body);
	return failed ? strata_fail_memory(&cli->err)
		      : strata_fail(&cli->err, -EINVAL,
				    "there is nothing to set; see `strata help %s`",
				    cli->command->name);
}

int people_set(struct cli *cli, const struct people_conf *conf, const char *collection,
	       const char *name)
{
	json_t *body = NULL, *json;
	struct buf path;
	int rc = make_body(cli, conf, &body);

	if (rc)
		return rc;
	service_path(cli, &path, collection, name, NULL);
	rc = service_ask(cli, "PATCH", &path, body, &json);
	if (rc || service_printed(cli, json, &rc))
		return rc;
	json_decref(json);
	cli_printf(cli, "%s is changed\n", name);
	return 0;
}
