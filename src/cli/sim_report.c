/*
 * What strata sim cluster shows: tables, JSON, starts, plots. Measures are defined in sim/metrics.h
 * and sim/fragments.h.
 */
#include "cli/sim_cluster.h"

#include "core/env.h"
#include "formats/starts.h"
#include "sim/series.h"
#include "plot/svg.h"

#include <strata/text.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

static size_t named_count(const struct sim_trial *trial)
{
	return trial->impossible_count < SIM_NAMED_MAX ? trial->impossible_count : SIM_NAMED_MAX;
}

static json_t *impossible_json(const struct sim_trial *trial)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < named_count(trial); i++)
		json_array_append_new(list, json_integer(trial->impossible[i]));
	return list;
}

static json_t *trial_json(const struct sim *sim, const struct sim_trial *trial)
{
	const struct metrics *m = &trial->metrics;
	json_t *json = json_pack(
		"{s:s,s:s,s:s,s:s,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:f,s:I,s:I,s:f}", "order",
		trial->order, "placement", trial->placement, "backfill", trial->backfill,
		"prediction", trial->prediction, "jobs", (json_int_t)m->jobs, "mean_wait_s",
		m->mean_wait_s, "avg_bsld", m->avg_bsld, "max_wait_s", m->max_wait_s, "makespan_s",
		m->makespan_s, "utilization", m->utilization, "fairness", m->user_jain,
		"worst_user", (json_int_t)m->worst_user, "worst_user_bsld", m->user_max_bsld,
		"impossible", (json_int_t)trial->impossible_count, "passes",
		(json_int_t)trial->passes, "wall_ms", trial->wall_ms);

	if (!json)
		return NULL;
	json_object_set_new(json, "gpu_fragmentation",
			    isnan(trial->gpu_fragmentation) ? json_null()
							    : json_real(trial->gpu_fragmentation));
	json_object_set_new(json, "impossible_jobs", impossible_json(trial));
	json_object_set_new(json, "preemptions", json_integer((json_int_t)trial->preemptions));
	json_object_set_new(json, "cancelled", json_integer((json_int_t)trial->cancelled));
	json_object_set_new(json, "lost_hours", json_real(trial->lost_hours));
	if (sim->conf->details)
		sim_details_add(sim, trial, json);
	if (sim->windows.count) {
		json_t *windows = json_array();

		for (size_t i = 0; windows && i < sim->windows.count; i++)
			json_array_append_new(windows, json_real(trial->window_bsld[i]));
		json_object_set_new(json, "window_bsld", windows);
	}
	return json;
}

static int print_json(struct sim *sim)
{
	if (!sim->conf->compare && !sim->real)
		return cli_print_json(sim->cli, trial_json(sim, &sim->trials[0]));
	json_t *list = json_array();

	if (list && sim->real)
		json_array_append_new(list, trial_json(sim, sim->real));
	for (size_t i = 0; list && i < sim->trial_count; i++)
		json_array_append_new(list, trial_json(sim, &sim->trials[i]));
	return cli_print_json(sim->cli, list);
}

static const struct report_column {
	struct cli_column column;
	bool nodes;   /* only where the machine has nodes */
	bool gpus;    /* only where they have GPUs */
	bool preempt; /* only where jobs are stopped for others */
} report_columns[] = {
	{ { "ORDER", .style = CLI_BOLD } },
	{ { "BACKFILL" } },
	{ { "PREDICTION" } },
	{ { "PLACEMENT" }, .nodes = true },
	{ { "JOBS", .right = true } },
	{ { "MEAN WAIT", .right = true } },
	{ { "SLOWDOWN", .right = true } },
	{ { "MAX WAIT", .right = true } },
	{ { "MAKESPAN", .right = true } },
	{ { "BUSY", .right = true } },
	{ { "FRAGMENTED", .right = true }, .gpus = true },
	{ { "STOPPED", .right = true }, .preempt = true },
	{ { "LOST HOURS", .right = true }, .preempt = true },
	{ { "FAIR", .right = true } },
	{ { "WORST USER", .right = true } },
	{ { "TOOK", .right = true } },
};
enum { REPORT_COLUMNS = sizeof(report_columns) / sizeof(report_columns[0]) };

static void add_duration(struct cli_table *table, double seconds)
{
	char text[STRATA_FORM_BYTES];

	cli_table_add(table, "%s", strata_duration_print_short((int64_t)(seconds * 1e9), text));
}

