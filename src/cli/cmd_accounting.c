/* strata accounting: who used how much, and the history as a log that simulators read. */
#include "cli/job_history.h"

#include "core/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct accounting_conf {
	int by;
	const char *since, *until, *output, *nodes;
	bool swf, plot;
};

enum { BY_USER, BY_ACCOUNT, BY_PARTITION, BY_DAY };
static const struct strata_choice groups[] = { { "user", BY_USER, NULL },
					       { "account", BY_ACCOUNT, NULL },
					       { "partition", BY_PARTITION, NULL },
					       { "day", BY_DAY, NULL },
					       { 0 } };

static const struct strata_option accounting_options[] = {
	{ "by", STRATA_ENUM, offsetof(struct accounting_conf, by), .choice = { groups, BY_USER },
	  .help = "what is summed up" },
	{ "since", STRATA_TEXT, offsetof(struct accounting_conf, since), .value = "TIME",
	  .help = "only what was submitted since: 7d (ago), or a time" },
	{ "until", STRATA_TEXT, offsetof(struct accounting_conf, until), .value = "TIME",
	  .help = "only what was submitted before: 1d (ago), or a time" },
	{ "plot", STRATA_BOOL, offsetof(struct accounting_conf, plot), .help = "with bars" },
	{ "swf", STRATA_BOOL, offsetof(struct accounting_conf, swf),
	  .help = "every job that has ended, in the Standard Workload Format, for strata sim "
		  "cluster" },
	{ "output", STRATA_TEXT, offsetof(struct accounting_conf, output), .letter = 'o',
	  .value = "FILE", .help = "of --swf: where to; printed when left out" },
	{ "nodes", STRATA_TEXT, offsetof(struct accounting_conf, nodes), .value = "FILE",
	  .help = "of --swf: write the nodes as well, for strata sim cluster --nodes" },
	{ 0 }
};
static const struct strata_schema accounting_schema = { "accounting", NULL,
							sizeof(struct accounting_conf),
							accounting_options };

/* ---- the table ---- */

/* Hours are too much for short work: the unit in which the largest is a number to read. */
struct unit {
	double per_hour;
	const char *gpu, *cpu; /* titles */
};
static const struct unit units[] = {
	{ 1, "GPU HOURS", "CPU HOURS" },
	{ 60, "GPU MINUTES", "CPU MINUTES" },
	{ 3600, "GPU SECONDS", "CPU SECONDS" },
};

static double most_hours(const json_t *rows, const char *key)
{
	double most = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		double hours = json_number_value(json_object_get(json_array_get(rows, i), key));

		most = hours > most ? hours : most;
	}
	return most;
}

static const struct unit *choose_unit(double hours)
{
	return &units[hours >= 1 || hours == 0 ? 0 : hours >= 1.0 / 60 ? 1 : 2];
}

enum { BAR_CELLS = 30 };

/* Beside each row: its part of the largest, of GPUs where any were used. */
static void bar_cell(const struct grid_cell *cell)
{
	double part = json_number_value(json_object_get(cell->row, cell->key));
	struct buf buf;

	buf_init(&buf, &cell->cli->memory, 0);
	grid_bar(&buf, part, BAR_CELLS);
	cli_table_add_buf(cell->table, &buf, "");
}

/* The figures in their units, and the bar, as further members of each row. */
static int add_figures(struct cli *cli, json_t *rows, const struct unit *gpu, const struct unit *cpu)
{
	double gpu_most = most_hours(rows, "gpu_hours"), cpu_most = most_hours(rows, "cpu_hours");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *row = json_array_get(rows, i);
		double gpus = json_number_value(json_object_get(row, "gpu_hours"));
		double cpus = json_number_value(json_object_get(row, "cpu_hours"));
		double part = gpu_most > 0 ? gpus / gpu_most : cpu_most > 0 ? cpus / cpu_most : 0;

		if (json_object_set_new(row, "gpu_use", json_real(gpus * gpu->per_hour)) ||
		    json_object_set_new(row, "cpu_use", json_real(cpus * cpu->per_hour)) ||
		    json_object_set_new(row, "part", json_real(part)))
			return strata_fail_memory(&cli->err);
	}
	return 0;
}

static int print_rows(struct cli *cli, const struct accounting_conf *conf, json_t *rows)
{
	const struct unit *gpu = choose_unit(most_hours(rows, "gpu_hours"));
	const struct unit *cpu = choose_unit(most_hours(rows, "cpu_hours"));
	static const char *const titles[] = { "USER", "ACCOUNT", "PARTITION", "DAY" };
	struct grid_column columns[8];
	size_t count = 0;
	int rc = add_figures(cli, rows, gpu, cpu);

	columns[count++] = (struct grid_column){ { .title = titles[conf->by], .style = CLI_BOLD },
						 grid_text, groups[conf->by].name };
	if (conf->by == BY_USER)
		columns[count++] =
			(struct grid_column){ { .title = "ACCOUNT" }, grid_text, "account" };
	columns[count++] =
		(struct grid_column){ { .title = "JOBS", .right = true }, grid_text, "jobs" };
	columns[count++] =
		(struct grid_column){ { .title = "TASKS", .right = true }, grid_text, "tasks" };
	columns[count++] =
		(struct grid_column){ { .title = gpu->gpu, .right = true }, grid_hours, "gpu_use" };
	columns[count++] =
		(struct grid_column){ { .title = cpu->cpu, .right = true }, grid_hours, "cpu_use" };
	if (conf->plot)
		columns[count++] = (struct grid_column){
			{ .title = most_hours(rows, "gpu_hours") > 0 ? "GPUS" : "CPUS" },
			bar_cell,
			"part"
		};
	return rc ? rc : grid_print(cli, columns, count, rows, 0);
}

