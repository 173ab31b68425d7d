/* Users, accounts, qualities of service, partitions: the table of them, and the change of one. */
#include "cli/entities.h"

#include <strata/cluster.h>
#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define OFFSET(field) offsetof(struct entities_conf, field)

/* clang-format off */
#define WEIGHT { "weight", STRATA_REAL, OFFSET(weight), .real = { 1, STRATA_SHARE_WEIGHT_MIN, STRATA_SHARE_WEIGHT_MAX }, .help = "its share beside the others'" }
#define PRIORITY { "priority", STRATA_REAL, OFFSET(priority), .real = { 0, -1e9, 1e9 }, .help = "for the order multifactor" }
#define RAISE { "raise_priority", STRATA_BOOL, OFFSET(raise_priority), .help = "jobs of it may have the priority high and a nice below 0" }
#define QOS_LIST(text) { "allowed_qos", STRATA_LIST, OFFSET(allowed_qos), .list = { &one_name, STRATA_ALLOWED_NAMES_MAX }, .help = text }
#define LIMITS \
	{ "max_gpus", STRATA_INT, OFFSET(max_gpus), .integer = { 0, 0, INT64_MAX }, .help = "GPUs at once (0: any number)" }, \
	{ "max_jobs", STRATA_INT, OFFSET(max_jobs), .integer = { 0, 0, INT64_MAX }, .help = "jobs that run at once (0: any number)" }, \
	{ "max_waiting", STRATA_INT, OFFSET(max_waiting), .integer = { 0, 0, INT64_MAX }, .help = "jobs that wait (0: any number)" }, \
	{ "max_gpu_hours", STRATA_REAL, OFFSET(gpu_hours), .real = { 0, 0, 1e12 }, .help = "GPU hours to use up (0: any number)" }

static const struct strata_option one_name = { .type = STRATA_TEXT };
static const struct strata_choice states[] = {
	{ "up", STRATA_PARTITION_UP, "takes jobs and starts them" },
	{ "down", STRATA_PARTITION_DOWN, "takes jobs, starts none" },
	{ "drain", STRATA_PARTITION_DRAIN, "takes no new jobs, starts those that wait" },
	{ "inactive", STRATA_PARTITION_INACTIVE, "neither" },
	{ 0 }
};