static void add_row(const struct sim *sim, const struct sim_trial *trial, struct cli_table *table)
{
	const struct metrics *m = &trial->metrics;

	cli_table_add(table, "%s", trial->order);
	cli_table_add(table, "%s", trial->backfill);
	cli_table_add(table, "%s", trial->prediction);
	if (!sim->machine.flat)
		cli_table_add(table, "%s", trial->placement);
	cli_table_add(table, "%zu", m->jobs);
	add_duration(table, m->mean_wait_s);
	cli_table_add(table, "%.2f", m->avg_bsld);
	add_duration(table, m->max_wait_s);
	add_duration(table, m->makespan_s);
	cli_table_add(table, "%.1f %%", m->utilization * 100);
	if (sim->machine.gpu_count && isnan(trial->gpu_fragmentation))
		cli_table_add(table, "-");
	else if (sim->machine.gpu_count)
		cli_table_add(table, "%.1f %%", trial->gpu_fragmentation * 100);
	if (sim->conf->preempt) {
		cli_table_add(table, "%" PRIu64, trial->preemptions);
		cli_table_add(table, "%.1f", trial->lost_hours);
	}
	cli_table_add(table, "%.2f", m->user_jain);
	cli_table_add(table, "%.2f", m->user_max_bsld);
	add_duration(table, trial->wall_ms / 1e3);
}

static int print_table(struct sim *sim)
{
	struct cli_column columns[REPORT_COLUMNS];
	struct cli_table *table;
	size_t count = 0;

	for (size_t i = 0; i < REPORT_COLUMNS; i++)
		if (!(report_columns[i].nodes && sim->machine.flat) &&
		    !(report_columns[i].gpus && !sim->machine.gpu_count) &&
		    !(report_columns[i].preempt && !sim->conf->preempt))
			columns[count++] = report_columns[i].column;
	int rc = cli_table_new(sim->cli, columns, count, &table);

	if (rc == 0 && sim->real)
		add_row(sim, sim->real, table);
	for (size_t i = 0; rc == 0 && i < sim->trial_count; i++)
		add_row(sim, &sim->trials[i], table);
	return rc ? rc : cli_table_print(table);
}

/* Who is not in the figures. */
static void note_left_out(struct sim *sim)
{
	const struct sim_trial *trial = &sim->trials[0];
	size_t count = trial->impossible_count;
	struct buf names;

	if (sim->left_out)
		cli_note(sim->cli, "left out: %zu job%s of the trace that cannot be replayed",
			 sim->left_out, cli_plural(sim->left_out));
	if (count == 0)
		return;
	buf_init(&names, &sim->cli->memory, 0);
	for (size_t i = 0; i < named_count(trial); i++)
		buf_printf(&names, "%s%" PRId64, i ? ", " : "", trial->impossible[i]);
	cli_note(sim->cli, "left out: %zu job%s that no node could ever take: %s%s", count,
		 cli_plural(count), names.text, count > SIM_NAMED_MAX ? ", …" : "");
	buf_fini(&names);
}

int sim_report_print(struct sim *sim)
{
	if (sim->cli->globals.json)
		return print_json(sim);
	note_left_out(sim);
	return print_table(sim);
}

static int write_file(struct sim *sim, const char *path, const struct buf *buf)
{
	int rc = buf_check(buf, &sim->cli->err);

	return rc ? rc
		  : env_write_file(env_system(), AT_FDCWD, path, buf->text, buf->length, 0644,
				   &sim->cli->err);
}

int sim_report_starts(struct sim *sim)
{
	const struct sim_trial *trial = &sim->trials[0];
	struct starts_row *rows =
		strata_arena_array(&sim->cli->arena, trial->job_count, sizeof(*rows));
	struct buf buf;

	if (!rows)
		return strata_fail_memory(&sim->cli->err);
	for (size_t i = 0; i < trial->job_count; i++)
		rows[i] = (struct starts_row){ sim->arrivals[trial->indices[i]].number,
					       trial->jobs[i].start_ns };
	buf_init(&buf, &sim->cli->memory, 0);
	starts_add(&buf, rows, trial->job_count);
	int rc = write_file(sim, sim->conf->starts, &buf);

	buf_fini(&buf);
	return rc;
}