static int by_day(const void *a_any, const void *b_any)
{
	json_t *const *a = a_any, *const *b = b_any;

	return strcmp(grid_or(json_object_get(*a, "day"), ""),
		      grid_or(json_object_get(*b, "day"), ""));
}

static int by_use(const void *a_any, const void *b_any)
{
	json_t *const *a = a_any, *const *b = b_any;
	static const char *const keys[] = { "gpu_hours", "cpu_hours" };

	for (size_t i = 0; i < 2; i++) {
		double one = json_number_value(json_object_get(*a, keys[i]));
		double other = json_number_value(json_object_get(*b, keys[i]));

		if (one != other)
			return one > other ? -1 : 1;
	}
	return 0;
}

/* Days in their order; others with who used most first. */
static int sort_rows(struct cli *cli, json_t *rows, bool days)
{
	size_t count = json_array_size(rows);
	json_t **list = strata_arena_array(&cli->arena, count ? count : 1, sizeof(json_t *));

	if (!list)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < count; i++)
		list[i] = json_incref(json_array_get(rows, i));
	qsort(list, count, sizeof(json_t *), days ? by_day : by_use);
	for (size_t i = 0; i < count; i++)
		json_array_set_new(rows, i, list[i]);
	return 0;
}

/* ---- the log ---- */

static int write_nodes(struct cli *cli, const char *path, const struct history_log *log)
{
	struct buf buf;
	int rc;

	buf_init(&buf, &cli->memory, 0);
	openb_add_nodes(&buf, log->nodes, log->node_count);
	rc = buf_check(&buf, &cli->err);
	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, buf.text, buf.length, 0644,
				    &cli->err);
	buf_fini(&buf);
	return rc;
}

static int export_swf(struct cli *cli, const struct accounting_conf *conf)
{
	struct history_log log;
	const char *text;
	size_t length;
	int rc = history_read(cli, conf->since, &log);

	if (rc == 0)
		rc = strata_swf_write(&log.swf, &cli->arena, &text, &length, &cli->err);
	if (rc == 0 && conf->nodes)
		rc = write_nodes(cli, conf->nodes, &log);
	if (rc == 0 && conf->output)
		rc = env_write_file(env_system(), AT_FDCWD, conf->output, text, length, 0644,
				    &cli->err);
	if (rc)
		return rc;
	if (log.left_out)
		cli_note(cli, "left out: %zu job%s that did not run to the end", log.left_out,
			 cli_plural(log.left_out));
	if (!conf->output)
		cli_print(cli, text);
	else
		cli_note(cli, "wrote %zu job%s to %s; `strata sim cluster %s` replays them",
			 log.swf.job_count, cli_plural(log.swf.job_count), conf->output,
			 conf->output);
	return 0;
}

static int ask(struct cli *cli, const struct accounting_conf *conf, json_t **ret_json)
{
	char since[STRATA_FORM_BYTES], until[STRATA_FORM_BYTES], zone[24];
	struct buf path;
	int rc = conf->since ? when_since(cli, conf->since, since) : 0;

	if (rc == 0 && conf->until)
		rc = when_since(cli, conf->until, until);
	if (rc)
		return rc;
	service_path(cli, &path, "accounting", NULL, NULL);
	client_query(&path, "by", groups[conf->by].name);
	client_query(&path, "since", conf->since ? since : NULL);
	client_query(&path, "until", conf->until ? until : NULL);
	snprintf(zone, sizeof(zone), "%d", (int)when_zone(when_now_ns()));
	client_query(&path, "zone", conf->by == BY_DAY ? zone : NULL);
	return service_get(cli, &path, ret_json);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct accounting_conf *conf = conf_any;
	json_t *json;

	(void)operands, (void)operand_count;
	if (!conf->swf && (conf->output || conf->nodes))
		return strata_fail(&cli->err, -EINVAL, "--output and --nodes go with --swf");
	if (conf->swf)
		return export_swf(cli, conf);
	int rc = ask(cli, conf, &json);

	if (rc)
		return rc;
	json_t *rows = json_object_get(json, "rows");

	rc = sort_rows(cli, rows, conf->by == BY_DAY);
	if (rc == 0 && service_printed(cli, json, &rc))
		return rc;
	if (rc == 0 && json_array_size(rows) == 0)
		cli_note(cli, "nothing was used; `strata queue` shows what is on its way");
	else if (rc == 0)
		rc = print_rows(cli, conf, rows);
	json_decref(json);
	return rc;
}

const struct cli_command cli_accounting = {
	.name = "accounting",
	.summary = "show who used how much, or write the history as a log",
	.about = "Hours, or minutes or seconds where all of it is less. A job that ran over midnight "
		 "is shared out between\n"
		 "the days; days are those of here.",
	.examples =
		"  strata accounting --since 7d\n"
		"  strata accounting --by day --since 14d --plot\n"
		"  strata accounting --by account --since 2026-01-01 --json\n"
		"  strata accounting --swf --since 30d -o month.swf --nodes nodes.csv\n"
		"  strata sim cluster month.swf --nodes nodes.csv --compare fifo,sjf,fair_share",
	.options = &accounting_schema,
	.run = run,
};