static const struct strata_option user_options[] = {
	WEIGHT,
	{ "account", STRATA_TEXT, OFFSET(account), .help = "the account its jobs count for" },
	{ "mail", STRATA_TEXT, OFFSET(mail), .value = "ADDRESS", .help = "where mail about its jobs goes" },
	{ "notify", STRATA_TEXT, OFFSET(notify), .value = "EVENTS", .help = "what is told by mail: begin, end, fail, requeue, all or none" },
	{ "allowed_accounts", STRATA_LIST, OFFSET(allowed_accounts), .list = { &one_name, STRATA_ALLOWED_NAMES_MAX }, .help = "other accounts it may use: a,b" },
	{ "qos", STRATA_TEXT, OFFSET(qos), .help = "the quality of service of jobs that name none" },
	QOS_LIST("other qualities of service it may use: a,b"),
	RAISE,
	LIMITS,
	{ 0 }
};
static const struct strata_option account_options[] = {
	WEIGHT,
	{ "parent", STRATA_TEXT, OFFSET(parent), .help = "the account above it" },
	QOS_LIST("qualities of service that jobs of it may use: a,b"),
	RAISE,
	LIMITS,
	{ 0 }
};
static const struct strata_option qos_options[] = {
	PRIORITY,
	{ "usage_factor", STRATA_REAL, OFFSET(usage_factor), .real = { 1, 0, 1e6 }, .help = "usage counts so many times" },
	{ "default", STRATA_BOOL, OFFSET(usual), .help = "that of jobs that name none" },
	{ "open", STRATA_BOOL, OFFSET(open), .help = "everybody may use it (above the default one: who may raise priorities)" },
	RAISE,
	LIMITS,
	{ 0 }
};
static const struct strata_option partition_options[] = {
	PRIORITY,
	{ "default", STRATA_BOOL, OFFSET(usual), .help = "jobs that name none go there" },
	{ "state", STRATA_ENUM, OFFSET(state), .choice = { states, STRATA_PARTITION_UP }, .help = "what it does with jobs" },
	{ "allowed_users", STRATA_LIST, OFFSET(allowed_users), .list = { &one_name, STRATA_ALLOWED_NAMES_MAX }, .help = "only these may use it: ann,bob (none: all)" },
	{ "allowed_accounts", STRATA_LIST, OFFSET(allowed_accounts), .list = { &one_name, STRATA_ALLOWED_NAMES_MAX }, .help = "only jobs of these may be in it (none: all)" },
	QOS_LIST("only jobs of these may be in it (none: all)"),
	{ "time_limit", STRATA_DURATION, OFFSET(time_limit_ns), .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s", .help = "of jobs that ask for none (0: the service's)" },
	{ "time_limit_max", STRATA_DURATION, OFFSET(time_limit_ns_max), .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s", .help = "that jobs may ask for (0: the service's)" },
	{ 0 }
};
/* clang-format on */
#define SCHEMA(word)                                                                          \
	const struct strata_schema entities_##word##_schema = { #word, NULL,                  \
								sizeof(struct entities_conf), \
								word##_options }
SCHEMA(user);
SCHEMA(account);
SCHEMA(qos);
SCHEMA(partition);

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
	cli_table_add_buf(cell->table, &buf, "-");
}

static void duration_cell(const struct grid_cell *cell)
{
	char text[STRATA_FORM_BYTES];

	cli_table_add(cell->table, "%s",
		      strata_duration_print_short(grid_int(cell->row, cell->key) * STRATA_SECOND_NS,
						  text));
}

static void factor_cell(const struct grid_cell *cell)
{
	const json_t *value = json_object_get(cell->row, cell->key);

	if (json_is_number(value))
		cli_table_add(cell->table, "%.3g", json_number_value(value));
	else
		cli_table_add(cell->table, "-");
}

/* clang-format off */
#define NAME { { .title = "NAME", .style = CLI_BOLD }, grid_text, "name" }
#define USE \
	{ { .title = "WEIGHT", .right = true }, factor_cell, "weight" }, \
	{ { .title = "FAIR SHARE", .right = true }, factor_cell, "factor" }, \
	{ { .title = "RUNNING", .right = true }, grid_text, "running" }, \
	{ { .title = "WAITING", .right = true }, grid_text, "waiting" }, \
	{ { .title = "GPUS", .right = true }, grid_text, "gpus" }, \
	{ { .title = "GPU HOURS", .right = true }, grid_hours, "gpu_hours" }
#define AT_MOST { { .title = "AT MOST", .flexible = true }, limits_cell, NULL }

static const struct grid_column user_columns[] = { NAME, { { .title = "ACCOUNT" }, grid_text, "account" }, USE, AT_MOST };
static const struct grid_column account_columns[] = { NAME, { { .title = "PARENT" }, grid_text, "parent" }, USE, AT_MOST };
static const struct grid_column qos_columns[] = {
	NAME,
	{ { .title = "PRIORITY", .right = true }, factor_cell, "priority" },
	{ { .title = "USAGE COUNTS", .right = true }, factor_cell, "usage_factor" },
	AT_MOST,
};
static const struct grid_column partition_columns[] = {
	NAME,
	{ { .title = "DEFAULT" }, grid_text, "default" },
	{ { .title = "STATE" }, grid_text, "state" },
	{ { .title = "PRIORITY", .right = true }, factor_cell, "priority" },
	{ { .title = "TIME LIMIT", .right = true }, duration_cell, "time_limit_s" },
	{ { .title = "AT MOST", .right = true }, duration_cell, "time_limit_max_s" },
};
/* clang-format on */

static const struct {
	const char *collection, *empty;
	const struct grid_column *columns;
	size_t column_count;
} shows[] = {
	{ "users", "the server knows no users yet; they appear with their first job", user_columns,
	  sizeof(user_columns) / sizeof(user_columns[0]) },
	{ "accounts", "there are no accounts yet; `strata accounts set NAME --weight 1` makes one",
	  account_columns, sizeof(account_columns) / sizeof(account_columns[0]) },
	{ "qos",
	  "there are no qualities of service yet; `strata qos set NAME --priority 0` makes one",
	  qos_columns, sizeof(qos_columns) / sizeof(qos_columns[0]) },
	{ "partitions", "there are no partitions: jobs may go anywhere", partition_columns,
	  sizeof(partition_columns) / sizeof(partition_columns[0]) },
};

/* "accounts", of "accounts set". */
static const char *collection_of(struct cli *cli)
{
	const char *name = cli->command->name;

	return strata_arena_text(&cli->arena, name, strcspn(name, " "));
}

int entities_show(struct cli *cli)
{
	const char *collection = collection_of(cli);
	struct buf path;
	size_t i = 0;

	if (!collection)
		return strata_fail_memory(&cli->err);

	while (strcmp(shows[i].collection, collection) != 0)
		i++;
	service_path(cli, &path, collection, NULL, NULL);
	return grid_collection(cli, &path, collection, shows[i].columns, shows[i].column_count,
			       shows[i].empty);
}

/* The body of the change: what was given, limits in an object of their own. */
static int make_body(struct cli *cli, const struct entities_conf *conf, json_t **ret_body)
{
	json_t *body = json_object(), *inner = json_object();
	bool failed = !body || !inner;

	for (const struct strata_option *option = cli->command->options->options;
	     option->name && !failed; option++) {
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
				    "nothing is to be set; expected an option, as `strata help %s` "
				    "lists them",
				    cli->command->name);
}

int entities_set(struct cli *cli, const struct entities_conf *conf, const char *name)
{
	const char *collection = collection_of(cli);
	json_t *body = NULL, *json;
	struct buf path;
	int rc = collection ? make_body(cli, conf, &body) : strata_fail_memory(&cli->err);

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

static int ask_delete(struct cli *cli, const char *name, const void *context, json_t **ret_json)
{
	struct buf path;

	service_path(cli, &path, context, name, NULL);
	return service_ask(cli, "DELETE", &path, NULL, ret_json);
}

static int print_deleted(struct cli *cli, const char *name, const json_t *json)
{
	(void)json;
	cli_printf(cli, "%s is deleted\n", name);
	return 0;
}

int entities_delete(struct cli *cli, char **names, size_t count)
{
	const char *collection = collection_of(cli);

	return collection ? job_each(cli, names, count, ask_delete, collection, print_deleted)
			  : strata_fail_memory(&cli->err);
}