/* What tells a trial from the others; all of it when there is only one. */
static const char *trial_name(struct sim *sim, const struct sim_trial *trial)
{
	const struct sim_trial *first = &sim->trials[0];
	bool differ[4] = { sim->trial_count == 1, sim->trial_count == 1, sim->trial_count == 1,
			   sim->trial_count == 1 && !sim->machine.flat };
	const char *const parts[4] = { trial->order, trial->backfill, trial->prediction,
				       trial->placement };
	const char *name = "";

	for (size_t i = 0; i < sim->trial_count; i++) {
		differ[0] |= strcmp(sim->trials[i].order, first->order) != 0;
		differ[1] |= strcmp(sim->trials[i].backfill, first->backfill) != 0;
		differ[2] |= strcmp(sim->trials[i].prediction, first->prediction) != 0;
		differ[3] |= strcmp(sim->trials[i].placement, first->placement) != 0;
	}
	for (size_t i = 0; name && i < 4; i++)
		if (differ[i])
			name = strata_arena_printf(&sim->cli->arena, "%s%s%s", name,
						   *name ? " / " : "", parts[i]);
	return name;
}

/* A curve of a trial with its values times `scale`, calm enough to be looked at. */
static int trial_curve(struct sim *sim, const struct sim_trial *trial, enum series_kind kind,
		       double scale, struct svg_series *ret_curve)
{
	const size_t bins = sim->trial_count > 1 ? 150 : 400; /* several must be told apart */
	struct cli *cli = sim->cli;
	const char *name = trial_name(sim, trial);
	struct series curve, mean;
	int rc = name ? series_make(trial->jobs, trial->job_count, kind, &cli->arena, &curve,
				    &cli->err)
		      : strata_fail_memory(&cli->err);

	if (rc == 0)
		rc = series_average(&curve, bins, &cli->arena, &mean, &cli->err);
	if (rc)
		return rc;
	for (size_t i = 0; i < mean.count; i++)
		mean.y[i] *= scale;
	*ret_curve = (struct svg_series){ name, mean.x, mean.y, mean.count };
	return 0;
}

/* The first of 2, 5, 10, 20 … above the value: where an axis of slowdowns ends. */
static double axis_end(double value)
{
	double power = 1;

	while (power * 10 <= value)
		power *= 10;
	return value < 2 * power ? 2 * power : value < 5 * power ? 5 * power : 10 * power;
}

static int draw_page(struct sim *sim, const struct svg_series *busy,
		     const struct svg_series *waiting)
{
	struct cli *cli = sim->cli;
	size_t count = sim->trial_count;
	const char *names[SIM_COMPARE_MAX];
	double slowdowns[SIM_COMPARE_MAX], end_s = 0, worst = 1;
	struct buf buf;

	for (size_t i = 0; i < count; i++) {
		names[i] = busy[i].name;
		slowdowns[i] = sim->trials[i].metrics.avg_bsld;
		worst = fmax(worst, slowdowns[i]);
		end_s = fmax(end_s, busy[i].count ? busy[i].x[busy[i].count - 1] : 0);
	}
	struct svg_axis time = { "time", SVG_TIME, 0, end_s };
	struct svg_lines use = { .title = "Machine in use",
				 .x = time,
				 .y = { "busy [%]", .max = 100 },
				 .series = busy,
				 .series_count = count,
				 .steps = true };
	struct svg_lines queue = { .title = "Jobs waiting",
				   .x = time,
				   .y = { "jobs" },
				   .series = waiting,
				   .series_count = count,
				   .steps = true };
	struct svg_bars bars = { .title = "Average bounded slowdown",
				 .y = { "slowdown", SVG_LOG, 1, axis_end(worst) },
				 .groups = (const char *const[]){ "" },
				 .group_count = 1,
				 .series = names,
				 .series_count = count,
				 .values = slowdowns };
	struct svg_panel panels[] = { { .lines = &use }, { .lines = &queue }, { .bars = &bars } };

	buf_init(&buf, &cli->memory, 0);
	int rc = svg_add_page(&buf, panels, count > 1 ? 3 : 2, &cli->arena, &cli->err);

	if (rc == 0)
		rc = write_file(sim, sim->conf->plot, &buf);
	buf_fini(&buf);
	return rc;
}

/* Busy processors and waiting jobs over time, and with several trials their slowdowns as bars. */
int sim_report_plot(struct sim *sim)
{
	struct svg_series busy[SIM_COMPARE_MAX], waiting[SIM_COMPARE_MAX];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sim->trial_count; i++) {
		const struct sim_trial *trial = &sim->trials[i];

		rc = trial_curve(sim, trial, SERIES_BUSY, 100.0 / (double)sim->machine.capacity,
				 &busy[i]);
		if (rc == 0)
			rc = trial_curve(sim, trial, SERIES_WAITING, 1, &waiting[i]);
	}
	return rc ? rc : draw_page(sim, busy, waiting);
}
